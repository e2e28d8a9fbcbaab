"""What every benchmark here shares: repeats, alternation, median and spread, the machine.

A result is the list of all repeats. What is printed is the median and the two quartiles; two
results whose quartile ranges overlap are "not distinguishable".
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.inspect.machine import describe_machine


@dataclass(frozen=True)
class Sample:
    """All repeats of one measurement, in seconds."""

    label: str
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Middle repeat."""
        return statistics.median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile."""
        if len(self.seconds) == 1:
            return self.median, self.median
        first, _, third = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return first, third

    def line(self, per: float = 1.0, unit: str = "ms", scale: float = 1e3) -> str:
        """`label  median [q1 … q3] unit`, each time divided by `per`."""
        low, high = (value * scale / per for value in self.quartiles)
        middle = self.median * scale / per
        spread = f"[{low:.4g} … {high:.4g}]"
        return f"{self.label:<34}{middle:>9.4g} {unit:<8}{spread:<22} {len(self.seconds)} repeats"


def repeat(label: str, call: Callable[[], Any], times: int = 7) -> Sample:
    """Call once unmeasured, then `times` times with the garbage collector off in between."""
    call()
    return Sample(label, tuple(_once(call) for _ in range(times)))


def alternate(
    first: tuple[str, Callable[[], Any]], second: tuple[str, Callable[[], Any]], times: int = 7
) -> tuple[Sample, Sample]:
    """Measure two things in turn, so that a slow minute of the machine hits both."""
    first[1]()
    second[1]()
    a: list[float] = []
    b: list[float] = []
    for _ in range(times):
        a.append(_once(first[1]))
        b.append(_once(second[1]))
    return Sample(first[0], tuple(a)), Sample(second[0], tuple(b))


def _once(call: Callable[[], Any]) -> float:
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start
    finally:
        gc.enable()


def verdict(a: Sample, b: Sample) -> str:
    """How many times faster one is, or that it cannot be told."""
    (a_low, a_high), (b_low, b_high) = a.quartiles, b.quartiles
    if a_low <= b_high and b_low <= a_high:
        return f"{a.label} and {b.label}: not distinguishable"
    fast, slow = (a, b) if a.median < b.median else (b, a)
    return f"{fast.label} is {slow.median / fast.median:.2f} times as fast as {slow.label}"


def budget(what: str, found: float, limit: float, unit: str) -> bool:
    """Print whether `found` keeps within `limit`, and return it."""
    kept = found <= limit
    word = "within" if kept else "OVER"
    print(f"{what}: {found:.4g} {unit}, {word} the budget of {limit:g} {unit}")
    return kept


def header(title: str, also: Sequence[str] = ()) -> None:
    """The title and the machine that the numbers belong to."""
    machine = describe_machine()
    print(title)
    print(f"  {machine.line()}; {machine.python}")
    for line in also:
        print(f"  {line}")
