"""Matrix products: general, dense layers, batches."""

from __future__ import annotations

from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.topi.broadcast import broadcast_indices, broadcast_shape
from workbench.topi.dims import const_int, require_tensor


def _check_inner(a: Any, b: Any, what: str) -> None:
    x, y = const_int(a), const_int(b)
    if x is not None and y is not None and x != y:
        raise WorkbenchError(f"{what}: the inner dimensions differ, {x} and {y}")


def _suffix(transpose_a: bool, transpose_b: bool) -> str:
    return f"{'T' if transpose_a else 'N'}{'T' if transpose_b else 'N'}"


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Tensor:
    """The matrix product of the last two dimensions; the others are broadcast, as in NumPy.

    A one-dimensional operand is a row (left) or a column (right) that vanishes from the result.
    `bias` is added to the last dimension. Products are added in `out_dtype` (that of the data if
    left out).
    """
    a, b = require_tensor(tensor_a, "matmul"), require_tensor(tensor_b, "matmul")
    if a.ndim == 0 or b.ndim == 0:
        raise WorkbenchError(f"matmul: the operands need dimensions, got {a} and {b}")
    row, column = a.ndim == 1, b.ndim == 1
    a_inner: Any = a.shape[-2] if transpose_a and not row else a.shape[-1]
    b_inner: Any = b.shape[-1] if column or transpose_b else b.shape[-2]
    _check_inner(a_inner, b_inner, "matmul")
    size = a_inner if const_int(a_inner) is not None else b_inner
    k = te.reduce_axis((IntImm(size.dtype, 0), size), "k")
    lead_a, lead_b = list(a.shape[:-2]), list(b.shape[:-2])
    lead = broadcast_shape(lead_a, lead_b)
    shape = list(lead)
    if not row:
        shape.append(a.shape[-1] if transpose_a else a.shape[-2])
    if not column:
        shape.append(b.shape[-2] if transpose_b else b.shape[-1])
    kind = out_dtype or a.dtype

    def element(*i: Any) -> Expr:
        outer = i[: len(lead)]
        at_a = broadcast_indices(lead_a, lead, outer) if not row else []
        at_b = broadcast_indices(lead_b, lead, outer) if not column else []
        m = [] if row else [i[len(lead)]]
        n = [] if column else [i[-1]]
        x = a(*at_a, k.var, *m) if transpose_a and not row else a(*at_a, *m, k.var)
        y = b(*at_b, *n, k.var) if transpose_b and not column else b(*at_b, k.var, *n)
        return te.sum(tir.cast(kind, x) * tir.cast(kind, y), axis=k)

    plain = not (transpose_a or transpose_b)
    name = "matmul" if plain else f"T_matmul_{_suffix(transpose_a, transpose_b)}"
    out = te.compute(
        shape, element, name=name, tag="matmul", varargs_names=[f"i{n}" for n in range(len(shape))]
    )
    return out if bias is None else add_bias(out, bias)


def add_bias(data: Tensor, bias: Tensor) -> Tensor:
    """The data plus a vector along its last dimension."""
    return te.compute(
        data.shape,
        lambda *i: data(*i) + tir.cast(data.dtype, bias(i[-1])),
        name="T_add",
        tag="broadcast",
        varargs_names=[f"ax{n}" for n in range(data.ndim)],
    )


def dense(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None
) -> Tensor:
    """data · weightᵀ + bias, with weight (out, in)."""
    return matmul(data, weight, bias, out_dtype, False, True)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Any = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Tensor:
    """The matrix products of a batch; the right operand is transposed by default, as in TVM."""
    for t in (tensor_a, tensor_b):
        if t.ndim != 3:
            raise WorkbenchError(f"batch_matmul: expected three dimensions, got {t}")
    return matmul(tensor_a, tensor_b, None, out_dtype, transpose_a, transpose_b)


def outer(a: Tensor, b: Tensor) -> Tensor:
    """The outer product of two vectors."""
    return te.compute(
        (a.shape[0], b.shape[0]), lambda i, j: a(i) * b(j), name="T_outer", tag="broadcast"
    )
