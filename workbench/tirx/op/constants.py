"""Constants: literals of a data type, limits, and constant folding by NumPy's arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.ir.expr import Expr, FloatImm, IntImm, StringImm, as_expr
from workbench.runtime.dtype import DataType
from workbench.tirx.expr import Broadcast


def wrap_int(value: int, dtype: DataType) -> int:
    """An integer reduced to the range of an integer type (two's complement)."""
    if dtype.is_bool:
        return int(value != 0)
    mask = (1 << dtype.bits) - 1
    value &= mask
    if dtype.is_int and value >> (dtype.bits - 1):
        value -= mask + 1
    return value


def round_float(value: float, dtype: DataType) -> float:
    """A float rounded to a floating type."""
    if dtype.bits == 64:
        return float(value)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(dtype.base.numpy().type(value))


def const(value: Any, dtype: Any = None, span: Any = None) -> Any:
    """A constant of a data type (a broadcast for a vector type).

    Parameters
    ----------
    value : int, float, bool, or a constant expression.
    dtype : left out: bool, int32 (int64 if needed) or float32 by the value.
    Raises ValueError if an integer does not fit the type.
    """
    if isinstance(value, (IntImm, FloatImm)):
        value = value.value
    if dtype is None:
        return as_expr(value if not isinstance(value, np.generic) else value.item())
    kind = DataType(dtype)
    if kind.lanes > 1:
        return Broadcast(const(value, kind.base), kind.lanes)
    if kind.is_float:
        return FloatImm(kind, round_float(float(value), kind), span=span)
    if kind.is_handle or kind.is_void:
        raise TypeError(f"a constant cannot have the type {kind}")
    return IntImm(kind, int(value), span=span)


def value_of(expr: Any) -> int | float | None:
    """The value of a constant expression (a broadcast constant included), else None."""
    while type(expr) is Broadcast:
        expr = expr.value
    return expr.value if type(expr) in (IntImm, FloatImm) else None


def is_const_int(expr: Any, value: int | None = None) -> bool:
    """Whether `expr` is an integer constant (of that value)."""
    return type(expr) is IntImm and (value is None or expr.value == value)


def folded(value: Any, dtype: DataType) -> Expr:
    """A constant of any number, wrapped or rounded to the type."""
    if dtype.lanes > 1:
        return Broadcast(folded(value, dtype.base), dtype.lanes)
    if dtype.is_float:
        return FloatImm(dtype, round_float(float(value), dtype))
    return IntImm(dtype, wrap_int(int(value), dtype))


def fold_float(function: Callable[..., Any], *values: float, dtype: DataType) -> Expr:
    """A NumPy function applied to constants of a floating type."""
    kind = dtype.base.numpy().type
    with np.errstate(all="ignore"):
        return folded(function(*map(kind, values)), dtype)


def min_value(dtype: Any, span: Any = None) -> Any:
    """The smallest finite value of a data type. Raises TypeError for bool and handle."""
    return _limit(DataType(dtype), "min")


def max_value(dtype: Any, span: Any = None) -> Any:
    """The largest finite value of a data type. Raises TypeError for bool and handle."""
    return _limit(DataType(dtype), "max")


def _limit(kind: DataType, side: str) -> Expr:
    if kind.is_float:
        if kind.base in ("float16", "float32", "float64"):
            info: Any = np.finfo(kind.base.numpy())
        else:
            import ml_dtypes

            info = ml_dtypes.finfo(kind.base.numpy())
        return folded(float(getattr(info, side)), kind)
    if kind.is_int or kind.is_uint:
        signed = kind.is_int
        high = (1 << (kind.bits - signed)) - 1
        return folded(high if side == "max" else (-high - 1 if signed else 0), kind)
    raise TypeError(f"{side}_value: the type {kind} has no limits")


def infinity(dtype: Any, span: Any = None) -> Any:
    """Positive infinity of a floating type."""
    kind = DataType(dtype)
    if not kind.is_float or not math.isinf(round_float(math.inf, kind)):
        raise TypeError(f"infinity: the type {kind} has no infinity")
    return folded(math.inf, kind)


def convert(expr: Any) -> Any:
    """Python numbers and strings as constants, sequences as tuples of expressions."""
    if isinstance(expr, (list, tuple)):
        return tuple(map(convert, expr))
    return as_expr(expr)


__all__ = [
    "StringImm",
    "const",
    "convert",
    "fold_float",
    "folded",
    "infinity",
    "is_const_int",
    "max_value",
    "min_value",
    "round_float",
    "value_of",
    "wrap_int",
]
