"""Principal components of a million rows on disk beside scikit-learn: writes docs/results/pca-speed.md.

    python benches/pca.py                  # about a minute on two cores
    python benches/pca.py --rows 100000    # a smaller run that prints only

Needs numpy and scikit-learn and builds the release program itself. Every contestant reads the same f32 npy file in a process of its own; seconds include
starting it and reading the file, which is in the page cache. Peak memory is VmHWM of that process.
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

import numpy as np
from end_to_end import measured

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIM, K = 50, 5
DEVIATIONS = np.r_[5, 4, 3, 2.5, 2, 0.5 / np.sqrt(np.arange(1, DIM - K + 1))]

PEERS = {
    "scikit-learn IncrementalPCA, memory-mapped": """
        from sklearn.decomposition import IncrementalPCA
        model = IncrementalPCA(k, batch_size=10_000)
        x = np.load(data, mmap_mode="r")
        for i in range(0, len(x), 10_000):
            model.partial_fit(x[i : i + 10_000])
        components = model.components_
    """,
    "scikit-learn PCA, all rows in memory": """
        from sklearn.decomposition import PCA
        components = PCA(k).fit(np.load(data)).components_
    """,
}


def generate(name, rows):
    """Rows of the decaying spectrum in a random basis, as f32; returns their exact covariance."""
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    mean = 3 * rng.normal(size=DIM)
    file = np.lib.format.open_memmap(name, mode="w+", dtype=np.float32, shape=(rows, DIM))
    total, square = np.zeros(DIM), np.zeros((DIM, DIM))
    for i in range(0, rows, 100_000):
        n = min(100_000, rows - i)
        file[i : i + n] = rng.normal(size=(n, DIM)) * DEVIATIONS @ basis.T + mean
        part = file[i : i + n].astype(float)
        total += part.sum(axis=0)
        square += part.T @ part
    file.flush()
    total /= rows
    return square / rows - np.outer(total, total)


def excess(covariance, components):
    """Reconstruction error relative to the best subspace, minus one."""
    components = np.linalg.qr(np.asarray(components, float).T)[0].T
    best = np.linalg.eigvalsh(covariance)[:-K].sum()
    return (np.trace(covariance) - np.einsum("ki,ij,kj->", components, covariance, components)) / best - 1


def run_peer(code, folder):
    script = f"import numpy as np\nk, data = {K}, 'rows.npy'\n{textwrap.dedent(code)}\nnp.save('components.npy', components)\n"
    seconds, peak = measured([sys.executable, "-c", script], cwd=folder)
    return seconds, peak, np.load(folder / "components.npy")


def run_ours(program, folder, flags=()):
    seconds, peak = measured([program, "pca", "rows.npy", "-k", str(K), "-o", "model.json", "--quiet", *flags], cwd=folder)
    return seconds, peak, json.loads((folder / "model.json").read_text())["components"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--program", help="a program built before, instead of building the release one")
    args = parser.parse_args()
    program = args.program
    if program is None:
        subprocess.run(["cargo", "build", "--release", "-p", "compressive-cli"], cwd=ROOT, check=True)
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        program = target.resolve() / "release" / "compressive"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        covariance = generate(folder / "rows.npy", args.rows)
        megabytes = (folder / "rows.npy").stat().st_size / 2**20
        results = [("compressive pca (m = 4kd = 1000)", *run_ours(program, folder))]
        results.append(("compressive pca --size 500 (m = 2kd)", *run_ours(program, folder, ["--size", "500"])))
        results += [(peer, *run_peer(code, folder)) for peer, code in PEERS.items()]
    lines = ["| contestant | seconds | peak MB | excess error |", "|---|---|---|---|"]
    for label, seconds, peak, components in results:
        lines.append(f"| {label} | {seconds:.2f} | {peak:.0f} | {100 * excess(covariance, components):.4f}% |")
    text = "\n".join(lines)
    print(text)
    if args.rows == 1_000_000:
        page = (
            f"# PCA of a million rows\n\n{args.rows:,} rows of d = {DIM} columns, k = {K} components, a float32 npy file of {megabytes:.0f} MB in the page cache; "
            "the spectrum of [pca.md](pca.md). Seconds from start to end of a process; peak resident memory (pages of a mapped file included); excess "
            f"reconstruction error against exact PCA of the rows.\n\n{text}\n\nThe sketch of `compressive` merges, subtracts and serves any smaller k; the other models do not.\n\n"
            f"Made by `python benches/pca.py` on {platform.machine()}, {os.cpu_count()} cores.\n"
        )
        (ROOT / "docs" / "results" / "pca-speed.md").write_text(page)


if __name__ == "__main__":
    main()
