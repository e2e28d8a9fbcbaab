"""The passes of a trace, with diff, texts and graph of each."""

from __future__ import annotations

from workbench.views.stepper_panel import StepperPanel

from .base import PanelWidget, checked


class PassStepper(PanelWidget):
    """The passes of a trace, with diff, texts and graph of each."""

    def __init__(self, panel: StepperPanel) -> None:
        super().__init__(checked("PassStepper", panel, StepperPanel))
