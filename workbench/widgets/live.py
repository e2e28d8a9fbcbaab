"""`explore(value)`: the widget of a value."""

from __future__ import annotations

from typing import Any

from workbench.views.panels import panel_of

from .base import PanelWidget
from .graph_view import GraphView
from .pass_stepper import PassStepper
from .schedule_explorer import ScheduleExplorer
from .stages_view import StagesView
from .timings import Timings

_CLASSES: dict[str, Any] = {
    "graph_view": GraphView,
    "pass_stepper": PassStepper,
    "schedule_explorer": ScheduleExplorer,
    "stages_view": StagesView,
    "timings": Timings,
}


def explore(value: Any) -> PanelWidget:
    """The live view of a module, function, schedule, trace or timing."""
    panel = panel_of(value)
    return _CLASSES[panel.module](panel)
