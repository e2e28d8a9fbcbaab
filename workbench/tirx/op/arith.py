"""Arithmetic, comparisons and logic with type matching and constant folding.

Types are matched as TVM does: a scalar is broadcast to the other's lanes, integers become floats,
the narrower type becomes the wider one, and of equal widths signed becomes unsigned. Folding is
modest (constants, and the neutral and absorbing elements); `arith.Analyzer` does the rest.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.core.structural import structural_equal
from workbench.ir.expr import Call, Expr, FloatImm, IntImm, Op, as_expr, is_prim_expr
from workbench.ir.type import PointerType, prim_type
from workbench.runtime.dtype import DataType
from workbench.tirx import expr as nodes
from workbench.tirx.expr import Broadcast, Cast
from workbench.tirx.op.constants import const, fold_float, folded, is_const_int, value_of
from workbench.tirx.op.intrin import intrin


def cast(dtype: Any, value: Any, span: Any = None) -> Expr:
    """`value` converted to a data type; constants are converted at once."""
    expr = as_expr(value)
    kind = DataType(dtype)
    if expr.dtype == kind:
        return expr
    lanes = expr.dtype.lanes
    if kind.lanes == 1 and lanes > 1:
        kind = kind.with_lanes(lanes)
        if expr.dtype == kind:
            return expr
    if kind.lanes > 1 and lanes == 1:
        return Broadcast(cast(kind.base, expr), kind.lanes)
    if kind.lanes != lanes:
        raise TypeError(f"cast: {expr.dtype} has {lanes} lanes, {kind} has {kind.lanes}")
    if type(expr) is Broadcast:
        return Broadcast(cast(kind.base, expr.value), expr.lanes)
    if type(expr) is IntImm and not kind.is_handle:
        return folded(expr.value, kind)
    if type(expr) is FloatImm and not kind.is_handle:
        if kind.is_float:
            return folded(expr.value, kind)
        if kind.is_bool:
            return folded(expr.value != 0, kind)
        if math.isfinite(expr.value):
            return folded(math.trunc(expr.value), kind)
    return Cast(kind, expr, span=span)


def _operand(name: str, value: Any) -> Expr:
    expr = as_expr(value)
    if not is_prim_expr(expr) or isinstance(expr.ty, PointerType):
        raise TypeError(f"{name}: expected a number, got {expr} of type {expr.ty}")
    return expr


def match_types(name: str, a: Any, b: Any) -> tuple[Expr, Expr]:
    """Both operands with one data type.

    Raises TypeError for pointers and for vectors of different lengths.
    """
    a, b = _operand(name, a), _operand(name, b)
    if a.dtype == b.dtype:
        return a, b
    lanes_a, lanes_b = a.dtype.lanes, b.dtype.lanes
    if lanes_a != lanes_b:
        if lanes_a != 1 and lanes_b != 1:
            raise TypeError(
                f"{name}: vectors of different lengths, {a.dtype} and {b.dtype} ({a} and {b})"
            )
        lanes = max(lanes_a, lanes_b)
        if lanes_a == 1:
            a = Broadcast(a, lanes)
        else:
            b = Broadcast(b, lanes)
        if a.dtype == b.dtype:
            return a, b
    target = _common(a.dtype.base, b.dtype.base)
    return cast(target, a), cast(target, b)


def _common(a: DataType, b: DataType) -> DataType:
    """The type two scalars are matched to."""
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.is_bool or b.is_bool:
        return b if a.is_bool else a
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    if a.is_float:
        return a
    return a if a.is_uint else b


def _same(a: Expr, b: Expr) -> bool:
    return a is b or (type(a) is type(b) and structural_equal(a, b))


def _fold(name: str, a: Expr, b: Expr) -> Expr | None:
    """The constant result of a binary operation on constants, or None."""
    x, y = value_of(a), value_of(b)
    if x is None or y is None:
        return None
    dtype = a.dtype
    if dtype.is_float:
        return fold_float(_FLOAT_FOLDS[name], x, y, dtype=dtype)
    return folded(_INT_FOLDS[name](x, y), dtype)


def _trunc_div(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


_INT_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "truncdiv": _trunc_div,
    "truncmod": lambda x, y: x - y * _trunc_div(x, y),
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "min": min,
    "max": max,
}
_FLOAT_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "min": np.minimum,
    "max": np.maximum,
}


def add(lhs: Any, rhs: Any, span: Any = None) -> Expr:
    """lhs + rhs"""
    a, b = match_types("add", lhs, rhs)
    found = _fold("add", a, b)
    if found is not None:
        return found
    if value_of(a) == 0:
        return b
    if value_of(b) == 0:
        return a
    return nodes.Add(a, b, span=span)


def subtract(lhs: Any, rhs: Any, span: Any = None) -> Expr:
    """lhs - rhs"""
    a, b = match_types("subtract", lhs, rhs)
    found = _fold("subtract", a, b)
    if found is not None:
        return found
    return a if value_of(b) == 0 else nodes.Sub(a, b, span=span)


def multiply(lhs: Any, rhs: Any, span: Any = None) -> Expr:
    """lhs * rhs"""
    a, b = match_types("multiply", lhs, rhs)
    found = _fold("multiply", a, b)
    if found is not None:
        return found
    for x, y in ((a, b), (b, a)):
        value = value_of(x)
        if value == 0:
            return x
        if value == 1:
            return y
    return nodes.Mul(a, b, span=span)


def negative(value: Any, span: Any = None) -> Expr:
    """value * -1"""
    expr = as_expr(value)
    return multiply(expr, const(-1, expr.dtype), span)


def _check_int(name: str, a: Expr, b: Expr) -> None:
    if a.dtype.is_float:
        raise TypeError(f"{name} is for integers, got {a.dtype} ({a} and {b})")
    if value_of(b) == 0:
        raise ZeroDivisionError(f"{name}: division of {a} by zero")


def _int_division(name: str, node: Callable[..., Expr], lhs: Any, rhs: Any, span: Any) -> Expr:
    a, b = match_types(name, lhs, rhs)
    _check_int(name, a, b)
    found = _fold(name, a, b)
    if found is not None:
        return found
    if value_of(a) == 0:
        return a
    if value_of(b) == 1:
        return a if name.endswith("div") else folded(0, a.dtype)
    return node(a, b, span=span)


def truncdiv(a: Any, b: Any, span: Any = None) -> Expr:
    """Integer quotient rounded towards zero (C's /)."""
    return _int_division("truncdiv", nodes.Div, a, b, span)


def truncmod(a: Any, b: Any, span: Any = None) -> Expr:
    """Remainder of `truncdiv` (C's %)."""
    return _int_division("truncmod", nodes.Mod, a, b, span)


def floordiv(a: Any, b: Any, span: Any = None) -> Expr:
    """Integer quotient rounded towards minus infinity (Python's //)."""
    return _int_division("floordiv", nodes.FloorDiv, a, b, span)


def floormod(a: Any, b: Any, span: Any = None) -> Expr:
    """Remainder of `floordiv` (Python's %)."""
    return _int_division("floormod", nodes.FloorMod, a, b, span)


indexdiv = floordiv
indexmod = floormod


def div(a: Any, b: Any, span: Any = None) -> Expr:
    """a / b: exact for floats, rounded towards zero for integers."""
    x, y = match_types("div", a, b)
    if not x.dtype.is_float:
        return truncdiv(x, y, span)
    found = _fold("divide", x, y)
    if found is not None:
        return found
    return x if value_of(y) == 1 else nodes.Div(x, y, span=span)


def divide(lhs: Any, rhs: Any, span: Any = None) -> Expr:
    """Python's / on expressions: floats only."""
    a, b = match_types("divide", lhs, rhs)
    if not a.dtype.is_float:
        raise TypeError(
            f"/ on integers ({a} / {b}) is ambiguous: use truncdiv, floordiv (//) or ceildiv"
        )
    return div(a, b, span)


def ceildiv(lhs: Any, rhs: Any, span: Any = None) -> Expr:
    """Integer quotient rounded towards plus infinity, for a positive divisor."""
    a, b = match_types("ceildiv", lhs, rhs)
    _check_int("ceildiv", a, b)
    return floordiv(subtract(add(a, b), folded(1, a.dtype)), b, span)


def minimum(a: Any, b: Any, span: Any = None) -> Expr:
    """The smaller of two values; NaN if one is NaN."""
    return _extremum("min", nodes.Min, a, b, span)


def maximum(a: Any, b: Any, span: Any = None) -> Expr:
    """The larger of two values; NaN if one is NaN."""
    return _extremum("max", nodes.Max, a, b, span)


def _extremum(name: str, node: Callable[..., Expr], lhs: Any, rhs: Any, span: Any) -> Expr:
    a, b = match_types(name, lhs, rhs)
    found = _fold(name, a, b)
    if found is not None:
        return found
    return a if _same(a, b) else node(a, b, span=span)


def _comparison(name: str, node: Callable[..., Expr], function: Callable[[Any, Any], bool]) -> Any:
    def compare(lhs: Any, rhs: Any, span: Any = None) -> Expr:
        a, b = lhs, rhs
        if not (_is_pointer(a) and _is_pointer(b)):
            a, b = match_types(name, lhs, rhs)
            x, y = value_of(a), value_of(b)
            if x is not None and y is not None:
                return folded(function(x, y), _bool_of(a))
        return node(a, b, span=span)

    compare.__name__ = name
    compare.__doc__ = f"{node.__doc__} (bool, one per lane)"
    return compare


def _is_pointer(value: Any) -> bool:
    return isinstance(value, Expr) and isinstance(value.ty, PointerType)


def _bool_of(expr: Expr) -> DataType:
    return DataType("bool").with_lanes(expr.dtype.lanes)


less = _comparison("less", nodes.LT, operator.lt)
less_equal = _comparison("less_equal", nodes.LE, operator.le)
greater = _comparison("greater", nodes.GT, operator.gt)
greater_equal = _comparison("greater_equal", nodes.GE, operator.ge)
_equal = _comparison("equal", nodes.EQ, operator.eq)
_not_equal = _comparison("not_equal", nodes.NE, operator.ne)


def equal(lhs: Any, rhs: Any, span: Any = None) -> Expr:
    """lhs == rhs as an expression."""
    return _equal(lhs, rhs, span)


def not_equal(lhs: Any, rhs: Any, span: Any = None) -> Expr:
    """lhs != rhs as an expression."""
    return _not_equal(lhs, rhs, span)


def _deferred(lhs: Any, rhs: Any, node: Callable[..., Expr], name: str) -> Any:
    """Python's == and !=: never folded, so that their truth value is structural sameness."""
    if _is_pointer(lhs) or _is_pointer(rhs):
        return node(as_expr(lhs), as_expr(rhs)) if _is_pointer(lhs) and _is_pointer(rhs) else False
    a, b = as_expr(lhs), as_expr(rhs)
    if a.dtype.lanes != b.dtype.lanes and a.dtype.lanes != 1 and b.dtype.lanes != 1:
        return node is nodes.NE
    a, b = match_types(name, a, b)
    return node(a, b)


def logical_and(lhs: Any, rhs: Any, span: Any = None) -> Expr:
    """lhs and rhs (bool); a constant side is folded."""
    a, b = match_types("and", lhs, rhs)
    if value_of(a) is not None:
        return b if value_of(a) else a
    if value_of(b) is not None:
        return a if value_of(b) else b
    return nodes.And(a, b, span=span)


def logical_or(lhs: Any, rhs: Any, span: Any = None) -> Expr:
    """lhs or rhs (bool); a constant side is folded."""
    a, b = match_types("or", lhs, rhs)
    if value_of(a) is not None:
        return a if value_of(a) else b
    if value_of(b) is not None:
        return b if value_of(b) else a
    return nodes.Or(a, b, span=span)


def logical_not(value: Any, span: Any = None) -> Expr:
    """not value (bool); a constant is folded, a comparison is not turned round."""
    expr = as_expr(value)
    known = value_of(expr)
    return folded(not known, expr.dtype) if known is not None else nodes.Not(expr, span=span)


def all(*args: Any, span: Any = None) -> Expr:
    """The conjunction of one or more conditions."""
    return _join("all", logical_and, args, span)


def any(*args: Any, span: Any = None) -> Expr:
    """The disjunction of one or more conditions."""
    return _join("any", logical_or, args, span)


def _join(name: str, function: Callable[..., Expr], args: tuple[Any, ...], span: Any) -> Expr:
    if not args:
        raise ValueError(f"{name}: expected at least one condition")
    out = as_expr(args[0])
    for item in args[1:]:
        out = function(out, as_expr(item), span)
    return out


def _match_bits(name: str, lhs: Any, rhs: Any) -> tuple[Expr, Expr]:
    """Operands of a bitwise operation; a Python integer takes the other's type."""
    if isinstance(lhs, int) and isinstance(rhs, Expr):
        lhs = const(lhs, rhs.dtype)
    elif isinstance(rhs, int) and isinstance(lhs, Expr):
        rhs = const(rhs, lhs.dtype)
    a, b = match_types(name, lhs, rhs)
    if a.dtype.is_float:
        raise TypeError(f"{name}: expected integers, got {a.dtype} ({a} and {b})")
    return a, b


def _bitwise(name: str, x: Any, y: Any, function: Callable[[Any, Any], Any], span: Any) -> Expr:
    a, b = _match_bits(name, x, y)
    u, v = value_of(a), value_of(b)
    if u is not None and v is not None:
        return folded(function(u, v), a.dtype)
    return Call(Op.get(f"tirx.{name}"), [a, b], ret_ty=a.ty, span=span)


def _shift(name: str, x: Any, y: Any, function: Callable[[Any, Any], Any], span: Any) -> Expr:
    a, b = _match_bits(name, x, y)
    amount = value_of(b)
    if amount is not None and not 0 <= amount < a.dtype.bits:
        raise ValueError(f"{name}: a shift of {a.dtype} must be in [0, {a.dtype.bits}), got {b}")
    return a if amount == 0 else _bitwise(name, a, b, function, span)


def _bits_of(x: Any) -> int:
    return np.asarray(x).dtype.itemsize * 8


def _numpy_shl(x: Any, y: Any) -> Any:
    bad = np.less(y, 0) | np.greater_equal(y, _bits_of(x))
    return np.where(bad, np.zeros_like(x), np.left_shift(x, np.where(bad, 0, y).astype(x.dtype)))


def _numpy_shr(x: Any, y: Any) -> Any:
    bits = _bits_of(x)
    bad = np.less(y, 0) | np.greater_equal(y, bits)
    return (
        np.right_shift(x, np.where(bad, bits - 1, y).astype(x.dtype))
        if np.asarray(x).dtype.kind == "i"
        else np.where(bad, np.zeros_like(x), np.right_shift(x, np.where(bad, 0, y).astype(x.dtype)))
    )


@intrin("tirx.bitwise_and", lower={"llvm": "and", "c": "&"}, numpy=np.bitwise_and)
def bitwise_and(x: Any, y: Any, span: Any = None) -> Any:
    """The bits set in both."""
    return _bitwise("bitwise_and", x, y, operator.and_, span)


@intrin("tirx.bitwise_or", lower={"llvm": "or", "c": "|"}, numpy=np.bitwise_or)
def bitwise_or(x: Any, y: Any, span: Any = None) -> Any:
    """The bits set in either."""
    return _bitwise("bitwise_or", x, y, operator.or_, span)


@intrin("tirx.bitwise_xor", lower={"llvm": "xor", "c": "^"}, numpy=np.bitwise_xor)
def bitwise_xor(x: Any, y: Any, span: Any = None) -> Any:
    """The bits set in one of the two."""
    return _bitwise("bitwise_xor", x, y, operator.xor, span)


@intrin("tirx.bitwise_not", lower={"llvm": "not", "c": "~"}, numpy=np.bitwise_not)
def bitwise_not(x: Any, span: Any = None) -> Any:
    """All bits turned round (for bool: not)."""
    expr = as_expr(x)
    if expr.dtype.is_float:
        raise TypeError(f"bitwise_not: expected an integer, got {expr.dtype} ({expr})")
    return Call(Op.get("tirx.bitwise_not"), [expr], ret_ty=expr.ty, span=span)


@intrin("tirx.shift_left", lower={"llvm": "shl", "c": "<<"}, numpy=_numpy_shl)
def shift_left(x: Any, y: Any, span: Any = None) -> Any:
    """x shifted left by y bits."""
    return _shift("shift_left", x, y, operator.lshift, span)


@intrin("tirx.shift_right", lower={"llvm": "shr", "c": ">>"}, numpy=_numpy_shr)
def shift_right(x: Any, y: Any, span: Any = None) -> Any:
    """x shifted right by y bits (arithmetic for signed integers)."""
    return _shift("shift_right", x, y, operator.rshift, span)


def is_zero(expr: Any) -> bool:
    """Whether an expression is the integer constant 0."""
    return is_const_int(expr, 0)


def zero_of(dtype: Any) -> Expr:
    """0 of a data type."""
    return const(0, prim_type(dtype).dtype)
