"""Activation functions and softmax."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, Expr
from workbench.ir.type import Type
from workbench.relax.op.infer import (
    fail,
    float_unary,
    normalize_axis,
    same_as_input,
    te_call,
    tensor_type,
    tensors,
)
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.op.unary import clip

_ELEMWISE = OpPatternKind.ELEMWISE


def _declare(name: str, doc: str, infer: Any = float_unary) -> Any:
    @relax_op(f"nn.{name}", infer=infer, legalize=te_call(f"nn.{name}"), pattern=_ELEMWISE)
    def build(data: Expr) -> OpCall:
        return (data,), {}

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"{doc}, element by element."
    return build


relu = _declare("relu", "max(x, 0)", same_as_input)
gelu = _declare("gelu", "x * Phi(x) with the Gaussian distribution function Phi")
gelu_tanh = _declare("gelu_tanh", "The approximation of gelu by tanh")
silu = _declare("silu", "x * sigmoid(x)")
selu = _declare("selu", "The scaled exponential linear unit")


def relu6(data: Expr) -> Call:
    """x limited to [0, 6]: `clip`."""
    return clip(data, 0, 6)


@relax_op("nn.leakyrelu", infer=float_unary,
          legalize=te_call("nn.leaky_relu", "alpha", kernel="leaky_relu"),
          pattern=_ELEMWISE)  # fmt: skip
def leakyrelu(data: Expr, alpha: float = 0.01) -> OpCall:
    """x where x > 0, else alpha * x."""
    return (data,), {"alpha": float(alpha)}


@relax_op("nn.softplus", infer=float_unary, pattern=_ELEMWISE,
          legalize=te_call("nn.softplus", "beta", "threshold"))  # fmt: skip
def softplus(data: Expr, beta: float = 1.0, threshold: float = 20.0) -> OpCall:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    return (data,), {"beta": float(beta), "threshold": float(threshold)}


def _prelu_type(call: Call, types: list[Any]) -> Type:
    data, alpha = tensors(call, types, "data", "alpha")
    if alpha.ndim not in (-1, 1):
        fail(call, f"alpha: expected one slope per channel, got {alpha}")
    if data.ndim != -1:
        normalize_axis(call, call.attrs.axis, data.ndim)
    return data


@relax_op("nn.prelu", infer=_prelu_type, legalize=te_call("nn.prelu", "axis"),
          pattern=OpPatternKind.BROADCAST)  # fmt: skip
def prelu(data: Expr, alpha: Expr, axis: int = 1) -> OpCall:
    """x where x > 0, else alpha * x with one slope per channel (dimension `axis`)."""
    return (data, alpha), {"axis": int(axis)}


def _softmax_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    if ty.dtype is not None and "float" not in str(ty.dtype):
        fail(call, f"expected a floating-point tensor, got {ty}")
    if ty.ndim != -1:
        normalize_axis(call, call.attrs.axis, ty.ndim)
    return ty


@relax_op("nn.softmax", infer=_softmax_type, legalize=te_call("nn.softmax", "axis"),
          pattern=OpPatternKind.OUT_ELEMWISE_FUSABLE)  # fmt: skip
def softmax(data: Expr, axis: int = -1) -> OpCall:
    """exp(x) normalised to sum 1 along `axis` (the maximum is subtracted first)."""
    return (data,), {"axis": int(axis)}


@relax_op("nn.log_softmax", infer=_softmax_type, legalize=te_call("nn.log_softmax", "axis"),
          pattern=OpPatternKind.OUT_ELEMWISE_FUSABLE)  # fmt: skip
def log_softmax(data: Expr, axis: int = -1) -> OpCall:
    """The logarithm of softmax."""
    return (data,), {"axis": int(axis)}
