"""Learning from the shell: what is found is the truth, and every number agrees with scikit-learn and numpy."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky
from testing import write_csv

NAMES = ["x0", "x1", "x2", "x3"]
CENTRES = np.array([[0, 0, 0, 0], [9, 0, 1, -5], [-7, 8, 0, 3], [2, -9, 7, 0], [-5, -6, -8, 6]], dtype=float)


def clusters(n, seed=0, spread=1.0):
    """n rows of five unit clusters that hardly overlap, and the cluster of each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(CENTRES), n)
    return CENTRES[labels] + spread * rng.normal(size=(n, 4)), labels


@pytest.fixture
def table(tmp_path):
    """rows.npy and rows.csv with the same numbers; the csv has the class as text, too."""
    x, labels = clusters(20_000)
    x = np.round(x * 256) / 256
    np.save(tmp_path / "rows.npy", x)
    write_csv(tmp_path / "plain.csv", x, NAMES)
    lines = [",".join([*NAMES, "kind", "code"])]
    lines += [",".join([*map(repr, map(float, row)), f"type {label}", str(label * 10)]) for row, label in zip(x, labels)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    return x, labels


def model_of(tmp_path, name="model.json"):
    return json.loads((tmp_path / name).read_text())


def matched(found, truth):
    """The rows of `found` in the order of the nearest rows of `truth`; each is used once."""
    order = [int(np.argmin(((found - t) ** 2).sum(1))) for t in truth]
    assert sorted(order) == list(range(len(truth))), order
    return found[order]


def peer(model):
    """scikit-learn's mixture with the model's parameters."""
    covariances = np.array(model["covariances"])
    kind = "diag" if covariances.ndim == 2 else "full"
    mixture = GaussianMixture(model["k"], covariance_type=kind)
    mixture.weights_, mixture.means_, mixture.covariances_ = np.array(model["weights"]), np.array(model["means"]), covariances
    mixture.precisions_cholesky_ = _compute_precision_cholesky(covariances, kind)
    return mixture


@pytest.mark.parametrize("command", ["kmeans", "gmm"])
def test_the_true_centres_are_found(program, tmp_path, command):
    x, labels = clusters(100_000)
    np.save(tmp_path / "rows.npy", x.astype(np.float32))
    text = program(command, "rows.npy", "-k", 5, "-o", "model.json")
    assert "explains the sketch to within its sampling noise" in text
    model = model_of(tmp_path)
    assert (model["task"], model["k"], model["columns"]) == (command, 5, NAMES)
    # A sketch knows a centre nearly as well as the rows do: the standard error of a mean of n / 5 rows is 0.007; six are allowed.
    means = np.array([x[labels == l].mean(0) for l in range(5)])
    found = matched(np.array(model["centers" if command == "kmeans" else "means"]), CENTRES)
    assert np.abs(found - means).max() < 6 * np.sqrt(5 / 100_000)
    assert np.abs(np.array(model["weights"]) - 0.2).max() < 0.01
    if command == "gmm":
        assert np.abs(np.array(model["covariances"]) - 1).max() < 0.1


def test_epoch_seconds_and_thousandths_come_back_in_their_units(program, tmp_path):
    x, _ = clusters(50_000)
    scale, shift = np.array([3600.0, 1.0, 1e-3, 1e6]), np.array([1.7e9, 0.0, 5e-3, -2e7])
    np.save(tmp_path / "rows.npy", x * scale + shift)
    # Whitening squeezes the clusters along the directions in which the centres spread; k-means, which thinks of round ones, pays a little for it.
    cases = [
        ("kmeans", "centers", [], 0.1),
        ("gmm", "means", [], 0.1),
        ("kmeans", "centers", ["--whiten"], 0.3),
        ("gmm", "means", ["--whiten", "--covariance", "full"], 0.1),
    ]
    for command, field, flags, tolerance in cases:
        program(command, "rows.npy", "-k", 5, *flags, "-o", "model.json")
        found = (np.array(model_of(tmp_path)[field]) - shift) / scale
        assert np.abs(matched(found, CENTRES) - CENTRES).max() < tolerance, (command, flags)
    # Covariances come back in the table's units, too.
    covariances = np.array(model_of(tmp_path)["covariances"])
    assert covariances.shape == (5, 4, 4)
    scaled = covariances / scale[:, None] / scale
    assert np.abs(scaled - np.eye(4)).max() < 0.15


def test_score_agrees_with_scikit_learn(program, tmp_path, table):
    x, labels = table
    program("kmeans", "rows.npy", "-k", 5, "-o", "model.json")
    peer_means = KMeans(5, n_init=1, max_iter=1).fit(x[:10])
    peer_means.cluster_centers_ = np.array(model_of(tmp_path)["centers"])
    score = program.json("score", "model.json", "rows.npy")
    assert score["rows"] == len(x) and "log_likelihood" not in score and "ari" not in score
    assert score["sse"] == pytest.approx(-peer_means.score(x), rel=1e-9)
    assert score["inertia"] == pytest.approx(score["sse"] / len(x), rel=1e-12)
    predicted = peer_means.predict(x)
    for column, classes in (("kind", labels), ("code", labels * 10)):
        ari = program.json("score", "model.json", "rows.csv", "--labels", column)["ari"]
        assert ari == pytest.approx(adjusted_rand_score(classes, predicted), abs=1e-12)
    assert "adjusted Rand" in program("score", "model.json", "rows.csv", "--labels", "kind")


@pytest.mark.parametrize("covariance", ["iso", "diag", "full"])
def test_mixtures_agree_with_scikit_learn(program, tmp_path, table, covariance):
    x, _ = table
    program("gmm", "rows.npy", "-k", 4, "--covariance", covariance, "-o", "model.json")
    mixture = peer(model_of(tmp_path))
    score = program.json("score", "model.json", "rows.npy")
    assert score["log_likelihood"] == pytest.approx(mixture.score_samples(x).sum(), rel=1e-9)
    assert score["log_likelihood_per_row"] == pytest.approx(mixture.score(x), rel=1e-9)
    program("predict", "model.json", "rows.npy", "-o", "p.npy", "--probabilities")
    found = np.load(tmp_path / "p.npy")
    assert found.shape == (len(x), 5)
    np.testing.assert_allclose(found[:, 1:], mixture.predict_proba(x), atol=1e-9)
    assert (found[:, 0] == found[:, 1:].argmax(1)).all()


def test_predict_writes_the_nearest_centre_of_every_row_in_every_format(program, tmp_path, table):
    x, _ = table
    program("kmeans", "rows.npy", "-k", 5, "-o", "model.json")
    centres = np.array(model_of(tmp_path)["centers"])
    expected = ((x[:, None] - centres) ** 2).sum(2).argmin(1)
    # The columns are found by name, whatever their order and whatever stands beside them.
    for source in ("rows.npy", "rows.csv"):
        for name in ("labels.npy", "labels.csv", "labels.parquet"):
            done = program.json("predict", "model.json", source, "-o", name)
            assert done["rows"] == len(x) and done["counts"] == np.bincount(expected, minlength=5).tolist()
        np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), expected)
        head, *lines = (tmp_path / "labels.csv").read_text().split()
        assert head == "label" and list(map(int, lines)) == expected.tolist()
        column = pyarrow.parquet.read_table(tmp_path / "labels.parquet")["label"]
        assert column.type == pa.int32() and column.to_pylist() == expected.tolist()


def test_labels_keep_the_order_of_rows_whatever_the_threads(program, tmp_path):
    x, _ = clusters(300_000, seed=3)
    np.save(tmp_path / "rows.npy", x)
    pyarrow.parquet.write_table(pa.table(dict(zip(NAMES, x.T))), tmp_path / "rows.parquet", row_group_size=40_000)
    program("kmeans", "rows.npy", "-k", 5, "-o", "model.json")
    for threads in (1, 2, 5):
        for source in ("rows.npy", "rows.parquet"):
            program("predict", "model.json", source, "-o", f"{threads}.npy", "--threads", threads)
            assert (tmp_path / "1.npy").read_bytes() == (tmp_path / f"{threads}.npy").read_bytes()
    sse = {program.json("score", "model.json", "rows.npy", "--threads", t)["sse"] for t in (1, 2, 5)}
    assert len(sse) == 1


def test_bad_rows_keep_their_place(program, tmp_path):
    x, _ = clusters(10_000)
    np.save(tmp_path / "rows.npy", x)
    program("gmm", "rows.npy", "-k", 5, "-o", "model.json")
    program("predict", "model.json", "rows.npy", "-o", "whole.csv")
    x[[0, 17, 18, 5000, 9999], [0, 1, 2, 3, 0]] = np.nan
    np.save(tmp_path / "bad.npy", x)
    message = program.fails("predict", "model.json", "bad.npy", "-o", "labels.csv")
    assert "bad.npy" in message and "row 1" in message and '"x0"' in message
    assert not list(tmp_path.glob("labels.csv")) and not list(tmp_path.glob(".*"))
    done = program.run("predict", "model.json", "bad.npy", "-o", "labels.csv", "--skip-bad-rows", "--probabilities")
    assert b"5 rows with bad values got the label -1" in done.stderr
    whole = (tmp_path / "whole.csv").read_text().split()[1:]
    rows = [line.split(",") for line in (tmp_path / "labels.csv").read_text().split()[1:]]
    for i, row in enumerate(rows):
        if i in (0, 17, 18, 5000, 9999):
            assert row == ["-1", "", "", "", "", ""]
        else:
            assert row[0] == whole[i]
    assert len(rows) == len(whole) == 10_000
    assert program.json("score", "model.json", "bad.npy", "--skip-bad-rows")["rows"] == 9995


def test_one_model_from_every_format_thread_count_and_command(program, tmp_path, table):
    x, _ = table
    pyarrow.parquet.write_table(pa.table(dict(zip(NAMES, x.T))), tmp_path / "rows.parquet")
    seen = set()
    for source in ("rows.npy", "plain.csv", "rows.parquet"):
        for threads in (1, 2):
            program("kmeans", source, "-k", 5, "--seed", 3, "--threads", threads, "-o", "model.json")
            seen.add((tmp_path / "model.json").read_bytes())
    program("sketch", "rows.npy", "-k", 5, "--seed", 3, "-o", "s.sketch")
    for threads in (1, 2):
        program("fit", "s.sketch", "-k", 5, "--seed", 3, "--threads", threads, "-o", "model.json")
        seen.add((tmp_path / "model.json").read_bytes())
    stdin = (tmp_path / "plain.csv").read_bytes()
    program("kmeans", "-", "-k", 5, "--seed", 3, "--spec", "s.sketch", "-o", "model.json", "--keep", "kept.sketch", stdin=stdin)
    seen.add((tmp_path / "model.json").read_bytes())
    assert len(seen) == 1
    assert (tmp_path / "kept.sketch").read_bytes() == (tmp_path / "s.sketch").read_bytes()
    printed = program.json("fit", "s.sketch", "-k", 5, "--seed", 3)
    assert printed.pop("seconds") > 0 and len(printed.pop("candidates")) == 1
    assert printed == model_of(tmp_path)


@pytest.mark.parametrize("feature", ["one-bit", "sawtooth", "cosine"])
def test_other_features_decode_with_the_same_commands(program, tmp_path, feature):
    x, _ = clusters(50_000)
    np.save(tmp_path / "rows.npy", x)
    size = 600 if feature == "sawtooth" else 300
    program("kmeans", "rows.npy", "-k", 5, "--feature", feature, "--size", size, "-o", "model.json")
    # Quantised features are noisier than Fourier ones by a factor of a few.
    assert np.abs(matched(np.array(model_of(tmp_path)["centers"]), CENTRES) - CENTRES).max() < 0.2


def test_the_number_of_clusters_is_found(program, tmp_path):
    x, _ = clusters(50_000)
    np.save(tmp_path / "rows.npy", x)
    done = program.run("kmeans", "rows.npy", "-k", "auto", "-o", "model.json", "--keep", "s.sketch")
    assert b"-k auto looks for 1 to 20 components" in done.stderr
    assert model_of(tmp_path)["k"] == 5
    text = program("fit", "s.sketch", "--task", "gmm", "-k", "3:8")
    assert "5 Gaussians" in text and "<- the fewest that explain the sketch" in text
    tried = program.json("fit", "s.sketch", "-k", "3:8")["candidates"]
    assert [c["k"] for c in tried][:3] == [3, 4, 5] and tried[0]["misfit"] > 10 * tried[2]["misfit"]


@pytest.mark.parametrize("decoder", ["auto", "cl-omp", "cl-ompr", "split", "iht", "shift", "amp", "genetic"])
def test_every_decoder_gives_k_components_with_rows(program, tmp_path, decoder):
    x, _ = clusters(20_000)
    np.save(tmp_path / "rows.npy", x)
    program("sketch", "rows.npy", "-k", 5, "-o", "s.sketch")
    model = program.json("fit", "s.sketch", "-k", 5, "--decoder", decoder)
    assert model["origin"]["decoder"] == decoder
    assert len(model["centers"]) == 5 and min(model["weights"]) > 0
    assert sum(model["weights"]) == pytest.approx(1)


def test_searches_can_start_at_rows(program, tmp_path, table):
    program("sketch", "rows.npy", "-k", 5, "-o", "s.sketch")
    for start in ("sample", "plusplus"):
        program("fit", "s.sketch", "-k", 5, "--decoder", "cl-ompr", "--start", start, "--pilot", "plain.csv", "-o", "model.json")
        found = matched(np.array(model_of(tmp_path)["centers"]), CENTRES)
        # The published decoder takes clusters for points, and pays for it.
        assert np.abs(found - CENTRES).max() < 0.7
        program("kmeans", "rows.npy", "-k", 5, "--decoder", "cl-ompr", "--start", start)
    assert "--pilot" in program.fails("fit", "s.sketch", "-k", 5, "--decoder", "cl-ompr", "--start", "sample")
    assert "cl-ompr" in program.fails("fit", "s.sketch", "-k", 5, "--start", "sample", code=2)


def test_a_known_covariance_is_used_as_it_is(program, tmp_path, table):
    sigma = np.diag([1.0, 1.0, 1.0, 1.0]) + 0.01
    (tmp_path / "sigma.json").write_text(json.dumps(sigma.tolist()))
    program("gmm", "rows.npy", "-k", 5, "--covariance", "known:sigma.json", "-o", "model.json")
    model = model_of(tmp_path)
    np.testing.assert_allclose(np.array(model["covariances"]), np.broadcast_to(sigma, (5, 4, 4)), rtol=1e-9, atol=1e-12)
    assert np.abs(matched(np.array(model["means"]), CENTRES) - CENTRES).max() < 0.1
    (tmp_path / "sigma.json").write_text("[[1, 2], [3, 4]]")
    assert "4 rows of 4" in program.fails("gmm", "rows.npy", "-k", 5, "--covariance", "known:sigma.json")
    (tmp_path / "sigma.json").write_text("hello")
    assert "JSON matrix" in program.fails("gmm", "rows.npy", "-k", 5, "--covariance", "known:sigma.json")
    assert "cannot read" in program.fails("gmm", "rows.npy", "-k", 5, "--covariance", "known:none.json")


def test_diagnose_tells_a_good_model_from_a_stuck_one(program, tmp_path, table):
    program("kmeans", "rows.npy", "-k", 5, "-o", "model.json", "--keep", "s.sketch")
    good = program.json("diagnose", "s.sketch", "model.json")
    assert good["verdict"] == "good" and good["misfit"] < 1.5
    model = model_of(tmp_path)
    model["centers"][0] = [c + 3 for c in model["centers"][1]]
    (tmp_path / "stuck.json").write_text(json.dumps(model))
    stuck = program.json("diagnose", "s.sketch", "stuck.json", "--truth", "model.json")
    assert stuck["verdict"] == "decoder-stuck" and stuck["misfit"] > 10 * stuck["reference_misfit"]
    text = program("diagnose", "s.sketch", "stuck.json")
    assert "decoder stuck" in text and "advice" in text


def test_inspect_shows_a_model(program, table):
    program("gmm", "rows.npy", "-k", 5, "-o", "model.json")
    text = program("inspect", "model.json")
    for word in ("5 Gaussians with diag covariances", "20,000 rows", "decoder auto", "fingerprint", "weight", "x3", "misfit"):
        assert word in text, text
    assert program.json("inspect", "model.json")["kind"] == "model"
    assert "is a model" in program.fails("inspect", "model.json", "--spec")


def test_a_search_without_time_gives_a_usable_model_and_says_that_it_was_cut(program, tmp_path, table):
    program("sketch", "rows.npy", "-k", 5, "-o", "s.sketch")
    for task in ("kmeans", "kmedians", "gmm"):
        text = program("fit", "s.sketch", "--task", task, "-k", 5, "--seconds", 0, "-o", "model.json")
        assert "cut short" in text
        assert model_of(tmp_path)["origin"]["info"]["stop"] == "cut"
        assert program.json("score", "model.json", "rows.npy")["rows"] == 20_000
    text = program("kmeans", "rows.npy", "-k", 5, "--seconds", 100, "-o", "model.json")
    assert "cut short" not in text and model_of(tmp_path)["origin"]["info"]["stop"] != "cut"
    assert "number of seconds" in program.fails("fit", "s.sketch", "-k", 5, "--seconds", "soon", code=2)


def test_rows_with_missing_entries_have_labels_where_the_recipe_fills_them(program, tmp_path):
    rng = np.random.default_rng(3)
    rows = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(9, 1, (200, 2))])
    text = [[f"{x:.4f}" for x in row] for row in rows]
    text[7][1] = ""
    text[301][0] = "NA"
    (tmp_path / "gaps.csv").write_text("a,b\n" + "".join(",".join(row) + "\n" for row in text))
    for command in ("kmeans", "gmm"):
        program(command, "gaps.csv", "-k", 2, "-o", "model.json")
        fill = json.loads((tmp_path / "model.json").read_text())["fill"]
        program("predict", "model.json", "gaps.csv", "-o", "labels.csv")
        labels = np.loadtxt(tmp_path / "labels.csv", skiprows=1)
        filled = rows.copy()
        filled[7, 1], filled[301, 0] = fill[1], fill[0]
        np.savetxt(tmp_path / "filled.csv", filled, delimiter=",", header="a,b", comments="", fmt="%.4f")
        program("predict", "model.json", "filled.csv", "-o", "others.csv")
        assert (labels == np.loadtxt(tmp_path / "others.csv", skiprows=1)).all() and len(labels) == 400
        assert program.json("score", "model.json", "gaps.csv")["rows"] == 400
