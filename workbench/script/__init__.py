"""Layer 1: TVMScript. The engine is here; the namespaces `I`, `T`, `R` belong to the dialects.

    from workbench.script import ir as I, relax as R, tirx as T

`script(node)` prints, `parse(text)` reads, `print_with_ranges(node)` says where every node is in
the text. Importing this package makes `str(node)` print script.
"""

from __future__ import annotations

import importlib
from typing import Any

from workbench.core.text import set_script_printer
from workbench.script.error import ScriptError
from workbench.script.printer import print_with_ranges, script, underline
from workbench.script.reader import from_source, parse
from workbench.script.tokens import tokenize

set_script_printer(script, underline)

#: The namespaces and the modules of the dialects that define them.
_NAMESPACES = ("ir", "tirx", "relax")


def __getattr__(name: str) -> Any:
    if name in _NAMESPACES:  # seam: a namespace is the script package of its dialect
        return importlib.import_module(f"workbench.{name}.script")
    raise AttributeError(f"module 'workbench.script' has no attribute {name!r}")


__all__ = [
    "ScriptError",
    "from_source",
    "parse",
    "print_with_ranges",
    "script",
    "tokenize",
    "underline",
]
