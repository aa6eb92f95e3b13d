"""One file, task and feature give one recipe, whoever chooses it: the program, Python, or a push that makes a stream.

The cases are the rows of the table of defaults itself, so that a new row is tested without being listed.
"""

import json

import compressive
import pytest
from compressive import _native
from testing import Server, write_csv

ROWS = [pytest.param(row, id=f"{row['task']}-{row['feature']}") for row in _native.defaults()]
TABLE = [1.0, 0.5, -1.0, -0.5]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("collector") / "data") as server:
        yield server


def asked(row, folder):
    """The row as flags of the program and as keywords of Python: of the parts that some features need, the least."""
    flags, keywords = (
        ["--task", row["task"], "--feature", row["feature"]],
        {"task": row["task"], "feature": row["feature"]},
    )
    if row["feature"] == "periodic":
        (folder / "table.json").write_text(json.dumps(TABLE))
        flags += ["--table", "table.json"]
        keywords["table"] = TABLE
    if row["feature"] == "conv":
        flags += ["--image", "2x2"]
        keywords["image"] = (2, 2, 1)
    return flags, keywords


def spec_of(server, stream):
    spec = json.loads(server.ask("GET", f"/v1/streams/{stream}")[1])["spec"]
    return compressive.SketchSpec.from_json(json.dumps(spec))


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_defaults_is_one_recipe_everywhere(program, tmp_path, server, rows, row):
    path = write_csv(tmp_path / "rows.csv", rows)
    flags, keywords = asked(row, tmp_path)
    k = ["-k", 3] if row["task"] == "pca" else []  # The usual ten are more than the columns.
    keywords |= {"k": 3} if k else {}
    designed = program.json("design", "rows.csv", *flags, *k, "-o", "spec.json")
    program("sketch", "rows.csv", *flags, *k, "-o", "rows.sketch", "-q")
    stream = f"{row['task']}-{row['feature']}"
    program("push", "rows.csv", "--to", server.url, "--stream", stream, "--make", "day", *flags, *k, "-q")
    chosen = compressive.design(path, **keywords)
    found = {
        "design": designed["fingerprint"],
        "sketch": compressive.load(tmp_path / "rows.sketch").spec.fingerprint,
        "push": spec_of(server, stream).fingerprint,
        "python": chosen.fingerprint,
        "python sketch": compressive.sketch(path, **keywords).spec.fingerprint,
    }
    assert len(set(found.values())) == 1, found
    assert chosen.reasons == designed["reasons"] and "sample of 1,500 rows" in chosen.reasons[0]
    assert (chosen.law, chosen.feature) == (designed["law"], row["feature"])


def unseen(row):
    """Whether there is such a recipe without a look: activations need one, and moments, which components beside waves need."""
    return row["feature"] != "conv" and (row["task"] != "pca" or row["feature"] == "quadratic")


@pytest.mark.parametrize("row", [row for row in ROWS if unseen(row.values[0])])
def test_without_a_look_it_is_one_recipe_too(program, tmp_path, rows, row):
    path = write_csv(tmp_path / "rows.csv", rows)
    flags, keywords = asked(row, tmp_path)
    flags += ["--private", 0, "--bounds", "-20:20", "-k", 3]
    designed = program.json("design", "rows.csv", *flags, "-o", "spec.json")
    chosen = compressive.design(path, k=3, private=0, bounds=(-20, 20), **keywords)
    assert designed["fingerprint"] == chosen.fingerprint
    assert chosen.reasons == designed["reasons"] and "nothing was paid" in chosen.reasons[0]


def test_a_feature_named_by_default_is_that_of_the_task(program, tmp_path, rows):
    path = write_csv(tmp_path / "rows.csv", rows)
    for task in _native.TASKS:
        named = program.json("design", "rows.csv", "--task", task, "-k", 2, "-o", "spec.json")
        assert compressive.design(path, 2, task=task).fingerprint == named["fingerprint"], task
