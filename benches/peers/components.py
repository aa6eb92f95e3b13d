"""Principal components of a million rows on disk, beside scikit-learn."""

import numpy as np

from peers.harness import Contender, Job, count, read_json


def prepare(case, _program):
    """Rows of a decaying spectrum in a random basis, as f32, and their exact covariance."""
    rng = np.random.default_rng(1)
    rows, dim, k = case["rows"], case["dim"], case["k"]
    deviations = np.r_[5, 4, 3, 2.5, 2, 0.5 / np.sqrt(np.arange(1, dim - k + 1))]
    basis = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    mean = 3 * rng.normal(size=dim)
    file = np.lib.format.open_memmap("rows.npy", mode="w+", dtype=np.float32, shape=(rows, dim))
    total, square = np.zeros(dim), np.zeros((dim, dim))
    for i in range(0, rows, 100_000):
        n = min(100_000, rows - i)
        file[i : i + n] = rng.normal(size=(n, dim)) * deviations @ basis.T + mean
        part = file[i : i + n].astype(float)
        total += part.sum(axis=0)
        square += part.T @ part
    file.flush()
    total /= rows
    np.save("covariance.npy", square / rows - np.outer(total, total))


def command_line(factor):
    """The command with so many directions for each of the k d parameters."""

    def commands(case):
        size = factor * case["k"] * case["dim"]
        return [
            [
                "pca",
                "rows.npy",
                "-k",
                case["k"],
                "--size",
                size,
                "--threads",
                case["threads"],
                "-o",
                "model.json",
                "--quiet",
            ]
        ]

    return commands


def read_components():
    return {"components": np.array(read_json("model.json")["components"])}


def package(case):
    from compressive import PCA

    return {
        "components": PCA(n_components=case["k"], random_state=0, n_jobs=case["threads"])
        .fit(np.load("rows.npy"))
        .components_
    }


def incremental(case):
    from sklearn.decomposition import IncrementalPCA

    model, x = IncrementalPCA(case["k"], batch_size=10_000), np.load("rows.npy", mmap_mode="r")
    for i in range(0, len(x), 10_000):
        model.partial_fit(x[i : i + 10_000])
    return {"components": model.components_}


def in_memory(case):
    from sklearn.decomposition import PCA

    return {"components": PCA(case["k"]).fit(np.load("rows.npy")).components_}


def measure(case, result):
    """Reconstruction error beyond that of the best subspace, in percent of it."""
    covariance = np.load("covariance.npy")
    components = np.linalg.qr(np.asarray(result["components"], float).T)[0].T
    best = np.linalg.eigvalsh(covariance)[: -case["k"]].sum()
    return 100 * float((np.trace(covariance) - np.einsum("ki,ij,kj->", components, covariance, components)) / best - 1)


SKLEARN = {"needs": ("sklearn.decomposition",), "packages": ("scikit-learn",)}

JOBS = [
    Job(
        name="pca",
        title=lambda case: f"PCA, {count(case['rows'])} x {case['dim']}, k = {case['k']}",
        full={"rows": 1_000_000, "dim": 50, "k": 5},
        quick={"rows": 20_000, "dim": 20, "k": 5},
        peer="incremental",
        contenders=[
            Contender("ours", "`compressive pca`, m = 4 k d", commands=command_line(4), read=read_components),
            Contender(
                "ours-small", "`compressive pca --size`, m = 2 k d", commands=command_line(2), read=read_components
            ),
            Contender(
                "package",
                "`compressive.PCA`",
                run=package,
                needs=("compressive", "sklearn.base"),
                packages=("compressive",),
            ),
            Contender("incremental", "scikit-learn `IncrementalPCA`, memory-mapped", run=incremental, **SKLEARN),
            Contender("sklearn", "scikit-learn `PCA`, all rows in memory", run=in_memory, **SKLEARN),
        ],
        prepare=prepare,
        measure=measure,
        shown=lambda case, raw: raw,
        quality="excess error, %",
        form="{:.4f}",
        tolerance=0.1,
        note="The spectrum of [pca.md](pca.md), f32 npy. Quality is the reconstruction error beyond that of exact PCA of these rows, in percent of it: scikit-learn's is exact but for rounding, ours is not. "
        "m = 4 k d is the default. Peak memory counts the pages of a mapped file. A sketch merges, subtracts and serves any smaller k; the other models do not, but for `IncrementalPCA`, which takes further rows.",
    )
]
