"""The wheel by itself: a fresh environment with numpy alone."""

import subprocess
import sys
import zipfile

import pytest
from testing import ROOT


@pytest.fixture(scope="module")
def wheel():
    wheels = sorted(
        (ROOT / "target" / "wheels").glob("compressive-*-cp310-abi3-*.whl"), key=lambda path: path.stat().st_mtime
    )
    assert wheels, "build the wheel first: ./test does"
    return wheels[-1]


def test_the_wheel_is_typed_and_for_every_python_from_3_10(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"compressive/py.typed", "compressive/_native.pyi", "compressive/_native.abi3.so"} <= names
    assert not [name for name in names if "__pycache__" in name]


def test_it_installs_and_works_with_numpy_alone(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel], check=True)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    ).stdout
    installed = {line.split("==")[0] for line in listed.split()}
    assert installed <= {"compressive", "numpy", "pip", "setuptools", "wheel"}
    script = """
import numpy, compressive
rows = numpy.random.default_rng(0).normal(size=(20_000, 2)) + 9 * numpy.eye(2)[numpy.arange(20_000) % 2]
centers = compressive.fit_kmeans(compressive.sketch(rows, k=2), 2).parameters["centers"]
assert abs(numpy.sort(centers, axis=0) - [[0, 0], [9, 9]]).max() < 0.2, centers
try:
    compressive.KMeans
except ImportError as error:
    print(error)
"""
    done = subprocess.run([python, "-c", script], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "compressive[sklearn]" in done.stdout
    program = tmp_path / "venv" / "bin" / "compressive"

    def run(*arguments):
        return subprocess.run([program, *arguments], check=False, capture_output=True, text=True, cwd=tmp_path)

    done = run("generate", "separated", "-n", "2000", "-d", "2", "-k", "3", "-o", "rows.csv")
    assert (done.returncode, done.stdout) == (0, "rows.csv: 2,000 rows of 2 columns\n"), done.stderr
    assert "learned 3 clusters" in run("kmeans", "rows.csv", "-k", "3").stdout
    done = run("inspect", "none.sketch")
    assert done.returncode == 1 and "none.sketch" in done.stderr and "Traceback" not in done.stderr
    assert run("no-such-command").returncode == 2
    assert run("serve", "--help").returncode == 0
