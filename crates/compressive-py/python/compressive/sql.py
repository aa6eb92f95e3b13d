"""Sketches in SQL: an aggregate function for DataFusion, and a stream from DuckDB.

DataFusion gets the aggregate ``sketch``, which works with GROUP BY, FILTER and in window functions, on all partitions
at once; the sums of the partitions are merged exactly, so the bytes are those of any other way to sketch the rows:

>>> import datafusion, compressive, compressive.sql
>>> ctx = datafusion.SessionContext()
>>> _ = ctx.from_pydict({"region": ["n", "s"] * 500, "x": [float(i % 7) for i in range(1000)]}, "trips")
>>> spec = compressive.SketchSpec(["x"], size=20)
>>> _ = compressive.sql.register(ctx, spec)
>>> result = ctx.sql("SELECT region, sketch(x) AS sketch FROM trips GROUP BY region ORDER BY region")
>>> {region: sketch.rows for region, sketch in compressive.sql.sketches(result).items()}
{'n': 500, 's': 500}

DuckDB gets its functions by `register_duckdb`, and `duckdb` streams the result of a query. That of a DataFusion query
can be streamed in the same way, ``compressive.sketch(ctx.sql("SELECT ..."), spec, by="day")``, which is faster than the
aggregate if there are hundreds of groups.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from ._api import Progress
from ._api import sketch as _sketch
from ._data import wanted_rows
from ._functions import FUNCTIONS, Function, mapped, merged, plain_columns, sketched
from ._native import CompressiveError, Sketch, SketchSpec, Source

if TYPE_CHECKING:
    import pyarrow as pa

# Rows of a group wait until there are this many bytes of them: with many groups an engine hands over a few rows at a
# time, and each pass has a fixed cost of a fraction of a millisecond.
_BUFFER_BYTES = 1 << 17
_WEIGHT_MAX = float(1 << 28)

Matrix = npt.NDArray[np.float64]


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("compressive.sql needs pyarrow: pip install 'compressive[sql]'") from error
    return pyarrow


class _Rows:
    """Sums of the rows of one group: what DataFusion calls an accumulator.

    Its state between the stages of a query is the bytes of a sketch; a group without rows is NULL.
    """

    def __init__(self, weighted: bool, skip_bad_rows: bool) -> None:
        self.weighted = weighted
        self.skip_bad_rows = skip_bad_rows
        self.sums: Sketch | None = None
        self.spec: SketchSpec | None = None
        self.waiting: list[tuple[Matrix, Matrix | None]] = []
        self.waiting_bytes = 0

    def add(self, spec: SketchSpec, values: Matrix, weights: Matrix | None) -> None:
        """Takes rows of shape (n, d); they must be finite, or are left out on request."""
        self.spec = spec
        good = np.isfinite(values)
        if not good.all():
            if not self.skip_bad_rows:
                raise _bad_value(spec.columns[int(np.argmin(good.all(axis=0)))], "null or not finite (NaN, inf)")
            kept = good.all(axis=1)
            values, weights = values[kept], None if weights is None else weights[kept]
        if weights is not None:
            fit = (weights >= 0) & (weights <= _WEIGHT_MAX)
            if not fit.all():
                if not self.skip_bad_rows:
                    raise _bad_value("of the weights", "no weight from 0 to 2^28")
                values, weights = values[fit], weights[fit]
        if len(values):
            # Copies of views: a few rows that wait must not keep the engine's whole batch in memory.
            self.waiting.append((_owned(values), None if weights is None else _owned(weights)))
            self.waiting_bytes += values.nbytes
        if self.waiting_bytes >= _BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Sums the rows that wait."""
        if not self.waiting or self.spec is None:
            return
        values = np.concatenate([values for values, _ in self.waiting]) if len(self.waiting) > 1 else self.waiting[0][0]
        weights = [weights for _, weights in self.waiting if weights is not None]
        if self.sums is None:
            self.sums = Sketch(self.spec)
        rows = Source.from_array(values, self.spec.columns, np.concatenate(weights) if weights else None)
        # One thread: the engine runs its partitions at the same time.
        self.sums.add_source(rows, 1)
        self.waiting, self.waiting_bytes = [], 0

    def merge(self, states: Sequence[pa.Array]) -> None:
        for state in states[0]:
            data = state.as_py()
            if data is None:
                continue
            part = Sketch.from_bytes(data)
            if self.sums is None:
                self.sums = part
            else:
                self.sums.merge(part)

    def evaluate(self) -> pa.Scalar:
        self.flush()
        pa = _arrow()
        return pa.scalar(None if self.sums is None else self.sums.to_bytes(), pa.binary())

    def state(self) -> list[pa.Scalar]:
        return [self.evaluate()]


def _owned(values: Matrix) -> Matrix:
    return values if values.base is None else values.copy()


def _bad_value(column: str, what: str) -> CompressiveError:
    named = column if column.startswith("of ") else repr(column)
    return CompressiveError(
        f"column {named} has a value that is {what}; leave such rows out with FILTER (WHERE ...), "
        "or all bad rows with register(..., skip_bad_rows=True)"
    )


class _BoundRows(_Rows):
    """``sketch(column, ...[, weight])``: the recipe is known beforehand."""

    def __init__(self, spec: SketchSpec, weighted: bool, skip_bad_rows: bool) -> None:
        super().__init__(weighted, skip_bad_rows)
        self.bound = spec

    def update(self, *columns: pa.Array) -> None:
        arrays = [column.to_numpy(zero_copy_only=False) for column in columns]
        weights = arrays.pop() if self.weighted else None
        self.add(self.bound, np.column_stack(arrays), weights)


class _NamedRows(_Rows):
    """``sketch(spec, [column, ...][, weight])``: the recipe is a name or JSON text."""

    def __init__(self, find: Callable[[str], SketchSpec], weighted: bool, skip_bad_rows: bool) -> None:
        super().__init__(weighted, skip_bad_rows)
        self.find = find

    def update(self, specs: pa.Array, lists: pa.Array, weights: pa.Array | None = None) -> None:
        if len(lists) == 0:
            return
        text = specs[0].as_py()
        if text is None or specs.null_count or len(specs.unique()) > 1:
            raise CompressiveError("the spec must be one text for all rows of a group, and not null")
        spec = self.find(text)
        if self.spec is not None and self.spec != spec:
            raise CompressiveError("the spec must be one text for all rows of a group: this group has two")
        widths = lists.value_lengths()
        if widths.null_count or (np.asarray(widths) != spec.dim).any():
            found = "null" if widths.null_count else f"a list of {int(np.asarray(widths)[0])}"
            raise CompressiveError(f"the spec has {spec.dim} columns, {spec.columns}, and it is given {found}")
        values = lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, spec.dim)
        self.add(spec, values, None if weights is None else weights.to_numpy(zero_copy_only=False))


def _finder(specs: Mapping[str, SketchSpec]) -> Callable[[str], SketchSpec]:
    @functools.lru_cache(maxsize=64)
    def find(text: str) -> SketchSpec:
        if text in specs:
            return specs[text]
        if text.lstrip().startswith("{"):
            return SketchSpec.from_json(text)
        known = ", ".join(map(repr, specs)) or "none"
        raise CompressiveError(f"{text!r} is neither a registered spec (registered: {known}) nor the JSON text of one")

    return find


def register(
    ctx: Any,
    spec: SketchSpec | Mapping[str, SketchSpec] | None = None,
    name: str = "sketch",
    *,
    weights: bool = False,
    skip_bad_rows: bool = False,
) -> Any:
    """Adds the aggregate function ``sketch`` to a DataFusion context.

    With one spec the function takes its d columns in their order::

        register(ctx, spec)
        ctx.sql("SELECT day, sketch(x, y) AS sketch FROM trips GROUP BY day")

    With several, or none, it takes the name of the spec or its JSON text, then a list of the columns (an aggregate made
    in Python has a fixed number of arguments)::

        register(ctx, {"trips": spec})
        ctx.sql("SELECT sketch('trips', [x, y]) FILTER (WHERE fare > 0) AS sketch FROM trips")

    The result is binary: the bytes of a sketch file, or NULL where there is no row. `sketches` reads a whole result,
    `Sketch.from_bytes` a single value.

    Parameters
    ----------
    ctx : datafusion.SessionContext
    spec : SketchSpec or {name: SketchSpec}, optional
    name : str
        Name of the function, in lower case.
    weights : bool
        The function has a further, last argument: how many times each row counts.
    skip_bad_rows : bool
        Leave out rows with a value that is null or not finite, instead of failing.

    Returns
    -------
    datafusion.AggregateUDF
        The function, for use in `DataFrame.aggregate`.
    """
    pa = _arrow()
    try:
        from datafusion.user_defined import AggregateUDF
    except ImportError as error:
        raise ImportError("compressive.sql.register needs datafusion: pip install 'compressive[sql]'") from error
    if name != name.lower() or not name.isidentifier():
        raise ValueError(f"name={name!r}: give a name in lower case, as SQL reads names without quotes")
    number = pa.float64()
    accumulator: Any
    if isinstance(spec, SketchSpec):
        accumulator = functools.partial(_BoundRows, spec, weights, skip_bad_rows)
        arguments = [number] * spec.dim
    else:
        specs = dict(spec or {})
        for key, value in specs.items():
            if not isinstance(value, SketchSpec):
                raise TypeError(f"spec[{key!r}] is a {type(value).__name__}, and must be a SketchSpec")
        accumulator = functools.partial(_NamedRows, _finder(specs), weights, skip_bad_rows)
        arguments = [pa.string(), pa.list_(number)]
    arguments += [number] * weights
    function = AggregateUDF(name, accumulator, arguments, pa.binary(), [pa.binary()], "immutable")
    ctx.register_udaf(function)
    return function


def sketches(result: Any, *, skip_bad_rows: bool = False) -> dict[Any, Sketch]:
    """The sketches of a query's result, by group.

    Parameters
    ----------
    result : datafusion.DataFrame, pyarrow.Table or anything with ``__arrow_c_stream__``
        One binary column holds sketches; the other columns tell the group.
    skip_bad_rows : bool
        Leave out groups whose name is null, instead of failing.

    Returns
    -------
    dict of Sketch
        The key is the group's name as the command line writes it; with several group columns the tuple of their names,
        and without one the empty text. Groups without rows are left out; rows of the same group are merged.
    """
    pa = _arrow()
    table = pa.table(result)
    binary = [field.name for field in table.schema if _is_binary(pa, field.type)]
    if len(binary) != 1:
        raise ValueError(f"the result must have one binary column, the sketches; it has {binary or 'none'}")
    groups = [name for name in table.column_names if name != binary[0]]
    names: list[Any] = [""] * len(table)
    if groups:
        columns = [_group_names(pa, table, name, skip_bad_rows) for name in groups]
        names = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    found: dict[Any, Sketch] = {}
    for name, data in zip(names, table[binary[0]].to_pylist(), strict=True):
        if data is None or name is None or (isinstance(name, tuple) and None in name):
            continue
        part = Sketch.from_bytes(data)
        if name in found:
            found[name].merge(part)
        else:
            found[name] = part
    return found


def _is_binary(pa: Any, kind: Any) -> bool:
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind))


def _group_names(pa: Any, table: Any, name: str, skip_bad_rows: bool) -> list[str | None]:
    """Names of the rows' groups in one column; None where there is none."""
    if len(table) == 0:
        return []
    # The reader of tables names groups as the command line does; it is asked for all rows, with their numbers.
    number = "row" if name != "row" else "number"
    numbered = pa.table({number: np.arange(len(table), dtype=np.float64), name: table[name]})
    rows = Source.from_arrow(numbered, "the result", True, wanted_rows([number], by=name, skip_bad_rows=True))
    names: list[str | None] = [None] * len(table)
    try:
        places, found = rows.pilot(len(table), 0)
    except CompressiveError:
        # There is no row to sample, as no row of this table in memory has a name.
        places, found = np.empty((0, 1)), []
    for place, text in zip(places[:, 0], found or [], strict=True):
        names[int(place)] = text
    if None in names and not skip_bad_rows:
        row = names.index(None)
        value = table[name][row].as_py()
        raise CompressiveError(
            f"the result, row {row + 1}, column {name!r}: {'null' if value is None else repr(value)} names no group; "
            "correct it, or leave such groups out with skip_bad_rows=True"
        )
    return names


def register_duckdb(
    con: Any,
    spec: SketchSpec | Mapping[str, SketchSpec] | None = None,
    *,
    skip_bad_rows: bool = False,
) -> None:
    """Adds functions of sketches to a DuckDB connection.

    ``sketch(x, ...)`` is an aggregate of the d columns of the recipe in their order; with several recipes
    ``sketch('name', x, ...)``. ``sketch_merge(s)`` is the aggregate that adds sketches. Of single sketches:
    ``sketch_rows(s)``, ``sketch_mean(s, 'x')``, ``sketch_quantile(s, 'x', 0.5)``, ``sketch_query(s, 'share(x < 3)')``,
    ``sketch_kmeans(s, k)`` (a model as JSON), ``sketch_subtract(a, b)`` and ``sketch_drift(a, b)`` (JSON). A sketch is
    a value of type BLOB, the bytes of its file::

        register_duckdb(con, spec)
        con.sql("CREATE TABLE cube AS SELECT carrier, month, sketch(dep, arr) AS s FROM flights GROUP BY ALL")
        con.sql("SELECT month, sketch_mean(sketch_merge(s), 'dep') FROM cube GROUP BY month")

    A group's rows are gathered before they are summed: streams of many millions of rows a group are for `duckdb`.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
    spec : SketchSpec or dict of SketchSpec by name, optional
        Recipes of numbers; without one only the functions of sketches are added.
    skip_bad_rows : bool
        Leave out rows with a NULL or NaN instead of failing.
    """
    import duckdb as engine

    if not hasattr(con, "create_function"):
        raise TypeError(f"con is a {type(con).__name__}, and must be a DuckDB connection, as duckdb.connect() gives")
    specs = {"": spec} if isinstance(spec, SketchSpec) else dict(spec or {})
    widths = {}
    for name, one in specs.items():
        columns = plain_columns(one, "compressive.sql.duckdb(con, query, spec, by=column) does")
        widths[name] = len(columns)
    pa = _arrow()
    kinds = {"bigint": pa.int64(), "double": pa.float64(), "varchar": pa.string(), "blob": pa.binary()}
    kind_of: Any = getattr(engine, "sqltypes", None) or engine

    def add(name: str, function: Callable[..., Any], arguments: Sequence[str], result: str) -> None:
        with contextlib.suppress(engine.Error):
            con.remove_function(name)
        types = [kind_of.DuckDBPyType(kind) for kind in arguments]
        con.create_function(name, function, types, kind_of.DuckDBPyType(result), type="arrow", null_handling="special")

    def of_rows(names: Any, lists: Any) -> Any:
        made = []
        for name, rows in zip(names.to_pylist(), _lists(lists), strict=True):
            if name not in specs:
                known = ", ".join(map(repr, filter(None, specs))) or "one without a name"
                raise CompressiveError(f"there is no recipe {name!r}; registered: {known}")
            if rows is not None and rows.shape[1] != widths[name]:
                raise CompressiveError(f"the recipe has {widths[name]} columns, and the function gets {rows.shape[1]}")
            made.append(None if rows is None else sketched(rows, specs[name], skip_bad_rows))
        return pa.array(made, pa.binary())

    if specs:
        add("compressive_sketch", of_rows, ["varchar", "double[][]"], "blob")
        forms = []
        for width in sorted(set(widths.values())):
            names = [f"c{i}" for i in range(width)]
            row = ", ".join(f"CAST({name} AS DOUBLE)" for name in names)
            head, recipe = (names, "''") if "" in specs else (["recipe", *names], "recipe")
            forms.append(f"({', '.join(head)}) AS compressive_sketch({recipe}, list([{row}]))")
        con.execute(f"CREATE OR REPLACE TEMP MACRO sketch {', '.join(forms)}")

    def of_parts(lists: Any) -> Any:
        return pa.array([merged(parts or []) for parts in lists.to_pylist()], pa.binary())

    add("compressive_merge", of_parts, ["blob[]"], "blob")
    con.execute("CREATE OR REPLACE TEMP MACRO sketch_merge(s) AS compressive_merge(list(s))")

    def of_columns(function: Function) -> Callable[..., Any]:
        def call(*columns: Any) -> Any:
            return pa.array(mapped(function, *(column.to_pylist() for column in columns)), kinds[function.result])

        # DuckDB counts the parameters of what it is given.
        arities: list[Callable[..., Any]] = [lambda a: call(a), lambda a, b: call(a, b), lambda a, b, c: call(a, b, c)]
        return arities[len(function.arguments) - 1]

    for name, function in FUNCTIONS.items():
        add(name, of_columns(function), function.arguments, function.result)


def _lists(lists: Any) -> Iterator[Matrix | None]:
    """Lists of lists of numbers as matrices; NULL in a list is NaN."""
    for chunk in lists.chunks if hasattr(lists, "chunks") else [lists]:
        values = chunk.values
        numbers = values.values.to_numpy(zero_copy_only=False)
        inner, outer = np.asarray(values.offsets), np.asarray(chunk.offsets)
        for row, valid in enumerate(np.asarray(chunk.is_valid())):
            first, last = outer[row], outer[row + 1]
            if not valid or first == last:
                yield None
                continue
            start, end = inner[first], inner[last]
            yield numbers[start:end].astype(np.float64, copy=False).reshape(last - first, -1)


@overload
def duckdb(con: Any, query: str, spec: SketchSpec | None = ..., by: None = ..., **options: Any) -> Sketch: ...
@overload
def duckdb(con: Any, query: str, spec: SketchSpec | None = ..., *, by: str, **options: Any) -> dict[str, Sketch]: ...
@overload
def duckdb(con: Any, query: str, spec: SketchSpec | None, by: str, **options: Any) -> dict[str, Sketch]: ...
def duckdb(
    con: Any,
    query: str,
    spec: SketchSpec | None = None,
    by: str | None = None,
    *,
    parameters: Any = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    weights: str | None = None,
    skip_bad_rows: bool = False,
    max_groups: int = 1000,
    threads: int = 0,
    progress: Progress = None,
    batch_rows: int = 1 << 17,
    **recipe: Any,
) -> Sketch | dict[str, Sketch]:
    """Sketches the result of a DuckDB query, which is streamed batch by batch and never held whole.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        It is busy until the sketch is done.
    query : str
        A SELECT over the connection's tables, views, files, and frames given to ``con.register``.
    spec : SketchSpec, optional
        Columns are found by the recipe's names. Without one the recipe is chosen from the first rows of the result,
        with the arguments in `recipe` (`k`, `task`, ...), as `compressive.sketch` does.
    by, weights : str, optional
        Columns of the result: makes one sketch for each value; counts each row so many times.
    parameters : sequence or dict, optional
        Values for ``?`` or ``$name`` in the query.
    batch_rows : int
        Rows of a batch.

    Returns
    -------
    Sketch, or with `by` a dict of Sketch
    """
    _arrow()
    if not hasattr(con, "sql"):
        raise TypeError(f"con is a {type(con).__name__}, and must be a DuckDB connection, as duckdb.connect() gives")
    # A relation streams its rows; the result of `execute` would be held whole before its first batch.
    relation = con.sql(query) if parameters is None else con.sql(query, params=parameters)
    if relation is None:
        raise ValueError("the query gives no rows to sketch: it must be a SELECT")
    # Older releases of DuckDB have the same method under the second name.
    stream = relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_record_batch
    reader = stream(batch_rows)
    options: dict[str, Any] = {"columns": columns, "exclude": exclude, "weights": weights, "threads": threads}
    options |= {"skip_bad_rows": skip_bad_rows, "max_groups": max_groups, "progress": progress}
    made: Sketch | dict[str, Sketch] = _sketch(reader, spec, by=by, **options, **recipe)
    return made
