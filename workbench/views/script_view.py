"""TVMScript of a value, highlighted; lines of loops and blocks carry their scope's identity."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from .highlight import code_lines
from .part import Code, CodeLine, Note, Part, Text, column
from .type_text import safe_text

#: Longer scripts are cut in static output (and say so).
MAX_LINES = 1200

_LOOP = re.compile(r"^\s*for (.+?) in ")
_BLOCK = re.compile(r"""^\s*with T\.(?:s?block)\(["'](.+?)["']""")


def script_text(value: Any) -> str:
    """The script of a value; its generic form where the printer fails."""
    return safe_text(value)


def identified(lines: tuple[CodeLine, ...]) -> tuple[CodeLine, ...]:
    """Lines of loops and blocks with the names that `loop_tree.scopes` gives them."""
    seen: dict[str, int] = {}

    def count(base: str) -> str:
        """The name of the next occurrence."""
        seen[base] = seen.get(base, 0) + 1
        return base if seen[base] == 1 else f"{base}#{seen[base]}"

    out: list[CodeLine] = []
    for one in lines:
        text = one.text
        if text.lstrip().startswith("def "):
            seen.clear()
        if found := _LOOP.match(text):
            names = [count(f"loop:{name.strip()}") for name in found[1].split(",")]
            out.append(replace(one, ident=" ".join(names)))
        elif found := _BLOCK.match(text):
            out.append(replace(one, ident=count(f"block:{found[1]}")))
        else:
            out.append(one)
    return tuple(out)


def script_part(value: Any, label: str = "script", limit: int = MAX_LINES) -> Part:
    """The highlighted script of a value."""
    return text_part(script_text(value), label, limit)


def text_part(text: str, label: str = "script", limit: int = MAX_LINES) -> Part:
    """A highlighted script."""
    lines = identified(code_lines(text))
    code = Code(lines[:limit], label)
    if len(lines) <= limit:
        return code
    hidden = f"{len(lines) - limit} of {len(lines)} lines are not shown; .script() gives them all"
    return column(code, Note(Text(hidden), "warn"))
