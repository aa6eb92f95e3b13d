"""`compressive.drift`: verdict, share and what moved, as the program tells them."""

import compressive
import numpy as np
import pytest


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(8)
    reference = compressive.sketch(rng.normal(size=(20_000, 3)), task="drift")
    moved = rng.normal(size=(20_000, 3))
    moved[:, 1] += 0.3
    return reference, compressive.sketch(moved, spec=reference.spec)


def test_drift_tells_the_column_that_moved(pair):
    found = compressive.drift(*pair)
    assert found and found.verdict == "different"
    assert found.changes[0]["statistic"] == "mean" and found.changes[0]["columns"] == ["x1"]
    assert found.comparison == compressive.compare(*pair)
    # The total variation of N(0, 1) and N(0.3, 1) is 0.119. The interval is wide where places count as new.
    assert 0 < found.share["low"] <= found.share["value"] <= found.share["high"] < 0.4
    assert found.share["value"] < 0.15 and found.share["high"] > 0.119
    assert found.reasons[0]["kind"] == "mean" and found.reasons[0]["columns"] == ["x1"]
    assert "mean of x1" in repr(found)
    assert found._repr_html_().startswith("<table>") and "mean of x1" in found._repr_html_()


def test_a_new_cluster_is_the_first_reason():
    rng = np.random.default_rng(9)
    rows = rng.normal(size=(20_000, 3))
    reference = compressive.sketch(rng.normal(size=(20_000, 3)), task="drift")
    rows[:600] = np.array([2.0, -2.0, 2.0]) + 0.1 * rng.normal(size=(600, 3))
    found = compressive.drift(reference, compressive.sketch(rows, spec=reference.spec))
    first = found.reasons[0]
    assert first["kind"] == "came" and first["share"] == pytest.approx(0.03, abs=0.01)
    assert list(first["location"].values()) == pytest.approx([2, -2, 2], abs=0.3)
    assert first["explains"] > 0.5 and "more rows near" in repr(found)


def test_what_is_tolerated_is_no_drift(pair):
    assert not compressive.drift(*pair, tolerate=0.5)
    with pytest.raises(ValueError, match="tolerate"):
        compressive.drift(*pair, tolerate=1)


def test_a_sketch_does_not_drift_from_itself(pair):
    found = compressive.drift(pair[0], pair[0])
    assert not found and found.verdict == "same" and found.changes == [] and found.share["value"] == 0
