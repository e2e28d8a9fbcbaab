"""UnrollLoop: loops marked as unrolled are written out."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.core.traverse import bound_vars, rewrite
from workbench.ir.expr import IntImm
from workbench.ir.span import made_from
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.analysis.side_effect import jumps_out
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    SeqStmt,
    Stmt,
)
from workbench.tirx.transform.fold import substitute_fold

#: A loop is never written out to more statements than this.
MAX_STATEMENTS = 16384


@define_pass("tirx.UnrollLoop", level="function", on=PrimFunc)
def UnrollLoop(
    func: PrimFunc,
    ctx: PassContext,
    *,
    auto_max_step: int = 0,
    auto_max_depth: int = 8,
    auto_max_extent: int = 0,
    explicit_unroll: bool = True,
    unroll_local_access: bool = False,
) -> PrimFunc:
    """Writes out loops of kind UNROLLED, and short serial loops where the options ask for it.

    Before: `for i in T.unroll(2): A[i] = B[i]`
    After: `A[0] = B[0]`, `A[1] = B[1]`

    Parameters
    ----------
    auto_max_step : serial loops of at most that many statements in all are written out.
    auto_max_depth : … if they nest at most that deep.
    auto_max_extent : serial loops of at most that many turns are written out.
    explicit_unroll : False leaves the loops as they are, marked for the code generator.
    """
    steps = [auto_max_step]
    explicit = [bool(explicit_unroll)]

    def attribute(node: AttrStmt) -> Generator[Any, Any, Any]:
        stacks: dict[str, list[Any]] = {
            "pragma_auto_unroll_max_step": steps,
            "pragma_unroll_explicit": explicit,
        }
        stack = stacks.get(node.attr_key)
        if stack is None:
            return (yield node)
        stack.append(_number(node.value))
        body = yield node.body
        stack.pop()
        return body

    def loop(node: For) -> Generator[Any, Any, Any]:
        new: For = yield node
        if not isinstance(new.extent, IntImm) or new.step is not None:
            return new
        extent = new.extent.value
        asked = new.kind is ForKind.UNROLLED
        auto = False
        if new.kind is ForKind.SERIAL and (steps[-1] or auto_max_extent):
            total = _statements(new.body) * extent
            auto = total <= steps[-1] and _depth(new.body) < auto_max_depth
            auto = auto or extent <= auto_max_extent
        if not (asked or auto) or jumps_out(new.body):
            return new
        if not explicit[-1] or extent * _statements(new.body) > MAX_STATEMENTS:
            return new if asked else new.replace(kind=ForKind.UNROLLED)
        return unrolled(new, extent)

    return rewrite(func, {AttrStmt: attribute, For: loop}, memo=False)


def unrolled(loop: For, extent: int) -> Stmt:
    """The turns of a loop one after another, each with variables of its own."""
    defines = bool(bound_vars(loop.body))
    out: list[Stmt] = []
    for turn in range(extent):
        value = op.add(loop.min, IntImm(loop.loop_var.dtype, turn))
        out.append(substitute_fold(loop.body, {loop.loop_var: value}, defines and turn > 0))
    result = SeqStmt.flatten(out)
    return result if result.span is not None else result.replace(span=made_from(loop))


def _number(value: Any) -> int:
    return value.value if isinstance(value, IntImm) else int(value)


def _statements(stmt: Stmt) -> int:
    """Statements that run in one turn."""
    count = 0
    stack: list[tuple[Any, int]] = [(stmt, 1)]
    while stack:
        node, times = stack.pop()
        if isinstance(node, (BufferStore, Evaluate)):
            count += times
            continue
        if isinstance(node, For) and isinstance(node.extent, IntImm):
            times *= max(node.extent.value, 1)
        stack.extend((c, times) for c in node.children() if isinstance(c, Stmt))
    return count


def _depth(stmt: Stmt) -> int:
    deepest = 0
    stack = [(stmt, 0)]
    while stack:
        node, depth = stack.pop()
        depth += isinstance(node, For)
        deepest = max(deepest, depth)
        stack.extend((c, depth) for c in node.children() if isinstance(c, Stmt))
    return deepest
