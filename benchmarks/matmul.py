"""A float32 matmul by the default schedule rule against NumPy with the same threads, taking turns.

    python benchmarks/matmul.py [--size N] [--threads N] [--times N] [--spin]

The budget is half of NumPy's speed. NumPy's BLAS is held to `--threads` by its own environment
variables, which it reads when it loads; so the script starts itself again with them set.

OpenBLAS keeps its threads busy for tens of milliseconds after a call, waiting for the next one. In
a comparison that takes turns they would still hold a core while the other side is measured, so they
are told to wait for about half a millisecond instead (`--spin` leaves them as they are).
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

_TIMEOUT = "OPENBLAS_THREAD_TIMEOUT"  # log2 of the processor cycles a thread waits awake
_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def build(size: int) -> Any:
    """The compiled matmul: `te` → PrimFunc → default CPU rule → LLVM."""
    from schedule_latency import matmul

    import workbench as wb
    from workbench.s_tir import dlight

    mod = wb.IRModule({"main": matmul(size)})
    with wb.target.Target("llvm"):
        mod = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(mod)
    return wb.build(mod, target="llvm")


def main() -> int:
    usable = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description="matmul against NumPy")
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=usable)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--spin", action="store_true", help="leave OpenBLAS's waiting as it is")
    options = parser.parse_args()
    threads = str(options.threads)
    if any(os.environ.get(name) != threads for name in _VARIABLES):
        if not options.spin:
            os.environ[_TIMEOUT] = "20"
        os.environ.update(dict.fromkeys(_VARIABLES, threads), WORKBENCH_NUM_THREADS=threads)
        os.execv(sys.executable, [sys.executable, *sys.argv])

    import numpy as np
    from measure import alternate, budget, header, verdict

    import workbench as wb

    size = options.size
    header(f"matmul {size}³ float32, {threads} threads each", [f"NumPy {np.__version__}"])
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size), dtype=np.float32) for _ in range(2))
    c, expected = np.zeros((size, size), np.float32), np.empty((size, size), np.float32)
    function = build(size)["main"]
    tensors = [wb.runtime.tensor(x) for x in (a, b, c)]
    function(*tensors)
    np.matmul(a, b, out=expected)
    error = np.abs(tensors[2].numpy() - expected).max() / np.abs(expected).max()
    print(f"largest difference: {error:.2e} of the largest value")
    assert error < 1e-5, "the compiled matmul is wrong; its speed means nothing"

    ours, numpy = alternate(
        ("workbench", lambda: function(*tensors)),
        ("NumPy", lambda: np.matmul(a, b, out=expected)),
        options.times,
    )
    for sample in (ours, numpy):
        rate = 2 * size**3 / sample.median / 1e9
        print(f"{sample.line()}  {rate:.1f} GFLOP/s")
    print(verdict(ours, numpy))
    return 0 if budget("time as a multiple of NumPy's", ours.median / numpy.median, 2.0, "") else 1


if __name__ == "__main__":
    sys.exit(main())
