"""What a plot needs of a fitted model: its centres, its covariances as matrices, and the sketch it would have."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._data import source
from ._native import Model, SketchSpec

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """A model of clusters in the units of the data.

    Attributes
    ----------
    weights : ndarray of shape (k,)
    centres : ndarray of shape (k, d)
    covariances : ndarray of shape (k, d, d), or None where there are none
    columns : list of d names, or None if the model was fitted without
    predict : callable from an array of shape (n, d) to n cluster numbers
    """

    weights: Floats
    centres: Floats
    covariances: Floats | None
    columns: list[str] | None
    predict: Callable[[Floats], npt.NDArray[Any]]


def shape_of(model: Any) -> Shape:
    """The shape of a `Model`, or of a fitted estimator, scikit-learn's own included."""
    if isinstance(model, Model):
        found = model.parameters
        centres = next((found[name] for name in ("centers", "means", "locations") if name in found), None)
        if centres is None:
            raise ValueError(f"a model of the task {model.task} has no clusters to draw")
        covariances = found.get("covariances")
        kind = "full" if covariances is not None and covariances.ndim == 3 else "diag"
        matrices = _matrices(covariances, kind, *centres.shape)
        return Shape(found["weights"], centres, matrices, model.columns, model.predict)
    attribute = next((name for name in ("cluster_centers_", "means_") if hasattr(model, name)), None)
    if attribute is None:
        raise TypeError(f"{type(model).__name__} has no cluster_centers_ or means_: give a fitted model of clusters")
    centres = np.asarray(getattr(model, attribute), dtype=np.float64)
    weights = np.asarray(getattr(model, "weights_", _weights_of(model, len(centres))), dtype=np.float64)
    kind = getattr(model, "covariance_type", "diag")
    matrices = _matrices(getattr(model, "covariances_", None), kind, *centres.shape)
    names = getattr(model, "feature_names_in_", None)

    def predict(rows: Floats) -> npt.NDArray[Any]:
        if names is None:
            return np.asarray(model.predict(rows))
        return np.asarray(model.predict(_frame(rows, list(names))))

    return Shape(weights, centres, matrices, None if names is None else [str(name) for name in names], predict)


def _weights_of(model: Any, k: int) -> Floats:
    """Shares of the clusters of an estimator without `weights_`: from what it learned, or equal."""
    learned = getattr(model, "model_", None)
    if isinstance(learned, Model):
        weights: Floats = learned.parameters["weights"]
        return weights
    return np.full(k, 1 / k)


def _frame(rows: Floats, names: list[str]) -> Any:
    # An estimator that was fitted on a frame warns about arrays; pandas is there, since the names came from a frame.
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows, columns=names)


def _matrices(covariances: Any, kind: str, k: int, dim: int) -> Floats | None:
    """Covariances of scikit-learn's kinds as matrices of shape (k, d, d)."""
    if covariances is None:
        return None
    values = np.asarray(covariances, dtype=np.float64)
    if kind == "full":
        return values
    if kind == "tied":
        return np.broadcast_to(values, (k, dim, dim))
    diagonals = np.broadcast_to(values.reshape(k, -1), (k, dim))
    return diagonals[:, :, None] * np.eye(dim)


def characteristic(shape: Shape, spec: SketchSpec) -> Floats:
    """The mean features of a model under a recipe, with the feature's first harmonic: of length `sketch_len`.

    For component l of weight a, centre c and covariance S, and frequency w with dither x, this is the sum over l of
    ``a exp(i (w.c + x) - w.S.w / 2)``, its real part and, but for the feature `cosine`, its imaginary part.
    """
    if shape.centres.shape[1] != spec.dim:
        raise ValueError(f"the model has {shape.centres.shape[1]} columns, and the sketch {spec.dim}")
    twin = _fourier_twin(spec)
    terms = _turns(twin, shape.centres) * shape.weights[:, None]
    if shape.covariances is not None:
        frequencies = _frequencies(twin)
        terms = terms * np.exp(-0.5 * np.einsum("md,kde,me->km", frequencies, shape.covariances, frequencies))
    total = terms.sum(axis=0)
    return np.concatenate([total.real, total.imag])[: spec.sketch_len]


def _fourier_twin(spec: SketchSpec) -> SketchSpec:
    """The recipe with the same frequencies and dither, and the feature `fourier`."""
    fields = json.loads(spec.to_json())
    return SketchSpec.from_json(json.dumps({**fields, "feature": {"name": "fourier"}}))


def _turns(twin: SketchSpec, points: Floats) -> npt.NDArray[np.complex128]:
    """``exp(i (w.x + dither))`` of each point and frequency, of shape (n, m)."""
    features = twin.features(source(np.ascontiguousarray(points), twin.columns)).astype(np.float64)
    turns: npt.NDArray[np.complex128] = features[:, : twin.size] + 1j * features[:, twin.size :]
    return turns


def _frequencies(twin: SketchSpec) -> Floats:
    """The frequencies in radians per unit of the data, of shape (m, d), read off the phases of nearby points."""
    centre, spread = (np.asarray(end) for end in twin.transform)
    whiten = json.loads(twin.to_json())["transform"].get("whiten")
    stretch = 1.0 if whiten is None else max(1.0, float(np.linalg.norm(np.asarray(whiten), 2)))
    # A step of at most one radian at the highest frequency cannot turn past half a circle.
    steps = spread / (stretch * twin.radii().max())
    turns = _turns(twin, np.vstack([centre, centre + np.diag(steps)]))
    phases: Floats = np.angle(turns[1:] / turns[0])
    frequencies: Floats = (phases / steps[:, None]).T
    return frequencies
