"""Layer 10: the entry points `compile`, `build`, `trace` and `time` of `import workbench as wb`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.driver.compile import build, compile
from workbench.inspect.model_timing import time as measure_model
from workbench.inspect.pass_trace import PassTrace
from workbench.inspect.pass_trace import trace as record_passes
from workbench.ir.function import BaseFunc
from workbench.ir.module import IRModule


def trace(
    mod: IRModule | BaseFunc,
    pipeline: Callable[[IRModule], Any] | None = None,
    *,
    target: Any = None,
    rewrites: bool = False,
    title: str = "",
) -> PassTrace:
    """Runs passes over a program and records each: `.explore()` steps through them.

    Parameters
    ----------
    mod : a module or a function.
    pipeline : a pass or any function of a module; default: compiling for `target`.
    rewrites : record the single rewrites inside the passes as well (slower).
    """
    run = pipeline if pipeline is not None else lambda program: compile(program, target)
    return record_passes(mod, run, rewrites=rewrites, title=title)


def time(exe: Any, *args: Any, **options: Any) -> Any:
    """Measures a compiled program and its kernels; see `workbench.inspect.model_timing.time`."""
    return measure_model(exe, *args, **options)


__all__ = ["build", "compile", "time", "trace"]
