"""Bad input gets a clear error that names the place and the remedy, exit code 1, and leaves no file behind."""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from testing import COLUMNS, PROGRAM, write_csv


@pytest.fixture
def refused(program, tmp_path):
    """Runs a sketch that must be refused, with all given words in its message and no output written."""

    def check(args, *words):
        message = program.fails("sketch", *args, "-o", "out.sketch")
        *notes, error = message.splitlines()
        assert error.startswith("error: ") and all(note.startswith("note: ") for note in notes), message
        for word in words:
            assert str(word) in error, (word, message)
        assert not list(tmp_path.glob("out.sketch*")) and not list(tmp_path.glob(".*")), list(tmp_path.iterdir())

    return check


def csv(tmp_path, text):
    (tmp_path / "in.csv").write_text(text)
    return ["in.csv"]


GOOD = "".join(f"{i % 7},{i % 5}\n" for i in range(20))


@pytest.mark.parametrize("bad", ["inf", "-Infinity"])
def test_a_bad_value_names_file_row_line_and_column(tmp_path, refused, program, bad):
    data = csv(tmp_path, "a,b\n" + GOOD + f"3,{bad}\n" + GOOD)
    refused(data, "in.csv", "row 21", "line 22", '"b"', "--skip-bad-rows")
    done = program.json("sketch", *data, "-o", "skipped.sketch", "--skip-bad-rows")
    assert (done["rows_read"], done["rows_skipped"]) == (40, 1)


@pytest.mark.parametrize("stray", ["1.2.3", "rotary", "5' 4"])
def test_a_stray_word_counts_as_missing_and_is_told_with_its_place(tmp_path, refused, program, stray):
    data = csv(tmp_path, "a,b\n" + GOOD + f"3,{stray}\n" + GOOD)
    done = program.run("sketch", *data, "-o", "filled.sketch", "--json")
    assert json.loads(done.stdout)["rows_read"] == 41
    assert f'1 entry of `b` counts as missing: "{stray}" (row 21, line 22)'.encode() in done.stderr
    refused([*data, "--missing", "error"], "in.csv", "row 21", "line 22", '"b"', "--skip-bad-rows")
    done = program.json("sketch", *data, "-o", "skipped.sketch", "--skip-bad-rows")
    assert (done["rows_read"], done["rows_skipped"]) == (40, 1)
    # A recipe that fills and was made of other rows takes them, too, up to one in 20.
    program("design", *data, "-o", "spec.json", "--skip-bad-rows", "--missing", "fill")
    program("sketch", *data, "--spec", "spec.json", "-o", "again.sketch")
    many = csv(tmp_path, "a,b\n" + GOOD + "".join(f"3,{stray}\n" for _ in range(4)) + GOOD * 2)
    refused([*many, "--spec", "spec.json"], "in.csv", '"b"', "text")


@pytest.mark.parametrize("missing", ["nan", "NaN", "", "n/a"])
def test_a_missing_value_is_filled_or_an_error_that_names_its_place(tmp_path, refused, program, missing):
    data = csv(tmp_path, "a,b\n" + GOOD + f"3,{missing}\n" + GOOD)
    done = program.run("sketch", *data, "-o", "filled.sketch", "--json")
    assert json.loads(done.stdout)["rows_read"] == 41
    assert b"filled 1 missing entry" in done.stderr and b"`b` 1" in done.stderr
    refused([*data, "--missing", "error"], "in.csv", "row 21", "line 22", '"b"', "--skip-bad-rows")
    done = program.json("sketch", *data, "-o", "skipped.sketch", "--missing", "error", "--skip-bad-rows")
    assert (done["rows_read"], done["rows_skipped"]) == (40, 1)


def test_the_first_bad_row_is_reported_whatever_the_threads(tmp_path, refused):
    lines = [f"{i},{i % 3}" for i in range(300_000)]
    lines[1234] = "x,1"
    lines[250_000] = "1,y"
    data = csv(tmp_path, "a,b\n" + "\n".join(lines) + "\n")
    for threads in (1, 3):
        refused([*data, "--threads", threads, "--columns", "a,b", "--missing", "error"], "row 1235", '"a"')


def test_ragged_rows(tmp_path, refused):
    refused(csv(tmp_path, "a,b\n" + GOOD + "1,2,3\n"), "row 21", "3", "2")
    refused(csv(tmp_path, "a,b\n" + GOOD + "1\n" + GOOD), "row 21", "1", "2")


def test_a_quote_that_never_closes(tmp_path, refused):
    refused(csv(tmp_path, "a,b\n" + GOOD + '"1,2\n' + GOOD), "in.csv", "quote")


def test_files_without_rows_or_columns(tmp_path, refused):
    refused(csv(tmp_path, ""), "in.csv", "empty")
    refused(csv(tmp_path, "a,b\n"), "in.csv", "no row")
    refused(csv(tmp_path, "name,city\nann,rome\nbob,oslo\n"), "no numeric column", "name")
    np.save(tmp_path / "none.npy", np.zeros((5, 0)))
    refused(["none.npy"], "none.npy", "column")
    np.save(tmp_path / "norows.npy", np.zeros((0, 3)))
    refused(["norows.npy"], "norows.npy", "row")


def test_one_row_and_constant_columns_cannot_set_a_scale(tmp_path, refused, program):
    refused(csv(tmp_path, "a,b\n1,2\n"), "at least 2 rows")
    constant = csv(tmp_path, "a,b\n1,7\n2,7\n4,7\n")
    refused([*constant, "--columns", "a,b"], "`b` is constant", "--exclude b")
    done = program.run("sketch", *constant, "-o", "a.sketch")
    assert done.returncode == 0 and b"left out column `b`: constant" in done.stderr
    assert json.loads(program("inspect", "a.sketch", "--spec"))["columns"] == ["a"]
    # With a spec, one row is a row like any other.
    csv(tmp_path, "a,b\n" + GOOD)
    program("design", "in.csv", "-o", "spec.json")
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    assert program.json("sketch", "one.csv", "--spec", "spec.json", "-o", "one.sketch")["rows_read"] == 1


def test_files_that_are_not_there_or_not_tables(tmp_path, refused):
    refused(["missing.csv"], "missing.csv")
    refused(["*.parquet"], "*.parquet")
    (tmp_path / "empty-folder").mkdir()
    refused(["empty-folder"], "empty-folder")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    refused(["picture.png"], "picture.png")
    (tmp_path / "fake.parquet").write_bytes(b"hello")
    refused(["fake.parquet"], "fake.parquet")
    (tmp_path / "fake.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00hello")
    refused(["fake.npy"], "fake.npy")


def test_truncated_files(tmp_path, refused, rows):
    pyarrow.parquet.write_table(pa.table(dict(zip(COLUMNS, rows.T))), tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", rows)
    with pa.ipc.new_file(tmp_path / "t.arrow", pa.table(dict(zip(COLUMNS, rows.T))).schema) as writer:
        writer.write_table(pa.table(dict(zip(COLUMNS, rows.T))))
    for name in ["t.parquet", "t.npy", "t.arrow"]:
        whole = (tmp_path / name).read_bytes()
        for keep in (len(whole) - 1, len(whole) // 2, 20):
            (tmp_path / name).write_bytes(whole[:keep])
            refused([name], name)


def test_damaged_parquet_pages_are_an_error_and_never_a_panic(tmp_path, program, rows):
    pyarrow.parquet.write_table(pa.table(dict(zip(COLUMNS, rows.T))), tmp_path / "t.parquet", compression="snappy")
    whole = (tmp_path / "t.parquet").read_bytes()
    rng = random.Random(1)
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(20):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        (tmp_path / "t.parquet").write_bytes(broken)
        done = program.run("sketch", "t.parquet", "-o", "out.sketch")
        assert done.returncode in (0, 1) and b"panicked" not in done.stderr, done.stderr.decode()


def test_nulls_and_other_types_in_parquet(tmp_path, refused, program):
    table = pa.table({"a": [1.0, 2.0, None, 4.0], "b": [1, 2, 3, 4], "when": pa.array([1, 2, 3, 4], pa.timestamp("s")), "who": list("wxyz")})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    refused(["t.parquet", "--missing", "error"], "t.parquet", "row 3", '"a"', "null")
    done = program.run("sketch", "t.parquet", "-o", "ok.sketch", "--exclude", "a")
    assert done.returncode == 0
    assert b"left out column `who`" in done.stderr and b"seconds since 1970: `when`" in done.stderr
    assert json.loads(program("inspect", "ok.sketch", "--spec"))["columns"] == ["b", "when"]


def test_columns_that_are_not_there(tmp_path, refused):
    data = csv(tmp_path, "height,weight\n" + GOOD)
    refused([*data, "--columns", "heigth"], "heigth", "height")
    refused([*data, "--by", "region"], "region", "--by")
    refused([*data, "--weights", "w"], '"w"', "--weights")


def test_columns_of_text_are_left_out_or_are_categories_by_name(tmp_path, refused, program):
    data = csv(tmp_path, "name,x\n" + "".join(f"n{i},{i}\n" for i in range(9)))
    note = program.run("sketch", *data, "-o", "a.sketch").stderr
    assert b"left out column `name`: text of 9 different values in 9 sampled rows" in note
    assert b"`name` (9 levels)" in program.run("sketch", *data, "-o", "a.sketch", "--columns", "name,x").stderr
    refused([*data, "--columns", "name,x", "--bounds", "-9:9", "--private", "0"], '"name"', "--columns")


def test_bad_weights(tmp_path, refused):
    for weight in ("-1", "x", "nan"):
        data = csv(tmp_path, "a,w\n" + "".join(f"{i},1\n" for i in range(9)) + f"1,{weight}\n")
        refused([*data, "--columns", "a", "--weights", "w"], "row 10", '"w"')


def test_too_many_groups(tmp_path, refused):
    data = csv(tmp_path, "a,id\n" + "".join(f"{i % 9},{i}\n" for i in range(50)))
    refused([*data, "--by", "id", "--max-groups", 10], '"id"', "10")


def test_files_with_other_columns(tmp_path, refused):
    (tmp_path / "p1.csv").write_text("a,b\n" + GOOD)
    (tmp_path / "p2.csv").write_text("a,c\n" + GOOD)
    refused(["p1.csv", "p2.csv"], "p2.csv", "p1.csv", "b", "c")


def test_specs_that_make_no_sense(tmp_path, refused, program):
    data = csv(tmp_path, "a,b\n" + GOOD)
    program("design", *data, "-o", "spec.json")
    good = (tmp_path / "spec.json").read_text()
    cases = [
        ("adapted-radius", "levy", ["levy", "folded-gaussian"]),
        ('"fourier"', '"wavelet"', ["wavelet", "sawtooth"]),
        ('"format": 2', '"format": 7', ["format", "7"]),
        ('"scale": ', '"scale": -', ["scale"]),
        ('"seed": 0', '"sead": 0', ["sead"]),
        ("}", "", ["line"]),
    ]
    for old, new, words in cases:
        assert old in good
        (tmp_path / "bad.json").write_text(good.replace(old, new))
        refused([*data, "--spec", "bad.json"], "bad.json", *words)
    (tmp_path / "other.csv").write_text("a,c\n" + GOOD)
    refused(["other.csv", "--spec", "spec.json"], "other.csv", '"b"')


def test_sketches_of_other_specs_do_not_merge(tmp_path, program):
    data = csv(tmp_path, "a,b\n" + GOOD)
    for seed in (1, 2):
        program("sketch", *data, "--seed", seed, "-o", f"{seed}.sketch")
    for command in (["merge", "1.sketch", "2.sketch", "-o", "out"], ["subtract", "1.sketch", "2.sketch", "-o", "out"],
                    ["compare", "1.sketch", "2.sketch"]):
        message = program.fails(*command)
        assert "seed (1 / 2)" in message and "2.sketch" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("recipe", [[], ["--task", "pca", "-k", "1", "--feature", "quadratic"], ["--feature", "nystrom", "--size", "3"], ["--task", "classify", "--feature", "conv", "--image", "1x2", "--size", "3"]], ids=["fourier", "quadratic", "nystrom", "conv"])
def test_a_flipped_bit_and_a_cut_are_noticed(tmp_path, program, recipe):
    data = csv(tmp_path, "a,b\n" + GOOD)
    program("sketch", *data, *recipe, "-o", "s.sketch")
    whole = (tmp_path / "s.sketch").read_bytes()
    rng = random.Random(3)
    for _ in range(40):
        broken = bytearray(whole)
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
        (tmp_path / "broken.sketch").write_bytes(broken)
        message = program.fails("inspect", "broken.sketch")
        assert "broken.sketch" in message
    (tmp_path / "cut.sketch").write_bytes(whole[:-3])
    assert "cut.sketch" in program.fails("merge", "s.sketch", "cut.sketch", "-o", "out")


def test_wrong_usage_exits_with_2(program):
    for args in (["sketch"], ["nonsense"], ["sketch", "a.csv"], ["sketch", "a.csv", "-o", "s", "--feature", "x"],
                 ["sketch", "a.csv", "-o", "s", "--law", "x"], ["sketch", "a.csv", "-o", "s", "--chunk", "0"]):
        assert "Usage" in program.fails(*args, code=2) or "--help" in program.fails(*args, code=2)


def test_unwritable_places_are_noticed_before_the_pass(tmp_path, program):
    csv(tmp_path, "a,b\n" + GOOD)
    assert "no folder" in program.fails("sketch", "in.csv", "-o", "nowhere/out.sketch")
    (tmp_path / "folder").mkdir()
    assert "is a folder" in program.fails("sketch", "in.csv", "-o", "folder")


def test_ctrl_c_leaves_no_file(tmp_path, program):
    np.save(tmp_path / "big.npy", np.random.default_rng(0).normal(size=(400_000, 20)))
    process = subprocess.Popen(
        [str(PROGRAM), "sketch", "big.npy", "-o", "out.sketch", "--size", "20000"],
        cwd=tmp_path, stderr=subprocess.PIPE,
    )
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130 and b"nothing was written" in message
    assert [p.name for p in pathlib.Path(tmp_path).iterdir()] == ["big.npy"]


def test_results_go_through_links_and_into_devices_and_neither_is_replaced(program, tmp_path):
    write_csv(tmp_path / "rows.csv", [[i, -i] for i in range(9)], ["a", "b"])
    program("sketch", "rows.csv", "--size", 5, "-o", "real.sketch", "-q")
    (tmp_path / "link.sketch").symlink_to("second.sketch")
    program("merge", "real.sketch", "-o", "link.sketch")
    assert (tmp_path / "link.sketch").is_symlink()
    assert (tmp_path / "second.sketch").read_bytes() == (tmp_path / "real.sketch").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    run = subprocess.Popen([str(PROGRAM), "merge", "real.sketch", "-o", "pipe"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    assert (tmp_path / "pipe").read_bytes() == (tmp_path / "real.sketch").read_bytes()
    assert run.wait(60) == 0 and (tmp_path / "pipe").is_fifo()
    # What a program that was killed has left is removed by the next one.
    orphan = tmp_path / ".compressive-killed.tmp"
    orphan.write_bytes(b"half")
    os.utime(orphan, (1, 1))
    program("sketch", "rows.csv", "--spec", "real.sketch", "-o", "other.sketch", "-q")
    assert not orphan.exists()


def test_files_without_end_and_names_that_move_the_cursor(program, tmp_path):
    for command in (["inspect", "/dev/zero"], ["merge", "/dev/zero", "-o", "x.sketch"]):
        assert "/dev/zero has more than 537 MB" in program.fails(*command)
    write_csv(tmp_path / "rows.csv", [[i, -i] for i in range(9)], ["a\x1b[2J", "b\u202e"])
    program("sketch", "rows.csv", "--size", 5, "-o", "rows.sketch", "-q")
    shown = program("inspect", "rows.sketch")
    assert "a\\u001b[2J" in shown and "b\\u202e" in shown and "\x1b" not in shown
    assert program.json("inspect", "rows.sketch")["spec"]["columns"] == ["a\x1b[2J", "b\u202e"]
    assert "\x1b" not in program.fails("inspect", "no\x1b[2Jfile")
