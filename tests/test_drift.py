"""Drift from the command line: how much, what moved, when, and exit codes."""

import json
import subprocess

import numpy as np
import pytest


def table(rng, n, shift=0.0, wider=1.0, cluster=0.0):
    """Two clusters in four columns, two of them correlated; `cluster` is the share of rows in a new one."""
    x = rng.normal(size=(n, 4)) + 4 * rng.integers(0, 2, size=(n, 1)) * np.array([1, 0, 0, 0])
    x[:, 2] = 0.8 * x[:, 1] + 0.6 * x[:, 2] * wider
    x[:, 3] += shift
    new = rng.random(n) < cluster
    x[new] = np.array([2.0, 3.0, -3.0, 0.0]) + 0.2 * rng.normal(size=(new.sum(), 4))
    return x


@pytest.fixture
def sketches(program, tmp_path):
    rng = np.random.default_rng(3)
    tables = {
        "reference": table(rng, 20_000),
        "same": table(rng, 20_000),
        "shifted": table(rng, 20_000, shift=0.15),
        "cluster": table(rng, 20_000, cluster=0.03),
    }
    for name, rows in tables.items():
        np.save(tmp_path / f"{name}.npy", rows)
    program("design", "reference.npy", "--task", "drift", "-o", "spec.json")
    for name in tables:
        program("sketch", f"{name}.npy", "--spec", "spec.json", "-o", f"{name}.sketch")


def exit_code(program, tmp_path, *arguments):
    done = subprocess.run([program.path, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True)
    return done.returncode


def test_the_share_is_that_of_the_rows_that_changed(program, sketches):
    same = program.json("compare", "reference.sketch", "same.sketch")
    assert same["verdict"] in ("same", "perhaps") and same["share"]["value"] < 0.02
    cluster = program.json("compare", "reference.sketch", "cluster.sketch")
    assert cluster["verdict"] == "different" and 0.02 < cluster["share"]["value"] < 0.04, cluster["share"]


def test_explain_names_the_column_and_the_place(program, sketches):
    shifted = program.json("compare", "reference.sketch", "shifted.sketch", "--explain")
    first = shifted["changes"][0]
    assert (first["statistic"], first["columns"]) == ("mean", ["x3"])
    assert first["after"] - first["before"] == pytest.approx(0.15, abs=0.05)
    reason = shifted["reasons"][0]
    assert (reason["kind"], reason["columns"]) == ("mean", ["x3"]) and reason["explains"] > 0.7
    text = program("compare", "reference.sketch", "shifted.sketch", "--explain")
    assert "mean of x3" in text and "of the rows would have to change" in text
    cluster = program.json("compare", "reference.sketch", "cluster.sketch", "--explain")
    first, place = cluster["reasons"][0], cluster["gained"][0]
    assert first["kind"] == "came" and first["share"] == pytest.approx(0.03, abs=0.01)
    assert [first["location"][name] for name in ("x1", "x2")] == pytest.approx([3, -3], abs=0.3)
    assert [place["location"][name] for name in ("x1", "x2")] == pytest.approx([3, -3], abs=0.7)
    assert "more of the rows near" in program("compare", "reference.sketch", "cluster.sketch", "--explain")


def test_scripts_learn_of_drift_that_is_not_tolerated(program, tmp_path, sketches):
    pair = ["reference.sketch", "cluster.sketch"]
    assert exit_code(program, tmp_path, "compare", *pair) == 0
    assert exit_code(program, tmp_path, "compare", *pair, "--exit-code") == 3
    assert exit_code(program, tmp_path, "compare", *pair, "--exit-code", "--tolerate", 0.1) == 0
    assert exit_code(program, tmp_path, "compare", "reference.sketch", "same.sketch", "--exit-code") == 0
    assert program.json("compare", *pair, "--tolerate", 0.1)["verdict"] == "tolerated"
    assert exit_code(program, tmp_path, "compare", *pair, "--tolerate", 2) == 2


def test_watch_finds_the_row_at_which_a_stream_changed(program, tmp_path):
    rng = np.random.default_rng(4)
    stream = np.concatenate([table(rng, 30_000), table(rng, 10_000, shift=0.5)])
    np.save(tmp_path / "stream.npy", stream)
    lines = program("watch", "stream.npy", "--every", 500, "--json").splitlines()
    alarm, end = json.loads(lines[0]), json.loads(lines[-1])
    assert (end["seen"], end["alarms"]) == (80, 1)
    assert 58 <= alarm["change"] <= 62 and alarm["seen"] <= 70
    assert alarm["changes"][0]["columns"] == ["x3"]
    text = program("watch", "stream.npy", "--every", 500)
    assert "change at row" in text and "1 alarm in 80 windows" in text
    assert exit_code(program, tmp_path, "watch", "stream.npy", "--every", 500, "--exit-code") == 3


def test_watch_takes_sketches_in_their_order(program, tmp_path, sketches):
    names = ["reference.sketch", "same.sketch", "cluster.sketch"]
    end = json.loads(program("watch", *names, "--json").splitlines()[-1])
    assert end == {"seen": 3, "alarms": 1}
    assert "cluster.sketch" in program("watch", *names)
    assert "--every" in program.fails("watch", "reference.npy")
    assert "not both" in program.fails("watch", "reference.npy", "same.sketch")
