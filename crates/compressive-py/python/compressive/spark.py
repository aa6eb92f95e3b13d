"""Sketches of Spark frames, for tables that outgrow one machine.

Each partition is sketched where it is (`mapInArrow`), the sketches of a few kilobytes are merged exactly in a second
stage, and the driver adds up what is left of them::

    sketch = compressive.spark.sketch(spark.read.parquet("trips/"), ["x", "y"], spec)
    by_day = compressive.spark.sketch(spark.table("trips"), spec=spec, by="day")

A task that is retried, run twice by speculation or recomputed after the loss of its executor cannot count a row twice:
its sketch is a row of the task's output, of which Spark commits one copy; nothing is kept in accumulators. The sums are
integers, so that neither the partitions nor the order matter: the bytes are those of `compressive.sketch` on the same
rows. (A frame that gives other rows when it is computed again, as one with ``rand()``, may do so in a recomputed task.)

Only frames' methods are used, so that Spark Connect works as well. Executors must be able to import `compressive` and
pyarrow: install the package on the cluster's nodes, or ship an environment with ``spark.archives`` (or
``spark.addArtifacts(..., archive=True)`` with Spark Connect) as Spark's guide to Python packages tells.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from ._api import design as _design
from ._native import PILOT_ROWS, CompressiveError, Sketch, SketchSpec
from ._parts import merge_parts, needed_columns, sketch_part, whole

if TYPE_CHECKING:
    import pyarrow as pa

_SCHEMA = "part int, name string, sketch binary"

Step = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]


@overload
def sketch(
    df: Any, columns: Sequence[str] | None = ..., spec: SketchSpec | None = ..., by: None = ..., **options: Any
) -> Sketch: ...
@overload
def sketch(
    df: Any, columns: Sequence[str] | None = ..., spec: SketchSpec | None = ..., *, by: str, **options: Any
) -> dict[str, Sketch]: ...
@overload
def sketch(
    df: Any, columns: Sequence[str] | None, spec: SketchSpec | None, by: str, **options: Any
) -> dict[str, Sketch]: ...
def sketch(
    df: Any,
    columns: Sequence[str] | None = None,
    spec: SketchSpec | None = None,
    by: str | None = None,
    *,
    exclude: Sequence[str] = (),
    weights: str | None = None,
    skip_bad_rows: bool = False,
    max_groups: int = 1000,
    threads: int = 1,
    **recipe: Any,
) -> Sketch | dict[str, Sketch]:
    """Sums the features of all rows of a Spark frame on its executors.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Of a classic session or of Spark Connect.
    columns, exclude : sequence of str, optional
        The columns to use, or not to use; by default those of `spec`, or without one all numeric columns.
    spec : SketchSpec, optional
        The recipe. Without one it is chosen from a random sample of the rows, with the arguments in `recipe` (`k`,
        `task`, ...) as `compressive.design` does; this counts the rows and reads them once more. The sample depends on
        the partitions: give a spec where sketches of several runs are to be merged.
    by : str, optional
        Makes one sketch for each distinct value of this column; groups are named as the command line names them.
    weights : str, optional
        Column that tells how many times each row counts.
    skip_bad_rows : bool
        Leave out rows with missing values instead of failing at the first.
    max_groups : int
        Most groups.
    threads : int
        Threads of each task's pass; Spark runs a task on every core.

    Returns
    -------
    Sketch, or with `by` a dict of Sketch
    """
    if not hasattr(df, "mapInArrow"):
        raise TypeError(f"df is a {type(df).__name__}, and must be a Spark frame")
    if spec is None:
        spec = design(df, columns, exclude=[*exclude, *(n for n in (by, weights) if n)], **recipe)
    elif recipe:
        raise TypeError(f"{', '.join(recipe)}: the recipe is given by spec")
    needed = needed_columns(df.columns, spec, columns, by, weights)
    read = _partition_step(needed, spec.to_json(), by, weights, skip_bad_rows, max_groups, threads)
    # Spark looks the columns up by name once more, and would take a dot for a field: they travel under plain names.
    plain = df.selectExpr(*(f"{_quoted(name)} AS c{i}" for i, name in enumerate(needed)))
    parts = plain.mapInArrow(read, _SCHEMA)
    # Without a number of partitions adaptive execution chooses it by size, which is the width of the tree.
    spread = parts.repartition("part" if by is None else "name")
    rows = _collected(spread.mapInArrow(_merge_step(by, max_groups), _SCHEMA))
    found = ({row["name"]: Sketch.from_bytes(bytes(row["sketch"]))} for row in rows)
    return whole(merge_parts(found, by, max_groups), by)


def design(
    df: Any,
    columns: Sequence[str] | None = None,
    *,
    exclude: Sequence[str] = (),
    pilot: int = PILOT_ROWS,
    seed: int = 0,
    **recipe: Any,
) -> SketchSpec:
    """Chooses a recipe for a Spark frame from a random sample of about `pilot` rows; see `compressive.design`."""
    chosen = df if columns is None else df.select(*map(_quoted, _present(df, columns)))
    n_rows = chosen.count()
    if n_rows == 0:
        raise CompressiveError("no row to sketch: the frame has none")
    sample = chosen if n_rows <= pilot else chosen.sample(fraction=pilot / n_rows, seed=seed)
    left_out = [name for name in exclude if columns is None or name not in columns]
    return _design(sample.toArrow(), columns=columns, exclude=left_out, pilot=pilot, seed=seed, **recipe)


def register(
    spark: Any,
    spec: SketchSpec | None = None,
    name: str = "sketch",
    *,
    skip_bad_rows: bool = False,
) -> dict[str, Any]:
    """Adds functions of sketches to a Spark session, for SQL and for ``groupBy().agg()``.

    ``sketch(x, ...)`` is an aggregate of the columns of the recipe in their order, ``sketch_merge(s)`` the one that
    adds sketches; ``sketch_rows``, ``sketch_mean``, ``sketch_quantile``, ``sketch_query``, ``sketch_kmeans``,
    ``sketch_subtract`` and ``sketch_drift`` are as in `compressive.sql.register_duckdb`. Results are columns of frames,
    so that nothing need reach the driver::

        f = compressive.spark.register(spark, spec)
        days = df.groupBy("day", "region").agg(f["sketch"]("x", "y").alias("s"))
        days.groupBy("region").agg(f["sketch_merge"]("s").alias("s")).write.parquet("regions")

    A group's rows are gathered on one executor before they are summed; for few, large groups use `sketch`, which sums
    each partition where it is.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
    spec : SketchSpec, optional
        A recipe of numbers; without one only the functions of sketches are added.

    Returns
    -------
    dict
        The functions by name, for ``agg`` and ``select``.
    """
    import numpy as np
    from pyspark.sql.pandas.functions import PandasUDFType, pandas_udf

    from ._functions import FUNCTIONS, mapped, merged, plain_columns, sketched

    sql = {"bigint": "bigint", "double": "double", "varchar": "string", "blob": "binary"}
    made: dict[str, Any] = {}
    if spec is not None:
        columns = plain_columns(spec, "compressive.spark.sketch(df, spec=spec, by=column) does")
        text, width = spec.to_json(), len(columns)

        def of_rows(*series: Any) -> Any:
            if len(series) != width:
                raise CompressiveError(f"the recipe has {width} columns, and the function gets {len(series)}")
            rows = np.column_stack([part.to_numpy(dtype="float64") for part in series])
            return sketched(rows, _spec_of(text), skip_bad_rows)

        made[name] = pandas_udf(of_rows, "binary", PandasUDFType.GROUPED_AGG)

    def of_parts(series: Any) -> Any:
        return merged(None if part is None else bytes(part) for part in series)

    made["sketch_merge"] = pandas_udf(of_parts, "binary", PandasUDFType.GROUPED_AGG)
    for title, function in FUNCTIONS.items():
        made[title] = pandas_udf(_of_columns(function, mapped), sql[function.result], PandasUDFType.SCALAR)
    for title, function in made.items():
        spark.udf.register(title, function)
    return made


def _of_columns(function: Any, mapped: Callable[..., list[Any]]) -> Callable[..., Any]:
    """A function of single values as one of pandas' series."""

    def plain(value: Any) -> Any:
        if isinstance(value, bytearray):
            return bytes(value)
        return None if value is None or value != value else value

    def of_series(*series: Any) -> Any:
        import pandas as pd

        return pd.Series(mapped(function, *([plain(value) for value in part] for part in series)), dtype=object)

    return of_series


def _present(df: Any, columns: Sequence[str]) -> list[str]:
    missing = [name for name in columns if name not in df.columns]
    if missing:
        raise ValueError(f"the frame has no column {', '.join(map(repr, missing))}; it has {', '.join(df.columns)}")
    return list(columns)


def _quoted(name: str) -> str:
    """A column's name, in which a dot does not mean a field."""
    return "`" + name.replace("`", "``") + "`"


def _partition_step(
    names: list[str],
    spec_json: str,
    by: str | None,
    weights: str | None,
    skip_bad_rows: bool,
    max_groups: int,
    threads: int,
) -> Step:
    """The sketches of one partition, whose columns have the given names, as rows of (part, name, bytes)."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        part = context.partitionId() if context is not None else 0
        named = (pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)
        first = next(named, None)
        if first is None:
            return
        stream = pa.RecordBatchReader.from_batches(first.schema, itertools.chain([first], named))
        try:
            sketches = sketch_part(
                stream,
                _spec_of(spec_json),
                by=by,
                weights=weights,
                skip_bad_rows=skip_bad_rows,
                max_groups=max_groups,
                threads=threads,
            )
        except CompressiveError as error:
            raise CompressiveError(f"partition {part}: {error}") from None
        yield from _as_batches(part, sketches)

    return read


def _merge_step(by: str | None, max_groups: int) -> Step:
    """The sums of the sketches that reach one task."""

    def merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = (zip(batch.column(1).to_pylist(), batch.column(2), strict=True) for batch in batches)
        parts = ({name: Sketch.from_bytes(data.as_py())} for batch in names for name, data in batch)
        yield from _as_batches(0, merge_parts(parts, by, max_groups))

    return merge


def _as_batches(part: int, sketches: dict[str, Sketch]) -> Iterator[Any]:
    """One batch for each sketch: with many groups all of them together may be large."""
    import pyarrow as pa

    for name, sketch in sketches.items():
        columns = [pa.array([part], pa.int32()), pa.array([name]), pa.array([sketch.to_bytes()], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["part", "name", "sketch"])


@functools.lru_cache(maxsize=8)
def _spec_of(text: str) -> SketchSpec:
    """A worker runs many tasks with the same recipe, whose frequencies are drawn once."""
    return SketchSpec.from_json(text)


def _collected(frame: Any) -> list[Any]:
    """The rows of a small frame; errors in a partition's rows are raised without the executors' stack."""
    from pyspark.errors import PySparkException

    try:
        rows: list[Any] = frame.collect()
    except PySparkException as error:
        message = re.search(r"CompressiveError: (.*)", str(error))
        if message is not None:
            raise CompressiveError(message.group(1)) from error
        missing = re.search(r"No module named '(compressive|pyarrow)", str(error))
        if missing is not None:
            raise ImportError(
                f"the executors cannot import {missing.group(1)}: install 'compressive[spark]' on the cluster's nodes, "
                "or ship an environment with spark.archives"
            ) from error
        raise
    return rows
