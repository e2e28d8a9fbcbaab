"""Script for reading and comparing, with what a large constant is in the place where it is used.

`script()` writes a large constant as a number of a table at the end of the module.  When one
constant goes, all behind it get other numbers, and a comparison of texts finds changes that are
none; and the number says nothing to a reader.  Here a constant is its type and a check sum.
"""

from __future__ import annotations

import re
import zlib

from workbench.core.traverse import iter_nodes
from workbench.ir.module import IRModule
from workbench.relax.expr import Constant
from workbench.script import print_with_ranges

#: Constants of more elements than this are not written out.
WRITTEN_OUT = 4

_FOOTER = re.compile(r"\n+# Metadata omitted\..*\Z")


def constant_text(value: Constant) -> str:
    """`const(f32[16, 1, 3, 3], "5d2a1c07")`: equal texts mean equal values, as far as CRC tells."""
    data = value.data.numpy()
    dims = ", ".join(map(str, data.shape))
    return f'const({data.dtype}[{dims}], "{zlib.crc32(data.tobytes()):08x}")'


def reading_text(mod: IRModule) -> str:
    """The script of a module with its constants told by type and check sum."""
    text, ranges = print_with_ranges(mod)
    pieces: list[tuple[int, int, str]] = []
    for node in iter_nodes(mod, Constant):
        if node.data.numpy().size <= WRITTEN_OUT:
            continue
        shown = constant_text(node)
        pieces.extend((start, end, shown) for start, end in ranges.pop(id(node), ()))
    out: list[str] = []
    at = 0
    for start, end, shown in sorted(pieces):
        if start >= at:
            out += [text[at:start], shown]
            at = end
    return _FOOTER.sub("", "".join(out) + text[at:])
