"""The verbs: design, sketch, compare, privatize, fit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from . import _native
from ._data import Data, bounds_of, readings_of, source
from ._native import PILOT_ROWS, Model, PrivateSketch, Sketch, SketchSpec
from ._progress import progress_of

if TYPE_CHECKING:
    from ._native import Comparison

Progress: TypeAlias = bool | Callable[[int], object] | None


def wanted(
    *,
    task: str,
    k: int | None = None,
    size: int | None = None,
    law: str | None = None,
    scale: float | str | None = None,
    feature: str | None = None,
    table: Sequence[float] | None = None,
    image: tuple[int, int, int] | None = None,
    complex: bool = False,
    dither: bool | None = None,
    whiten: bool = False,
    scaling: str | None = None,
    structured: bool | None = None,
    moments: bool | None = None,
    outline: bool | None = None,
    missing: str | None = None,
    category_weight: float = 1.0,
    bounds: tuple[list[float], list[float]] | None = None,
    seed: int = 0,
) -> _native.Wanted:
    """What is asked of a recipe; None stands for the default, which is one for Python and the command line."""
    return {
        "task": task,
        "k": k,
        "size": size,
        "law": law,
        "scale": None if scale is None else str(scale),
        "feature": feature,
        "table": table,
        "image": image,
        "complex": complex,
        "dither": dither,
        "whiten": whiten,
        "scaling": scaling,
        "structured": structured,
        "moments": moments,
        "outline": outline,
        "missing": missing,
        "category_weight": float(category_weight),
        "bounds": bounds,
        "seed": seed,
    }


def design(
    data: Data,
    k: int | None = None,
    *,
    task: str = "kmeans",
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    bounds: Any = None,
    private: float | None = None,
    ledger: str | os.PathLike[str] | None = None,
    pilot: int = PILOT_ROWS,
    seed: int = 0,
    threads: int = 0,
    skip_bad_rows: bool = False,
    cyclic: Any = (),
    **recipe: Any,
) -> SketchSpec:
    """Chooses a recipe for a table from a sample of its rows.

    Parameters
    ----------
    data : table
        Array of shape (n, d), frame, Arrow stream, pyarrow dataset, or path(s) of files.
    k : int, optional
        Number of clusters or components that the sketch should carry; by default 10, or 1 a class for "classify".
    task : {"kmeans", "gmm", "pca", "kmedians", "stable", "generate", "classify"}
        Sets the size and the feature.
    columns, exclude : sequence of str
        The columns to use, or not to use; by default all that can be used: numbers, dates, vectors, and text of a few
        different values. What is left out is told by a warning.
    bounds : (low, high) or {column: (low, high)}, optional
        The data box, instead of the sample's range.
    private : float, optional
        Choose the recipe for a private release: from `bounds` and a private look at all rows that costs this part of
        the budget; with 0 without any look. Sketches made with it have exact sums until `privatize`.
    ledger : path, optional
        With `private`: charges the look to this ledger; releases with the recipe then cost the rest.
    pilot : int
        Rows sampled.
    seed : int
        Seed of the sample and the frequencies.
    cyclic : str, list of str, or {column: period}, optional
        Read dates as their place in an "hour", "day", "week" or "year"; a column by itself may have a number, in its
        own units, as its period.
    **recipe
        `size`, `law`, `scale`, `feature`, `table`, `image`, `complex`, `dither`, `whiten`, `scaling`, `structured`: as
        the flags of ``compressive design``; `table` is a sequence of numbers. `moments=False` keeps no exact means,
        variances and correlations beside the features; `outline=False` remembers no outline of the sample.
        `missing` is "fill", "skip" or "error"; `category_weight` is how far apart rows are that differ in one category.

    Returns
    -------
    SketchSpec
        Its `reasons` say why it is what it is.
    """
    interpret = private is None
    rows = source(data, columns, exclude=exclude, skip_bad_rows=skip_bad_rows, interpret=interpret, cyclic=cyclic)
    asked = wanted(task=task, k=k, bounds=bounds_of(bounds, rows.columns), seed=seed, **recipe)
    return recipe_of(rows, asked, pilot=pilot, private=private, threads=threads, ledger=ledger)


def recipe_of(
    rows: _native.Source,
    asked: _native.Wanted,
    *,
    pilot: int | None = None,
    private: float | None = None,
    again: bool = False,
    threads: int = 0,
    ledger: str | os.PathLike[str] | None = None,
) -> SketchSpec:
    """The recipe for some rows; with `private` from declared bounds and a look at the rows that costs so much."""
    if private is not None:
        if asked["bounds"] is None:
            raise ValueError("private recipes need bounds=(low, high): the range of the rows would reveal some of them")
        if private < 0:
            raise ValueError(f"private={private}: give a part of the privacy budget, or 0 to not look at the rows")
    return rows.design(asked, pilot, private, again, threads, ledger)


@overload
def sketch(
    data: Data,
    spec: SketchSpec | None = ...,
    *,
    by: None = ...,
    columns: Sequence[str] | None = ...,
    exclude: Sequence[str] = ...,
    weights: npt.ArrayLike | str | None = ...,
    skip_bad_rows: bool = ...,
    max_groups: int = ...,
    threads: int = ...,
    progress: Progress = ...,
    **recipe: Any,
) -> Sketch: ...
@overload
def sketch(
    data: Data,
    spec: SketchSpec | None = ...,
    *,
    by: npt.ArrayLike | str,
    columns: Sequence[str] | None = ...,
    exclude: Sequence[str] = ...,
    weights: npt.ArrayLike | str | None = ...,
    skip_bad_rows: bool = ...,
    max_groups: int = ...,
    threads: int = ...,
    progress: Progress = ...,
    **recipe: Any,
) -> dict[str, Sketch]: ...
def sketch(
    data: Data,
    spec: SketchSpec | None = None,
    *,
    by: npt.ArrayLike | str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    weights: npt.ArrayLike | str | None = None,
    skip_bad_rows: bool = False,
    max_groups: int = 1000,
    threads: int = 0,
    progress: Progress = None,
    **recipe: Any,
) -> Sketch | dict[str, Sketch]:
    """Sums the features of all rows of a table, in one pass, on all cores.

    Parameters
    ----------
    data : table
        As in `design`.
    spec : SketchSpec, optional
        The recipe; without one it is chosen as `design` does, with the arguments in `recipe` (`k`, `task`, `pilot`,
        `private`, ...).
    by : str or array of n labels, optional
        Makes one sketch for each distinct value of this column.
    weights : str or array of n numbers, optional
        Counts each row this many times.
    skip_bad_rows : bool
        Leave out rows with missing values instead of failing at the first.
    progress : bool or callable, optional
        True shows a bar if `tqdm` is installed; a callable gets the number of rows done.

    Returns
    -------
    Sketch, or with `by` a dict of Sketch
    """
    readings = None
    if spec is not None:
        if recipe:
            raise TypeError(f"{', '.join(recipe)}: the recipe is given by spec")
        if columns is not None and list(columns) != spec.columns:
            raise ValueError(f"columns {list(columns)} are not those of the spec, {spec.columns}; leave them out")
        columns, readings = spec.columns, readings_of(spec)
    rows = source(
        data,
        columns,
        exclude=exclude,
        weights=weights,
        by=by,
        skip_bad_rows=skip_bad_rows,
        readings=readings,
        interpret=spec is None and recipe.get("private") is None,
        cyclic=recipe.pop("cyclic", ()),
    )
    if spec is None:
        private, pilot = recipe.pop("private", None), recipe.pop("pilot", None)
        recipe["bounds"] = bounds_of(recipe.get("bounds"), rows.columns)
        asked = wanted(**{"task": "kmeans", **recipe})
        spec = recipe_of(rows, asked, pilot=pilot, private=private, again=True, threads=threads)
    with progress_of(progress, rows.n_rows) as tell:
        sketches, _, _ = rows.sketch(spec, threads, max_groups, tell)
    return sketches if by is not None else sketches[""]


def load(path: str | os.PathLike[str]) -> Sketch | PrivateSketch:
    """Reads a sketch file of either kind."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return _native.read(data)
    except _native.CompressiveError as error:
        raise _native.CompressiveError(f"{os.fspath(path)}: {error}") from None


def compare(a: Sketch, b: Sketch) -> Comparison:
    """Tells whether two sketches of one recipe come from the same distribution.

    Returns
    -------
    dict
        `distance`, `distance_expected` (from sampling alone), `mmd_squared` with its `standard_error`, `p_value` of no
        difference, and the `rows` of both. How many rows differ, and what moved, is told by `drift`.
    """
    return _native.compare(a, b)


def privatize(
    sketch: Sketch,
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: Literal["add-remove", "replace"] = "add-remove",
    split: float | None = None,
    rows_per_person: int = 1,
    public_spec: bool = False,
    ledger: str | os.PathLike[str] | None = None,
) -> PrivateSketch:
    """Adds the noise of differential privacy to a sketch, from the operating system's generator.

    The release holds no exact moments: its recipe is that of the sketch without them.

    Parameters
    ----------
    epsilon, delta : float
        The budget, what the recipe has cost included; with `delta` 0 the noise is Laplacian, else Gaussian.
    neighbours : {"add-remove", "replace"}
        One row more or less, or one row with other values (the number of rows is then public).
    split : float, optional
        Share of epsilon for the sums; the rest is for the number of rows.
    rows_per_person : int
        Most rows that one person has in the table.
    public_spec : bool
        Declares that the recipe was made without these rows.
    ledger : path, optional
        Charges the release to this ledger, made by `ledger` or the command, and refuses to pass its cap.
    """
    return _native.privatize(sketch, epsilon, delta, neighbours, split, rows_per_person, public_spec, ledger)


def ledger(
    path: str | os.PathLike[str],
    *,
    cap_epsilon: float | None = None,
    cap_delta: float = 0.0,
    dataset: str | None = None,
) -> dict[str, Any]:
    """What private looks and releases of a data set have spent; the file is that of ``compressive ledger``.

    Parameters
    ----------
    path : path
        The ledger.
    cap_epsilon, cap_delta : float, optional
        Create the ledger, with the most that all looks and releases together may spend.
    dataset : str, optional
        What the rows are, for people.

    Returns
    -------
    dict
        `spent`, `total`, `cap`, `left`, `together` (the promise by zCDP, at the cap's delta) and the `head` of
        its chain.
    """
    found: dict[str, Any] = json.loads(_native.ledger(path, cap_epsilon, cap_delta, dataset))
    return found


def search(
    *,
    decoder: str = "auto",
    restarts: int | None = None,
    seed: int = 0,
    threads: int = 0,
    max_seconds: float | None = None,
) -> _native.Search:
    """How a model is searched for."""
    return {
        "decoder": decoder,
        "restarts": restarts,
        "seed": seed,
        "threads": threads,
        "max_seconds": None if max_seconds is None else float(max_seconds),
    }


def _range(k: int | tuple[int, int] | Literal["auto"]) -> tuple[int, int] | None:
    if isinstance(k, tuple):
        return k
    return None if k == "auto" else (int(k), int(k))


def _fit(
    sketch: Sketch | PrivateSketch,
    task: str,
    k: int | tuple[int, int] | Literal["auto"],
    covariance: str | npt.ArrayLike = "diag",
    **options: Any,
) -> Model:
    kind, known = "known", None
    if isinstance(covariance, str):
        kind = covariance
    else:
        known = np.asarray(covariance, dtype=np.float64).tolist()
    return _native.learn(sketch, task, _range(k), kind, known, search(**options))


def fit_kmeans(sketch: Sketch | PrivateSketch, k: int | tuple[int, int] | Literal["auto"], **options: Any) -> Model:
    """Centres of k clusters, from a sketch alone.

    Parameters
    ----------
    sketch : Sketch or PrivateSketch
    k : int, (low, high) or "auto"
        A range is searched for the fewest clusters that explain the sketch.
    **options
        `decoder`, `restarts`, `seed`, `threads`: as the flags of ``compressive fit``. After `max_seconds` the best
        model found by then is taken; its JSON says ``"stop": "cut"``.

    Returns
    -------
    Model
        `model.parameters` has `centers`, ndarray of shape (k, d), and `weights`, of shape (k,). `model.misfit` is near
        1 if the model explains the sketch, and `model.candidates` tells the objective of each number of clusters tried.
    """
    return _fit(sketch, "kmeans", k, **options)


def fit_kmedians(sketch: Sketch | PrivateSketch, k: int | tuple[int, int] | Literal["auto"], **options: Any) -> Model:
    """k centres of least sum of distances; see `fit_kmeans`."""
    return _fit(sketch, "kmedians", k, **options)


def fit_gmm(
    sketch: Sketch | PrivateSketch,
    k: int | tuple[int, int] | Literal["auto"],
    covariance: Literal["iso", "diag", "full"] | npt.ArrayLike = "diag",
    **options: Any,
) -> Model:
    """A mixture of k Gaussians; see `fit_kmeans`.

    `covariance` is the kind of covariance, or a known matrix of shape (d, d) in the data's units. `model.parameters`
    has `weights` of shape (k,), `means` of shape (k, d), and `covariances` of shape (k, d) or (k, d, d).
    """
    return _fit(sketch, "gmm", k, covariance, **options)


def fit_stable(
    sketch: Sketch | PrivateSketch,
    k: int | tuple[int, int] | Literal["auto"],
    covariance: Literal["iso", "diag"] = "diag",
    **options: Any,
) -> Model:
    """A mixture of k alpha-stable laws; see `fit_kmeans`.

    `model.parameters` has `weights` and `alpha` of shape (k,), `locations` and `scales` of shape (k, d).
    """
    return _fit(sketch, "stable", k, covariance, **options)


def fit_pca(sketch: Sketch | PrivateSketch, k: int, **options: Any) -> Model:
    """k principal components, from a sketch made for `task="pca"`.

    `model.parameters` has `mean` of shape (d,), `components` of shape (k, d), `explained_variance` of shape (k,),
    `noise_variance` and `total_variance`.
    """
    return _fit(sketch, "pca", k, **options)


def fit_classifier(
    sketches: Mapping[str, Sketch] | Mapping[str, PrivateSketch],
    *,
    method: Literal["mixture", "nearest", "centred", "correlation"] | None = None,
    uniform_priors: bool = False,
    k: int | tuple[int, int] | None = None,
    **options: Any,
) -> Model:
    """A classifier from one sketch for each class; see `sketch` with `by`.

    Parameters
    ----------
    sketches : dict of Sketch
        By label.
    method : {"mixture", "nearest", "centred", "correlation"}, optional
        By default a mixture for each class and Bayes' rule; for images the centred class means.
    uniform_priors : bool
        Equal priors instead of the classes' shares of the rows.
    k : int or (low, high), optional
        Components of each class's mixture; by default one.
    """
    span = (k, k) if isinstance(k, int) else k
    return _native.classify(dict(sketches), method, uniform_priors, span, search(**options))  # type: ignore[arg-type]
