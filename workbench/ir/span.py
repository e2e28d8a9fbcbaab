"""Where a node came from: a place in a source, or the node it was made from."""

from __future__ import annotations

from typing import Any

from workbench.core.node import META, Node, field


class SourceName(Node):
    """The name of a source (a file, a cell, "<string>")."""

    name: str


def _as_source(value: Any) -> SourceName:
    return value if isinstance(value, SourceName) else SourceName(value)


class Span(Node):
    """A range of a source, lines and columns counted from 1; `origin` is what a pass made it from.

    `origin` links a loop nest to the Relax operator it implements, a statement to the block it was
    lowered from, and so on: views follow it in both directions.
    """

    source_name: SourceName = field(converter=_as_source)
    line: int = 0
    end_line: int = 0
    column: int = 0
    end_column: int = 0
    origin: Any = field(role=META, default=None)


class SequentialSpan(Span):
    """Several places one node came from."""

    spans: tuple[Span, ...] = ()


def made_from(origin: Any, name: str = "") -> Span:
    """A span that only tells the origin (a node or a name)."""
    return Span(SourceName(name or "<pass>"), origin=origin)


def origin_of(node: Any) -> Any:
    """The innermost known origin of a node, or None."""
    span = getattr(node, "span", None)
    while span is not None and span.origin is not None:
        deeper = getattr(span.origin, "span", None)
        if deeper is None or deeper.origin is None:
            return span.origin
        span = deeper
    return None
