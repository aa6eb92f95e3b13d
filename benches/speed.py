"""Seconds and memory of learning from a sketch, beside scikit-learn's `KMeans(n_init=1)` and `GaussianMixture` on all rows.

    python benches/speed.py [--quick] [--only PART] [-o docs/results/decoding.md]

Needs a release build of the program, or one named by $COMPRESSIVE, and two idle cores. Every case is one table of
synthetic clusters with a fixed seed: sketched once, then fitted `--repeats` times, of which the median counts. The
other side runs in a process of its own on the same two threads; reading and importing are not counted. `--quick` has
fewer rows and one repeat: about five minutes, instead of twenty. The quality is the sum of squares (of mixtures the
mean log-density, in nats) of all rows; a relative SSE of 1 is that of the other side.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np
from end_to_end import Stopped, measured

ROOT = pathlib.Path(__file__).resolve().parent.parent
THREADS = 2
# Seconds that one process may take.
LIMIT = 900


@dataclass
class Case:
    """A table and what is learned from it."""

    name: str
    task: str
    k: int
    dim: int
    rows: int
    quick_rows: int
    # Deviation of the means in units of k^(1/d) deviations of a cluster; 0 for a table without clusters.
    separation: float = 2.5
    size: int | None = None


CASES = [
    Case("k=10, d=10", "kmeans", 10, 10, 1_000_000, 300_000),
    Case("k=64, d=12, m=10,000", "kmeans", 64, 12, 300_000, 100_000, size=10_000),
    Case("k=200, d=10", "kmeans", 200, 10, 300_000, 300_000),
    Case("k=200, d=10, no clusters", "kmeans", 200, 10, 300_000, 100_000, separation=0.0),
    Case("k=1000, d=10", "kmeans", 1000, 10, 1_000_000, 200_000),
    Case("k=20, d=128", "kmeans", 20, 128, 100_000, 50_000),
    Case("k=10, d=784", "kmeans", 10, 784, 60_000, 20_000),
    Case("k=20, d=10", "gmm", 20, 10, 300_000, 100_000),
    Case("k=64, d=12, m=10,000", "gmm", 64, 12, 300_000, 50_000, size=10_000),
]

PEER = """
import json, os, resource, sys, time
import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
rows, task, k = np.load(sys.argv[1]), sys.argv[2], int(sys.argv[3])
model = KMeans(k, n_init=1, random_state=0) if task == "kmeans" else GaussianMixture(k, covariance_type="diag", random_state=0)
start = time.perf_counter()
model.fit(rows)
fitted = time.perf_counter()
model.predict(rows)
told = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
told["quality"] = float(model.inertia_) if task == "kmeans" else float(model.score(rows))
print(json.dumps(told | {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def program():
    """The program to measure."""
    return os.environ.get("COMPRESSIVE", str(ROOT / "target/release/compressive"))


def generate(case, rows, path):
    """Unit Gaussians of equal weight, or rows without clusters whose columns depend on each other."""
    rng = np.random.default_rng(7)
    if case.separation == 0:
        mix = rng.normal(size=(case.dim, case.dim))
        table = np.tanh(rng.normal(size=(rows, case.dim)) @ mix / np.sqrt(case.dim)) + 0.1 * rng.normal(
            size=(rows, case.dim)
        )
    else:
        spread = case.separation * case.k ** (1 / case.dim)
        means = spread * rng.normal(size=(case.k, case.dim))
        table = means[rng.integers(case.k, size=rows)] + rng.normal(size=(rows, case.dim))
    np.save(path, table.astype(np.float32))


def ours(case, table, folder, repeats):
    """Seconds of the sketch and of the fit, peak memory of the fit, the quality, and seconds of a prediction."""
    sketch, model, labels = folder / "sketch", folder / "model.json", folder / "labels.npy"
    common = ["-k", case.k, "--threads", THREADS, "--quiet"]
    size = ["--size", case.size] if case.size else []
    sketched, _ = measured([program(), "sketch", table, "--task", case.task, "-o", sketch, *size, *common], LIMIT)
    fit = [program(), "fit", sketch, "--task", case.task, "-o", model, *common]
    runs = [measured(fit, LIMIT) for _ in range(repeats)]
    score = [program(), "score", model, table, "--json", "--threads", str(THREADS)]
    told = json.loads(subprocess.run(score, check=True, capture_output=True, text=True).stdout)
    start = time.perf_counter()
    predict = [program(), "predict", model, table, "-o", labels, "--threads", str(THREADS), "--quiet"]
    subprocess.run(predict, check=True, capture_output=True)
    return {
        "sketch": sketched,
        "fit": statistics.median(seconds for seconds, _ in runs),
        "megabytes": max(peak for _, peak in runs),
        "quality": told["sse"] if case.task == "kmeans" else told["log_likelihood_per_row"],
        "predict": time.perf_counter() - start,
    }


def peer(case, table):
    """The same of scikit-learn."""
    limits = {name: str(THREADS) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    command = [sys.executable, "-c", PEER, str(table), case.task, str(case.k)]
    run = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **limits}, timeout=LIMIT
    )
    return json.loads(run.stdout)


def line(case, rows, own, other):
    """A row of the page's table."""
    if case.task == "kmeans":
        quality = f"{own['quality'] / other['quality']:.4f}"
    else:
        quality = f"{own['quality'] - other['quality']:+.3f} nats"
    whole = (own["sketch"] + own["fit"]) / other["fit"]
    cells = [case.task, case.name, f"{rows:,}", f"{own['sketch']:.2f}", f"{own['fit']:.2f}", f"{own['megabytes']:.0f}"]
    cells += [f"{other['fit']:.2f}", f"{other['megabytes']:.0f}", f"{whole:.2f}", quality]
    cells += [f"{rows / own['predict'] / 1e6:.2f}", f"{rows / other['predict'] / 1e6:.2f}"]
    return "| " + " | ".join(cells) + " |"


HEAD = """| task | case | rows | sketch, s | fit, s | fit, MB | scikit-learn, s | MB | whole job, ratio | relative SSE | predict, 1e6 rows/s | scikit-learn |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def main():
    """All cases, each told when it is done; then the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", metavar="PART", help="cases whose task and name contain this")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    args = parser.parse_args()
    lines = HEAD.splitlines()
    print(HEAD, flush=True)
    for case in CASES:
        if args.only not in f"{case.task} {case.name}":
            continue
        rows = case.quick_rows if args.quick else case.rows
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            table = folder / "rows.npy"
            generate(case, rows, table)
            try:
                own = ours(case, table, folder, 1 if args.quick else args.repeats)
                lines.append(line(case, rows, own, peer(case, table)))
            except (Stopped, subprocess.TimeoutExpired):
                lines.append(f"| {case.task} | {case.name} | {rows:,} | more than {LIMIT} s |")
        print(lines[-1], flush=True)
    if args.output:
        machine = f"{platform.machine()}, {THREADS} threads"
        text = f"# Learning from a sketch, beside scikit-learn\n\nMade by `python benches/speed.py`, {machine}.\n\n"
        args.output.write_text(text + "\n".join(lines) + "\n\n" + " ".join(__doc__.split("\n\n")[2].split()) + "\n")


if __name__ == "__main__":
    main()
