"""Sketches as values of a column: the functions that DuckDB, Spark and polars get, each written once.

A sketch is the bytes of its file; None stands for SQL's NULL, and every function of a NULL is one.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from . import _api, _native
from ._drift import drift
from ._native import CompressiveError, Sketch, SketchSpec
from ._parts import sketch_part


class Function(NamedTuple):
    """A function of single values, with the types of its arguments and of its result as SQL names them."""

    call: Callable[..., Any]
    arguments: tuple[str, ...]
    result: str


@functools.lru_cache(maxsize=8)
def read(data: bytes) -> Sketch:
    """The sketch of some bytes; engines ask several questions of one in a row."""
    return Sketch.from_bytes(data)


def _rows(data: bytes) -> int:
    return read(data).rows


def _query(data: bytes, question: str) -> float:
    (answer,) = _native.query(read(data), [question], 0, 1)
    if "value" not in answer:
        raise CompressiveError(f"{question}: ask for one number; histograms are for compressive.query")
    return float(answer["value"])


def _mean(data: bytes, column: str) -> float:
    return _query(data, f"mean({_quoted(column)})")


def _quantile(data: bytes, column: str, share: float) -> float:
    return _query(data, f"quantile({_quoted(column)}, {share!r})")


def _quoted(column: str) -> str:
    return column if column.isidentifier() else '"' + column.replace('"', '""') + '"'


def _kmeans(data: bytes, k: int) -> str:
    return _api.fit_kmeans(read(data), int(k), threads=1).to_json()


def _subtract(a: bytes, b: bytes) -> bytes:
    return (Sketch.from_bytes(a) - Sketch.from_bytes(b)).to_bytes()


def _drift(a: bytes, b: bytes) -> str:
    found = drift(Sketch.from_bytes(a), Sketch.from_bytes(b))
    told = {"verdict": found.verdict, "share": found.share, "p_value": found.comparison["p_value"]}
    return json.dumps({**told, "changes": found.changes, "gained": found.gained, "lost": found.lost})


FUNCTIONS: dict[str, Function] = {
    "sketch_rows": Function(_rows, ("blob",), "bigint"),
    "sketch_mean": Function(_mean, ("blob", "varchar"), "double"),
    "sketch_quantile": Function(_quantile, ("blob", "varchar", "double"), "double"),
    "sketch_query": Function(_query, ("blob", "varchar"), "double"),
    "sketch_kmeans": Function(_kmeans, ("blob", "bigint"), "varchar"),
    "sketch_subtract": Function(_subtract, ("blob", "blob"), "blob"),
    "sketch_drift": Function(_drift, ("blob", "blob"), "varchar"),
}
"""By name: what SQL calls them."""


def mapped(function: Function, *columns: Iterable[Any]) -> list[Any]:
    """The function of each row; None where an argument is None."""
    return [None if any(v is None for v in row) else function.call(*row) for row in zip(*columns, strict=True)]


def sketched(values: np.ndarray, spec: SketchSpec, skip_bad_rows: bool) -> bytes | None:
    """The sketch of rows of shape (n, d); None for no row."""
    found = sketch_part(values, spec, skip_bad_rows=skip_bad_rows)
    return found[""].to_bytes() if found else None


def merged(parts: Iterable[bytes | None]) -> bytes | None:
    """The exact sum of sketches; None for none."""
    total = _native.sum_bytes([part for part in parts if part is not None])
    return None if total is None else total.to_bytes()


def plain_columns(spec: SketchSpec, remedy: str) -> list[str]:
    """The columns of a recipe of numbers."""
    if spec.readings:
        raise CompressiveError(
            f"this recipe reads dates, categories or vectors, and a function of SQL gets numbers: {remedy}"
        )
    return spec.columns
