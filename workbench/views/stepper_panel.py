"""The model of the pass stepper: a list of steps, and for each its diff, texts and graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from workbench.inspect.timing import duration

from .align import align, renamed
from .boxes import Layout
from .graph import Graph
from .graph_panel import picture
from .highlight import code_lines
from .ir_diff import Diff, diff, diff_part
from .layout import layout
from .panel import Data, Progress, Request, unknown
from .part import (
    Badge,
    Code,
    CodeFold,
    CodeLine,
    Column,
    Details,
    Empty,
    GraphPart,
    Note,
    Part,
    Text,
    Token,
    Tone,
    column,
    line,
    table,
)
from .render_html import fragment

Status = Literal["changed", "same", "failed"]
WORD: dict[str, str] = {"changed": "changed", "same": "no change", "failed": "failed"}
SIGN: dict[str, str] = {"changed": "●", "same": "○", "failed": "✗"}
TONE: dict[str, Tone] = {"changed": "info", "same": "neutral", "failed": "bad"}
#: Longer listings are cut (and say so): a message stays well under a megabyte.
MAX_LINES = 2500
#: Lines of each diff, and characters of a line, in the static view: it holds the diffs of all
#: passes.
STATIC_LINES, STATIC_WIDTH = 24, 160
TABS = (("diff", "Diff"), ("after", "After"), ("before", "Before"), ("graph", "Graph"))


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite inside a step: the rule, where it is defined, and both sides as text."""

    rule: str
    source: str
    before: str
    after: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trace.  Texts and graphs are made on demand, by function."""

    name: str
    status: Status
    seconds: float
    before: Callable[[], str]
    after: Callable[[], str]
    graph: Callable[[], Graph | None] = lambda: None
    depth: int = 0
    error: str = ""
    info: tuple[tuple[str, str], ...] = ()
    rewrites: tuple[Rewrite, ...] = field(default=())


class StepperPanel:
    """Steps with lazily made views; every text is computed, and sent, once."""

    module = "pass_stepper"
    pure = frozenset({"view", "counts"})
    slow: frozenset[str] = frozenset()

    def __init__(self, steps: Sequence[Step], title: str = "Passes") -> None:
        self.steps = tuple(steps)
        self.title = title
        self._layouts: dict[int, Layout | None] = {}
        self.difference = lru_cache(maxsize=None)(self._difference)
        self.has_graph = any(step.graph() is not None for step in self.steps)
        self.has_rewrites = any(step.rewrites for step in self.steps)

    def _difference(self, i: int) -> Diff:
        """The diff of step `i` (kept by `difference`)."""
        step = self.steps[i]
        return diff(step.before(), step.after())

    def counts(self, i: int) -> str:
        """ "+12 −30" for a changed step, else ""."""
        return self.difference(i).counts if self.steps[i].status == "changed" else ""

    def tabs(self) -> list[tuple[str, str]]:
        """The tabs that have something to show."""
        kept = [tab for tab in TABS if tab[0] != "graph" or self.has_graph]
        return [*kept, ("rewrites", "Rewrites")] if self.has_rewrites else kept

    def data(self) -> Data:
        """The list of passes; line counts and texts follow on request."""
        steps = [
            {
                "name": step.name,
                "status": step.status,
                "word": WORD[step.status],
                "time": duration(step.seconds),
                "depth": step.depth,
            }
            for step in self.steps
        ]
        return {"steps": steps, "tabs": [list(tab) for tab in self.tabs()]}

    def answer(self, op: str, args: Mapping[str, Any], progress: Progress) -> Data:
        """`view` {i, tab}: the view of step i; `counts` {i}: how many lines it changed."""
        if op not in self.pure:
            raise unknown(self, op)
        i = int(args["i"])
        if not 0 <= i < len(self.steps):
            raise ValueError(f"there is no step {i + 1}: the trace has {len(self.steps)}")
        if op == "counts":
            return {"counts": self.counts(i)}
        part = self.view(i, str(args["tab"]))
        return picture(part) if isinstance(part, GraphPart) else {"html": fragment(part)}

    def view(self, i: int, tab: str) -> Part:
        """One tab of step `i` as a part."""
        step = self.steps[i]
        if tab == "rewrites":
            return _rewrites(step)
        if tab in ("before", "after"):
            text = step.before() if tab == "before" else step.after()
            return script_code(text, "script")
        if tab == "graph":
            return self._graph(i)
        if tab != "diff":
            raise ValueError(f"there is no view {tab!r}; there are {[t for t, _ in self.tabs()]}")
        if step.status == "failed":
            return failure(step)
        if step.status == "same":
            return Empty(f"{step.name} changed nothing: the module is the same object afterwards")
        return shortened(diff_part(self.difference(i)), MAX_LINES)

    def _graph(self, i: int) -> Part:
        """The graph after step `i`, in the places that earlier steps gave its nodes."""
        for k in range(i + 1):
            if k in self._layouts:
                continue
            if k and self.steps[k].status == "same" and self.steps[k].depth == 0:
                self._layouts[k] = self._layouts[k - 1]
                continue
            graph = self.steps[k].graph()
            previous = self._layouts.get(k - 1)
            if graph is not None and previous is not None:
                previous = renamed(previous, align(previous.graph, graph))
            self._layouts[k] = layout(graph, previous) if graph is not None else None
        found = self._layouts[i]
        if found is None:
            return Empty("no graph function is left after this pass: everything is loops by now")
        return GraphPart(found.graph, found, f"Graph after {self.steps[i].name}")

    def requests(self) -> Iterable[Request]:
        """Every tab of every step."""
        for i in range(len(self.steps)):
            yield "counts", {"i": i}
            for tab, _ in self.tabs():
                yield "view", {"i": i, "tab": tab}

    def pinned(self, state: Mapping[str, Any]) -> Part:
        """What "Pin snapshot" keeps: the step on show."""
        i, tab = int(state.get("i", 0)), str(state.get("tab", "diff"))
        if not 0 <= i < len(self.steps):
            return self.static()
        step = self.steps[i]
        head = line(
            Text(f"Pass {i + 1} of {len(self.steps)}: {step.name}", "strong"),
            WORD[step.status],
            self.counts(i),
            duration(step.seconds),
        )
        return column(head, self.view(i, tab))

    def static(self) -> Part:
        """The table of passes, then the diff of each pass that changed something."""
        return static_steps(self, self.title)


def script_code(text: str, label: str, language: str = "script") -> Part:
    """A highlighted listing; cut where it is very long."""
    if not text:
        return Empty(f"{label}: there is no text")
    lines = code_lines(text, language)
    code = Code(lines[:MAX_LINES], label)
    if len(lines) <= MAX_LINES:
        return code
    note = f"{len(lines) - MAX_LINES} of {len(lines)} lines are not shown; .script() has them all"
    return column(code, Note(Text(note), "warn"))


def clipped(one: CodeLine | CodeFold, width: int) -> CodeLine | CodeFold:
    """A line cut at `width` characters; a fold keeps its summary only."""
    if isinstance(one, CodeFold):
        return CodeLine((Token(f"⋯ {one.summary}", "c"),))
    return replace(one, tokens=_cut(one.tokens, width))


def _cut(tokens: tuple[Token, ...], width: int) -> tuple[Token, ...]:
    """Tokens up to `width` characters, then "…"."""
    out: list[Token] = []
    left = width
    for token in tokens:
        if len(token.text) > left:
            return (*out, replace(token, text=token.text[:left] + "…"))
        out.append(token)
        left -= len(token.text)
    return tuple(out)


def shortened(part: Part, lines: int, width: int = 0) -> Part:
    """A diff with at most `lines` lines in all its listings; what is left out is counted.

    With `width`, lines are cut too, and folds closed for good.
    """
    if not isinstance(part, Column):
        return part

    def cut(some: tuple[CodeLine | CodeFold, ...]) -> tuple[CodeLine | CodeFold, ...]:
        """Lines within the width."""
        return tuple(clipped(one, width) for one in some) if width else some

    children: list[Part] = []
    left = lines
    for child in part.children:
        if isinstance(child, Code) and len(child.lines) > max(left, 0):
            kept = cut(child.lines[: max(left, 0)])
            if kept:
                children.append(Code(kept, child.label))
            hidden = len(child.lines) - max(left, 0)
            children.append(Note(Text(f"{hidden} more lines of {child.label} not shown"), "warn"))
            left = 0
        else:
            if isinstance(child, Code):
                left -= len(child.lines)
                child = Code(cut(child.lines), child.label)
            children.append(child)
    return Column(tuple(children))


def failure(step: Step) -> Part:
    """The short reason, the whole report behind a disclosure, the program before it."""
    first = step.error.strip().splitlines()[0] if step.error.strip() else "no message"
    whole = Code(tuple(CodeLine(t.tokens) for t in code_lines(step.error, "")), "the error")
    return column(
        Note(Text(f"{step.name}: {first}"), "bad"),
        Details(Text("The whole error"), whole),
        Details(Text("The program before this pass"), script_code(step.before(), "before")),
    )


def _rewrites(step: Step) -> Part:
    """The rewrites of a step, in order."""
    if not step.rewrites:
        return Empty(f"{step.name} reported no single rewrites")
    rows = [
        (
            str(i),
            Text(r.rule, "strong"),
            Text(r.before, "code"),
            Text(r.after, "code"),
            Text(r.source, "dim"),
            duration(r.seconds),
        )
        for i, r in enumerate(step.rewrites[:500], 1)
    ]
    return table(("#", "rule", "before", "after", "defined", "time"), rows, align="rllllr")


def static_steps(panel: StepperPanel, title: str) -> Part:
    """The trace without script."""
    if not panel.steps:
        return Empty("no pass ran: the pipeline is empty")
    total = sum(step.seconds for step in panel.steps if step.depth == 0)
    changed = sum(step.status == "changed" for step in panel.steps)
    rows = []
    for i, step in enumerate(panel.steps):
        rows.append(
            (
                str(i + 1),
                Text("\u2003" * step.depth + step.name, "strong" if step.status != "same" else ""),
                line(
                    SIGN[step.status] if step.status != "failed" else None,
                    Badge(WORD[step.status], TONE[step.status]),
                ),
                Text(panel.counts(i), "code"),
                duration(step.seconds),
            )
        )
    listing = table(("#", "pass", "status", "lines", "time"), rows, align="rlllr")
    details = [
        Details(
            line(f"{i + 1}", Text(step.name, "strong"), panel.counts(i) or WORD[step.status]),
            shortened(panel.view(i, "diff"), STATIC_LINES, STATIC_WIDTH),
            step.status == "failed",
        )
        for i, step in enumerate(panel.steps)
        if step.status != "same"
    ]
    head = f"{title}: {len(panel.steps)} passes, {changed} changed something, {duration(total)}"
    return column(Text(head, "strong"), listing, *details)


__all__ = ["Rewrite", "Step", "StepperPanel", "failure", "script_code"]
