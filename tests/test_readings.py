"""Categories, dates and vectors: the same bytes from every format, encoded as the format's page says."""

import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from safetensors import safe_open
from testing import sha

N = 600
START = datetime.datetime(2013, 1, 1, 5)


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    group = rng.integers(0, 3, N)
    colours = np.where(rng.random(N) < 0.8, np.array(["red", "green", "blue"])[group], "none").astype(object)
    colours[rng.random(N) < 0.03] = None
    colours[::150] = ["rare", "odd", "odd", "rare"]
    return pa.table(
        {
            "x": np.round(4.0 * group + rng.normal(size=N), 3),
            "colour": pa.array(colours, pa.string()),
            "when": pa.array([START + datetime.timedelta(hours=int(h)) for h in rng.integers(0, 5000, N)], pa.timestamp("s")),
            "day": pa.array([datetime.date(2013, 1, 1) + datetime.timedelta(days=i % 90) for i in range(N)]),
            "ok": pa.array(rng.random(N) < 0.5),
        }
    )


def write_all(folder, table):
    """The table as a text file, Parquet and Arrow; the latter with a dictionary and finer units of time."""
    lines = [",".join(table.column_names)]
    for row in table.to_pylist():
        lines.append(",".join("" if v is None else str(v) for v in row.values()))
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=170)
    colours = table["colour"].combine_chunks().dictionary_encode()
    other = table.set_column(1, "colour", colours).set_column(2, "when", table["when"].cast(pa.timestamp("ns", "UTC")))
    pyarrow.feather.write_feather(other, folder / "rows.arrow", chunksize=90)


def test_the_same_table_gives_the_same_recipe_and_bytes_from_every_format(program, tmp_path, table):
    write_all(tmp_path, table)
    for options in ([], ["--cyclic", "day,when=week", "--category-weight", "2"]):
        found = set()
        for name in ("csv", "parquet", "arrow"):
            program("sketch", f"rows.{name}", "-o", f"{name}.sketch", "-k", "3", *options)
            found.add(sha(tmp_path / f"{name}.sketch"))
        assert len(found) == 1
        spec = json.loads(program("inspect", "csv.sketch", "--spec"))
        # A recipe made elsewhere, and rows in shards.
        program("sketch", "rows.parquet", "--spec", "csv.sketch", "-o", "again.sketch", "--threads", "2", "--chunk", "7")
        assert sha(tmp_path / "again.sketch") in found
        assert [c["column"] for c in spec["readings"]] == table.column_names
        assert [n for n in spec["columns"] if n.startswith("colour")] == [
            f"colour={level}" for level in [*spec["readings"][1]["reading"]["levels"], "(other)"]
        ]


def encoded(table, spec):
    """Rows by their readings, as docs/format.md has it."""
    columns = []
    for column in spec["readings"]:
        values, reading = table[column["column"]].to_pylist(), column["reading"]
        if reading["name"] == "category":
            levels = reading["levels"]
            rows = [[float(v == level) for level in levels] + [float(v not in levels)] for v in values]
            rows = [[np.nan] * len(row) if v is None else row for v, row in zip(values, rows)]
            columns.append(np.array(rows))
        elif reading["name"] == "time":
            utc = [datetime.datetime(v.year, v.month, v.day, getattr(v, "hour", 0), tzinfo=datetime.UTC) for v in values]
            columns.append(np.array([[v.timestamp()] for v in utc]))
        else:
            columns.append(np.array([[float(v)] for v in values]))
    return np.hstack(columns)


def test_sums_are_those_of_the_encoded_rows(program, tmp_path, table):
    write_all(tmp_path, table)
    program("sketch", "rows.csv", "-o", "rows.sketch", "-k", "3")
    spec = json.loads(program("inspect", "rows.sketch", "--spec"))
    rows = encoded(table, spec)
    header = ",".join(spec["columns"])
    np.savetxt(tmp_path / "plain.csv", rows, fmt="%.17g", delimiter=",", header=header, comments="")
    del spec["readings"]
    (tmp_path / "plain.json").write_text(json.dumps(spec))
    program("sketch", "plain.csv", "--spec", "plain.json", "-o", "plain.sketch")
    with safe_open(tmp_path / "rows.sketch", "numpy") as a, safe_open(tmp_path / "plain.sketch", "numpy") as b:
        assert sorted(a.keys()) == sorted(b.keys())
        assert all(np.array_equal(a.get_tensor(key), b.get_tensor(key)) for key in a.keys())


def test_a_model_gives_rows_to_centres_in_the_units_it_was_learned_in(program, tmp_path, table):
    write_all(tmp_path, table)
    program("kmeans", "rows.csv", "-k", "3", "-o", "m.json", "--keep", "m.sketch")
    model = json.loads((tmp_path / "m.json").read_text())
    spec = json.loads(program("inspect", "m.sketch", "--spec"))
    assert model["readings"] == spec["readings"] and model["spreads"] == spec["transform"]["spread"]
    program("predict", "m.json", "rows.parquet", "-o", "labels.csv")
    labels = np.loadtxt(tmp_path / "labels.csv", skiprows=1)
    rows = encoded(table, spec)
    assert np.isnan(rows).any() and model["fill"] == spec["transform"]["centre"]
    rows = np.where(np.isnan(rows), model["fill"], rows)
    scaled = rows[:, None] / model["spreads"] - np.array(model["centers"]) / model["spreads"]
    assert np.array_equal(labels, (scaled**2).sum(axis=2).argmin(axis=1))


def test_vectors_of_any_list_type_are_columns_of_numbers(program, tmp_path):
    rng = np.random.default_rng(5)
    values = np.vstack([rng.normal(c, 1.0, (150, 6)) for c in (-4.0, 0.0, 4.0)]).astype(np.float16)
    types = [pa.list_(pa.float16(), 6), pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 6)]
    found = set()
    for i, kind in enumerate(types):
        column = pa.array([[float(x) for x in row] for row in values], pa.list_(pa.float64())).cast(
            pa.list_(pa.float32()) if kind.value_type == pa.float16() else kind
        )
        if kind.value_type == pa.float16():
            flat = pa.array(values.ravel(), pa.float16())
            column = pa.FixedSizeListArray.from_arrays(flat, 6)
        table = pa.table({"embedding": column, "n": np.arange(450)})
        if kind.value_type == pa.float16():
            pyarrow.feather.write_feather(table, tmp_path / "t.arrow", compression="uncompressed")
            data = "t.arrow"
        else:
            pyarrow.parquet.write_table(table, tmp_path / f"t{i}.parquet")
            data = f"t{i}.parquet"
        program("sketch", data, "-o", "t.sketch", "-k", "3")
        spec = json.loads(program("inspect", "t.sketch", "--spec"))
        assert spec["columns"] == [f"embedding[{j}]" for j in range(6)]
        found.add(sha(tmp_path / "t.sketch"))
    assert len(found) == 1
    note = program.run("kmeans", "t1.parquet", "-k", "3", "--exclude", "embedding", "--columns", "n").stderr
    assert b"error" not in note
    assert b"embedding" in program.run("kmeans", "t1.parquet", "-k", "3").stderr


def test_a_query_compares_levels_and_results_go_through_pipes(program, tmp_path, table):
    write_all(tmp_path, table)
    program("sketch", "rows.csv", "-o", "rows.sketch", "-k", "3")
    piped = program.run("sketch", "rows.csv", "-o", "-", "-k", "3").stdout
    assert piped == (tmp_path / "rows.sketch").read_bytes()
    model = program.run("fit", "-", "-k", "3", "-o", "-", stdin=piped)
    program("fit", "rows.sketch", "-k", "3", "-o", "m.json")
    assert model.stdout == (tmp_path / "m.json").read_bytes() and b"clusters" in model.stderr
    asked = ["share(colour = 'red')", "mean(`colour=red`)", "share(colour != red and x < 2)"]
    first, second, _ = json.loads(program("query", "rows.sketch", *asked, "--json"))["answers"]
    assert first["value"] == second["value"] and first["exact"]
    done = program.run("kmeans", "rows.sketch", "-k", "3")
    assert done.returncode == 1 and b"compressive fit rows.sketch" in done.stderr


def test_drawn_rows_are_in_the_terms_of_the_table(program, tmp_path, table):
    write_all(tmp_path, table)
    program("kmeans", "rows.csv", "-k", "3", "-o", "m.json", "--keep", "m.sketch")
    program("gmm", "rows.csv", "-k", "3", "-o", "g.json")
    for source in ("m.sketch", "g.json"):
        for name in ("drawn.csv", "drawn.parquet"):
            program("sample", source, "-n", "400", "-o", name)
        drawn = pyarrow.parquet.read_table(tmp_path / "drawn.parquet").to_pandas()
        assert list(drawn.columns) == table.column_names
        levels = {"red", "green", "blue", "none", "(other)"}
        assert set(drawn["colour"]) <= levels and {"red", "none"} <= set(drawn["colour"])
        assert drawn["when"].str.fullmatch(r"201[0-9]-\d\d-\d\d \d\d:\d\d:\d\d").all()
    # They can be sketched by the same recipe, and an array has the coordinates.
    program("sketch", "drawn.csv", "--spec", "m.sketch", "-o", "again.sketch")
    program("sample", "m.sketch", "-n", "10", "-o", "drawn.npy")
    spec = json.loads(program("inspect", "m.sketch", "--spec"))
    assert np.load(tmp_path / "drawn.npy").shape == (10, len(spec["columns"]))


def test_readers_see_levels_and_dates_and_no_coordinates(program, tmp_path, table):
    write_all(tmp_path, table)
    program("kmeans", "rows.csv", "-k", "3", "-o", "m.json", "--keep", "m.sketch")
    shown = program("inspect", "m.sketch") + program("inspect", "m.json") + program("pca", "rows.csv", "-k", "2")
    assert "colour=" not in shown and "colour: red" in shown and "2013-0" in shown
    assert "2013-" in program("query", "m.sketch", "quantile(when, 0.5)")
    assert "share(colour = '" in program.fails("query", "m.sketch", "mean(colour)")
    assert program.fails("query", "m.sketch", "mean(z)").splitlines()[0].endswith("x, colour, when, day, ok")


def test_rows_with_missing_entries_are_projected_and_scored(program, tmp_path):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(300, 3)) * [1.0, 5.0, 2.0]
    rows[::20, 1] = np.nan
    text = "\n".join(",".join("" if np.isnan(x) else repr(float(x)) for x in row) for row in rows)
    (tmp_path / "a.csv").write_text("a,b,c\n" + text + "\n")
    program("pca", "a.csv", "-k", "2", "-o", "p.json")
    model = json.loads((tmp_path / "p.json").read_text())
    assert program.json("score", "p.json", "a.csv")["rows"] == 300
    program("transform", "p.json", "a.csv", "-o", "t.npy")
    filled = np.where(np.isnan(rows), model["fill"], rows)
    expected = (filled - model["mean"]) / (model.get("scale") or 1.0) @ np.array(model["components"]).T
    assert np.allclose(np.load(tmp_path / "t.npy"), expected, atol=1e-9)
    program("sketch", "a.csv", "-k", "2", "-o", "a.sketch")
    program("score", "--anomaly", "a.sketch", "a.csv", "-o", "s.npy")
    scores = np.load(tmp_path / "s.npy")
    assert scores.shape == (300,) and np.isfinite(scores).all()


FORMS = {
    # What stands in the columns a and b of a row, the delimiter, and the encoding.
    "plain": ("{x:.2f}", "{d:%Y-%m-%d}", ",", "utf-8"),
    "american": ('"{x:,.2f}"', "{d.month}/{d.day}/{d.year}", ",", "utf-8"),
    "german": ("{x:.2f}", "{d:%d.%m.%Y}", ";", "utf-8-sig"),
    "british": ("{x:.2f}", "{d.day}/{d.month}/{d.year} 0:00", "\t", "utf-8"),
    "spelled": ("$ {x:.2f}", '"{d:%b} {d.day}, {d.year}"', ",", "latin-1"),
}


def test_the_same_rows_give_the_same_bytes_however_people_write_them(program, tmp_path):
    rng = np.random.default_rng(6)
    days = [datetime.date(2013, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 700, 300)]
    rows = [(round(float(x), 2), day, c) for x, day, c in zip(rng.normal(2e4, 3e3, 300), days, rng.choice(["Köln", "Zürich", "Bern"], 300))]
    found, centres = set(), set()
    for name, (number, date, delimiter, encoding) in FORMS.items():
        lines = [delimiter.join(("a", "b", "c"))]
        for x, day, city in rows:
            written = number.format(x=x)
            if delimiter != ",":
                written = written.replace(",", "_").replace(".", ",").replace("_", ".")
            lines.append(delimiter.join((written, date.format(d=day), city)))
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding=encoding)
        program("sketch", f"{name}.csv", "-k", "3", "-o", f"{name}.sketch")
        spec = json.loads(program("inspect", f"{name}.sketch", "--spec"))
        orders = {column["reading"].pop("order", None) for column in spec["readings"]}
        assert orders == {None, {"american": "month-first", "british": "day-first"}.get(name)}, name
        found.add(json.dumps(spec["transform"]) + json.dumps(spec["columns"]))
        program("kmeans", f"{name}.csv", "-k", "3", "-o", "m.json")
        centres.add(json.dumps(json.loads((tmp_path / "m.json").read_text())["centers"]))
    assert len(found) == 1 and len(centres) == 1
