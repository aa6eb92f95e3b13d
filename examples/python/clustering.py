"""k-means of ten million rows on disk, beside scikit-learn.

The rows are written to a file that none of the methods has to hold in memory. Then, each in a process of its own so
that its time and memory are its own:

- compressive reads the file once, batch by batch, into a sketch of a few kilobytes, and learns from that;
- scikit-learn's MiniBatchKMeans reads the same file in batches;
- scikit-learn's KMeans loads it.

At the end all centres are judged on all rows.

    python clustering.py                     # ten million rows, 400 MB on disk, about a minute
    python clustering.py --rows 200000       # a second
"""

from __future__ import annotations

import argparse
import multiprocessing
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np

K, DIM, BATCH = 10, 10, 100_000


def write_rows(path: pathlib.Path, n_rows: int) -> None:
    """Ten clusters of different size and width, in float32, written a batch at a time."""
    rng = np.random.default_rng(7)
    centres = rng.normal(0, 2.5, (K, DIM))
    widths = rng.uniform(0.6, 1.4, K)
    shares = rng.dirichlet(np.full(K, 5.0))
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n_rows, DIM))
    for start in range(0, n_rows, BATCH):
        cluster = rng.choice(K, min(BATCH, n_rows - start), p=shares)
        noise = rng.standard_normal((len(cluster), DIM), dtype=np.float32)
        table[start : start + len(cluster)] = centres[cluster] + widths[cluster, None] * noise
    table.flush()


def batches(path: pathlib.Path) -> Iterator[np.ndarray]:
    for start in range(0, len(np.load(path, mmap_mode="r")), BATCH):
        # A new mapping for each batch, so that the pages of those before do not count as this process's memory.
        yield np.array(np.load(path, mmap_mode="r")[start : start + BATCH])


def with_compressive(path: pathlib.Path) -> np.ndarray:
    import compressive

    sketch = compressive.sketch(path, k=K)
    return compressive.fit_kmeans(sketch, K).parameters["centers"]


def with_minibatch(path: pathlib.Path) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(K, random_state=0, n_init=1)
    for rows in batches(path):
        model.partial_fit(rows)
    return model.cluster_centers_


def with_kmeans(path: pathlib.Path) -> np.ndarray:
    from sklearn.cluster import KMeans

    return KMeans(K, random_state=0, n_init=1).fit(np.load(path)).cluster_centers_


def measured(method: Callable[[pathlib.Path], np.ndarray], path: pathlib.Path, answer: multiprocessing.Queue) -> None:
    """Runs in a fresh process: centres, seconds, and the memory that the work took beyond the imports."""
    # Both libraries are in memory before the clock starts, whichever is measured.
    import compressive  # noqa: F401
    import sklearn.cluster  # noqa: F401

    before = peak_memory()
    start = time.perf_counter()
    centres = method(path)
    answer.put((centres, time.perf_counter() - start, peak_memory() - before))


def peak_memory() -> float:
    """Most memory that this process has had, in megabytes."""
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def sse(path: pathlib.Path, centres: np.ndarray) -> float:
    """Sum over all rows of the squared distance to the nearest centre."""
    total = 0.0
    for batch in batches(path):
        rows = batch.astype(np.float64)
        distances = (rows**2).sum(1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(1)
        total += distances.min(axis=1).sum()
    return float(total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    methods = {
        "compressive": with_compressive,
        "MiniBatchKMeans, one pass": with_minibatch,
        "KMeans(n_init=1)": with_kmeans,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.npy"
        write_rows(path, rows)
        print(f"{rows:,} rows of {DIM} columns, {path.stat().st_size / 1e6:.0f} MB on disk, k = {K}")
        found = {}
        # A process that is started afresh does not inherit memory from this one.
        context = multiprocessing.get_context("spawn")
        for name, method in methods.items():
            answer = context.Queue()
            process = context.Process(target=measured, args=(method, path, answer))
            process.start()
            centres, seconds, memory = answer.get(timeout=3600)
            process.join()
            found[name] = sse(path, centres), seconds, memory
    best = min(error for error, _, _ in found.values())
    print(f"{'':27}{'seconds':>9}{'memory':>10}{'SSE / best':>12}")
    for name, (error, seconds, memory) in found.items():
        print(f"{name:27}{seconds:9.2f}{memory:7.0f} MB{error / best:12.3f}")


if __name__ == "__main__":
    main()
