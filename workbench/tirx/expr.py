"""Primitive expressions: arithmetic, comparisons, vectors, loads, reductions.

The operands of a binary node have one data type; `tirx.op` holds the functions that match types
and fold constants (`a + b` in Python goes through them).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar

from workbench.core.node import DEF, META, Node, construct, field
from workbench.core.structural import structural_equal
from workbench.ir.expr import (
    Call,
    Expr,
    FloatImm,
    IntImm,
    Range,
    StringImm,
    Var,
    as_expr,
    is_prim_expr,
)
from workbench.ir.span import Span
from workbench.ir.type import BOOL, PrimType, prim_type
from workbench.runtime.dtype import DataType


def _prim(value: Any) -> Expr:
    expr = as_expr(value)
    if not (is_prim_expr(expr) or expr.ty is None):
        raise TypeError(f"expected a scalar expression, got {expr} of type {expr.ty}")
    return expr


class BinaryOp(Expr):
    """Base of the binary arithmetic nodes: both operands and the result have one data type."""

    a: Expr = field(converter=_prim)
    b: Expr = field(converter=_prim)
    ty: PrimType = field(init=False, derive=lambda self: self.a.ty)

    def __check__(self) -> None:
        a, b = self.a.ty, self.b.ty
        if a is not b and a != b:
            raise TypeError(
                f"{type(self).__name__}: operands have different data types, {a.dtype} and "
                f"{b.dtype} ({self.a} and {self.b}); cast one of them"
            )


class Add(BinaryOp):
    """a + b"""


class Sub(BinaryOp):
    """a - b"""


class Mul(BinaryOp):
    """a * b"""


class Div(BinaryOp):
    """a / b: exact for floats, truncating towards zero for integers (C semantics)."""


class Mod(BinaryOp):
    """Remainder of the truncating division (sign of the dividend)."""


class FloorDiv(BinaryOp):
    """Quotient rounded towards minus infinity (Python's //)."""


class FloorMod(BinaryOp):
    """Remainder of the flooring division (sign of the divisor; Python's %)."""


class Min(BinaryOp):
    """The smaller operand."""


class Max(BinaryOp):
    """The larger operand."""


def _bool_like(expr: Expr) -> PrimType:
    lanes = expr.dtype.lanes
    return BOOL if lanes == 1 else prim_type(f"boolx{lanes}")


class CmpOp(BinaryOp):
    """Base of the comparisons; the result is bool (a bool vector for vectors)."""

    ty: PrimType = field(init=False, derive=lambda self: _bool_like(self.a))


class EQ(CmpOp):
    """a == b. Python's truth value of it (not of the others) is: are both the same expression."""

    def __bool__(self) -> bool:
        return self.a is self.b or structural_equal(self.a, self.b)


class NE(CmpOp):
    """a != b"""

    def __bool__(self) -> bool:
        return not (self.a is self.b or structural_equal(self.a, self.b))


class LT(CmpOp):
    """a < b"""


class LE(CmpOp):
    """a <= b"""


class GT(CmpOp):
    """a > b"""


class GE(CmpOp):
    """a >= b"""


class LogicalOp(BinaryOp):
    """Base of And and Or."""

    def __check__(self) -> None:
        for side in (self.a, self.b):
            if not side.dtype.startswith("bool"):
                raise TypeError(
                    f"{type(self).__name__}: expected bool operands, got {side.dtype} ({side})"
                )


class And(LogicalOp):
    """a and b (both are evaluated)."""


class Or(LogicalOp):
    """a or b (both are evaluated)."""


class Not(Expr):
    """not a"""

    a: Expr = field(converter=_prim)
    ty: PrimType = field(init=False, derive=lambda self: self.a.ty)


class Select(Expr):
    """`true_value` where `condition` holds, else `false_value`; both sides are evaluated."""

    condition: Expr = field(converter=_prim)
    true_value: Expr = field(converter=_prim)
    false_value: Expr = field(converter=_prim)
    ty: PrimType = field(init=False, derive=lambda self: self.true_value.ty)

    def __check__(self) -> None:
        if self.true_value.ty != self.false_value.ty:
            raise TypeError(
                "Select: both values must have one data type, "
                f"got {self.true_value.dtype} and {self.false_value.dtype}"
            )


class Cast(Expr):
    """`value` converted to a data type. `Cast("float32", x)`."""

    _dtype: DataType = field(converter=lambda v: prim_type(v).dtype, alias="dtype")
    value: Expr = field(converter=_prim)
    ty: PrimType = field(init=False, derive=lambda self: prim_type(self._dtype))

    def __check__(self) -> None:
        if isinstance(self.value, StringImm):
            raise TypeError(f"Cast: a string is no number: {self.value} as {self._dtype}")


class Let(Expr):
    """`body` with `var` bound to `value`."""

    var: Var = field(role=DEF)
    value: Expr = field(converter=_prim)
    body: Expr = field(converter=_prim)
    ty: PrimType = field(init=False, derive=lambda self: self.body.ty)


def _vector_type(element: Expr, lanes: Any) -> PrimType:
    count = int(lanes) * element.dtype.lanes if isinstance(lanes, IntImm) else None
    if count is None:
        raise TypeError(f"the number of lanes must be a constant, got {lanes}")
    base = element.dtype.with_lanes(1)
    return prim_type(base if count == 1 else f"{base}x{count}")


def _lanes(value: Any) -> Expr:
    """A number of lanes: a constant is int32, wherever it comes from."""
    expr = as_expr(value)
    return IntImm("int32", expr.value) if type(expr) is IntImm and expr.dtype != "int32" else expr


class Ramp(Expr):
    """The vector base, base + stride, … of `lanes` elements."""

    base: Expr = field(converter=_prim)
    stride: Expr = field(converter=_prim)
    lanes: Expr = field(converter=_lanes)
    ty: PrimType = field(init=False, derive=lambda self: _vector_type(self.base, self.lanes))


class Broadcast(Expr):
    """A vector of `lanes` copies of `value`."""

    value: Expr = field(converter=_prim)
    lanes: Expr = field(converter=_lanes)
    ty: PrimType = field(init=False, derive=lambda self: _vector_type(self.value, self.lanes))


class Shuffle(Expr):
    """The elements `indices` of the concatenated `vectors`."""

    vectors: tuple[Expr, ...]
    indices: tuple[Expr, ...] = field(converter=lambda v: tuple(map(as_expr, v)))
    ty: PrimType = field(init=False, derive=lambda self: self._result())

    def _result(self) -> PrimType:
        base = self.vectors[0].dtype.with_lanes(1)
        count = len(self.indices)
        return prim_type(base if count == 1 else f"{base}x{count}")


def _indices(value: Any) -> tuple[Expr, ...]:
    if isinstance(value, Expr) or not isinstance(value, (list, tuple)):
        value = (value,)
    return tuple(map(_prim, value))


def loaded_type(buffer: Any, indices: Any) -> PrimType:
    """Type of a load: the buffer's element type, with the lanes of the last index."""
    dtype: DataType = buffer.ty.dtype
    lanes = indices[-1].dtype.lanes if indices else 1
    if lanes == 1:
        return prim_type(dtype)
    return prim_type(f"{dtype.with_lanes(1)}x{lanes * dtype.lanes}")


def check_access(what: str, buffer: Any, indices: Any) -> None:
    """Raises TypeError unless `buffer` is a buffer indexed with its number of dimensions."""
    shape = getattr(buffer.ty, "shape", None)
    if shape is None or buffer.ty.__family__ != "buffer":
        raise TypeError(f"{what}: {buffer} is no buffer but has the type {buffer.ty}")
    if len(shape) != len(indices):
        raise TypeError(
            f"{what}: buffer {buffer.name} has {len(shape)} dimensions, "
            f"got {len(indices)} indices ({', '.join(map(str, indices))})"
        )


class BufferLoad(Expr):
    """buffer[indices]. A vector index in the last place loads a vector."""

    buffer: Var
    indices: tuple[Expr, ...] = field(converter=_indices)
    predicate: Expr | None = None
    ty: PrimType = field(init=False, derive=lambda self: loaded_type(self.buffer, self.indices))

    def __check__(self) -> None:
        check_access("BufferLoad", self.buffer, self.indices)


class ProducerLoad(Expr):
    """producer[indices], where the producer is a `te.Tensor`; gone after `create_prim_func`."""

    producer: Any
    indices: tuple[Expr, ...] = field(converter=_indices)
    ty: PrimType = field(init=False, derive=lambda self: prim_type(self.producer.dtype))


class IterType(IntEnum):
    """The kinds of an `IterVar`."""

    DATA_PAR = 0
    THREAD_INDEX = 1
    COMM_REDUCE = 2
    ORDERED = 3
    OPAQUE = 4
    UNROLLED = 5
    VECTORIZED = 6
    PARALLELIZED = 7
    TENSORIZED = 8


def _range_or_none(value: Any) -> Range | None:
    if value is None or isinstance(value, Range):
        return value
    if isinstance(value, (tuple, list)):
        return Range(*value)
    return Range(value)


class IterVar(Node):
    """An iteration variable with its domain: a block axis, a reduction axis or a thread index."""

    DataPar: ClassVar[int] = 0
    ThreadIndex: ClassVar[int] = 1
    CommReduce: ClassVar[int] = 2
    Ordered: ClassVar[int] = 3
    Opaque: ClassVar[int] = 4
    Unrolled: ClassVar[int] = 5
    Vectorized: ClassVar[int] = 6
    Parallelized: ClassVar[int] = 7
    Tensorized: ClassVar[int] = 8

    dom: Range | None = field(converter=_range_or_none)
    var: Var = field(role=DEF, converter=lambda v: Var(v, "int32") if isinstance(v, str) else v)
    iter_type: int = field(converter=int)
    thread_tag: str = ""
    span: Span | None = field(role=META, default=None, kw_only=True)

    def __as_expr__(self) -> Expr:
        return self.var

    @property
    def ty(self) -> Any:
        """The type of the variable."""
        return self.var.ty

    @property
    def dtype(self) -> DataType:
        """The data type of the variable."""
        return self.var.dtype

    # An iteration variable stands for its variable in arithmetic.
    def __add__(self, other: Any) -> Any:
        return self.var + other

    def __radd__(self, other: Any) -> Any:
        return other + self.var

    def __sub__(self, other: Any) -> Any:
        return self.var - other

    def __rsub__(self, other: Any) -> Any:
        return other - self.var

    def __mul__(self, other: Any) -> Any:
        return self.var * other

    def __rmul__(self, other: Any) -> Any:
        return other * self.var

    def __floordiv__(self, other: Any) -> Any:
        return self.var // other

    def __mod__(self, other: Any) -> Any:
        return self.var % other

    def __lt__(self, other: Any) -> Any:
        return self.var < other

    def __le__(self, other: Any) -> Any:
        return self.var <= other

    def __gt__(self, other: Any) -> Any:
        return self.var > other

    def __ge__(self, other: Any) -> Any:
        return self.var >= other

    def equal(self, other: Any) -> Any:
        """The comparison as an expression."""
        return self.var.equal(other)

    def astype(self, dtype: str) -> Any:
        """The variable cast to `dtype`."""
        return self.var.astype(dtype)


class CommReducer(Node):
    """A commutative, associative combiner of tuples: `result` in terms of `lhs` and `rhs`."""

    lhs: tuple[Var, ...] = field(role=DEF)
    rhs: tuple[Var, ...] = field(role=DEF)
    result: tuple[Expr, ...]
    identity_element: tuple[Expr, ...]
    span: Span | None = field(role=META, default=None, kw_only=True)


class Reduce(Expr):
    """Element `value_index` of the reduction of `source` over `axis` (te only)."""

    __visit_order__ = ("axis", "combiner", "source", "condition", "value_index", "init")
    combiner: CommReducer
    source: tuple[Expr, ...] = field(converter=lambda v: tuple(map(as_expr, v)), alias="src")
    axis: tuple[IterVar, ...] = field(converter=tuple, alias="rdom")
    condition: Expr = field(converter=as_expr)
    value_index: int = 0
    init: tuple[Expr, ...] = field(converter=lambda v: tuple(map(as_expr, v or ())), default=())
    ty: PrimType = field(init=False, derive=lambda self: self.source[self.value_index].ty)


#: TVM calls the deferred comparisons of Python's == and != by these names.
EqualOp = EQ
NotEqualOp = NE

__all__ = [
    "EQ",
    "GE",
    "GT",
    "LE",
    "LT",
    "NE",
    "Add",
    "And",
    "BinaryOp",
    "Broadcast",
    "BufferLoad",
    "Call",
    "Cast",
    "CmpOp",
    "CommReducer",
    "Div",
    "EqualOp",
    "Expr",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "IterType",
    "IterVar",
    "Let",
    "LogicalOp",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "NotEqualOp",
    "Or",
    "ProducerLoad",
    "Ramp",
    "Reduce",
    "Select",
    "Shuffle",
    "StringImm",
    "Sub",
    "Var",
    "construct",
]
