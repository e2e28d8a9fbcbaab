"""Pass instruments: callbacks around passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class PassInstrument:
    """Base of instruments; override what you need.

    `should_run` may veto a pass that is not required; the others observe.
    """

    def enter_pass_ctx(self) -> None:
        """The context is entered."""

    def exit_pass_ctx(self) -> None:
        """The context is left."""

    def should_run(self, mod: Any, info: Any) -> bool:
        """Whether the pass may run."""
        return True

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """Called before a pass."""

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """Called after a pass."""


def pass_instrument(pi_cls: type | None = None) -> Any:
    """Class decorator: makes an instrument of a class that defines some of the callbacks."""

    def make(cls: type) -> type:
        if issubclass(cls, PassInstrument):
            return cls
        return type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__})

    return make if pi_cls is None else make(pi_cls)


@dataclass
class _Timing:
    name: str
    seconds: float = 0.0
    inner: list[_Timing] = field(default_factory=list)


class PassTimingInstrument(PassInstrument):
    """Measures passes; nested passes are indented in `render()`."""

    def __init__(self) -> None:
        self._root = _Timing("")
        self._stack: list[tuple[_Timing, float]] = []

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """See `PassInstrument`."""
        entry = _Timing(info.name)
        parent = self._stack[-1][0] if self._stack else self._root
        parent.inner.append(entry)
        self._stack.append((entry, time.perf_counter()))

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """See `PassInstrument`."""
        entry, start = self._stack.pop()
        entry.seconds = time.perf_counter() - start

    def render(self) -> str:
        """A table of the times in microseconds."""
        total = sum(t.seconds for t in self._root.inner) or 1.0
        lines: list[str] = []

        def show(entry: _Timing, depth: int) -> None:
            share = 100 * entry.seconds / total
            lines.append(f"{'  ' * depth}{entry.name}: {entry.seconds * 1e6:.0f} us ({share:.1f}%)")
            for item in entry.inner:
                show(item, depth + 1)

        for item in self._root.inner:
            show(item, 0)
        return "\n".join(lines)


class _Print(PassInstrument):
    def __init__(self, write: Callable[[str], Any] = print) -> None:
        self.write = write


class PrintBeforeAll(_Print):
    """Prints the module before every pass."""

    def run_before_pass(self, mod: Any, info: Any) -> None:
        """See `PassInstrument`."""
        self.write(f"before {info.name}:\n{mod}")


class PrintAfterAll(_Print):
    """Prints the module after every pass."""

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """See `PassInstrument`."""
        self.write(f"after {info.name}:\n{mod}")


class DumpIR(PassInstrument):
    """Writes the module after every pass to `dump_dir/NN_pass.py`."""

    def __init__(self, dump_dir: Any, refresh: bool = False) -> None:
        from pathlib import Path

        self.dump_dir = Path(dump_dir)
        self.refresh = refresh
        self.counter = 0

    def enter_pass_ctx(self) -> None:
        """See `PassInstrument`."""
        self.dump_dir.mkdir(parents=True, exist_ok=True)
        if self.refresh:
            for old in self.dump_dir.glob("[0-9]*_*.py"):
                old.unlink()

    def run_after_pass(self, mod: Any, info: Any) -> None:
        """See `PassInstrument`."""
        name = info.name.replace(".", "_")
        (self.dump_dir / f"{self.counter:03d}_{name}.py").write_text(str(mod), encoding="utf-8")
        self.counter += 1
