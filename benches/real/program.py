"""The program as a child process: its output, its seconds, and a memory of what was run, so that a run that was stopped goes on."""

import dataclasses
import hashlib
import json
import math
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import threading
import time

import numpy as np


# A command that waits for so many times its CPU seconds hangs.
HANGING = 10


class Failed(RuntimeError):
    """The program said no."""


@dataclasses.dataclass
class Ran:
    """Standard output, CPU seconds (user and system, all threads) and wall seconds of a command."""

    text: str
    cpu: float
    wall: float


class Stopped(Failed):
    """The program took longer than it may."""


def measured(command, limit):
    """Runs a command and asks the system what it used; ends it after `limit` CPU seconds, which a busy machine does not change, or when it hangs."""
    most = math.ceil(limit)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        began = time.perf_counter()
        child = subprocess.Popen(
            [str(part) for part in command],
            stdout=out,
            stderr=errors,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most)),
        )
        # Not `child.kill`, which might reap the child before its usage is read.
        stopper = threading.Timer(HANGING * limit, os.kill, (child.pid, signal.SIGKILL))
        stopper.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        stopper.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
            raise Stopped(f"stopped after {limit:g} CPU s")
        out.seek(0)
        errors.seek(0)
        if child.returncode != 0:
            raise Failed((errors.read().strip() or f"exit code {child.returncode}").splitlines()[0][:200])
        return Ran(out.read(), usage.ru_utime + usage.ru_stime, wall)


class Memory:
    """JSON records by key, one file each."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, key, make, good=lambda record: True):
        """The record of this key, made by `make` where there is none that is good."""
        text = json.dumps(key)
        path = self.folder / (hashlib.sha256(text.encode()).hexdigest()[:24] + ".json")
        if path.exists() and good(record := json.loads(path.read_text())["record"]):
            return record
        record = make()
        path.with_suffix(".part").write_text(json.dumps({"key": key, "record": record}))
        path.with_suffix(".part").replace(path)
        return record


class Program:
    """The program under test. Records are kept by the hash of its file: another build measures anew."""

    def __init__(self, path, folder, limit):
        self.path, self.limit = pathlib.Path(path).resolve(), limit
        self.hash = hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]
        self.memory = Memory(pathlib.Path(folder) / "runs" / self.hash)

    def run(self, *command):
        return measured([self.path, *command], self.limit)

    def kept(self, key, steps):
        """The record that `steps(folder)` returns, or one with the reason why there is none; made in a scratch folder."""

        def make():
            with tempfile.TemporaryDirectory() as folder:
                try:
                    return steps(pathlib.Path(folder))
                except Stopped as problem:
                    return {"reason": str(problem), "limit": self.limit}
                except Failed as problem:
                    return {"reason": str(problem)}

        # What was stopped earlier than it would be now is tried again.
        return self.memory.get(key, make, lambda record: record.get("limit", self.limit) >= self.limit)

    def from_sketch(self, key, rows, k, seed, task="kmeans", sketch=(), fit=()):
        """Sketches the rows (an array or a file), then learns from the sketch alone: model, CPU seconds, bytes and size of the sketch."""

        def steps(folder):
            data, file, model = path_of(rows, folder), folder / "x.sketch", folder / "model.json"
            options = ["--task", task, "-k", k, "--seed", seed]
            made = self.run("sketch", data, *options, *sketch, "-o", file, "--json")
            learned = self.run("fit", file, *options, *fit, "-o", model, "--quiet")
            return {
                "model": json.loads(model.read_text()),
                "cpu": learned.cpu,
                "sketch_cpu": made.cpu,
                "bytes": file.stat().st_size,
                "size": json.loads(made.text)["size"],
            }

        return self.kept(["sketch", key, k, seed, task, sketch, fit], steps)

    def one_liner(self, key, rows, k, seed, task="kmeans", options=()):
        """`kmeans DATA` or `gmm DATA`."""

        def steps(folder):
            model = folder / "model.json"
            command = [task, path_of(rows, folder), "-k", k, "--seed", seed, *options, "-o", model, "--quiet"]
            ran = self.run(*command)
            return {"model": json.loads(model.read_text()), "cpu": ran.cpu}

        return self.kept(["one", key, k, seed, task, options], steps)


def path_of(rows, folder):
    """The file itself, or one with these rows."""
    if not isinstance(rows, np.ndarray):
        return rows
    np.save(folder / "rows.npy", rows)
    return folder / "rows.npy"


def promised_excess(record):
    """The excess loss over the best that a model states, if it does."""
    return record.get("model", {}).get("origin", {}).get("excess")
