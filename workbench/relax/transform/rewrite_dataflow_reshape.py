"""RewriteDataflowReshape: kernels that only reshape become views."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, GlobalVar, Op
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.analysis.kernel_pattern import has_reshape_pattern
from workbench.relax.expr import Function, ShapeExpr, Tuple
from workbench.relax.op.manipulate import reshape
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings
from workbench.relax.type import TensorType
from workbench.tirx.function import PrimFunc


@define_pass("relax.RewriteDataflowReshape")
def RewriteDataflowReshape(mod: IRModule, ctx: PassContext) -> IRModule:
    """Replaces calls of kernels that copy their input under another shape by `R.reshape`.

    lv = R.call_tir(cls.expand_dims, (x,), out_ty=R.Tensor((1, 8)))
    →
    lv = R.reshape(x, R.shape([1, 8]))      # the machine makes a view of it
    """
    known: dict[GlobalVar, bool] = {}

    def only_reshapes(gvar: GlobalVar) -> bool:
        if gvar not in known:
            func = mod[gvar]
            known[gvar] = isinstance(func, PrimFunc) and has_reshape_pattern(func)
        return known[gvar]

    def visit(binding: Any, run: BindingRewriter) -> None:
        call = binding.value
        if _is_call_tir(call) and run.in_dataflow:
            operands = call.args[1].fields if isinstance(call.args[1], Tuple) else ()
            if len(operands) == 1 and isinstance(call.ty, TensorType) and call.ty.dims is not None:
                if only_reshapes(call.args[0]):
                    view = reshape(operands[0], ShapeExpr(call.ty.dims))
                    run.bind(binding, view.replace(ty=call.ty, span=call.span))
                    return
        run.keep(binding)

    for gvar, func in mod.functions.items():
        if isinstance(func, Function):
            mod = mod.with_func(gvar, rewrite_bindings(func, visit))
    return mod


def _is_call_tir(value: Any) -> bool:
    return (
        isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == "relax.call_tir"
    )
