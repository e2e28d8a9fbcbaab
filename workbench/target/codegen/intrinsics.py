"""Calls: intrinsics, external C functions, packed functions, other functions of the module.

What an intrinsic becomes is declared with it (`lower={"llvm": …}` in `tirx.op`):
"llvm.NAME" an LLVM intrinsic on its type, "wb.NAME" a function of `mathlib`, "libm.NAME" a
function of the C library. The few with a form of their own have a handler here, found by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Op, StringImm, Var
from workbench.runtime.dtype import DataType
from workbench.target.codegen import mathlib, packed_calls, scalar_ops
from workbench.target.codegen.emitter import FunctionEmitter
from workbench.target.codegen.expressions import (
    EXPRESSIONS,
    element_address,
    index,
    only_index,
    pointer_of,
    spread,
    value,
)
from workbench.target.codegen.llvm_types import (
    constant,
    mangle,
    memory,
    register,
    register_element,
    vector,
)
from workbench.target.codegen.machine import CodegenError
from workbench.tirx.buffer import is_buffer_var
from workbench.tirx.expr import BufferLoad

Handler = Callable[[FunctionEmitter, Call], str]
_SPECIAL: dict[str, Handler] = {}
_F32 = DataType("float32")
_MANGLED = re.compile(r"(v\d+)?([fi]\d+|bf16|p\d+)\Z")


def special(*names: str) -> Callable[[Handler], Handler]:
    """Registers the handler of intrinsics with a form of their own."""

    def add(handler: Handler) -> Handler:
        for name in names:
            assert name not in _SPECIAL, name
            _SPECIAL[name] = handler
        return handler

    return add


@EXPRESSIONS.register(Call)
def call(fn: FunctionEmitter, e: Call) -> str:
    """The value of a call (an unused name for calls that return nothing)."""
    callee = e.op
    if isinstance(callee, GlobalVar):
        return _internal_call(fn, e, callee.name_hint)
    if not isinstance(callee, Op):
        raise CodegenError(f"{fn.name}: cannot call {callee}", nodes=[e])
    name = callee.name.partition(".")[2]
    handler = _SPECIAL.get(name)
    if handler is not None:
        return handler(fn, e)
    lowered: str = callee.attr("lower", {}).get("llvm", "")
    family, _, rest = lowered.partition(".")
    if family == "llvm":
        return _in_computing_type(fn, e, lambda t, a: scalar_ops.intrinsic(fn, lowered, t, *a))
    if family == "wb":
        return _in_computing_type(fn, e, lambda t, a: _elementary(fn, rest, t, a))
    if family == "libm":
        return _in_computing_type(fn, e, lambda t, a: _libm(fn, rest, t, a))
    raise CodegenError(
        f"{fn.name}: the CPU code generator does not know {callee.name}",
        nodes=[e],
        hint='declare what it becomes with lower={"llvm": ...} at the intrinsic',
    )


def _in_computing_type(
    fn: FunctionEmitter, e: Call, emit: Callable[[DataType, list[str]], str]
) -> str:
    """Floats narrower than float32 are computed in float32 and rounded."""
    dtype = e.args[0].dtype
    args = [value(fn, a) for a in e.args]
    if not dtype.is_float or dtype.bits >= 32:
        return emit(dtype, args)
    wide = _F32.with_lanes(dtype.lanes)
    raised = [scalar_ops.cast(fn, a, dtype, wide) for a in args]
    return scalar_ops.cast(fn, emit(wide, raised), wide, dtype)


def _elementary(fn: FunctionEmitter, name: str, dtype: DataType, args: list[str]) -> str:
    """A function of the library; in float64 the C library's, or the formula of two of them."""
    if name not in mathlib.FUNCTIONS:
        raise CodegenError(f"{fn.name}: the library has no function {name!r}")
    kind = register(dtype)
    if register_element(dtype) == "float":
        callee = fn.module.math(name, dtype.lanes)
        return fn.op(f"call {kind} {callee}({', '.join(f'{kind} {a}' for a in args)})")
    one = constant(1.0, dtype)
    if name == "rsqrt":
        return fn.op(f"fdiv {kind} {one}, {scalar_ops.intrinsic(fn, 'llvm.sqrt', dtype, *args)}")
    if name == "sigmoid":
        power = _libm(fn, "exp", dtype, [fn.op(f"fneg {kind} {args[0]}")])
        return fn.op(f"fdiv {kind} {one}, {fn.op(f'fadd {kind} {one}, {power}')}")
    return _libm(fn, name, dtype, args)


def _libm(fn: FunctionEmitter, name: str, dtype: DataType, args: list[str]) -> str:
    """A C function, lane by lane."""
    element = register_element(dtype)
    symbol = name + ("f" if element == "float" else "")
    callee = fn.module.declare(
        symbol, element, ", ".join([element] * len(args)), " nounwind memory(none)"
    )
    if dtype.lanes == 1:
        return fn.op(f"call {element} {callee}({', '.join(f'{element} {a}' for a in args)})")
    kind, result = register(dtype), "poison"
    for lane in range(dtype.lanes):
        parts = [fn.op(f"extractelement {kind} {a}, i64 {lane}") for a in args]
        one = fn.op(f"call {element} {callee}({', '.join(f'{element} {p}' for p in parts)})")
        result = fn.op(f"insertelement {kind} {result}, {element} {one}, i64 {lane}")
    return result


# --- with a form of their own -------------------------------------------------------------------


@special("bitwise_and", "bitwise_or", "bitwise_xor")
def _bitwise(fn: FunctionEmitter, e: Call) -> str:
    assert isinstance(e.op, Op)
    name = e.op.name.rpartition("_")[2]
    a, b = value(fn, e.args[0]), value(fn, e.args[1])
    return fn.op(f"{name} {register(e.dtype)} {a}, {b}")


@special("bitwise_not")
def _bitwise_not(fn: FunctionEmitter, e: Call) -> str:
    ones = constant(1 if e.dtype.is_bool else -1, e.dtype)
    return fn.op(f"xor {register(e.dtype)} {value(fn, e.args[0])}, {ones}")


@special("shift_left", "shift_right")
def _shift(fn: FunctionEmitter, e: Call) -> str:
    assert isinstance(e.op, Op)
    name = e.op.name.partition(".")[2]
    a, b = value(fn, e.args[0]), value(fn, e.args[1])
    return scalar_ops.shift(fn, name, a, b, e.dtype)


@special("if_then_else")
def _if_then_else(fn: FunctionEmitter, e: Call) -> str:
    condition, yes, no = e.args
    kind = register(e.dtype)
    if condition.dtype.lanes > 1:
        text = value(fn, condition)
        a, b = value(fn, yes), value(fn, no)
        return fn.op(f"select {register(condition.dtype)} {text}, {kind} {a}, {kind} {b}")
    then, other, done = fn.label("then"), fn.label("else"), fn.label("chosen")
    fn.branch(value(fn, condition), then, other)
    fn.block(then)
    a = value(fn, yes)
    from_then = fn.current
    fn.jump(done)
    fn.block(other)
    b = value(fn, no)
    from_other = fn.current
    fn.jump(done)
    fn.block(done)
    return fn.op(f"phi {kind} [ {a}, %{from_then} ], [ {b}, %{from_other} ]")


@special("likely", "ignore_loop_partition")
def _likely(fn: FunctionEmitter, e: Call) -> str:
    return value(fn, e.args[0])


@special("assume")
def _assume(fn: FunctionEmitter, e: Call) -> str:
    condition = value(fn, e.args[0])
    fn.module.declare("llvm.assume", "void", "i1")
    fn.emit(f"call void @llvm.assume(i1 {condition})")
    return "true"


@special("undef")
def _undef(fn: FunctionEmitter, e: Call) -> str:
    return fn.op(f"freeze {register(e.dtype)} poison")


@special("isnan")
def _isnan(fn: FunctionEmitter, e: Call) -> str:
    text = value(fn, e.args[0])
    return fn.op(f"fcmp uno {register(e.args[0].dtype)} {text}, {text}")


@special("clz")
def _clz(fn: FunctionEmitter, e: Call) -> str:
    dtype = e.args[0].dtype
    kind = register(dtype)
    callee = fn.module.declare(f"llvm.ctlz.{mangle(dtype)}", kind, f"{kind}, i1")
    count = fn.op(f"call {kind} {callee}({kind} {value(fn, e.args[0])}, i1 false)")
    unsigned = DataType(f"uint{dtype.bits}").with_lanes(dtype.lanes)
    return scalar_ops.cast(fn, count, unsigned, e.dtype)


@special("ldexp")
def _ldexp(fn: FunctionEmitter, e: Call) -> str:
    dtype, count = e.dtype, e.args[1].dtype
    lanes = dtype.lanes
    wide = dtype if dtype.bits >= 32 else _F32.with_lanes(lanes)
    number = scalar_ops.cast(fn, value(fn, e.args[0]), dtype, wide)
    whole = DataType("int32").with_lanes(lanes)
    power = scalar_ops.cast(fn, value(fn, e.args[1]), count, whole)
    kind, steps = register(wide), register(whole)
    callee = fn.module.declare(
        f"llvm.ldexp.{mangle(wide)}.{mangle(whole)}", kind, f"{kind}, {steps}"
    )
    result = fn.op(f"call {kind} {callee}({kind} {number}, {steps} {power})")
    return scalar_ops.cast(fn, result, wide, dtype)


@special("fmod")
def _fmod(fn: FunctionEmitter, e: Call) -> str:
    a, b = value(fn, e.args[0]), value(fn, e.args[1])
    return scalar_ops.binary(fn, "mod", a, b, e.dtype)


@special("q_multiply_shift")
def _multiply_shift(fn: FunctionEmitter, e: Call) -> str:
    lanes = e.dtype.lanes
    wide = DataType("int64").with_lanes(lanes)
    kind = register(wide)
    x, y, q, s = (
        scalar_ops.cast(fn, value(fn, a), a.dtype, wide.with_lanes(a.dtype.lanes)) for a in e.args
    )
    spreads = [
        spread(fn, text, wide.base, lanes // a.dtype.lanes)
        for text, a in zip((x, y, q, s), e.args, strict=True)
    ]
    product = fn.op(f"mul {kind} {spreads[0]}, {spreads[1]}")
    count = fn.op(f"add {kind} {spreads[2]}, {spreads[3]}")
    less = fn.op(f"sub {kind} {count}, {constant(1, wide)}")
    half = fn.op(f"shl {kind} {constant(1, wide)}, {less}")
    moved = fn.op(f"ashr {kind} {fn.op(f'add {kind} {product}, {half}')}, {count}")
    return scalar_ops.cast(fn, moved, wide, e.dtype)


@special("large_uint_imm")
def _large_uint(fn: FunctionEmitter, e: Call) -> str:
    low, high = e.args
    if not (isinstance(low, IntImm) and isinstance(high, IntImm)):
        raise CodegenError(f"{fn.name}: large_uint_imm needs constants", nodes=[e])
    return constant((high.value << 32) + low.value, e.dtype)


@special("reinterpret")
def _reinterpret(fn: FunctionEmitter, e: Call) -> str:
    source, target = e.args[0].dtype, e.dtype
    text = value(fn, e.args[0])
    if source.is_handle and target.is_handle:
        return text
    if source.is_handle or target.is_handle:
        return scalar_ops.cast(fn, text, source, target)
    stored = scalar_ops.to_memory(fn, text, source)
    if memory(source) != memory(target):
        stored = fn.op(f"bitcast {memory(source)} {stored} to {memory(target)}")
    return scalar_ops.from_memory(fn, stored, target)


@special("isnullptr")
def _isnullptr(fn: FunctionEmitter, e: Call) -> str:
    return fn.op(f"icmp eq ptr {value(fn, e.args[0])}, null")


@special("buffer_data")
def _buffer_data(fn: FunctionEmitter, e: Call) -> str:
    return pointer_of(fn, _buffer(fn, e.args[0])).text


def _buffer(fn: FunctionEmitter, e: Expr) -> Var:
    if not (isinstance(e, Var) and is_buffer_var(e)):
        raise CodegenError(f"{fn.name}: expected a buffer, got {e}", nodes=[e])
    return e


@special("address_of")
def _address_of(fn: FunctionEmitter, e: Call) -> str:
    place = e.args[0]
    if isinstance(place, BufferLoad):
        return element_address(fn, place.buffer, index(fn, only_index(fn, place)))
    raise CodegenError(
        f"{fn.name}: only elements of buffers have an address, {place} has none", nodes=[e]
    )


@special("tvm_access_ptr")
def _access_ptr(fn: FunctionEmitter, e: Call) -> str:
    kind, data, offset = e.args[:3]
    base = value(fn, data)
    return fn.op(
        f"getelementptr inbounds {memory(kind.dtype)}, ptr {base}, i64 {index(fn, offset)}"
    )


@special("handle_add_byte_offset", "ptr_byte_offset")
def _byte_offset(fn: FunctionEmitter, e: Call) -> str:
    return fn.op(f"getelementptr i8, ptr {value(fn, e.args[0])}, i64 {index(fn, e.args[1])}")


@special("vectorlow", "vectorhigh")
def _half(fn: FunctionEmitter, e: Call) -> str:
    assert isinstance(e.op, Op)
    source = e.args[0].dtype
    start = e.dtype.lanes if e.op.name.endswith("high") else 0
    mask = ", ".join(f"i32 {start + i}" for i in range(e.dtype.lanes))
    kind = register(source)
    text = value(fn, e.args[0])
    if e.dtype.lanes == 1:
        return fn.op(f"extractelement {kind} {text}, i64 {start}")
    return fn.op(f"shufflevector {kind} {text}, {kind} poison, <{e.dtype.lanes} x i32> <{mask}>")


@special("vectorcombine")
def _combine(fn: FunctionEmitter, e: Call) -> str:
    a, b = e.args
    if a.dtype.lanes == 1:
        kind, element = register(e.dtype), register_element(e.dtype)
        first = fn.op(f"insertelement {kind} poison, {element} {value(fn, a)}, i64 0")
        return fn.op(f"insertelement {kind} {first}, {element} {value(fn, b)}, i64 1")
    kind = register(a.dtype)
    mask = ", ".join(f"i32 {i}" for i in range(e.dtype.lanes))
    return fn.op(
        f"shufflevector {kind} {value(fn, a)}, {kind} {value(fn, b)}, "
        f"<{e.dtype.lanes} x i32> <{mask}>"
    )


@special("get_active_lane_mask")
def _lane_mask(fn: FunctionEmitter, e: Call) -> str:
    lanes = e.dtype.lanes
    kind = vector("i1", lanes)
    callee = fn.module.declare(f"llvm.get.active.lane.mask.v{lanes}i1.i64", kind, "i64, i64")
    return fn.op(f"call {kind} {callee}(i64 {index(fn, e.args[0])}, i64 {index(fn, e.args[1])})")


@special("tvm_throw_last_error")
def _throw(fn: FunctionEmitter, e: Call) -> str:
    fn.ret("-1")
    return "0"


@special("tvm_storage_sync", "start_profile_intrinsic", "end_profile_intrinsic")
def _nothing(fn: FunctionEmitter, e: Call) -> str:
    return "0"


# --- calls of functions -------------------------------------------------------------------------


def _argument(fn: FunctionEmitter, e: Expr) -> tuple[str, str]:
    """Type and text of an argument of a C function."""
    if isinstance(e, StringImm):
        return "ptr", value(fn, e)
    if is_buffer_var(e):
        return "ptr", pointer_of(fn, _buffer(fn, e)).text
    text = value(fn, e)
    kind = memory(e.dtype)
    if kind != register(e.dtype):
        text = scalar_ops.to_memory(fn, text, e.dtype)
        return (f"{kind} zeroext" if e.dtype.is_bool else kind), text
    return kind, text


@special("call_extern", "call_pure_extern")
def _call_extern(fn: FunctionEmitter, e: Call) -> str:
    name, *rest = e.args
    if not isinstance(name, StringImm):
        raise CodegenError(f"{fn.name}: call_extern needs the name of a C function", nodes=[e])
    fn.module.externs.add(name.value)
    args = [_argument(fn, a) for a in rest]
    dtype: DataType | None = None if e.ty is None or e.dtype.is_void else e.dtype
    result = "void" if dtype is None else memory(dtype)
    callee = fn.module.declare(name.value, result, ", ".join(kind for kind, _ in args))
    text = f"call {result} {callee}({', '.join(f'{k} {a}' for k, a in args)})"
    if dtype is None:
        fn.emit(text)
        return "0"
    return scalar_ops.from_memory(fn, fn.op(text), dtype)


@special("call_llvm_intrin", "call_llvm_pure_intrin")
def _call_llvm(fn: FunctionEmitter, e: Call) -> str:
    name, *rest = e.args
    if not isinstance(name, StringImm):
        raise CodegenError(f"{fn.name}: expected the name of an LLVM intrinsic", nodes=[e])
    void = e.ty is None or e.dtype.is_void
    full = name.value
    if ".x86." not in full and not _MANGLED.search(full.rpartition(".")[2]):
        full += "." + mangle(rest[0].dtype if void else e.dtype)
    args = [(register(a.dtype), value(fn, a)) for a in rest]
    result = "void" if void else register(e.dtype)
    callee = fn.module.declare(full, result, ", ".join(kind for kind, _ in args))
    text = f"call {result} {callee}({', '.join(f'{k} {a}' for k, a in args)})"
    if void:
        fn.emit(text)
        return "0"
    return fn.op(text)


@special("tvm_call_packed", "tvm_call_cpacked")
def _call_packed(fn: FunctionEmitter, e: Call) -> str:
    return packed_calls.call(fn, e, value, index)


def _internal_call(fn: FunctionEmitter, e: Call, name: str) -> str:
    """Another function of the module: pointers and scalars, then a slot for the result."""
    function: Any = fn.module.callee(name)
    args: list[str] = []
    if len(e.args) != len(function.params):
        raise CodegenError(
            f"{fn.name}: {name} takes {len(function.params)} arguments, got {len(e.args)}",
            nodes=[e],
        )
    for param, given in zip(function.params, e.args, strict=True):
        if is_buffer_var(param) or param.dtype.is_handle:
            text = _argument(fn, given)[1]
            args.append(f"ptr {text}")
        else:
            text = scalar_ops.cast(fn, value(fn, given), given.dtype, param.dtype)
            stored = scalar_ops.to_memory(fn, text, param.dtype)
            args.append(f"{memory(param.dtype)} {stored}")
    result: DataType | None = getattr(function.ret_type, "dtype", None)
    slot = ""
    if result is not None and not result.is_void:
        slot = fn.alloca(memory(result), "result")
        args.append(f"ptr {slot}")
    symbol = fn.module.callee_symbol(name)
    fn.check_status(fn.op(f"call i32 {symbol}({', '.join(args)})"))
    if not slot or result is None:
        return "0"
    return scalar_ops.from_memory(fn, fn.op(f"load {memory(result)}, ptr {slot}"), result)
