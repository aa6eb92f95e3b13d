"""What rows the estimators take, and what they do with weights, batches, streams and constant columns."""

import warnings

import compressive
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from compressive import PCA, GaussianMixture, KMeans, RandomPeriodicFeatures, SketchClassifier
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(3000, n_features=3, centers=4, random_state=5)


def summing(k=4):
    """The estimators that sum rows, for four blobs in three columns."""
    return [KMeans(k, random_state=0), GaussianMixture(k, random_state=0), PCA(2, random_state=0)]


def task(estimator):
    return {"KMeans": "kmeans", "GaussianMixture": "gmm", "PCA": "pca"}[type(estimator).__name__]


@pytest.mark.parametrize("estimator", summing(), ids=lambda e: type(e).__name__)
def test_rows_in_pieces_make_the_same_bytes_as_the_whole(estimator, blobs):
    X, _ = blobs
    spec = compressive.design(X, 4 if task(estimator) != "pca" else 2, task=task(estimator))
    whole = estimator.set_params(spec=spec).fit(X)
    pieces = type(estimator)(**estimator.get_params())
    for start in range(0, len(X), 700):
        pieces.partial_fit(X[start : start + 700])
    assert pieces.sketch_.to_bytes() == whole.sketch_.to_bytes()
    assert "model_" not in vars(pieces)
    assert pieces.model_ == whole.model_


def test_a_model_is_learned_again_after_more_rows(blobs):
    X, _y = blobs
    means = KMeans(2, random_state=0).partial_fit(X[:1500])
    before = means.cluster_centers_
    means.partial_fit(X[1500:])
    assert means.sketch_.rows == 3000
    assert not np.array_equal(before, means.cluster_centers_)
    assert not hasattr(means, "labels_")


def test_the_first_batch_chooses_the_recipe_and_fit_starts_anew(blobs):
    X, _ = blobs
    means = KMeans(4, random_state=0).partial_fit(X[:500])
    assert means.spec_ == KMeans(4, random_state=0).fit(X[:500]).spec_
    assert means.fit(X).sketch_.rows == len(X)


@pytest.mark.parametrize("estimator", summing(), ids=lambda e: type(e).__name__)
def test_a_sketch_made_elsewhere_gives_the_same_model(estimator, blobs):
    frame = pd.DataFrame(blobs[0], columns=NAMES)
    fitted = estimator.fit(frame)
    sketch = compressive.sketch(frame, fitted.spec_)
    other = type(estimator)(**estimator.get_params()).fit_sketch(sketch)
    assert other.model_ == fitted.model_
    assert list(other.feature_names_in_) == NAMES
    assert other.n_features_in_ == 3
    ask = "transform" if isinstance(estimator, PCA) else "predict"
    np.testing.assert_array_equal(getattr(other, ask)(frame), getattr(fitted, ask)(frame))


def test_fit_sketch_takes_nothing_but_sketches(blobs):
    for estimator in (*summing(), RandomPeriodicFeatures()):
        with pytest.raises(TypeError, match="Sketch"):
            estimator.fit_sketch(blobs[0])
    with pytest.raises(ValueError, match="dict"):
        SketchClassifier().fit_sketch(compressive.sketch(blobs[0]))


@pytest.mark.parametrize("estimator", summing(), ids=lambda e: type(e).__name__)
def test_weights_are_copies(estimator, blobs):
    X, _ = blobs
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = estimator.fit(X, sample_weight=weights)
    copied = type(estimator)(**estimator.get_params()).fit(np.repeat(X, weights, axis=0))
    assert weighted.sketch_.sums.tolist() == copied.sketch_.sums.tolist()
    assert weighted.spec_ == copied.spec_
    if isinstance(estimator, KMeans):
        assert weighted.inertia_ == pytest.approx(copied.inertia_)


def test_weights_are_copies_in_tables_larger_than_the_sample(blobs):
    X, _ = blobs
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = KMeans(4, random_state=0, pilot_size=500).fit(X, sample_weight=weights)
    copied = KMeans(4, random_state=0, pilot_size=500).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(weighted.cluster_centers_, copied.cluster_centers_)


def test_rows_of_weight_zero_do_not_matter_even_if_they_are_far_away(blobs):
    X, _ = blobs
    far = np.vstack([X, np.full((10, 3), 1e6)])
    weights = np.r_[np.full(len(X), 0.5), np.zeros(10)]
    fitted = KMeans(4, random_state=0).fit(far, sample_weight=weights)
    assert np.abs(fitted.cluster_centers_).max() < 100
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        KMeans(4).fit(X, sample_weight=np.full(len(X), -1.0))
    with pytest.raises(ValueError, match="zero"):
        KMeans(4).fit(X, sample_weight=np.zeros(len(X)))


def streams(X, folder):
    """The same table as files, datasets and streams."""
    table = pa.table({name: X[:, i] for i, name in enumerate(NAMES)})
    path = folder / "rows.parquet"
    pa.parquet.write_table(table, path, row_group_size=1000)
    yield "path", lambda: path
    yield "text", lambda: str(path)
    yield "paths", lambda: [path]
    yield "dataset", lambda: pa.dataset.dataset(path)
    yield "table", lambda: table
    yield "reader", lambda: table.to_reader()


def test_streams_give_the_rows_of_the_array(blobs, tmp_path):
    X, _ = blobs
    frame = pd.DataFrame(X, columns=NAMES)
    spec = compressive.design(frame, 4)
    expected = KMeans(4, random_state=0, spec=spec).fit(frame)
    for name, make in streams(X, tmp_path):
        fitted = KMeans(4, random_state=0, spec=spec).fit(make())
        assert fitted.sketch_ == expected.sketch_, name
        assert list(fitted.feature_names_in_) == NAMES, name
        assert not {"labels_", "inertia_"} & set(vars(fitted)), name
        np.testing.assert_array_equal(fitted.predict(make()), expected.labels_, err_msg=name)
        np.testing.assert_array_equal(fitted.predict(frame), expected.labels_, err_msg=name)


@pytest.mark.parametrize("estimator", summing(), ids=lambda e: type(e).__name__)
def test_streams_choose_their_own_recipe(estimator, blobs, tmp_path):
    X, _y = blobs
    for name, make in streams(X, tmp_path):
        fitted = type(estimator)(**estimator.get_params()).fit(make())
        assert fitted.sketch_.rows == len(X), name
        assert fitted.n_features_in_ == 3, name
    features = RandomPeriodicFeatures(10, random_state=0).fit(tmp_path / "rows.parquet")
    assert features.transform(tmp_path / "rows.parquet").shape == (len(X), 10)


def test_class_sketches_of_a_table_make_the_classifier(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=NAMES).assign(kind=np.asarray(list("pqrs"))[y])
    sketches = compressive.sketch(frame, by="kind", columns=NAMES, task="classify", k=1)
    fitted = SketchClassifier(random_state=0).fit_sketch(sketches)
    assert list(fitted.classes_) == list("pqrs")
    assert fitted.method_ == "mixture"
    assert fitted.score(frame[NAMES], frame["kind"]) > 0.99
    with pytest.raises(TypeError, match="fit_sketch"):
        SketchClassifier().fit("rows.parquet", y)


def test_classes_may_come_one_by_one(blobs):
    X, y = blobs
    order = np.argsort(y, kind="stable")
    spec = compressive.design(X, 1, task="classify")
    pieces = SketchClassifier(random_state=0, spec=spec)
    for part in np.array_split(order, 4):
        pieces.partial_fit(X[part], y[part], classes=[0, 1, 2, 3, 7])
    whole = SketchClassifier(random_state=0, spec=spec).fit(X, y)
    assert pieces.sketch_ == whole.sketch_
    np.testing.assert_array_equal(pieces.predict(X), whole.predict(X))
    probabilities = pieces.predict_proba(X)
    assert probabilities.shape == (len(X), 5)
    assert (probabilities[:, 4] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    with pytest.raises(ValueError, match="not among the classes"):
        pieces.partial_fit(X, y + 1)


def with_constants(X):
    return np.column_stack([np.full(len(X), 3.0), X[:, :2], np.zeros(len(X)), X[:, 2]])


def test_constant_columns_are_put_back(blobs):
    X, _y = blobs
    wide, kept = with_constants(X), [1, 2, 4]
    plain, means = (KMeans(4, random_state=0).fit(rows) for rows in (X, wide))
    np.testing.assert_allclose(means.cluster_centers_[:, kept], plain.cluster_centers_, atol=1e-6)
    np.testing.assert_array_equal(means.cluster_centers_[:, [0, 3]], [[3.0, 0.0]] * 4)
    np.testing.assert_array_equal(means.labels_, plain.labels_)
    assert means.inertia_ == pytest.approx(plain.inertia_)
    assert means.spec_.dim == 3
    assert means.model_.columns == [f"x{i}" for i in range(5)]


@pytest.mark.parametrize("kind", ["diag", "spherical", "full"])
def test_constant_columns_have_the_least_variance_of_a_mixture(kind, blobs):
    X, _ = blobs
    mixture = GaussianMixture(4, covariance_type=kind, reg_covar=1e-5, random_state=0).fit(with_constants(X))
    np.testing.assert_array_equal(mixture.means_[:, [0, 3]], [[3.0, 0.0]] * 4)
    if kind == "diag":
        np.testing.assert_allclose(mixture.covariances_[:, [0, 3]], 1e-5)
    elif kind == "full":
        np.testing.assert_allclose(mixture.covariances_[:, 0], [[1e-5, 0, 0, 0, 0]] * 4)
    else:
        plain = GaussianMixture(4, covariance_type=kind, reg_covar=0, random_state=0).fit(X)
        np.testing.assert_allclose(mixture.covariances_, plain.covariances_ * 3 / 5 + 1e-5, rtol=1e-6)
    assert np.isfinite(mixture.score(with_constants(X)))


def test_constant_columns_are_no_components_unless_all_are_asked_for(blobs):
    wide = with_constants(blobs[0])
    two = PCA(2, random_state=0).fit(wide)
    assert not two.components_[:, [0, 3]].any()
    assert two.mean_[0] == 3
    every = PCA(random_state=0).fit(wide)
    np.testing.assert_allclose(every.components_ @ every.components_.T, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(every.explained_variance_, np.sort(np.linalg.eigvalsh(np.cov(wide.T)))[::-1], atol=1e-4)


def test_classifiers_leave_constant_columns_out(blobs):
    X, y = blobs
    plain, wide = (SketchClassifier(random_state=0).fit(rows, y) for rows in (X, with_constants(X)))
    np.testing.assert_array_equal(plain.predict(X), wide.predict(with_constants(X)))


def test_a_column_that_hardly_ever_varies_is_not_constant(blobs):
    X = np.column_stack([blobs[0], np.zeros(3000)])
    X[1234, 3] = 1.0
    means = KMeans(4, random_state=0, pilot_size=100).fit(X)
    assert means.spec_.dim == 4


def test_a_constant_column_that_varies_later_is_refused(blobs):
    X, _ = blobs
    means = KMeans(4, random_state=0).partial_fit(with_constants(X))
    changed = with_constants(X)
    changed[5, 3] = 1.0
    with pytest.raises(ValueError, match="x3: constant in the rows that chose the recipe"):
        means.partial_fit(changed)
    assert means.sketch_.rows == len(X)


def test_equal_rows_are_one_cluster():
    rows = np.full((10, 2), [3.0, -4.0])
    np.testing.assert_allclose(KMeans(1).fit(rows).cluster_centers_, [[3, -4]])
    with pytest.warns(ConvergenceWarning, match="distinct rows"):
        means = KMeans(3, random_state=0).fit(rows)
    np.testing.assert_allclose(means.cluster_centers_, [[3, -4]] * 3)
    assert means.inertia_ == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(GaussianMixture(1).fit(rows).means_, [[3, -4]])
    for estimator in (GaussianMixture(2), PCA(1), SketchClassifier()):
        with pytest.raises(ValueError, match="equal"):
            estimator.fit(rows, np.arange(10) % 2)


def test_fewer_distinct_rows_than_clusters_repeat_centres():
    rows = np.repeat([[0.0, 0.0], [1.0, 5.0], [7.0, 2.0]], 40, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct rows \(3\)"):
        means = KMeans(5, random_state=0).fit(rows)
    assert means.cluster_centers_.shape == (5, 2)
    assert means.model_.k == 5
    assert means.inertia_ < 0.01


def test_a_recipe_must_fit_the_columns(blobs):
    X, _ = blobs
    spec = compressive.design(pd.DataFrame(X, columns=NAMES), 4)
    assert KMeans(4, random_state=0, spec=spec).fit(X).model_.columns == NAMES
    with pytest.raises(ValueError, match="X has 2 features, and spec has 3 columns: a, b, c"):
        KMeans(4, spec=spec).fit(X[:, :2])
    with pytest.raises(ValueError, match=r"X\[spec.columns\]"):
        KMeans(4, spec=spec).fit(pd.DataFrame(X, columns=["c", "b", "a"]))
    with pytest.raises(ValueError, match="scaling='common'"):
        GaussianMixture(4, covariance_type="spherical", spec=compressive.design(X, 4, task="gmm")).fit(X)


def test_a_large_full_mixture_is_refused_before_hours_pass():
    X = np.random.default_rng(0).normal(size=(200, 80))
    with pytest.raises(ValueError, match="covariance_type='diag'"):
        GaussianMixture(2, covariance_type="full").fit(X)


def test_sampling_and_labels_can_be_left_out(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        means = KMeans(4, random_state=0, compute_labels=False).fit(blobs[0])
    assert not hasattr(means, "labels_")
    assert means.score(blobs[0]) < 0


def test_polars_and_duckdb_give_the_rows_of_the_array(blobs):
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    frame = pd.DataFrame(blobs[0], columns=NAMES)
    spec = compressive.design(frame, 4)
    expected = KMeans(4, random_state=0, spec=spec).fit(frame)
    collected = polars.DataFrame({name: blobs[0][:, i] for i, name in enumerate(NAMES)})
    for rows in (collected, duckdb.sql("SELECT * FROM frame")):
        fitted = KMeans(4, random_state=0, spec=spec).fit(rows)
        assert fitted.sketch_ == expected.sketch_
        assert list(fitted.feature_names_in_) == NAMES
    with pytest.raises(TypeError, match="collect"):
        KMeans(4).fit(collected.lazy())


def test_constant_columns_of_streams_are_left_out_with_a_warning(blobs, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    held = pa.table({"a": blobs[0][:, 0], "always": np.full(3000, 7.0), "b": blobs[0][:, 1]})
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(held, path)
    for rows in (path, pa.dataset.dataset(path), held, duckdb.sql("SELECT * FROM held")):
        with pytest.warns(UserWarning, match="always: constant in the sample of 3000 rows"):
            means = KMeans(2, random_state=0).fit(rows)
        assert means.sketch_.rows == 3000
        assert means.cluster_centers_[:, 1].tolist() == [7.0, 7.0]
        assert means.predict(path).shape == (3000,)
    with warnings.catch_warnings(), pytest.raises(ValueError, match="always: constant"):
        warnings.simplefilter("ignore")
        KMeans(2, random_state=0).fit(held.to_reader())
