"""Classifiers from one sketch per class, against numpy."""

import json

import numpy as np
import pytest

LABELS = ["a/b", "ä, \"q\"", "7"]


@pytest.fixture
def table(tmp_path):
    """Three classes in two columns, with labels that neither a file name nor a CSV field holds as they are."""
    rng = np.random.default_rng(3)
    classes = rng.integers(0, 3, 900)
    rows = np.array([[0, 0], [4, 0], [0, 5]])[classes] + rng.normal(0, 1, (900, 2))
    text = ["label,x,y"]
    for k, (x, y) in zip(classes, rows):
        text.append(f'"{LABELS[k].replace(chr(34), chr(34) * 2)}",{float(x)!r},{float(y)!r}')
    (tmp_path / "t.csv").write_text("\n".join(text) + "\n")
    return rows, classes


def sketch(program, *more):
    program("sketch", "t.csv", "--by", "label", "--columns", "x,y", "--task", "classify", "-o", "by", *more)


def predicted(tmp_path, name="p.csv"):
    import csv

    with open(tmp_path / name, newline="", encoding="utf-8") as file:
        return [row["label"] for row in csv.DictReader(file)]


def test_the_correlation_rule_is_that_of_numpy(program, table, tmp_path):
    rows, _ = table
    sketch(program, "--size", "60")
    for priors in ["counts", "uniform"]:
        program("fit", "by", "--task", "classify", "--method", "correlation", "--priors", priors, "-o", "m.json")
        model = json.loads((tmp_path / "m.json").read_text())
        assert sorted(model["classes"]) == sorted(LABELS) and model["task"] == "classify"
        spec = model["spec"]
        assert spec["transform"]["whiten"] is not None
        (tmp_path / "spec.json").write_text(json.dumps(spec))
        omega = np.array(program.json("inspect", "spec.json", "--frequencies")["frequencies"])[:, :2]
        working = (rows - spec["transform"]["centre"]) / spec["transform"]["spread"] @ np.array(spec["transform"]["whiten"]).T
        phases = working @ omega.T
        features = np.hstack([np.cos(phases), np.sin(phases)])
        scores = features @ np.array(model["means"]).T * model["priors"]
        program("predict", "m.json", "t.csv", "-o", "p.csv")
        ours = predicted(tmp_path)
        top = np.sort(scores, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-6
        expected = np.array(model["classes"])[scores.argmax(axis=1)]
        assert clear.mean() > 0.99 and (np.array(ours)[clear] == expected[clear]).all()


def test_every_method_classifies_and_scores(program, table, tmp_path):
    _, classes = table
    sketch(program)
    for method in ["mixture", "nearest", "centred", "correlation"]:
        program("fit", "by", "--task", "classify", "--method", method, "-o", "m.json")
        score = program.json("score", "m.json", "t.csv", "--labels", "label")
        program("predict", "m.json", "t.csv", "-o", "p.csv")
        right = np.mean(np.array(predicted(tmp_path)) == np.array(LABELS)[classes])
        assert score["accuracy"] == pytest.approx(right) and score["accuracy"] > 0.9, method
        assert score["error"] == pytest.approx(1 - right)
        assert sum(map(sum, score["confusion"].values())) == 900
        assert method in program("inspect", "m.json")
    program("predict", "m.json", "t.csv", "-o", "p.npy")
    assert (np.load(tmp_path / "p.npy") >= 0).all()


def test_the_one_liner_equals_sketch_and_fit(program, table):
    sketch(program)
    fitted = program.json("fit", "by", "--task", "classify")
    alone = program.json("classify", "t.csv", "--labels", "label", "--columns", "x,y", "--method", "mixture")
    for model in (fitted, alone):
        model.pop("seconds")
    assert fitted == alone


def test_the_rule_is_chosen_on_held_out_rows(program, table, tmp_path):
    found = program.json("classify", "t.csv", "--labels", "label", "--columns", "x,y")
    errors = found["choice"]["errors"]
    assert sorted(errors) == ["centred", "correlation", "mixture", "nearest"] and found["choice"]["held_out"] in range(290, 301)
    assert errors[found["method"]] <= min(errors.values()) + 0.05 < 0.15
    text = program("classify", "t.csv", "--labels", "label", "--columns", "x,y", "--method", "auto", "-o", "m.json")
    assert f"{found['method']} was chosen by its errors on" in text
    assert json.loads((tmp_path / "m.json").read_text())["method"] == found["method"]
    program("design", "t.csv", "--columns", "x,y", "--task", "classify", "--scaling", "columns", "-o", "spec.json")
    assert json.loads((tmp_path / "spec.json").read_text())["transform"]["whiten"] is None
    # A ring around a disc: Gaussians with one centre tell them apart by their width alone, class means do not.
    rng = np.random.default_rng(1)
    radius, angle = np.repeat([0.5, 3.0], 600) + rng.normal(0, 0.2, 1200), rng.uniform(0, 7, 1200)
    lines = [f"{int(r > 1.75)},{r * np.cos(a)},{r * np.sin(a)}" for r, a in zip(radius, angle)]
    (tmp_path / "ring.csv").write_text("\n".join(["label,x,y", *lines]) + "\n")
    ring = program.json("classify", "ring.csv", "--labels", "label")
    assert min(ring["choice"]["errors"].values()) < 0.03


def test_images_are_told_apart_by_convolutional_features(program, tmp_path):
    """Bars at random places, upright or level: their orientation is in no pixel, and filters see it."""
    rng = np.random.default_rng(2)
    classes = rng.integers(0, 2, 600)
    images = rng.uniform(0, 60, (600, 8, 8))
    for image, level in zip(images, classes):
        at, start = rng.integers(0, 8), rng.integers(0, 3)
        (image if level else image.T)[at, start : start + 6] += 190
    pixels = [f"p{i}" for i in range(64)]
    lines = [",".join([["upright", "level"][c], *map(repr, map(float, image.ravel()))]) for c, image in zip(classes, images)]
    for name, part in [("train", lines[:400]), ("test", lines[400:])]:
        (tmp_path / f"{name}.csv").write_text("\n".join([",".join(["label", *pixels]), *part]) + "\n")

    def error(*recipe):
        program("classify", "train.csv", "--labels", "label", "--size", 500, *recipe, "-o", "m.json")
        return program.json("score", "m.json", "test.csv", "--labels", "label")["error"]

    conv = ["--feature", "conv", "--image", "8x8"]
    assert error(*conv) < 0.1
    program("sketch", "train.csv", "--by", "label", "--task", "classify", "--size", 300, *conv, "-o", "by")
    model = program.json("fit", "by", "--task", "classify", "-o", "m.json")
    assert model["method"] == "centred" and model["spec"]["feature"] == {"name": "conv", "height": 8, "width": 8, "channels": 1}
    assert program.json("score", "m.json", "test.csv", "--labels", "label")["error"] < 0.1
    assert "8 x 8 x 1" in program("inspect", "by/level.sketch")
    (tmp_path / "private").mkdir()
    for file in ["level", "upright"]:
        program("privatize", f"by/{file}.sketch", "--epsilon", 1000, "--public-spec", "-o", f"private/{file}.sketch")
    program("fit", "private", "--task", "classify", "-o", "m.json")
    assert program.json("score", "m.json", "test.csv", "--labels", "label")["error"] < 0.15

    only = "tells classes of images apart"
    assert only in program.fails("fit", "by/level.sketch", "--task", "kmeans", "-k", 2)
    assert only in program.fails("fit", "by/level.sketch", "--task", "gmm", "-k", 2)
    assert only in program.fails("compare", "by/level.sketch", "by/upright.sketch")
    assert "quadratic" in program.fails("fit", "by/level.sketch", "--task", "pca", "-k", 2)
    assert "conv" in program.fails("query", "by/level.sketch", "mean(p1)")
    assert "nearest" in program.fails("fit", "by", "--task", "classify", "--method", "mixture")
    design = ["design", "train.csv", "--exclude", "label", "-o", "out.json"]
    assert "--image" in program.fails(*design, "--task", "classify", "--feature", "conv")
    assert "--task classify" in program.fails(*design, *conv)
    assert "64" in program.fails(*design, "--task", "classify", "--feature", "conv", "--image", "9x9")
    assert "leave --image out" in program.fails(*design, "--task", "classify", "--image", "8x8")
    assert "whiten" in program.fails(*design, "--task", "classify", *conv, "--whiten")
    assert "structured" in program.fails(*design, "--task", "classify", *conv, "--structured")
    assert "law" in program.fails(*design, "--task", "classify", *conv, "--law", "pilot-mixture")
    assert "privately" in program.fails(*design, "--task", "classify", *conv, "--bounds", "0:255", "--private", 0)
    program.fails(*design, "--feature", "conv", "--image", "8by8", code=2)


def test_merged_parts_give_the_same_classifier_and_labels_can_be_named(program, table, tmp_path):
    sketch(program)
    files = sorted((tmp_path / "by").iterdir())
    lines = (tmp_path / "t.csv").read_text().splitlines()
    for part, body in enumerate([lines[1:400], lines[400:]]):
        (tmp_path / f"t{part}.csv").write_text("\n".join([lines[0], *body]) + "\n")
        program("sketch", f"t{part}.csv", "--by", "label", "--spec", files[0], "-o", f"by{part}")
    named = []
    for i, file in enumerate(files):
        program("merge", f"by0/{file.name}", f"by1/{file.name}", "-o", f"m{i}.sketch")
        assert (tmp_path / f"m{i}.sketch").read_bytes() == file.read_bytes()
        named.append(f"class {i}=m{i}.sketch")
    model = program.json("fit", *named, "--task", "classify")
    assert model["classes"] == ["class 0", "class 1", "class 2"]


def test_columns_are_found_by_name_and_an_unknown_class_is_wrong(program, table, tmp_path):
    sketch(program)
    program("fit", "by", "--task", "classify", "-o", "m.json")
    (tmp_path / "u.csv").write_text("y,other,x,label\n0,9,0,a/b\n0,9,4,new\n")
    program("predict", "m.json", "u.csv", "-o", "p.csv")
    assert predicted(tmp_path) == LABELS[:2]
    score = program.json("score", "m.json", "u.csv", "--labels", "label")
    assert score["accuracy"] == 0.5 and score["unknown_classes"] == ["new"]


def test_private_class_sketches_make_a_classifier(program, table, tmp_path):
    program("design", "t.csv", "--columns", "x,y", "--task", "classify", "--size", "40", "--bounds", "-6:10", "--private", "0", "-o", "spec.json")
    program("sketch", "t.csv", "--by", "label", "--spec", "spec.json", "-o", "by")
    (tmp_path / "private").mkdir()
    for file in (tmp_path / "by").iterdir():
        program("privatize", file, "--epsilon", "30", "-o", f"private/{file.name}")
    program("fit", "private", "--task", "classify", "--method", "nearest", "-o", "m.json")
    assert program.json("score", "m.json", "t.csv", "--labels", "label")["accuracy"] > 0.85
    # The noise is fresh in every run; at this budget it is a tenth of the means' spread.
    program("fit", "private", "--task", "classify", "-o", "m.json")
    assert program.json("score", "m.json", "t.csv", "--labels", "label")["accuracy"] > 0.7


def test_what_cannot_be_classified_is_refused(program, table, tmp_path):
    sketch(program)
    one = next((tmp_path / "by").iterdir())
    assert "two classes" in program.fails("fit", one, "--task", "classify")
    assert "twice" in program.fails("fit", one, one, "--task", "classify")
    program("sketch", "t.csv", "--columns", "x,y", "--seed", "9", "-o", "other.sketch")
    assert "different specs" in program.fails("fit", one, "other.sketch", "--task", "classify")
    program.fails("fit", "by", "-k", "2", "--method", "nearest", code=2)
    program.fails("fit", one, code=2)
    assert "is a folder" in program.fails("fit", "by", "-k", "2")
    message = program.fails("classify", "t.csv", "--labels", "absent")
    assert "no column \"absent\" (asked for by --labels)" in message
    program("fit", "by", "--task", "classify", "-o", "m.json")
    assert "--labels" in program.fails("score", "m.json", "t.csv")
    assert "several sketches" in program.fails("diagnose", one, "m.json")
    (tmp_path / "empty").mkdir()
    assert "no .sketch files" in program.fails("fit", "empty", "--task", "classify")
    model = json.loads((tmp_path / "m.json").read_text())
    for field, value in [("priors", [0.5, 0.5]), ("classes", ["a", "a", "b"]), ("mixtures", [])]:
        (tmp_path / "bad.json").write_text(json.dumps({**model, field: value}))
        assert field in program.fails("inspect", "bad.json") or field == "priors"
