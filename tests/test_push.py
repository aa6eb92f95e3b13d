"""`push` from an empty collector to a model, local privacy from the command line, and the demonstration of a fleet."""

import json

import numpy as np
from testing import write_csv


def clusters(n, seed=5):
    """Three unit Gaussians in four columns, far apart."""
    rng = np.random.default_rng(seed)
    centres = np.array([[6.0, 0, 0, 0], [-6, 5, 0, 0], [0, -6, 4, 0]])
    return centres, (centres[rng.integers(0, 3, n)] + rng.normal(size=(n, 4))).astype(np.float32)


def test_a_stream_is_made_by_the_first_push_and_others_take_its_recipe(program, tmp_path, server, rows):
    write_csv(tmp_path / "rows.csv", rows)
    to = ["--to", server.url, "--stream", "fleet"]
    message = program.fails("push", "rows.csv", *to)
    assert "there is no stream `fleet`" in message and "--make" in message
    recipe = ["--feature", "one-bit", "-k", 3, "--seed", 4]
    assert program.json("push", "rows.csv", *to, "--make", "hour", *recipe)["rows"] == 1500
    shown = json.loads(server.ask("GET", "/v1/streams/fleet")[1])
    assert shown["every"] == "hour" and shown["spec"]["feature"]["name"] == "one-bit"
    # The recipe is the one that `sketch` designs on the same rows, and so is the sketch.
    program("sketch", "rows.csv", *recipe, "-o", "rows.sketch", "-q")
    assert server.ask("GET", "/v1/sketch?streams=fleet")[1] == (tmp_path / "rows.sketch").read_bytes()
    write_csv(tmp_path / "more.csv", rows[:100])
    assert program.json("push", "more.csv", *to)["rows"] == 100
    message = program.fails("push", "more.csv", *to, "--make", "--feature", "fourier", "--again")
    assert "the stream `fleet` exists, with the feature one-bit" in message


def test_rows_from_standard_input_make_a_stream_and_none_is_lost(program, tmp_path, server, rows):
    text = write_csv(tmp_path / "rows.csv", rows).read_bytes()
    to = ["--to", server.url, "--stream", "fleet", "--make", "--feature", "one-bit", "-k", 3]
    assert "--run NAME" in program.fails("push", "-", *to, stdin=text)
    assert program.json("push", "-", *to, "--run", "today", stdin=text)["rows"] == 1500
    program("sketch", "rows.csv", "--feature", "one-bit", "-k", 3, "-o", "rows.sketch", "-q")
    assert json.loads(server.ask("GET", "/v1/streams/fleet")[1])["buckets"][0]["rows"] == 1500


def test_readings_that_answer_for_themselves_give_a_private_sketch_and_its_clusters(program, tmp_path, server):
    centres, values = clusters(200_000)
    np.save(tmp_path / "rows.npy", values)
    to = ["--to", server.url, "--stream", "fleet"]
    made = ["--make", "--feature", "one-bit", "-k", 3, "--local-epsilon", 4]
    assert "a recipe designed on rows reveals something about them" in program.fails("push", "rows.npy", *to, *made)
    np.save(tmp_path / "public.npy", clusters(2000, seed=6)[1])
    program("design", "public.npy", "--feature", "one-bit", "-k", 3, "--size", 24, "-o", "spec.json")
    pushed = program.json("push", "rows.npy", *to, "--make", "--spec", "spec.json", "--local-epsilon", 4, "--batch", 5000)
    assert (pushed["rows"], pushed["as"]) == (200_000, "application/vnd.compressive.reports")
    status, private = server.ask("GET", "/v1/sketch?streams=fleet&private=true")
    assert status == 200
    (tmp_path / "private.sketch").write_bytes(private)
    shown = program("inspect", "private.sketch")
    assert "from the collector too (local)" in shown and "randomised response, 4 of 48 signs reported" in shown
    # No exact sum was kept.
    assert json.loads(server.ask("GET", "/v1/streams/fleet")[1])["buckets"][0]["rows"] == 0
    program("fit", "private.sketch", "-k", 3, "-o", "model.json")
    found = np.array(json.loads((tmp_path / "model.json").read_text())["centers"])
    errors = [np.linalg.norm(found - centre, axis=1).min() for centre in centres]
    # The noise of a mean is 0.01. In 20 runs the largest error of a centre was 0.10, the median of the largest 0.06.
    assert max(errors) < 0.3, errors
    # A recipe from bounds looks at no row, but cosines cannot answer.
    other = ["--to", server.url, "--stream", "other", "--make", "--private", 0, "--bounds", "-20:20", "--local-epsilon", 4]
    assert "use the feature `one-bit`" in program.fails("push", "rows.npy", *other)


def test_the_demonstration_of_a_fleet_ends_with_its_model(program):
    text = program("demo", "--fleet", "--rows", 20_000)
    assert "50 sensors sent 20,000 readings" in text and "to the byte" in text and "NOT" not in text
    assert "learned 5 clusters from the sketch of 20,000 rows" in text
    assert float(text.split("started there: ")[1].split()[0]) < 1.02
    assert "counted once" in text
    private = program("demo", "--fleet", "--rows", 200_000, "--local-epsilon", 4)
    assert "reports 4 of its 400 signs" in private
    assert float(private.split("started there: ")[1].split()[0]) < 1.1
