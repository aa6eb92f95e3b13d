"""k-means of a million rows, and of ten million: command line and Python package beside scikit-learn and faiss."""

import numpy as np
from end_to_end import DIM, SEPARATION, K, generate, pass_over, reference

from peers.harness import Contender, Job, count, fit, read_centers, run_once

NEXT_K = 12


def prepare(case, program):
    """Rows and true means; for the next k also the sketch that it is learned from."""
    np.save("means.npy", generate("rows.npy", case["rows"]))
    run_once(program, "sketch", "rows.npy", "-k", K, "-o", "rows.sketch", "--quiet")


def command_line(case):
    return [["kmeans", "rows.npy", "-k", K, "--threads", case["threads"], "-o", "model.json", "--quiet"]]


def next_k(case):
    return [fit("rows.sketch", NEXT_K, case)]


def package(case):
    from compressive import KMeans

    model = KMeans(n_clusters=K, random_state=0, n_jobs=case["threads"]).fit(np.load("rows.npy"))
    return {"centers": model.cluster_centers_}


def sklearn_kmeans(n_init):
    def run(_case):
        from sklearn.cluster import KMeans

        return {"centers": KMeans(K, n_init=n_init, random_state=0).fit(np.load("rows.npy")).cluster_centers_}

    return run


def mini_batch(_case):
    from sklearn.cluster import MiniBatchKMeans

    return {"centers": MiniBatchKMeans(K, random_state=0).fit(np.load("rows.npy")).cluster_centers_}


def faiss_kmeans(every_row):
    def run(case):
        import faiss

        faiss.omp_set_num_threads(case["threads"])
        x = np.load("rows.npy")
        options = {"max_points_per_centroid": len(x)} if every_row else {}
        model = faiss.Kmeans(x.shape[1], K, seed=0, **options)
        model.train(x)
        return {"centers": model.centroids}

    return run


def measure(_case, result):
    """SSE of all rows; another k is another problem."""
    if len(result["centers"]) != K:
        return None
    return pass_over(np.load("rows.npy", mmap_mode="r"), result["centers"])[0]


def shown(_case, raw):
    """SSE relative to the best that any contender or Lloyd's iteration from the true means has found."""
    found = [value for values in raw.values() for value in values if value is not None]
    best = reference(np.load("rows.npy", mmap_mode="r"), np.load("means.npy"), found)
    return {key: [value and value / best for value in values] for key, values in raw.items()}


SKLEARN = {"needs": ("sklearn.cluster",), "packages": ("scikit-learn",)}
FAISS = {"needs": ("faiss",), "packages": ("faiss-cpu",)}
OURS = Contender("ours", "`compressive kmeans`", commands=command_line, read=read_centers)
NEXT = Contender(
    "next", f"`compressive fit`, the next k ({NEXT_K}) from the sketch", commands=next_k, read=read_centers
)
PACKAGE = Contender(
    "package",
    "`compressive.KMeans`, labels included",
    run=package,
    needs=("compressive", "sklearn.base"),
    packages=("compressive",),
)
PEERS = [
    Contender("sklearn", "scikit-learn `KMeans(n_init=1)`", run=sklearn_kmeans(1), **SKLEARN),
    Contender("minibatch", "scikit-learn `MiniBatchKMeans`", run=mini_batch, **SKLEARN),
    Contender("faiss", "faiss `Kmeans`, all rows", run=faiss_kmeans(True), **FAISS),
    Contender("faiss-default", "faiss `Kmeans`, default: a sample", run=faiss_kmeans(False), **FAISS),
]
FIVE = Contender("sklearn-5", "scikit-learn `KMeans(n_init=5)`", run=sklearn_kmeans(5), **SKLEARN)

ROWS_NOTE = (
    f"k = {K} unit Gaussians with means of standard deviation {SEPARATION:g} k^(1/d), f32 npy. Quality is the SSE of all rows, by one function, relative to the best that any contender or Lloyd's iteration from the "
    "true means has found. "
)
SHARED = {
    "title": lambda case: f"k-means, {count(case['rows'])} x {DIM}, k = {K}",
    "prepare": prepare,
    "measure": measure,
    "shown": shown,
    "quality": "SSE / best",
    "form": "{:.4f}",
    "tolerance": 0.01,
}

JOBS = [
    Job(
        name="kmeans",
        full={"rows": 1_000_000},
        quick={"rows": 20_000},
        peer="sklearn",
        contenders=[OURS, PACKAGE, PEERS[0], FIVE, *PEERS[1:]],
        note=ROWS_NOTE
        + "The command writes centres alone; `compressive.KMeans` and scikit-learn also label the rows. One start each, but for `n_init=5`; ours searches the sketch, so that starts cost it little. "
        "faiss trains on 256 rows per centre by default, and on all rows with `max_points_per_centroid` raised.",
        **SHARED,
    ),
    Job(
        name="kmeans-large",
        full={"rows": 10_000_000},
        quick={"rows": 40_000},
        peer="sklearn",
        contenders=[OURS, NEXT, *PEERS],
        note=ROWS_NOTE
        + "Ten times the rows: the peers hold the table in memory, ours streams it. Once the sketch is there, another model takes the time of the row for the next k, whose SSE is of another problem and not shown. "
        "The Python package on these rows: [python.md](python.md).",
        **SHARED,
    ),
]
