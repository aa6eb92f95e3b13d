"""The pass itself: mean cosines and sines of random frequencies, beside numpy with the same frequencies."""

import json
import pathlib
import struct
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from peers.harness import Contender, Job, count

# Frequencies on which the error of the means is taken, in double precision over all rows.
CHECKED = 32


def prepare(case, _program):
    """Rows, frequencies, and a spec that lists these very frequencies."""
    rng = np.random.default_rng(1)
    rows, dim, size = case["rows"], case["dim"], case["size"]
    np.save("rows.npy", rng.normal(size=(rows, dim)).astype(np.float32))
    omega = (rng.normal(size=(dim, size)) / dim**0.5).astype(np.float32)
    np.save("omega.npy", omega)
    spec = {
        "format": 1,
        "columns": [f"x{c}" for c in range(dim)],
        "transform": {"centre": [0.0] * dim, "spread": [1.0] * dim, "whiten": None},
        "bounds": None,
        "law": {"name": "explicit", "frequencies": omega.T.astype(float).tolist()},
        "scale": 1.0,
        "size": size,
        "structured": False,
        "feature": {"name": "fourier"},
        "dither": False,
        "seed": 0,
    }
    pathlib.Path("spec.json").write_text(json.dumps(spec))


def command_line(case):
    return [["sketch", "rows.npy", "--spec", "spec.json", "--threads", case["threads"], "-o", "rows.sketch", "--quiet"]]


def read_sketch():
    """Mean features of the sketch file, which is safetensors: the length of a JSON header, the header, the tensors."""
    data = pathlib.Path("rows.sketch").read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])

    def tensor(name, kind):
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(data[8 + length + begin : 8 + length + end], dtype=kind)

    return {"mean": tensor("sums", "<i8") / float(tensor("counts", "<i8")[1])}


def package(case):
    from compressive import Sketch, SketchSpec

    spec = SketchSpec.from_json(pathlib.Path("spec.json").read_text())
    return {"mean": Sketch(spec).update(np.load("rows.npy"), threads=case["threads"]).mean}


def sums_of(rows, omega, block):
    """Sums of cosines and sines, a block of rows at a time."""
    size = omega.shape[1]
    sums = np.zeros(2 * size)
    for i in range(0, len(rows), block):
        t = rows[i : i + block] @ omega
        sums[:size] += np.cos(t).sum(axis=0)
        sums[size:] += np.sin(t).sum(axis=0)
    return sums


def plain(_case):
    x = np.load("rows.npy")
    return {"mean": sums_of(x, np.load("omega.npy"), 10_000) / len(x)}


def threaded(case):
    """Blocks that fit the cache, and a thread for each core: numpy lets go of the interpreter inside its loops."""
    x, omega = np.load("rows.npy"), np.load("omega.npy")
    with ThreadPoolExecutor(case["threads"]) as pool:
        parts = pool.map(lambda part: sums_of(part, omega, 2048), np.array_split(x, case["threads"]))
    return {"mean": sum(parts) / len(x)}


def measure(case, result):
    """The largest error of a mean feature, over some frequencies and all rows, against double precision."""
    x, size = np.load("rows.npy", mmap_mode="r"), case["size"]
    few = min(CHECKED, size)
    exact = np.zeros(2 * few)
    omega = np.load("omega.npy")[:, :few].astype(float)
    for i in range(0, len(x), 50_000):
        t = x[i : i + 50_000].astype(float) @ omega
        exact += np.r_[np.cos(t).sum(axis=0), np.sin(t).sum(axis=0)]
    found = np.r_[result["mean"][:few], result["mean"][size : size + few]]
    return float(np.abs(found - exact / len(x)).max())


JOBS = [
    Job(
        name="sketch",
        title=lambda case: f"sketch, {count(case['rows'])} x {case['dim']}, m = {case['size']}",
        full={"rows": 1_000_000, "dim": 10, "size": 1000},
        quick={"rows": 20_000, "dim": 10, "size": 100},
        peer="numpy-threads",
        contenders=[
            Contender("ours", "`compressive sketch`", commands=command_line, read=read_sketch),
            Contender(
                "package", "`compressive.Sketch.update`", run=package, needs=("compressive",), packages=("compressive",)
            ),
            Contender("numpy", "numpy, blocks of 10,000 rows", run=plain, packages=("numpy",)),
            Contender(
                "numpy-threads", "numpy, small blocks, a thread for each core", run=threaded, packages=("numpy",)
            ),
        ],
        prepare=prepare,
        measure=measure,
        shown=lambda case, raw: raw,
        quality="largest error",
        form="{:.1e}",
        tolerance=1e-6,
        note="The same rows and the same frequencies, f32; numpy is written as a user would, `x @ omega`, then `cos` and `sin` of the block, summed. Quality is the largest error of a mean feature "
        f"against double precision, over {CHECKED} frequencies and all rows. Ours sums integers: the same bytes for any order of rows and number of threads. "
        "numpy's product already runs on all threads in the first version; its cosines do not.",
        rates=True,
    )
]
