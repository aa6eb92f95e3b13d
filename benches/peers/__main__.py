"""Compressive beside numpy, scikit-learn, faiss and diffprivlib: writes docs/results/peers.md and the table of docs/guide/speed.md.

    pip install ./crates/compressive-py -r benches/requirements.txt
    python benches/peers                          # all jobs, about ten minutes on two cores that do nothing else
    python benches/peers --jobs sketch,kmeans     # some jobs; the page is made of all that were measured
    python benches/peers --quick                  # few rows, in seconds; prints the page and the table, writes neither

Every job's record is saved as JSON when the job is done (target/peers, or --records). A run that was stopped goes on with the jobs that have no record of this
commit yet; --again measures them anew. Contenders that are not installed are named as such. The release program is built, unless --program or the environment
variable COMPRESSIVE names one.

diffprivlib 0.6.6 does not import with scikit-learn 1.9, so it has an environment of its own:

    python -m venv target/diffprivlib && target/diffprivlib/bin/pip install -r benches/requirements-diffprivlib.txt
    PEERS_DIFFPRIVLIB_PYTHON=$PWD/target/diffprivlib/bin/python python benches/peers
"""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

from peers.harness import ROOT, SLOW, jobs, run_job, waiting
from peers.page import Compared, put_block, write_block, write_page

ROUNDS = 3


def target_folder():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()


def arguments():
    parser = argparse.ArgumentParser(
        prog="benches/peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rows, one round, no page")
    parser.add_argument("--jobs", help=f"some of {','.join(jobs())} [default: all]")
    parser.add_argument("--again", action="store_true", help="measure jobs anew that have a record")
    parser.add_argument("--rounds", type=int, help=f"[default: {ROUNDS}; 1 with --quick]")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of every contender [default: all cores]")
    parser.add_argument(
        "--program",
        type=pathlib.Path,
        default=os.environ.get("COMPRESSIVE"),
        help="a built program, instead of building one",
    )
    parser.add_argument(
        "--records",
        type=pathlib.Path,
        help="where the jobs' JSON is kept [default: target/peers; with --quick a temporary folder]",
    )
    parser.add_argument(
        "--page", type=pathlib.Path, help="write the page here [default: docs/results/peers.md; with --quick nowhere]"
    )
    parser.add_argument(
        "--readme", type=pathlib.Path, help="put the table into this file [default: docs/guide/speed.md; with --quick nowhere]"
    )
    args = parser.parse_args()
    args.rounds = args.rounds or (1 if args.quick else ROUNDS)
    unknown = set(args.jobs.split(",") if args.jobs else []) - set(jobs())
    if unknown:
        parser.error(f"no such job: {', '.join(sorted(unknown))}; there are {', '.join(jobs())}")
    if not args.quick:
        args.page, args.readme = args.page or ROOT / "docs" / "results" / "peers.md", args.readme or ROOT / "docs" / "guide" / "speed.md"
    return args


def built_program(given):
    """The program that is named, or the release program, built."""
    if given:
        return pathlib.Path(given).resolve()
    subprocess.run(["cargo", "build", "--release", "-p", "compressive-cli"], cwd=ROOT, check=True)
    return target_folder() / "release" / "compressive"


def pin(threads):
    """Children inherit the processors of this process: no contender finds more of them than the others."""
    allowed = sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, allowed)
    return len(allowed)


def circumstances(threads, rounds):
    """Where a record comes from; a record of other circumstances is measured anew."""
    described = (
        line.split(":")[1].strip()
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        if "model name" in line
    )
    cpu = next(described, platform.processor())
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "machine": f"{cpu}, {os.cpu_count()} cores",
        "commit": commit,
        "python": platform.python_version(),
        "threads": threads,
        "rounds": rounds,
        "waiting": waiting(),
    }


def read_record(path):
    return json.loads(path.read_text()) if path.exists() else {}


def measure_job(job, case, program, around, path):
    """Runs a job in a folder of its own, which is deleted, and saves its record."""
    home = pathlib.Path.cwd()
    folder = tempfile.mkdtemp(prefix=f"peers-{job.name}-")
    os.chdir(folder)
    try:
        contenders = run_job(
            job,
            case,
            program,
            around["rounds"],
            around["threads"],
            lambda line: print(line, file=sys.stderr, flush=True),
        )
    finally:
        os.chdir(home)
        shutil.rmtree(folder)
    whole = path.with_suffix(".tmp")
    whole.write_text(json.dumps({"job": job.name, "case": case, **around, "contenders": contenders}, indent=1) + "\n")
    whole.replace(path)


def main():
    args = arguments()
    program = built_program(args.program)
    around = circumstances(pin(args.threads), args.rounds)
    with tempfile.TemporaryDirectory() as scratch:
        records = (args.records or (pathlib.Path(scratch) if args.quick else target_folder() / "peers")).resolve()
        records.mkdir(parents=True, exist_ok=True)
        for name in args.jobs.split(",") if args.jobs else jobs():
            job = jobs()[name]
            case = (job.quick if args.quick else job.full) | {"threads": around["threads"]}
            saved = read_record(records / f"{name}.json")
            current = (
                all(saved.get(key) == value for key, value in around.items())
                and case.items() <= saved.get("case", {}).items()
            )
            if current and not args.again:
                print(f"{name}: measured before, kept", file=sys.stderr)
                continue
            measure_job(job, case, program, around, records / f"{name}.json")
        found = {name: read_record(records / f"{name}.json") for name in jobs()}
    compared = [Compared(jobs()[name], saved) for name, saved in found.items() if saved]
    page, block = write_page(compared, SLOW, args.quick), write_block(compared)
    print(f"{page}\n{block}")
    if args.page:
        args.page.write_text(page)
    if args.readme:
        args.readme.write_text(put_block(args.readme.read_text(), block))


if __name__ == "__main__":
    sys.exit(main())
