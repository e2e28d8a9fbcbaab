"""Time to apply one schedule primitive to a 1024³ matmul and print the result (budget 50 ms).

    python benchmarks/schedule_latency.py [--times N]

Each primitive is applied to a program that a sequence of others has already shaped, as in the
explorer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from measure import Sample, _once, budget, header

import workbench as wb
from workbench import te

BUDGET = 50.0


def matmul(size: int) -> Any:
    """`c[i, j] = sum over k of a[i, k] * b[k, j]` as a PrimFunc, float32."""
    a = te.placeholder((size, size), "float32", name="a")
    b = te.placeholder((size, size), "float32", name="b")
    k = te.reduce_axis((0, size), name="k")
    c = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    return te.create_prim_func([a, b, c])


def steps(sch: Any) -> list[tuple[str, Callable[[], Any]]]:
    """Primitives in an order in which each is legal."""
    kept: dict[str, Any] = {}

    def keep(*names: str, values: Any) -> None:
        kept.update(zip(names, values, strict=True))

    block = sch.get_sblock("c")
    keep("i", "j", "k", values=sch.get_loops(block))
    return [
        ("split i", lambda: keep("io", "ii", values=sch.split(kept["i"], [None, 8]))),
        ("split j", lambda: keep("jo", "ji", values=sch.split(kept["j"], [None, 32]))),
        ("split k", lambda: keep("ko", "ki", values=sch.split(kept["k"], [None, 4]))),
        ("reorder", lambda: sch.reorder(*(kept[n] for n in ("io", "jo", "ko", "ki", "ii", "ji")))),
        ("cache_write", lambda: kept.update(w=sch.cache_write(block, 0, "global"))),
        ("reverse_compute_at", lambda: sch.reverse_compute_at(kept["w"], kept["jo"])),
        ("vectorize", lambda: sch.vectorize(kept["ji"])),
        ("unroll", lambda: sch.unroll(kept["ii"])),
        ("parallel", lambda: sch.parallel(kept["io"])),
        ("annotate", lambda: sch.annotate(kept["jo"], "note", 1)),
        ("decompose_reduction", lambda: sch.decompose_reduction(block, kept["ko"])),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="latency of schedule primitives")
    parser.add_argument("--times", type=int, default=7)
    options = parser.parse_args()
    func = matmul(1024)
    header("schedule primitives on a 1024³ matmul: apply and print")
    found: dict[str, list[float]] = {}
    for turn in range(options.times + 1):  # the first turn is not counted
        sch = wb.s_tir.Schedule(func)
        for name, apply in steps(sch):

            def both(apply: Callable[[], Any] = apply, sch: Any = sch) -> None:
                apply()
                sch.mod.script()

            seconds = _once(both)
            if turn:
                found.setdefault(name, []).append(seconds)
    samples = [Sample(name, tuple(values)) for name, values in found.items()]
    for sample in samples:
        print(sample.line())
    slowest = max(samples, key=lambda sample: sample.median)
    return 0 if budget(f"slowest, {slowest.label}", slowest.median * 1e3, BUDGET, "ms") else 1


if __name__ == "__main__":
    sys.exit(main())
