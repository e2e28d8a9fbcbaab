"""The functions of `T` that make buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.core.structural import structural_equal
from workbench.ir.expr import Var, as_expr
from workbench.script.error import ScriptError
from workbench.tirx import expr as nodes
from workbench.tirx import op
from workbench.tirx import stmt as S
from workbench.tirx.buffer import BufferType
from workbench.tirx.script.state import state
from workbench.tirx.script.values import (
    BufferSpec,
    FreeBuffer,
    Pending,
    Scalar,
    annotations_of,
    region_of,
    type_of,
    value_of,
)


def Buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    layout: Any = None,
    allocated_addr: Any = (),
) -> FreeBuffer:
    """A buffer parameter (as an annotation) or a buffer from outside (`A = T.Buffer(...)`)."""
    return FreeBuffer(
        BufferSpec(
            shape,
            dtype,
            strides=strides,
            elem_offset=elem_offset,
            scope=scope,
            align=align,
            offset_factor=offset_factor,
            layout=plain_layout(layout),
            allocated_addr=allocated_addr,
        )
    )


def plain_layout(layout: Any) -> Any:
    """A layout; the row-major one that TVM writes for every buffer is no layout here."""
    return None if isinstance(layout, TileLayout) and layout.is_row_major() else layout


class TileLayout:
    """`T.TileLayout(T.S[shape:strides])`, as TVM writes it; only the row-major one is known."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def is_row_major(self) -> bool:
        """Whether the strides are those of a compact row-major buffer."""
        shape, strides = self.spec
        expected: Any = 1
        for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
            found, want = as_expr(stride), as_expr(expected)
            same = found.dtype == want.dtype and structural_equal(found, want)
            if not same and getattr(found, "value", found) != getattr(want, "value", want):
                return False
            expected = (
                as_expr(extent) * expected
                if not isinstance(expected, int)
                else (extent * expected if isinstance(extent, int) else as_expr(extent) * expected)
            )
        return True


class LayoutWord:
    """`T.S[(4, m):(m, 1)]`: shape and strides of a layout."""

    def __getitem__(self, item: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        if isinstance(item, slice):
            start = item.start if isinstance(item.start, tuple) else (item.start,)
            stop = item.stop if isinstance(item.stop, tuple) else (item.stop,)
            return start, stop
        raise ScriptError("only layouts of the form T.S[shape:strides] are known")


class _Made(Pending):
    """A buffer that is defined by a statement or belongs to a block."""

    def __init__(self, spec: BufferSpec, place: Callable[[Var], Any]) -> None:
        self.spec = spec
        self.place = place

    def bind(self, name: str) -> Any:
        buffer = self.spec.make(name, state("a buffer").resolve)
        self.place(buffer)
        return buffer


def alloc_buffer(
    shape: Any,
    dtype: Any = "float32",
    scope: str = "global",
    *,
    strides: Any = None,
    elem_offset: Any = None,
    align: int = -1,
    offset_factor: int = 0,
    annotations: Mapping[str, Any] | None = None,
    layout: Any = None,
    allocated_addr: Any = (),
    data: Any = None,
) -> Pending:
    """Allocates a buffer for the statements that follow."""
    if data is not None:
        raise ScriptError("alloc_buffer has no data", hint="T.decl_buffer(shape, data=...)")
    spec = BufferSpec(
        shape,
        dtype,
        strides=strides,
        elem_offset=elem_offset,
        scope=scope,
        align=align,
        offset_factor=offset_factor,
        layout=plain_layout(layout),
        allocated_addr=allocated_addr,
    )
    here = state("T.alloc_buffer")
    return _Made(spec, lambda b: here.emit(S.AllocBuffer(b, annotations_of(annotations))))


def alloc_local(shape: Any, dtype: Any = "float32", **options: Any) -> Pending:
    """`T.alloc_buffer` in local memory."""
    return alloc_buffer(shape, dtype, "local", **options)


def alloc_shared(shape: Any, dtype: Any = "float32", **options: Any) -> Pending:
    """`T.alloc_buffer` in shared memory."""
    return alloc_buffer(shape, dtype, "shared", **options)


_NO_DATA = object()


def decl_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = _NO_DATA,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    align: int = -1,
    offset_factor: int = 0,
    layout: Any = None,
    allocated_addr: Any = (),
) -> Pending:
    """A buffer over the memory that `data` points to; without `data`, an allocation."""
    if data is _NO_DATA:
        return alloc_buffer(
            shape,
            dtype,
            scope,
            strides=strides,
            elem_offset=elem_offset,
            align=align,
            offset_factor=offset_factor,
            layout=layout,
            allocated_addr=allocated_addr,
        )
    pointer = None if data is None else value_of(data)
    if not scope:
        scope = getattr(getattr(pointer, "ty", None), "storage_scope", "") or "global"
    spec = BufferSpec(
        shape,
        dtype,
        strides=strides,
        elem_offset=elem_offset,
        scope=scope,
        align=align,
        offset_factor=offset_factor,
        layout=plain_layout(layout),
        allocated_addr=allocated_addr,
    )
    here = state("T.decl_buffer")
    return _Made(spec, lambda b: here.emit(S.DeclBuffer(b, pointer)))


def view_of(buffer: Var, shape: Sequence[Any]) -> Pending:
    """`A.view(16, 4)`: a buffer of another shape over the same memory."""
    dims = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return decl_buffer(dims, str(buffer.dtype), op.buffer_data(buffer), scope=buffer.scope())


def sblock_alloc_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    layout: Any = None,
    allocated_addr: Any = (),
) -> Pending:
    """A buffer that the innermost block (or the function's root block) allocates."""
    spec = BufferSpec(
        shape,
        dtype,
        strides=strides,
        elem_offset=elem_offset,
        scope=scope,
        align=align,
        offset_factor=offset_factor,
        layout=plain_layout(layout),
        allocated_addr=allocated_addr,
    )
    here = state("T.sblock_alloc_buffer")
    place = here.blocks[-1].allocations if here.blocks else here.root_allocations
    return _Made(spec, place.append)


def match_buffer(
    param: Any,
    shape: Any = None,
    dtype: Any = None,
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    align: int = -1,
    offset_factor: int = 0,
    layout: Any = None,
    allocated_addr: Any = (),
) -> Pending:
    """A buffer for a parameter of type `T.handle`, or a view of a region inside a block."""
    here = state("T.match_buffer")
    is_param = any(param is p for p in here.params)
    region = None if is_param else region_of(param)
    if shape is None:
        if region is None:
            raise ScriptError("T.match_buffer: the shape of a parameter has to be given")
        shape = [r.extent for r in region.region]
    if dtype is None:
        dtype = "float32" if region is None else str(region.buffer.dtype)
    if not scope:
        scope = "global"
    spec = BufferSpec(
        shape,
        dtype,
        strides=strides,
        elem_offset=elem_offset,
        scope=scope,
        align=align,
        offset_factor=offset_factor,
        layout=plain_layout(layout),
        allocated_addr=allocated_addr,
    )
    if is_param:

        def replace(buffer: Var) -> None:
            here.params[:] = [buffer if p is param else p for p in here.params]

        return _Made(spec, replace)
    assert region is not None
    block = here.block("T.match_buffer")
    return _Made(spec, lambda b: block.matches.append(S.MatchBufferRegion(b, region)))


def scalar(name: str, ty: Any, value: Any = None) -> Scalar:
    """`x: T.int32 = value`: one element of local memory, written as a variable."""
    here = state("a scalar variable")
    dtype = str(type_of(ty).dtype)  # type: ignore[attr-defined]
    made = BufferSpec((1,), dtype, scope="local").make(name, here.resolve)
    here.emit(S.AllocBuffer(made))
    if value is not None:
        here.emit(store(made, (0,), value))
    return Scalar(made)


def store(buffer: Var, indices: Sequence[Any], value: Any, predicate: Any = None) -> S.BufferStore:
    """`buffer[indices] = value`; a Python number takes the type of the buffer."""
    exprs = [value_of(i) for i in indices]
    want = nodes.loaded_type(buffer, exprs)
    if isinstance(value, (int, float)):
        value = op.const(value, want.dtype)
    else:
        value = value_of(value)
        if value.ty != want:
            value = op.cast(want.dtype, value)
    return S.BufferStore(buffer, value, exprs, predicate)


def is_buffer(value: Any) -> bool:
    """Whether a value is a buffer variable."""
    return isinstance(value, Var) and isinstance(value.ty, BufferType)
