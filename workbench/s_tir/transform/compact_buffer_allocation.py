"""CompactBufferAllocation: buffers get only the part that is accessed."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.arith import Analyzer
from workbench.core.traverse import iter_nodes, rewrite, walk
from workbench.ir.expr import Call, Expr, IntImm, Range, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.s_tir.analysis.regions import relax_region, union_region
from workbench.tirx import op
from workbench.tirx.expr import BufferLoad
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    Bind,
    BufferRegion,
    BufferStore,
    For,
    MatchBufferRegion,
    SBlock,
)


@define_pass("s_tir.CompactBufferAllocation", level="function", on=PrimFunc)
def CompactBufferAllocation(
    func: PrimFunc, ctx: PassContext, *, is_strict: bool = True
) -> PrimFunc:
    """Shrinks allocations of blocks to the region accessed inside them.

    Before: inside `for i`: `B = T.alloc_buffer((128, 128))`, used as `B[i, j]` for all `j`
    After: `B = T.alloc_buffer((1, 128))`, used as `B[0, j]`
    """
    found = _Accesses().collect(func)
    simplify = Analyzer().simplify
    changes = {key: change for key, regions in found.items() if (change := regions.change())}
    if not changes:
        return func

    def access(node: Any) -> Any:
        change = changes.get(id(node.buffer))
        if change is None:
            return node
        new, lows = change
        indices = tuple(
            simplify(op.subtract(i, low)) for i, low in zip(node.indices, lows, strict=True)
        )
        return node.replace(buffer=new, indices=indices)

    def region(node: BufferRegion) -> Any:
        change = changes.get(id(node.buffer))
        if change is None:
            return node
        new, lows = change
        ranges = [
            Range.from_min_extent(simplify(op.subtract(r.min, low)), r.extent)
            for r, low in zip(node.region, lows, strict=True)
        ]
        return BufferRegion(new, tuple(ranges))

    def block(node: SBlock) -> SBlock:
        buffers = tuple(changes[id(b)][0] if id(b) in changes else b for b in node.alloc_buffers)
        return node.replace(alloc_buffers=buffers)

    table = {BufferLoad: access, BufferStore: access, BufferRegion: region, SBlock: block}
    return rewrite(func, table)


class _Regions:
    """What is accessed of one buffer, in terms of the variables outside its block."""

    def __init__(self, buffer: Var, depth: int, outside: set[int], analyzer: Analyzer) -> None:
        self.buffer = buffer
        self.depth = depth
        self.outside = outside
        self.analyzer = analyzer
        self.region: list[Range] | None = None
        self.whole = bool(buffer.ty.strides) or buffer.ty.elem_offset is not None

    def add(self, ranges: list[Range], loops: list[For]) -> None:
        """Joins the box that `ranges` sweeps over the loops inside the block."""
        if self.whole:
            return
        env = {
            f.loop_var: (f.min, op.subtract(op.add(f.min, f.extent), IntImm(f.min.dtype, 1)))
            for f in loops[self.depth :]
        }
        shape = self.buffer.ty.shape
        swept = relax_region(ranges, env, self.analyzer, shape) if env else ranges
        swept = [
            r if self._closed(r) else Range(extent) for r, extent in zip(swept, shape, strict=True)
        ]
        if self.region is None:
            self.region = swept
        else:
            self.region = union_region(self.region, swept, self.analyzer, shape)

    def _closed(self, r: Range) -> bool:
        """Whether a range speaks only of variables known outside the block."""
        nodes = list(iter_nodes((r.min, r.extent), Var, BufferLoad))
        return all(isinstance(n, Var) and id(n) in self.outside for n in nodes)

    def change(self) -> tuple[Var, list[Expr]] | None:
        """The smaller buffer and the start of its region, or None."""
        if self.whole or self.region is None:
            return None
        shape, lows, same = [], [], True
        for r, old in zip(self.region, self.buffer.ty.shape, strict=True):
            extent = self._constant(r.extent)
            if extent is not None and (not isinstance(old, IntImm) or extent < old.value):
                shape.append(IntImm(old.dtype, max(extent, 1)))
                lows.append(r.min)
                same = False
            else:
                shape.append(old)
                lows.append(IntImm(old.dtype, 0))
        if same:
            return None
        ty = self.buffer.ty.replace(shape=tuple(shape))
        return Var(self.buffer.name, ty, self.buffer.span), lows

    def _constant(self, extent: Expr) -> int | None:
        simple = self.analyzer.simplify(extent)
        if isinstance(simple, IntImm):
            return simple.value
        bound = self.analyzer.const_int_bound(simple).max_value
        return bound if bound < (1 << 31) - 1 else None


class _Accesses:
    """One walk over a function."""

    def __init__(self) -> None:
        self.analyzer = Analyzer()
        self.loops: list[For] = []
        self.scope: set[int] = set()
        self.found: dict[int, _Regions] = {}

    def collect(self, func: PrimFunc) -> dict[int, _Regions]:
        """The regions of all buffers that blocks allocate."""
        for param in func.params:
            self.scope.add(id(param))
            self.scope |= {id(v) for v in iter_nodes(param.ty, Var)}
        table = {
            For: self._loop,
            Bind: self._bind,
            SBlock: self._block,
            BufferLoad: self._access,
            BufferStore: self._access,
            Call: self._call,
        }
        walk(func.body, table, once=False)
        return self.found

    def _loop(self, node: For) -> Generator[Any, None, None]:
        yield (node.min, node.extent)
        self.analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), True)
        self.loops.append(node)
        self.scope.add(id(node.loop_var))
        yield node.body
        self.loops.pop()
        self.scope.discard(id(node.loop_var))

    def _bind(self, node: Bind) -> Generator[Any, None, None]:
        yield node.value

    def _block(self, node: SBlock) -> Generator[Any, None, None]:
        outside = set(self.scope)
        for buffer in node.alloc_buffers:
            self.found[id(buffer)] = _Regions(buffer, len(self.loops), outside, self.analyzer)
        for match in node.match_buffers:
            self._match(match)
        for body in (node.init, node.body):
            if body is not None:
                yield body

    def _match(self, match: MatchBufferRegion) -> None:
        entry = self.found.get(id(match.source.buffer))
        if entry is not None:
            entry.add(list(match.source.region), self.loops)

    def _access(self, node: Any) -> Generator[Any, None, None]:
        entry = self.found.get(id(node.buffer))
        if entry is not None:
            ranges = [Range.from_min_extent(i, IntImm(i.dtype, 1)) for i in node.indices]
            if any(i.dtype.lanes > 1 for i in node.indices):
                entry.whole = True
            else:
                entry.add(ranges, self.loops)
        yield node

    def _call(self, node: Call) -> Generator[Any, None, None]:
        """A pointer to a buffer may reach all of it."""
        for arg in node.args:
            entry = self.found.get(id(arg)) if isinstance(arg, Var) else None
            if entry is not None:
                entry.whole = True
        yield node
