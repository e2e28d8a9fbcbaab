"""Calls out of generated code to packed functions registered by name.

An `Any` of tvm-ffi is { i32 type index, i32 padding, i64 payload }. A buffer argument becomes a
DLTensor on the stack. The function handle is looked up once and kept in a global.
"""

from __future__ import annotations

from collections.abc import Callable

from workbench.ir.expr import Call, Expr, StringImm, Var
from workbench.runtime.dtype import DataType
from workbench.target.codegen import scalar_ops
from workbench.target.codegen.emitter import FunctionEmitter, Pointer
from workbench.target.codegen.llvm_types import buffer_type, register
from workbench.target.codegen.machine import CodegenError
from workbench.tirx.buffer import is_buffer_var

Evaluate = Callable[[FunctionEmitter, Expr], str]

NONE, INT, BOOL, FLOAT, POINTER, DLTENSOR, RAW_STRING = 0, 1, 2, 3, 4, 7, 8
#: Type indices from here on are objects with a reference count.
OBJECT = 64


def call(fn: FunctionEmitter, e: Call, value: Evaluate, index: Evaluate) -> str:
    """Emits the call and gives its result, converted to the type of the expression."""
    name, *args = e.args
    if not isinstance(name, StringImm):
        raise CodegenError(f"{fn.name}: a packed call needs the name of a function", nodes=[e])
    count = len(args)
    stack = fn.alloca(f"[{count + 1} x {{ i32, i32, i64 }}]", "packed", 8)
    for position, arg in enumerate(args):
        kind, payload = _any(fn, arg, value, index)
        _store_any(fn, f"{stack}", position, kind, payload)
    result = _slot(fn, stack, count)
    _store_any(fn, stack, count, str(NONE), "0")
    handle = _handle(fn, name.value)
    fn.module.declare("TVMFFIFunctionCall", "i32", "ptr, ptr, i32, ptr")
    code = fn.op(
        f"call i32 @TVMFFIFunctionCall(ptr {handle}, ptr {stack}, i32 {count}, ptr {result})"
    )
    fn.check_status(code)
    return _result(fn, e, result)


def _slot(fn: FunctionEmitter, stack: str, position: int) -> str:
    return fn.op(f"getelementptr i8, ptr {stack}, i64 {16 * position}")


def _store_any(fn: FunctionEmitter, stack: str, position: int, kind: str, payload: str) -> None:
    place = _slot(fn, stack, position)
    word = f"zext i32 {kind} to i64"
    wide = kind if not kind.startswith("%") else fn.op(word)
    fn.emit(f"store i64 {wide}, ptr {place}, align 8")
    fn.emit(f"store i64 {payload}, ptr {fn.op(f'getelementptr i8, ptr {place}, i64 8')}, align 8")


def _any(fn: FunctionEmitter, arg: Expr, value: Evaluate, index: Evaluate) -> tuple[str, str]:
    """Type index and payload (i64) of an argument."""
    if isinstance(arg, StringImm):
        return str(RAW_STRING), fn.op(f"ptrtoint ptr {value(fn, arg)} to i64")
    if isinstance(arg, Var) and is_buffer_var(arg):
        tensor = _tensor(fn, arg, index)
        return str(DLTENSOR), fn.op(f"ptrtoint ptr {tensor} to i64")
    dtype = arg.dtype
    text = value(fn, arg)
    if dtype.lanes != 1:
        raise CodegenError(f"{fn.name}: a packed call cannot take a vector ({arg})", nodes=[arg])
    if dtype.is_handle:
        return str(POINTER), fn.op(f"ptrtoint ptr {text} to i64")
    if dtype.is_float:
        wide = scalar_ops.cast(fn, text, dtype, DataType("float64"))
        return str(FLOAT), fn.op(f"bitcast double {wide} to i64")
    whole = scalar_ops.cast(fn, text, dtype, DataType("int64"))
    return str(BOOL if dtype.is_bool else INT), whole


def _tensor(fn: FunctionEmitter, buffer: Var, index: Evaluate) -> str:
    """A DLTensor on the stack for a buffer (layout: data, device, ndim, dtype, shape, strides)."""
    ty = buffer_type(buffer)
    pointer = fn.env.get(id(buffer))
    if not isinstance(pointer, Pointer):
        raise CodegenError(f"{fn.name}: the buffer {buffer.name!r} has no memory here")
    ndim = len(ty.shape)
    dims = fn.alloca(f"[{max(1, 2 * ndim)} x i64]", "dims", 8)
    tensor = fn.alloca("[48 x i8]", "tensor", 8)
    extents = [index(fn, extent) for extent in ty.shape]
    strides = [index(fn, stride) for stride in ty.strides] if ty.strides else []
    if not strides:
        step = "1"
        for extent in reversed(extents):
            strides.insert(0, step)
            step = fn.op(f"mul i64 {step}, {extent}")
    for position, text in enumerate([*extents, *strides]):
        fn.emit(f"store i64 {text}, ptr {fn.op(f'getelementptr i64, ptr {dims}, i64 {position}')}")
    dtype: DataType = ty.dtype
    word = int(dtype.type_code) | dtype.bits << 8 | dtype.lanes << 16
    after = fn.op(f"getelementptr i64, ptr {dims}, i64 {ndim}")
    parts = [
        (0, f"ptr {pointer.text}"),
        (8, "i32 1"),
        (12, "i32 0"),
        (16, f"i32 {ndim}"),
        (20, f"i32 {word}"),
        (24, f"ptr {dims}"),
        (32, f"ptr {after}"),
        (40, "i64 0"),
    ]
    for offset, text in parts:
        fn.emit(f"store {text}, ptr {fn.op(f'getelementptr i8, ptr {tensor}, i64 {offset}')}")
    return tensor


def _handle(fn: FunctionEmitter, name: str) -> str:
    """The handle of a global function, looked up at the first call."""
    cache = fn.module.function_slot(name)
    kept = fn.op(f"load ptr, ptr {cache}")
    look, ready = fn.label("look_up"), fn.label("found")
    before = fn.current
    fn.branch(fn.op(f"icmp eq ptr {kept}, null"), look, ready)
    fn.block(look)
    text = fn.module.string(name)
    key = fn.alloca("{ ptr, i64 }", "name", 8)
    fn.emit(f"store ptr {text}, ptr {key}")
    length = fn.op(f"getelementptr i8, ptr {key}, i64 8")
    fn.emit(f"store i64 {len(name.encode())}, ptr {length}")
    fn.module.declare("TVMFFIFunctionGetGlobal", "i32", "ptr, ptr")
    fn.check_status(fn.op(f"call i32 @TVMFFIFunctionGetGlobal(ptr {key}, ptr {cache})"))
    found = fn.op(f"load ptr, ptr {cache}")
    fn.fail_unless(
        fn.op(f"icmp ne ptr {found}, null"),
        "RuntimeError",
        f"{fn.name}: no packed function {name!r} is registered; "
        "register it with register_global_func",
    )
    after = fn.current
    fn.jump(ready)
    fn.block(ready)
    return fn.op(f"phi ptr [ {kept}, %{before} ], [ {found}, %{after} ]")


def _result(fn: FunctionEmitter, e: Call, place: str) -> str:
    """Reads the result; an object that nobody takes is released."""
    kind = fn.op(f"load i32, ptr {place}")
    payload = fn.op(f"load i64, ptr {fn.op(f'getelementptr i8, ptr {place}, i64 8')}")
    release, done = fn.label("release"), fn.label("done")
    fn.branch(fn.op(f"icmp sge i32 {kind}, {OBJECT}"), release, done)
    fn.block(release)
    fn.module.declare("TVMFFIObjectDecRef", "i32", "ptr")
    thing = fn.op(f"inttoptr i64 {payload} to ptr")
    fn.op(f"call i32 @TVMFFIObjectDecRef(ptr {thing})")
    fn.jump(done)
    fn.block(done)
    dtype = None if e.ty is None else e.dtype
    if dtype is None or dtype.is_void:
        return "0"
    if dtype.is_handle:
        return fn.op(f"inttoptr i64 {payload} to ptr")
    whole = scalar_ops.cast(fn, payload, DataType("int64"), dtype)
    if not dtype.is_float:
        return whole
    real = fn.op(f"bitcast i64 {payload} to double")
    real = scalar_ops.cast(fn, real, DataType("float64"), dtype)
    is_float = fn.op(f"icmp eq i32 {kind}, {FLOAT}")
    return fn.op(f"select i1 {is_float}, {register(dtype)} {real}, {register(dtype)} {whole}")
