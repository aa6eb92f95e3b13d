"""The stored solutions of the small optimisation problems are still those of the installed scipy."""

import importlib.util
import json

import numpy as np
import pytest
from testing import ROOT

FOLDER = ROOT / "testdata" / "solvers"
NNLS = json.loads((FOLDER / "nnls.json").read_text())
BOUNDED = json.loads((FOLDER / "bounded.json").read_text())


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def agree(stored, solved, unique=True):
    assert solved["value"] == pytest.approx(stored["value"], rel=1e-6, abs=1e-12)
    if unique:
        assert np.array(solved["x"]) == pytest.approx(np.array(stored["x"]), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("problem", NNLS, ids=lambda p: p["name"])
def test_nnls(make, problem):
    agree(problem["scipy"], make.solve_nnls(problem), problem["unique"])


@pytest.mark.parametrize("problem", BOUNDED, ids=lambda p: p["name"])
def test_bounded(make, problem):
    agree(problem["lbfgs"], make.solve_lbfgs(problem))
    if problem["least_squares"] is not None:
        agree(problem["least_squares"], make.solve_least_squares(problem))
        # Two methods, one minimum.
        agree(problem["least_squares"] | {"value": problem["lbfgs"]["value"]}, problem["least_squares"])


def test_gradients_are_the_differences_of_the_values(make):
    for problem in BOUNDED:
        x = np.array(problem["start"], dtype=float) + 0.01
        value = make.objective(problem)
        for i, step in enumerate(1e-6 * np.eye(len(x))):
            difference = (value(x + step)[0] - value(x - step)[0]) / 2e-6
            assert value(x)[1][i] == pytest.approx(difference, rel=1e-5, abs=1e-5), problem["name"]


def test_the_files_stay_small():
    for file in FOLDER.glob("*.json"):
        assert file.stat().st_size < 100_000, file
