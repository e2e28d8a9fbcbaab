"""Time from the digits CNN's ONNX file to an executable (budget 2 s), and where it goes.

    python benchmarks/compile_time.py [--times N]

The first compilation in a process is reported by itself: it includes imports and LLVM's start.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from measure import budget, header, repeat

BUDGET = 2.0


def compile_digits() -> Any:
    """Import and compile; what `workbench demo` does first."""
    import onnx

    import workbench as wb
    from workbench.models import digits
    from workbench.relax.frontend.onnx import from_onnx

    return wb.compile(from_onnx(onnx.load(digits.model_path("cnn"))), target="llvm")


def main() -> int:
    parser = argparse.ArgumentParser(description="compile time of the digits CNN")
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    header("compile time, digits CNN")
    start, start_cpu = time.perf_counter(), time.process_time()
    compile_digits()
    first, first_cpu = time.perf_counter() - start, time.process_time() - start_cpu
    print(
        f"first in this process, with imports: {first:.3f} s, {first_cpu:.3f} s of processor time"
    )
    sample = repeat("ONNX file to executable", compile_digits, options.times)
    print(sample.line())
    start_cpu = time.process_time()
    compile_digits()
    print(f"processor time of one more: {time.process_time() - start_cpu:.3f} s")

    from workbench.core import recording

    with recording("pass") as recorder:
        compile_digits()
    top = sorted(
        (event for event in recorder.events if event.depth <= 1), key=lambda e: -e.seconds
    )[:12]
    for event in top:
        print(f"  {event.seconds * 1e3:8.1f} ms  {event.name}")
    return 0 if budget("compile, first in the process", first, BUDGET, "s") else 1


if __name__ == "__main__":
    sys.exit(main())
