"""The outline of a recipe from Python: told, left out, and the same as the program's."""

import json

import compressive
import numpy as np


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
