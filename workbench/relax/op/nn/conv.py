"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import Type
from workbench.relax.op.infer import (
    common_dtype,
    fail,
    require_ndim,
    simplify,
    te_call,
    tensors,
)
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import TensorType

_FUSABLE = OpPatternKind.OUT_ELEMWISE_FUSABLE


def numbers(value: int | Sequence[int], count: int, what: str) -> tuple[int, ...]:
    """`count` integers from one or a sequence of them."""
    if isinstance(value, int):
        return (value,) * count
    items = tuple(int(v) for v in value)
    if len(items) == 1:
        return items * count
    if len(items) != count:
        raise ValueError(f"{what}: expected 1 or {count} numbers, got {list(items)}")
    return items


def paddings(value: int | Sequence[int], spatial: int, what: str) -> tuple[int, ...]:
    """Paddings before and after: (before…, after…), from 1, `spatial` or twice as many numbers."""
    if isinstance(value, int):
        return (value,) * (2 * spatial)
    items = tuple(int(v) for v in value)
    if len(items) == 1:
        return items * (2 * spatial)
    if len(items) == spatial:
        return items * 2
    if len(items) != 2 * spatial:
        raise ValueError(f"{what}: padding has 1, {spatial} or {2 * spatial} numbers, got {items}")
    return items


def window_extent(
    size: Any, window: Any, stride: int, before: int, after: int, dilation: int, ceil: bool = False
) -> Expr:
    """Number of windows along one dimension."""
    room = size + (before + after) - (window - 1) * dilation - 1
    if ceil:
        return simplify((room + (stride - 1)) // stride + 1)
    return simplify(room // stride + 1)


def axes_of(layout: str, letters: str, what: str) -> list[int]:
    """Positions of the letters in a layout such as "NCHW"."""
    if sorted(layout) != sorted(letters):
        raise ValueError(f"{what}: layout {layout!r} is no order of {letters!r}")
    return [layout.index(c) for c in letters]


_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def _conv_type(call: Call, types: list[Any]) -> Type:
    data, weight = tensors(call, types, "data", "weight")
    attrs = call.attrs
    spatial = len(attrs.strides)
    letters = _SPATIAL[spatial]
    for ty, what in ((data, "data"), (weight, "weight")):
        require_ndim(call, ty, spatial + 2, what)
    dtype = attrs.out_dtype or common_dtype(call, [data, weight])
    if data.dims is None or weight.dims is None:
        return TensorType(dtype=dtype, ndim=spatial + 2)
    d = axes_of(attrs.data_layout, "NC" + letters, "data_layout")
    k = axes_of(attrs.kernel_layout, "OI" + letters, "kernel_layout")
    o = axes_of(attrs.out_layout or attrs.data_layout, "NC" + letters, "out_layout")
    channels, inner, outer = data.dims[d[1]], weight.dims[k[1]], weight.dims[k[0]]
    groups = attrs.groups
    if isinstance(channels, IntImm) and isinstance(inner, IntImm):
        if channels.value != inner.value * groups:
            fail(call, f"data has {channels} channels, weight expects {inner} x {groups} groups")
    if isinstance(outer, IntImm) and outer.value % groups:
        fail(call, f"{outer} output channels do not divide into {groups} groups")
    dims: list[Any] = [None] * (spatial + 2)
    dims[o[0]], dims[o[1]] = data.dims[d[0]], outer
    for i in range(spatial):
        extent = window_extent(
            data.dims[d[2 + i]],
            weight.dims[k[2 + i]],
            attrs.strides[i],
            attrs.padding[i],
            attrs.padding[spatial + i],
            attrs.dilation[i],
        )
        if isinstance(extent, IntImm) and extent.value <= 0:
            fail(call, f"the kernel {weight} does not fit into {data} in dimension {letters[i]}")
        dims[o[2 + i]] = extent
    return TensorType(dims, dtype)


def _conv_transpose_type(call: Call, types: list[Any]) -> Type:
    data, weight = tensors(call, types, "data", "weight")
    attrs = call.attrs
    spatial = len(attrs.strides)
    letters = _SPATIAL[spatial]
    dtype = attrs.out_dtype or common_dtype(call, [data, weight])
    for ty, what in ((data, "data"), (weight, "weight")):
        require_ndim(call, ty, spatial + 2, what)
    if data.dims is None or weight.dims is None:
        return TensorType(dtype=dtype, ndim=spatial + 2)
    d = axes_of(attrs.data_layout, "NC" + letters, "data_layout")
    k = axes_of(attrs.kernel_layout, "IO" + letters, "kernel_layout")
    dims: list[Any] = list(data.dims)
    dims[d[1]] = simplify(weight.dims[k[1]] * attrs.groups)
    for i in range(spatial):
        window = weight.dims[k[2 + i]]
        reach = (window - 1) * attrs.dilation[i] + 1
        trim = attrs.padding[i] + attrs.padding[spatial + i]
        dims[d[2 + i]] = simplify(
            (data.dims[d[2 + i]] - 1) * attrs.strides[i] + reach - trim + attrs.output_padding[i]
        )
    return TensorType(dims, dtype)


def _declare_conv(spatial: int) -> Any:
    letters = _SPATIAL[spatial]
    name = f"nn.conv{spatial}d"

    @relax_op(
        name,
        infer=_conv_type,
        pattern=_FUSABLE,
        legalize=te_call(
            "nn.conv",
            "strides",
            "padding",
            "dilation",
            "groups",
            "data_layout",
            "kernel_layout",
            "out_layout",
            "out_dtype",
        ),
    )
    def build(
        data: Expr,
        weight: Expr,
        strides: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        data_layout: str = "NC" + letters,
        kernel_layout: str = "OI" + letters,
        out_layout: str | None = None,
        out_dtype: str | None = None,
    ) -> OpCall:
        return (data, weight), {
            "strides": numbers(strides, spatial, "strides"),
            "padding": paddings(padding, spatial, name),
            "dilation": numbers(dilation, spatial, "dilation"),
            "groups": int(groups),
            "data_layout": data_layout,
            "kernel_layout": kernel_layout,
            "out_layout": out_layout or data_layout,
            "out_dtype": str(out_dtype) if out_dtype else None,
        }

    build.__name__ = build.__qualname__ = f"conv{spatial}d"
    build.__doc__ = (
        f"Convolution (cross-correlation) over {spatial} spatial dimensions. Padding is "
        "(before…, after…); layouts name the dimensions."
    )
    return build


def _declare_transpose(spatial: int) -> Any:
    letters = _SPATIAL[spatial]
    name = f"nn.conv{spatial}d_transpose"

    @relax_op(
        name,
        infer=_conv_transpose_type,
        pattern=_FUSABLE,
        legalize=te_call(
            "nn.conv_transpose",
            "strides",
            "padding",
            "output_padding",
            "dilation",
            "groups",
            "data_layout",
            "kernel_layout",
            "out_dtype",
        ),
    )
    def build(
        data: Expr,
        weight: Expr,
        strides: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        data_layout: str = "NC" + letters,
        kernel_layout: str = "IO" + letters,
        out_layout: str | None = None,
        out_dtype: str | None = None,
    ) -> OpCall:
        return (data, weight), {
            "strides": numbers(strides, spatial, "strides"),
            "padding": paddings(padding, spatial, name),
            "output_padding": numbers(output_padding, spatial, "output_padding"),
            "dilation": numbers(dilation, spatial, "dilation"),
            "groups": int(groups),
            "data_layout": data_layout,
            "kernel_layout": kernel_layout,
            "out_layout": out_layout or data_layout,
            "out_dtype": str(out_dtype) if out_dtype else None,
        }

    build.__name__ = build.__qualname__ = f"conv{spatial}d_transpose"
    build.__doc__ = f"The transpose of `conv{spatial}d` (gradient with respect to its data)."
    return build


conv1d, conv2d, conv3d = map(_declare_conv, (1, 2, 3))
conv1d_transpose, conv2d_transpose, conv3d_transpose = map(_declare_transpose, (1, 2, 3))
