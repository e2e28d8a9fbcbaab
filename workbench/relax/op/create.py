"""Operators that make tensors, and casts."""

from __future__ import annotations

import math
from typing import Any

from workbench.ir.expr import Call, Expr
from workbench.ir.type import Type
from workbench.relax.expr import Constant, ShapeExpr, const, prim_value
from workbench.relax.op.infer import (
    fail,
    shape_dims,
    simplify,
    te_call,
    tensor_type,
    topi_function,
)
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import ShapeType, TensorType
from workbench.tirx.op import ceildiv


def as_shape(shape: Any) -> Expr:
    """A shape operand."""
    if isinstance(shape, Expr) and (
        isinstance(shape, ShapeExpr) or isinstance(shape.ty, ShapeType)
    ):
        return shape
    if isinstance(shape, (list, tuple)):
        return ShapeExpr(shape)
    raise TypeError(f"expected a shape, got {type(shape).__name__} {shape!r}")


def _filled(call: Call, shape: Any, dtype: Any) -> TensorType:
    dims = shape_dims(call, shape)
    return TensorType(dims, dtype) if dims is not None else TensorType(dtype=dtype, ndim=shape.ndim)


def _full_type(call: Call, types: list[Any]) -> Type:
    shape, value = types
    dtype = call.attr("dtype") or tensor_type(call, value, "fill_value").dtype
    return _filled(call, shape, dtype)


def _fill_kernel(builder: Any, shape: Expr, dtype: str, value: Expr) -> Expr:
    """The kernel of `full`; a constant value becomes a part of it."""
    name, fill = "full_of", value
    if isinstance(value, Constant) and not value.data.shape:
        name, fill = "full", value.data.numpy().item()
    return builder.call_te(topi_function(name), shape, dtype, fill, primfunc_name_hint="full")


def _legalize_full(builder: Any, call: Call) -> Expr:
    return _fill_kernel(builder, call.args[0], str(call.ty.dtype), call.args[1])


@relax_op("full", infer=_full_type, legalize=_legalize_full, pattern=OpPatternKind.INJECTIVE)
def full(shape: Any, fill_value: Any, dtype: str | None = None) -> OpCall:
    """A tensor of one scalar (a number or a tensor without dimensions)."""
    value = fill_value if isinstance(fill_value, Expr) else const(fill_value, dtype)
    return (as_shape(shape), value), {"dtype": dtype}


def _given_dtype(call: Call, types: list[Any]) -> Type:
    return _filled(call, types[0], call.attrs.dtype)


def _declare_fill(name: str, value: int) -> Any:
    def legalize(builder: Any, call: Call) -> Expr:
        dtype = str(call.ty.dtype)
        return builder.call_te(
            topi_function("full"), call.args[0], dtype, value, primfunc_name_hint=name
        )

    @relax_op(name, infer=_given_dtype, legalize=legalize, pattern=OpPatternKind.INJECTIVE)
    def build(shape: Any, dtype: str) -> OpCall:
        return (as_shape(shape),), {"dtype": str(dtype)}

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"A tensor of {name}."
    return build


zeros = _declare_fill("zeros", 0)
ones = _declare_fill("ones", 1)


def _like_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    return ty.replace(dtype=call.attr("dtype") or ty.dtype)


def _declare_like(name: str, value: int) -> Any:
    def legalize(builder: Any, call: Call) -> Expr:
        return builder.call_te(
            topi_function("full"),
            ShapeExpr(call.ty.dims),
            str(call.ty.dtype),
            value,
            primfunc_name_hint=name[:-5],
        )

    @relax_op(name, infer=_like_type, legalize=legalize, pattern=OpPatternKind.INJECTIVE)
    def build(x: Expr, dtype: str | None = None) -> OpCall:
        return (x,), {"dtype": dtype}

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"A tensor of {name[:-5]} with the shape of x."
    return build


zeros_like = _declare_like("zeros_like", 0)
ones_like = _declare_like("ones_like", 1)


@relax_op("full_like", infer=_like_type, pattern=OpPatternKind.INJECTIVE,
          legalize=lambda builder, call: _fill_kernel(
              builder, ShapeExpr(call.ty.dims), str(call.ty.dtype), call.args[1]))  # fmt: skip
def full_like(x: Expr, fill_value: Any, dtype: str | None = None) -> OpCall:
    """A tensor of one scalar with the shape of x."""
    return (x, fill_value if isinstance(fill_value, Expr) else const(fill_value)), {"dtype": dtype}


def _arange_type(call: Call, types: list[Any]) -> Type:
    start, stop, step = call.args
    values = [getattr(v, "value", None) for v in (start, stop, step)]
    if any(isinstance(v, float) for v in values):
        first, last, delta = (float(v) for v in values)  # type: ignore[arg-type]
        return TensorType([max(0, math.ceil((last - first) / delta))], call.attrs.dtype)
    return TensorType([simplify(ceildiv(stop - start, step))], call.attrs.dtype)


def _legalize_arange(builder: Any, call: Call) -> Expr:
    return builder.call_te(
        topi_function("arange"), *call.args, dtype=call.attrs.dtype, primfunc_name_hint="arange"
    )


@relax_op("arange", infer=_arange_type, legalize=_legalize_arange, pattern=OpPatternKind.INJECTIVE)
def arange(start: Any, end: Any = None, step: Any = 1, dtype: str | None = None) -> OpCall:
    """start, start + step, … below end; `arange(n)` starts at 0."""
    if end is None:
        start, end = 0, start
    values = [start, end, step]
    if dtype is None:
        dtype = "float32" if any(isinstance(v, float) for v in values) else "int64"

    return tuple(map(prim_value, values)), {"dtype": dtype}


def _astype_type(call: Call, types: list[Any]) -> Type:
    return tensor_type(call, types[0], "x").replace(dtype=call.attrs.dtype)


@relax_op("astype", infer=_astype_type, legalize=te_call("cast", "dtype", kernel="cast"),
          pattern=OpPatternKind.ELEMWISE)  # fmt: skip
def astype(x: Expr, dtype: str) -> OpCall:
    """x converted to `dtype`."""
    return (x,), {"dtype": str(dtype)}


def _tri_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    if ty.ndim != -1 and ty.ndim < 2:
        fail(call, f"expected at least 2 dimensions, got {ty}")
    return ty


def _declare_tri(name: str, upper: bool, doc: str) -> Any:
    @relax_op(
        name,
        infer=_tri_type,
        legalize=te_call("trilu", upper=upper),
        pattern=OpPatternKind.ELEMWISE,
    )
    def build(x: Expr, k: int | Expr = 0) -> OpCall:
        return (x, prim_value(k)), {}

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"The {doc} of the last two dimensions, from diagonal k; zero elsewhere."
    return build


tril = _declare_tri("tril", False, "lower triangle")
triu = _declare_tri("triu", True, "upper triangle")

__all__ = [
    "arange",
    "as_shape",
    "astype",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]
