"""The console script ``compressive``: the program of the command line, which is part of the compiled module."""

from __future__ import annotations

import signal
import sys

from ._native import program


def main() -> None:
    """Runs the program with the arguments of the process."""
    # Ctrl-C and closed pipes are the program's own business, as where it is installed by itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(program(sys.argv))
