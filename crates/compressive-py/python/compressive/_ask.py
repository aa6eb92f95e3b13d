"""The verbs that ask and show: query, sample, diagnose, score, plan, report, generate."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _native
from ._data import Data, as_groups, readings_of, source
from ._native import CompressiveError, Model, PrivateSketch, Sketch

_SHOWN = 10
"""Least usual rows that `score` names."""

_DRAWN = 1500
"""Rows of a sample that `report` draws."""


def query(
    sketch: Sketch | PrivateSketch, *questions: str, seed: int = 0, threads: int = 0
) -> dict[str, Any] | list[dict[str, Any]]:
    """Answers questions about the rows behind a sketch: means, variances, shares, quantiles, histograms.

    Parameters
    ----------
    sketch : Sketch or PrivateSketch
    *questions : str
        Such as ``"mean(x^2)"``, ``"std(x)"``, ``"corr(x, y)"``, ``"share(x < 3 and y >= 2)"``, ``"quantile(x, 0.9)"``,
        ``"histogram(x, 20)"``, with the recipe's names of columns.
    seed : int
        Seed of the integration behind shares and quantiles.

    Returns
    -------
    dict, or with several questions a list of dict
        As ``compressive query --json`` has them: `query`, and `value` with its `standard_error`, 95% interval from
        `low` to `high`, and whether it is `exact`; or `bins`.

    Examples
    --------
    >>> import numpy as np, compressive
    >>> sketch = compressive.sketch(np.arange(10.0).reshape(5, 2), k=1)
    >>> compressive.query(sketch, "mean(x0)")["value"]
    4.0
    """
    if not questions:
        raise TypeError('query needs a question, such as "mean(x0)"')
    answers: list[dict[str, Any]] = _native.query(sketch, list(questions), seed, threads)
    return answers[0] if len(questions) == 1 else answers


def sample(of: Sketch | Model, n: int, *, seed: int = 0) -> npt.NDArray[np.float64]:
    """New rows like those behind a sketch, or of a mixture or a generative network, ndarray of shape (n, d).

    The same seed gives the same rows, which are those of ``compressive sample``.
    """
    return of.sample(n, seed=seed)


def diagnose(
    sketch: Sketch | PrivateSketch, model: Model, truth: Model | None = None, *, threads: int = 0
) -> dict[str, Any]:
    """Tells why a model is not good enough: the sketch, its scale, or the search.

    Parameters
    ----------
    sketch : Sketch or PrivateSketch
        What the model was learned from, or another sketch of its columns.
    model : Model
    truth : Model, optional
        The right model, if it is known; by default a fresh search stands for it.

    Returns
    -------
    dict
        As ``compressive diagnose --json`` has it: `verdict`, `misfit`, `reference_misfit`, `distance`, `advice`, ...
    """
    found: dict[str, Any] = _native.diagnose(sketch, model, truth, threads)
    return found


def score(
    model: Model | Sketch,
    data: Data,
    *,
    labels: npt.ArrayLike | None = None,
    skip_bad_rows: bool = False,
    threads: int = 0,
) -> dict[str, Any]:
    """Measures how well a model describes a table, or with a sketch how usual its rows are.

    Parameters
    ----------
    model : Model or Sketch
    data : table
        As in `sketch`; found by the model's names of columns.
    labels : array of n values, optional
        The known classes of the rows: clusters and mixtures get their adjusted Rand index, classifiers their accuracy.

    Returns
    -------
    dict
        The numbers of ``compressive score --json``: `rows` and

        - clusters and mixtures: `sse`, `inertia` (a row), `ari` with labels; k-medians also `sum_of_distances` and
          `mean_distance`; mixtures also `log_likelihood` and `log_likelihood_per_row`;
        - principal components: `total_variance`, `reconstruction_error`, `explained_share`;
        - classifiers: `accuracy`, `error`;
        - sketches: `log_likelihood`, `log_likelihood_per_row`, and `lowest`, the least usual rows, counted from 1.
    """
    if isinstance(model, Sketch):
        return _usual(model.log_density(data, threads=threads))
    readings = model.readings_json if model.readings_json != "[]" else None
    rows = source(data, model.columns, skip_bad_rows=skip_bad_rows, readings=readings)
    if model.task == "pca":
        return _components(model.errors(rows, threads))
    if model.task == "generate":
        raise CompressiveError("rows of generative networks are measured by the command `compressive score` alone")
    found = model.labels(rows, threads).ravel()
    n = len(found)
    known = None if labels is None else as_groups(labels)
    if known is not None and len(known[0]) != n:
        raise ValueError(f"labels has {len(known[0])} values, and there are {n} rows")
    if model.task == "classify":
        if known is None:
            raise ValueError("labels: a classifier is measured by the known classes of the rows")
        named = np.asarray(known[1], dtype=object)[known[0]]
        right = float((np.asarray(model.classes, dtype=object)[found] == named).mean())
        return {"rows": n, "accuracy": right, "error": 1.0 - right}
    # A stream gives its rows once, and was read for the labels.
    rows = source(data, model.columns, skip_bad_rows=skip_bad_rows, readings=readings)
    squares = model.squared_distances(rows, threads).ravel()
    out: dict[str, Any] = {"rows": n, "sse": float(squares.sum()), "inertia": float(squares.mean())}
    if model.task == "kmedians":
        distances = np.sqrt(squares)
        out |= {"sum_of_distances": float(distances.sum()), "mean_distance": float(distances.mean())}
    if model.task == "gmm":
        rows = source(data, model.columns, skip_bad_rows=skip_bad_rows, readings=readings)
        logs = model.log_densities(rows, threads)
        out |= {"log_likelihood": float(logs.sum()), "log_likelihood_per_row": float(logs.mean())}
    if known is not None:
        out["ari"] = _native.adjusted_rand(known[0], found.astype(np.uint32))
    return out


def _usual(scores: npt.NDArray[np.float64]) -> dict[str, Any]:
    order = np.argsort(scores, kind="stable")[:_SHOWN]
    return {
        "rows": len(scores),
        "log_likelihood": float(scores.sum()),
        "log_likelihood_per_row": float(scores.mean()),
        "lowest": [{"row": int(i) + 1, "log_density": float(scores[i])} for i in order],
    }


def _components(sums: tuple[int, float, float]) -> dict[str, Any]:
    rows, total, left = sums
    return {
        "rows": rows,
        "total_variance": total / rows,
        "reconstruction_error": left / rows,
        # Rows that are all at the mean have nothing to explain.
        "explained_share": 1.0 - left / total if total > 0 else 1.0,
    }


def plan(
    rows: float,
    dim: int,
    k: int,
    epsilon: float,
    delta: float = 0.0,
    *,
    task: str = "kmeans",
    feature: str = "fourier",
    table: Iterable[float] | None = None,
    size: int | None = None,
    neighbours: Literal["add-remove", "replace"] = "add-remove",
) -> dict[str, Any]:
    """Tells what a privacy budget will buy, before it is spent and without data.

    Parameters
    ----------
    rows, dim, k : int
        Rows and columns of the table, and clusters or components to learn.
    epsilon, delta : float
        The budget.
    size : int, optional
        A number of frequencies to forecast for; by default several, and the best is recommended.

    Returns
    -------
    dict
        As ``compressive plan --json`` has it: `verdict` ("good", "rough" or "too noisy") and `size` of the recommended
        forecast, all `forecasts`, and what would be enough: `epsilon_needed`, `rows_needed`.
    """
    asked: dict[str, Any] = {"rows": float(rows), "dim": dim, "k": k, "task": task, "feature": feature}
    asked |= {"table": None if table is None else list(table), "size": size}
    asked |= {"epsilon": float(epsilon), "delta": float(delta), "neighbours": neighbours}
    found: dict[str, Any] = _native.plan(asked)
    return found


def report(
    sketches: Sketch | PrivateSketch | Iterable[Sketch | PrivateSketch] | Mapping[Any, Sketch | PrivateSketch],
    model: Model | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    data: Data | None = None,
    title: str | None = None,
    sweep: bool | None = None,
    threads: int = 0,
) -> str:
    """One page with pictures of sketches and a model, which opens in any browser, offline.

    Parameters
    ----------
    sketches : Sketch, PrivateSketch, sequence of them, or dict by name
        One sketch, or a series in its order: drift is shown from one to the next.
    model : Model, optional
    path : path, optional
        Where to write the page; a name that ends in ``.svg`` gives the map and the drift alone, as a picture.
    data : table, optional
        Some of its rows are drawn behind the model.
    title : str, optional
    sweep : bool, optional
        Learn again for fewer and for more components, to show how the fit changes; by default where it takes seconds.

    Returns
    -------
    str
        The page, or the picture.
    """
    if isinstance(sketches, Sketch | PrivateSketch):
        series = {"sketch": sketches}
    elif isinstance(sketches, Mapping):
        series = {str(name): sketch for name, sketch in sketches.items()}
    else:
        series = {str(number): sketch for number, sketch in enumerate(sketches, 1)}
    if not series:
        raise ValueError("no sketch: a report needs the sketch that the model was learned from")
    total: Any = reduce(add, series.values())
    picture = path is not None and os.fspath(path).lower().endswith(".svg")
    rows = None
    if data is not None:
        spec = total.spec
        rows, _ = source(data, spec.columns, readings=readings_of(spec)).pilot(_DRAWN, 0)
    if title is None:
        names = list(series)
        what = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        title = what if model is None else f"{what}: {model!r}"
    text = _native.report(total, list(series.items()), model, rows, title, sweep, picture, threads)
    if not text:
        raise ValueError("there is nothing to draw: give a model, or two sketches and more")
    if path is not None:
        _native.write(path, text)
    return text


class Generated(NamedTuple):
    """A table with a known truth."""

    rows: npt.NDArray[np.float32]
    """Of shape (n, d)."""
    labels: npt.NDArray[np.int32]
    """The component of each row, of shape (n,)."""
    truth: Model | None
    """The mixture they come from; none for spirals, rings and circles."""


def generate(
    kind: str = "separated",
    n: int = 100_000,
    d: int = 10,
    k: int = 10,
    *,
    separation: float = 2.5,
    factor: float = 10.0,
    noise: float = 0.05,
    seed: int = 0,
) -> Generated:
    """A synthetic table with a known truth: the rows of ``compressive generate`` with the same numbers.

    Parameters
    ----------
    kind : {"separated", "unequal", "mixture", "stretched", "six-gaussians", "spiral", "ring", "circles"}
    n, d, k : int
        Rows, columns and components; the last four kinds have two columns.
    separation : float
        Standard deviation of the centres of "separated" and "unequal", in units of k^(1/d) cluster widths.
    factor : float
        What the first half of the columns of "stretched" is divided by.
    noise : float
        Standard deviation of the radius of "spiral", "ring" and "circles".
    seed : int

    Returns
    -------
    Generated
        `rows`, `labels` and `truth`.

    Examples
    --------
    >>> import compressive
    >>> rows, labels, truth = compressive.generate("separated", 1000, d=3, k=4, seed=1)
    >>> rows.shape, truth.k
    ((1000, 3), 4)
    """
    if n < 1:
        raise ValueError(f"n={n}: ask for at least one row")
    asked = {"kind": kind, "n": n, "d": d, "k": k, "separation": float(separation)}
    asked |= {"factor": float(factor), "noise": float(noise), "seed": seed}
    rows, labels, truth = _native.generate(asked)
    return Generated(rows, labels, None if truth is None else Model.from_json(truth))
