"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench import te
from workbench.ir.expr import Expr, as_expr
from workbench.te.tensor import Tensor, tensor_operators
from workbench.tirx import op as tir
from workbench.tirx.expr import Select
from workbench.topi.broadcast import ELEMWISE, axis_names
from workbench.topi.dims import require_tensor


def elementwise(
    function: Callable[[Expr], Expr], data: Any, name: str = "compute", tag: str = ELEMWISE
) -> Any:
    """`function` of every element; of the expression itself if `data` is a scalar."""
    if not isinstance(data, Tensor):
        return function(as_expr(data))
    return te.compute(
        data.shape,
        lambda *i: function(data(*i)),
        name=name,
        tag=tag,
        varargs_names=[f"i{k}" for k in range(data.ndim)],
    )


def _unary(name: str, doc: str, function: Callable[[Any], Expr] | None = None) -> Any:
    def build(x: Any) -> Any:
        return elementwise(function or getattr(tir, name), x)

    build.__name__ = name
    build.__doc__ = f"{doc}, element by element."
    return build


def _number(value: float, x: Expr) -> Expr:
    return tir.const(value, x.dtype)


def _sign(x: Expr) -> Expr:
    zero, one = _number(0, x), _number(1, x)
    if x.dtype.is_uint:
        return Select(x > zero, one, zero)
    return Select(x > zero, one, Select(x < zero, _number(-1, x), x))


def _as_float(x: Expr) -> Expr:
    return x if x.dtype.is_float else x.astype("float32")


def _float_unary(name: str, doc: str) -> Any:
    """A function of floats; integers are converted to float32."""
    return _unary(name, doc, lambda x: getattr(tir, name)(_as_float(x)))


abs = _unary("abs", "The absolute value")
ceil = _unary("ceil", "The next integer above")
floor = _unary("floor", "The next integer below")
trunc = _unary("trunc", "The integer part")
round = _unary("round", "The nearest integer, halves to even", lambda x: tir.nearbyint(x))
negative = _unary("negative", "The negative", lambda x: -x)
sign = _unary("sign", "-1, 0 or 1", _sign)
exp = _float_unary("exp", "e to the power x")
log = _float_unary("log", "The natural logarithm")
log2 = _float_unary("log2", "The logarithm of base 2")
log10 = _float_unary("log10", "The logarithm of base 10")
sqrt = _float_unary("sqrt", "The square root")
rsqrt = _float_unary("rsqrt", "The inverse of the square root")
sigmoid = _float_unary("sigmoid", "1 / (1 + exp(-x))")
tanh = _float_unary("tanh", "The hyperbolic tangent")
sin = _float_unary("sin", "The sine")
cos = _float_unary("cos", "The cosine")
tan = _float_unary("tan", "The tangent")
asin = _float_unary("asin", "The arc sine")
acos = _float_unary("acos", "The arc cosine")
atan = _float_unary("atan", "The arc tangent")
sinh = _float_unary("sinh", "The hyperbolic sine")
cosh = _float_unary("cosh", "The hyperbolic cosine")
asinh = _float_unary("asinh", "The inverse hyperbolic sine")
acosh = _float_unary("acosh", "The inverse hyperbolic cosine")
atanh = _float_unary("atanh", "The inverse hyperbolic tangent")
erf = _float_unary("erf", "The error function")
isnan = _unary("isnan", "Whether it is no number")
isinf = _unary("isinf", "Whether it is infinite")
isfinite = _unary("isfinite", "Whether it is finite")
bitwise_not = _unary("bitwise_not", "The inverted bits", lambda x: ~x)
identity = _unary("identity", "The element itself", lambda x: x)
square = _unary("square", "The square", lambda x: x * x)
reciprocal = _unary("reciprocal", "1 / x", lambda x: _number(1, x) / x)


def logical_not(data: Any) -> Any:
    """Whether the element is zero."""
    return elementwise(
        lambda x: tir.logical_not(x) if x.dtype.is_bool else tir.equal(x, _number(0, x)), data
    )


def clip(x: Any, a_min: Any, a_max: Any) -> Any:
    """The nearest value in [a_min, a_max]."""

    def element(value: Expr) -> Expr:
        low = a_min if isinstance(a_min, Expr) else _number(a_min, value)
        high = a_max if isinstance(a_max, Expr) else _number(a_max, value)
        return tir.maximum(tir.minimum(value, high), low)

    return elementwise(element, x)


def cast(x: Any, dtype: str, span: Any = None) -> Any:
    """The elements converted to a data type."""
    return elementwise(lambda value: tir.cast(dtype, value), x)


def reinterpret(x: Any, dtype: str) -> Any:
    """The bits of the elements taken as another type of the same size."""
    return elementwise(lambda value: tir.reinterpret(dtype, value), x)


def elemwise_sum(xs: list[Tensor]) -> Any:
    """The sum of tensors of one shape."""

    def element(*i: Any) -> Expr:
        total = xs[0](*i)
        for x in xs[1:]:
            total = total + x(*i)
        return total

    require_tensor(xs[0], "elemwise_sum")
    return te.compute(
        xs[0].shape,
        element,
        name="T_elemwise_sum",
        tag=ELEMWISE,
        varargs_names=axis_names(xs[0].ndim),
    )


def full(shape: Any, dtype: str, fill_value: Any) -> Tensor:
    """A tensor of one value."""
    value = fill_value if isinstance(fill_value, Expr) else tir.const(fill_value, dtype)
    value = tir.cast(dtype, value)
    return te.compute(shape, lambda *i: value, name="T_full", tag=ELEMWISE)


def full_like(x: Tensor, fill_value: Any) -> Tensor:
    """A tensor of one value, with the shape and type of `x`."""
    return te.compute(
        x.shape, lambda *i: tir.const(fill_value, x.dtype), name="T_full_like", tag=ELEMWISE
    )


tensor_operators.update(negative=negative, cast=cast)
