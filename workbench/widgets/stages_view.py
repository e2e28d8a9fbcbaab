"""A compiled program, live: select an operator, a loop line or an instruction, see the others."""

from __future__ import annotations

from workbench.views.stages_panel import StagesPanel

from .base import PanelWidget


class StagesView(PanelWidget):
    """Operators, loops and assembly of one kernel side by side."""

    def __init__(self, panel: StagesPanel) -> None:
        super().__init__(panel)
