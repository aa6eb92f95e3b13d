"""The example scripts run, on little data, and tell what their stories promise."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"
# These need engines of their own and are run by the tests of those.
ELSEWHERE = {"spark.py", "sql.py"}
ARGUMENTS = {"clustering.py": ["--rows", "500000"], "drift.py": ["--output", "picture.png"], "private_release.py": []}


@pytest.fixture
def run(tmp_path):
    def script(name):
        environment = {**os.environ, "MPLBACKEND": "Agg"}
        command = [sys.executable, "-W", "error::DeprecationWarning", str(FOLDER / name), *ARGUMENTS.get(name, [])]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    return script


def test_clustering_from_a_sketch_is_as_good_as_scikit_learns_and_needs_less_memory(run):
    output = run("clustering.py")
    found = {
        name: (float(memory), float(ratio))
        for name, memory, ratio in re.findall(r"^(\w+).*?\s+[\d.]+\s+(\d+) MB\s+([\d.]+)$", output, re.MULTILINE)
    }
    assert set(found) == {"compressive", "MiniBatchKMeans", "KMeans"}, output
    assert found["compressive"][1] < 1.02
    # The rows are 20 MB, and KMeans holds at least those and its copy; a fit of a sketch takes some 30 MB, whatever the rows.
    assert found["compressive"][0] < found["KMeans"][0]


def test_the_sketch_cube_finds_the_bad_day_and_the_change_and_nothing_else(run, tmp_path):
    output = run("drift.py")
    changed = [f"south {day}" for day in range(21, 28)]
    assert re.search("days that differ: (.*)", output)[1].split(", ") == ["north 16", *changed]
    with_day, without = (float(p) for p in re.findall(r"p-value (\S+)", output))
    assert with_day < 1e-6 < 0.001 < without
    assert "before day 21: 80% of about 5.0 km and 20% of about 22" in output.replace("21.9", "22")
    assert "after day 21: 65% of about 5.0 km and 35% of about 22" in output.replace("21.9", "22")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_private_release_gets_cheaper_with_epsilon(run):
    output = run("private_release.py")
    study = output.split("epsilon  noise")[1]
    rows = [[float(word) for word in line.split()] for line in study.splitlines()[1:] if line.strip()]
    epsilons, noises, _, costs = zip(*rows, strict=True)
    assert epsilons[-1] == 1.0
    # Laplace noise falls in proportion to epsilon, but for the share that the number of rows takes.
    assert noises[0] / noises[-1] == pytest.approx(epsilons[-1] / epsilons[0], rel=0.15)
    # The noise is fresh in every run. At epsilon 1 it is below that of sampling; at 0.01 it hides the small groups.
    assert costs[-1] < 1.01
    assert costs[0] > 1.02
    assert len(re.findall(r"systolic", output)) == 4


def test_no_example_is_without_a_test():
    assert {path.name for path in FOLDER.glob("*.py")} <= {*ARGUMENTS, *ELSEWHERE}
