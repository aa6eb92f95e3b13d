"""What people run today, by scikit-learn, on the same rows: remembered by table, since none of it depends on the program."""

import numpy as np
import sklearn
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.mixture import GaussianMixture

from real.metrics import sse
from real.program import Memory

# Rows of the sample that everything is compared with.
SAMPLE = 10_000
# Starts of the reference: many on tables no larger than the sample, with so many runs of the sample beside them.
STARTS_FEW, STARTS_MANY, SHOWN = 20, 500, 5
STARTS_SAMPLE, STARTS_EM = 10, 3
# Added to every variance by EM, in units of the column's variance.
EM_FLOOR = 1e-3


class Peers:
    """References and peers of the tables, each computed once."""

    def __init__(self, folder):
        self.memory = Memory(folder / "peers" / f"scikit-learn-{sklearn.__version__}")

    def best(self, key, x, k):
        """The least sum of squares known of k-means on all rows: many starts, and on small tables the runs that are shown as samples."""
        starts = STARTS_MANY if len(x) <= SAMPLE else STARTS_FEW
        found = self.memory.get(
            ["best", key, k, starts], lambda: float(KMeans(k, n_init=starts, random_state=0).fit(x).inertia_)
        )
        others = [self.sampled(key, x, k, seed) for seed in range(SHOWN)] if len(x) <= SAMPLE else []
        return min(found, *others) if others else found

    def sampled(self, key, x, k, seed, n_rows=SAMPLE):
        """Sum of squares over all rows of k-means on so many random rows."""

        def make():
            rng = np.random.default_rng([seed, n_rows])
            rows = x[rng.choice(len(x), min(len(x), max(n_rows, k)), replace=False)]
            return sse(x, KMeans(k, n_init=STARTS_SAMPLE, random_state=seed).fit(rows).cluster_centers_)

        return self.memory.get(["sample", key, k, seed, n_rows], make)

    def mini_batch(self, key, x, k, seed):
        """Sum of squares of MiniBatchKMeans as it comes."""
        return self.memory.get(
            ["mini-batch", key, k, seed],
            lambda: sse(x, MiniBatchKMeans(k, random_state=seed).fit(x).cluster_centers_),
        )

    def em(self, key, train, test, k, kind, seed):
        """Nats a row on the test rows of EM on the training rows, the best of some starts by its own bound; both z-scored."""

        def make():
            mixture = GaussianMixture(
                k, covariance_type=kind, reg_covar=EM_FLOOR, n_init=STARTS_EM, max_iter=200, random_state=seed
            )
            return float(mixture.fit(train).score(test))

        return self.memory.get(["em", key, k, kind, seed], make)
