"""The README's console session is run as it stands, and its output compared; times and speeds may differ."""

import os
import re
import subprocess

from conftest import PROGRAM, ROOT

CHANGING = re.compile(r"[\d.,]+ (ms|s|rows/s)\b")


def session():
    block = re.search(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    for step in block.split("$ ")[1:]:
        command, _, output = step.partition("\n")
        yield command, output


def test_the_console_session_of_the_readme(tmp_path):
    environment = os.environ | {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    steps = list(session())
    assert len(steps) >= 8
    for command, expected in steps:
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (command, done.stderr)
        assert CHANGING.sub("T", done.stdout) == CHANGING.sub("T", expected), command
