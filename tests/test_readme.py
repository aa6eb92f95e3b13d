"""The README's console session is run as it stands, and its output compared; times and speeds may differ.

What is learned may differ between processors in the last digits: numbers are compared to 1%, everything else exactly.

`python tests/test_readme.py` runs the session and puts what it prints into the README.
"""

import os
import re
import subprocess
import tempfile

from testing import PROGRAM, ROOT

CHANGING = re.compile(r"[\d.,]+ (ms|s|rows/s)\b")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
README = ROOT / "README.md"


def session():
    block = BLOCK.search(README.read_text()).group(1)
    for step in block.split("$ ")[1:]:
        command, _, output = step.partition("\n")
        yield command, output


def run(command, folder):
    environment = os.environ | {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def same(word, other):
    a, b = word.strip("()%,"), other.strip("()%,")
    if word == other or not (NUMBER.fullmatch(a) and NUMBER.fullmatch(b)):
        return word == other
    return abs(float(a) - float(b)) <= 0.01 * max(abs(float(a)), abs(float(b)))


def agrees(text, expected):
    lines, others = ([line.split() for line in CHANGING.sub("T", t).splitlines()] for t in (text, expected))
    return len(lines) == len(others) and all(
        len(a) == len(b) and all(map(same, a, b)) for a, b in zip(lines, others)
    )


def test_the_console_session_of_the_readme(tmp_path):
    steps = list(session())
    assert len(steps) >= 8
    for command, expected in steps:
        text = run(command, tmp_path)
        assert agrees(text, expected), (command, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        block = "".join(f"$ {command}\n{run(command, folder)}" for command, _ in session())
    README.write_text(BLOCK.sub(lambda _: f"```console\n{block}```", README.read_text(), count=1))
