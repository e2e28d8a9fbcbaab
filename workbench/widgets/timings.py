"""Measured times, live: order, selection, measuring again with Cancel."""

from __future__ import annotations

from workbench.views.timing import TimingPanel

from .base import PanelWidget, checked


class Timings(PanelWidget):
    """Bars with whiskers; measuring again runs in a thread of its own."""

    def __init__(self, panel: TimingPanel) -> None:
        super().__init__(checked("Timings", panel, TimingPanel))
