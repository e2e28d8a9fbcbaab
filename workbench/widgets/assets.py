"""The script and style text of the widgets, read from the package; needs no anywidget."""

from __future__ import annotations

from functools import cache
from importlib import resources

from workbench.views.render_html import style

#: Name of each widget module; `NAME.js` lies beside this file.
MODULES = ("graph_view", "pass_stepper", "schedule_explorer", "stages_view", "timings")


@cache
def read(name: str) -> str:
    """A file of this package."""
    return resources.files("workbench.widgets").joinpath(name).read_text(encoding="utf-8")


@cache
def esm(module: str) -> str:
    """The whole ES module of a widget: what all share, then its own."""
    return read("shared.js") + "\n" + read(module + ".js")


@cache
def css() -> str:
    """The style sheet of a live widget."""
    return style() + "\n" + read("panel.css")
