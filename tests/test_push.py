"""`push` from an empty collector to a model, local privacy from the command line, and the demonstration of a fleet."""

import json
import os
import subprocess

import numpy as np
from testing import PROGRAM, write_csv


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


def counted(server):
    return json.loads(server.ask("GET", "/v1/streams/fleet")[1])["buckets"][0]["rows"]


def test_thirty_pushes_of_the_same_rows_at_once_count_them_once(program, tmp_path, server):
    write_csv(tmp_path / "rows.csv", clusters(3000)[1])
    to = ["--to", server.url, "--stream", "fleet", "--batch", 50, "-q"]
    program("design", "rows.csv", "--feature", "one-bit", "-k", 3, "-o", "spec.json", "-q")
    assert server.ask("PUT", "/v1/streams/fleet?every=day", (tmp_path / "spec.json").read_bytes())[0] == 201
    command = [str(word) for word in [PROGRAM, "push", "rows.csv", *to]]
    runs = [subprocess.Popen(command, cwd=tmp_path, stdout=-3, stderr=subprocess.PIPE) for _ in range(30)]
    for run in runs:
        message = run.communicate(timeout=300)[1].decode()
        assert run.returncode == 0 or "another process is sending these rows" in message or "--again" in message, message
    assert sum(run.returncode == 0 for run in runs) == 1
    assert counted(server) == 3000


def test_a_file_that_grew_goes_on_and_one_that_was_touched_or_changed_sends_nothing(program, tmp_path, server, rows):
    path = write_csv(tmp_path / "rows.csv", rows[:1000])
    push = ["push", "rows.csv", "--to", server.url, "--stream", "fleet", "--batch", 300]
    program(*push, "--make", "--feature", "one-bit", "-k", 3)
    os.utime(path, (1, 1))
    assert "--again" in program.fails(*push)
    write_csv(path, rows)
    assert program.json(*push)["rows"] == 500 and counted(server) == 1500
    # By whatever name, and with more files after it.
    (tmp_path / "link.csv").symlink_to("rows.csv")
    assert "--again" in program.fails(*push[:1], "./link.csv", *push[2:])
    write_csv(tmp_path / "second.csv", rows[:10])
    assert program.json(*push[:1], "rows.csv", "second.csv", *push[2:])["rows"] == 10
    assert "among other files" in program.fails(*push[:1], "second.csv", *push[2:])
    for other in (rows[::-1], rows[:900]):
        write_csv(path, other)
        message = program.fails(*push[:1], "rows.csv", "second.csv", *push[2:])
        assert "an earlier run sent 1510 rows" in message and "not the first ones" in message
    assert counted(server) == 1510


def test_a_reading_reports_once(program, tmp_path, server, rows):
    write_csv(tmp_path / "rows.csv", rows)
    program("design", "rows.csv", "--feature", "one-bit", "-k", 3, "--size", 24, "-o", "spec.json", "-q")
    push = ["push", "rows.csv", "--to", server.url, "--make", "--spec", "spec.json", "--stream"]
    program(*push, "fleet", "--local-epsilon", 2)
    for other in (["other", "--local-epsilon", 2], ["fleet", "--local-epsilon", 1], ["fleet", "--local-epsilon", 2, "--again"]):
        message = program.fails(*push, *other)
        assert "1500 of these readings have reported already" in message and "spent epsilon 2" in message


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
