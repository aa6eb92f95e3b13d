"""The estimators against their namesakes in scikit-learn, and what they are turned into."""

import pickle

import numpy as np
import pytest
from compressive import PCA, GaussianMixture, KMeans, RandomPeriodicFeatures, SketchClassifier
from sklearn import cluster, decomposition, mixture
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB


@pytest.fixture(scope="module")
def digits():
    return load_digits().data


@pytest.fixture(scope="module")
def three():
    """Rows of three Gaussians with variances of their own in three columns."""
    rng = np.random.default_rng(0)
    parts = [
        rng.normal(size=(5000, 3)) * [1, 2, 0.5],
        rng.normal(size=(3000, 3)) * [0.5, 0.5, 1] + [6, 0, 3],
        rng.normal(size=(2000, 3)) + [0, 8, 0],
    ]
    return np.concatenate(parts)


@pytest.mark.parametrize("feature", ["fourier", "one-bit", "sawtooth", "nystrom"])
def test_clusters_of_blobs_are_as_tight_as_ten_runs_of_lloyd(feature):
    X, _ = make_blobs(20_000, n_features=5, centers=8, random_state=3)
    best = cluster.KMeans(8, n_init=10, random_state=0).fit(X).inertia_
    assert KMeans(8, feature=feature, random_state=0).fit(X).inertia_ <= 1.05 * best


def test_clusters_of_hardly_any_width_are_found():
    centres = np.random.default_rng(0).uniform(0, 10, (5, 2))
    X = centres[np.arange(2000) % 5] + np.random.default_rng(2).normal(0, 1e-4, (2000, 2))
    found = KMeans(5, random_state=0).fit(X).cluster_centers_
    assert pairwise_distances_argmin_min(centres, found)[1].max() < 1e-3


def test_clusters_of_digits_are_nearly_as_tight_in_the_pixels(digits):
    """On 16 principal components: 64 columns at once give 1.09, after minutes."""
    components = PCA(16, random_state=0).fit(digits)
    means = KMeans(10, random_state=0).fit(components.transform(digits))
    centres = components.inverse_transform(means.cluster_centers_)
    found = (pairwise_distances_argmin_min(digits, centres)[1] ** 2).sum()
    assert found <= 1.1 * cluster.KMeans(10, n_init=10, random_state=0).fit(digits).inertia_


@pytest.mark.parametrize(("kind", "slack"), [("diag", 0.001), ("spherical", 0.05), ("full", 0.001)])
def test_mixtures_are_as_likely_as_those_of_expectation_maximisation(kind, slack, three):
    """Spheres are not what the rows are, so that the two ways to fit them differ."""
    best = mixture.GaussianMixture(3, covariance_type=kind, n_init=3, random_state=0).fit(three)
    found = GaussianMixture(3, covariance_type=kind, random_state=0).fit(three)
    assert found.score(three) > best.score(three) - slack
    assert found.covariances_.shape == best.covariances_.shape
    assert found.precisions_.shape == found.precisions_cholesky_.shape == best.precisions_.shape
    order = np.argsort(found.weights_)
    np.testing.assert_allclose(found.weights_[order], np.sort(best.weights_), atol=0.02)
    np.testing.assert_allclose(found.means_[order], best.means_[np.argsort(best.weights_)], atol=0.25)


@pytest.mark.parametrize("kind", ["diag", "spherical", "full"])
def test_samples_of_a_mixture_have_its_moments(kind, three):
    found = GaussianMixture(3, covariance_type=kind, random_state=0).fit(three)
    rows, components = found.sample(40_000)
    assert rows.shape == (40_000, 3)
    for k in range(3):
        drawn = rows[components == k]
        shape = found.covariances_[k]
        covariance = shape if kind == "full" else np.diag(np.broadcast_to(shape, 3))
        np.testing.assert_allclose(drawn.mean(axis=0), found.means_[k], atol=0.1)
        np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.15)


def test_components_with_a_gap_behind_them_are_those_of_scikit_learn():
    rng = np.random.default_rng(4)
    basis = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    X = rng.normal(size=(5000, 20)) * np.r_[[9.0, 6.0, 4.0], np.full(17, 0.3)] @ basis + rng.normal(size=20)
    found, exact = PCA(3, random_state=0).fit(X), decomposition.PCA(3).fit(X)
    cosines = np.linalg.svd(found.components_ @ exact.components_.T)[1]
    assert np.degrees(np.arccos(np.minimum(cosines, 1))).max() < 0.5
    np.testing.assert_allclose(found.components_, exact.components_, atol=0.01)
    np.testing.assert_allclose(found.mean_, exact.mean_, atol=1e-5)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "noise_variance_"):
        np.testing.assert_allclose(getattr(found, name), getattr(exact, name), rtol=0.01, err_msg=name)


def test_components_of_digits_hold_as_much_variance(digits):
    found, exact = PCA(10, random_state=0).fit(digits), decomposition.PCA(10).fit(digits)
    centred = digits - digits.mean(axis=0)
    held = ((centred @ found.components_.T) ** 2).sum() / ((centred @ exact.components_.T) ** 2).sum()
    assert held > 0.99


def test_whitened_coordinates_have_unit_variance(three):
    found = PCA(whiten=True, random_state=0).fit(three)
    np.testing.assert_allclose(found.transform(three).var(axis=0), 1, rtol=1e-3)
    np.testing.assert_allclose(found.inverse_transform(found.transform(three)), three, atol=1e-6)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_classes_are_told_apart_as_well_as_by_gaussians(load):
    X, y = load(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    found, *peers = (
        cross_val_score(classifier, X, y, cv=folds).mean()
        for classifier in (SketchClassifier(random_state=0), GaussianNB(), QuadraticDiscriminantAnalysis())
    )
    assert found >= max(peers) - 0.02


def test_probabilities_are_those_of_the_densities():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(4000, 2)), rng.normal(size=(1000, 2)) + [2, 0]])
    y = np.repeat(["left", "right"], [4000, 1000])
    found = SketchClassifier(method="mixture", random_state=0).fit(X, y)
    at = np.column_stack([np.linspace(-2, 4, 13), np.zeros(13)])
    expected = 1 / (1 + 4 * np.exp(-2 * at[:, 0] + 2))
    np.testing.assert_allclose(found.predict_proba(at)[:, 1], expected, atol=0.05)
    np.testing.assert_allclose(found.predict_log_proba(at), np.log(found.predict_proba(at)))
    equal = SketchClassifier(method="mixture", uniform_priors=True, random_state=0).fit(X, y)
    assert equal.predict_proba([[1.0, 0.0]])[0, 1] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("method", ["nearest", "centred", "correlation"])
def test_rules_without_densities_have_scores_and_no_probabilities(method):
    X, y = make_blobs(1000, centers=3, random_state=2)
    found = SketchClassifier(method=method, uniform_priors=True, random_state=0).fit(X, y)
    assert found.method_ == method
    assert found.score(X, y) > 0.9
    assert not hasattr(found, "predict_proba")
    assert not hasattr(SketchClassifier(method=method), "predict_proba")
    np.testing.assert_array_equal(found.decision_function(X).argmax(axis=1), found.predict(X))


@pytest.mark.parametrize(
    ("one", "other"), [("fourier", "fourier"), ("cosine", "cosine"), ("one-bit", "fourier"), ("sawtooth", "fourier")]
)
def test_inner_products_of_random_features_estimate_the_kernel(one, other):
    X = np.random.default_rng(3).normal(size=(40, 4)) + 100
    z, w = (RandomPeriodicFeatures(20_001, gamma=0.3, feature=f, random_state=1).fit_transform(X) for f in (one, other))
    # The error is near 1 / sqrt(20,000) = 0.007, and the largest of 1600 is four times that.
    assert np.abs(z @ w.T - rbf_kernel(X, gamma=0.3)).max() < 0.035


def test_features_of_a_given_recipe_are_what_its_sketch_sums(three):
    sketch = KMeans(3, random_state=0).fit(three).sketch_
    found = RandomPeriodicFeatures().fit_sketch(sketch)
    features = found.transform(three) * np.sqrt(sketch.spec.sketch_len / 2)
    np.testing.assert_allclose(features.mean(axis=0), sketch.mean, atol=1e-6)


def converted(three):
    """Estimators that have a namesake, with what is asked of them."""
    yield KMeans(3, random_state=0).fit(three), ("predict", "transform")
    for kind in ("diag", "spherical", "full"):
        fitted = GaussianMixture(3, covariance_type=kind, random_state=0).fit(three)
        yield fitted, ("predict", "predict_proba", "score_samples", "bic", "aic")
    for whiten in (False, True):
        yield PCA(2, whiten=whiten, random_state=0).fit(three), ("transform", "score_samples", "score")


def test_the_scikit_learn_object_agrees_also_after_pickling(three):
    for fitted, names in converted(three):
        plain = fitted.to_sklearn()
        assert type(plain).__module__.startswith("sklearn.")
        assert type(plain).__name__ == type(fitted).__name__
        for other in (plain, pickle.loads(pickle.dumps(plain))):
            for name in names:
                ours, theirs = getattr(fitted, name)(three), getattr(other, name)(three)
                np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6, err_msg=f"{fitted}.{name}")


def test_models_run_as_onnx(three):
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    rows = three.astype(np.float32)
    for fitted, names in converted(three):
        if getattr(fitted, "covariance_type", "diag") != "diag" or getattr(fitted, "whiten", False):
            continue
        program = skl2onnx.to_onnx(fitted.to_sklearn(), rows[:1])
        answer = onnxruntime.InferenceSession(program.SerializeToString()).run(None, {"X": rows})[0]
        np.testing.assert_allclose(answer.squeeze(), getattr(fitted, names[0])(rows), atol=1e-3)
