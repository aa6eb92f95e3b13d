"""Runs the built program; every test is told the exit code and both streams."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("COMPRESSIVE", ROOT / "target" / "debug" / "compressive"))


class Program:
    """`program(args...)` must succeed and returns standard output; `program.fails(args...)` must exit with 1."""

    def __init__(self, cwd, path=PROGRAM):
        self.cwd, self.path = cwd, path

    def run(self, *args, stdin=None):
        command = [str(self.path), *map(str, args)]
        return subprocess.run(command, cwd=self.cwd, input=stdin, capture_output=True, timeout=300, check=False)

    def __call__(self, *args, stdin=None):
        done = self.run(*args, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def json(self, *args, stdin=None):
        return json.loads(self(*args, "--json", stdin=stdin))

    def fails(self, *args, stdin=None, code=1):
        """Standard error of a run that must fail cleanly: the right code, no panic, nothing on standard output."""
        done = self.run(*args, stdin=stdin)
        message = done.stderr.decode()
        assert done.returncode == code, (done.returncode, message)
        assert "panicked" not in message and done.stdout == b"", message
        return message


@pytest.fixture
def program(tmp_path):
    assert PROGRAM.exists(), "build the program first: cargo build --workspace --bins"
    return Program(tmp_path)


@pytest.fixture
def lab(tmp_path):
    path = PROGRAM.with_name("compressive-lab")
    assert path.exists(), "build the lab first: cargo build --workspace --bins"
    return Program(tmp_path, path)


@pytest.fixture
def rows():
    """Three clusters in four columns; every value is exact in f32 and short in decimal, so all formats hold the same numbers."""
    rng = np.random.default_rng(5)
    centres = rng.normal(0, 4, (3, 4))
    values = centres[rng.integers(0, 3, 1500)] + rng.normal(0, 1, (1500, 4))
    return np.round(values * 256) / 256


COLUMNS = ["a", "b", "c", "d"]


def write_csv(path, rows, columns=COLUMNS):
    lines = [",".join(columns)] + [",".join(repr(float(x)) for x in row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path
