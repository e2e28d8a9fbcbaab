"""`Part` → semantic HTML.

The markup alone tells everything: headings, tables, lists, disclosures, `<mark>` for what changed,
"+" and "-" as text.  `style.css` adds comfort; nothing needs script.  A picture comes as inline SVG
and, for hosts that strip style sheets and SVG (GitHub), as PNG that the style sheet hides.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib import resources

from .graph import KIND_WORD, neighbours
from .part import (
    TONE_SYMBOL,
    Badge,
    Bullets,
    Code,
    CodeFold,
    CodeLine,
    Column,
    Details,
    Empty,
    GraphPart,
    Heading,
    Line,
    Note,
    Part,
    Plot,
    Row,
    Table,
    Text,
    Tree,
    TreeItem,
)
from .render_png import graph_png, plot_png
from .render_svg import graph_svg, plot_svg
from .render_text import number

#: Pictures of larger graphs carry no PNG twin: its text would be too small to read.
PNG_MAX_NODES = 120
_MARK_CLASS = {"": "", "+": " wb-add", "-": " wb-del", "~": " wb-ren"}


@cache
def style() -> str:
    """The style sheet that all HTML output shares."""
    return (
        resources.files("workbench.views").joinpath("style.css").read_text(encoding="utf-8").strip()
    )


def to_html(part: Part, pictures: bool = False) -> str:
    """A fragment: one `<div class="wb">` without the style sheet.

    `pictures` adds a PNG twin to each graph and plot; it needs Graphviz or matplotlib.
    """
    return f'<div class="wb">{fragment(part, pictures)}</div>'


def display_html(part: Part, pictures: bool = True) -> str:
    """What a notebook shows: the style sheet and the fragment."""
    return f"<style>{style()}</style>{to_html(part, pictures)}"


def fragment(part: Part, pictures: bool = False) -> str:
    """The markup of `part` without a frame."""
    match part:
        case Text(text=text, style=kind):
            return _text(text, kind)
        case Line(children=children):
            return " ".join(fragment(c, pictures) for c in children)
        case Heading(text=text, level=level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Badge(text=text, tone=tone):
            symbol = TONE_SYMBOL[tone]
            lead = f"{symbol} " if symbol else ""
            return f'<span class="wb-badge wb-{tone}">{lead}{escape(text)}</span>'
        case Code():
            return code_html(part)
        case Table():
            return _table(part, pictures)
        case Tree(items=items, label=label):
            inner = "".join(_tree_item(item, pictures) for item in items)
            return f'<ul class="wb-tree" aria-label="{escape(label)}">{inner}</ul>'
        case Bullets(items=items, ordered=ordered):
            tag = "ol" if ordered else "ul"
            inner = "".join(f"<li>{fragment(item, pictures)}</li>" for item in items)
            return f'<{tag} class="wb-list">{inner}</{tag}>'
        case Details(summary=summary, body=body, open=is_open):
            return (
                f"<details{' open' if is_open else ''}><summary>{fragment(summary)}</summary>"
                f"{fragment(body, pictures)}</details>"
            )
        case Row(children=children):
            return f'<div class="wb-row">{_blocks(children, pictures)}</div>'
        case Column(children=children):
            return f'<div class="wb-col">{_blocks(children, pictures)}</div>'
        case Note(body=body, tone=tone):
            word = {"warn": "Warning", "bad": "Error", "good": "✓"}.get(tone, "Note")
            return (
                f'<div class="wb-note wb-{tone}" role="note"><strong>{word}:</strong> '
                f"{fragment(body, pictures)}</div>"
            )
        case Empty(reason=reason):
            return f'<div class="wb-empty">{escape(reason)}</div>'
        case GraphPart():
            return _graph(part, pictures)
        case Plot():
            return _plot(part, pictures)
        case _:
            raise TypeError(f"to_html has no rule for {type(part).__name__}")


def _text(text: str, kind: str) -> str:
    """A run of text in its style."""
    safe = escape(text)
    if kind == "code":
        return f'<code class="wb-t-code">{safe}</code>'
    if kind == "strong":
        return f"<strong>{safe}</strong>"
    return f'<span class="wb-dim">{safe}</span>' if kind == "dim" else safe


def _blocks(children: Iterable[Part], pictures: bool) -> str:
    """Children, each as a block of its own."""
    return "".join(f"<div>{fragment(child, pictures)}</div>" for child in children)


def code_html(part: Code) -> str:
    """A listing with line numbers and a diff column."""
    flat = [item for item in part.lines if isinstance(item, CodeLine)]
    folded = [line for item in part.lines if isinstance(item, CodeFold) for line in item.lines]
    marks = any(line.mark for line in flat)
    width = max((len(str(line.number or "")) for line in (*flat, *folded)), default=0)
    out: list[str] = []
    for item in part.lines:
        if isinstance(item, CodeFold):
            inner = "".join(line_html(one, width, marks) for one in item.lines)
            out.append(
                f'<details class="wb-fold"><summary>⋯ {escape(item.summary)}</summary>'
                f"{inner}</details>"
            )
        else:
            out.append(line_html(item, width, marks))
    label = f' aria-label="{escape(part.label)}"' if part.label else ""
    return f'<pre class="wb-code" tabindex="0"{label}>{"".join(out)}</pre>'


def line_html(line: CodeLine, width: int, marks: bool) -> str:
    """One code line; the line break inside keeps it a line where the style sheet is gone."""
    body = "".join(_token(token.text, token.kind, token.strong) for token in line.tokens)
    gutter = ""
    if width:
        number = "" if line.number is None else str(line.number)
        gutter = f'<span class="wb-ln">{number:>{width}}</span>'
    if marks:
        gutter += f'<span class="wb-mk">{line.mark or " "}</span>'
    ident = f' data-id="{escape(line.ident)}"' if line.ident else ""
    note = f'  <span class="wb-cn"># {escape(line.note)}</span>' if line.note else ""
    return f'<span class="wb-cl{_MARK_CLASS[line.mark]}"{ident}>{gutter} {body}{note}\n</span>'


def _token(text: str, kind: str, strong: bool) -> str:
    """One token; a plain one needs no element."""
    safe = escape(text, quote=False)
    if kind:
        safe = f'<span class="wb-{kind}">{safe}</span>'
    return f"<mark>{safe}</mark>" if strong else safe


def _table(part: Table, pictures: bool) -> str:
    """A table with a caption and header cells."""

    def side(i: int) -> str:
        """The class of a right-aligned column."""
        return ' class="wb-r"' if part.align[i] == "r" else ""

    head = "".join(
        f'<th scope="col"{side(i)}>{escape(text)}</th>' for i, text in enumerate(part.head)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{side(i)}>{fragment(c, pictures)}</td>" for i, c in enumerate(row))
        + "</tr>"
        for row in part.rows
    )
    caption = f"<caption>{escape(part.caption)}</caption>" if part.caption else ""
    return (
        f'<table class="wb-table">{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _tree_item(item: TreeItem, pictures: bool) -> str:
    """A tree item; one with children is a disclosure."""
    ident = f' data-id="{escape(item.ident)}"' if item.ident else ""
    label = f"<span{ident}>{fragment(item.label, pictures)}</span>"
    if not item.children:
        return f"<li>{label}</li>"
    inner = "".join(_tree_item(child, pictures) for child in item.children)
    return (
        f"<li><details{' open' if item.open else ''}><summary>{label}</summary>"
        f"<ul>{inner}</ul></details></li>"
    )


def short_id(ident: str) -> str:
    """The variable of a node: the name of a group ends in the function that it calls."""
    return ident.partition("/")[0]


def node_list(part: GraphPart) -> str:
    """The list twin of a graph, with the same identities as the picture."""
    _, before = neighbours(part.layout.graph)
    out: list[str] = []
    for node in part.layout.graph.nodes:
        reads = ", ".join(escape(short_id(p)) for p in before[node.id])
        sub = f' <span class="wb-dim">{escape(node.sub)}</span>' if node.sub else ""
        changed = " <em>changed</em>" if node.changed else ""
        # Most nodes are operators, and an input is called by its own name.
        name = short_id(node.id)
        code = f"<code>{escape(name)}</code> " if name != node.label else ""
        kind = f' <span class="wb-dim">({KIND_WORD[node.kind]})</span>'
        out.append(
            f'<li data-id="{escape(node.id)}">{code}<strong>{escape(node.label)}</strong>{sub}'
            f"{'' if node.kind == 'op' else kind}{' ← ' + reads if reads else ''}{changed}</li>"
        )
    return f'<ul class="wb-list">{"".join(out)}</ul>'


def _png(data: bytes | None, label: str) -> str:
    """The PNG twin of a picture."""
    if data is None:
        return ""
    code = base64.b64encode(data).decode("ascii")
    return f'<img class="wb-only-plain" alt="{escape(label)}" src="data:image/png;base64,{code}"/>'


def _graph(part: GraphPart, pictures: bool) -> str:
    """Picture, PNG twin and list twin of a graph."""
    if not part.graph.nodes:
        return f'<div class="wb-empty">{escape(part.label)}: the graph has no nodes</div>'
    picture = ""
    if pictures and len(part.layout.graph.nodes) <= PNG_MAX_NODES:
        picture = _png(graph_png(part), part.label)
    count = len(part.layout.graph.nodes)
    return (
        f'<figure class="wb-graph" tabindex="0" aria-label="{escape(part.label)}">'
        f"{graph_svg(part)}{picture}</figure>"
        f"<details><summary>{escape(part.list_title)} ({count})</summary>"
        f"{node_list(part)}</details>"
    )


def _plot(part: Plot, pictures: bool) -> str:
    """Picture, PNG twin and table of a plot."""
    if not part.bars:
        return f'<div class="wb-empty">{escape(part.title or "Plot")}: nothing was measured</div>'
    picture = ""
    if pictures:
        picture = _png(plot_png(part), part.title)
    rows = "".join(
        f'<tr data-id="{i}"><td>{escape(bar.label)}</td><td class="wb-r">{number(bar.value)}</td>'
        f'<td class="wb-r">{number(bar.low)}</td><td class="wb-r">{number(bar.high)}</td>'
        f"<td>{escape(bar.note)}</td></tr>"
        for i, bar in enumerate(part.bars)
    )
    unit = escape(part.unit)
    return (
        f'<figure class="wb-plot">{plot_svg(part)}{picture}</figure>'
        f"<details><summary>Numbers ({len(part.bars)})</summary>"
        f'<table class="wb-table"><thead><tr><th scope="col">name</th>'
        f'<th scope="col" class="wb-r">median {unit}</th><th scope="col" class="wb-r">low</th>'
        f'<th scope="col" class="wb-r">high</th><th scope="col">note</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></details>"
    )
