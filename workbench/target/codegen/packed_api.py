"""The tvm-ffi entry of a function: checks its arguments, unpacks them, calls the raw entry.

    int __tvm_ffi_NAME(void* self, const Any* args, int32 count, Any* result)

Checked, in this order: the number of arguments; for each its kind, then for tensors data type,
dimensions, device, sizes (a symbolic size is bound where it first appears, and compared after),
compact strides, alignment of the data to its elements. The first mistake becomes one error that
names the argument, what was expected and what was found. The work is done by `arguments`, which the
entry gives constant tables; only sizes that are computed from others (`n * 2`) are compared here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.ir.expr import Expr, IntImm, Var
from workbench.runtime.dtype import DataType
from workbench.target.codegen import arguments, scalar_ops
from workbench.target.codegen.emitter import FunctionEmitter, ModuleEmitter, Scalar, symbol
from workbench.target.codegen.expressions import index
from workbench.target.codegen.llvm_types import buffer_type, item_bytes, memory
from workbench.target.codegen.machine import CodegenError
from workbench.target.codegen.packed_calls import BOOL, FLOAT, INT, POINTER
from workbench.target.codegen.signature import Signature, describe, extent_text
from workbench.tirx.buffer import is_buffer_var

_I64 = DataType("int64")
_F64 = DataType("float64")


@dataclass
class _Tables:
    """The constant tables of one entry, and the slots in which sizes are found."""

    module: ModuleEmitter
    signature: Signature
    slots: dict[int, int] = field(default_factory=dict)
    #: Offsets in bytes are found in these slots: (variable, bytes of an element).
    offsets: list[tuple[Var, int]] = field(default_factory=list)
    #: Sizes compared after everything is bound: (position, axis, extent, slot of what was found).
    late: list[tuple[int, int, Expr, int]] = field(default_factory=list)
    count: int = 0

    def new_slot(self) -> int:
        """A slot for one number."""
        self.count += 1
        return self.count - 1

    def text(self, value: str) -> str:
        """A pointer to a text."""
        return self.module.string(value)

    def dimension(self, position: int, axis: int, extent: Expr, *, strides: bool) -> str:
        """The table entry of an extent or stride."""
        name = f"ptr {self.text(extent_text(extent))}"
        if isinstance(extent, IntImm):
            return f"i64 {arguments.CONST}, i64 {extent.value}, {name}"
        if isinstance(extent, Var) and extent not in self.signature.params:
            slot = self.slots.get(id(extent))
            if slot is not None:
                return f"i64 {arguments.SAME}, i64 {slot}, {name}"
            slot = self.slots[id(extent)] = self.new_slot()
            return f"i64 {arguments.BIND}, i64 {slot}, {name}"
        if strides:
            return f"i64 {arguments.SKIP}, i64 0, {name}"
        slot = self.new_slot()
        self.late.append((position, axis, extent, slot))
        return f"i64 {arguments.BIND}, i64 {slot}, {name}"

    def table(self, position: int, extents: tuple[Expr, ...], *, strides: bool) -> str:
        """A table of extents or strides; null for none."""
        if not extents:
            return "null"
        rows = [
            f"{{ i64, i64, ptr }} {{ {self.dimension(position, axis, e, strides=strides)} }}"
            for axis, e in enumerate(extents)
        ]
        return self.module.table(f"[{len(rows)} x {{ i64, i64, ptr }}] [{', '.join(rows)}]")

    def parameter(self, position: int, param: Var) -> str:
        """The table entry of a parameter."""
        kind, word, ndim, item, offset = arguments.HANDLE, 0, 0, 8, -1
        dims = strides = "null"
        dtype: DataType = param.dtype
        if is_buffer_var(param):
            ty = buffer_type(param)
            kind, ndim = arguments.TENSOR, len(ty.shape)
            word = int(dtype.type_code) | dtype.bits << 8 | dtype.lanes << 16
            item = item_bytes(dtype)
            dims = self.table(position, ty.shape, strides=False)
            strides = self.table(position, ty.strides, strides=True)
            first = ty.elem_offset
            if isinstance(first, Var) and id(first) not in self.slots:
                offset = self.slots[id(first)] = self.new_slot()
                self.offsets.append((first, item * dtype.lanes))
        elif dtype.is_float:
            kind = arguments.FLOAT
        elif dtype.is_bool:
            kind = arguments.BOOL
        elif not dtype.is_handle:
            kind, word, ndim = arguments.INTEGER, dtype.bits, int(dtype.is_int or dtype.bits == 64)
        return (
            f"ptr {self.text(param.name)}, ptr {self.text(describe(param))}, i32 {kind}, "
            f"i32 {word}, i32 {ndim}, i32 {item}, ptr {dims}, ptr {strides}, i64 {offset}"
        )


_PARAMETER = "{ ptr, ptr, i32, i32, i32, i32, ptr, ptr, i64 }"


def emit_packed_entry(module: ModuleEmitter, signature: Signature) -> None:
    """Adds the tvm-ffi entry of a function to its module."""
    fn = FunctionEmitter(
        module, signature.packed_symbol, "ptr %self, ptr %args, i32 %count, ptr %result"
    )
    tables = _Tables(module, signature)
    params = signature.params
    rows = [f"{_PARAMETER} {{ {tables.parameter(n, p)} }}" for n, p in enumerate(params)]
    table = module.table(f"[{len(rows)} x {_PARAMETER}] [{', '.join(rows)}]") if rows else "null"
    listed = module.string(", ".join(f"{p.name}: {describe(p)}" for p in params))
    out = fn.alloca(f"[{max(1, len(params))} x i64]", "out")
    slots = fn.alloca(f"[{max(1, tables.count)} x i64]", "sizes")
    arguments.declare(module)
    code = fn.op(
        f"call i32 @{arguments.CHECK}(ptr {module.string(signature.name)}, ptr {table}, "
        f"i32 {len(params)}, ptr {listed}, ptr %args, i32 %count, ptr {out}, ptr {slots})"
    )
    fn.check_status(code)
    args = [_unpack(fn, position, p, out) for position, p in enumerate(params)]
    _bind_sizes(fn, tables, slots)
    for position, axis, extent, slot in tables.late:
        _compare(fn, signature, position, axis, extent, _number(fn, slots, slot))
    for var in signature.implicit:
        args.append(f"{memory(var.dtype)} {fn.env[id(var)].text}")
    _call(fn, signature, args)
    fn.finish()
    _emit_writes(module, signature)


def _emit_writes(module: ModuleEmitter, signature: Signature) -> None:
    """The entry by which a loaded library tells which parameters the function writes."""
    mask = sum(1 << position for position in signature.written if position < 63)
    fn = FunctionEmitter(
        module, signature.writes_symbol, "ptr %self, ptr %args, i32 %count, ptr %result"
    )
    fn.emit(f"store i64 {INT}, ptr %result")
    value = fn.op("getelementptr i8, ptr %result, i64 8")
    fn.emit(f"store i64 {mask}, ptr {value}")
    fn.ret("0")
    fn.finish()


def _number(fn: FunctionEmitter, base: str, position: int, kind: str = "i64") -> str:
    return fn.op(f"load {kind}, ptr {fn.op(f'getelementptr i64, ptr {base}, i64 {position}')}")


def _unpack(fn: FunctionEmitter, position: int, param: Var, out: str) -> str:
    """A checked argument as an argument of the raw entry."""
    if is_buffer_var(param):
        return f"ptr {_number(fn, out, position, 'ptr')}"
    dtype = param.dtype
    if dtype.is_handle:
        text = _number(fn, out, position, "ptr")
        fn.env[id(param)] = Scalar(text)
        return f"ptr {text}"
    if dtype.is_float:
        text = scalar_ops.cast(fn, _number(fn, out, position, "double"), _F64, dtype)
    else:
        text = scalar_ops.cast(fn, _number(fn, out, position), _I64, dtype)
    fn.bind(param, text)
    return f"{memory(dtype)} {scalar_ops.to_memory(fn, text, dtype)}"


def _bind_sizes(fn: FunctionEmitter, tables: _Tables, slots: str) -> None:
    sizes = {id(var): size for var, size in tables.offsets}
    for var in tables.signature.implicit:
        slot = tables.slots.get(id(var))
        if slot is None:
            raise CodegenError(
                f"{tables.signature.name}: the size {var.name!r} cannot be read from the arguments",
                nodes=[var],
                hint="a symbolic size must be an extent or stride of some buffer by itself",
            )
        found = _number(fn, slots, slot)
        if id(var) in sizes:
            found = fn.op(f"sdiv i64 {found}, {sizes[id(var)]}")
        fn.bind(var, scalar_ops.cast(fn, found, _I64, var.dtype), found)


def _compare(
    fn: FunctionEmitter, signature: Signature, position: int, axis: int, extent: Expr, found: str
) -> None:
    """A size that is computed from others."""
    wanted = index(fn, extent)
    good, bad = fn.label("ok"), fn.label("bad")
    fn.branch(fn.op(f"icmp eq i64 {found}, {wanted}"), good, bad)
    fn.block(bad)
    text, param = fn.module.string, signature.params[position]
    detail = fn.alloca("{ i32, i64, ptr }", "detail")
    fn.emit(f"store i32 {axis}, ptr {detail}")
    fn.emit(f"store i64 {wanted}, ptr {fn.op(f'getelementptr i8, ptr {detail}, i64 8')}")
    name = text(extent_text(extent))
    fn.emit(f"store ptr {name}, ptr {fn.op(f'getelementptr i8, ptr {detail}, i64 16')}")
    any_ = fn.op(f"getelementptr i8, ptr %args, i64 {16 * position}")
    fn.emit(
        f"call void @{arguments.BAD_ARGUMENT}(ptr {text(signature.name)}, i32 {position}, "
        f"ptr {text(param.name)}, ptr {text(describe(param))}, i32 {arguments.SYMBOL}, "
        f"ptr {detail}, ptr {any_})"
    )
    fn.ret("-1")
    fn.block(good)


def _call(fn: FunctionEmitter, signature: Signature, args: list[str]) -> None:
    result = signature.result
    slot = ""
    if result is not None:
        slot = fn.alloca(memory(result), "value")
        args.append(f"ptr {slot}")
    code = fn.op(f"call i32 {symbol(signature.symbol)}({', '.join(args)})")
    if result is None:
        fn.ret(code)
        return
    fn.check_status(code)
    text = scalar_ops.from_memory(fn, fn.op(f"load {memory(result)}, ptr {slot}"), result)
    if result.is_float:
        kind, wide = FLOAT, scalar_ops.cast(fn, text, result, _F64)
        payload = fn.op(f"bitcast double {wide} to i64")
    elif result.is_handle:
        kind, payload = POINTER, fn.op(f"ptrtoint ptr {text} to i64")
    else:
        kind = BOOL if result.is_bool else INT
        payload = scalar_ops.cast(fn, text, result, _I64)
    fn.emit(f"store i64 {kind}, ptr %result")
    fn.emit(f"store i64 {payload}, ptr {fn.op('getelementptr i8, ptr %result, i64 8')}")
