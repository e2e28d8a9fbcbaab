"""LegalizeOps: operators become kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.ir.expr import Call, Expr, Op
from workbench.ir.module import IRModule
from workbench.ir.span import made_from
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.analysis.kernel_pattern import shape_known
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import Function
from workbench.relax.op.registry import OpInfo, op_info
from workbench.relax.transform.rewriter import BindingRewriter

Legalize = Callable[[BlockBuilder, Call], Expr]
#: A legalisation may use operators that are legalised in turn, at most so many times.
_ROUNDS = 8


def _rule(call: Call, custom: Mapping[str, Legalize | None]) -> Legalize | None:
    if not isinstance(call.op, Op):
        return None
    if call.op.name in custom:
        return custom[call.op.name]
    info: OpInfo | None = op_info(call)
    if info is None or info.legalize is None:
        return None
    known = shape_known(call.ty) and all(shape_known(a.ty) for a in call.args)
    return info.legalize if known else None


@define_pass("relax.LegalizeOps")
def LegalizeOps(
    mod: IRModule,
    ctx: PassContext,
    *,
    customize_legalize_map: Mapping[str, Legalize] | None = None,
    skip_ops: Sequence[str] | None = None,
) -> IRModule:
    """Replaces operators by calls of kernels, made as each operator's declaration says.

        lv = R.nn.relu(x)
        →
        lv = R.call_tir(cls.relu, (x,), out_ty=R.Tensor((n, 8), "float32"))

    Equal kernels are shared. An operator whose shapes are not known stays. Kernels, their blocks
    and the calls remember the operator they implement (`span.origin`).

    customize_legalize_map : operator name → `(builder, call) → expression`, tried first.
    skip_ops : names of operators to keep as they are.
    """
    if not ctx.get("relax.transform.apply_legalize_ops", True):
        return mod
    custom: dict[str, Legalize | None] = dict(customize_legalize_map or {})
    custom.update(dict.fromkeys(skip_ops or ()))
    builder = BlockBuilder(mod)
    for gvar, func in mod.functions.items():
        if isinstance(func, Function):
            for _ in range(_ROUNDS):
                new = _legalize(func, builder, custom)
                if new is func:
                    break
                func = new
            builder.update_func(gvar, func)
    return mod.replace(functions=builder.get().functions)


def _legalize(
    func: Function, builder: BlockBuilder, custom: Mapping[str, Legalize | None]
) -> Function:
    def visit(binding: Any, run: BindingRewriter) -> None:
        call = binding.value
        rule = _rule(call, custom) if isinstance(call, Call) else None
        if rule is None:
            run.keep(binding)
            return
        origin = call.span.origin if call.span is not None and call.span.origin else call
        builder.origin = origin
        try:
            value = builder.normalize(rule(builder, call))
        finally:
            builder.origin = None
        span = made_from(origin)
        run.bind(binding, value.replace(span=span) if value.span is None else value, span)

    return BindingRewriter(visit, builder).function(func)
