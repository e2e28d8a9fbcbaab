"""Attention, losses and pixel shuffle."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import Type
from workbench.relax.expr import const
from workbench.relax.op.binary import add, multiply
from workbench.relax.op.create import ones, tril
from workbench.relax.op.index import where
from workbench.relax.op.infer import (
    common_dtype,
    fail,
    require_ndim,
    simplify,
    te_call,
    tensor_type,
    tensors,
    topi_function,
)
from workbench.relax.op.linear import matmul
from workbench.relax.op.manipulate import permute_dims
from workbench.relax.op.nn.activation import softmax
from workbench.relax.op.registry import OpCall, relax_op
from workbench.relax.op.statistical import mean
from workbench.relax.op.statistical import sum as total
from workbench.relax.op.unary import negative
from workbench.relax.type import TensorType

_MASKS = (None, "TopLeft", "BottomRight")


def _attention_type(call: Call, types: list[Any]) -> Type:
    query, key, value = (
        tensor_type(call, t, n) for t, n in zip(types, ("query", "key", "value"), strict=False)
    )
    dtype = common_dtype(call, [query, key, value])
    for what, ty in (("query", query), ("key", key), ("value", value)):
        require_ndim(call, ty, 4, what)
    if query.dims is None or key.dims is None or value.dims is None:
        return TensorType(dtype=dtype, ndim=4)
    batch, rows, heads, width = query.dims
    for what, a, b in (
        ("batches of query and key", batch, key.dims[0]),
        ("heads of query and key", heads, key.dims[2]),
        ("widths of query and key", width, key.dims[3]),
        ("positions of key and value", key.dims[1], value.dims[1]),
        ("heads of key and value", key.dims[2], value.dims[2]),
    ):
        if isinstance(a, IntImm) and isinstance(b, IntImm) and a.value != b.value:
            fail(call, f"the {what} differ: {a} and {b}")
    return TensorType([batch, rows, heads, value.dims[3]], dtype)


def _legalize_attention(builder: Any, call: Call) -> Expr:
    """softmax(q k^T * scale + bias) v for every batch and head, by the operators for it."""
    emit, attrs = builder.emit, call.attrs
    heads_first = [0, 2, 1, 3]
    keys = call.args[1]
    query, key, value = (emit(permute_dims(a, heads_first)) for a in call.args[:3])
    dims: Any = call.args[0].ty.dims
    dtype = str(call.ty.dtype)
    scores = emit(matmul(query, emit(permute_dims(key, [0, 1, 3, 2]))))
    scale = attrs.scale
    if scale is None:
        if not isinstance(dims[3], IntImm):
            fail(call, "scale: give it where the width of the heads is symbolic")
        scale = dims[3].value ** -0.5
    scores = emit(multiply(scores, const(float(scale), dtype)))
    if len(call.args) > 3:
        scores = emit(add(scores, call.args[3]))
    if attrs.causal_mask is not None:
        rows, columns = dims[1], keys.ty.dims[1]
        shift = simplify(columns - rows) if attrs.causal_mask == "BottomRight" else 0
        lower = emit(tril(emit(ones((rows, columns), dtype)), shift))
        seen = emit(lower > const(0.0, dtype))
        scores = emit(where(seen, scores, const(float("-inf"), dtype)))
    weights = emit(softmax(scores, -1))
    return permute_dims(emit(matmul(weights, value)), heads_first)


def _attrs(scale: Any, causal_mask: str | None, window_size: int | None) -> dict[str, Any]:
    if causal_mask not in _MASKS:
        raise ValueError(
            f"attention: causal_mask is TopLeft, BottomRight or None, got {causal_mask!r}"
        )
    if window_size is not None:
        raise ValueError("attention: window_size is not supported")
    value = None if scale is None else float(getattr(scale, "value", scale))
    return {"scale": value, "causal_mask": causal_mask, "window_size": None}


@relax_op("nn.attention", infer=_attention_type, legalize=_legalize_attention)
def _plain(
    query: Expr, key: Expr, value: Expr, scale: Any = None, causal_mask: str | None = None,
    window_size: int | None = None,
) -> OpCall:  # fmt: skip
    return (query, key, value), _attrs(scale, causal_mask, window_size)


@relax_op("nn.attention_bias", infer=_attention_type, legalize=_legalize_attention)
def _with_bias(
    query: Expr, key: Expr, value: Expr, bias: Expr, scale: Any = None,
    causal_mask: str | None = None, window_size: int | None = None,
) -> OpCall:  # fmt: skip
    return (query, key, value, bias), _attrs(scale, causal_mask, window_size)


def attention(
    query: Expr,
    key: Expr,
    value: Expr,
    bias: Expr | None = None,
    scale: Any = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> Call:
    """softmax(query key^T * scale + bias) value, for operands (batch, position, head, width).

    Parameters
    ----------
    bias : broadcast to (batch, head, query position, key position).
    scale : 1 / sqrt(width) if None. causal_mask : "TopLeft" or "BottomRight" hides later positions.
    """
    if bias is None:
        return _plain(query, key, value, scale, causal_mask, window_size)
    return _with_bias(query, key, value, bias, scale, causal_mask, window_size)


attention_bias = attention


def _cross_entropy_type(call: Call, types: list[Any]) -> Type:
    predictions, labels = tensors(call, types, "predictions", "labels")
    dtype = common_dtype(call, [predictions, labels])
    if predictions.ndim not in (-1, 1, 2):
        fail(call, f"predictions: expected 1 or 2 dimensions, got {predictions}")
    if -1 not in (predictions.ndim, labels.ndim) and predictions.ndim != labels.ndim:
        fail(call, f"labels: expected the shape of the predictions, got {labels}")
    return TensorType((), dtype)


def _legalize_cross_entropy(builder: Any, call: Call) -> Expr:
    product = builder.emit(multiply(*call.args))
    if call.args[0].ty.ndim == 1:
        return negative(builder.emit(total(product)))
    return negative(builder.emit(mean(builder.emit(total(product, axis=1)))))


@relax_op("nn.cross_entropy_with_logits", infer=_cross_entropy_type,
          legalize=_legalize_cross_entropy)  # fmt: skip
def cross_entropy_with_logits(predictions: Expr, labels: Expr) -> OpCall:
    """-sum(predictions * labels), the mean over the batch if there is one.

    The predictions are logarithms of probabilities.
    """
    return (predictions, labels), {}


def _nll_type(call: Call, types: list[Any]) -> Type:
    predictions, targets = (
        tensor_type(call, t, n) for t, n in zip(types, ("predictions", "targets"), strict=False)
    )
    if targets.dtype is not None and "int" not in str(targets.dtype):
        fail(call, f"targets: expected integers, got {targets}")
    if call.attrs.reduction != "none":
        return TensorType((), predictions.dtype)
    return targets.replace(dtype=predictions.dtype)


def _legalize_nll(builder: Any, call: Call) -> Expr:
    predictions, targets, *weights = call.args
    name = "nll_loss"
    if not weights:
        classes = predictions.ty.dims[1 if predictions.ty.ndim > 1 else 0]
        name = "nll_loss_without_weight"
        weights = [builder.emit(ones((classes,), str(predictions.ty.dtype)))]
    return builder.call_te(
        topi_function("nn.nll_loss"),
        predictions,
        targets,
        weights[0],
        call.attrs.reduction,
        call.attrs.ignore_index,
        primfunc_name_hint=name,
    )


@relax_op("nn.nll_loss", infer=_nll_type, legalize=_legalize_nll)
def nll_loss(
    predictions: Expr,
    targets: Expr,
    weights: Expr | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> OpCall:
    """-weights[t] * predictions[…, t, …] at the class t of each target.

    reduction : "none", "sum" or "mean" (divided by the sum of the weights that were used).
    """
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(f"nll_loss: reduction is none, sum or mean, got {reduction!r}")
    operands = (predictions, targets) if weights is None else (predictions, targets, weights)
    return operands, {"reduction": reduction, "ignore_index": int(ignore_index)}


def _shuffle_type(call: Call, types: list[Any]) -> Type:
    ty, factor = tensor_type(call, types[0], "data"), call.attrs.upscale_factor
    if ty.ndim != -1 and ty.ndim < 3:
        fail(call, f"data: expected at least 3 dimensions, got {ty}")
    if ty.dims is None:
        return ty
    *lead, channels, height, width = ty.dims
    if isinstance(channels, IntImm) and channels.value % (factor * factor):
        fail(call, f"{channels} channels do not divide by {factor * factor}")
    dims = [channels // (factor * factor), height * factor, width * factor]
    return TensorType([*lead, *map(simplify, dims)], ty.dtype)


@relax_op("nn.pixel_shuffle", infer=_shuffle_type,
          legalize=te_call("nn.pixel_shuffle", "upscale_factor"))  # fmt: skip
def pixel_shuffle(data: Expr, upscale_factor: int) -> OpCall:
    """Channels moved into pixels: (…, c r², h, w) → (…, c, h r, w r)."""
    return (data,), {"upscale_factor": int(upscale_factor)}


__all__ = [
    "attention",
    "attention_bias",
    "cross_entropy_with_logits",
    "nll_loss",
    "pixel_shuffle",
]
