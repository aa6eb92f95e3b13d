"""The outline of a recipe from Python: told, left out, and the same as the program's."""

import json

import compressive
import numpy as np
import pytest


def test_an_outline_is_told_and_can_be_left_out():
    rows = np.random.default_rng(0).normal(0, 1, (3000, 3))
    spec = compressive.design(rows, 4)
    outline = json.loads(spec.to_json())["outline"]
    assert spec.outline == {
        "cells": outline["cells"],
        "groups": outline["groups"],
        "least_rows": spec.outline["least_rows"],
        "pilot_rows": 3000,
        "bytes": len(outline["data"]),
    }
    assert spec.outline["least_rows"] >= 5
    assert compressive.SketchSpec.from_json(spec.to_json()).outline == spec.outline
    plain = compressive.design(rows, 4, outline=False)
    assert plain.outline is None and plain.fingerprint != spec.fingerprint
    assert json.loads(compressive.design(rows, 4, outline=False, moments=False).to_json())["format"] == 1
    assert compressive.sketch(rows, k=4, outline=False).spec.outline is None


def test_rows_are_drawn_and_scored_from_a_sketch():
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal((0, 0), 1, (4000, 2)), rng.normal((9, 3), 1, (2000, 2))])
    sketch = compressive.sketch(rows, k=4)
    drawn = sketch.sample(3000, seed=2)
    assert drawn.shape == (3000, 2) and (drawn[:50] == sketch.sample(50, seed=2)).all()
    assert abs((drawn[:, 0] > 4.5).mean() - 1 / 3) < 0.04
    # The density of the truth at a row of each kind, in nats; an empty place between is less usual by far.
    scores = sketch.log_density(np.array([[0.0, 0.0], [9.0, 3.0], [4.5, 1.5], [40.0, 40.0]]))
    truth = np.log([2 / 3, 1 / 3]) - np.log(2 * np.pi)
    assert (abs(scores[:2] - truth) < 0.3).all() and scores[2] < scores[1] - 3 and scores[3] < scores[2]
    with pytest.raises(ValueError, match="outline"):
        compressive.sketch(rows, k=4, outline=False).sample(3)
