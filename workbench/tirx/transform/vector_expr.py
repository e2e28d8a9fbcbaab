"""Expressions of a vectorised loop: the loop variable becomes a ramp."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.arith import Analyzer
from workbench.core.traverse import rewrite
from workbench.ir.expr import Call, Expr, IntImm, Op, Var
from workbench.ir.type import prim_type
from workbench.runtime.dtype import DataType
from workbench.tirx import expr as e
from workbench.tirx import op
from workbench.tirx.op.builtin import splat

Rewriting = Generator[Any, Any, Any]


class Scalarize(Exception):
    """This code cannot be vectorised; its lanes run one after another."""


def lanes_of(expr: Any) -> int:
    """Lanes of an expression."""
    return expr.dtype.lanes


def is_splat(expr: Any) -> bool:
    """Whether all lanes are equal."""
    return lanes_of(expr) == 1 or isinstance(expr, e.Broadcast)


class VectorExprs:
    """Vectorises expressions over one loop variable."""

    def __init__(self, var: Var, low: Expr, lanes: int, analyzer: Analyzer) -> None:
        self.lanes = lanes
        self.var = var
        self.analyzer = analyzer
        ramp = e.Ramp(low, IntImm(low.dtype, 1), IntImm("int32", lanes))
        self.images: dict[int, Expr] = {id(var): ramp}
        #: Buffers allocated inside the loop: one copy per lane.
        self.private: dict[int, Var] = {}
        self.keep: list[Any] = [var]

    def __call__(self, expr: Any, mask: Any = None) -> Any:
        """The vector form of an expression (unchanged if it is the same in all lanes)."""
        run = _OneExpr(self, mask)
        return rewrite(expr, run.table())

    def inside(self, buffer: Var, indices: Any) -> bool:
        """Whether an access provably stays inside its buffer in every lane."""
        for index, extent in zip(indices, buffer.ty.shape, strict=True):
            base = index.value if isinstance(index, e.Broadcast) else index
            if isinstance(base, e.Ramp):
                if not isinstance(base.stride, IntImm):
                    return False
                reach = base.stride.value * (lanes_of(base) - 1)
                base = base.base
            elif lanes_of(base) == 1:
                reach = 0
            else:
                return False
            bound = self.analyzer.const_int_bound(base)
            low, high = bound.min_value + min(reach, 0), bound.max_value + max(reach, 0)
            if not isinstance(extent, IntImm) or low < 0 or high >= extent.value:
                return False
        return True

    def wide(self, value: Any) -> Any:
        """A vector of the loop's lanes."""
        if lanes_of(value) == self.lanes:
            return value
        if lanes_of(value) != 1:
            raise Scalarize
        return splat(value, self.lanes)


class _OneExpr:
    """The handlers of one expression under one mask."""

    def __init__(self, owner: VectorExprs, mask: Any) -> None:
        self.owner = owner
        self.mask = mask

    def table(self) -> dict[type, Any]:
        return {
            Var: self.variable,
            e.Add: self.add,
            e.Sub: self.add,
            e.Mul: self.mul,
            e.FloorDiv: self.division,
            e.FloorMod: self.division,
            e.BinaryOp: self.binary,
            e.Not: self.negation,
            e.Select: self.select,
            e.Cast: self.cast,
            e.BufferLoad: self.load,
            e.Let: self.let,
            e.Ramp: self.given_vector,
            e.Broadcast: self.given_vector,
            e.Shuffle: self.given_vector,
            Call: self.call,
        }

    def variable(self, node: Var) -> Any:
        return self.owner.images.get(id(node), node)

    def pair(self, node: Any) -> Generator[Any, Any, tuple[Any, Any, bool]]:
        a = yield node.a
        b = yield node.b
        return a, b, lanes_of(a) > 1 or lanes_of(b) > 1

    def add(self, node: Any) -> Rewriting:
        a, b, wide = yield from self.pair(node)
        if not wide:
            return _same(node, a, b)
        build = op.add if type(node) is e.Add else op.subtract
        zero = IntImm(node.dtype, 0) if not node.dtype.is_float else None
        if zero is not None and (isinstance(a, e.Ramp) or isinstance(b, e.Ramp)):
            first, second = _as_ramp(a, zero), _as_ramp(b, zero)
            if first is not None and second is not None:
                base = build(first[0], second[0])
                stride = build(first[1], second[1])
                return _ramp(base, stride, self.owner.lanes)
        return self.joined(type(node), a, b)

    def mul(self, node: e.Mul) -> Rewriting:
        a, b, wide = yield from self.pair(node)
        if not wide:
            return _same(node, a, b)
        for x, y in ((a, b), (b, a)):
            factor = y.value if isinstance(y, e.Broadcast) else y
            if isinstance(x, e.Ramp) and lanes_of(factor) == 1:
                base = op.multiply(x.base, factor)
                return _ramp(base, op.multiply(x.stride, factor), self.owner.lanes)
        return self.joined(e.Mul, a, b)

    def division(self, node: Any) -> Rewriting:
        """A ramp divided by a constant stays a ramp or a broadcast where its lanes allow it."""
        a, b, wide = yield from self.pair(node)
        if not wide:
            return _same(node, a, b)
        divisor = b.value if isinstance(b, e.Broadcast) else b
        if isinstance(a, e.Ramp) and isinstance(divisor, IntImm) and divisor.value > 0:
            found = self.ramp_division(type(node), a, divisor)
            if found is not None:
                return found
        return self.joined(type(node), a, b)

    def ramp_division(self, cls: type, ramp: e.Ramp, divisor: IntImm) -> Any:
        c, stride = divisor.value, ramp.stride
        if not isinstance(stride, IntImm):
            return None
        quotient = op.floordiv(ramp.base, divisor)
        if stride.value % c == 0:
            if cls is e.FloorMod:
                return splat(op.floormod(ramp.base, divisor), self.owner.lanes)
            step = IntImm(stride.dtype, stride.value // c)
            return _ramp(quotient, step, self.owner.lanes)
        known = self.owner.analyzer.modular_set(ramp.base)
        if known.coeff % c != 0:
            return None
        first = known.base % c
        last = first + stride.value * (self.owner.lanes - 1)
        if not (0 <= first < c and 0 <= last < c):
            return None
        if cls is e.FloorDiv:
            return splat(quotient, self.owner.lanes)
        return _ramp(IntImm(stride.dtype, first), stride, self.owner.lanes)

    def joined(self, cls: Any, a: Any, b: Any) -> Any:
        return cls(self.owner.wide(a), self.owner.wide(b))

    def binary(self, node: Any) -> Rewriting:
        a, b, wide = yield from self.pair(node)
        return self.joined(type(node), a, b) if wide else _same(node, a, b)

    def negation(self, node: e.Not) -> Rewriting:
        a = yield node.a
        return node.replace(a=a)

    def select(self, node: e.Select) -> Rewriting:
        condition = yield node.condition
        a = yield node.true_value
        b = yield node.false_value
        if max(map(lanes_of, (condition, a, b))) == 1:
            return node.replace(condition=condition, true_value=a, false_value=b)
        wide = self.owner.wide
        return e.Select(wide(condition), wide(a), wide(b))

    def cast(self, node: e.Cast) -> Rewriting:
        value = yield node.value
        if lanes_of(value) == 1:
            return node.replace(value=value)
        kind: DataType = node.dtype.with_lanes(lanes_of(value))
        if isinstance(value, e.Ramp) and node.dtype.is_int and node.dtype.bits >= value.dtype.bits:
            base, stride = op.cast(node.dtype, value.base), op.cast(node.dtype, value.stride)
            return _ramp(base, stride, self.owner.lanes)
        return op.cast(kind, value)

    def load(self, node: e.BufferLoad) -> Rewriting:
        indices = yield node.indices
        if node.predicate is not None:
            raise Scalarize
        buffer = self.owner.private.get(id(node.buffer))
        if buffer is not None:
            return e.BufferLoad(buffer, _lane_index(indices[0], self.owner))
        safe = self.mask is None or self.owner.inside(node.buffer, indices)
        if all(lanes_of(i) == 1 for i in indices):
            if safe or not indices:
                return node.replace(indices=indices)
            # A lane-invariant load under a mask must not happen where no lane wants it.
            indices = (*indices[:-1], self.owner.wide(indices[-1]))
        else:
            indices = _vector_last(indices, self.owner)
        mask = None if safe else self.owner.wide(self.mask)
        return e.BufferLoad(node.buffer, indices, mask, span=node.span)

    def let(self, node: e.Let) -> Rewriting:
        value = yield node.value
        var = node.var
        if lanes_of(value) > 1:
            var = Var(node.var.name, value.ty)
            self.owner.images[id(node.var)] = var
            self.owner.keep.append(node.var)
        body = yield node.body
        return e.Let(var, value, body, span=node.span)

    def given_vector(self, node: Any) -> Rewriting:
        new = yield from _generic(node)
        if new is not node:
            raise Scalarize
        return node

    def call(self, node: Call) -> Rewriting:
        name = node.op.name if isinstance(node.op, Op) else ""
        if name == "tirx.if_then_else":
            return (yield from self.choice(node))
        args = yield node.args
        if all(map(lambda x, y: x is y, args, node.args)):
            return node
        if all(lanes_of(a) == 1 for a in args):
            return node.replace(args=args)
        if name == "tirx.likely":
            return args[0]
        if not isinstance(node.op, Op) or not node.op.attr("vectorizable"):
            raise Scalarize
        wide = tuple(self.owner.wide(a) for a in args)
        kind = prim_type(node.dtype.with_lanes(self.owner.lanes))
        return Call(node.op, wide, node.attrs, node.ty_args, ret_ty=kind, span=node.span)

    def choice(self, node: Call) -> Rewriting:
        """if_then_else: a vector condition masks the loads of both sides."""
        condition = yield node.args[0]
        if lanes_of(condition) == 1:
            a = yield node.args[1]
            b = yield node.args[2]
            if lanes_of(a) == 1 and lanes_of(b) == 1:
                return node.replace(args=(condition, a, b))
            a, b = self.owner.wide(a), self.owner.wide(b)
            return Call(node.op, (condition, a, b), ret_ty=a.ty, span=node.span)
        wide = self.owner.wide
        yes = condition if self.mask is None else e.And(wide(self.mask), condition)
        no: Any = e.Not(condition)
        if self.mask is not None:
            no = e.And(wide(self.mask), no)
        a = wide(self.owner(node.args[1], yes))
        b = wide(self.owner(node.args[2], no))
        return e.Select(condition, a, b)


def _generic(node: Any) -> Generator[Any, Any, Any]:
    new = yield node.children()
    if all(a is b for a, b in zip(new, node.children(), strict=True)):
        return node
    raise Scalarize


def _same(node: Any, a: Any, b: Any) -> Any:
    return node.replace(a=a, b=b)


def _as_ramp(value: Any, zero: Any) -> tuple[Any, Any] | None:
    """(base, stride) of a ramp, a broadcast or a scalar."""
    if isinstance(value, e.Ramp):
        return value.base, value.stride
    if isinstance(value, e.Broadcast):
        return value.value, zero
    return (value, zero) if lanes_of(value) == 1 else None


def _ramp(base: Any, stride: Any, lanes: int) -> Any:
    if isinstance(stride, IntImm) and stride.value == 0:
        return splat(base, lanes)
    return e.Ramp(base, stride, IntImm("int32", lanes))


def _vector_last(indices: Any, owner: VectorExprs) -> tuple[Any, ...]:
    """Indices of a vector access: only the last one may be a vector."""
    if any(lanes_of(i) > 1 for i in indices[:-1]):
        raise Scalarize
    return (*indices[:-1], owner.wide(indices[-1]))


def _lane_index(index: Any, owner: VectorExprs) -> tuple[Any]:
    """The index of a lane's own copy: copies of an element lie side by side."""
    lanes = owner.lanes
    count = IntImm(index.dtype.base, lanes)
    one, zero = IntImm(index.dtype.base, 1), IntImm(index.dtype.base, 0)
    if lanes_of(index) == 1:
        return (_ramp(op.multiply(index, count), one, lanes),)
    return (e.Add(op.multiply(index, splat(count, lanes)), _ramp(zero, one, lanes)),)
