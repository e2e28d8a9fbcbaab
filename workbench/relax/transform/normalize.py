"""Normalize: every operand is a variable or a constant."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import Binding, DataflowBlock, Function, SeqExpr, VarBinding


@define_pass("relax.Normalize", level="function_in_module", on=Function)
def Normalize(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Binds nested expressions to variables and infers missing types.

    gv = R.log(R.exp(x))
    →
    lv = R.exp(x);  gv = R.log(lv)
    """
    builder = BlockBuilder(mod)
    names = [b.var.name for b in iter_nodes(func, Binding)]
    with builder.collect([*names, *(p.name for p in func.params)]) as blocks:
        for block in func.body.blocks:
            with builder.dataflow() if isinstance(block, DataflowBlock) else nullcontext():
                for binding in block.bindings:
                    builder.emit_normalized(_normalized(binding, builder))
        body = builder.as_leaf(builder.normalize(func.body.body))
    new = SeqExpr(blocks, body)
    return func if structural_equal(new, func.body) else func.replace(body=new)


def _normalized(binding: Any, builder: BlockBuilder) -> Binding:
    value = builder.normalize(binding.value)
    if not isinstance(binding, VarBinding):
        return binding.replace(value=builder.as_leaf(value))
    return binding if value is binding.value else binding.replace(value=value)
