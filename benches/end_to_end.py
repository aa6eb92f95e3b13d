"""k-means of ten million rows on disk, end to end, beside what people run today: writes docs/results/end-to-end.md.

    python benches/end_to_end.py                  # about three minutes on two cores
    python benches/end_to_end.py --rows 200000    # a smaller run that prints only

Needs numpy, scikit-learn and faiss-cpu (benches/requirements.txt) and builds the release program itself. Every contestant reads the same f32 npy file in a
process of its own; seconds include starting it and reading the file, which is in the page cache. Peak memory is VmHWM of that process.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import textwrap
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIM, K, NEXT_K, SEPARATION = 10, 10, 12, 2.0
# Seconds that a contestant may take.
LIMIT = 150

PEERS = {
    "scikit-learn KMeans(n_init=1)": """
        from sklearn.cluster import KMeans
        centers = KMeans(k, n_init=1, random_state=seed).fit(np.load(data)).cluster_centers_
    """,
    "scikit-learn MiniBatchKMeans": """
        from sklearn.cluster import MiniBatchKMeans
        centers = MiniBatchKMeans(k, random_state=seed).fit(np.load(data)).cluster_centers_
    """,
    "faiss Kmeans, all rows": """
        import faiss
        x = np.load(data)
        model = faiss.Kmeans(x.shape[1], k, seed=seed, max_points_per_centroid=len(x))
        model.train(x)
        centers = model.centroids
    """,
    "faiss Kmeans, default (a sample)": """
        import faiss
        x = np.load(data)
        model = faiss.Kmeans(x.shape[1], k, seed=seed)
        model.train(x)
        centers = model.centroids
    """,
}


def generate(name, rows):
    """k unit Gaussians of equal weight with means N(0, (s k^(1/d))^2 I), as f32; returns the means."""
    rng = np.random.default_rng(1)
    means = SEPARATION * K ** (1 / DIM) * rng.normal(size=(K, DIM))
    file = np.lib.format.open_memmap(name, mode="w+", dtype=np.float32, shape=(rows, DIM))
    for i in range(0, rows, 1_000_000):
        n = min(1_000_000, rows - i)
        file[i : i + n] = means[rng.integers(K, size=n)] + rng.normal(size=(n, DIM))
    file.flush()
    return means


def measured(command, **kwargs):
    """Wall seconds and peak resident megabytes, read while the command runs: rusage would count this process before exec."""
    start, peak = time.perf_counter(), 0.0
    # A file, not a pipe: nobody reads while the command runs.
    errors = tempfile.TemporaryFile(mode="w+")
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=errors, **kwargs)
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peak = max([peak] + [int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")])
        except (FileNotFoundError, ProcessLookupError):
            break
        if time.perf_counter() - start > LIMIT:
            process.kill()
            raise RuntimeError(f"stopped after {LIMIT} seconds")
        time.sleep(0.005)
    if process.wait() != 0:
        errors.seek(0)
        raise RuntimeError(f"{command}: {errors.read()}")
    return time.perf_counter() - start, peak


def pass_over(x, centers):
    """Sum of squared distances to the nearest centre, and the means of the rows of each centre."""
    centers = np.asarray(centers, dtype=np.float32)
    total, sums, counts = 0.0, np.zeros(centers.shape), np.zeros(len(centers))
    for i in range(0, len(x), 250_000):
        part = x[i : i + 250_000]
        distances = -2 * part @ centers.T + (centers**2).sum(axis=1)
        labels = distances.argmin(axis=1)
        total += float((part.astype(float) ** 2).sum()) + float(distances[np.arange(len(part)), labels].sum(dtype=float))
        counts += np.bincount(labels, minlength=len(centers))
        for c in range(centers.shape[1]):
            sums[:, c] += np.bincount(labels, weights=part[:, c], minlength=len(centers))
    return total, sums / np.maximum(counts, 1)[:, None]


def reference(x, means, found):
    """The best SSE known: that of every contestant and of Lloyd's iteration from the true means."""
    for _ in range(5):
        _, means = pass_over(x, means)
    return min([pass_over(x, means)[0], *found])


def model_centers(name):
    return np.array(json.loads(name.read_text())["centers"])


def ours(program, data, folder, log):
    """The whole command, then sketch and fit apart: the next k needs the fit only."""
    results = []
    seconds, memory = measured([program, "kmeans", data, "-k", K, "-o", folder / "ours.json"])
    results.append(("compressive kmeans", seconds, memory, model_centers(folder / "ours.json")))
    log(f"compressive kmeans: {seconds:.2f} s, {memory:.0f} MB")
    sketching, _ = measured([program, "sketch", data, "-k", K, "-o", folder / "x.sketch"])
    fits = []
    for k in (K, NEXT_K):
        fits.append(measured([program, "fit", folder / "x.sketch", "--task", "kmeans", "-k", k, "-o", folder / f"fit-{k}.json"])[0])
    log(f"sketch {sketching:.2f} s, fit k = {K} {fits[0]:.2f} s, next k = {NEXT_K} {fits[1]:.2f} s")
    return results, (sketching, *fits)


def peers(data, folder, log):
    results = []
    for name, code in PEERS.items():
        out = folder / "centers.npy"
        script = f"import numpy as np\ndata, k, seed = {str(data)!r}, {K}, 0\n{textwrap.dedent(code)}\nnp.save({str(out)!r}, centers)\n"
        try:
            seconds, memory = measured([sys.executable, "-c", script])
        except RuntimeError as error:
            log(f"{name}: {str(error).splitlines()[-1]}")
            results.append((name, None, None, str(error).splitlines()[-1]))
            continue
        results.append((name, seconds, memory, np.load(out)))
        log(f"{name}: {seconds:.2f} s, {memory:.0f} MB")
    return results


def table(results, sse, best):
    """Rows with ratios to the first peer, the one that the bars name."""
    lines = ["| | seconds | peak memory, MB | RSSE | seconds, against KMeans | memory, against KMeans |", "|---|---|---|---|---|---|"]
    base = next((r for r in results if r[0].startswith("scikit-learn KMeans")), results[0])
    for (name, seconds, memory, what), value in zip(results, sse):
        if seconds is None:
            lines.append(f"| {name} | {what} | | | | |")
            continue
        lines.append(f"| {name} | {seconds:.2f} | {memory:.0f} | {value / best:.4f} | {seconds / base[1]:.2f} | {memory / base[2]:.3f} |")
    return lines, base


def verdicts(results, sse, best, base, next_k):
    ours_seconds, ours_memory = results[0][1:3]
    checks = [
        (f"at least twice as fast as KMeans(n_init=1): {base[1] / ours_seconds:.1f} times", base[1] >= 2 * ours_seconds),
        (f"at most a fifth of its memory: {ours_memory / base[2]:.3f}", ours_memory <= base[2] / 5),
        (f"RSSE at most 1.01: {sse[0] / best:.4f}", sse[0] <= 1.01 * best),
        (f"the next k from the same sketch in under a second: {next_k:.2f} s", next_k < 1.0),
    ]
    return [f"- **{'met' if met else 'missed'}**: {what}" for what, met in checks]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--program", type=pathlib.Path, help="a built program, instead of building one")
    parser.add_argument("--folder", type=pathlib.Path, help="where to keep the data; default: a temporary folder")
    args = parser.parse_args()
    full = args.rows == 10_000_000
    if not args.program:
        subprocess.run(["cargo", "build", "--release"], cwd=ROOT, check=True)
    program = args.program or ROOT / "target" / "release" / "compressive"
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or pathlib.Path(scratch)
        data = folder / f"separated-{args.rows}.npy"
        means = generate(data, args.rows)
        results, parts = ours(program, data, folder, lambda line: print(line, flush=True))
        results += peers(data, folder, lambda line: print(line, flush=True))
        x = np.load(data, mmap_mode="r")
        sse = [pass_over(x, r[3])[0] if r[1] else None for r in results]
        best = reference(x, means, [s for s in sse if s])
    lines, base = table(results, sse, best)
    lines += ["", f"The parts of ours: sketch {parts[0]:.2f} s, fit {parts[1]:.2f} s. The next k ({NEXT_K}) from the same sketch: {parts[2]:.2f} s.", ""]
    lines += verdicts(results, sse, best, base, parts[2])
    print("\n".join(lines))
    if full:
        write(lines, args.rows)


def write(lines, rows):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), platform.processor())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    text = ["# k-means end to end, beside what people run today", "",
            f"{rows:.0e} rows of {DIM} columns, f32 npy on disk (in the page cache), k = {K} unit Gaussians with means of standard deviation {SEPARATION} k^(1/d). Each in a process of its own; "
            "seconds include starting it and reading the file. RSSE is against the best SSE found by any of them or by Lloyd's iteration from the true means.", "", *lines, "",
            f"Made by `python benches/end_to_end.py` on {cpu}, {os.cpu_count()} cores, commit {commit}.", ""]
    target = ROOT / "docs" / "results" / "end-to-end.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
