"""The second day: Monday is sketched, Tuesday's rows arrive, and a model of both days is wanted."""

import pathlib
import pickle

import numpy as np
from end_to_end import DIM, K, generate, pass_over, reference

from peers.harness import Contender, Job, count, fit, read_centers, run_once

BATCH = 10_000


def prepare(case, program):
    """Both days' rows; Monday's and Tuesday's sketch, and the sketch of both; scikit-learn's model of Monday, if it is there."""
    np.save("means.npy", generate("both.npy", 2 * case["rows"]))
    both = np.load("both.npy", mmap_mode="r")
    np.save("monday.npy", both[: case["rows"]])
    np.save("tuesday.npy", both[case["rows"] :])
    run_once(program, "design", "monday.npy", "-k", K, "-o", "spec.json")
    for day in ("monday", "tuesday", "both"):
        run_once(program, "sketch", f"{day}.npy", "--spec", "spec.json", "-o", f"{day}.sketch", "--quiet")
    try:
        from sklearn.cluster import MiniBatchKMeans
    except ImportError:
        return
    pathlib.Path("monday.pickle").write_bytes(
        pickle.dumps(add_rows(MiniBatchKMeans(K, random_state=0), np.load("monday.npy")))
    )


def add_rows(model, x):
    for i in range(0, len(x), BATCH):
        model.partial_fit(x[i : i + BATCH])
    return model


def sketch_tuesday(case):
    return ["sketch", "tuesday.npy", "--spec", "spec.json", "--threads", case["threads"], "-o", "new.sketch", "--quiet"]


def whole(case):
    return [
        sketch_tuesday(case),
        ["merge", "monday.sketch", "new.sketch", "-o", "merged.sketch"],
        fit("merged.sketch", K, case),
    ]


def merge_and_fit(case):
    return [["merge", "monday.sketch", "tuesday.sketch", "-o", "merged.sketch"], fit("merged.sketch", K, case)]


def merge_alone(_case):
    return [["merge", "monday.sketch", "tuesday.sketch", "-o", "merged.sketch"]]


def read_merged():
    """No model; the merged sketch must have the bytes of the sketch of both days."""
    if pathlib.Path("merged.sketch").read_bytes() != pathlib.Path("both.sketch").read_bytes():
        raise RuntimeError("the merged sketch is not that of both days")
    return {}


def read_merged_centers():
    return read_merged() | read_centers()


def both_days():
    return np.concatenate([np.load("monday.npy"), np.load("tuesday.npy")])


def refit(_case):
    from sklearn.cluster import KMeans

    return {"centers": KMeans(K, n_init=1, random_state=0).fit(both_days()).cluster_centers_}


def update(_case):
    model = pickle.loads(pathlib.Path("monday.pickle").read_bytes())
    return {"centers": add_rows(model, np.load("tuesday.npy")).cluster_centers_}


def faiss_refit(case):
    import faiss

    faiss.omp_set_num_threads(case["threads"])
    x = both_days()
    model = faiss.Kmeans(x.shape[1], K, seed=0, max_points_per_centroid=len(x))
    model.train(x)
    return {"centers": model.centroids}


def measure(_case, result):
    return pass_over(np.load("both.npy", mmap_mode="r"), result["centers"])[0] if result else None


def shown(_case, raw):
    """SSE of both days relative to the best found."""
    found = [value for values in raw.values() for value in values if value is not None]
    best = reference(np.load("both.npy", mmap_mode="r"), np.load("means.npy"), found)
    return {key: [value and value / best for value in values] for key, values in raw.items()}


SKLEARN = {"needs": ("sklearn.cluster",), "packages": ("scikit-learn",)}

JOBS = [
    Job(
        name="merge",
        title=lambda case: f"a second day, {count(case['rows'])} x {DIM} each, k-means, k = {K}",
        full={"rows": 1_000_000},
        quick={"rows": 10_000},
        peer="sklearn",
        contenders=[
            Contender("ours", "`compressive`: sketch Tuesday, merge, fit", commands=whole, read=read_merged_centers),
            Contender(
                "merge-fit", "`compressive`: merge two sketches, fit", commands=merge_and_fit, read=read_merged_centers
            ),
            Contender("merge", "`compressive merge` of two sketches alone", commands=merge_alone, read=read_merged),
            Contender("sklearn", "scikit-learn `KMeans(n_init=1)`, both days again", run=refit, **SKLEARN),
            Contender("minibatch", "scikit-learn `MiniBatchKMeans.partial_fit`, Tuesday added", run=update, **SKLEARN),
            Contender(
                "faiss",
                "faiss `Kmeans`, all rows of both days again",
                run=faiss_refit,
                needs=("faiss",),
                packages=("faiss-cpu",),
            ),
        ],
        prepare=prepare,
        measure=measure,
        shown=shown,
        quality="SSE / best",
        form="{:.4f}",
        tolerance=0.01,
        note=f"Two days of the rows of k-means. Ours has Monday's sketch and sees Tuesday's rows once; the merged sketch has the bytes of one pass over both days, which is checked. `MiniBatchKMeans` has its model of Monday and adds "
        f"Tuesday in batches of {BATCH:,} rows, one pass; `KMeans` and faiss cannot add rows and start over. Quality is the SSE of all rows of both days.",
    )
]
