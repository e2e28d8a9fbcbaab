"""RewriteUnsafeSelect: a choice one side of which may fault evaluates only the chosen side."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import iter_nodes, rewrite
from workbench.ir.expr import Call, Op
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx.expr import BufferLoad, Div, FloorDiv, FloorMod, Mod, Select
from workbench.tirx.function import PrimFunc
from workbench.tirx.op.intrin import CallEffectKind, effect_of


@define_pass("s_tir.RewriteUnsafeSelect", level="function", on=PrimFunc)
def RewriteUnsafeSelect(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Turns scalar selects with loads or divisions in a branch into `if_then_else`.

    Before: `T.Select(i < n, A[i], 0.0)`
    After: `T.if_then_else(i < n, A[i], 0.0)`
    """
    return rewrite(func, {Select: _rewrite})


def _rewrite(node: Select) -> Any:
    if node.dtype.lanes != 1 or not (_unsafe(node.true_value) or _unsafe(node.false_value)):
        return node
    args = (node.condition, node.true_value, node.false_value)
    return Call(Op.get("tirx.if_then_else"), args, ret_ty=node.ty, span=node.span)


def _unsafe(expr: Any) -> bool:
    for node in iter_nodes(expr, BufferLoad, Call, Div, Mod, FloorDiv, FloorMod):
        if isinstance(node, BufferLoad):
            return True
        if isinstance(node, Call):
            if effect_of(node) > CallEffectKind.Pure:
                return True
        elif not node.dtype.is_float:
            return True
    return False
