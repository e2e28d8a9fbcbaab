"""Operators that write at computed indices, and indexing by tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Call, Expr
from workbench.ir.type import Type
from workbench.relax.expr import Tuple, prim_value
from workbench.relax.op.infer import (
    broadcast_type,
    fail,
    normalize_axis,
    te_call,
    tensor_type,
    tensors,
    topi_function,
    tuple_tensors,
)
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import TensorType

_REDUCTIONS = ("update", "add", "mul", "min", "max")


def _reduction(name: str, value: str) -> str:
    if value not in _REDUCTIONS:
        raise ValueError(f"{name}: reduction is one of {', '.join(_REDUCTIONS)}, got {value!r}")
    return value


def _data_type(call: Call, types: list[Any]) -> TensorType:
    return tensor_type(call, types[0], "data")


def _scatter_elements_type(call: Call, types: list[Any]) -> Type:
    data, indices, updates = tensors(call, types, "data", "indices", "updates")
    if data.ndim != -1:
        normalize_axis(call, call.attrs.axis, data.ndim)
        for what, ty in (("indices", indices), ("updates", updates)):
            if ty.ndim not in (-1, data.ndim):
                fail(call, f"{what}: expected {data.ndim} dimensions as data has, got {ty}")
    if indices.dtype is not None and "int" not in str(indices.dtype):
        fail(call, f"indices: expected integers, got {indices}")
    return data


@relax_op("scatter_elements", infer=_scatter_elements_type,
          legalize=te_call("scatter_elements", "axis", "reduction"))  # fmt: skip
def scatter_elements(
    data: Expr, indices: Expr, updates: Expr, axis: int = 0, reduction: str = "update"
) -> OpCall:
    """data with out[i, …, indices[i, j, …], …] updated by updates[i, j, …]."""
    how = _reduction("scatter_elements", reduction)
    return (data, indices, updates), {"axis": int(axis), "reduction": how}


def _scatter_nd_type(call: Call, types: list[Any]) -> Type:
    data, indices, _ = tensors(call, types, "data", "indices", "updates")
    if indices.dtype is not None and "int" not in str(indices.dtype):
        fail(call, f"indices: expected integers, got {indices}")
    return data


def _legalize_scatter_nd(builder: Any, call: Call) -> Expr:
    def scatter(data: Any, indices: Any, updates: Any) -> Any:
        # Index vectors are in the last dimension here, in the first one in topi.
        last = indices.ndim - 1
        turned = topi_function("transpose")(indices, [last, *range(last)])
        return topi_function("scatter_nd")(data, turned, updates, call.attrs.reduction)

    return builder.call_te(scatter, *call.args, primfunc_name_hint="scatter_nd")


@relax_op("scatter_nd", infer=_scatter_nd_type, legalize=_legalize_scatter_nd)
def scatter_nd(data: Expr, indices: Expr, updates: Expr, reduction: str = "update") -> OpCall:
    """data with the slices at the index vectors in the last dimension of `indices` updated."""
    return (data, indices, updates), {"reduction": _reduction("scatter_nd", reduction)}


def _index_tensor_type(call: Call, types: list[Any]) -> Type:
    data = tensor_type(call, types[0], "data")
    parts = tuple_tensors(call, types[1], "indices")
    for part in parts:
        if part.dtype is not None and "int" not in str(part.dtype):
            fail(call, f"indices: expected integers, got {part}")
    if not parts or (data.ndim != -1 and len(parts) > data.ndim):
        fail(call, f"{len(parts)} index tensors for {data}")
    lead = broadcast_type(call, parts, None)
    if lead.dims is None or data.dims is None:
        known = lead.ndim != -1 and data.ndim != -1
        return TensorType(
            dtype=data.dtype, ndim=lead.ndim + data.ndim - len(parts) if known else -1
        )
    return TensorType([*lead.dims, *data.dims[len(parts) :]], data.dtype)


def _tuple(values: Any) -> Expr:
    if isinstance(values, (list, tuple)):
        return Tuple(values)
    return values if isinstance(values, Tuple) or values.ty is None else _as_tuple(values)


def _as_tuple(value: Expr) -> Expr:
    return Tuple([value]) if isinstance(value.ty, TensorType) else value


@relax_op("index_tensor", infer=_index_tensor_type, legalize=te_call("index_tensor"),
          pattern=OpPatternKind.INJECTIVE)  # fmt: skip
def index_tensor(data: Expr, indices: Expr | Sequence[Expr]) -> OpCall:
    """data[i0, i1, …] for integer tensors that broadcast, as in NumPy."""
    return (data, _tuple(indices)), {}


def _legalize_index_put(builder: Any, call: Call) -> Expr:
    data, indices, values = call.args
    return builder.call_te(
        topi_function("index_put"),
        data,
        indices,
        values,
        accumulate=call.attrs.accumulate,
        primfunc_name_hint="index_put",
    )


@relax_op("index_put", infer=_data_type, legalize=_legalize_index_put)
def index_put(
    data: Expr, indices: Expr | Sequence[Expr], values: Expr, accumulate: bool = False
) -> OpCall:
    """data with data[i0, i1, …] = values (or added, with `accumulate`)."""
    return (data, _tuple(indices), values), {"accumulate": bool(accumulate)}


@relax_op("slice_scatter", infer=_data_type, legalize=te_call("slice_scatter", "axis"),
          pattern=OpPatternKind.OPAQUE)  # fmt: skip
def slice_scatter(
    input_tensor: Expr, src: Expr, start: Any, end: Any, step: Any, axis: int = 0
) -> OpCall:
    """input_tensor with the slice start:end:step along `axis` replaced by `src`."""
    bounds = (prim_value(v) for v in (start, end, step))
    return (input_tensor, src, *bounds), {"axis": int(axis)}


def _reverse_sequence_type(call: Call, types: list[Any]) -> Type:
    data, lengths = tensors(call, types, "data", "seq_lengths")
    if lengths.ndim not in (-1, 1):
        fail(call, f"seq_lengths: expected one dimension, got {lengths}")
    if data.ndim != -1:
        normalize_axis(call, call.attrs.seq_axis, data.ndim)
        normalize_axis(call, call.attrs.batch_axis, data.ndim)
    return data


@relax_op("reverse_sequence", infer=_reverse_sequence_type,
          legalize=te_call("reverse_sequence", "seq_axis", "batch_axis"),
          pattern=OpPatternKind.INJECTIVE)  # fmt: skip
def reverse_sequence(
    data: Expr, seq_lengths: Expr, seq_axis: int = 1, batch_axis: int = 0
) -> OpCall:
    """The first `seq_lengths[b]` elements along `seq_axis` reversed, for every batch b."""
    return (data, seq_lengths), {"seq_axis": int(seq_axis), "batch_axis": int(batch_axis)}


__all__ = [
    "index_put",
    "index_tensor",
    "reverse_sequence",
    "scatter_elements",
    "scatter_nd",
    "slice_scatter",
]
