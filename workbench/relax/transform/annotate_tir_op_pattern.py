"""AnnotateTIROpPattern: kernels are told how they may be fused."""

from __future__ import annotations

from workbench.ir.transform import PassContext, define_pass
from workbench.relax.analysis.kernel_pattern import kernel_pattern
from workbench.tirx.function import PrimFunc


@define_pass("relax.AnnotateTIROpPattern", level="function", on=PrimFunc)
def AnnotateTIROpPattern(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Sets the attribute `op_pattern` of every kernel that has none, from its loops.

    T.func_attr({"tirx.noalias": True})
    →
    T.func_attr({"op_pattern": 0, "tirx.noalias": True})      # element-wise
    """
    if "op_pattern" in func.attrs:
        return func
    return func.with_attr("op_pattern", int(kernel_pattern(func)))
