"""Fast construction of primitive expressions, constants and constant folding.

The simplifier builds many nodes whose operands are known to fit together; these builders skip the
coercion and the checks of the public constructors. `fold` computes an operation on constants in the
arithmetic of its data type:

* index types (signed, 32 or 64 bits) count as unbounded: a result that does not fit is not folded;
* narrow and unsigned integers wrap around;
* floats are rounded to the type after each operation, and a result that is no finite number is not
  folded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.core.structural import structural_equal
from workbench.ir.expr import Call, Expr, FloatImm, IntImm, Var
from workbench.ir.type import BOOL, PrimType, prim_type
from workbench.runtime.dtype import DataType, DataTypeCode
from workbench.tirx.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
)

# Kinds of data types: which rules may speak of a value.
INDEX, WRAP, FLOAT, BOOLEAN, OTHER = range(5)

_kinds: dict[str, int] = {}


def kind_of(ty: Any) -> int:
    """INDEX (int32, int64), WRAP (other integers), FLOAT, BOOLEAN or OTHER; lanes do not matter."""
    if type(ty) is not PrimType:
        return OTHER
    found = _kinds.get(ty.dtype)
    if found is None:
        dtype = ty.dtype
        if dtype.type_code == DataTypeCode.BOOL or dtype.base in ("uint1", "int1"):
            found = BOOLEAN
        elif dtype.type_code == DataTypeCode.INT:
            found = INDEX if dtype.bits in (32, 64) else WRAP
        elif dtype.type_code == DataTypeCode.UINT:
            found = WRAP
        elif dtype.is_float:
            found = FLOAT
        else:
            found = OTHER
        _kinds[str(dtype)] = found
    return found


_ranges: dict[str, tuple[int, int]] = {}


def range_of(dtype: DataType) -> tuple[int, int]:
    """The smallest and the largest value of an integer or bool type."""
    found = _ranges.get(dtype)
    if found is None:
        bits = dtype.bits
        if dtype.type_code == DataTypeCode.BOOL:
            found = (0, 1)
        elif dtype.type_code == DataTypeCode.UINT:
            found = (0, (1 << bits) - 1)
        else:
            found = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        _ranges[str(dtype)] = found
    return found


# ---------------------------------------------------------------------------------------------
# Constants


def _slots(cls: type, *names: str) -> list[Callable[[Any, Any], None]]:
    return [getattr(cls, name).__set__ for name in names]


_int_new = IntImm.__new__
_set_dtype, _set_value, _set_int_ty, _set_int_span = _slots(IntImm, "_dtype", "value", "ty", "span")
_small: dict[tuple[str, int], IntImm] = {}


def imm(ty: Any, value: int) -> IntImm | None:
    """The integer constant, or None if it does not fit the (scalar) type."""
    found = _small.get((ty.dtype, value))
    if found is not None:
        return found
    low, high = range_of(ty.dtype)
    if not low <= value <= high or ty.dtype.lanes != 1:
        return None
    node: IntImm = _int_new(IntImm)
    _set_dtype(node, ty.dtype)
    _set_value(node, value)
    _set_int_ty(node, ty)
    _set_int_span(node, None)
    if -4096 <= value <= 4096:
        _small[(str(ty.dtype), value)] = node
    return node


def wrapped(ty: Any, value: int) -> IntImm:
    """The integer constant after wrap-around to the type."""
    low, high = range_of(ty.dtype)
    found = imm(ty, (value - low) % (high - low + 1) + low)
    assert found is not None
    return found


TRUE = IntImm("bool", 1)
FALSE = IntImm("bool", 0)
_small[("bool", 1)] = TRUE
_small[("bool", 0)] = FALSE


def constant(ty: Any, value: int) -> Expr | None:
    """A scalar constant or a vector of equal constants; None if the value does not fit."""
    lanes = ty.dtype.lanes
    if lanes == 1:
        return imm(ty, value)
    one = imm(prim_type(ty.dtype.base), value)
    return None if one is None else Broadcast(one, lanes)


def truth(ty: Any, value: bool) -> Expr:
    """True or False in a bool type (or bool vector type)."""
    if ty.dtype.lanes == 1:
        return TRUE if value else FALSE
    return Broadcast(TRUE if value else FALSE, ty.dtype.lanes)


# ---------------------------------------------------------------------------------------------
# Builders


def _binary_maker(cls: Any, compares: bool) -> Callable[[Any, Any], Any]:
    new = cls.__new__
    set_a, set_b, set_ty, set_span = _slots(cls, "a", "b", "ty", "span")

    def make(a: Any, b: Any) -> Any:
        node = new(cls)
        set_a(node, a)
        set_b(node, b)
        ty = a.ty
        if compares:
            ty = BOOL if ty.dtype.lanes == 1 else prim_type(f"boolx{ty.dtype.lanes}")
        set_ty(node, ty)
        set_span(node, None)
        return node

    make.__qualname__ = f"make_{cls.__name__}"
    return make


#: Builders of binary nodes by class, without checks.
make: dict[type, Callable[[Any, Any], Any]] = {
    cls: _binary_maker(cls, False)
    for cls in (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, And, Or)
}
make.update({cls: _binary_maker(cls, True) for cls in (EQ, NE, LT, LE, GT, GE)})

make_add, make_sub, make_mul = make[Add], make[Sub], make[Mul]
make_floordiv, make_floormod = make[FloorDiv], make[FloorMod]


def make_not(a: Any) -> Any:
    """not a"""
    return Not(a)


def make_select(condition: Any, true_value: Any, false_value: Any) -> Any:
    """Select"""
    return Select(condition, true_value, false_value)


def make_ramp(base: Any, stride: Any, lanes: Any) -> Any:
    """Ramp"""
    return Ramp(base, stride, lanes)


def make_broadcast(value: Any, lanes: Any) -> Any:
    """Broadcast"""
    return Broadcast(value, lanes)


def make_cast(ty: Any, value: Any) -> Any:
    """A cast to `ty` (the value itself if it has that type)."""
    return value if value.ty == ty else Cast(ty.dtype, value)


# ---------------------------------------------------------------------------------------------
# Folding


def _trunc_div(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _trunc_mod(a: int, b: int) -> int:
    return a - b * _trunc_div(a, b)


truncdiv_int = _trunc_div
truncmod_int = _trunc_mod

_int_ops: dict[type, Callable[[int, int], int]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Div: _trunc_div,
    Mod: _trunc_mod,
    Min: min,
    Max: max,
}
_comparisons: dict[type, Callable[[Any, Any], bool]] = {
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
}
_float_ops: dict[type, Callable[[float, float], float]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    Div: lambda a, b: a / b,
    Min: lambda a, b: a if a < b else b,
    Max: lambda a, b: a if a > b else b,
}
_divides = (FloorDiv, FloorMod, Div, Mod)


def round_float(dtype: DataType, value: float) -> float:
    """The value rounded to a floating type (infinite where it does not fit)."""
    if dtype.bits == 64:
        return value
    with np.errstate(over="ignore"):
        return float(np.asarray(value, dtype=np.float64).astype(dtype.numpy()))


def fold(cls: type, a: Any, b: Any) -> Expr | None:
    """The constant `cls(a, b)` of two constants, or None where it has no foldable value."""
    if type(a) is IntImm and type(b) is IntImm:
        x, y = a.value, b.value
        compare = _comparisons.get(cls)
        if compare is not None:
            return TRUE if compare(x, y) else FALSE
        if cls is And or cls is Or:
            return TRUE if ((x and y) if cls is And else (x or y)) else FALSE
        operation = _int_ops.get(cls)
        if operation is None or (y == 0 and cls in _divides):
            return None
        value = operation(x, y)
        return wrapped(a.ty, value) if kind_of(a.ty) == WRAP else imm(a.ty, value)
    if type(a) is FloatImm and type(b) is FloatImm:
        return _fold_float(cls, a, b)
    return None


def _fold_float(cls: type, a: FloatImm, b: FloatImm) -> Expr | None:
    dtype = a.dtype
    x, y = round_float(dtype, a.value), round_float(dtype, b.value)
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    compare = _comparisons.get(cls)
    if compare is not None:
        return TRUE if compare(x, y) else FALSE
    operation = _float_ops.get(cls)
    if operation is None or (cls is Div and y == 0.0):
        return None
    if cls in (Min, Max) and x == y:
        return a if repr(x) == repr(y) else None
    try:
        value = round_float(dtype, operation(x, y))
    except OverflowError:
        return None
    return FloatImm(dtype, value) if math.isfinite(value) else None


def fold_cast(ty: Any, value: Any) -> Expr | None:
    """A constant converted to another scalar type, or None where the result is not defined."""
    kind = kind_of(ty)
    if ty.dtype.lanes != 1 or not isinstance(value, (IntImm, FloatImm)):
        return None
    v: Any = value.value
    if isinstance(value, IntImm):
        if kind == BOOLEAN:
            return imm(ty, int(v != 0))
        if kind in (INDEX, WRAP):
            return wrapped(ty, v)
        if kind == FLOAT:
            rounded = round_float(ty.dtype, float(v)) if abs(v) <= 1 << 53 else math.inf
            return FloatImm(ty.dtype, rounded) if math.isfinite(rounded) else None
        return None
    if not math.isfinite(v):
        return None
    if kind == FLOAT:
        rounded = round_float(ty.dtype, v)
        return FloatImm(ty.dtype, rounded) if math.isfinite(rounded) else None
    if kind in (INDEX, WRAP):
        return imm(ty, int(v))
    return None


# ---------------------------------------------------------------------------------------------
# Structural sameness of small expressions


def same(a: Any, b: Any) -> bool:
    """Whether two expressions are structurally the same. Fast for scalar arithmetic."""
    if a is b:
        return True
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        cls = type(a)
        if cls is not type(b) or cls is Var:
            return False
        if cls is IntImm:
            if a.value != b.value or a.ty.dtype != b.ty.dtype:
                return False
        elif cls in make:
            stack.append((a.b, b.b))
            stack.append((a.a, b.a))
        else:
            if not structural_equal(a, b):
                return False
    return True


def is_call(expr: Any, name: str) -> bool:
    """Whether `expr` calls the operator `name`."""
    return type(expr) is Call and getattr(expr.op, "name", "") == name
