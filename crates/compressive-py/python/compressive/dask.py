"""Sketches of Dask frames and arrays: one for each partition, where the partition is, then an exact tree of sums.

>>> import dask.dataframe, pandas, compressive, compressive.dask
>>> frame = pandas.DataFrame({"x": range(1000), "y": range(1000, 2000)})
>>> spec = compressive.design(frame, k=3)
>>> compressive.dask.sketch(dask.dataframe.from_pandas(frame, npartitions=4), spec).rows
1000

Workers of a distributed scheduler must be able to import `compressive`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from ._native import Sketch, SketchSpec
from ._parts import merge_parts, needed_columns, sketch_part, whole


@overload
def sketch(
    data: Any,
    spec: SketchSpec,
    *,
    by: None = ...,
    columns: Sequence[str] | None = ...,
    weights: str | None = ...,
    skip_bad_rows: bool = ...,
    max_groups: int = ...,
    fan_in: int = ...,
    threads: int = ...,
) -> Sketch: ...
@overload
def sketch(
    data: Any,
    spec: SketchSpec,
    *,
    by: str,
    columns: Sequence[str] | None = ...,
    weights: str | None = ...,
    skip_bad_rows: bool = ...,
    max_groups: int = ...,
    fan_in: int = ...,
    threads: int = ...,
) -> dict[str, Sketch]: ...
def sketch(
    data: Any,
    spec: SketchSpec,
    *,
    by: str | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    skip_bad_rows: bool = False,
    max_groups: int = 1000,
    fan_in: int = 8,
    threads: int = 1,
) -> Sketch | dict[str, Sketch]:
    """Sums the features of all rows of a Dask collection with the current scheduler.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or dask.array.Array of shape (n, d)
        Columns of a frame are found by the recipe's names; those of an array are taken in their order.
    spec : SketchSpec
        The recipe, as ``compressive.design(frame.sample(frac=0.01).compute(), k=10)`` makes one from a sample.
    by : str, optional
        Makes one sketch for each distinct value of this column.
    weights : str, optional
        Column that tells how many times each row counts.
    skip_bad_rows : bool
        Leave out rows with missing values instead of failing at the first.
    fan_in : int
        Sketches merged by one task.
    threads : int
        Threads of each partition's pass; Dask runs several partitions at the same time.

    Returns
    -------
    Sketch, or with `by` a dict of Sketch
    """
    try:
        from dask.delayed import delayed
    except ImportError as error:
        raise ImportError("compressive.dask needs dask: pip install 'compressive[dask]'") from error
    if not isinstance(spec, SketchSpec):
        raise TypeError(f"spec is a {type(spec).__name__}, and must be a SketchSpec, as compressive.design gives")
    if fan_in < 2:
        raise ValueError(f"fan_in={fan_in}: give 2 or more")
    parts = _parts_of(data, spec, columns, by, weights)
    one = delayed(sketch_part, pure=True)
    options = {"by": by, "weights": weights, "skip_bad_rows": skip_bad_rows, "max_groups": max_groups}
    level = [one(part, spec, threads=threads, **options) for part in parts]
    merge = delayed(merge_parts, pure=True)
    while len(level) > 1:
        level = [merge(level[i : i + fan_in], by, max_groups) for i in range(0, len(level), fan_in)]
    return whole(level[0].compute() if level else {}, by)


def _parts_of(
    data: Any, spec: SketchSpec, columns: Sequence[str] | None, by: str | None, weights: str | None
) -> list[Any]:
    """The partitions as delayed tables with the columns that are needed."""
    if not hasattr(data, "to_delayed"):
        raise TypeError(f"data is a {type(data).__name__}, and must be a Dask frame or array")
    if hasattr(data, "columns"):
        return list(data[needed_columns(data.columns, spec, columns, by, weights)].to_delayed())
    if by is not None or weights is not None:
        raise TypeError("an array has no named columns: by and weights go with Dask frames")
    if columns is not None:
        needed_columns(columns, spec, columns, None, None)
    if data.ndim != 2 or data.shape[1] != spec.dim:
        raise ValueError(f"the array has shape {data.shape}, and the spec has {spec.dim} columns: {spec.columns}")
    return list(data.rechunk({1: -1}).to_delayed().ravel())
