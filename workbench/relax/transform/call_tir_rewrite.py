"""CallTIRRewrite: results of kernels are allocated by the caller."""

from __future__ import annotations

from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Call, Expr, Op
from workbench.ir.transform import PassContext, define_pass
from workbench.ir.type import TupleType, Type
from workbench.relax.expr import Function, Tuple
from workbench.relax.op.builtin import alloc_tensor
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings
from workbench.relax.type import TensorType

_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed")


@define_pass("relax.CallTIRRewrite", level="function", on=Function)
def CallTIRRewrite(func: Function, ctx: PassContext) -> Function:
    """Allocates the outputs of kernel calls and passes them as last arguments.

        lv = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((4, 8), "float32"))
        →
        lv = R.builtin.alloc_tensor(R.shape([4, 8]), "float32", 0, "global");  cls.relu(x, lv)

    Raises WorkbenchError if the shape of an output is not known.
    """

    def visit(binding: Any, run: BindingRewriter) -> None:
        call = binding.value
        if isinstance(call, Call) and isinstance(call.op, Op) and call.op.name in _CALLS:
            _lower(binding, call, run, func)
        else:
            run.keep(binding)

    return rewrite_bindings(func, visit)


def _lower(binding: Any, call: Call, run: BindingRewriter, func: Function) -> None:
    callee, operands = call.args[0], call.args[1]
    inputs = list(operands.fields) if isinstance(operands, Tuple) else [operands]
    types = _out_types(call)
    inplace = call.attr("inplace_indices") or [-1] * len(types)
    if len(types) == 1 and inplace[0] == -1:
        run.bind(binding, _allocation(types[0], call, func), call.span)
        outputs: list[Expr] = [binding.var]
    else:
        outputs = [
            run.emit(_allocation(t, call, func), "alloc") if at == -1 else inputs[at]
            for t, at in zip(types, inplace, strict=True)
        ]
    scalars = list(call.args[2:])
    fresh = [o for o, at in zip(outputs, inplace, strict=True) if at == -1]
    args = (*inputs, *fresh, *scalars)
    run.emit(Call(callee, args, ret_ty=TupleType(()), span=call.span), "_")
    if outputs[0] is not binding.var:
        value = outputs[0] if not isinstance(call.ty, TupleType) else Tuple(outputs)
        run.bind(binding, value, call.span)


def _out_types(call: Call) -> list[Type]:
    return list(call.ty.fields) if isinstance(call.ty, TupleType) else [call.ty]  # type: ignore[list-item]


def _allocation(ty: Any, call: Call, func: Function) -> Call:
    if not isinstance(ty, TensorType) or ty.dims is None or ty.dtype is None:
        raise WorkbenchError(
            f"the output of {call.args[0]} has the type {ty}: allocation needs its shape",
            nodes=(call,),
            root=func,
            hint="R.match_cast gives it a shape",
        )
    return alloc_tensor(ty.shape, ty.dtype, 0, "global").replace(span=call.span)
