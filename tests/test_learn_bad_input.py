"""What cannot be learned, predicted or scored gets a clear error and exit code 1, and leaves no file behind."""

import json

import numpy as np
import pytest
from testing import COLUMNS, write_csv


@pytest.fixture
def refused(program, tmp_path):
    """Runs a command that must be refused, with all given words in its message and no output written."""

    def check(args, *words, code=1):
        message = program.fails(*args, "-o", "out.json", code=code)
        for word in words:
            assert str(word) in message, (word, message)
        assert not (tmp_path / "out.json").exists() and not list(tmp_path.glob(".*"))

    return check


@pytest.fixture
def sketch(program, tmp_path, rows):
    write_csv(tmp_path / "rows.csv", rows)
    program("sketch", "rows.csv", "--size", 30, "-o", "s.sketch")
    return "s.sketch"


def test_impossible_numbers_of_components(program, tmp_path, refused, sketch):
    for command in (["fit", sketch], ["kmeans", "rows.csv"], ["gmm", "rows.csv"]):
        refused([*command, "-k", 0], "-k 0", "1 or more")
        refused([*command, "-k", "5:3"], "5:3", "LOW:HIGH")
        refused([*command, "-k", "0:3"], "0:3")
        refused([*command, "-k", "many"], "auto", code=2)
        refused(command, "-k", code=2)
    refused(["fit", sketch, "-k", 31], sketch, "31 components", "at least 31 frequencies", "--size")
    refused(["kmeans", "rows.csv", "-k", 1501], "1501 components", "1500 rows")


def test_sketches_without_rows_or_structure(program, tmp_path, refused, sketch, rows):
    program("subtract", sketch, sketch, "-o", "empty.sketch")
    refused(["fit", "empty.sketch", "-k", 1], "empty.sketch", "at least 1 row")
    write_csv(tmp_path / "one.csv", rows[:1])
    program("sketch", "one.csv", "--spec", sketch, "-o", "one.sketch")
    refused(["fit", "one.sketch", "-k", 2], "one.sketch", "1 row")
    write_csv(tmp_path / "equal.csv", np.repeat(rows[:1], 100, axis=0))
    program("sketch", "equal.csv", "--spec", sketch, "-o", "equal.sketch")
    refused(["fit", "equal.sketch", "-k", 2], "equal.sketch", "100 rows", "are equal")
    # One component is right there, and it is the row itself.
    model = program.json("fit", "equal.sketch", "-k", 1)
    np.testing.assert_allclose(model["centers"][0], rows[0], atol=0.01)


def test_files_that_are_no_sketch_or_no_model(program, tmp_path, refused, sketch):
    refused(["fit", "rows.csv", "-k", 3], "rows.csv")
    refused(["fit", "none.sketch", "-k", 3], "none.sketch")
    for command in (["predict", "-o", "l.csv"], ["score"]):
        assert "is not a model" in program.fails(*command, sketch, "rows.csv")
        assert "cannot read" in program.fails(*command, "none.json", "rows.csv")


def model(**changes):
    fields = {"format": 1, "task": "kmeans", "k": 2, "columns": COLUMNS, "centers": [[0.0] * 4, [1.0] * 4], "weights": [0.5, 0.5]}
    return json.dumps(fields | changes)


@pytest.mark.parametrize(
    "text, word",
    [
        (model(centers=[[0.0] * 4, [0.0, float("nan"), 0.0, 0.0]]), "line 1"),
        (model(centers=[[0.0] * 4, [1e999, 0.0, 0.0, 0.0]]), "line 1"),
        (model(centers=[[0.0] * 4]), "centers"),
        (model(weights=[0.5, 0.6]), "weights"),
        (model(k=0), "`k`"),
        (model(format=2), "format"),
        (model(task="gmm", means=[[0.0] * 4] * 2, covariances=[[1.0, 1.0, 0.0, 1.0]] * 2), "variance 0"),
        (model(task="gmm", means=[[0.0] * 4] * 2, covariances=[(np.eye(4) * -1).tolist()] * 2), "positive definite"),
        (model(task="gmm", means=[[0.0] * 4] * 2, covariances=[np.triu(np.full((4, 4), 0.1) + np.eye(4)).tolist()] * 2), "symmetric"),
        ("{", "line 1"),
    ],
)
def test_damaged_models_name_the_field(program, tmp_path, rows, text, word):
    write_csv(tmp_path / "rows.csv", rows)
    (tmp_path / "model.json").write_text(text)
    for command in (["predict", "model.json", "rows.csv", "-o", "l.csv"], ["score", "model.json", "rows.csv"]):
        message = program.fails(*command)
        assert "model.json" in message and word in message, message
    assert not (tmp_path / "l.csv").exists()


def test_a_model_of_other_columns(program, tmp_path, rows, sketch):
    (tmp_path / "model.json").write_text(model(columns=["a", "b", "c", "e"]))
    message = program.fails("predict", "model.json", "rows.csv", "-o", "l.csv")
    assert "rows.csv" in message and '"e"' in message
    assert '"e"' in program.fails("score", "model.json", "rows.csv")
    message = program.fails("diagnose", sketch, "model.json")
    assert "columns" in message and "a, b, c, e" in message and "a, b, c, d" in message


def test_what_does_not_fit_the_model_or_the_file(program, tmp_path, sketch):
    (tmp_path / "model.json").write_text(model())
    assert "no probabilities" in program.fails("predict", "model.json", "rows.csv", "-o", "l.csv", "--probabilities")
    assert ".parquet" in program.fails("predict", "model.json", "rows.csv", "-o", "labels.txt")
    assert "no folder" in program.fails("predict", "model.json", "rows.csv", "-o", "none/labels.csv")
    assert "no folder" in program.fails("fit", sketch, "-k", 2, "-o", "none/model.json")
    assert '"kind"' in program.fails("score", "model.json", "rows.csv", "--labels", "kind")
    assert "--task gmm" in program.fails("fit", sketch, "-k", 2, "--covariance", "full", code=2)
    assert "is not a decoder: choose from auto" in program.fails("fit", sketch, "-k", 2, "--decoder", "magic", code=2)


def test_constant_columns_are_refused_before_learning(tmp_path, refused):
    write_csv(tmp_path / "rows.csv", np.column_stack([np.arange(50.0), np.full(50, 7.0)]), ["a", "b"])
    refused(["kmeans", "rows.csv", "-k", 2], "`b` is constant")
