"""`Part` → plain text: what `print`, a terminal and `text/plain` show."""

from __future__ import annotations

from collections.abc import Iterator

from .graph import KIND_WORD, Graph, neighbours
from .part import (
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
    plain,
)

#: Columns of the bars in a text plot.
BAR_COLUMNS = 32


def to_text(part: Part) -> str:
    """`part` as plain text without trailing spaces."""
    return "\n".join(line.rstrip() for line in _lines(part)).strip("\n")


def _lines(part: Part) -> Iterator[str]:
    """The text lines of a part."""
    match part:
        case Text() | Line() | Badge():
            yield from plain(part).split("\n")
        case Heading(text=text, level=level):
            yield text
            yield ("=" if level <= 2 else "-") * len(text)
        case Code():
            yield from _code(part)
        case Table():
            yield from _table(part)
        case Tree(items=items):
            for item in items:
                yield from _tree(item, "", "")
        case Bullets(items=items, ordered=ordered):
            for number, item in enumerate(items, 1):
                lead = f"{number}. " if ordered else "- "
                for i, text in enumerate(_lines(item)):
                    yield (lead if i == 0 else " " * len(lead)) + text
        case Details(summary=summary, body=body):
            yield f"▸ {plain(summary)}"
            yield from (f"  {text}" for text in _lines(body))
        case Row(children=children) | Column(children=children):
            for number, child in enumerate(children):
                if number:
                    yield ""
                yield from _lines(child)
        case Note(body=body, tone=tone):
            word = {"warn": "Warning: ", "bad": "Error: ", "good": "✓ "}.get(tone, "Note: ")
            for i, text in enumerate(_lines(body)):
                yield (word if i == 0 else " " * len(word)) + text
        case Empty(reason=reason):
            yield f"({reason})"
        case GraphPart(graph=graph, label=label):
            yield label
            yield from graph_lines(graph)
        case Plot():
            yield from _plot(part)
        case _:
            raise TypeError(f"to_text has no rule for {type(part).__name__}")


def _code_line(line: CodeLine, width: int, marks: bool) -> str:
    """One line with its number, diff mark and note."""
    number = "" if line.number is None else str(line.number)
    lead = f"{number:>{width}} " if width else ""
    note = f"  # {line.note}" if line.note else ""
    return f"{lead}{(line.mark or ' ') + ' ' if marks else ''}{line.text}{note}"


def _code(part: Code) -> Iterator[str]:
    """A listing; folded regions are one line that tells how much is hidden."""
    flat = [line for line in part.lines if isinstance(line, CodeLine)]
    marks = any(line.mark for line in flat)
    width = max((len(str(line.number)) for line in flat if line.number is not None), default=0)
    for line in part.lines:
        if isinstance(line, CodeFold):
            yield f"{'':>{width}}   ⋯ {line.summary}"
        else:
            yield _code_line(line, width, marks)


def _table(part: Table) -> Iterator[str]:
    """A table with padded columns."""
    cells = [[plain(cell) for cell in cells] for cells in part.rows]
    widths = [max([len(head), *(len(row[i]) for row in cells)]) for i, head in enumerate(part.head)]

    def padded(row: list[str]) -> str:
        """Cells at the width and side of their column."""
        return "  ".join(
            text.rjust(width) if side == "r" else text.ljust(width)
            for text, width, side in zip(row, widths, part.align, strict=True)
        )

    if part.caption:
        yield part.caption
    yield padded(list(part.head))
    yield "  ".join("─" * width for width in widths)
    for row in cells:
        yield padded(row)


def _tree(item: TreeItem, lead: str, follow: str) -> Iterator[str]:
    """A tree item and what is under it, with connecting lines."""
    yield lead + plain(item.label)
    for number, child in enumerate(item.children):
        last = number == len(item.children) - 1
        yield from _tree(
            child, follow + ("└─ " if last else "├─ "), follow + ("   " if last else "│  ")
        )


def graph_lines(graph: Graph) -> Iterator[str]:
    """The list twin of a graph: one line per node with what it reads."""
    _, before = neighbours(graph)
    names = {node.id: node.label for node in graph.nodes}
    for node in graph.nodes:
        reads = ", ".join(f"{names[p]} ({p})" if names[p] != p else p for p in before[node.id])
        sub = f"  {node.sub}" if node.sub else ""
        changed = "  [changed]" if node.changed else ""
        yield (
            f"  {node.id}: {node.label}{sub}  · {KIND_WORD[node.kind]}"
            f"{' ← ' + reads if reads else ''}{changed}"
        )


def _plot(part: Plot) -> Iterator[str]:
    """Bars as blocks, the interval as numbers."""
    if part.title:
        yield part.title
    top = max((bar.high for bar in part.bars), default=0.0) or 1.0
    width = max((len(bar.label) for bar in part.bars), default=0)
    for bar in part.bars:
        blocks = "█" * max(1, round(bar.value / top * BAR_COLUMNS))
        note = f"  {bar.note}" if bar.note else ""
        yield (
            f"{bar.label:<{width}}  {blocks:<{BAR_COLUMNS}}  {value_text(bar.value, part.unit)}"
            f"  [{number(bar.low)} – {number(bar.high)}]{note}"
        )
    yield from part.footer


def number(value: float) -> str:
    """Three significant digits, without an exponent where it reads well."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    if size >= 0.001:
        return f"{value:.3g}"
    return f"{value:.2e}"


#: Units of time, each a thousandth of the one before.
_SMALLER = {"s": "ms", "ms": "µs", "µs": "ns"}


def value_text(value: float, unit: str) -> str:
    """A value with its unit; a time that is tiny in `unit` is told in a smaller one."""
    while 0 < value < 0.1 and unit in _SMALLER:
        value, unit = value * 1000, _SMALLER[unit]
    return f"{number(value)} {unit}"


def cut(text: str, chars: int) -> str:
    """`text` in at most `chars` characters, "…" where something is left out."""
    return text if len(text) <= chars else text[: max(chars - 1, 0)].rstrip(" ·,") + "…"


__all__ = ["cut", "graph_lines", "number", "to_text", "value_text"]
