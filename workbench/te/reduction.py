"""Reductions: `te.sum(A[i, k], axis=k)` and reducers of your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm, Var, as_expr
from workbench.te.tensor import TensorSlice
from workbench.tirx.expr import CommReducer, IterVar, Reduce
from workbench.tirx.op.arith import maximum, minimum
from workbench.tirx.op.constants import const, max_value, min_value


def _element(value: Any) -> Expr:
    return value.__as_expr__() if isinstance(value, TensorSlice) else as_expr(value)


def _is_axis(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(isinstance(v, IterVar) for v in value)
    return isinstance(value, IterVar)


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """A commutative reducer from its combining function and its identity.

    Parameters
    ----------
    fcombine : `(x, y)` to the combination; tuples in and out for several values at once.
    fidentity : the data type (or types) to the identity element(s).

    The result is called as `reducer(value, axis=k, where=condition, init=start)`. Called without an
    axis it combines its arguments: `te.max(a, b)`.
    """

    def combiner(dtypes: Sequence[str], several: bool) -> CommReducer:
        lhs = [Var(f"x{i or ''}", t) for i, t in enumerate(dtypes)]
        rhs = [Var(f"y{i or ''}", t) for i, t in enumerate(dtypes)]
        if several:
            result = [as_expr(e) for e in fcombine(tuple(lhs), tuple(rhs))]
            identity = [as_expr(e) for e in fidentity(*dtypes)]
        else:
            result = [as_expr(fcombine(lhs[0], rhs[0]))]
            identity = [as_expr(fidentity(dtypes[0]))]
        if len(result) != len(dtypes) or len(identity) != len(dtypes):
            raise WorkbenchError(
                f"{name}: {len(dtypes)} values, but the combination has {len(result)} and the "
                f"identity {len(identity)}"
            )
        return CommReducer(lhs, rhs, result, identity)

    def reducer(
        expr: Any, axis: Any = None, where: Any = None, init: Any = None, *args: Any
    ) -> Any:
        if not _is_axis(axis):
            rest = [a for a in (axis, where, init, *args) if a is not None]
            if not rest:
                raise WorkbenchError(f"{name}: give axis=, or several values to combine")
            total = _element(expr)
            for item in rest:
                total = fcombine(total, _element(item))
            return total
        axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        several = isinstance(expr, (list, tuple))
        source = [_element(e) for e in (expr if several else [expr])]
        start = () if init is None else (init if isinstance(init, (list, tuple)) else [init])
        start = [_element(e) for e in start]
        condition = IntImm("bool", 1) if where is None else as_expr(where)
        reduce_of = combiner([e.dtype for e in source], several)
        out = [Reduce(reduce_of, source, axes, condition, i, start) for i in range(len(source))]
        return out if several else out[0]

    reducer.__name__ = name
    reducer.__doc__ = f"{name} over reduction axes, or of several values when no axis is given."
    return reducer


sum = comm_reducer(lambda x, y: x + y, lambda t: const(0, t), name="sum")
max = comm_reducer(maximum, min_value, name="max")
min = comm_reducer(minimum, max_value, name="min")
