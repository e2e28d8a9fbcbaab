"""Mathematical intrinsics: one declaration each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.ir.expr import Call, Expr, FloatImm, IntImm, Op, as_expr
from workbench.ir.type import prim_type
from workbench.tirx import expr as nodes
from workbench.tirx.op import arith
from workbench.tirx.op.constants import const, fold_float, folded, infinity, value_of
from workbench.tirx.op.intrin import CallEffectKind, check_arguments, intrin


def _widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of doubles, element by element, rounded to the type of the first argument."""
    over = np.frompyfunc(function, 1, 1)

    def apply(x: Any) -> Any:
        value = np.asarray(x)
        with np.errstate(all="ignore"):
            return np.asarray(over(value.astype("float64")), dtype="float64").astype(value.dtype)[
                ()
            ]

    return apply


def _in_float(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function computed at least in float32 and rounded back (narrow floats)."""

    def apply(x: Any, *more: Any) -> Any:
        value = np.asarray(x)
        with np.errstate(all="ignore"):
            if value.dtype in (np.float32, np.float64):
                return function(x, *more)
            wide = [np.asarray(v).astype("float32") for v in (x, *more)]
            return np.asarray(function(*wide)).astype(value.dtype)[()]

    return apply


def _sigmoid(x: Any) -> Any:
    one = np.asarray(x).dtype.type(1)
    return one / (one + np.exp(-x))


def _rsqrt(x: Any) -> Any:
    return np.asarray(x).dtype.type(1) / np.sqrt(x)


def _exp10(x: Any) -> Any:
    wide = np.asarray(x).astype("float64")
    return np.power(10.0, wide).astype(np.asarray(x).dtype)[()]


@intrin("tirx.exp", lower={"llvm": "wb.exp", "c": "exp"}, numpy=_in_float(np.exp), args="float")
def exp(x: Any, span: Any = None) -> Any:
    """e to the power x."""


@intrin("tirx.exp2", lower={"llvm": "wb.exp2", "c": "exp2"}, numpy=_in_float(np.exp2), args="float")
def exp2(x: Any, span: Any = None) -> Any:
    """2 to the power x."""


@intrin("tirx.exp10", lower={"llvm": "wb.exp10", "c": "exp10"}, numpy=_exp10, args="float")
def exp10(x: Any, span: Any = None) -> Any:
    """10 to the power x."""


@intrin("tirx.log", lower={"llvm": "wb.log", "c": "log"}, numpy=_in_float(np.log), args="float")
def log(x: Any, span: Any = None) -> Any:
    """Natural logarithm."""


@intrin("tirx.log2", lower={"llvm": "wb.log2", "c": "log2"}, numpy=_in_float(np.log2), args="float")
def log2(x: Any, span: Any = None) -> Any:
    """Logarithm to base 2."""


@intrin(
    "tirx.log10", lower={"llvm": "wb.log10", "c": "log10"}, numpy=_in_float(np.log10), args="float"
)
def log10(x: Any, span: Any = None) -> Any:
    """Logarithm to base 10."""


@intrin(
    "tirx.log1p", lower={"llvm": "wb.log1p", "c": "log1p"}, numpy=_in_float(np.log1p), args="float"
)
def log1p(x: Any, span: Any = None) -> Any:
    """log(1 + x), exact for small x."""


@intrin(
    "tirx.sqrt", lower={"llvm": "llvm.sqrt", "c": "sqrt"}, numpy=_in_float(np.sqrt), args="float"
)
def sqrt(x: Any, span: Any = None) -> Any:
    """Square root."""


@intrin(
    "tirx.rsqrt", lower={"llvm": "wb.rsqrt", "c": "rsqrt"}, numpy=_in_float(_rsqrt), args="float"
)
def rsqrt(x: Any, span: Any = None) -> Any:
    """1 / sqrt(x)"""


@intrin(
    "tirx.sigmoid", lower={"llvm": "wb.sigmoid", "c": ""}, numpy=_in_float(_sigmoid), args="float"
)
def sigmoid(x: Any, span: Any = None) -> Any:
    """1 / (1 + exp(-x))"""


@intrin("tirx.tanh", lower={"llvm": "wb.tanh", "c": "tanh"}, numpy=_in_float(np.tanh), args="float")
def tanh(x: Any, span: Any = None) -> Any:
    """Hyperbolic tangent."""


@intrin("tirx.sinh", lower={"llvm": "wb.sinh", "c": "sinh"}, numpy=_in_float(np.sinh), args="float")
def sinh(x: Any, span: Any = None) -> Any:
    """Hyperbolic sine."""


@intrin("tirx.cosh", lower={"llvm": "wb.cosh", "c": "cosh"}, numpy=_in_float(np.cosh), args="float")
def cosh(x: Any, span: Any = None) -> Any:
    """Hyperbolic cosine."""


@intrin("tirx.sin", lower={"llvm": "wb.sin", "c": "sin"}, numpy=_in_float(np.sin), args="float")
def sin(x: Any, span: Any = None) -> Any:
    """Sine."""


@intrin("tirx.cos", lower={"llvm": "wb.cos", "c": "cos"}, numpy=_in_float(np.cos), args="float")
def cos(x: Any, span: Any = None) -> Any:
    """Cosine."""


@intrin("tirx.tan", lower={"llvm": "wb.tan", "c": "tan"}, numpy=_in_float(np.tan), args="float")
def tan(x: Any, span: Any = None) -> Any:
    """Tangent."""


@intrin(
    "tirx.asin", lower={"llvm": "wb.asin", "c": "asin"}, numpy=_in_float(np.arcsin), args="float"
)
def asin(x: Any, span: Any = None) -> Any:
    """Inverse sine."""


@intrin(
    "tirx.acos", lower={"llvm": "wb.acos", "c": "acos"}, numpy=_in_float(np.arccos), args="float"
)
def acos(x: Any, span: Any = None) -> Any:
    """Inverse cosine."""


@intrin(
    "tirx.atan", lower={"llvm": "wb.atan", "c": "atan"}, numpy=_in_float(np.arctan), args="float"
)
def atan(x: Any, span: Any = None) -> Any:
    """Inverse tangent."""


@intrin(
    "tirx.asinh",
    lower={"llvm": "libm.asinh", "c": "asinh"},
    numpy=_in_float(np.arcsinh),
    args="float",
)
def asinh(x: Any, span: Any = None) -> Any:
    """Inverse hyperbolic sine."""


@intrin(
    "tirx.acosh",
    lower={"llvm": "libm.acosh", "c": "acosh"},
    numpy=_in_float(np.arccosh),
    args="float",
)
def acosh(x: Any, span: Any = None) -> Any:
    """Inverse hyperbolic cosine."""


@intrin(
    "tirx.atanh",
    lower={"llvm": "libm.atanh", "c": "atanh"},
    numpy=_in_float(np.arctanh),
    args="float",
)
def atanh(x: Any, span: Any = None) -> Any:
    """Inverse hyperbolic tangent."""


@intrin("tirx.erf", lower={"llvm": "wb.erf", "c": "erf"}, numpy=_widened(math.erf), args="float")
def erf(x: Any, span: Any = None) -> Any:
    """The error function."""


def _float_pair(name: str, x1: Any, x2: Any) -> list[Expr]:
    """Two floats of one type; a number takes the type of the other argument."""
    if isinstance(x1, Expr) and isinstance(x2, (int, float)):
        x2 = const(x2, x1.dtype)
    elif isinstance(x2, Expr) and isinstance(x1, (int, float)):
        x1 = const(x1, x2.dtype)
    a, b = arith.match_types(name, x1, x2)
    check_arguments(name, "float", [a, b])
    return [a, b]


@intrin("tirx.atan2", lower={"llvm": "libm.atan2", "c": "atan2"}, numpy=_in_float(np.arctan2))
def atan2(x1: Any, x2: Any, span: Any = None) -> Any:
    """The angle of the point (x2, x1)."""
    pair = _float_pair("atan2", x1, x2)
    return Call(Op.get("tirx.atan2"), pair, ret_ty=pair[0].ty, span=span)


@intrin("tirx.hypot", lower={"llvm": "libm.hypot", "c": "hypot"}, numpy=_in_float(np.hypot))
def hypot(x1: Any, x2: Any, span: Any = None) -> Any:
    """sqrt(x1 * x1 + x2 * x2) without overflow."""
    pair = _float_pair("hypot", x1, x2)
    return Call(Op.get("tirx.hypot"), pair, ret_ty=pair[0].ty, span=span)


@intrin("tirx.copysign", lower={"llvm": "llvm.copysign", "c": "copysign"}, numpy=np.copysign)
def copysign(x1: Any, x2: Any, span: Any = None) -> Any:
    """The magnitude of x1 with the sign of x2."""
    pair = _float_pair("copysign", x1, x2)
    return Call(Op.get("tirx.copysign"), pair, ret_ty=pair[0].ty, span=span)


@intrin("tirx.nextafter", lower={"llvm": "libm.nextafter", "c": "nextafter"}, numpy=np.nextafter)
def nextafter(x1: Any, x2: Any, span: Any = None) -> Any:
    """The next representable value after x1 in the direction of x2."""
    pair = _float_pair("nextafter", x1, x2)
    return Call(Op.get("tirx.nextafter"), pair, ret_ty=pair[0].ty, span=span)


@intrin("tirx.fmod", lower={"llvm": "frem", "c": "fmod"}, numpy=_in_float(np.fmod))
def fmod(x: Any, y: Any, span: Any = None) -> Any:
    """Remainder of the truncating division of floats."""
    pair = _float_pair("fmod", x, y)
    return Call(Op.get("tirx.fmod"), pair, ret_ty=pair[0].ty, span=span)


@intrin("tirx.ldexp", lower={"llvm": "wb.ldexp", "c": "ldexp"}, numpy=np.ldexp)
def ldexp(x1: Any, x2: Any, span: Any = None) -> Any:
    """x1 * 2**x2 for a float x1 and an integer x2."""
    a, b = as_expr(x1), as_expr(x2)
    check_arguments("ldexp", "float", [a])
    check_arguments("ldexp", "int", [b])
    return Call(Op.get("tirx.ldexp"), [a, b], ret_ty=a.ty, span=span)


@intrin("tirx.pow", lower={"llvm": "wb.pow", "c": "pow"}, numpy=_in_float(np.power))
def power(x: Any, y: Any, span: Any = None) -> Any:
    """x to the power y (floats; an integer y is converted)."""
    a, b = arith.match_types("power", x, y)
    check_arguments("power", "float", [a, b])
    return Call(Op.get("tirx.pow"), [a, b], ret_ty=a.ty, span=span)


pow = power


def _fma(x: Any, y: Any, z: Any) -> Any:
    """One rounding: exact in longdouble for float32 and narrower; float64 by exact fractions."""
    kind = np.asarray(x).dtype
    if kind != np.float64:
        wide = [np.asarray(v).astype("longdouble") for v in (x, y, z)]
        return (wide[0] * wide[1] + wide[2]).astype(kind)[()]

    def one(a: float, b: float, c: float) -> float:
        from fractions import Fraction

        if not all(map(math.isfinite, (a, b, c))):
            return a * b + c
        return float(Fraction(a) * Fraction(b) + Fraction(c))

    return np.asarray(np.frompyfunc(one, 3, 1)(x, y, z), dtype="float64")[()]


@intrin("tirx.fma", lower={"llvm": "llvm.fma", "c": "fma"}, numpy=_fma)
def fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z with one rounding."""
    a, b = _float_pair("fma", x, y)
    a, c = _float_pair("fma", a, z)
    return Call(Op.get("tirx.fma"), [a, b, c], ret_ty=a.ty)


def _rounding(name: str, function: Callable[..., Any], llvm: str) -> Callable[..., Expr]:
    """A rounding intrinsic: integers are returned, constants folded."""

    def build(x: Any, span: Any = None) -> Any:
        expr = as_expr(x)
        if not expr.dtype.is_float:
            return expr
        value = value_of(expr)
        if type(expr) is FloatImm and value is not None:
            return fold_float(function, value, dtype=expr.dtype)
        return Call(Op.get(f"tirx.{name}"), [expr], ret_ty=expr.ty, span=span)

    build.__name__ = name
    build.__doc__ = _ROUNDING_DOC[name]
    declared = intrin(f"tirx.{name}", lower={"llvm": llvm, "c": name}, numpy=function)
    return declared(build)


_ROUNDING_DOC = {
    "floor": "The largest integral value not above x.",
    "ceil": "The smallest integral value not below x.",
    "trunc": "x rounded towards zero.",
    "round": "x rounded to the nearest integral value, ties to even.",
    "nearbyint": "x rounded to the nearest integral value, ties to even.",
}
floor = _rounding("floor", np.floor, "llvm.floor")
ceil = _rounding("ceil", np.ceil, "llvm.ceil")
trunc = _rounding("trunc", np.trunc, "llvm.trunc")
round = _rounding("round", np.rint, "llvm.roundeven")
nearbyint = _rounding("nearbyint", np.rint, "llvm.nearbyint")


@intrin("tirx.fabs", lower={"llvm": "llvm.fabs", "c": "fabs"}, numpy=np.abs, args="float")
def fabs(x: Any, span: Any = None) -> Any:
    """Absolute value of a float."""


def abs(x: Any, span: Any = None) -> Any:
    """Absolute value of a number of any type."""
    expr = as_expr(x)
    value = value_of(expr)
    if type(expr) in (IntImm, FloatImm) and value is not None:
        return folded(-value if value < 0 else value, expr.dtype) if value else expr
    if expr.dtype.is_float:
        return fabs(expr, span=span)
    if not expr.dtype.is_int:
        return expr
    zero = const(0, expr.dtype)
    negated = nodes.Sub(zero, expr)
    return nodes.Select(arith.greater_equal(expr, zero), expr, negated, span=span)


@intrin("tirx.isnan", lower={"llvm": "isnan", "c": "isnan"}, numpy=np.isnan, result="bool")
def isnan(x: Any, span: Any = None) -> Any:
    """Whether x is not a number."""
    expr = as_expr(x)
    if not expr.dtype.is_float:
        return folded(0, arith._bool_of(expr))
    value = value_of(expr)
    if value is not None:
        return folded(math.isnan(value), arith._bool_of(expr))
    if expr.dtype.bits < 32:
        expr = arith.cast("float32", expr)
    kind = prim_type(arith._bool_of(expr))
    return Call(Op.get("tirx.isnan"), [expr], ret_ty=kind, span=span)


def isinf(x: Any, span: Any = None) -> Any:
    """Whether x is plus or minus infinity."""
    expr = as_expr(x)
    if not expr.dtype.is_float:
        return folded(0, arith._bool_of(expr))
    value = value_of(expr)
    if value is not None:
        return folded(math.isinf(value), arith._bool_of(expr))
    if expr.dtype.bits < 32:
        expr = arith.cast("float32", expr)
    at_end = arith.equal(abs(expr), infinity(expr.dtype))
    return arith.logical_and(at_end, arith.logical_not(isnan(expr)), span)


def isfinite(x: Any, span: Any = None) -> Any:
    """Whether x is neither infinite nor NaN."""
    no_inf, no_nan = arith.logical_not(isinf(x)), arith.logical_not(isnan(x))
    return arith.logical_and(no_inf, no_nan, span)


def logaddexp(a: Any, b: Any, span: Any = None) -> Any:
    """log(exp(a) + exp(b))"""
    x, y = arith.match_types("logaddexp", a, b)
    return log(arith.add(exp(x), exp(y)), span=span)


def _popcount(x: Any) -> Any:
    value = np.asarray(x)
    return np.bitwise_count(value.view(f"u{value.dtype.itemsize}")).astype(value.dtype)[()]


def _clz(x: Any) -> Any:
    value = np.asarray(x)
    bits = value.dtype.itemsize * 8
    count = np.frompyfunc(lambda v: bits - int(v).bit_length(), 1, 1)
    return np.asarray(count(value.view(f"u{value.dtype.itemsize}"))).astype("int32")[()]


@intrin("tirx.popcount", lower={"llvm": "llvm.ctpop", "c": "popcount"}, numpy=_popcount, args="int")
def popcount(x: Any, span: Any = None) -> Any:
    """The number of set bits."""


@intrin("tirx.clz", lower={"llvm": "llvm.ctlz", "c": "clz"}, numpy=_clz, args="int")
def clz(x: Any, span: Any = None) -> Any:
    """The number of leading zero bits, as int32 (all bits for 0)."""
    expr = as_expr(x)
    check_arguments("clz", "int", [expr])
    kind = prim_type("int32" if expr.dtype.lanes == 1 else f"int32x{expr.dtype.lanes}")
    return Call(Op.get("tirx.clz"), [expr], ret_ty=kind, span=span)


def _multiply_shift(x: Any, y: Any, q: Any, s: Any) -> Any:
    wide = np.asarray(x).astype("int64") * np.asarray(y).astype("int64")
    shift = np.asarray(q).astype("int64") + np.asarray(s).astype("int64")
    rounded = wide + (np.int64(1) << (shift - 1))
    return (rounded >> shift).astype("int32")[()]


@intrin("tirx.q_multiply_shift", numpy=_multiply_shift)
def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> Any:
    """round(x * y * 2**-(q + s)) for int32 x and a q-bit fixed-point y."""
    args = [as_expr(v) for v in (x, y, q, s)]
    kind = args[0].ty
    return Call(Op.get("tirx.q_multiply_shift"), args, ret_ty=kind)


__all__ = ["CallEffectKind", "abs", "exp", "isfinite", "isinf"]
