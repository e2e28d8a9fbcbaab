"""`PassTrace`: every pass that ran, what it changed, how long it took.

    trace = wb.trace(mod)              # the default pipeline
    trace = wb.trace(mod, my_pipeline)
    trace["FuseOps"].changed           # one step
    trace.explore()                    # the stepper

A trace is made from recorded events.  Modules are immutable values, so keeping the one before and
after each pass costs references, not copies; texts are made when they are looked at.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.core.live import Live
from workbench.core.recorder import Event, Recorder, recording
from workbench.core.structural import structural_equal
from workbench.core.text import to_text
from workbench.ir.function import BaseFunc
from workbench.ir.module import IRModule

Functions = Mapping[str, BaseFunc]


class PassStep:
    """One pass of a trace.

    `before` and `after` are modules (equal objects where nothing changed); `error` is the exception
    if the pass failed, and `after` then is what there was before it.
    """

    def __init__(self, event: Event, depth: int, rewrites: Sequence[Event] = ()) -> None:
        self.name: str = event.name
        self.before: IRModule = event.before
        self.after: IRModule = event.after
        self.seconds: float = event.seconds
        self.depth: int = depth
        self.options: dict[str, Any] = dict(event.info.get("options") or {})
        self.error: BaseException | None = event.info.get("error")
        self.rewrites: tuple[Event, ...] = tuple(rewrites)

    @cached_property
    def changed_names(self) -> tuple[str, ...]:
        """The functions that differ (new, gone or not structurally equal), in module order."""
        if self.before is self.after:
            return ()
        old, new = _functions(self.before), _functions(self.after)
        names = list(dict.fromkeys([*new, *old]))
        return tuple(name for name in names if _differs(old.get(name), new.get(name)))

    @property
    def changed(self) -> bool:
        """Whether a function or an attribute of the module is different afterwards."""
        if self.before is self.after:
            return False
        if self.changed_names:
            return True
        return not structural_equal(
            IRModule({}, self.before.attrs, self.before.global_infos),
            IRModule({}, self.after.attrs, self.after.global_infos),
        )

    @property
    def status(self) -> str:
        """ "failed", "changed" or "same"."""
        return "failed" if self.error is not None else "changed" if self.changed else "same"

    @cached_property
    def before_text(self) -> str:
        """The script of the changed functions before the pass (of all where none changed)."""
        return self._text(self.before)

    @cached_property
    def after_text(self) -> str:
        """The script of the changed functions after the pass (of all where none changed)."""
        return self.before_text if self.before is self.after else self._text(self.after)

    def shown(self, mod: IRModule) -> IRModule:
        """`before` or `after`, cut down to what changed (all of it where nothing did)."""
        names = set(self.changed_names)
        if names and len(names) < len(mod.functions):
            kept = {g: f for g, f in mod.functions.items() if g.name_hint in names}
            return mod.replace(functions=kept)
        return mod

    def _text(self, mod: IRModule) -> str:
        """The script of what changed."""
        return to_text(self.shown(mod))

    @property
    def error_text(self) -> str:
        """The message and traceback of the failure, or ""."""
        if self.error is None:
            return ""
        return f"{self.error}\n\n{''.join(traceback.format_exception(self.error))}"

    def __repr__(self) -> str:
        return f"PassStep({self.name!r}, {self.status}, {self.seconds * 1e3:.3g} ms)"


def _functions(mod: IRModule) -> Functions:
    """The functions of a module by name."""
    return {gvar.name_hint: func for gvar, func in mod.functions.items()}


def _differs(old: BaseFunc | None, new: BaseFunc | None) -> bool:
    """Whether two functions differ in more than identity."""
    if old is new:
        return False
    return old is None or new is None or not structural_equal(old, new)


class PassTrace(Live, Sequence[PassStep]):
    """The steps of a compilation.  Index by number or by name of the pass.

    `error` is the exception that ended it, if one did: the steps before it are kept.
    """

    def __init__(
        self,
        events: Sequence[Event],
        title: str = "Passes",
        error: BaseException | None = None,
    ) -> None:
        self.title = title
        self.error = error
        self.steps: tuple[PassStep, ...] = tuple(_steps(events))

    @overload
    def __getitem__(self, index: int | str) -> PassStep: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[PassStep]: ...

    def __getitem__(self, index: int | str | slice) -> PassStep | Sequence[PassStep]:
        if not isinstance(index, str):
            return self.steps[index]
        for step in self.steps:
            if index in (step.name, step.name.rpartition(".")[2]):
                return step
        names = list(dict.fromkeys(step.name for step in self.steps))
        raise WorkbenchError(
            f"the trace has no pass {index!r}",
            hint=did_you_mean(index, names) or f"its passes: {', '.join(names) or 'none'}",
        )

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[PassStep]:
        return iter(self.steps)

    @property
    def changed(self) -> tuple[PassStep, ...]:
        """The steps that changed something."""
        return tuple(step for step in self.steps if step.status == "changed")

    @property
    def seconds(self) -> float:
        """Time of the outermost steps together."""
        return sum(step.seconds for step in self.steps if step.depth == 0)

    def __repr__(self) -> str:
        count = len(self.steps)
        word = "pass" if count == 1 else "passes"
        failed = f", failed: {self.error}" if self.error is not None else ""
        return (
            f"PassTrace({count} {word}, {len(self.changed)} changed something, "
            f"{self.seconds * 1e3:.3g} ms{failed})"
        )


def _steps(events: Sequence[Event]) -> Iterator[PassStep]:
    """Passes in the order in which they started; wrappers that only run others are left out."""
    wrappers: list[int] = []  # recorded depths of the composite passes around an event
    rewrites: dict[int, list[Event]] = {}
    owner: list[tuple[int, int]] = []  # (recorded depth, number of the pass event)
    for number, event in enumerate(events):
        if event.kind == "pass":
            while owner and owner[-1][0] >= event.depth:
                owner.pop()
            owner.append((event.depth, number))
        elif owner:
            rewrites.setdefault(owner[-1][1], []).append(event)
    for number, event in enumerate(events):
        if event.kind != "pass":
            continue
        while wrappers and wrappers[-1] >= event.depth:
            wrappers.pop()
        if event.info.get("composite"):
            wrappers.append(event.depth)
            continue
        yield PassStep(event, event.depth - len(wrappers), rewrites.get(number, ()))


def trace(
    mod: IRModule | BaseFunc,
    pipeline: Callable[[IRModule], Any],
    *,
    rewrites: bool = False,
    title: str = "",
) -> PassTrace:
    """Run passes over `mod` and record each; `wb.trace` has compiling as the default pipeline.

    Parameters
    ----------
    mod: module, or a function (a module is made of it).
    pipeline: a `Pass`, or any function of a module.
    rewrites: record single rewrites inside the passes as well (slower).
    title: heading of the views.

    A pass that fails ends the trace, which then keeps what ran before; `trace.error` has the
    exception.
    """
    if isinstance(mod, BaseFunc):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, IRModule):
        raise WorkbenchError(f"trace: expected an IRModule, got {type(mod).__name__}")
    if not callable(pipeline):
        raise WorkbenchError(
            f"trace: expected a pass or a function of a module, got {type(pipeline).__name__}"
        )
    kinds = ("pass", "rewrite") if rewrites else ("pass",)
    error: BaseException | None = None
    recorder: Recorder
    with recording(*kinds) as recorder:
        try:
            pipeline(mod)
        except Exception as caught:
            # The trace is how a failing pipeline is looked at; an error before any pass is not
            # the business of a trace.
            if not recorder.events:
                raise
            error = caught
    return PassTrace(recorder.events, title or "Passes", error)
