"""What the end-to-end benchmarks share: rows with known clusters, a child process measured, and the sum of squares of some centres."""

import pathlib
import subprocess
import tempfile
import threading
import time

import numpy as np

DIM, K, SEPARATION = 10, 10, 2.0
# Seconds that a child process may take.
LIMIT = 150


def generate(name, rows, separation=SEPARATION):
    """k unit Gaussians of equal weight with means N(0, (s k^(1/d))^2 I), as f32; returns the means."""
    rng = np.random.default_rng(1)
    means = separation * K ** (1 / DIM) * rng.normal(size=(K, DIM))
    file = np.lib.format.open_memmap(name, mode="w+", dtype=np.float32, shape=(rows, DIM))
    for i in range(0, rows, 1_000_000):
        n = min(1_000_000, rows - i)
        file[i : i + n] = means[rng.integers(K, size=n)] + rng.normal(size=(n, DIM))
    file.flush()
    return means


class Stopped(RuntimeError):
    """The child took longer than it may."""


def watch(pid, ended, peak):
    """Keeps the largest VmHWM of a process in `peak[0]`, in megabytes, until the event is set: every millisecond at first, then every five."""
    for step in range(10**9):
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return
        peak[0] = max(
            [peak[0]] + [int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")]
        )
        if ended.wait(0.001 if step < 100 else 0.005):
            return


def measured(command, limit=LIMIT, **kwargs):
    """Wall seconds and peak resident megabytes of a command.

    The peak is read while the command runs: `getrusage` would count the memory that this process had before the command was started.
    """
    start, peak, ended = time.perf_counter(), [0.0], threading.Event()
    # A file, not a pipe: nobody reads while the command runs.
    with tempfile.TemporaryFile(mode="w+") as errors:
        process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=errors, **kwargs)
        watcher = threading.Thread(target=watch, args=(process.pid, ended, peak))
        stopper = threading.Timer(limit, process.kill)
        watcher.start()
        stopper.start()
        code = process.wait()
        seconds = time.perf_counter() - start
        stopper.cancel()
        ended.set()
        watcher.join()
        if code != 0 and seconds >= limit:
            raise Stopped(f"stopped after {limit:g} seconds")
        if code != 0:
            errors.seek(0)
            raise RuntimeError(f"{command}: {errors.read()}")
    return seconds, peak[0]


def pass_over(x, centers):
    """Sum of squared distances to the nearest centre, and the means of the rows of each centre."""
    centers = np.asarray(centers, dtype=np.float32)
    total, sums, counts = 0.0, np.zeros(centers.shape), np.zeros(len(centers))
    for i in range(0, len(x), 250_000):
        part = x[i : i + 250_000]
        distances = -2 * part @ centers.T + (centers**2).sum(axis=1)
        labels = distances.argmin(axis=1)
        total += float((part.astype(float) ** 2).sum()) + float(
            distances[np.arange(len(part)), labels].sum(dtype=float)
        )
        counts += np.bincount(labels, minlength=len(centers))
        for c in range(centers.shape[1]):
            sums[:, c] += np.bincount(labels, weights=part[:, c], minlength=len(centers))
    return total, sums / np.maximum(counts, 1)[:, None]


def reference(x, means, found):
    """The best SSE known: that of every contestant and of Lloyd's iteration from the true means."""
    for _ in range(5):
        _, means = pass_over(x, means)
    return min([pass_over(x, means)[0], *found])
