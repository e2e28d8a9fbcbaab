"""Which live view a value has: value → `Panel`.  Needs no widget; `html_export` uses it too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.dispatch import Dispatch
from workbench.core.errors import WorkbenchError
from workbench.inspect.pass_trace import PassTrace
from workbench.inspect.timing import Timing
from workbench.ir.module import IRModule
from workbench.relax.expr import Function
from workbench.runtime.executable import Executable
from workbench.s_tir.schedule.schedule import Schedule
from workbench.tirx.function import PrimFunc

from .graph_panel import GraphPanel
from .panel import Panel
from .pass_trace import trace_panel
from .relax_graph import main_function, relax_graph
from .schedule_panel import SchedulePanel
from .script_view import script_text
from .stages_panel import StagesPanel
from .timing import TimingPanel


def module_panel(mod: IRModule) -> Panel:
    """The graph of the main function, else a schedule of the loop functions."""
    found = main_function(mod)
    if found is not None:
        return graph_panel(found[0], found[1], mod)
    if any(isinstance(func, PrimFunc) for func in mod.functions.values()):
        return SchedulePanel(Schedule(mod))
    raise WorkbenchError("explore: the module has neither a graph function nor a loop function")


def function_panel(func: Function) -> Panel:
    """The graph of a Relax function."""
    return graph_panel(str(func.attrs.get("global_symbol", "function")), func, None)


def graph_panel(name: str, func: Function, mod: IRModule | None) -> GraphPanel:
    """The graph of a Relax function with its script beside it."""
    return GraphPanel(relax_graph(func, mod), f"Graph of {name}", script_text(func))


PANELS: Dispatch = Dispatch(
    "live view",
    {
        IRModule: module_panel,
        Function: function_panel,
        PrimFunc: lambda func: SchedulePanel(Schedule(func)),
        Schedule: lambda sch: SchedulePanel(sch),
        PassTrace: trace_panel,
        Executable: lambda exe: StagesPanel(exe),
        Timing: lambda timing: TimingPanel(timing),
    },
)


def panel_of(value: Any) -> Panel:
    """The live view's model of a value.  Raises WorkbenchError if it has none."""
    found: Callable[[Any], Panel] | None = PANELS.find(type(value))
    if found is None:
        names = ", ".join(cls.__name__ for cls in PANELS.types())
        raise WorkbenchError(
            f"there is no live view of a {type(value).__name__}", hint=f"there are for: {names}"
        )
    return found(value)
