"""Operators that select: take, slices, where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import PrimType, Type
from workbench.relax.expr import Tuple, prim_value
from workbench.relax.op.infer import (
    as_relax,
    broadcast_type,
    common_dtype,
    fail,
    normalize_axis,
    simplify,
    te_call,
    tensor_type,
    tensors,
    topi_function,
)
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import TensorType
from workbench.tirx.op import max as tir_max
from workbench.tirx.op import min as tir_min

_INJECTIVE = OpPatternKind.INJECTIVE


def _take_type(call: Call, types: list[Any]) -> Type:
    data = tensor_type(call, types[0], "x")
    indices = tensor_type(call, types[1], "indices")
    axis = call.attr("axis")
    if indices.dtype is not None and "int" not in str(indices.dtype):
        fail(call, f"indices: expected integers, got {indices}")
    if axis is None:
        return indices.replace(dtype=data.dtype)
    if data.ndim == -1 or indices.ndim == -1:
        return TensorType(dtype=data.dtype)
    axis = normalize_axis(call, axis, data.ndim)
    if data.dims is None or indices.dims is None:
        return TensorType(dtype=data.dtype, ndim=data.ndim + indices.ndim - 1)
    dims = [*data.dims[:axis], *indices.dims, *data.dims[axis + 1 :]]
    return TensorType(dims, data.dtype)


def _legalize_take(builder: Any, call: Call) -> Expr:
    data, indices = call.args
    axis = call.attr("axis")
    if isinstance(indices.ty, PrimType):
        return builder.call_te(
            topi_function("take_scalar"), data, indices, axis=axis, primfunc_name_hint="take"
        )
    return builder.call_te(
        topi_function("take"), data, indices, axis=axis, mode=call.attr("mode", "fast"),
        primfunc_name_hint="take",
    )  # fmt: skip


@relax_op("take", infer=_take_type, legalize=_legalize_take, pattern=_INJECTIVE)
def take(x: Expr, indices: Any, axis: int | None = None, mode: str = "fast") -> OpCall:
    """Elements of x at `indices` along `axis`.

    mode : "fast" (indices are in range), "wrap" (modulo the extent, so negative ones count from the
        end) or "clip".
    """
    if mode not in ("fast", "wrap", "clip", "nan"):
        raise ValueError(f"take: mode is fast, wrap, clip or nan, got {mode!r}")
    where = as_relax(indices) if isinstance(indices, (list, tuple)) else indices
    where = where if isinstance(where, Expr) else prim_value(where)
    return (x, where), {"axis": axis, "mode": mode}


def _bound(value: Any) -> int | None:
    return value.value if isinstance(value, IntImm) else None


def slice_extent(begin: Any, end: Any, step: int, extent: Expr, assume_inbound: bool) -> Expr:
    """Number of elements of begin:end:step in a dimension of `extent` elements."""
    first, last, size = _bound(begin), _bound(end), _bound(extent)
    if first is not None and last is not None and size is not None:
        return IntImm("int64", len(range(*slice(first, last, step).indices(size))))
    if first is None or last is None or step < 0:
        length = end - begin if step > 0 else begin - end
        magnitude = step if step > 0 else -step
        return simplify((length + (magnitude - 1)) // magnitude)
    start: Any = extent + first if first < 0 else IntImm("int64", first)
    stop: Any = extent + last if last < 0 else IntImm("int64", last)
    if last >= 1 << 31:
        stop = extent
    elif not assume_inbound:
        stop = tir_min(stop, extent)
        if first > 0:
            start = tir_min(start, extent)
    length = simplify(stop - start)
    if not assume_inbound and last < (1 << 31):
        length = tir_max(length, IntImm("int64", 0))
    return simplify((length + (step - 1)) // step)


def _strided_slice_type(call: Call, types: list[Any]) -> Type:
    data = tensor_type(call, types[0], "x")
    axes, begin, end, strides = _slice_operands(call)
    if data.ndim == -1:
        return TensorType(dtype=data.dtype)
    if data.dims is None:
        return TensorType(dtype=data.dtype, ndim=data.ndim)
    dims = list(data.dims)
    for axis, first, last, step in zip(axes, begin, end, strides, strict=True):
        at = normalize_axis(call, int(axis), data.ndim)
        if int(step) == 0:
            fail(call, "a stride is 0")
        dims[at] = slice_extent(first, last, int(step), dims[at], call.attrs.assume_inbound)
    return TensorType(dims, data.dtype)


def _values(operand: Expr) -> Sequence[Any]:
    return operand.fields  # type: ignore[attr-defined]


def _slice_operands(call: Call) -> tuple[Sequence[Any], ...]:
    """Axes, begins, ends and strides (ones where the call has none)."""
    axes, begin, end, *strides = (_values(a) for a in call.args[1:])
    return axes, begin, end, strides[0] if strides else [IntImm("int64", 1)] * len(axes)


def _legalize_slice(builder: Any, call: Call) -> Expr:
    data = call.args[0]
    axes, begin, end, strides = map(list, _slice_operands(call))
    return builder.call_te(
        topi_function("strided_slice"),
        data,
        begin,
        end,
        [int(s) for s in strides],
        [int(a) for a in axes],
        call.ty.dims and list(call.ty.dims),
        primfunc_name_hint="strided_slice",
    )


@relax_op("strided_slice", infer=_strided_slice_type, legalize=_legalize_slice, pattern=_INJECTIVE)
def strided_slice(
    x: Expr,
    axes: Sequence[int],
    begin: Sequence[Any],
    end: Sequence[Any],
    strides: Sequence[int] | None = None,
    assume_inbound: bool = False,
) -> OpCall:
    """x[begin:end:stride] along each of `axes`, with Python's meaning of negative bounds."""

    def operand(values: Any) -> Expr:
        if isinstance(values, Expr):
            return values
        return Tuple([prim_value(v) for v in values])

    lengths = {len(v) if not isinstance(v, Tuple) else len(v.fields) for v in (axes, begin, end)}
    if len(lengths) > 1:
        raise ValueError(
            f"strided_slice: axes, begin and end have different lengths: {axes}, {begin}, {end}"
        )
    given = (axes, begin, end) if strides is None else (axes, begin, end, strides)
    return (x, *map(operand, given)), {"assume_inbound": bool(assume_inbound)}


def _where_type(call: Call, types: list[Any]) -> Type:
    cond, yes, no = tensors(call, types, "condition", "x1", "x2")
    if cond.dtype is not None and cond.dtype != "bool":
        fail(call, f"condition: expected bool, got {cond.dtype}")
    return broadcast_type(call, [cond, yes, no], common_dtype(call, [yes, no]))


@relax_op("where", infer=_where_type, legalize=te_call("where"), pattern=OpPatternKind.BROADCAST)
def where(condition: Expr, x1: Any, x2: Any) -> OpCall:
    """x1 where the condition holds, else x2, with broadcasting."""
    left = as_relax(x1, x2 if isinstance(x2, Expr) else None)
    return (condition, left, as_relax(x2, left)), {}
