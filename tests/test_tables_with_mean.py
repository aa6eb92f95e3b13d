"""Periodic features whose table has a mean: it is subtracted, so that models are as good as without one."""

import json

import numpy as np
import pytest

LENGTH = 200
TURNS = (np.arange(LENGTH) + 0.5) / LENGTH
COSINE = np.cos(2 * np.pi * TURNS)


def square(high, low, duty=0.5):
    """A wave that is high for a part of the turn, around where the cosine is largest."""
    return np.where(np.abs(TURNS - np.round(TURNS)) < duty / 2, high, low)


TABLES = {
    "signs": square(1, -1),
    "bits": square(1, 0),
    "cosine and a half": 0.5 + 0.5 * COSINE,
    "offset": 0.1 + 0.9 * COSINE,
    "duty of 55 to 45": square(1, -1, 0.55),
}


@pytest.mark.parametrize("outline", [[], ["--no-outline"]])
def test_the_sum_of_squares_is_that_of_signs(program, tmp_path, outline):
    rng = np.random.default_rng(7)
    centres = np.array([[0, 0], [8, 0], [0, 8], [8, 8]])
    rows = centres[rng.integers(0, 4, 20_000)] + rng.normal(size=(20_000, 2))
    np.save(tmp_path / "rows.npy", rows)
    found = {}
    for name, table in TABLES.items():
        (tmp_path / "table.json").write_text(json.dumps(table.tolist()))
        flags = ["--task", "kmeans", "-k", 4, "--feature", "periodic", "--table", "table.json", *outline]
        program("sketch", "rows.npy", *flags, "-o", "rows.sketch")
        model = program.json("fit", "rows.sketch", "-k", 4)
        distances = ((rows[:, None] - np.array(model["centers"])[None]) ** 2).sum(axis=2).min(axis=1)
        found[name] = distances.mean()
    assert found["signs"] == pytest.approx(2, rel=0.05)
    assert max(found.values()) <= 1.01 * found["signs"], found
