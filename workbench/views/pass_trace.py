"""A `PassTrace` as a view: list of passes, what each changed, graph and texts."""

from __future__ import annotations

from functools import partial

from workbench.core.recorder import Event
from workbench.inspect.pass_trace import PassStep, PassTrace
from workbench.ir.module import IRModule

from .graph import Graph, collapse
from .part import Part
from .relax_graph import main_function, relax_graph
from .stepper_panel import Rewrite, Status, Step, StepperPanel
from .type_text import expr_text

_STATUS: dict[str, Status] = {"changed": "changed", "same": "same", "failed": "failed"}


def _graph(mod: IRModule) -> Graph | None:
    """The flat graph of the main function: groups are folded, so that places can be kept."""
    found = main_function(mod)
    if found is None:
        return None
    graph = relax_graph(found[1], mod)
    tops = frozenset(group.id for group in graph.groups if group.parent is None)
    flat = collapse(graph, tops)
    return flat if len(flat.nodes) > 1 else None


def _rewrite(event: Event) -> Rewrite:
    """A recorded rewrite as text."""
    before, after = expr_text(event.before, 80), expr_text(event.after, 80)
    return Rewrite(event.name, event.source, before, after, event.seconds)


def _step(step: PassStep) -> Step:
    """A pass of a trace as a step of the stepper."""
    return Step(
        name=step.name,
        status=_STATUS[step.status],
        seconds=step.seconds,
        before=lambda: step.before_text,
        after=lambda: step.after_text,
        graph=partial(_graph, step.after),
        depth=step.depth,
        error=step.error_text,
        info=tuple((key, repr(value)) for key, value in step.options.items()),
        rewrites=tuple(map(_rewrite, step.rewrites)),
    )


def trace_panel(trace: PassTrace) -> StepperPanel:
    """The model of the pass stepper for a trace."""
    return StepperPanel([_step(step) for step in trace.steps], trace.title)


def trace_view(trace: PassTrace) -> Part:
    """The trace without script."""
    return trace_panel(trace).static()
