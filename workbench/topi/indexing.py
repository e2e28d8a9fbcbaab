"""Functions that read or write at computed indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm, Var
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.tirx.buffer import decl_buffer
from workbench.tirx.expr import BufferLoad, Select
from workbench.tirx.stmt import BufferStore, For, ForKind, SeqStmt, Stmt
from workbench.topi.broadcast import broadcast_indices, broadcast_shape
from workbench.topi.dims import normalize_axis, require_int, require_tensor
from workbench.topi.transform import INJECTIVE, flatten, injective


def _in_range(index: Any, size: Any, mode: str) -> Any:
    """An index made valid: "fast" trusts it, "clip" limits it, "wrap" counts modulo the size."""
    if mode in ("fast", "nan"):
        return index
    if mode == "clip":
        return tir.maximum(tir.minimum(index, size - 1), 0)
    if mode == "wrap":
        return tir.floormod(index, size)
    raise WorkbenchError(f"take: mode is fast, clip, wrap or nan, got {mode!r}")


def _nan_outside(value: Expr, index: Any, size: Any, mode: str) -> Expr:
    if mode != "nan":
        return value
    nan = tir.const(float("nan"), value.dtype)
    inside = tir.logical_and(index >= 0, tir.less(index, size))
    return tir.if_then_else(inside, value, nan)


def take(
    a: Tensor, indices: Tensor, axis: int | None = None, batch_dims: int = 0, mode: str = "fast"
) -> Tensor:
    """Elements of `a` at `indices` along `axis` (of the flattened tensor if None).

    The first `batch_dims` dimensions of both are taken together. mode : what happens to indices out
    of range, "fast" (not allowed), "clip", "wrap" or "nan".
    """
    if isinstance(indices, Expr):
        return take_scalar(a, indices, axis)
    require_tensor(indices, "take")
    if axis is None:
        a, axis = flatten(a), 0
    at = normalize_axis(axis, a.ndim, "take")
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    rest = indices.shape[batch:]
    shape = [*a.shape[:at], *rest, *a.shape[at + 1 :]]

    def element(*i: Any) -> Expr:
        index = indices(*i[:batch], *i[at : at + len(rest)])
        index = _in_range(index, a.shape[at], mode)
        value = a(*i[:at], index, *i[at + len(rest) :])
        return _nan_outside(value, index, a.shape[at], mode)

    return injective(shape, element, "T_take")


def take_scalar(a: Tensor, index: Expr, axis: int | None = None) -> Tensor:
    """The slice of `a` at one index along `axis`."""
    if axis is None:
        a, axis = flatten(a), 0
    at = normalize_axis(axis, a.ndim, "take")
    shape = [*a.shape[:at], *a.shape[at + 1 :]]
    return injective(shape, lambda *i: a(*i[:at], index, *i[at:]), "T_take")


def _from_end(index: Any, size: Any) -> Any:
    """Negative indices count from the end."""
    return Select(index < 0, index + tir.cast(index.dtype, size), index)


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """out[i, j, …] = data[i, …, indices[i, j, …], …] with the index in dimension `axis`."""
    at = normalize_axis(axis, data.ndim, "gather")
    if indices.ndim != data.ndim:
        raise WorkbenchError(
            f"gather: indices have {indices.ndim} dimensions, the data {data.ndim}"
        )

    def element(*i: Any) -> Expr:
        index = _from_end(indices(*i), data.shape[at])
        return data(*i[:at], index, *i[at + 1 :])

    return injective(indices.shape, element, "T_gather")


def gather_elements(data: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    """`gather` with the arguments in ONNX's order."""
    return gather(data, axis, indices)


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """Slices of `a` at the index vectors in the last dimension of `indices`."""
    depth = require_int(indices.shape[-1], "gather_nd: the last dimension of indices")
    if batch_dims + depth > a.ndim:
        raise WorkbenchError(
            f"gather_nd: {depth} indices after {batch_dims} batch dimensions for {a}"
        )
    lead = indices.shape[:-1]
    shape = [*lead, *a.shape[batch_dims + depth :]]

    def element(*i: Any) -> Expr:
        at = i[: len(lead)]
        picked = [_from_end(indices(*at, k), a.shape[batch_dims + k]) for k in range(depth)]
        return a(*i[:batch_dims], *picked, *i[len(lead) :])

    return injective(shape, element, "T_gather_nd")


def one_hot(
    indices: Tensor, on_value: Any, off_value: Any, depth: int, axis: int, dtype: str
) -> Tensor:
    """`on_value` where the position along the new dimension `axis` is the index, else off."""
    at = normalize_axis(axis, indices.ndim + 1, "one_hot")
    like = indices.shape[0].dtype if indices.shape else "int32"
    shape = [*indices.shape[:at], IntImm(like, depth), *indices.shape[at:]]

    def scalar(value: Any) -> Expr:
        if isinstance(value, Tensor):
            return tir.cast(dtype, value())
        return tir.cast(dtype, value) if isinstance(value, Expr) else tir.const(value, dtype)

    def element(*i: Any) -> Expr:
        hot = tir.equal(indices(*i[:at], *i[at + 1 :]), tir.cast(indices.dtype, i[at]))
        return Select(hot, scalar(on_value), scalar(off_value))

    return injective(shape, element, "T_one_hot")


def one_hot_of(
    indices: Tensor, on_value: Any, off_value: Any, depth: int, axis: int = -1
) -> Tensor:
    """`one_hot` in the data type of `on_value`."""
    return one_hot(indices, on_value, off_value, depth, axis, str(on_value.dtype))


def full_of(shape: Sequence[Any], dtype: str, value: Any) -> Tensor:
    """A tensor of one scalar, given as a tensor without dimensions or as an expression."""

    def scalar() -> Expr:
        return value() if isinstance(value, Tensor) else value

    return te.compute(shape, lambda *i: tir.cast(dtype, scalar()), name="T_full", tag=INJECTIVE)


# ---------------------------------------------------------------------------------------------
# Scatter and scan: loops in a fixed order, as external blocks


def loops(shape: Sequence[Any], body: Any, names: str = "i") -> Stmt:
    """Serial loops over a shape around `body(indices)`."""
    variables = [Var(f"{names}{k}", d.dtype) for k, d in enumerate(shape)]
    out: Stmt = body(variables)
    for var, extent in zip(reversed(variables), reversed(list(shape)), strict=True):
        out = For(var, IntImm(extent.dtype, 0), extent, ForKind.SERIAL, out)
    return out


_UPDATES: dict[str, Any] = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": tir.minimum,
    "max": tir.maximum,
}


def _update(mode: str, what: str) -> Any:
    if mode not in _UPDATES:
        raise WorkbenchError(f"{what}: reduction is one of {', '.join(_UPDATES)}, got {mode!r}")
    return _UPDATES[mode]


def _extern_like(data: Tensor, inputs: list[Tensor], body: Any, name: str) -> Tensor:
    out = decl_buffer(data.shape, data.dtype, f"{name}_out")
    return te.extern(
        [data.shape],
        inputs,
        lambda ins, outs: body(ins, outs[0]),
        name=name,
        dtype=data.dtype,
        out_buffers=[out],
    )


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """A copy of `data` with out[i, …, indices[i, j, …], …] updated by updates[i, j, …]."""
    at = normalize_axis(axis, data.ndim, "scatter_elements")
    combine = _update(reduction, "scatter_elements")

    def body(ins: Sequence[Var], out: Var) -> Stmt:
        source, where, new = ins

        def one(i: list[Any]) -> Stmt:
            index = tir.cast(i[at].dtype, _from_end(BufferLoad(where, i), data.shape[at]))
            place = [*i[:at], index, *i[at + 1 :]]
            value = combine(BufferLoad(out, place), BufferLoad(new, i))
            return BufferStore(out, value, place)

        copy = loops(data.shape, lambda i: BufferStore(out, BufferLoad(source, i), i))
        return SeqStmt([copy, loops(indices.shape, one, "j")])

    return _extern_like(data, [data, indices, updates], body, "scatter_elements")


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """A copy of `data` with the slices at index vectors updated.

    The first dimension of `indices` holds the components of the index vectors, as in TVM.
    """
    depth = require_int(indices.shape[0], "scatter_nd: the first dimension of indices")
    combine = _update(mode, "scatter_nd")
    lead = list(indices.shape[1:])

    def body(ins: Sequence[Var], out: Var) -> Stmt:
        source, where, new = ins

        def one(i: list[Any]) -> Stmt:
            at, inner = i[: len(lead)], i[len(lead) :]
            picked = [
                _from_end(BufferLoad(where, [IntImm(i[0].dtype, k), *at]), data.shape[k])
                for k in range(depth)
            ]
            place = [*[tir.cast(i[0].dtype, p) for p in picked], *inner]
            value = combine(BufferLoad(out, place), BufferLoad(new, i))
            return BufferStore(out, value, place)

        copy = loops(data.shape, lambda i: BufferStore(out, BufferLoad(source, i), i))
        return SeqStmt([copy, loops([*lead, *data.shape[depth:]], one, "j")])

    return _extern_like(data, [data, indices, updates], body, "scatter_nd")


def scanop(
    data: Tensor,
    binop: Any,
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """Running combinations along `axis` (of the flattened tensor if None).

    exclusive : element k combines the elements before k only, starting with the identity.
    """
    if axis is None:
        data, axis = flatten(data), 0
    at = normalize_axis(axis, data.ndim, op_name)
    kind = dtype or data.dtype
    outer = [d for k, d in enumerate(data.shape) if k != at]
    size: Any = data.shape[at]

    def body(ins: Sequence[Var], outs: Sequence[Var]) -> Stmt:
        source, out = ins[0], outs[0]

        def line(i: list[Any]) -> Stmt:
            def place(k: Any) -> list[Any]:
                return [*i[:at], k, *i[at:]]

            zero = IntImm(size.dtype, 0)
            step = Var("k", size.dtype)
            here = tir.cast(kind, BufferLoad(source, place(step if exclusive else step + 1)))
            start = identity_value if exclusive else tir.cast(kind, BufferLoad(source, place(zero)))
            advance = BufferStore(out, binop(BufferLoad(out, place(step)), here), place(step + 1))
            run = For(step, zero, size - 1, ForKind.SERIAL, advance)
            return SeqStmt([BufferStore(out, start, place(zero)), run])

        return loops(outer, line)

    return te.extern([data.shape], [data], body, name=op_name, dtype=kind)


def cumsum(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """Running sums along `axis`."""
    zero = tir.const(0, dtype or data.dtype)
    return scanop(data, tir.add, zero, "cumsum", axis, dtype, exclusive)


def cumprod(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """Running products along `axis`."""
    one = tir.const(1, dtype or data.dtype)
    return scanop(data, tir.multiply, one, "cumprod", axis, dtype, exclusive)


def index_tensor(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """data[i0, i1, …] for index tensors that broadcast against each other, as in NumPy."""
    parts = list(indices)
    if not parts or len(parts) > data.ndim:
        raise WorkbenchError(f"index_tensor: {len(parts)} index tensors for {data.ndim} dimensions")
    lead: list[Any] = []
    for part in parts:
        lead = list(broadcast_shape(lead, list(part.shape)))
    shape = [*lead, *data.shape[len(parts) :]]

    def element(*i: Any) -> Expr:
        outer, inner = i[: len(lead)], i[len(lead) :]
        picked = [
            _from_end(part(*broadcast_indices(list(part.shape), lead, outer)), data.shape[k])
            for k, part in enumerate(parts)
        ]
        return data(*picked, *inner)

    return injective(shape, element, "T_index_tensor")


def index_put(
    data: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy of `data` with data[i0, i1, …] = values (added to it with `accumulate`).

    Index tensors and values broadcast; of two values for one place the last one stays.
    """
    parts = list(indices)
    if not parts or len(parts) > data.ndim:
        raise WorkbenchError(f"index_put: {len(parts)} index tensors for {data.ndim} dimensions")
    lead: list[Any] = []
    for part in parts:
        lead = list(broadcast_shape(lead, list(part.shape)))
    whole = [*lead, *data.shape[len(parts) :]]

    def body(ins: Sequence[Var], out: Var) -> Stmt:
        source, new, *where = ins

        def one(i: list[Any]) -> Stmt:
            outer, inner = i[: len(lead)], i[len(lead) :]
            place: list[Any] = []
            for k, part in enumerate(where):
                at = broadcast_indices(list(part.ty.shape), lead, outer)
                index = _from_end(BufferLoad(part, at), data.shape[k])
                place.append(tir.cast(data.shape[k].dtype, index))
            place += inner
            value: Any = BufferLoad(new, broadcast_indices(list(new.ty.shape), whole, i))
            return BufferStore(out, BufferLoad(out, place) + value if accumulate else value, place)

        copy = loops(data.shape, lambda i: BufferStore(out, BufferLoad(source, i), i))
        return SeqStmt([copy, loops(whole, one, "j")])

    return _extern_like(data, [data, values, *parts], body, "index_put")


def slice_scatter(
    input_tensor: Tensor, src: Tensor, start: Any, end: Any, step: Any, axis: int
) -> Tensor:
    """A copy with input[start:end:step] along `axis` replaced by `src`."""
    at = normalize_axis(axis, input_tensor.ndim, "slice_scatter")
    size = input_tensor.shape[at]
    first, last, stride = (
        tir.cast(size.dtype, v) if isinstance(v, Expr) else IntImm(size.dtype, v)
        for v in (start, end, step)
    )
    first = tir.if_then_else(first < 0, first + size, first)
    last = tir.min(tir.if_then_else(last < 0, last + size, last), size)

    def element(*i: Any) -> Expr:
        offset = i[at] - first
        inside = tir.all(i[at] >= first, i[at] < last, tir.equal(tir.floormod(offset, stride), 0))
        place = [tir.floordiv(offset, stride) if k == at else v for k, v in enumerate(i)]
        return tir.if_then_else(inside, src(*place), input_tensor(*i))

    return injective(input_tensor.shape, element, "slice_scatter")


def reverse_sequence(
    a: Tensor, seq_lengths: Tensor, seq_axis: int = 1, batch_axis: int = 0
) -> Tensor:
    """The first `seq_lengths[b]` elements along `seq_axis` reversed, for every batch b."""
    along = normalize_axis(seq_axis, a.ndim, "reverse_sequence")
    batch = normalize_axis(batch_axis, a.ndim, "reverse_sequence")

    def element(*i: Any) -> Expr:
        length = tir.cast(i[along].dtype, seq_lengths(i[batch]))
        turned = tir.if_then_else(i[along] < length, length - 1 - i[along], i[along])
        return a(*[turned if k == along else v for k, v in enumerate(i)])

    return injective(a.shape, element, "reverse_sequence")
