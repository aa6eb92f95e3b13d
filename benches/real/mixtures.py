"""Gaussian mixtures of the real tables on rows that were held out: nats a row, beside EM and one Gaussian."""

import numpy as np

from real.bars import Point
from real.metrics import nats, one_gaussian
from real.page import Grid, Section, number

K = 5
HELD_OUT = 0.2
# Full covariances have d^2 / 2 numbers a component; tables with more columns are modelled with diagonal ones.
FULL_COLUMNS = 20


def kinds(d):
    return ("diag", "full") if d <= FULL_COLUMNS else ("diag",)


def split(x, seed):
    """Training and held-out rows."""
    order = np.random.default_rng([19, seed]).permutation(len(x))
    held = int(HELD_OUT * len(x))
    return np.ascontiguousarray(x[order[held:]]), x[order[:held]]


def sketched(bench, table, train, kind, seed):
    """A mixture from the default sketch of the training rows alone."""
    return bench.program.from_sketch(f"{table.name} train", train, K, seed, task="gmm", fit=("--covariance", kind))


def score(record, test, spread):
    if "model" not in record:
        return float("nan")
    try:
        return nats(record["model"], test, spread)
    except np.linalg.LinAlgError:  # a covariance that is none
        return float("-inf")


def of_table(bench, table, kind):
    """Median over the seeds of the nats a row of all contestants; a split for each seed."""
    x, found = table.rows(), {"sketch": [], "line": [], "em": [], "gaussian": []}
    spread, centre = x.std(axis=0), x.mean(axis=0)
    for seed in bench.seeds:
        train, test = split(x, seed)
        scaled = (train - centre) / spread, (test - centre) / spread
        record = sketched(bench, table, train, kind, seed)
        line = bench.program.one_liner(f"{table.name} train", train, K, seed, "gmm", ("--covariance", kind))
        values = {
            "sketch": score(record, test, spread),
            "line": score(line, test, spread),
            "em": bench.peers.em(table.name, *scaled, K, kind, seed),
            "gaussian": one_gaussian(*scaled, kind == "full"),
        }
        for name, value in values.items():
            found[name].append(value)
        bench.promise(table.name, record, values["em"] - values["sketch"])
        bench.log(
            f"mixtures {table.name} {kind} seed {seed}: " + ", ".join(f"{a} {b:.3f}" for a, b in values.items()),
            record,
            line,
        )
    return {name: np.array(values) for name, values in found.items()}


def middle(values):
    """Median; a run that gave nothing is the worst there is."""
    median = float(np.median(np.where(np.isnan(values), -np.inf, values)))
    return float("nan") if np.isneginf(median) else median


def losses(found, name):
    """EM's nats minus these, median and worst over the seeds: a loss for each split, since splits differ more than methods."""
    lost = found["em"] - np.where(np.isnan(found[name]), -np.inf, found[name])
    return float(np.median(lost)), float(lost.max())


def run(bench):
    grids, points = [], []
    for kind in ("diag", "full"):
        grid = Grid(
            f"{kind}, k = {K}",
            [
                "table",
                "d",
                "sketch alone",
                "one-liner",
                "EM",
                "one Gaussian",
                "lost a column, sketch",
                "lost a column, one-liner",
            ],
            [],
        )
        for table in bench.tables:
            d = table.shape[1]
            if kind not in kinds(d):
                continue
            found = of_table(bench, table, kind)
            cells = [number(middle(found[name]), 2) for name in ("sketch", "line", "em", "gaussian")]
            lost = {name: [value / d for value in losses(found, name)] for name in ("sketch", "line")}
            cells += [f"{number(lost[name][0])} ({number(lost[name][1])})" for name in ("sketch", "line")]
            grid.rows.append([table.name, d, *cells])
            points += points_of(table, kind, found, lost)
        grids.append(grid)
    text = (
        "Mean log density, in nats a row, of 20% of the rows that were held out, columns z-scored; medians over the seeds, each with a split of its own. EM is scikit-learn's GaussianMixture on the training rows "
        "(reg_covar 1e-3, the best of 3 starts by its own bound). Lost: EM's nats minus ours, by column; the worst seed in brackets."
    )
    return Section("Mixtures", text, grids, points)


def points_of(table, kind, found, lost):
    worse = [middle(found["gaussian"]) - middle(found[name]) for name in ("sketch", "line")]
    below = [
        Point("mixture-gaussian", f"{table.name} {kind} {name}", value)
        for name, value in zip(("sketch", "one-liner"), worse, strict=True)
    ]
    if kind == "full":
        return [*below, Point("mixture-full", table.name, lost["sketch"][0])]
    return [
        *below,
        Point("mixture-diag", table.name, lost["sketch"][0]),
        Point("mixture-one", table.name, lost["line"][0]),
    ]
