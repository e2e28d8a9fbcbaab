"""ONNX operators: element-wise arithmetic, comparisons, reductions, products."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Expr
from workbench.relax import op
from workbench.relax.expr import const
from workbench.relax.frontend.onnx.registry import NodeContext, constant_data, onnx_op
from workbench.relax.op.infer import is_float


def _unary(onnx_name: str, function: Any) -> None:
    @onnx_op(onnx_name)
    def convert(node: NodeContext) -> Expr:
        return function(node.tensor(0))


for _name, _function in {
    "Abs": op.abs, "Acos": op.acos, "Acosh": op.acosh, "Asin": op.asin, "Asinh": op.asinh,
    "Atan": op.atan, "Atanh": op.atanh, "BitwiseNot": op.bitwise_not, "Ceil": op.ceil,
    "Cos": op.cos, "Cosh": op.cosh, "Erf": op.erf, "Exp": op.exp, "Floor": op.floor,
    "IsNaN": op.isnan, "Log": op.log, "Neg": op.negative, "Not": op.logical_not,
    "Round": op.round, "Sigmoid": op.sigmoid, "Sign": op.sign, "Sin": op.sin, "Sinh": op.sinh,
    "Sqrt": op.sqrt, "Tan": op.tan, "Tanh": op.tanh,
}.items():  # fmt: skip
    _unary(_name, _function)


def _binary(onnx_name: str, function: Any) -> None:
    @onnx_op(onnx_name)
    def convert(node: NodeContext) -> Expr:
        return function(node.tensor(0), node.tensor(1))


for _name, _function in {
    "Add": op.add, "Sub": op.subtract, "Mul": op.multiply,
    "And": op.logical_and, "Or": op.logical_or, "Xor": op.logical_xor,
    "BitwiseAnd": op.bitwise_and, "BitwiseOr": op.bitwise_or, "BitwiseXor": op.bitwise_xor,
    "Equal": op.equal, "Less": op.less, "LessOrEqual": op.less_equal, "Greater": op.greater,
    "GreaterOrEqual": op.greater_equal,
}.items():  # fmt: skip
    _binary(_name, _function)


def scalar_like(value: float, like: Expr) -> Expr:
    """A constant scalar of the dtype of `like`."""
    return const(value, str(like.ty.dtype))


@onnx_op("Div")
def div(node: NodeContext) -> Expr:
    """Integer division truncates in ONNX."""
    a, b = node.tensor(0), node.tensor(1)
    if is_float(node.type_of(a).dtype):
        return op.divide(a, b)
    dtype = str(node.type_of(a).dtype)
    if dtype.startswith("uint"):
        return op.floor_divide(a, b)
    quotient = op.floor_divide(op.abs(a), op.abs(b))
    return op.multiply(quotient, op.multiply(op.sign(a), op.sign(b)))


@onnx_op("Mod")
def mod(node: NodeContext) -> Expr:
    """fmod=0: the sign of the divisor; fmod=1: the sign of the dividend."""
    a, b = node.tensor(0), node.tensor(1)
    if not node.attr("fmod", 0):
        return op.floor_mod(a, b)
    if is_float(node.type_of(a).dtype):
        quotient = op.trunc(op.divide(a, b))
        return op.subtract(a, op.multiply(quotient, b))
    magnitude = op.floor_mod(op.abs(a), op.abs(b))
    return op.multiply(magnitude, op.sign(a))


@onnx_op("Pow")
def power(node: NodeContext) -> Expr:
    """The exponent may have another dtype than the base; small constant exponents are products."""
    base, exponent = node.tensor(0), node.tensor(1)
    dtype = node.type_of(base).dtype
    data = constant_data(exponent)
    if data is not None and data.size == 1 and node.rank(exponent) <= node.rank(base):
        value = float(data.reshape(-1)[0])
        if value == 2.0:
            return op.multiply(base, base)
        if value == 1.0:
            return base
        if value == 0.5 and is_float(dtype):
            return op.sqrt(base)
    if node.type_of(exponent).dtype != dtype:
        exponent = op.astype(exponent, str(dtype))
    if is_float(dtype):
        return op.power(base, exponent)
    wide = op.power(op.astype(base, "float64"), op.astype(exponent, "float64"))
    return op.astype(wide, str(dtype))


@onnx_op("Reciprocal")
def reciprocal(node: NodeContext) -> Expr:
    x = node.tensor(0)
    return op.divide(scalar_like(1.0, x), x)


def _fold(node: NodeContext, function: Any) -> Expr:
    result, *rest = node.tensors()
    for item in rest:
        result = function(result, item)
    return result


@onnx_op("Max")
def maximum(node: NodeContext) -> Expr:
    return _fold(node, op.maximum)


@onnx_op("Min")
def minimum(node: NodeContext) -> Expr:
    return _fold(node, op.minimum)


@onnx_op("Sum")
def add_all(node: NodeContext) -> Expr:
    return _fold(node, op.add)


@onnx_op("Mean")
def mean_of_inputs(node: NodeContext) -> Expr:
    total = _fold(node, op.add)
    return op.divide(total, const(float(len(node.tensors())), str(node.tensor(0).ty.dtype)))


@onnx_op("IsInf")
def isinf(node: NodeContext) -> Expr:
    x = node.tensor(0)
    found = op.isinf(x)
    zero = scalar_like(0.0, x)
    if not node.attr("detect_positive", 1):
        return op.logical_and(found, op.less(x, zero))
    if not node.attr("detect_negative", 1):
        return op.logical_and(found, op.greater(x, zero))
    return found


@onnx_op("BitShift")
def bit_shift(node: NodeContext) -> Expr:
    function = op.left_shift if node.attr("direction") == "LEFT" else op.right_shift
    return function(node.tensor(0), node.tensor(1))


@onnx_op("Clip")
def clip(node: NodeContext) -> Expr:
    """Bounds are attributes before opset 11, optional inputs after."""
    x = node.tensor(0)
    low: Any = node.attr("min")
    high: Any = node.attr("max")
    if node.opset >= 11:
        low = node.value(1) if node.has(1) else None
        high = node.value(2) if node.has(2) else None
    bounds = [_constant_scalar(node, v) for v in (low, high)]
    if all(b is not None or v is None for b, v in zip(bounds, (low, high), strict=True)):
        if is_float(node.type_of(x).dtype):
            return op.clip(
                x,
                -float("inf") if bounds[0] is None else bounds[0],
                float("inf") if bounds[1] is None else bounds[1],
            )
    for value, function in ((low, op.maximum), (high, op.minimum)):
        if value is not None:
            bound = node.as_tensor(value) if not isinstance(value, float) else const(value)
            x = function(x, bound)
    return x


def _constant_scalar(node: NodeContext, value: Any) -> float | None:
    if value is None or isinstance(value, float):
        return value
    data = constant_data(node.as_tensor(value))
    return float(data.reshape(-1)[0]) if data is not None and data.size == 1 else None


@onnx_op("Where")
def where(node: NodeContext) -> Expr:
    return op.where(node.tensor(0), node.tensor(1), node.tensor(2))


@onnx_op("MatMul")
def matmul(node: NodeContext) -> Expr:
    return op.matmul(node.tensor(0), node.tensor(1))


@onnx_op("Gemm")
def gemm(node: NodeContext) -> Expr:
    """alpha * A' @ B' + beta * C"""
    a, b = node.tensor(0), node.tensor(1)
    if node.attr("transA", 0):
        a = op.permute_dims(a, (1, 0))
    if node.attr("transB", 0):
        b = op.permute_dims(b, (1, 0))
    out = op.matmul(a, b)
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    if alpha != 1.0:
        out = op.multiply(out, scalar_like(alpha, a))
    if node.has(2) and beta != 0.0:
        bias = node.tensor(2)
        out = op.add(out, bias if beta == 1.0 else op.multiply(bias, scalar_like(beta, a)))
    return out


def reduce_axes(node: NodeContext) -> tuple[Any, bool]:
    """Axes of a reduction (attribute, or input 1 in later opsets) and whether to reduce nothing."""
    axes = node.attr("axes")
    nothing_without_axes = bool(node.attr("noop_with_empty_axes", 0))
    if axes is None and node.has(1):
        axes = node.ints(1, "axes")
    if axes is not None and not len(axes):
        axes = None
    if axes is None and nothing_without_axes:
        return None, True
    return (None if axes is None else tuple(int(a) for a in axes)), False


def _reduction(onnx_name: str, function: Any) -> None:
    @onnx_op(onnx_name)
    def convert(node: NodeContext) -> Expr:
        x = node.tensor(0)
        axes, nothing = reduce_axes(node)
        if nothing:
            return x
        return function(x, axes, bool(node.attr("keepdims", 1)))


def _l2(x: Expr, axes: Any, keepdims: bool) -> Expr:
    return op.sqrt(op.sum(op.multiply(x, x), axes, keepdims))


def _log_sum_exp(x: Expr, axes: Any, keepdims: bool) -> Expr:
    top = op.max(x, axes, True)
    total = op.log(op.sum(op.exp(op.subtract(x, top)), axes, keepdims))
    return op.add(total, op.max(x, axes, keepdims))


def _of_bools(function: Any) -> Any:
    """A reduction of numbers, for booleans too (any, all)."""

    def reduce(x: Expr, axes: Any, keepdims: bool) -> Expr:
        if getattr(x.ty, "dtype", None) != "bool":
            return function(x, axes, keepdims)
        return op.astype(function(op.astype(x, "uint8"), axes, keepdims), "bool")

    return reduce


for _name, _function in {
    "ReduceSum": op.sum, "ReduceMean": op.mean,
    "ReduceMax": _of_bools(op.max), "ReduceMin": _of_bools(op.min),
    "ReduceProd": op.prod, "ReduceL2": _l2, "ReduceLogSumExp": _log_sum_exp,
    "ReduceL1": lambda x, a, k: op.sum(op.abs(x), a, k),
    "ReduceSumSquare": lambda x, a, k: op.sum(op.multiply(x, x), a, k),
    "ReduceLogSum": lambda x, a, k: op.log(op.sum(x, a, k)),
}.items():  # fmt: skip
    _reduction(_name, _function)


def _arg_reduction(onnx_name: str, function: Any) -> None:
    @onnx_op(onnx_name)
    def convert(node: NodeContext) -> Expr:
        x = node.tensor(0)
        if node.attr("select_last_index", 0):
            raise node.fail("select_last_index=1 is not supported")
        return function(x, int(node.attr("axis", 0)), bool(node.attr("keepdims", 1)))


for _name, _function in {"ArgMax": op.argmax, "ArgMin": op.argmin}.items():
    _arg_reduction(_name, _function)


@onnx_op("CumSum")
def cumsum(node: NodeContext) -> Expr:
    x = node.tensor(0)
    (axis,) = node.ints(1, "axis")
    reverse = node.attr("reverse", 0)
    data = op.flip(x, axis) if reverse else x
    out = op.cumsum(data, axis, exclusive=bool(node.attr("exclusive", 0)))
    return op.flip(out, axis) if reverse else out
