"""RemoveNoOp: removes statements without effect."""

from __future__ import annotations

from typing import Any

from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes, rewrite
from workbench.ir.expr import IntImm, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.analysis.side_effect import side_effect
from workbench.tirx.expr import BufferLoad
from workbench.tirx.function import PrimFunc
from workbench.tirx.op.intrin import CallEffectKind
from workbench.tirx.stmt import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    is_no_op,
)


@define_pass("tirx.RemoveNoOp", level="function", on=PrimFunc)
def RemoveNoOp(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Removes loops and conditions around nothing, idle stores, and definitions nobody uses.

    Before: `for i in range(8): if c: pass`, `A[i] = A[i]`
    After: nothing
    """
    return rewrite(
        func,
        {
            For: _loop,
            IfThenElse: _condition,
            AttrStmt: _attribute,
            Evaluate: _evaluate,
            BufferStore: _store,
            SeqStmt: _sequence,
        },
    )


def nothing() -> Stmt:
    """The statement that does nothing."""
    return Evaluate(IntImm("int32", 0))


def _harmless(expr: Any) -> bool:
    return side_effect(expr) <= CallEffectKind.ReadState


def _loop(node: For) -> Any:
    empty = isinstance(node.extent, IntImm) and node.extent.value <= 0
    return nothing() if empty or is_no_op(node.body) else node


def _condition(node: IfThenElse) -> Any:
    if isinstance(node.condition, IntImm):
        if node.condition.value:
            return node.then_case
        return node.else_case if node.else_case is not None else nothing()
    other = node.else_case
    if other is not None and is_no_op(other):
        node = node.replace(else_case=None)
        other = None
    if not is_no_op(node.then_case):
        return node
    if other is None:
        return nothing() if _harmless(node.condition) else Evaluate(node.condition)
    return node.replace(condition=op.logical_not(node.condition), then_case=other, else_case=None)


def _attribute(node: AttrStmt) -> Any:
    return nothing() if is_no_op(node.body) else node


def _evaluate(node: Evaluate) -> Any:
    if isinstance(node.value, IntImm) or not _harmless(node.value):
        return node
    return nothing()


def _store(node: BufferStore) -> Any:
    value = node.value
    same = (
        isinstance(value, BufferLoad)
        and value.buffer is node.buffer
        and structural_equal(value.indices, node.indices)
        and node.predicate is None
        and value.predicate is None
    )
    return nothing() if same else node


def _sequence(node: SeqStmt) -> Any:
    items = _without_unused(node.seq)
    if len(items) == len(node.seq) and not any(map(is_no_op, items)):
        return node if len(node.seq) > 1 else SeqStmt.flatten(node)
    return SeqStmt.flatten(items)


def _without_unused(items: tuple[Stmt, ...]) -> list[Stmt]:
    """The statements without definitions that nothing after them uses."""
    if not any(isinstance(s, (Bind, AllocBuffer, DeclBuffer)) for s in items):
        return list(items)
    used: set[int] = set()
    kept: list[Stmt] = []
    for item in reversed(items):
        if isinstance(item, Bind):
            if id(item.var) not in used and _harmless(item.value):
                continue
        elif isinstance(item, (AllocBuffer, DeclBuffer)) and id(item.buffer) not in used:
            continue
        used |= {id(v) for v in iter_nodes(item, Var)}
        kept.append(item)
    kept.reverse()
    return kept
