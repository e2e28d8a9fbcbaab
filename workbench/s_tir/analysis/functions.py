"""Analyses of whole functions: arithmetic operations, the main block, where buffers are used."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes, walk
from workbench.ir.expr import Call, Expr, IntImm, Var
from workbench.ir.module import IRModule
from workbench.tirx.expr import (
    Add,
    BufferLoad,
    CmpOp,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Sub,
)
from workbench.tirx.function import PrimFunc
from workbench.tirx.op.intrin import CallEffectKind, effect_of
from workbench.tirx.stmt import (
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    SBlock,
    SBlockRealize,
    Stmt,
)

_COUNTED = (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, CmpOp, Call)


def _operations(value: Any) -> float:
    """Arithmetic operations and calls in an expression, outside of indices."""
    count = 0.0
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, BufferLoad):
            continue
        if isinstance(node, _COUNTED):
            count += 1
        if isinstance(node, Expr):
            stack.extend(c for c in node.children() if isinstance(c, Expr))
    return count


def estimate_tir_flops(stmt_or_mod: Stmt | IRModule | PrimFunc) -> float:
    """Arithmetic operations of a program, of every iteration of its loops.

    Loops of unknown extent count once; of a condition, the more expensive side counts; the init of
    a reduction and the arithmetic of indices do not count.
    """
    if isinstance(stmt_or_mod, IRModule):
        functions = [f for f in stmt_or_mod.functions.values() if isinstance(f, PrimFunc)]
        return sum(_count(f.body) for f in functions)
    return _count(stmt_or_mod.body if isinstance(stmt_or_mod, PrimFunc) else stmt_or_mod)


def _count(stmt: Any) -> float:
    if isinstance(stmt, For):
        times = stmt.extent.value if isinstance(stmt.extent, IntImm) else 1
        return times * _count(stmt.body)
    if isinstance(stmt, SBlockRealize):
        return _count(stmt.block.body)
    if isinstance(stmt, BufferStore):
        return _operations(stmt.value)
    if isinstance(stmt, Evaluate):
        return _operations(stmt.value)
    if isinstance(stmt, IfThenElse):
        other = _count(stmt.else_case) if stmt.else_case is not None else 0.0
        return max(_count(stmt.then_case), other)
    return sum(_count(c) for c in stmt.children() if isinstance(c, Stmt))


def find_anchor_sblock(mod: IRModule | PrimFunc) -> SBlock | None:
    """The block that does most of the work: the reduction with the most operations, else the block
    with the most; None if there are no blocks."""
    if isinstance(mod, PrimFunc):
        mod = IRModule({"main": mod})
    best: tuple[bool, float] = (False, -1.0)
    anchor: SBlock | None = None
    for function in mod.functions.values():
        if not isinstance(function, PrimFunc):
            continue
        for block, times in _blocks_with_counts(function.body):
            rank = (block.init is not None, times * _count(block.body))
            if rank > best:
                best, anchor = rank, block
    return anchor


def _blocks_with_counts(body: Stmt) -> list[tuple[SBlock, float]]:
    """The innermost blocks with the number of iterations around them."""
    found: list[tuple[SBlock, float]] = []
    around: list[float] = [1.0]

    def loop(node: For) -> Generator[Any, None, None]:
        extent = node.extent.value if isinstance(node.extent, IntImm) else 1
        around.append(around[-1] * extent)
        yield
        around.pop()

    def block(node: SBlock) -> None:
        if not any(True for _ in iter_nodes(node.body, SBlock)):
            found.append((node, around[-1]))

    walk(body, {For: loop, SBlock: block}, once=False)
    return found


def detect_buffer_access_lca(func: PrimFunc) -> dict[Var, Stmt | None]:
    """For every buffer the innermost loop or block around all accesses to it.

    None: accesses outside of all loops and blocks.
    """
    trails: dict[Var, list[Stmt]] = {}
    trail: list[Stmt] = []

    def scope(node: Any) -> Generator[Any, None, None]:
        trail.append(node)
        yield
        trail.pop()

    def access(node: Any) -> None:
        old = trails.get(node.buffer)
        if old is None:
            trails[node.buffer] = list(trail)
            return
        common: list[Stmt] = []
        for a, b in zip(old, trail, strict=False):
            if a is not b:
                break
            common.append(a)
        trails[node.buffer] = common

    walk(
        func.body,
        {
            For: scope,
            SBlock: scope,
            BufferLoad: access,
            BufferStore: access,
        },
        once=False,
    )
    return {buffer: (found[-1] if found else None) for buffer, found in trails.items()}


def is_pure_function(func: PrimFunc) -> bool:
    """Whether a function writes none of its parameters and calls nothing with effects."""
    return not _effects(func)


def assert_pure_function(func: PrimFunc) -> bool:
    """True for a pure function. Raises WorkbenchError naming what it does otherwise."""
    found = _effects(func)
    if found:
        raise WorkbenchError(f"the function is not pure: {found}")
    return True


def _effects(func: PrimFunc) -> str:
    own = {id(p) for p in func.params}
    for node in iter_nodes(func.body, BufferStore, Call):
        if isinstance(node, BufferStore):
            if id(node.buffer) in own:
                return f"it writes its parameter {node.buffer.name}"
        elif effect_of(node) > CallEffectKind.ReadState:
            return f"it calls {node.op}"
    return ""
