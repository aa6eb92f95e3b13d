"""Rows drawn from a sketch, and rows scored by its density."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score


@pytest.fixture
def wine(tmp_path):
    x = load_wine().data
    np.save(tmp_path / "wine.npy", x)
    return x


def test_drawn_rows_have_the_table_s_margins_and_moments(program, tmp_path, wine):
    program("sketch", "wine.npy", "-o", "wine.sketch")
    drawn = program.json("sample", "wine.sketch", "-n", 4000, "-o", "drawn.npy", "--seed", 3)
    rows = np.load(tmp_path / "drawn.npy")
    assert drawn["rows"] == 4000 and rows.shape == (4000, wine.shape[1])
    spread = wine.std(axis=0)
    assert (abs(rows.mean(axis=0) - wine.mean(axis=0)) < 0.1 * spread).all()
    assert (abs(rows.std(axis=0) / spread - 1) < 0.15).all()
    # 178 rows leave a Kolmogorov distance of 0.1 with probability 0.06; a Gaussian with the same moments has 0.2.
    distances = [ks_2samp(rows[:, c], wine[:, c]).statistic for c in range(wine.shape[1])]
    assert max(distances) < 0.12, distances
    correlations = abs(np.corrcoef(rows.T) - np.corrcoef(wine.T))
    assert correlations.max() < 0.15, correlations.max()


def test_a_longer_sample_starts_with_a_shorter_one_and_seeds_differ(program, tmp_path, wine):
    program("sketch", "wine.npy", "-o", "wine.sketch")
    for name, n, seed in (("a", 500, 1), ("b", 50_000, 1), ("c", 500, 2)):
        program("sample", "wine.sketch", "-n", n, "-o", f"{name}.npy", "--seed", seed)
    a, b, c = (np.load(tmp_path / f"{name}.npy") for name in "abc")
    assert (a == b[:500]).all() and (a != c).any()


def test_rows_far_from_all_others_are_the_least_usual(program, tmp_path, wine):
    strange = wine.copy()
    strange[7, 3] *= 10
    strange[100] = wine[::-1][100].clip(wine.mean(axis=0) + 2 * wine.std(axis=0))
    np.save(tmp_path / "strange.npy", strange)
    program("sketch", "wine.npy", "-o", "wine.sketch")
    found = program.json("score", "wine.sketch", "strange.npy", "--anomaly", "-o", "scores.csv")
    assert {row["row"] for row in found["lowest"][:2]} == {8, 101}
    scores = np.loadtxt(tmp_path / "scores.csv", skiprows=1)
    assert found["log_likelihood"] == pytest.approx(scores.sum()) and scores.argmin() + 1 == found["lowest"][0]["row"]
    assert "least usual" in program("score", "wine.sketch", "strange.npy", "--anomaly")


def test_malignant_cells_are_found_about_as_well_as_by_a_forest_on_the_rows(program, tmp_path):
    """Benign cells and a tenth as many malignant ones, which nothing names: area under the curve, seeds 0 to 2."""
    x, y = load_breast_cancer(return_X_y=True)
    ours, forest = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        few = rng.choice(np.flatnonzero(y == 0), 35, replace=False)
        at = np.concatenate([np.flatnonzero(y == 1), few])
        np.save(tmp_path / "cells.npy", x[at])
        program("sketch", "cells.npy", "-o", "cells.sketch", "--seed", seed)
        program("score", "cells.sketch", "cells.npy", "--anomaly", "-o", "scores.npy")
        ours.append(roc_auc_score(y[at] == 0, -np.load(tmp_path / "scores.npy").ravel()))
        forest.append(roc_auc_score(y[at] == 0, -IsolationForest(random_state=seed).fit(x[at]).score_samples(x[at])))
    assert np.mean(ours) > np.mean(forest) - 0.05, (ours, forest)


def test_mixtures_score_rows_and_other_models_say_why_not(program, tmp_path, wine):
    program("gmm", "wine.npy", "-k", 2, "-o", "gmm.json")
    program("kmeans", "wine.npy", "-k", 2, "-o", "kmeans.json")
    program("sketch", "wine.npy", "--no-outline", "-o", "bare.sketch")
    score = program.json("score", "gmm.json", "wine.npy")
    found = program.json("score", "gmm.json", "wine.npy", "--anomaly")
    assert found["log_likelihood"] == pytest.approx(score["log_likelihood"])
    assert "--task gmm" in program.fails("score", "kmeans.json", "wine.npy", "--anomaly")
    for command in (["sample", "bare.sketch", "-o", "no.npy"], ["score", "bare.sketch", "wine.npy", "--anomaly"]):
        message = program.fails(*command)
        assert "outline" in message and "--task kmeans" in message, message
