"""`R.builtin`: allocation before memory is planned, and marks for passes."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Expr
from workbench.relax.expr import prim_value
from workbench.relax.op.infer import same_as_input
from workbench.relax.op.memory import allocated_type, dtype_operand, shape_operand, text_operand
from workbench.relax.op.registry import OpCall, relax_op


@relax_op(
    "builtin.alloc_tensor", infer=lambda c, t: allocated_type(c.args[0], c.args[1]), pure=False
)
def alloc_tensor(
    shape: Any, dtype: Any, runtime_device_index: Any = 0, storage_scope: Any = "global"
) -> OpCall:
    """A new tensor of unspecified content."""
    return (
        shape_operand(shape),
        dtype_operand(dtype),
        prim_value(runtime_device_index),
        text_operand(storage_scope),
    ), {}


@relax_op("builtin.stop_lift_params", infer=same_as_input, legalize=lambda bb, c: c.args[0])
def stop_lift_params(x: Expr) -> OpCall:
    """x itself; what depends on it is not computed ahead with the parameters."""
    return (x,), {}


__all__ = ["alloc_tensor", "stop_lift_params"]
