"""The number of components that `-k auto` takes: iris, wine, and Gaussians whose number is known."""

import json

from real.bars import Point
from real.page import Grid, Section
from real.program import path_of
from real.synthetic import separated

REAL = ("iris", "wine")
# Components and columns of the drawn tables.
CELLS = ((2, 2), (3, 5), (5, 3), (8, 10))
ROWS = 20_000
TASKS = ("kmeans", "gmm")


def chosen(bench, key, rows, task, seed):
    """The k of a fit with `-k auto` from a sketch as it comes for the task."""

    def steps(folder):
        sketch = folder / "x.sketch"
        bench.program.run("sketch", path_of(rows, folder), "--task", task, "--seed", seed, "-o", sketch)
        learned = bench.program.run("fit", sketch, "--task", task, "-k", "auto", "--seed", seed, "--json")
        return {"k": json.loads(learned.text)["k"]}

    return bench.program.kept(["auto", key, task, seed], steps)


def run(bench):
    grid, points, right = Grid("", ["table", "true k", *(f"{task}: k chosen" for task in TASKS)], []), [], []
    for name in REAL:
        table = bench.table(name)
        if table is None:
            continue
        found = {task: [chosen(bench, name, table.path, task, seed).get("k") for seed in bench.seeds] for task in TASKS}
        grid.rows.append([name, "3 classes", *(", ".join(map(str, found[task])) for task in TASKS)])
        for task in TASKS:
            known = [k if k is not None else float("nan") for k in found[task]]
            points += [
                Point(bar, f"{name} {task}", pick(known)) for bar, pick in (("auto-least", min), ("auto-most", max))
            ]
        bench.log(f"auto {name}: {found}")
    for k, d in CELLS:
        found = {}
        for task in TASKS:
            runs = [
                chosen(bench, f"separated {k} {d}", separated(k, d, ROWS, seed), task, seed) for seed in bench.seeds
            ]
            found[task] = [record.get("k") for record in runs]
            right += [one == k for one in found[task]]
        grid.rows.append([f"Gaussians, d = {d}", k, *(", ".join(map(str, found[task])) for task in TASKS)])
        bench.log(f"auto separated k={k} d={d}: {found}")
    points.append(Point("auto-synthetic", "fits", sum(right) / len(right)))
    text = f"`fit -k auto` from the default sketch of the task, one number a seed. The Gaussians are {ROWS} rows with means at least 6 standard deviations apart."
    return Section("The number of components", text, [grid], points)
