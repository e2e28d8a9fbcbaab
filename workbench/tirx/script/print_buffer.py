"""How the facts of a buffer are written: `T.alloc_buffer((n, 4), "float16", scope="shared")`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Expr, IntImm, Var
from workbench.script.doc import Doc, call, literal, seq
from workbench.script.printer import Printer
from workbench.tirx.buffer import DEFAULT_ALIGNMENT, BufferType


def symbols(value: Any) -> list[Var]:
    """The variables of an expression, or of several."""
    return list(iter_nodes(value, Var))


def index_dtype(ty: BufferType) -> str:
    """The data type of a buffer's offsets where nothing else says it."""
    return str(ty.shape[0].dtype) if ty.shape else "int32"


def implicit_offset(ty: BufferType, p: Printer) -> bool:
    """Whether the buffer brings its own variable for its offset."""
    offset = ty.elem_offset
    return isinstance(offset, Var) and not p.knows(offset) and str(offset.dtype) == index_dtype(ty)


def own_stride(stride: Expr, p: Printer) -> bool:
    """Whether the buffer brings its own variable for a stride."""
    return isinstance(stride, Var) and not p.knows(stride) and str(stride.dtype) == "int32"


def _name(value: Expr) -> str:
    assert isinstance(value, Var)
    return value.name


def buffer_form(
    name: str,
    ty: BufferType,
    p: Printer,
    *args: Doc,
    shape: Sequence[Doc] | None = None,
    data: Doc | None = None,
    with_dtype: bool = False,
    annotations: Any = None,
    default_scope: str = "global",
) -> Doc:
    """`T.<name>(…)` with all facts of the type that are not the default."""
    p.used_prefixes.add("T")
    dims = [p.doc(s) for s in ty.shape] if shape is None else list(shape)
    positional = [*args, seq(dims, "(", ")")]
    if with_dtype or ty.dtype != "float32":
        positional.append(literal(str(ty.dtype)))
    strides = None
    if ty.strides:
        shown = [literal(_name(s)) if own_stride(s, p) else p.doc(s) for s in ty.strides]
        strides = seq(shown, "(", ")")
    offset = None
    factor = None if ty.offset_factor == 1 else literal(ty.offset_factor)
    if ty.elem_offset is not None:
        if implicit_offset(ty, p):
            factor = literal(ty.offset_factor)
        else:
            zero = isinstance(ty.elem_offset, IntImm) and ty.elem_offset.value == 0
            offset = p.attribute(ty.elem_offset) if zero else p.doc(ty.elem_offset)
    elif factor is not None:
        offset = literal(0)  # a factor alone would make a variable
    align = None if ty.data_alignment == DEFAULT_ALIGNMENT else literal(ty.data_alignment)
    where = None
    if ty.storage_scope != default_scope:
        where = literal(ty.storage_scope)
    layout = None if ty.layout is None else p.doc(ty.layout)
    address = None
    if ty.allocated_addr:
        address = seq([p.doc(a) for a in ty.allocated_addr])
    return call(
        f"T.{name}",
        *positional,
        data=data,
        strides=strides,
        elem_offset=offset,
        scope=where,
        align=align,
        offset_factor=factor,
        annotations=None if not annotations else p.mapping(annotations),
        layout=layout,
        allocated_addr=address,
    )


def define_buffer(buffer: Var, p: Printer) -> str:
    """Names a buffer, and after it the offset and strides it brings."""
    ty: BufferType = buffer.ty
    implicit = implicit_offset(ty, p)
    name = p.define(buffer)
    if implicit:
        p.bind(ty.elem_offset, f"{name}.elem_offset")
    for position, stride in enumerate(ty.strides):
        if own_stride(stride, p):
            p.bind(stride, f"{name}.strides[{position}]")
    return name


def is_scalar_buffer(ty: BufferType) -> bool:
    """Whether an allocation is written as a scalar variable: one element in local memory."""
    shape = ty.shape
    return (
        ty.storage_scope == "local"
        and len(shape) == 1
        and isinstance(shape[0], IntImm)
        and shape[0].value == 1
        and shape[0].dtype == "int32"
        and not ty.strides
        and ty.elem_offset is None
        and ty.data_alignment == DEFAULT_ALIGNMENT
        and ty.offset_factor == 1
        and ty.layout is None
        and not ty.allocated_addr
        and ty.dtype.lanes == 1
        and not ty.dtype.is_handle
    )
