"""Dimensions and axes: constants where they are known, expressions otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.structural import structural_equal
from workbench.ir.expr import Expr, IntImm, as_expr
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir


def const_int(value: Any) -> int | None:
    """The value of a constant integer, or None."""
    if isinstance(value, IntImm):
        return value.value
    return int(value) if not isinstance(value, Expr) and hasattr(value, "__index__") else None


def require_int(value: Any, what: str) -> int:
    """The value of a constant integer. Raises WorkbenchError for anything else."""
    number = const_int(value)
    if number is None:
        raise WorkbenchError(f"{what} must be a constant integer, got {value}")
    return number


def dim_like(value: int, like: Expr) -> Expr:
    """An integer constant with the data type of another dimension."""
    return IntImm(like.dtype, value)


def same_dim(a: Any, b: Any) -> bool:
    """Whether two dimensions are evidently equal."""
    x, y = const_int(a), const_int(b)
    if x is not None or y is not None:
        return x == y
    return structural_equal(as_expr(a), as_expr(b))


def is_one(value: Any) -> bool:
    """Whether a dimension is the constant 1."""
    return const_int(value) == 1


def normalize_axis(axis: Any, ndim: int, what: str) -> int:
    """An axis counted from the front. Raises WorkbenchError if it is out of range."""
    number = require_int(axis, f"{what}: axis")
    if not -ndim <= number < ndim:
        raise WorkbenchError(f"{what}: axis {number} is out of range for {ndim} dimensions")
    return number + ndim if number < 0 else number


def normalize_axes(axis: Any, ndim: int, what: str) -> list[int]:
    """Axes counted from the front, sorted; None means all. A repeated axis is an error."""
    if axis is None:
        return list(range(ndim))
    items = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    axes = [normalize_axis(a, ndim, what) for a in items]
    if len(set(axes)) != len(axes):
        raise WorkbenchError(f"{what}: an axis is given twice in {items}")
    return sorted(axes)


def as_ints(value: Any, count: int, what: str) -> list[int]:
    """`count` integers from one integer or a sequence."""
    if isinstance(value, (list, tuple)):
        items = [require_int(v, what) for v in value]
        if len(items) == 1:
            items *= count
        if len(items) != count:
            raise WorkbenchError(f"{what}: expected {count} values, got {len(items)}")
        return items
    return [require_int(value, what)] * count


def require_tensor(value: Any, what: str) -> Tensor:
    """The tensor itself. Raises TypeError for anything else."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{what}: expected a te.Tensor, got {type(value).__name__}")
    return value


def product(values: Sequence[Any]) -> Any:
    """The product of dimensions; 1 of none."""
    total: Any = values[0] if values else 1
    for value in values[1:]:
        total = tir.multiply(total, value)
    return total


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Dimensions with constants as Python integers (TVM's name)."""
    return tuple(d if const_int(d) is None else const_int(d) for d in in_tuple)
