"""The outline of a recipe from the shell: its bytes read by numpy, what shows it, what leaves it out, what refuses it."""

import hashlib
import json

import format_outline
import numpy as np
import pytest
from format_reference import canonical_json, canonical_spec
from test_format import small_rows, small_spec
from testing import sha, write_csv


@pytest.fixture
def table(program, tmp_path):
    """Three clusters in four columns, the last of which is 0 in most rows of one of them."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 3, 6000)
    rows = rng.normal(0, 1, (6000, 4)) + np.array([[0, 0, 0, 9], [12, 0, 5, -9], [0, 15, -5, 0]])[label]
    rows[:, 1] += 0.8 * rows[:, 0]
    rows[label == 2, 3] = 0
    write_csv(tmp_path / "rows.csv", rows)
    program("design", "rows.csv", "-k", 3, "-o", "spec.json")
    return rows


def spec_of(folder, name="spec.json"):
    return json.loads((folder / name).read_text())


def test_cells_are_read_from_the_bytes_as_the_page_says(program, tmp_path, table):
    spec, shown = spec_of(tmp_path), program.json("inspect", "spec.json")
    assert shown["spec"] == spec and spec["format"] == 2
    cells = format_outline.read(spec["outline"], 4)
    assert shown["outline"] == {
        "cells": len(cells.rows), "groups": len(cells.correlations), "least_rows": cells.rows.min(),
        "pilot_rows": len(table), "bytes": len(spec["outline"]["data"]),
    }
    assert cells.rows.min() >= 5 and cells.groups.max() < len(cells.correlations)
    working = (table - spec["transform"]["centre"]) / spec["transform"]["spread"]
    assert (cells.centres >= working.min(0) - 1e-3).all() and (cells.centres <= working.max(0) + 1e-3).all()
    assert len(table) * 0.99 <= cells.rows.sum() <= len(table)
    # Between and within the cells is all there is: the sample is the whole table.
    share = cells.rows / cells.rows.sum()
    mean = share @ cells.centres
    within = sum(p * cells.covariance(a) for a, p in enumerate(share))
    between = (share[:, None] * (cells.centres - mean)).T @ (cells.centres - mean)
    assert np.abs(mean - working.mean(0)).max() < 0.01
    assert np.abs(within + between - np.cov(working.T)).max() < 0.03
    masses = cells.rows[cells.deviations[:, 3] == 0].sum()
    assert abs(masses - (table[:, 3] == 0).sum()) < 0.01 * len(table), "equal values are point masses"


def test_the_fingerprint_covers_the_outline(program, tmp_path, table):
    spec = spec_of(tmp_path)
    canonical = canonical_spec(spec)[:-1] + f',"moments":"{spec["moments"]}","outline":{canonical_json(spec["outline"])}}}'
    assert program.json("inspect", "spec.json")["fingerprint"] == hashlib.sha256(canonical.encode()).hexdigest()[:32]


def cells(d=3):
    rng = np.random.default_rng(1)
    correlations = np.eye(d) + 0.3 * (np.ones((2, d, d)) - np.eye(d)) * np.array([1, -1])[:, None, None]
    return format_outline.Cells(rng.normal(0, 1, (4, d)), rng.choice([0, 0.1, 2], (4, d)), np.array([5, 9, 40, 6]),
                                np.array([0, 1, 1, 0]), correlations)


def test_an_outline_of_another_program_is_read_kept_and_shown(program, tmp_path):
    spec = small_spec(format=2, outline=format_outline.write(cells(), 70))
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    write_csv(tmp_path / "rows.csv", small_rows(), spec["columns"])
    program("sketch", "rows.csv", "--spec", "spec.json", "-o", "rows.sketch")
    assert program.json("inspect", "rows.sketch")["spec"]["outline"] == spec["outline"]
    told = next(line for line in program("inspect", "rows.sketch").splitlines() if line.startswith("outline"))
    size = len(spec["outline"]["data"])
    assert told == (f"outline      4 cells of at least 5 rows each with the correlations of 2 groups, "
                    f"learned from a sample of 70 rows, {size} B")


@pytest.mark.parametrize(("change", "word"), [
    ({"rows": 59}, "60 rows"), ({"cells": 5}, "5 cells"), ({"blur": -1.0}, "blur"), ({"data": "%"}, "base64"), ({"more": 1}, "more"),
])
def test_outlines_that_no_sample_gives_are_refused(program, tmp_path, change, word):
    outline = format_outline.write(cells(), 70)
    (tmp_path / "spec.json").write_text(json.dumps(small_spec(format=2, outline=outline | change)))
    assert word in program.fails("inspect", "spec.json")


def test_an_outline_goes_with_its_columns_and_with_no_promise_of_privacy(program, tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(small_spec(format=2, outline=format_outline.write(cells(4), 70))))
    assert "4 columns" in program.fails("inspect", "spec.json")
    spec = small_spec(format=2, outline=format_outline.write(cells(), 70), source={"name": "bounds"})
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    assert "outline is learned from rows" in program.fails("inspect", "spec.json")


def test_recipes_without_an_outline(program, tmp_path, table):
    outlined = spec_of(tmp_path)
    program("design", "rows.csv", "-k", 3, "--no-outline", "-o", "plain.json")
    plain = spec_of(tmp_path, "plain.json")
    del outlined["outline"]
    assert plain == outlined
    program("design", "rows.csv", "-k", 3, "--no-outline", "--no-moments", "-o", "old.json")
    assert spec_of(tmp_path, "old.json")["format"] == 1
    assert "outline" not in program("inspect", "plain.json")
    for flags in (["--task", "pca"], ["--task", "generate"], ["--bounds", "-60:60", "--private", 0]):
        program("design", "rows.csv", "-k", 2, *flags, "-o", "none.json", "--quiet")
        assert "outline" not in spec_of(tmp_path, "none.json"), flags
    program("kmeans", "rows.csv", "-k", 3, "--no-outline", "--keep", "kept.sketch", "-o", "model.json")
    assert "outline" not in program.json("inspect", "kept.sketch")
    program("sketch", "rows.csv", "-k", 3, "--no-outline", "-o", "plain.sketch")
    assert program.json("inspect", "plain.sketch")["spec"] == plain


def test_what_is_learned_from_rows_is_released_only_as_public(program, tmp_path, table):
    program("sketch", "rows.csv", "--spec", "spec.json", "-o", "rows.sketch")
    n = program.json("inspect", "spec.json")["outline"]["cells"]
    refusal = program.fails("privatize", "rows.sketch", "--epsilon", 1, "-o", "p.sketch")
    assert f"looking at 6000 rows" in refusal and f"an outline of {n} cells" in refusal and "--public-spec" in refusal
    program("privatize", "rows.sketch", "--epsilon", 1, "--public-spec", "-o", "p.sketch", "--quiet")
    assert program.json("inspect", "p.sketch")["outline"]["cells"] == n


def test_shards_keep_the_outline_to_the_byte_and_pages_show_it(program, tmp_path, table):
    program("sketch", "rows.csv", "--spec", "spec.json", "-o", "whole.sketch")
    for i, part in enumerate(np.array_split(table, 2)):
        write_csv(tmp_path / f"part{i}.csv", part)
        program("sketch", f"part{i}.csv", "--spec", "spec.json", "-o", f"part{i}.sketch")
    program("merge", "part0.sketch", "part1.sketch", "-o", "merged.sketch")
    assert sha(tmp_path / "merged.sketch") == sha(tmp_path / "whole.sketch")
    program("report", "whole.sketch", "-o", "page.html")
    assert "learned from a sample of 6,000 rows" in (tmp_path / "page.html").read_text()
