"""The page docs/results/real.md: verdict, bars, then every section's tables."""

import dataclasses
import math

from verdict import bars as verdict

TITLE = "Real tables: k-means, mixtures, slices and queries from a sketch, beside scikit-learn"


@dataclasses.dataclass
class Grid:
    """One table of the page: a head and rows of cells, numbers or text."""

    title: str
    head: list
    rows: list

    def lines(self):
        lines = [f"### {self.title}", ""] if self.title else []
        lines += [row_of(self.head), row_of(["---"] * len(self.head))]
        return lines + [row_of(cells) for cells in self.rows] + [""]


@dataclasses.dataclass
class Section:
    """What a section measured: its tables, and the points that its bars are judged by."""

    title: str
    text: str
    grids: list
    points: list

    def lines(self):
        return [f"## {self.title}", "", self.text, ""] + [line for grid in self.grids for line in grid.lines()]


def row_of(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def number(value, digits=3):
    """A number as the tables show it; nothing was learned where it is not one."""
    if value is None or math.isnan(value):
        return "none"
    if math.isinf(value) or abs(value) >= 1e6:
        return f"{value:.1e}"
    return f"{value:,.{digits}f}"


def with_worst(pair, digits=3):
    """Median, and in brackets the worst."""
    return f"{number(pair[0], digits)} ({number(pair[1], digits)})"


def bar_lines(judged):
    words = {True: "**met**", False: "**missed**", None: "not run"}
    grid = Grid("", ["section", "bar", "reached", "verdict"], [])
    grid.rows = [[one.bar.section, one.bar.what, one.reached, words[one.met]] for one in judged]
    return grid.lines()


def page(judged, sections, intro, origin):
    """The whole page as text."""
    checks = [(one.bar.what, one.met) for one in judged if one.met is not None]
    lines = [f"# {TITLE}", "", verdict(checks), "", intro, "", *bar_lines(judged)]
    for section in sections:
        lines += section.lines()
    return "\n".join([*lines, origin, ""])
