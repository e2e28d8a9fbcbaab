"""What a compilation kept: the text of every stage, from the given program to assembly."""

from __future__ import annotations

from workbench.runtime.executable import Executable

from .highlight import code_lines
from .part import Code, Details, Empty, Part, Text, column, line, table

#: Lines of each stage in the static view.
MAX_LINES = 120


def stages_view(exe: Executable) -> Part:
    """A table of the stages, and each of them folded."""
    if not exe.stages:
        return Empty("this executable was loaded: it has machine code but no stages")
    texts = [(stage, stage.text) for stage in exe.stages]
    rows = [(Text(s.name, "code"), s.language, f"{t.count(chr(10)) + 1:,}") for s, t in texts]
    folded: list[Part] = []
    for stage, text in texts:
        lines = code_lines(text, stage.language)
        hidden = len(lines) - MAX_LINES
        more = f"{hidden:,} more lines: exe.stage({stage.name!r}).text"
        body = column(
            Code(lines[:MAX_LINES], f"stage {stage.name}"),
            Text(more, "dim") if hidden > 0 else None,
        )
        folded.append(Details(line(Text(stage.name, "strong"), f"{len(lines):,} lines"), body))
    head = line(Text("Executable", "strong"), f"{len(texts)} stages")
    return column(head, table(("stage", "language", "lines"), rows, align="llr"), *folded)
