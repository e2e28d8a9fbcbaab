"""NarrowDataType: index arithmetic in as few bits as its values need."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.arith import Analyzer
from workbench.core.traverse import rewrite, substitute
from workbench.ir.expr import Call, Expr, IntImm, Range, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import expr as e
from workbench.tirx import op
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import BufferStore, For

Rewriting = Generator[Any, Any, Any]


@define_pass("tirx.NarrowDataType", level="function", on=PrimFunc)
def NarrowDataType(func: PrimFunc, ctx: PassContext, *, target_bits: int = 32) -> PrimFunc:
    """Computes indices of 64 bits in `target_bits` where no value can leave that range.

    Before: `for i in range(T.int64(8)): A[i * T.int64(4)] = 0`
    After: `for i in range(8): A[i * 4] = 0`
    """
    return narrowed(func, target_bits)


def narrowed(func: PrimFunc, bits: int) -> PrimFunc:
    """The function with its indices in `bits` bits where they fit."""
    narrow = _Narrow(bits)
    return rewrite(
        func,
        {For: narrow.loop, BufferStore: narrow.access, e.BufferLoad: narrow.access},
        memo=False,
    )


@define_pass("tirx.ForceNarrowIndexToInt32", level="function", on=PrimFunc)
def ForceNarrowIndexToInt32(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """`NarrowDataType` to 32 bits."""
    return narrowed(func, 32)


class _Narrow:
    def __init__(self, bits: int) -> None:
        self.kind = f"int{bits}"
        self.high = (1 << (bits - 1)) - 1
        self.bits = bits
        self.analyzer = Analyzer()

    def fits(self, expr: Expr) -> bool:
        """Whether the values of an index lie in the narrow type."""
        bound = self.analyzer.const_int_bound(expr)
        return -self.high - 1 <= bound.min_value and bound.max_value <= self.high

    def loop(self, node: For) -> Rewriting:
        low, extent = node.min, node.extent
        wide = node.loop_var.dtype.is_int and node.loop_var.dtype.bits > self.bits
        last = op.add(low, extent)
        self.analyzer.bind(node.loop_var, Range.from_min_extent(low, extent), True)
        if not wide or not (self.fits(last) and self.fits(low)):
            body = yield node.body
            return node.replace(body=body)
        var = Var(node.loop_var.name, self.kind)
        low, extent = op.cast(self.kind, low), op.cast(self.kind, extent)
        self.analyzer.bind(var, Range.from_min_extent(low, extent), True)
        body = yield node.body
        body = substitute(body, {node.loop_var: op.cast(node.loop_var.dtype, var)})
        body = rewrite(body, {BufferStore: self.access, e.BufferLoad: self.access})
        return node.replace(loop_var=var, min=low, extent=extent, body=body)

    def access(self, node: Any) -> Any:
        indices = tuple(self.index(i) for i in node.indices)
        if all(a is b for a, b in zip(indices, node.indices, strict=True)):
            return node
        return node.replace(indices=indices)

    def index(self, expr: Any) -> Any:
        """The index in the narrow type if all its parts fit, else as it is."""
        if not expr.dtype.is_int or expr.dtype.bits <= self.bits:
            return expr
        try:
            return rewrite(
                expr,
                {
                    e.BinaryOp: self.binary,
                    e.Cast: self.cast,
                    IntImm: self.number,
                    e.Ramp: self.ramp,
                    e.Broadcast: self.splat,
                    Expr: self.other,
                },
            )
        except _TooWide:
            return expr

    def binary(self, node: Any) -> Rewriting:
        if isinstance(node, (e.CmpOp, e.LogicalOp)) or not self.fits(node):
            raise _TooWide
        a = yield node.a
        b = yield node.b
        return type(node)(a, b)

    def cast(self, node: e.Cast) -> Rewriting:
        source = node.value.dtype
        if not source.is_int or source.bits > self.bits:
            raise _TooWide
        return op.cast(node.value.dtype.with_lanes(1).__class__(self.kind), node.value)
        yield

    def number(self, node: IntImm) -> Any:
        if not -self.high - 1 <= node.value <= self.high:
            raise _TooWide
        return IntImm(self.kind, node.value) if node.dtype.bits > self.bits else node

    def ramp(self, node: e.Ramp) -> Rewriting:
        base = yield node.base
        stride = yield node.stride
        return e.Ramp(base, stride, node.lanes)

    def splat(self, node: e.Broadcast) -> Rewriting:
        value = yield node.value
        return e.Broadcast(value, node.lanes)

    def other(self, node: Any) -> Rewriting:
        if isinstance(node, (Var, Call, e.BufferLoad)) and self.fits(node):
            return op.cast(self.kind, node)
        raise _TooWide
        yield


class _TooWide(Exception):
    """An index does not fit."""
