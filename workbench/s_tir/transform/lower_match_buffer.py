"""LowerMatchBuffer: views of regions become accesses of the buffers they view."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes, rewrite, substitute
from workbench.ir.expr import Call, Expr, IntImm, Op, Range, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.buffer import flat_offset
from workbench.tirx.expr import BufferLoad
from workbench.tirx.function import PrimFunc
from workbench.tirx.op.builtin import buffer_data
from workbench.tirx.stmt import BufferRegion, BufferStore, MatchBufferRegion, SBlock


@define_pass("s_tir.LowerMatchBuffer", level="function", on=PrimFunc)
def LowerMatchBuffer(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Removes `match_buffers` from blocks.

    Before: `B = T.match_buffer(A[i * 4:i * 4 + 4, j], (4,))`, `B[k] = 0`
    After: `A[i * 4 + k, j] = 0`
    """
    views: dict[int, MatchBufferRegion] = {}
    symbols: dict[Var, Expr] = {}
    blocks: list[SBlock] = list(iter_nodes(func.body, SBlock))
    for node in blocks:
        for match in node.match_buffers:
            views[id(match.buffer)] = match
            _bind_symbols(func, match, symbols)
    if not views:
        return func

    def source_of(buffer: Var, indices: Any) -> tuple[Var, list[Expr]]:
        new = list(indices)
        while id(buffer) in views:
            match = views[id(buffer)]
            new = _shift(match, new)
            buffer = match.source.buffer
        return buffer, new

    def access(node: Any) -> Any:
        if id(node.buffer) not in views:
            return node
        buffer, indices = source_of(node.buffer, node.indices)
        return node.replace(buffer=buffer, indices=tuple(indices))

    def region(node: BufferRegion) -> Any:
        if id(node.buffer) not in views:
            return node
        buffer, lows = source_of(node.buffer, [r.min for r in node.region])
        extents = [r.extent for r in node.region]
        ones = [IntImm(x.dtype, 1) for x in lows[: len(lows) - len(extents)]]
        ranges = zip(lows, [*ones, *extents], strict=True)
        return BufferRegion(buffer, tuple(Range.from_min_extent(a, b) for a, b in ranges))

    def pointer(node: Call) -> Any:
        if node.op is Op.get("tirx.buffer_data") and id(node.args[0]) in views:
            buffer: Any = node.args[0]
            while id(buffer) in views:
                buffer = views[id(buffer)].source.buffer
            return buffer_data(buffer)
        return node

    def block(node: SBlock) -> Generator[Any, Any, Any]:
        new = yield node.replace(match_buffers=())
        return new

    table = {
        BufferLoad: access,
        BufferStore: access,
        BufferRegion: region,
        Call: pointer,
        SBlock: block,
    }
    out = rewrite(func, table)
    while any(id(v) in {id(k) for k in symbols} for v in iter_nodes(out.body, Var)):
        new = substitute(out, symbols)
        if new is out:
            break
        out = new
    return out


def _shift(match: MatchBufferRegion, indices: list[Expr]) -> list[Expr]:
    """Indices of a view as indices of its source."""
    region = match.source.region
    skip = len(region) - len(indices)
    lows: list[Expr] = [r.min for r in region]
    return [
        *lows[:skip],
        *(op.add(low, index) for low, index in zip(lows[skip:], indices, strict=True)),
    ]


def _bind_symbols(func: PrimFunc, match: MatchBufferRegion, symbols: dict[Var, Expr]) -> None:
    """Values of the variables in a view's shape, strides and offset."""
    buffer, source = match.buffer.ty, match.source.buffer.ty
    region = match.source.region
    skip = len(region) - len(buffer.shape)
    if skip < 0:
        raise WorkbenchError(
            f"match_buffer {match.buffer.name}: the region has {len(region)} dimensions, "
            f"the view {len(buffer.shape)}",
            nodes=(match,),
            root=func,
        )
    for extent, part in zip(buffer.shape, region[skip:], strict=True):
        if isinstance(extent, Var):
            symbols[extent] = part.extent
    strides: list[Expr] = list(source.strides)
    if not strides:
        strides = [IntImm("int32", 1)]
        for extent in reversed(source.shape[1:]):
            strides.insert(0, op.multiply(strides[0], extent))
    for stride, value in zip(buffer.strides, strides[skip:], strict=True):
        if isinstance(stride, Var):
            symbols[stride] = op.cast(stride.dtype, value)
    offset = buffer.elem_offset
    if isinstance(offset, Var):
        value = flat_offset(match.source.buffer, [r.min for r in region])
        symbols[offset] = op.cast(offset.dtype, value)
