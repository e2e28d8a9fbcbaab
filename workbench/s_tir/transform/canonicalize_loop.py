"""CanonicalizeLoop: loops start at 0 and go in steps of 1."""

from __future__ import annotations

from workbench.core.traverse import rewrite, substitute
from workbench.ir.expr import IntImm, Var
from workbench.ir.span import made_from
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import For


@define_pass("s_tir.CanonicalizeLoop", level="function", on=PrimFunc)
def CanonicalizeLoop(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Makes every loop start at 0 with step 1.

    Before: `for i in range(2, 10, step=4): A[i] = …`
    After: `for i in range(2): A[i * 4 + 2] = …`
    """
    return rewrite(func, {For: _canonical})


def _canonical(loop: For) -> For:
    start, step = loop.min, loop.step
    at_zero = isinstance(start, IntImm) and start.value == 0
    by_one = step is None or (isinstance(step, IntImm) and step.value == 1)
    if at_zero and by_one:
        return loop if step is None else loop.replace(step=None)
    var = Var(loop.loop_var.name, loop.loop_var.ty)
    extent = loop.extent
    value = var if by_one else op.multiply(var, step)
    if not by_one:
        extent = op.ceildiv(extent, step)
    if not at_zero:
        value = op.add(value, start)
    return loop.replace(
        loop_var=var,
        min=IntImm(var.dtype, 0),
        extent=extent,
        step=None,
        body=substitute(loop.body, {loop.loop_var: value}),
        span=loop.span or made_from(loop),
    )
