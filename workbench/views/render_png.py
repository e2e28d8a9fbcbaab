"""`GraphPart` and `Plot` → PNG, for hosts that show neither style sheets nor SVG."""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

from .dot import program, run_dot, to_dot
from .part import GraphPart, Plot
from .render_svg import FILL
from .render_text import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INCH = 96.0


def graph_png(part: GraphPart) -> bytes | None:
    """A PNG of the graph by Graphviz, else by matplotlib, else None."""
    if program() is not None:
        return run_dot(to_dot(part.layout.graph))
    if find_spec("matplotlib") is None:
        return None
    return _png(_graph_figure(part))


def plot_png(part: Plot) -> bytes | None:
    """A PNG of the bars by matplotlib, or None where it is not installed."""
    if find_spec("matplotlib") is None:
        return None
    return _png(plot_figure(part))


def _figure(width: float, height: float) -> Figure:
    """A figure outside pyplot: no global state, no window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Figure) -> bytes:
    """The bytes of a figure, without the time of day in them."""
    out = BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def plot_figure(part: Plot) -> Figure:
    """The bars as a matplotlib figure that the caller may change further."""
    height = 1.0 + 0.32 * len(part.bars) + 0.2 * len(part.footer)
    figure = _figure(8.0, height)
    axes: Any = figure.add_subplot()
    places = list(range(len(part.bars)))
    values = [bar.value for bar in part.bars]
    low = [max(bar.value - bar.low, 0.0) for bar in part.bars]
    high = [max(bar.high - bar.value, 0.0) for bar in part.bars]
    axes.barh(places, values, xerr=[low, high], color="#4c78a8", capsize=3, height=0.65)
    axes.set_yticks(places, [bar.label for bar in part.bars], family="monospace", fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.35 * max((bar.high for bar in part.bars), default=1.0))
    for place, bar in zip(places, part.bars, strict=True):
        note = f" · {bar.note}" if bar.note else ""
        text = f"  {number(bar.value)} {part.unit}{note}"
        axes.text(bar.high, place, text, va="center", fontsize=8)
    axes.set_xlabel(part.unit, fontsize=8)
    axes.set_title(part.title, loc="left", fontsize=10, fontweight="bold")
    for name in ("top", "right"):
        axes.spines[name].set_visible(False)
    if part.footer:
        figure.text(0.01, 0.01, "\n".join(part.footer), fontsize=7, color="#57606a", va="bottom")
    figure.tight_layout(rect=(0, 0.15 * len(part.footer) / height, 1, 1))
    return figure


def _graph_figure(part: GraphPart) -> Figure:
    """The graph at the places of its own layout."""
    from matplotlib.patches import FancyBboxPatch

    found = part.layout
    figure = _figure((found.width + 40) / _INCH, (found.height + 40) / _INCH)
    axes: Any = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-20, found.width + 20)
    axes.set_ylim(found.height + 20, -20)
    axes.axis("off")
    for route in found.routes:
        xs, ys = zip(*route.points, strict=True)
        axes.plot(xs, ys, color="#57606a", linewidth=0.8, zorder=1)
    for node in found.graph.nodes:
        box = found.nodes[node.id]
        axes.add_patch(
            FancyBboxPatch(
                (box.x, box.y), box.width, box.height, boxstyle="round,pad=0,rounding_size=5",
                facecolor=FILL[node.kind], edgecolor="#57606a", zorder=2,
            )
        )  # fmt: skip
        text = f"{node.label}\n{node.sub}" if node.sub else node.label
        axes.text(
            box.centre_x, box.y + box.height / 2, text, ha="center", va="center",
            fontsize=7, family="monospace", zorder=3,
        )  # fmt: skip
    return figure
