"""RenormalizeSplitPattern: divisions of split indices back to their shortest form."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.arith import Analyzer
from workbench.core.traverse import rewrite
from workbench.ir.expr import Range
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx.expr import FloorDiv, FloorMod
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import For


@define_pass("s_tir.RenormalizeSplitPattern", level="function", on=PrimFunc)
def RenormalizeSplitPattern(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Simplifies `//` and `%` that splitting and unrolling leave behind.

    Before: `A[(i * 16 + j) // 16, (i * 16 + j) % 16]` with `j < 16`
    After: `A[i, j]`
    """
    analyzer = Analyzer()

    def loop(node: For) -> Generator[Any, Any, Any]:
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), True)
        return (yield node)

    def division(node: Any) -> Any:
        return analyzer.canonical_simplify(node)

    return rewrite(func, {For: loop, FloorDiv: division, FloorMod: division}, memo=False)
