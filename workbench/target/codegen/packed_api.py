"""The tvm-ffi entry of a function: checks its arguments, unpacks them, calls the raw entry.

    int __tvm_ffi_NAME(void* self, const Any* args, int32 count, Any* result)

Checked, in this order: the number of arguments; for each its kind, then for tensors dimensions,
data type, device, sizes (a symbolic size is bound where it first appears, and compared after),
compact strides, alignment of the data to its elements. The first mistake becomes one error that
names the argument, what was expected and what was found; its text is made out of line.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.ir.expr import Expr, IntImm, Var
from workbench.runtime.dtype import DataType
from workbench.target.codegen import argument_errors, scalar_ops
from workbench.target.codegen.emitter import FunctionEmitter, ModuleEmitter, Scalar, symbol
from workbench.target.codegen.expressions import index
from workbench.target.codegen.llvm_types import item_bytes, memory
from workbench.target.codegen.packed_calls import BOOL, DLTENSOR, FLOAT, INT, NONE, POINTER
from workbench.target.codegen.signature import Signature, describe, extent_text
from workbench.tirx.buffer import is_buffer_var

TENSOR = 70
#: A tensor object starts with a header of this many bytes before its DLTensor.
_HEADER = 24


@dataclass
class _Wrapper:
    """The state of one entry being written."""

    fn: FunctionEmitter
    signature: Signature
    #: Extents that mention a variable bound by a later argument: checked at the end.
    late: list[tuple[int, Var, int, Expr, str]] = field(default_factory=list)
    args: list[str] = field(default_factory=list)

    def place(self, position: int) -> str:
        """The address of an argument."""
        return self.fn.op(f"getelementptr i8, ptr %args, i64 {16 * position}")

    def require(self, condition: str, position: int, reason: int, detail: str = "null") -> None:
        """Goes on if the condition holds, else raises the error of an argument."""
        fn, param = self.fn, self.signature.params[position]
        good, bad = fn.label("ok"), fn.label("bad")
        fn.branch(condition, good, bad)
        fn.block(bad)
        text = fn.module.string
        argument_errors.use(fn.module)
        fn.emit(
            f"call void @wb.bad_argument(ptr {text(self.signature.name)}, i32 {position}, "
            f"ptr {text(param.name)}, ptr {text(describe(param))}, i32 {reason}, "
            f"ptr {detail}, ptr {self.place(position)})"
        )
        fn.ret("-1")
        fn.block(good)


def emit_packed_entry(module: ModuleEmitter, signature: Signature) -> None:
    """Adds the tvm-ffi entry of a function to its module."""
    fn = FunctionEmitter(
        module,
        signature.packed_symbol,
        "ptr %self, ptr %args, i32 %count, ptr %result",
        attributes="#0",
    )
    wrapper = _Wrapper(fn, signature)
    _check_count(fn, signature)
    for position, param in enumerate(signature.params):
        if is_buffer_var(param):
            _tensor(wrapper, position, param)
        else:
            _scalar(wrapper, position, param)
    for position, param, axis, extent, found in wrapper.late:
        _compare_extent(wrapper, position, param, axis, extent, found)
    for var in signature.implicit:
        bound = fn.env[id(var)]
        wrapper.args.append(f"{memory(var.dtype)} {bound.text}")
    _call(wrapper)
    fn.finish()


def _check_count(fn: FunctionEmitter, signature: Signature) -> None:
    wanted = len(signature.params)
    good, bad = fn.label("ok"), fn.label("bad")
    fn.branch(fn.op(f"icmp eq i32 %count, {wanted}"), good, bad)
    fn.block(bad)
    listed = ", ".join(f"{p.name}: {describe(p)}" for p in signature.params)
    argument_errors.use(fn.module)
    fn.emit(
        f"call void @wb.bad_count(ptr {fn.module.string(signature.name)}, i32 {wanted}, "
        f"ptr {fn.module.string(listed)}, i32 %count)"
    )
    fn.ret("-1")
    fn.block(good)


def _scalar(w: _Wrapper, position: int, param: Var) -> None:
    fn, dtype = w.fn, param.dtype
    place = w.place(position)
    kind = fn.op(f"load i32, ptr {place}")
    payload = fn.op(f"load i64, ptr {fn.op(f'getelementptr i8, ptr {place}, i64 8')}")
    is_int = fn.op(f"icmp eq i32 {kind}, {INT}")
    whole = fn.op(f"or i1 {is_int}, {fn.op(f'icmp eq i32 {kind}, {BOOL}')}")
    wide = DataType("int64")
    if dtype.is_handle:
        _handle(w, position, kind, payload)
        return
    if dtype.is_float:
        is_float = fn.op(f"icmp eq i32 {kind}, {FLOAT}")
        w.require(fn.op(f"or i1 {is_float}, {whole}"), position, argument_errors.KIND)
        real = fn.op(f"bitcast i64 {payload} to double")
        as_real = fn.op(f"sitofp i64 {payload} to double")
        number = fn.op(f"select i1 {is_float}, double {real}, double {as_real}")
        text = scalar_ops.cast(fn, number, DataType("float64"), dtype)
    else:
        w.require(whole, position, argument_errors.KIND)
        text = scalar_ops.cast(fn, payload, wide, dtype)
        if dtype.bits < 64 and not dtype.is_bool:
            back = scalar_ops.cast(fn, text, dtype, wide)
            w.require(fn.op(f"icmp eq i64 {back}, {payload}"), position, argument_errors.RANGE)
    fn.bind(param, text)
    w.args.append(f"{memory(dtype)} {scalar_ops.to_memory(fn, text, dtype)}")


def _handle(w: _Wrapper, position: int, kind: str, payload: str) -> None:
    """A raw pointer: null for None, the DLTensor of a tensor."""
    fn = w.fn
    is_tensor = fn.op(f"icmp eq i32 {kind}, {TENSOR}")
    allowed = is_tensor
    for other in (NONE, POINTER, DLTENSOR):
        allowed = fn.op(f"or i1 {allowed}, {fn.op(f'icmp eq i32 {kind}, {other}')}")
    w.require(allowed, position, argument_errors.KIND)
    moved = fn.op(f"add i64 {payload}, {_HEADER}")
    address = fn.op(f"select i1 {is_tensor}, i64 {moved}, i64 {payload}")
    is_none = fn.op(f"icmp eq i32 {kind}, {NONE}")
    address = fn.op(f"select i1 {is_none}, i64 0, i64 {address}")
    text = fn.op(f"inttoptr i64 {address} to ptr")
    fn.env[id(w.signature.params[position])] = Scalar(text)
    w.args.append(f"ptr {text}")


def _tensor(w: _Wrapper, position: int, param: Var) -> None:
    fn, ty = w.fn, param.ty
    place = w.place(position)
    kind = fn.op(f"load i32, ptr {place}")
    payload = fn.op(f"load ptr, ptr {fn.op(f'getelementptr i8, ptr {place}, i64 8')}")
    is_object = fn.op(f"icmp eq i32 {kind}, {TENSOR}")
    is_plain = fn.op(f"icmp eq i32 {kind}, {DLTENSOR}")
    w.require(fn.op(f"or i1 {is_object}, {is_plain}"), position, argument_errors.KIND)
    inner = fn.op(f"getelementptr i8, ptr {payload}, i64 {_HEADER}")
    tensor = fn.op(f"select i1 {is_object}, ptr {inner}, ptr {payload}")

    def load(kind: str, offset: int) -> str:
        return fn.op(f"load {kind}, ptr {fn.op(f'getelementptr i8, ptr {tensor}, i64 {offset}')}")

    dtype: DataType = ty.dtype
    word = int(dtype.type_code) | dtype.bits << 8 | dtype.lanes << 16
    same_type = fn.op(f"icmp eq i32 {load('i32', 20)}, {word}")
    if dtype.is_bool:
        # uint8 and uint1 hold truth values too.
        as_uint = fn.op(f"icmp eq i32 {load('i32', 20)}, {1 | 8 << 8 | 1 << 16}")
        same_type = fn.op(f"or i1 {same_type}, {as_uint}")
    w.require(same_type, position, argument_errors.DTYPE)
    same_ndim = fn.op(f"icmp eq i32 {load('i32', 16)}, {len(ty.shape)}")
    w.require(same_ndim, position, argument_errors.SHAPE)
    w.require(fn.op(f"icmp eq i32 {load('i32', 8)}, 1"), position, argument_errors.DEVICE)
    shape = load("ptr", 24)
    found = [
        fn.op(f"load i64, ptr {fn.op(f'getelementptr i64, ptr {shape}, i64 {axis}')}")
        for axis in range(len(ty.shape))
    ]
    for axis, extent in enumerate(ty.shape):
        _extent(w, position, param, axis, extent, found[axis])
    byte_offset, data = load("i64", 40), load("ptr", 0)
    _strides(w, position, param, load("ptr", 32), found)
    if ty.elem_offset is not None and not isinstance(ty.elem_offset, IntImm):
        _bind_offset(w, ty.elem_offset, byte_offset, item_bytes(dtype) * dtype.lanes)
    else:
        data = fn.op(f"getelementptr i8, ptr {data}, i64 {byte_offset}")
    bits = fn.op(f"ptrtoint ptr {data} to i64")
    low = fn.op(f"and i64 {bits}, {item_bytes(dtype) - 1}")
    w.require(fn.op(f"icmp eq i64 {low}, 0"), position, argument_errors.ALIGNMENT)
    w.args.append(f"ptr {data}")


def _bind_offset(w: _Wrapper, offset: Expr, byte_offset: str, size: int) -> None:
    if isinstance(offset, Var) and id(offset) not in w.fn.env:
        count = w.fn.op(f"sdiv i64 {byte_offset}, {size}")
        w.fn.bind(offset, scalar_ops.cast(w.fn, count, DataType("int64"), offset.dtype), count)


def _extent(w: _Wrapper, position: int, param: Var, axis: int, extent: Expr, found: str) -> None:
    """Binds a symbolic size at its first use, compares it later; other forms are compared."""
    fn = w.fn
    if isinstance(extent, Var) and id(extent) not in fn.env:
        if extent in w.signature.params:
            w.late.append((position, param, axis, extent, found))
            return
        fn.bind(extent, scalar_ops.cast(fn, found, DataType("int64"), extent.dtype), found)
        return
    if isinstance(extent, (IntImm, Var)):
        _compare_extent(w, position, param, axis, extent, found)
    else:
        w.late.append((position, param, axis, extent, found))


def _compare_extent(
    w: _Wrapper, position: int, param: Var, axis: int, extent: Expr, found: str
) -> None:
    fn = w.fn
    if isinstance(extent, IntImm):
        w.require(fn.op(f"icmp eq i64 {found}, {extent.value}"), position, argument_errors.SHAPE)
        return
    wanted = index(fn, extent)
    detail = fn.alloca("{ i32, i64, ptr }", "detail", 8)
    fn.emit(f"store i32 {axis}, ptr {detail}")
    fn.emit(f"store i64 {wanted}, ptr {fn.op(f'getelementptr i8, ptr {detail}, i64 8')}")
    name = fn.module.string(extent_text(extent))
    fn.emit(f"store ptr {name}, ptr {fn.op(f'getelementptr i8, ptr {detail}, i64 16')}")
    same = fn.op(f"icmp eq i64 {found}, {wanted}")
    w.require(same, position, argument_errors.SYMBOL, detail)


def _strides(w: _Wrapper, position: int, param: Var, strides: str, found: list[str]) -> None:
    """Compact strides (or none) unless the buffer has its own; an axis of one element may have any,
    and so may all axes of a tensor without elements."""
    fn, ty = w.fn, param.ty
    if not found:
        return
    check, done = fn.label("strides"), fn.label("compact")
    no_strides = fn.op(f"icmp eq ptr {strides}, null")
    if ty.strides:
        _own_strides(w, position, param, strides, found)
        return
    fn.branch(no_strides, done, check)
    fn.block(check)
    good, step, total = "true", "1", "1"
    for extent in found:
        total = fn.op(f"mul i64 {total}, {extent}") if total != "1" else extent
    for axis in reversed(range(len(found))):
        actual = fn.op(f"load i64, ptr {fn.op(f'getelementptr i64, ptr {strides}, i64 {axis}')}")
        same = fn.op(f"icmp eq i64 {actual}, {step}")
        single = fn.op(f"icmp eq i64 {found[axis]}, 1")
        good = fn.op(f"and i1 {good}, {fn.op(f'or i1 {same}, {single}')}")
        step = fn.op(f"mul i64 {step}, {found[axis]}") if step != "1" else found[axis]
    empty = fn.op(f"icmp eq i64 {total}, 0")
    w.require(fn.op(f"or i1 {good}, {empty}"), position, argument_errors.STRIDES)
    fn.block(done)


def _own_strides(w: _Wrapper, position: int, param: Var, strides: str, found: list[str]) -> None:
    """A buffer with declared strides: symbolic ones are bound, others compared."""
    fn, ty = w.fn, param.ty
    compact: list[str] = []
    step = "1"
    for extent in reversed(found):
        compact.insert(0, step)
        step = fn.op(f"mul i64 {step}, {extent}") if step != "1" else extent
    given = fn.op(f"icmp ne ptr {strides}, null")
    dims = fn.alloca(f"[{len(found)} x i64]", "steps", 8)
    for axis, text in enumerate(compact):
        fn.emit(f"store i64 {text}, ptr {fn.op(f'getelementptr i64, ptr {dims}, i64 {axis}')}")
    source = fn.op(f"select i1 {given}, ptr {strides}, ptr {dims}")
    for axis, stride in enumerate(ty.strides):
        actual = fn.op(f"load i64, ptr {fn.op(f'getelementptr i64, ptr {source}, i64 {axis}')}")
        if isinstance(stride, Var) and id(stride) not in fn.env:
            narrow = scalar_ops.cast(fn, actual, DataType("int64"), stride.dtype)
            fn.bind(stride, narrow, actual)
            continue
        same = fn.op(f"icmp eq i64 {actual}, {index(fn, stride)}")
        single = fn.op(f"icmp eq i64 {found[axis]}, 1")
        w.require(fn.op(f"or i1 {same}, {single}"), position, argument_errors.STRIDES)


def _call(w: _Wrapper) -> None:
    fn, result = w.fn, w.signature.result
    args = list(w.args)
    slot = ""
    if result is not None:
        slot = fn.alloca(memory(result), "value")
        args.append(f"ptr {slot}")
    code = fn.op(f"call i32 {symbol(w.signature.symbol)}({', '.join(args)})")
    if result is None:
        fn.emit(f"ret i32 {code}")
        fn.end_block()
        return
    fn.check_status(code)
    text = scalar_ops.from_memory(fn, fn.op(f"load {memory(result)}, ptr {slot}"), result)
    kind, payload = INT, ""
    if result.is_float:
        kind = FLOAT
        wide = scalar_ops.cast(fn, text, result, DataType("float64"))
        payload = fn.op(f"bitcast double {wide} to i64")
    elif result.is_handle:
        kind, payload = POINTER, fn.op(f"ptrtoint ptr {text} to i64")
    else:
        kind = BOOL if result.is_bool else INT
        payload = scalar_ops.cast(fn, text, result, DataType("int64"))
    fn.emit(f"store i64 {kind}, ptr %result")
    fn.emit(f"store i64 {payload}, ptr {fn.op('getelementptr i8, ptr %result, i64 8')}")
