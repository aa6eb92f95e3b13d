"""Sketches in polars: expressions for ``group_by().agg``, eager and lazy.

>>> import polars as pl, compressive, compressive.polars as cp
>>> frame = pl.DataFrame({"region": ["n", "s"] * 50, "x": [float(i % 7) for i in range(100)]})
>>> spec = compressive.SketchSpec(["x"], size=20)
>>> table = frame.lazy().group_by("region").agg(cp.sketch(spec).alias("sketch")).sort("region").collect()
>>> table.with_columns(rows=cp.call("sketch_rows", "sketch"))["rows"].to_list()
[50, 50]

A sketch is a value of a binary column: the bytes of its file, the same as those of every other engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._functions import FUNCTIONS, mapped, merged, plain_columns, sketched
from ._native import SketchSpec


def _polars() -> Any:
    try:
        import polars
    except ImportError as error:
        raise ImportError("compressive.polars needs polars: pip install polars") from error
    return polars


def sketch(spec: SketchSpec, columns: Sequence[Any] | None = None, *, skip_bad_rows: bool = False) -> Any:
    """The aggregate: the sketch of the rows of each group, a value of a binary column.

    Parameters
    ----------
    spec : SketchSpec
        Of numbers; for dates and text sketch the frame by ``compressive.sketch(frame, spec, by=...)``.
    columns : sequence of str or polars.Expr, optional
        In the order of the recipe's; by default those with its names.
    skip_bad_rows : bool
        Leave out rows with missing values instead of failing.
    """
    pl = _polars()
    names = plain_columns(spec, "compressive.sketch(frame, spec, by=column) does")
    columns = names if columns is None else columns
    if len(columns) != len(names):
        raise ValueError(f"the recipe has {len(names)} columns, {', '.join(names)}, and is given {len(columns)}")

    def one(series: Sequence[Any]) -> Any:
        rows = np.column_stack([part.cast(pl.Float64).to_numpy() for part in series])
        return pl.Series([sketched(rows, spec, skip_bad_rows)], dtype=pl.Binary)

    exprs = [pl.col(column) if isinstance(column, str) else column for column in columns]
    return pl.map_groups(exprs, one, return_dtype=pl.Binary, returns_scalar=True)


def merge(column: Any) -> Any:
    """The aggregate: the exact sum of the sketches of each group."""
    pl = _polars()
    expr = pl.col(column) if isinstance(column, str) else column

    def one(series: Sequence[Any]) -> Any:
        return pl.Series([merged(series[0].to_list())], dtype=pl.Binary)

    return pl.map_groups([expr], one, return_dtype=pl.Binary, returns_scalar=True)


def call(name: str, *arguments: Any) -> Any:
    """One of SQL's functions of sketches: ``call("sketch_mean", "sketch", pl.lit("x"))``; see `compressive.sql`.

    Text names a column, as everywhere in polars; other values are `polars.lit`.
    """
    pl = _polars()
    if name not in FUNCTIONS:
        raise ValueError(f"{name!r} is no function of sketches; there are {', '.join(FUNCTIONS)}")
    function = FUNCTIONS[name]
    result = {"bigint": pl.Int64, "double": pl.Float64, "varchar": pl.String, "blob": pl.Binary}[function.result]
    exprs = [pl.col(a) if isinstance(a, str) else a if isinstance(a, pl.Expr) else pl.lit(a) for a in arguments]

    def rows(series: Any) -> Any:
        fields = series.struct.fields
        return pl.Series(mapped(function, *(series.struct.field(field).to_list() for field in fields)), dtype=result)

    named = [expr.alias(str(number)) for number, expr in enumerate(exprs)]
    return pl.struct(named).map_batches(rows, return_dtype=result).alias(name)
