"""Which expressions may do more than give a value."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, GlobalVar, Op
from workbench.ir.module import IRModule
from workbench.relax.expr import Function, If, SeqExpr
from workbench.relax.op.registry import op_info
from workbench.relax.type import FuncType


def is_impure(value: Any, mod: IRModule | None = None) -> bool:
    """Whether evaluating `value` may have effects.

    A direct call of a kernel is one (it writes its last arguments), `call_tir` is none.
    """
    if isinstance(value, If):
        branches = (value.true_branch, value.false_branch)
        return any(is_impure(b.value, mod) for s in branches for b in _bindings(s))
    if not isinstance(value, Call):
        return False
    if isinstance(value.op, Op):
        info = op_info(value)
        return info is None or not info.pure
    ty = value.op.ty
    if isinstance(value.op, GlobalVar) and mod is not None and value.op in mod:
        callee = mod[value.op]
        if not isinstance(callee, Function):
            return True
        return not callee.is_pure
    return not (isinstance(ty, FuncType) and ty.purity)


def _bindings(seq: SeqExpr) -> Any:
    return (b for block in seq.blocks for b in block.bindings)
