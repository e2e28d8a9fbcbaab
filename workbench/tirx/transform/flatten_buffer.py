"""FlattenBuffer: accesses get one index, the offset in memory."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import rewrite
from workbench.ir.expr import Call, Expr, IntImm, Op, Var
from workbench.ir.span import made_from
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.buffer import BufferType, flat_offset
from workbench.tirx.expr import BufferLoad, Ramp
from workbench.tirx.function import PrimFunc
from workbench.tirx.op.builtin import buffer_data
from workbench.tirx.stmt import (
    AllocBuffer,
    BufferStore,
    DeclBuffer,
    SBlockRealize,
    SeqStmt,
    Stmt,
)

#: Offsets that may exceed this are computed in 64 bits.
_MAX_INT32 = (1 << 31) - 1


@define_pass("tirx.FlattenBuffer", level="function", on=PrimFunc)
def FlattenBuffer(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Makes every buffer one-dimensional; strides and offsets go into the index.

    Before: `A: T.Buffer((128, 64))`, `A[i, j] = 0`
    After: `A_1 = T.decl_buffer((8192,), data=A.data)`, `A_1[i * 64 + j] = 0`
    """
    flat = _Flattener(func)
    prelude: list[Stmt] = []
    for param in func.params:
        if param.ty.__family__ == "buffer" and not _is_flat(param.ty):
            new = flat.flatten(param, param.name + "_1")
            prelude.append(DeclBuffer(new, buffer_data(param), span=made_from(param)))
    flat.params = {id(p) for p in func.params}
    body = rewrite(
        func.body,
        {
            BufferLoad: flat.access,
            BufferStore: flat.access,
            AllocBuffer: flat.declared,
            DeclBuffer: flat.declared,
            Call: flat.call,
            SBlockRealize: flat.block,
        },
    )
    return func.with_body(SeqStmt.flatten(prelude, body) if prelude else body)


def _is_flat(ty: BufferType) -> bool:
    offset = ty.elem_offset
    no_offset = offset is None or (isinstance(offset, IntImm) and offset.value == 0)
    unit = not ty.strides or (isinstance(ty.strides[0], IntImm) and ty.strides[0].value == 1)
    return len(ty.shape) == 1 and unit and no_offset


def flat_size(ty: BufferType) -> Expr:
    """Number of elements a buffer spans from the start of its memory."""
    total: Any = IntImm("int32", 1)
    if ty.strides:
        for extent, stride in zip(ty.shape, ty.strides, strict=True):
            total = op.add(total, op.multiply(op.subtract(extent, 1), stride))
    else:
        total = _product(ty.shape)
    if ty.elem_offset is not None:
        total = op.add(total, ty.elem_offset)
    return total


def _product(shape: Any) -> Expr:
    total: Any = IntImm("int32", 1)
    count = 1
    for extent in shape:
        count *= extent.value if isinstance(extent, IntImm) else 1
    if count > _MAX_INT32:
        total = IntImm("int64", 1)
    for extent in shape:
        total = op.multiply(total, extent)
    return total


class _Flattener:
    """The flat buffers by the buffers they replace."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.new: dict[int, Var] = {}
        self.old: list[Var] = []
        self.params: set[int] = set()

    def flatten(self, buffer: Var, name: str) -> Var:
        """The one-dimensional buffer of `buffer`."""
        found = self.new.get(id(buffer))
        if found is None:
            ty: BufferType = buffer.ty
            flat = BufferType(
                ty.dtype,
                ty.storage_scope,
                (flat_size(ty),),
                data_alignment=ty.data_alignment,
                offset_factor=ty.offset_factor,
            )
            found = self.new[id(buffer)] = Var(name, flat, buffer.span)
            self.old.append(buffer)
        return found

    def access(self, node: Any) -> Any:
        buffer: Var = node.buffer
        if _is_flat(buffer.ty):
            return node
        new = self.flatten(buffer, buffer.name)
        return node.replace(buffer=new, indices=(self.offset(node),))

    def offset(self, node: Any) -> Expr:
        """The index into the flat buffer."""
        ty: BufferType = node.buffer.ty
        indices = list(node.indices)
        size = flat_size(ty)
        wide = isinstance(size, IntImm) and size.value > _MAX_INT32
        if wide:
            indices = [op.cast("int64", i) for i in indices]
        last = indices[-1] if indices else None
        contiguous = not ty.strides or (
            isinstance(ty.strides[-1], IntImm) and ty.strides[-1].value == 1
        )
        if isinstance(last, Ramp) and contiguous:
            # Keep the access a ramp: only its base moves.
            base = flat_offset(node.buffer, [*indices[:-1], last.base])
            return Ramp(base, op.cast(base.dtype, last.stride), last.lanes)
        return flat_offset(node.buffer, indices)

    def declared(self, node: Any) -> Any:
        if _is_flat(node.buffer.ty):
            return node
        new = self.flatten(node.buffer, node.buffer.name)
        return node.replace(buffer=new)

    def call(self, node: Call) -> Any:
        """Buffers handed to calls: allocated ones are replaced, parameters keep their identity."""
        args = tuple(
            self.flatten(a, a.name)
            if isinstance(a, Var)
            and a.ty.__family__ == "buffer"
            and id(a) not in self.params
            and not _is_flat(a.ty)
            else a
            for a in node.args
        )
        if all(a is b for a, b in zip(args, node.args, strict=True)):
            return node
        if node.op is Op.get("tirx.buffer_data"):
            return buffer_data(args[0])
        return node.replace(args=args)

    def block(self, node: SBlockRealize) -> Generator[Any, Any, Any]:
        raise WorkbenchError(
            f"FlattenBuffer: block {node.block.name_hint!r} is still there",
            nodes=(node,),
            root=self.func,
            hint="run LowerOpaqueBlock first",
        )
        yield
