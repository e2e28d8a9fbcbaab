"""Which calls may do more than give a value."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, Expr, GlobalVar, Op, Var
from workbench.ir.module import IRModule
from workbench.relax.expr import Function
from workbench.relax.type import FuncType


def is_impure_call(call: Call, mod: IRModule | None = None) -> bool:
    """Whether a call may have effects, by the declaration of the operator or the callee's type."""
    callee = call.op
    if isinstance(callee, Op):
        return not callee.attr("pure", False)
    ty: Any = callee.ty
    if isinstance(callee, GlobalVar) and mod is not None and callee in mod:
        found = mod[callee]
        return not (isinstance(found, Function) and found.is_pure)
    return not (isinstance(ty, FuncType) and ty.purity)


def contains_impure_call(expr: Expr, own_name: Var | GlobalVar | None = None) -> bool:
    """Whether there is a call with effects in an expression (or in the body of a function).

    own_name : the name of the function itself; its recursive calls do not count.
    """

    def counts(call: Call) -> bool:
        if own_name is not None and isinstance(call.op, (Var, GlobalVar)) and call.op == own_name:
            return False
        return is_impure_call(call)

    root: Any = expr.body if isinstance(expr, Function) else expr
    inner = {id(c) for f in iter_nodes(root, Function) for c in iter_nodes(f.body, Call)}
    return any(counts(c) for c in iter_nodes(root, Call) if id(c) not in inner)


__all__ = ["contains_impure_call", "is_impure_call"]
