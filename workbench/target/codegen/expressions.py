"""Expressions of the loop IR → LLVM operands.

`value(fn, e)` gives the register value of an expression. `index(fn, e)` gives a scalar integer
expression as a 64-bit offset: indices are assumed not to overflow, and computing them in 64 bits
from the start leaves LLVM affine addresses. Calls are in `intrinsics`.
"""

from __future__ import annotations

from typing import Any

from workbench.core.dispatch import Dispatch
from workbench.ir.expr import Expr, FloatImm, IntImm, StringImm, Var
from workbench.runtime.dtype import DataType
from workbench.target.codegen import scalar_ops
from workbench.target.codegen.emitter import FunctionEmitter, Pointer, Scalar
from workbench.target.codegen.llvm_types import (
    constant,
    item_bytes,
    memory,
    memory_element,
    register,
    register_element,
    vector,
)
from workbench.target.codegen.machine import CodegenError
from workbench.target.codegen.strided import short_ramp, strided_load
from workbench.tirx.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    BufferLoad,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    Sub,
)

EXPRESSIONS = Dispatch("LLVM code generator")
_BINARY: dict[type, str] = {
    Add: "add",
    Sub: "sub",
    Mul: "mul",
    Div: "div",
    Mod: "mod",
    FloorDiv: "floordiv",
    FloorMod: "floormod",
    Min: "min",
    Max: "max",
}
_COMPARE: dict[type, str] = {EQ: "eq", NE: "ne", LT: "lt", LE: "le", GT: "gt", GE: "ge"}
_WIDENED = {Add: "add", Sub: "sub", Mul: "mul"}
_I64 = DataType("int64")


def value(fn: FunctionEmitter, expr: Expr) -> str:
    """The register value of an expression."""
    return EXPRESSIONS[type(expr)](fn, expr)


def index(fn: FunctionEmitter, expr: Expr) -> str:
    """A scalar integer expression as a signed 64-bit offset."""
    cls = type(expr)
    if cls is IntImm:
        return str(expr.value)  # type: ignore[attr-defined]
    if cls is Var:
        return scalar_of(fn, expr).wide or fn.widen(value(fn, expr), expr.dtype)  # type: ignore[arg-type]
    name = _WIDENED.get(cls)
    if name is not None and expr.dtype.is_int and expr.dtype.bits >= 32:
        a, b = index(fn, expr.a), index(fn, expr.b)  # type: ignore[attr-defined]
        return fn.op(f"{name} nsw i64 {a}, {b}")
    if cls is Cast and expr.dtype.is_int and expr.dtype.bits >= 32:
        inner = expr.value  # type: ignore[attr-defined]
        if inner.dtype.is_int and 32 <= inner.dtype.bits <= expr.dtype.bits:
            return index(fn, inner)
    before, fn.nsw = fn.nsw, True
    text = value(fn, expr)
    fn.nsw = before
    return fn.widen(text, expr.dtype)


def scalar_of(fn: FunctionEmitter, var: Var) -> Scalar:
    """What a scalar variable is. Raises `CodegenError` if it has no value here."""
    found = fn.env.get(id(var))
    if not isinstance(found, Scalar):
        what = "is a buffer, not a scalar" if found else "has no value here"
        raise CodegenError(
            f"{fn.name}: the variable {var.name!r} {what}",
            nodes=[var],
            hint="a variable is defined by a parameter, a loop, T.let or Bind before its use",
        )
    return found


def pointer_of(fn: FunctionEmitter, buffer: Var) -> Pointer:
    """Where a buffer is. Raises `CodegenError` if it was not allocated or declared here."""
    found = fn.env.get(id(buffer))
    if not isinstance(found, Pointer):
        raise CodegenError(
            f"{fn.name}: the buffer {buffer.name!r} has no memory here",
            nodes=[buffer],
            hint="a buffer is a parameter, or made by AllocBuffer or DeclBuffer before its use",
        )
    return found


def element_address(fn: FunctionEmitter, buffer: Var, offset: str) -> str:
    """The address of an element of a buffer."""
    pointer = pointer_of(fn, buffer)
    if offset == "0":
        return pointer.text
    return fn.op(f"getelementptr inbounds {memory(buffer.dtype)}, ptr {pointer.text}, i64 {offset}")


@EXPRESSIONS.register(*_BINARY)
def _binary(fn: FunctionEmitter, e: Any) -> str:
    name = _BINARY[type(e)]
    return scalar_ops.binary(fn, name, value(fn, e.a), value(fn, e.b), e.dtype)


@EXPRESSIONS.register(*_COMPARE)
def _compare(fn: FunctionEmitter, e: Any) -> str:
    return scalar_ops.compare(fn, _COMPARE[type(e)], value(fn, e.a), value(fn, e.b), e.a.dtype)


@EXPRESSIONS.register(And, Or)
def _logic(fn: FunctionEmitter, e: Any) -> str:
    a, b = value(fn, e.a), value(fn, e.b)
    return fn.op(f"{'and' if type(e) is And else 'or'} {register(e.dtype)} {a}, {b}")


@EXPRESSIONS.register(Not)
def _not(fn: FunctionEmitter, e: Not) -> str:
    return fn.op(f"xor {register(e.dtype)} {value(fn, e.a)}, {constant(1, e.dtype)}")


@EXPRESSIONS.register(Select)
def _select(fn: FunctionEmitter, e: Select) -> str:
    condition = value(fn, e.condition)
    a, b = value(fn, e.true_value), value(fn, e.false_value)
    kind = register(e.dtype)
    return fn.op(f"select {register(e.condition.dtype)} {condition}, {kind} {a}, {kind} {b}")


@EXPRESSIONS.register(Cast)
def _cast(fn: FunctionEmitter, e: Cast) -> str:
    return scalar_ops.cast(fn, value(fn, e.value), e.value.dtype, e.dtype)


@EXPRESSIONS.register(Let)
def _let(fn: FunctionEmitter, e: Let) -> str:
    text = value(fn, e.value)
    fn.bind(e.var, text)
    return value(fn, e.body)


@EXPRESSIONS.register(Var)
def _var(fn: FunctionEmitter, e: Var) -> str:
    found = fn.env.get(id(e))
    if isinstance(found, Pointer):
        return found.text
    return scalar_of(fn, e).text


@EXPRESSIONS.register(IntImm, FloatImm)
def _number(fn: FunctionEmitter, e: Any) -> str:
    return constant(e.value, e.dtype)


@EXPRESSIONS.register(StringImm)
def _string(fn: FunctionEmitter, e: StringImm) -> str:
    return fn.module.string(e.value)


@EXPRESSIONS.register(Ramp)
def _ramp(fn: FunctionEmitter, e: Ramp) -> str:
    kind = register(e.dtype)
    lanes, inner = e.dtype.lanes, e.base.dtype.lanes
    repeat = lanes // inner
    steps = ", ".join(
        f"{register_element(e.dtype)} {i}" for i in range(repeat) for _ in range(inner)
    )
    base = spread(fn, value(fn, e.base), e.base.dtype, repeat)
    if isinstance(e.stride, IntImm) and e.stride.value == 1:
        return fn.op(f"add {kind} {base}, <{steps}>")
    stride = spread(fn, value(fn, e.stride), e.stride.dtype, lanes // e.stride.dtype.lanes)
    scaled = fn.op(f"mul {kind} {stride}, <{steps}>")
    return fn.op(f"add {kind} {base}, {scaled}")


def spread(fn: FunctionEmitter, text: str, dtype: DataType, times: int) -> str:
    """A value repeated `times` times as one vector."""
    if times == 1:
        return text
    element, lanes = register_element(dtype), dtype.lanes
    if lanes == 1:
        if not text.startswith("%"):
            return f"splat ({element} {text})"
        one = vector(element, times)
        first = fn.op(f"insertelement {one} poison, {element} {text}, i64 0")
        return fn.op(f"shufflevector {one} {first}, {one} poison, <{times} x i32> zeroinitializer")
    mask = ", ".join(f"i32 {i}" for _ in range(times) for i in range(lanes))
    kind = vector(element, lanes)
    return fn.op(f"shufflevector {kind} {text}, {kind} poison, <{lanes * times} x i32> <{mask}>")


@EXPRESSIONS.register(Broadcast)
def _broadcast(fn: FunctionEmitter, e: Broadcast) -> str:
    return spread(fn, value(fn, e.value), e.value.dtype, e.dtype.lanes // e.value.dtype.lanes)


@EXPRESSIONS.register(Shuffle)
def _shuffle(fn: FunctionEmitter, e: Shuffle) -> str:
    element = register_element(e.dtype)
    places: list[tuple[str, DataType, int]] = []
    for part in e.vectors:
        text = value(fn, part)
        places += [(text, part.dtype, lane) for lane in range(part.dtype.lanes)]
    picked: list[str] = []
    for wanted in e.indices:
        if not isinstance(wanted, IntImm):
            raise CodegenError(f"{fn.name}: a shuffle needs constant indices, got {wanted}")
        text, dtype, lane = places[wanted.value]
        if dtype.lanes > 1:
            text = fn.op(f"extractelement {register(dtype)} {text}, i64 {lane}")
        picked.append(text)
    if len(picked) == 1:
        return picked[0]
    whole = "poison"
    for lane, text in enumerate(picked):
        whole = fn.op(f"insertelement {register(e.dtype)} {whole}, {element} {text}, i64 {lane}")
    return whole


@EXPRESSIONS.register(Reduce, ProducerLoad)
def _high_level(fn: FunctionEmitter, e: Any) -> str:
    raise CodegenError(
        f"{fn.name}: a {type(e).__name__} is left in the function",
        nodes=[e],
        hint="make a PrimFunc of the te computation with te.create_prim_func",
    )


# --- memory -------------------------------------------------------------------------------------


def unit_ramp(e: Expr) -> Expr | None:
    """The first of consecutive indices, or None if a vector index is anything else."""
    cls = type(e)
    if cls is Ramp:
        stride = e.stride  # type: ignore[attr-defined]
        base: Expr = e.base  # type: ignore[attr-defined]
        one = isinstance(stride, IntImm) and stride.value == 1
        return base if one and base.dtype.lanes == 1 else None
    if cls in (Add, Sub):
        a, b = e.a, e.b  # type: ignore[attr-defined]
        if cls is Add and type(a) is Broadcast:
            a, b = b, a
        inner = unit_ramp(a)
        if inner is not None and type(b) is Broadcast and b.value.dtype.lanes == 1:
            return cls(inner, b.value)  # type: ignore[operator]
    return None


def only_index(fn: FunctionEmitter, access: Any) -> Expr:
    """The single index of a flat access. Raises `CodegenError` for other accesses."""
    if len(access.indices) != 1:
        raise CodegenError(
            f"{fn.name}: {access.buffer.name} is accessed with {len(access.indices)} indices",
            nodes=[access],
            hint="flatten buffers first: tirx.transform.FlattenBuffer",
        )
    return access.indices[0]


@EXPRESSIONS.register(BufferLoad)
def _load(fn: FunctionEmitter, e: BufferLoad) -> str:
    at = only_index(fn, e)
    dtype, kind, align = e.dtype, memory(e.dtype), item_bytes(e.buffer.dtype)
    mask = None if e.predicate is None else value(fn, e.predicate)
    first = at if at.dtype.lanes == 1 else unit_ramp(at)
    if first is not None:
        address = element_address(fn, e.buffer, index(fn, first))
        if mask is None or _all_lanes(fn, e.buffer, first, dtype):
            text = fn.op(f"load {kind}, ptr {address}, align {align}", e.buffer.name)
            if mask is not None and not dtype.is_float:
                lanes = vector("i1", dtype.lanes)
                text = fn.op(f"select {lanes} {mask}, {kind} {text}, {kind} zeroinitializer")
        elif dtype.lanes == 1:
            raise CodegenError(f"{fn.name}: a predicate needs a vector access", nodes=[e])
        else:
            callee = fn.module.declare(
                f"llvm.masked.load.{_memory_name(dtype)}.p0",
                kind,
                f"ptr, {vector('i1', dtype.lanes)}, {kind}",
            )
            text = fn.op(
                f"call {kind} {callee}(ptr align {align} {address}, "
                f"{vector('i1', dtype.lanes)} {mask}, {kind} zeroinitializer)"
            )
        return scalar_ops.from_memory(fn, text, dtype)
    if mask is not None and isinstance(at, Broadcast) and at.value.dtype.lanes == 1:
        return _load_one(fn, e.buffer, at.value, mask, dtype)
    short = short_ramp(at) if mask is None else None
    if short is not None and e.buffer.dtype.lanes == 1:
        address = element_address(fn, e.buffer, index(fn, short[0]))
        text = strided_load(fn, e.buffer, address, short[1], dtype)
        return scalar_ops.from_memory(fn, text, dtype)
    pointers = _element_addresses(fn, e.buffer, at)
    lanes = dtype.lanes
    callee = fn.module.declare(
        f"llvm.masked.gather.{_memory_name(dtype)}.v{lanes}p0",
        kind,
        f"<{lanes} x ptr>, {vector('i1', lanes)}, {kind}",
    )
    text = fn.op(
        f"call {kind} {callee}(<{lanes} x ptr> align {align} {pointers}, "
        f"{vector('i1', lanes)} {mask or 'splat (i1 true)'}, {kind} zeroinitializer)"
    )
    return scalar_ops.from_memory(fn, text, dtype)


def _load_one(fn: FunctionEmitter, buffer: Var, at: Expr, mask: str, dtype: DataType) -> str:
    """One element for all lanes, loaded if any lane is active."""
    element, lanes = memory_element(dtype), vector("i1", dtype.lanes)
    address = element_address(fn, buffer, index(fn, at))
    reduce = fn.module.declare(f"llvm.vector.reduce.or.v{dtype.lanes}i1", "i1", lanes)
    wanted = fn.op(f"call i1 {reduce}({lanes} {mask})")
    one = fn.op(f"insertelement <1 x i1> poison, i1 {wanted}, i64 0")
    kind = f"<1 x {element}>"
    load = fn.module.declare(
        f"llvm.masked.load.{_memory_name(dtype).replace(f'v{dtype.lanes}', 'v1', 1)}.p0",
        kind,
        f"ptr, <1 x i1>, {kind}",
    )
    align = item_bytes(buffer.dtype)
    text = fn.op(
        f"call {kind} {load}(ptr align {align} {address}, <1 x i1> {one}, {kind} zeroinitializer)"
    )
    single = dtype.with_lanes(1)
    text = fn.op(f"extractelement {kind} {text}, i64 0")
    return spread(fn, scalar_ops.from_memory(fn, text, single), single, dtype.lanes)


def _all_lanes(fn: FunctionEmitter, buffer: Var, first: Expr, dtype: DataType) -> bool:
    """Whether a masked access may touch all lanes: they are inside a buffer of this thread alone.

    Such a buffer stays in registers; a masked load after a masked store would wait for memory.
    """
    size = fn.roomy.get(id(buffer))
    if size is None or not isinstance(first, IntImm) or first.value < 0:
        return False
    return (first.value + dtype.lanes) * item_bytes(buffer.dtype) <= size


def _memory_name(dtype: DataType) -> str:
    element = memory_element(dtype)
    short = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}.get(element, element)
    return f"v{dtype.lanes}{short}"


def _element_addresses(fn: FunctionEmitter, buffer: Var, at: Expr) -> str:
    """A vector of addresses for a vector of indices."""
    pointer = pointer_of(fn, buffer)
    before, fn.nsw = fn.nsw, True
    offsets = value(fn, at)
    fn.nsw = before
    lanes = at.dtype.lanes
    if at.dtype.bits < 64:
        name = "sext" if at.dtype.is_int else "zext"
        offsets = fn.op(f"{name} {register(at.dtype)} {offsets} to <{lanes} x i64>")
    return fn.op(
        f"getelementptr inbounds {memory(buffer.dtype)}, ptr {pointer.text}, "
        f"<{lanes} x i64> {offsets}"
    )


def store(fn: FunctionEmitter, stmt: Any) -> None:
    """Writes a `BufferStore`."""
    at = only_index(fn, stmt)
    dtype: DataType = stmt.value.dtype
    kind, align = memory(dtype), item_bytes(stmt.buffer.dtype)
    text = scalar_ops.to_memory(fn, value(fn, stmt.value), dtype)
    mask = None if stmt.predicate is None else value(fn, stmt.predicate)
    first = at if at.dtype.lanes == 1 else unit_ramp(at)
    if first is not None:
        address = element_address(fn, stmt.buffer, index(fn, first))
        if mask is None:
            fn.emit(f"store {kind} {text}, ptr {address}, align {align}")
            return
        if _all_lanes(fn, stmt.buffer, first, dtype):
            old = fn.op(f"load {kind}, ptr {address}, align {align}", stmt.buffer.name)
            lanes = vector("i1", dtype.lanes)
            text = fn.op(f"select {lanes} {mask}, {kind} {text}, {kind} {old}")
            fn.emit(f"store {kind} {text}, ptr {address}, align {align}")
            return
        callee = fn.module.declare(
            f"llvm.masked.store.{_memory_name(dtype)}.p0",
            "void",
            f"{kind}, ptr, {vector('i1', dtype.lanes)}",
        )
        fn.emit(
            f"call void {callee}({kind} {text}, ptr align {align} {address}, "
            f"{vector('i1', dtype.lanes)} {mask})"
        )
        return
    pointers = _element_addresses(fn, stmt.buffer, at)
    lanes = dtype.lanes
    callee = fn.module.declare(
        f"llvm.masked.scatter.{_memory_name(dtype)}.v{lanes}p0",
        "void",
        f"{kind}, <{lanes} x ptr>, {vector('i1', lanes)}",
    )
    fn.emit(
        f"call void {callee}({kind} {text}, <{lanes} x ptr> align {align} {pointers}, "
        f"{vector('i1', lanes)} {mask or 'splat (i1 true)'})"
    )
