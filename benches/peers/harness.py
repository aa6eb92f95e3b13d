"""What a job is, and how its contenders are run: each in a process of its own, in turns, on the same files and number of threads."""

import dataclasses
import importlib
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import numpy as np
from end_to_end import Stopped, measured

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODULES = ("sketching", "kmeans", "mixture", "components", "private", "merging")
# A contender whose first run takes longer than this many seconds is not run again.
SLOW = 20
# How the error of a child begins whose packages are not there.
MISSING = "not installed: "
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclasses.dataclass
class Contender:
    """A program's commands (`commands`, and `read` for what they wrote), or a Python function (`run`) whose modules (`needs`) are imported before the clock starts.

    All three are told the case, the job's sizes; the working folder is the job's. `packages` are named with their versions; `python` is the name of a setting
    that may hold another interpreter.
    """

    key: str
    label: str
    commands: Callable | None = None
    read: Callable | None = None
    run: Callable | None = None
    needs: tuple = ()
    packages: tuple = ()
    python: str = ""


@dataclasses.dataclass
class Job:
    """One table: the first contender is ours, to which all ratios are; `peer` is the one that the page on speed shows.

    `prepare(case, program)` writes the files into the working folder. `measure(case, result)` is what the quality is made of, `shown(case, raw)` turns
    {contender: raw} into the number of the table, which `quality` names; less is better, and numbers within `tolerance` count as equal.
    A contender is stopped after `limit` seconds. `rates` adds rows per second to the page.
    """

    name: str
    title: Callable
    full: dict
    quick: dict
    peer: str
    contenders: list
    prepare: Callable
    measure: Callable
    shown: Callable
    quality: str
    form: str
    tolerance: float
    note: str
    limit: float = 60
    rates: bool = False


def jobs():
    """All jobs by name, in the order of the page."""
    found = [job for module in MODULES for job in importlib.import_module(f"peers.{module}").JOBS]
    return {job.name: job for job in found}


def waiting():
    """How threads of OpenMP wait. Spinning, which is usual, costs scikit-learn and faiss dearly as soon as anything else runs."""
    return os.environ.get("OMP_WAIT_POLICY", "passive")


def environment(threads):
    """Variables of a child."""
    pinned = {name: str(threads) for name in THREAD_VARIABLES}
    return os.environ | pinned | {"OMP_WAIT_POLICY": waiting(), "PYTHONWARNINGS": "ignore"}


def run_program(contender, case, program, limit, threads):
    """Seconds of all commands, nothing besides them, the largest peak, and what they wrote."""
    seconds = peak = 0.0
    for command in contender.commands(case):
        took, high = measured([program, *command], limit=limit, env=environment(threads))
        seconds, peak = seconds + took, max(peak, high)
    return {"seconds": seconds, "start": 0.0, "peak": peak}, contender.read()


def run_python(job, contender, case, limit, threads):
    """Seconds without imports, the rest of the process's seconds, its peak, and what it found."""
    interpreter = os.environ.get(contender.python) or sys.executable
    command = [interpreter, HERE / "child.py", job.name, contender.key, json.dumps(case)]
    whole, peak = measured(command, limit=limit, env=environment(threads))
    report = json.loads(pathlib.Path("report.json").read_text())
    with np.load("result.npz") as file:
        result = dict(file)
    return {
        "seconds": report["seconds"],
        "start": whole - report["seconds"],
        "peak": peak,
        "version": report["version"],
    }, result


def one_run(job, contender, case, program, threads):
    """What was measured and the result of one run; or the reason why there is none."""
    try:
        if contender.commands:
            return run_program(contender, case, program, job.limit, threads)
        return run_python(job, contender, case, job.limit, threads)
    except Stopped as reason:
        return str(reason), None
    except RuntimeError as error:
        if contender.commands or MISSING not in str(error):
            raise
        return "not installed", None


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def run_job(job, case, program, rounds, threads, log):
    """The record of one job: for every contender its seconds, peaks and qualities, one of each for every round."""
    job.prepare(case, program)
    records = {c.key: {"key": c.key, "label": c.label, "reason": "", "version": "", "runs": []} for c in job.contenders}
    results = {key: [] for key in records}
    for turn in range(rounds):
        for contender in job.contenders:
            record = records[contender.key]
            if record["reason"] or (record["runs"] and record["runs"][0]["seconds"] > SLOW):
                continue
            run, result = one_run(job, contender, case, program, threads)
            if result is None:
                record["reason"] = run
                log(f"{job.name}: {contender.label}: {run}")
                continue
            record["version"] = run.pop("version", "")
            record["runs"].append(run)
            results[contender.key].append(result)
            log(f"{job.name}, round {turn + 1}: {contender.label}: {run['seconds']:.3f} s, {run['peak']:.0f} MB")
    raw = {key: qualities(job, case, found) for key, found in results.items()}
    for key, values in job.shown(case, raw).items():
        records[key]["quality"] = values
    return list(records.values())


def qualities(job, case, found):
    """The raw quality of each round; a result that is that of the round before is not measured again."""
    values = []
    for i, result in enumerate(found):
        values.append(values[-1] if i and same(result, found[i - 1]) else job.measure(case, result))
    return values


def run_once(program, *command):
    """A command of `prepare`, which nobody times; its standard output."""
    done = subprocess.run([str(part) for part in (program, *command)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout


def count(number):
    """1000000 as 1e6."""
    return f"{number:.0e}".replace("e+0", "e")


def read_json(name):
    return json.loads(pathlib.Path(name).read_text())


def fit(sketch, k, case):
    """The command that learns k clusters from a sketch."""
    options = ["--task", "kmeans", "-k", k, "--threads", case["threads"], "-o", "model.json", "--quiet"]
    return ["fit", sketch, *options]


def read_centers():
    return {"centers": np.array(read_json("model.json")["centers"])}
