"""Calls as Python source: intrinsics by their NumPy meaning, others by rules of their own."""

from __future__ import annotations

from collections.abc import Callable

from workbench.ir.expr import Call, GlobalVar, Op, StringImm, Var
from workbench.runtime.dtype import DataType
from workbench.runtime.function import get_global_func
from workbench.tirx import expr as e
from workbench.tirx.interpreter.exprs import (
    HANDLERS,
    ExprCompiler,
    Steps,
    Val,
    choose,
    depth_of,
    hull,
)
from workbench.tirx.interpreter.values import InterpretError


@HANDLERS.register(Call)
def _call(node: Call, run: ExprCompiler) -> Steps:
    if isinstance(node.op, GlobalVar):
        return (yield from _call_function(node, run))
    assert isinstance(node.op, Op)
    special = CALLS.get(node.op.name)
    if special is not None:
        return (yield from special(node, run))
    meaning = node.op.attr("numpy")
    if meaning is None:
        raise InterpretError(
            f"the interpreter has no meaning for {node.op.name}", nodes=(node,), root=run.root
        )
    vals = []
    for item in node.args:
        vals.append((yield item))
    name = f"_op_{node.op.name.replace('.', '_')}"
    run.space.setdefault(name, meaning)
    vec = any(v.vec for v in vals)
    args = []
    for val in vals:
        exact = not val.vec and not val.dtype.is_float and not val.dtype.is_handle
        args.append(f"{run.numpy_type(val.dtype)}({val.src})" if exact else val.src)
    src = f"{name}({', '.join(args)})"
    if not vec and not node.dtype.is_float:
        src = f"bool({src})" if node.dtype.is_bool else f"int({src})"
    return Val(src, node.dtype, vec=vec, depth=depth_of(*vals) + 1)


def _if_then_else(node: Call, run: ExprCompiler) -> Steps:
    condition = yield node.args[0]
    if condition.vec:
        return (yield from _masked_choice(node, run, condition))
    a = yield (node.args[1], run.mask)
    lines_a = run.pending
    b = yield (node.args[2], run.mask)
    lines_b = run.pending
    span = hull(a, b)
    vec = a.vec or b.vec
    kind = run.numpy_type(node.dtype) if vec else ""
    sides = [v.src if v.vec or not vec else f"np.asarray({v.src}, dtype={kind})" for v in (a, b)]
    if not lines_a and not lines_b:
        src = f"({sides[0]} if {condition.src} else {sides[1]})"
        return Val(src, node.dtype, *span, vec, depth_of(condition, a, b))
    name = run.fresh("t")
    run.emit(f"if {condition.src}:")
    run.lines.extend(lines_a)
    run.emit(f"    {name} = {sides[0]}")
    run.emit("else:")
    run.lines.extend(lines_b)
    run.emit(f"    {name} = {sides[1]}")
    return Val(name, node.dtype, *span, vec)


def _masked_choice(node: Call, run: ExprCompiler, condition: Val) -> Steps:
    """A vector condition: both sides are evaluated, loads only in the lanes that choose them."""
    yes, no = run.fresh("mask"), run.fresh("mask")
    outer = f" & {run.mask}" if run.mask else ""
    run.emit(f"{yes} = ({condition.src}){outer}")
    run.emit(f"{no} = np.logical_not({condition.src}){outer}")
    sides = []
    for item, mask in ((node.args[1], yes), (node.args[2], no)):
        val = yield (item, mask)
        run.lines.extend(line[4:] for line in run.pending)
        sides.append(val)
    a, b = sides
    src = choose(run, Val(yes, DataType("bool"), vec=True), a, b, node.dtype)
    return Val(src, node.dtype, *hull(a, b), True, depth_of(a, b))


def _reinterpret(node: Call, run: ExprCompiler) -> Steps:
    a = yield node.args[0]
    if node.dtype.is_handle or a.dtype.is_handle:
        return Val(a.src, node.dtype, depth=a.depth)
    source, target = run.numpy_type(a.dtype), run.numpy_type(node.dtype)
    return Val(f"_v.bitcast({a.src}, {source}, {target})", node.dtype, vec=a.vec, depth=depth_of(a))


def _buffer_data(node: Call, run: ExprCompiler) -> Steps:
    buffer = node.args[0]
    assert isinstance(buffer, Var)
    return Val(run.pointer(buffer), DataType("handle"))
    yield


def _address_of(node: Call, run: ExprCompiler) -> Steps:
    load = node.args[0]
    if not isinstance(load, e.BufferLoad):
        raise InterpretError("the address of a scalar has no meaning here", nodes=(node,))
    vals = []
    for item in load.indices:
        vals.append((yield item))
    name = run.name(load.buffer)
    pointer = run.pointer(load.buffer)
    terms = [f"({v.src}) * {name}.strides[{k}]" for k, v in enumerate(vals)]
    offset = run.offsets.get(id(load.buffer), "0")
    moved = " + ".join([f"{offset} * {name}.itemsize", *terms])
    return Val(f"{pointer}.moved({moved})", DataType("handle"), depth=3)


def _add_byte_offset(node: Call, run: ExprCompiler) -> Steps:
    a = yield node.args[0]
    b = yield node.args[1]
    return Val(f"{a.src}.moved({b.src})", DataType("handle"), depth=depth_of(a, b))


def _access_ptr(node: Call, run: ExprCompiler) -> Steps:
    pointer = yield node.args[1]
    offset = yield node.args[2]
    size = node.args[0].dtype.itemsize
    src = f"{pointer.src}.moved(({offset.src}) * {size})"
    return Val(src, DataType("handle"), depth=depth_of(pointer, offset))


def _isnull(node: Call, run: ExprCompiler) -> Steps:
    a = yield node.args[0]
    return Val(f"({a.src} is None)", node.dtype, 0, 1, depth=depth_of(a))


def _undef(node: Call, run: ExprCompiler) -> Steps:
    return Val("0", node.dtype, 0, 0)
    yield


def _large_uint(node: Call, run: ExprCompiler) -> Steps:
    low = yield node.args[0]
    high = yield node.args[1]
    return Val(f"(({high.src} << 32) + {low.src})", node.dtype, depth=depth_of(low, high))


def _packed(node: Call, run: ExprCompiler) -> Steps:
    first = node.args[0]
    assert isinstance(first, StringImm)
    args = []
    for item in node.args[1:]:
        args.append((yield item))
    name = run.constant(get_global_func(first.value), "packed")
    return Val(f"{name}({', '.join(a.src for a in args)})", node.dtype, depth=3)


def _call_function(node: Call, run: ExprCompiler) -> Steps:
    args = []
    for item in node.args:
        if isinstance(item, Var) and item.ty.__family__ == "buffer":
            args.append(Val(run.name(item), DataType("handle")))
        else:
            args.append((yield item))
    assert isinstance(node.op, GlobalVar)
    name = run.callee(node.op)
    return Val(
        f"{name}({', '.join(a.src for a in args)})",
        node.ty.dtype if hasattr(node.ty, "dtype") else DataType("void"),
        depth=3,
    )


def _unsupported(why: str) -> Callable[[Call, ExprCompiler], Steps]:
    def fail(node: Call, run: ExprCompiler) -> Steps:
        assert isinstance(node.op, Op)
        raise InterpretError(f"{node.op.name}: {why}", nodes=(node,), root=run.root)
        yield

    return fail


_THREADS = "threads run one after another here, so exchange among them has no meaning"
CALLS: dict[str, Callable[[Call, ExprCompiler], Steps]] = {
    "tirx.if_then_else": _if_then_else,
    "tirx.reinterpret": _reinterpret,
    "tirx.buffer_data": _buffer_data,
    "tirx.address_of": _address_of,
    "tirx.handle_add_byte_offset": _add_byte_offset,
    "tirx.tvm_access_ptr": _access_ptr,
    "tirx.isnullptr": _isnull,
    "tirx.undef": _undef,
    "tirx.large_uint_imm": _large_uint,
    "tirx.tvm_call_packed": _packed,
    "tirx.tvm_call_cpacked": _packed,
    "tirx.tvm_storage_sync": _unsupported(_THREADS),
    "tirx.tvm_thread_allreduce": _unsupported(_THREADS),
    "tirx.call_extern": _unsupported("an external function has no meaning in NumPy"),
    "tirx.call_pure_extern": _unsupported("an external function has no meaning in NumPy"),
}
