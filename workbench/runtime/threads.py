"""How many threads `T.parallel` loops use.

The number is a setting of the process, kept here; thread pools (one for all jitted code, one in
every loaded library) are told by the callbacks they leave in `on_change`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from workbench.core.errors import WorkbenchError

#: Called with the new number whenever it is set.
on_change: list[Callable[[int], None]] = []
_chosen: int | None = None


class ThreadCountError(WorkbenchError, ValueError):
    """A number of threads that cannot be."""


def num_threads() -> int:
    """Threads used by a parallel loop: what `set_num_threads` said, else the environment variable
    WORKBENCH_NUM_THREADS, else the number of processors this process may run on."""
    if _chosen is not None:
        return _chosen
    text = os.environ.get("WORKBENCH_NUM_THREADS", "")
    if text:
        if not text.isdigit() or int(text) < 1:
            raise ThreadCountError(
                f"WORKBENCH_NUM_THREADS: expected a positive whole number, got {text!r}"
            )
        return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(count: int) -> None:
    """Sets the number of threads, at least 1. Raises `ThreadCountError`."""
    global _chosen
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ThreadCountError(f"expected a positive number of threads, got {count!r}")
    _chosen = count
    for callback in on_change:
        callback(count)
