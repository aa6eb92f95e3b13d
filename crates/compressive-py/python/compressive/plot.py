"""Plots with matplotlib: clusters over a sample, the objective against k, the sketch itself, drift over time.

Every function draws into the axes it is given, or into new ones, and returns them:

>>> ax = compressive.plot.clusters(model, sample)  # doctest: +SKIP
>>> ax.figure.savefig("clusters.png")  # doctest: +SKIP

Needs ``pip install 'compressive[plot]'``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._data import Data, source
from ._native import WAVES, Model, PrivateSketch, Sketch, compare
from ._shape import Shape, characteristic, shape_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["clusters", "drift", "ellipses", "modulus", "objective"]

Column = int | str
Floats = npt.NDArray[np.float64]

# The palette of Okabe and Ito without black and yellow: told apart with every kind of colour vision, on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
DATA, MODEL, ALARM, QUIET = "#0072B2", "#E69F00", "#D55E00", "#6B6B6B"


def clusters(
    model: Any,
    sample: Data,
    columns: tuple[Column, Column] = (0, 1),
    labels: npt.ArrayLike | None = None,
    *,
    rows: int = 5000,
    ax: Axes | None = None,
) -> Axes:
    """Rows of a sample, coloured by cluster, and the centres.

    Parameters
    ----------
    model : Model or fitted estimator
        Of k-means, k-medians or a mixture.
    sample : table
        Anything that `sketch` takes, of the model's columns.
    columns : pair of int or str
        The two columns to draw, by position or name.
    labels : array of n labels, optional
        What to colour the n rows of the sample by; by default the cluster that the model predicts.
    rows : int
        Most rows to draw; a random choice of them stands for larger samples.
    ax : Axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Axes
    """
    shape = shape_of(model)
    values, names = _rows_of(sample, shape, rows if labels is None else None)
    x, y = (_position(column, names) for column in columns)
    if labels is None:
        colour_of, ids = shape.predict(values), np.arange(len(shape.centres))
    else:
        colour_of = np.asarray(labels)
        if colour_of.shape != (len(values),):
            raise ValueError(f"labels has shape {colour_of.shape}, and the sample has {len(values)} rows")
        ids = np.unique(colour_of)
        chosen = _chosen(len(values), rows)
        values, colour_of = values[chosen], colour_of[chosen]
    ax = _axes(ax)
    palette = _palette(len(ids))
    for colour, label in zip(palette, ids, strict=True):
        of_label = values[colour_of == label]
        ax.scatter(of_label[:, x], of_label[:, y], s=5, alpha=0.35, linewidths=0, color=colour, label=str(label))
    # With labels of the user's, colours tell those, so that the centres have a colour of their own.
    faces: Any = palette if labels is None else "white"
    ax.scatter(
        shape.centres[:, x],
        shape.centres[:, y],
        s=70,
        c=faces,
        edgecolors="black",
        linewidths=1.3,
        zorder=3,
        gid="centres",
    )
    if labels is not None and len(ids) <= 12:
        for handle in ax.legend(frameon=False, markerscale=2.5, fontsize="small").legend_handles:
            if handle is not None:
                handle.set_alpha(1)
    ax.set_xlabel(names[x])
    ax.set_ylabel(names[y])
    return _clean(ax)


def ellipses(
    model: Any,
    columns: tuple[Column, Column] = (0, 1),
    *,
    deviations: Sequence[float] = (1.0, 2.0),
    ax: Axes | None = None,
) -> Axes:
    """The components of a mixture of Gaussians as ellipses of equal density.

    An ellipse shows the component's distribution in the two columns, whatever the others are.

    Parameters
    ----------
    model : Model or fitted estimator
        Of a mixture of Gaussians: full, diagonal or spherical.
    columns : pair of int or str
        The two columns to draw, by position or name.
    deviations : sequence of float
        Half axes of the ellipses in standard deviations.
    ax : Axes, optional
        Where to draw, such as what `clusters` returned; by default into a new figure.

    Returns
    -------
    Axes
    """
    from_user = ax
    shape = shape_of(model)
    if shape.covariances is None:
        raise ValueError("ellipses show the components of a mixture of Gaussians, and this model has no covariances")
    ax = _axes(ax)
    from matplotlib.patches import Ellipse

    names = shape.columns or [f"x{i}" for i in range(shape.centres.shape[1])]
    pair = [_position(column, names) for column in columns]
    for colour, centre, covariance in zip(_palette(len(shape.centres)), shape.centres, shape.covariances, strict=True):
        variances, axes = np.linalg.eigh(covariance[np.ix_(pair, pair)])
        width, height = 2 * np.sqrt(np.maximum(variances[::-1], 0.0))
        angle = float(np.degrees(np.arctan2(axes[1, 1], axes[0, 1])))
        for deviation in deviations:
            patch = Ellipse(
                (float(centre[pair[0]]), float(centre[pair[1]])), width * deviation, height * deviation, angle=angle
            )
            patch.set(facecolor="none", edgecolor=colour, linewidth=1.6)
            ax.add_patch(patch)
    if from_user is None:
        ax.plot(shape.centres[:, pair[0]], shape.centres[:, pair[1]], "k+", markersize=8)
        ax.set_xlabel(names[pair[0]])
        ax.set_ylabel(names[pair[1]])
    ax.autoscale_view()
    return _clean(ax)


def objective(
    candidates: Model | Sequence[Model | Mapping[str, Any]], chosen: int | None = None, *, ax: Axes | None = None
) -> Axes:
    """The objective of each number of components that was tried: where it stops falling, more components add nothing.

    Parameters
    ----------
    candidates : Model, list of Model, or list of dict with `k` and `cost`
        A model whose number of components was searched for, ``fit_kmeans(sketch, (1, 10))``, or models of one sketch
        with different k.
    chosen : int, optional
        The number of components to mark; by default that of the model.
    ax : Axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Axes
    """
    if isinstance(candidates, Model):
        chosen = candidates.k if chosen is None else chosen
        candidates = candidates.candidates
    if not candidates:
        raise ValueError("there are no candidates: give a model fitted with k=(low, high), or models with different k")
    tried = sorted(_k_and_cost(candidate) for candidate in candidates)
    ks, costs = [k for k, _ in tried], [cost for _, cost in tried]
    if chosen is not None and chosen not in ks:
        raise ValueError(f"chosen is {chosen}, and the numbers tried are {', '.join(map(str, ks))}")
    ax = _axes(ax)
    ax.plot(ks, costs, "o-", color=DATA, markersize=5)
    if chosen is not None:
        at = ks.index(chosen)
        ax.plot(ks[at], costs[at], "o", color=ALARM, markersize=9, label=f"chosen: {chosen}")
        ax.legend(frameon=False)
    if min(costs) > 0:
        ax.set_yscale("log")
    ax.set_xticks(ks if len(ks) <= 20 else ks[:: len(ks) // 10])
    ax.set_xlabel("number of components k")
    ax.set_ylabel("objective (squared distance to the sketch)")
    return _clean(ax)


def modulus(sketch: Sketch | PrivateSketch, model: Any = None, *, ax: Axes | None = None) -> Axes:
    """|z| against the radius of the frequencies: the sketch itself.

    A cloud that falls from near 1 to the noise (the dashed line) shows frequencies that fit the rows. Nearly all
    points near 1 ask for a smaller `scale`, nearly all points at the noise for a larger one.

    Parameters
    ----------
    sketch : Sketch or PrivateSketch
        Of the feature `fourier`, `cosine`, `one-bit` or `sawtooth`; the modulus is divided by the feature's gain.
    model : Model or fitted estimator, optional
        Of k-means, k-medians or a mixture of Gaussians with the sketch's columns: its own sketch is drawn beside.
    ax : Axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Axes
    """
    spec = sketch.spec
    if spec.feature not in WAVES:
        raise ValueError(f"a sketch of the feature {spec.feature} has no frequencies to draw; see {', '.join(WAVES)}")
    gain, blocks, square = WAVES[spec.feature]
    # A private sketch adds its own noise, which has the same deviation on both entries of a frequency.
    noise = sketch.noise_std if isinstance(sketch, PrivateSketch) else 0.0
    floor = np.sqrt(blocks * (square / max(sketch.rows, 1) + noise**2)) / gain
    radii = spec.radii()
    drawn = None if model is None else np.hypot.reduce(_blocks(characteristic(shape_of(model), spec), spec.size))
    ax = _axes(ax)
    ax.plot(radii, np.hypot.reduce(_blocks(sketch.mean, spec.size)) / gain, ".", color=DATA, alpha=0.7, label="sketch")
    if drawn is not None:
        ax.plot(radii, drawn, "o", color=MODEL, markersize=5, fillstyle="none", label="model", zorder=1.9)
    what = "noise and sampling" if noise else "sampling"
    ax.axhline(floor, color=QUIET, linestyle="--", linewidth=1.2, label=f"{what} alone, {floor:.2g}")
    ax.set_yscale("log")
    ax.set_ylim(floor / 10, 1.5)
    ax.set_xlim(left=0)
    ax.set_xlabel("radius of the frequency (radians per spread of the data)")
    ax.set_ylabel("modulus of the mean feature, |z|")
    ax.legend(frameon=False)
    return _clean(ax)


def drift(sketches: Mapping[Any, Sketch], reference: Sketch | None = None, *, ax: Axes | None = None) -> Axes:
    """How far the rows behind each sketch have moved, beside what sampling alone gives.

    A point is filled with the colour of alarm where the test of `compare` finds a difference at 5%, divided by the
    number of comparisons.

    Parameters
    ----------
    sketches : dict of Sketch
        By label, in the order of time; all of one spec.
    reference : Sketch, optional
        What each sketch is compared with; by default the sketch before it.
    ax : Axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Axes
    """
    labels, values = list(sketches), list(sketches.values())
    for label, value in sketches.items():
        if not isinstance(value, Sketch):
            raise TypeError(f"{label}: {type(value).__name__} cannot be compared, give plain sketches")
    pairs = list(pairwise(values)) if reference is None else [(reference, s) for s in values]
    if not pairs:
        raise ValueError("drift needs at least two sketches, or one and a reference")
    compared = [compare(a, b) for a, b in pairs]
    at = np.arange(len(labels) - len(pairs), len(labels))
    distances = np.array([found["distance"] for found in compared])
    moved = np.array([found["p_value"] < 0.05 / len(pairs) for found in compared])
    ax = _axes(ax)
    sampling = [found["distance_expected"] for found in compared]
    ax.plot(at, sampling, color=QUIET, linestyle="--", linewidth=1.2, marker="_", label="sampling alone")
    ax.plot(at, distances, color=DATA, linewidth=1.2, zorder=1.9, gid="distance")
    ax.plot(at[~moved], distances[~moved], "o", color=DATA, markersize=6, label="no difference seen")
    ax.plot(at[moved], distances[moved], "D", color=ALARM, markersize=7, label="different")
    step = -(-len(labels) // 12)
    ax.set_xticks(np.arange(0, len(labels), step), [str(label) for label in labels[::step]])
    if max(len(str(label)) for label in labels) > 6:
        ax.tick_params(axis="x", labelrotation=30)
        for text in ax.get_xticklabels():
            text.set_horizontalalignment("right")
    ax.set_ylim(bottom=0)
    ax.set_ylabel("distance to the sketch before" if reference is None else "distance to the reference")
    ax.legend(frameon=False)
    return _clean(ax)


def _k_and_cost(candidate: Model | Mapping[str, Any]) -> tuple[int, float]:
    if isinstance(candidate, Model):
        return candidate.k, float(json.loads(candidate.to_json())["origin"]["info"]["cost"])
    return int(candidate["k"]), float(candidate["cost"])


def _axes(ax: Axes | None) -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("compressive.plot needs matplotlib: pip install 'compressive[plot]'") from error
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _clean(ax: Axes) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _palette(count: int) -> list[Any]:
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    from matplotlib import colormaps

    # Beyond six, no palette can be told apart by every eye: lightness then orders them.
    return list(colormaps["viridis"](np.linspace(0.0, 0.92, count)))


def _chosen(n_rows: int, n_max: int) -> npt.NDArray[np.intp]:
    if n_rows <= n_max:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, n_max, replace=False))


def _rows_of(sample: Data, shape: Shape, n_max: int | None) -> tuple[Floats, list[str]]:
    """The sample as an array of shape (n, d), and its columns' names; a random choice of `n_max` rows."""
    table = source(sample, shape.columns)
    if len(table.columns) != shape.centres.shape[1]:
        raise ValueError(f"the sample has {len(table.columns)} columns, and the model {shape.centres.shape[1]}")
    values, _ = table.pilot(2**31 if n_max is None else n_max, 0)
    return values, table.columns


def _position(column: Column, names: Sequence[str]) -> int:
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"no column {column!r}; the columns are {', '.join(names)}")
        return names.index(column)
    if not 0 <= column < len(names):
        raise ValueError(f"no column {column}: the {len(names)} columns count from 0")
    return int(column)


def _blocks(entries: Floats, size: int) -> Floats:
    return entries.reshape(-1, size)
