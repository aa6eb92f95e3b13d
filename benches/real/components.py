"""Principal components of the real tables, beside the exact ones."""

import json

from real.bars import Point
from real.metrics import excess_error, middle_and_worst
from real.page import Grid, Section

KS = (2, 5)


def error(record, x):
    return excess_error(x, record["model"]["components"]) if "model" in record else float("nan")


def shown(pair):
    return "none" if pair[0] != pair[0] else f"{pair[0]:.1e} ({pair[1]:.1e})"


def from_waves(bench, table, k, seed):
    """Components from the sketch that was made for k-means."""

    def steps(folder):
        sketch = folder / "x.sketch"
        bench.program.run("sketch", table.path, "-k", 10, "--seed", seed, *table.scaling, "-o", sketch)
        learned = bench.program.run("fit", sketch, "--task", "pca", "-k", k, "--seed", seed, "--json")
        return {"model": json.loads(learned.text)}

    return bench.program.kept(["components of a k-means sketch", table.name, k, seed], steps)


def run(bench):
    grid, points = Grid("", ["table", "k", "`--task pca`", "the sketch for k-means"], []), []
    for table in bench.tables:
        x, columns = table.rows(), table.shape[1]
        for k in sorted({min(k, columns - 1) for k in KS}):
            own = [bench.program.from_sketch(table.name, table.path, k, s, task="pca") for s in bench.seeds]
            waves = [from_waves(bench, table, k, seed) for seed in bench.seeds]
            pairs = [middle_and_worst([error(record, x) for record in records]) for records in (own, waves)]
            grid.rows.append([table.name, k, *map(shown, pairs)])
            points.append(Point("pca-excess", f"{table.name} k={k}", pairs[0][0]))
            bench.log(f"pca {table.name} k={k}: {shown(pairs[0])}, {shown(pairs[1])}", own[0], waves[0])
    text = (
        "Squared error of the rows' projections beyond that of the best k components, relative to the total variance; median over the seeds, the worst in brackets. "
        "From a sketch made with `--task pca`, and from the one made for k-means, where moments are kept."
    )
    return Section("Principal components", text, [grid], points)
