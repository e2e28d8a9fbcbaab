"""Normalisations: batch (at inference), layer, group, instance, RMS, local response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.topi.dims import const_int, normalize_axes, normalize_axis, product
from workbench.topi.nn.pad import pad
from workbench.topi.reduction import reduce_over
from workbench.topi.transform import reshape


def batch_norm_inference(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int = 1,
    epsilon: float = 1e-5,
) -> Tensor:
    """(data - mean) / sqrt(var + epsilon) * gamma + beta, one value per index of `axis`."""
    at = normalize_axis(axis, data.ndim, "batch_norm")

    def element(*i: Any) -> Expr:
        c = i[at]
        wide = tir.const(epsilon, moving_var.dtype)
        value = (data(*i) - moving_mean(c)) / tir.sqrt(moving_var(c) + wide)
        if gamma is not None:
            value = value * gamma(c)
        return value if beta is None else value + beta(c)

    return te.compute(
        data.shape,
        element,
        name="T_batch_norm",
        tag="broadcast",
        varargs_names=[f"ax{k}" for k in range(data.ndim)],
    )


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int = 1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    training: bool = False,
    momentum: float = 0.1,
) -> list[Tensor]:
    """The normalised data and the running mean and variance.

    training : normalise by the batch's own mean and variance, and move the running ones towards
        them by `momentum`; otherwise the running ones are used and returned unchanged.
    """
    used_gamma, used_beta = gamma if scale else None, beta if center else None
    at = normalize_axis(axis, data.ndim, "batch_norm")
    if not training:
        out = batch_norm_inference(
            data, used_gamma, used_beta, moving_mean, moving_var, at, epsilon
        )
        return [out, _copy(moving_mean), _copy(moving_var)]
    over = [k for k in range(data.ndim) if k != at]
    mean, variance = _moments(data, over)
    out = batch_norm_inference(data, used_gamma, used_beta, mean, variance, at, epsilon)

    def moved(old: Tensor, new: Tensor, name: str) -> Tensor:
        keep, take = tir.const(1 - momentum, old.dtype), tir.const(momentum, old.dtype)
        return te.compute(old.shape, lambda c: old(c) * keep + new(c) * take, name=name)

    return [out, moved(moving_mean, mean, "T_mean"), moved(moving_var, variance, "T_var")]


def _copy(a: Tensor) -> Tensor:
    return te.compute(a.shape, lambda *i: a(*i), name="T_copy", tag="elemwise")


def _moments(data: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Mean and variance over axes, without the reduced dimensions, in two accurate passes."""
    kept = [k for k in range(data.ndim) if k not in axes]
    count = tir.cast(data.dtype, product([data.shape[k] for k in axes]))

    def divided(total: Tensor, name: str) -> Tensor:
        return te.compute(
            total.shape, lambda *i: tir.div(total(*i), count), name=name, tag="elemwise"
        )

    mean = divided(reduce_over(data, axes, False, te.sum, name="T_sum"), "T_mean")

    def centered(*i: Any) -> Expr:
        return data(*i) - mean(*[i[k] for k in kept])

    shifted = te.compute(data.shape, centered, name="T_centered", tag="broadcast")
    squares = reduce_over(
        shifted, axes, False, te.sum, name="T_square_sum", element=lambda x: x * x
    )
    return mean, divided(squares, "T_variance")


def _normalized(
    data: Tensor,
    axes: list[int],
    epsilon: float,
    name: str,
    finish: Callable[[Expr, Any], Expr],
) -> Tensor:
    """(data - mean) / sqrt(variance + epsilon) over axes, then `finish(value, indices)`."""
    mean, variance = _moments(data, axes)
    kept = [k for k in range(data.ndim) if k not in axes]

    def element(*i: Any) -> Expr:
        rest = [i[k] for k in kept]
        scale = tir.rsqrt(variance(*rest) + tir.const(epsilon, data.dtype))
        return finish((data(*i) - mean(*rest)) * scale, i)

    return te.compute(data.shape, element, name=name, tag="broadcast")


def layer_norm(
    data: Tensor, gamma: Tensor | None, beta: Tensor | None, axes: Any, epsilon: float = 1e-5
) -> Tensor:
    """Normalisation over `axes`; gamma and beta have the dimensions of those axes."""
    over = normalize_axes(axes, data.ndim, "layer_norm")

    def finish(value: Expr, i: Any) -> Expr:
        at = [i[k] for k in over]
        if gamma is not None:
            value = value * gamma(*at)
        return value if beta is None else value + beta(*at)

    return _normalized(data, over, epsilon, "T_layer_norm", finish)


def instance_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    channel_axis: int,
    axes: Any,
    epsilon: float = 1e-5,
) -> Tensor:
    """Normalisation over `axes` of every image and channel by itself."""
    over = normalize_axes(axes, data.ndim, "instance_norm")
    channel = normalize_axis(channel_axis, data.ndim, "instance_norm")

    def finish(value: Expr, i: Any) -> Expr:
        if gamma is not None:
            value = value * gamma(i[channel])
        return value if beta is None else value + beta(i[channel])

    return _normalized(data, over, epsilon, "T_instance_norm", finish)


def group_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    num_groups: int,
    channel_axis: int,
    axes: Any,
    epsilon: float = 1e-5,
) -> Tensor:
    """Normalisation over `axes` and the channels of each of `num_groups` groups."""
    channel = normalize_axis(channel_axis, data.ndim, "group_norm")
    size: Any = data.shape[channel]
    total = const_int(size)
    if total is not None and total % num_groups:
        raise WorkbenchError(f"group_norm: {total} channels do not divide into {num_groups} groups")
    per_group = tir.floordiv(size, num_groups)
    groups = IntImm(size.dtype, num_groups)
    split = reshape(data, [*data.shape[:channel], groups, per_group, *data.shape[channel + 1 :]])
    over = [k if k < channel else k + 1 for k in normalize_axes(axes, data.ndim, "group_norm")]
    over = sorted({*(k for k in over if k != channel), channel + 1})

    def finish(value: Expr, i: Any) -> Expr:
        c = i[channel] * per_group + i[channel + 1]
        if gamma is not None:
            value = value * gamma(c)
        return value if beta is None else value + beta(c)

    return reshape(_normalized(split, over, epsilon, "T_group_norm", finish), data.shape)


def rms_norm(data: Tensor, weight: Tensor, axes: Any, epsilon: float = 1e-5) -> Tensor:
    """data / sqrt(mean(data²) + epsilon) * weight over `axes`."""
    axes = normalize_axes(axes, data.ndim, "rms_norm")
    kept = [k for k in range(data.ndim) if k not in axes]
    squares = reduce_over(data, axes, False, te.sum, name="T_square_sum", element=lambda x: x * x)
    count = tir.cast(data.dtype, product([data.shape[k] for k in axes]))

    def element(*i: Any) -> Expr:
        mean = tir.div(squares(*[i[k] for k in kept]), count)
        scale = tir.rsqrt(mean + tir.const(epsilon, data.dtype))
        return data(*i) * scale * weight(*[i[k] for k in axes])

    return te.compute(data.shape, element, name="T_rms_norm", tag="broadcast")


def lrn(
    data: Tensor,
    size: int,
    axis: int = 1,
    alpha: float = 1e-4,
    beta: float = 0.75,
    bias: float = 2.0,
) -> Tensor:
    """data / (bias + alpha / size * sum of squares of `size` neighbours along `axis`) ** beta."""
    at = normalize_axis(axis, data.ndim, "lrn")
    low, high = (size - 1) // 2, size - 1 - (size - 1) // 2
    amounts = [(low, high) if k == at else (0, 0) for k in range(data.ndim)]
    padded = pad(data, [a for a, _ in amounts], [b for _, b in amounts], name="pad_temp")
    axis_var = te.reduce_axis((0, size), "rk")

    def squares(*i: Any) -> Expr:
        value = padded(*[v + axis_var.var if k == at else v for k, v in enumerate(i)])
        return te.sum(value * value, axis=axis_var)

    total = te.compute(data.shape, squares, name="T_square_sum")

    def element(*i: Any) -> Expr:
        base = total(*i) * tir.const(alpha / size, data.dtype) + tir.const(bias, data.dtype)
        return data(*i) / tir.power(base, tir.const(beta, data.dtype))

    return te.compute(data.shape, element, name="T_lrn", tag="broadcast")
