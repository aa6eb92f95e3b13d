"""Unusual rows, by the density behind a sketch."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import OutlierMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._native import PILOT_ROWS, SketchSpec, Source
from ._base import SKETCH_CONSTRAINTS, SketchEstimator
from ._table import ArrayTable, Floats, StreamTable, Table, checked_array, is_stream

_DRAWN = 10_000
"""Rows drawn from the density for the limit where no other rows are at hand."""

_WEIGHT_MAX = 1000
"""Copies that a row stands for at most when the limit is chosen."""


class AnomalyDetector(OutlierMixin, SketchEstimator):  # type: ignore[misc]
    """Tells unusual rows by their density, learned from a sketch of the rows.

    The density is that of the recipe's outline, weighed by the sketch; with few rows, of which there is no outline, a
    mixture of Gaussians learned from the sketch stands for it. Columns are standardised, as their units say nothing of
    how unusual a row is.

    Parameters
    ----------
    contamination : float, default=0.1
        Share of rows that `predict` calls unusual: of the fitted rows where they are an array or a frame, of a
        sample where they are files, and otherwise of rows drawn from the density, which is less precise.
    n_components : int, default=10
        Components of the mixture that the sketch should carry.
    random_state, sketch_size, spec, decoder, n_jobs, pilot_size
        As for `KMeans`.

    Attributes
    ----------
    offset_ : float
        The log-density below which rows are unusual.
    sketch_ : Sketch
    spec_ : SketchSpec
        The recipe. Columns that are constant in the rows are left out of it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from compressive import AnomalyDetector
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> AnomalyDetector(0.01, random_state=0).fit(X).predict([[0.0, 0.0], [9.0, -9.0]]).tolist()
    [1, -1]
    """

    _TASK: ClassVar[str] = "gmm"
    _MIN_ROWS: ClassVar[int] = 2
    _LEARNED: ClassVar[tuple[str, ...]] = ("model_", "offset_")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "contamination": [Interval(Real, 0, 0.5, closed="right")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        **SKETCH_CONSTRAINTS,
    }

    def __init__(
        self,
        contamination: float = 0.1,
        *,
        n_components: int = 10,
        random_state: Any = None,
        sketch_size: int | None = None,
        spec: SketchSpec | None = None,
        decoder: str = "auto",
        n_jobs: int | None = None,
        pilot_size: int = PILOT_ROWS,
    ) -> None:
        self.contamination = contamination
        self.n_components = n_components
        self.random_state = random_state
        self.sketch_size = sketch_size
        self.spec = spec
        self.decoder = decoder
        self.n_jobs = n_jobs
        self.pilot_size = pilot_size

    bounds = None

    def score_samples(self, X: Any) -> Floats:
        """Logarithm of the density at each row, ndarray of shape (n_samples,): the lowest are the least usual."""
        check_is_fitted(self)
        table: Table
        if is_stream(X):
            table = StreamTable(X, self._names)
        else:
            table = ArrayTable(checked_array(self, X, reset=False), self._names)
        return self._scores(table)

    def decision_function(self, X: Any) -> Floats:
        """`score_samples` less `offset_`, ndarray of shape (n_samples,): negative for unusual rows."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """-1 for unusual rows and 1 for all others, ndarray of shape (n_samples,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _wanted(self, dim: int, n_rows: int | None) -> dict[str, Any]:
        return {"k": self.n_components}

    def _scores(self, table: Table) -> Floats:
        return self._of_kept(table.source(self._kept))

    def _of_kept(self, rows: Source) -> Floats:
        """Log-densities of rows of the columns in the recipe."""
        model = self.model_
        if model is not None:
            return model.log_densities(rows, self._threads()).ravel()
        found: Floats = self.sketch_.log_density(rows, threads=self._threads())
        return found

    def _learn(self) -> None:
        if self.spec_.outline is not None:
            self.model_ = None
            drawn = self.sketch_.sample(_DRAWN, seed=self._seed)
        else:
            k = max(1, min(self.n_components, int(self.sketch_.rows) // 10))
            self.model_ = self._learned(k)
            drawn = self.model_.sample(_DRAWN, seed=self._seed)
        scores = self._of_kept(ArrayTable(drawn, list(self.spec_.columns)).source())
        self.offset_ = float(np.quantile(scores, self.contamination))

    def _finish(self, table: Table) -> None:
        if isinstance(table, ArrayTable):
            scores = self._scores(table)
            if table.weights is not None:
                # A row of whole weight w is w rows; parts of rows count as at least one.
                scores = np.repeat(scores, np.minimum(np.ceil(table.weights), _WEIGHT_MAX).astype(np.intp))
        elif isinstance(table, StreamTable) and table.can_be_read_again:
            # Others than those that the recipe was made on, which the density fits better than it fits all rows.
            sample, _ = table.sample(_DRAWN, self._seed + 1)
            kept = sample if self._kept is None else sample[:, self._kept]
            scores = self._of_kept(ArrayTable(kept, list(self.spec_.columns)).source())
        else:
            return
        self.offset_ = float(np.quantile(scores, self.contamination))
