"""What an outline of the pilot is worth and what it weighs: RSSE and bytes with it and without."""

from real import kmeans
from real.bars import Point
from real.metrics import middle_and_worst
from real.page import Grid, Section, number

K = 10
# How a sketch is asked for no outline.
NONE = ("--no-outline",)


def of_table(bench, table, x, best, options):
    """Median RSSE and bytes of sketches with these options."""
    records = [
        bench.program.from_sketch(table.name, table.path, K, seed, sketch=(*table.scaling, *options))
        for seed in bench.seeds
    ]
    found = middle_and_worst([kmeans.relative(record, x, best) for record in records])[0]
    return found, records[0].get("bytes", float("nan")), records[0]


def run(bench):
    head = ["table", "as it comes", "none", "outline's bytes / the rest's"]
    grid, points = Grid(f"k = {K}: RSSE, kB", head, []), []
    for table in bench.tables:
        x = table.rows()
        best = bench.peers.best(table.name, x, K)
        found = [of_table(bench, table, x, best, options) for options in ((), NONE)]
        share = found[0][1] / found[1][1] - 1
        cells = [f"{number(rsse)}, {number(size / 1000, 1)}" for rsse, size, _ in found]
        grid.rows.append([table.name, *cells, number(share, 2)])
        points.append(Point("outline-bytes", table.name, share))
        bench.log(f"outline {table.name}: " + "; ".join(cells), *(record for *_, record in found))
    text = (
        "k-means from the sketch alone, medians over the seeds, and the kilobytes of the sketch's file with the recipe in it, with the outline and without. "
        "The last column: what the default outline adds to the file, relative to the file without."
    )
    return Section("Cells of the outline", text, [grid], points)
