"""Private k-means beside diffprivlib, on the same files: writes docs/results/private-diffprivlib.md.

    python -m venv /tmp/private && /tmp/private/bin/pip install diffprivlib==0.6.6 "scikit-learn<1.9" numpy
    /tmp/private/bin/python benches/private_kmeans.py                                # about an hour and a half on two cores, most of them diffprivlib's
    /tmp/private/bin/python benches/private_kmeans.py --rows 1e5 --epsilon 1 --draws 2   # a smaller run that prints only

diffprivlib has an environment of its own because its newest version, 0.6.6, does not import with scikit-learn 1.9 (`cannot import name 'DOUBLE' from
'sklearn.tree._tree'`); 1.8 works. Both contestants read the same npy file, know that all columns lie in [-15, 15], and promise pure epsilon; seconds include
starting the process and reading the file, which is in the page cache. Ours pays for everything it learns from the rows: see `ours`.
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

import numpy as np
from verdict import bars

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIM, K, SEPARATION = 10, 10, 2.5
# The box that both are told, in every column.
LOW, HIGH = -15.0, 15.0
# Part of epsilon that ours pays for the scale of its frequencies.
PILOT_SHARE = 0.1
# Rows on which all sums of squares are taken.
EVALUATED = 100_000
ROWS = (1e5, 1e6, 1e7)
EPSILONS = {1e5: (0.01, 0.03, 0.1, 0.3, 1.0, 10.0), 1e6: (0.01, 0.03, 0.1, 0.3, 1.0, 10.0), 1e7: (0.01, 0.1, 1.0)}
DRAWS = {1e5: 10, 1e6: 3, 1e7: 1}

PEER = """
import sys
import numpy as np
from diffprivlib.models import KMeans
data, out, epsilon, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
model = KMeans({k}, epsilon=epsilon, bounds=({low}, {high}), random_state=seed).fit(np.load(data).astype(float))
np.save(out, model.cluster_centers_)
"""


def run(command):
    """The standard output of a command and its seconds."""
    start = time.perf_counter()
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout, time.perf_counter() - start


def planned_size(program, rows, epsilon):
    """The number of frequencies that the program recommends for so many rows."""
    text, _ = run([program, "plan", "--rows", rows, "--dim", DIM, "-k", K, "--epsilon", epsilon, "--json"])
    return json.loads(text)["size"]


def ours(program, data, rows, epsilon, folder, draw):
    """Centres and seconds of the private flow: plan (without data), a spec from the box with a private look at the scale, sketch, release, fit."""
    size = planned_size(program, rows, epsilon)
    spec, sketch, private, model = (folder / name for name in ("spec.json", "x.sketch", "p.sketch", "model.json"))
    seconds = 0.0
    for command in (
        ["design", data, "-k", K, "--size", size, "--bounds", f"{LOW}:{HIGH}", "--private", PILOT_SHARE * epsilon, "--seed", draw, "-o", spec],
        ["sketch", data, "--spec", spec, "-o", sketch],
        ["privatize", sketch, "--epsilon", epsilon, "-o", private],
        ["fit", private, "--task", "kmeans", "-k", K, "-o", model],
    ):
        seconds += run([program, *command])[1]
    return np.array(json.loads(model.read_text())["centers"]), seconds


def peer(data, epsilon, folder, draw):
    """Centres and seconds of diffprivlib."""
    out = folder / "centers.npy"
    code = PEER.format(k=K, low=LOW, high=HIGH)
    _, seconds = run([sys.executable, "-W", "ignore", "-c", code, data, out, epsilon, draw])
    return np.load(out), seconds


def sse(x, centers):
    """Sum of squared distances to the nearest centre."""
    distances = (x**2).sum(axis=1)[:, None] - 2 * x @ centers.T + (centers**2).sum(axis=1)
    return float(distances.min(axis=1).sum())


def reference(x, truth):
    """Lloyd's algorithm from the true means, on the rows that are evaluated."""
    from sklearn.cluster import KMeans

    means = np.array(json.loads(truth.read_text())["means"])
    return float(KMeans(K, init=means, n_init=1).fit(x).inertia_)


def one_draw(program, rows, epsilons, folder, draw):
    """For every epsilon: (relative SSE, seconds) of ours and of diffprivlib."""
    data, truth = folder / "x.npy", folder / "truth.json"
    run([program, "generate", "separated", "-n", rows, "-d", DIM, "-k", K, "--separation", SEPARATION, "--seed", draw, "--truth", truth, "-o", data])
    x = np.load(data, mmap_mode="r")[:EVALUATED].astype(float)
    best = reference(x, truth)
    results = {}
    for epsilon in epsilons:
        found = [ours(program, data, rows, epsilon, folder, draw), peer(data, epsilon, folder, draw)]
        results[epsilon] = [(sse(x, centers) / best, seconds) for centers, seconds in found]
        text = ", ".join(f"RSSE {value:.3f} in {seconds:.1f} s" for value, seconds in results[epsilon])
        print(f"n = {rows}, epsilon = {epsilon}, draw {draw}: {text}", flush=True)
    return results


def lines_of(rows, draws, epsilons):
    """Rows of the table: medians over the draws, and who is ahead."""
    lines = []
    for epsilon in epsilons:
        rsse, seconds = ([[draw[epsilon][who][what] for draw in draws] for who in (0, 1)] for what in (0, 1))
        (ours_rsse, peer_rsse), (ours_seconds, peer_seconds) = ([statistics.median(part) for part in both] for both in (rsse, seconds))
        verdict = "" if rows < 1e6 else "**met**: ahead" if ours_rsse < peer_rsse else "**missed**: behind"
        lines.append(
            f"| {rows:.0e} | {epsilon:g} | {len(draws)} | {ours_rsse:.3f} | {peer_rsse:.3f} | {ours_seconds:.1f} | {peer_seconds:.1f} | {verdict} |"
        )
    return lines


HEAD = [
    "| n | epsilon | draws | RSSE, compressive | RSSE, diffprivlib | seconds, compressive | seconds, diffprivlib | verdict |",
    "|---|---|---|---|---|---|---|---|",
]


def write(lines, command):
    import diffprivlib
    import sklearn

    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), platform.processor())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    cells = [line.strip("| ").split(" | ") for line in lines]
    checks = [(f"n = {row[0]}, epsilon = {row[1]}", "**met**" in row[-1]) for row in cells if "**" in row[-1]]
    text = [
        "# Private k-means beside diffprivlib",
        "",
        bars(checks),
        "",
        f"k = {K} unit Gaussians in d = {DIM} columns with means of standard deviation {SEPARATION} k^(1/d), f32 npy on disk (in the page cache). Both promise pure epsilon and are told that all columns "
        f"lie in [{LOW:g}, {HIGH:g}]. Ours is `plan`, `design --private` ({PILOT_SHARE:.0%} of epsilon), `sketch`, `privatize`, `fit`; the peer is `diffprivlib.models.KMeans({K}, epsilon, bounds)`. Medians over the draws; "
        f"RSSE is on the first {EVALUATED} rows, against Lloyd's algorithm from the true means on these rows. Seconds include starting processes and reading the file. Fewer draws where a fit of the peer takes long.",
        "",
        *HEAD,
        *lines,
        "",
        f"Made by `{command}` on {cpu}, {os.cpu_count()} cores, commit {commit}; diffprivlib {diffprivlib.__version__}, scikit-learn {sklearn.__version__}, numpy {np.__version__}.",
        "",
    ]
    (ROOT / "docs" / "results" / "private-diffprivlib.md").write_text("\n".join(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="+", default=list(ROWS), help="sizes of the table")
    parser.add_argument("--epsilon", type=float, nargs="+", help="budgets, instead of those of the table")
    parser.add_argument("--draws", type=int, help=f"draws, instead of {DRAWS}")
    parser.add_argument("--program", type=pathlib.Path, help="a built program, instead of building one")
    parser.add_argument("--folder", type=pathlib.Path, help="where to keep the data; default: a temporary folder")
    args = parser.parse_args()
    if not args.program:
        subprocess.run(["cargo", "build", "--release"], cwd=ROOT, check=True)
    program = args.program or ROOT / "target" / "release" / "compressive"
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for rows in args.rows:
            epsilons = args.epsilon or EPSILONS.get(rows, EPSILONS[1e6])
            draws = [one_draw(program, int(rows), epsilons, folder, draw) for draw in range(args.draws or DRAWS.get(rows, 1))]
            lines += lines_of(rows, draws, epsilons)
    print("\n".join(HEAD + lines))
    # A page is of the whole table; anything smaller is for the eyes.
    if args.rows == list(ROWS) and not args.epsilon:
        write(lines, "python benches/private_kmeans.py")


if __name__ == "__main__":
    sys.exit(main())
