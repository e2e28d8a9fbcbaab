"""Write views as one self-contained HTML file.  Needs no anywidget and no kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.views.html_export import html_page, write_page
from workbench.views.panel import Panel
from workbench.views.panels import panel_of
from workbench.views.part import Part

from .assets import read


def page(title: str, sections: Sequence[tuple[str, Part | Panel]]) -> str:
    """An HTML page of (heading, view) sections; panels can be stepped through inside it."""
    return html_page(
        title, sections, lambda name: read(name + ".js"), read("panel.css"), read("shared.js")
    )


def export(path: str | Path, title: str, sections: Sequence[tuple[str, Part | Panel]]) -> Path:
    """`page` written to a file; returns its path."""
    return write_page(path, page(title, sections))


def export_value(path: str | Path, value: Any, title: str = "") -> Path:
    """The live view of one value as an HTML file; returns its path."""
    panel = panel_of(value)
    return export(path, title or panel.title, [("", panel)])
