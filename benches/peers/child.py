"""The process of one Python contender: imports its modules, then times reading the file and fitting. Started by harness.py in the job's folder.

    python benches/peers/child.py JOB CONTENDER CASE

Writes report.json (seconds, version of the contender's packages) and result.npz.
"""

import importlib
import importlib.metadata
import json
import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

import numpy as np

from peers.harness import MISSING, jobs


def main():
    name, key, case = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    contender = next(c for c in jobs()[name].contenders if c.key == key)
    try:
        for module in contender.needs:
            importlib.import_module(module)
    except ImportError as error:
        sys.exit(f"{MISSING}{error}")
    start = time.perf_counter()
    result = contender.run(case)
    seconds = time.perf_counter() - start
    version = " with ".join(f"{package} {importlib.metadata.version(package)}" for package in contender.packages)
    pathlib.Path("report.json").write_text(json.dumps({"seconds": seconds, "version": version}))
    np.savez("result.npz", **result)


if __name__ == "__main__":
    main()
