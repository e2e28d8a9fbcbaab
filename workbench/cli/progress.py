"""Progress of a command that goes through known steps: which one, since when, and its result.

On a terminal the running step shows its elapsed time once a second; elsewhere (a log) a step is one
line when it is done, and one more every ten seconds while it is not.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["Progress", "Step"]


class Step:
    """A running step; set `result` to a few words that are printed when it ends."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.result = ""
        self.start = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time since the step began."""
        return time.perf_counter() - self.start


class Progress:
    """Numbered steps, `total` in all, written to `stream`."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self.total, self.done = total, 0
        self.stream = sys.stdout if stream is None else stream
        self.live = self.stream.isatty()

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Run the body as the next step. An exception marks it as failed and goes on."""
        self.done += 1
        running = Step(title)
        stop = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(running, stop), daemon=True)
        ticker.start()
        try:
            yield running
        except BaseException:
            running.result = "failed"
            raise
        finally:
            stop.set()
            ticker.join()
            self._write(self._line(running), end="\n")

    def _line(self, step: Step) -> str:
        head = f"[{self.done}/{self.total}] {step.title}"
        return f"{head:<44}{step.seconds:6.2f} s  {step.result}".rstrip()

    def _tick(self, step: Step, stop: threading.Event) -> None:
        if self.live:
            self._write(self._line(step))
        while not stop.wait(1.0 if self.live else 10.0):
            self._write(self._line(step), end="" if self.live else " … still running\n")

    def _write(self, text: str, end: str = "") -> None:
        self.stream.write(f"\r\x1b[K{text}{end}" if self.live else f"{text}{end}")
        self.stream.flush()
