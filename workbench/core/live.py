"""The seam from values to their views: rich display, the live view, the HTML file.

Values of every layer show themselves through these functions; the views know the values, not the
other way round.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def mimebundle(value: Any) -> dict[str, Any]:
    """The static display of a value in a notebook: plain text, and HTML where it has a view."""
    from workbench.views.display import mimebundle as make  # seam: rich display

    return make(value)


def explore(value: Any) -> Any:
    """The live view of a value, a widget; needs `pip install "tensor-workbench[lab]"`."""
    from workbench.widgets import explore as open_widget  # seam: live views

    return open_widget(value)


def export_html(value: Any, path: str | Path) -> Path:
    """Writes the live view of a value as one self-contained HTML file; returns its path."""
    from workbench.widgets.export import export_value  # seam: live views

    return export_value(path, value)


class Live:
    """Gives a class of values `explore`, `export_html` and the rich display."""

    def explore(self) -> Any:
        """The live view, a widget; needs `pip install "tensor-workbench[lab]"`."""
        return explore(self)

    def export_html(self, path: str | Path) -> Path:
        """Writes the live view as one self-contained HTML file; returns its path."""
        return export_html(self, path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return mimebundle(self)
