"""Sketching speed beside numpy, in one run: writes the tables of docs/benchmarks.md.

    python benches/throughput.py            # all tables, about ten minutes on two cores
    python benches/throughput.py --quick    # a smaller run that prints only

Needs numpy and pyarrow (tests/requirements.txt) and builds the release program itself. Peers are measured between our own
measurements, each the best of several repeats, on the same machine, data and number of threads.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # the peers bring their own two threads

from concurrent.futures import ThreadPoolExecutor  # noqa: E402

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.csv  # noqa: E402
import pyarrow.parquet  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
THREADS = 2


def numpy_f32(x, omega, chunk=2048):
    """The best chunked numpy code: f32 product by BLAS, vectorised cos and sin, two threads."""

    def part(rows):
        sums = np.zeros(2 * omega.shape[1])
        for i in range(0, len(rows), chunk):
            t = rows[i : i + chunk] @ omega
            sums[: omega.shape[1]] += np.cos(t).sum(axis=0)
            sums[omega.shape[1] :] += np.sin(t).sum(axis=0)
        return sums

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(part, np.array_split(x, THREADS)))


def numpy_complex(x, omega, chunk=2048):
    """The formula of earlier toolboxes: complex128 exponential of the product, one thread."""
    sums = np.zeros(omega.shape[1], dtype=complex)
    for i in range(0, len(x), chunk):
        sums += np.exp(1j * (x[i : i + chunk].astype(float) @ omega)).sum(axis=0)
    return sums


def best(call, repeat):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def ours(binary, rows, dim, size, *flags, repeat=3):
    command = [binary, "--rows", rows, "--dim", dim, "--size", size, "--threads", THREADS, "--repeat", repeat, *flags]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["elements_per_second"]


def peers_table(binary, quick):
    """Elements (rows x frequencies) per second, and ratios to numpy."""
    lines = ["| d | m | feature | ours, 1e9/s | numpy f32, 1e9/s | ratio | complex128 formula, 1e9/s | ratio |", "|---|---|---|---|---|---|---|---|"]
    cases = [(10, 1000, 1_000_000), (100, 2000, 200_000), (784, 4000, 40_000)]
    for dim, size, rows in cases:
        rows = rows // 5 if quick else rows
        rng = np.random.default_rng(0)
        x = rng.normal(size=(rows, dim)).astype(np.float32)
        omega = (rng.normal(size=(dim, size)) / dim**0.5).astype(np.float32)
        variants = [("fourier", []), ("one-bit", ["--feature", "one-bit"]), ("sawtooth", ["--feature", "sawtooth"])]
        variants += [("fourier, structured", ["--structured"])] if dim >= 100 else []
        few = x[: max(2000, rows // 20)]
        complex_speed = len(few) * size / best(lambda: numpy_complex(few, omega.astype(float)), 2)
        for name, flags in variants:
            speed = ours(binary, rows, dim, size, *flags)
            peer = rows * size / best(lambda: numpy_f32(x, omega), 2)
            speed = max(speed, ours(binary, rows, dim, size, *flags))
            lines.append(f"| {dim} | {size} | {name} | {speed / 1e9:.2f} | {peer / 1e9:.3f} | **{speed / peer:.1f}** "
                         f"| {complex_speed / 1e9:.4f} | {speed / complex_speed:.0f} |")
            print(lines[-1], flush=True)
    return lines


def files_table(binary, folder, quick):
    """What reading costs over rows that are already in memory."""
    rows, dim, size = (200_000 if quick else 1_000_000), 10, 1000
    x = np.random.default_rng(0).normal(size=(rows, dim)).astype(np.float32)
    np.save(folder / "x.npy", x)
    table = pa.table({f"x{c}": x[:, c] for c in range(dim)})
    pyarrow.parquet.write_table(table, folder / "x.parquet", compression="snappy")
    pyarrow.csv.write_csv(table, folder / "x.csv")
    lines = ["| rows from | 1e9/s | cost over memory |", "|---|---|---|"]
    speeds = {"memory": 0.0, "x.npy": 0.0, "x.parquet": 0.0, "x.csv": 0.0}
    for _ in range(3):
        for name in speeds:
            flags = [] if name == "memory" else ["--file", folder / name]
            speeds[name] = max(speeds[name], ours(binary, rows, dim, size, *flags))
    for name, speed in speeds.items():
        cost = "" if name == "memory" else f"{100 * (speeds['memory'] / speed - 1):.1f}%"
        lines.append(f"| {name} | {speed / 1e9:.2f} | {cost} |")
        print(lines[-1], flush=True)
    return lines


def run_measured(command):
    """Wall seconds and peak resident megabytes of a command, read while it runs: rusage would count this process before exec."""
    start, peak = time.perf_counter(), 0.0
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peak = max([peak] + [int(line.split()[1]) / 1024 for line in status.splitlines() if "VmHWM" in line])
        except (FileNotFoundError, ProcessLookupError):
            break
        time.sleep(0.005)
    assert process.wait() == 0, command
    return time.perf_counter() - start, peak


def growth_table(program, folder, quick):
    """Seconds and memory of the whole command (design included) as n, m and d grow."""
    lines = ["| n | d | m | file | seconds | ns per row and frequency | peak memory, MB |", "|---|---|---|---|---|---|---|"]
    n_max = 1_000_000 if quick else 10_000_000
    cases = [(n, 10, 1000) for n in (100_000, 1_000_000, n_max)]
    cases += [(1_000_000, 10, m) for m in (250, 4000)] + [(1_000_000, d, 1000) for d in (2, 50)]
    for n, d, m in dict.fromkeys(cases):
        name = folder / f"{n}-{d}.npy"
        if not name.exists():
            file = np.lib.format.open_memmap(name, mode="w+", dtype=np.float32, shape=(n, d))
            rng = np.random.default_rng(1)
            for i in range(0, n, 1_000_000):
                file[i : i + 1_000_000] = rng.normal(size=(min(1_000_000, n - i), d))
            del file
        command = [program, "sketch", name, "-o", folder / "out.sketch", "--size", m]
        runs = [run_measured(command) for _ in range(3)]
        seconds, memory = min(r[0] for r in runs), max(r[1] for r in runs)
        lines.append(f"| {n:.0e} | {d} | {m} | npy | {seconds:.2f} | {1e9 * seconds / n / m:.3f} | {memory:.0f} |")
        print(lines[-1], flush=True)
    n = n_max
    x = pa.array(np.random.default_rng(2).normal(size=n).astype(np.float32))
    pyarrow.parquet.write_table(pa.table({f"x{c}": x for c in range(10)}), folder / "big.parquet", row_group_size=1_000_000)
    seconds, memory = run_measured([program, "sketch", folder / "big.parquet", "-o", folder / "out.sketch", "--size", 1000])
    lines.append(f"| {n:.0e} | 10 | 1000 | parquet | {seconds:.2f} | {1e9 * seconds / n / 1000:.3f} | {memory:.0f} |")
    print(lines[-1], flush=True)
    return lines


def instructions():
    """Instructions of the kernel under callgrind: a figure that repeats on any x86-64 machine of the same build."""
    subprocess.run(["cargo", "build", "--release", "-p", "compressive-kernels", "--examples"], cwd=ROOT, check=True)
    lines = ["| backend | instructions, d = 10, m = 1000, n = 2000 | per row and frequency |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as scratch:
        for backend in ("avx2", "scalar"):
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out",
                       str(ROOT / "target/release/examples/instructions"), backend]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            found = [line for line in done.stderr.splitlines() if "Collected" in line]
            if done.returncode != 0 or not found:
                return ["callgrind is not available here."]
            total = int(found[0].split(":")[1])
            lines.append(f"| {backend} | {total:,} | {total / 2e6:.2f} |")
            print(lines[-1], flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    subprocess.run(["cargo", "build", "--release"], cwd=ROOT, check=True)
    built = subprocess.run(["cargo", "bench", "-p", "compressive-cli", "--bench", "throughput", "--no-run", "--message-format=json"],
                           cwd=ROOT, check=True, capture_output=True, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    binary = next(m["executable"] for m in messages if m.get("target", {}).get("name") == "throughput" and m.get("executable"))
    program = ROOT / "target" / "release" / "compressive"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sections = [
            ("Against numpy", "Two threads, rows in memory, best of several runs; elements are rows times frequencies.", peers_table(binary, quick)),
            ("Reading", "d = 10, m = 1000, one million rows, two threads; the files are in the page cache.", files_table(binary, folder, quick)),
            ("Growth", "The whole command, with the design of the recipe; linear in n and m, flat in memory.", growth_table(program, folder, quick)),
            ("Instructions", "Counted by callgrind, so it repeats exactly; includes making the frequencies and rows.", instructions()),
        ]
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), platform.processor())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    text = ["# Benchmarks", "", f"Made by `python benches/throughput.py` on {cpu}, {os.cpu_count()} cores, numpy {np.__version__}, commit {commit}.",
            "Run it again to compare on your machine; what counts are the ratios, measured side by side in one run.",
            "Whole jobs beside numpy, scikit-learn, faiss and diffprivlib: [results/peers.md](results/peers.md).", ""]
    for title, note, lines in sections:
        text += [f"## {title}", "", note, "", *lines, ""]
    if not quick:
        (ROOT / "docs" / "benchmarks.md").write_text("\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
