"""What `fit` is given, as a table that can be sampled and read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, validate_data

from .._data import as_matrix, default_names, source
from .._native import Source

Floats: TypeAlias = npt.NDArray[np.float64]
Index: TypeAlias = npt.NDArray[np.intp]


def is_stream(data: Any) -> bool:
    """Whether data are read by name and batch by batch: paths, Arrow streams and datasets, but no array or frame."""
    if isinstance(data, str | os.PathLike | Source):
        return True
    if isinstance(data, list | tuple):
        return len(data) > 0 and all(isinstance(path, str | os.PathLike) for path in data)
    frame = type(data).__module__.split(".")[0] in ("pandas", "polars")
    return not frame and (hasattr(data, "scanner") or hasattr(data, "__arrow_c_stream__"))


def _can_be_read_again(data: Any) -> bool:
    """Whether a stream gives its rows a second time: files, datasets, Arrow tables and DuckDB relations do."""
    if isinstance(data, str | os.PathLike | list | tuple) or hasattr(data, "scanner"):
        return True
    package = type(data).__module__.split(".")[0].lstrip("_")
    return package in ("pyarrow", "duckdb") and not hasattr(data, "read_next_batch")


class ArrayTable:
    """An array of shape (n, d), with a weight for each row or none, and a class number for each row or none."""

    def __init__(
        self,
        values: npt.NDArray[Any],
        names: list[str],
        weights: Floats | None = None,
        codes: npt.NDArray[np.uint32] | None = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        self.values = as_matrix(values)
        self.names = names
        self.weights = weights
        self.codes = codes
        self.classes = classes

    @property
    def n_rows(self) -> int:
        return len(self.values)

    def source(self, kept: Index | None = None) -> Source:
        """The rows, of the columns in `kept`."""
        values = self.values if kept is None else self.values[:, kept]
        names = self.names if kept is None else [self.names[i] for i in kept]
        return Source.from_array(values, names, self.weights, self.codes, self.classes)

    def sample(self, n_max: int, seed: int) -> tuple[Floats, list[str] | None]:
        """About `n_max` rows, or all if they are fewer, in an order that depends on the values alone.

        A row of whole weight w is taken as w rows would be, so that weights and copies give one recipe.
        """
        index = self._chosen(n_max, seed)
        rows = np.ascontiguousarray(self.values[index], dtype=np.float64)
        codes = None if self.codes is None else self.codes[index]
        order = canonical_order(rows, codes)
        if codes is None or self.classes is None:
            return rows[order], None
        return rows[order], [self.classes[code] for code in codes[order]]

    def _chosen(self, n_max: int, seed: int) -> Index:
        places = np.random.default_rng(seed).random(n_max)
        if self.weights is None:
            if self.n_rows <= n_max:
                return np.arange(self.n_rows)
            steps = (np.arange(n_max) + places) * (self.n_rows / n_max)
            index = np.minimum(steps.astype(np.intp), self.n_rows - 1)
            return self._with_rare(index, np.arange(self.n_rows))
        present = np.flatnonzero(self.weights)
        weights = self.weights[present]
        ends = np.cumsum(weights)
        if ends[-1] <= n_max and bool((weights == np.floor(weights)).all()):
            return np.repeat(present, weights.astype(np.intp))
        steps = (np.arange(n_max) + places) * (ends[-1] / n_max)
        chosen = np.minimum(np.searchsorted(ends, steps, side="right"), len(present) - 1)
        return self._with_rare(present[chosen], present)

    def _with_rare(self, index: Index, present: Index) -> Index:
        """Adds a row for each column that varies in the table and not among the sampled rows."""
        rows = self.values[index]
        same = np.flatnonzero((rows == rows[0]).all(axis=0))
        other = [self.values[present, column] != rows[0, column] for column in same]
        rare = [present[np.argmax(differs)] for differs in other if differs.any()]
        return np.concatenate([index, np.asarray(rare, dtype=np.intp)])

    def distinct_rows(self, n_max: int) -> int:
        """Number of different rows of positive weight; tables of more than `n_max` rows are not counted."""
        if self.n_rows > n_max:
            return self.n_rows
        values = self.values if self.weights is None else self.values[self.weights > 0]
        return len(np.unique(values, axis=0))


class StreamTable:
    """Rows that are read batch by batch."""

    def __init__(self, data: Any, names: Sequence[str] | None) -> None:
        self._data = data
        self._source = source(data, names)
        self.names = self._source.columns

    @property
    def n_rows(self) -> int | None:
        return self._source.n_rows

    @property
    def can_be_read_again(self) -> bool:
        """Whether the rows can be read a second time."""
        return _can_be_read_again(self._data)

    def source(self, kept: Index | None = None) -> Source:
        """The rows, of the columns in `kept`."""
        if kept is None:
            return self._source
        names = [self.names[i] for i in kept]
        if not _can_be_read_again(self._data):
            left = ", ".join(name for name in self.names if name not in names)
            raise ValueError(f"{left}: constant in the sample; leave such columns out of the stream")
        return source(self._data, names)

    def sample(self, n_max: int, seed: int) -> tuple[Floats, list[str] | None]:
        """A sample of at most `n_max` rows, and their classes."""
        return self._source.pilot(n_max, seed)


class FrameTable:
    """A frame of which some columns are no numbers: text, categories, dates, lists."""

    def __init__(self, frame: Any, readings: str | None, weights: Floats | None = None) -> None:
        self.frame = frame
        self.weights = weights
        name = None
        if weights is not None:
            name = "sample_weight" + "_" * max(len(str(column)) for column in frame.columns)
            if type(frame).__module__.split(".")[0] == "pandas":
                frame = frame.assign(**{name: weights})
            else:
                import polars

                frame = frame.with_columns(polars.Series(name, weights))
        self._source = source(frame, readings=readings, weights=name, interpret=readings is None)
        self.names = self._source.columns

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def source(self, kept: Index | None = None) -> Source:
        """The rows, as the recipe reads them."""
        return self._source


Table: TypeAlias = ArrayTable | StreamTable | FrameTable


def no_numbers(data: Any) -> list[str]:
    """The columns of a frame that hold no numbers, each with its type; none for anything but a frame."""
    package = type(data).__module__.split(".")[0]
    if package == "pandas" and hasattr(data, "dtypes") and hasattr(data, "columns"):
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        kinds = [(name, kind) for name, kind in zip(data.columns, data.dtypes, strict=True)]
        return [f"{name} ({kind})" for name, kind in kinds if not (is_numeric_dtype(kind) or is_bool_dtype(kind))]
    if package == "polars" and type(data).__name__ == "DataFrame":
        import polars

        kinds = data.schema.items()
        return [f"{name} ({kind})" for name, kind in kinds if not (kind.is_numeric() or kind == polars.Boolean)]
    return []


def canonical_order(rows: Floats, codes: npt.NDArray[np.uint32] | None = None) -> Index:
    """The order of the rows' bytes: equal tables in any order have one sample."""
    keys = rows + 0.0  # The two zeros have one byte string.
    if codes is not None:
        keys = np.column_stack([keys, codes])
    keys = np.ascontiguousarray(keys)
    return np.argsort(keys.view(np.dtype((np.void, keys.shape[1] * keys.itemsize))).ravel(), kind="stable")


def checked_array(estimator: Any, data: Any, reset: bool, **checks: Any) -> npt.NDArray[Any]:
    """The array of shape (n, d) behind an array-like, float32 or float64, not copied if it is one already."""
    if type(data).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame, whose rows are not there yet: give X.collect(), or the path of its files")
    others = no_numbers(data)
    if others:
        raise ValueError(
            f"{type(estimator).__name__} takes columns of numbers, and X has {', '.join(others)}: leave them out, or "
            "sketch the frame with compressive.sketch, which reads them, and learn from the sketch"
        )
    values = validate_data(estimator, data, reset=reset, dtype=[np.float64, np.float32], **checks)
    return as_matrix(values)


def checked_weights(weights: Any, values: npt.NDArray[Any]) -> Floats | None:
    """One weight for each row, or none; not negative, and not all zero."""
    if weights is None:
        return None
    checked = _check_sample_weight(weights, values, dtype=np.float64, ensure_non_negative=True)
    if not checked.any():
        raise ValueError("sample_weight: all weights are zero")
    return np.ascontiguousarray(checked)


def names_of(estimator: Any, dim: int) -> list[str]:
    """The feature names, or the names that columns of arrays get."""
    names = getattr(estimator, "feature_names_in_", None)
    return default_names(dim) if names is None else [str(name) for name in names]


def remember_names(estimator: Any, names: list[str]) -> None:
    """Sets what `validate_data` sets, for rows that it does not see."""
    estimator.n_features_in_ = len(names)
    if names != default_names(len(names)):
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
