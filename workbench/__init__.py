"""workbench: an interactive compiler workbench for tensor programs.

Names are those of Apache TVM 0.26, so `import workbench as tvm` works for programs written for it.
Importing this package loads the runtime only; the compiler's parts come in when first named.
"""

import importlib
from typing import TYPE_CHECKING, Any

from workbench import runtime
from workbench.runtime import (
    DataType,
    DataTypeCode,
    Device,
    Object,
    cpu,
    cuda,
    device,
    ext_dev,
    get_global_func,
    metal,
    opencl,
    register_global_func,
    rocm,
    vulkan,
)

if TYPE_CHECKING:
    from workbench import (
        arith,
        core,
        driver,
        inspect,
        ir,
        relax,
        s_tir,
        script,
        target,
        te,
        tirx,
        topi,
        views,
        widgets,
    )
    from workbench.driver import build, compile, time, trace
    from workbench.ir import IRModule, instrument, transform

__version__ = "0.1.0"

_MODULES = frozenset(
    [
        "arith",
        "cli",
        "core",
        "driver",
        "inspect",
        "ir",
        "models",
        "relax",
        "s_tir",
        "script",
        "target",
        "te",
        "testing",
        "tirx",
        "topi",
        "views",
        "widgets",
    ]
)
_NAMES = {
    "IRModule": ("workbench.ir", "IRModule"),
    "instrument": ("workbench.ir.instrument", None),
    "transform": ("workbench.ir.transform", None),
    "error": ("workbench.error", None),
    "build": ("workbench.driver", "build"),
    "compile": ("workbench.driver", "compile"),
    "trace": ("workbench.driver", "trace"),
    "time": ("workbench.driver", "time"),
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"workbench.{name}")
    if name in _NAMES:
        module, attr = _NAMES[name]
        loaded = importlib.import_module(module)
        return loaded if attr is None else getattr(loaded, attr)
    raise AttributeError(f"module 'workbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES})


__all__ = [
    "DataType",
    "DataTypeCode",
    "Device",
    "IRModule",
    "Object",
    "arith",
    "build",
    "compile",
    "core",
    "cpu",
    "cuda",
    "device",
    "driver",
    "ext_dev",
    "get_global_func",
    "inspect",
    "instrument",
    "ir",
    "metal",
    "opencl",
    "register_global_func",
    "relax",
    "rocm",
    "runtime",
    "s_tir",
    "script",
    "target",
    "te",
    "time",
    "tirx",
    "topi",
    "trace",
    "transform",
    "views",
    "vulkan",
    "widgets",
]
