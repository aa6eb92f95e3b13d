"""Fixtures that several tests share."""

import signal

import numpy as np
import pytest
from testing import PROGRAM, Fleet, Program, Server


def pytest_configure():
    """Ctrl-C works in the tests and in what they start, also where a shell that runs them in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def program(tmp_path):
    assert PROGRAM.exists(), "build the program first: cargo build --workspace --bins"
    return Program(tmp_path)


@pytest.fixture
def lab(tmp_path):
    path = PROGRAM.with_name("compressive-lab")
    assert path.exists(), "build the lab first: cargo build --workspace --bins"
    return Program(tmp_path, path=path)


@pytest.fixture
def server(tmp_path):
    """A collector without a stream."""
    with Server(tmp_path / "data") as server:
        yield server


@pytest.fixture
def fleet(program, tmp_path):
    return Fleet(program, tmp_path)


@pytest.fixture
def rows():
    """Three clusters in four columns; each value is exact in f32 and short in decimal, for the same numbers in all formats."""
    rng = np.random.default_rng(5)
    centres = rng.normal(0, 4, (3, 4))
    values = centres[rng.integers(0, 3, 1500)] + rng.normal(0, 1, (1500, 4))
    return np.round(values * 256) / 256
