"""Element-wise operators of one operand."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, Expr
from workbench.ir.type import Type
from workbench.relax.expr import prim_value
from workbench.relax.op.infer import float_unary, same_as_input, te_call, tensor_type, topi_function
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op

_ELEMWISE = OpPatternKind.ELEMWISE


def _declare(name: str, doc: str, infer: Any, kernel: str | None = None) -> Any:
    rule = te_call(name, kernel=kernel or f"tir_{name}")

    @relax_op(name, infer=infer, legalize=rule, pattern=_ELEMWISE)
    def build(x: Expr) -> OpCall:
        return (x,), {}

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"{doc}, element by element."
    return build


def _bool_result(call: Call, types: list[Any]) -> Type:
    return tensor_type(call, types[0], "x").replace(dtype="bool")


abs = _declare("abs", "Absolute value", same_as_input)
acos = _declare("acos", "Inverse cosine", float_unary)
acosh = _declare("acosh", "Inverse hyperbolic cosine", float_unary)
asin = _declare("asin", "Inverse sine", float_unary)
asinh = _declare("asinh", "Inverse hyperbolic sine", float_unary)
atan = _declare("atan", "Inverse tangent", float_unary)
atanh = _declare("atanh", "Inverse hyperbolic tangent", float_unary)
bitwise_not = _declare("bitwise_not", "Bitwise complement", same_as_input)
ceil = _declare("ceil", "Smallest integer not below x", same_as_input)
cos = _declare("cos", "Cosine", float_unary)
cosh = _declare("cosh", "Hyperbolic cosine", float_unary)
erf = _declare("erf", "Gauss error function", float_unary, kernel="erf")
exp = _declare("exp", "Exponential", float_unary)
floor = _declare("floor", "Largest integer not above x", same_as_input)
log = _declare("log", "Natural logarithm", float_unary)
logical_not = _declare("logical_not", "Negation of a truth value", same_as_input)
negative = _declare("negative", "-x", same_as_input)
round = _declare("round", "Nearest integer, halves to even", same_as_input)
rsqrt = _declare("rsqrt", "1 / sqrt(x)", float_unary)
sigmoid = _declare("sigmoid", "1 / (1 + exp(-x))", float_unary)
sign = _declare("sign", "-1, 0 or 1", same_as_input)
sin = _declare("sin", "Sine", float_unary)
sinh = _declare("sinh", "Hyperbolic sine", float_unary)
sqrt = _declare("sqrt", "Square root", float_unary)
square = _declare("square", "x * x", same_as_input)
tan = _declare("tan", "Tangent", float_unary)
tanh = _declare("tanh", "Hyperbolic tangent", float_unary)
trunc = _declare("trunc", "x without its fraction", same_as_input)
isfinite = _declare("isfinite", "Whether x is a finite number", _bool_result)
isinf = _declare("isinf", "Whether x is infinite", _bool_result)
isnan = _declare("isnan", "Whether x is not a number", _bool_result)


def _legalize_clip(builder: Any, call: Call) -> Expr:
    low, high = (float(v) for v in call.args[1:])  # type: ignore[arg-type]
    return builder.call_te(
        topi_function("clip"), call.args[0], low, high, primfunc_name_hint="tir_clip"
    )


@relax_op("clip", infer=same_as_input, legalize=_legalize_clip, pattern=_ELEMWISE)
def clip(x: Expr, min: Any, max: Any) -> OpCall:
    """x limited to [min, max]; the bounds are numbers."""
    return (x, prim_value(min), prim_value(max)), {}
