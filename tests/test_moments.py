"""Exact moments from the shell: bytes of format 2, shards, answers and components beside numpy, and what is refused."""

import json

import numpy as np
import pytest
from format_moments import moment_file
from safetensors import safe_open
from test_format import WEIGHTS, assert_same, small_rows, small_spec
from testing import sha, write_csv

WHITEN = [[1.5, 0.0, 0.0], [0.2, 1.1, 0.0], [-0.3, 0.4, 2.0]]


def sketch(program, folder, spec, rows, weights=None, name="rows"):
    (folder / "spec.json").write_text(json.dumps(spec))
    columns, flags = spec["columns"], []
    if weights is not None:
        rows, columns, flags = np.column_stack([rows, weights]), [*columns, "w"], ["--weights", "w"]
    write_csv(folder / f"{name}.csv", rows, columns)
    program("sketch", f"{name}.csv", "--spec", "spec.json", "-o", f"{name}.sketch", *flags)
    return (folder / f"{name}.sketch").read_bytes()


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("whiten", [None, WHITEN], ids=["columns", "whitened"])
@pytest.mark.parametrize("kept", ["full", "diagonal"])
def test_files_are_rebuilt_in_whole_numbers(program, tmp_path, kept, whiten, weights):
    spec = small_spec(format=2, moments=kept)
    spec["transform"]["whiten"] = whiten
    rows = small_rows()
    assert_same(sketch(program, tmp_path, spec, rows, weights), moment_file(spec, rows, weights))
    with safe_open(tmp_path / "rows.sketch", framework="np") as file:
        assert file.metadata()["compressive"] == "2"
        assert file.get_tensor("moments")[0] > 0, "outliers beyond the limit are counted"
    assert "The moments are not exact" in program("inspect", "rows.sketch")


def test_many_rows_near_and_far_are_rebuilt(program, tmp_path):
    rng = np.random.default_rng(4)
    spec = small_spec(7, format=2, moments="full", feature={"name": "cosine"}, size=1)
    rows = rng.normal(0, 1, (1500, 7)) * rng.choice([1, 30, 1e4], (1500, 1), p=[0.9, 0.09, 0.01])
    assert_same(sketch(program, tmp_path, spec, rows), moment_file(spec, rows))
    weights = rng.choice([1, 2, 5000, 0.3], 1500)
    assert_same(sketch(program, tmp_path, spec, rows, weights), moment_file(spec, rows, weights))


def test_shards_threads_and_slices_have_the_bytes_of_one_pass(program, tmp_path, rows):
    np.save(tmp_path / "rows.npy", rows)
    program("design", "rows.npy", "-k", 3, "-o", "spec.json")
    assert json.loads((tmp_path / "spec.json").read_text())["moments"] == "full"
    program("sketch", "rows.npy", "--spec", "spec.json", "-o", "whole.sketch")
    for i, part in enumerate(np.array_split(rows, 3)):
        np.save(tmp_path / f"part{i}.npy", part)
        program("sketch", f"part{i}.npy", "--spec", "spec.json", "-o", f"part{i}.sketch", "--threads", i + 1, "--chunk", 37)
    program("merge", "part2.sketch", "part0.sketch", "part1.sketch", "-o", "merged.sketch")
    assert sha(tmp_path / "merged.sketch") == sha(tmp_path / "whole.sketch")
    program("subtract", "merged.sketch", "part1.sketch", "-o", "rest.sketch")
    program("merge", "part0.sketch", "part2.sketch", "-o", "two.sketch")
    assert sha(tmp_path / "rest.sketch") == sha(tmp_path / "two.sketch")
    group = np.arange(len(rows)) % 2
    write_csv(tmp_path / "by.csv", np.column_stack([rows, group]), ["x0", "x1", "x2", "x3", "g"])
    write_csv(tmp_path / "one.csv", rows[group == 1], ["x0", "x1", "x2", "x3"])
    program("sketch", "by.csv", "--spec", "spec.json", "--by", "g", "-o", "by")
    program("sketch", "one.csv", "--spec", "spec.json", "-o", "one.sketch")
    assert sha(tmp_path / "by" / "1.0.sketch") == sha(tmp_path / "one.sketch")


def test_answers_and_components_are_those_of_the_rows(program, tmp_path):
    rng = np.random.default_rng(2)
    rows = rng.normal(0, 1, (20_000, 5)) @ rng.normal(0, 1, (5, 5)) * [1, 20, 0.1, 3, 1] + [5, 1e4, 0, -7, 2]
    write_csv(tmp_path / "rows.csv", rows, list("abcde"))
    program("sketch", "rows.csv", "-k", 4, "-o", "rows.sketch", "--scaling", "columns")
    asked = {"mean(b)": rows[:, 1].mean(), "std(c)": rows[:, 2].std(), "var(a)": rows[:, 0].var(),
             "corr(b, d)": np.corrcoef(rows[:, 1], rows[:, 3])[0, 1], "cov(a, e)": np.cov(rows.T, bias=True)[0, 4],
             "var(a - e)": (rows[:, 0] - rows[:, 4]).var()}
    answers = program.json("query", "rows.sketch", *asked)["answers"]
    for answer, (text, truth) in zip(answers, asked.items()):
        assert answer["exact"] and answer["low"] <= truth <= answer["high"], (text, answer, truth)
        assert abs(answer["value"] - truth) < 1e-9 * max(1, abs(truth)), (text, answer, truth)
        assert answer["high"] - answer["low"] < 1e-5 * max(1, abs(truth)), (text, answer)
    output = program("query", "rows.sketch", "corr(b, d)", "share(a > 5)")
    assert "exact" in output.splitlines()[1] and "[" in output.splitlines()[2], output
    program("fit", "rows.sketch", "--task", "pca", "-k", 2, "-o", "model.json")
    model = json.loads((tmp_path / "model.json").read_text())
    scaled = (rows - rows.mean(axis=0)) / model["scale"]
    basis = np.array(model["components"])
    left = ((scaled - scaled @ basis.T @ basis) ** 2).sum()
    best = (np.linalg.svd(scaled, compute_uv=False)[2:] ** 2).sum()
    assert left / best - 1 < 1e-9


def test_what_goes_without_moments(program, tmp_path, rows):
    write_csv(tmp_path / "rows.csv", rows)
    program("sketch", "rows.csv", "-k", 3, "-o", "exact.sketch")
    output = program.run("privatize", "exact.sketch", "--epsilon", 1, "--public-spec", "-o", "p.sketch").stderr.decode()
    assert "holds no exact moments" in output
    spec = program.json("inspect", "p.sketch")["spec"]
    assert "moments" not in spec and "outline" in spec
    program("sketch", "rows.csv", "-k", 3, "--no-moments", "-o", "plain.sketch")
    assert program.json("inspect", "plain.sketch")["fingerprint"] == program.json("inspect", "p.sketch")["fingerprint"]
    assert "moments" in program.fails("merge", "plain.sketch", "exact.sketch", "-o", "both.sketch")
    for flags in (["--feature", "one-bit"], ["--bounds", "-30:30", "--private", 0], ["--task", "pca", "--feature", "quadratic"]):
        program("design", "rows.csv", "-k", 2, *flags, "-o", "spec.json", "--quiet")
        assert "moments" not in json.loads((tmp_path / "spec.json").read_text()), flags
    program("design", "rows.csv", "-k", 2, "--feature", "one-bit", "--moments", "-o", "spec.json")
    assert json.loads((tmp_path / "spec.json").read_text())["moments"] == "full"


def test_damage_and_newer_formats_are_noticed(program, tmp_path):
    good = sketch(program, tmp_path, small_spec(format=2, moments="full"), small_rows())
    for at in (len(good) - 1, len(good) - 60, good.index(b"moments")):
        (tmp_path / "bad.sketch").write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert "intact" in program.fails("inspect", "bad.sketch")
    newer = good.replace(b'"compressive":"2"', b'"compressive":"3"')
    (tmp_path / "newer.sketch").write_bytes(newer)
    assert "newer" in program.fails("inspect", "newer.sketch")
    (tmp_path / "spec.json").write_text(json.dumps(small_spec(format=1, moments="full")))
    assert "format" in program.fails("sketch", "rows.csv", "--spec", "spec.json", "-o", "out.sketch")
