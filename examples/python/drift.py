"""A sketch cube: one sketch per day and region, and what can be asked of it after the rows are gone.

A delivery company keeps, of each day and region, a sketch instead of the rows. Four weeks later it

1. adds days to weeks and regions to the whole country, exactly;
2. finds the day on which a meter in the north reported miles as kilometres;
3. takes that day out again, without the rows;
4. sees that the south has changed for good from the fourth week on, and what has changed.

    python drift.py                          # writes drift.png
    python drift.py --rows 50000             # rows per day and region
"""

from __future__ import annotations

import argparse
import pathlib
from functools import reduce
from operator import add

import compressive
import numpy as np

DAYS, REGIONS = 28, ["north", "south", "west"]
COLUMNS = ["distance_km", "minutes", "price"]
BAD_DAY, CHANGE = 16, 21


def deliveries(day: int, region: str, n_rows: int) -> np.ndarray:
    """One day's deliveries in one region: short trips in town and long ones outside, of shape (n, 3)."""
    rng = np.random.default_rng([day, REGIONS.index(region)])
    long_share = {"north": 0.3, "south": 0.2, "west": 0.5}[region]
    if region == "south" and day >= CHANGE:
        long_share = 0.35
    long = rng.random(n_rows) < long_share
    distance = np.where(long, rng.normal(22, 4, n_rows), rng.normal(5, 1.2, n_rows))
    minutes = 6 + 2.1 * distance - 0.5 * np.where(long, distance, 0) + rng.normal(0, 3, n_rows)
    price = 3 + 0.9 * distance + rng.normal(0, 0.8, n_rows)
    if region == "north" and day == BAD_DAY:
        distance = distance / 1.609
    return np.column_stack([distance, minutes, price])


def total(cube: dict[tuple[int, str], compressive.Sketch], days: range, regions: list[str]) -> compressive.Sketch:
    """The sketch of all rows of these days and regions."""
    return reduce(add, (cube[day, region] for day in days for region in regions))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000, help="rows per day and region")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("drift.png"))
    args = parser.parse_args()

    # One recipe for all, from a sample of the first day: only sketches of one recipe can be added and compared.
    first_day = np.vstack([deliveries(0, region, args.rows) for region in REGIONS])
    spec = compressive.design(first_day, 2, task="gmm", columns=COLUMNS)

    # The nightly job. The rows could be deleted afterwards.
    cube = {}
    for day in range(DAYS):
        rows = np.vstack([deliveries(day, region, args.rows) for region in REGIONS])
        by_region = compressive.sketch(rows, spec, by=np.repeat(REGIONS, args.rows))
        cube.update({(day, region): sketch for region, sketch in by_region.items()})
    size = sum(len(sketch.to_bytes()) for sketch in cube.values())
    print(f"{len(cube)} sketches of {DAYS * len(REGIONS) * args.rows:,} rows: {size / 1000:.0f} kB")

    # 1. Any slice is a sum, and the sum is exact: the same bytes as from the rows.
    week = total(cube, range(7), REGIONS)
    rows = np.vstack([deliveries(day, region, args.rows) for day in range(7) for region in REGIONS])
    assert week.to_bytes() == compressive.sketch(rows, spec).to_bytes()
    print(f"first week: {week.rows:,} rows, the same bytes as sketched in one go")

    # 2. Each day of each region against the region's first two weeks.
    usual = {region: total(cube, range(14), [region]) for region in REGIONS}
    level = 0.05 / len(cube)
    alarms = [key for key, sketch in cube.items() if compressive.compare(usual[key[1]], sketch)["p_value"] < level]
    print("days that differ:", ", ".join(f"{region} {day}" for day, region in alarms))

    # 3. The bad day goes; what is left is what would have been sketched without it.
    third_week = total(cube, range(14, 21), ["north"])
    cleaned = third_week - cube[BAD_DAY, "north"]
    for name, sketch in [("with", third_week), ("without", cleaned)]:
        p_value = compressive.compare(usual["north"], sketch)["p_value"]
        print(f"third week in the north {name} day {BAD_DAY}: {sketch.rows:,} rows, p-value {p_value:.2g}")

    # 4. What has changed in the south: a mixture from the sums of the weeks before and after.
    for name, days in [("before", range(CHANGE)), ("after", range(CHANGE, DAYS))]:
        found = compressive.fit_gmm(total(cube, days, ["south"]), 2, "full").parameters
        order = np.argsort(found["means"][:, 0])
        shares = " and ".join(f"{found['weights'][i]:.0%} of about {found['means'][i, 0]:.1f} km" for i in order)
        print(f"south, {name} day {CHANGE}: {shares}")

    draw(cube, usual, args.output)


def draw(
    cube: dict[tuple[int, str], compressive.Sketch], usual: dict[str, compressive.Sketch], output: pathlib.Path
) -> None:
    """Drift over the days, a panel for each region."""
    import matplotlib as mpl

    mpl.use("Agg")
    import compressive.plot
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(len(REGIONS), sharex=True, sharey=True, figsize=(8, 7), layout="constrained")
    for region, ax in zip(REGIONS, panels, strict=True):
        compressive.plot.drift({day: cube[day, region] for day in range(DAYS)}, usual[region], ax=ax)
        ax.set_title(region, loc="left")
        if region != REGIONS[0]:
            ax.get_legend().remove()
        ax.set_ylabel("distance to\nthe first two weeks")
    panels[-1].set_xlabel("day")
    figure.savefig(output, dpi=120)
    print(f"{output}: drift of each region")


if __name__ == "__main__":
    main()
