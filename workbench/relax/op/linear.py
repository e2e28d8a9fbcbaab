"""Matrix products."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import Type
from workbench.relax.op.binary import add
from workbench.relax.op.infer import broadcast_dims, common_dtype, fail, te_call, tensors
from workbench.relax.op.manipulate import permute_dims
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import TensorType


def _matmul_type(call: Call, types: list[Any]) -> Type:
    a, b = tensors(call, types, "x1", "x2")
    dtype = call.attr("out_dtype") or common_dtype(call, [a, b])
    if a.ndim == 0 or b.ndim == 0:
        fail(call, f"the operands need at least one dimension, got {a} and {b}")
    if a.ndim == -1 or b.ndim == -1:
        return TensorType(dtype=dtype)
    rank = max(a.ndim, b.ndim, 2) - (a.ndim == 1) - (b.ndim == 1)
    if a.dims is None or b.dims is None:
        return TensorType(dtype=dtype, ndim=rank)
    left = list(a.dims) if a.ndim > 1 else [IntImm("int64", 1), *a.dims]
    right = list(b.dims) if b.ndim > 1 else [*b.dims, IntImm("int64", 1)]
    inner, other = left[-1], right[-2]
    if isinstance(inner, IntImm) and isinstance(other, IntImm) and inner.value != other.value:
        fail(call, f"the inner dimensions differ: {inner} of {a} and {other} of {b}")
    batch = broadcast_dims(call, left[:-2], right[:-2])
    if batch is None:
        return TensorType(dtype=dtype, ndim=rank)
    out = [*batch]
    if a.ndim > 1:
        out.append(left[-2])
    if b.ndim > 1:
        out.append(right[-1])
    return TensorType(out, dtype)


@relax_op("matmul", infer=_matmul_type, legalize=te_call("matmul", "out_dtype"),
          pattern=OpPatternKind.OUT_ELEMWISE_FUSABLE)  # fmt: skip
def matmul(x1: Expr, x2: Expr, out_dtype: str | None = None) -> OpCall:
    """The matrix product with NumPy's batch broadcasting; accumulates in `out_dtype`."""
    return (x1, x2), {"out_dtype": str(out_dtype) if out_dtype else None}


def linear(data: Expr, weight: Expr, bias: Expr | None = None, out_dtype: Any = None) -> Expr:
    """data @ weight^T (+ bias)."""
    product = matmul(data, permute_dims(weight), out_dtype)
    return product if bias is None else add(product, bias)


def _outer_type(call: Call, types: list[Any]) -> Type:
    a, b = tensors(call, types, "x1", "x2")
    dtype = common_dtype(call, [a, b])
    for ty in (a, b):
        if ty.ndim not in (-1, 1):
            fail(call, f"expected vectors, got {ty}")
    if a.dims is None or b.dims is None:
        return TensorType(dtype=dtype, ndim=2)
    return TensorType([a.dims[0], b.dims[0]], dtype)


@relax_op("outer", infer=_outer_type, legalize=te_call("outer"), pattern=OpPatternKind.BROADCAST)
def outer(x1: Expr, x2: Expr) -> OpCall:
    """The outer product of two vectors."""
    return (x1, x2), {}


__all__ = ["linear", "matmul", "outer"]
