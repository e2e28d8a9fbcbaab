"""SplitHostDevice and MakePackedAPI, which on a CPU only mark functions."""

from __future__ import annotations

from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes
from workbench.ir.function import CallingConv
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import AttrStmt


@define_pass("tirx.SplitHostDevice")
def SplitHostDevice(mod: IRModule, ctx: PassContext) -> IRModule:
    """Separates kernels from the functions that launch them.

    A CPU has one kind of function, so nothing changes; thread-bound code needs a device.
    """
    for gvar, func in mod.functions.items():
        if isinstance(func, PrimFunc) and _has_threads(func):
            raise WorkbenchError(
                f"{gvar.name_hint} binds loops to threads of a device, "
                f"but its target is {func.attrs.get('target')}",
                root=func,
                hint="use T.parallel on a CPU",
            )
    return mod


def _has_threads(func: PrimFunc) -> bool:
    return any(n.attr_key == "thread_extent" for n in iter_nodes(func.body, AttrStmt))


@define_pass("tirx.MakePackedAPI")
def MakePackedAPI(mod: IRModule, ctx: PassContext) -> IRModule:
    """Marks exported functions for the packed calling convention.

    The code generator writes the wrapper that checks and unpacks arguments; here each PrimFunc
    with a `global_symbol` only gets the attribute `calling_conv`.
    """
    for gvar, func in mod.functions.items():
        if isinstance(func, PrimFunc) and func.attrs.get("global_symbol"):
            attrs: dict[str, Any] = {"calling_conv": int(CallingConv.C_PACKED_FUNC)}
            mod = mod.with_func(gvar, func.with_attrs(attrs))
    return mod
