"""A graph with its list; groups fold and unfold."""

from __future__ import annotations

from workbench.views.graph_panel import GraphPanel

from .base import PanelWidget, checked


class GraphView(PanelWidget):
    """A graph with its list; groups fold and unfold."""

    def __init__(self, panel: GraphPanel) -> None:
        super().__init__(checked("GraphView", panel, GraphPanel))
