"""Parts of a table sketched apart, and the exact sum of their sketches: what the distributed engines share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ._data import readings_of, source
from ._native import CompressiveError, Sketch, SketchSpec

# How the error about a table without rows begins: a part of a table may well have none.
_NO_ROW = "no row to sketch"


def sketch_part(
    rows: Any,
    spec: SketchSpec,
    *,
    by: str | None = None,
    weights: str | None = None,
    skip_bad_rows: bool = False,
    max_groups: int = 1000,
    threads: int = 1,
) -> dict[str, Sketch]:
    """Sketches of the rows of one part, by group (the empty name without `by`); none if the part has no rows."""
    if hasattr(rows, "__len__") and len(rows) == 0:
        return {}
    try:
        opened = source(
            rows, spec.columns, weights=weights, by=by, skip_bad_rows=skip_bad_rows, readings=readings_of(spec)
        )
        sketches, _, _ = opened.sketch(spec, threads, max_groups)
    except CompressiveError as error:
        if str(error).startswith(_NO_ROW):
            return {}
        raise
    return sketches


def merge_parts(
    parts: Iterable[Mapping[str, Sketch]], by: str | None = None, max_groups: int = 1000
) -> dict[str, Sketch]:
    """The exact sums, by group. Integer sums do not depend on the order, nor on how parts were merged before."""
    total: dict[str, Sketch] = {}
    for part in parts:
        for name, sketch in part.items():
            if name in total:
                total[name].merge(sketch)
            else:
                total[name] = sketch.copy()
        if len(total) > max_groups:
            raise CompressiveError(
                f"column {by!r} has more than {max_groups} different values; "
                "group by a coarser column, or raise max_groups"
            )
    return total


def whole(total: Mapping[str, Sketch], by: str | None) -> Sketch | dict[str, Sketch]:
    """What a pass returns: one sketch, or with `by` one for each group in the order of the names."""
    if not total:
        raise CompressiveError(f"{_NO_ROW}: the table has none, or all its rows were left out")
    if by is None:
        return total[""]
    return dict(sorted(total.items()))


def needed_columns(
    available: Iterable[str], spec: SketchSpec, columns: Iterable[str] | None, by: str | None, weights: str | None
) -> list[str]:
    """The columns that a pass reads, each once, after a check that the table has them."""
    if columns is not None and list(columns) != spec.columns:
        raise ValueError(f"columns {list(columns)} are not those of the spec, {spec.columns}; leave them out")
    named = [column["column"] for column in spec.readings] or spec.columns
    asked = [*named, *(name for name in (by, weights) if name is not None)]
    present = list(available)
    missing = [name for name in dict.fromkeys(asked) if name not in present]
    if missing:
        raise ValueError(f"the table has no column {', '.join(map(repr, missing))}; it has {', '.join(present)}")
    return list(dict.fromkeys(asked))
