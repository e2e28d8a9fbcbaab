"""Builtins: control, pointers, calls of packed and external functions, vector parts, debugging."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Op, StringImm, Var, as_expr
from workbench.ir.type import VOID, PointerType, Type, as_type, prim_type
from workbench.runtime.dtype import DataType
from workbench.tirx.buffer import BufferType, buffer_data_pointer_type, is_buffer_var
from workbench.tirx.expr import Broadcast, BufferLoad
from workbench.tirx.op import arith
from workbench.tirx.op.constants import value_of
from workbench.tirx.op.intrin import CallEffectKind, declare_intrin, intrin

_Kind = CallEffectKind


def _call(name: str, args: Any, ty: Any, span: Any = None) -> Call:
    return Call(Op.get(f"tirx.{name}"), [as_expr(a) for a in args], ret_ty=as_type(ty), span=span)


@intrin("tirx.if_then_else", lower={"llvm": "if_then_else", "c": "?:"}, vectorizable=False)
def if_then_else(cond: Any, t: Any, f: Any, span: Any = None) -> Any:
    """`t` if `cond` holds, else `f`; only the chosen one is evaluated, so it may guard a load."""
    condition = as_expr(cond)
    if not condition.dtype.is_bool:
        raise TypeError(f"if_then_else: the condition must be bool, got {condition.dtype}")
    a, b = arith.match_types("if_then_else", t, f)
    known = value_of(condition)
    if known is not None:
        return a if known else b
    return Call(Op.get("tirx.if_then_else"), [condition, a, b], ret_ty=a.ty, span=span)


@intrin("tirx.likely", lower={"llvm": "likely", "c": ""}, numpy=lambda x: x)
def likely(cond: Any, span: Any = None) -> Any:
    """`cond`, which is nearly always true (loop partitioning removes it)."""
    condition = as_expr(cond)
    if value_of(condition) is not None:
        return condition
    return Call(Op.get("tirx.likely"), [condition], ret_ty=condition.ty, span=span)


@intrin("tirx.ignore_loop_partition", numpy=lambda x: x)
def ignore_loop_partition(predicate: Any) -> Any:
    """`predicate`, which loop partitioning leaves alone."""
    return _call("ignore_loop_partition", [predicate], "bool")


@intrin("tirx.assume", numpy=lambda x: x, effect=_Kind.EmbedInfo)
def assume(cond: Any = None) -> Any:
    """A promise to the compiler that `cond` holds."""
    return _call("assume", [cond], "bool")


@intrin("tirx.undef", effect=_Kind.ReadState)
def undef() -> Any:
    """A value that nobody may look at."""
    return _call("undef", [], "int32")


def reinterpret(dtype: Any, value: Any, span: Any = None) -> Any:
    """The bits of `value` read as another data type of the same size."""
    expr = as_expr(value)
    kind: Any = as_type(dtype)
    if isinstance(kind, PointerType) or isinstance(expr.ty, PointerType):
        return Call(Op.get("tirx.reinterpret"), [expr], ret_ty=kind, span=span)
    to, source = kind.dtype, expr.dtype
    if to == source:
        return expr
    if to.bits * to.lanes != source.bits * source.lanes:
        raise TypeError(
            f"reinterpret: {source} has {source.bits * source.lanes} bits, "
            f"{to} has {to.bits * to.lanes}"
        )
    return Call(Op.get("tirx.reinterpret"), [expr], ret_ty=kind, span=span)


declare_intrin("tirx.reinterpret", lower={"llvm": "bitcast"}, vectorizable=True)


@intrin("tirx.isnullptr", lower={"llvm": "isnullptr"})
def isnullptr(x: Any, span: Any = None) -> Any:
    """Whether a pointer is null."""
    return _call("isnullptr", [x], "bool", span)


# Pointers and buffers


@intrin("tirx.buffer_data", lower={"llvm": "buffer_data"})
def buffer_data(buffer: Any) -> Any:
    """The pointer to a buffer's data."""
    return Call(Op.get("tirx.buffer_data"), [buffer], ret_ty=buffer_data_pointer_type(buffer))


@intrin("tirx.address_of", lower={"llvm": "address_of"})
def address_of(obj: Any, span: Any = None) -> Any:
    """The pointer to an element of a buffer (to the first one for a buffer)."""
    load = obj
    if is_buffer_var(obj):
        load = BufferLoad(obj, [IntImm("int32", 0)] * obj.ty.ndim)
    if isinstance(load, BufferLoad):
        scope = load.buffer.ty.storage_scope
        kind: Type = PointerType(prim_type(load.dtype), scope)
    elif isinstance(load, Var):
        kind = PointerType(load.ty)
    else:
        raise TypeError(f"address_of: expected a variable or a load, got {obj}")
    return Call(Op.get("tirx.address_of"), [load], ret_ty=kind, span=span)


_ACCESS = {"r": 1, "w": 2, "rw": 3}


@intrin("tirx.tvm_access_ptr", effect=_Kind.SpecialCallArg)
def tvm_access_ptr(ptype: Any, data: Any, offset: Any, extent: Any, rw_mask: Any) -> Any:
    """A pointer `data + offset` of `extent` elements; `rw_mask` is 1 read, 2 write or 3 both."""
    args = [as_expr(v) for v in (ptype, data, offset, extent, rw_mask)]
    return Call(Op.get("tirx.tvm_access_ptr"), args, ret_ty=args[1].ty)


def access_ptr(
    buffer: Var,
    access_mask: Any,
    ptr_type: str = "handle",
    content_lanes: int = 1,
    offset: Any = 0,
    extent: Any = None,
) -> Any:
    """A pointer into a buffer for intrinsics.

    Parameters
    ----------
    access_mask : "r", "w" or "rw". offset, extent : in elements.
    """
    mask = _ACCESS.get(access_mask, access_mask) if isinstance(access_mask, str) else access_mask
    if mask not in (1, 2, 3):
        raise ValueError(f"access_ptr: expected 'r', 'w' or 'rw', got {access_mask!r}")
    ty: BufferType = buffer.ty
    size: Any = as_expr(1)
    for dim in ty.shape:
        size = arith.multiply(size, dim)
    start = as_expr(offset)
    if ty.elem_offset is not None:
        start = arith.add(ty.elem_offset, start)
    if extent is None:
        extent = arith.subtract(size, offset)
    dtype = ty.dtype if content_lanes == 1 else ty.dtype.with_lanes(content_lanes)
    return tvm_access_ptr(type_annotation(dtype), buffer_data(buffer), start, extent, mask)


@intrin("tirx.handle_add_byte_offset", lower={"llvm": "handle_add_byte_offset"})
def handle_add_byte_offset(handle: Any, offset: Any) -> Any:
    """A pointer moved by a number of bytes."""
    args = [as_expr(handle), as_expr(offset)]
    return Call(Op.get("tirx.handle_add_byte_offset"), args, ret_ty=args[0].ty)


@intrin("tirx.ptr_byte_offset")
def ptr_byte_offset(data: Any, byte_offset: Any, dtype: Any) -> Any:
    """A typed pointer at a number of bytes after `data`."""
    args = [as_expr(data), as_expr(byte_offset), type_annotation(dtype)]
    return Call(Op.get("tirx.ptr_byte_offset"), args, ret_ty=PointerType(prim_type(dtype)))


@intrin("tirx.type_annotation")
def type_annotation(dtype: Any) -> Any:
    """A data type as an argument."""
    return Call(Op.get("tirx.type_annotation"), [], ret_ty=prim_type(DataType(dtype)))


# Control


@intrin("tirx.break_loop", effect=_Kind.ControlJump)
def break_loop(span: Any = None) -> Any:
    """Leaves the innermost loop (an expression; the statement is `Break`)."""
    return _call("break_loop", [], VOID, span)


@intrin("tirx.continue_loop", effect=_Kind.ControlJump)
def continue_loop(span: Any = None) -> Any:
    """Goes on with the next turn of the innermost loop (the statement is `Continue`)."""
    return _call("continue_loop", [], VOID, span)


@intrin("tirx.thread_return", effect=_Kind.ControlJump)
def thread_return() -> Any:
    """Ends the current thread of a kernel."""
    return _call("thread_return", [], VOID)


@intrin("tirx.tvm_throw_last_error", effect=_Kind.ControlJump)
def tvm_throw_last_error() -> Any:
    """Raises the error that a callee has set."""
    return _call("tvm_throw_last_error", [], VOID)


# Calls


def call_intrin(dtype: Any, func_name: Any, *args: Any, attrs: Any = None, span: Any = None) -> Any:
    """A call of an intrinsic by name, with the result type `dtype`."""
    op = func_name if isinstance(func_name, Op) else Op.get(func_name)
    return Call(op, [as_expr(a) for a in args], attrs, ret_ty=as_type(dtype), span=span)


for _name, _effect in (
    ("call_extern", _Kind.UpdateState),
    ("call_pure_extern", _Kind.Pure),
    ("call_llvm_intrin", _Kind.UpdateState),
    ("call_llvm_pure_intrin", _Kind.Pure),
    ("tvm_call_packed", _Kind.UpdateState),
    ("tvm_call_cpacked", _Kind.UpdateState),
    ("tvm_call_packed_lowered", _Kind.UpdateState),
    ("tvm_call_cpacked_lowered", _Kind.UpdateState),
    ("tvm_call_trace_packed", _Kind.UpdateState),
):
    declare_intrin(f"tirx.{_name}", lower={"llvm": _name}, effect=_effect)


def call_extern(dtype: Any, func_name: str, *args: Any, span: Any = None) -> Any:
    """A call of a C function that may have effects."""
    return _call("call_extern", [StringImm(func_name), *args], dtype, span)


def call_pure_extern(dtype: Any, func_name: str, *args: Any, span: Any = None) -> Any:
    """A call of a C function without effects."""
    return _call("call_pure_extern", [StringImm(func_name), *args], dtype, span)


def call_llvm_intrin(dtype: Any, name: str, *args: Any, span: Any = None) -> Any:
    """A call of an LLVM intrinsic by its name ("llvm.prefetch")."""
    return _call("call_llvm_intrin", [StringImm(name), *args], dtype, span)


def call_llvm_pure_intrin(dtype: Any, name: str, *args: Any, span: Any = None) -> Any:
    """A call of an LLVM intrinsic without effects."""
    return _call("call_llvm_pure_intrin", [StringImm(name), *args], dtype, span)


def _packed(name: str, args: tuple[Any, ...], span: Any) -> Any:
    if not args or not isinstance(args[0], (str, StringImm)):
        raise TypeError(f"{name}: the first argument is the name of the function")
    return _call(name, args, "int32", span)


def call_packed(*args: Any, span: Any = None) -> Any:
    """A call of a registered packed function: its name, then the arguments."""
    return _packed("tvm_call_packed", args, span)


def call_cpacked(*args: Any, span: Any = None) -> Any:
    """A call of a function with the packed C calling convention."""
    return _packed("tvm_call_cpacked", args, span)


def call_packed_lowered(*args: Any, span: Any = None) -> Any:
    """A packed call whose arguments are on the stack already."""
    return _packed("tvm_call_packed_lowered", args, span)


def call_cpacked_lowered(*args: Any, span: Any = None) -> Any:
    """A C packed call whose arguments are on the stack already."""
    return _packed("tvm_call_cpacked_lowered", args, span)


def trace(args: Any, trace_action: str = "tvm.default_trace_action") -> Any:
    """A call that hands values to a tracing function and returns the last of them."""
    exprs = [as_expr(a) for a in args]
    return _call("tvm_call_trace_packed", [StringImm(trace_action), *exprs], exprs[-1].ty)


def call_tir(global_var: GlobalVar, *args: Any) -> Any:
    """A call of another function of the module."""
    if not isinstance(global_var, GlobalVar):
        raise TypeError(f"call_tir: expected a GlobalVar, got {type(global_var).__name__}")
    found = getattr(global_var.ty, "ret_type", None)
    ty = found if isinstance(found, Type) else VOID
    return Call(global_var, [as_expr(a) for a in args], ret_ty=ty)


# Stack values and structures


@intrin("tirx.tvm_tuple", effect=_Kind.EmbedInfo)
def tvm_tuple(*value: Any) -> Any:
    """Several values as the value of an attribute."""
    return _call("tvm_tuple", value, "handle")


@intrin("tirx.tvm_stack_alloca", effect=_Kind.UpdateState)
def tvm_stack_alloca(dtype_str: str, num: Any) -> Any:
    """Stack space for `num` values of a kind."""
    return _call("tvm_stack_alloca", [dtype_str, num], "handle")


@intrin("tirx.tvm_stack_make_shape", effect=_Kind.UpdateState)
def tvm_stack_make_shape(*args: Any) -> Any:
    """A shape on the stack."""
    return _call("tvm_stack_make_shape", args, "handle")


@intrin("tirx.tvm_stack_make_array", effect=_Kind.UpdateState)
def tvm_stack_make_array(
    data: Any, shape: Any, strides: Any, ndim: Any, arr_dtype: Any, elem_offset: Any
) -> Any:
    """A DLTensor on the stack."""
    args = [data, shape, strides, ndim, arr_dtype, elem_offset]
    return _call("tvm_stack_make_array", args, "handle")


@intrin("tirx.tvm_struct_get", effect=_Kind.ReadState)
def tvm_struct_get(arr: Any, index: Any, field: Any, dtype: Any) -> Any:
    """A field of a structure."""
    return _call("tvm_struct_get", [arr, index, field], dtype)


@intrin("tirx.tvm_struct_set", effect=_Kind.UpdateState)
def tvm_struct_set(arr: Any, index: Any, field: Any, value: Any) -> Any:
    """Sets a field of a structure."""
    return _call("tvm_struct_set", [arr, index, field, value], "int32")


@intrin("tirx.lookup_param")
def lookup_param(param_name: str, span: Any = None) -> Any:
    """A parameter linked into the module, by name."""
    return _call("lookup_param", [param_name], "handle", span)


@intrin("tirx.large_uint_imm")
def large_uint_imm(dtype: Any, low: Any, high: Any) -> Any:
    """The unsigned constant high * 2**32 + low."""
    return _call("large_uint_imm", [low, high], dtype)


# Vectors


@intrin("tirx.vectorlow", lower={"llvm": "vectorlow"}, numpy=lambda x: x[: len(x) // 2])
def vectorlow(dtype: Any, vec: Any) -> Any:
    """The first half of a vector."""
    return _call("vectorlow", [vec], dtype)


@intrin("tirx.vectorhigh", lower={"llvm": "vectorhigh"}, numpy=lambda x: x[len(x) // 2 :])
def vectorhigh(dtype: Any, vec: Any) -> Any:
    """The second half of a vector."""
    return _call("vectorhigh", [vec], dtype)


@intrin(
    "tirx.vectorcombine", lower={"llvm": "vectorcombine"}, numpy=lambda a, b: np.concatenate([a, b])
)
def vectorcombine(dtype: Any, vec1: Any, vec2: Any) -> Any:
    """Two vectors one after the other."""
    return _call("vectorcombine", [vec1, vec2], dtype)


@intrin("tirx.dp4a")
def dp4a(vec1: Any, vec2: Any, acc: Any = 0) -> Any:
    """Dot product of four int8 pairs packed in two int32, plus an accumulator."""
    args = [as_expr(v) for v in (vec1, vec2, acc)]
    return Call(Op.get("tirx.dp4a"), args, ret_ty=args[2].ty)


@intrin("tirx.get_active_lane_mask")
def get_active_lane_mask(dtype: Any, base: Any, limit: Any) -> Any:
    """The mask of the lanes i with base + i < limit."""
    return _call("get_active_lane_mask", [base, limit], dtype)


@intrin("tirx.vscale", effect=_Kind.Pure)
def vscale() -> Any:
    """The run-time multiple of a scalable vector's length."""
    return _call("vscale", [], "int32")


def get_vscale_expr(dtype: Any, min_size: int = 128) -> Any:
    """Elements of a data type in one scalable vector register of at least `min_size` bits."""
    return arith.multiply(min_size // DataType(dtype).bits, vscale())


# Threads (carried for GPU programs)


@intrin("tirx.tvm_storage_sync", effect=_Kind.UpdateState)
def tvm_storage_sync(storage_scope: str, is_load: bool = False, num_blocks: int = -1) -> Any:
    """A barrier among the threads that share a storage scope."""
    return _call("tvm_storage_sync", [storage_scope, is_load, num_blocks], "int32")


@intrin("tirx.tvm_thread_allreduce", effect=_Kind.UpdateState)
def tvm_thread_allreduce(*freduce_args: Any) -> Any:
    """A reduction over threads."""
    return _call("tvm_thread_allreduce", freduce_args, "handle")


@intrin("tirx.tvm_thread_invariant", numpy=lambda x: x)
def tvm_thread_invariant(cond: Any) -> Any:
    """`cond`, which is the same in all threads of a block."""
    expr = as_expr(cond)
    return Call(Op.get("tirx.tvm_thread_invariant"), [expr], ret_ty=expr.ty)


def _shuffle(name: str, llvm: str) -> Any:
    declare_intrin(f"tirx.{name}", lower={"c": llvm}, effect=_Kind.UpdateState)

    def build(mask: Any, value: Any, warp_id: Any, width: Any, warp_size: Any) -> Any:
        expr = as_expr(value)
        return _call(name, [mask, expr, warp_id, width, warp_size], expr.ty)

    build.__name__ = name
    build.__doc__ = f"Exchange of a value among the threads of a warp ({name})."
    return build


tvm_warp_shuffle = _shuffle("tvm_warp_shuffle", "__shfl_sync")
tvm_warp_shuffle_up = _shuffle("tvm_warp_shuffle_up", "__shfl_up_sync")
tvm_warp_shuffle_down = _shuffle("tvm_warp_shuffle_down", "__shfl_down_sync")
tvm_warp_shuffle_xor = _shuffle("tvm_warp_shuffle_xor", "__shfl_xor_sync")


@intrin("tirx.tvm_warp_activemask", effect=_Kind.UpdateState)
def tvm_warp_activemask() -> Any:
    """The mask of the active threads of a warp."""
    return _call("tvm_warp_activemask", [], "uint32")


@intrin("tirx.start_profile_intrinsic", effect=_Kind.UpdateState)
def start_profile_intrinsic(id: int) -> Any:
    """Marks the start of a profiled region."""
    return _call("start_profile_intrinsic", [id], "handle")


@intrin("tirx.end_profile_intrinsic", effect=_Kind.UpdateState)
def end_profile_intrinsic(id: int) -> Any:
    """Marks the end of a profiled region."""
    return _call("end_profile_intrinsic", [id], "handle")


def splat(value: Any, lanes: int) -> Expr:
    """A vector of equal lanes; a scalar for one lane."""
    expr = as_expr(value)
    if lanes == 1:
        return expr
    if expr.dtype.lanes != 1:
        raise WorkbenchError(f"splat: expected a scalar, got {expr.dtype} ({expr})")
    return Broadcast(expr, lanes)
