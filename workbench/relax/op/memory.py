"""`R.memory`: storage, and tensors in it."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, Expr, StringImm
from workbench.ir.type import TupleType, Type
from workbench.relax.expr import DataTypeImm, ShapeExpr, prim_value
from workbench.relax.op.registry import OpCall, relax_op
from workbench.relax.type import AnyType, ShapeType, TensorType


def shape_operand(value: Any) -> Expr:
    return value if isinstance(value, Expr) else ShapeExpr(value)


def dtype_operand(value: Any) -> Expr:
    return value if isinstance(value, Expr) else DataTypeImm(value)


def text_operand(value: Any) -> Expr:
    return value if isinstance(value, Expr) else StringImm(value)


def unit(call: Call, types: list[Any]) -> Type:
    return TupleType(())


def anything(call: Call, types: list[Any]) -> Type:
    return AnyType()


def allocated_type(shape: Expr, dtype: Any) -> Type:
    ty = shape.ty
    dims = ty.values if isinstance(ty, ShapeType) else None
    if dims is not None:
        return TensorType(dims, dtype.value)
    return TensorType(dtype=dtype.value, ndim=ty.ndim if isinstance(ty, ShapeType) else -1)


@relax_op("memory.alloc_storage", infer=anything, pure=False)
def alloc_storage(
    size: Any, virtual_device_index: Any = 0, storage_scope: Any = "global", dtype: Any = "uint8"
) -> OpCall:
    """Memory of `size` bytes, a shape with one dimension."""
    return (
        shape_operand(size),
        prim_value(virtual_device_index),
        text_operand(storage_scope),
        dtype_operand(dtype),
    ), {}


@relax_op(
    "memory.alloc_tensor", infer=lambda c, t: allocated_type(c.args[2], c.args[3]), pure=False
)
def alloc_tensor(
    storage: Expr, offset: Any, shape: Any, dtype: Any, runtime_device_ind: Any = 0
) -> OpCall:
    """A tensor in memory that was allocated before, `offset` bytes from its start."""
    return (
        storage,
        prim_value(offset),
        shape_operand(shape),
        dtype_operand(dtype),
        prim_value(runtime_device_ind),
    ), {}


@relax_op("memory.kill_storage", infer=unit, pure=False)
def kill_storage(storage: Expr) -> OpCall:
    """Says that memory is not used any more."""
    return (storage,), {}


@relax_op("memory.kill_tensor", infer=unit, pure=False)
def kill_tensor(tensor: Expr) -> OpCall:
    """Says that a tensor is not used any more."""
    return (tensor,), {}


__all__ = [
    "alloc_storage",
    "alloc_tensor",
    "kill_storage",
    "kill_tensor",
]
