"""The recorder: who did what to which program, and how long it took.

Passes, rewrites, arithmetic rules and schedule primitives report here. It is off by default; then
`active()` is one context-variable read that returns None and nothing else happens.
The pass stepper, the rewrite log, bisecting and the schedule waterfall are consumers.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Event:
    """One recorded step.

    `kind` is "pass", "rewrite", "rule" or "primitive"; `name` is what ran; `before` and `after`
    are the values (immutable, so keeping them costs a reference); `source` is "file:line" of the
    rule where known; `seconds` the time taken; `depth` the nesting; `info` whatever else is worth
    keeping (options of a pass, arguments of a primitive, an error).
    """

    kind: str
    name: str
    before: Any = None
    after: Any = None
    source: str = ""
    seconds: float = 0.0
    depth: int = 0
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether the value is another object afterwards."""
        return self.after is not self.before


class Recorder:
    """Collects events of the wanted kinds, in the order in which they started."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = frozenset(kinds or ("pass", "primitive"))
        self.events: list[Event] = []
        self.depth = 0

    def wants(self, kind: str) -> bool:
        """Whether events of this kind are kept."""
        return kind in self.kinds

    def add(self, event: Event) -> None:
        """Keeps a finished event."""
        event.depth = self.depth
        self.events.append(event)

    @contextmanager
    def step(self, kind: str, name: str, before: Any, **info: Any) -> Generator[Event]:
        """Times a block; the block sets `event.after`. An exception is noted and goes on."""
        event = Event(kind, name, before, before, depth=self.depth, info=info)
        self.events.append(event)
        self.depth += 1
        start = time.perf_counter()
        try:
            yield event
        except Exception as error:
            event.info["error"] = error
            raise
        finally:
            event.seconds = time.perf_counter() - start
            self.depth -= 1


_current: ContextVar[Recorder | None] = ContextVar("workbench_recorder", default=None)


def active(kind: str) -> Recorder | None:
    """The current recorder if it wants events of `kind`, else None."""
    recorder = _current.get()
    return recorder if recorder is not None and kind in recorder.kinds else None


@contextmanager
def recording(*kinds: str) -> Generator[Recorder]:
    """Records events of the given kinds (default: passes and primitives) in this context."""
    recorder = Recorder(*kinds)
    token = _current.set(recorder)
    try:
        yield recorder
    finally:
        _current.reset(token)
