"""Does a model keep what it says of itself: the excess over the best that it states, beside the true one."""

from real import kmeans, mixtures
from real.bars import Point
from real.page import Grid, Section, number


def run(bench):
    """Uses the fits of the k-means and mixtures sections, which are made where they were not asked for."""
    if not bench.promises:
        kmeans.run(bench)
        mixtures.run(bench)
    stating = [entry for entry in bench.promises if entry[1] is not None]
    grid = Grid(
        "", ["table", "fits that state an excess", "of all fits", "held", "largest true excess beyond the stated"], []
    )
    for name in dict.fromkeys(entry[0] for entry in bench.promises):
        own = [entry for entry in stating if entry[0] == name]
        held = sum(true <= stated for _, stated, true in own)
        beyond = max((true - stated for _, stated, true in own), default=float("nan"))
        total = sum(entry[0] == name for entry in bench.promises)
        grid.rows.append([name, len(own), total, held, number(beyond)])
    share = sum(true <= stated for _, stated, true in stating) / len(stating) if stating else float("nan")
    text = (
        "k-means: the true excess is RSSE - 1 over all rows. Mixtures: EM's nats a row on held-out rows minus the model's. "
        "A model states its excess in the field `misfit.excess`."
    )
    return Section("The promise of a model", text, [grid], [Point("promise", "fits", share)])
