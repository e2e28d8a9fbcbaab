"""Statements of the loop IR → LLVM instructions.

A list of statements is a scope: what `Bind`, `AllocBuffer` and `DeclBuffer` define holds to its
end.
Small buffers of constant size live in the stack frame, others on the heap and are freed at the end
of their scope and on every early way out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.core.dispatch import Dispatch
from workbench.core.traverse import free_vars
from workbench.ir.expr import Call, Expr, IntImm, Op, Var
from workbench.runtime.dtype import DataType
from workbench.target.codegen import scalar_ops, threadpool
from workbench.target.codegen.emitter import (
    LOCAL_ROOM,
    FunctionEmitter,
    Loop,
    Pointer,
    Scalar,
    symbol,
)
from workbench.target.codegen.expressions import index, pointer_of, store, value
from workbench.target.codegen.llvm_types import buffer_type, item_bytes, memory, register
from workbench.target.codegen.machine import CodegenError
from workbench.tirx.buffer import BufferType, is_buffer_var
from workbench.tirx.expr import BufferLoad
from workbench.tirx.stmt import (
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Return,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)

STATEMENTS = Dispatch("LLVM code generator")


def statement(fn: FunctionEmitter, stmt: Stmt) -> None:
    """Emits one statement."""
    fn.at(stmt)
    STATEMENTS[type(stmt)](fn, stmt)


def scope(fn: FunctionEmitter, stmt: Stmt) -> None:
    """Emits a body: the heap buffers made in it are freed at its end."""
    depth = len(fn.heap)
    statement(fn, stmt)
    fn.free_down_to(depth)


@STATEMENTS.register(SeqStmt)
def _seq(fn: FunctionEmitter, stmt: SeqStmt) -> None:
    for part in stmt.seq:
        statement(fn, part)


@STATEMENTS.register(Evaluate)
def _evaluate(fn: FunctionEmitter, stmt: Evaluate) -> None:
    expr = stmt.value
    if isinstance(expr, IntImm):
        return
    if isinstance(expr, Call) and isinstance(expr.op, Op):
        jump = {"tirx.break_loop": Break, "tirx.continue_loop": Continue}.get(expr.op.name)
        if jump is not None:
            statement(fn, jump())
            return
        if expr.op.name == "tirx.thread_return":
            fn.ret("0")
            return
    value(fn, expr)


@STATEMENTS.register(BufferStore)
def _store(fn: FunctionEmitter, stmt: BufferStore) -> None:
    store(fn, stmt)


@STATEMENTS.register(Bind)
def _bind(fn: FunctionEmitter, stmt: Bind) -> None:
    var, expr = stmt.var, stmt.value
    if is_buffer_var(var):
        fn.env[id(var)] = _memory_of(fn, expr, var)
        return
    text = value(fn, expr)
    dtype = var.dtype
    wide = None
    if dtype.lanes == 1 and dtype.is_int and dtype.bits >= 32:
        wide = index(fn, expr)
    fn.bind(var, text, wide)


@STATEMENTS.register(AttrStmt)
def _attr(fn: FunctionEmitter, stmt: AttrStmt) -> None:
    statement(fn, stmt.body)


@STATEMENTS.register(AssertStmt)
def _assert(fn: FunctionEmitter, stmt: AssertStmt) -> None:
    message = "".join(part.value for part in stmt.message_parts) or f"assert {stmt.condition}"
    fn.fail_unless(value(fn, stmt.condition), stmt.error_kind.value, message)


@STATEMENTS.register(IfThenElse)
def _if(fn: FunctionEmitter, stmt: IfThenElse) -> None:
    if stmt.condition.dtype.lanes != 1:
        raise CodegenError(
            f"{fn.name}: the condition of an if is a vector",
            nodes=[stmt],
            hint="vectorised code uses Select or a predicate",
        )
    then, done = fn.label("then"), fn.label("endif")
    other = fn.label("else") if stmt.else_case is not None else done
    fn.branch(value(fn, stmt.condition), then, other)
    fn.block(then)
    scope(fn, stmt.then_case)
    fn.jump(done)
    if stmt.else_case is not None:
        fn.block(other)
        fn.at(stmt)
        scope(fn, stmt.else_case)
        fn.jump(done)
    fn.block(done)


@STATEMENTS.register(While)
def _while(fn: FunctionEmitter, stmt: While) -> None:
    test, body, done = fn.label("while"), fn.label("body"), fn.label("endwhile")
    fn.block(test)
    fn.branch(value(fn, stmt.condition), body, done)
    fn.block(body)
    _loop_body(fn, stmt.body, leave=done, again=test)
    fn.jump(test)
    fn.block(done)


def _loop_body(fn: FunctionEmitter, body: Stmt, leave: str, again: str) -> None:
    fn.loops.append(Loop(leave, again, len(fn.heap)))
    scope(fn, body)
    fn.loops.pop()


@STATEMENTS.register(Break, Continue)
def _jump(fn: FunctionEmitter, stmt: Any) -> None:
    if not fn.loops:
        what = "break" if isinstance(stmt, Break) else "continue"
        raise CodegenError(
            f"{fn.name}: {what} outside a loop, or out of a parallel one", nodes=[stmt]
        )
    loop = fn.loops[-1]
    fn.free_down_to(loop.heap, keep=True)
    fn.jump(loop.leave if isinstance(stmt, Break) else loop.again)


@STATEMENTS.register(Return)
def _return(fn: FunctionEmitter, stmt: Return) -> None:
    if fn.parallel:
        raise CodegenError(f"{fn.name}: return inside a parallel loop", nodes=[stmt])
    if fn.result is not None:
        place, dtype = fn.result
        text = scalar_ops.cast(fn, value(fn, stmt.value), stmt.value.dtype, dtype)
        fn.emit(f"store {memory(dtype)} {scalar_ops.to_memory(fn, text, dtype)}, ptr {place}")
    elif not isinstance(stmt.value, IntImm):
        value(fn, stmt.value)
    fn.ret("0")


@STATEMENTS.register(SBlock, SBlockRealize)
def _block(fn: FunctionEmitter, stmt: Any) -> None:
    name = stmt.name_hint if isinstance(stmt, SBlock) else stmt.block.name_hint
    raise CodegenError(
        f"{fn.name}: the block {name!r} is left in the function",
        nodes=[stmt],
        hint="lower blocks first: s_tir.transform.ConvertBlocksToOpaque and LowerOpaqueBlock",
    )


# --- memory -------------------------------------------------------------------------------------


def _constant_size(ty: BufferType) -> int | None:
    total = item_bytes(ty.dtype) * ty.dtype.lanes
    for extent in ty.shape:
        if not isinstance(extent, IntImm):
            return None
        total *= extent.value
    return total


@STATEMENTS.register(AllocBuffer)
def _alloc(fn: FunctionEmitter, stmt: AllocBuffer) -> None:
    buffer, ty = stmt.buffer, stmt.buffer.ty
    if not isinstance(ty, BufferType):
        raise CodegenError(f"{fn.name}: {buffer.name} is no buffer", nodes=[stmt])
    align = max(ty.data_alignment, item_bytes(ty.dtype))
    size = _constant_size(ty)
    root = fn.module.new_root()
    if size is not None and fn.fits_stack(size + LOCAL_ROOM):
        if ty.storage_scope == "local":
            size += LOCAL_ROOM
            fn.roomy[id(buffer)] = size
        text = fn.alloca(f"[{max(size, 1)} x i8]", buffer.name, align, size)
        fn.env[id(buffer)] = Pointer(text, root, True, align)
        return
    if size is not None:
        total = str(-(-size // align) * align)
    else:
        count = str(item_bytes(ty.dtype) * ty.dtype.lanes)
        for extent in ty.shape:
            count = fn.op(f"mul nsw i64 {count}, {index(fn, extent)}")
        # One unit more, so that an empty buffer is no null pointer.
        count = fn.op(f"add i64 {count}, {align}")
        total = fn.op(f"and i64 {count}, {-align}")
    fn.module.declare(
        "aligned_alloc",
        "noalias ptr",
        "i64 allocalign, i64",
        ' allockind("alloc,uninitialized,aligned")',
    )
    text = fn.op(f"call ptr @aligned_alloc(i64 {align}, i64 {total})", buffer.name)
    fn.fail_unless(
        fn.op(f"icmp ne ptr {text}, null"),
        "MemoryError",
        f"{fn.name}: no memory for the buffer {buffer.name}",
    )
    fn.heap.append(text)
    fn.env[id(buffer)] = Pointer(text, root, True, align)


@STATEMENTS.register(DeclBuffer)
def _decl(fn: FunctionEmitter, stmt: DeclBuffer) -> None:
    if stmt.data is None:
        if id(stmt.buffer) not in fn.env:
            raise CodegenError(
                f"{fn.name}: the buffer {stmt.buffer.name!r} is declared without data", nodes=[stmt]
            )
        return
    fn.env[id(stmt.buffer)] = _memory_of(fn, stmt.data, stmt.buffer)


def _memory_of(fn: FunctionEmitter, data: Expr, buffer: Var) -> Pointer:
    """The pointer an expression gives, with what it may overlap."""
    base = _base_buffer(data)
    text = value(fn, data)
    if base is not None:
        parent = pointer_of(fn, base)
        return Pointer(text, parent.root, parent.noalias, item_bytes(buffer_type(buffer).dtype))
    return Pointer(text, 0, False, item_bytes(buffer_type(buffer).dtype))


def _base_buffer(data: Expr) -> Var | None:
    """The buffer into whose memory a pointer expression points, where that is plain."""
    while isinstance(data, Call) and data.args:
        first = data.args[1] if _op_name(data) == "tirx.tvm_access_ptr" else data.args[0]
        if isinstance(first, BufferLoad):
            return first.buffer if _op_name(data) == "tirx.address_of" else None
        data = first
    return data if isinstance(data, Var) and is_buffer_var(data) else None


def _op_name(call: Call) -> str:
    return call.op.name if isinstance(call.op, Op) else ""


# --- loops --------------------------------------------------------------------------------------


@STATEMENTS.register(For)
def _for(fn: FunctionEmitter, stmt: For) -> None:
    if stmt.kind is ForKind.VECTORIZED:
        raise CodegenError(
            f"{fn.name}: the loop {stmt.loop_var.name!r} is still vectorized",
            nodes=[stmt],
            hint="run tirx.transform.VectorizeLoop",
        )
    if stmt.kind is ForKind.THREAD_BINDING:
        raise CodegenError(
            f"{fn.name}: the loop {stmt.loop_var.name!r} is bound to GPU threads",
            nodes=[stmt],
            hint="a CPU has none: use parallel",
        )
    extent = stmt.extent.value if isinstance(stmt.extent, IntImm) else None
    if extent is not None and extent <= 0:
        return
    if stmt.kind is ForKind.PARALLEL and not fn.parallel and extent != 1:
        _parallel(fn, stmt)
        return
    begin = index(fn, stmt.min)
    end = str(extent + int(begin)) if extent is not None and not begin.startswith("%") else ""
    if not end:
        end = fn.op(f"add nsw i64 {begin}, {index(fn, stmt.extent)}")
    step = "1" if stmt.step is None else index(fn, stmt.step)
    hint = ""
    if stmt.kind is ForKind.UNROLLED and extent is not None:
        # LLVM warns about loops it is told to unroll fully and cannot.
        hint = _loop_hint(fn, "llvm.loop.unroll.full")
    _count_loop(
        fn, stmt.loop_var, begin, end, step, stmt.body, hint, never_empty=extent is not None
    )


def _loop_hint(fn: FunctionEmitter, name: str) -> str:
    inner = fn.module.metadata(f'!{{!"{name}"}}')
    number = int(inner[1:]) + 1
    return fn.module.metadata(f"distinct !{{!{number}, {inner}}}")


def _count_loop(
    fn: FunctionEmitter,
    var: Var,
    begin: str,
    end: str,
    step: str,
    body: Stmt,
    hint: str = "",
    *,
    never_empty: bool,
    offset: tuple[str, str] | None = None,
) -> None:
    """A loop over [begin, end) with a 64-bit counter; the test is at its end.

    `offset` is (first, factor) where the variable is first + counter * factor.
    """
    head, latch, done = fn.label(f"for_{var.name}"), fn.label("next"), fn.label("endfor")
    before = fn.current
    if never_empty:
        fn.jump(head)
    else:
        fn.branch(fn.op(f"icmp slt i64 {begin}, {end}"), head, done)
    fn.block(head)
    counter, following = fn.fresh(f"{var.name}.i64"), fn.fresh("next")
    fn.emit(f"{counter} = phi i64 [ {begin}, %{before} ], [ {following}, %{latch} ]")
    wide = counter
    if offset is not None:
        first, factor = offset
        scaled = counter if factor == "1" else fn.op(f"mul nsw i64 {counter}, {factor}")
        wide = scaled if first == "0" else fn.op(f"add nsw i64 {first}, {scaled}")
    narrow = scalar_ops.cast(fn, wide, DataType("int64"), var.dtype)
    fn.bind(var, narrow, wide)
    _loop_body(fn, body, leave=done, again=latch)
    fn.block(latch)
    fn.emit(f"{following} = add nsw i64 {counter}, {step}")
    more = fn.op(f"icmp slt i64 {following}, {end}")
    fn.branch(more, head, done, f"!llvm.loop {hint}" if hint else "")
    fn.block(done)


def _parallel(fn: FunctionEmitter, stmt: For) -> None:
    """Outlines the body: a function over a range of turns, launched on the thread pool.

    The closure holds what the body uses. The body is a function of its own that is not inlined, so
    that what is known of its pointers (`noalias`) is known there too.
    """
    begin, extent = index(fn, stmt.min), index(fn, stmt.extent)
    step = "1" if stmt.step is None else index(fn, stmt.step)
    if step != "1":
        up = fn.op(f"add nsw i64 {extent}, {fn.op(f'sub nsw i64 {step}, 1')}")
        extent = fn.op(f"sdiv i64 {up}, {step}")
    captured, inside = _captured(fn, stmt)
    fields = [*captured, ("i64", begin, "i64 %first.turn"), ("i64", step, "i64 %step")]
    name = f"{fn.name}.parallel{fn.module.new_root()}"
    _task(fn, name, fields)
    _body(fn, stmt, name, fields, inside)

    closure = fn.alloca("{ " + ", ".join(kind for kind, _, _ in fields) + " }", "closure")
    layout = "{ " + ", ".join(kind for kind, _, _ in fields) + " }"
    for position, (kind, text, _) in enumerate(fields):
        place = fn.op(f"getelementptr {layout}, ptr {closure}, i32 0, i32 {position}")
        fn.emit(f"store {kind} {text}, ptr {place}")
    fn.module.uses_pool = True
    fn.module.declare(threadpool.LAUNCH, "i32", "ptr, ptr, i64")
    code = fn.op(
        f"call i32 @{threadpool.LAUNCH}(ptr {symbol(name + '.task')}, ptr {closure}, i64 {extent})"
    )
    fn.check_status(code)


def _captured(fn: FunctionEmitter, stmt: For) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    """(type, value here, parameter there) of what the body uses, each value once; and the names
    that the values have there."""
    used = [v for v in _used_variables(stmt) if id(v) in fn.env]
    pointers = {b.text: b for v in used if isinstance(b := fn.env[id(v)], Pointer)}
    shared: dict[int, int] = {}
    for bound in pointers.values():
        shared[bound.root] = shared.get(bound.root, 0) + 1
    fields: list[tuple[str, str, str]] = []
    inside: dict[str, str] = {}
    for var in used:
        bound = fn.env[id(var)]
        if not bound.text.startswith("%") or bound.text in inside:
            continue
        there = inside[bound.text] = f"%arg${len(inside)}"
        if isinstance(bound, Pointer):
            alone = bound.noalias and shared[bound.root] == 1
            flags = "noalias " if alone else ""
            fields.append(("ptr", bound.text, f"ptr {flags}align {bound.align} {there}"))
        else:
            kind = register(var.dtype)
            fields.append((kind, bound.text, f"{kind} {there}"))
    return fields, inside


def _used_variables(stmt: For) -> list[Var]:
    """Variables of the body, and those in the shapes of its buffers."""
    used = list(free_vars(stmt.body))
    for var in list(used):
        if is_buffer_var(var):
            for extent in (*buffer_type(var).shape, *buffer_type(var).strides):
                used += [v for v in free_vars(extent) if v not in used]
    return [v for v in used if v is not stmt.loop_var]


def _task(fn: FunctionEmitter, name: str, fields: list[tuple[str, str, str]]) -> None:
    """The function the pool calls: unpacks the closure and calls the body."""
    layout = "{ " + ", ".join(kind for kind, _, _ in fields) + " }"
    lines = []
    args = []
    for position, (kind, _, _) in enumerate(fields):
        lines.append(
            f"  %at{position} = getelementptr {layout}, ptr %closure, i32 0, i32 {position}"
        )
        lines.append(f"  %v{position} = load {kind}, ptr %at{position}")
        args.append(f"{kind} %v{position}")
    args += ["i64 %begin", "i64 %end"]
    fn.module.functions.append(
        "\n".join(
            [
                f"define internal i32 {symbol(name + '.task')}"
                "(ptr noalias readonly %closure, i64 %begin, i64 %end) #0 {",
                *lines,
                f"  %code = call i32 {symbol(name)}({', '.join(args)})",
                "  ret i32 %code",
                "}",
            ]
        )
    )


def _body(
    fn: FunctionEmitter,
    stmt: For,
    name: str,
    fields: list[tuple[str, str, str]],
    inside: dict[str, str],
) -> None:
    params = [param for _, _, param in fields] + ["i64 %begin.turn", "i64 %end.turn"]
    inner = FunctionEmitter(
        fn.module,
        name,
        ", ".join(params),
        fn.line,
        internal=True,
        attributes="noinline #0",
        parallel=True,
    )
    for var in _used_variables(stmt):
        bound = fn.env.get(id(var))
        if isinstance(bound, Scalar):
            there = inside.get(bound.text)
            inner.bind(var, there or bound.text, None if there else bound.wide)
        elif bound is not None:
            there = inside.get(bound.text, bound.text)
            inner.env[id(var)] = replace(bound, text=there)
    _count_loop(
        inner,
        stmt.loop_var,
        "%begin.turn",
        "%end.turn",
        "1",
        stmt.body,
        never_empty=True,
        offset=("%first.turn", "%step"),
    )
    inner.finish()
