"""Operators that move elements: reshape, transpose, concatenate, split, broadcast …"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import TupleType, Type
from workbench.relax.analysis.type_relation import same_dim
from workbench.relax.expr import ShapeExpr
from workbench.relax.op.create import as_shape
from workbench.relax.op.infer import (
    as_relax,
    broadcast_dims,
    common_dtype,
    fail,
    normalize_axes,
    normalize_axis,
    shape_dims,
    simplify,
    te_call,
    tensor_type,
    tensors,
    topi_function,
    tuple_tensors,
)
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import ShapeType, TensorType

_INJECTIVE = OpPatternKind.INJECTIVE


def product(dims: Sequence[Expr]) -> Expr:
    """The product of dimensions, simplified."""
    total: Any = IntImm("int64", 1)
    for dim in dims:
        total = total * dim
    return simplify(total)


def _reshape_type(call: Call, types: list[Any]) -> Type:
    data = tensor_type(call, types[0], "x")
    dims = shape_dims(call, types[1])
    if dims is None:
        return TensorType(dtype=data.dtype, ndim=types[1].ndim)
    if data.dims is not None:
        old, new = product(data.dims), product(dims)
        if isinstance(old, IntImm) and isinstance(new, IntImm) and old.value != new.value:
            fail(call, f"cannot reshape {data} with {old} elements to ({', '.join(map(str, dims))})"
                 f" with {new}")  # fmt: skip
    return TensorType(dims, data.dtype)


def _resolve_shape(x: Expr, shape: Any) -> Expr:
    """Replaces -1 (inferred) and 0 (copied) in a list of dimensions."""
    if isinstance(shape, Expr):
        return as_shape(shape)
    dims: list[Any] = list(shape)
    ty = x.ty
    for i, dim in enumerate(dims):
        value = dim.value if isinstance(dim, IntImm) else dim
        if isinstance(value, int) and value == 0:
            if not (isinstance(ty, TensorType) and ty.dims is not None and i < len(ty.dims)):
                raise ValueError(f"reshape: dimension {i} is copied (0), but {x} has no such one")
            dims[i] = ty.dims[i]
    unknown = [
        i
        for i, d in enumerate(dims)
        if (d.value if isinstance(d, IntImm) else d if isinstance(d, int) else 0) == -1
    ]
    if len(unknown) > 1:
        raise ValueError(f"reshape: at most one dimension may be -1, got {list(shape)}")
    if unknown:
        if not isinstance(ty, TensorType) or ty.dims is None:
            raise ValueError(f"reshape: -1 needs the shape of {x}, which is unknown ({ty})")
        rest = [d for i, d in enumerate(dims) if i != unknown[0]]
        dims[unknown[0]] = divide_product(ty.dims, ShapeExpr(rest).values)
    return ShapeExpr(dims)


def divide_product(dims: Sequence[Expr], by: Sequence[Expr]) -> Expr:
    """prod(dims) / prod(by), cancelling equal dimensions first."""
    top, bottom = list(dims), []
    for factor in by:
        at = next((i for i, d in enumerate(top) if same_dim(d, factor)), None)
        if at is None:
            bottom.append(factor)
        else:
            del top[at]
    return simplify(product(top) // product(bottom))


def _legalize_reshape(builder: Any, call: Call) -> Expr:
    name = str(getattr(call.op, "name", "reshape")).removeprefix("relax.")
    return builder.call_te(
        topi_function("reshape"),
        call.args[0],
        ShapeExpr(call.ty.dims),
        primfunc_name_hint="reshape" if name == "flatten" else name,
    )


@relax_op("reshape", infer=_reshape_type, legalize=_legalize_reshape, pattern=_INJECTIVE)
def reshape(x: Expr, shape: Any) -> OpCall:
    """The elements of x in row-major order under another shape; -1 is inferred, 0 copied."""
    return (x, _resolve_shape(x, shape)), {}


def _flatten_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    return (
        TensorType(dtype=ty.dtype, ndim=1)
        if ty.dims is None
        else TensorType([product(ty.dims)], ty.dtype)
    )


@relax_op("flatten", infer=_flatten_type, legalize=_legalize_reshape, pattern=_INJECTIVE)
def flatten(x: Expr) -> OpCall:
    """x with one dimension."""
    return (x,), {}


def _permute_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    axes = call.attr("axes")
    if ty.ndim == -1:
        return ty if axes is None else TensorType(dtype=ty.dtype, ndim=len(axes))
    order = list(range(ty.ndim))[::-1] if axes is None else normalize_axes(call, axes, ty.ndim)
    if len(order) != ty.ndim:
        fail(call, f"axes {axes} do not permute the {ty.ndim} dimensions of {ty}")
    if ty.dims is None:
        return ty
    return TensorType([ty.dims[i] for i in order], ty.dtype)


@relax_op(
    "permute_dims",
    infer=_permute_type,
    legalize=te_call("transpose", "axes", kernel="transpose"),
    pattern=_INJECTIVE,
)
def permute_dims(x: Expr, axes: Sequence[int] | None = None) -> OpCall:
    """x with its dimensions in the order `axes` (reversed if None)."""
    return (x,), {"axes": None if axes is None else tuple(int(a) for a in axes)}


def _expand_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    axes = call.attrs.axis
    if ty.ndim == -1:
        return TensorType(dtype=ty.dtype)
    rank = ty.ndim + len(axes)
    new = set(normalize_axes(call, axes, rank))
    if ty.dims is None:
        return TensorType(dtype=ty.dtype, ndim=rank)
    rest = iter(ty.dims)
    return TensorType(
        [IntImm("int64", 1) if i in new else next(rest) for i in range(rank)], ty.dtype
    )


@relax_op("expand_dims", infer=_expand_type, legalize=_legalize_reshape, pattern=_INJECTIVE)
def expand_dims(x: Expr, axis: int | Sequence[int]) -> OpCall:
    """x with new dimensions of extent 1 at the given places of the result."""
    return (x,), {"axis": (axis,) if isinstance(axis, int) else tuple(axis)}


def _squeeze_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    axes = call.attr("axis")
    if ty.ndim == -1 or (axes is None and ty.dims is None):
        return TensorType(dtype=ty.dtype)
    if axes is not None:
        drop = set(normalize_axes(call, axes, ty.ndim))
        if ty.dims is not None:  # as in TVM, a dimension known to be larger stays
            drop = {i for i in drop if getattr(ty.dims[i], "value", 1) == 1}
    else:
        drop = {i for i, d in enumerate(ty.dims or ()) if isinstance(d, IntImm) and d.value == 1}
    if ty.dims is None:
        return TensorType(dtype=ty.dtype, ndim=ty.ndim - len(drop))
    return TensorType([d for i, d in enumerate(ty.dims) if i not in drop], ty.dtype)


@relax_op("squeeze", infer=_squeeze_type, legalize=_legalize_reshape, pattern=_INJECTIVE)
def squeeze(x: Expr, axis: int | Sequence[int] | None = None) -> OpCall:
    """x without the given dimensions of extent 1 (all of them if None)."""
    axes = (axis,) if isinstance(axis, int) else None if axis is None else tuple(axis)
    return (x,), {"axis": axes}


def _concat_type(call: Call, types: list[Any]) -> Type:
    parts = tuple_tensors(call, types[0], "tensors")
    if not parts:
        fail(call, "expected at least one tensor")
    dtype = common_dtype(call, parts)
    ranks = {p.ndim for p in parts if p.ndim != -1}
    if len(ranks) > 1:
        fail(call, f"the tensors have different numbers of dimensions: {sorted(ranks)}")
    if not ranks:
        return TensorType(dtype=dtype)
    (rank,) = ranks
    axis = call.attr("axis")
    axis = 0 if axis is None else normalize_axis(call, axis, rank)
    if any(p.dims is None for p in parts):
        return TensorType(dtype=dtype, ndim=rank)
    first = list(parts[0].dims or ())
    total: Any = IntImm("int64", 0)
    for n, part in enumerate(parts):
        for i, (a, b) in enumerate(zip(first, part.dims or (), strict=True)):
            if i != axis and isinstance(a, IntImm) and isinstance(b, IntImm) and a.value != b.value:
                fail(call, f"tensor {n} has extent {b} in dimension {i}, the first one {a}")
        total = total + (part.dims or ())[axis]
    first[axis] = simplify(total)
    return TensorType(first, dtype)


@relax_op("concat", infer=_concat_type,
          legalize=te_call("concatenate", "axis", kernel="concatenate"),
          pattern=_INJECTIVE)  # fmt: skip
def concat(tensors: Any, axis: int | None = 0) -> OpCall:
    """The tensors one after another along `axis`."""
    return (as_relax(tensors),), {"axis": axis}


def _stack_type(call: Call, types: list[Any]) -> Type:
    parts = tuple_tensors(call, types[0], "tensors")
    dtype = common_dtype(call, parts)
    first = parts[0]
    if first.dims is None:
        return TensorType(dtype=dtype, ndim=-1 if first.ndim == -1 else first.ndim + 1)
    axis = normalize_axis(call, call.attrs.axis, first.ndim + 1)
    dims = list(first.dims)
    dims.insert(axis, IntImm("int64", len(parts)))
    return TensorType(dims, dtype)


@relax_op("stack", infer=_stack_type, legalize=te_call("stack", "axis"), pattern=_INJECTIVE)
def stack(tensors: Any, axis: int = 0) -> OpCall:
    """The tensors along a new dimension `axis`."""
    return (as_relax(tensors),), {"axis": int(axis or 0)}


def _sections(extent: Expr, count: int) -> list[Expr]:
    """The extents of `count` sections; the last ones are smaller if they do not divide evenly."""
    if not isinstance(extent, IntImm):
        return [simplify(extent // count)] * count
    size = -(-extent.value // count)
    edges = [builtins.min(size * i, extent.value) for i in range(count + 1)]
    return [IntImm("int64", b - a) for a, b in itertools.pairwise(edges)]


def _split_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    how = call.attrs.indices_or_sections
    count = how if isinstance(how, int) else len(how) + 1
    if ty.dims is None:
        return TupleType([TensorType(dtype=ty.dtype, ndim=ty.ndim)] * count)
    axis = normalize_axis(call, call.attrs.axis, ty.ndim)
    extent = ty.dims[axis]
    parts: list[Expr] = []
    if isinstance(how, int):
        parts = _sections(extent, how)
    else:
        edges = [IntImm("int64", 0), *(IntImm("int64", i) for i in how), extent]
        parts = [simplify(b - a) for a, b in itertools.pairwise(edges)]
    out = []
    for part in parts:
        dims = list(ty.dims)
        dims[axis] = part
        out.append(TensorType(dims, ty.dtype))
    return TupleType(out)


@relax_op("split", infer=_split_type, legalize=te_call("split", "indices_or_sections", "axis"),
          pattern=_INJECTIVE)  # fmt: skip
def split(x: Expr, indices_or_sections: int | Sequence[int], axis: int = 0) -> OpCall:
    """x cut along `axis` into sections, or at the given indices; the result is a tuple."""
    how = indices_or_sections
    return (x,), {
        "indices_or_sections": how if isinstance(how, int) else tuple(int(i) for i in how),
        "axis": int(axis),
    }


def _broadcast_to_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    dims = shape_dims(call, types[1])
    if dims is None:
        return TensorType(dtype=ty.dtype, ndim=types[1].ndim)
    if ty.dims is not None:
        got = broadcast_dims(call, ty.dims, dims)
        if len(ty.dims) > len(dims) or (
            got is not None and not builtins.all(map(same_dim, got, dims))
        ):
            fail(call, f"{ty} cannot be broadcast to ({', '.join(map(str, dims))})")
    return TensorType(dims, ty.dtype)


@relax_op(
    "broadcast_to",
    infer=_broadcast_to_type,
    legalize=te_call("broadcast_to"),
    pattern=OpPatternKind.BROADCAST,
)
def broadcast_to(x: Expr, shape: Any) -> OpCall:
    """x repeated along dimensions of extent 1 until it has the given shape."""
    return (x, as_shape(shape)), {}


def _repeat_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    axis, times = call.attr("axis"), call.attrs.repeats
    if ty.dims is None:
        return TensorType(dtype=ty.dtype, ndim=1 if axis is None else ty.ndim)
    if axis is None:
        return TensorType([simplify(product(ty.dims) * times)], ty.dtype)
    dims = list(ty.dims)
    axis = normalize_axis(call, axis, ty.ndim)
    dims[axis] = simplify(dims[axis] * times)
    return TensorType(dims, ty.dtype)


@relax_op("repeat", infer=_repeat_type, legalize=te_call("repeat", "repeats", "axis"),
          pattern=_INJECTIVE)  # fmt: skip
def repeat(data: Expr, repeats: int, axis: int | None = None) -> OpCall:
    """Every element `repeats` times along `axis` (of the flattened tensor if None)."""
    return (data,), {"repeats": int(repeats), "axis": axis}


def _tile_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    times = call.attrs.repeats
    if ty.dims is None:
        return TensorType(dtype=ty.dtype, ndim=-1 if ty.ndim == -1 else max_(ty.ndim, len(times)))
    rank = max_(ty.ndim, len(times))
    dims = [IntImm("int64", 1)] * (rank - ty.ndim) + list(ty.dims)
    factors = [1] * (rank - len(times)) + list(times)
    return TensorType([simplify(d * f) for d, f in zip(dims, factors, strict=True)], ty.dtype)


max_ = builtins.max


def _legalize_tile(builder: Any, call: Call) -> Expr:
    times = list(call.attrs.repeats)
    return builder.call_te(topi_function("tile"), call.args[0], times, primfunc_name_hint="tile")


@relax_op("tile", infer=_tile_type, legalize=_legalize_tile, pattern=_INJECTIVE)
def tile(data: Expr, repeats: int | Sequence[int]) -> OpCall:
    """The whole tensor repeated along each dimension."""
    return (data,), {"repeats": (repeats,) if isinstance(repeats, int) else tuple(repeats)}


def _flip_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "data")
    if ty.ndim != -1:
        normalize_axis(call, call.attrs.axis, ty.ndim)
    return ty


@relax_op("flip", infer=_flip_type, legalize=te_call("flip", "axis"), pattern=_INJECTIVE)
def flip(data: Expr, axis: int) -> OpCall:
    """The elements in reverse order along `axis`."""
    return (data,), {"axis": int(axis)}


def _gather_elements_type(call: Call, types: list[Any]) -> Type:
    data, indices = tensors(call, types, "data", "indices")
    if data.ndim != -1:
        normalize_axis(call, call.attrs.axis, data.ndim)
    return indices.replace(dtype=data.dtype)


@relax_op("gather_elements", infer=_gather_elements_type,
          legalize=te_call("gather_elements", "axis", kernel="gather"),
          pattern=_INJECTIVE)  # fmt: skip
def gather_elements(data: Expr, indices: Expr, axis: int = 0) -> OpCall:
    """out[i, j, …] = data[i, …, indices[i, j, …], …] with the index in dimension `axis`."""
    return (data, indices), {"axis": int(axis)}


def _gather_nd_type(call: Call, types: list[Any]) -> Type:
    data, indices = tensors(call, types, "data", "indices")
    batch = call.attrs.batch_dims
    if data.dims is None or indices.dims is None or not isinstance(indices.dims[-1], IntImm):
        return TensorType(dtype=data.dtype)
    depth = indices.dims[-1].value
    if batch + depth > data.ndim:
        fail(call, f"the indices address {depth} dimensions after {batch}, data is {data}")
    return TensorType([*indices.dims[:-1], *data.dims[batch + depth :]], data.dtype)


@relax_op("gather_nd", infer=_gather_nd_type,
          legalize=te_call("gather_nd", "batch_dims", kernel="te_gather_nd"),
          pattern=_INJECTIVE)  # fmt: skip
def gather_nd(data: Expr, indices: Expr, batch_dims: int = 0) -> OpCall:
    """Slices of data at the index vectors in the last dimension of `indices`."""
    return (data, indices), {"batch_dims": int(batch_dims)}


def _one_hot_type(call: Call, types: list[Any]) -> Type:
    indices, on, _ = tensors(call, types, "indices", "on_value", "off_value")
    depth, axis = call.attrs.depth, call.attrs.axis
    if indices.dims is None:
        return TensorType(dtype=on.dtype, ndim=-1 if indices.ndim == -1 else indices.ndim + 1)
    at = normalize_axis(call, axis, indices.ndim + 1)
    dims = list(indices.dims)
    dims.insert(at, IntImm("int64", depth))
    return TensorType(dims, on.dtype)


@relax_op("one_hot", infer=_one_hot_type, pattern=_INJECTIVE,
          legalize=te_call("one_hot_of", "depth", "axis"))  # fmt: skip
def one_hot(indices: Expr, on_value: Any, off_value: Any, depth: int, axis: int = -1) -> OpCall:
    """`on_value` where the new dimension `axis` equals the index, `off_value` elsewhere."""
    on = as_relax(on_value)
    return (indices, on, as_relax(off_value, on)), {"depth": int(depth), "axis": int(axis)}


__all__ = [
    "ShapeType",
    "broadcast_to",
    "concat",
    "divide_product",
    "expand_dims",
    "flatten",
    "flip",
    "gather_elements",
    "gather_nd",
    "one_hot",
    "permute_dims",
    "product",
    "repeat",
    "reshape",
    "split",
    "squeeze",
    "stack",
    "tile",
]
