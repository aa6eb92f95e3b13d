"""Private fits: what they refuse, what they do not tell, and how near they come."""

import json

import compressive
import numpy as np
import pytest
from compressive import PCA, GaussianMixture, KMeans, PrivateSketch, SketchClassifier
from sklearn.metrics import pairwise_distances_argmin_min

CENTRES = np.array([[-6.0, -6.0], [6.0, -6.0], [0.0, 7.0]])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 100_000)
    return (CENTRES[y] + rng.normal(size=(100_000, 2))).astype(np.float32), y


def private(estimator, epsilon=2.0, **options):
    return estimator.set_params(epsilon=epsilon, bounds=(-12, 12), **options)


def every():
    return [KMeans(3), GaussianMixture(3), PCA(1), SketchClassifier()]


def spent(sketch):
    return sum(release["epsilon"] for release in json.loads(sketch.releases_json))


@pytest.mark.parametrize("estimator", every(), ids=lambda e: type(e).__name__)
def test_missing_bounds_are_an_error(estimator, table):
    with pytest.raises(ValueError, match="bounds"):
        estimator.set_params(epsilon=1.0).fit(table[0][:1000], table[1][:1000])


@pytest.mark.parametrize("estimator", every(), ids=lambda e: type(e).__name__)
def test_weights_are_refused(estimator, table):
    X, y = table[0][:1000], table[1][:1000]
    with pytest.raises(ValueError, match="sample_weight"):
        private(estimator).fit(X, y, sample_weight=np.ones(1000))


def test_private_centres_differ_between_runs_and_are_near(table):
    X, _ = table
    one, other = (private(KMeans(3, random_state=0)).fit(X) for _ in range(2))
    assert isinstance(one.sketch_, PrivateSketch)
    assert spent(one.sketch_) == pytest.approx(2.0)
    assert not np.array_equal(one.cluster_centers_, other.cluster_centers_)
    for means in (one, other):
        assert pairwise_distances_argmin_min(CENTRES, means.cluster_centers_)[1].max() < 0.3


def test_nothing_exact_is_left_after_a_private_fit(table):
    X, y = table
    means = private(KMeans(3, random_state=0)).fit(X)
    assert not hasattr(means, "labels_")
    assert not hasattr(means, "inertia_")
    assert means.fit_predict(X).shape == (len(X),)
    for estimator in every():
        fitted = private(estimator).fit(X[:5000], y[:5000])
        held = vars(fitted).values()
        assert not any(isinstance(value, compressive.Sketch) for value in held)
        sketches = fitted.sketch_.values() if isinstance(fitted.sketch_, dict) else [fitted.sketch_]
        assert all(isinstance(sketch, PrivateSketch) for sketch in sketches)


def test_a_fit_before_is_not_told_by_a_private_one(table):
    means = KMeans(3, random_state=0).fit(table[0])
    assert hasattr(means, "labels_")
    private(means).fit(table[0])
    assert not hasattr(means, "labels_")


def test_the_recipe_is_paid_from_the_budget(table):
    X, _ = table
    looked = private(KMeans(3, random_state=0)).fit(X)
    blind = private(KMeans(3, random_state=0), design_epsilon=0, scale=0.5).fit(X)
    assert json.loads(looked.spec_.to_json())["source"] != json.loads(blind.spec_.to_json())["source"]
    assert "0.2" in json.dumps(json.loads(looked.spec_.to_json())["source"])
    with pytest.raises(ValueError, match=r"design_epsilon=2\.0 must be less than epsilon=2\.0"):
        private(KMeans(3), design_epsilon=2.0).fit(X)


def test_a_recipe_that_looked_at_the_rows_is_refused(table):
    spec = compressive.design(table[0], 3)
    with pytest.raises(ValueError, match="spec"):
        KMeans(3, spec=spec, epsilon=1.0).fit(table[0])


def test_private_mixtures_components_and_classes_are_near(table):
    X, y = table
    mixture = private(GaussianMixture(3, random_state=0), delta=1e-7).fit(X)
    assert pairwise_distances_argmin_min(CENTRES, mixture.means_)[1].max() < 0.5
    np.testing.assert_allclose(mixture.weights_, 1 / 3, atol=0.05)
    components = private(PCA(1, random_state=0)).fit(X)
    exact = PCA(1, random_state=0).fit(X)
    assert abs(components.components_[0] @ exact.components_[0]) > 0.99
    assert private(SketchClassifier(random_state=0)).fit(X, y).score(X, y) > 0.99


def test_private_batches_are_released_one_by_one(table):
    X, _ = table
    means = private(KMeans(3, random_state=0))
    for part in np.array_split(X, 3):
        means.partial_fit(part)
    assert len(json.loads(means.sketch_.releases_json)) == 3
    assert abs(means.sketch_.rows - len(X)) < 2000
    assert pairwise_distances_argmin_min(CENTRES, means.cluster_centers_)[1].max() < 0.5


def test_bounds_are_given_by_name_or_by_column(table):
    frame = {"a": table[0][:, 0], "b": table[0][:, 1]}
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(frame)
    named = KMeans(3, random_state=0, epsilon=2.0, bounds={"a": (-12, 12), "b": (-11, 13)}).fit(X)
    assert named.spec_.bounds == ([-12.0, -11.0], [12.0, 13.0])
    listed = KMeans(3, random_state=0, epsilon=2.0, bounds=([-12, -11], [12, 13])).fit(X)
    assert listed.spec_.bounds == named.spec_.bounds
    with pytest.raises(ValueError, match="missing for b"):
        KMeans(3, epsilon=2.0, bounds={"a": (0, 1)}).fit(X)
