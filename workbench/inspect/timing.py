"""Measured times, honestly: repeats, median and quartiles, the machine beside the numbers.

    timing = wb.time(exe, x)           # every kernel of a compiled model
    timing.compare(other)              # which of two is faster, or "not distinguishable"

Two results whose quartile intervals overlap are not distinguishable.  A comparison alternates its
candidates, so that a slow minute of a shared machine hits all of them.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Literal

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.live import Live
from workbench.inspect.machine import describe_machine
from workbench.runtime.threads import num_threads

#: Load beyond which other programs are said to disturb a measurement, in busy cores per core.
BUSY = 0.25


@dataclass(frozen=True, slots=True)
class Measurement:
    """Seconds per call of one thing, all repeats; `note` says what it is."""

    name: str
    samples: tuple[float, ...]
    note: str = ""
    calls: int = 1

    def __post_init__(self) -> None:
        if not self.samples:
            raise WorkbenchError(f"{self.name}: no sample was measured")

    @property
    def median(self) -> float:
        """Seconds."""
        return float(np.median(self.samples))

    @property
    def interval(self) -> tuple[float, float]:
        """First and third quartile, seconds."""
        low, high = np.quantile(self.samples, [0.25, 0.75])
        return float(low), float(high)

    def distinguishable(self, other: Measurement) -> bool:
        """Whether the quartile intervals do not overlap."""
        (a, b), (c, d) = self.interval, other.interval
        return b < c or d < a

    def versus(self, other: Measurement) -> str:
        """How this compares with `other`: "1.8× faster", or "not distinguishable"."""
        if not self.distinguishable(other):
            return "not distinguishable"
        ratio = other.median / self.median
        return f"{ratio:.2f}× faster" if ratio > 1 else f"{1 / ratio:.2f}× slower"

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.name}: {duration(self.median)} "
            f"[{duration(low)} – {duration(high)}], {len(self.samples)} repeats"
        )


def duration(seconds: float) -> str:
    """A time with a unit: 3.2 ms."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under which a measurement was made: what belongs on its picture."""

    machine: str
    threads: int
    versions: tuple[tuple[str, str], ...]
    busy: float

    @property
    def shared(self) -> bool:
        """Whether other work was running."""
        return self.busy > BUSY

    def lines(self) -> list[str]:
        """For a caption."""
        word = "thread" if self.threads == 1 else "threads"
        versions = ", ".join(f"{name} {version}" for name, version in self.versions)
        out = [self.machine, "; ".join(filter(None, (f"{self.threads} {word}", versions)))]
        if self.shared:
            out.append(
                f"the machine was busy (load of {self.busy:.1f} a core): times are upper bounds"
            )
        return out


def threads_in_use() -> int:
    """How many threads kernels run on."""
    return num_threads()


def conditions() -> Conditions:
    """The conditions now."""
    machine = describe_machine()
    versions = [("Python", machine.python.split()[-1]), ("NumPy", np.__version__)]
    for package in ("tensor-workbench", "llvmlite"):
        try:
            versions.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue  # a checkout that was not installed has no version of its own
    busy = os.getloadavg()[0] / machine.usable if hasattr(os, "getloadavg") else 0.0
    return Conditions(machine.line(), threads_in_use(), tuple(versions), max(0.0, busy))


@dataclass(frozen=True)
class Timing(Live):
    """Measurements of one subject: kernels of a model, steps of a schedule, candidates.

    `total` is the whole call where the parts are kernels; `again` measures anew.  `order` is how
    views show the parts at first: "time" (slowest first) or "program" (as they are here).
    """

    title: str
    parts: tuple[Measurement, ...]
    conditions: Conditions
    total: Measurement | None = None
    again: Callable[[Callable[[float, str], None]], Timing] | None = field(
        default=None, compare=False, repr=False
    )
    order: Literal["time", "program"] = "time"

    def __getitem__(self, name: str) -> Measurement:
        for part in self.parts:
            if part.name == name:
                return part
        names = ", ".join(part.name for part in self.parts)
        raise WorkbenchError(f"nothing named {name!r} was measured; there are: {names or 'none'}")

    def compare(self, other: Timing) -> str:
        """How the whole of this compares with the whole of `other`."""
        mine, theirs = self.whole, other.whole
        return f"{self.title} is {mine.versus(theirs)} compared with {other.title}"

    @property
    def whole(self) -> Measurement:
        """The whole call; the only part if there is one."""
        if self.total is not None:
            return self.total
        if len(self.parts) == 1:
            return self.parts[0]
        raise WorkbenchError(f"{self.title}: the whole call was not measured")

    def __str__(self) -> str:
        head = str(self.total) if self.total is not None else self.title
        parts = self.parts
        if self.order == "time":
            parts = tuple(sorted(parts, key=lambda part: -part.median))
        rows = [f"  {part}" for part in parts]
        return "\n".join([head, *rows, *self.conditions.lines()])


def measure(
    candidates: Mapping[str, Callable[[], object]],
    *,
    repeats: int = 30,
    min_seconds: float = 0.002,
    budget: float = 5.0,
    tell: Callable[[float, str], None] | None = None,
) -> list[Measurement]:
    """Time functions against each other, in turns.

    Parameters
    ----------
    candidates: name → function without arguments.
    repeats: samples per candidate; fewer where `budget` runs out (three at least).
    min_seconds: short functions are called often enough for one sample to take this long.
    budget: seconds for all.
    tell: called with (share done, text); an exception from it stops the measurement.
    """
    counts: dict[str, int] = {}
    for name, call in candidates.items():
        call()  # the first call pays for caches and lazily made things
        start = clock.perf_counter()
        call()
        once = max(clock.perf_counter() - start, 1e-9)
        counts[name] = max(1, round(min_seconds / once))
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    begun = clock.perf_counter()
    for turn in range(repeats):
        names = list(candidates)
        for name in names if turn % 2 == 0 else reversed(names):
            call, count = candidates[name], counts[name]
            start = clock.perf_counter()
            for _ in range(count):
                call()
            samples[name].append((clock.perf_counter() - start) / count)
        if tell is not None:
            tell((turn + 1) / repeats, f"{turn + 1} of {repeats} repeats")
        if turn >= 2 and clock.perf_counter() - begun > budget:
            break
    return [Measurement(name, tuple(found), calls=counts[name]) for name, found in samples.items()]


def compare(
    candidates: Mapping[str, Callable[[], object]], title: str = "Comparison", **options: Any
) -> Timing:
    """Time functions against each other; see `measure` for the options."""
    if not candidates:
        raise WorkbenchError("compare: expected at least one function to time")
    before = conditions()

    def again(tell: Callable[[float, str], None]) -> Timing:
        found = measure(candidates, **{**options, "tell": tell})
        return Timing(title, tuple(found), before, again=again)

    return again(options.pop("tell", None) or (lambda _share, _text: None))


def kernels_from(
    totals: Sequence[float], kernels: Mapping[str, Sequence[float]]
) -> tuple[Measurement, tuple[Measurement, ...]]:
    """The whole call and its kernels from samples in seconds."""
    whole = Measurement("whole call", tuple(totals))
    return whole, tuple(Measurement(name, tuple(found)) for name, found in kernels.items())
