"""Reductions and scans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import Type
from workbench.relax.op.infer import fail, normalize_axes, normalize_axis, te_call, tensor_type
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import TensorType


def _axes(axis: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if axis is None:
        return None
    return (int(axis),) if isinstance(axis, int) else tuple(int(a) for a in axis)


def reduced_type(call: Call, ty: TensorType, dtype: Any) -> TensorType:
    """The type after reducing `call.attrs.axis` with `call.attrs.keepdims`."""
    axes, keep = call.attr("axis"), call.attr("keepdims")
    if isinstance(axes, int):
        axes = (axes,)
    if ty.ndim == -1:
        return TensorType((), dtype) if axes is None and not keep else TensorType(dtype=dtype)
    chosen = set(range(ty.ndim)) if axes is None else set(normalize_axes(call, axes, ty.ndim))
    if ty.dims is None:
        return TensorType(dtype=dtype, ndim=ty.ndim if keep else ty.ndim - len(chosen))
    dims = [
        IntImm("int64", 1) if i in chosen else d
        for i, d in enumerate(ty.dims)
        if keep or i not in chosen
    ]
    return TensorType(dims, dtype)


def _reduce_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    return reduced_type(call, ty, ty.dtype)


def _arg_reduce_type(call: Call, types: list[Any]) -> Type:
    return reduced_type(call, tensor_type(call, types[0], "x"), "int64")


def _declare(name: str, doc: str) -> Any:
    @relax_op(
        name,
        infer=_reduce_type,
        legalize=te_call(name, "axis", "keepdims"),
        pattern=OpPatternKind.COMM_REDUCE,
    )
    def build(x: Expr, axis: Any = None, keepdims: bool = False) -> OpCall:
        return (x,), {"axis": _axes(axis), "keepdims": bool(keepdims)}

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"{doc} over `axis` (all if None); `keepdims` keeps them with extent 1."
    return build


sum = _declare("sum", "The sum")
prod = _declare("prod", "The product")
max = _declare("max", "The maximum")
min = _declare("min", "The minimum")
mean = _declare("mean", "The mean")
variance = _declare("variance", "The variance (divided by the number of elements)")
std = _declare("std", "The standard deviation")


def _declare_arg(name: str, doc: str) -> Any:
    @relax_op(
        name,
        infer=_arg_reduce_type,
        legalize=te_call(name, "axis", "keepdims"),
        pattern=OpPatternKind.COMM_REDUCE,
    )
    def build(x: Expr, axis: int | None = None, keepdims: bool = False) -> OpCall:
        return (x,), {"axis": None if axis is None else int(axis), "keepdims": bool(keepdims)}

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"The int64 index of the first {doc} along `axis` (of all elements if None)."
    return build


argmax = _declare_arg("argmax", "maximum")
argmin = _declare_arg("argmin", "minimum")


def _scan_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    dtype = call.attr("dtype") or ty.dtype
    axis = call.attr("axis")
    if axis is None:
        if ty.dims is None:
            return TensorType(dtype=dtype, ndim=1)
        total: Any = IntImm("int64", 1)
        for dim in ty.dims:
            total = dim if isinstance(total, IntImm) and total.value == 1 else total * dim
        return TensorType([total], dtype)
    if ty.ndim != -1:
        normalize_axis(call, axis, ty.ndim)
    return ty.replace(dtype=dtype)


def _declare_scan(name: str, doc: str) -> Any:
    @relax_op(name, infer=_scan_type, legalize=te_call(name, "axis", "dtype", "exclusive"))
    def build(
        data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool = False
    ) -> OpCall:
        if axis is not None and not isinstance(axis, int):
            raise TypeError(f"{name}: axis is an integer or None, got {axis!r}")
        return (data,), {"axis": axis, "dtype": dtype, "exclusive": bool(exclusive)}

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"The running {doc} along `axis` (over the flattened tensor if None)."
    return build


cumsum = _declare_scan("cumsum", "sum")
cumprod = _declare_scan("cumprod", "product")

__all__ = [
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "fail",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "variance",
]
