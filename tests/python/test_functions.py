"""Sketches as values of columns: in DuckDB and polars, with the bytes of every other way."""

import json

import compressive
import compressive.polars
import compressive.sql
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from compressive import Sketch


@pytest.fixture
def trips():
    rng = np.random.default_rng(4)
    n = 9000
    values = {"km": rng.gamma(2, 3, n), "fare": rng.gamma(3, 9, n)}
    return pa.table({**values, "month": rng.integers(1, 7, n), "region": rng.choice(["n", "s", "w"], n)})


@pytest.fixture
def spec(trips):
    return compressive.design(trips.select(["km", "fare"]), 3)


@pytest.fixture
def con(trips, spec):
    con = duckdb.connect()
    con.register("trips", trips)
    compressive.sql.register_duckdb(con, spec)
    return con


def test_duckdb_groups_by_several_columns_and_rolls_up(con, trips, spec):
    con.execute("CREATE TABLE cube AS SELECT month, region, sketch(km, fare) AS s FROM trips GROUP BY ALL")
    cube = compressive.cube(trips, ["month", "region"], spec)
    found = {(str(month), region): data for month, region, data in con.sql("FROM cube").fetchall()}
    assert found == {name: sketch.to_bytes() for name, sketch in cube.items()}
    months = con.sql("SELECT month, sketch_merge(s) FROM cube GROUP BY month").fetchall()
    assert {str(m): data for m, data in months} == {m: s.to_bytes() for (m,), s in cube.rollup("month").items()}
    assert compressive.sql.sketches(con.sql("FROM cube").to_arrow_table()).keys() == found.keys()


def test_duckdb_reads_single_sketches(con, trips, spec):
    whole = compressive.sketch(trips.select(["km", "fare"]), spec)
    con.execute("CREATE TABLE t AS SELECT region = 'n' AS north, sketch(km, fare) AS s FROM trips GROUP BY ALL")
    (row,) = con.sql("""
        SELECT sketch_rows(all_s), sketch_mean(all_s, 'km'), sketch_quantile(all_s, 'fare', 0.5),
               sketch_query(all_s, 'corr(km, fare)'), sketch_kmeans(all_s, 3),
               sketch_subtract(all_s, (SELECT s FROM t WHERE north)) = (SELECT s FROM t WHERE NOT north)
        FROM (SELECT sketch_merge(s) AS all_s FROM t)
    """).fetchall()
    rows, mean, median, corr, model, same = row
    assert (rows, same) == (whole.rows, True)
    assert mean == compressive.query(whole, "mean(km)")["value"]
    assert median == compressive.query(whole, "quantile(fare, 0.5)")["value"]
    assert corr == compressive.query(whole, "corr(km, fare)")["value"]
    assert compressive.Model.from_json(model) == compressive.fit_kmeans(whole, 3)
    (drift,) = con.sql("SELECT sketch_drift(a.s, b.s) FROM t a, t b WHERE a.north AND NOT b.north").fetchall()[0]
    assert json.loads(drift)["verdict"] in ("same", "perhaps")


def test_duckdb_of_nothing_is_null(con):
    assert con.sql("SELECT sketch_rows(NULL), sketch_mean(NULL, 'km'), sketch_merge(NULL)").fetchall() == [(None,) * 3]
    assert con.sql("SELECT sketch(km, fare) FROM trips WHERE km < 0").fetchall() == [(None,)]


def test_duckdb_takes_several_recipes_by_name_and_refuses_bad_values(trips, spec):
    con = duckdb.connect()
    con.register("trips", trips)
    one = compressive.SketchSpec(["km"], size=9)
    compressive.sql.register_duckdb(con, {"both": spec, "km": one})
    a, b = con.sql("SELECT sketch('both', km, fare), sketch('km', km) FROM trips").fetchall()[0]
    assert Sketch.from_bytes(a) == compressive.sketch(trips.select(["km", "fare"]), spec)
    assert Sketch.from_bytes(b) == compressive.sketch(trips.select(["km"]), one)
    with pytest.raises(duckdb.Error, match="there is no recipe 'other'; registered: 'both', 'km'"):
        con.sql("SELECT sketch('other', km) FROM trips").fetchall()
    with pytest.raises(duckdb.Error, match="the recipe has 2 columns"):
        con.sql("SELECT sketch('both', km) FROM trips").fetchall()
    with pytest.raises(duckdb.Error, match="not a finite number|NaN"):
        con.sql("SELECT sketch('km', CASE WHEN km > 1 THEN km END) FROM trips").fetchall()
    compressive.sql.register_duckdb(con, {"km": one}, skip_bad_rows=True)
    (data,) = con.sql("SELECT sketch('km', CASE WHEN km > 1 THEN km END) FROM trips").fetchall()[0]
    assert Sketch.from_bytes(data).rows == con.sql("SELECT count(*) FROM trips WHERE km > 1").fetchall()[0][0]


def test_recipes_of_dates_and_text_are_for_the_stream(trips):
    mixed = compressive.design(trips, 3)
    with pytest.raises(compressive.CompressiveError, match="by=column"):
        compressive.sql.register_duckdb(duckdb.connect(), mixed)
    with pytest.raises(compressive.CompressiveError, match="by=column"):
        compressive.polars.sketch(mixed)


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_groups_by_several_columns(trips, spec, lazy):
    frame = pl.DataFrame(trips)
    cube = compressive.cube(trips, ["month", "region"], spec)
    grouped = (frame.lazy() if lazy else frame).group_by("month", "region")
    table = grouped.agg(compressive.polars.sketch(spec).alias("s"))
    table = table.collect() if lazy else table
    found = {(str(row["month"]), row["region"]): row["s"] for row in table.to_dicts()}
    assert found == {name: sketch.to_bytes() for name, sketch in cube.items()}
    months = table.group_by("month").agg(compressive.polars.merge("s")).sort("month")
    answers = months.select(
        compressive.polars.call("sketch_rows", "s"), compressive.polars.call("sketch_mean", "s", pl.lit("km"))
    )
    rollup = cube.rollup("month")
    assert answers["sketch_rows"].to_list() == [rollup[str(m)].rows for m in range(1, 7)]
    means = [compressive.query(rollup[str(m)], "mean(km)")["value"] for m in range(1, 7)]
    assert answers["sketch_mean"].to_list() == means


def test_polars_refuses_what_does_not_fit(trips, spec):
    with pytest.raises(ValueError, match="the recipe has 2 columns, km, fare, and is given 1"):
        compressive.polars.sketch(spec, ["km"])
    with pytest.raises(ValueError, match="sketch_mode"):
        compressive.polars.call("sketch_mode", "s")
