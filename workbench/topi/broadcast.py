"""Binary functions of tensors and scalars, with NumPy's broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm, as_expr
from workbench.te.tensor import Tensor, tensor_operators
from workbench.tirx import op as tir
from workbench.tirx.expr import Select
from workbench.topi.dims import const_int, is_one, require_tensor, same_dim

ELEMWISE, BROADCAST = "elemwise", "broadcast"


def broadcast_shape(a: Sequence[Any], b: Sequence[Any]) -> list[Expr]:
    """The common shape of two shapes, aligned at the last dimension.

    A symbolic dimension against a constant other than 1 is taken to be that constant. Raises
    WorkbenchError if two constants differ and neither is 1.
    """
    rank = max(len(a), len(b))
    one = IntImm("int32", 1)
    left = [one] * (rank - len(a)) + [as_expr(d) for d in a]
    right = [one] * (rank - len(b)) + [as_expr(d) for d in b]
    out: list[Expr] = []
    for x, y in zip(left, right, strict=True):
        if is_one(y) or same_dim(x, y):
            out.append(x)
        elif is_one(x):
            out.append(y)
        elif const_int(x) is not None and const_int(y) is not None:
            raise WorkbenchError(
                f"cannot broadcast the shapes ({', '.join(map(str, a))}) and "
                f"({', '.join(map(str, b))}): {x} against {y}"
            )
        else:
            out.append(x if const_int(x) is not None else y)
    return out


def broadcast_indices(
    shape: Sequence[Any], out: Sequence[Any], indices: Sequence[Any]
) -> list[Any]:
    """The indices of a tensor of `shape` for indices of the broadcast shape `out`."""
    skip = len(out) - len(shape)
    picked: list[Any] = []
    for size, whole, index in zip(shape, out[skip:], indices[skip:], strict=True):
        picked.append(0 if is_one(size) and not is_one(whole) else index)
    return picked


def broadcast_to(data: Tensor, shape: Sequence[Any]) -> Tensor:
    """The tensor with dimensions of size 1 (and missing leading ones) repeated to `shape`."""
    require_tensor(data, "broadcast_to")
    out = broadcast_shape(data.shape, shape)
    if len(out) != len(shape):
        raise WorkbenchError(f"broadcast_to: {data.ndim} dimensions cannot become {len(shape)}")
    return te.compute(
        list(shape),
        lambda *i: data(*broadcast_indices(data.shape, out, i)),
        name="T_broadcast_to",
        tag=BROADCAST,
        varargs_names=axis_names(len(out)),
    )


def axis_names(ndim: int) -> list[str]:
    """ax0, ax1, …"""
    return [f"ax{k}" for k in range(ndim)]


def broadcast_compute(
    function: Callable[..., Expr], operands: Sequence[Any], name: str, tag: str = BROADCAST
) -> Any:
    """`function` of the elements of tensors and scalars, broadcast against each other.

    Scalars take the data type of the first tensor if they are Python numbers. With no tensor among
    the operands the result is an expression.
    """
    tensors = [t for t in operands if isinstance(t, Tensor)]
    if not tensors:
        return function(*map(as_expr, operands))
    like = tensors[0].dtype
    values = [v if isinstance(v, (Tensor, Expr)) else tir.const(v, like) for v in operands]
    shape: list[Expr] = list(tensors[0].shape)
    for tensor in tensors[1:]:
        shape = broadcast_shape(shape, tensor.shape)

    def element(*i: Any) -> Expr:
        return function(
            *[
                v(*broadcast_indices(v.shape, shape, i)) if isinstance(v, Tensor) else v
                for v in values
            ]
        )

    return te.compute(shape, element, name=name, tag=tag, varargs_names=axis_names(len(shape)))


def _binary(name: str, function: Callable[[Any, Any], Expr], doc: str) -> Callable[..., Any]:
    def build(lhs: Any, rhs: Any) -> Any:
        return broadcast_compute(function, (lhs, rhs), f"T_{name}")

    build.__name__ = name
    build.__doc__ = f"{doc}, element by element with broadcasting."
    return build


def _power(x: Expr, y: Expr) -> Expr:
    """Small constant integer exponents become products."""
    value = getattr(y, "value", None)
    if isinstance(value, (int, float)) and x.dtype.is_float:
        if value == 2:
            return x * x
        if value == 1:
            return x
        if value == 0.5:
            return tir.sqrt(x)
    return tir.power(x, y)


def _as_bool(x: Expr) -> Expr:
    return x if x.dtype.is_bool else tir.not_equal(x, tir.const(0, x.dtype))


def _divide(x: Expr, y: Expr) -> Expr:
    return tir.div(x, y)


def _log_add_exp(x: Expr, y: Expr) -> Expr:
    high = tir.maximum(x, y)
    return high + tir.log(tir.exp(x - high) + tir.exp(y - high))


add = _binary("add", lambda x, y: x + y, "The sum")
subtract = _binary("subtract", lambda x, y: x - y, "The difference")
multiply = _binary("multiply", lambda x, y: x * y, "The product")
divide = _binary("divide", _divide, "The quotient (rounded towards zero for integers)")
floor_divide = _binary(
    "floor_divide",
    lambda x, y: tir.floor(x / y) if x.dtype.is_float else tir.floordiv(x, y),
    "The quotient rounded towards minus infinity",
)
mod = _binary(
    "mod",
    lambda x, y: tir.fmod(x, y) if x.dtype.is_float else tir.truncmod(x, y),
    "The remainder with the sign of the dividend",
)
floor_mod = _binary(
    "floor_mod",
    lambda x, y: x - tir.floor(x / y) * y if x.dtype.is_float else tir.floormod(x, y),
    "The remainder with the sign of the divisor",
)
maximum = _binary("maximum", lambda x, y: tir.maximum(x, y), "The larger value")
minimum = _binary("minimum", lambda x, y: tir.minimum(x, y), "The smaller value")
power = _binary("power", _power, "The left operand to the power of the right one")
log_add_exp = _binary("log_add_exp", _log_add_exp, "log(exp(x) + exp(y)) without overflow")
atan2 = _binary("atan2", lambda x, y: tir.atan2(x, y), "The angle of the point (y, x)")
left_shift = _binary("left_shift", lambda x, y: x << y, "Bits shifted left")
right_shift = _binary("right_shift", lambda x, y: x >> y, "Bits shifted right")
bitwise_and = _binary("bitwise_and", lambda x, y: x & y, "The common bits")
bitwise_or = _binary("bitwise_or", lambda x, y: x | y, "The bits of either")
bitwise_xor = _binary("bitwise_xor", lambda x, y: x ^ y, "The bits of exactly one")
greater = _binary("greater", lambda x, y: tir.greater(x, y), "x > y")
greater_equal = _binary("greater_equal", lambda x, y: tir.greater_equal(x, y), "x >= y")
less = _binary("less", lambda x, y: tir.less(x, y), "x < y")
less_equal = _binary("less_equal", lambda x, y: tir.less_equal(x, y), "x <= y")
equal = _binary("equal", lambda x, y: tir.equal(x, y), "x == y")
not_equal = _binary("not_equal", lambda x, y: tir.not_equal(x, y), "x != y")
logical_and = _binary(
    "logical_and", lambda x, y: tir.logical_and(_as_bool(x), _as_bool(y)), "Both hold"
)
logical_or = _binary(
    "logical_or", lambda x, y: tir.logical_or(_as_bool(x), _as_bool(y)), "At least one holds"
)
logical_xor = _binary(
    "logical_xor",
    lambda x, y: tir.not_equal(_as_bool(x), _as_bool(y)),
    "Exactly one holds",
)


def where(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` holds, else `y`; all three are broadcast."""
    return broadcast_compute(
        lambda c, a, b: Select(_as_bool(c), *tir.match_types("where", a, b)),
        (condition, x, y),
        "T_where",
    )


tensor_operators.update(add=add, subtract=subtract, multiply=multiply, divide=divide)
