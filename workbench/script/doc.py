"""The text of a program as a small tree that remembers which node each piece came from.

A `Doc` is a piece of one line: strings and further pieces, with the precedence of its outermost
operator and the node it shows. A `Page` is the lines of a program; blocks of lines may also belong
to a node. `Page.render` yields the text and, for every node, the ranges of text it became.
Read next: `printer`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

# Precedences of Python's operators, loosest first.
LOWEST, LAMBDA, TERNARY, OR, AND, NOT, COMPARE = range(7)
BIT_OR, BIT_XOR, BIT_AND, SHIFT, ADD, MUL, UNARY, ATOM = range(7, 15)

#: A range of characters of the text.
Range = tuple[int, int]


class Doc:
    """A piece of a line."""

    __slots__ = ("node", "parts", "prec")

    def __init__(self, parts: Sequence[str | Doc], prec: int = ATOM, node: Any = None) -> None:
        self.parts = parts
        self.prec = prec
        self.node = node

    def of(self, node: Any) -> Doc:
        """The same piece, showing `node`."""
        if self.node is None:
            self.node = node
        if self.node is node:
            return self
        return Doc((self,), self.prec, node)

    def at_least(self, prec: int) -> Doc:
        """The piece, in parentheses if its operator binds less tightly than `prec`."""
        return self if self.prec >= prec else Doc(("(", self, ")"))

    def __str__(self) -> str:
        page = Page()
        page.add(0, self)
        return page.render()[0]


def text(value: str, node: Any = None) -> Doc:
    """A word."""
    return Doc((value,), ATOM, node)


def literal(value: Any) -> Doc:
    """A Python constant: None, bool, int, float or str. Strings have double quotes."""
    if isinstance(value, str):
        return Doc((json.dumps(str(value), ensure_ascii=False),))
    word = repr(value)
    return Doc((word,), UNARY if word.startswith("-") else ATOM)


def join(items: Iterable[Doc], separator: str = ", ") -> list[str | Doc]:
    """The pieces with a separator in between."""
    out: list[str | Doc] = []
    for item in items:
        if out:
            out.append(separator)
        out.append(item)
    return out


def seq(items: Sequence[Doc], opening: str = "[", closing: str = "]") -> Doc:
    """A list; with parentheses, a tuple (one element gets its comma)."""
    tail = "," if opening == "(" and len(items) == 1 else ""
    return Doc([opening, *join(items), tail + closing])


def mapping(pairs: Sequence[tuple[Doc, Doc]]) -> Doc:
    """A dictionary."""
    return Doc(["{", *join([Doc((k, ": ", v), LOWEST) for k, v in pairs]), "}"])


def call(callee: str | Doc, *args: Doc, **kwargs: Doc | None) -> Doc:
    """A call; keyword arguments that are None are left out."""
    named = [Doc((f"{k}=", v), LOWEST) for k, v in kwargs.items() if v is not None]
    return Doc([callee, "(", *join([*args, *named]), ")"])


def binary(symbol: str, a: Doc, b: Doc, prec: int, node: Any = None) -> Doc:
    """A left-associative operator; comparisons do not associate."""
    left = prec + 1 if prec == COMPARE else prec
    return Doc((a.at_least(left), f" {symbol} ", b.at_least(prec + 1)), prec, node)


_OPEN, _CLOSE = "open", "close"


class Page:
    """Lines of text, some of which are the block of a node."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[tuple[Any, Any]] = []

    def add(self, indent: int, line: Doc | str) -> None:
        """Appends a line (an empty string for an empty one)."""
        self.items.append((indent, line))

    def open(self, node: Any) -> int:
        """Begins the block of a node; returns a mark for `close`."""
        self.items.append((_OPEN, node))
        return len(self.items)

    def close(self, node: Any) -> None:
        """Ends the block of a node."""
        self.items.append((_CLOSE, node))

    def render(self, width: int = 4) -> tuple[str, dict[int, list[Range]]]:
        """The text and the ranges of every node by its `id`."""
        out: list[str] = []
        ranges: dict[int, list[Range]] = {}
        waiting: list[Any] = []  # blocks whose first line has not been written
        starts: list[int] = []
        offset = end = 0
        for indent, item in self.items:
            if indent is _OPEN:
                waiting.append(item)
                continue
            if indent is _CLOSE:
                if waiting:
                    waiting.pop()
                else:
                    ranges.setdefault(id(item), []).append((starts.pop(), end))
                continue
            if out:
                out.append("\n")
                offset += 1
            if isinstance(item, str):
                if item:
                    item = Doc((item,))
                else:
                    continue
            out.append(" " * (indent * width))
            offset += indent * width
            starts.extend([offset] * len(waiting))
            waiting.clear()
            offset = end = _write(item, offset, out, ranges)
        return "".join(out), ranges


def _write(doc: Doc, offset: int, out: list[str], ranges: dict[int, list[Range]]) -> int:
    """Appends the strings of a piece; returns the offset after it."""
    stack: list[Any] = [doc]
    while stack:
        item = stack.pop()
        if type(item) is str:
            out.append(item)
            offset += len(item)
        elif type(item) is tuple:
            ranges.setdefault(item[0], []).append((item[1], offset))
        else:
            if item.node is not None:
                stack.append((id(item.node), offset))
            parts = item.parts
            if len(parts) == 1:
                stack.append(parts[0])
            else:
                stack.extend(reversed(parts))
    return offset
