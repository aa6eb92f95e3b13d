"""k-means from other sketches of the real tables: bits, sawtooth, landmarks, and private ones."""

import json
import math

import numpy as np

from real import kmeans
from real.bars import Point
from real.metrics import middle_and_worst
from real.page import Grid, Section, with_worst

K = 10
LARGER = 1.5
EPSILON, DELTA, LOOK = 1.0, 1e-6, 0.1
PRIVATE_ROWS = 20_000
# Rows that are taken as public where the recipe is made from public rows.
PUBLIC_ROWS = 5_000


def featured(bench, table, feature, size, seed):
    options = (*table.scaling, "--feature", feature, *(("--size", size) if size else ()))
    return bench.program.from_sketch(table.name, table.path, K, seed, sketch=options)


def released(bench, folder, data, spec, seed, public=()):
    """Sketch by a spec, private release, fit."""
    run, model = bench.program.run, folder / "model.json"
    run("sketch", data, "--spec", spec, "-o", folder / "plain.sketch")
    options = ["--epsilon", EPSILON, "--delta", DELTA, *public]
    run("privatize", folder / "plain.sketch", *options, "-o", folder / "private.sketch", "--quiet")
    ran = run("fit", folder / "private.sketch", "-k", K, "--seed", seed, "-o", model, "--quiet")
    return {"model": json.loads(model.read_text()), "cpu": ran.cpu}


def declared(x):
    """Bounds that one would declare: the range of each column, rounded outwards to half a unit of its size."""
    for c, (low, high) in enumerate(zip(x.min(axis=0), x.max(axis=0), strict=True)):
        step = 10.0 ** math.floor(math.log10(high - low)) / 2
        yield f"x{c}={math.floor(low / step) * step:g}:{math.ceil(high / step) * step:g}"


def from_bounds(bench, table, x, seed):
    """All that the recipe knows of the rows is declared bounds and a private look, which is paid for."""

    def steps(folder):
        n, d = x.shape
        budget = ["--rows", n, "--dim", d, "-k", K, "--epsilon", EPSILON, "--delta", DELTA]
        size = json.loads(bench.program.run("plan", *budget, "--json").text)["size"]
        bounds = [part for text in declared(x) for part in ("--bounds", text)]
        options = ["-k", K, "--size", size, *bounds, "--private", LOOK, "--seed", seed, "-o", folder / "spec.json"]
        bench.program.run("design", table.path, *options)
        return released(bench, folder, table.path, folder / "spec.json", seed)

    return bench.program.kept(["private, bounds", table.name, K, EPSILON, DELTA, seed], steps)


def from_public(bench, table, x, seed):
    """The recipe is made from some rows that are public; the others are sketched and released."""

    def steps(folder):
        order = np.random.default_rng([53, seed]).permutation(len(x))
        np.save(folder / "public.npy", x[order[:PUBLIC_ROWS]])
        np.save(folder / "rows.npy", x[order[PUBLIC_ROWS:]])
        options = ["-k", K, "--seed", seed, *table.scaling, "-o", folder / "spec.json"]
        bench.program.run("design", folder / "public.npy", *options)
        return released(bench, folder, folder / "rows.npy", folder / "spec.json", seed, ["--public-spec"])

    return bench.program.kept(["private, public rows", table.name, K, EPSILON, DELTA, seed], steps)


def of_table(bench, table):
    """Relative SSE of every kind of sketch, median and worst over the seeds."""
    x, found = table.rows(), {}
    best = bench.peers.best(table.name, x, K)
    for seed in bench.seeds:
        fourier = kmeans.sketched(bench, table, K, seed)
        larger = round(LARGER * fourier["size"]) if "size" in fourier else None
        records = {
            "fourier": fourier,
            "one-bit": featured(bench, table, "one-bit", larger, seed),
            "sawtooth": featured(bench, table, "sawtooth", larger, seed),
            "nystrom": featured(bench, table, "nystrom", None, seed),
        }
        if len(x) >= PRIVATE_ROWS:
            records |= {"bounds": from_bounds(bench, table, x, seed), "public": from_public(bench, table, x, seed)}
        for name, record in records.items():
            found.setdefault(name, []).append(kmeans.relative(record, x, best))
        text = ", ".join(f"{name} {values[-1]:.4f}" for name, values in found.items())
        bench.log(f"variants {table.name} seed {seed}: {text}", *records.values())
    return {name: middle_and_worst(values) for name, values in found.items()}


def run(bench):
    kinds = ["fourier", "one-bit", "sawtooth", "nystrom", "bounds", "public"]
    head = [
        "table",
        "Fourier",
        f"one-bit, {LARGER} m",
        f"sawtooth, {LARGER} m",
        "landmarks",
        "private, from bounds",
        "private, recipe of public rows",
    ]
    grid, points = Grid(f"k = {K}", head, []), []
    for table in bench.tables:
        found = of_table(bench, table)
        grid.rows.append([table.name, *(with_worst(found[kind]) if kind in found else "" for kind in kinds)])
        points.append(Point("variant-one-bit", table.name, found["one-bit"][0] - found["fourier"][0]))
        if "bounds" in found:
            points.append(Point("variant-private", table.name, found["bounds"][0]))
    text = (
        f"RSSE of k-means from the sketch alone; median over the seeds, the worst in brackets. Private: epsilon {EPSILON:g}, delta {DELTA:g}, tables of {PRIVATE_ROWS} rows or more; the recipe from declared bounds and a "
        f"private look that takes {LOOK:g} of epsilon, or from {PUBLIC_ROWS} rows that are public. The bar is on the first."
    )
    return Section("Other sketches", text, [grid], points)
