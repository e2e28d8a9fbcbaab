"""LowerInitBlock: the initialisation of a reduction becomes a condition."""

from __future__ import annotations

from workbench.core.traverse import rewrite
from workbench.ir.span import made_from
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.expr import IterVar
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import IfThenElse, SBlock, SeqStmt


@define_pass("s_tir.LowerInitBlock", level="function", on=PrimFunc)
def LowerInitBlock(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Runs `init` of a block where its reduction variables are at their first values.

    Before: `with T.init(): C[vi] = 0` … `C[vi] = C[vi] + A[vi, vk]`
    After: `if vk == 0: C[vi] = 0` … `C[vi] = C[vi] + A[vi, vk]`
    """
    return rewrite(func, {SBlock: _lower})


def _lower(block: SBlock) -> SBlock:
    if block.init is None:
        return block
    conditions = [
        op.equal(axis.var, axis.dom.min)
        for axis in block.iter_vars
        if axis.iter_type == IterVar.CommReduce and axis.dom is not None
    ]
    init = block.init
    if conditions:
        init = IfThenElse(op.all(*conditions), init, span=made_from(block))
    return block.replace(init=None, body=SeqStmt.flatten(init, block.body))
