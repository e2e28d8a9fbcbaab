"""Operators of lowered programs: allocation, and what the virtual machine does itself."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, Expr, StringImm
from workbench.ir.type import TupleType, Type
from workbench.relax.expr import DataTypeImm, ShapeExpr, prim_value
from workbench.relax.op.registry import OpCall, relax_op
from workbench.relax.type import AnyType, ShapeType, TensorType


def _shape(value: Any) -> Expr:
    return value if isinstance(value, Expr) else ShapeExpr(value)


def _dtype(value: Any) -> Expr:
    return value if isinstance(value, Expr) else DataTypeImm(value)


def _text(value: Any) -> Expr:
    return value if isinstance(value, Expr) else StringImm(value)


def _unit(call: Call, types: list[Any]) -> Type:
    return TupleType(())


def _any(call: Call, types: list[Any]) -> Type:
    return AnyType()


def _tensor_type(shape: Expr, dtype: Any) -> Type:
    ty = shape.ty
    dims = ty.values if isinstance(ty, ShapeType) else None
    if dims is not None:
        return TensorType(dims, dtype.value)
    return TensorType(dtype=dtype.value, ndim=ty.ndim if isinstance(ty, ShapeType) else -1)


@relax_op("builtin.alloc_tensor", infer=lambda c, t: _tensor_type(c.args[0], c.args[1]), pure=False)
def alloc_tensor(
    shape: Any, dtype: Any, runtime_device_index: Any = 0, storage_scope: Any = "global"
) -> OpCall:
    """A new tensor of unspecified content."""
    return (
        _shape(shape), _dtype(dtype), prim_value(runtime_device_index), _text(storage_scope)
    ), {}  # fmt: skip


@relax_op("memory.alloc_storage", infer=_any, pure=False)
def alloc_storage(
    size: Any, virtual_device_index: Any = 0, storage_scope: Any = "global", dtype: Any = "uint8"
) -> OpCall:
    """Memory of `size` bytes, a shape with one dimension."""
    return (
        _shape(size), prim_value(virtual_device_index), _text(storage_scope), _dtype(dtype)
    ), {}  # fmt: skip


@relax_op("memory.alloc_tensor", infer=lambda c, t: _tensor_type(c.args[2], c.args[3]), pure=False)
def alloc_tensor_in(
    storage: Expr, offset: Any, shape: Any, dtype: Any, runtime_device_index: Any = 0
) -> OpCall:
    """A tensor in memory that was allocated before, `offset` bytes from its start."""
    return (
        storage, prim_value(offset), _shape(shape), _dtype(dtype), prim_value(runtime_device_index)
    ), {}  # fmt: skip


@relax_op("memory.kill_storage", infer=_unit, pure=False)
def kill_storage(storage: Expr) -> OpCall:
    """Says that memory is not used any more."""
    return (storage,), {}


@relax_op("memory.kill_tensor", infer=_unit, pure=False)
def kill_tensor(tensor: Expr) -> OpCall:
    """Says that a tensor is not used any more."""
    return (tensor,), {}


@relax_op("vm.alloc_storage", infer=_any, pure=False)
def vm_alloc_storage(
    size: Any, runtime_device_index: Any, dtype: Any, storage_scope: Any = "global"
) -> OpCall:
    """`memory.alloc_storage` as the machine does it."""
    return (
        _shape(size), prim_value(runtime_device_index), _dtype(dtype), _text(storage_scope)
    ), {}  # fmt: skip


@relax_op("vm.alloc_tensor", infer=lambda c, t: _tensor_type(c.args[2], c.args[3]), pure=False)
def vm_alloc_tensor(
    storage: Expr, offset: Any, shape: Any, dtype: Any, runtime_device_index: Any = 0
) -> OpCall:
    """`memory.alloc_tensor` as the machine does it."""
    return (
        storage, prim_value(offset), _shape(shape), _dtype(dtype), prim_value(runtime_device_index)
    ), {}  # fmt: skip


@relax_op("vm.kill_object", infer=_unit, pure=False)
def vm_kill_object(value: Expr) -> OpCall:
    """Empties a register."""
    return (value,), {}
