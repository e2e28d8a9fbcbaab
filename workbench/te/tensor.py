"""Tensors and the operations that make them: the nodes of a tensor expression graph.

A `Tensor` is output number `value_index` of an operation. It is a plain object compared by
identity: a load of it inside an expression (`ProducerLoad`) is a leaf, so rewriting the expression
of one operation does not touch the operations it reads.
Read next: `te.operation` (building), `te.create_primfunc` (to loops).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ir.attrs import Attrs, as_attrs
from workbench.ir.expr import Expr, IntImm, Var, as_expr
from workbench.runtime.dtype import DataType
from workbench.tirx.expr import IterVar, ProducerLoad
from workbench.tirx.stmt import Stmt

#: What Python's operators on whole tensors build ("add" …); `workbench.topi` fills it.
tensor_operators: dict[str, Callable[..., Any]] = {}


def _operate(name: str, *args: Any) -> Any:
    function = tensor_operators.get(name)
    if function is None:
        raise WorkbenchError(
            f"arithmetic on whole tensors ({name}) is defined by workbench.topi",
            hint="import workbench.topi, or write te.compute(...) with indices",
        )
    return function(*args)


class DataProducer:
    """Base of what can be loaded from by indices (TVM's name)."""

    __slots__ = ()


class Tensor(DataProducer):
    """A multi-dimensional value: `A[i, j]` and `A(i, j)` are its elements.

    Attributes
    ----------
    shape : tuple of expressions. dtype : element type.
    op : the operation that makes it. value_index : which of its outputs it is.
    """

    __slots__ = ("dtype", "op", "shape", "value_index")

    def __init__(self, shape: Any, dtype: str, op: Operation, value_index: int) -> None:
        self.shape: tuple[Expr, ...] = tuple(map(as_expr, shape))
        self.dtype = DataType(dtype)
        self.op = op
        self.value_index = value_index

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def name(self) -> str:
        """The operation's name, with `.vN` when it has several outputs."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}.v{self.value_index}"

    def __call__(self, *indices: Any) -> ProducerLoad:
        """The element at `indices`.

        Raises WorkbenchError for a wrong number of indices, an index that is no integer, or a
        constant one that is outside.
        """
        if len(indices) == 1 and isinstance(indices[0], (tuple, list)):
            indices = tuple(indices[0])
        if len(indices) != self.ndim:
            raise WorkbenchError(
                f"tensor {self.name} has {self.ndim} dimensions, got {len(indices)} indices "
                f"({', '.join(map(str, indices))})"
            )
        load = ProducerLoad(self, indices)
        for axis, (index, extent) in enumerate(zip(load.indices, self.shape, strict=True)):
            if not index.dtype.startswith(("int", "uint", "bool")):
                raise WorkbenchError(
                    f"tensor {self.name}: expected an integer as index of dimension {axis}, got "
                    f"{index} of type {index.dtype}"
                )
            # (Of an empty dimension no element is computed.)
            if isinstance(index, IntImm) and isinstance(extent, IntImm) and extent.value:
                if not 0 <= index.value < extent.value:
                    raise WorkbenchError(
                        f"tensor {self.name}: index {index.value} is outside of dimension {axis}, "
                        f"which has {extent.value} elements"
                    )
        return load

    def __getitem__(self, indices: Any) -> Any:
        items = indices if isinstance(indices, tuple) else (indices,)
        return TensorSlice(self, items) if len(items) < self.ndim else self(*items)

    __iter__ = None

    def __repr__(self) -> str:
        dims = ", ".join(map(str, self.shape))
        return f"te.Tensor({self.name}: ({dims}{',' if self.ndim == 1 else ''}), {self.dtype})"

    def __add__(self, other: Any) -> Any:
        return _operate("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _operate("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _operate("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _operate("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _operate("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _operate("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _operate("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operate("divide", other, self)

    def __neg__(self) -> Any:
        return _operate("negative", self)

    def astype(self, dtype: str) -> Any:
        """The tensor converted to `dtype`."""
        return _operate("cast", self, dtype)


class TensorSlice:
    """A tensor with its first indices given: `A[i]`, to be indexed further."""

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: Tensor, indices: tuple[Any, ...]) -> None:
        self.tensor = tensor
        self.indices = indices

    def __getitem__(self, indices: Any) -> Any:
        more = indices if isinstance(indices, tuple) else (indices,)
        return self.tensor[self.indices + more]

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return self.tensor.dtype

    def __as_expr__(self) -> Expr:
        return self.tensor(*self.indices)


class Operation:
    """Base of the operations. `tag` says what kind it is ("injective"), `attrs` are annotations."""

    __slots__ = ("_outputs", "attrs", "name", "tag")

    def __init__(self, name: str, tag: str, attrs: Any) -> None:
        self.name = name
        self.tag = tag
        self.attrs: Attrs = as_attrs(attrs)
        self._outputs: tuple[Tensor, ...] = ()

    @property
    def num_outputs(self) -> int:
        """Number of tensors it makes."""
        return len(self._outputs)

    def output(self, index: int) -> Tensor:
        """The tensor number `index`."""
        return self._outputs[index]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """All tensors it makes."""
        return self._outputs

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors it reads, in the order of their first use."""
        return ()

    def __repr__(self) -> str:
        return f"te.{type(self).__name__}({self.name!r})"


class PlaceholderOp(Operation):
    """An input."""

    __slots__ = ("dtype", "shape")

    def __init__(self, name: str, shape: Any, dtype: str) -> None:
        super().__init__(name, "", None)
        self.shape = tuple(map(as_expr, shape))
        self.dtype = DataType(dtype)
        self._outputs = (Tensor(self.shape, self.dtype, self, 0),)


class ComputeOp(Operation):
    """Elements by a formula: `body[v]` is the element of output `v` at the values of `axis`."""

    __slots__ = ("_inputs", "axis", "body", "reduce_axis")

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Any,
        axis: Sequence[IterVar],
        reduce_axis: Sequence[IterVar],
        body: Sequence[Expr],
        inputs: Sequence[Tensor],
    ) -> None:
        super().__init__(name, tag, attrs)
        self.axis = tuple(axis)
        self.reduce_axis = tuple(reduce_axis)
        self.body = tuple(body)
        self._inputs = tuple(inputs)
        shape = [iv.dom.extent for iv in self.axis if iv.dom is not None]
        self._outputs = tuple(Tensor(shape, e.dtype, self, i) for i, e in enumerate(self.body))

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors it reads."""
        return self._inputs


class ExternOp(Operation):
    """Outputs by a statement over buffers."""

    __slots__ = ("body", "input_placeholders", "inputs", "output_placeholders")

    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Any,
        inputs: Sequence[Tensor],
        input_placeholders: Sequence[Var],
        output_placeholders: Sequence[Var],
        body: Stmt,
    ) -> None:
        super().__init__(name, tag, attrs)
        self.inputs = tuple(inputs)
        self.input_placeholders = tuple(input_placeholders)
        self.output_placeholders = tuple(output_placeholders)
        self.body = body
        self._outputs = tuple(
            Tensor(b.shape, b.dtype, self, i) for i, b in enumerate(self.output_placeholders)
        )

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors it reads."""
        return self.inputs
