"""Frames with categories, dates and vectors: the bytes of the command line, and nothing dropped without a word."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import compressive

N = 300


@pytest.fixture
def frame():
    rng = np.random.default_rng(4)
    group = rng.integers(0, 3, N)
    frame = pd.DataFrame({"x": 3.0 * group + rng.normal(size=N), "name": [f"n{i}" for i in range(N)]})
    frame["cut"] = pd.Categorical(np.array(["Ideal", "Good", "Fair"])[(group + (rng.random(N) < 0.2)) % 3])
    frame.loc[5, "cut"] = None
    frame["when"] = pd.Timestamp("2013-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), unit="h")
    frame["vec"] = list(rng.normal(size=(N, 3)))
    return frame


@pytest.mark.filterwarnings("ignore")
def test_frames_give_the_bytes_of_files(frame, tmp_path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    polars = pl.from_arrow(table)
    sources = [frame, table, polars, tmp_path / "t.parquet"]
    for options in ({}, {"cyclic": {"when": ["day", "week"]}, "category_weight": 2.0, "exclude": ["vec"]}):
        sketches = [compressive.sketch(data, k=3, **options) for data in sources]
        assert len({sketch.to_bytes() for sketch in sketches}) == 1
        spec = sketches[0].spec
        assert [c["column"] for c in spec.readings][:3] == ["x", "cut", "when"]
        assert compressive.sketch(polars, spec).to_bytes() == sketches[0].to_bytes()


def test_what_is_left_out_or_filled_is_told(frame):
    with pytest.warns(UserWarning, match='columns left out: "name"'), pytest.warns(UserWarning, match='"cut" 1;'):
        sketch = compressive.sketch(frame, k=3)
    model = compressive.fit_kmeans(sketch, 3)
    whole = frame.drop(index=5)
    assert np.bincount(model.predict(whole), minlength=3).min() > 30
    with pytest.raises(compressive.CompressiveError, match="row 6"):
        model.predict(frame)


def test_unknown_periods_are_refused(frame):
    with pytest.raises(ValueError, match="hour, day, week, year"):
        compressive.design(frame, 3, cyclic="month")
