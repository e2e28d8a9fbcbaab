"""The regions a block reads and writes, where the script does not say them."""

from __future__ import annotations

from typing import Any

from workbench.core.structural import structural_equal
from workbench.core.traverse import free_vars, iter_nodes, substitute
from workbench.ir.expr import Call, Expr, IntImm, Range, Var
from workbench.tirx import op
from workbench.tirx.buffer import BufferType
from workbench.tirx.expr import Add, BufferLoad, FloorDiv, FloorMod, Max, Min, Mul, Sub
from workbench.tirx.stmt import (
    AllocBuffer,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    For,
    SBlock,
    SBlockRealize,
    Stmt,
)

Interval = tuple[Expr, Expr]


def access_regions(block: Any, body: Stmt) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """The reads and writes of a block with `axes`, `init`, `allocations` and `matches`.

    An index that depends on a loop inside the block is widened to all its values; one whose range
    is not evident gives the whole dimension. A block reads what it stores to and loads, except the
    element that a reduction with an init updates.
    """
    reads: dict[int, tuple[Var, list[Interval]]] = {}
    writes: dict[int, tuple[Var, list[Interval]]] = {}
    hidden = {id(b) for b in block.allocations}
    views = {id(m.buffer): m.source for m in block.matches}
    for part in (body, block.init):
        if part is not None:
            _collect(part, reads, writes, hidden, views)
    for key in [k for k in reads if k in writes]:
        if block.init is not None:
            a, b = reads[key][1], writes[key][1]
            if all(
                structural_equal(x, y)
                for p, q in zip(a, b, strict=True)
                for x, y in zip(p, q, strict=True)
            ):
                del reads[key]
    return _regions(reads), _regions(writes)


def _regions(found: dict[int, tuple[Var, list[Interval]]]) -> list[BufferRegion]:
    out = []
    for buffer, box in found.values():
        ranges = []
        for low, high in box:
            extent = IntImm(low.dtype, 1) if low is high else _size(low, high)
            ranges.append(Range.from_min_extent(low, extent))
        out.append(BufferRegion(buffer, ranges))
    return out


def _size(low: Expr, high: Expr) -> Expr:
    """high - low + 1, simplified where the constants say it."""
    if isinstance(high, Add) and isinstance(high.b, IntImm) and structural_equal(high.a, low):
        return IntImm(low.dtype, high.b.value + 1)
    return op.add(op.subtract(high, low), 1)


def _collect(root: Stmt, reads: Any, writes: Any, hidden: set[int], views: dict[int, Any]) -> None:
    domains: dict[int, Interval] = {}
    for loop in iter_nodes(root, For):
        last = op.subtract(op.add(loop.min, loop.extent), 1)
        domains[id(loop.loop_var)] = (loop.min, last)
    for made in iter_nodes(root, AllocBuffer, DeclBuffer):
        hidden.add(id(made.buffer))
    inner: set[int] = set()
    for realize in iter_nodes(root, SBlockRealize):
        inner.update(id(n) for n in iter_nodes(realize.block))
        values = {
            axis.var: value
            for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        }
        for region in realize.block.reads:
            _add(reads, substitute(region, values), domains, hidden, views)
        for region in realize.block.writes:
            _add(writes, substitute(region, values), domains, hidden, views)
    for node in iter_nodes(root):
        if id(node) in inner:
            continue
        if isinstance(node, BufferLoad):
            _add(reads, BufferRegion.from_point(node.buffer, node.indices), domains, hidden, views)
        elif isinstance(node, BufferStore):
            place = BufferRegion.from_point(node.buffer, node.indices)
            _add(writes, place, domains, hidden, views)
        elif isinstance(node, Call):
            for arg in node.args:
                if isinstance(arg, Var) and isinstance(arg.ty, BufferType):
                    whole = BufferRegion.full(arg)
                    _add(reads, whole, domains, hidden, views)
                    _add(writes, whole, domains, hidden, views)
        elif isinstance(node, SBlock):
            hidden.update(id(b) for b in node.alloc_buffers)


def _add(
    found: Any, region: BufferRegion, domains: dict[int, Interval], hidden: set[int], views: Any
) -> None:
    buffer = region.buffer
    if id(buffer) in views:
        region = _through(region, views[id(buffer)])
        buffer = region.buffer
    if id(buffer) in hidden:
        return
    box: list[Interval] = []
    for r, extent in zip(region.region, buffer.ty.shape, strict=True):
        low = high = r.min
        if not (isinstance(r.extent, IntImm) and r.extent.value == 1):
            high = op.subtract(op.add(r.min, r.extent), 1)
        widened = _widen(low, high, domains)
        if widened is None:
            widened = (IntImm(r.min.dtype, 0), op.subtract(extent, 1))
        box.append(widened)
    old = found.get(id(buffer))
    if old is None:
        found[id(buffer)] = (buffer, box)
        return
    merged = [_union(a, b) for a, b in zip(old[1], box, strict=True)]
    found[id(buffer)] = (buffer, merged)


def _through(region: BufferRegion, source: BufferRegion) -> BufferRegion:
    """A region of a view as a region of what it views; the view's dimensions are the last ones."""
    ranges = list(source.region)
    first = len(ranges) - len(region.region)
    if first < 0:
        return source
    for position, r in enumerate(region.region):
        whole = ranges[first + position]
        ranges[first + position] = Range.from_min_extent(op.add(whole.min, r.min), r.extent)
    return BufferRegion(source.buffer, ranges)


def _union(a: Interval, b: Interval) -> Interval:
    if structural_equal(a[0], b[0]) and structural_equal(a[1], b[1]):
        return a
    return op.minimum(a[0], b[0]), op.maximum(a[1], b[1])


def _widen(low: Expr, high: Expr, domains: dict[int, Interval]) -> Interval | None:
    """The interval of an index when the loops inside the block take all their values."""
    inner = [v for v in free_vars((low, high)) if id(v) in domains]
    if not inner:
        return low, high
    first = _bounds(low, domains)
    last = first if high is low else _bounds(high, domains)
    return None if first is None or last is None else (first[0], last[1])


def _bounds(expr: Expr, domains: dict[int, Interval]) -> Interval | None:
    if isinstance(expr, Var):
        return domains.get(id(expr), (expr, expr))
    if isinstance(expr, IntImm):
        return expr, expr
    if isinstance(expr, (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max)):
        a, b = _bounds(expr.a, domains), _bounds(expr.b, domains)
        if a is None or b is None:
            return None
        if a[0] is a[1] and b[0] is b[1]:
            return expr, expr
        return _combine(expr, a, b)
    if not any(id(v) in domains for v in free_vars(expr)):
        return expr, expr
    return None


def _combine(expr: Any, a: Interval, b: Interval) -> Interval | None:
    if isinstance(expr, Add):
        return op.add(a[0], b[0]), op.add(a[1], b[1])
    if isinstance(expr, Sub):
        return op.subtract(a[0], b[1]), op.subtract(a[1], b[0])
    if isinstance(expr, (Min, Max)):
        build = op.minimum if isinstance(expr, Min) else op.maximum
        return build(a[0], b[0]), build(a[1], b[1])
    constant = b[0]
    if not isinstance(constant, IntImm) or b[0] is not b[1] or constant.value <= 0:
        return None
    if isinstance(expr, Mul):
        return op.multiply(a[0], constant), op.multiply(a[1], constant)
    if isinstance(expr, FloorDiv):
        return op.floordiv(a[0], constant), op.floordiv(a[1], constant)
    return IntImm(constant.dtype, 0), IntImm(constant.dtype, constant.value - 1)


__all__ = ["access_regions"]
