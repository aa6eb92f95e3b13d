"""Made-up tables: reproducible, the same in every format, and distributed as they claim."""

import json

import numpy as np
import pyarrow.parquet
import pytest


def test_the_same_numbers_in_every_format(program, tmp_path):
    for name in ("a.npy", "b.npy", "a.csv", "a.parquet"):
        program("generate", "unequal", "-n", 70_000, "-d", 5, "-k", 3, "--seed", 4, "-o", name)
    a = np.load(tmp_path / "a.npy")
    assert a.shape == (70_000, 5) and a.dtype == np.float32
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    text = np.genfromtxt(tmp_path / "a.csv", delimiter=",", names=True)
    assert text.dtype.names == ("x0", "x1", "x2", "x3", "x4")
    np.testing.assert_array_equal(np.column_stack([text[n] for n in text.dtype.names]).astype(np.float32), a)
    columns = pyarrow.parquet.read_table(tmp_path / "a.parquet")
    np.testing.assert_array_equal(np.column_stack([columns[n].to_numpy() for n in columns.column_names]), a)
    program("generate", "unequal", "-n", 70_000, "-d", 5, "-k", 3, "--seed", 5, "-o", "b.npy")
    assert not np.array_equal(np.load(tmp_path / "b.npy"), a)


@pytest.mark.parametrize("kind", ["separated", "unequal", "mixture", "stretched", "six-gaussians"])
def test_rows_have_the_statistics_of_their_truth(program, tmp_path, kind):
    n = 100_000
    program("generate", kind, "-n", n, "-d", 4, "-k", 6, "--labels", "--truth", "truth.json", "-o", "rows.npy")
    table = np.load(tmp_path / "rows.npy").astype(float)
    truth = json.loads((tmp_path / "truth.json").read_text())
    d = len(truth["columns"])
    x, labels = table[:, :d], table[:, d].astype(int)
    assert truth["task"] == "gmm" and truth["k"] == 6 and d == (2 if kind == "six-gaussians" else 4)
    for l in range(6):
        rows, weight = x[labels == l], truth["weights"][l]
        # Five standard errors each, over at most 54 comparisons.
        assert abs(len(rows) - weight * n) < 5 * np.sqrt(weight * n)
        std = np.sqrt(truth["covariances"][l])
        assert (np.abs(rows.mean(0) - truth["means"][l]) < 5 * std / np.sqrt(len(rows))).all()
        assert (np.abs(rows.var(0) / std**2 - 1) < 5 * np.sqrt(2 / len(rows))).all()
    if kind == "stretched":
        assert np.allclose(truth["covariances"], [[0.01, 0.01, 1, 1]] * 6)
    # The truth is a model: the other commands take it.
    assert program.json("score", "truth.json", "rows.npy")["rows"] == n


def test_the_truth_does_not_depend_on_the_number_of_rows(program, tmp_path):
    for n in (10, 1000):
        program("generate", "mixture", "-n", n, "--truth", f"{n}.json", "-o", f"{n}.npy")
    assert (tmp_path / "10.json").read_bytes() == (tmp_path / "1000.json").read_bytes()
    np.testing.assert_array_equal(np.load(tmp_path / "1000.npy")[:10], np.load(tmp_path / "10.npy"))


def test_shapes_in_the_plane(program, tmp_path):
    radius = {}
    for kind in ("spiral", "ring", "circles"):
        program("generate", kind, "-n", 5000, "-k", 3, "--noise", 0.01, "--labels", "-o", "rows.npy")
        x, y, label = np.load(tmp_path / "rows.npy").T
        radius[kind] = np.hypot(x, y)
        if kind == "circles":
            assert np.abs(radius[kind] - 1 - label).max() < 0.06
        if kind == "spiral":
            turn = np.mod(np.arctan2(y, x), 2 * np.pi) / (2 * np.pi)
            assert np.median(np.abs(radius[kind] - turn)) < 0.02
    assert np.abs(radius["ring"] - 1).max() < 0.06 < np.abs(radius["spiral"] - 1).max()


def test_what_cannot_be_made_is_refused(program, tmp_path):
    assert "not a mixture" in program.fails("generate", "ring", "-o", "r.npy", "--truth", "t.json")
    assert ".parquet" in program.fails("generate", "ring", "-o", "r.txt")
    assert "separation" in program.fails("generate", "separated", "--separation", 0, "-o", "r.npy")
    assert "--noise" in program.fails("generate", "ring", "--noise", "nan", "-o", "r.npy")
    program.fails("generate", "separated", "-k", 0, "-o", "r.npy", code=2)
    program.fails("generate", "cube", "-o", "r.npy", code=2)
    assert list(tmp_path.iterdir()) == []
