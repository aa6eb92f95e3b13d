"""Random periodic features of single rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._native import PILOT_ROWS, WAVES, PrivateSketch, Sketch, SketchSpec, Source
from ._base import seed_of, thread_count
from ._table import StreamTable, checked_array, is_stream, names_of, remember_names

if TYPE_CHECKING:
    from typing_extensions import Self


class RandomPeriodicFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Random periodic features, whose inner products estimate a Gaussian kernel.

    A row x becomes periodic functions of random projections, :math:`f(\omega_j^\top x + \xi_j)`: cosines and sines
    (``fourier``), cosines alone, their signs (``one-bit``), or the wrapped phase (``sawtooth``). They are what a sketch
    sums, times a number. For two transformers of the same seed, width and number of components

    .. math:: \langle z(x), z(y) \rangle \approx e^{-\gamma \lVert x - y \rVert^2}

    without bias if at least one of them is ``fourier`` (or both are ``cosine``): a machine trained on smooth features
    can be asked with single bits. Bits on both sides estimate another, narrower kernel.

    Parameters
    ----------
    n_components : int, default=100
        Number of features.
    gamma : float or "scale", default="scale"
        Inverse width of the kernel; "scale" is ``1 / (n_features * X.var())``, as in ``sklearn.svm.SVC``.
    feature : {"fourier", "cosine", "one-bit", "sawtooth"}, default="fourier"
    random_state : int, RandomState instance or None, default=None
        Seed of the frequencies.
    spec : SketchSpec, optional
        A recipe to use as it is; `n_components`, `gamma` and `feature` are then not asked.
    n_jobs : int, optional
        Threads; None and -1 are all cores. It never changes the result.

    Attributes
    ----------
    spec_ : SketchSpec
        The recipe.
    gamma_ : float or None
        Inverse width of the kernel; None for a given recipe.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from compressive import RandomPeriodicFeatures
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    >>> Z = RandomPeriodicFeatures(10_000, gamma=0.5, random_state=0).fit_transform(X)
    >>> (Z @ Z.T).round(1).tolist()
    [[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"scale"})],
        "feature": [StrOptions(set(WAVES))],
        "random_state": ["random_state"],
        "spec": [SketchSpec, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        gamma: float | str = "scale",
        feature: str = "fourier",
        random_state: Any = None,
        spec: SketchSpec | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.feature = feature
        self.random_state = random_state
        self.spec = spec
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draws the frequencies; the rows tell the columns and, with ``gamma="scale"``, the width.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path(s), Arrow stream or dataset
            Of what is not an array or a frame a sample is read.
        y : ignored

        Returns
        -------
        self
        """
        self._validate_params()
        seed = seed_of(self.random_state)
        if is_stream(X):
            table = StreamTable(X, None if self.spec is None else self.spec.columns)
            remember_names(self, table.names)
            names, rows = table.names, table.sample(PILOT_ROWS, seed)[0]
        else:
            rows = checked_array(self, X, reset=True)
            names = names_of(self, rows.shape[1])
        if self.spec is None:
            self._draw(rows, names, seed)
        else:
            self._adopt(self.spec, names)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """The first call draws the frequencies as `fit` does; later calls check that the columns are the same."""
        if not hasattr(self, "spec_"):
            return self.fit(X)
        self._source(X)
        return self

    def fit_sketch(self, sketch: Sketch | PrivateSketch) -> Self:
        """Takes the features that a sketch sums.

        Parameters
        ----------
        sketch : Sketch or PrivateSketch
            Of periodic features.

        Returns
        -------
        self
        """
        self._validate_params()
        if not isinstance(sketch, Sketch | PrivateSketch):
            raise TypeError(f"sketch is of type {type(sketch).__name__}, and must be a Sketch or a PrivateSketch")
        remember_names(self, sketch.spec.columns)
        self._adopt(sketch.spec, sketch.spec.columns)
        return self

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """The features of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path(s), Arrow stream or dataset

        Returns
        -------
        ndarray of shape (n_samples, n_components) and dtype float32 for float32 rows, else float64
        """
        source, dtype = self._source(X)
        features = self.spec_.features(source, thread_count(self.n_jobs))[:, : self._n_features_out]
        # The smooth features of the other row see only the first harmonic, so that divided by its gain bits and wrapped
        # phases estimate the same kernel.
        gain, _, _ = WAVES[self.spec_.feature]
        factor = 1 / gain * np.sqrt(2 / self._n_features_out)
        scaled: npt.NDArray[Any] = features.astype(dtype, copy=False) * dtype.type(factor)
        return scaled

    def _source(self, X: Any) -> tuple[Source, np.dtype[Any]]:
        check_is_fitted(self, "spec_")
        if is_stream(X):
            return StreamTable(X, self.spec_.columns).source(), np.dtype(np.float64)
        values = checked_array(self, X, reset=False)
        return Source.from_array(values, self.spec_.columns), values.dtype

    def _draw(self, rows: npt.NDArray[Any], names: list[str], seed: int) -> None:
        gamma = self.gamma
        if isinstance(gamma, str):
            variance = float(rows.var(dtype=np.float64))
            gamma = 1.0 if variance == 0 else 1 / (rows.shape[1] * variance)
        # The kernel does not see the centre, which keeps phases small and so their digits.
        centre = rows.mean(axis=0, dtype=np.float64).tolist()
        _, blocks, _ = WAVES[self.feature]
        size = -(-self.n_components // blocks)
        options: dict[str, Any] = {"law": "gaussian", "feature": self.feature, "dither": True, "centre": centre}
        self.spec_ = SketchSpec(names, size, 1 / np.sqrt(2 * gamma), seed=seed, **options)
        self.gamma_: float | None = float(gamma)
        self._n_features_out = self.n_components

    def _adopt(self, spec: SketchSpec, names: list[str]) -> None:
        if spec.feature not in WAVES:
            raise ValueError(f"the recipe's feature is {spec.feature}, and must be one of {', '.join(WAVES)}")
        if spec.dim != len(names):
            raise ValueError(f"X has {len(names)} features, and spec has {spec.dim} columns: {', '.join(spec.columns)}")
        self.spec_ = spec
        self.gamma_ = None
        self._n_features_out = spec.sketch_len

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
