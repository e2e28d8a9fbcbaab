"""The demo's report: one HTML file without links; graph, passes and times can be explored in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.inspect.machine import describe_machine
from workbench.inspect.timing import duration
from workbench.views.highlight import code_lines
from workbench.views.panel import Panel
from workbench.views.panels import panel_of
from workbench.views.part import Code, Details, Note, Part, Text, column, line, table
from workbench.widgets.export import export

if TYPE_CHECKING:
    from workbench.cli.demo import Demonstration

__all__ = ["summary", "write_report"]

#: Listings of a stage are cut here; the executable has all of it.
MAX_LINES = 400


def summary(shown: Demonstration) -> Part:
    """What was found, in a table, with the machine it was found on."""
    total = shown.timing.whole
    low, high = total.interval
    agreement = ", ".join(
        f"{difference:.0e} at batch {batch}" for batch, difference in shown.differences.items()
    )
    right = f"{shown.correct} of {shown.images} held-out images ({shown.accuracy:.2%})"
    rows = [
        ("right answers", right),
        ("against the ONNX reference evaluator", f"{agreement}, as shares of the largest value"),
        ("compiled in", duration(shown.compile_seconds)),
        ("one image takes", f"{duration(total.median)} [{duration(low)} – {duration(high)}]"),
        ("machine", describe_machine().line()),
    ]
    return column(
        table(("what", "found"), rows),
        Note(Text("Times are medians; brackets hold the middle half of the repeats."), "info"),
    )


def stages(shown: Demonstration) -> Part:
    """The text of every stage, folded."""
    folded: list[Part] = []
    for stage in shown.executable.stages:
        text = stage.text.splitlines()
        cut = len(text) - MAX_LINES
        lines = code_lines("\n".join(text[:MAX_LINES]), stage.language)
        note = Text(f"{cut} more lines are in exe.stage({stage.name!r}).text", "dim")
        head = line(Text(stage.name, "strong"), f"{len(text)} lines")
        body = column(Code(lines, stage.name), note if cut > 0 else None)
        folded.append(Details(head, body))
    return column(*folded)


def sections(shown: Demonstration) -> list[tuple[str, Part | Panel]]:
    """(heading, view) in reading order."""
    return [
        ("What was found", summary(shown)),
        ("The model", panel_of(shown.module)),
        ("How it was compiled, pass by pass", panel_of(shown.trace)),
        ("Where the time goes", panel_of(shown.timing)),
        ("From operators to machine code", panel_of(shown.executable)),
        ("All stages as text", stages(shown)),
    ]


def write_report(shown: Demonstration, path: Path) -> Path:
    """Write the report and return its path."""
    return export(path, "workbench demo: digits CNN", sections(shown))
