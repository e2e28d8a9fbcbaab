"""HoistIfThenElse: conditions that a loop does not change are tested before it."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import rewrite
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx.analysis.side_effect import is_pure, uses_var
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import For, ForKind, IfThenElse, SeqStmt


@define_pass("s_tir.HoistIfThenElse", level="function", on=PrimFunc)
def HoistIfThenElse(func: PrimFunc, ctx: PassContext, *, variant: str | None = None) -> PrimFunc:
    """Moves a condition out of the loops whose variables it does not use.

    Before: `for i: for j: if i < n: A[i, j] = 0`
    After: `for i: if i < n: for j: A[i, j] = 0`
    """
    return rewrite(func, {For: _hoist})


def _hoist(loop: For) -> Any:
    body = loop.body
    if isinstance(body, SeqStmt) and len(body.seq) == 1:
        body = body.seq[0]
    if not isinstance(body, IfThenElse) or loop.kind is ForKind.THREAD_BINDING:
        return loop
    if uses_var(body.condition, loop.loop_var) or not is_pure(body.condition):
        return loop
    then = loop.replace(body=body.then_case)
    other = None if body.else_case is None else loop.replace(body=body.else_case)
    return body.replace(then_case=then, else_case=other)
