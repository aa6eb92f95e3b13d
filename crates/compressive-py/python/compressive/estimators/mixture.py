"""Gaussian mixtures from a sketch."""

from __future__ import annotations

import json
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import DensityMixin
from sklearn.mixture import GaussianMixture as PlainMixture
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._native import PILOT_ROWS, Model, SketchSpec, default_size
from ._base import (
    FEATURE_CONSTRAINTS,
    LOOK_CONSTRAINTS,
    PRIVACY_CONSTRAINTS,
    SEARCH_CONSTRAINTS,
    SKETCH_CONSTRAINTS,
    SketchEstimator,
)
from ._table import ArrayTable, Floats, Table

FULL_SLOW, FULL_MOST = 600, 3000
"""Parameters of a full mixture beyond which the search takes minutes, and beyond which it would take hours."""

_KINDS = {"diag": "diag", "spherical": "iso", "full": "full", "tied": "diag"}

_TIED_ROUNDS = 3
"""Times that means and the one covariance are made to fit each other."""


class GaussianMixture(DensityMixin, SketchEstimator):  # type: ignore[misc]
    """Mixture of Gaussians, learned from a sketch of the rows.

    The rows are read once, whatever their number; the mixture is found from the sketch alone.

    Parameters
    ----------
    n_components : int, default=1
        Number of Gaussians.
    covariance_type : {"diag", "spherical", "full", "tied"}, default="diag"
        A variance for each column, one variance for all columns, a covariance matrix for each component, which is
        for few columns: three components take seconds in ten columns, a minute in twenty, and the search misses more
        mixtures the more parameters there are; or one matrix for all components.
    reg_covar : float, default=1e-6
        Added to the variances, so that constant columns have one.
    random_state : int, RandomState instance or None, default=None
        Seed of the recipe, of the search and of `sample`.
    sketch_size : int, optional
        Number m of frequencies; by default ten for each parameter of the mixture up to a thousand, then five.
    feature, scale, spec, decoder, n_jobs, pilot_size
        As for `KMeans`.
    epsilon, delta, bounds, design_epsilon
        Private fits: as for `KMeans`.
    n_init
        As for `KMeans`.
    init_params, weights_init, means_init, precisions_init, max_iter, tol, warm_start, verbose, verbose_interval
        Accepted as scikit-learn's and without effect: the rows are passed over once, the mixture is searched in the
        sketch, which needs no start, and nothing is printed.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
    means_ : ndarray of shape (n_components, n_features)
    covariances_ : ndarray
        Of shape (n_components, n_features) for "diag", (n_components,) for "spherical",
        (n_components, n_features, n_features) for "full", and (n_features, n_features) for "tied".
    precisions_, precisions_cholesky_ : ndarray of the shape of `covariances_`
    n_iter_ : int
        Passes over the rows that the mixture took: 1.
    converged_ : bool
        Whether the search ended by itself.
    lower_bound_ : float
        Mean log-likelihood of the rows, and `lower_bounds_` the list of it alone; of fits on arrays and frames that are
        not private.
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
    >>> from compressive import GaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(1000, 2)) + np.repeat([[0.0], [9.0]], 500, axis=0)
    >>> GaussianMixture(2, random_state=0).fit(X).means_.shape
    (2, 2)
    """

    _TASK: ClassVar[str] = "gmm"
    _TAKES_TEXT: ClassVar[bool] = True
    _MIN_ROWS: ClassVar[int] = 2
    _LEARNED: ClassVar[tuple[str, ...]] = (
        "weights_",
        "means_",
        "covariances_",
        "precisions_",
        "precisions_cholesky_",
        "n_iter_",
        "converged_",
        "model_",
    )
    _OF_ROWS: ClassVar[tuple[str, ...]] = ("lower_bound_", "lower_bounds_")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(_KINDS))],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        **SKETCH_CONSTRAINTS,
        **FEATURE_CONSTRAINTS,
        **PRIVACY_CONSTRAINTS,
        **LOOK_CONSTRAINTS,
        **SEARCH_CONSTRAINTS,
        "init_params": [StrOptions({"kmeans", "random", "random_from_data", "k-means++"})],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "warm_start": ["boolean"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "diag",
        reg_covar: float = 1e-6,
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
        n_init: int | str = "auto",
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        max_iter: int = 100,
        tol: float = 1e-3,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
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
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The most probable component of each row.

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
        """`fit`, then the component of each row, ndarray of shape (n_samples,)."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each component given each row, ndarray of shape (n_samples, n_components)."""
        rows = self._rows(X)
        return self.model_.responsibilities(rows, self._threads())

    def score_samples(self, X: Any) -> Floats:
        """Logarithm of the density at each row, ndarray of shape (n_samples,)."""
        rows = self._rows(X)
        return self.model_.log_densities(rows, self._threads()).ravel()

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on the rows X; the lower the better."""
        scores = self.score_samples(X)
        return float(-2 * scores.sum() + self._n_parameters() * np.log(len(scores)))

    def aic(self, X: Any) -> float:
        """Akaike information criterion on the rows X; the lower the better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def sample(self, n_samples: int = 1) -> tuple[Floats, npt.NDArray[np.intp]]:
        """New rows, ndarray of shape (n_samples, n_features), and their components, of shape (n_samples,)."""
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples={n_samples} should be at least 1")
        random = check_random_state(self.random_state)
        counts = random.multinomial(n_samples, self.weights_ / self.weights_.sum())
        components = np.repeat(np.arange(self.n_components), counts)
        rows = random.standard_normal((n_samples, self.n_features_in_))
        if self.covariance_type == "tied":
            rows = rows @ np.linalg.cholesky(self.covariances_).T
        elif self.covariance_type == "full":
            factors = np.linalg.cholesky(self.covariances_)
            rows = np.einsum("nij,nj->ni", factors[components], rows)
        else:
            deviations = np.sqrt(self.covariances_)[components]
            rows *= deviations[:, np.newaxis] if deviations.ndim == 1 else deviations
        return rows + self.means_[components], components

    def to_sklearn(self) -> PlainMixture:
        """The same mixture as a fitted ``sklearn.mixture.GaussianMixture``."""
        check_is_fitted(self)
        plain = PlainMixture(self.n_components, covariance_type=self.covariance_type, reg_covar=self.reg_covar)
        for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
            setattr(plain, name, getattr(self, name).copy())
        plain.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            plain.feature_names_in_ = self.feature_names_in_
        plain.converged_, plain.n_iter_ = self.converged_, self.n_iter_
        plain.lower_bound_ = self.__dict__.get("lower_bound_", -np.inf)
        return plain

    def _n_parameters(self) -> int:
        k, d = self.means_.shape
        pairs = d * (d + 1) // 2
        shape = {"full": k * pairs, "tied": pairs, "diag": k * d, "spherical": k}[self.covariance_type]
        return int(k * d + shape + k - 1)

    def _wanted(self, dim: int, n_rows: int | None) -> dict[str, Any]:
        wanted = {"k": self.n_components, "feature": self.feature, "scale": self.scale}
        if self.covariance_type == "tied" and not self._private():
            # One Gaussian of all columns is asked of the same sketch.
            wanted["moments"] = True
        if self.covariance_type == "spherical":
            # A sphere of the user's units stays one only if all columns are divided by one number.
            wanted["scaling"] = "common"
        if self.covariance_type == "full" and self.sketch_size is None:
            wanted["size"] = default_size(self._n_full(dim))
        return wanted

    def _n_full(self, dim: int) -> int:
        """Parameters of a mixture with covariance matrices."""
        return self.n_components * (1 + dim + dim * (dim + 1) // 2)

    def _check_rows(self, table: Table) -> None:
        n_rows = table.n_rows
        if n_rows is not None and n_rows < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {n_rows}"
            )

    def _check_kind(self) -> None:
        """Refuses covariances that the recipe or the time does not allow."""
        spreads = self.spec_.transform[1]
        if self.covariance_type == "spherical" and min(spreads) < max(spreads):
            raise ValueError(
                "covariance_type='spherical' needs a recipe that divides all columns by one number: "
                "compressive.design(..., scaling='common')"
            )
        parameters = self._n_full(self.spec_.dim)
        if self.covariance_type == "full" and parameters > FULL_SLOW:
            size = f"covariance_type='full' has {parameters} parameters for {self.spec_.dim} columns"
            remedy = "use covariance_type='diag', or fewer columns, such as those of compressive.PCA"
            if parameters > FULL_MOST:
                raise ValueError(f"{size}, and the search would take hours: {remedy}")
            warnings.warn(f"{size}, and the search may take minutes: {remedy}", UserWarning, stacklevel=4)

    def _learn(self) -> None:
        self._check_kind()
        model = (
            self._tied()
            if self.covariance_type == "tied"
            else self._learned(self.n_components, _KINDS[self.covariance_type])
        )
        found = model.parameters
        means = self._widened(found["means"])
        covariances = self._all_columns(found["covariances"])
        model = self._rewritten(model, means=means, covariances=covariances)
        self.weights_ = self._as_rows(found["weights"])
        self.means_ = self._as_rows(means)
        if self.covariance_type == "spherical":
            covariances = covariances[:, 0]
        self.covariances_ = self._as_rows(covariances[0] if self.covariance_type == "tied" else covariances)
        self._set_precisions()
        self.n_iter_ = 1
        self.converged_ = json.loads(model.to_json()).get("origin", {}).get("stop") != "cut"
        self.model_ = model

    def _tied(self) -> Model:
        """A mixture with one covariance: what the means leave of that of all rows, in turns with the means."""
        whole = self._learned(1, "full").parameters
        total, centre = whole["covariances"][0], whole["means"][0]
        model = self._learned(self.n_components, "diag")
        for _ in range(_TIED_ROUNDS):
            found = model.parameters
            apart = found["means"] - centre
            model = self._learned(self.n_components, known=_within(total, found["weights"], apart))
        return model

    def _finish(self, table: Table) -> None:
        if self._private() or not isinstance(table, ArrayTable):
            return
        scores = self.model_.log_densities(table.source(), self._threads()).ravel()
        self.lower_bound_ = float(np.average(scores, weights=table.weights))
        self.lower_bounds_ = [self.lower_bound_]

    def _all_columns(self, covariances: Floats) -> Floats:
        """Covariances of all columns, shape (k, d) or (k, d, d), with `reg_covar` added."""
        k, dim = len(covariances), len(self._names)
        kept = np.arange(dim) if self._kept is None else self._kept
        if self.covariance_type in ("full", "tied"):
            wide = np.zeros((k, dim, dim))
            wide[:, kept[:, np.newaxis], kept] = covariances
            wide[:, np.arange(dim), np.arange(dim)] += self.reg_covar
            return wide
        wide = np.zeros((k, dim))
        wide[:, kept] = covariances
        if self.covariance_type == "spherical":
            # The most likely single variance is the mean over all columns, the constant ones included.
            wide[:] = wide.mean(axis=1, keepdims=True)
        return wide + self.reg_covar

    def _set_precisions(self) -> None:
        if self.covariance_type in ("diag", "spherical"):
            self.precisions_cholesky_ = 1 / np.sqrt(self.covariances_)
            self.precisions_ = 1 / self.covariances_
            return
        factors = np.linalg.cholesky(self.covariances_)
        self.precisions_cholesky_ = np.triu(np.linalg.inv(factors).swapaxes(-1, -2))
        self.precisions_ = self.precisions_cholesky_ @ self.precisions_cholesky_.swapaxes(-1, -2)


def _within(total: Floats, weights: Floats, apart: Floats) -> Floats:
    """The covariance within components of these places, of rows of a total covariance; at least a thousandth of it
    in every direction."""
    within = total - (weights[:, np.newaxis] * apart).T @ apart
    spread = np.sqrt(np.maximum(np.diag(total), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(within / np.outer(spread, spread))
    floored = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    return np.asarray(floored * np.outer(spread, spread))
