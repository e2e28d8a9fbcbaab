"""A `Timing` as a view: bars with the quartile interval, what cannot be told apart, the machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.inspect.timing import Measurement, Timing, duration

from .panel import Data, Progress, Request, unknown
from .part import Bar, Note, Part, Plot, Text, column, line
from .render_html import fragment

_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
#: More bars than this become one bar "others".
MAX_BARS = 40


def unit_for(seconds: float) -> tuple[str, float]:
    """The unit in which the largest value reads well."""
    return next((one for one in _UNITS if seconds >= one[1]), _UNITS[-1])


def _ordered(timing: Timing, order: str) -> list[Measurement]:
    """The parts, slowest first or as in the program."""
    parts = list(timing.parts)
    return sorted(parts, key=lambda part: -part.median) if order == "time" else parts


def _shares(timing: Timing, parts: list[Measurement]) -> list[str]:
    """The note of each bar: its share of the whole, and what it cannot be told from."""
    notes: list[str] = []
    for i, part in enumerate(parts):
        words: list[str] = []
        if timing.total is not None:
            share = part.median / timing.total.median
            words.append(f"{share:.0%} of the call" if share >= 0.005 else "under 1% of the call")
        # Steps compare themselves with the one before: that is their note already.
        compared = timing.total is None and "distinguishable" in part.note
        if i and not compared and not part.distinguishable(parts[i - 1]):
            words.append("not distinguishable from the bar above")
        if part.note:
            words.append(part.note)
        notes.append(" · ".join(words))
    return notes


def timing_plot(timing: Timing, order: str = "") -> Plot:
    """Bars of the parts (and of the whole call first), in `order` or that of the timing."""
    parts = _ordered(timing, order or timing.order)
    hidden = parts[MAX_BARS:]
    parts = parts[:MAX_BARS]
    notes = _shares(timing, parts)
    if timing.total is not None:
        parts, notes = [timing.total, *parts], ["", *notes]
    unit, size = unit_for(max((part.interval[1] for part in parts), default=1.0))
    bars = [
        Bar(p.name, p.median / size, p.interval[0] / size, p.interval[1] / size, note)
        for p, note in zip(parts, notes, strict=True)
    ]
    footer = list(timing.conditions.lines())
    if hidden:
        rest = sum(part.median for part in hidden)
        footer.insert(0, f"{len(hidden)} smaller parts not shown: {duration(rest)} together")
    if parts:
        repeats = sorted({len(part.samples) for part in parts})
        counted = f"{repeats[0]}" if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
        word = "repeat" if counted == "1" else "repeats"
        footer.insert(0, f"median of {counted} {word}; whiskers: first to third quartile")
    return Plot(tuple(bars), unit, timing.title, tuple(footer))


def timing_view(timing: Timing, order: str = "", titled: bool = True) -> Part:
    """The plot, and in words what matters about it; `titled` unless the title stands above."""
    head = Text(timing.title, "strong") if titled else None
    if timing.total is not None:
        low, high = timing.total.interval
        rest = timing.total.median - sum(part.median for part in timing.parts)
        outside = f", of which {duration(rest)} outside the kernels" if rest > 0 else ""
        head = line(
            Text(f"{timing.title}:", "strong") if titled else None,
            f"{duration(timing.total.median)} a call"
            f" [{duration(low)} – {duration(high)}]{outside if timing.parts else ''}",
        )
    warning = None
    if timing.conditions.shared:
        words = "the processor was shared with other programs while this was measured"
        warning = Note(Text(words), "warn")
    return column(head, timing_plot(timing, order), warning)


class TimingPanel:
    """The model of the live timings: order, and measuring again."""

    module = "timings"
    pure = frozenset[str]()
    slow = frozenset({"measure"})

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.title = timing.title

    def _answer(self, order: str, said: str = "") -> Data:
        plot = timing_plot(self.timing, order)
        names = [f"{b.label}: {b.value:.3g} {plot.unit}, {b.note or 'median'}" for b in plot.bars]
        return {
            "html": fragment(timing_view(self.timing, order, titled=False)),
            "names": names,
            "order": order,
            "said": said,
        }

    def data(self) -> Data:
        """The bars in the order that suits them."""
        return {**self._answer(self.timing.order), "again": self.timing.again is not None}

    def answer(self, op: str, args: Mapping[str, Any], progress: Progress) -> Data:
        """`view` {order}: the bars; `measure` {}: the bars of a new measurement."""
        if op == "view":
            order = str(args.get("order", "time"))
            if order not in ("time", "program"):
                raise ValueError(f"expected the order 'time' or 'program', got {order!r}")
            return self._answer(order)
        if op != "measure":
            raise unknown(self, op)
        before, again = self.timing, self.timing.again
        if again is None:
            raise ValueError("this timing was loaded, not measured here: it cannot be repeated")
        self.timing = again(progress.report)
        said = "Measured again"
        if before.total is not None and self.timing.total is not None:
            said += f": {self.timing.total.versus(before.total)} compared with before"
        return self._answer(before.order, said)

    def requests(self) -> Iterable[Request]:
        """Both orders."""
        yield "view", {"order": "time"}
        yield "view", {"order": "program"}

    def static(self) -> Part:
        """The bars."""
        return timing_view(self.timing)

    def pinned(self, state: Mapping[str, Any]) -> Part:
        """The bars in the order on show."""
        return timing_view(self.timing, str(state.get("order", self.timing.order)))
