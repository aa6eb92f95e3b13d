"""The DataFusion aggregate and the DuckDB stream sum exactly the rows that the query selects."""

import datetime
import doctest
import re
import subprocess
import sys

import compressive
import compressive.sql
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from testing import ROOT, as_bytes

datafusion = pytest.importorskip("datafusion")
duckdb = pytest.importorskip("duckdb")

COLUMNS = ["a", "b", "c"]
N_ROWS = 20_000


@pytest.fixture(scope="module")
def table():
    """Columns of three types; every value is exact in f32."""
    rng = np.random.default_rng(11)
    number = np.arange(N_ROWS)
    return pa.table(
        {
            "a": pa.array(np.round(rng.normal(size=N_ROWS) * 256) / 256),
            "b": pa.array(np.round(rng.normal(size=N_ROWS) * 256) / 256, pa.float32()),
            "c": pa.array(rng.integers(-50, 50, N_ROWS), pa.int32()),
            "region": np.array(["north", "south", "east"])[number % 3],
            "month": pa.array(number % 12 + 1),
            "w": pa.array(number % 5, pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def spec(table):
    return compressive.design(table, k=3, columns=COLUMNS)


@pytest.fixture
def ctx(table):
    """Four partitions of small batches, so that every query merges partial sums."""
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(4))
    batches = table.to_batches(max_chunksize=1000)
    context.register_record_batches("trips", [batches[i::4] for i in range(4)])
    return context


@pytest.fixture
def con(table):
    connection = duckdb.connect()
    connection.register("trips", table)
    return connection


def test_the_aggregate_gives_the_bytes_of_the_table(ctx, table, spec):
    compressive.sql.register(ctx, spec)
    result = ctx.sql("SELECT sketch(a, b, c) AS sketch FROM trips").to_arrow_table()
    assert result.schema.field("sketch").type == pa.binary()
    data = result["sketch"][0].as_py()
    assert data == compressive.sketch(table, spec).to_bytes()
    assert compressive.Sketch.from_bytes(data).rows == N_ROWS


def test_group_by_merges_partial_sums_exactly(ctx, table, spec):
    compressive.sql.register(ctx, spec)
    plan = str(ctx.sql("SELECT region, sketch(a, b, c) FROM trips GROUP BY region").execution_plan().display_indent())
    assert "mode=Partial" in plan
    assert "mode=FinalPartitioned" in plan
    for column in ["region", "month"]:
        found = compressive.sql.sketches(ctx.sql(f"SELECT {column}, sketch(a, b, c) AS s FROM trips GROUP BY {column}"))
        assert as_bytes(found) == as_bytes(compressive.sketch(table, spec, by=column))


def test_filter_and_several_aggregates_see_their_own_rows(ctx, table, spec):
    compressive.sql.register(ctx, spec)
    query = """SELECT sketch(a, b, c) FILTER (WHERE c > 0) AS up, sketch(a, b, c) FILTER (WHERE c <= 0) AS down,
               count(*) AS n FROM trips"""
    row = ctx.sql(query).to_arrow_table().to_pylist()[0]
    up, down = (compressive.Sketch.from_bytes(row[name]) for name in ("up", "down"))
    assert up.to_bytes() == compressive.sketch(table.filter(pc.field("c") > 0), spec).to_bytes()
    assert (up + down).to_bytes() == compressive.sketch(table, spec).to_bytes()
    assert up.rows + down.rows == row["n"]


def test_a_spec_may_be_named_or_be_json_text(ctx, table, spec):
    other = compressive.SketchSpec(["a", "b"], size=20)
    function = compressive.sql.register(ctx, {"trips": spec, "flat": other})
    query = "SELECT region, sketch('trips', [a, b, c]) AS s FROM trips GROUP BY region"
    expected = as_bytes(compressive.sketch(table, spec, by="region"))
    assert as_bytes(compressive.sql.sketches(ctx.sql(query))) == expected
    query = "SELECT sketch('flat', [a, b]) AS s FROM trips"
    assert compressive.sql.sketches(ctx.sql(query))[""] == compressive.sketch(table, other)
    query = f"SELECT sketch('{spec.to_json()}', [a, b, c]) AS s FROM trips"
    assert compressive.sql.sketches(ctx.sql(query))[""] == compressive.sketch(table, spec)
    # The function is also an expression of frames.
    col, lit = datafusion.col, datafusion.lit
    columns = datafusion.functions.make_array(*(col(name).cast(pa.float64()) for name in COLUMNS))
    frame = ctx.table("trips").aggregate([col("region")], [function(lit("trips"), columns).alias("s")])
    assert as_bytes(compressive.sql.sketches(frame)) == expected


@pytest.mark.parametrize("named", [False, True])
def test_weights_count_rows_several_times(ctx, table, spec, named):
    compressive.sql.register(ctx, {"trips": spec} if named else spec, "weighted_sketch", weights=True)
    arguments = "'trips', [a, b, c], w" if named else "a, b, c, w"
    query = f"SELECT region, weighted_sketch({arguments}) AS s FROM trips GROUP BY region"
    found = compressive.sql.sketches(ctx.sql(query))
    assert as_bytes(found) == as_bytes(compressive.sketch(table, spec, by="region", weights="w"))
    assert sum(sketch.rows for sketch in found.values()) == sum(table["w"].to_pylist())


def test_windows_and_subqueries_work(ctx, table, spec):
    compressive.sql.register(ctx, spec)
    query = "SELECT DISTINCT region, sketch(a, b, c) OVER (PARTITION BY region) AS s FROM trips"
    assert as_bytes(compressive.sql.sketches(ctx.sql(query))) == as_bytes(compressive.sketch(table, spec, by="region"))
    query = "SELECT sketch(a, b, c) AS s FROM (SELECT * FROM trips WHERE month = 3) AS march"
    found = compressive.sql.sketches(ctx.sql(query))[""]
    assert found == compressive.sketch(table.filter(pc.field("month") == 3), spec)


def test_groups_without_rows_are_null_and_left_out(ctx, spec):
    compressive.sql.register(ctx, spec)
    query = "SELECT region, sketch(a, b, c) FILTER (WHERE region = 'north') AS s FROM trips GROUP BY region"
    result = ctx.sql(query).to_arrow_table()
    assert (len(result), result["s"].null_count) == (3, 2)
    assert list(compressive.sql.sketches(result)) == ["north"]
    assert compressive.sql.sketches(ctx.sql("SELECT sketch(a, b, c) AS s FROM trips WHERE a > 1e9")) == {}


def test_many_small_groups_are_as_exact_as_few(ctx, table, spec):
    compressive.sql.register(ctx, spec)
    query = "SELECT c, sketch(a, b, c) AS s FROM trips GROUP BY c"
    assert as_bytes(compressive.sql.sketches(ctx.sql(query))) == as_bytes(compressive.sketch(table, spec, by="c"))


@pytest.mark.parametrize("bad", ["NULL", "'NaN'::double", "'inf'::double"])
@pytest.mark.parametrize("named", [False, True])
def test_nulls_and_nan_fail_clearly_or_are_left_out_on_request(ctx, table, spec, bad, named):
    value = {"trips": spec} if named else spec
    compressive.sql.register(ctx, value)
    compressive.sql.register(ctx, value, "sketch_good", skip_bad_rows=True)
    column = f"CASE WHEN month = 3 THEN {bad} ELSE b END"
    arguments = f"'trips', [a, {column}, c]" if named else f"a, {column}, c"
    with pytest.raises(Exception, match=r"column 'b' has a value that is null or not finite.*skip_bad_rows"):
        ctx.sql(f"SELECT sketch({arguments}) AS s FROM trips").to_arrow_table()
    found = compressive.sql.sketches(ctx.sql(f"SELECT sketch_good({arguments}) AS s FROM trips"))[""]
    assert found.to_bytes() == compressive.sketch(table.filter(pc.field("month") != 3), spec).to_bytes()


def test_bad_weights_fail_clearly_or_are_left_out_on_request(ctx, table, spec):
    compressive.sql.register(ctx, spec, weights=True)
    compressive.sql.register(ctx, spec, "sketch_good", weights=True, skip_bad_rows=True)
    for bad in ["NULL", "-1"]:
        arguments = f"a, b, c, CASE WHEN month = 3 THEN {bad} ELSE 1 END"
        with pytest.raises(Exception, match=r"weight from 0 to 2\^28"):
            ctx.sql(f"SELECT sketch({arguments}) AS s FROM trips").to_arrow_table()
        found = compressive.sql.sketches(ctx.sql(f"SELECT sketch_good({arguments}) AS s FROM trips"))[""]
        assert found == compressive.sketch(table.filter(pc.field("month") != 3), spec)


def test_wrong_calls_are_told_clearly(ctx, spec):
    compressive.sql.register(ctx, {"trips": spec})
    for arguments, message in {
        "'nobody', [a, b, c]": "'nobody' is neither a registered spec .registered: 'trips'",
        "'trips', [a, b]": "the spec has 3 columns.*given a list of 2",
        "region, [a, b, c]": "the spec must be one text",
        "NULL, [a, b, c]": "the spec must be one text",
        "'{\"format\": 1', [a, b, c]": "(?i)json|spec",
    }.items():
        with pytest.raises(Exception, match=message):
            ctx.sql(f"SELECT sketch({arguments}) AS s FROM trips").to_arrow_table()
    with pytest.raises(ValueError, match="lower case"):
        compressive.sql.register(ctx, spec, "Sketch")
    with pytest.raises(TypeError, match=r"spec\['trips'\] is a str"):
        compressive.sql.register(ctx, {"trips": "spec.json"})
    with pytest.raises(ValueError, match="one binary column"):
        compressive.sql.sketches(pa.table({"a": [1.0]}))


def test_groups_are_named_as_the_reader_of_tables_names_them(spec):
    data = compressive.sketch(pa.table({name: [1.0, 2.0] for name in COLUMNS}), spec).to_bytes()
    day = datetime.date(2024, 5, 17)
    columns = {"n": [1.0, 1.5], "flag": [True, False], "day": [day, day], "text": ["x", "y"], "count": [3, 4]}
    table = pa.table(columns | {name: [1.0, 2.0] for name in COLUMNS})
    for column in columns:
        result = pa.table({column: table[column], "s": [data, data]})
        assert sorted(compressive.sql.sketches(result)) == sorted(compressive.sketch(table, spec, by=column))
    # Rows of one group are merged; several columns make tuples.
    merged = compressive.sql.sketches(pa.table({"day": columns["day"], "s": [data, data]}))
    assert merged["2024-05-17"].rows == 4
    pairs = compressive.sql.sketches(pa.table({"day": columns["day"], "n": [1.0, 2.0], "s": [data, data]}))
    assert list(pairs) == [("2024-05-17", "1"), ("2024-05-17", "2")]


def test_a_group_without_a_name_fails_or_is_left_out_on_request(spec):
    data = compressive.Sketch(spec).to_bytes()
    result = pa.table({"region": ["north", None], "s": [data, data]})
    with pytest.raises(compressive.CompressiveError, match="row 2, column 'region': null names no group"):
        compressive.sql.sketches(result)
    assert list(compressive.sql.sketches(result, skip_bad_rows=True)) == ["north"]
    for none in [pa.array([None, None], pa.string()), pa.array([np.nan, np.nan]), pa.array(["", ""])]:
        nameless = pa.table({"region": none, "s": [data, data]})
        assert compressive.sql.sketches(nameless, skip_bad_rows=True) == {}


def test_duckdb_streams_the_rows_of_a_query(con, table, spec):
    made = compressive.sql.duckdb(con, "SELECT * FROM trips", spec)
    assert made.to_bytes() == compressive.sketch(table, spec).to_bytes()
    made = compressive.sql.duckdb(con, "SELECT a, b, c, region, w FROM trips", spec, by="region", weights="w")
    assert as_bytes(made) == as_bytes(compressive.sketch(table, spec, by="region", weights="w"))
    assert con.sql("SELECT count(*) FROM trips").fetchall() == [(N_ROWS,)], "the connection is free again"


def test_duckdb_takes_parameters_and_prepared_queries(con, table, spec):
    march = compressive.sketch(table.filter(pc.field("month") == 3), spec)
    assert compressive.sql.duckdb(con, "SELECT * FROM trips WHERE month = ?", spec, parameters=[3]) == march
    assert compressive.sql.duckdb(con, "SELECT * FROM trips WHERE month = $m", spec, parameters={"m": 3}) == march
    con.execute("PREPARE of_month AS SELECT * FROM trips WHERE month = ?")
    assert compressive.sql.duckdb(con, "EXECUTE of_month(3)", spec) == march


def test_duckdb_without_a_spec_designs_one_and_counts_all_rows(con, table):
    made = compressive.sql.duckdb(con, "SELECT a, b, c FROM trips", k=3, size=25)
    assert (made.rows, made.spec.columns, made.spec.size) == (N_ROWS, COLUMNS, 25)
    assert made == compressive.sketch(table, made.spec)


def test_duckdb_does_not_hold_the_rows():
    """Sixteen million rows are 256 MB; the process may grow by a quarter of that."""
    script = """
import resource, duckdb, compressive, compressive.sql
con = duckdb.connect()
con.execute("SET threads = 2; SET enable_progress_bar = false")
spec = compressive.SketchSpec(["a", "b"], size=5)
few = "SELECT i::DOUBLE AS a, (i % 17)::DOUBLE AS b FROM range({}) AS t(i)"
compressive.sql.duckdb(con, few.format(1_000_000), spec)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
made = compressive.sql.duckdb(con, few.format(16_000_000), spec)
print(made.rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    rows, grown = map(int, done.stdout.split())
    assert rows == 16_000_000
    assert grown < 64, f"grew by {grown} MB"


def test_duckdb_errors_are_clear(con, spec):
    with pytest.raises(compressive.CompressiveError, match='column "b": null'):
        compressive.sql.duckdb(con, "SELECT a, CASE WHEN c > 0 THEN b END AS b, c FROM trips", spec)
    with pytest.raises(compressive.CompressiveError, match="c"):
        compressive.sql.duckdb(con, "SELECT a, b FROM trips", spec)
    with pytest.raises(compressive.CompressiveError, match="no row"):
        compressive.sql.duckdb(con, "SELECT * FROM trips WHERE a > 1e9", spec)
    with pytest.raises(TypeError, match="must be a DuckDB connection"):
        compressive.sql.duckdb("trips.duckdb", "SELECT 1", spec)


def test_the_examples_of_the_documentation_hold():
    done = doctest.testmod(compressive.sql)
    assert done.attempted > 5
    assert done.failed == 0


def test_missing_packages_are_named_with_the_extra():
    script = """
import sys
sys.modules.update(dict.fromkeys(["pyarrow", "datafusion", "duckdb", "dask", "pyspark"]))
import compressive, compressive.sql, compressive.dask, compressive.spark
spec = compressive.SketchSpec(["a"], size=5)
for call in (
    lambda: compressive.sql.register(None, spec),
    lambda: compressive.sql.duckdb(None, "SELECT 1", spec),
    lambda: compressive.dask.sketch(None, spec),
):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"pip install '(.*)'", done.stdout) == ["compressive[sql]"] * 2 + ["compressive[dask]"]


def test_the_example_runs_and_tells_its_story():
    script = ROOT / "examples" / "python" / "sql.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "DuckDB and DataFusion gave the same bytes" in done.stdout
    assert "shop 3 is the farthest from the others" in done.stdout
    assert "without it, 5 of the 5 shops are like the others" in done.stdout
