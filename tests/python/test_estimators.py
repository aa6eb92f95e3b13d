"""The estimators follow scikit-learn's conventions."""

import io
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from compressive import (
    PCA,
    AnomalyDetector,
    GaussianMixture,
    KMeans,
    KMedians,
    RandomPeriodicFeatures,
    SketchClassifier,
)
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

ALL = [
    KMeans(n_clusters=3, random_state=0),
    GaussianMixture(n_components=2, random_state=0),
    GaussianMixture(covariance_type="spherical", random_state=0),
    GaussianMixture(n_components=2, covariance_type="tied", random_state=0),
    KMedians(n_clusters=3, random_state=0),
    AnomalyDetector(random_state=0),
    PCA(n_components=2, random_state=0),
    PCA(random_state=0),
    SketchClassifier(random_state=0),
    RandomPeriodicFeatures(random_state=0),
]


@parametrize_with_checks(ALL)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(2000, n_features=3, centers=4, random_state=5)


def small(estimator):
    """The estimator for four blobs in three columns."""
    if isinstance(estimator, SketchClassifier):
        return clone(estimator)
    name = "n_clusters" if isinstance(estimator, KMeans) else "n_components"
    return clone(estimator).set_params(**{name: 3 if isinstance(estimator, PCA) else 4})


def answers(estimator, X):
    """What a fitted estimator says of rows."""
    names = ("predict", "predict_proba", "transform", "score_samples", "decision_function")
    return {name: getattr(estimator, name)(X) for name in names if hasattr(estimator, name)}


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_a_saved_estimator_gives_the_same_answers(estimator, blobs):
    X, y = blobs
    fitted = small(estimator).fit(X, y)
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    for again in (joblib.load(file), pickle.loads(pickle.dumps(fitted))):
        for name, answer in answers(fitted, X).items():
            np.testing.assert_array_equal(getattr(again, name)(X), answer)


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_order_layout_and_type_of_the_rows_and_threads_change_nothing(estimator, blobs):
    X, y = blobs
    X = X.astype(np.float32).astype(np.float64)
    expected = answers(small(estimator).fit(X, y), X)
    assert expected
    fixed = X.copy()
    fixed.flags.writeable = False
    wide = np.empty((len(X), 5))
    wide[:, 1:4] = X
    for other in (np.asfortranarray(X), fixed, wide[:, 1:4], X.astype(np.float32)):
        for name, answer in answers(small(estimator).fit(other, y), other).items():
            np.testing.assert_allclose(answer, expected[name], rtol=1e-4, atol=1e-4, err_msg=name)
    order = np.random.default_rng(0).permutation(len(X))
    for fitted in (small(estimator).fit(X[order], y[order]), small(estimator).set_params(n_jobs=1).fit(X, y)):
        # The mean of random features is summed in the order of the rows, so that its last digits may differ.
        loose = 1e-5 if isinstance(estimator, RandomPeriodicFeatures) else 0
        for name, answer in answers(fitted, X).items():
            np.testing.assert_allclose(answer, expected[name], rtol=loose, atol=loose, err_msg=name)


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
def test_nothing_can_be_asked_before_fit(estimator):
    for name in ("predict", "transform", "score_samples", "decision_function"):
        if hasattr(estimator, name):
            with pytest.raises(NotFittedError):
                getattr(clone(estimator), name)(np.eye(3))


def test_clusters_are_found_inside_a_pipeline_and_a_grid_search(blobs):
    X, _ = blobs
    pipeline = make_pipeline(StandardScaler(), PCA(3, random_state=0), KMeans(random_state=0))
    search = GridSearchCV(pipeline, {"kmeans__n_clusters": [2, 4]}, cv=2).fit(X)
    assert search.best_params_ == {"kmeans__n_clusters": 4}
    assert len(np.unique(search.predict(X))) == 4


def test_classifiers_are_cross_validated_with_text_labels():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.asarray(["setosa", "versicolor", "virginica"])[y]
    assert cross_val_score(SketchClassifier(random_state=0, method="mixture"), X, names, cv=3).mean() > 0.93


def test_frames_name_the_columns_of_recipes_and_outputs(blobs):
    frame = pd.DataFrame(blobs[0], columns=["a", "b", "c"])
    means = KMeans(2, random_state=0).set_output(transform="pandas").fit(frame)
    assert means.spec_.columns == means.model_.columns == ["a", "b", "c"]
    assert list(means.feature_names_in_) == ["a", "b", "c"]
    assert list(means.transform(frame).columns) == ["kmeans0", "kmeans1"]
    assert list(PCA(2, random_state=0).fit(frame).get_feature_names_out()) == ["pca0", "pca1"]
    features = RandomPeriodicFeatures(3, random_state=0).fit(frame)
    assert list(features.get_feature_names_out()) == [f"randomperiodicfeatures{i}" for i in range(3)]
    with pytest.raises(ValueError, match="feature names"):
        means.predict(frame[["b", "a", "c"]])


def test_the_same_random_state_gives_the_same_model_and_others_do_not(blobs):
    X, _ = blobs
    first, again, other = (KMeans(4, random_state=seed).fit(X) for seed in (1, 1, 2))
    assert first.sketch_ == again.sketch_
    assert first.model_ == again.model_
    assert first.spec_ != other.spec_
    drawn = KMeans(4, random_state=np.random.RandomState(0)).fit(X)
    assert drawn.spec_.seed == np.random.RandomState(0).randint(2**31 - 1)
    assert KMeans(4).fit(X).spec_ != KMeans(4).fit(X).spec_


def test_estimators_have_an_html_view(blobs):
    assert "n_clusters" in KMeans(4)._repr_html_()
    assert "KMeans" in KMeans(4, random_state=0).fit(blobs[0])._repr_html_()


@pytest.mark.parametrize(
    ("estimator", "text"),
    [
        (KMeans(0), "n_clusters"),
        (KMeans(2, feature="cubic"), "feature"),
        (KMeans(2, decoder="best"), "decoder"),
        (KMeans(2, scale="wide"), "scale"),
        (KMeans(2, epsilon=-1.0), "epsilon"),
        (GaussianMixture(2, covariance_type="loose"), "covariance_type"),
        (PCA(9), "n_components=9 must be between 1 and"),
        (RandomPeriodicFeatures(gamma=0), "gamma"),
        (KMeans(3000), "n_samples=2000 should be >= n_clusters=3000"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(estimator, text, blobs):
    with pytest.raises(ValueError, match=text):
        estimator.fit(*blobs)


def test_a_missing_value_is_refused(blobs):
    X = blobs[0].copy()
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        KMeans(2).fit(X)
    means = KMeans(2, random_state=0).fit(blobs[0])
    with pytest.raises(ValueError, match="contains NaN"):
        means.predict(X)


def test_no_warning_is_given_for_a_usual_fit(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for estimator in ALL:
            answers(small(estimator).fit(*blobs), blobs[0])
