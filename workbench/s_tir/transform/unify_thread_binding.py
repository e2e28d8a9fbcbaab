"""UnifyThreadBinding: all loops bound to one thread axis use one variable."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import rewrite, substitute
from workbench.ir.expr import Expr, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import For, ForKind


@define_pass("s_tir.UnifyThreadBinding", level="function", on=PrimFunc)
def UnifyThreadBinding(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Gives loops with the same thread tag the same variable.

    Before: `for a in T.thread_binding(32, "threadIdx.x")` … `for b in T.thread_binding(32, …)`
    After: both loops run over `threadIdx_x`
    """
    shared: dict[str, Var] = {}

    def loop(node: For) -> Any:
        if node.kind is not ForKind.THREAD_BINDING or node.thread_binding is None:
            return node
        tag = node.thread_binding.thread_tag
        var = shared.get(tag)
        if var is None:
            var = shared[tag] = Var(tag.replace(".", "_"), node.loop_var.ty)
        value: Expr = var
        if var.dtype != node.loop_var.dtype:
            value = op.cast(node.loop_var.dtype, var)
        body = substitute(node.body, {node.loop_var: value})
        binding = node.thread_binding.replace(var=var)
        extent = op.cast(var.dtype, node.extent)
        low = op.cast(var.dtype, node.min)
        return node.replace(loop_var=var, min=low, extent=extent, body=body, thread_binding=binding)

    return rewrite(func, {For: loop}, memo=False)
