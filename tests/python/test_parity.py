"""What the program and scikit-learn have, the package has: verbs, parameters, attributes, kinds of tables."""

import inspect

import compressive
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from compressive import AnomalyDetector, GaussianMixture, KMeans, KMedians, Sketch
from sklearn import cluster, decomposition, mixture
from sklearn.datasets import make_blobs


@pytest.fixture
def blobs():
    X, y = make_blobs(4000, n_features=3, centers=4, random_state=5)
    return np.round(X, 6), y


@pytest.fixture
def files(program, tmp_path, blobs):
    """The rows, their sketch and a model of it as files."""
    X, y = blobs
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.assign(label=y).to_csv(tmp_path / "labelled.csv", index=False)
    program("sketch", "rows.parquet", "-k", 4, "-o", "rows.sketch", "-q")
    program("fit", "rows.sketch", "-k", 4, "-o", "kmeans.json", "-q")
    program("fit", "rows.sketch", "-k", 4, "--task", "gmm", "-o", "gmm.json", "-q")
    return tmp_path


def model_of(path):
    return compressive.Model.from_json(path.read_text())


def test_queries_are_those_of_the_program(program, files):
    questions = ["mean(a)", "corr(a, b)", "share(a < 0 and b > 1)", "quantile(c, 0.9)", "histogram(a, 5)"]
    sketch = Sketch.load(files / "rows.sketch")
    assert compressive.query(sketch, *questions) == program.json("query", "rows.sketch", *questions)["answers"]
    assert compressive.query(sketch, "mean(a)")["exact"]
    with pytest.raises(ValueError, match="zzz"):
        compressive.query(sketch, "mean(zzz)")


def test_diagnoses_and_plans_are_those_of_the_program(program, files):
    found = compressive.diagnose(Sketch.load(files / "rows.sketch"), model_of(files / "kmeans.json"))
    expected = program.json("diagnose", "rows.sketch", "kmeans.json")
    assert found.keys() == expected.keys() and found["verdict"] == expected["verdict"]
    plan = program.json("plan", "--rows", 1e4, "--dim", 10, "-k", 10, "--epsilon", 0.1)
    ours = compressive.plan(1e4, 10, 10, 0.1)
    assert ours == {name: plan[name] for name in ours} and set(plan) - set(ours) == {"words", "commands"}


def test_scores_are_those_of_the_program(program, files, blobs):
    X, y = blobs
    for name in ("kmeans.json", "gmm.json"):
        expected = program.json("score", name, "labelled.csv", "--labels", "label")
        found = compressive.score(model_of(files / name), X, labels=y)
        for field, value in found.items():
            assert value == pytest.approx(expected[field], rel=1e-9), field
    expected = program.json("score", "rows.sketch", "rows.parquet", "--anomaly")
    found = compressive.score(Sketch.load(files / "rows.sketch"), X)
    assert [row["row"] for row in found["lowest"]] == [row["row"] for row in expected["lowest"]]
    program("pca", "rows.parquet", "-k", 2, "-o", "pca.json", "-q")
    expected = program.json("score", "pca.json", "rows.parquet")
    found = compressive.score(model_of(files / "pca.json"), str(files / "rows.parquet"))
    for field, value in found.items():
        assert value == pytest.approx(expected[field], rel=1e-9), field


def test_samples_and_generated_rows_are_those_of_the_program(program, files):
    program("sample", "gmm.json", "-n", 50, "--seed", 3, "-o", "drawn.npy")
    np.testing.assert_array_equal(
        compressive.sample(model_of(files / "gmm.json"), 50, seed=3), np.load(files / "drawn.npy")
    )
    program("sample", "rows.sketch", "-n", 50, "--seed", 3, "-o", "drawn.npy")
    np.testing.assert_array_equal(
        compressive.sample(Sketch.load(files / "rows.sketch"), 50, seed=3), np.load(files / "drawn.npy")
    )
    for kind in ("separated", "ring"):
        program("generate", kind, "-n", 60, "-d", 3, "-k", 4, "--seed", 2, "-o", "made.npy")
        made = compressive.generate(kind, 60, d=3, k=4, seed=2)
        np.testing.assert_array_equal(made.rows, np.load(files / "made.npy"))
        assert (made.truth is None) == (kind == "ring") and len(made.labels) == 60
    with pytest.raises(ValueError, match="k-means|kmeans"):
        compressive.sample(model_of(files / "kmeans.json"), 5)


def test_reports_are_pages_and_pictures(files, blobs):
    sketch, model = Sketch.load(files / "rows.sketch"), model_of(files / "gmm.json")
    page = compressive.report(sketch, model, files / "page.html", data=blobs[0])
    assert (files / "page.html").read_text() == page and 'id="map"' in page
    days = {"monday": sketch, "tuesday": sketch}
    picture = compressive.report(days, model, files / "picture.svg")
    assert picture.startswith("<svg") and "Drift over 2 sketches" in picture
    with pytest.raises(ValueError, match="nothing to draw"):
        compressive.report(sketch, path=files / "none.svg")


def test_notebooks_show_tables_with_names_escaped(blobs):
    frame = pd.DataFrame(blobs[0], columns=["<b>", "x", "y"])
    sketch = compressive.sketch(frame, k=4)
    shown = [sketch, sketch.spec, compressive.fit_gmm(sketch, 4), compressive.Cube({"n": sketch}, "region")]
    shown.append(compressive.privatize(sketch, 1.0, public_spec=True))
    for one in shown:
        text = one._repr_html_()
        assert "<table>" in text and "<b>" not in text, text


# Tables.


def test_tables_in_other_dress_give_the_same_bytes(blobs, tmp_path):
    X = blobs[0]
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    spec = compressive.design(frame, 4)
    expected = compressive.sketch(frame, spec)
    frame.write_parquet(tmp_path / "rows.parquet")
    parts = [frame[:1500], frame[1500:]]
    for table in (
        frame.lazy(),
        pl.scan_parquet(tmp_path / "rows.parquet"),
        (part for part in parts),
        (part.to_pandas() for part in parts),
        (part.to_arrow() for part in parts),
    ):
        assert compressive.sketch(table, spec).to_bytes() == expected.to_bytes(), type(table)
    blocks = (X[i : i + 700] for i in range(0, len(X), 700))
    assert (compressive.sketch(blocks, spec.with_columns(["x0", "x1", "x2"])).sums == expected.sums).all()


def test_series_are_tables_of_one_column():
    values = np.arange(100.0)
    spec = compressive.SketchSpec(["km"], size=5)
    expected = compressive.sketch(values[:, np.newaxis], spec).to_bytes()
    for series in (pd.Series(values, name="km"), pl.Series("km", values)):
        assert compressive.sketch(series, spec).to_bytes() == expected
    assert compressive.sketch(pd.Series(values), k=1).spec.columns == ["x0"]


def test_masked_entries_are_missing(blobs):
    X = np.ma.MaskedArray(blobs[0], mask=False)
    X[7, 1] = np.ma.masked
    spec = compressive.design(blobs[0], 4)
    with pytest.raises(compressive.CompressiveError, match="row 7, column 1"):
        compressive.sketch(X, spec)
    assert compressive.sketch(X, spec, skip_bad_rows=True).rows == len(X) - 1


def test_sparse_tables_are_refused_with_the_way_to_proceed(blobs):
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.csr_matrix(blobs[0])
    with pytest.raises(TypeError, match="toarray"):
        compressive.sketch(X, k=2)
    blocks = (X[i : i + 1000].toarray() for i in range(0, X.shape[0], 1000))
    assert compressive.sketch(blocks, k=2).rows == X.shape[0]


def test_batches_of_other_columns_are_refused():
    with pytest.raises(ValueError, match="batch 2 has the columns b, and the first a"):
        compressive.sketch((pl.DataFrame({name: [1.0, 2.0]}) for name in "ab"), k=1)


def test_groups_of_text_are_those_of_sorting_and_missing_ones_are_told():
    from compressive._data import as_groups

    rng = np.random.default_rng(0)
    text = rng.choice(["b", "a", "ä", "c c"], 1000)
    for by in (text, text.astype(object), text.tolist(), pd.Series(text)):
        codes, names = as_groups(by)
        np.testing.assert_array_equal(np.asarray(names)[codes], text)
        assert names == sorted(set(text))
    assert as_groups(np.array([2, 1, 10]))[1] == ["1", "2", "10"]
    assert as_groups(np.array([2, "x", True], dtype=object))[1] == ["true", "2", "x"]
    for by in (["a", None], [1.0, np.nan], pd.Series(["a", pd.NA]), np.array([pd.NaT, "a"], dtype=object)):
        with pytest.raises(ValueError, match="missing value names no group"):
            as_groups(by)


# Estimators.

SAME = [
    (KMeans, cluster.KMeans, set()),
    (KMeans, cluster.MiniBatchKMeans, {"batch_size", "init_size", "max_no_improvement", "reassignment_ratio"}),
    (GaussianMixture, mixture.GaussianMixture, set()),
    (compressive.PCA, decomposition.PCA, {"n_oversamples", "power_iteration_normalizer"}),
    (compressive.PCA, decomposition.IncrementalPCA, set()),
]


@pytest.mark.parametrize(("ours", "theirs", "missing"), SAME, ids=lambda v: getattr(v, "__module__", ""))
def test_parameters_and_methods_are_those_of_scikit_learn(ours, theirs, missing):
    # MiniBatchKMeans alone calls what it has no use for `compute_labels`.
    assert set(theirs().get_params()) - set(ours().get_params()) == missing
    public = {name for name, _ in inspect.getmembers(theirs, callable) if not name.startswith("_")}
    mine = {name for name, _ in inspect.getmembers(ours, callable) if not name.startswith("_")}
    assert {name for name in public - mine if not name.endswith("_request")} == set()


def test_parameters_without_effect_have_none(blobs):
    X = blobs[0]
    plain = KMeans(4, random_state=0).fit(X)
    other = KMeans(4, random_state=0, init="random", max_iter=1, tol=9.0, verbose=1, copy_x=False, algorithm="elkan")
    np.testing.assert_array_equal(other.fit(X).cluster_centers_, plain.cluster_centers_)
    assert plain.n_iter_ == 1
    assert KMeans(4, n_init=3, random_state=0).fit(X).inertia_ <= 1.01 * plain.inertia_
    with pytest.raises(ValueError, match="n_init"):
        KMeans(4, n_init=0).fit(X)


def test_mixtures_say_how_they_ended(blobs):
    X = blobs[0]
    model = GaussianMixture(4, random_state=0, warm_start=True, max_iter=1).fit(X)
    assert model.converged_ and model.n_iter_ == 1
    assert model.lower_bound_ == pytest.approx(model.score(X))
    assert model.to_sklearn().lower_bound_ == model.lower_bound_


@pytest.mark.parametrize("make", [KMeans, KMedians, GaussianMixture])
def test_float32_stays_float32(make, blobs):
    X = blobs[0]
    for dtype in (np.float32, np.float64):
        model = make(4, random_state=0).fit(X.astype(dtype))
        names = ("cluster_centers_",) if make is not GaussianMixture else ("means_", "covariances_", "precisions_")
        assert {getattr(model, name).dtype for name in names} == {np.dtype(dtype)}


def test_tied_mixtures_are_as_likely_as_scikit_learns():
    rng = np.random.default_rng(3)
    shape = np.linalg.cholesky([[3.0, 1.2, 0.0], [1.2, 1.0, -0.3], [0.0, -0.3, 0.5]])
    centres = rng.normal(0, 5, (4, 3))
    X = centres[rng.integers(0, 4, 20_000)] + rng.normal(size=(20_000, 3)) @ shape.T
    ours = GaussianMixture(4, covariance_type="tied", random_state=0).fit(X)
    theirs = mixture.GaussianMixture(4, covariance_type="tied", random_state=0, n_init=3).fit(X)
    assert ours.covariances_.shape == ours.precisions_cholesky_.shape == (3, 3)
    # One draw of 20,000 rows; ours is a search in the sketch, so that it may be a little less likely.
    assert ours.score(X) > theirs.score(X) - 0.02
    np.testing.assert_allclose(ours.to_sklearn().score_samples(X), ours.score_samples(X), rtol=1e-6)
    assert ours.bic(X) < GaussianMixture(4, covariance_type="full", random_state=0).fit(X).bic(X) + 500
    rows, _ = ours.sample(5000)
    assert rows.shape == (5000, 3)


def test_medians_stay_where_most_rows_are(blobs):
    X, y = blobs
    far = np.concatenate([X, np.full((200, 3), 400.0)])
    medians = KMedians(4, random_state=0).fit(X)
    truth = np.array([np.median(X[y == label], axis=0) for label in range(4)])
    gaps = np.linalg.norm(medians.cluster_centers_[:, np.newaxis] - truth, axis=2).min(axis=1)
    assert gaps.max() < 0.3
    assert medians.inertia_ == pytest.approx(-medians.score(X))
    one = KMedians(1, random_state=0).fit(far).cluster_centers_[0]
    mean = KMeans(1, random_state=0).fit(far).cluster_centers_[0]
    middle = np.median(far, axis=0)
    assert np.linalg.norm(one - middle) < 0.5 * np.linalg.norm(mean - middle)


def test_unusual_rows_are_found_and_streams_agree(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3)) * [1.0, 10.0, 0.1]
    odd = np.array([[8.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 90.0, 0.0]])
    model = AnomalyDetector(0.02, random_state=0).fit(X)
    assert model.predict(odd).tolist() == [-1, -1, -1]
    assert (model.predict(X) == -1).mean() == pytest.approx(0.02, abs=0.002)
    assert (model.decision_function(X) < 0).sum() == (model.predict(X) == -1).sum()
    path = tmp_path / "rows.npy"
    np.save(path, X)
    stream = AnomalyDetector(0.02, random_state=0).fit(path)
    # The limit is that of 10,000 rows: 2% of them, give or take four standard deviations.
    assert (stream.predict(X) == -1).mean() == pytest.approx(0.02, abs=0.006)
    drawn = AnomalyDetector(0.02, random_state=0).fit_sketch(stream.sketch_)
    assert 0.005 < (drawn.predict(X) == -1).mean() < 0.08


# Cubes.


@pytest.fixture
def trips():
    rng = np.random.default_rng(1)
    n = 6000
    days = np.array([f"2026-01-{day:02}" for day in range(1, 13)])
    frame = pd.DataFrame({"km": rng.gamma(2, 3, n), "fare": rng.gamma(3, 9, n)})
    return frame.assign(day=rng.choice(days, n), region=rng.choice(["north", "south", "west"], n))


def test_a_cube_is_its_groups_in_memory_and_on_disk(trips, tmp_path):
    spec = compressive.design(trips[["km", "fare"]], 3)
    cube = compressive.cube(trips, ["day", "region"], spec)
    assert (len(cube), cube.rows, cube.keys) == (36, 6000, ["day", "region"])
    cube.save(tmp_path / "cube.parquet")
    january = trips[trips.day.between("2026-01-03", "2026-01-05") & (trips.region != "west")]
    expected = compressive.sketch(january[["km", "fare"]], spec)
    for one in (cube, compressive.Cube.open(tmp_path / "cube.parquet")):
        part = one.slice(day=("2026-01-03", "2026-01-05"), region=["north", "south"])
        assert len(part) == 6 and part.total() == expected
        assert one.total(day=("2026-01-03", "2026-01-05"), region=lambda name: name != "west") == expected
        regions = one.rollup("region")
        assert regions.groups == ["north", "south", "west"] and regions.total() == one.total()
        assert regions["north"] == compressive.sketch(trips[trips.region == "north"][["km", "fare"]], spec)
        assert one["2026-01-03", "west"].rows == ((trips.day == "2026-01-03") & (trips.region == "west")).sum()
        assert dict(one.items()).keys() == dict(cube.items()).keys()
        assert one.fit("kmeans", 3, where={"region": "north"}).k == 3
        assert one.compare({"region": "north"}, {"region": "south"}).verdict in ("same", "perhaps")
        assert repr(one) == "Cube(36 sketches by day, region, 6000 rows)"
    # Any engine reads the keys and the numbers of rows.
    table = pq.read_table(tmp_path / "cube.parquet")
    assert table.column_names == ["day", "region", "rows", "weight", "sketch"]
    assert sum(table["rows"].to_pylist()) == 6000


def test_cubes_say_what_they_lack(trips):
    cube = compressive.cube(trips, "region", k=3, columns=["km", "fare"])
    with pytest.raises(ValueError, match="its keys are region"):
        cube.slice(day="x")
    with pytest.raises(ValueError, match="no group fits"):
        cube.slice(region="east")
    with pytest.raises(KeyError, match="north"):
        cube["east"]
    other = compressive.sketch(trips[["km", "fare"]], k=4)
    with pytest.raises(compressive.CompressiveError, match="another recipe"):
        compressive.Cube({"a": cube["north"], "b": other}, "region")
    with pytest.raises(ValueError, match="by="):
        compressive.cube(trips, [])
    assert "east" not in cube and "north" in cube


def test_the_program_makes_and_reads_cubes(program, trips, tmp_path):
    trips.to_parquet(tmp_path / "trips.parquet")
    columns = ["--columns", "km,fare"]
    program("design", "trips.parquet", *columns, "-k", 3, "-o", "spec.json", "-q")
    text = program("sketch", "trips.parquet", "--spec", "spec.json", "--by", "day", "-o", "days.parquet")
    assert "12 sketches in one file" in text
    program("sketch", "trips.parquet", "--spec", "spec.json", "-o", "all.sketch", "-q")
    program("merge", "days.parquet", "-o", "sum.sketch")
    assert (tmp_path / "sum.sketch").read_bytes() == (tmp_path / "all.sketch").read_bytes()
    cube = compressive.Cube.open(tmp_path / "days.parquet")
    program("merge", "days.parquet#day=2026-01-02..2026-01-04", "-o", "slice.sketch")
    assert Sketch.load(tmp_path / "slice.sketch") == cube.total(day=("2026-01-02", "2026-01-04"))
    assert program.json("fit", "days.parquet#day=2026-01-02", "-k", 3)["k"] == 3
    assert program.json("compare", "days.parquet#day=2026-01-02", "days.parquet#day=2026-01-03")["p_value"] > 1e-3
    assert program.json("report", "days.parquet", "-o", "days.html")["sketches"] == 12
    assert "its keys are day" in program.fails("merge", "days.parquet#month=1", "-o", "x.sketch")
    assert "not a cube" in program.fails("merge", "trips.parquet", "-o", "x.sketch")
    assert "KEY=VALUE" in program.fails("merge", "days.parquet#day", "-o", "x.sketch")
