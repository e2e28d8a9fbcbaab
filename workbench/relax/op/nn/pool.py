"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import Type
from workbench.relax.op.infer import fail, require_ndim, te_call, tensor_type
from workbench.relax.op.nn.conv import _SPATIAL, axes_of, numbers, paddings, window_extent
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import TensorType

_FUSABLE = OpPatternKind.OUT_ELEMWISE_FUSABLE


def _pool_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    attrs = call.attrs
    spatial = len(attrs.pool_size)
    letters = _SPATIAL[spatial]
    require_ndim(call, ty, spatial + 2, "data")
    if ty.dims is None:
        return TensorType(dtype=ty.dtype, ndim=spatial + 2)
    axes = axes_of(attrs.layout, "NC" + letters, "layout")
    dims: list[Any] = list(ty.dims)
    for i in range(spatial):
        extent = window_extent(
            dims[axes[2 + i]],
            attrs.pool_size[i],
            attrs.strides[i],
            attrs.padding[i],
            attrs.padding[spatial + i],
            attrs.dilation[i],
            attrs.ceil_mode,
        )
        if isinstance(extent, IntImm) and extent.value <= 0:
            fail(call, f"the window {list(attrs.pool_size)} does not fit into {ty}")
        dims[axes[2 + i]] = extent
    return TensorType(dims, ty.dtype)


def _declare_pool(kind: str, spatial: int) -> Any:
    name = f"nn.{kind}_pool{spatial}d"
    default_layout = "NC" + _SPATIAL[spatial]
    ones, zeros = (1,) * spatial, (0,) * max(spatial, 2)
    counts_pad = kind == "avg" and spatial != 2  # TVM's defaults

    @relax_op(
        name,
        infer=_pool_type,
        pattern=_FUSABLE,
        legalize=te_call(
            "nn.pool",
            "pool_size",
            "strides",
            "padding",
            "dilation",
            "ceil_mode",
            "count_include_pad",
            "layout",
            kind=kind,
        ),
    )
    def build(
        data: Expr,
        pool_size: int | Sequence[int] = ones,
        strides: int | Sequence[int] = ones,
        padding: int | Sequence[int] = zeros,
        dilation: int | Sequence[int] = ones,
        ceil_mode: bool = False,
        count_include_pad: bool = counts_pad,
        layout: str = default_layout,
        out_layout: str | None = None,
    ) -> OpCall:
        return (data,), {
            "pool_size": numbers(pool_size, spatial, "pool_size"),
            "strides": numbers(strides, spatial, "strides"),
            "dilation": numbers(dilation, spatial, "dilation"),
            "padding": paddings(padding, spatial, name),
            "ceil_mode": bool(ceil_mode),
            "count_include_pad": bool(count_include_pad),
            "layout": layout,
            "out_layout": out_layout or layout,
        }

    what = "maximum" if kind == "max" else "mean"
    build.__name__ = build.__qualname__ = f"{kind}_pool{spatial}d"
    build.__doc__ = (
        f"The {what} over windows of {spatial} spatial dimensions; `ceil_mode` keeps a last "
        "partial window; padding counts in a mean only with `count_include_pad`."
    )
    return build


max_pool1d, max_pool2d, max_pool3d = (_declare_pool("max", n) for n in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_declare_pool("avg", n) for n in (1, 2, 3))


def _adaptive_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    attrs = call.attrs
    spatial = len(attrs.layout) - 2
    require_ndim(call, ty, spatial + 2, "data")
    if ty.dims is None:
        return TensorType(dtype=ty.dtype, ndim=spatial + 2)
    axes = axes_of(attrs.layout, "NC" + _SPATIAL[spatial], "layout")
    dims: list[Any] = list(ty.dims)
    for i in range(spatial):
        if attrs.output_size is not None:
            dims[axes[2 + i]] = IntImm("int64", attrs.output_size[i])
    return TensorType(dims, ty.dtype)


def _declare_adaptive(spatial: int) -> Any:
    default_layout = "NC" + _SPATIAL[spatial]

    @relax_op(
        f"nn.adaptive_avg_pool{spatial}d",
        infer=_adaptive_type,
        pattern=_FUSABLE,
        legalize=te_call("nn.adaptive_pool_nd", "output_size", "layout", kind="avg"),
    )
    def build(
        data: Expr,
        output_size: int | Sequence[int] | None = None,
        layout: str = default_layout,
        out_layout: str | None = None,
    ) -> OpCall:
        size = None if output_size is None else numbers(output_size, spatial, "output_size")
        return (data,), {
            "output_size": size,
            "layout": layout,
            "out_layout": out_layout or layout,
        }

    build.__name__ = build.__qualname__ = f"adaptive_avg_pool{spatial}d"
    build.__doc__ = "The mean over as many windows as `output_size` says (None: as the input has)."
    return build


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(_declare_adaptive, (1, 2, 3))
