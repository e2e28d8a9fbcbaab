"""`R.vm`: what the virtual machine does itself."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Expr
from workbench.relax.expr import prim_value
from workbench.relax.op.memory import (
    allocated_type,
    anything,
    dtype_operand,
    shape_operand,
    text_operand,
    unit,
)
from workbench.relax.op.registry import OpCall, relax_op


@relax_op("vm.alloc_storage", infer=anything, pure=False)
def alloc_storage(
    size: Any, runtime_device_index: Any, dtype: Any, storage_scope: Any = "global"
) -> OpCall:
    """`memory.alloc_storage` as the machine does it."""
    return (
        shape_operand(size),
        prim_value(runtime_device_index),
        dtype_operand(dtype),
        text_operand(storage_scope),
    ), {}


@relax_op("vm.alloc_tensor", infer=lambda c, t: allocated_type(c.args[2], c.args[3]), pure=False)
def alloc_tensor(
    storage: Expr, offset: Any, shape: Any, dtype: Any, runtime_device_index: Any = 0
) -> OpCall:
    """`memory.alloc_tensor` as the machine does it."""
    return (
        storage,
        prim_value(offset),
        shape_operand(shape),
        dtype_operand(dtype),
        prim_value(runtime_device_index),
    ), {}


@relax_op("vm.kill_object", infer=unit, pure=False)
def kill_object(value: Expr) -> OpCall:
    """Empties a register."""
    return (value,), {}


__all__ = ["alloc_storage", "alloc_tensor", "kill_object"]
