"""What the commands print and write: designs, inspection, comparison, help."""

import json

import numpy as np
import pytest
from testing import write_csv


def test_task_and_k_are_enough(program, tmp_path, rows):
    write_csv(tmp_path / "rows.csv", rows)
    done = program.json("design", "rows.csv", "--task", "kmeans", "-k", 10, "-o", "spec.json")
    assert (done["size"], done["law"], done["feature"]) == (400, "adapted-radius", "fourier")
    assert program.json("design", "rows.csv", "--task", "gmm", "-k", 20, "-o", "spec.json")["size"] == 1000
    assert program.json("design", "rows.csv", "--size", 77, "-o", "spec.json")["size"] == 77


@pytest.mark.parametrize("law", ["gaussian", "folded-gaussian", "adapted-radius", "weighted", "pilot-mixture"])
@pytest.mark.parametrize("scale", ["mean-sigma", "data-variance", "entropy", "0.5"])
def test_every_law_and_scale_rule_designs(program, tmp_path, rows, law, scale):
    write_csv(tmp_path / "rows.csv", rows)
    done = program.json("design", "rows.csv", "--law", law, "--scale", scale, "-o", "spec.json")
    assert done["law"] == law and 0.01 < done["scale"] < 10
    if scale == "0.5":
        assert done["scale"] == 0.5


def test_declared_bounds_are_kept(program, tmp_path, rows):
    write_csv(tmp_path / "rows.csv", rows)
    program("design", "rows.csv", "--bounds", "-100:100", "--bounds", "b=-7:8.5", "-o", "spec.json")
    bounds = json.loads((tmp_path / "spec.json").read_text())["bounds"]
    assert bounds == {"low": [-100, -7, -100, -100], "high": [100, 8.5, 100, 100]}
    assert "`e`" in program.fails("design", "rows.csv", "--bounds", "e=0:1", "-o", "x.json")
    assert "missing for column `a`" in program.fails("design", "rows.csv", "--bounds", "b=0:1", "-o", "x.json")


def test_inspect_tells_what_a_person_wants_to_know(program, tmp_path, rows):
    write_csv(tmp_path / "rows.csv", rows)
    program("sketch", "rows.csv", "-o", "s.sketch", "--size", 200)
    text = program("inspect", "s.sketch")
    for word in ["1,500", "fingerprint", "adapted-radius", "fourier of 200 frequencies", "frequency radius", "spread"]:
        assert word in text, text
    report = program.json("inspect", "s.sketch")
    assert report["rows"] == 1500 and len(report["modulus"]) == 200 == len(report["radius"])
    assert report["fingerprint"] in text
    # The spec printed is a spec that gives the same sketch.
    (tmp_path / "spec.json").write_text(program("inspect", "s.sketch", "--spec"))
    program("sketch", "rows.csv", "--spec", "spec.json", "-o", "t.sketch")
    assert (tmp_path / "s.sketch").read_bytes() == (tmp_path / "t.sketch").read_bytes()


def test_inspect_says_when_the_scale_is_wrong(program, tmp_path, rows):
    write_csv(tmp_path / "rows.csv", rows)
    for scale, remedy in [(100, "smaller --scale"), (0.001, "larger --scale")]:
        program("sketch", "rows.csv", "-o", "s.sketch", "--scale", scale)
        assert remedy in program("inspect", "s.sketch")


def test_compare_sees_a_shift_and_no_shift(program, tmp_path):
    rng = np.random.default_rng(9)
    for name, shift in [("a", 0), ("b", 0), ("c", 0.2)]:
        np.save(tmp_path / f"{name}.npy", rng.normal(shift, 1, (20_000, 3)))
    program("design", "a.npy", "-o", "spec.json")
    for name in "abc":
        program("sketch", f"{name}.npy", "--spec", "spec.json", "-o", f"{name}.sketch")
    same, moved = program.json("compare", "a.sketch", "b.sketch"), program.json("compare", "a.sketch", "c.sketch")
    assert same["p_value"] > 0.01 and abs(same["mmd_squared"]) < 4 * same["standard_error"]
    assert moved["p_value"] < 1e-6 and moved["mmd_squared"] > 5 * moved["standard_error"]
    assert "different distributions" in program("compare", "a.sketch", "c.sketch")


def test_a_sorted_file_is_sampled_all_over(program, tmp_path):
    values = np.sort(np.random.default_rng(0).normal(size=200_000))
    np.save(tmp_path / "sorted.npy", values)
    write_csv(tmp_path / "sorted.csv", values[:, None], ["x0"])
    for name in ["sorted.npy", "sorted.csv"]:
        program("design", name, "-o", "spec.json")
        transform = json.loads((tmp_path / "spec.json").read_text())["transform"]
        assert abs(transform["centre"][0]) < 0.3 and abs(transform["spread"][0] - 1) < 0.3, (name, transform)


def test_text_columns_are_left_out_and_said_so(program, tmp_path):
    lines = [f'"Smith, {i}",{i * 0.5},x{i}' for i in range(50)]
    (tmp_path / "people.csv").write_text("name,height,code\n" + "\n".join(lines) + "\n")
    done = program.run("sketch", "people.csv", "-o", "s.sketch")
    assert done.returncode == 0 and b"`name`" in done.stderr and b"`code`" in done.stderr
    quiet = program.run("sketch", "people.csv", "-o", "s.sketch", "--quiet")
    assert quiet.stderr == b""
    assert program.json("inspect", "s.sketch")["spec"]["columns"] == ["height"]


def test_folders_globs_and_files_without_header(program, tmp_path):
    (tmp_path / "parts").mkdir()
    for i in range(3):
        (tmp_path / "parts" / f"{i}.csv").write_text("".join(f"{i + j * 0.1:.1f};{j}\n" for j in range(40)))
    assert program.json("sketch", "parts", "-o", "a.sketch")["rows_read"] == 120
    assert program.json("sketch", "parts/*.csv", "-o", "b.sketch")["rows_read"] == 120
    assert (tmp_path / "a.sketch").read_bytes() == (tmp_path / "b.sketch").read_bytes()


def test_completions_for_every_shell(program):
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"]:
        assert "compressive" in program("completions", shell)


def test_the_demo_keeps_its_promises(program, tmp_path):
    text = program("demo", "--rows", 20_000, "--dir", "kept")
    assert "to the byte" in text and "NOT" not in text and "different distributions" in text
    # The clusters are found in the sketch, drawn, and as good as those of k-means on the rows.
    assert "learned 10 clusters from the sketch of 10,000 rows" in text and "recovered centres" in text
    assert 0.99 < float(text.split("over that of k-means: ")[1].split()[0]) < 1.02
    days = [f"day-{day:02}.sketch" for day in range(1, 15)]
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == [
        *days, "demo.svg", "monday.json", "monday.npy", "monday.sketch", "tuesday.npy", "tuesday.sketch"]


def test_quiet_commands_print_nothing_but_results_that_go_to_no_file(program, tmp_path, rows):
    write_csv(tmp_path / "rows.csv", rows)
    silent = [
        ("design", "rows.csv", "-k", 3, "-o", "spec.json", "-q"),
        ("sketch", "rows.csv", "--spec", "spec.json", "-o", "rows.sketch", "-q"),
        ("fit", "rows.sketch", "-k", 3, "-o", "model.json", "-q"),
        ("kmeans", "rows.csv", "-k", 3, "-o", "model.json", "-q"),
        ("predict", "model.json", "rows.csv", "-o", "labels.csv", "-q"),
        ("transform", "spec.json", "rows.csv", "-o", "features.npy", "-q"),
        ("report", "rows.sketch", "model.json", "-o", "report.html", "-q"),
    ]
    for command in silent:
        done = program.run(*command)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), (command, done.stdout, done.stderr)
    assert "weight" in program("fit", "rows.sketch", "-k", 3, "-q")
    assert "mean(a)" in program("query", "rows.sketch", "mean(a)", "-q")


def test_the_server_and_push_are_configured_by_their_environment(program, tmp_path, rows, monkeypatch):
    write_csv(tmp_path / "rows.csv", rows)
    monkeypatch.setenv("COMPRESSIVE_PUSH_TO", "http://127.0.0.1:9")
    monkeypatch.setenv("COMPRESSIVE_PUSH_STREAM", "fleet")
    monkeypatch.setenv("COMPRESSIVE_PUSH_PATIENCE", "1")
    assert "127.0.0.1:9" in program.fails("push", "rows.csv")
    monkeypatch.setenv("COMPRESSIVE_SERVE_LISTEN", "not-an-address")
    message = program.fails("serve", "data", code=2)
    assert "not-an-address" in message
    monkeypatch.setenv("COMPRESSIVE_SERVE_LISTEN", "0.0.0.0:0")
    assert "can be reached from other machines" in program.fails("serve", "data")
