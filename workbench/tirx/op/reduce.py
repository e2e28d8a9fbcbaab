"""Reducers of te expressions: `sum`, `min`, `max` and `comm_reducer`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.ir.expr import Expr, IntImm, Var, as_expr
from workbench.tirx.expr import CommReducer, IterVar, Reduce
from workbench.tirx.op import arith
from workbench.tirx.op.constants import const, max_value, min_value


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """A reducer from a combiner and the identity of a data type.

    Parameters
    ----------
    fcombine : two expressions (or two tuples of them) → the combined one.
    fidentity : the data type of each component → its identity element(s).

    The result is called as `reducer(expr, axis, where=None, init=None)`, which gives a `Reduce`
    (or one per component of a tuple), or as `reducer(a, b, …)`, which combines values directly.
    """

    def reducer(
        expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any
    ) -> Any:
        if isinstance(axis, (IterVar, list, tuple)):
            return _reduce(fcombine, fidentity, name, expr, axis, where, init)
        out = expr
        for item in (axis, where, init, *args):
            if item is not None:
                out = fcombine(out, item)
        return out

    reducer.__name__ = name
    reducer.__doc__ = f"{name} over reduction axes, or of the given values."
    return reducer


def _reduce(
    fcombine: Callable[..., Any],
    fidentity: Callable[..., Any],
    name: str,
    expr: Any,
    axis: Any,
    where: Any,
    init: Any,
) -> Any:
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
    for item in axes:
        if not isinstance(item, IterVar):
            raise TypeError(f"{name}: expected reduction axes, got {type(item).__name__} {item!r}")
    several = isinstance(expr, (list, tuple))
    source = [as_expr(e) for e in (expr if several else [expr])]
    lhs = [Var(f"x{i}" if several else "x", e.dtype) for i, e in enumerate(source)]
    rhs = [Var(f"y{i}" if several else "y", e.dtype) for i, e in enumerate(source)]
    combined = fcombine(lhs, rhs) if several else fcombine(lhs[0], rhs[0])
    dtypes = [e.dtype for e in source]
    identity = fidentity(*dtypes)
    results = [as_expr(e) for e in _tuple(combined)]
    identities = [as_expr(e) for e in _tuple(identity)]
    for k, (value, start) in enumerate(zip(results, identities, strict=True)):
        if value.dtype != dtypes[k] or start.dtype != dtypes[k]:
            raise TypeError(
                f"{name}: component {k} is {dtypes[k]}, its combination {value.dtype}, "
                f"its identity {start.dtype}"
            )
    combiner = CommReducer(tuple(lhs), tuple(rhs), tuple(results), tuple(identities))
    condition = IntImm("bool", 1) if where is None else as_expr(where)
    starts = [] if init is None else [as_expr(i) for i in _tuple(init)]
    out = tuple(
        Reduce(combiner, source, axes, condition, index, starts) for index in range(len(source))
    )
    return out if several else out[0]


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _zero(dtype: Any) -> Expr:
    return const(0, dtype)


sum = comm_reducer(arith.add, _zero, "sum")
min = comm_reducer(arith.minimum, max_value, "min")
max = comm_reducer(arith.maximum, min_value, "max")
