"""Measured times of a call: all repeats are kept; median and spread are what to look at."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError


class BenchmarkResult:
    """Seconds per call of every repeat, with `median`, `mean`, `min`, `max`, `std`, `spread`."""

    def __init__(self, results: Sequence[float]) -> None:
        self.results = tuple(float(r) for r in results)
        self.mean = statistics.fmean(self.results)
        self.median = statistics.median(self.results)
        self.min = min(self.results)
        self.max = max(self.results)
        self.std = statistics.pstdev(self.results)

    @property
    def spread(self) -> tuple[float, float]:
        """First and third quartile of the repeats."""
        low, high = np.quantile(self.results, [0.25, 0.75])
        return float(low), float(high)

    def __repr__(self) -> str:
        return f"BenchmarkResult(median={self.median!r}, results={self.results!r})"

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        head = "".join(f"{name + ' (ms)':>13}" for name in names)
        row = "".join(f"{getattr(self, name) * 1e3:>13.4f}" for name in names)
        return f"Execution time summary:\n{head}\n{row}"


def evaluator(
    call: Callable[..., Any],
    *,
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: float = 0,
    limit_zero_time_iterations: int = 100,
    cooldown_interval_ms: float = 0,
    repeats_to_cooldown: int = 1,
    cache_flush_bytes: int = 0,
    setup: Callable[..., Any] | None = None,
) -> Callable[..., BenchmarkResult]:
    """A function that times `call(*args)`: one unmeasured call, then `repeat` averages of `number`.

    `number` grows until one repeat takes `min_repeat_ms`. With `cache_flush_bytes` a buffer of that
    size is written before each repeat, so that the data comes from memory.
    """
    if number < 1 or repeat < 1:
        raise WorkbenchError(f"expected number >= 1 and repeat >= 1, got {number} and {repeat}")

    def run(count: int, args: Sequence[Any]) -> float:
        steps = range(count)
        start = time.perf_counter()
        for _ in steps:
            call(*args)
        return time.perf_counter() - start

    def measure(*args: Any) -> BenchmarkResult:
        flush = np.zeros(cache_flush_bytes, dtype=np.uint8) if cache_flush_bytes else None
        call(*args)
        count, results = number, []
        for index in range(repeat):
            if flush is not None:
                flush += 1
            if setup is not None:
                setup(*args)
            seconds = run(count, args)
            tries = 0
            while seconds * 1e3 < min_repeat_ms and tries < limit_zero_time_iterations:
                grow = min_repeat_ms / max(seconds * 1e3, 1e-3)
                count = max(count + 1, int(count * min(grow * 1.2, 100)))
                seconds = run(count, args)
                tries += 1
            results.append(seconds / count)
            if cooldown_interval_ms > 0 and (index + 1) % repeats_to_cooldown == 0:
                time.sleep(cooldown_interval_ms / 1e3)
        return BenchmarkResult(results)

    return measure
