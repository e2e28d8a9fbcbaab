"""Run and time loop functions: compile, fill inputs, call.  Used by the schedule explorer."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.inspect.timing import Measurement, Timing, compare
from workbench.ir.expr import IntImm
from workbench.ir.module import IRModule
from workbench.runtime.tensor import tensor
from workbench.s_tir.build import build
from workbench.s_tir.schedule.schedule import Schedule
from workbench.tirx.buffer import BufferType
from workbench.tirx.function import PrimFunc


def random_arguments(func: PrimFunc, seed: int = 0) -> list[Any]:
    """Tensors for the parameters of a loop function with constant shapes.

    Floating values are uniform in [0, 1), integers are 0 or 1.
    Raises WorkbenchError for symbolic shapes and scalar parameters.
    """
    random = np.random.default_rng(seed)
    found: list[Any] = []
    for param in func.params:
        ty = param.ty
        if not isinstance(ty, BufferType):
            raise WorkbenchError(f"cannot make up a value for the scalar parameter {param.name}")
        dims = [dim.value for dim in ty.shape if isinstance(dim, IntImm)]
        if len(dims) < len(ty.shape):
            raise WorkbenchError(
                f"the shape of {param.name} is symbolic, so there is nothing to run it on",
                hint="func.specialize({n: 64}) gives symbolic dimensions a value",
            )
        kind = np.dtype(str(ty.dtype))
        values = random.random(dims) if kind.kind == "f" else random.integers(0, 2, dims)
        found.append(tensor(values.astype(kind)))
    return found


def runner(mod: IRModule, name: str, target: Any = "llvm") -> Callable[[], object]:
    """A call of one compiled loop function on made-up inputs."""
    func = mod[name]
    assert isinstance(func, PrimFunc)
    args = random_arguments(func)
    symbol = str(func.attrs.get("global_symbol", "main"))
    call = build(func, target)[symbol]
    return lambda: call(*args)


def time_history(
    sch: Schedule,
    target: Any = "llvm",
    *,
    repeats: int = 20,
    tell: Callable[[float, str], None] | None = None,
    kept: dict[int, Callable[[], object]] | None = None,
) -> Timing:
    """Measure the program after each step of a schedule, in turns: the waterfall of its primitives.

    Parameters
    ----------
    sch: schedule of a module with one loop function (or the one it works on).
    target, repeats: what to compile for, samples per state.
    tell: called with (share done, text).
    kept: compiled states by version number; new ones are added.
    """
    if not isinstance(sch, Schedule):
        raise TypeError(f"time_history: expected a Schedule, got {type(sch).__name__}")
    say = tell or (lambda _share, _text: None)
    steps = [sch.history.root, *sch.history.steps]
    name = _function_name(sch)
    kept = {} if kept is None else kept
    calls: dict[str, Callable[[], object]] = {}
    for i, version in enumerate(steps):
        say(0.5 * i / len(steps), f"compiling state {i + 1} of {len(steps)}")
        if version.number not in kept:
            kept[version.number] = runner(version.mod, name, target)
        label = brief(version.line) if version.instruction is not None else "as written"
        calls[f"{i}. {label}"] = kept[version.number]
    timing = compare(
        calls, f"Schedule of {name}", repeats=repeats,
        tell=lambda share, text: say(0.5 + share / 2, text),
    )  # fmt: skip
    parts = with_steps(timing.parts)
    again = _again(sch, target, repeats, kept)
    return Timing(timing.title, parts, timing.conditions, again=again, order="program")


def _again(
    sch: Schedule, target: Any, repeats: int, kept: dict[int, Callable[[], object]]
) -> Callable[[Callable[[float, str], None]], Timing]:
    """Measures the same history anew."""
    return lambda tell: time_history(sch, target, repeats=repeats, tell=tell, kept=kept)


_STEP = re.compile(r"\bsch\.(\w+)\(")


def brief(step: str) -> str:
    """A step of a schedule without the arguments that have their default."""
    found = _STEP.search(step)
    method = getattr(Schedule, found[1], None) if found else None
    if method is None:
        return step
    for name, param in inspect.signature(method).parameters.items():
        if param.default is not param.empty:
            step = re.sub(rf", {name}={re.escape(repr(param.default))}(?=[,)])", "", step)
    return step


def with_steps(parts: Sequence[Measurement]) -> tuple[Measurement, ...]:
    """Measurements with a note that compares each with the one before."""
    out: list[Measurement] = []
    for i, part in enumerate(parts):
        note = part.versus(parts[i - 1]) + " than before" if i else ""
        note = note.replace("not distinguishable than before", "not distinguishable from before")
        out.append(Measurement(part.name, part.samples, note, part.calls))
    return tuple(out)


def _function_name(sch: Schedule) -> str:
    """The loop function that a schedule is about."""
    names = [g.name_hint for g, f in sch.mod.functions.items() if isinstance(f, PrimFunc)]
    working = sch.func_working_on
    if working is not None:
        return working.name_hint
    raise WorkbenchError(
        f"the module has {len(names)} loop functions: {', '.join(names) or 'none'}",
        hint="sch.work_on(name) says which one to measure",
    )
