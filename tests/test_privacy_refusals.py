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
    ("rows.csv", ["--epsilon", 1], ["is not a sketch; if it is a table, sketch it first"]),
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


def test_a_heavy_row_is_hidden_by_the_noise_of_as_many_rows_or_not_released(made, tmp_path):
    write_csv(tmp_path / "w.csv", [[0, 0, 1], [1, 1, 100_000], [2, 0, 1]], ["a", "b", "w"])
    made("sketch", "w.csv", "--weights", "w", "--spec", "plain.sketch", "-o", "heavy.sketch")
    made("merge", "plain.sketch", "heavy.sketch", "-o", "sum.sketch")
    for name in ("heavy.sketch", "sum.sketch"):
        words = ["weight 100000", "--rows-per-person 100000"]
        refused(made, tmp_path, "privatize", name, "--epsilon", 1, "-o", "out.sketch", words=words)
        flags = ["--epsilon", 1, "--rows-per-person", 100_000, "-o", "out.sketch"]
        assert made.json("privatize", name, *flags)["privacy"][0]["rows_per_person"] == 100_000
        (tmp_path / "out.sketch").unlink()
    look = ["sketch", "w.csv", "--weights", "w", "--bounds", "-8:8", "--private", 0.1, "-o", "out.sketch"]
    refused(made, tmp_path, *look, words=["weights", "some weigh more"])


def test_equal_sketches_are_merged_with_a_warning_and_equal_releases_not_at_all(made, tmp_path):
    done = made.run("merge", "plain.sketch", "plain.sketch", "-o", "twice.sketch")
    assert done.returncode == 0 and b"the same 500 rows, which now count twice" in done.stderr
    for name in "ab":
        made("privatize", "plain.sketch", "--epsilon", 1, "-o", f"{name}.sketch")
    assert made.run("merge", "a.sketch", "b.sketch", "-o", "ab.sketch").stderr == b""
    for again in (["a.sketch", "b.sketch", "a.sketch"], ["ab.sketch", "b.sketch"]):
        refused(made, tmp_path, "merge", *again, "-o", "out.sketch", words=["the same release is given twice"])


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
    keys = {"time", "output", "fingerprint", "epsilon", "delta", "neighbours", "rows_per_person", "mechanism", "rho", "hash"}
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
    wrong = [whole | {"spent": [entry]}, whole | {"format": 3}, whole | {"cap": {"epsilon": 0.0, "delta": 0.0}}, {}]
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
    same = ["privatize", "plain.sketch", "--epsilon", 1, "--ledger", "l.json", "-o"]
    refused(made, tmp_path, *same, "l.json", words=["the ledger itself"])
    refused(made, tmp_path, *same, "l.json.lock", words=["the lock of the ledger"])


def test_a_ledger_that_is_copied_back_linked_or_edited_is_refused(made, tmp_path):
    made("ledger", "l.json", "--cap-epsilon", 2)
    spend = ["privatize", "plain.sketch", "--epsilon", 1, "--ledger", "l.json", "-o"]
    made(*spend, "1.sketch")
    older = (tmp_path / "l.json").read_bytes()
    made(*spend, "2.sketch")
    newer = (tmp_path / "l.json").read_bytes()
    (tmp_path / "l.json").write_bytes(older)
    refused(made, tmp_path, *spend, "3.sketch", words=["put back to an older state"])
    (tmp_path / "l.json").write_bytes(newer.replace(b'"epsilon": 1.0', b'"epsilon": 0.1', 1))
    refused(made, tmp_path, *spend, "3.sketch", words=["was changed after it was written"])
    (tmp_path / "l.json").unlink()
    refused(made, tmp_path, "ledger", "l.json", "--cap-epsilon", 9, words=["there was a ledger of this name"])
    (tmp_path / "l.json").write_bytes(newer)
    (tmp_path / "soft.json").symlink_to("l.json")
    soft = ["privatize", "plain.sketch", "--epsilon", 1, "--ledger", "soft.json", "-o", "3.sketch"]
    refused(made, tmp_path, *soft, words=["2 of 2 is spent"])
    os.link(tmp_path / "l.json", tmp_path / "hard.json")
    refused(made, tmp_path, *spend, "3.sketch", words=["2 names (hard links)"])


def test_a_look_is_charged_when_it_is_made_and_a_release_costs_the_rest(made, tmp_path):
    made("ledger", "l.json", "--cap-epsilon", 1)
    look = ["rows.csv", "--bounds", "-8:8", "--private", 0.25, "--ledger", "l.json", "-o"]
    made("design", *look, "spec.json")
    assert made.json("ledger", "l.json")["total"]["epsilon"] == 0.25
    made("sketch", "rows.csv", "--spec", "spec.json", "-o", "paid.sketch")
    made("privatize", "paid.sketch", "--epsilon", 0.75, "--ledger", "l.json", "-o", "1.sketch")
    shown = made.json("ledger", "l.json")
    assert shown["total"]["epsilon"] == pytest.approx(0.75) and [e.get("look", False) for e in shown["spent"]] == [True, False]
    made("sketch", *look, "second.sketch")
    assert made.json("ledger", "l.json")["total"]["epsilon"] == pytest.approx(1)
    refused(made, tmp_path, "design", *look, "third.json", words=["epsilon 0.25 would exceed the cap"])
    made("ledger", "other.json", "--cap-epsilon", 1)
    words = ["the ledger itself"]
    refused(made, tmp_path, "design", *look[:-2], "other.json", "-o", "other.json", words=words)


def test_the_releases_of_a_ledger_are_composed_by_zcdp_where_that_is_less(made):
    made("ledger", "l.json", "--cap-epsilon", 2, "--cap-delta", 1e-5)
    for i in range(6):
        flags = ["--epsilon", 0.5, "--delta", 1e-6, "--ledger", "l.json"]
        made("privatize", "plain.sketch", *flags, "-o", f"{i}.sketch")
    shown = made.json("ledger", "l.json")
    assert shown["total"]["epsilon"] == 3 and shown["together"]["epsilon"] < 1.5
    assert "by zCDP  epsilon" in made("ledger", "l.json")


def test_a_useless_epsilon_is_questioned(made):
    done = made.run("privatize", "plain.sketch", "--epsilon", 21, "-o", "out.sketch")
    assert done.returncode == 0 and b"epsilon 21 hides next to nothing" in done.stderr
    assert b"warning" not in made.run("privatize", "plain.sketch", "--epsilon", 3, "-o", "out.sketch").stderr
