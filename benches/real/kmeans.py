"""k-means of the real tables: from the sketch alone and in one line, beside what people run today."""

import numpy as np

from real import tables
from real.bars import Point
from real.metrics import middle_and_worst, sse
from real.page import Grid, Section, number, with_worst

KS = (5, 10)
# How far above the sample a table may be that the sample itself does not get right.
ABOVE_SAMPLE = 0.02
BYTES_PER_VALUE = 4
RAW = ("diamonds", "wine", "flights")


def relative(record, x, best):
    """SSE over all rows, relative to the best; NaN where nothing was learned."""
    return sse(x, record["model"]["centers"]) / best if "model" in record else float("nan")


def sketched(bench, table, k, seed):
    """k-means from the default sketch alone."""
    return bench.program.from_sketch(table.name, table.path, k, seed, sketch=table.scaling)


def one_line(bench, table, k, seed):
    return bench.program.one_liner(table.name, table.path, k, seed, options=table.scaling)


def of_table(bench, table, k):
    """Relative SSE for each seed of everything that is compared on one table."""
    x, found, size = table.rows(), {}, None
    best = bench.peers.best(table.name, x, k)
    for seed in bench.seeds:
        record, line = sketched(bench, table, k, seed), one_line(bench, table, k, seed)
        size = record.get("bytes", size)
        equal = (size or 0) // (BYTES_PER_VALUE * x.shape[1])
        values = {
            "sketch": relative(record, x, best),
            "line": relative(line, x, best),
            "sample": bench.peers.sampled(table.name, x, k, seed) / best,
            "batch": bench.peers.mini_batch(table.name, x, k, seed) / best,
            "equal": bench.peers.sampled(table.name, x, k, seed, equal) / best if size else float("nan"),
        }
        for name, value in values.items():
            found.setdefault(name, []).append(value)
        bench.promise(table.name, record, values["sketch"] - 1)
        bench.promise(table.name, line, values["line"] - 1)
        bench.log(
            f"kmeans {table.name} k={k} seed {seed}: " + ", ".join(f"{a} {b:.4f}" for a, b in values.items()),
            record,
            line,
        )
    return {name: middle_and_worst(values) for name, values in found.items()}, size


def points_of(table, k, found):
    label, sample = f"{table.name} k={k}", found["sample"][0]
    return [
        Point(f"kmeans-most-{k}", table.name, found["sketch"][0]),
        Point("kmeans-none", label, found["sketch"][0], max(1.05, sample + ABOVE_SAMPLE)),
        Point("kmeans-one", label, found["line"][0] - sample),
    ]


def run(bench):
    points, grids = [], []
    for k in KS:
        grid = Grid(
            f"k = {k}",
            [
                "table",
                "n x d",
                "sketch alone",
                "one-liner",
                "10,000 rows",
                "sketch / 10,000 rows",
                "MiniBatchKMeans",
                "sample of the sketch's bytes",
                "kB",
            ],
            [],
        )
        for table in bench.tables:
            found, size = of_table(bench, table, k)
            n, d = table.shape
            ratio = found["sketch"][0] / found["sample"][0]
            cells = [with_worst(found[name]) for name in ("sketch", "line", "sample")]
            cells += [
                number(ratio),
                with_worst(found["batch"]),
                with_worst(found["equal"]),
                number((size or 0) / 1000, 1),
            ]
            grid.rows.append([table.name, f"{n} x {d}", *cells])
            points += points_of(table, k, found)
        grids.append(grid)
    raw_grid, raw_points = in_python(bench)
    text = (
        "RSSE: the sum of squares over all rows relative to the best of many starts of scikit-learn's KMeans; median over the seeds, the worst in brackets. "
        "`sketch`, then `fit` without the rows; `kmeans DATA`; k-means on 10,000 random rows; MiniBatchKMeans of all rows; k-means on as many random rows (4 bytes a value) as the sketch's file has bytes."
    )
    return Section("k-means", text, grids + raw_grid, points + raw_points)


def in_python(bench):
    """The package's KMeans on tables in their own units, scored in plain Euclidean distance."""
    wanted = [table for table in bench.tables if table.name in RAW]
    if not wanted:
        return [], []
    try:
        import compressive
    except ImportError:
        bench.log("kmeans in Python: left out, the package is not installed (pip install ./crates/compressive-py)")
        return [], []
    grid, points = Grid("Columns in their own units: Python's `KMeans`", ["table", "k", "RSSE", "10,000 rows"], []), []
    for table in wanted:
        x = np.ascontiguousarray(tables.raw(table))
        for k in KS:
            best, key = bench.peers.best(f"{table.name} raw", x, k), f"{table.name} raw"
            fitted = [compressive.KMeans(n_clusters=k, random_state=seed).fit(x) for seed in bench.seeds]
            found = middle_and_worst([sse(x, model.cluster_centers_) / best for model in fitted])
            sample = middle_and_worst([bench.peers.sampled(key, x, k, seed) / best for seed in bench.seeds])
            grid.rows.append([table.name, k, with_worst(found), with_worst(sample)])
            points.append(Point("kmeans-raw", f"{table.name} k={k}", found[0]))
            bench.log(f"kmeans in Python {table.name} k={k}: {found}")
    return [grid], points
