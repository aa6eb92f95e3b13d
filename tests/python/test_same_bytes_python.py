"""The same rows give the same bytes from every table, engine and file that Python can hold, and from the program."""

import pathlib

import compressive
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from testing import as_bytes

COLUMNS = ["a", "b", "c", "d"]
N_ROWS = 3000


@pytest.fixture(scope="module")
def values():
    """Three clusters; every value is exact in f32 and short in decimal, so that all formats hold the same numbers."""
    rng = np.random.default_rng(5)
    centres = rng.normal(0, 4, (3, 4))
    rows = centres[rng.integers(0, 3, N_ROWS)] + rng.normal(0, 1, (N_ROWS, 4))
    return np.round(rows * 256) / 256


@pytest.fixture(scope="module")
def table(values):
    """The rows with a column of groups and one of weights, some of them fractions."""
    number = np.arange(N_ROWS)
    extra = {"day": number % 4 + 1, "w": (number % 7) / 4}
    return pa.table(dict(zip(COLUMNS, values.T, strict=True)) | extra)


@pytest.fixture(scope="module", params=["fourier", "one-bit"])
def spec(request, table):
    return compressive.design(table, k=3, columns=COLUMNS, feature=request.param, size=60)


@pytest.fixture
def parquet(tmp_path, table):
    """A folder of several files, their row groups smaller than a batch."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(3):
        pyarrow.parquet.write_table(table[i * 1000 : (i + 1) * 1000], folder / f"{i}.parquet", row_group_size=300)
    return folder


@pytest.fixture
def csv(tmp_path, table):
    path = tmp_path / "rows.csv"
    table.to_pandas().to_csv(path, index=False)
    return path


def by_command_line(program, spec, data, *flags):
    """The bytes of the sketch that the program writes, or of each group's."""
    folder = pathlib.Path(program.cwd)
    (folder / "spec.json").write_text(spec.to_json())
    program("sketch", data, "--spec", "spec.json", "-o", "out.sketch", *flags)
    made = folder / "out.sketch"
    if made.is_dir():
        return {path.stem: path.read_bytes() for path in made.iterdir()}
    return made.read_bytes()


def tables(table, folder):
    """Everything with named columns that `compressive.sketch` takes, made anew: some of them can be read once only."""
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    shuffled = table.take(np.random.default_rng(1).permutation(N_ROWS))
    yield "pyarrow table", table
    yield "pyarrow table in another order of rows and columns", shuffled.select(table.column_names[::-1])
    yield "pyarrow table in chunks", pa.Table.from_batches(table.to_batches(max_chunksize=17))
    yield "pyarrow batch", table.combine_chunks().to_batches()[0]
    yield "pyarrow reader", table.to_reader(max_chunksize=101)
    yield "pyarrow dataset", pyarrow.dataset.dataset(folder, format="parquet")
    yield "pandas", table.to_pandas()
    yield "pandas with pyarrow types", table.to_pandas(types_mapper=pd.ArrowDtype)
    yield "pandas with float32", table.to_pandas().astype(dict.fromkeys(COLUMNS, "float32"))
    yield "polars", polars.from_arrow(table)
    yield "duckdb relation", duckdb.connect().sql(f"SELECT * FROM '{folder}/*.parquet'")
    yield "path of a folder", folder
    yield "paths", sorted(folder.glob("*.parquet"))
    yield "glob", f"{folder}/*.parquet"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_layout_give_the_bytes_of_the_command_line(program, values, csv, spec, dtype, order):
    array = np.asarray(values, dtype=dtype, order=order)
    expected = by_command_line(program, spec, csv)
    assert compressive.sketch(array, spec).to_bytes() == expected
    assert compressive.sketch(array, spec, threads=1).to_bytes() == expected
    half = compressive.Sketch(spec).update(array[::2])
    assert half.update(array[1::2]).to_bytes() == expected, "strided views"
    assert (compressive.sketch(array[:77], spec) + compressive.sketch(array[77:], spec)).to_bytes() == expected


def test_every_table_gives_the_bytes_of_the_command_line(program, table, csv, parquet, spec):
    expected = by_command_line(program, spec, csv)
    assert by_command_line(program, spec, parquet) == expected
    for name, data in tables(table, parquet):
        assert compressive.sketch(data, spec).to_bytes() == expected, name


@pytest.mark.parametrize("options", [{"weights": "w"}, {"by": "day"}, {"by": "day", "weights": "w"}], ids=str)
def test_weights_and_groups_of_every_table_give_the_bytes_of_the_command_line(
    program, table, values, csv, parquet, spec, options
):
    flags = [text for name, value in options.items() for text in (f"--{name}", value)]
    expected = by_command_line(program, spec, csv, *flags)
    assert not isinstance(expected, dict) or sorted(expected) == ["1", "2", "3", "4"]
    for name, data in tables(table, parquet):
        assert as_bytes(compressive.sketch(data, spec, **options)) == expected, name
    arrays = {name: table[column].to_numpy() for name, column in options.items()}
    assert as_bytes(compressive.sketch(values.astype("f4"), spec, **arrays)) == expected


@pytest.mark.parametrize("by", [None, "day"])
@pytest.mark.parametrize("weights", [None, "w"])
def test_every_engine_gives_the_bytes_of_the_command_line(program, table, csv, parquet, spec, by, weights):
    asked = {"by": by, "weights": weights}
    flags = [text for name, value in asked.items() if value for text in (f"--{name}", value)]
    expected = by_command_line(program, spec, csv, *flags)
    for name, engine in {"duckdb": by_duckdb, "datafusion": by_datafusion, "dask": by_dask}.items():
        assert as_bytes(engine(table, parquet, spec, by, weights)) == expected, name


def by_duckdb(table, folder, spec, by, weights):
    duckdb = pytest.importorskip("duckdb")
    import compressive.sql

    query = f"SELECT * FROM '{folder}/*.parquet' WHERE a < ?"
    return compressive.sql.duckdb(duckdb.connect(), query, spec, by, parameters=[1e9], weights=weights)


def by_datafusion(table, folder, spec, by, weights):
    datafusion = pytest.importorskip("datafusion")
    import compressive.sql

    ctx = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(3))
    ctx.register_parquet("trips", str(folder))
    compressive.sql.register(ctx, spec, weights=weights is not None)
    arguments = ", ".join([*COLUMNS, *([weights] if weights else [])])
    call = f"sketch({arguments}) AS sketch"
    query = f"SELECT {by}, {call} FROM trips GROUP BY {by}" if by else f"SELECT {call} FROM trips"
    made = compressive.sql.sketches(ctx.sql(query))
    return made if by else made[""]


def by_dask(table, folder, spec, by, weights):
    frames = pytest.importorskip("dask.dataframe")
    import compressive.dask

    return compressive.dask.sketch(frames.read_parquet(str(folder)), spec, by=by, weights=weights)
