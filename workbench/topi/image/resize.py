"""Resizing of images: nearest, linear and cubic, with the coordinate rules of ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.tirx.expr import Select
from workbench.topi.dims import const_int, require_int

_MODES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
)


def _source(index: Any, size: Any, target: Any, mode: str) -> Expr:
    """The (fractional) coordinate in the source of an index in the result."""
    x = tir.cast("float32", index)
    old, new = tir.cast("float32", size), tir.cast("float32", target)
    if mode == "align_corners":
        if const_int(target) == 1:
            return tir.const(0.0, "float32")
        return x * (old - 1.0) / (new - 1.0)
    scale = old / new
    if mode == "asymmetric":
        return x * scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) * scale
    value = (x + 0.5) * scale - 0.5
    if mode == "pytorch_half_pixel" and const_int(target) == 1:
        return tir.const(0.0, "float32")
    return value


def _round(x: Expr, method: str) -> Expr:
    """The nearest index by a rounding rule."""
    if method in ("", "round", "round_prefer_floor"):
        return tir.ceil(x - 0.5)
    if method == "round_prefer_ceil":
        return tir.floor(x + 0.5)
    if method == "floor":
        return tir.floor(x + 1e-5)
    if method == "ceil":
        return tir.ceil(x - 1e-5)
    raise WorkbenchError(
        "resize: rounding is round, round_prefer_floor, round_prefer_ceil, floor or ceil, "
        f"got {method!r}"
    )


def _limited(index: Expr, size: Any) -> Any:
    """An index inside [0, size)."""
    whole = tir.cast(size.dtype, index)
    return tir.maximum(tir.minimum(whole, size - 1), 0)


def _taps(
    x: Expr, size: Any, method: str, rounding: str, alpha: float, exclude: bool
) -> list[tuple[Any, Expr | None]]:
    """The source indices and weights of one dimension (weight None: 1)."""
    if method == "nearest_neighbor":
        return [(_limited(_round(x, rounding), size), None)]
    base = tir.floor(x)
    t = x - base
    if method == "linear":
        return [(_limited(base, size), 1.0 - t), (_limited(base + 1.0, size), t)]
    weights = _cubic(t, alpha)
    taps = [base + float(k) for k in range(-1, 3)]
    if exclude:
        kept = []
        top = tir.cast("float32", size) - 1.0
        for tap, weight in zip(taps, weights, strict=True):
            outside = tir.logical_or(tap < 0.0, tir.greater(tap, top))
            kept.append(Select(outside, tir.const(0.0, "float32"), weight))
        total = kept[0] + kept[1] + kept[2] + kept[3]
        weights = [w / total for w in kept]
    return [(_limited(tap, size), w) for tap, w in zip(taps, weights, strict=True)]


def _cubic(t: Expr, a: float) -> list[Expr]:
    """The weights of the four neighbours (Keys, 1981)."""
    t2, t3 = t * t, t * t * t
    return [
        a * (t3 - 2.0 * t2 + t),
        (a + 2.0) * t3 - (3.0 + a) * t2 + 1.0,
        -(a + 2.0) * t3 + (3.0 + 2.0 * a) * t2 - a * t,
        -a * t3 + a * t2,
    ]


def resize(
    data: Tensor,
    size: Sequence[Any],
    axes: Sequence[int],
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.75,
    bicubic_exclude: bool = False,
    out_dtype: str | None = None,
) -> Tensor:
    """The data resized to `size` along `axes`.

    Parameters
    ----------
    method : "nearest_neighbor", "linear" or "cubic".
    coordinate_transformation_mode : where an output pixel lies in the input (ONNX's names).
    rounding_method : for nearest: "round_prefer_floor" (default), "round_prefer_ceil", "floor" or
        "ceil".
    bicubic_exclude : whether the weights of neighbours outside the image are dropped.
    """
    if method not in ("nearest_neighbor", "linear", "cubic"):
        raise WorkbenchError(f"resize: method is nearest_neighbor, linear or cubic, got {method!r}")
    if coordinate_transformation_mode not in _MODES:
        raise WorkbenchError(
            f"resize: coordinate mode is one of {', '.join(_MODES)}, "
            f"got {coordinate_transformation_mode!r}"
        )
    shape: list[Any] = list(data.shape)
    for k, target in zip(axes, size, strict=True):
        shape[k] = target
    kind = out_dtype or data.dtype

    def element(*i: Any) -> Expr:
        taps = [
            _taps(
                _source(i[k], data.shape[k], shape[k], coordinate_transformation_mode),
                data.shape[k],
                method,
                rounding_method,
                bicubic_alpha,
                bicubic_exclude,
            )
            for k in axes
        ]
        return tir.cast(kind, _weighted(data, list(i), axes, taps))

    return te.compute(shape, element, name="resize", tag="injective")


def _weighted(data: Tensor, at: list[Any], axes: Sequence[int], taps: Sequence[Any]) -> Expr:
    """The sum over the product of the taps of all dimensions, innermost dimension first."""

    def level(n: int, index: list[Any]) -> Expr:
        if n == len(axes):
            return data(*index)
        total: Any = None
        for place, weight in taps[n]:
            inner = list(index)
            inner[axes[n]] = place
            value = level(n + 1, inner)
            if weight is None:
                return value
            value = tir.cast("float32", value) if not value.dtype.is_float else value
            term = value * weight
            total = term if total is None else total + term
        return total

    return level(0, at)


def resize2d(
    data: Tensor,
    roi: Any,
    size: Sequence[Any],
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.5,
    bicubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
    output_shape: Any = None,
) -> Tensor:
    """Resizing of two-dimensional images to `size` (height, width)."""
    places = [layout.find("H"), layout.find("W")]
    if -1 in places or data.ndim != len(layout):
        raise WorkbenchError(f"resize2d: layout {layout!r} does not fit {data}")
    return resize(
        data,
        size,
        places,
        method,
        coordinate_transformation_mode,
        rounding_method,
        bicubic_alpha,
        bool(bicubic_exclude),
        out_dtype,
    )


def _scaled(size: Any, factor: float) -> Any:
    """A dimension times a factor; a fractional factor needs a constant dimension."""
    if float(factor).is_integer():
        return size * int(factor)
    return round(require_int(size, "upsampling: size") * factor)


def upsampling(
    data: Tensor,
    scale_h: float,
    scale_w: float,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Tensor:
    """Resizing by factors."""
    size = [
        _scaled(data.shape[layout.find("H")], scale_h),
        _scaled(data.shape[layout.find("W")], scale_w),
    ]
    mode = "align_corners" if align_corners else "asymmetric"
    names = {"bilinear": "linear", "bicubic": "cubic"}
    rounding = "" if align_corners else "floor"
    return resize2d(data, None, size, layout, names.get(method, method), mode, rounding)
