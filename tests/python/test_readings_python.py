"""Frames with categories, dates and vectors: the bytes of the command line, and nothing dropped without a word."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import compressive
from compressive import PCA, GaussianMixture, KMeans

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
    # The row with the missing level is filled as the recipe fills it, as `compressive predict` does.
    labels = model.predict(frame)
    assert len(labels) == N and np.bincount(labels, minlength=3).min() > 30
    assert (np.delete(labels, 5) == model.predict(frame.drop(index=5))).all()


def test_unknown_periods_are_refused(frame):
    with pytest.raises(ValueError, match="hour, day, week, year"):
        compressive.design(frame, 3, cyclic="month")


def mixed(n=900, seed=0):
    """Three groups in columns of every kind, and one of names."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "x": 6.0 * g + rng.normal(size=n),
            "city": np.array(["Bern", "Köln", "Zürich"], dtype=object)[g],
            "when": pd.Timestamp("2013-01-01") + pd.to_timedelta(g * 90 + rng.integers(0, 20, n), "D"),
            "grade": pd.Categorical(np.array(["a", "b", "c"])[g]),
            "name": [f"n{i}" for i in range(n)],
        }
    )
    frame.loc[::50, "x"] = np.nan
    frame.loc[::70, "city"] = None
    return frame, g


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_estimators_take_frames_with_text_categories_and_dates(package):
    frame, truth = mixed()
    frame = pl.from_pandas(frame) if package == "polars" else frame
    for estimator in (KMeans(3, random_state=0), GaussianMixture(3, random_state=0)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            estimator.fit(frame)
        told = " ".join(str(warning.message) for warning in told)
        assert '"name" (text of 900 different values' in told and '"x" 18' in told and '"city" 13' in told, told
        labels = estimator.predict(frame)
        agreeing = sum(np.bincount(labels[truth == group]).max() for group in range(3))
        assert agreeing >= 0.99 * len(truth)
        assert estimator.n_features_in_ == 5 and [c["column"] for c in estimator.spec_.readings][1] == "city"
        # The columns are found by their names, and the one that was left out is not needed.
        assert (estimator.predict(frame[["grade", "when", "city", "x"]]) == labels).all()
        assert np.isfinite(estimator.score(frame))
        with pytest.raises(ValueError, match="X is no frame"):
            estimator.predict(np.zeros((2, 4)))
    assert np.allclose(estimator.predict_proba(frame).sum(axis=1), 1.0)


def test_estimators_on_frames_learn_what_the_sketch_of_the_frame_tells():
    frame, _ = mixed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = KMeans(3, random_state=0).fit(frame)
        weighted = KMeans(3, random_state=0).fit(frame, sample_weight=np.ones(len(frame)))
        spec = compressive.design(frame, k=3)
        assert np.array_equal(estimator.cluster_centers_, weighted.cluster_centers_)
        estimator.partial_fit(frame)
    assert estimator.spec_.fingerprint == spec.fingerprint == weighted.spec_.fingerprint
    assert estimator.sketch_.rows == 2 * len(frame)
    with pytest.raises(ValueError, match=r"PCA takes columns of numbers, and X has city .*grade \(category\)"):
        PCA(2).fit(frame)
    with pytest.raises(ValueError, match="use predict"):
        estimator.transform(frame)
    with pytest.raises(ValueError, match="private fits need columns of numbers"):
        KMeans(3, epsilon=1.0, bounds=(0, 1)).fit(frame)
