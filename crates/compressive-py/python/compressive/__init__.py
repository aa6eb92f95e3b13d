"""Compressive learning: one pass over a table makes a sketch of a few kilobytes, from which models are learned.

>>> import numpy as np, compressive
>>> X = np.random.default_rng(0).normal(size=(10_000, 2)) + 8 * np.eye(2)[np.arange(10_000) % 2]
>>> sketch = compressive.sketch(X, k=2)
>>> model = compressive.fit_kmeans(sketch, 2)
>>> model.parameters["centers"].shape
(2, 2)

Estimators with scikit-learn's names and conventions (`KMeans`, `KMedians`, `GaussianMixture`, `PCA`,
`AnomalyDetector`, `SketchClassifier`, `RandomPeriodicFeatures`) need ``pip install compressive[sklearn]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._api import (
    compare,
    design,
    fit_classifier,
    fit_gmm,
    fit_kmeans,
    fit_kmedians,
    fit_pca,
    fit_stable,
    ledger,
    load,
    privatize,
    sketch,
)
from ._ask import Generated, diagnose, generate, plan, query, report, sample, score
from ._collect import Pushed, pull, push
from ._cube import Cube, cube
from ._drift import Drift, drift
from ._native import CompressiveError, Model, PrivateSketch, Sketch, SketchSpec, __version__

if TYPE_CHECKING:
    from .estimators import (
        PCA,
        AnomalyDetector,
        GaussianMixture,
        KMeans,
        KMedians,
        RandomPeriodicFeatures,
        SketchClassifier,
    )

_ESTIMATORS = (
    "AnomalyDetector",
    "GaussianMixture",
    "KMeans",
    "KMedians",
    "PCA",
    "RandomPeriodicFeatures",
    "SketchClassifier",
)

__all__ = [
    "PCA",
    "AnomalyDetector",
    "CompressiveError",
    "Cube",
    "Drift",
    "GaussianMixture",
    "Generated",
    "KMeans",
    "KMedians",
    "Model",
    "PrivateSketch",
    "Pushed",
    "RandomPeriodicFeatures",
    "Sketch",
    "SketchClassifier",
    "SketchSpec",
    "__version__",
    "compare",
    "cube",
    "design",
    "diagnose",
    "drift",
    "fit_classifier",
    "fit_gmm",
    "fit_kmeans",
    "fit_kmedians",
    "fit_pca",
    "fit_stable",
    "generate",
    "ledger",
    "load",
    "plan",
    "privatize",
    "pull",
    "push",
    "query",
    "report",
    "sample",
    "score",
    "sketch",
]


def __getattr__(name: str) -> Any:
    if name not in _ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(f"compressive.{name} needs scikit-learn: pip install 'compressive[sklearn]'") from error
    from . import estimators

    return getattr(estimators, name)


def __dir__() -> list[str]:
    return sorted(__all__)
