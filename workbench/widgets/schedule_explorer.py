"""The schedule explorer: loops, legal moves with reasons for the rest, history, code, times."""

from __future__ import annotations

from workbench.views.schedule_panel import SchedulePanel

from .base import PanelWidget, checked


class ScheduleExplorer(PanelWidget):
    """Apply primitives by clicking; every click is a line of Python."""

    def __init__(self, panel: SchedulePanel) -> None:
        super().__init__(checked("ScheduleExplorer", panel, SchedulePanel))
