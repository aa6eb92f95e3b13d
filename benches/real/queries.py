"""Questions to the sketch of each table: exact moments, and the coverage, width and cost of the other answers."""

import json

import numpy as np

from real.bars import Point
from real.metrics import inside
from real.page import Grid, Section, number

K = 10
COLUMNS, PAIRS, HALF_LINES, BOXES, QUANTILES, HISTOGRAMS, BINS = 5, 5, 10, 5, 10, 2, 10
# Median width of the intervals, shares as they are and quantiles in standard deviations, when answers came from the parametric fit alone (commit f6aede5).
WIDTHS_BEFORE = {
    "iris": 0.132,
    "wine": 0.212,
    "breast_cancer": 0.329,
    "digits": 0.229,
    "ames": 0.343,
    "credit_data": 0.150,
    "storms": 0.142,
    "weather": 0.095,
    "world_cities": 0.062,
    "diamonds": 0.059,
    "fashion20": 0.287,
    "flights": 0.313,
}


def number_text(value):
    return f"({value!r})" if value < 0 else repr(value)


def questions(x, rng):
    """Pairs of a question and its truth over all rows; thresholds are values of random rows. Kinds: exact, share, quantile, histogram."""
    n, d = x.shape
    spread, asked = x.std(axis=0), []

    def threshold(c):
        return float(x[rng.integers(n), c])

    for c in rng.permutation(d)[:COLUMNS]:
        asked.append(("exact", f"mean(x{c})", float(x[:, c].mean()), spread[c]))
        asked.append(("exact", f"std(x{c})", float(spread[c]), spread[c]))
    for _ in range(PAIRS):
        a, b = rng.choice(d, 2, replace=False)
        asked.append(("exact", f"corr(x{a}, x{b})", float(np.corrcoef(x[:, a], x[:, b])[0, 1]), 1.0))
    for _ in range(HALF_LINES):
        c = rng.integers(d)
        t = threshold(c)
        asked.append(("share", f"share(x{c} <= {number_text(t)})", float((x[:, c] <= t).mean()), 1.0))
    for _ in range(BOXES):
        a, b = rng.choice(d, 2, replace=False)
        t, u = threshold(a), threshold(b)
        truth = float(((x[:, a] <= t) & (x[:, b] > u)).mean())
        asked.append(("share", f"share(x{a} <= {number_text(t)} and x{b} > {number_text(u)})", truth, 1.0))
    for _ in range(QUANTILES):
        c, p = rng.integers(d), float(np.round(rng.uniform(0.05, 0.95), 3))
        truth = float(np.quantile(x[:, c], p, method="inverted_cdf"))
        asked.append(("quantile", f"quantile(x{c}, {p})", truth, spread[c]))
    for c in rng.permutation(d)[:HISTOGRAMS]:
        asked.append(("histogram", f"histogram(x{c}, {BINS})", int(c), 1.0))
    return asked


def asked_of(bench, table, seed, asked):
    """Answers of one call with all questions, and the CPU seconds of a call with one."""

    def steps(folder):
        sketch, run = folder / "x.sketch", bench.program.run
        run("sketch", table.path, "-k", K, "--seed", seed, *table.scaling, "-o", sketch)
        one = next(text for kind, text, *_ in asked if kind == "share")
        single = run("query", sketch, one, "--json", "--quiet")
        all_of_them = run("query", sketch, *(text for _, text, *_ in asked), "--json", "--quiet")
        return {"answers": json.loads(all_of_them.text)["answers"], "one": single.cpu, "all": all_of_them.cpu}

    return bench.program.kept(["queries", table.name, K, seed, [text for _, text, *_ in asked]], steps)


def bins_of(answer, column):
    """Low, truth and high of every bin of a histogram: lower ends belong to their bins, and the upper end of the range to the last of it."""
    bins = answer["bins"]
    edges = [part["from"] for part in bins[1:]]
    place = np.searchsorted(edges, column, side="right")
    place[column == edges[-1]] = len(edges) - 1
    truths = np.bincount(place, minlength=len(bins)) / len(column)
    for part, truth in zip(bins, truths, strict=True):
        yield part["low"], float(truth), part["high"]


def judged(answers, asked, x):
    """Largest error of the exact answers, and for each interval its kind, whether it holds the truth, and its width."""
    error, held = 0.0, []
    for answer, (kind, _, truth, unit) in zip(answers, asked, strict=True):
        if kind == "exact":
            error = max(error, abs(answer["value"] - truth) / unit)
        elif kind == "histogram":
            held += [(kind, inside(*three), three[2] - three[0]) for three in bins_of(answer, x[:, truth])]
        else:
            low, high = answer["low"], answer["high"]
            held.append((kind, inside(low, truth, high), (high - low) / unit))
    return error, held


def of_table(bench, table):
    """What one table's answers were worth over all seeds: error, intervals, seconds; None where there is no answer."""
    x, errors, held, seconds = table.rows(), [], [], []
    for seed in bench.seeds:
        asked = questions(x, np.random.default_rng([7, seed]))
        record = asked_of(bench, table, seed, asked)
        if "reason" in record:
            bench.log(f"queries {table.name} seed {seed}", record)
            continue
        error, intervals = judged(record["answers"], asked, x)
        errors.append(error)
        held += intervals
        seconds.append((record["one"], record["all"]))
        bench.log(
            f"queries {table.name} seed {seed}: error of moments {error:.2g}, inside {np.mean([h[1] for h in intervals]):.3f}, "
            f"width {np.median([h[2] for h in intervals]):.4f}, {record['one']:.2f} s"
        )
    return (max(errors), held, np.median(seconds, axis=0)) if errors else None


def run(bench):
    head = [
        "table",
        "largest error of moments",
        "inside",
        "shares",
        "quantiles",
        "histograms",
        "median width",
        "before",
        "CPU s, one question",
        "CPU s, all questions",
    ]
    grid, points, everything, ratios = Grid("", head, []), [], [], []
    for table in bench.tables:
        found = of_table(bench, table)
        before = WIDTHS_BEFORE.get(table.name)
        if found is None:
            grid.rows.append([table.name, *["none"] * 6, number(before, 4), "none", "none"])
            points += [Point(bar, table.name, float("nan")) for bar in ("query-exact", "query-seconds")]
            continue
        error, held, seconds = found
        width = float(np.median([w for _, _, w in held]))
        everything += [ok for _, ok, _ in held]
        if before:
            ratios.append(width / before)
        by_kind = [
            np.mean([ok for kind, ok, _ in held if kind == wanted]) for wanted in ("share", "quantile", "histogram")
        ]
        cells = [f"{error:.1e}", number(np.mean([ok for _, ok, _ in held])), *(number(share) for share in by_kind)]
        cells += [number(width, 4), number(before, 4), *(number(s, 2) for s in seconds)]
        grid.rows.append([table.name, *cells])
        points += [Point("query-exact", table.name, error), Point("query-seconds", table.name, float(seconds[0]))]
    if everything:
        points.append(Point("query-inside", "all tables", float(np.mean(everything))))
    if ratios:
        points.append(Point("query-width", "all tables", float(np.median(ratios))))
    text = (
        f"The default sketch for k = {K}. {COLUMNS} means and standard deviations, {PAIRS} correlations; shares of {HALF_LINES} half-lines and {BOXES} boxes with values of random rows as thresholds; {QUANTILES} quantiles; "
        f"{HISTOGRAMS} histograms of {BINS} bins. Inside: share of the 95% intervals that hold the truth over all rows. Widths: shares as they are, quantiles in standard deviations."
    )
    return Section("Queries", text, [grid], points)
