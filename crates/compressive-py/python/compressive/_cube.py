"""Cubes: one sketch for each group in one file, of which any slice is a sketch."""

from __future__ import annotations

import html
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from . import _api, _native
from ._data import Data, as_groups, as_table, group_name
from ._drift import Drift, drift
from ._native import CompressiveError, CubeFile, Model, Sketch, SketchSpec

Where: TypeAlias = Any
"""What a group's name must be: a value, a list of values, ``(from, to)`` with both ends included, or a function of the
name."""

_BETWEEN = "\x1f"
_SHOWN = 5


class Cube:
    """Sketches of one recipe by the values of one or more keys, such as a day and a region.

    Any slice of it is a sketch: the exact sum of its groups. In a file (`save`, `Cube.open`, or the command line's
    ``sketch --by KEY -o cube.parquet``) the recipe is kept once, any engine reads the keys and numbers of rows, and
    only the sketches that are asked for are read.

    Parameters
    ----------
    sketches : mapping of Sketch
        By the name of the group, or with several keys by the tuple of names; what `compressive.sketch` with `by`,
        `compressive.sql` and Spark return.
    keys : str or sequence of str
        What the names are.

    Examples
    --------
    >>> import numpy as np, compressive
    >>> X = np.arange(60.0).reshape(20, 3)
    >>> cube = compressive.Cube(compressive.sketch(X, k=2, by=np.arange(20) % 4), "shift")
    >>> cube.slice(shift=["0", "1"]).rows
    10
    >>> cube.total() == cube["0"] + cube["1"] + cube["2"] + cube["3"]
    True
    """

    def __init__(self, sketches: Mapping[Any, Sketch], keys: str | Sequence[str]) -> None:
        self.keys = [keys] if isinstance(keys, str) else list(keys)
        named = {_names(name, len(self.keys)): sketch for name, sketch in sketches.items()}
        if not named:
            raise ValueError("a cube needs a sketch")
        first = next(iter(named.values()))
        for name, sketch in named.items():
            if sketch.fingerprint != first.fingerprint:
                raise CompressiveError(f"{', '.join(name)} has another recipe than the first: sketch all with one spec")
        self._file: CubeFile | None = None
        self._places: list[int] = []
        self._sketches: dict[tuple[str, ...], Sketch] = dict(sorted(named.items()))
        self._rows = {name: sketch.rows for name, sketch in self._sketches.items()}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Cube:
        """Opens a cube's file and reads its keys."""
        file = CubeFile.open(path)
        return cls._of(file, file.keys, range(len(file.groups)))

    @classmethod
    def _of(cls, file: CubeFile, keys: Sequence[str], places: Iterable[int]) -> Cube:
        cube = cls.__new__(cls)
        cube.keys, cube._file, cube._sketches = list(keys), file, {}
        cube._places = list(places)
        groups = file.groups
        cube._rows = {tuple(groups[place][0]): groups[place][1] for place in cube._places}
        return cube

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the cube as one Parquet file, whole or not at all."""
        _native.cube_write(path, self.keys, [(list(name), sketch) for name, sketch in self.items()])

    @property
    def spec(self) -> SketchSpec:
        """The recipe of all sketches."""
        return self._file.spec if self._file is not None else next(iter(self._sketches.values())).spec

    @property
    def rows(self) -> int:
        """Number of rows of all groups."""
        return sum(self._rows.values())

    @property
    def groups(self) -> list[Any]:
        """The names of the groups in their order: text, or with several keys tuples."""
        return [self._shown(name) for name in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __contains__(self, name: object) -> bool:
        try:
            return _names(name, len(self.keys)) in self._rows
        except ValueError:
            return False

    def __getitem__(self, name: Any) -> Sketch:
        """The sketch of one group."""
        names = _names(name, len(self.keys))
        if names not in self._rows:
            raise KeyError(f"no group {name!r}; the first are {', '.join(map(repr, self.groups[:_SHOWN]))}")
        if self._file is None:
            return self._sketches[names]
        place = self._places[list(self._rows).index(names)]
        return self._file.sketches([place])[0]

    def items(self) -> Iterator[tuple[tuple[str, ...], Sketch]]:
        """Names (as tuples) and sketches of all groups."""
        if self._file is None:
            yield from self._sketches.items()
            return
        # A few hundred at a time: all of them may be more than memory holds.
        for start in range(0, len(self._places), 512):
            part = self._places[start : start + 512]
            names = itertools.islice(self._rows, start, start + len(part))
            yield from zip(names, self._file.sketches(part), strict=True)

    def slice(self, **where: Where) -> Cube:
        """The groups that fit all conditions.

        Parameters
        ----------
        **where
            By key: a value, a list of values, ``(from, to)`` with both ends included (numbers are compared as numbers,
            dates and other text by their letters; None is open), or a function that is called with the name.

        Examples
        --------
        ``cube.slice(region="north", day=("2026-01-01", "2026-01-31"))``
        """
        tests = [(self._key(key), _test(condition)) for key, condition in where.items()]
        kept = [name for name in self._rows if all(test(name[key]) for key, test in tests)]
        if not kept:
            raise ValueError(f"no group fits {where}; the first are {', '.join(map(repr, self.groups[:_SHOWN]))}")
        if self._file is not None:
            number = {name: place for name, place in zip(self._rows, self._places, strict=True)}
            return Cube._of(self._file, self.keys, [number[name] for name in kept])
        return Cube({self._shown(name): self._sketches[name] for name in kept}, self.keys)

    def total(self, **where: Where) -> Sketch:
        """The sketch of all rows, or of those of a slice."""
        if where:
            return self.slice(**where).total()
        if self._file is not None:
            return self._file.sum(self._places)
        total = Sketch(self.spec)
        for sketch in self._sketches.values():
            total.merge(sketch)
        return total

    def rollup(self, *keys: str) -> Cube:
        """The cube of fewer keys: groups that agree in these are added up."""
        if not keys:
            raise ValueError("rollup needs the keys to keep; total() is the sketch of all rows")
        kept = [self._key(key) for key in keys]
        coarse: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for name in self._rows:
            coarse.setdefault(tuple(name[key] for key in kept), []).append(name)
        sums: dict[Any, Sketch] = {}
        if self._file is not None:
            number = {group: place for place, group in enumerate(coarse)}
            parts = [
                (place, number[tuple(name[key] for key in kept)])
                for name, place in zip(self._rows, self._places, strict=True)
            ]
            sums = dict(zip(coarse, self._file.sums(parts, len(coarse)), strict=True))
        for group, names in coarse.items() if self._file is None else ():
            sums[group] = Sketch(self.spec)
            for name in names:
                sums[group].merge(self._sketches[name])
        return Cube({group[0] if len(group) == 1 else group: sketch for group, sketch in sums.items()}, list(keys))

    def compare(self, before: Mapping[str, Where], after: Mapping[str, Where], *, tolerate: float = 0.0) -> Drift:
        """What moved from one slice to another; see `compressive.drift`.

        Examples
        --------
        ``cube.compare({"month": "2026-01"}, {"month": "2026-02"})``
        """
        return drift(self.total(**before), self.total(**after), tolerate=tolerate)

    def fit(self, task: str, k: Any, *, where: Mapping[str, Where] | None = None, **options: Any) -> Model:
        """Learns a model of a slice.

        Parameters
        ----------
        task : {"kmeans", "kmedians", "gmm", "stable", "pca"}
        k : int, (low, high) or "auto"
        where : dict, optional
            The conditions of `slice`; by default all rows.
        **options
            As those of `compressive.fit_kmeans` and its siblings.
        """
        fits: dict[str, Callable[..., Model]] = {
            "kmeans": _api.fit_kmeans,
            "kmedians": _api.fit_kmedians,
            "gmm": _api.fit_gmm,
            "stable": _api.fit_stable,
            "pca": _api.fit_pca,
        }
        if task not in fits:
            raise ValueError(f"task={task!r}: a cube fits {', '.join(fits)}")
        return fits[task](self.total(**(where or {})), k, **options)

    def _key(self, key: str) -> int:
        if key not in self.keys:
            raise ValueError(f"the cube has no key {key!r}; its keys are {', '.join(self.keys)}")
        return self.keys.index(key)

    def _shown(self, name: tuple[str, ...]) -> Any:
        return name[0] if len(self.keys) == 1 else name

    def __repr__(self) -> str:
        return f"Cube({len(self)} sketches by {', '.join(self.keys)}, {self.rows} rows)"

    def _repr_html_(self) -> str:
        shown = list(self._rows.items())[:_SHOWN]
        heads = "".join(f"<th>{html.escape(key)}</th>" for key in [*self.keys, "rows"])
        lines = "".join(
            f"<tr>{''.join(f'<td>{html.escape(part)}</td>' for part in name)}<td>{rows:,}</td></tr>"
            for name, rows in shown
        )
        more = f"<p>{len(self):,} groups, {self.rows:,} rows</p>"
        return f"<div><strong>Cube</strong><table><tr>{heads}</tr>{lines}</table>{more}</div>"


def cube(
    data: Data,
    by: str | Sequence[str],
    spec: SketchSpec | None = None,
    *,
    max_groups: int = 100_000,
    **options: Any,
) -> Cube:
    """Sketches a table by one or more columns, in one pass.

    Parameters
    ----------
    data : table
        With named columns, as in `sketch`; files are read as a pyarrow dataset where there are several keys.
    by : str or sequence of str
        The columns to group by.
    spec : SketchSpec, optional
        The recipe; without one it is chosen as `sketch` does, with the arguments in `options`.
    max_groups : int
        Most groups; each thread of the pass holds a sketch of each.
    **options
        As those of `sketch`.

    Returns
    -------
    Cube
    """
    keys = [by] if isinstance(by, str) else list(by)
    if len(set(keys)) != len(keys) or not keys:
        raise ValueError(f"by={by!r}: name one column or more, each once")
    if len(keys) == 1:
        return Cube(_api.sketch(data, spec, by=keys[0], max_groups=max_groups, **options), keys)
    exclude = [*options.pop("exclude", ()), *keys]
    joined = _joined(data, keys)
    found = _api.sketch(joined, spec, by=_BETWEEN, max_groups=max_groups, exclude=exclude, **options)
    return Cube({tuple(name.split(_BETWEEN)): sketch for name, sketch in found.items()}, keys)


def _joined(data: Data, keys: list[str]) -> Any:
    """The table with one more column, which has the names of all keys in one text."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("a cube of several keys needs pyarrow: pip install pyarrow") from error
    data = as_table(data)
    if isinstance(data, str | os.PathLike | list | tuple):
        import pyarrow.dataset

        data = pyarrow.dataset.dataset([os.fspath(p) for p in data] if isinstance(data, list | tuple) else data)
    if hasattr(data, "scanner"):
        data = data.scanner().to_reader()
    if not hasattr(data, "__arrow_c_stream__"):
        raise TypeError("a cube of several keys needs a table with named columns: a frame, an Arrow table, or files")
    whole = type(data).__module__.split(".")[0] in ("pandas", "polars") or isinstance(data, pa.Table)

    def with_key(table: Any) -> Any:
        missing = [key for key in keys if key not in table.schema.names]
        if missing:
            raise ValueError(f"the table has no column {', '.join(missing)}; it has {', '.join(table.schema.names)}")
        parts = []
        for key in keys:
            column = table.column(key)
            codes, names = as_groups(np.asarray(column.to_pylist(), dtype=object))
            parts.append(np.asarray(names, dtype=object)[codes] if len(codes) else np.empty(0, dtype=object))
        text = [_BETWEEN.join(names) for names in zip(*parts, strict=True)]
        return table.append_column(_BETWEEN, pa.array(text, pa.string()))

    if whole:
        return with_key(pa.table(data))
    reader = pa.RecordBatchReader.from_stream(data)
    schema = reader.schema.append(pa.field(_BETWEEN, pa.string()))
    batches = (batch for part in reader for batch in with_key(pa.Table.from_batches([part])).to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _names(name: Any, count: int) -> tuple[str, ...]:
    """The name of a group as a tuple of text."""
    parts = name if isinstance(name, tuple) else (name,)
    if len(parts) != count:
        raise ValueError(f"{name!r} names {len(parts)} of {count} keys")
    return tuple(group_name(part) for part in parts)


def _test(condition: Where) -> Callable[[str], bool]:
    if callable(condition):
        return lambda name: bool(condition(name))
    if isinstance(condition, tuple):
        low, high = condition
        ends = [None if end is None else group_name(end) for end in (low, high)]
        return lambda name: _between(name, ends[0], ends[1])
    if isinstance(condition, list | set | frozenset | range | np.ndarray):
        allowed = {group_name(value) for value in condition}
        return lambda name: name in allowed
    wanted = group_name(condition)
    return lambda name: name == wanted


def _between(name: str, low: str | None, high: str | None) -> bool:
    return (low is None or _after(name, low)) and (high is None or _after(high, name))


def _after(a: str, b: str) -> bool:
    """Whether a is b or comes after it: numbers as numbers, other names by their letters."""
    try:
        return float(a) >= float(b)
    except ValueError:
        return a >= b


__all__ = ["Cube", "cube"]
