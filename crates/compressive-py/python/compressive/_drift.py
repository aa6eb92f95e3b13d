"""What moved between two sketches."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from ._native import Change, Comparison, Place, Reason, Share, Sketch

_VERDICTS = {
    "same": "no difference seen",
    "perhaps": "probably different",
    "tolerated": "different, but within what is tolerated",
    "different": "different",
}
_NAMES = {"mean": "mean of", "deviation": "spread of", "correlation": "correlation of"}
_SHOWN = 10


@dataclass(frozen=True)
class Drift:
    """How far two sketches are apart and what moved; in a notebook it shows itself as a table.

    Attributes
    ----------
    verdict : str
        `same`, `perhaps`, `tolerated` or `different`.
    share : dict
        The part of the rows that would have to change: `value`, an interval from `low` to `high`, and whether it is a
        `bound` from below only, for want of an outline in the recipe.
    comparison : dict
        What `compare` returns.
    reasons : list of dict
        What changed, each as far as it explains the difference, the most telling first: `kind` (`mean`, `deviation`,
        `correlation`, `came` or `went`), `explains` (a part of the difference), and what a change or a place has. Empty
        without an outline in the recipe, and where chance explains the difference.
    changes : list of dict
        Means, deviations and correlations of the columns that changed by more than chance, the surest first:
        `statistic`, `columns`, `before`, `after`, `standard_error`, `score`.
    gained, lost : list of dict
        Places with more or fewer rows: `share`, `location` by column, and `columns`, the most telling first.
    """

    verdict: str
    share: Share
    comparison: Comparison
    reasons: list[Reason] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    gained: list[Place] = field(default_factory=list)
    lost: list[Place] = field(default_factory=list)

    def __bool__(self) -> bool:
        """Whether there is a difference that is not tolerated."""
        return self.verdict == "different"

    def _lines(self) -> list[tuple[str, str]]:
        at_least = "at least" if self.share["bound"] else "about"
        lines = [
            ("verdict", _VERDICTS[self.verdict]),
            ("rows that would have to change", f"{at_least} {self.share['value']:.2%}"),
            ("p-value", f"{self.comparison['p_value']:.3g}"),
        ]
        for reason in self.reasons:
            lines.append((f"explains {reason['explains']:.0%}", ": ".join(_of_reason(reason))))
        lines += [_of_change(change) for change in self.changes[:_SHOWN]]
        for word, places in (("more", self.gained), ("fewer", self.lost)):
            lines += [_of_place(word, place) for place in places]
        return lines

    def __repr__(self) -> str:
        lines = self._lines()
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self._lines()
        )
        return f"<table>{rows}</table>"


def _of_change(change: Change | Reason) -> tuple[str, str]:
    name = f"{_NAMES[change['statistic']]} {' and '.join(change['columns'])}"
    return name, f"{change['before']:.4g} -> {change['after']:.4g}"


def _of_place(word: str, place: Place | Reason) -> tuple[str, str]:
    near = ", ".join(f"{name}={place['location'][name]:.3g}" for name in place["columns"][:3])
    return f"{word} rows near {near}", f"{place['share']:.2%}"


def _of_reason(reason: Reason) -> tuple[str, str]:
    if reason["kind"] in ("came", "went"):
        return _of_place("more" if reason["kind"] == "came" else "fewer", reason)
    return _of_change(reason)


def drift(reference: Sketch, current: Sketch, *, tolerate: float = 0.0) -> Drift:
    """Tells whether the rows behind a sketch differ from those of a reference, by how much, and what moved.

    Parameters
    ----------
    reference, current : Sketch
        Of one recipe. Recipes of the tasks `drift`, `kmeans`, `kmedians` and `gmm` made on a sample tell most.
    tolerate : float, default 0
        Part of the rows that may change before a difference is called `different`.

    Returns
    -------
    Drift
        True in a condition if there is a difference that is not tolerated.
    """
    if not 0 <= tolerate < 1:
        raise ValueError(f"tolerate is a part of the rows, from 0 to less than 1, not {tolerate}")
    found = _native.drift(reference, current, tolerate)
    names = ("distance", "distance_expected", "mmd_squared", "standard_error", "p_value", "rows")
    comparison: Comparison = {name: found[name] for name in names}  # type: ignore[literal-required,assignment]
    return Drift(
        verdict=found["verdict"],
        share=found["share"],
        comparison=comparison,
        reasons=found["reasons"],
        changes=found["changes"],
        gained=found["gained"],
        lost=found["lost"],
    )
