"""`wb.time(exe, x)`: how long a compiled program takes, and each of its kernels.

The whole call is timed without a hook in it; the kernels are timed in calls of their own, in turns
with the whole, so that both see the same machine.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.inspect.timing import Measurement, Timing, conditions
from workbench.runtime.executable import Executable
from workbench.runtime.vm import KernelTime, VirtualMachine, VMExecutable

Tell = Callable[[float, str], None]


def time(
    exe: Any,
    *args: Any,
    func_name: str = "main",
    repeats: int = 30,
    budget: float = 5.0,
    title: str = "",
    tell: Tell | None = None,
) -> Timing:
    """Measure a compiled program on given inputs.

    Parameters
    ----------
    exe: what `wb.compile` gives, or a `VirtualMachine`.
    args: the inputs: NumPy, torch or workbench tensors.
    func_name: which function to call.
    repeats, budget: samples, and seconds after which fewer are taken (three at least).
    title: heading of the views.
    tell: called with (share done, text); an exception from it stops the measurement.

    Returns
    -------
    A timing with the whole call as `total` and one part per kernel launch.

    Raises WorkbenchError for what cannot be run, or called with these inputs.
    """
    name = title or f"{func_name} on {', '.join(map(_shape, args)) or 'no inputs'}"
    if isinstance(exe, VirtualMachine):
        machine = exe
    elif isinstance(exe, VMExecutable):
        machine = VirtualMachine(exe)
    elif isinstance(exe, Executable):
        return _plain(exe[func_name], args, name, repeats, budget, tell)
    else:
        raise WorkbenchError(
            f"time: expected a compiled program or a VirtualMachine, got {type(exe).__name__}",
            hint="wb.time(wb.compile(mod), x)",
        )
    return _model(machine, func_name, args, name, repeats, budget, tell)


def _shape(value: Any) -> str:
    """An input in a title."""
    shape = getattr(value, "shape", None)
    if shape is None:
        return type(value).__name__
    return "×".join(str(int(dim)) for dim in shape) or "scalar"


def _count(call: Callable[[], object], seconds: float = 0.002) -> int:
    """How many calls make one sample of at least `seconds`."""
    call()
    start = clock.perf_counter()
    call()
    return max(1, round(seconds / max(clock.perf_counter() - start, 1e-9)))


def _sample(call: Callable[[], object], count: int) -> float:
    """Seconds of one call, over `count` calls."""
    start = clock.perf_counter()
    for _ in range(count):
        call()
    return (clock.perf_counter() - start) / count


def _plain(
    call: Callable[..., Any],
    args: Sequence[Any],
    title: str,
    repeats: int,
    budget: float,
    tell: Tell | None,
) -> Timing:
    """A loop program: one function, no kernels to tell apart."""
    found = conditions()
    count = _count(lambda: call(*args))
    samples: list[float] = []
    begun = clock.perf_counter()
    for turn in range(repeats):
        samples.append(_sample(lambda: call(*args), count))
        _say(tell, turn, repeats)
        if turn >= 2 and clock.perf_counter() - begun > budget:
            break
    whole = Measurement(title, tuple(samples), calls=count)

    def again(say: Tell) -> Timing:
        return _plain(call, args, title, repeats, budget, say)

    return Timing(title, (whole,), found, again=again)


def _model(
    machine: VirtualMachine,
    func_name: str,
    args: Sequence[Any],
    title: str,
    repeats: int,
    budget: float,
    tell: Tell | None,
) -> Timing:
    """A graph program: the whole call, and its kernels by launch."""
    found = conditions()
    call = machine[func_name]
    count = _count(lambda: call(*args))
    launches = _profile(machine, func_name, args)
    inner = max(1, min(count, 20))
    totals: list[float] = []
    times: list[list[float]] = [[] for _ in launches]
    begun = clock.perf_counter()
    for turn in range(repeats):
        totals.append(_sample(lambda: call(*args), count))
        sums = [0.0] * len(launches)
        for _ in range(inner):
            for i, one in enumerate(_profile(machine, func_name, args)):
                sums[i] += one.seconds
        for i, total in enumerate(sums):
            times[i].append(total / inner)
        _say(tell, turn, repeats)
        if turn >= 2 and clock.perf_counter() - begun > budget:
            break
    whole = Measurement("whole call", tuple(totals), calls=count)
    parts = [
        Measurement(name, tuple(samples), ", ".join([*dict.fromkeys(one.origins)][:3]), inner)
        for name, one, samples in zip(_names(launches), launches, times, strict=True)
    ]

    def again(say: Tell) -> Timing:
        return _model(machine, func_name, args, title, repeats, budget, say)

    return Timing(title, tuple(parts), found, whole, again)


def _profile(machine: VirtualMachine, func_name: str, args: Sequence[Any]) -> list[KernelTime]:
    """One call with the time of each launch."""
    return machine.profile(func_name, *args)


def _names(launches: Sequence[KernelTime]) -> list[str]:
    """The kernels' names, counted where one is launched more than once."""
    seen: dict[str, int] = {}
    out: list[str] = []
    for one in launches:
        seen[one.name] = seen.get(one.name, 0) + 1
        out.append(one.name if seen[one.name] == 1 else f"{one.name} #{seen[one.name]}")
    return out


def _say(tell: Tell | None, turn: int, repeats: int) -> None:
    """Report progress."""
    if tell is not None:
        tell((turn + 1) / repeats, f"{turn + 1} of {repeats} repeats")


__all__ = ["time"]
