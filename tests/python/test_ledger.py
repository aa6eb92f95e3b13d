"""The ledger from Python: the file and the rules are those of the command."""

import json

import numpy as np
import pytest
from testing import Program

import compressive


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(500, 2))


def test_looks_and_releases_are_charged_to_one_ledger_by_python_and_the_command(tmp_path, rows):
    path, program = tmp_path / "l.json", Program(tmp_path)
    made = compressive.ledger(path, cap_epsilon=2.0, dataset="visits")
    assert made["left"] == {"epsilon": 2.0, "delta": 0.0} and made["dataset"] == "visits"
    spec = compressive.design(rows, 3, bounds=([-8, -8], [8, 8]), private=0.5, ledger=path)
    sketch = compressive.sketch(rows, spec)
    compressive.privatize(sketch, 1.0, ledger=path)
    found = compressive.ledger(path)
    assert [entry.get("look", False) for entry in found["spent"]] == [True, False]
    assert found["total"]["epsilon"] == pytest.approx(1.0), "the release cost what the look had left"
    with pytest.raises(compressive.CompressiveError, match=r"epsilon 1.5 would exceed the cap: 1 of 2 is spent"):
        compressive.privatize(sketch, 2.0, ledger=path)
    sketch.save(tmp_path / "plain.sketch")
    program("privatize", "plain.sketch", "--epsilon", 1.5, "--ledger", "l.json", "-o", "private.sketch")
    assert compressive.ledger(path) == json.loads(program("ledger", "l.json", "--json"))
    with pytest.raises(compressive.CompressiveError, match="would exceed the cap"):
        compressive.design(rows, 3, bounds=([-8, -8], [8, 8]), private=0.1, ledger=path)
    with pytest.raises(compressive.CompressiveError, match=r"there is no ledger .*cap_epsilon"):
        compressive.ledger(tmp_path / "none.json")


def test_a_release_is_neither_added_twice_nor_made_of_rows_that_weigh_too_much(rows):
    spec = compressive.design(rows, 3, bounds=([-8, -8], [8, 8]), private=0)
    private = compressive.privatize(compressive.sketch(rows, spec), 1.0)
    other = compressive.privatize(compressive.sketch(rows, spec), 1.0)
    for again in (private, private + other):
        with pytest.raises(compressive.CompressiveError, match="the same release is given twice"):
            again + private
    heavy = compressive.Sketch(spec)
    heavy.update(rows[:2], weights=np.array([1.0, 7.0]))
    with pytest.raises(compressive.CompressiveError, match=r"weight 7.* rows_per_person=7"):
        compressive.privatize(heavy, 1.0)
    compressive.privatize(heavy, 1.0, rows_per_person=7)
