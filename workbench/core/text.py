"""How a value becomes text: a seam to the script layer, and a generic form that never fails."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

#: The structural form shows this many nested levels, then `…`.
REPR_DEPTH = 3


def generic_repr(value: Any, depth: int = REPR_DEPTH) -> str:
    """`Class(field=…)` down to `depth` levels; works on any node, also an ill-formed one."""
    from workbench.core.node import Node, fields_of

    if isinstance(value, Node):
        name = type(value).__name__
        if depth == 0:
            return f"{name}(…)"
        shown = [
            f"{f.name}={generic_repr(getattr(value, f.name, '<unset>'), depth - 1)}"
            for f in fields_of(type(value))
            if f.role.name != "META"
        ]
        return f"{name}({', '.join(shown)})"
    if isinstance(value, tuple):
        inner = ", ".join(generic_repr(v, depth) for v in value[:8])
        more = ", …" if len(value) > 8 else ""
        return f"({inner}{more})"
    if isinstance(value, dict):
        inner = ", ".join(f"{k!r}: {generic_repr(v, depth)}" for k, v in list(value.items())[:8])
        return "{" + inner + "}"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


#: Set by `workbench.script` when it is imported: value → script text.
_script: Callable[..., str] | None = None
#: Set by `workbench.script`: (root, nodes, message) → text with underlined nodes.
_underline: Callable[[Any, Sequence[Any], str], str] | None = None


def set_script_printer(
    printer: Callable[..., str], underliner: Callable[[Any, Sequence[Any], str], str]
) -> None:
    """Installs the printer of the script layer (called once, when that layer is imported)."""
    global _script, _underline
    _script, _underline = printer, underliner


def _load() -> None:
    if _script is None:  # seam: printing is the one thing a node does with a higher layer
        importlib.import_module("workbench.script")  # installs the printer


def to_script(value: Any, **options: Any) -> str:
    """The value as TVMScript."""
    _load()
    assert _script is not None, "workbench.script did not install its printer"
    return _script(value, **options)


def to_text(value: Any) -> str:
    """The value as script where it has a script form, else in the generic form. Never throws."""
    try:
        return to_script(value)
    except Exception:
        return generic_repr(value)


def underline(root: Any, nodes: Sequence[Any], message: str) -> str:
    """The program `root` with `nodes` underlined and `message` beside the first of them."""
    _load()
    assert _underline is not None, "workbench.script did not install its printer"
    return _underline(root, nodes, message)
