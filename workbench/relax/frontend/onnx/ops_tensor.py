"""ONNX operators that make, move and select elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.ir.expr import Expr, IntImm
from workbench.relax import op
from workbench.relax.expr import ShapeExpr, TupleGetItem, const
from workbench.relax.frontend.onnx.registry import NodeContext, constant_data, onnx_op
from workbench.relax.frontend.onnx.values import HostValue, plain
from workbench.relax.op.manipulate import product

#: ONNX's tensor element types that have a data type here, by number (onnx.TensorProto.DataType).
DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16",
    17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz",
}  # fmt: skip


def dtype_of(number: int, what: str) -> str:
    """The data type of an ONNX element type."""
    if number not in DTYPES:
        raise ValueError(f"{what}: ONNX element type {number} is not supported")
    return DTYPES[number]


@onnx_op("Identity")
def identity(node: NodeContext) -> Any:
    return node.value(0)


@onnx_op("Constant")
def constant(node: NodeContext) -> Any:
    for name in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        value = node.attr(name)
        if value is not None:
            if isinstance(value, np.ndarray):
                return const(value)
            kind = "float32" if "float" in name else "int64"
            return const(np.asarray(value, dtype=kind))
    raise node.fail(f"only dense numeric constants are supported, got {sorted(node.attrs)}")


@onnx_op("ConstantOfShape")
def constant_of_shape(node: NodeContext) -> Any:
    value = node.attr("value")
    fill = np.zeros(1, "float32") if value is None else value
    shape = node.host(0, "shape")
    return op.full(ShapeExpr(shape.items), const(fill.reshape(())))


@onnx_op("Cast")
def cast(node: NodeContext) -> Expr:
    x = node.tensor(0)
    dtype = dtype_of(node.attr("to"), f"Cast node {node.name!r}")
    return x if node.type_of(x).dtype == dtype else op.astype(x, dtype)


@onnx_op("CastLike")
def cast_like(node: NodeContext) -> Expr:
    return op.astype(node.tensor(0), str(node.type_of(node.tensor(1)).dtype))


@onnx_op("Shape")
def shape(node: NodeContext) -> Any:
    """The shape as a value known at import time (its items may be symbolic)."""
    value = node.value(0)
    dims = value.shape if isinstance(value, HostValue) else node.dims(value)
    start = node.attr("start", 0)
    end = node.attr("end")
    return HostValue.vector(list(dims)[slice(start, end)])


@onnx_op("Size")
def size(node: NodeContext) -> Any:
    return HostValue((plain(product(node.dims(node.tensor(0)))),), ())


@onnx_op("Reshape")
def reshape(node: NodeContext) -> Expr:
    x = node.tensor(0)
    target = node.attr("shape") if node.opset < 5 else list(node.host(1, "shape").items)
    if node.attr("allowzero", 0) and 0 in [d for d in target if isinstance(d, int)]:
        if -1 in target:
            raise node.fail("allowzero=1 with both 0 and -1 in the shape")
        return op.reshape(x, ShapeExpr(target))
    return op.reshape(x, target)


@onnx_op("Flatten")
def flatten(node: NodeContext) -> Expr:
    x = node.tensor(0)
    dims = node.dims(x)
    axis = node.attr("axis", 1)
    axis = axis + len(dims) if axis < 0 else axis
    return op.reshape(x, ShapeExpr([product(dims[:axis]), product(dims[axis:])]))


@onnx_op("Transpose")
def transpose(node: NodeContext) -> Expr:
    return op.permute_dims(node.tensor(0), node.attr("perm"))


def _axes(node: NodeContext) -> list[int] | None:
    if node.opset < 13 or not node.has(1):
        axes = node.attr("axes")
        return None if axes is None else list(axes)
    return node.ints(1, "axes")


@onnx_op("Squeeze")
def squeeze(node: NodeContext) -> Expr:
    return op.squeeze(node.tensor(0), _axes(node))


@onnx_op("Unsqueeze")
def unsqueeze(node: NodeContext) -> Expr:
    axes = _axes(node)
    if axes is None:
        raise node.fail("axes are missing")
    return op.expand_dims(node.tensor(0), axes)


@onnx_op("Concat")
def concat(node: NodeContext) -> Expr:
    parts = node.tensors()
    return parts[0] if len(parts) == 1 else op.concat(parts, node.attr("axis", 0))


@onnx_op("Split")
def split(node: NodeContext) -> Any:
    x = node.tensor(0)
    axis = node.attr("axis", 0)
    sizes = node.attr("split") if node.opset < 13 else None
    if node.opset >= 13 and node.has(1):
        sizes = node.ints(1, "split")
    how: Any = None
    if sizes is None:
        count = node.attr("num_outputs", node.outputs)
        dim = node.dims(x)[axis]
        if isinstance(dim, IntImm) and dim.value % count:
            chunk = -(-dim.value // count)
            sizes = [chunk] * (count - 1) + [dim.value - chunk * (count - 1)]
        else:
            how = count
    if sizes is not None:
        how = np.cumsum(sizes)[:-1].tolist()
    result = node.bb.emit(op.split(x, how, axis))
    return [TupleGetItem(result, i) for i in range(node.outputs)]


@onnx_op("Slice")
def slice_(node: NodeContext) -> Expr:
    x = node.tensor(0)
    rank = node.rank(x)
    if node.opset < 10:
        begin, end = list(node.attr("starts")), list(node.attr("ends"))
        axes = list(node.attr("axes", range(len(begin))))
        steps = [1] * len(begin)
    else:
        begin = list(node.host(1, "starts").items)
        end = list(node.host(2, "ends").items)
        axes = node.ints(3, "axes") if node.has(3) else list(range(len(begin)))
        steps = node.ints(4, "steps") if node.has(4) else [1] * len(begin)
    axes = [a % rank for a in axes]
    dims = node.dims(x)
    for i, axis in enumerate(axes):
        begin[i] = _clamp(begin[i], dims[axis], steps[i], start=True)
        end[i] = _clamp(end[i], dims[axis], steps[i], start=False)
    return op.strided_slice(x, axes, begin, end, steps)


def _clamp(bound: Any, dim: Expr, step: int, start: bool) -> Any:
    """Bounds far outside mean "to the end"; they are brought into the range of the operator."""
    if not isinstance(bound, int):
        return bound
    if isinstance(dim, IntImm):
        size = dim.value
        if bound < 0:
            bound += size
        if step > 0:
            return min(max(bound, 0), size)
        low = 0 if start else -1
        clamped = min(max(bound, low), size - 1)
        return clamped if clamped >= 0 else -size - 1
    return max(min(bound, 1 << 31), -(1 << 31))


@onnx_op("Gather")
def gather(node: NodeContext) -> Expr:
    x = node.tensor(0)
    indices = node.tensor(1)
    axis = node.attr("axis", 0) % node.rank(x)
    data = constant_data(indices)
    mode = "fast" if data is not None and (data >= 0).all() else "wrap"
    return op.take(x, indices, axis, mode)


@onnx_op("GatherElements")
def gather_elements(node: NodeContext) -> Expr:
    x, indices = node.tensor(0), node.tensor(1)
    axis = node.attr("axis", 0) % node.rank(x)
    extent = node.dims(x)[axis]
    if isinstance(extent, IntImm):
        size = const(np.asarray(extent.value, str(node.type_of(indices).dtype)))
        zero = const(np.asarray(0, str(node.type_of(indices).dtype)))
        indices = op.where(op.less(indices, zero), op.add(indices, size), indices)
    return op.gather_elements(x, indices, axis)


@onnx_op("GatherND")
def gather_nd(node: NodeContext) -> Expr:
    return op.gather_nd(node.tensor(0), node.tensor(1), node.attr("batch_dims", 0))


@onnx_op("Expand")
def expand(node: NodeContext) -> Expr:
    """The given shape is broadcast with that of the input."""
    x = node.tensor(0)
    target = list(node.host(1, "shape").items)
    dims = list(node.dims(x))
    rank = max(len(target), len(dims))
    padded: list[Any] = [1] * (rank - len(target)) + target
    own: list[Any] = [IntImm("int64", 1)] * (rank - len(dims)) + dims
    shape = [d if isinstance(t, int) and t == 1 else t for t, d in zip(padded, own, strict=True)]
    return op.broadcast_to(x, ShapeExpr(shape))


@onnx_op("Tile")
def tile(node: NodeContext) -> Expr:
    return op.tile(node.tensor(0), node.ints(1, "repeats"))


@onnx_op("Range")
def range_(node: NodeContext) -> Expr:
    values = [node.host(i, what) for i, what in enumerate(("start", "limit", "delta"))]
    dtype = values[0].dtype
    return op.arange(*(v.items[0] for v in values), dtype=dtype)


@onnx_op("OneHot")
def one_hot(node: NodeContext) -> Expr:
    (depth,) = node.ints(1, "depth")
    values = node.array(2, "values")
    indices = node.tensor(0)
    dtype = str(node.type_of(indices).dtype)
    if "float" in dtype:
        indices, dtype = op.astype(indices, "int64"), "int64"
    zero, size = const(np.asarray(0, dtype)), const(np.asarray(depth, dtype))
    indices = op.where(op.less(indices, zero), op.add(indices, size), indices)
    on, off = const(values[1]), const(values[0])
    return op.one_hot(indices, on, off, depth, node.attr("axis", -1))


@onnx_op("Trilu")
def trilu(node: NodeContext) -> Expr:
    k = node.ints(1, "k")[0] if node.has(1) else 0
    function = op.triu if node.attr("upper", 1) else op.tril
    return function(node.tensor(0), k)


@onnx_op("DepthToSpace")
def depth_to_space(node: NodeContext) -> Expr:
    x = node.tensor(0)
    block = node.attr("blocksize")
    n, c, h, w = node.dims(x)
    depth = product([c]) // (block * block)
    if node.attr("mode", "DCR") == "DCR":
        split_, order = [n, block, block, depth, h, w], (0, 3, 4, 1, 5, 2)
    else:
        split_, order = [n, depth, block, block, h, w], (0, 1, 4, 2, 5, 3)
    moved = op.permute_dims(op.reshape(x, split_), order)
    return op.reshape(moved, [n, depth, h * block, w * block])


@onnx_op("SpaceToDepth")
def space_to_depth(node: NodeContext) -> Expr:
    x = node.tensor(0)
    block = node.attr("blocksize")
    n, c, h, w = node.dims(x)
    parts = op.reshape(x, [n, c, h // block, block, w // block, block])
    moved = op.permute_dims(parts, (0, 3, 5, 1, 2, 4))
    return op.reshape(moved, [n, c * (block * block), h // block, w // block])


__all__ = ["DTYPES", "dtype_of"]
