"""Tables that are drawn: separated Gaussians, heavy tails, outliers, tight clusters and flat components."""

import numpy as np

ROWS, ROWS_QUICK = 100_000, 20_000
# Clusters of the heavy-tailed tables, as in the experiment `families` of compressive-lab.
K_TAILS, D_TAILS = 5, 4
# Least distance of two means of separated Gaussians, in standard deviations.
APART = 6.0


def separated(k, d, n, seed):
    """k unit Gaussians whose means are at least `APART` apart, with weights between 0.5 / k and 1.5 / k or so."""
    rng = np.random.default_rng([31, k, d, seed])
    width = APART * max(1.0, k ** (1 / d))
    while True:
        means = rng.uniform(-width, width, (k, d))
        gaps = ((means[:, None] - means) ** 2).sum(axis=2) + APART**2 * np.eye(k)
        if gaps.min() >= APART**2:
            break
        width *= 1.02
    weights = rng.uniform(0.5, 1.5, k)
    labels = rng.choice(k, n, p=weights / weights.sum())
    return means[labels] + rng.normal(size=(n, d))


def heavy(kind, n, seed):
    """Five clusters in four columns with centres N(0, 36): Student's t with 2 degrees of freedom and scale 0.7, or unit Gaussians with 5% of the rows uniform in [-60, 60]."""
    rng = np.random.default_rng([71, seed])
    centres = rng.normal(0, 6, (K_TAILS, D_TAILS))
    rows = centres[rng.integers(K_TAILS, size=n)]
    noise = rng.normal(size=(n, D_TAILS))
    if kind == "student":
        # A t variable with 2 degrees is a Gaussian over the root of an exponential variable of mean 1.
        return rows + 0.7 * noise / np.sqrt(rng.exponential(size=(n, 1)))
    far = rng.uniform(size=n) < 0.05
    return np.where(far[:, None], rng.uniform(-60, 60, (n, D_TAILS)), rows + noise)


def tight(width, seed, n=20_000):
    """Three clusters in five columns with centres N(0, 25), and the least sum of squares of three centres."""
    rng = np.random.default_rng([41, seed])
    centres, labels = rng.normal(0, 5, (3, 5)), rng.integers(0, 3, n)
    rows = centres[labels] + width * rng.normal(size=(n, 5))
    best = sum(((rows[labels == j] - rows[labels == j].mean(axis=0)) ** 2).sum() for j in range(3))
    return rows, float(best)


def flat(n, seed):
    """Five components in five columns, means N(0, 100), standard deviation 0.02 in a column of its own and 1 in the others: rows, and the true mixture."""
    rng = np.random.default_rng([43, seed])
    k = d = 5
    means, deviations = rng.normal(0, 10, (k, d)), np.where(np.eye(k, d) > 0, 0.02, 1.0)
    labels = rng.integers(k, size=n)
    rows = means[labels] + deviations[labels] * rng.normal(size=(n, d))
    return rows, {"weights": [1 / k] * k, "means": means, "covariances": deviations**2}
