"""Private k-means beside diffprivlib at one size and budget; benches/private_kmeans.py has the whole table."""

import json

import numpy as np
from end_to_end import DIM, K, generate, pass_over, reference
from private_kmeans import HIGH, LOW, PILOT_SHARE, SEPARATION

from peers.harness import Contender, Job, count, fit, read_centers, run_once


def prepare(case, program):
    """Rows, true means, and the size of sketch that the program plans without seeing rows."""
    np.save("means.npy", generate("rows.npy", case["rows"], SEPARATION))
    plan = run_once(
        program, "plan", "--rows", case["rows"], "--dim", DIM, "-k", K, "--epsilon", case["epsilon"], "--json"
    )
    case["size"] = json.loads(plan)["size"]


def command_line(case):
    bounds, cost = f"{LOW}:{HIGH}", PILOT_SHARE * case["epsilon"]
    return [
        [
            "design",
            "rows.npy",
            "-k",
            K,
            "--size",
            case["size"],
            "--bounds",
            bounds,
            "--private",
            cost,
            "-o",
            "spec.json",
        ],
        ["sketch", "rows.npy", "--spec", "spec.json", "--threads", case["threads"], "-o", "rows.sketch", "--quiet"],
        ["privatize", "rows.sketch", "--epsilon", case["epsilon"], "-o", "private.sketch"],
        fit("private.sketch", K, case),
    ]


def package(case):
    from compressive import KMeans

    model = KMeans(
        n_clusters=K,
        random_state=0,
        n_jobs=case["threads"],
        epsilon=case["epsilon"],
        bounds=(LOW, HIGH),
        compute_labels=False,
    )
    return {"centers": model.fit(np.load("rows.npy")).cluster_centers_}


def diffprivlib(case):
    from diffprivlib.models import KMeans

    model = KMeans(K, epsilon=case["epsilon"], bounds=(LOW, HIGH), random_state=0).fit(
        np.load("rows.npy").astype(float)
    )
    return {"centers": model.cluster_centers_}


def measure(_case, result):
    return pass_over(np.load("rows.npy", mmap_mode="r"), result["centers"])[0]


def shown(_case, raw):
    """SSE relative to the best: that of Lloyd's iteration from the true means, which is not private."""
    found = [value for values in raw.values() for value in values]
    best = reference(np.load("rows.npy", mmap_mode="r"), np.load("means.npy"), found)
    return {key: [value / best for value in values] for key, values in raw.items()}


JOBS = [
    Job(
        name="private",
        title=lambda case: f"private k-means, epsilon = {case['epsilon']:g}, {count(case['rows'])} x {DIM}, k = {K}",
        full={"rows": 1_000_000, "epsilon": 1.0},
        quick={"rows": 20_000, "epsilon": 10.0},
        peer="diffprivlib",
        contenders=[
            Contender(
                "ours", "`compressive design`, `sketch`, `privatize`, `fit`", commands=command_line, read=read_centers
            ),
            Contender(
                "package",
                "`compressive.KMeans(epsilon=..., bounds=...)`",
                run=package,
                needs=("compressive", "sklearn.base"),
                packages=("compressive",),
            ),
            Contender(
                "diffprivlib",
                "diffprivlib `KMeans`",
                run=diffprivlib,
                needs=("diffprivlib.models",),
                packages=("diffprivlib", "scikit-learn"),
                python="PEERS_DIFFPRIVLIB_PYTHON",
            ),
        ],
        prepare=prepare,
        measure=measure,
        shown=shown,
        quality="SSE / best",
        form="{:.4f}",
        tolerance=0.01,
        note=f"Unit Gaussians with means of standard deviation {SEPARATION:g} k^(1/d). All promise pure epsilon and are told that every column lies in [{LOW:g}, {HIGH:g}]; the first pays {PILOT_SHARE:.0%} of epsilon for its look at the scale. "
        "Quality is the SSE of all rows relative to Lloyd's iteration from the true means, which is not private; noise differs from round to round, the median is shown. Ours may be fitted again for any k without paying again. "
        "More sizes and budgets: [private-diffprivlib.md](private-diffprivlib.md).",
    )
]
