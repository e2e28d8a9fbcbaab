"""The `Part` tree: what a view looks like, before anyone decides how it is drawn.

A view is a pure function from a value to a `Part`.  Renderers turn the same tree into plain text,
semantic HTML, SVG, PNG or JSON; a widget adds selection and messages on top.  Parts are immutable
values, know nothing of Jupyter, and hold no reference to compiler objects.

Read next: `render_text`, `render_html`, `render_svg`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .boxes import Layout
from .graph import Graph

Tone: TypeAlias = Literal["neutral", "good", "warn", "bad", "info"]
Mark: TypeAlias = Literal["", "+", "-", "~"]

#: A tone is never told by colour alone: each has a symbol that text and HTML both print.
TONE_SYMBOL: dict[str, str] = {"neutral": "", "good": "✓", "warn": "!", "bad": "✗", "info": ""}


@dataclass(frozen=True, slots=True)
class Part:
    """Base of everything that a renderer can draw."""


@dataclass(frozen=True, slots=True)
class Text(Part):
    """A run of text; `style` is "", "strong", "dim" or "code"."""

    text: str
    style: Literal["", "strong", "dim", "code"] = ""


@dataclass(frozen=True, slots=True)
class Line(Part):
    """Inline parts one after the other, on one line."""

    children: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Heading(Part):
    """A title; `level` 2 to 5 as in HTML."""

    text: str
    level: int = 3


@dataclass(frozen=True, slots=True)
class Badge(Part):
    """A short word with a tone, such as "changed" or "parallel"."""

    text: str
    tone: Tone = "neutral"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a code line: `kind` is a token class, `strong` marks what changed in a diff."""

    text: str
    kind: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of code.  `mark` is the diff column, `ident` names the node it shows (if any)."""

    tokens: tuple[Token, ...]
    number: int | None = None
    mark: Mark = ""
    ident: str = ""
    note: str = ""

    @property
    def text(self) -> str:
        """The line without markup."""
        return "".join(token.text for token in self.tokens)


@dataclass(frozen=True, slots=True)
class CodeFold:
    """Unchanged lines hidden behind a summary."""

    summary: str
    lines: tuple[CodeLine, ...]


@dataclass(frozen=True, slots=True)
class Code(Part):
    """A listing; `lines` may hold folded regions."""

    lines: tuple[CodeLine | CodeFold, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Table(Part):
    """Rows of cells under a header; `align` holds "l" or "r" per column."""

    head: tuple[str, ...]
    rows: tuple[tuple[Part, ...], ...]
    caption: str = ""
    align: str = ""


@dataclass(frozen=True, slots=True)
class TreeItem:
    """A node of a `Tree`: label, children, and the identity used for selection."""

    label: Part
    children: tuple[TreeItem, ...] = ()
    open: bool = True
    ident: str = ""


@dataclass(frozen=True, slots=True)
class Tree(Part):
    """Nested items, each of which can be folded."""

    items: tuple[TreeItem, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Bullets(Part):
    """A list."""

    items: tuple[Part, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Details(Part):
    """A disclosure: the summary is always seen, the body on request."""

    summary: Part
    body: Part
    open: bool = False


@dataclass(frozen=True, slots=True)
class Row(Part):
    """Children side by side where there is room, else one under the other."""

    children: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Column(Part):
    """Children one under the other."""

    children: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Note(Part):
    """A remark with a tone; renderers print the tone as a word too."""

    body: Part
    tone: Tone = "info"


@dataclass(frozen=True, slots=True)
class Empty(Part):
    """Nothing to show, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class GraphPart(Part):
    """A graph with its layout; `label` is the accessible name, `list_title` heads its list twin."""

    graph: Graph
    layout: Layout
    label: str = "Graph"
    list_title: str = "Nodes"


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: value with an interval `[low, high]`, all in the unit of the plot."""

    label: str
    value: float
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Plot(Part):
    """Horizontal bars with error whiskers."""

    bars: tuple[Bar, ...]
    unit: str
    title: str = ""
    footer: tuple[str, ...] = field(default=())


Inline: TypeAlias = Part | str


def as_part(value: Inline) -> Part:
    """`value` as a part: a string becomes `Text`."""
    return Text(value) if isinstance(value, str) else value


def column(*children: Inline | None) -> Column:
    """A `Column` of what is not None."""
    return Column(tuple(as_part(c) for c in children if c is not None))


def row(*children: Inline | None) -> Row:
    """A `Row` of what is not None."""
    return Row(tuple(as_part(c) for c in children if c is not None))


def line(*children: Inline | None) -> Line:
    """A `Line` of what is not None."""
    return Line(tuple(as_part(c) for c in children if c is not None))


def table(
    head: Sequence[str], rows: Iterable[Sequence[Inline]], caption: str = "", align: str = ""
) -> Table:
    """A `Table`; every row must have as many cells as `head`."""
    made = tuple(tuple(as_part(cell) for cell in cells) for cells in rows)
    for cells in made:
        assert len(cells) == len(head), f"{len(cells)} cells under {len(head)} columns: {cells}"
    return Table(tuple(head), made, caption, align or "l" * len(head))


def plain(part: Part) -> str:
    """The words of an inline part, without markup."""
    match part:
        case Text(text=text):
            return text
        case Badge(text=text, tone=tone):
            symbol = TONE_SYMBOL[tone]
            return f"[{symbol} {text}]" if symbol else f"[{text}]"
        case Line(children=children):
            return " ".join(filter(None, (plain(c) for c in children)))
        case Heading(text=text) | Empty(reason=text):
            return text
        case Code(lines=lines):
            return " ".join(item.text for item in lines if isinstance(item, CodeLine))
        case _:
            return ""
