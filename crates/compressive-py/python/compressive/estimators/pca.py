"""Principal components from a sketch."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA as PlainPCA
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._native import PILOT_ROWS, Sketch, SketchSpec
from ._base import PRIVACY_CONSTRAINTS, SKETCH_CONSTRAINTS, SketchEstimator
from ._table import ArrayTable, Floats, Table, checked_array

SIZE_FACTOR = 4
"""Directions of a sketch for each of the coordinates of the components."""


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SketchEstimator):  # type: ignore[misc]
    """Principal component analysis, learned from a sketch of the rows.

    The rows are read once, whatever their number. Up to 128 columns the sketch keeps the exact covariance, and the
    components are those of the rows; beyond, and in private fits, they are found in sums of
    ``4 * n_components * n_features`` random directions.

    Parameters
    ----------
    n_components : int, optional
        Number of components; by default the smaller of n_features and the number of different rows.
    whiten : bool, default=False
        Whether `transform` divides each coordinate by its standard deviation.
    random_state : int, RandomState instance or None, default=None
        Seed of the directions and of the search.
    sketch_size : int, optional
        Number of directions.
    spec, n_jobs, pilot_size
        As for `KMeans`.
    decoder : {"auto", "eigen", "factorised", "psd", "nuclear"}, default="auto"
        How the components are found: "eigen" in the exact covariance, the others in sums of directions.
    epsilon, delta, bounds
        Private fits: as for `KMeans`. There is no scale to choose, so that nothing is spent on a look at the rows.
        Rows beyond `bounds` are moved to its edge.
    copy, svd_solver, tol, iterated_power, batch_size
        Accepted as those of scikit-learn's `PCA` and `IncrementalPCA`, and without effect: the components are those
        of the exact covariance, and the rows are read in blocks and never changed.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal, the one of largest variance first.
    explained_variance_ : ndarray of shape (n_components,)
        Variance along each component, of divisor n_samples - 1.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its share of the variance of all columns.
    singular_values_ : ndarray of shape (n_components,)
    mean_ : ndarray of shape (n_features,)
    noise_variance_ : float
        Mean variance of the directions beside the components.
    n_components_ : int
    n_samples_ : float
        Weight of the rows in the sketch; of private fits noisy.
    sketch_ : Sketch or PrivateSketch
    spec_ : SketchSpec
        The recipe. Columns that are constant in the rows are left out of it.
    model_ : Model
        As the command line writes it, of the columns in the recipe.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from compressive import PCA
    >>> X = np.random.default_rng(0).normal(size=(1000, 3)) * [5.0, 1.0, 0.1]
    >>> np.abs(PCA(1, random_state=0).fit(X).components_).round(1).tolist()
    [[1.0, 0.0, 0.0]]
    """

    _TASK: ClassVar[str] = "pca"
    _MIN_ROWS: ClassVar[int] = 2
    _LEARNED: ClassVar[tuple[str, ...]] = (
        "components_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "mean_",
        "noise_variance_",
        "n_components_",
        "n_samples_",
        "model_",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "whiten": ["boolean"],
        **SKETCH_CONSTRAINTS,
        **PRIVACY_CONSTRAINTS,
        "copy": ["boolean"],
        "svd_solver": [StrOptions({"auto", "full", "covariance_eigh", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        whiten: bool = False,
        random_state: Any = None,
        sketch_size: int | None = None,
        spec: SketchSpec | None = None,
        decoder: str = "auto",
        n_jobs: int | None = None,
        pilot_size: int = PILOT_ROWS,
        epsilon: float | None = None,
        delta: float = 0.0,
        bounds: Any = None,
        copy: bool = True,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        batch_size: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.random_state = random_state
        self.sketch_size = sketch_size
        self.spec = spec
        self.decoder = decoder
        self.n_jobs = n_jobs
        self.pilot_size = pilot_size
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.copy = copy
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.batch_size = batch_size

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Coordinates of the rows along the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        values = checked_array(self, X, reset=False)
        basis = self.components_.T.astype(values.dtype, copy=False)
        coordinates: npt.NDArray[Any] = values @ basis - (self.mean_ @ self.components_.T).astype(values.dtype)
        if self.whiten:
            coordinates /= self._deviations().astype(values.dtype)
        return coordinates

    def inverse_transform(self, X: Any) -> Floats:
        """Rows of shape (n_samples, n_features) from coordinates of shape (n_samples, n_components)."""
        check_is_fitted(self)
        coordinates = np.asarray(X)
        if self.whiten:
            coordinates = coordinates * self._deviations()
        rows: Floats = coordinates @ self.components_ + self.mean_
        return rows

    def get_covariance(self) -> Floats:
        """Covariance of the probabilistic model, ndarray of shape (n_features, n_features)."""
        covariance: Floats = self.to_sklearn().get_covariance()
        return covariance

    def get_precision(self) -> Floats:
        """Inverse of `get_covariance`, ndarray of shape (n_features, n_features)."""
        precision: Floats = self.to_sklearn().get_precision()
        return precision

    def score_samples(self, X: Any) -> Floats:
        """Log-likelihood of each row under the probabilistic model, ndarray of shape (n_samples,)."""
        scores: Floats = self.to_sklearn().score_samples(X)
        return scores

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def to_sklearn(self) -> PlainPCA:
        """The same components as a fitted ``sklearn.decomposition.PCA``."""
        check_is_fitted(self)
        plain = PlainPCA(self.n_components_, whiten=self.whiten)
        names = [name for name in self._LEARNED if name != "model_"]
        for name in [*names, "n_features_in_"]:
            setattr(plain, name, getattr(self, name))
        plain.n_samples_ = int(self.n_samples_)
        if hasattr(self, "feature_names_in_"):
            plain.feature_names_in_ = self.feature_names_in_
        return plain

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _deviations(self) -> Floats:
        """Standard deviations along the components; those of none are replaced by a number that divides safely."""
        variances = self.explained_variance_
        deviations: Floats = np.sqrt(
            np.maximum(variances, np.finfo(variances.dtype).eps * max(variances.max(), 1e-300))
        )
        return deviations

    def _wanted(self, dim: int, n_rows: int | None) -> dict[str, Any]:
        directions = self.decoder in ("factorised", "psd", "nuclear")
        return {"k": min(self._n_wanted, dim), "moments": False if directions else None}

    def _check_rows(self, table: Table) -> None:
        dim, n_rows = len(table.names), table.n_rows
        most = dim if n_rows is None else min(n_rows, dim)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} must be between 1 and min(n_samples, n_features)={most}"
            )
        if self.n_components is None and isinstance(table, ArrayTable):
            most = min(dim, table.distinct_rows(self.pilot_size))
        self._n_wanted = most if self.n_components is None else self.n_components

    def _spec_of_equal_rows(self, row: Floats, names: list[str]) -> SketchSpec:
        raise ValueError("X: all rows are equal, so that no direction has variance")

    def _learn(self) -> None:
        dim, kept = len(self._names), self.spec_.dim
        wanted = self.__dict__.get("_n_wanted")
        if wanted is None:
            pairs = self.spec_.moments == "full"
            carried = dim if pairs else max(1, min(dim, self.spec_.size // (SIZE_FACTOR * dim)))
            wanted = carried if self.n_components is None else self.n_components
        model = self._learned(min(wanted, kept))
        found = model.parameters
        if "scale" in found:
            raise ValueError("spec: the recipe divides each column by its own spread; give one with scaling='common'")
        rows = self.sketch_.weight if isinstance(self.sketch_, Sketch) else max(self.sketch_.rows, 2)
        unbiased = rows / (rows - 1) if rows > 1 else 1.0
        variances = np.zeros(wanted)
        variances[: model.k] = found["explained_variance"]
        self.n_samples_ = rows
        self.n_components_ = wanted
        self.mean_ = self._widened(found["mean"][np.newaxis])[0]
        self.components_ = self._all_columns(found["components"], wanted)
        self.explained_variance_ = variances * unbiased
        self.explained_variance_ratio_ = variances / found["total_variance"]
        self.singular_values_ = np.sqrt(variances * rows)
        rest = max(found["total_variance"] - variances.sum(), 0.0) * unbiased
        self.noise_variance_ = rest / (dim - wanted) if wanted < dim else 0.0
        self.model_ = model

    def _all_columns(self, components: Floats, wanted: int) -> Floats:
        """Components of all columns, shape (wanted, d): when the varying columns have no more, constant ones follow."""
        if self._kept is None:
            return components
        wide = np.zeros((wanted, len(self._names)))
        wide[: len(components), self._kept] = components
        constant = np.setdiff1d(np.arange(len(self._names)), self._kept)
        more = np.arange(len(components), wanted)
        wide[more, constant[: len(more)]] = 1.0
        return wide
