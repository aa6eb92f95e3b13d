"""What the privacy commands refuse, with which words, and that nothing is written then; the ledger."""

import json
import os
import re
import subprocess

import numpy as np
import pytest
from testing import PROGRAM, write_csv

COLUMNS = ["a", "b"]


@pytest.fixture
def made(program, tmp_path):
    """A plain sketch with a spec that did not look at the rows, one whose spec did, and a private one."""
    write_csv(tmp_path / "rows.csv", np.random.default_rng(0).normal(0, 1, (500, 2)), COLUMNS)
    program("sketch", "rows.csv", "--bounds", "-8:8", "--private", 0, "--size", 20, "-o", "plain.sketch")
    program("sketch", "rows.csv", "--size", 20, "-o", "looked.sketch")
    program("privatize", "plain.sketch", "--epsilon", 1, "-o", "private.sketch")
    return program


def refused(program, tmp_path, *args, words, code=1):
    """The command fails with these words, and the folder is as it was."""
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    message = program.fails(*args, code=code)
    for word in words:
        assert word in message, message
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    return message


PRIVATIZE = [
    ("private.sketch", ["--epsilon", 1], ["noise already", "use it as it is"]),
    ("looked.sketch", ["--epsilon", 1], ["looking at 500 rows", "an outline of", "--private", "--public-spec"]),
    ("plain.sketch", ["--epsilon", 0], ["epsilon", "0 is not a positive number"]),
    ("plain.sketch", ["--epsilon", -1], ["epsilon", "-1 is not a positive number"]),
    ("plain.sketch", ["--epsilon", "nan"], ["epsilon", "not a positive number"]),
    ("plain.sketch", ["--epsilon", "inf"], ["epsilon", "not a positive number"]),
    ("plain.sketch", ["--epsilon", 1e-12], ["epsilon", "grid"]),
    ("plain.sketch", ["--epsilon", 1, "--delta", 1], ["delta", "from 0 to below 1"]),
    ("plain.sketch", ["--epsilon", 1, "--delta", -0.1], ["delta", "from 0 to below 1"]),
    ("plain.sketch", ["--epsilon", 1, "--split", 1], ["split", "between 0 and 1"]),
    ("plain.sketch", ["--epsilon", 1, "--rows-per-person", 0], ["at least 1 row"]),
    ("plain.sketch", ["--epsilon", 1, "--ledger", "none.json"], ["no ledger none.json", "--cap-epsilon"]),
    ("rows.csv", ["--epsilon", 1], ["not an intact sketch"]),
]


@pytest.mark.parametrize(("sketch", "flags", "words"), PRIVATIZE, ids=range(len(PRIVATIZE)))
def test_privatize_refuses(made, tmp_path, sketch, flags, words):
    refused(made, tmp_path, "privatize", sketch, "-o", "out.sketch", *flags, words=words)


def test_a_spec_from_the_rows_passes_when_it_is_declared_public(made):
    report = made.json("privatize", "looked.sketch", "-o", "out.sketch", "--epsilon", 1, "--public-spec")
    assert report["privacy"][0]["spec"] == {"name": "declared-public"}
    assert "declared public" in made("inspect", "out.sketch")


def test_a_paid_spec_that_is_declared_public_is_questioned(made):
    made("sketch", "rows.csv", "--bounds", "-8:8", "--private", 0.5, "--size", 20, "-o", "paid.sketch")
    done = made.run("privatize", "paid.sketch", "-o", "out.sketch", "--epsilon", 1, "--public-spec")
    assert done.returncode == 0 and b"another table" in done.stderr
    assert "already cost 0.5" in made.fails("privatize", "paid.sketch", "-o", "x.sketch", "--epsilon", 0.5)


def test_fractional_weights_are_refused_and_whole_ones_are_rows(made, tmp_path):
    weights = np.column_stack([np.zeros((4, 2)), [1, 0.5, 2, 1]])
    write_csv(tmp_path / "w.csv", weights, ["a", "b", "w"])
    made("sketch", "w.csv", "--weights", "w", "--spec", "plain.sketch", "-o", "w.sketch")
    words = ["weights", "without --weights"]
    refused(made, tmp_path, "privatize", "w.sketch", "--epsilon", 1, "-o", "out.sketch", words=words)
    flags = ["--weights", "w", "--bounds", "-8:8", "--private", 0.1]
    refused(made, tmp_path, "sketch", "w.csv", *flags, "-o", "out.sketch", words=words)


def test_a_large_delta_is_warned_about_by_the_noisy_number_of_rows(made):
    done = made.run("privatize", "plain.sketch", "-o", "out.sketch", "--epsilon", 1, "--delta", 0.1, "--json")
    warned = re.search(r"1/rows \(about ([^)]*)\)", done.stderr.decode())
    assert done.returncode == 0 and float(warned[1]) == pytest.approx(1 / json.loads(done.stdout)["rows"], rel=1e-3)
    done = made.run("privatize", "plain.sketch", "-o", "out.sketch", "--epsilon", 1, "--delta", 1e-9)
    assert done.returncode == 0 and done.stderr == b""


def test_the_exact_number_of_rows_is_not_printed(made):
    """False alarms: the noise of the row count at epsilon 0.001 is zero with probability below 1e-3."""
    flags = ["privatize", "plain.sketch", "-o", "o.sketch", "--epsilon", 0.001]
    assert not re.search(r"(?<![\d,])500 rows", made(*flags) + made("inspect", "o.sketch"))
    assert made.json(*flags)["rows"] != 500


def test_private_sketches_are_not_subtracted_compared_or_mixed(made, tmp_path):
    for pair in [("private.sketch", "plain.sketch"), ("plain.sketch", "private.sketch")]:
        words = ["cannot be taken out of a private sketch", "noise would stay", "privatize the result"]
        refused(made, tmp_path, "subtract", *pair, "-o", "out.sketch", words=words)
        words = ["cannot merge a plain sketch into a private one", "privatize the plain one first"]
        refused(made, tmp_path, "merge", *pair, "-o", "out.sketch", words=words)
        refused(made, tmp_path, "compare", *pair, words=["private sketch", "before they are privatized"])
    twice = ["merge", "private.sketch", "private.sketch", "-o", "out.sketch"]
    refused(made, tmp_path, *twice, words=["same release is given twice"])
    made("sketch", "rows.csv", "--bounds", "-9:8", "--private", 0, "--size", 20, "-o", "other.sketch")
    made("privatize", "other.sketch", "--epsilon", 1, "-o", "other.sketch")
    words = ["differ in", "bounds"]
    refused(made, tmp_path, "merge", "private.sketch", "other.sketch", "-o", "out.sketch", words=words)


def test_a_private_design_needs_bounds_and_no_other_look(made, tmp_path):
    for epsilon in [0, 0.1]:
        flags = ["--private", epsilon, "-o", "out"]
        for command in ["design", "sketch"]:
            refused(made, tmp_path, command, "rows.csv", *flags, words=["bounds", "LOW:HIGH"])
            for more in [["--whiten"], ["--pilot", 50], ["--law", "pilot-mixture"], ["--scale", "entropy"]]:
                bad = [command, "rows.csv", "--bounds", "-8:8", *flags, *more]
                refused(made, tmp_path, *bad, words=[more[0]], code=2)
    bad = ["design", "rows.csv", "--bounds", "-8:8", "--private", 0.1, "--scale", 2, "-o", "out"]
    refused(made, tmp_path, *bad, words=["--private 0"], code=2)
    bad = ["design", "rows.csv", "--bounds", "3:3", "--private", 0, "-o", "out"]
    refused(made, tmp_path, *bad, words=["no width"])


def test_a_one_liner_does_not_pass_for_private(made, tmp_path):
    bad = ["kmeans", "rows.csv", "-k", 2, "--bounds", "-8:8", "--private", 1]
    refused(made, tmp_path, *bad, words=["would not be private"], code=2)


def test_a_stream_is_not_read_twice(made, tmp_path):
    rows, flags = (tmp_path / "rows.csv").read_bytes(), ["--bounds", "-8:8", "-o", "out.sketch", "--size", 20]
    message = made.fails("sketch", "-", *flags, "--private", 0.1, stdin=rows)
    assert "save it to a file" in message and "--private 0" in message and not (tmp_path / "out.sketch").exists()
    made("sketch", "-", *flags, "--private", 0, stdin=rows)
    assert (tmp_path / "out.sketch").read_bytes() == (tmp_path / "plain.sketch").read_bytes()
    made("design", "-", "--bounds", "-8:8", "--private", 0.1, "-o", "out.json", stdin=rows)


def test_a_ledger_sums_and_stops_at_its_cap(made, tmp_path):
    made("ledger", "l.json", "--cap-epsilon", 0.3, "--cap-delta", 1e-6, "--dataset", "visits 2024")
    refused(made, tmp_path, "ledger", "l.json", "--cap-epsilon", 9, words=["exists already"])
    spend = ["privatize", "plain.sketch", "--epsilon", 0.1, "--ledger", "l.json"]
    # Three times 0.1 is more than 0.3 in floating point; the cap allows it.
    made(*spend, "-o", "1.sketch")
    made(*spend, "-o", "2.sketch", "--delta", 1e-7)
    message = refused(made, tmp_path, *spend, "-o", "3.sketch", "--delta", 1e-6, words=["delta 1e-6", "9e-7 is left"])
    assert "cap" in message
    made(*spend, "-o", "3.sketch")
    words = ["epsilon 0.1 would exceed the cap", "0.3 of 0.3 is spent", "0 is left"]
    refused(made, tmp_path, *spend, "-o", "4.sketch", words=words)
    report = made.json("ledger", "l.json")
    assert report["total"]["epsilon"] == pytest.approx(0.3) and report["left"]["delta"] == pytest.approx(9e-7)
    entry = report["spent"][1]
    assert entry["mechanism"] == "discrete-gaussian" and entry["output"].endswith("2.sketch")
    assert entry["time"].endswith("Z") and len(entry["time"]) == 20
    assert entry["fingerprint"] == made.json("inspect", "2.sketch")["fingerprint"]
    # Nothing in the file comes from the rows.
    keys = {"time", "output", "fingerprint", "epsilon", "delta", "neighbours", "rows_per_person", "mechanism"}
    stored = json.loads((tmp_path / "l.json").read_text())
    assert set(stored) == {"format", "dataset", "cap", "spent"} and all(set(e) == keys for e in stored["spent"])
    text = made("ledger", "l.json")
    for word in ["visits 2024", "add-remove", "spent", "left", "2.sketch"]:
        assert word in text, text


def test_a_ledger_holds_one_neighbour_relation(made, tmp_path):
    made("ledger", "l.json", "--cap-epsilon", 5)
    spend = ["privatize", "plain.sketch", "--epsilon", 1, "--ledger", "l.json", "-o"]
    made(*spend, "1.sketch")
    words = ["add-remove", "replace", "protect different things"]
    refused(made, tmp_path, *spend, "2.sketch", "--neighbours", "replace", words=words)
    refused(made, tmp_path, *spend, "2.sketch", "--rows-per-person", 2, words=["2 rows", "--rows-per-person"])


@pytest.mark.parametrize("cap", [["0"], ["-1"], ["nan"], ["1", "--cap-delta", "1"]])
def test_impossible_caps_are_refused(program, tmp_path, cap):
    refused(program, tmp_path, "ledger", "l.json", "--cap-epsilon", *cap, words=["cap"])


def test_damaged_ledgers_stop_a_release(made, tmp_path):
    entry = {"time": "", "output": "o", "fingerprint": "", "epsilon": -5.0, "delta": 0.0, "neighbours": "replace"}
    entry |= {"rows_per_person": 1, "mechanism": "discrete-laplace"}
    whole = {"format": 1, "dataset": None, "cap": {"epsilon": 1.0, "delta": 0.0}, "spent": []}
    wrong = [whole | {"spent": [entry]}, whole | {"format": 2}, whole | {"cap": {"epsilon": 0.0, "delta": 0.0}}, {}]
    for text in [*map(json.dumps, wrong), "", json.dumps(whole)[:-5], json.dumps(whole | {"note": ""})]:
        (tmp_path / "l.json").write_text(text)
        message = made.fails("privatize", "plain.sketch", "--epsilon", 1, "--ledger", "l.json", "-o", "x.sketch")
        assert "l.json" in message and not (tmp_path / "x.sketch").exists()
        assert (tmp_path / "l.json").read_text() == text


def test_spending_at_the_same_time_misses_nothing(made, tmp_path):
    made("ledger", "l.json", "--cap-epsilon", 8)
    command = [str(PROGRAM), "privatize", "plain.sketch", "--epsilon", "1", "--ledger", "l.json", "-o"]
    runs = [subprocess.Popen([*command, f"{i}.sketch"], cwd=tmp_path, stdout=-3, stderr=-3) for i in range(12)]
    codes = [run.wait(60) for run in runs]
    assert codes.count(0) == 8 and codes.count(1) == 4
    stored = json.loads((tmp_path / "l.json").read_text())
    written = sorted(str(tmp_path / f"{i}.sketch") for i, code in enumerate(codes) if code == 0)
    assert sorted(e["output"] for e in stored["spent"]) == written
    assert sum((tmp_path / f"{i}.sketch").exists() for i in range(12)) == 8
    assert not list(tmp_path.glob(".compressive-*")), "no temporary file stays"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder in which nobody can make files")
def test_a_release_that_cannot_be_written_says_that_the_budget_is_spent(made, tmp_path):
    made("ledger", "l.json", "--cap-epsilon", 3)
    message = made.fails("privatize", "plain.sketch", "--epsilon", 1, "--ledger", "l.json", "-o", "/proc/self/out.sketch")
    assert "budget is spent" in message and "nothing was released" in message
    assert made.json("ledger", "l.json")["total"]["epsilon"] == 1
    same = ["privatize", "plain.sketch", "--epsilon", 1, "--ledger", "l.json", "-o", "l.json"]
    refused(made, tmp_path, *same, words=["the ledger itself"])
