"""Random small loop programs for differential tests (hypothesis strategies).

A program is a chain of stages; each writes one buffer completely and reads inputs and earlier
stages at indices that stay inside. Loops are split, reordered, parallel, vectorised and unrolled at
random; programs come with blocks (`blocks=True`) or as plain loops.

All programs have one meaning: no race, no division by zero, no conversion of a float outside the
range of its integer type, no overflow of int32 and int64 (which index arithmetic rules out).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from workbench.ir.expr import Expr, IntImm, Var
from workbench.runtime.dtype import DataType
from workbench.tirx import op as T
from workbench.tirx.buffer import decl_buffer
from workbench.tirx.expr import BufferLoad, IterVar, Let, Select
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    AllocBuffer,
    Bind,
    Break,
    BufferStore,
    Continue,
    For,
    ForKind,
    IfThenElse,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)

INTS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64", "float16", "bfloat16")
#: Functions whose results differ in the last bits between implementations.
ROUNDED = (
    *("exp", "exp2", "exp10", "tanh", "sigmoid", "erf", "sin", "cos", "tan", "atan"),
    *("sinh", "cosh", "asinh", "log1p", "sqrt", "rsqrt", "log", "log2", "log10"),
)


@dataclass
class Program:
    """A generated program. `exact`: all implementations agree in every bit."""

    func: PrimFunc
    exact: bool = True
    #: Values of the symbolic dimensions.
    sizes: Mapping[Var, int] = field(default_factory=dict)

    def arguments(self, seed: int = 0) -> list[np.ndarray[Any, Any]]:
        """Arrays for all parameters, with values that exercise signs, zeros and fractions."""
        rng = np.random.default_rng(seed)
        return [
            random_array(rng, [self.size(d) for d in p.ty.shape], p.ty.dtype)
            for p in self.func.params
        ]

    def size(self, extent: Any) -> int:
        """The value of a dimension."""
        known = fixed(extent)
        return self.sizes[extent] if known is None else known


def fixed(extent: Any) -> int | None:
    """The value of a constant dimension, None for a symbolic one."""
    return extent.value if isinstance(extent, IntImm) else None


def random_array(
    rng: np.random.Generator, shape: Sequence[int], dtype: DataType
) -> np.ndarray[Any, Any]:
    """Values of a data type: small numbers, some zeros, negative ones where there are any."""
    kind = dtype.numpy()
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(kind)
    if dtype.is_float:
        values = rng.integers(-24, 25, shape) / rng.choice([1, 2, 3, 8], shape)
        return np.asarray(values).astype(kind)
    low = -20 if dtype.is_int else 0
    return np.asarray(rng.integers(low, 21, shape)).astype(kind)


@dataclass
class Axis:
    """An iteration variable with its extent (starting at 0)."""

    var: Var
    extent: Any
    reduce: bool = False

    @property
    def size(self) -> int | None:
        """The extent if it is constant."""
        return fixed(self.extent)


def _const(value: int) -> IntImm:
    return IntImm(DataType("int32"), value)


@dataclass
class _Context:
    """What an expression may use."""

    draw: Callable[[Any], Any]
    axes: list[Axis]
    sources: list[Var]
    exact: bool = True
    lets: list[Var] = field(default_factory=list)


def _pick(ctx: _Context, *options: Any) -> Any:
    return ctx.draw(st.sampled_from(options))


def _number(ctx: _Context, low: int, high: int) -> int:
    return ctx.draw(st.integers(low, high))


def _index(ctx: _Context, extent: Any) -> Expr:
    """An index in [0, extent)."""
    size = fixed(extent)
    how = _number(ctx, 0, 5)
    fitting = [a for a in ctx.axes if a.extent is extent or (size and a.size and a.size <= size)]
    if fitting and how <= 2:
        axis = ctx.draw(st.sampled_from(fitting))
        shift = size - axis.size if size and axis.size else 0
        return T.add(axis.var, _number(ctx, 0, shift))
    if ctx.axes and how <= 4:
        axis, other = ctx.draw(st.sampled_from(ctx.axes)), ctx.draw(st.sampled_from(ctx.axes))
        total = axis.var * _number(ctx, 1, 3) + other.var + _number(ctx, 0, 4)
        if how == 3 and size != 1:
            total = T.floordiv(total, _number(ctx, 2, 3))
        return T.floormod(total, extent)
    return _const(_number(ctx, 0, size - 1) if size else 0)


def _load(ctx: _Context, buffer: Var) -> Expr:
    extents = list(buffer.ty.shape)
    if extents and ctx.axes and _number(ctx, 0, 4) == 0:
        axis = ctx.draw(st.sampled_from(ctx.axes))
        shift = _number(ctx, 1, 2)
        first = T.subtract(axis.var, shift)
        inside = T.all(T.greater_equal(first, 0), T.less(first, extents[0]))
        rest = [_index(ctx, e) for e in extents[1:]]
        padding = _literal(ctx, buffer.ty.dtype)
        return T.if_then_else(inside, BufferLoad(buffer, (first, *rest)), padding)
    return BufferLoad(buffer, tuple(_index(ctx, e) for e in extents))


def _literal(ctx: _Context, dtype: DataType) -> Expr:
    if dtype.is_bool:
        return T.const(_number(ctx, 0, 1), dtype)
    if dtype.is_float:
        return T.const(_number(ctx, -16, 16) / _pick(ctx, 1, 2, 3), dtype)
    return T.const(_number(ctx, -9 if dtype.is_int else 0, 9), dtype)


def convert(value: Expr, dtype: DataType) -> Expr:
    """A cast that every implementation defines: floats are clipped before they become integers."""
    source = value.dtype
    if source == dtype:
        return value
    if source.is_float and not dtype.is_float and not dtype.is_bool:
        low = 0.0 if dtype.is_uint else -100.0
        clipped = T.minimum(T.maximum(value, T.const(low, source)), T.const(100.0, source))
        zero = T.const(0, source)
        return T.cast(dtype, Select(T.isnan(value), zero, clipped))
    if source == "float64" and dtype.is_float and dtype.bits == 16:
        return T.cast(dtype, T.cast("float32", value))
    if dtype in ("int32", "int64") and not source.is_bool:
        value = T.floormod(value, T.const(51, source))
    if dtype.is_float and dtype.bits == 16 and source.bits > 16:
        value = T.floormod(value, T.const(77, source)) if not source.is_float else value
    return T.cast(dtype, value)


def _leaf(ctx: _Context, dtype: DataType) -> Expr:
    how = _number(ctx, 0, 6)
    if how == 0 or not (ctx.sources or ctx.axes):
        return _literal(ctx, dtype)
    if how == 1 and ctx.axes:
        return T.cast(dtype, ctx.draw(st.sampled_from(ctx.axes)).var)
    if how == 2 and ctx.lets:
        return convert(ctx.draw(st.sampled_from(ctx.lets)), dtype)
    if not ctx.sources:
        return _literal(ctx, dtype)
    return convert(_load(ctx, ctx.draw(st.sampled_from(ctx.sources))), dtype)


def condition(ctx: _Context, depth: int) -> Expr:
    """A truth value."""
    how = _number(ctx, 0, 7)
    if depth > 0 and how == 0:
        return T.logical_and(condition(ctx, depth - 1), condition(ctx, depth - 1))
    if depth > 0 and how == 1:
        return T.logical_or(condition(ctx, depth - 1), condition(ctx, depth - 1))
    if depth > 0 and how == 2:
        return T.logical_not(condition(ctx, depth - 1))
    if ctx.axes and how <= 4:
        axis = ctx.draw(st.sampled_from(ctx.axes))
        return T.less(axis.var, _number(ctx, 0, axis.size or 6))
    dtype = DataType(_pick(ctx, "float32", "int32", "int8", "uint16"))
    compare = _pick(ctx, T.less, T.less_equal, T.equal, T.not_equal, T.greater)
    return compare(expression(ctx, dtype, depth - 1), expression(ctx, dtype, depth - 1))


def expression(ctx: _Context, dtype: DataType, depth: int) -> Expr:
    """A value of a data type."""
    if depth <= 0:
        return _leaf(ctx, dtype)
    if dtype.is_bool:
        return condition(ctx, depth)
    how = _number(ctx, 0, 9)
    if how == 0:
        return Select(
            condition(ctx, depth - 1),
            expression(ctx, dtype, depth - 1),
            expression(ctx, dtype, depth - 1),
        )
    if how == 1:
        return T.if_then_else(
            condition(ctx, depth - 1),
            expression(ctx, dtype, depth - 1),
            expression(ctx, dtype, depth - 1),
        )
    if how == 2:
        other = DataType(ctx.draw(st.sampled_from((*INTS, *FLOATS))))
        return convert(expression(ctx, other, depth - 1), dtype)
    if how == 3 and depth > 1:
        var = Var("x", dtype)
        value = expression(ctx, dtype, depth - 1)
        inner = _Context(ctx.draw, ctx.axes, ctx.sources, ctx.exact, [*ctx.lets, var])
        return Let(var, value, expression(inner, dtype, depth - 1))
    if dtype.is_float:
        return _float_operation(ctx, dtype, depth)
    return _int_operation(ctx, dtype, depth)


def _float_operation(ctx: _Context, dtype: DataType, depth: int) -> Expr:
    a = expression(ctx, dtype, depth - 1)
    how = _number(ctx, 0, 9)
    if how == 0:
        return _pick(ctx, T.floor, T.ceil, T.trunc, T.round)(a)
    if how == 1:
        return T.abs(a)
    if how == 2:
        return T.sqrt(T.abs(a))
    b = expression(ctx, dtype, depth - 1)
    return _pick(ctx, T.add, T.subtract, T.multiply, T.div, T.minimum, T.maximum)(a, b)


def _int_operation(ctx: _Context, dtype: DataType, depth: int) -> Expr:
    a = expression(ctx, dtype, depth - 1)
    how = _number(ctx, 0, 10)
    if how == 0:
        return T.abs(a)
    if how == 1:
        if dtype in ("int32", "int64"):
            return T.bitwise_and(a, T.const(_number(ctx, 0, 63), dtype))
        return _pick(ctx, T.shift_left, T.shift_right)(a, T.const(_number(ctx, 0, 7), dtype))
    if how <= 3:
        divide = _pick(ctx, T.floordiv, T.floormod, T.truncdiv, T.truncmod)
        divisor: Expr = T.const(_number(ctx, 1, 7), dtype)
        if how == 3:
            divisor = T.maximum(expression(ctx, dtype, depth - 1), T.const(1, dtype))
        elif dtype.is_int and _number(ctx, 0, 3) == 0:
            divisor = T.const(-_number(ctx, 1, 7), dtype)
        return divide(a, divisor)
    b = expression(ctx, dtype, depth - 1)
    if how == 4:
        return _pick(ctx, T.bitwise_and, T.bitwise_or, T.bitwise_xor)(a, b)
    if how == 5:
        product = T.multiply(a, b)
        if dtype in ("int32", "int64"):
            return T.floormod(product, T.const(53, dtype))
        return product
    return _pick(ctx, T.add, T.subtract, T.minimum, T.maximum)(a, b)


# Stages


def _fold(ctx: _Context, dtype: DataType) -> tuple[Callable[[Any, Any], Expr], Expr]:
    """A combiner and its starting value."""
    if dtype.is_bool:
        return T.logical_or, T.const(0, dtype)
    which = _number(ctx, 0, 2)
    if which == 0:
        return T.maximum, T.min_value(dtype)
    if which == 1:
        return T.minimum, T.max_value(dtype)
    return T.add, T.const(0, dtype)


class _Stage:
    """One buffer and the loops that fill it."""

    def __init__(self, ctx: _Context, target: Var, blocks: bool, depth: int) -> None:
        self.ctx = ctx
        self.target = target
        self.blocks = blocks
        self.depth = depth
        self.shape = list(target.ty.shape)

    def build(self) -> Stmt:
        """The statement that fills the buffer."""
        how = _number(self.ctx, 0, 9)
        if how == 0 and len(self.shape) == 1 and not self.blocks:
            return self.scan()
        return self.nest(reduces=how <= 4)

    def nest(self, reduces: bool) -> Stmt:
        """Loops around one store, or around an initialised reduction."""
        ctx = self.ctx
        reduced = [_const(_number(ctx, 1, 5))] if reduces else []
        axes = [Axis(Var(f"v{k}", "int32"), n) for k, n in enumerate(self.shape)]
        axes += [Axis(Var(f"r{k}", "int32"), n, True) for k, n in enumerate(reduced)]
        loops, values, guard = self.loops(axes)
        if not self.blocks:
            # The loops' own expressions stand for the axes.
            body = self.plain_body(axes, reduces)
            binds = [Bind(a.var, v) for a, v in zip(axes, values, strict=True)]
            body = SeqStmt.flatten(*binds, body)
            if guard is not None:
                body = IfThenElse(T.likely(guard), body)
        else:
            body = self.block(axes, values, guard, reduces)
        for var, extent, kind in reversed(loops):
            body = For(var, _const(0), extent, kind, body)
        return body

    def loops(self, axes: list[Axis]) -> tuple[list[tuple[Var, Any, int]], list[Expr], Any]:
        """Loops in random order, the value of each axis, and the condition of uneven splits."""
        ctx = self.ctx
        outer: list[Any] = []
        inner: list[Any] = []
        values: list[Expr] = []
        guards: list[Expr] = []
        for number, axis in enumerate(axes):
            factor = _number(ctx, 1, 4)
            if axis.size != 1 and factor > 1 and _number(ctx, 0, 1):
                a, b = Var(f"i{number}", "int32"), Var(f"j{number}", "int32")
                count = T.ceildiv(axis.extent, factor)
                outer.append((a, count, axis.reduce))
                inner.append((b, _const(factor), axis.reduce))
                value: Any = a * factor + b
                if axis.size is None or axis.size % factor:
                    guards.append(T.less(value, axis.extent))
            else:
                value = Var(f"i{number}", "int32")
                outer.append((value, axis.extent, axis.reduce))
            values.append(value)
        order = ctx.draw(st.permutations(outer)) + ctx.draw(st.permutations(inner))
        kinds = [self.kind(p, order) for p in range(len(order))]
        return (
            [(v, n, k) for (v, n, _), k in zip(order, kinds, strict=True)],
            values,
            T.all(*guards) if guards else None,
        )

    def kind(self, position: int, order: Sequence[Any]) -> ForKind:
        """A kind that keeps the meaning: reductions stay in order."""
        _, extent, reduces = order[position]
        how = _number(self.ctx, 0, 5)
        if how == 0 and (fixed(extent) or 9) <= 6:
            return ForKind.UNROLLED
        if reduces:
            return ForKind.SERIAL
        if how == 1 and position == 0:
            return ForKind.PARALLEL
        if how <= 3 and position == len(order) - 1 and fixed(extent):
            return ForKind.VECTORIZED
        return ForKind.SERIAL

    def value(self, ctx: _Context) -> Expr:
        """The value of an element; through a rounded function where the program is not exact."""
        dtype = self.target.ty.dtype
        value = expression(ctx, dtype, self.depth)
        if ctx.exact or dtype not in ("float32", "float64"):
            return value
        name = _pick(ctx, *ROUNDED)
        value = T.minimum(T.maximum(value, T.const(-3.0, dtype)), T.const(3.0, dtype))
        if name in ("log1p", "sqrt", "rsqrt", "log", "log2", "log10"):
            value = T.add(T.abs(value), T.const(0.5, dtype))
        return getattr(T, name)(value)

    def context(self, axes: list[Axis]) -> _Context:
        return _Context(self.ctx.draw, axes, self.ctx.sources, self.ctx.exact)

    def plain_body(self, axes: list[Axis], reduces: bool) -> Stmt:
        dtype = self.target.ty.dtype
        place = tuple(a.var for a in axes if not a.reduce)
        ctx = self.context(axes)
        if not reduces:
            if _number(ctx, 0, 4) == 0:
                return self.with_local(ctx, place)
            return BufferStore(self.target, self.value(ctx), place)
        fold, start = _fold(ctx, dtype)
        first = T.all(*[T.equal(a.var, 0) for a in axes if a.reduce])
        update = fold(BufferLoad(self.target, place), expression(ctx, dtype, self.depth))
        return SeqStmt.flatten(
            IfThenElse(first, BufferStore(self.target, start, place)),
            BufferStore(self.target, T.cast(dtype, update), place),
        )

    def with_local(self, ctx: _Context, place: tuple[Expr, ...]) -> Stmt:
        """The value goes through a buffer allocated inside the loops."""
        dtype = self.target.ty.dtype
        size = _number(ctx, 1, 3)
        local = decl_buffer((size,), dtype, "local")
        var = Var("l", "int32")
        inside = self.context([*ctx.axes, Axis(var, _const(size))])
        fill = BufferStore(local, expression(inside, dtype, self.depth - 1), (var,))
        total: Any = BufferLoad(local, (_const(0),))
        for k in range(1, size):
            other = BufferLoad(local, (_const(k),))
            total = T.logical_or(total, other) if dtype.is_bool else T.maximum(total, other)
        loop = For(var, 0, size, ForKind.SERIAL, fill)
        return SeqStmt.flatten(AllocBuffer(local), loop, BufferStore(self.target, total, place))

    def block(self, axes: list[Axis], values: list[Expr], guard: Any, reduces: bool) -> Stmt:
        dtype = self.target.ty.dtype
        place = tuple(a.var for a in axes if not a.reduce)
        ctx = self.context(axes)
        kind = {True: IterVar.CommReduce, False: IterVar.DataPar}
        variables = [IterVar((0, a.extent), a.var, kind[a.reduce]) for a in axes]
        init = None
        if reduces:
            fold, start = _fold(ctx, dtype)
            value = fold(BufferLoad(self.target, place), expression(ctx, dtype, self.depth))
            init = BufferStore(self.target, start, place)
        else:
            value = self.value(ctx)
        store = BufferStore(self.target, T.cast(dtype, value), place)
        block = SBlock(tuple(variables), (), (), f"b_{self.target.name}", store, init)
        always = IntImm("bool", 1)
        return SBlockRealize(tuple(values), always if guard is None else guard, block)

    def scan(self) -> Stmt:
        """A running value with jumps: `continue`, `break`, and a `while` that fills the rest."""
        ctx, n = self.ctx, self.shape[0]
        dtype = self.target.ty.dtype
        var = Var("i", "int32")
        inside = self.context([Axis(var, n)])
        zero = _const(0)
        count = decl_buffer((1,), "int32", "count")
        rest = BufferLoad(count, (zero,))
        clear = Var("i", "int32")
        bounded = T.minimum(rest, T.subtract(n, 1))
        return SeqStmt.flatten(
            For(
                clear,
                0,
                n,
                ForKind.SERIAL,
                BufferStore(self.target, T.const(0, dtype), (clear,)),
            ),
            AllocBuffer(count),
            BufferStore(count, zero, (zero,)),
            For(
                var,
                0,
                n,
                ForKind.SERIAL,
                SeqStmt.flatten(
                    IfThenElse(condition(inside, 1), Continue()),
                    BufferStore(self.target, expression(inside, dtype, self.depth), (var,)),
                    BufferStore(count, T.add(rest, 1), (zero,)),
                    IfThenElse(T.greater(rest, _number(ctx, 0, fixed(n) or 5)), Break()),
                ),
            ),
            While(
                T.less(rest, n),
                SeqStmt.flatten(
                    BufferStore(self.target, T.const(1, dtype), (bounded,)),
                    BufferStore(count, T.add(rest, _number(ctx, 1, 2)), (zero,)),
                ),
            ),
        )


_DTYPES = ("float32", "float32", "int32", "float64", *INTS, *FLOATS, "bool")


@st.composite
def programs(
    draw: Callable[[Any], Any],
    blocks: bool | None = None,
    dtypes: Sequence[str] = _DTYPES,
    exact: bool = True,
    max_stages: int = 3,
    symbolic: bool = True,
) -> Program:
    """Random programs.

    Parameters
    ----------
    blocks : programs with blocks (True), plain loops (False), or either.
    dtypes : the element types to choose from.
    exact : leave out functions whose results differ in the last bits.
    symbolic : some dimensions are variables.
    """
    with_blocks = draw(st.booleans()) if blocks is None else blocks
    params: list[Var] = []
    sizes: dict[Var, int] = {}

    def extent(introduce: bool) -> Any:
        how = draw(st.integers(0, 5)) if symbolic else 5
        if how == 0 and introduce and len(sizes) < 2:
            var = Var(f"n{len(sizes)}", "int32")
            sizes[var] = draw(st.integers(1, 9))
            return var
        if how <= 2 and sizes:
            return draw(st.sampled_from(list(sizes)))
        return draw(st.integers(1, 9))

    def buffer(name: str, introduce: bool = False) -> Var:
        shape = [extent(introduce) for _ in range(draw(st.integers(1, 2)))]
        return decl_buffer(shape, draw(st.sampled_from(tuple(dtypes))), name)

    for k in range(draw(st.integers(1, 2))):
        params.append(buffer(f"A{k}", True))
    sources = list(params)
    stages: list[Stmt] = []
    temporaries: list[Var] = []
    count = draw(st.integers(1, max_stages))
    for k in range(count):
        last = k == count - 1
        target = buffer("out" if last else f"B{k}")
        ctx = _Context(draw, [], list(sources), exact or not last)
        depth = draw(st.integers(1, 3))
        stages.append(_Stage(ctx, target, with_blocks, depth).build())
        sources.append(target)
        if last or draw(st.booleans()):
            params.append(target)
        else:
            temporaries.append(target)
    if with_blocks:
        root = SBlock((), (), (), "root", SeqStmt.flatten(stages), None, tuple(temporaries))
        body: Stmt = SBlockRealize((), IntImm("bool", 1), root)
    else:
        body = SeqStmt.flatten([AllocBuffer(b) for b in temporaries], stages)
    func = PrimFunc(params, body, attrs={"global_symbol": "main", "tirx.noalias": True})
    return Program(func, exact, sizes)
