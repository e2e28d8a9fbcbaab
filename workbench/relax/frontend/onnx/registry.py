"""How an ONNX operator is declared: one decorated function.

    @onnx_op("Relu")
    def relu(node: NodeContext) -> Expr:
        return op.nn.relu(node.tensor(0))

The function gets the node's inputs and attributes and returns an expression, or a list of them for
several outputs. Coverage tables come from `onnx_ops`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.registry import Registry
from workbench.ir.expr import Expr, IntImm
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import Constant, ShapeExpr, const
from workbench.relax.frontend.onnx.values import HostValue, Value
from workbench.relax.op import astype, reshape, shape_to_tensor
from workbench.relax.type import TensorType


class OnnxError(WorkbenchError, ValueError):
    """A model cannot be imported; the message says which node or file, and why."""


Converter = Callable[["NodeContext"], Any]

#: All supported operators: ONNX name → converter.
onnx_ops: Registry[Converter] = Registry("ONNX operator")

#: Operators that also accept values known at import time and return such values.
host_ops: dict[str, Callable[[NodeContext], HostValue | None]] = {}


def onnx_op(*names: str) -> Callable[[Converter], Converter]:
    """Declares the converter of one or more ONNX operators."""

    def add(function: Converter) -> Converter:
        for name in names:
            onnx_ops.add(name, function)
        return function

    return add


def host_op(*names: str) -> Callable[[Any], Any]:
    """Declares how an operator acts on values known at import time (shapes, small constants).

    The function returns None where it cannot; then the ordinary converter runs.
    """

    def add(function: Any) -> Any:
        for name in names:
            assert name not in host_ops, name
            host_ops[name] = function
        return function

    return add


@dataclass
class NodeContext:
    """One node while it is converted."""

    bb: BlockBuilder
    op_type: str
    name: str
    inputs: list[Value | None]
    attrs: dict[str, Any]
    opset: int
    outputs: int = 1
    notes: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)  # the attributes that were looked at

    def fail(self, message: str, hint: str = "") -> OnnxError:
        """An error that names the node."""
        return OnnxError(f"{self.op_type} node {self.name!r}: {message}", hint=hint)

    def has(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        self.read.add(name)
        return self.attrs.get(name, default)

    def value(self, index: int) -> Value:
        """Input `index` as it is."""
        if not self.has(index):
            raise self.fail(f"input {index} is missing (it has {len(self.inputs)})")
        value = self.inputs[index]
        assert value is not None
        return value

    def tensor(self, index: int) -> Expr:
        """Input `index` as a tensor expression."""
        return self.as_tensor(self.value(index))

    def as_tensor(self, value: Value) -> Expr:
        """A tensor expression of any value."""
        if not isinstance(value, HostValue):
            return value
        array = value.as_array()
        if array is not None:
            return const(array)
        flat = ShapeExpr([_dimension(v) for v in value.items])
        tensor = self.bb.emit(shape_to_tensor(flat))
        if value.shape != (len(value.items),):
            tensor = self.bb.emit(reshape(tensor, list(value.shape)))
        return tensor if value.dtype == "int64" else self.bb.emit(astype(tensor, value.dtype))

    def tensors(self) -> list[Expr]:
        """All given inputs as tensors."""
        return [self.as_tensor(v) for v in self.inputs if v is not None]

    def type_of(self, expr: Expr) -> TensorType:
        """The type of a tensor expression."""
        ty = expr.ty
        if not isinstance(ty, TensorType):
            raise self.fail(f"expected a tensor, got {ty}")
        return ty

    def rank(self, expr: Expr) -> int:
        """The number of dimensions; fails if unknown."""
        ndim = self.type_of(expr).ndim
        if ndim < 0:
            raise self.fail("the number of dimensions of an input is unknown")
        return ndim

    def dims(self, expr: Expr) -> tuple[Expr, ...]:
        """The dimensions; fails if unknown."""
        dims = self.type_of(expr).dims
        if dims is None:
            raise self.fail(
                f"the shape of an input is unknown at import time ({expr.ty})",
                hint="give the input shapes: from_onnx(model, shape_dict={...})",
            )
        return dims

    def host(self, index: int, what: str) -> HostValue:
        """Input `index`, which must be known at import time."""
        found = host_value(self.value(index))
        if found is None:
            raise self.fail(
                f"{what} (input {index}) must be known at import time, but it is computed by the "
                "model from its data"
            )
        return found

    def ints(self, index: int, what: str) -> list[int]:
        """Input `index` as constant integers."""
        array = self.host(index, what).as_array()
        if array is None:
            raise self.fail(f"{what} (input {index}) must be constant, but it depends on a shape")
        return [int(v) for v in array.reshape(-1)]

    def array(self, index: int, what: str) -> np.ndarray[Any, Any]:
        """Input `index` as a constant array."""
        value = self.value(index)
        if isinstance(value, Constant):
            return value.data.numpy()
        array = value.as_array() if isinstance(value, HostValue) else None
        if array is None:
            raise self.fail(f"{what} (input {index}) must be a constant")
        return array


def _dimension(value: Any) -> Expr:
    return IntImm("int64", value) if isinstance(value, int) else value


def constant_data(value: Any) -> np.ndarray[Any, Any] | None:
    """The array of a constant, or None for anything else."""
    return value.data.numpy() if isinstance(value, Constant) else None


def host_value(value: Value) -> HostValue | None:
    """The value as one known at import time: host values, and small constant tensors."""
    if isinstance(value, HostValue):
        return value
    if isinstance(value, Constant):
        return HostValue.from_array(value.data.numpy())
    return None
