"""Sorting and searching along one axis.

An element's place is the number of elements before it, so sorting n elements takes n * n
comparisons in plain loops, every element independently of the others. The order is stable, and NaN
is larger than every number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm, Var
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.tirx.buffer import decl_buffer
from workbench.tirx.expr import BufferLoad, Select
from workbench.tirx.stmt import BufferStore, For, ForKind, IfThenElse, SeqStmt, Stmt
from workbench.topi.dims import const_int, normalize_axis, require_int
from workbench.topi.indexing import loops


def _before(dtype: str, descending: bool) -> Callable[[Expr, Expr, Expr], Expr]:
    """`(a, b, tie) → whether b goes before a`; `tie` decides between equal ones."""
    floating = "float" in dtype

    def less(a: Any, b: Any) -> Expr:
        if not floating:
            return a < b
        return tir.any(a < b, tir.all(tir.isnan(b), tir.logical_not(tir.isnan(a))))

    def before(a: Any, b: Any, tie: Any) -> Expr:
        first, second = (less(a, b), less(b, a)) if descending else (less(b, a), less(a, b))
        return tir.any(first, tir.all(tir.logical_not(second), tie))

    return before


def _ranked(
    data: Tensor, axis: int, descending: bool, name: str, outputs: Sequence[str], keep: Any
) -> list[Tensor]:
    """The elements at their places, for the first `keep` places.

    outputs : "values" and dtypes for indices, one per result.
    """
    at = normalize_axis(axis, data.ndim, name)
    size: Any = data.shape[at]
    before = _before(data.dtype, descending)
    shape = [keep if k == at else d for k, d in enumerate(data.shape)]
    kinds = [data.dtype if o == "values" else o for o in outputs]
    rank = decl_buffer(data.shape, "int32", f"{name}_rank")

    def body(ins: Sequence[Var], outs: Sequence[Var]) -> Stmt:
        source, place_of, results = ins[0], outs[0], outs[1:]

        def count(i: list[Any]) -> Stmt:
            j = Var("j", size.dtype)
            other = [j if k == at else v for k, v in enumerate(i)]
            goes = before(BufferLoad(source, i), BufferLoad(source, other), j < i[at])
            here = BufferLoad(place_of, i)
            add = BufferStore(place_of, Select(goes, here + 1, here), i)
            zero = IntImm(size.dtype, 0)
            run = For(j, zero, size, ForKind.SERIAL, add)
            return SeqStmt([BufferStore(place_of, IntImm("int32", 0), i), run])

        def put(i: list[Any]) -> Stmt:
            place = tir.cast(i[at].dtype, BufferLoad(place_of, i))
            target = [place if k == at else v for k, v in enumerate(i)]
            stores: list[Stmt] = []
            for out, kind in zip(results, outputs, strict=True):
                value = BufferLoad(source, i) if kind == "values" else tir.cast(kind, i[at])
                stores.append(BufferStore(out, value, target))
            stmt = stores[0] if len(stores) == 1 else SeqStmt(stores)
            return stmt if keep is size else IfThenElse(place < keep, stmt)

        return SeqStmt([loops(data.shape, count), loops(data.shape, put, "p")])

    outs = [rank, *(decl_buffer(shape, k, f"{name}_{n}") for n, k in enumerate(kinds))]
    made = te.extern(
        [list(b.ty.shape) for b in outs],
        [data],
        body,
        name=name,
        dtype=["int32", *kinds],
        out_buffers=outs,
    )
    return list(made[1:])


def argsort(
    data: Tensor,
    valid_count: Tensor | None = None,
    axis: int = -1,
    is_ascend: bool = True,
    dtype: str = "float32",
) -> Tensor:
    """The positions of the elements in sorted order."""
    if valid_count is not None:
        raise WorkbenchError("argsort: valid_count is not supported; slice the data first")
    at = normalize_axis(axis, data.ndim, "argsort")
    return _ranked(data, at, not is_ascend, "argsort", [dtype], data.shape[at])[0]


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """The elements in sorted order."""
    at = normalize_axis(axis, data.ndim, "sort")
    return _ranked(data, at, not is_ascend, "sort", ["values"], data.shape[at])[0]


def topk(
    data: Tensor,
    k: Any = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int64",
) -> Any:
    """The first k elements in sorted order (all if k < 1): values, indices or both."""
    if ret_type not in ("both", "values", "indices"):
        raise WorkbenchError(f"topk: ret_type is both, values or indices, got {ret_type!r}")
    at = normalize_axis(axis, data.ndim, "topk")
    size: Any = data.shape[at]
    number, total = require_int(k, "topk: k"), const_int(size)
    if total is not None and number > total:
        raise WorkbenchError(f"topk: k is {number}, but there are {total} elements")
    keep = size if number < 1 else IntImm(size.dtype, number)
    outputs = {"both": ["values", dtype], "values": ["values"], "indices": [dtype]}[ret_type]
    made = _ranked(data, at, not is_ascend, "topk", outputs, keep)
    return made if ret_type == "both" else made[0]


def searchsorted(
    sorted_sequence: Tensor, values: Tensor, right: bool = False, out_dtype: str = "int64"
) -> Tensor:
    """Where to insert values into a sorted sequence: how many elements are smaller.

    right : equal elements count as well. With more than one dimension, the sequences are those of
        the last dimension, for the same leading dimensions of `values`.
    """
    size: Any = sorted_sequence.shape[-1]
    k = te.reduce_axis((IntImm(size.dtype, 0), size), "k")

    def element(*i: Any) -> Expr:
        lead = () if sorted_sequence.ndim == 1 else i[:-1]
        here, value = sorted_sequence(*lead, k), values(*i)
        counts = here <= value if right else here < value
        return te.sum(tir.cast(out_dtype, counts), axis=k)

    return te.compute(values.shape, element, name="searchsorted")


__all__ = ["argsort", "searchsorted", "sort", "topk"]
