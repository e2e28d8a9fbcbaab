"""Reductions of tensors over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench import te
from workbench.ir.expr import Expr, IntImm
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.tirx.expr import Select
from workbench.topi.broadcast import axis_names
from workbench.topi.dims import is_one, normalize_axes, product, require_tensor

COMM_REDUCE, COMM_REDUCE_IDX = "comm_reduce", "comm_reduce_idx"


def lowest(dtype: Any) -> Expr:
    """The identity of the maximum: minus infinity for floats."""
    kind = tir.const(0, dtype).dtype
    return -tir.infinity(dtype) if _has_infinity(kind) else tir.min_value(dtype)


def highest(dtype: Any) -> Expr:
    """The identity of the minimum: infinity for floats."""
    kind = tir.const(0, dtype).dtype
    return tir.infinity(dtype) if _has_infinity(kind) else tir.max_value(dtype)


def _has_infinity(kind: Any) -> bool:
    return kind in ("float16", "bfloat16", "float32", "float64")


max_reducer = te.comm_reducer(tir.maximum, lowest, name="max")
min_reducer = te.comm_reducer(tir.minimum, highest, name="min")
prod_reducer = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t), name="prod")
all_reducer = te.comm_reducer(tir.logical_and, lambda t: tir.const(True, t), name="all")
any_reducer = te.comm_reducer(tir.logical_or, lambda t: tir.const(False, t), name="any")


def _axes_of(data: Tensor, axes: list[int]) -> tuple[list[Any], Callable[[Any], list[Any]]]:
    """Reduction axes k0, k1 … and a function from result indices to data indices."""
    reduced = {
        k: te.reduce_axis((IntImm(data.shape[k].dtype, 0), data.shape[k]), f"k{k}") for k in axes
    }

    def place(indices: Any) -> list[Any]:
        rest = iter(indices)
        return [reduced[k].var if k in reduced else next(rest) for k in range(data.ndim)]

    return list(reduced.values()), place


def _result(data: Tensor, axes: list[int], keepdims: bool) -> tuple[list[Any], Callable[..., Any]]:
    """The shape of the result and a function that drops its kept dimensions from indices."""
    if not keepdims:
        return [d for k, d in enumerate(data.shape) if k not in axes], lambda i: list(i)
    shape = [IntImm(d.dtype, 1) if k in axes else d for k, d in enumerate(data.shape)]
    return shape, lambda i: [v for k, v in enumerate(i) if k not in axes]


def reduce_over(
    data: Tensor,
    axis: Any,
    keepdims: bool,
    reducer: Callable[..., Any],
    name: str = "",
    element: Callable[[Expr], Expr] | None = None,
) -> Tensor:
    """`reducer` over the given axes of (a function of) the elements; all axes if None."""
    require_tensor(data, reducer.__name__)
    axes = normalize_axes(axis, data.ndim, reducer.__name__)
    if not axes:
        return te.compute(
            data.shape,
            lambda *i: element(data(*i)) if element else data(*i),
            name=f"{data.name}_red",
            tag="injective",
        )
    over, place = _axes_of(data, axes)
    shape, drop = _result(data, axes, keepdims)

    def value(*i: Any) -> Any:
        item = data(*place(drop(i)))
        return reducer(element(item) if element else item, axis=over)

    return te.compute(
        shape,
        value,
        name=name or f"{data.name}_red",
        tag=COMM_REDUCE,
        varargs_names=axis_names(len(shape)),
    )


def sum(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over `axis` (all if None)."""
    return reduce_over(data, axis, keepdims, te.sum)


def prod(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The product over `axis`."""
    return reduce_over(data, axis, keepdims, prod_reducer)


def max(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element over `axis`."""
    return reduce_over(data, axis, keepdims, max_reducer)


def min(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element over `axis`."""
    return reduce_over(data, axis, keepdims, min_reducer)


def all(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements hold (bool)."""
    return reduce_over(data, axis, keepdims, all_reducer)


def any(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element holds (bool)."""
    return reduce_over(data, axis, keepdims, any_reducer)


def _count(data: Tensor, axis: Any, dtype: Any) -> Expr:
    axes = normalize_axes(axis, data.ndim, "mean")
    return tir.cast(dtype, product([data.shape[k] for k in axes]))


def _divided(total: Tensor, count: Expr, name: str) -> Tensor:
    return te.compute(
        total.shape,
        lambda *i: tir.div(total(*i), count),
        name=name,
        tag="elemwise",
        varargs_names=axis_names(total.ndim),
    )


def mean(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over `axis`."""
    total = reduce_over(data, axis, keepdims, te.sum)
    return _divided(total, _count(data, axis, data.dtype), "T_mean")


def variance(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean squared distance from the mean over `axis` (in two passes, so it is accurate)."""
    axes = normalize_axes(axis, data.ndim, "variance")
    center = mean(data, axes, keepdims=True)

    def distance(*i: Any) -> Expr:
        at = [0 if k in axes else v for k, v in enumerate(i)]
        return data(*i) - center(*at)

    centered = te.compute(data.shape, distance, name="T_centered", tag="broadcast")
    total = reduce_over(centered, axes, keepdims, te.sum, element=lambda x: x * x)
    return _divided(total, _count(data, axes, data.dtype), "T_variance")


def std(data: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The standard deviation over `axis`."""
    spread = variance(data, axis, keepdims)
    return te.compute(spread.shape, lambda *i: tir.sqrt(spread(*i)), name="T_std", tag="elemwise")


def _arg_reducer(name: str, worst: Callable[[Any], Expr], better: Any, last: bool) -> Any:
    """A reducer of (index, value) pairs that keeps the best value's first (or last) index."""

    def combine(lhs: Any, rhs: Any) -> Any:
        wins = better(lhs[1], rhs[1])
        before = lhs[0] > rhs[0] if last else lhs[0] < rhs[0]
        keep = tir.logical_or(wins, tir.logical_and(tir.equal(lhs[1], rhs[1]), before))
        return Select(keep, lhs[0], rhs[0]), Select(wins, lhs[1], rhs[1])

    def identity(index: Any, value: Any) -> Any:
        none = tir.const(-1, index) if last else tir.max_value(index)
        return none, worst(value)

    return te.comm_reducer(combine, identity, name=name)


def _arg_reduce(data: Tensor, axis: Any, keepdims: bool, reducer: Any) -> Tensor:
    axes = normalize_axes(axis, data.ndim, reducer.__name__)
    over, place = _axes_of(data, axes)
    shape, drop = _result(data, axes, keepdims)

    def position(at: list[Any]) -> Any:
        total: Any = None
        for k in axes:
            total = at[k] if total is None else total * data.shape[k] + at[k]
        return total

    def value(*i: Any) -> Any:
        at = place(drop(i))
        return reducer((position(at), data(*at)), axis=over)

    names = axis_names(len(shape))
    pair = te.compute(
        shape, value, name=f"{data.name}_red_temp", tag=COMM_REDUCE_IDX, varargs_names=names
    )
    return te.compute(
        shape,
        lambda *i: pair[0](*i),
        name=f"{data.name}_red",
        tag=COMM_REDUCE_IDX,
        varargs_names=names,
    )


def argmax(
    data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """The index of the largest element over `axis` (in the flattened tensor if None)."""
    reducer = _arg_reducer("argmax", lowest, tir.greater, select_last_index)
    return _arg_reduce(data, axis, keepdims, reducer)


def argmin(
    data: Tensor, axis: Any = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """The index of the smallest element over `axis` (in the flattened tensor if None)."""
    reducer = _arg_reducer("argmin", highest, tir.less, select_last_index)
    return _arg_reduce(data, axis, keepdims, reducer)


def collapse_sum(data: Tensor, target_shape: Any) -> Tensor:
    """The sum over the dimensions that broadcasting from `target_shape` would repeat."""
    target = list(target_shape)
    skip = data.ndim - len(target)
    lead = list(range(skip))
    kept = [
        skip + k for k, d in enumerate(target) if is_one(d) and not is_one(data.shape[skip + k])
    ]
    out = sum(data, kept, keepdims=True) if kept else data
    return sum(out, lead) if lead else out
