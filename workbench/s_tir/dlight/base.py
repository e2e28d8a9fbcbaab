"""Rules that schedule a function without a search, and the pass that applies them.

A rule is a class with `apply(func, target, tunable)`; it returns a schedule made of public
primitives (its trace can be replayed and printed as Python), or None if it does not fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.core.recorder import active
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.s_tir.schedule import Schedule, ScheduleError
from workbench.target import Target
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import SBlockRealize

#: Set on functions that have their schedule.
IS_SCHEDULED = "tirx.is_scheduled"


class ScheduleRule:
    """Base of the rules."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Any:
        """A schedule of `func` (or a list of them), or None if this rule does not fit.

        Parameters
        ----------
        tunable : whether a search follows; the rules here give one schedule either way.
        """
        raise NotImplementedError


def schedule_function(
    func: PrimFunc, target: Target, rules: Iterable[ScheduleRule]
) -> Schedule | None:
    """The schedule by the first rule that fits, or None.

    A rule that meets a program it cannot schedule after all (ScheduleError) does not fit.
    """
    for rule in rules:
        try:
            found = rule.apply(func, target, False)
        except ScheduleError:
            continue
        if isinstance(found, (list, tuple)):
            found = found[0] if found else None
        if found is not None:
            return found
    return None


def is_schedulable(func: Any) -> bool:
    """Whether a function has blocks and no schedule yet."""
    return (
        isinstance(func, PrimFunc)
        and not func.attrs.get(IS_SCHEDULED, False)
        and isinstance(func.body, SBlockRealize)
    )


def apply_rules(mod: IRModule, target: Target, rules: Iterable[ScheduleRule]) -> IRModule:
    """A module in which every function that a rule fits has its schedule."""
    rules = list(rules)
    for gvar, func in mod.functions.items():
        if not is_schedulable(func):
            continue
        assert isinstance(func, PrimFunc)
        own = func.attrs.get("target") or target
        recorder = active("primitive")
        schedule = schedule_function(func, own, rules)
        if schedule is None:
            continue
        name = next(iter(schedule.mod.functions))
        scheduled = schedule.mod[name].with_attr(IS_SCHEDULED, True)
        if recorder is not None:
            with recorder.step("primitive", "dlight", func) as event:
                event.after = scheduled
                event.info["function"] = gvar.name_hint
                event.info["trace"] = str(schedule.trace.simplified(remove_postproc=False))
        mod = mod.with_func(gvar, scheduled)
    return mod


def _current_target(target: Any) -> Target:
    if target is not None:
        return Target(target)
    found = Target.current(allow_none=True)
    return found if found is not None else Target("llvm")


@define_pass("s_tir.ApplyDefaultSchedule", level="module")
def _apply_default_schedule(
    mod: IRModule, ctx: PassContext, *, rules: Any = (), target: Any = None
) -> IRModule:
    """Schedules every function by the first rule that fits.

    for i, j, k: C[i, j] += …   →   for j_0 parallel: … for k: … for j_2 vectorized: …
    """
    return apply_rules(mod, _current_target(target), rules)


def ApplyDefaultSchedule(*rules: ScheduleRule, target: Any = None) -> Any:
    """The pass that schedules every function by the first of `rules` that fits.

    Functions with the attribute `tirx.is_scheduled` are left alone; scheduled ones get it. The
    target is the function's own, else `target`, else the current one, else "llvm". With a recorder
    active, the trace of every function is kept in its events.
    """
    return _apply_default_schedule(rules=tuple(rules), target=target)
