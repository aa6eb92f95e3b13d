"""k-means from a sketch."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans as PlainKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._native import PILOT_ROWS, SketchSpec, Source
from ._base import (
    FEATURE_CONSTRAINTS,
    LOOK_CONSTRAINTS,
    PRIVACY_CONSTRAINTS,
    SEARCH_CONSTRAINTS,
    SKETCH_CONSTRAINTS,
    SketchEstimator,
)
from ._table import ArrayTable, Floats, StreamTable, Table, checked_array, checked_weights


def _total(distances: Floats, weights: Floats | None) -> float:
    return float(distances.sum() if weights is None else distances @ weights)


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, SketchEstimator):  # type: ignore[misc]
    """k-means clustering, learned from a sketch of the rows.

    The rows are read once, whatever their number; the centres are found from the sketch alone. As in scikit-learn the
    sum of squared distances is that of the columns as they are given: standardise columns of different units first.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters; there are always exactly so many centres.
    random_state : int, RandomState instance or None, default=None
        Seed of the recipe and of the search. An int makes the result repeatable, on any number of cores.
    sketch_size : int, optional
        Number m of frequencies. By default ten for each of the ``n_clusters * n_features`` coordinates up to a
        thousand, then five.
    feature : {"fourier", "one-bit", "sawtooth", "cosine", "nystrom"}, default="fourier"
        What is summed for each row.
    scale : float or str, optional
        Width of the clusters in working units (robust spreads of the columns), or the name of a rule that estimates it:
        "mean-sigma", "data-variance" or "entropy". By default estimated by the first, with a least value.
    spec : SketchSpec, optional
        A recipe to use as it is.
    decoder : str, default="auto"
        How the centres are searched: "auto", or a published algorithm ("cl-ompr", "shift", "amp", ...).
    n_jobs : int, optional
        Threads; None and -1 are all cores. It never changes the result.
    pilot_size : int, default=10_000
        Rows sampled to choose the recipe.
    compute_labels : bool, default=True
        Whether `fit` goes over the rows of an array again for `labels_` and `inertia_`.
    epsilon : float, optional
        Budget of a differentially private fit: the sketch is released with noise before anything is learned, and
        neither `labels_` nor `inertia_` are set, which would tell about the exact rows.
    delta : float, default=0.0
        Probability that the bound `epsilon` may fail; 0 takes Laplacian noise, more takes Gaussian noise.
    bounds : (low, high) or {column: (low, high)}, optional
        Box of the data, with numbers or arrays of shape (n_features,). Private fits need it, from knowledge and not
        from the rows.
    design_epsilon : float, optional
        Part of `epsilon` for a private look at the rows, which chooses the recipe; by default a tenth, 0 for no look.
    n_init : int or "auto", default="auto"
        Searches of the sketch, of which the best is kept; "auto" and 1 leave their number to the decoder.
    init, max_iter, tol, verbose, copy_x, algorithm
        Accepted as scikit-learn's and without effect: the rows are passed over once, centres are searched in the
        sketch, which needs no start, nothing is printed, and the rows are never changed.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row; of fits on arrays and frames that are not private.
    inertia_ : float
        Sum of squared distances of the rows to their nearest centres, weighted; set where `labels_` is.
    n_iter_ : int
        Passes over the rows that the centres took: 1.
    sketch_ : Sketch or PrivateSketch
    spec_ : SketchSpec
        The recipe. Columns that are constant in the rows are left out of it.
    model_ : Model
        As the command line writes it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from compressive import KMeans
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> KMeans(n_clusters=2, random_state=0).fit(X).predict([[0, 0], [12, 3]]).tolist() in ([0, 1], [1, 0])
    True
    """

    _TASK: ClassVar[str] = "kmeans"
    _TAKES_TEXT: ClassVar[bool] = True
    _LEARNED: ClassVar[tuple[str, ...]] = ("cluster_centers_", "model_", "n_iter_", "_n_features_out")
    _OF_ROWS: ClassVar[tuple[str, ...]] = ("labels_", "inertia_", "_n_distinct")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        **SKETCH_CONSTRAINTS,
        **FEATURE_CONSTRAINTS,
        "compute_labels": ["boolean"],
        **PRIVACY_CONSTRAINTS,
        **LOOK_CONSTRAINTS,
        **SEARCH_CONSTRAINTS,
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        random_state: Any = None,
        sketch_size: int | None = None,
        feature: str = "fourier",
        scale: float | str | None = None,
        spec: SketchSpec | None = None,
        decoder: str = "auto",
        n_jobs: int | None = None,
        pilot_size: int = PILOT_ROWS,
        compute_labels: bool = True,
        epsilon: float | None = None,
        delta: float = 0.0,
        bounds: Any = None,
        design_epsilon: float | None = None,
        n_init: int | str = "auto",
        init: Any = "k-means++",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        copy_x: bool = True,
        algorithm: str = "lloyd",
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.sketch_size = sketch_size
        self.feature = feature
        self.scale = scale
        self.spec = spec
        self.decoder = decoder
        self.n_jobs = n_jobs
        self.pilot_size = pilot_size
        self.compute_labels = compute_labels
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.design_epsilon = design_epsilon
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.copy_x = copy_x
        self.algorithm = algorithm

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The nearest centre of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path(s), Arrow stream or dataset

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        rows = self._rows(X)
        return self.model_.labels(rows, self._threads()).ravel()

    def fit_predict(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> npt.NDArray[np.int32]:
        """`fit`, then the cluster of each row, ndarray of shape (n_samples,)."""
        self.fit(X, sample_weight=sample_weight)
        labels: npt.NDArray[np.int32] | None = self.__dict__.get("labels_")
        return self.predict(X) if labels is None else labels

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Distance of each row to each centre.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        check_is_fitted(self)
        if self._reads_text():
            raise ValueError("distances are those of coordinates, and X has columns that are no numbers: use predict")
        values = checked_array(self, X, reset=False)
        distances: npt.NDArray[Any] = euclidean_distances(values, self.cluster_centers_)
        return distances.astype(values.dtype, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """Minus the sum of squared distances of the rows to their nearest centres."""
        rows = self._rows(X)
        losses = self._losses(rows)
        weights = checked_weights(sample_weight, losses[:, np.newaxis])
        return -_total(losses, weights)

    def to_sklearn(self) -> PlainKMeans:
        """The same clusters as a fitted ``sklearn.cluster.KMeans``."""
        check_is_fitted(self)
        plain = PlainKMeans(n_clusters=self.n_clusters, init=self.cluster_centers_, n_init=1, max_iter=1)
        with warnings.catch_warnings():
            # Repeated centres are nothing new here.
            warnings.simplefilter("ignore")
            plain.fit(self.cluster_centers_)
        plain.set_params(init="k-means++")
        plain.cluster_centers_ = self.cluster_centers_.copy()
        for name in ("labels_", "inertia_", "n_iter_", "feature_names_in_"):
            if name in self.__dict__:
                setattr(plain, name, self.__dict__[name])
        return plain

    def _wanted(self, dim: int, n_rows: int | None) -> dict[str, Any]:
        wanted = {"k": self.n_clusters, "feature": self.feature, "scale": self.scale}
        if not self._private():
            # Distances are those of the columns as they are given, whatever their units.
            wanted["scaling"] = "common"
        return wanted

    def _check_rows(self, table: Table) -> None:
        n_rows = table.n_rows
        if n_rows is not None and n_rows < self.n_clusters:
            raise ValueError(f"n_samples={n_rows} should be >= n_clusters={self.n_clusters}.")
        self._n_distinct = self.n_clusters
        if isinstance(table, ArrayTable) and not self._private():
            self._n_distinct = min(self.n_clusters, table.distinct_rows(self.pilot_size))

    def _learn(self) -> None:
        distinct = self.__dict__.get("_n_distinct", self.n_clusters)
        model = self._learned(distinct)
        centres = self._widened(model.parameters["centers"])
        if distinct < self.n_clusters:
            message = f"Number of distinct rows ({distinct}) found smaller than n_clusters ({self.n_clusters})."
            warnings.warn(f"{message} Some centres are repeated.", ConvergenceWarning, stacklevel=3)
            repeats = np.arange(self.n_clusters) % distinct
            weights = np.where(np.arange(self.n_clusters) < distinct, model.parameters["weights"][repeats], 0.0)
            centres = centres[repeats]
            model = self._rewritten(model, centers=centres, weights=weights, k=np.int64(self.n_clusters))
        elif self._kept is not None:
            model = self._rewritten(model, centers=centres)
        self.model_ = model
        self.cluster_centers_ = self._as_rows(centres)
        self.n_iter_ = 1
        self._n_features_out = len(centres)

    def _finish(self, table: Table) -> None:
        if self._private() or not self.compute_labels or isinstance(table, StreamTable):
            return
        rows = table.source() if isinstance(table, ArrayTable) else self._rows(table.frame)
        self.labels_ = self.model_.labels(rows, self._threads()).ravel()
        self.inertia_ = _total(self._losses(rows), table.weights)

    def _losses(self, rows: Source) -> Floats:
        """What each row adds to what the centres make least."""
        return self.model_.squared_distances(rows, self._threads()).ravel()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class KMedians(KMeans):
    """k centres of the least sum of distances, not squared, learned from a sketch of the rows.

    A row far away pulls a centre with the same force as one nearby, so that outliers move the centres little.
    Parameters and attributes are those of `KMeans`; `inertia_` and `score` are sums of distances.

    Examples
    --------
    >>> import numpy as np
    >>> from compressive import KMedians
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> KMedians(n_clusters=2, random_state=0).fit(X).predict([[0, 0], [12, 3]]).tolist() in ([0, 1], [1, 0])
    True
    """

    _TASK: ClassVar[str] = "kmedians"

    def _losses(self, rows: Source) -> Floats:
        return np.sqrt(super()._losses(rows))
