"""Operators on values known at import time: the shape arithmetic that exporters write.

`Shape → Gather → Concat → Reshape` disappears here; only symbolic dimensions remain in the shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.ir.expr import Expr, IntImm
from workbench.relax.frontend.onnx.ops_tensor import dtype_of
from workbench.relax.frontend.onnx.registry import NodeContext, host_op, host_value
from workbench.relax.frontend.onnx.values import MAX_HOST_ITEMS, HostValue, plain
from workbench.relax.op.infer import simplify


def _values(node: NodeContext, count: int) -> list[HostValue] | None:
    out = []
    for i in range(count):
        found = host_value(node.value(i)) if node.has(i) else None
        if found is None:
            return None
        out.append(found)
    return out


def _symbolic(values: list[HostValue]) -> bool:
    return any(isinstance(i, Expr) for v in values for i in v.items)


def _exact(item: Any) -> Any:
    return plain(simplify(item)) if isinstance(item, Expr) else item


def _truncating(a: Any, b: Any) -> Any:
    if isinstance(a, Expr) or isinstance(b, Expr):
        return a // b  # dimensions are not negative
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _arithmetic(onnx_name: str, function: Callable[[Any, Any], Any]) -> None:
    @host_op(onnx_name)
    def act(node: NodeContext) -> HostValue | None:
        values = _values(node, 2)
        if values is None or (not _symbolic(values) and not _integral(values)):
            return None
        a, b = values
        if "float" in a.dtype and _symbolic(values):
            return None
        pa, pb = np.broadcast_arrays(a.positions(), b.positions())
        if pa.size > MAX_HOST_ITEMS:
            return None
        left, right = a.moved(pa).items, b.moved(pb).items
        items = tuple(_exact(function(x, y)) for x, y in zip(left, right, strict=True))
        return HostValue(items, pa.shape, a.dtype)


def _integral(values: list[HostValue]) -> bool:
    return all("int" in v.dtype for v in values)


_arithmetic("Add", lambda a, b: a + b)
_arithmetic("Sub", lambda a, b: a - b)
_arithmetic("Mul", lambda a, b: a * b)
_arithmetic("Div", _truncating)


def _same_item(a: Any, b: Any) -> bool | None:
    """Whether two items are equal; None if that is not known before the program runs."""
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return bool(a == b)
    difference = simplify(a - b)
    if isinstance(difference, IntImm):
        return difference.value == 0
    if any(isinstance(x, int) and x < 0 for x in (a, b)):
        return False  # a dimension is not negative
    return None


@host_op("Equal")
def equal(node: NodeContext) -> HostValue | None:
    values = _values(node, 2)
    if values is None:
        return None
    pa, pb = np.broadcast_arrays(values[0].positions(), values[1].positions())
    pairs = zip(values[0].moved(pa).items, values[1].moved(pb).items, strict=True)
    found = [_same_item(a, b) for a, b in pairs]
    if any(f is None for f in found):
        return None
    return HostValue(tuple(found), pa.shape, "bool")


@host_op("Where")
def where(node: NodeContext) -> HostValue | None:
    values = _values(node, 3)
    if values is None or "float" in values[1].dtype or _symbolic(values[:1]):
        return None
    grids = np.broadcast_arrays(*(v.positions() for v in values))
    cond, yes, no = (v.moved(g).items for v, g in zip(values, grids, strict=True))
    items = tuple(y if c else n for c, y, n in zip(cond, yes, no, strict=True))
    return HostValue(items, grids[0].shape, values[1].dtype)


@host_op("Cast")
def cast(node: NodeContext) -> HostValue | None:
    value = host_value(node.value(0))
    if value is None:
        return None
    dtype = dtype_of(node.attr("to"), f"Cast node {node.name!r}")
    array = value.as_array()
    if array is not None:
        return HostValue.from_array(array.astype(dtype))
    return value.like(value.items, dtype) if "int" in dtype else None


def _move(onnx_name: str, function: Callable[[NodeContext, Any], Any]) -> None:
    """An operator that only moves items acts on their positions."""

    @host_op(onnx_name)
    def act(node: NodeContext) -> HostValue | None:
        value = host_value(node.value(0))
        if value is None:
            return None
        return value.moved(np.asarray(function(node, value.positions())))


def _slice(node: NodeContext, grid: Any) -> Any:
    if node.opset < 10:
        begin, end = node.attr("starts"), node.attr("ends")
        axes, steps = node.attr("axes", list(range(len(begin)))), [1] * len(begin)
    else:
        begin, end = node.ints(1, "starts"), node.ints(2, "ends")
        axes = node.ints(3, "axes") if node.has(3) else list(range(len(begin)))
        steps = node.ints(4, "steps") if node.has(4) else [1] * len(begin)
    index: list[Any] = [slice(None)] * grid.ndim
    for axis, first, last, step in zip(axes, begin, end, steps, strict=True):
        index[axis] = slice(first, last if last > -(1 << 31) else None, step)
    return grid[tuple(index)]


def _axes(node: NodeContext) -> tuple[int, ...] | None:
    axes = node.ints(1, "axes") if node.opset >= 13 and node.has(1) else node.attr("axes")
    return None if axes is None else tuple(axes)


def _reshape(node: NodeContext, grid: Any) -> Any:
    shape = node.ints(1, "shape")
    return grid.reshape([grid.shape[i] if d == 0 else d for i, d in enumerate(shape)])


_move("Slice", _slice)
_move("Squeeze", lambda node, grid: np.squeeze(grid, _axes(node)))
_move("Unsqueeze", lambda node, grid: np.expand_dims(grid, _axes(node) or ()))
_move("Reshape", _reshape)
_move("Flatten", lambda node, grid: grid.reshape(1, -1))
_move("Transpose", lambda node, grid: np.transpose(grid, node.attr("perm")))


@host_op("Gather")
def gather(node: NodeContext) -> HostValue | None:
    value = host_value(node.value(0))
    if value is None:
        return None
    indices = host_value(node.value(1))
    picked = None if indices is None else indices.as_array()
    if picked is None:
        return None
    return value.moved(np.take(value.positions(), picked, axis=node.attr("axis", 0)))


@host_op("Concat")
def concat(node: NodeContext) -> HostValue | None:
    values = [host_value(v) for v in node.inputs if v is not None]
    if any(v is None for v in values):
        return None
    parts = [v for v in values if v is not None]
    offset, grids, items = 0, [], []
    for part in parts:
        grids.append(part.positions() + offset)
        items.extend(part.items)
        offset += len(part.items)
    whole = HostValue(tuple(items), (len(items),), parts[0].dtype)
    return whole.moved(np.concatenate(grids, axis=node.attr("axis", 0)))


@host_op("ReduceProd")
def reduce_prod(node: NodeContext) -> HostValue | None:
    value = host_value(node.value(0))
    if value is None or len(value.shape) > 1 or "int" not in value.dtype:
        return None
    total: Any = 1
    for item in value.items:
        total = total * item
    keep = bool(node.attr("keepdims", 1)) and value.shape != ()
    return HostValue((_exact(total),), (1,) if keep else (), value.dtype)


@host_op("ConstantOfShape")
def constant_of_shape(node: NodeContext) -> HostValue | None:
    shape = host_value(node.value(0))
    sizes = None if shape is None else shape.as_array()
    if sizes is None or int(np.prod(sizes)) > MAX_HOST_ITEMS:
        return None
    fill = node.attr("value")
    fill = np.zeros(1, "float32") if fill is None else fill
    if fill.dtype.kind != "i":
        return None
    return HostValue.from_array(np.full(tuple(int(s) for s in sizes), fill.reshape(())))


@host_op("Range")
def range_(node: NodeContext) -> HostValue | None:
    values = _values(node, 3)
    if values is None or _symbolic(values) or not _integral(values):
        return None
    array = np.arange(*(v.items[0] for v in values), dtype=values[0].dtype)
    return HostValue.from_array(array)
