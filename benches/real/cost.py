"""CPU seconds of a fit from the sketch: those of the k-means and mixtures sections, and on request alone."""

from real import kmeans, mixtures
from real.bars import Point
from real.metrics import middle_and_worst
from real.page import Grid, Section, with_worst

# Tables that may take longer than the bar says: many columns.
OWN_LIMITS = {"digits": 3.0}


def seconds(record):
    return record.get("cpu", float("nan"))


def of_table(bench, table):
    """CPU seconds of all fits of a table by what is learned."""
    found = {f"k-means, k = {k}": [kmeans.sketched(bench, table, k, s) for s in bench.seeds] for k in kmeans.KS}
    for kind in mixtures.kinds(table.shape[1]):
        trains = [mixtures.split(table.rows(), seed)[0] for seed in bench.seeds]
        fits = [mixtures.sketched(bench, table, t, kind, s) for t, s in zip(trains, bench.seeds, strict=True)]
        found[f"mixture, {kind}"] = fits
    return {what: middle_and_worst([seconds(record) for record in records]) for what, records in found.items()}


def run(bench):
    columns = [f"k-means, k = {k}" for k in kmeans.KS] + ["mixture, diag", "mixture, full"]
    grid, points = Grid("", ["table", *columns], []), []
    for table in bench.tables:
        found = of_table(bench, table)
        grid.rows.append([table.name, *(with_worst(found[c], 2) if c in found else "" for c in columns)])
        limit = OWN_LIMITS.get(table.name)
        points += [Point("time", f"{table.name} {what}", pair[0], limit) for what, pair in found.items()]
    text = (
        "CPU seconds, user and system of all threads, of the process `fit`; median over the seeds, the most in brackets. "
        f"Mixtures have k = {mixtures.K}. `none`: not finished within the limit of {bench.program.limit:g} CPU seconds."
    )
    return Section("Time of a fit", text, [grid], points)
