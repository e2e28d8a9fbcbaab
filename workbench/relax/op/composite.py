"""Operators made of others: grids, sums to a shape, fused multiply-add, quantisation, einsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import TupleType, Type
from workbench.relax.expr import ShapeExpr, Tuple, const, prim_value
from workbench.relax.op.binary import add, multiply
from workbench.relax.op.create import as_shape, full_like
from workbench.relax.op.index import where
from workbench.relax.op.infer import (
    broadcast_dims,
    common_dtype,
    fail,
    normalize_axis,
    shape_dims,
    tensor_type,
    tensors,
    topi_function,
    tuple_tensors,
)
from workbench.relax.op.manipulate import product
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import TensorType

_OPAQUE = OpPatternKind.OPAQUE


def _einsum_type(call: Call, types: list[Any]) -> Type:
    parts = tuple_tensors(call, types[0], "operands")
    dtype = common_dtype(call, parts)
    parse_subscripts = topi_function("einsum.parse_subscripts")
    letter_extents = topi_function("einsum.letter_extents")
    try:
        letters, out = parse_subscripts(call.attrs.subscripts, [p.ndim for p in parts])
        if any(p.dims is None for p in parts):
            return TensorType(dtype=dtype, ndim=len(out))
        extents = letter_extents(letters, [p.dims or () for p in parts])
    except WorkbenchError as error:
        fail(call, error.message)
    return TensorType([extents[c] for c in out], dtype)


def _legalize_einsum(builder: Any, call: Call) -> Expr:
    return builder.call_te(
        topi_function("einsum"), call.attrs.subscripts, call.args[0], primfunc_name_hint="einsum"
    )


@relax_op("einsum", infer=_einsum_type, legalize=_legalize_einsum)
def einsum(operands: Any, subscripts: str) -> OpCall:
    """Einstein summation: `einsum((a, b), "ij,jk->ik")`."""
    parts = Tuple(operands) if isinstance(operands, (list, tuple)) else operands
    return (parts,), {"subscripts": str(subscripts)}


def _fma_type(call: Call, types: list[Any]) -> Type:
    a, b, c = tensors(call, types, "x1", "x2", "x3")
    common_dtype(call, [a, b, c])
    return a


def _legalize_fma(builder: Any, call: Call) -> Expr:
    x1, x2, x3 = call.args
    return add(builder.emit(multiply(x1, x2)), x3)


@relax_op("ewise_fma", infer=_fma_type, pattern=OpPatternKind.ELEMWISE, legalize=_legalize_fma)
def ewise_fma(x1: Expr, x2: Expr, x3: Expr) -> OpCall:
    """x1 * x2 + x3, element by element."""
    return (x1, x2, x3), {}


def _check_collapse(call: Call, data: TensorType, target: Sequence[Expr]) -> None:
    if data.dims is not None:
        got = broadcast_dims(call, data.dims, target)
        if got is not None and len(got) != len(data.dims):
            fail(call, f"{data} cannot be summed to ({', '.join(map(str, target))})")


def _collapse_to_type(call: Call, types: list[Any]) -> Type:
    data = tensor_type(call, types[0], "data")
    dims = shape_dims(call, types[1])
    if dims is None:
        return TensorType(dtype=data.dtype, ndim=types[1].ndim)
    _check_collapse(call, data, dims)
    return TensorType(dims, data.dtype)


def _collapse_like_type(call: Call, types: list[Any]) -> Type:
    data, target = tensors(call, types, "data", "collapse_target")
    if target.dims is None:
        return TensorType(dtype=data.dtype, ndim=target.ndim)
    _check_collapse(call, data, target.dims)
    return TensorType(target.dims, data.dtype)


def _legalize_collapse(builder: Any, call: Call) -> Expr:
    dims = list(call.ty.dims)
    return builder.call_te(
        topi_function("collapse_sum"), call.args[0], dims, primfunc_name_hint="collapse_sum"
    )


@relax_op("collapse_sum_to", infer=_collapse_to_type, legalize=_legalize_collapse,
          pattern=OpPatternKind.COMM_REDUCE)  # fmt: skip
def collapse_sum_to(data: Expr, shape: Any) -> OpCall:
    """The sum over the dimensions that broadcasting from `shape` would repeat."""
    return (data, as_shape(shape)), {}


@relax_op("collapse_sum_like", infer=_collapse_like_type, legalize=_legalize_collapse,
          pattern=OpPatternKind.COMM_REDUCE)  # fmt: skip
def collapse_sum_like(data: Expr, collapse_target: Expr) -> OpCall:
    """`collapse_sum_to` the shape of another tensor."""
    return (data, collapse_target), {}


def _meshgrid_type(call: Call, types: list[Any]) -> Type:
    parts = tuple_tensors(call, types[0], "tensors")
    dtype = common_dtype(call, parts)
    sizes: list[Any] = []
    for part in parts:
        if part.ndim not in (-1, 0, 1):
            fail(call, f"tensors: expected vectors, got {part}")
        sizes.append(IntImm("int64", 1) if part.ndim == 0 else part.dims and part.dims[0])
    if any(s is None for s in sizes):
        return TupleType([TensorType(dtype=dtype, ndim=len(parts))] * len(parts))
    if call.attrs.indexing == "xy" and len(sizes) > 1:
        sizes[0], sizes[1] = sizes[1], sizes[0]
    return TupleType([TensorType(sizes, dtype)] * len(parts))


def _legalize_meshgrid(builder: Any, call: Call) -> Expr:
    return builder.call_te(
        topi_function("meshgrid"),
        call.args[0],
        indexing=call.attrs.indexing,
        primfunc_name_hint="meshgrid",
    )


@relax_op("meshgrid", infer=_meshgrid_type, legalize=_legalize_meshgrid)
def meshgrid(tensors: Any, indexing: str | None = "ij") -> OpCall:
    """Coordinate grids of vectors; "xy" swaps the first two dimensions."""
    if indexing not in ("ij", "xy"):
        raise ValueError(f"meshgrid: indexing is ij or xy, got {indexing!r}")
    parts = Tuple(tensors) if isinstance(tensors, (list, tuple)) else tensors
    return (parts,), {"indexing": indexing}


def masked_fill(x: Expr, mask: Expr, value: Any) -> Call:
    """x, but `value` where the mask holds."""
    filler = value if isinstance(value, Expr) else const(value, str(x.ty.dtype))
    return where(mask, full_like(x, filler), x)


def _eye_extent(value: Expr) -> Expr:
    return IntImm("int64", value.value) if isinstance(value, IntImm) else value


def _legalize_eye(builder: Any, call: Call) -> Expr:
    n, m = call.ty.dims
    return builder.call_te(
        topi_function("eye"),
        n,
        m,
        call.args[-1],
        str(call.ty.dtype),
        primfunc_name_hint=str(getattr(call.op, "name", "eye")).removeprefix("relax."),
    )


@relax_op("eye", legalize=_legalize_eye, pattern=OpPatternKind.INJECTIVE,
          infer=lambda c, t: TensorType([_eye_extent(c.args[0]), _eye_extent(c.args[1])],
                                        c.attrs.dtype))  # fmt: skip
def eye(n: Any, m: Any = None, k: Any = 0, dtype: str = "float32") -> OpCall:
    """Ones on diagonal `k` of an n by m matrix (m = n if None), zeros elsewhere."""
    rows = prim_value(n)
    columns = rows if m is None else prim_value(m)
    return (rows, columns, prim_value(k)), {"dtype": str(dtype)}


def _eye_like_type(call: Call, types: list[Any]) -> Type:
    ty = tensor_type(call, types[0], "x")
    if ty.ndim not in (-1, 2):
        fail(call, f"x: expected a matrix, got {ty}")
    return ty.replace(dtype=call.attr("dtype") or ty.dtype)


@relax_op("eye_like", infer=_eye_like_type, legalize=_legalize_eye,
          pattern=OpPatternKind.INJECTIVE)  # fmt: skip
def eye_like(x: Expr, k: Any = 0, dtype: str | None = None) -> OpCall:
    """`eye` with the shape (and dtype, if None) of a matrix."""
    return (x, prim_value(k)), {"dtype": dtype}


def _hamming_type(call: Call, types: list[Any]) -> Type:
    size = call.args[0]
    if isinstance(size, IntImm) and size.value < 0:
        fail(call, f"window_size is {size.value}, expected a size")
    if "float" not in call.attrs.dtype:
        fail(call, f"expected a floating-point dtype, got {call.attrs.dtype}")
    return TensorType([_eye_extent(size)], call.attrs.dtype)


def _legalize_hamming(builder: Any, call: Call) -> Expr:
    _, periodic, alpha, beta = (getattr(a, "value", a) for a in call.args)
    return builder.call_te(
        topi_function("hamming_window"),
        call.ty.dims[0],
        bool(periodic),
        float(alpha),  # type: ignore[arg-type]
        float(beta),  # type: ignore[arg-type]
        str(call.ty.dtype),
        primfunc_name_hint="hamming_window",
    )


@relax_op("hamming_window", infer=_hamming_type, legalize=_legalize_hamming,
          pattern=OpPatternKind.INJECTIVE)  # fmt: skip
def hamming_window(window_size: Any, periodic: Any, alpha: Any, beta: Any, dtype: str) -> OpCall:
    """alpha - beta * cos(2 pi k / n), where n is the size (less 1 unless `periodic`)."""
    return tuple(map(prim_value, (window_size, periodic, alpha, beta))), {"dtype": str(dtype)}


def _quantized_type(call: Call, types: list[Any]) -> Type:
    data, scale, zero = tensors(call, types, "data", "scale", "zero_point")
    if data.ndim != -1:
        normalize_axis(call, call.attrs.axis, data.ndim)
    for what, ty in (("scale", scale), ("zero_point", zero)):
        if ty.ndim not in (-1, 0, 1):
            fail(call, f"{what}: expected one value, or one per channel, got {ty}")
    return data.replace(dtype=call.attrs.out_dtype)


def _legalize_qdq(name: str) -> Any:
    def legalize(builder: Any, call: Call) -> Expr:
        return builder.call_te(
            topi_function(f"nn.{name}"),
            *call.args,
            axis=call.attrs.axis,
            out_dtype=call.attrs.out_dtype,
            primfunc_name_hint=name,
        )

    return legalize


@relax_op("quantize", infer=_quantized_type, legalize=_legalize_qdq("quantize"),
          pattern=OpPatternKind.BROADCAST)  # fmt: skip
def quantize(
    data: Expr, scale: Expr, zero_point: Expr, axis: int = -1, out_dtype: str = "int8"
) -> OpCall:
    """round(data / scale) + zero_point, limited to the range of `out_dtype`.

    Scale and zero point are scalars, or vectors along `axis`.
    """
    return (data, scale, zero_point), {"out_dtype": str(out_dtype), "axis": int(axis)}


@relax_op("dequantize", infer=_quantized_type, legalize=_legalize_qdq("dequantize"),
          pattern=OpPatternKind.BROADCAST)  # fmt: skip
def dequantize(
    data: Expr, scale: Expr, zero_point: Expr, axis: int = -1, out_dtype: str = "float32"
) -> OpCall:
    """(data - zero_point) * scale."""
    return (data, scale, zero_point), {"out_dtype": str(out_dtype), "axis": int(axis)}


def _size_type(call: Call, types: list[Any]) -> Type:
    tensor_type(call, types[0], "expr")
    return TensorType((), "int64")


def _legalize_size(builder: Any, call: Call) -> Expr:
    total = product(call.args[0].ty.dims)
    return builder.call_te(
        topi_function("full_of"), ShapeExpr(()), "int64", total, primfunc_name_hint="size"
    )


@relax_op("size", infer=_size_type, legalize=_legalize_size, pattern=_OPAQUE)
def size(expr: Expr) -> OpCall:
    """The number of elements, as an int64 tensor without dimensions."""
    return (expr,), {}


__all__ = [
    "collapse_sum_like",
    "collapse_sum_to",
    "dequantize",
    "einsum",
    "ewise_fma",
    "eye",
    "eye_like",
    "hamming_window",
    "masked_fill",
    "meshgrid",
    "quantize",
    "size",
]
