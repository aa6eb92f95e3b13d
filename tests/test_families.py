"""k-medians, alpha-stable laws and known covariances from the shell: planted parameters come back, and the rest is refused."""

import json

import numpy as np
import pytest

NAMES = ["x0", "x1"]
CENTRES = np.array([[0.0, 0.0], [9.0, 2.0], [-3.0, 8.0]])


def stable_rows(n, locations, scales, alphas, seed):
    """Rows of sub-Gaussian alpha-stable laws of equal weight (Chambers, Mallows, Stuck)."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, len(alphas), n)
    a = np.array(alphas)[label] / 2
    u, e = np.pi * rng.random(n), rng.exponential(1, n)
    root = np.where(a < 1, np.sin(a * u) / np.sin(u) ** (1 / a) * (np.sin((1 - a) * u) / e) ** ((1 - a) / a), 1.0)
    return locations[label] + np.sqrt(root)[:, None] * scales[label] * rng.normal(size=(n, locations.shape[1]))


def distances(rows, centers):
    return np.sqrt(((rows[:, None] - centers) ** 2).sum(2)).min(1)


def medians(rows, centers):
    """Direct k-medians from good starts."""
    for _ in range(200):
        apart = np.sqrt(((rows[:, None] - centers) ** 2).sum(2))
        own, pull = apart.argmin(1), 1 / np.maximum(apart.min(1), 1e-9)
        centers = np.array([np.average(rows[own == l], axis=0, weights=pull[own == l]) for l in range(len(centers))])
    return centers


def test_k_medians_come_close_to_the_direct_ones_among_outliers(program, tmp_path):
    rng = np.random.default_rng(3)
    rows = CENTRES[rng.integers(0, 3, 20_000)] + 1.5 * rng.exponential(1, (20_000, 2))
    rows[:600] = rng.uniform(-150, 150, (600, 2))
    rng.shuffle(rows)
    np.save(tmp_path / "rows.npy", rows)
    program("sketch", "rows.npy", "-o", "rows.sketch", "--task", "kmedians", "-k", 3, "-q")
    text = program("fit", "rows.sketch", "--task", "kmedians", "-k", 3, "-o", "model.json")
    assert "k-medians" in text
    model = json.loads((tmp_path / "model.json").read_text())
    assert (model["task"], model["k"], model["columns"]) == ("kmedians", 3, NAMES)
    direct = distances(rows, medians(rows, CENTRES + 1)).sum()
    score = program.json("score", "model.json", "rows.npy")
    assert score["sum_of_distances"] == pytest.approx(distances(rows, np.array(model["centers"])).sum(), rel=1e-9)
    assert score["sum_of_distances"] < 1.05 * direct
    assert "distances" in program("score", "model.json", "rows.npy")
    program("predict", "model.json", "rows.npy", "-o", "labels.npy")
    labels = np.load(tmp_path / "labels.npy").ravel()
    assert (labels == ((rows[:, None] - np.array(model["centers"])) ** 2).sum(2).argmin(1)).all()
    assert "no probabilities" in program.fails("predict", "model.json", "rows.npy", "-o", "p.csv", "--probabilities")
    assert "k-medians" in program("inspect", "model.json")
    assert "verdict" in program("diagnose", "rows.sketch", "model.json")


def test_planted_stable_laws_are_found(program, tmp_path):
    scales = np.array([[1.0, 0.6], [0.8, 1.2], [0.5, 0.5]])
    rows = stable_rows(100_000, CENTRES, scales, [1.2, 1.6, 1.9], 5)
    np.save(tmp_path / "rows.npy", rows)
    program("sketch", "rows.npy", "-o", "rows.sketch", "--task", "stable", "-k", 3, "-q")
    text = program("fit", "rows.sketch", "--task", "stable", "-k", 3, "-o", "model.json")
    assert "alpha-stable" in text and "alpha" in text
    model = json.loads((tmp_path / "model.json").read_text())
    order = [int(((np.array(model["locations"]) - c) ** 2).sum(1).argmin()) for c in CENTRES]
    assert sorted(order) == [0, 1, 2]
    assert np.abs(np.array(model["alpha"])[order] - [1.2, 1.6, 1.9]).max() < 0.05
    assert np.abs(np.array(model["locations"])[order] - CENTRES).max() < 0.1
    assert np.abs(np.array(model["scales"])[order] / scales - 1).max() < 0.1
    for command in (["predict", "model.json", "rows.npy", "-o", "labels.csv"], ["score", "model.json", "rows.npy"]):
        assert "no density in closed form" in program.fails(*command)
    assert "alpha" in program("inspect", "model.json")
    assert "are not diagnosed" in program.fails("diagnose", "rows.sketch", "model.json")


def test_stable_laws_refuse_what_they_cannot_do(program, tmp_path):
    rows = stable_rows(5_000, CENTRES, np.ones((3, 2)), [1.5, 1.5, 1.5], 6)
    np.save(tmp_path / "rows.npy", rows)
    program("sketch", "rows.npy", "-o", "s.sketch", "--task", "stable", "-k", 3, "-q")
    assert "iso and diag" in program.fails("fit", "s.sketch", "--task", "stable", "-k", 3, "--covariance", "full")
    assert "give a number" in program.fails("fit", "s.sketch", "--task", "stable", "-k", "1:3")
    program("sketch", "rows.npy", "-o", "bit.sketch", "--feature", "one-bit", "-q")
    assert "--feature fourier" in program.fails("fit", "bit.sketch", "--task", "stable", "-k", 3)
    program("sketch", "rows.npy", "-o", "white.sketch", "--whiten", "-q")
    assert "--whiten" in program.fails("fit", "white.sketch", "--task", "stable", "-k", 3)
    program.fails("fit", "s.sketch", "--task", "kmedians", "-k", 3, "--covariance", "diag", code=2)


def test_a_known_covariance_is_kept_and_the_means_are_found(program, tmp_path):
    rng = np.random.default_rng(9)
    sigma = np.array([[1.0, 0.6], [0.6, 2.0]])
    rows = CENTRES[rng.integers(0, 3, 50_000)] + rng.multivariate_normal([0, 0], sigma, 50_000)
    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "sigma.json").write_text(json.dumps(sigma.tolist()))
    program("sketch", "rows.npy", "-o", "s.sketch", "--task", "gmm", "-k", 3, "-q")
    program("fit", "s.sketch", "--task", "gmm", "-k", 3, "--covariance", "known:sigma.json", "-o", "model.json")
    model = json.loads((tmp_path / "model.json").read_text())
    means = np.array(model["means"])
    order = [int(((means - c) ** 2).sum(1).argmin()) for c in CENTRES]
    assert np.abs(means[order] - CENTRES).max() < 0.1 and np.abs(np.array(model["covariances"]) - sigma).max() < 1e-9
    (tmp_path / "wide.json").write_text("[[1.0]]")
    assert "2 rows of 2" in program.fails("fit", "s.sketch", "--task", "gmm", "-k", 3, "--covariance", "known:wide.json")
