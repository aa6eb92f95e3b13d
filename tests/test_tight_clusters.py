"""Clusters far narrower than their distances: the scale has a floor, for centres and for mixtures."""

import numpy as np
import pytest


def clusters(width, seed):
    """Three clusters in five columns with centres of N(0, 25), and the least sum of squares of three centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 5, (3, 5))
    labels = rng.integers(0, 3, 20_000)
    rows = centres[labels] + width * rng.normal(size=(20_000, 5))
    best = sum(((rows[labels == j] - rows[labels == j].mean(axis=0)) ** 2).sum() for j in range(3))
    return rows, best


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [0.3, 0.1, 0.01, 0.001])
def test_tight_clusters_are_found(program, tmp_path, width, seed):
    rows, best = clusters(width, seed)
    np.save(tmp_path / "rows.npy", rows)
    for task, key in [("kmeans", "centers"), ("gmm", "means")]:
        model = program.json(task, "rows.npy", "-k", 3)
        distances = ((rows[:, None] - np.array(model[key])[None]) ** 2).sum(axis=2).min(axis=1)
        assert distances.sum() / best <= 1.001, task
        if task == "gmm":
            # Waves longer than the clusters are wide still tell the width.
            assert np.sqrt(np.mean(model["covariances"])) == pytest.approx(width, rel=0.05)


def test_the_floor_is_told_and_wider_clusters_keep_their_scale(program, tmp_path):
    for width, replaced in [(0.01, True), (1.0, False)]:
        np.save(tmp_path / "rows.npy", clusters(width, 0)[0])
        for task in ("kmeans", "kmedians", "gmm", "stable"):
            reasons = program.json("design", "rows.npy", "--task", task, "-k", 3, "-o", "spec.json")["reasons"]
            assert any("narrower than their distances" in reason for reason in reasons) == replaced, (task, width, reasons)
