"""Nystrom sketches: sums of kernel values at landmarks, against numpy; models from them; what is refused."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from reference import read_sketch, working
from sklearn.metrics import adjusted_rand_score
from testing import COLUMNS, write_csv

LAWS = ["rpcholesky", "greedy", "leverage", "uniform"]


def mean_kernel_values(spec, x):
    """The mean over the rows x of the Gaussian kernel at every landmark, in double precision."""
    points = np.array(spec["law"]["points"])
    u = working(spec, x)
    squares = ((u[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * spec["scale"] ** 2)).mean(axis=0)


@pytest.fixture
def data(tmp_path, rows):
    return write_csv(tmp_path / "rows.csv", rows)


@pytest.mark.parametrize("law", LAWS)
def test_sums_are_those_of_numpy(program, tmp_path, rows, data, law):
    program("sketch", data, "--feature", "nystrom", "--law", law, "--size", 60, "-o", "s.sketch")
    mean, n, spec = read_sketch(tmp_path / "s.sketch")
    assert (n, len(mean), spec["law"]["sampler"], spec["feature"]) == (1500, 60, law, {"name": "nystrom"})
    np.testing.assert_allclose(mean, mean_kernel_values(spec, rows), atol=1e-6)
    # The landmarks are rows.
    u = working(spec, rows).astype(np.float32)
    points = np.array(spec["law"]["points"], np.float32)
    assert np.abs(u[:, None, :] - points[None]).sum(axis=2).min(axis=0).max() < 1e-5


def test_the_recipe_repeats_with_its_seed_and_the_default_is_rpcholesky(program, tmp_path, data):
    first = program.json("design", data, "--feature", "nystrom", "--size", 30, "-o", "a.json")
    program("design", data, "--feature", "nystrom", "--law", "rpcholesky", "--size", 30, "-o", "b.json")
    program("design", data, "--feature", "nystrom", "--size", 30, "--seed", 1, "-o", "c.json")
    a, b, c = ((tmp_path / f"{name}.json").read_text() for name in "abc")
    assert a == b != c
    assert (first["law"], first["feature"], first["structured"]) == ("landmarks", "nystrom", False)


def test_shards_merge_and_subtract_exactly(program, tmp_path, rows, data):
    program("design", data, "--feature", "nystrom", "--size", 40, "-o", "spec.json")
    program("sketch", data, "--spec", "spec.json", "-o", "all.sketch")
    expected = (tmp_path / "all.sketch").read_bytes()
    for i, part in enumerate(np.array_split(rows, 3)):
        pyarrow.parquet.write_table(pa.table(dict(zip(COLUMNS, part.T))), tmp_path / f"{i}.parquet")
        program("sketch", f"{i}.parquet", "--spec", "spec.json", "--threads", i + 1, "-o", f"{i}.sketch")
    for order in itertools.permutations(range(3)):
        program("merge", *(f"{i}.sketch" for i in order), "-o", "merged.sketch")
        assert (tmp_path / "merged.sketch").read_bytes() == expected
    program("subtract", "merged.sketch", "2.sketch", "-o", "less.sketch")
    program("merge", "0.sketch", "1.sketch", "-o", "two.sketch")
    assert (tmp_path / "less.sketch").read_bytes() == (tmp_path / "two.sketch").read_bytes()


@pytest.fixture
def easy(tmp_path):
    """Four clusters in three columns, their labels, means and variances."""
    rng = np.random.default_rng(8)
    means = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8.0]])
    deviations = rng.uniform(0.5, 1.5, (4, 3))
    labels = rng.choice(4, 20000, p=[0.4, 0.3, 0.2, 0.1])
    rows = means[labels] + deviations[labels] * rng.normal(size=(20000, 3))
    return write_csv(tmp_path / "easy.csv", rows, ["x", "y", "z"]), labels, means, deviations**2


@pytest.mark.parametrize("decoder", ["auto", "cl-omp", "cl-ompr", "shift", "iht", "genetic"])
def test_every_decoder_finds_easy_clusters(program, tmp_path, easy, decoder):
    data, labels, means, _ = easy
    program("sketch", data, "--feature", "nystrom", "--size", 120, "-k", 4, "-o", "s.sketch")
    restarts = [] if decoder == "genetic" else ["--restarts", 3]
    program("fit", "s.sketch", "-k", 4, "--decoder", decoder, *restarts, "-o", "model.json")
    centers = np.array(json.loads((tmp_path / "model.json").read_text())["centers"])
    assert np.linalg.norm(centers[:, None] - means[None], axis=2).min(axis=0).max() < 1.0
    program("predict", "model.json", data, "-o", "labels.csv")
    found = np.loadtxt(tmp_path / "labels.csv", delimiter=",", skiprows=1, usecols=0)
    assert adjusted_rand_score(labels, found) > 0.97


def test_splitting_finds_an_easy_mixture(program, tmp_path, easy):
    data, _, means, _ = easy
    program("sketch", data, "--feature", "nystrom", "--size", 120, "-k", 4, "-o", "s.sketch")
    program("fit", "s.sketch", "--task", "gmm", "-k", 4, "--decoder", "split", "--restarts", 10, "-o", "model.json")
    found = np.array(json.loads((tmp_path / "model.json").read_text())["means"])
    assert np.linalg.norm(found[:, None] - means[None], axis=2).min(axis=0).max() < 0.3


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_mixtures_are_recovered(program, tmp_path, easy, covariance):
    data, _, means, variances = easy
    program("gmm", data, "-k", 4, "--covariance", covariance, "--feature", "nystrom", "--size", 200, "-o", "model.json")
    model = json.loads((tmp_path / "model.json").read_text())
    order = np.linalg.norm(np.array(model["means"])[:, None] - means[None], axis=2).argmin(axis=0)
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(np.array(model["means"])[order], means, atol=0.15)
    np.testing.assert_allclose(np.array(model["weights"])[order], [0.4, 0.3, 0.2, 0.1], atol=0.02)
    found = np.array(model["covariances"])[order]
    if covariance == "diag":
        np.testing.assert_allclose(found, variances, rtol=0.15)
    if covariance == "full":
        np.testing.assert_allclose(np.diagonal(found, axis1=1, axis2=2), variances, rtol=0.2)
    scored = program.json("score", "model.json", data)
    assert np.isfinite(scored["log_likelihood"])


def test_isotropic_and_known_covariances_work(program, tmp_path, easy):
    data, _, means, _ = easy
    (tmp_path / "known.json").write_text(json.dumps(np.eye(3).tolist()))
    for kind in ("iso", "known:known.json"):
        program("gmm", data, "-k", 4, "--covariance", kind, "--scaling", "common", "--feature", "nystrom", "--size", 200,
                "-o", "model.json")
        found = np.array(json.loads((tmp_path / "model.json").read_text())["means"])
        assert np.linalg.norm(found[:, None] - means[None], axis=2).min(axis=0).max() < 0.3


def test_a_sketch_of_fewer_sums_than_parameters_still_clusters(program, tmp_path, easy):
    data, labels, means, _ = easy
    program("kmeans", data, "-k", 4, "--feature", "nystrom", "--size", 8, "-o", "model.json")
    program("predict", "model.json", data, "-o", "labels.csv")
    found = np.loadtxt(tmp_path / "labels.csv", delimiter=",", skiprows=1, usecols=0)
    assert adjusted_rand_score(labels, found) > 0.9


def test_the_one_liner_clusters_and_the_other_commands_know_the_feature(program, tmp_path, easy):
    data, labels, means, _ = easy
    program("kmeans", data, "-k", 4, "--feature", "nystrom", "--keep", "s.sketch", "-o", "model.json")
    centers = np.array(json.loads((tmp_path / "model.json").read_text())["centers"])
    assert np.linalg.norm(centers[:, None] - means[None], axis=2).min(axis=0).max() < 0.3
    text = program("inspect", "s.sketch")
    assert "landmarks" in text and "rpcholesky" in text and "mean kernel value" in text
    report = program.json("inspect", "s.sketch", "--frequencies")
    assert len(report["landmarks"]) == report["sketch_len"] and "frequencies" not in report
    assert "radius" not in report and max(report["modulus"]) <= 1
    diagnosis = program.json("diagnose", "s.sketch", "model.json")
    # A fresh search finds the same centres, and the kernel's width is a good one.
    assert diagnosis["distance"] < 0.1 and diagnosis["verdict"] not in ("scale-wrong", "sketch-too-small"), diagnosis


def test_compare_tells_drift_from_none(program, tmp_path, easy):
    data, labels, *_ = easy
    lines = data.read_text().splitlines()
    rows = np.array([[float(x) for x in line.split(",")] for line in lines[1:]])
    program("design", data, "--feature", "nystrom", "--size", 80, "-k", 4, "-o", "spec.json")
    moved = rows[10000:] + np.where(labels[10000:] == 3, 1.0, 0.0)[:, None]
    for name, part in (("a", rows[:10000]), ("b", rows[10000:]), ("c", moved)):
        write_csv(tmp_path / f"{name}.csv", part, ["x", "y", "z"])
        program("sketch", f"{name}.csv", "--spec", "spec.json", "-o", f"{name}.sketch")
    same, other = (program.json("compare", "a.sketch", f"{name}.sketch") for name in "bc")
    assert same["p_value"] > 0.05 and abs(same["mmd_squared"]) < 3 * same["standard_error"]
    assert other["p_value"] < 1e-3 and other["mmd_squared"] > same["mmd_squared"]


def test_what_does_not_go_together_is_refused(program, tmp_path, data):
    def refused(*args, code=1):
        message = program.fails(*args, code=code)
        assert not list(tmp_path.glob("out*"))
        return message

    assert "rpcholesky" in refused("design", data, "--feature", "nystrom", "--law", "gaussian", "-o", "out.json")
    assert "landmarks" in refused("design", data, "--law", "greedy", "-o", "out.json")
    assert "structured" in refused("design", data, "--feature", "nystrom", "--structured", "-o", "out.json")
    assert "dither" in refused("design", data, "--feature", "nystrom", "--dither", "-o", "out.json")
    assert "1500" in refused("design", data, "--feature", "nystrom", "--size", 2000, "-o", "out.json")
    assert "leverage" in refused("design", data, "--law", "pivoted", "-o", "out.json", code=2)
    program("sketch", data, "--feature", "nystrom", "--size", 60, "-o", "s.sketch")
    assert "phases" in refused("fit", "s.sketch", "-k", 3, "--decoder", "amp", "-o", "out.json")
    assert "nystrom" in refused("plan", "--rows", 1e6, "--dim", 4, "-k", 3, "--epsilon", 1, "--feature", "nystrom")


def test_damaged_landmarks_are_named(program, tmp_path, data):
    program("design", data, "--feature", "nystrom", "--size", 5, "-o", "spec.json")
    good = json.loads((tmp_path / "spec.json").read_text())
    points = good["law"]["points"]
    cases = [
        ({"points": points[:4]}, "5 rows of 4"),
        ({"points": [p[:3] for p in points]}, "5 rows of 4"),
        ({"points": [[0.1] * 4, *points[1:]]}, "single precision"),
        ({"points": [[2e6] * 4, *points[1:]]}, "2000000"),
        ({"sampler": "tarot"}, "tarot"),
    ]
    for change, word in cases:
        (tmp_path / "bad.json").write_text(json.dumps(good | {"law": good["law"] | change}))
        message = program.fails("sketch", data, "--spec", "bad.json", "-o", "out.sketch")
        assert word in message and "bad.json" in message, message


def test_landmarks_among_the_rows_are_not_released_and_those_in_the_box_are(program, tmp_path, data, rows):
    program("sketch", data, "--feature", "nystrom", "--size", 40, "-o", "s.sketch")
    message = program.fails("privatize", "s.sketch", "--epsilon", 1, "-o", "out.sketch")
    assert "--public-spec" in message
    spec = json.loads(program("inspect", "s.sketch", "--spec"))
    del spec["outline"]
    (tmp_path / "forged.json").write_text(json.dumps(spec | {"source": {"name": "bounds"}}))
    message = program.fails("sketch", data, "--spec", "forged.json", "-o", "out.sketch")
    assert "landmarks are rows" in message

    box = ["--bounds=-20:20", "--private", 0, "--feature", "nystrom", "--size", 40]
    message = program.fails("design", data, *box, "--law", "greedy", "-o", "out.json", code=2)
    assert "greedy" in message
    program("design", data, *box, "-o", "box.json")
    law = json.loads((tmp_path / "box.json").read_text())["law"]
    assert law["sampler"] == "box" and len(law["points"]) == 40
    program("sketch", data, "--spec", "box.json", "-o", "box.sketch")
    program("privatize", "box.sketch", "--epsilon", 10, "--delta", 1e-6, "-o", "private.sketch")
    # The noise is that of entries in [0, 1]: an L2 sensitivity of sqrt(40).
    mean = read_sketch(tmp_path / "box.sketch")[0]
    np.testing.assert_allclose(mean, mean_kernel_values(json.loads((tmp_path / "box.json").read_text()), rows), atol=1e-6)
    program("fit", "private.sketch", "-k", 3, "-o", "model.json")


def test_what_needs_waves_is_refused_and_k_medians_works(tmp_path, program):
    program("generate", "separated", "-n", 20000, "-d", 3, "-k", 4, "--seed", 1, "-o", "rows.npy")
    program("sketch", "rows.npy", "--feature", "nystrom", "-k", 4, "-o", "n.sketch")
    program("sketch", "rows.npy", "--task", "pca", "-k", 2, "--no-moments", "-o", "p.sketch")
    assert "--feature fourier" in program.fails("fit", "n.sketch", "--task", "stable", "-k", 4, "-o", "m.json")
    message = program.fails("query", "p.sketch", "share(x0 > 0)")
    assert "quadratic" in message and "--feature fourier" in message
    (share,) = program.json("query", "n.sketch", "share(x0 > 0)")["answers"]
    truth = (np.load(tmp_path / "rows.npy")[:, 0] > 0).mean()
    assert share["low"] <= truth <= share["high"], (share, truth)
    assert "exact" in program("query", "n.sketch", "mean(x0)")
    # One row far away makes the box wide, so that k-medians also searches in smaller ones.
    rows = np.load(tmp_path / "rows.npy")
    rows[0] = 500
    np.save(tmp_path / "far.npy", rows)
    program("sketch", "far.npy", "--feature", "nystrom", "-k", 4, "-o", "far.sketch")
    program("fit", "far.sketch", "--task", "kmedians", "-k", 4, "-o", "m.json")
    found = json.loads((tmp_path / "m.json").read_text())["centers"]
    program("kmeans", "rows.npy", "-k", 4, "-o", "plain.json")
    plain = np.array(json.loads((tmp_path / "plain.json").read_text())["centers"])
    for centre in np.array(found):
        assert np.linalg.norm(plain - centre, axis=1).min() < 0.3
