"""Generative networks from the shell: trained on a sketch, they make rows like the data."""

import base64
import json

import numpy as np
import pytest

SMALL = ["--layers", "32,32", "--steps", "400", "--batch", "500", "--rate", "0.01"]


@pytest.fixture
def sketch(program, tmp_path):
    program("generate", "ring", "-n", 20_000, "-o", "rows.npy", "--seed", 1)
    program("generate", "ring", "-n", 4_000, "-o", "held_out.npy", "--seed", 2)
    program("sketch", "rows.npy", "-o", "s.sketch", "--task", "generate", "--size", 500)
    return "s.sketch"


@pytest.fixture
def network(program, sketch):
    return program.json("fit", sketch, "--task", "generate", "-o", "model.json", *SMALL)


def test_the_recipe_has_several_scales(program, sketch):
    spec = json.loads(program("inspect", "s.sketch", "--spec"))
    widths = [c["covariance"]["diagonal"][0] for c in spec["law"]["components"]]
    assert 4 <= len(widths) <= 7
    np.testing.assert_allclose(np.array(widths[1:]) / widths[:-1], 0.25)


def test_rows_of_a_network_lie_on_the_ring(program, network, tmp_path):
    assert network["task"] == "generate" and network["layers"] == [5, 32, 32, 2] and network["columns"] == ["x0", "x1"]
    assert network["origin"]["info"]["iterations"] == 400 and 0 < network["origin"]["misfit"] < 500
    program("sample", "model.json", "-n", 3000, "-o", "made.npy", "--seed", 3)
    made = np.load(tmp_path / "made.npy")
    assert made.shape == (3000, 2)
    radius, angle = np.hypot(*made.T), np.arctan2(made[:, 1], made[:, 0])
    assert abs(np.median(radius) - 1) < 0.05 and np.mean(abs(radius - 1) < 0.3) > 0.8
    # Every eighth of the ring has 375 rows in expectation.
    counts = np.histogram(angle, bins=8, range=(-np.pi, np.pi))[0]
    assert counts.min() > 180 and counts.max() < 600, counts
    score = program.json("score", "model.json", "held_out.npy")
    assert score["rows"] == 4000 and 0 < score["mmd_fresh"] and score["ratio"] < 3, score


def test_the_model_file_alone_says_how_to_make_rows(program, network, tmp_path):
    """The network in numpy, from the file: with as many latent rows the same law, so that means agree within five standard errors."""
    weights = np.frombuffer(base64.b64decode(network["weights"]), "<f4").astype(float)
    x, at = np.random.default_rng(1).standard_normal((20_000, 5)), 0
    for i, (p, q) in enumerate(zip(network["layers"], network["layers"][1:])):
        matrix, bias = weights[at : at + p * q].reshape(p, q), weights[at + p * q : at + p * q + q]
        x, at = x @ matrix + bias, at + p * q + q
        if i < 2:
            x = np.where(x > 0, x, 0.2 * x) if network["activation"] == "leaky-relu" else (x + np.sqrt(x * x + 1)) / 2
    assert at == len(weights)
    rows = np.array(network["centre"]) + x * network["spread"]
    program("sample", "model.json", "-n", 20_000, "-o", "made.npy")
    made = np.load(tmp_path / "made.npy")
    for a, b in [(rows, made), (rows**2, made**2), (rows[:, 0] * rows[:, 1], made[:, 0] * made[:, 1])]:
        assert (abs(a.mean(0) - b.mean(0)) < 5 * np.sqrt((a.var(0) + b.var(0)) / 20_000)).all()


def test_samples_repeat_with_their_seed_in_every_format(program, network, tmp_path):
    for name in ["a.npy", "b.npy", "c.csv"]:
        program("sample", "model.json", "-n", 200, "-o", name, "--seed", 5)
    program("sample", "model.json", "-n", 200, "-o", "d.npy", "--seed", 6)
    a, b, d = (np.load(tmp_path / f"{x}.npy") for x in "abd")
    assert np.array_equal(a, b) and not np.array_equal(a, d)
    c = np.loadtxt(tmp_path / "c.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(c, a, rtol=1e-12)


def test_the_same_seed_gives_the_same_file_whatever_the_threads(program, sketch, tmp_path):
    short = ["--layers", "16,16", "--steps", "20", "--batch", "700"]
    for threads in [1, 2, 3]:
        program("fit", sketch, "--task", "generate", "-o", f"{threads}.json", *short, "--threads", threads)
    first, *others = ((tmp_path / f"{threads}.json").read_bytes() for threads in [1, 2, 3])
    assert all(other == first for other in others)
    program("fit", sketch, "--task", "generate", "-o", "other.json", *short, "--seed", 1)
    assert json.loads((tmp_path / "other.json").read_text())["weights"] != json.loads(first)["weights"]


def test_a_damaged_network_is_refused_with_the_field(program, network, tmp_path):
    whole = (tmp_path / "model.json").read_text()
    for end in [3, 100, len(whole) // 2, len(whole) - 3]:
        (tmp_path / "cut.json").write_text(whole[:end])
        assert "cut.json" in program.fails("sample", "cut.json", "-o", "x.npy")
    for field, value in [("layers", [5, 32, 31, 2]), ("weights", network["weights"][:-8]), ("spread", [1, -1]), ("k", 2)]:
        wrong = json.loads(whole) | {field: value}
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        message = program.fails("sample", "wrong.json", "-o", "x.npy")
        assert f"`{field}`" in message or field == "layers" and "`weights`" in message, message
    assert not (tmp_path / "x.npy").exists()


def test_every_other_command_knows_a_network(program, network):
    text = program("inspect", "model.json")
    assert "generative network of 2 columns" in text and "5 -> 32 -> 32 -> 2" in text and "misfit" in text
    assert program.json("inspect", "model.json")["layers"] == [5, 32, 32, 2]
    assert "generative network" in program.fails("predict", "model.json", "rows.npy", "-o", "x.csv")
    assert "generative network" in program.fails("diagnose", "s.sketch", "model.json")
    assert "not a sketch" in program.fails("merge", "model.json", "-o", "x.sketch")
    assert "--labels" in program.fails("score", "model.json", "rows.npy", "--labels", "x0")


def test_a_sketch_without_phases_trains_no_network(program, sketch):
    program("sketch", "rows.npy", "-o", "q.sketch", "--task", "pca", "-k", 1, "--no-moments")
    assert "not from `quadratic`" in program.fails("fit", "q.sketch", "--task", "generate")
    assert "(rate)" in program.fails("fit", sketch, "--task", "generate", "--rate", 2)


def test_flags_of_other_tasks_are_refused(program, sketch):
    assert "-k" in program.fails("fit", sketch, "--task", "generate", "-k", 3)
    assert "--task generate" in program.fails("fit", sketch, "-k", 3, "--steps", 5, code=2)
    assert "-k <K>" in program.fails("fit", sketch, "--task", "gmm", code=2)


def test_rows_are_drawn_from_a_mixture_too(program, tmp_path):
    model = {"format": 1, "task": "gmm", "k": 2, "columns": ["x", "y"], "weights": [0.25, 0.75],
             "means": [[0, 0], [100, 5]], "covariances": [[[1, 0.9], [0.9, 1]], [[4, 0], [0, 1]]]}
    (tmp_path / "model.json").write_text(json.dumps(model))
    report = program.json("sample", "model.json", "-n", 20_000, "-o", "rows.npy", "--seed", 4)
    assert report["rows"] == 20_000 and report["columns"] == ["x", "y"]
    rows = np.load(tmp_path / "rows.npy")
    first = rows[rows[:, 0] < 50]
    # Five standard errors.
    assert abs(len(first) / 20_000 - 0.25) < 5 * (0.25 * 0.75 / 20_000) ** 0.5
    assert abs(np.corrcoef(first.T)[0, 1] - 0.9) < 0.02
    assert np.allclose(rows[rows[:, 0] > 50].mean(0), [100, 5], atol=0.1)


def test_rows_are_not_drawn_from_centres(program, tmp_path):
    model = {"format": 1, "task": "kmeans", "k": 1, "columns": ["x"], "weights": [1], "centers": [[0]]}
    (tmp_path / "model.json").write_text(json.dumps(model))
    assert "--task kmeans" in program.fails("sample", "model.json", "-o", "rows.npy")
