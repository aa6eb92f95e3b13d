"""From what users hold (arrays, frames, streams, files) to a `Source` of rows."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ._native import PERIODS, Source

Data: TypeAlias = Any
"""A table: array of shape (n, d), frame, anything with ``__arrow_c_stream__``, pyarrow dataset, or path(s) of files."""

# Tables in memory can be read and sampled any number of times; any other Arrow stream is taken to give its rows once.
_IN_MEMORY = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch")}


def default_names(dim: int) -> list[str]:
    """Names of the columns of an array, as the command line gives them to npy files."""
    return [f"x{i}" for i in range(dim)]


def source(
    data: Data,
    columns: Sequence[str] | None = None,
    *,
    exclude: Sequence[str] = (),
    weights: npt.ArrayLike | str | None = None,
    by: npt.ArrayLike | str | None = None,
    skip_bad_rows: bool = False,
    readings: str | None = None,
    interpret: bool = False,
    cyclic: Any = (),
) -> Source:
    """Makes a `Source`; for tables with names `columns` chooses, for arrays it names the columns.

    `weights` and `by` are names of columns or, with an array, one value for each row. `readings` are the columns of a
    recipe or a model with the way it reads them, as JSON, for tables with names; with `interpret` columns of dates and
    text are used as a sample shows them, and `cyclic` says which go round in circles.
    """
    if isinstance(data, Source):
        return data
    data = as_table(data)

    def reading() -> dict[str, Any]:
        return wanted_rows(columns, readings, exclude, _name(by), _name(weights), skip_bad_rows, interpret, cyclic)

    if isinstance(data, str | os.PathLike) or _is_paths(data):
        paths = [data] if isinstance(data, str | os.PathLike) else list(data)
        names = [os.fspath(path) for path in paths]
        return Source.from_paths(names, reading())
    if hasattr(data, "scanner"):
        named = columns if readings is None else [column["column"] for column in json.loads(readings)]
        needed = None if named is None else [*named, *(c for c in (_name(by), _name(weights)) if c)]
        # Each column once: the by column may be a feature, too.
        scanner = data.scanner(columns=None if needed is None else list(dict.fromkeys(needed)))
        return Source.from_arrow(scanner.to_reader(), "the dataset", False, reading())
    if hasattr(data, "__arrow_c_stream__") and not (_is(data, "pandas") and not _has_pyarrow()):
        kind = type(data)
        in_memory = (kind.__module__.split(".")[0], kind.__name__) in _IN_MEMORY
        if _is(data, "pandas"):
            data = _plain_frame(data)
        name = "the table" if in_memory else "the stream"
        return Source.from_arrow(data, name, in_memory, reading())
    return _from_array(data, columns, exclude, weights, by, skip_bad_rows)


def as_table(data: Any) -> Any:
    """Tables in other dress: series, lazy frames and generators of batches; sparse ones are told what to do."""
    package, kind = type(data).__module__.split(".")[0], type(data).__name__
    if package in ("scipy", "sparse") and hasattr(data, "nnz"):
        raise TypeError(
            f"the table is a sparse matrix ({kind} of shape {data.shape}), and a sketch sums all entries of a row: "
            "give blocks of dense rows, (X[i : i + 10_000].toarray() for i in range(0, X.shape[0], 10_000)), or reduce "
            "its columns first"
        )
    if kind == "Series" and package in ("pandas", "polars"):
        return data.to_frame() if data.name is not None and data.name != "" else data.to_frame("x0")
    if package == "polars" and kind == "LazyFrame":
        batches = getattr(data, "collect_batches", None)
        return _stream(batches()) if batches is not None else data.collect()
    if hasattr(data, "__next__") and not hasattr(data, "__arrow_c_stream__"):
        return _stream(data)
    return data


def _stream(batches: Any) -> Any:
    """An Arrow stream of batches that come one after the other: frames, Arrow tables or arrays."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("tables that come batch by batch need pyarrow: pip install pyarrow") from error

    def tables() -> Any:
        for batch in batches:
            if hasattr(batch, "__arrow_c_stream__") or isinstance(batch, pa.RecordBatch):
                table = batch if isinstance(batch, pa.RecordBatch) else pa.table(batch)
            else:
                values = as_matrix(batch)
                table = pa.table(dict(zip(default_names(values.shape[1]), values.T, strict=True)))
            yield from [table] if isinstance(table, pa.RecordBatch) else table.to_batches()

    rows = tables()
    first = next(rows, None)
    if first is None:
        raise ValueError("no row to sketch: the generator gave no batch")
    return pa.RecordBatchReader.from_batches(first.schema, _same_columns(first, rows))


def _same_columns(first: Any, rows: Any) -> Any:
    yield first
    for number, batch in enumerate(rows, 2):
        if batch.schema.names != first.schema.names:
            found, expected = ", ".join(batch.schema.names), ", ".join(first.schema.names)
            raise ValueError(f"batch {number} has the columns {found}, and the first {expected}")
        yield batch if batch.schema.equals(first.schema) else batch.cast(first.schema)


def wanted_rows(
    columns: Sequence[str] | None = None,
    readings: str | None = None,
    exclude: Sequence[str] = (),
    by: str | None = None,
    weights: str | None = None,
    skip_bad_rows: bool = False,
    interpret: bool = False,
    cyclic: Any = (),
) -> dict[str, Any]:
    """What is to be read of a table with named columns."""
    return {
        "columns": None if columns is None else list(columns),
        "readings": readings,
        "exclude": list(exclude),
        "by": by,
        "weights": weights,
        "skip_bad_rows": skip_bad_rows,
        "interpret": interpret,
        "cyclic": _circles(cyclic),
    }


def _circles(cyclic: Any) -> list[tuple[str | None, float]]:
    """The columns that go round in circles, None for all dates, with the lengths of the circles."""
    pairs = cyclic.items() if isinstance(cyclic, dict) else [(None, [cyclic] if isinstance(cyclic, str) else cyclic)]
    found = []
    for column, periods in pairs:
        for period in [periods] if isinstance(periods, str | int | float) else periods:
            if isinstance(period, str) and period not in PERIODS:
                raise ValueError(f"cyclic={period!r}: give {', '.join(PERIODS)}, or {{column: number}}")
            found.append((column, PERIODS[period] if isinstance(period, str) else float(period)))
    return found


def _name(column: Any) -> str | None:
    if column is None or isinstance(column, str):
        return column
    raise TypeError(
        "by and weights of a table with named columns are column names; arrays of values go with numpy arrays"
    )


def _is_paths(data: Any) -> bool:
    return isinstance(data, list | tuple) and len(data) > 0 and all(isinstance(p, str | os.PathLike) for p in data)


def _is(data: Any, package: str) -> bool:
    return type(data).__module__.split(".")[0] == package


def _has_pyarrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _plain_frame(frame: Any) -> Any:
    """The frame without its index, whose names are not columns of the table, and with names that are text."""
    if any(not isinstance(name, str) for name in frame.columns):
        frame = frame.rename(columns=str)
    return frame.reset_index(drop=True)


def _from_array(
    data: Any,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    weights: Any,
    by: Any,
    skip_bad_rows: bool,
) -> Source:
    frame_columns = getattr(data, "columns", None)
    if frame_columns is not None and columns is not None:
        data = data[list(columns)]
    values = as_matrix(data)
    if columns is None:
        columns = [str(name) for name in frame_columns] if frame_columns is not None else default_names(values.shape[1])
    if len(columns) != values.shape[1]:
        raise ValueError(f"the array has {values.shape[1]} columns, and {len(columns)} are expected: {list(columns)}")
    if exclude:
        kept = [i for i, name in enumerate(columns) if name not in set(exclude)]
        values, columns = values[:, kept], [columns[i] for i in kept]
    if isinstance(weights, str) or isinstance(by, str):
        raise TypeError("an array has no named columns: give by and weights as one value for each row")
    weight_values = None if weights is None else as_weights(weights, len(values))
    codes, names = (None, None) if by is None else as_groups(by)
    if skip_bad_rows:
        good = np.isfinite(values).all(axis=1)
        if weight_values is not None:
            good &= np.isfinite(weight_values)
        if not good.all():
            values = values[good]
            weight_values = None if weight_values is None else weight_values[good]
            codes = None if codes is None else codes[good]
    return Source.from_array(values, list(columns), weight_values, codes, names)


def as_matrix(data: Any) -> npt.NDArray[Any]:
    """An array of shape (n, d) of float32 or float64; an array that is one already is not copied."""
    if isinstance(data, np.ma.MaskedArray):
        # What is masked is missing, and treated as missing entries are.
        data = np.ma.filled(data.astype(np.result_type(data.dtype, np.float32)), np.nan)
    values = np.asarray(data)
    if values.ndim != 2:
        raise ValueError(f"a table has two dimensions, and this array has {values.ndim}: reshape it to (rows, columns)")
    native = values.dtype.isnative and values.dtype in (np.float32, np.float64)
    if not native:
        if values.dtype.kind not in "fiub":
            try:
                values = values.astype(np.float64) if values.dtype.kind == "O" else values
            except (TypeError, ValueError) as error:
                raise ValueError(f"the table has values that are not numbers: {error}") from None
            if values.dtype.kind != "f":
                raise ValueError(f"the table's values are of type {values.dtype}, and must be real numbers")
        values = values.astype(np.float64, copy=False)
    if not values.flags.aligned:
        values = values.copy()
    return values


def as_weights(weights: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.float64]:
    """One weight for each row, C-ordered."""
    values = np.ascontiguousarray(weights, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(n_rows, float(values))
    if values.shape != (n_rows,):
        raise ValueError(f"weights has shape {values.shape}, and there are {n_rows} rows")
    return values


def as_groups(by: npt.ArrayLike) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """Group numbers of the rows, and the names of the groups, in their order.

    Text is numbered by a hash of each value, which takes a tenth of the time of sorting all of them.
    """
    values = np.asarray(by)
    if values.ndim != 1:
        values = values.reshape(-1)
    if values.dtype.kind not in "OUST":
        kinds, codes = np.unique(values, return_inverse=True)
        if kinds.dtype.kind == "f" and np.isnan(kinds).any():
            _nameless(np.isnan(values))
        return codes.reshape(-1).astype(np.uint32), [group_name(kind) for kind in kinds]
    rows = values.tolist()
    known = dict.fromkeys(rows)
    if any(map(_is_missing, known)):
        _nameless(np.array([_is_missing(kind) for kind in rows]))
    try:
        order = sorted(known)
    except TypeError:
        order = sorted(known, key=lambda kind: (str(type(kind)), str(kind)))
    number = {kind: place for place, kind in enumerate(order)}
    numbers = np.fromiter(map(number.__getitem__, rows), dtype=np.uint32, count=len(rows))
    return numbers, [group_name(kind) for kind in order]


def _is_missing(value: Any) -> bool:
    """Whether a value stands for none: nothing, pandas' own, or what differs from itself."""
    return value is None or type(value).__name__ == "NAType" or value != value


def _nameless(missing: npt.NDArray[np.bool_]) -> None:
    row = int(np.argmax(missing)) + 1
    raise ValueError(
        f"row {row}: a missing value names no group ({int(missing.sum())} of {len(missing)} rows have none)"
    )


def group_name(value: Any) -> str:
    """Name of a group as the command line writes it: whole numbers without a point."""
    if isinstance(value, float | np.floating) and float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    return str(value.item() if isinstance(value, np.generic) else value)


def readings_of(spec: Any) -> str | None:
    """The columns of a recipe as `source` takes them; None where they are plain numbers all."""
    return json.dumps(spec.readings) if spec.readings else None


def parameters(text: str) -> dict[str, Any]:
    """The numbers in a model's JSON as arrays."""

    def convert(value: Any) -> Any:
        if isinstance(value, list) and value and not isinstance(value[0], str | dict):
            return np.asarray(value, dtype=np.float64)
        return value

    skipped = {"format", "origin", "columns", "task", "k", "readings"}
    return {key: convert(value) for key, value in json.loads(text).items() if key not in skipped}


def bounds_of(bounds: Any, columns: Sequence[str]) -> tuple[list[float], list[float]] | None:
    """The data box as (low, high), each of d numbers.

    `bounds` is ``(low, high)`` with numbers or sequences of d numbers, as in diffprivlib, or a dict of
    ``{column: (low, high)}``.
    """
    if bounds is None:
        return None
    if isinstance(bounds, dict):
        missing = [name for name in columns if name not in bounds]
        if missing:
            raise ValueError(f"bounds are missing for {', '.join(missing)}")
        pairs = [bounds[name] for name in columns]
        return [float(low) for low, _ in pairs], [float(high) for _, high in pairs]
    low, high = bounds
    return _broadcast(low, len(columns)), _broadcast(high, len(columns))


def _broadcast(end: Any, dim: int) -> list[float]:
    values = np.asarray(end, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and len(values) != dim):
        raise ValueError(f"bounds of shape {values.shape} do not fit {dim} columns")
    return [float(x) for x in np.broadcast_to(values, (dim,))]
