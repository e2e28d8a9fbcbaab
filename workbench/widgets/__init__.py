"""Live views for notebooks: one class for all, one ES module per view.

The classes need the optional package anywidget (`pip install "tensor-workbench[lab]"`); writing
HTML files (`workbench.widgets.export`) does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import PanelWidget
    from .graph_view import GraphView
    from .live import explore
    from .pass_stepper import PassStepper
    from .schedule_explorer import ScheduleExplorer
    from .timings import Timings

__all__ = ["GraphView", "PanelWidget", "PassStepper", "ScheduleExplorer", "Timings", "explore"]

_HOME = {
    "PanelWidget": "base",
    "GraphView": "graph_view",
    "PassStepper": "pass_stepper",
    "ScheduleExplorer": "schedule_explorer",
    "Timings": "timings",
    "explore": "live",
}


def __getattr__(name: str) -> Any:
    """The widget classes, imported on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name not in ("anywidget", "ipywidgets", "traitlets"):
            raise
        raise ImportError(
            f"the live view needs the package {error.name}, which is not installed; "
            'try: pip install "tensor-workbench[lab]". Static views and export_html work without.',
            name=error.name,
        ) from error
