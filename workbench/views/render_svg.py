"""`GraphPart` and `Plot` → SVG.

Colours come as presentation attributes (what is left when style sheets are stripped) and are
overridden by the classes of `style.css`.  Kinds differ by shape: operators are rounded, kernel
calls have side bars, inputs lean, constants are clipped, outputs have a double edge, collapsed
groups look like a pile.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import floor, log10

from .boxes import Box, Layout, Point, Route
from .graph import CHAR_WIDTH, KIND_WORD, LINE_HEIGHT, Node
from .part import GraphPart, Plot
from .render_text import cut, value_text

FILL = {
    "op": "#e8f0fe",
    "call": "#e6f4ea",
    "param": "#fff4e0",
    "const": "#f1f1f4",
    "output": "#fde8ef",
    "group": "#efe8fb",
    "other": "#f3f4f6",
}
INK, DIM = "#1f2328", "#57606a"
#: Width of a character beside a bar, on the safe side.
NOTE_CHAR = 6.4
MARGIN = 10.0


def _n(value: float) -> str:
    """A number for SVG: one decimal, no trailing zero."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def shape(kind: str, width: float, height: float) -> str:
    """The outline of a node of `kind`, with the upper left corner at (0, 0)."""
    w, h = _n(width), _n(height)
    base = f'class="wb-shape" fill="{FILL[kind]}" stroke="{DIM}"'
    if kind in ("op", "output", "group"):
        rect = f'<rect {base} width="{w}" height="{h}" rx="{7 if kind == "op" else 3}"/>'
        if kind == "output":
            inner = f'x="3" y="3" width="{_n(width - 6)}" height="{_n(height - 6)}"'
            return rect + f'<rect {inner} rx="2" fill="none" stroke="{DIM}" stroke-width=".7"/>'
        if kind == "group":
            back = f'<rect {base} x="4" y="4" width="{w}" height="{h}" rx="3"/>'
            return back + rect
        return rect
    if kind == "call":
        bars = f'<path d="M5 0V{h}M{_n(width - 5)} 0V{h}" stroke="{DIM}" stroke-width=".8"/>'
        return f'<rect {base} width="{w}" height="{h}"/>{bars}'
    slant = 8.0
    if kind == "param":
        path = f"M{_n(slant)} 0H{w}L{_n(width - slant)} {h}H0Z"
    elif kind == "const":
        right, low = _n(width - 7), _n(height - 7)
        path = f"M7 0H{right}L{w} 7V{low}L{right} {h}H7L0 {low}V7Z"
    else:
        right, half = _n(width - slant), _n(height / 2)
        path = f"M0 {half}L{_n(slant)} 0H{right}L{w} {half}L{right} {h}H{_n(slant)}Z"
    return f'<path {base} d="{path}"/>'


def node_title(node: Node) -> str:
    """The tooltip of a node: what it is, then its details."""
    lines = [f"{node.label} ({KIND_WORD[node.kind]} {node.id})", node.sub]
    lines.extend(f"{name}: {value}" for name, value in node.detail)
    return "\n".join(filter(None, lines))


def _node(node: Node, box: Box) -> str:
    """One node as an SVG group."""
    middle = _n(box.width / 2)
    base = (box.height - LINE_HEIGHT * (2 if node.sub else 1)) / 2 + 11
    style = 'text-anchor="middle" font-family="monospace"'
    text = f'<text x="{middle}" y="{_n(base)}" font-size="11" fill="{INK}" {style}>'
    text += f"{escape(node.label)}</text>"
    if node.sub:
        y = _n(base + LINE_HEIGHT - 1)
        text += f'<text class="wb-sub" x="{middle}" y="{y}" font-size="10" fill="{DIM}" {style}>'
        text += f"{escape(node.sub)}</text>"
    classes = f"wb-gn wb-k-{node.kind}{' wb-changed' if node.changed else ''}"
    return (
        f'<g class="{classes}" data-id="{escape(node.id)}" '
        f'transform="translate({_n(box.x + MARGIN)},{_n(box.y + MARGIN)})">'
        f"<title>{escape(node_title(node))}</title>"
        f"{shape(node.kind, box.width, box.height)}{text}</g>"
    )


def path_of(points: Sequence[Point]) -> str:
    """A smooth path: vertical tangents at every point, straight where points are aligned."""
    moved = [(x + MARGIN, y + MARGIN) for x, y in points]
    parts = [f"M{_n(moved[0][0])} {_n(moved[0][1])}"]
    for (x0, y0), (x1, y1) in pairwise(moved):
        if abs(x0 - x1) < 0.5:
            parts.append(f"V{_n(y1)}")
        elif y1 - y0 < 8:
            parts.append(f"L{_n(x1)} {_n(y1)}")
        else:
            half = _n((y0 + y1) / 2)
            parts.append(f"C{_n(x0)} {half} {_n(x1)} {half} {_n(x1)} {_n(y1)}")
    return "".join(parts)


def _edge(route: Route) -> str:
    """One edge with an arrow head."""
    src, dst = escape(route.src), escape(route.dst)
    (x0, y0), (x1, y1) = route.points[-2], route.points[-1]
    tip = f"M{_n(x1 + MARGIN)} {_n(y1 + MARGIN)}"
    if y1 - y0 > 0.5 or abs(x1 - x0) < 0.5:
        side = -5 if y1 >= y0 else 5
        head = f"{tip}l-3 {side}h6z"
    else:
        head = f"{tip}l{5 if x1 < x0 else -5} -3v6z"
    return (
        f'<path class="wb-ge" data-src="{src}" data-dst="{dst}" fill="none" stroke="{DIM}" '
        f'd="{path_of(route.points)}"/><path class="wb-arrow" fill="{DIM}" d="{head}"/>'
    )


def graph_svg(part: GraphPart) -> str:
    """The graph as one `<svg>` element."""
    found: Layout = part.layout
    width, height = found.width + 2 * MARGIN + 6, found.height + 2 * MARGIN + 6
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(part.label)}" '
        f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}">'
    ]
    labels = {group.id: group.label for group in found.graph.groups}
    for key, box in found.groups.items():
        x, y = _n(box.x + MARGIN), _n(box.y + MARGIN)
        out.append(
            f'<g data-group="{escape(key)}"><rect class="wb-gf" x="{x}" y="{y}" rx="6" '
            f'width="{_n(box.width)}" height="{_n(box.height)}" fill="none" stroke="{DIM}" '
            f'stroke-dasharray="4 3"/><text class="wb-gt" x="{_n(box.x + MARGIN + 8)}" '
            f'y="{_n(box.y + MARGIN + 15)}" font-size="11" fill="{DIM}">'
            f"{escape(labels[key])}</text></g>"
        )
    out.extend(_edge(route) for route in found.routes)
    out.extend(_node(node, found.nodes[node.id]) for node in found.graph.nodes)
    out.append("</svg>")
    return "".join(out)


def plot_svg(part: Plot, width: float = 860.0) -> str:
    """Horizontal bars with whiskers, a value axis from zero, and the footer.

    The title is its name only: what is around the picture shows it as text.
    The picture is `width` wide whatever the texts: a longer note is cut, and whole in the tooltip.
    """
    labels = max((len(bar.label) for bar in part.bars), default=0)
    left = min(labels * CHAR_WIDTH + 16, width * 0.34)
    notes = max((len(bar.note) for bar in part.bars), default=0)
    right = min(90.0 + notes * NOTE_CHAR, width * 0.4)
    top_value = max((bar.high for bar in part.bars), default=0.0) or 1.0
    scale = (width - left - right) / top_value
    y0 = 6.0
    step = 24.0
    bottom = y0 + step * len(part.bars)
    height = bottom + 26 + 16 * len(part.footer)
    name = escape(part.title or "Bars")
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{name}" '
        f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}">'
    ]
    font = 'font-family="sans-serif" font-size="12"'
    for i, bar in enumerate(part.bars):
        y = y0 + step * i
        out.append(_bar(bar.label, i, y, left, scale, (bar.low, bar.value, bar.high)))
        text = value_text(bar.value, part.unit)
        x = left + bar.high * scale + 8
        room = int((width - x - NOTE_CHAR * len(text)) / NOTE_CHAR) - 3
        note = f" · {cut(bar.note, room)}" if bar.note and room > 3 else ""
        out.append(
            f'<text x="{_n(x)}" y="{_n(y + 15)}" fill="{INK}" {font}>'
            f"<title>{escape(bar.note)}</title>{escape(text)}"
            f'<tspan class="wb-sub" fill="{DIM}" font-size="11">{escape(note)}</tspan></text>'
        )
    out.append(_axis(left, bottom, width - right, top_value, scale, part.unit))
    for i, text in enumerate(part.footer):
        y = bottom + 36 + 16 * i
        out.append(
            f'<text class="wb-sub" x="0" y="{_n(y)}" fill="{DIM}" font-size="11" '
            f'font-family="sans-serif">{escape(text)}</text>'
        )
    out.append("</svg>")
    return "".join(out)


def _bar(
    label: str, at: int, y: float, left: float, scale: float, spread: tuple[float, float, float]
) -> str:
    """One bar, its label and its whisker."""
    low, value, high = (left + v * scale for v in spread)
    chars = int((left - 14) / CHAR_WIDTH)
    short = cut(label, chars)
    whisker = (
        f"M{_n(low)} {_n(y + 11)}H{_n(high)}M{_n(low)} {_n(y + 6)}v10M{_n(high)} {_n(y + 6)}v10"
    )
    return (
        f'<g data-id="{at}"><title>{escape(label)}</title>'
        f'<text x="{_n(left - 8)}" y="{_n(y + 15)}" text-anchor="end" fill="{INK}" '
        f'font-family="monospace" font-size="11">{escape(short)}</text>'
        f'<rect class="wb-bar" x="{_n(left)}" y="{_n(y + 4)}" width="{_n(max(value - left, 1))}" '
        f'height="14" rx="2" fill="#4c78a8"/>'
        f'<path class="wb-whisker" d="{whisker}" stroke="{INK}" fill="none"/></g>'
    )


def _axis(left: float, y: float, right: float, top: float, scale: float, unit: str) -> str:
    """The value axis with round ticks."""
    raw = top / 4
    power = 10.0 ** floor(log10(raw))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw)
    out = [f'<path class="wb-axis" stroke="{DIM}" d="M{_n(left)} {_n(y)}H{_n(right)}"/>']
    tick = 0.0
    while tick <= top * 1.001:
        x = left + tick * scale
        out.append(
            f'<path class="wb-axis" stroke="{DIM}" d="M{_n(x)} {_n(y)}v4"/><text class="wb-sub" '
            f'x="{_n(x)}" y="{_n(y + 16)}" text-anchor="middle" fill="{DIM}" font-size="10" '
            f'font-family="sans-serif">{tick:g}{" " + escape(unit) if tick == 0 else ""}</text>'
        )
        tick += step
    return "".join(out)
