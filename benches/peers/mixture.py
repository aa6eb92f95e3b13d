"""A Gaussian mixture with diagonal covariances: command line and Python package beside scikit-learn's EM."""

import numpy as np

from peers.harness import Contender, Job, count, read_json

DIM, K, SEPARATION = 10, 10, 2.5


def prepare(case, _program):
    """Rows of k Gaussians with different weights and variances, and the truth."""
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.full(K, 8.0))
    means = SEPARATION * rng.normal(size=(K, DIM))
    deviations = rng.uniform(0.5, 1.5, size=(K, DIM))
    file = np.lib.format.open_memmap("rows.npy", mode="w+", dtype=np.float32, shape=(case["rows"], DIM))
    for i in range(0, len(file), 250_000):
        part = rng.choice(K, size=min(250_000, len(file) - i), p=weights)
        file[i : i + len(part)] = means[part] + deviations[part] * rng.normal(size=(len(part), DIM))
    file.flush()
    np.savez("truth.npz", weights=weights, means=means, variances=deviations**2)


def command_line(case):
    return [["gmm", "rows.npy", "-k", K, "--threads", case["threads"], "-o", "model.json", "--quiet"]]


def read_mixture():
    model = read_json("model.json")
    return {
        "weights": np.array(model["weights"]),
        "means": np.array(model["means"]),
        "variances": np.array(model["covariances"]),
    }


def package(case):
    from compressive import GaussianMixture

    model = GaussianMixture(n_components=K, covariance_type="diag", random_state=0, n_jobs=case["threads"]).fit(
        np.load("rows.npy")
    )
    return {"weights": model.weights_, "means": model.means_, "variances": model.covariances_}


def sklearn_mixture(_case):
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(K, covariance_type="diag", random_state=0).fit(np.load("rows.npy"))
    return {"weights": model.weights_, "means": model.means_, "variances": model.covariances_}


def measure(_case, mixture):
    """Mean log-likelihood of all rows."""
    x, total = np.load("rows.npy", mmap_mode="r"), 0.0
    precisions = 1 / mixture["variances"]
    offset = (
        np.log(mixture["weights"])
        + 0.5 * np.log(precisions / (2 * np.pi)).sum(axis=1)
        - 0.5 * (mixture["means"] ** 2 * precisions).sum(axis=1)
    )
    for i in range(0, len(x), 100_000):
        part = x[i : i + 100_000].astype(float)
        logs = offset + part @ (mixture["means"] * precisions).T - 0.5 * part**2 @ precisions.T
        top = logs.max(axis=1, keepdims=True)
        total += float((top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))).sum())
    return total / len(x)


def shown(case, raw):
    """How far the log-likelihood is below that of the mixture which the rows were drawn from."""
    with np.load("truth.npz") as truth:
        best = measure(case, dict(truth))
    return {key: [best - value for value in values] for key, values in raw.items()}


JOBS = [
    Job(
        name="mixture",
        title=lambda case: f"Gaussian mixture, {count(case['rows'])} x {DIM}, k = {K}",
        full={"rows": 1_000_000},
        quick={"rows": 20_000},
        peer="sklearn",
        contenders=[
            Contender("ours", "`compressive gmm`", commands=command_line, read=read_mixture),
            Contender(
                "package",
                "`compressive.GaussianMixture`",
                run=package,
                needs=("compressive", "sklearn.base"),
                packages=("compressive",),
            ),
            Contender(
                "sklearn",
                "scikit-learn `GaussianMixture`",
                run=sklearn_mixture,
                needs=("sklearn.mixture",),
                packages=("scikit-learn",),
            ),
        ],
        prepare=prepare,
        measure=measure,
        shown=shown,
        quality="nats below the truth",
        form="{:.5f}",
        tolerance=0.01,
        note=f"k = {K} Gaussians of different weights with diagonal covariances, standard deviations 0.5 to 1.5, means of standard deviation {SEPARATION:g}. All fit diagonal covariances; scikit-learn starts EM once, from k-means, its default. "
        "Quality is the mean log-likelihood of all rows, in nats, below that of the mixture which the rows were drawn from; EM maximises it on these very rows and may be below zero.",
    )
]
