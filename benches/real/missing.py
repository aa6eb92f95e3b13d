"""k-means of tables of which entries are missing completely at random, judged on the complete rows."""

import numpy as np

from real.bars import Point
from real.kmeans import relative
from real.metrics import middle_and_worst
from real.page import Grid, Section, with_worst

SHARES = (0.02, 0.1)
K = 5
TABLES = 6


def with_gaps(x, share, seed):
    """The rows without this share of their entries."""
    gaps = np.random.default_rng(1000 + seed).random(x.shape) < share
    return np.where(gaps, np.nan, x)


def of_table(bench, table, share):
    """Relative SSE on the complete rows for each seed: from the sketch alone, and in one line."""
    x, found = table.rows(), {"sketch": [], "line": []}
    best = bench.peers.best(table.name, x, K)
    for seed in bench.seeds:
        rows, key = with_gaps(x, share, seed), f"{table.name} without {share:g}, {seed}"
        record = bench.program.from_sketch(key, rows, K, seed, sketch=table.scaling)
        line = bench.program.one_liner(key, rows, K, seed, options=table.scaling)
        for name, done in (("sketch", record), ("line", line)):
            found[name].append(relative(done, x, best))
        bench.log(f"missing {key}: {found['sketch'][-1]:.4f}, one-liner {found['line'][-1]:.4f}", record, line)
    return {name: middle_and_worst(values) for name, values in found.items()}


def run(bench):
    grid, points = Grid("", ["table", "missing", "sketch alone", "one-liner"], []), []
    for table in sorted(bench.tables, key=lambda table: table.shape[0] * table.shape[1])[:TABLES]:
        for share in SHARES:
            found = of_table(bench, table, share)
            grid.rows.append([table.name, f"{share:.0%}", with_worst(found["sketch"]), with_worst(found["line"])])
            points.append(Point(f"missing-{share:.0%}", table.name, found["sketch"][0]))
    text = (
        f"Entries left out completely at random, k = {K}; RSSE of the centres on the complete rows. Missing entries are filled with the column's centre, "
        "as the program does without being asked."
    )
    return Section("Missing entries", text, [grid], points)
