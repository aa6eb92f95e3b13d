"""Estimators with scikit-learn's names and conventions that learn from a sketch of the rows.

Each takes what its namesake takes, and also files, Arrow streams and datasets larger than memory; one pass over the
rows makes the sketch, and the model is learned from the sketch alone.
"""

from .anomaly import AnomalyDetector
from .classifier import SketchClassifier
from .features import RandomPeriodicFeatures
from .kmeans import KMeans, KMedians
from .mixture import GaussianMixture
from .pca import PCA

__all__ = [
    "PCA",
    "AnomalyDetector",
    "GaussianMixture",
    "KMeans",
    "KMedians",
    "RandomPeriodicFeatures",
    "SketchClassifier",
]
