"""PlanAndUpdateBufferAllocationLocation: buffers are allocated where they are needed."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.core.traverse import iter_nodes, rewrite, walk
from workbench.ir.expr import Call, IntImm, Var
from workbench.ir.span import made_from
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx.analysis.side_effect import uses_var
from workbench.tirx.expr import BufferLoad, IterVar
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    Bind,
    BufferStore,
    DeclBuffer,
    For,
    ForKind,
    SBlock,
    SBlockRealize,
    While,
)

Walk = Generator[Any, Any, Any]
Path = tuple[Any, ...]


@define_pass("s_tir.PlanAndUpdateBufferAllocationLocation", level="function", on=PrimFunc)
def PlanAndUpdateBufferAllocationLocation(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Moves each allocation of a block to the innermost loop that holds all its accesses.

    Before: the root block allocates `B`, used only inside `for i`
    After: the body of `for i` is an opaque block that allocates `B`

    An allocation does not move into a loop whose turns share its content: one that a reduction runs
    over, or that does not choose what is written.
    """
    allocated = {id(b): b for block in iter_nodes(func.body, SBlock) for b in block.alloc_buffers}
    if not allocated:
        return func
    homes = _homes(func, allocated)
    at: dict[int, list[Var]] = {}
    moved: set[int] = set()
    for key, path in homes.items():
        if path and isinstance(path[-1], (For, SBlock)):
            at.setdefault(id(path[-1]), []).append(allocated[key])
            moved.add(key)
    return rewrite(func, {SBlock: _Place(at, moved).block, For: _Place(at, moved).loop}, memo=False)


class _Place:
    """Puts allocations at their new places."""

    def __init__(self, at: dict[int, list[Var]], moved: set[int]) -> None:
        self.at = at
        self.moved = moved

    def block(self, node: SBlock) -> Walk:
        new = yield node
        kept = [b for b in node.alloc_buffers if id(b) not in self.moved]
        added = self.at.get(id(node), [])
        same = len(added) == len(node.alloc_buffers) and not kept
        if same and all(a is b for a, b in zip(added, node.alloc_buffers, strict=True)):
            return new
        return new.replace(alloc_buffers=(*kept, *added))

    def loop(self, node: For) -> Walk:
        new = yield node
        added = self.at.get(id(node))
        if not added:
            return new
        block = SBlock((), (), (), "", new.body, None, tuple(added), span=made_from(node))
        realize = SBlockRealize((), IntImm("bool", 1), block, span=made_from(node))
        return new.replace(body=realize)


def _homes(func: PrimFunc, allocated: dict[int, Var]) -> dict[int, Path]:
    """For each buffer the path of statements down to the place of its allocation."""
    path: list[Any] = []
    found: dict[int, Path] = {}
    alias: dict[int, int] = {}

    def access(buffer: Var) -> None:
        key = alias.get(id(buffer), id(buffer))
        if key not in allocated:
            return
        here = tuple(path)
        old = found.get(key)
        if old is not None:
            common = 0
            for a, b in zip(old, here, strict=False):
                if a is not b:
                    break
                common += 1
            here = old[:common]
        found[key] = here

    def inside(node: Any) -> Walk:
        path.append(node)
        yield node
        path.pop()

    def block(node: SBlock) -> Walk:
        for region in (*node.reads, *node.writes):
            access(region.buffer)
        for match in node.match_buffers:
            access(match.source.buffer)
            source = match.source.buffer
            alias[id(match.buffer)] = alias.get(id(source), id(source))
        path.append(node)
        yield node
        path.pop()

    def use(node: Any) -> None:
        access(node.buffer)

    def declare(node: DeclBuffer) -> Walk:
        sources = [] if node.data is None else list(iter_nodes(node.data, Var))
        for source in sources:
            if id(source) in allocated or id(source) in alias:
                alias[id(node.buffer)] = alias.get(id(source), id(source))
        yield node

    def call(node: Call) -> None:
        for arg in node.args:
            if isinstance(arg, Var) and arg.ty.__family__ == "buffer":
                access(arg)

    table = {
        For: inside,
        While: inside,
        SBlock: block,
        BufferLoad: use,
        BufferStore: use,
        DeclBuffer: declare,
        Call: call,
    }
    walk(func.body, table, once=False)
    return {key: _limit(here, allocated[key]) for key, here in found.items()}


def _limit(path: Path, buffer: Var) -> Path:
    """The longest part of the path that the allocation may move down."""
    start = 0
    for position, node in enumerate(path):
        if isinstance(node, SBlock) and any(b is buffer for b in node.alloc_buffers):
            start = position + 1
    end = start
    for position in range(start, len(path)):
        node = path[position]
        if isinstance(node, While):
            break
        if isinstance(node, For) and not (_own_memory(node) and _separate(node, buffer)):
            break
        end = position + 1
    while end > start and not isinstance(path[end - 1], (For, SBlock)):
        end -= 1
    return path[:end] if end >= start else path[:start]


def _own_memory(loop: For) -> bool:
    """Whether an allocation inside is ordinary memory of one turn (not of a lane or thread)."""
    return loop.kind not in (ForKind.VECTORIZED, ForKind.THREAD_BINDING)


def _separate(loop: For, buffer: Var) -> bool:
    """Whether every turn of the loop writes its own part of the buffer before reading it."""
    if isinstance(loop.extent, IntImm) and loop.extent.value <= 1:
        return True
    verdict = [True]

    def realize(node: SBlockRealize) -> Walk:
        block = node.block
        if any(True for s in iter_nodes(block, BufferStore) if s.buffer is buffer):
            spatial = False
            for axis, value in zip(block.iter_vars, node.iter_values, strict=True):
                if uses_var(value, loop.loop_var):
                    if axis.iter_type != IterVar.DataPar:
                        verdict[0] = False
                    spatial = True
            if not spatial and (block.iter_vars or not _inside_uses(block, loop.loop_var)):
                verdict[0] = False
        yield ()

    def store(node: BufferStore) -> None:
        if node.buffer is buffer and not any(uses_var(i, loop.loop_var) for i in node.indices):
            verdict[0] = False

    walk(loop.body, {SBlockRealize: realize, BufferStore: store}, once=False)
    return verdict[0] and not _reads_other_turns(loop, buffer)


def _reads_other_turns(loop: For, buffer: Var) -> bool:
    """Whether a load's place does not move with the loop, though that of the stores does.

    Such a load sees what earlier turns stored.
    """
    driven = _driven(loop)

    def moving(node: BufferLoad | BufferStore) -> set[int]:
        return {
            axis
            for axis, index in enumerate(node.indices)
            if any(id(v) in driven for v in iter_nodes(index, Var))
        }

    stores = [s for s in iter_nodes(loop.body, BufferStore) if s.buffer is buffer]
    stored = set[int]().union(*map(moving, stores))
    loads = [n for n in iter_nodes(loop.body, BufferLoad) if n.buffer is buffer]
    return bool(stored) and any(not moving(n) & stored for n in loads)


def _driven(loop: For) -> set[int]:
    """The variables whose values depend on the loop's variable."""
    driven = {id(loop.loop_var)}

    def depends(*values: Any) -> bool:
        return any(id(v) in driven for v in iter_nodes(values, Var))

    def inner(node: For) -> Walk:
        if depends(node.min):  # (a longer loop starts at the same place)
            driven.add(id(node.loop_var))
        yield node

    def bind(node: Bind) -> Walk:
        if depends(node.value):
            driven.add(id(node.var))
        yield node

    def realize(node: SBlockRealize) -> Walk:
        for axis, value in zip(node.block.iter_vars, node.iter_values, strict=True):
            if depends(value):
                driven.add(id(axis.var))
        yield node

    walk(loop.body, {For: inner, Bind: bind, SBlockRealize: realize}, once=False)
    return driven


def _inside_uses(block: SBlock, var: Var) -> bool:
    return uses_var(block.body, var)
