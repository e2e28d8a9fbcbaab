"""Activation functions, element by element."""

from __future__ import annotations

from typing import Any

from workbench import te
from workbench.ir.expr import Expr
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.tirx.expr import Select
from workbench.topi.dims import normalize_axis
from workbench.topi.elementwise import elementwise


def _c(value: float, x: Expr) -> Expr:
    return tir.const(value, x.dtype)


def relu(x: Any) -> Any:
    """max(x, 0)"""
    return elementwise(lambda v: tir.maximum(v, _c(0, v)), x)


def relu6(x: Any) -> Any:
    """min(max(x, 0), 6)"""
    return elementwise(lambda v: tir.minimum(tir.maximum(v, _c(0, v)), _c(6, v)), x)


def leaky_relu(x: Any, alpha: float = 0.01) -> Any:
    """x where positive, else alpha * x."""
    return elementwise(lambda v: Select(v > _c(0, v), v, v * _c(alpha, v)), x)


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """x where positive, else slope * x with one slope per index of `axis`."""
    at = normalize_axis(axis, x.ndim, "prelu")

    def element(*i: Any) -> Expr:
        v = x(*i)
        return Select(v > _c(0, v), v, v * slope(i[at]))

    return te.compute(x.shape, element, name="T_prelu", tag="broadcast")


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where positive, else alpha * (exp(x) - 1)."""
    return elementwise(lambda v: Select(v > _c(0, v), v, _c(alpha, v) * (tir.exp(v) - 1)), x)


def selu(x: Any) -> Any:
    """The scaled exponential linear unit of self-normalising networks."""
    alpha, gamma = 1.6732632423543772, 1.0507009873554805
    return elementwise(
        lambda v: _c(gamma, v) * Select(v > _c(0, v), v, _c(alpha, v) * (tir.exp(v) - 1)), x
    )


def silu(x: Any) -> Any:
    """x * sigmoid(x)"""
    return elementwise(lambda v: v * tir.sigmoid(v), x)


def gelu(x: Any) -> Any:
    """x * (1 + erf(x / sqrt(2))) / 2"""
    return elementwise(lambda v: v * (_c(0.5, v) + tir.erf(v * _c(0.5**0.5, v)) * _c(0.5, v)), x)


def gelu_tanh(x: Any) -> Any:
    """The approximation of `gelu` by tanh."""

    def element(v: Expr) -> Expr:
        inner = _c((2 / 3.141592653589793) ** 0.5, v) * (v + _c(0.044715, v) * v * v * v)
        return v * _c(0.5, v) * (_c(1, v) + tir.tanh(inner))

    return elementwise(element, x)


def hardsigmoid(x: Any, alpha: float = 1 / 6, beta: float = 0.5) -> Any:
    """max(0, min(1, alpha * x + beta))"""
    return elementwise(
        lambda v: tir.maximum(tir.minimum(v * _c(alpha, v) + _c(beta, v), _c(1, v)), _c(0, v)), x
    )


def hardswish(x: Any) -> Any:
    """x * hardsigmoid(x) with alpha = 1/6, beta = 1/2."""

    def element(v: Expr) -> Expr:
        gate = tir.minimum(tir.maximum(v + _c(3, v), _c(0, v)), _c(6, v))
        return v * gate * _c(1 / 6, v)

    return elementwise(element, x)


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x exceeds the threshold."""

    def element(v: Expr) -> Expr:
        scaled = v * _c(beta, v)
        return Select(
            scaled > _c(threshold, v),
            v,
            tir.log(_c(1, v) + tir.exp(tir.minimum(scaled, _c(threshold, v)))) / _c(beta, v),
        )

    return elementwise(element, x)


def mish(x: Any) -> Any:
    """x * tanh(softplus(x))"""
    return elementwise(
        lambda v: (
            v
            * tir.tanh(
                Select(v > _c(20, v), v, tir.log(_c(1, v) + tir.exp(tir.minimum(v, _c(20, v)))))
            )
        ),
        x,
    )


def softsign(x: Any) -> Any:
    """x / (1 + |x|)"""
    return elementwise(lambda v: v / (_c(1, v) + tir.abs(v)), x)
