"""Time of `import workbench` against `import tvm`, in fresh processes that take turns.

    python benchmarks/import_time.py [--tvm PYTHON] [--times N]

`PYTHON` is an interpreter in whose environment apache-tvm is installed; without it only the
workbench is measured. The budget is a quarter of `import tvm`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from measure import Sample, budget, header, verdict

_CODE = "import time; s = time.perf_counter(); import {0}; print(time.perf_counter() - s)"
_ROOT = Path(__file__).resolve().parent.parent


def import_seconds(python: str, module: str, folder: Path) -> float:
    """Seconds that the import statement takes in a new process of `python`."""
    command = [python, "-c", _CODE.format(module)]
    answer = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    if answer.returncode:
        raise SystemExit(f"{python} cannot import {module}:\n{answer.stderr.strip()}")
    return float(answer.stdout.strip().splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description="import time of workbench and of tvm")
    parser.add_argument("--tvm", metavar="PYTHON", help="interpreter with apache-tvm installed")
    parser.add_argument("--times", type=int, default=9)
    options = parser.parse_args()
    header("import time")
    ours: list[float] = []
    numpys: list[float] = []
    theirs: list[float] = []
    for turn in range(options.times + 1):  # the first turn warms the file cache
        a = import_seconds(sys.executable, "workbench", _ROOT)
        n = import_seconds(sys.executable, "numpy", _ROOT)
        b = import_seconds(options.tvm, "tvm", Path("/")) if options.tvm else 0.0
        if turn:
            ours.append(a)
            numpys.append(n)
            theirs.append(b)
    workbench = Sample("import workbench", tuple(ours))
    print(workbench.line())
    print(Sample("  of which import numpy", tuple(numpys)).line())
    if not options.tvm:
        return 0
    tvm = Sample("import tvm", tuple(theirs))
    print(tvm.line())
    print(verdict(workbench, tvm))
    share = workbench.median / tvm.median
    return 0 if budget("share of import tvm", share, 0.25, "") else 1


if __name__ == "__main__":
    sys.exit(main())
