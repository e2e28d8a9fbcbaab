"""Image operators: `relax.op.image`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Call, Expr
from workbench.ir.type import Type
from workbench.relax.op.create import as_shape
from workbench.relax.op.infer import fail, require_ndim, shape_dims, tensor_type, topi_function
from workbench.relax.op.nn.conv import axes_of
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import TensorType


def _resize_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    require_ndim(call, ty, 4, "data")
    size = shape_dims(call, types[1])
    dtype = call.attr("out_dtype") or ty.dtype
    if ty.dims is None or size is None:
        return TensorType(dtype=dtype, ndim=4)
    if len(size) != 2:
        fail(call, f"size: expected (height, width), got {len(size)} values")
    axes = axes_of(call.attrs.layout, "NCHW", "layout")
    dims = list(ty.dims)
    dims[axes[2]], dims[axes[3]] = size
    return TensorType(dims, dtype)


def _legalize_resize(builder: Any, call: Call) -> Expr:
    a = call.attrs
    return builder.call_te(
        topi_function("image.resize2d"),
        call.args[0],
        list(a.roi),
        call.args[1],
        layout=a.layout,
        method=a.method,
        coordinate_transformation_mode=a.coordinate_transformation_mode,
        rounding_method=a.rounding_method,
        bicubic_alpha=a.cubic_alpha,
        bicubic_exclude=a.cubic_exclude,
        extrapolation_value=a.extrapolation_value,
        out_dtype=a.out_dtype,
        primfunc_name_hint="resize2d",
    )


@relax_op("image.resize2d", infer=_resize_type, legalize=_legalize_resize,
          pattern=OpPatternKind.INJECTIVE)  # fmt: skip
def resize2d(
    data: Expr,
    size: Any,
    roi: float | Sequence[float] = 0.0,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> OpCall:
    """The image scaled to `size` = (height, width).

    method : "nearest_neighbor", "linear" or "cubic"; the other options are those of ONNX Resize.
    """
    if method not in ("nearest_neighbor", "linear", "cubic"):
        raise ValueError(f"resize2d: method is nearest_neighbor, linear or cubic, got {method!r}")
    shape = (size, size) if isinstance(size, int) else size
    return (data, as_shape(shape)), {
        "roi": (float(roi),) * 4 if isinstance(roi, (int, float)) else tuple(map(float, roi)),
        "layout": layout,
        "method": method,
        "coordinate_transformation_mode": coordinate_transformation_mode,
        "rounding_method": rounding_method,
        "cubic_alpha": float(cubic_alpha),
        "cubic_exclude": int(cubic_exclude),
        "extrapolation_value": float(extrapolation_value),
        "out_dtype": out_dtype,
    }
