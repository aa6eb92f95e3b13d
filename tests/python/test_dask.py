"""Dask frames and arrays give the bytes of one machine, whatever their partitions."""

import compressive
import compressive.dask
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask")
import dask.array
import dask.dataframe

COLUMNS = ["a", "b", "c"]
N_ROWS = 5000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    values = np.round(rng.normal(size=(N_ROWS, 3)) * 256) / 256
    number = np.arange(N_ROWS)
    extra = {"region": np.array(["n", "s"])[number % 2], "w": number % 3}
    return pd.DataFrame(dict(zip(COLUMNS, values.T, strict=True)) | extra)


@pytest.fixture(scope="module")
def spec(frame):
    return compressive.design(frame, k=3, columns=COLUMNS)


@pytest.mark.parametrize("parts", [1, 3, 20])
def test_the_bytes_do_not_depend_on_the_partitions(frame, spec, parts):
    made = compressive.dask.sketch(dask.dataframe.from_pandas(frame, npartitions=parts), spec, fan_in=3)
    assert made.to_bytes() == compressive.sketch(frame, spec).to_bytes()


def test_groups_and_weights_are_those_of_one_machine(frame, spec):
    lazy = dask.dataframe.from_pandas(frame, npartitions=7)
    made = compressive.dask.sketch(lazy, spec, by="region", weights="w")
    expected = compressive.sketch(frame, spec, by="region", weights="w")
    assert list(made) == ["n", "s"]
    assert {name: s.to_bytes() for name, s in made.items()} == {name: s.to_bytes() for name, s in expected.items()}


def test_other_processes_give_the_same_bytes(frame, spec):
    lazy = dask.dataframe.from_pandas(frame, npartitions=2)
    with dask.config.set(scheduler="processes", num_workers=2):
        made = compressive.dask.sketch(lazy, spec)
    assert made.to_bytes() == compressive.sketch(frame, spec).to_bytes()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_arrays_in_chunks_of_rows_and_columns_are_those_of_one_machine(frame, spec, dtype):
    values = frame[COLUMNS].to_numpy().astype(dtype)
    lazy = dask.array.from_array(values, chunks=(700, 2))
    assert compressive.dask.sketch(lazy, spec).to_bytes() == compressive.sketch(values, spec).to_bytes()


def test_partitions_of_bad_rows_only_are_left_out_on_request(frame, spec):
    holes = frame.copy()
    holes.loc[: N_ROWS // 4, "b"] = np.nan
    lazy = dask.dataframe.from_pandas(holes, npartitions=8)
    with pytest.raises(compressive.CompressiveError, match='column "b"'):
        compressive.dask.sketch(lazy, spec)
    made = compressive.dask.sketch(lazy, spec, skip_bad_rows=True)
    assert made.to_bytes() == compressive.sketch(holes.dropna(), spec).to_bytes()


def test_wrong_calls_are_told_clearly(frame, spec):
    lazy = dask.dataframe.from_pandas(frame, npartitions=2)
    with pytest.raises(TypeError, match="must be a Dask frame or array"):
        compressive.dask.sketch(frame, spec)
    with pytest.raises(TypeError, match="must be a SketchSpec"):
        compressive.dask.sketch(lazy, "spec.json")
    with pytest.raises(ValueError, match="no column 'day'; it has a, b, c, region, w"):
        compressive.dask.sketch(lazy, spec, by="day")
    with pytest.raises(TypeError, match="go with Dask frames"):
        compressive.dask.sketch(dask.array.zeros((4, 3)), spec, by="region")
    with pytest.raises(ValueError, match="the spec has 3 columns"):
        compressive.dask.sketch(dask.array.zeros((4, 2)), spec)
    with pytest.raises(ValueError, match="fan_in=1"):
        compressive.dask.sketch(lazy, spec, fan_in=1)
    with pytest.raises(compressive.CompressiveError, match="more than 1 "):
        compressive.dask.sketch(lazy, spec, by="region", max_groups=1)
    with pytest.raises(compressive.CompressiveError, match="no row to sketch"):
        compressive.dask.sketch(lazy[lazy["a"] > 1e9], spec)
