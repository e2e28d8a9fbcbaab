"""The rewrite rules, one file per root operator. See `arith.pattern` for how to read them.

A rule is tried in the order of its file. Larger patterns come before smaller ones where both match.
Every rule is checked by random evaluation in `tests/arith/test_rules.py`: a new line needs no test.
"""

from __future__ import annotations

import importlib

#: The files, in loading order.
FILES = (
    "add",
    "sub",
    "mul",
    "floordiv",
    "floormod",
    "div",
    "minmax",
    "comparison",
    "equality",
    "logical",
    "select",
    "vector",
)

_loaded = False


def load() -> None:
    """Imports all rule files (once)."""
    global _loaded
    if not _loaded:
        _loaded = True
        for name in FILES:
            importlib.import_module(f"{__name__}.{name}")
