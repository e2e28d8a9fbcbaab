"""ConvertBlocksToOpaque: block variables are replaced by the values bound to them."""

from __future__ import annotations

from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import rewrite, substitute
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import SBlockRealize


@define_pass("s_tir.ConvertBlocksToOpaque", level="function", on=PrimFunc)
def ConvertBlocksToOpaque(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Removes the iteration variables of blocks.

    Before: `vi, vj = T.axis.remap("SS", [i, j])`, `B[vi, vj] = A[vi, vj]`
    After: `B[i, j] = A[i, j]`
    """

    def opaque(node: SBlockRealize) -> Any:
        block = node.block
        if not block.iter_vars:
            return node
        if block.init is not None:
            raise WorkbenchError(
                f"block {block.name_hint!r} still has an init",
                nodes=(node,),
                root=func,
                hint="run LowerInitBlock first",
            )
        values = {a.var: v for a, v in zip(block.iter_vars, node.iter_values, strict=True)}
        new = substitute(block.replace(iter_vars=()), values)
        return node.replace(iter_values=(), block=new)

    return rewrite(func, {SBlockRealize: opaque})
