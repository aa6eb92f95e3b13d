"""Classifiers from one sketch for each class."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .. import _api, _native
from .._data import group_name
from .._native import PILOT_ROWS, PrivateSketch, Sketch, SketchSpec
from ._base import (
    FEATURE_CONSTRAINTS,
    LOOK_CONSTRAINTS,
    PRIVACY_CONSTRAINTS,
    SKETCH_CONSTRAINTS,
    SketchEstimator,
    seed_of,
)
from ._table import ArrayTable, Floats, StreamTable, Table, checked_array, checked_weights, is_stream, remember_names

if TYPE_CHECKING:
    from typing_extensions import Self

_METHODS = {"auto", "mixture", "nearest", "centred", "correlation"}


def _has_probabilities(estimator: Any) -> bool:
    if estimator.__sklearn_is_fitted__():
        return bool(estimator.method_ == "mixture")
    return estimator.method in ("auto", "mixture")


class SketchClassifier(ClassifierMixin, SketchEstimator):  # type: ignore[misc]
    """Classifier learned from one sketch for each class.

    The rows are read once, whatever their number. By default each class is a Gaussian, of full covariance up to 16
    columns, and Bayes' rule decides.

    Parameters
    ----------
    n_components : int, default=1
        Gaussians of each class, for the method "mixture".
    method : {"auto", "mixture", "nearest", "centred", "correlation"}, default="auto"
        The rule: Bayes' rule with a mixture for each class; the nearest class mean of the features; the class mean in
        the row's direction, seen from the middle of all; the largest correlation with a class mean. "auto" takes the
        one with the fewest errors on held-out rows of the sample; in private fits and in `fit_sketch` it is "mixture".
    uniform_priors : bool, default=False
        Equal priors instead of the classes' shares of the rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the recipe and of the search.
    sketch_size, feature, scale, spec, decoder, n_jobs, pilot_size
        As for `KMeans`. Without a given `spec` the columns are whitened.
    epsilon, delta, bounds, design_epsilon
        Private fits: as for `KMeans`. A row is in one class, so that each class's sketch has the whole budget; the set
        of labels is taken to be public.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    method_ : str
        The rule that is used.
    sketch_ : dict of Sketch or PrivateSketch
        By label, of the classes that have rows.
    spec_ : SketchSpec
        The recipe. Columns that are constant in the rows are left out of it.
    model_ : Model
        As the command line writes it, of the columns in the recipe.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> from compressive import SketchClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SketchClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _TASK: ClassVar[str] = "classify"
    _LEARNED: ClassVar[tuple[str, ...]] = ("model_", "method_")
    _chosen: str | None
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions(_METHODS)],
        "uniform_priors": ["boolean"],
        **SKETCH_CONSTRAINTS,
        **FEATURE_CONSTRAINTS,
        **PRIVACY_CONSTRAINTS,
        **LOOK_CONSTRAINTS,
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        method: str = "auto",
        uniform_priors: bool = False,
        random_state: Any = None,
        sketch_size: int | None = None,
        feature: str = "fourier",
        scale: float | str | None = None,
        spec: SketchSpec | None = None,
        decoder: str = "auto",
        n_jobs: int | None = None,
        pilot_size: int = PILOT_ROWS,
        epsilon: float | None = None,
        delta: float = 0.0,
        bounds: Any = None,
        design_epsilon: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.uniform_priors = uniform_priors
        self.random_state = random_state
        self.sketch_size = sketch_size
        self.feature = feature
        self.scale = scale
        self.spec = spec
        self.decoder = decoder
        self.n_jobs = n_jobs
        self.pilot_size = pilot_size
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.design_epsilon = design_epsilon

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Sketches the rows of each class in one pass and learns the classifier from the sketches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Streams and files are sketched with ``compressive.sketch(..., by=column)`` and given to `fit_sketch`.
        y : array-like of shape (n_samples,)
            Labels: text or whole numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Counts each row this many times.

        Returns
        -------
        self
        """
        self._validate_params()
        self._forget(sums_too=True)
        table = self._labelled(X, y, sample_weight, None, reset=True)
        self._start(table)
        self._add(table)
        self._learn()
        return self

    def partial_fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Adds rows to the classes' sketches; the classifier is learned again when it is next asked for.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like of shape (n_classes,)
            All labels that may occur; needed in the first call.

        Returns
        -------
        self
        """
        first = not self.__sklearn_is_fitted__()
        if first:
            self._validate_params()
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
        table = self._labelled(X, y, sample_weight, classes, reset=first)
        if first:
            self._start(table)
        self._add(table)
        self._forget()
        return self

    def fit_sketch(  # type: ignore[override]
        self, sketch: Mapping[Any, Sketch] | Mapping[Any, PrivateSketch]
    ) -> Self:
        """Learns the classifier from sketches that were made elsewhere.

        Parameters
        ----------
        sketch : dict of Sketch or PrivateSketch
            By label, all of one recipe: what ``compressive.sketch(..., by=column)`` returns.

        Returns
        -------
        self
        """
        self._validate_params()
        if not isinstance(sketch, Mapping) or len(sketch) < 2:
            raise ValueError("sketch must be a dict of two or more sketches by label: one for each class")
        if not all(isinstance(one, Sketch | PrivateSketch) for one in sketch.values()):
            raise TypeError("sketch: the values of the dict must be of type Sketch or PrivateSketch")
        self._forget(sums_too=True)
        self._seed = seed_of(self.random_state)
        self._chosen = None
        sketches: dict[Any, Any] = dict(sketch)
        self._adopt(next(iter(sketches.values())).spec)
        remember_names(self, self._names)
        self.classes_ = np.unique(np.asarray(list(sketches)))
        named = {group_name(label): one for label, one in sketches.items()}
        self.sketch_ = {label: named[group_name(label)] for label in self.classes_.tolist()}
        self._learn()
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path(s), Arrow stream or dataset

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = np.argmax(self._scores(X), axis=1)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    def decision_function(self, X: Any) -> Floats:
        """Score of each class for each row: of mixtures the logarithm of prior times density.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or for two classes (n_samples,): the second's score less the first's
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, ndarray of shape (n_samples, n_classes), by Bayes' rule; of mixtures."""
        probabilities: Floats = np.exp(self.predict_log_proba(X))
        return probabilities

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of `predict_proba`."""
        scores = self._scores(X)
        logarithms: Floats = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        return logarithms

    def _scores(self, X: Any) -> Floats:
        """Scores of all classes, shape (n_samples, n_classes); classes without rows have minus infinity."""
        check_is_fitted(self)
        model = self.model_
        if is_stream(X):
            source = StreamTable(X, model.columns).source()
        else:
            source = ArrayTable(checked_array(self, X, reset=False), self._names).source(self._kept)
        found = model.class_scores(source, self._threads())
        places = {group_name(label): place for place, label in enumerate(self.classes_)}
        scores = np.full((len(found), len(self.classes_)), -np.inf)
        scores[:, [places[name] for name in model.parameters["classes"]]] = found
        return scores

    def _labelled(self, X: Any, y: Any, sample_weight: Any, classes: Any, reset: bool) -> ArrayTable:
        """The rows with the numbers of their classes; sets `classes_` in the first call."""
        if is_stream(X):
            raise TypeError(
                "X: a classifier learns streams and files from their sketches: "
                "fit_sketch(compressive.sketch(X, by=column, task='classify', k=1))"
            )
        if self._private() and sample_weight is not None:
            raise ValueError("sample_weight: private fits count each row once; leave the weights out")
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        values = checked_array(self, X, reset, ensure_min_samples=2 if reset else 1)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        if len(labels) != len(values):
            raise ValueError(f"y has {len(labels)} labels, and X {len(values)} rows")
        weights = checked_weights(sample_weight, values)
        if reset:
            self.classes_ = np.unique(labels if classes is None else np.asarray(classes))
            self._check_classes(labels if weights is None else labels[weights > 0], classes is not None)
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        unknown = self.classes_[codes] != labels
        if np.any(unknown):
            raise ValueError(f"y has labels that are not among the classes: {np.unique(labels[unknown])[:5].tolist()}")
        names = [group_name(label) for label in self.classes_]
        return ArrayTable(values, self._names_for(values.shape[1]), weights, codes.astype(np.uint32), names)

    def _check_classes(self, labels: npt.NDArray[Any], declared: bool) -> None:
        n_classes = len(self.classes_) if declared else len(np.unique(labels))
        if n_classes < 2:
            raise ValueError(f"y has {n_classes} class; a classifier needs rows of at least two classes")

    def _wanted(self, dim: int, n_rows: int | None) -> dict[str, Any]:
        return {"k": self.n_components, "feature": self.feature, "scale": self.scale}

    def _start(self, table: Table) -> None:
        self._chosen = None
        super()._start(table)

    def _look(self, sample: Floats, classes: list[str] | None) -> None:
        """Chooses the rule on the sample."""
        if self.method != "auto" or classes is None or self.n_components > 1:
            return
        chosen = _native.choose_method(self.spec_, sample, classes, self.uniform_priors, self._search())
        self._chosen = None if chosen is None else chosen[0]

    def _spec_of_equal_rows(self, row: Floats, names: list[str]) -> SketchSpec:
        raise ValueError("X: all rows are equal, so that no class differs from another")

    def _add(self, table: Table) -> None:
        self._check_constants(table)
        sums, _, _ = table.source(self._kept).sketch(self.spec_, self._threads(), len(self.classes_))
        released = {
            label: self._released(sums[group_name(label)])
            for label in self.classes_.tolist()
            if self._private() or sums[group_name(label)].weight > 0
        }
        before = self.__dict__.get("sketch_", {})
        both = {label: before[label] + released[label] for label in released.keys() & before.keys()}
        merged = {**before, **released, **both}
        self.sketch_ = {label: merged[label] for label in self.classes_.tolist() if label in merged}

    def _learn(self) -> None:
        named = {group_name(label): sketch for label, sketch in self.sketch_.items()}
        if len(named) < 2:
            raise ValueError(f"y has {len(named)} class so far; a classifier needs rows of at least two classes")
        method = self._chosen if self.method == "auto" else self.method
        span = (self.n_components, self.n_components)
        self.model_ = _native.classify(named, method, self.uniform_priors, span, self._search())
        self.method_ = str(self.model_.parameters["method"])

    def _search(self) -> _native.Search:
        return _api.search(decoder=self.decoder, seed=self._seed, threads=self._threads())
