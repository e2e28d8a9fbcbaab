"""Buffers. A buffer is a variable whose type is a `BufferType` (as in TVM 0.26)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from workbench.core.node import field
from workbench.core.structural import structural_equal
from workbench.ir.expr import Expr, IntImm, Range, Var, as_expr, operators
from workbench.ir.span import Span
from workbench.ir.type import PointerType, Type, prim_type
from workbench.runtime.dtype import DataType
from workbench.tirx.expr import Add, BufferLoad, Ramp
from workbench.tirx.stmt import BufferRegion, BufferStore

#: Alignment of buffers the compiler allocates, and the one promised for arguments, in bytes.
DEFAULT_ALIGNMENT = 64


def _shape(value: Any) -> tuple[Expr, ...]:
    if value is None:
        return ()
    if isinstance(value, (int, Expr)):
        value = (value,)
    return tuple(map(as_expr, value))


class BufferType(Type):
    """The type of a buffer.

    `shape` and `strides` are in elements (no strides: compact row-major), `elem_offset` in
    elements, `data_alignment` in bytes. `layout` and `allocated_addr` are carried for TVM's tile
    programs.
    """

    __family__: ClassVar[str] = "buffer"
    dtype: DataType = field(converter=DataType)
    storage_scope: str = "global"
    shape: tuple[Expr, ...] = field(converter=_shape, default=())
    strides: tuple[Expr, ...] = field(converter=_shape, default=())
    elem_offset: Expr | None = field(converter=as_expr, default=None)
    data_alignment: int = DEFAULT_ALIGNMENT
    offset_factor: int = 1
    layout: Any = None
    allocated_addr: tuple[Expr, ...] = field(converter=_shape, default=())

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


#: In TVM 0.26 a buffer is a variable; the name remains for annotations and `isinstance`.
Buffer = Var


def is_buffer_var(value: Any) -> bool:
    """Whether `value` is a variable of buffer type."""
    return isinstance(value, Var) and isinstance(value.ty, BufferType)


def decl_buffer(
    shape: Any,
    dtype: str | None = None,
    name: str = "buffer",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    span: Span | None = None,
    layout: Any = None,
) -> Var:
    """Makes a buffer variable.

    Parameters
    ----------
    shape, strides : sequences of integers or expressions, in elements.
    dtype : the element type, float32 if left out.
    scope : storage scope; "" means "global".
    data_alignment : in bytes; -1 means 64. offset_factor : 0 means 1.
    """
    ty = BufferType(
        dtype or "float32",
        scope or "global",
        shape,
        strides,
        elem_offset,
        DEFAULT_ALIGNMENT if data_alignment <= 0 else data_alignment,
        offset_factor if offset_factor > 0 else 1,
        layout,
    )
    return Var(name, ty, span)


def buffer_data_pointer_type(buffer: Var) -> PointerType:
    """The type of the pointer to a buffer's data."""
    return PointerType(prim_type(buffer.ty.dtype), buffer.ty.storage_scope)


def _index(buffer: Var, index: Any) -> Any:
    """`buffer[i, j]` loads; with a slice in any place it is a `BufferRegion`.

    A slice with a step is a vector access: `B[i, 0:8:1]` is a Ramp in the last place.
    """
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, slice) for i in items):
        if all(not isinstance(i, slice) or i.step is not None for i in items):
            out = []
            for i in items:
                if isinstance(i, slice):
                    step = as_expr(i.step)
                    start = as_expr(0 if i.start is None else i.start)
                    lanes = _span_length(start, i.stop, int(i.step))
                    out.append(Ramp(start, step, lanes))
                else:
                    out.append(i)
            return BufferLoad(buffer, out)
        region = []
        for i, extent in zip(items, buffer.shape, strict=False):
            if isinstance(i, slice):
                start = as_expr(0 if i.start is None else i.start)
                stop = as_expr(extent if i.stop is None else i.stop)
                region.append(Range.from_min_extent(start, _difference(stop, start)))
            else:
                region.append(Range.from_min_extent(as_expr(i), _one(as_expr(i))))
        region.extend(Range(extent) for extent in buffer.shape[len(items) :])
        return BufferRegion(buffer, region)
    return BufferLoad(buffer, items)


def _one(like: Expr) -> IntImm:
    return IntImm(like.dtype, 1)


def _difference(stop: Expr, start: Expr) -> Expr:
    """stop - start, folded where the result is evident from the shape of the expressions."""
    if isinstance(stop, Add) and structural_equal(stop.a, start):
        return stop.b
    if isinstance(start, IntImm) and start.value == 0:
        return stop
    return operators["prim"]["subtract"](stop, start)


def _span_length(start: Any, stop: Any, step: int) -> int:
    length = _difference(as_expr(stop), as_expr(start))
    if not isinstance(length, IntImm):
        raise TypeError(f"a vector slice needs a constant length, got {length}")
    return -(-length.value // step)


def _vload(buffer: Var, begin: Any, dtype: str | None = None, predicate: Any = None) -> Any:
    return BufferLoad(buffer, _vector_index(buffer, begin, dtype), predicate)


def _vstore(buffer: Var, begin: Any, value: Any, predicate: Any = None) -> Any:
    value = as_expr(value)
    return BufferStore(buffer, value, _vector_index(buffer, begin, value.dtype), predicate)


def _vector_index(buffer: Var, begin: Any, dtype: str | None) -> list[Expr]:
    items = list(begin) if isinstance(begin, (tuple, list)) else [begin]
    items = [as_expr(i) for i in items]
    lanes = DataType(dtype).lanes if dtype else 1
    if lanes > 1 and items[-1].dtype.lanes == 1:
        items[-1] = Ramp(items[-1], IntImm(items[-1].dtype, 1), lanes)
    return items


def flat_offset(buffer: Var, indices: Sequence[Any]) -> Expr:
    """The element offset of `indices`: row-major or by strides, plus the buffer's own offset."""
    add, mul = operators["prim"]["add"], operators["prim"]["multiply"]
    ty: BufferType = buffer.ty
    index = [as_expr(i) for i in indices]
    if len(index) != ty.ndim:
        raise TypeError(f"buffer {buffer.name} has {ty.ndim} dimensions, got {len(index)} indices")
    if ty.strides:
        total: Any = as_expr(0)
        for i, stride in zip(index, ty.strides, strict=True):
            total = add(total, mul(i, stride))
    else:
        total = as_expr(0)
        for position, (i, extent) in enumerate(zip(index, ty.shape, strict=True)):
            total = i if position == 0 else add(mul(total, extent), i)
    return add(total, ty.elem_offset) if ty.elem_offset is not None else total


operators["buffer"].update(
    getitem=_index, vload=_vload, vstore=_vstore, offset_of=lambda b, i: [flat_offset(b, i)]
)
