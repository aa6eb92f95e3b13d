"""A recipe used on other rows than those it was made for: flights by month and by carrier."""

import json

import numpy as np

from real.bars import Point
from real.metrics import middle_and_worst, sse
from real.page import Grid, Section, number, with_worst

K = 10
# Bar, what it is called, whose recipe, whose rows: values of a grouping column, or all rows.
PAIRS = [
    ("slice-month", "January's recipe, July's rows", ("month", "1"), ("month", "7")),
    ("slice-carrier", "UA's recipe, EV's rows", ("carrier", "UA"), ("carrier", "EV")),
    ("slice-small", "all carriers' recipe, HA's rows", None, ("carrier", "HA")),
]


def chosen(table, rows, group):
    return rows if group is None else rows[table.groups(group[0]) == group[1]]


def centers(bench, sketch, seed):
    """Centres learned from a sketch."""
    return json.loads(bench.program.run("fit", sketch, "-k", K, "--seed", seed, "--json").text)["centers"]


def borrowed(bench, key, recipe, rows, seed):
    """Centres of the rows by another's recipe, and those of the others' own sketch."""

    def steps(folder):
        np.save(folder / "recipe.npy", recipe)
        np.save(folder / "rows.npy", rows)
        run, other = bench.program.run, folder / "other.sketch"
        run("sketch", folder / "recipe.npy", "-k", K, "--seed", seed, "-o", other)
        run("sketch", folder / "rows.npy", "--spec", other, "-o", folder / "slice.sketch")
        return {"slice": centers(bench, folder / "slice.sketch", seed), "other": centers(bench, other, seed)}

    return bench.program.kept(["borrowed", key, K, seed], steps)


def fits(bench, key, recipe, rows, seed):
    """Centres by kind; a recipe of the rows' own leaves out a column that is constant in the slice, and has none to compare."""
    own = bench.program.from_sketch(f"slice {key}", rows, K, seed)
    found = borrowed(bench, key, recipe, rows, seed)
    whole = "model" in own and len(own["model"]["centers"][0]) == rows.shape[1]
    return found | ({"own": own["model"]["centers"]} if whole else {}), (found, own)


def months_merged(bench, table, rows):
    """Whether January's recipe gives the same file for the year in one pass and for its months, sketched apart and merged."""

    def steps(folder):
        import pandas

        names = [f"x{i}" for i in range(rows.shape[1])]
        frame = pandas.DataFrame(rows, columns=names).assign(month=table.groups("month"))
        frame.to_csv(folder / "year.csv", index=False)
        np.save(folder / "january.npy", chosen(table, rows, ("month", "1")))
        run, spec = bench.program.run, ["--spec", folder / "january.sketch"]
        run("sketch", folder / "january.npy", "-k", K, "-o", folder / "january.sketch")
        run("sketch", folder / "year.csv", *spec, "-o", folder / "year.sketch")
        run("sketch", folder / "year.csv", *spec, "--by", "month", "-o", folder / "months")
        months = sorted((folder / "months").glob("*.sketch"))
        run("merge", *months, "-o", folder / "merged.sketch")
        same = (folder / "merged.sketch").read_bytes() == (folder / "year.sketch").read_bytes()
        return {"months": len(months), "same": same}

    return bench.program.kept(["months merged", K], steps)


def run(bench):
    table = bench.table("flights")
    if table is None:
        return Section("Slices", "Needs the table flights, which is not among those that are run.", [], [])
    rows, points = table.rows(), []
    grid = Grid("", ["slice", "rows", "RSSE", "by the rows' own recipe", "the others' centres"], [])
    for bar, name, whose, what in PAIRS:
        own, found = chosen(table, rows, what), {"slice": [], "own": [], "other": []}
        best = bench.peers.best(f"flights {what}", own, K)
        for seed in bench.seeds:
            learned, records = fits(bench, name, chosen(table, rows, whose), own, seed)
            for kind, values in found.items():
                values.append(sse(own, learned[kind]) / best if kind in learned else float("nan"))
            bench.log(
                f"slices {name} seed {seed}: " + ", ".join(f"{a} {b[-1]:.4f}" for a, b in found.items()), *records
            )
        cells = {kind: middle_and_worst(values) for kind, values in found.items()}
        grid.rows.append(
            [name, len(own), *(with_worst(cells[kind]) for kind in ("slice", "own")), number(cells["other"][0])]
        )
        points.append(Point(bar, name, cells["slice"][0]))
    merged = months_merged(bench, table, rows)
    points.append(Point("slice-merge", "months", float(merged.get("same", False))))
    text = (
        f"k-means with k = {K} of the rows of a slice of flights, from a sketch whose recipe was made for other rows; RSSE over the slice's rows. "
        f"{merged.get('months', 0)} months sketched by January's recipe and merged {'are' if merged.get('same') else 'are not'} the year's sketch, byte for byte"
        f"{' (' + merged['reason'] + ')' if 'reason' in merged else ''}."
    )
    return Section("Slices", text, [grid], points)
