"""`GraphPart` and `Plot` → PNG, for hosts that show neither style sheets nor SVG."""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

from .dot import program, run_dot, to_dot
from .part import GraphPart, Plot
from .render_svg import FILL
from .render_text import cut, value_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INCH = 96.0
#: Plots, in inches: their width, and that of a character of the small font.
WIDTH, CHAR_INCH = 9.0, 0.066
#: Longer names of bars are cut.
LABEL_CHARS = 44


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
    figure = _figure(WIDTH, height)
    axes: Any = figure.add_subplot()
    places = list(range(len(part.bars)))
    values = [bar.value for bar in part.bars]
    low = [max(bar.value - bar.low, 0.0) for bar in part.bars]
    high = [max(bar.high - bar.value, 0.0) for bar in part.bars]
    axes.barh(places, values, xerr=[low, high], color="#4c78a8", capsize=3, height=0.65)
    names = [cut(bar.label, LABEL_CHARS) for bar in part.bars]
    axes.set_yticks(places, names, family="monospace", fontsize=8)
    axes.invert_yaxis()
    # The bars have the left part of the axes, what is said about them the right one.
    notes = max((len(bar.note) for bar in part.bars), default=0)
    top = max((bar.high for bar in part.bars), default=0.0) or 1.0
    limit = top * (1.3 if notes < 12 else 1.7 if notes < 30 else 2.4)
    axes.set_xlim(0, limit)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= top * 1.1])
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlabel(part.unit, fontsize=8)
    axes.set_title(part.title, loc="left", fontsize=10, fontweight="bold")
    for name in ("top", "right"):
        axes.spines[name].set_visible(False)
    if part.footer:
        figure.text(0.01, 0.01, "\n".join(part.footer), fontsize=7, color="#57606a", va="bottom")
    figure.tight_layout(rect=(0, 0.15 * len(part.footer) / height, 1, 1))
    inches = axes.get_position().width * WIDTH
    for place, bar in zip(places, part.bars, strict=True):
        room = int(inches * (1 - bar.high / limit) / CHAR_INCH) - 12
        note = f" · {cut(bar.note, room)}" if bar.note and room > 3 else ""
        text = f"  {value_text(bar.value, part.unit)}{note}"
        axes.text(bar.high, place, text, va="center", fontsize=8)
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
