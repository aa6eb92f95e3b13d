"""Tables that broke the estimate of the scale: heavy tails, outliers, tight clusters, flat components."""

from real import synthetic
from real.bars import Point
from real.kmeans import relative
from real.metrics import mean_log_density, middle_and_worst
from real.page import Grid, Section, with_worst

HEAVY = {"student": "Student, 2 degrees", "outliers": "Gaussian, 5% outliers"}
TIGHT = (0.1, 0.01)


def heavy_tailed(bench, kind):
    """RSSE for each seed, each with a table of its own; and k-means on 10,000 rows beside."""
    found, sample = [], []
    for seed in bench.seeds:
        n = synthetic.ROWS_QUICK if bench.quick else synthetic.ROWS
        x, key, k = synthetic.heavy(kind, n, seed), f"{kind} {n} {seed}", synthetic.K_TAILS
        best = bench.peers.best(key, x, k)
        record = bench.program.from_sketch(key, x, k, seed)
        found.append(relative(record, x, best))
        sample.append(bench.peers.sampled(key, x, k, seed) / best)
        bench.log(f"tails {kind} seed {seed}: {found[-1]:.4f}, 10,000 rows {sample[-1]:.4f}", record)
    return middle_and_worst(found), middle_and_worst(sample)


def tight_clusters(bench, width):
    found = []
    for seed in bench.seeds:
        x, best = synthetic.tight(width, seed)
        found.append(relative(bench.program.from_sketch(f"tight {width} {seed}", x, 3, seed), x, best))
    return middle_and_worst(found)


def flat_components(bench):
    """Nats lost against the true mixture on fresh rows."""
    found = []
    for seed in bench.seeds:
        rows, truth = synthetic.flat(40_000, seed)
        train, test = rows[:20_000], rows[20_000:]
        record = bench.program.from_sketch(f"flat {seed}", train, 5, seed, task="gmm")
        best = mean_log_density(test, truth["weights"], truth["means"], truth["covariances"])
        model = record.get("model")
        ours = mean_log_density(test, model["weights"], model["means"], model["covariances"]) if model else float("nan")
        found.append(best - ours)
        bench.log(f"tails flat seed {seed}: {found[-1]:.4f} nats lost", record)
    return middle_and_worst(found)


def run(bench):
    grid, points = Grid("", ["table", "measure", "from the sketch", "10,000 rows"], []), []
    for kind, name in HEAVY.items():
        found, sample = heavy_tailed(bench, kind)
        grid.rows.append([name, "RSSE", with_worst(found), with_worst(sample)])
        points.append(Point("tails-kmeans", name, found[0]))
    for width in TIGHT:
        found = tight_clusters(bench, width)
        grid.rows.append([f"tight clusters, width {width:g}", "RSSE", with_worst(found, 4), ""])
        points.append(Point("tails-tight", f"width {width:g}", found[0]))
    found = flat_components(bench)
    grid.rows.append(["flat components", "nats lost", with_worst(found, 4), ""])
    points.append(Point("tails-flat", "flat components", found[0]))
    text = (
        "Student and outliers: 5 clusters in 4 columns, the tables of the page [families](families.md). Tight clusters: 3 in 5 columns, centres N(0, 25). "
        "Flat components: 5 in 5 columns far apart, standard deviation 0.02 in one column and 1 in the others; nats a row lost on fresh rows against the true mixture."
    )
    return Section("Heavy tails, tight and flat clusters", text, [grid], points)
