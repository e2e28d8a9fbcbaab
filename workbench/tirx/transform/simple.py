"""Small passes: marks on functions, choice of functions, checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import rewrite
from workbench.ir.expr import Call, IntImm, Op
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass, function_pass_decorator
from workbench.target.target import Target
from workbench.tirx.analysis.well_formed import verify_memory
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import AssertStmt, Evaluate

#: Makes a pass of a Python function `f(func, mod, ctx)`.
prim_func_pass = function_pass_decorator(PrimFunc)


@define_pass("tirx.BindTarget")
def BindTarget(mod: IRModule, ctx: PassContext, *, target: Any) -> IRModule:
    """Gives functions without a target the attribute `target`."""
    bound = target if isinstance(target, Target) else Target(target)
    for gvar, func in mod.functions.items():
        if isinstance(func, PrimFunc) and "target" not in func.attrs:
            mod = mod.with_func(gvar, func.with_attr("target", bound))
    return mod


@define_pass("tirx.AnnotateEntryFunc")
def AnnotateEntryFunc(mod: IRModule, ctx: PassContext) -> IRModule:
    """Marks the only function with a global symbol (or `main`) as the entry."""
    exported = [
        (g, f)
        for g, f in mod.functions.items()
        if isinstance(f, PrimFunc) and f.attrs.get("global_symbol")
    ]
    if len(exported) > 1:
        exported = [(g, f) for g, f in exported if g.name_hint == "main"]
    for gvar, func in exported[:1]:
        mod = mod.with_func(gvar, func.with_attr("tirx.is_entry_func", True))
    return mod


@define_pass("tirx.VerifyMemory", level="function", on=PrimFunc)
def VerifyMemory(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Raises if a function for a device accesses global memory outside a kernel."""
    if not verify_memory(func):
        name = func.attrs.get("global_symbol", "the function")
        raise WorkbenchError(
            f"{name} accesses memory of the device outside any thread",
            root=func,
            hint="bind loops to threads (blockIdx.x, threadIdx.x) in its schedule",
        )
    return func


@define_pass("tirx.Apply", level="function", on=PrimFunc)
def Apply(func: PrimFunc, ctx: PassContext, *, ftransform: Callable[[PrimFunc], Any]) -> Any:
    """Applies a Python function to every PrimFunc."""
    return ftransform(func)


@define_pass("tirx.Filter", level="function", on=PrimFunc)
def Filter(func: PrimFunc, ctx: PassContext, *, fcond: Callable[[PrimFunc], bool]) -> Any:
    """Keeps the functions for which `fcond` holds."""
    return func if fcond(func) else None


@define_pass("tirx.RemoveAssume", level="function", on=PrimFunc)
def RemoveAssume(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Removes `T.assume(…)` statements."""
    mark = Op.get("tirx.assume")

    def drop(node: Evaluate) -> Any:
        if isinstance(node.value, Call) and node.value.op is mark:
            return _nothing()
        return node

    return rewrite(func, {Evaluate: drop})


@define_pass("tirx.SkipAssert", level="function", on=PrimFunc)
def SkipAssert(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Removes assertions."""
    return rewrite(func, {AssertStmt: lambda node: _nothing()})


def _nothing() -> Evaluate:
    return Evaluate(IntImm("int32", 0))
