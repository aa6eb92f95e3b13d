"""The Python package beside the command line and beside scikit-learn: writes docs/results/python.md.

    pip install ./crates/compressive-py scikit-learn
    python benches/python.py                  # about two minutes on two cores
    python benches/python.py --rows 200000    # a smaller run that prints only

First the pass alone: seconds that `Sketch.update` and `compressive sketch` take for the same rows, spec and file in the page cache, in turns. Then k-means end
to end: every contestant reads the same float32 npy file in a process of its own; seconds include starting it and reading the file. Peak memory is VmHWM.
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
import textwrap
import time

import numpy as np
from end_to_end import DIM, K, generate, measured, pass_over, reference
from verdict import against

ROOT = pathlib.Path(__file__).resolve().parent.parent
PASS_ROWS, TURNS = 1_000_000, 7

CONTESTANTS = {
    "compressive.KMeans, labels included": """
        from compressive import KMeans
        model = KMeans(n_clusters=k, random_state=0).fit(np.load(data))
        labels, centers = model.labels_, model.cluster_centers_
    """,
    "compressive.KMeans of the file itself, centres alone": """
        from compressive import KMeans
        centers = KMeans(n_clusters=k, random_state=0).fit(data).cluster_centers_
    """,
    "scikit-learn KMeans(n_init=1), labels included": """
        from sklearn.cluster import KMeans
        model = KMeans(n_clusters=k, n_init=1, random_state=0).fit(np.load(data))
        labels, centers = model.labels_, model.cluster_centers_
    """,
}


def passes(program, folder, rows):
    """Median seconds of the pass by the command line and by Python, in turns, and whether the sketches have the same bytes."""
    import compressive

    generate(folder / "pass.npy", rows)
    command = [program, "sketch", "pass.npy", "--spec", "spec.json", "-o", "cli.sketch", "--json"]
    spec = compressive.design(folder / "pass.npy", k=K)
    (folder / "spec.json").write_text(spec.to_json())
    values = np.load(folder / "pass.npy")
    seconds = {"cli": [], "python": []}
    for _ in range(TURNS):
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
        seconds["cli"].append(json.loads(done.stdout)["seconds"])
        start = time.perf_counter()
        sketch = compressive.Sketch(spec).update(values)
        seconds["python"].append(time.perf_counter() - start)
    same = (folder / "cli.sketch").read_bytes() == sketch.to_bytes()
    return statistics.median(seconds["cli"]), statistics.median(seconds["python"]), same, spec.size


def kmeans(folder, rows):
    """Label, seconds, peak megabytes and relative SSE of each contestant."""
    means = generate(folder / "rows.npy", rows)
    values = np.load(folder / "rows.npy", mmap_mode="r")
    results = []
    for label, code in CONTESTANTS.items():
        script = f"import numpy as np\nk, data = {K}, 'rows.npy'\n{textwrap.dedent(code)}\nnp.save('centers.npy', centers)\n"
        seconds, peak = measured([sys.executable, "-c", script], cwd=folder)
        print(f"{label}: {seconds:.2f} s, {peak:.0f} MB", file=sys.stderr, flush=True)
        results.append((label, seconds, peak, pass_over(values, np.load(folder / "centers.npy"))[0]))
    best = reference(values, means, [loss for *_, loss in results])
    return [(label, seconds, peak, loss / best) for label, seconds, peak, loss in results]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--program", type=pathlib.Path, help="a program built before, instead of building the release one")
    args = parser.parse_args()
    program = args.program and args.program.resolve()
    if program is None:
        subprocess.run(["cargo", "build", "--release", "-p", "compressive-cli"], cwd=ROOT, check=True)
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        program = target.resolve() / "release" / "compressive"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cli, python, same, size = passes(program, folder, min(args.rows, PASS_ROWS))
        results = kmeans(folder, args.rows)
    overhead = (
        f"The pass alone, {min(args.rows, PASS_ROWS):,} x {DIM} float32, m = {size}, median of {TURNS} in turns: command line {cli:.3f} s, `Sketch.update` of the array in memory {python:.3f} s: "
        f"{100 * (python / cli - 1):+.1f}%; the sketches have {'the same' if same else 'DIFFERENT'} bytes."
    )
    lines = ["| contestant | seconds | peak MB | relative SSE |", "|---|---|---|---|"]
    lines += [f"| {label} | {seconds:.2f} | {peak:.0f} | {loss:.4f} |" for label, seconds, peak, loss in results]
    table = "\n".join(lines)
    ours, peer = results[0], results[-1]
    verdict = (
        f"**Verdict**: the pass costs {100 * (python / cli - 1):+.1f}% against the command line; k-means is {against(ours[1:3], peer[1:3], 'scikit-learn')}, "
        f"at a relative SSE of {ours[3]:.4f} against {peer[3]:.4f}."
    )
    print(f"{overhead}\n\n{table}")
    if args.rows == 10_000_000:
        page = (
            f"# The Python package\n\n{verdict}\n\n{overhead}\n\nk-means end to end: {args.rows:,} rows of {DIM} columns, k = {K}, a float32 npy file in the page cache. Seconds from start to end of a process, "
            "imports included; peak resident memory, pages of the file included; SSE relative to the best known, Lloyd's iteration from the true means included.\n\n"
            f"{table}\n\nMade by `python benches/python.py` on {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.\n"
        )
        (ROOT / "docs" / "results" / "python.md").write_text(page)


if __name__ == "__main__":
    main()
