"""What the estimators share: from rows to a recipe, a sketch, and a model learned when it is first needed."""

from __future__ import annotations

import json
import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .. import _api, _native
from .._data import bounds_of, readings_of, source
from .._native import LOOK_SHARE, WAVES, Model, PrivateSketch, Sketch, SketchSpec, Source
from ._table import (
    ArrayTable,
    Floats,
    FrameTable,
    Index,
    StreamTable,
    Table,
    checked_array,
    checked_weights,
    is_stream,
    names_of,
    no_numbers,
    remember_names,
)

if TYPE_CHECKING:
    from typing_extensions import Self

SKETCH_CONSTRAINTS: dict[str, list[Any]] = {
    "random_state": ["random_state"],
    "sketch_size": [Interval(Integral, 1, None, closed="left"), None],
    "spec": [SketchSpec, None],
    "decoder": [str],
    "n_jobs": [Integral, None],
    "pilot_size": [Interval(Integral, 2, None, closed="left")],
}
"""Parameters of every estimator that sums rows."""

# The features without parameters of their own that clusters and mixtures are learned from.
FEATURES = {row["feature"] for row in _native.defaults() if row["task"] == "kmeans"} - {"periodic"}

FEATURE_CONSTRAINTS: dict[str, list[Any]] = {
    "feature": [StrOptions({*WAVES, "nystrom"})],
    "scale": [Interval(Real, 0, None, closed="neither"), str, None],
}
"""Parameters of sketches of periodic features."""

PRIVACY_CONSTRAINTS: dict[str, list[Any]] = {
    "epsilon": [Interval(Real, 0, None, closed="neither"), None],
    "delta": [Interval(Real, 0, 1, closed="left")],
    "bounds": [tuple, list, dict, None],
}
"""Parameters of private fits."""

SEARCH_CONSTRAINTS: dict[str, list[Any]] = {
    "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "verbose": ["verbose"],
}
"""Parameters of iterations over rows, of which there are none: all but `n_init` are accepted and have no effect."""

LOOK_CONSTRAINTS: dict[str, list[Any]] = {"design_epsilon": [Interval(Real, 0, None, closed="left"), None]}
"""Parameters of private fits whose recipe is chosen by a look at the rows."""


def seed_of(random_state: Any) -> int:
    """The seed below 2^53 that a random state stands for."""
    if isinstance(random_state, Integral):
        return int(random_state) % 2**53
    return int(check_random_state(random_state).randint(2**31 - 1))


def thread_count(n_jobs: int | None) -> int:
    """Threads of the compiled part: 0 for all cores."""
    return 0 if n_jobs in (None, -1) else int(effective_n_jobs(n_jobs))


class SketchEstimator(BaseEstimator):  # type: ignore[misc]
    """Rows are summed once; what is learned from the sums is learned when it is first asked for.

    A class names in `_LEARNED` the attributes that `_learn` sets, and in `_OF_ROWS` those that only `fit` can set.
    """

    _TASK: ClassVar[str]
    _LEARNED: ClassVar[tuple[str, ...]] = ("model_",)
    _OF_ROWS: ClassVar[tuple[str, ...]] = ()
    _MIN_ROWS: ClassVar[int] = 1
    _TAKES_TEXT: ClassVar[bool] = False
    sketch_: Any

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Sketches the rows in one pass and learns the model from the sketch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path(s), Arrow stream or dataset
            The rows. What is not an array or a frame is read batch by batch and never held in memory. Clusters and
            mixtures take frames with columns of text, categories and dates, too: they become coordinates, which
            `spec_.readings` tells, and columns of no use are left out with a warning.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Counts each row this many times; for arrays and frames.

        Returns
        -------
        self
        """
        self._validate_params()
        self._forget(sums_too=True)
        table = self._table(X, sample_weight, reset=True)
        self._start(table)
        self._add(table)
        self._learn()
        self._finish(table)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Adds rows to the sketch; the model is learned again when it is next asked for.

        The first rows choose the recipe unless `spec` is given, so they should be typical of the rest.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. In private fits each call releases its rows with the budget `epsilon`: the rows of one person
            belong in one call.

        Returns
        -------
        self
        """
        first = not self.__sklearn_is_fitted__()
        if first:
            self._validate_params()
        table = self._table(X, sample_weight, reset=first)
        if first:
            self._start(table)
        self._add(table)
        self._forget()
        return self

    def fit_sketch(self, sketch: Sketch | PrivateSketch) -> Self:
        """Learns the model from a sketch that was made elsewhere.

        Parameters
        ----------
        sketch : Sketch or PrivateSketch
            Made by ``compressive.sketch``, the command line, SQL or Spark, with a recipe for this task.

        Returns
        -------
        self
        """
        self._validate_params()
        if not isinstance(sketch, Sketch | PrivateSketch):
            raise TypeError(f"sketch is of type {type(sketch).__name__}, and must be a Sketch or a PrivateSketch")
        self._forget(sums_too=True)
        self._seed = seed_of(self.random_state)
        self._adopt(sketch.spec)
        self.__dict__.pop("_dtype", None)
        remember_names(self, self._names)
        self.sketch_ = sketch.copy() if isinstance(sketch, Sketch) else sketch
        self._learn()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "sketch_" in self.__dict__

    def __getattr__(self, name: str) -> Any:
        if name in self._LEARNED and "sketch_" in self.__dict__ and "model_" not in self.__dict__:
            self._learn()
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    # Rows.

    def _table(self, X: Any, sample_weight: Any, reset: bool) -> Table:
        if self._private() and sample_weight is not None:
            raise ValueError(
                "sample_weight: private fits count each row once; repeat no rows and leave the weights out"
            )
        if self._TAKES_TEXT and (no_numbers(X) if reset else self._reads_text()):
            return self._frame(X, sample_weight, reset)
        if is_stream(X):
            if sample_weight is not None:
                raise ValueError("sample_weight goes with arrays and frames; sketch streams with compressive.sketch")
            spec = getattr(self, "spec", None)
            stream = StreamTable(X, self._names if not reset else None if spec is None else spec.columns)
            if reset:
                remember_names(self, stream.names)
            return stream
        values = checked_array(self, X, reset, ensure_min_samples=self._MIN_ROWS)
        if reset:
            self._dtype = values.dtype
        return ArrayTable(values, self._names_for(values.shape[1]), checked_weights(sample_weight, values))

    def _reads_text(self) -> bool:
        """Whether the recipe reads columns that are no numbers."""
        return bool(self.spec_.readings)

    def _frame(self, X: Any, sample_weight: Any, reset: bool) -> FrameTable:
        """A frame whose columns become numbers as the recipe says, or is to say."""
        if self._private():
            raise ValueError(f"private fits need columns of numbers, and X has {', '.join(no_numbers(X))}")
        spec = self.spec if reset else self.spec_
        if reset:
            self.n_features_in_ = len(X.columns)
            self.feature_names_in_ = np.asarray([str(name) for name in X.columns], dtype=object)
        elif not hasattr(X, "columns"):
            columns = ", ".join(column["column"] for column in spec.readings)
            raise ValueError(f"X is no frame, and the columns {columns} are needed, which are no numbers all")
        weights = checked_weights(sample_weight, np.empty((len(X), 1)))
        return FrameTable(X, None if spec is None else readings_of(spec), weights)

    def _names_for(self, dim: int) -> list[str]:
        """Names of the columns of an array: those of the given recipe, which must agree with the frame's."""
        spec = getattr(self, "spec", None)
        names = names_of(self, dim)
        if spec is None:
            return names
        if spec.dim != dim:
            raise ValueError(f"X has {dim} features, and spec has {spec.dim} columns: {', '.join(spec.columns)}")
        if hasattr(self, "feature_names_in_") and names != spec.columns:
            raise ValueError(f"X has the columns {names}, and spec {spec.columns}; give X[spec.columns]")
        return list(spec.columns)

    def _rows(self, X: Any) -> Source:
        """The rows that a fitted model is asked about."""
        check_is_fitted(self)
        if self._TAKES_TEXT and self._reads_text():
            return source(X, readings=readings_of(self.spec_)) if is_stream(X) else self._frame(X, None, False).source()
        if is_stream(X):
            return StreamTable(X, self._names).source()
        return Source.from_array(checked_array(self, X, reset=False), self._names)

    # Recipe.

    def _wanted(self, dim: int, n_rows: int | None) -> dict[str, Any]:
        """What the estimator asks of a recipe for `dim` columns, as keywords of `compressive.design`."""
        raise NotImplementedError

    def _asked(self, table: Table, kept: Index | None = None) -> _native.Wanted:
        """What is asked of the recipe, for the columns in `kept`."""
        names = table.names if kept is None else [table.names[i] for i in kept]
        box = bounds_of(self.bounds, table.names)
        if box is not None and kept is not None:
            box = ([box[0][i] for i in kept], [box[1][i] for i in kept])
        wanted = {"size": self.sketch_size, **self._wanted(len(names), table.n_rows)}
        if isinstance(table, FrameTable):
            # Columns of different kinds have no unit in common: the recipe finds the spread of each.
            wanted.pop("scaling", None)
        return _api.wanted(task=self._TASK, bounds=box, seed=self._seed, **wanted)

    def _start(self, table: Table) -> None:
        """Chooses the recipe."""
        self._seed = seed_of(self.random_state)
        self._check_rows(table)
        if self.spec is not None:
            self._adopt(self.spec)
            return
        if self._private():
            self._adopt(self._private_spec(table))
            return
        if isinstance(table, FrameTable):
            asked = self._asked(table)
            self._adopt(_api.recipe_of(table.source(), asked, pilot=self.pilot_size, again=True))
            return
        sample, classes = table.sample(self.pilot_size, self._seed)
        kept = np.flatnonzero((sample != sample[:1]).any(axis=0))
        if len(kept) == 0:
            self._adopt(self._spec_of_equal_rows(sample[0], table.names))
            return
        varying = np.ascontiguousarray(sample[:, kept])
        names, asked = [table.names[i] for i in kept], self._asked(table, kept)
        spec = _native.design(varying, names, asked)
        self._adopt(spec, table.names, kept, sample[0])
        if isinstance(table, StreamTable) and self._kept is not None:
            left = ", ".join(name for name in table.names if name not in names)
            warnings.warn(f"{left}: constant in the sample of {len(sample)} rows, and left out", stacklevel=3)
        self._look(varying, classes)

    def _check_rows(self, table: Table) -> None:
        """Refuses tables of too few rows."""

    def _look(self, sample: Floats, classes: list[str] | None) -> None:
        """Learns more from the sample than the recipe."""

    def _spec_of_equal_rows(self, row: Floats, names: list[str]) -> SketchSpec:
        """A recipe for a table of which all rows are equal, so that there is no scale to choose."""
        reach = np.maximum(np.abs(row), 1.0)
        box = ((row - reach).tolist(), (row + reach).tolist())
        return SketchSpec(names, 20, centre=row.tolist(), spread=reach.tolist(), bounds=box, seed=self._seed)

    def _private_spec(self, table: Table) -> SketchSpec:
        if self.bounds is None:
            raise ValueError(
                "bounds: private fits need bounds=(low, high), known without looking at the rows, whose range would "
                "reveal some of them"
            )
        cost = self._design_cost()
        return _api.recipe_of(table.source(), self._asked(table), private=cost, again=True, threads=self._threads())

    def _design_cost(self) -> float:
        """What the private look at the rows costs."""
        cost = getattr(self, "design_epsilon", 0.0)
        cost = LOOK_SHARE * self.epsilon if cost is None else cost
        if cost >= self.epsilon:
            raise ValueError(f"design_epsilon={cost} must be less than epsilon={self.epsilon}, of which it is a part")
        return float(cost)

    def _adopt(
        self, spec: SketchSpec, names: list[str] | None = None, kept: Index | None = None, row: Floats | None = None
    ) -> None:
        """Takes a recipe for the columns `kept` of a table with these names; the others have the values in `row`."""
        self.spec_ = spec
        self._names = list(spec.columns) if names is None else names
        whole = kept is None or len(kept) == len(self._names)
        self._kept = None if whole else kept
        self._row = None if whole else row

    # Sums.

    def _add(self, table: Table) -> None:
        """Adds the rows of a table to the sketch."""
        self._check_constants(table)
        sketch = Sketch(self.spec_)
        sketch.add_source(table.source(self._kept), self._threads())
        released = self._released(sketch)
        self.sketch_ = self.sketch_ + released if "sketch_" in self.__dict__ else released

    def _released(self, sketch: Sketch) -> Sketch | PrivateSketch:
        if not self._private():
            return sketch
        return _native.privatize(sketch, self.epsilon, self.delta, "add-remove", None, 1, False)

    def _check_constants(self, table: Table) -> None:
        """Refuses rows that vary in a column that was left out because it was constant."""
        if self._kept is None or self._row is None or not isinstance(table, ArrayTable):
            return
        left = np.setdiff1d(np.arange(len(self._names)), self._kept)
        values = table.values[:, left] if table.weights is None else table.values[table.weights > 0][:, left]
        varies = (values != self._row[left]).any(axis=0)
        if varies.any():
            names = ", ".join(self._names[i] for i in left[varies])
            raise ValueError(
                f"{names}: constant in the rows that chose the recipe, and not in these; give a recipe made from "
                "typical rows as spec, or begin with a larger batch"
            )

    # Models.

    def _learn(self) -> None:
        """Learns the model from the sketch and sets the fitted attributes."""
        raise NotImplementedError

    def _finish(self, table: Table) -> None:
        """Sets what `fit` tells of the rows themselves."""

    def _learned(self, k: int, covariance: str = "diag", known: Floats | None = None) -> Model:
        tries = getattr(self, "n_init", "auto")
        restarts = None if tries in ("auto", 1) else int(tries)
        search = _api.search(decoder=self.decoder, restarts=restarts, seed=self._seed, threads=self._threads())
        matrix = None if known is None else known.tolist()
        return _native.learn(self.sketch_, self._TASK, (k, k), covariance, matrix, search)

    def _as_rows(self, values: Floats) -> npt.NDArray[Any]:
        """Learned numbers in the precision of the rows that were fitted: single for float32, double for all else."""
        return values.astype(self.__dict__.get("_dtype", np.float64), copy=False)

    def _widened(self, rows: Floats) -> Floats:
        """Rows of the columns in the sketch, shape (k, d'), with the constant columns' values put back: (k, d)."""
        if self._kept is None or self._row is None:
            return rows
        wide = np.tile(self._row, (len(rows), 1))
        wide[:, self._kept] = rows
        return wide

    def _rewritten(self, model: Model, **parameters: npt.NDArray[Any]) -> Model:
        """The model of all columns with other parameters."""
        content = json.loads(model.to_json())
        content["columns"] = self._names
        content.update({name: value.tolist() for name, value in parameters.items()})
        return Model.from_json(json.dumps(content))

    def _forget(self, sums_too: bool = False) -> None:
        """Removes what was learned, and with `sums_too` what it was learned from."""
        names = [*self._LEARNED, *self._OF_ROWS]
        for name in [*names, "sketch_", "spec_", "_n_wanted"] if sums_too else names:
            self.__dict__.pop(name, None)

    # Settings.

    def _private(self) -> bool:
        return getattr(self, "epsilon", None) is not None

    def _threads(self) -> int:
        return thread_count(self.n_jobs)
