"""A `PassTrace` as a view: list of passes, what each changed, graph and texts."""

from __future__ import annotations

from functools import partial

from workbench.core.recorder import Event
from workbench.inspect.pass_trace import PassStep, PassTrace
from workbench.ir.module import IRModule

from .graph import Graph, collapse
from .part import Part
from .plain_script import reading_text
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


class _Texts:
    """Texts of modules, each made once: what a pass left alone comes back at the next."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, ...], tuple[IRModule, str]] = {}

    def __call__(self, mod: IRModule) -> str:
        key = (id(mod.attrs), *(id(part) for pair in mod.functions_items() for part in pair))
        if key not in self.kept:
            self.kept[key] = mod, reading_text(mod)  # the module keeps the ids of its key taken
        return self.kept[key][1]


def _step(step: PassStep, text: _Texts) -> Step:
    """A pass of a trace as a step of the stepper."""
    return Step(
        name=step.name,
        status=_STATUS[step.status],
        seconds=step.seconds,
        before=lambda: text(step.shown(step.before)),
        after=lambda: text(step.shown(step.after if step.changed else step.before)),
        graph=partial(_graph, step.after),
        depth=step.depth,
        error=step.error_text,
        info=tuple((key, repr(value)) for key, value in step.options.items()),
        rewrites=tuple(map(_rewrite, step.rewrites)),
    )


def trace_panel(trace: PassTrace) -> StepperPanel:
    """The model of the pass stepper for a trace."""
    text = _Texts()
    return StepperPanel([_step(step, text) for step in trace.steps], trace.title)


def trace_view(trace: PassTrace) -> Part:
    """The trace without script."""
    return trace_panel(trace).static()
