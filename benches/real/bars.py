"""The bars of the page in one table, and how they are judged."""

import dataclasses
import math

# Tables of the whole page; "10 of 12" is scaled where fewer are run.
ALL_TABLES = 12


@dataclasses.dataclass(frozen=True)
class Bar:
    """All measured points of a bar are to be at most `limit` (at least, with `least`); `spare` tables of the twelve may miss it."""

    section: str
    what: str
    limit: float
    spare: int = 0
    least: bool = False


BARS = {
    "kmeans-most-5": Bar("kmeans", "sketch alone, k = 5: RSSE at most 1.02 on 10 of 12 tables", 1.02, spare=2),
    "kmeans-most-10": Bar("kmeans", "sketch alone, k = 10: RSSE at most 1.02 on 10 of 12 tables", 1.02, spare=2),
    "kmeans-none": Bar("kmeans", "sketch alone: RSSE nowhere above 1.05, or 0.02 above the 10,000-row sample", 1.05),
    "kmeans-one": Bar("kmeans", "one-liner: RSSE at most 0.005 above the 10,000-row sample", 0.005),
    "kmeans-raw": Bar("kmeans", "Python's KMeans on columns as they are: RSSE at most 1.02", 1.02),
    "mixture-diag": Bar("mixtures", "sketch alone, diag: within 0.1 nats a column of EM on 10 of 12", 0.1, spare=2),
    "mixture-one": Bar("mixtures", "one-liner, diag: within 0.05 nats a column of EM on 10 of 12", 0.05, spare=2),
    "mixture-gaussian": Bar("mixtures", "never fewer nats than one Gaussian", 0.0),
    "mixture-full": Bar("mixtures", "sketch alone, full, at most 20 columns: within 0.1 nats a column of EM", 0.1),
    "slice-month": Bar("slices", "July by January's recipe: RSSE at most 1.03", 1.03),
    "slice-carrier": Bar("slices", "EV by UA's recipe: RSSE at most 1.05", 1.05),
    "slice-small": Bar("slices", "HA's 342 rows by the recipe of all carriers: RSSE at most 1.2", 1.2),
    "slice-merge": Bar("slices", "twelve months merged are the year, byte for byte", 1.0, least=True),
    "query-exact": Bar("queries", "mean, std, corr: error at most 1e-6 standard deviations", 1e-6),
    "query-inside": Bar(
        "queries", "95% intervals of shares, quantiles, histograms hold the truth in 93%", 0.93, least=True
    ),
    "query-width": Bar("queries", "median width at most half of what it was before densities", 0.5),
    "query-seconds": Bar("queries", "one call: at most 1 CPU second", 1.0),
    "pca-excess": Bar("pca", "excess error at most 1e-6 of the variance", 1e-6),
    "auto-least": Bar("auto", "iris and wine: k at least 2", 2, least=True),
    "auto-most": Bar("auto", "iris and wine: k at most 5", 5),
    "auto-synthetic": Bar("auto", "separated Gaussians: the true k in 95%", 0.95, least=True),
    "promise": Bar("promise", "the stated excess holds in 90% of the fits", 0.9, least=True),
    "time": Bar("time", "CPU seconds of a fit: at most 1 (digits 3)", 1.0),
    "tails-kmeans": Bar("tails", "Student and 5% outliers: RSSE at most 1.05", 1.05),
    "tails-tight": Bar("tails", "tight clusters: RSSE at most 1.001", 1.001),
    "tails-flat": Bar("tails", "flat components far apart: loss below 0.05 nats", 0.05),
    "variant-one-bit": Bar("variants", "one-bit at 1.5 m: RSSE at most 0.01 above Fourier's", 0.01),
    "variant-private": Bar("variants", "epsilon 1, 20,000 rows or more: RSSE at most 1.05", 1.05),
    "missing-2%": Bar("missing", "2% of the entries missing at random: RSSE on complete rows at most 1.02", 1.02),
    "missing-10%": Bar("missing", "10% of the entries missing at random: RSSE on complete rows at most 1.05", 1.05),
    "raw": Bar("raw", "raw files without a flag: RSSE at most 1.03 against one-hot columns", 1.03),
    "outline-bytes": Bar("outline", "an outline adds at most twice the bytes of the rest", 2.0),
}


@dataclasses.dataclass(frozen=True)
class Point:
    """One measured number of a bar; `limit` where this point has one of its own. NaN (nothing was learned) never meets a bar."""

    bar: str
    label: str
    value: float
    limit: float | None = None

    def met(self):
        bar = BARS[self.bar]
        limit = bar.limit if self.limit is None else self.limit
        return self.value >= limit if bar.least else self.value <= limit


@dataclasses.dataclass(frozen=True)
class Judged:
    """A bar with what was reached; `met` is None where nothing was measured."""

    bar: Bar
    met: bool | None
    reached: str


def shown(value):
    if math.isnan(value):
        return "nothing"
    return f"{value:.3g}" if abs(value) < 1e-2 else f"{value:.3f}"


def judge(key, points):
    """Whether so few of a bar's points miss it that it is met, and the points that miss it, the worst of those that meet it where none does."""
    bar, own = BARS[key], [point for point in points if point.bar == key]
    if not own:
        return Judged(bar, None, "not run")
    missed = [point for point in own if not point.met()]
    labels = len({point.label for point in own})
    spare = bar.spare * min(labels, ALL_TABLES) // ALL_TABLES
    met = len({point.label for point in missed}) <= spare
    if missed:
        listed = ", ".join(f"{point.label} {shown(point.value)}" for point in missed)
        return Judged(bar, met, f"{labels - len(missed)} of {labels}; not {listed}")
    worst = (min if bar.least else max)(own, key=lambda point: point.value)
    return Judged(bar, met, f"all {labels}; {worst.label} {shown(worst.value)}" if labels > 1 else shown(worst.value))


def judge_all(points, sections):
    """All bars of these sections."""
    return [judge(key, points) for key, bar in BARS.items() if bar.section in sections]


def missed(judged):
    """What was asked and not reached, in words."""
    return [f"{one.bar.what} ({one.reached})" for one in judged if one.met is False]
