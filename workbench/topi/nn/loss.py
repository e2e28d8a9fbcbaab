"""Losses, quantisation and pixel shuffle."""

from __future__ import annotations

from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.topi.broadcast import divide
from workbench.topi.dims import normalize_axis
from workbench.topi.reduction import sum as total
from workbench.topi.transform import INJECTIVE, injective


def nll_loss(
    predictions: Tensor,
    targets: Tensor,
    weights: Tensor,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Tensor:
    """-weights[t] * predictions[n, t, …] for the target class t at each place; 0 if ignored.

    The classes are dimension 1 (dimension 0 of a vector). reduction : "none", "sum" or "mean",
    which divides by the sum of the weights of the targets that are not ignored.
    """
    if reduction not in ("none", "sum", "mean"):
        raise WorkbenchError(f"nll_loss: reduction is none, sum or mean, got {reduction!r}")
    single = predictions.ndim == 1
    zero = tir.const(0, predictions.dtype)

    def chosen(value: Any, i: tuple[Any, ...]) -> Expr:
        return tir.if_then_else(tir.not_equal(targets(*i), ignore_index), value, zero)

    def loss(*i: Any) -> Expr:
        cls = targets(*i)
        place = (cls,) if single else (i[0], cls, *i[1:])
        return chosen(-predictions(*place) * weights(cls), i)

    losses = te.compute(targets.shape, loss, name="nll_loss", tag=INJECTIVE)
    if reduction == "none":
        return losses
    axes = list(range(targets.ndim))
    whole = total(losses, axes) if axes else losses
    if reduction == "sum":
        return whole
    used = te.compute(
        targets.shape, lambda *i: chosen(weights(targets(*i)), i), name="nll_weight", tag=INJECTIVE
    )
    return divide(whole, total(used, axes) if axes else used)


def pixel_shuffle(data: Tensor, upscale_factor: int) -> Tensor:
    """Channels moved into pixels: (…, c r², h, w) → (…, c, h r, w r)."""
    r = upscale_factor
    *lead, channels, height, width = data.shape

    def element(*i: Any) -> Expr:
        *outer, c, y, x = i
        inner = tir.floormod(y, r) * r + tir.floormod(x, r)
        return data(*outer, c * (r * r) + inner, tir.floordiv(y, r), tir.floordiv(x, r))

    shape = [*lead, tir.floordiv(channels, r * r), height * r, width * r]
    return injective(shape, element, "pixel_shuffle")


def _channel(tensor: Tensor, axis: int, i: tuple[Any, ...]) -> Expr:
    """The value for a channel: a scalar, a vector of one element, or one element per channel."""
    if tensor.ndim == 0:
        return tensor()
    only = isinstance(tensor.shape[0], IntImm) and tensor.shape[0].value == 1
    return tensor(0 if only else i[axis])


def quantize(
    data: Tensor, scale: Tensor, zero_point: Tensor, axis: int = -1, out_dtype: str = "int8"
) -> Tensor:
    """round(data / scale) + zero_point, limited to the range of `out_dtype`."""
    at = normalize_axis(axis, data.ndim, "quantize")
    low, high = tir.min_value(out_dtype), tir.max_value(out_dtype)

    def element(*i: Any) -> Expr:
        value = tir.round(data(*i) / tir.cast(data.dtype, _channel(scale, at, i)))
        value = value + tir.cast(data.dtype, _channel(zero_point, at, i))
        low_value, high_value = tir.cast(data.dtype, low), tir.cast(data.dtype, high)
        return tir.cast(out_dtype, tir.max(tir.min(value, high_value), low_value))

    return injective(data.shape, element, "quantized")


def dequantize(
    data: Tensor, scale: Tensor, zero_point: Tensor, axis: int = -1, out_dtype: str = "float32"
) -> Tensor:
    """(data - zero_point) * scale."""
    at = normalize_axis(axis, data.ndim, "dequantize")
    wide = "int32" if "int" in data.dtype else data.dtype

    def element(*i: Any) -> Expr:
        offset = tir.cast(wide, data(*i)) - tir.cast(wide, _channel(zero_point, at, i))
        return tir.cast(out_dtype, offset) * tir.cast(out_dtype, _channel(scale, at, i))

    return injective(data.shape, element, "dequantized")


__all__ = ["dequantize", "nll_loss", "pixel_shuffle", "quantize"]
