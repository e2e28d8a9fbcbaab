"""A schedule as a view, and the model of the schedule explorer.

A click applies one primitive to the reader's own `Schedule`: what the explorer does is in
`sch.trace`, and what code does to `sch` is seen by the explorer at its next request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.inspect.kernels import brief, time_history
from workbench.inspect.timing import Timing, duration
from workbench.ir.module import IRModule
from workbench.s_tir.schedule.base import Version
from workbench.s_tir.schedule.instruction import instruction_kinds
from workbench.s_tir.schedule.schedule import Schedule
from workbench.tirx.function import PrimFunc

from .ir_diff import diff, diff_part
from .loop_tree import tree_of
from .panel import Data, Progress, Request, unknown
from .part import Bullets, Details, Empty, Part, Text, column, line, row
from .render_html import fragment
from .schedule_moves import Places, arguments, menu, recorded, refusal
from .script_view import script_text, text_part
from .stepper_panel import script_code
from .timing import timing_view

Measure = Callable[[Schedule, Progress], Timing]


def steps_of(version: Version) -> list[Version]:
    """The versions that changed the program, from the start (included) to `version`."""
    path = version.path
    return [v for v in path if v.parent is None or not v.is_lookup]


def shown(version: Version) -> Version:
    """The version whose program this is: a lookup changes nothing."""
    return steps_of(version)[-1]


def program_of(mod: IRModule) -> Any:
    """The function alone where the module has only one."""
    funcs = [f for f in mod.functions.values() if isinstance(f, PrimFunc)]
    return funcs[0] if len(funcs) == 1 and len(mod.functions) == 1 else mod


def code_of(version: Version) -> str:
    """The steps to a version as a Python program."""
    head = ["from workbench import s_tir", "", "sch = s_tir.Schedule(mod)"]
    return "\n".join([*head, *version.trace.as_python()])


def history_lines(version: Version) -> Part:
    """The steps to a version, one line of Python each."""
    steps = steps_of(version)[1:]
    if not steps:
        return Empty("no primitive was applied yet")
    return Bullets(tuple(Text(brief(step.line), "code") for step in steps), True)


def tree_view(places: Places) -> Part:
    """The loops and blocks, under the name of their function where there are several."""
    parts: list[Part] = []
    for name, found in places.trees.items():
        if len(places.trees) > 1:
            parts.append(line(Text("def", "dim"), Text(name, "strong")))
        reason = f"{name} has no loop and no block"
        parts.append(tree_of(found, f"loops and blocks of {name}") if found else Empty(reason))
    return column(*parts) if parts else Empty("the module has no loop function")


def version_tab(version: Version, tab: str) -> Part:
    """One tab about a version: script, diff to the step before, or code."""
    if tab == "script":
        return text_part(script_text(program_of(version.mod)))
    if tab == "code":
        return script_code(code_of(version), "the schedule as Python", "python")
    if tab != "diff":
        raise ValueError(f"there is no view {tab!r}")
    steps = steps_of(version)
    if len(steps) < 2:
        return Empty("nothing to compare with: this is the program as it was written")
    before, after = steps[-2], steps[-1]
    old, new = script_text(program_of(before.mod)), script_text(program_of(after.mod))
    return column(Text(brief(after.line), "code"), diff_part(diff(old, new)))


def schedule_view(sch: Schedule) -> Part:
    """History, loops and script of a schedule, without script."""
    version = sch.history.current
    count = len(steps_of(version)) - 1
    word = "step" if count == 1 else "steps"
    text = script_text(program_of(sch.mod))
    return column(
        line(Text("Schedule", "strong"), f"{count} {word}"),
        row(
            column(Text("History", "strong"), history_lines(version)),
            column(Text("Loops and blocks", "strong"), tree_view(Places(sch))),
        ),
        Details(Text("Script"), text_part(text), text.count("\n") < 60),
    )


def _measure(sch: Schedule, progress: Progress) -> Timing:
    """The default: compile each state for the host and measure them in turns."""
    return time_history(sch, tell=progress.report)


class SchedulePanel:
    """Apply, undo, go to, measure; the menu tells what is legal and why the rest is not."""

    module = "schedule_explorer"
    pure = frozenset({"menu", "tab"})
    slow = frozenset({"measure"})

    def __init__(self, sch: Schedule, measure: Measure | None = _measure) -> None:
        self.sch = sch
        self.measure = measure
        self.timing: Timing | None = None
        self._timed = 0
        self._times: dict[int, str] = {}
        self._places: tuple[int, IRModule, Places] | None = None
        self.title = f"Schedule of {', '.join(Places(sch).trees) or 'nothing'}"

    def places(self) -> Places:
        """The loops and blocks of the present program."""
        mod = self.sch.mod
        if self._places is None or self._places[1] is not mod:
            self._places = (0, mod, Places(self.sch))
        return self._places[2]

    def _history(self) -> list[Data]:
        """The versions that changed the program, as a tree in depth-first order."""
        history = self.sch.history
        path = {id(v) for v in history.current.path}
        here = shown(history.current)
        depth: dict[int, int] = {}
        out: list[Data] = []
        for version in history:
            parent = version.parent
            level = 0
            if parent is not None:
                level = depth[id(parent)] + (version is not parent.children[0])
            depth[id(version)] = level
            if parent is None or not version.is_lookup:
                out.append(
                    {
                        "id": version.number,
                        "text": brief(version.line) or "as written",
                        "depth": level,
                        "current": version is here,
                        "active": id(version) in path,
                        "time": self._times.get(version.number, ""),
                    }
                )
        return out

    def _state(self, said: str = "", select: str | None = None) -> Data:
        """All that the page shows about the present state; texts of tabs follow on request."""
        current = self.sch.history.current
        return {
            "id": current.number,
            "tree": fragment(tree_view(self.places())),
            "history": self._history(),
            "undo": len(steps_of(current)) > 1,
            "redo": any(not v.is_lookup for v in current.walk() if v is not current),
            "said": said,
            "select": select,
            "measured": self._timed,
        }

    def data(self) -> Data:
        """The first state."""
        return {**self._state(), "measure": self.measure is not None}

    def answer(self, op: str, args: Mapping[str, Any], progress: Progress) -> Data:
        """`menu` {id}, `tab` {state, tab}, `apply` {id, name, args}, `undo`, `redo`, `goto`."""
        match op:
            case "menu":
                return self._menu(str(args["id"]))
            case "tab":
                return {"html": fragment(self.tab(int(args["state"]), str(args["tab"])))}
            case "apply":
                return self._apply(str(args["id"]), str(args["name"]), args.get("args") or {})
            case "undo":
                undone = brief(shown(self.sch.history.current).line)
                self.sch.undo()
                return self._state(f"Undone: {undone}")
            case "redo":
                self.sch.redo()
                return self._state(f"Redone: {brief(shown(self.sch.history.current).line)}")
            case "goto":
                self.sch.goto(int(args["state"]))
                here = brief(shown(self.sch.history.current).line) or "the start"
                return self._state(f"Went to: {here}")
            case "measure":
                return self._time(progress)
            case _:
                raise unknown(self, op)

    def _menu(self, ident: str) -> Data:
        """The moves for a loop or block."""
        places = self.places()
        place = places[ident]
        moves = menu(self.sch, places, ident)
        legal = sum(move.legal for move in moves)
        word = "block" if place.is_block else "loop"
        return {
            "title": f"{legal} of {len(moves)} moves are legal for {word} {place.label}",
            "moves": [move.data() for move in moves],
        }

    def _apply(self, ident: str, name: str, values: Mapping[str, str]) -> Data:
        """Apply a primitive; on failure the state, and the trace, are what they were."""
        kinds = (instruction_kinds[n] for n in instruction_kinds.names())
        kind = next((k for k in kinds if k.method == name), None)
        if kind is None:
            raise WorkbenchError(f"there is no primitive {name!r}")
        places = self.places()
        # Asked first, so that a refusal leaves no look-ups behind in the trace.
        why = refusal(self.sch, places, places[ident], kind, values)
        if why:
            raise WorkbenchError(f"{name}: {why}")
        args, named = arguments(
            places, places[ident], kind, values, lambda one: recorded(self.sch, places, one)
        )
        getattr(self.sch, name)(*args, **named)
        return self._state(f"Applied: {brief(self.sch.history.current.line)}")

    def _time(self, progress: Progress) -> Data:
        """Measure the states of the present path."""
        if self.measure is None:
            raise WorkbenchError("this explorer was opened without a way to measure")
        steps = steps_of(self.sch.history.current)
        self.timing = self.measure(self.sch, progress)
        self._timed += 1
        for version, part in zip(steps, self.timing.parts, strict=False):
            self._times[version.number] = duration(part.median)
        last = self.timing.parts[-1]
        return self._state(f"Measured: {duration(last.median)}. {last.note}".strip())

    def tab(self, number: int, tab: str) -> Part:
        """A tab about a state."""
        if tab == "times":
            if self.timing is None:
                return Empty("nothing was measured yet: press Measure")
            return timing_view(self.timing, "program")
        return version_tab(self.sch.history[number], tab)

    def requests(self) -> Iterable[Request]:
        """What a page without a kernel can ask about the present state."""
        number = self.sch.history.current.number
        for tab in ("script", "diff", "code", "times"):
            times = self._timed if tab == "times" else 0
            yield "tab", {"state": number, "tab": tab, "times": times}
        for ident in self.places().by_id:
            yield "menu", {"state": number, "id": ident}

    def static(self) -> Part:
        """The schedule without script; with the measured times if there are any."""
        view = schedule_view(self.sch)
        return view if self.timing is None else column(view, timing_view(self.timing, "program"))

    def pinned(self, state: Mapping[str, Any]) -> Part:
        """The state on show: its code and the chosen tab."""
        number = int(state.get("state", self.sch.history.current.number))
        tab = str(state.get("tab", "script"))
        code = version_tab(self.sch.history[number], "code")
        return code if tab == "code" else column(code, self.tab(number, tab))
