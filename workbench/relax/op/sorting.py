"""Operators that sort and search."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import TupleType, Type
from workbench.relax.op.infer import (
    fail,
    normalize_axis,
    tensor_type,
    tensors,
    topi_function,
)
from workbench.relax.op.registry import OpCall, relax_op


def _sorted_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    if ty.ndim != -1:
        normalize_axis(call, call.attrs.axis, ty.ndim)
    return ty.replace(dtype=call.attr("dtype") or ty.dtype)


def _legalize(name: str) -> Any:
    def legalize(builder: Any, call: Call) -> Expr:
        attrs = call.attrs
        options = {"dtype": attrs.dtype} if "dtype" in attrs else {}
        return builder.call_te(
            topi_function(name),
            call.args[0],
            axis=attrs.axis,
            is_ascend=not attrs.descending,
            primfunc_name_hint=name,
            **options,
        )

    return legalize


@relax_op("sort", infer=_sorted_type, legalize=_legalize("sort"))
def sort(x: Expr, axis: int = -1, descending: bool = False) -> OpCall:
    """x sorted along `axis`; equal elements keep their order, NaN counts as the largest."""
    return (x,), {"axis": int(axis), "descending": bool(descending)}


@relax_op("argsort", infer=_sorted_type, legalize=_legalize("argsort"))
def argsort(data: Expr, axis: int = -1, descending: bool = False, dtype: str = "int32") -> OpCall:
    """The positions of the elements of `sort(data)`."""
    return (data,), {"axis": int(axis), "descending": bool(descending), "dtype": str(dtype)}


def _topk_type(call: Call, types: list[Any]) -> Type:
    ty, attrs = tensor_type(call, types[0], "data"), call.attrs
    if ty.dims is not None:
        axis = normalize_axis(call, attrs.axis, ty.ndim)
        dims = list(ty.dims)
        extent = dims[axis]
        if isinstance(extent, IntImm) and attrs.k > extent.value:
            fail(call, f"k is {attrs.k}, but there are {extent} elements along dimension {axis}")
        if attrs.k >= 1:
            dims[axis] = IntImm("int64", attrs.k)
        ty = ty.replace(shape=dims)
    both = [ty, ty.replace(dtype=attrs.dtype)]
    return {"both": TupleType(both), "values": both[0], "indices": both[1]}[attrs.ret_type]


def _legalize_topk(builder: Any, call: Call) -> Expr:
    attrs = call.attrs
    return builder.call_te(
        topi_function("topk"),
        call.args[0],
        k=attrs.k,
        axis=attrs.axis,
        ret_type=attrs.ret_type,
        is_ascend=not attrs.largest,
        dtype=attrs.dtype,
        primfunc_name_hint="topk",
    )


@relax_op("topk", infer=_topk_type, legalize=_legalize_topk)
def topk(
    data: Expr,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
) -> OpCall:
    """The k largest (or smallest) elements along `axis`, sorted: values, indices or both."""
    if ret_type not in ("both", "values", "indices"):
        raise ValueError(f"topk: ret_type is both, values or indices, got {ret_type!r}")
    return (data,), {
        "k": int(k),
        "axis": int(axis),
        "ret_type": ret_type,
        "largest": bool(largest),
        "dtype": str(dtype),
    }


def _bucketize_type(call: Call, types: list[Any]) -> Type:
    values, boundaries = tensors(call, types, "input_tensor", "boundaries")
    if boundaries.ndim not in (-1, 1):
        fail(call, f"boundaries: expected one dimension, got {boundaries}")
    return values.replace(dtype="int32" if call.attrs.out_int32 else "int64")


def _legalize_bucketize(builder: Any, call: Call) -> Expr:
    values, boundaries = call.args
    return builder.call_te(
        topi_function("searchsorted"),
        boundaries,
        values,
        right=call.attrs.right,
        out_dtype=str(call.ty.dtype),
        primfunc_name_hint="searchsorted",
    )


@relax_op("bucketize", infer=_bucketize_type, legalize=_legalize_bucketize)
def bucketize(
    input_tensor: Expr, boundaries: Expr, out_int32: bool = False, right: bool = False
) -> OpCall:
    """The number of (sorted) boundaries below each element; `right` counts equal ones too."""
    return (input_tensor, boundaries), {"out_int32": bool(out_int32), "right": bool(right)}


__all__ = ["argsort", "bucketize", "sort", "topk"]
