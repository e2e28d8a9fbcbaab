"""Normalisation, padding, dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import TupleType, Type
from workbench.relax.expr import Tuple, const
from workbench.relax.op.create import ones_like
from workbench.relax.op.infer import (
    common_dtype,
    fail,
    normalize_axes,
    normalize_axis,
    simplify,
    te_call,
    tensor_type,
    tensors,
    topi_function,
)
from workbench.relax.op.manipulate import product, reshape
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import TensorType


def _check_channel(call: Call, data: TensorType, params: Sequence[TensorType], axis: int) -> None:
    """Fails unless every parameter has one value per channel."""
    if data.ndim == -1:
        return
    at = normalize_axis(call, axis, data.ndim)
    for param in params:
        if param.ndim not in (-1, 1):
            fail(call, f"expected one parameter per channel, got {param}")
        if data.dims is None or param.dims is None:
            continue
        want, got = data.dims[at], param.dims[0]
        if isinstance(want, IntImm) and isinstance(got, IntImm) and want.value != got.value:
            fail(call, f"a parameter has {got} values, data has {want} channels in dimension {at}")


def _batch_norm_type(call: Call, types: list[Any]) -> Type:
    data, gamma, beta, mean, var = tensors(
        call, types, "data", "gamma", "beta", "moving_mean", "moving_var"
    )
    common_dtype(call, [data, gamma, beta, mean, var])
    _check_channel(call, data, [gamma, beta, mean, var], call.attrs.axis)
    return TupleType([data, mean, var])


def _legalize_batch_norm(builder: Any, call: Call) -> Expr:
    data, gamma, beta, mean, var = call.args
    attrs = call.attrs
    if attrs.training:
        return builder.call_te(
            topi_function("nn.batch_norm"), *call.args, axis=attrs.axis, epsilon=attrs.epsilon,
            center=attrs.center, scale=attrs.scale, training=True, momentum=attrs.momentum,
            primfunc_name_hint="batch_norm",
        )  # fmt: skip
    out = builder.emit_te(
        topi_function("nn.batch_norm_inference"), data, gamma if attrs.scale else None,
        beta if attrs.center else None, mean, var, axis=attrs.axis, epsilon=attrs.epsilon,
        primfunc_name_hint="batch_norm",
    )  # fmt: skip
    return Tuple([out, mean, var])


@relax_op("nn.batch_norm", infer=_batch_norm_type, legalize=_legalize_batch_norm,
          pattern=OpPatternKind.BROADCAST)  # fmt: skip
def batch_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    moving_mean: Expr,
    moving_var: Expr,
    axis: int,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
    training: bool = True,
) -> OpCall:
    """(data - mean) / sqrt(var + epsilon) * gamma + beta per channel; returns (out, mean, var).

    With `training` the statistics of the batch are used and the moving ones updated.
    """
    return (data, gamma, beta, moving_mean, moving_var), {
        "axis": int(axis),
        "epsilon": float(epsilon),
        "center": bool(center),
        "scale": bool(scale),
        "momentum": float(momentum),
        "training": bool(training),
    }


def _axes_norm_type(call: Call, types: list[Any]) -> Type:
    data = tensor_type(call, types[0], "data")
    params = [tensor_type(call, t, "parameter") for t in types[1:]]
    common_dtype(call, [data, *params])
    if data.ndim != -1:
        axes = normalize_axes(call, call.attrs.axes, data.ndim)
        for param in params:
            if param.ndim not in (-1, len(axes)):
                fail(call, f"a parameter has {param.ndim} dimensions, expected {len(axes)}")
    return data


def _axes(axes: int | Sequence[int]) -> tuple[int, ...]:
    return (axes,) if isinstance(axes, int) else tuple(int(a) for a in axes)


@relax_op("nn.layer_norm", infer=_axes_norm_type,
          legalize=te_call("nn.layer_norm", "axes", "epsilon"),
          pattern=OpPatternKind.OUT_ELEMWISE_FUSABLE)  # fmt: skip
def layer_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    axes: int | Sequence[int] = -1,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> OpCall:
    """Normalises over `axes` to mean 0 and variance 1, then * gamma + beta."""
    if not center:
        beta = const(0.0, str(data.dtype)) if beta is None else beta
    return (data, gamma, beta), {
        "axes": _axes(axes),
        "epsilon": float(epsilon),
        "center": bool(center),
        "scale": bool(scale),
    }


@relax_op("nn.rms_norm", infer=_axes_norm_type, legalize=te_call("nn.rms_norm", "axes", "epsilon"),
          pattern=OpPatternKind.OUT_ELEMWISE_FUSABLE)  # fmt: skip
def rms_norm(
    data: Expr, weight: Expr, axes: int | Sequence[int] = -1, epsilon: float = 1e-5
) -> OpCall:
    """data / sqrt(mean(data², axes) + epsilon) * weight."""
    return (data, weight), {"axes": _axes(axes), "epsilon": float(epsilon)}


def _group_norm_type(call: Call, types: list[Any]) -> Type:
    data, gamma, beta = tensors(call, types, "data", "gamma", "beta")
    common_dtype(call, [data, gamma, beta])
    channel = call.attrs.channel_axis
    _check_channel(call, data, [gamma, beta], channel)
    if data.dims is not None:
        count = data.dims[normalize_axis(call, channel, data.ndim)]
        groups = call.attr("num_groups", 1)
        if isinstance(count, IntImm) and count.value % groups:
            fail(call, f"{count} channels do not divide into {groups} groups")
    return data


@relax_op("nn.group_norm", infer=_group_norm_type,
          legalize=te_call("nn.group_norm", "num_groups", "channel_axis", "axes", "epsilon"),
          pattern=OpPatternKind.OUT_ELEMWISE_FUSABLE)  # fmt: skip
def group_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    num_groups: int,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> OpCall:
    """Normalises over `axes` and the channels of each group."""
    return (data, gamma, beta), {
        "num_groups": int(num_groups),
        "channel_axis": int(channel_axis),
        "axes": _axes(axes),
        "epsilon": float(epsilon),
        "center": bool(center),
        "scale": bool(scale),
    }


@relax_op("nn.instance_norm", infer=_group_norm_type,
          legalize=te_call("nn.instance_norm", "channel_axis", "axes", "epsilon"),
          pattern=OpPatternKind.OUT_ELEMWISE_FUSABLE)  # fmt: skip
def instance_norm(
    data: Expr,
    gamma: Expr,
    beta: Expr,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> OpCall:
    """Normalises over `axes` for every sample and channel."""
    return (data, gamma, beta), {
        "channel_axis": int(channel_axis),
        "axes": _axes(axes),
        "epsilon": float(epsilon),
        "center": bool(center),
        "scale": bool(scale),
    }


def _pad_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    width = call.attrs.pad_width
    if ty.ndim != -1 and len(width) != 2 * ty.ndim:
        fail(call, f"expected {2 * ty.ndim} pad widths (before and after each dimension), "
             f"got {len(width)}")  # fmt: skip
    if ty.dims is None:
        return ty
    dims = [simplify(d + (width[2 * i] + width[2 * i + 1])) for i, d in enumerate(ty.dims)]
    return TensorType(dims, ty.dtype)


def _legalize_pad(builder: Any, call: Call) -> Expr:
    mode = call.attrs.pad_mode
    name = "pad" if mode == "constant" else f"{mode}_pad"
    rule = te_call("nn.pad_nd", "pad_width", "pad_value", "pad_mode", kernel=name)
    return rule(builder, call)


@relax_op("nn.pad", infer=_pad_type,
          legalize=_legalize_pad,
          pattern=OpPatternKind.INJECTIVE)  # fmt: skip
def pad(
    data: Expr,
    pad_width: Sequence[int] | Sequence[Sequence[int]],
    pad_mode: str = "constant",
    pad_value: float | int = 0.0,
) -> OpCall:
    """data with `pad_width` = (before0, after0, before1, after1, …) elements added.

    pad_mode : "constant", "reflect" (without the edge), "replicate" (the edge) or "circular".
    """
    flat: list[int] = []
    for item in pad_width:
        flat.extend(map(int, item) if isinstance(item, Sequence) else [int(item)])
    if pad_mode not in ("constant", "reflect", "replicate", "circular"):
        raise ValueError(
            f"pad: pad_mode is constant, reflect, replicate or circular, got {pad_mode!r}"
        )
    return (data,), {
        "pad_width": tuple(flat),
        "pad_value": float(pad_value),
        "pad_mode": pad_mode,
    }


def _dropout_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    return TupleType([ty, ty])


def _legalize_dropout(builder: Any, call: Call) -> Expr:
    return Tuple([call.args[0], builder.emit(ones_like(call.args[0]))])


@relax_op("nn.dropout", infer=_dropout_type, legalize=_legalize_dropout)
def dropout(data: Expr, rate: float = 0.5) -> OpCall:
    """At inference: (data, a mask of ones)."""
    return (data,), {"rate": float(rate)}


def batch_flatten(data: Expr) -> Expr:
    """All dimensions after the first as one."""
    dims = data.ty.dims
    if dims is None:
        raise ValueError(f"batch_flatten: the shape of {data} is unknown")
    return reshape(data, [dims[0], product(dims[1:])])


__all__ = [
    "batch_flatten",
    "batch_norm",
    "dropout",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "pad",
    "rms_norm",
]
