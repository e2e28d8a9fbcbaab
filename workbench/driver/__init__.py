"""Layer 10: the entry points `compile`, `build`, `trace` and `time` of `import workbench as wb`."""

from __future__ import annotations

from typing import Any

from workbench.driver.compile import build, compile
from workbench.inspect.pass_trace import trace


def time(exe: Any, *args: Any, **options: Any) -> Any:
    """Measures a compiled program and its kernels; see `workbench.inspect.model_timing.time`."""
    from workbench.inspect.model_timing import time as measure_model

    return measure_model(exe, *args, **options)


__all__ = ["build", "compile", "time", "trace"]
