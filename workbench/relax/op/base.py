"""Calls that leave the graph: kernels (`call_tir`), runtime functions, and shape functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, StringImm
from workbench.ir.type import TupleType, Type
from workbench.relax.expr import ExternFunc, ShapeExpr, Tuple, convert_to_expr
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op
from workbench.relax.type import AnyType, ShapeType, TensorType


def _as_tuple(args: Any) -> Tuple:
    if isinstance(args, Tuple):
        return args
    if isinstance(args, Expr) and isinstance(args.ty, TupleType):
        return args  # type: ignore[return-value]  (a variable that holds a tuple)
    return Tuple(args if isinstance(args, (list, tuple)) else [args])


def _out_type(out_ty: Any) -> Type:
    if isinstance(out_ty, Type):
        return out_ty
    if isinstance(out_ty, (list, tuple)):
        if len(out_ty) == 1:
            return _out_type(out_ty[0])
        return TupleType([_out_type(t) for t in out_ty])
    raise TypeError(f"expected the type of the output, got {type(out_ty).__name__} {out_ty!r}")


def _given_type(call: Call, types: list[Any]) -> Type:
    """The type named in the call."""
    if not call.ty_args:
        return AnyType()
    return call.ty_args[0] if len(call.ty_args) == 1 else TupleType(call.ty_args)


def _with_types(call: Call, *types: Type) -> Call:
    new = call.replace(ty_args=types, ty=None)
    return new.replace(ty=_given_type(new, []))


@relax_op("call_tir", infer=_given_type, pattern=OpPatternKind.OPAQUE)
def _call_tir(gvar: Expr, args: Any, tir_vars: Any = None) -> OpCall:
    operands: list[Expr] = [gvar, _as_tuple(args)]
    if tir_vars is not None:
        operands.append(tir_vars if isinstance(tir_vars, ShapeExpr) else ShapeExpr(tir_vars))
    return tuple(operands), {}


def call_tir(
    gvar: GlobalVar, args: Any, out_ty: Any = None, tir_vars: Any = None, *, out_sinfo: Any = None
) -> Call:
    """Calls the kernel `gvar` on `args`; it writes freshly allocated outputs of type `out_ty`.

    `tir_vars` are passed as scalars after the outputs.
    """
    if not isinstance(gvar, GlobalVar):
        raise TypeError(f"call_tir: expected a GlobalVar, got {type(gvar).__name__} {gvar}")
    ty = _out_type(out_ty if out_ty is not None else out_sinfo)
    return _with_types(_call_tir(gvar, args, tir_vars), ty)


@relax_op("call_tir_inplace", infer=_given_type, pattern=OpPatternKind.OPAQUE)
def _call_tir_inplace(
    gvar: Expr, args: Any, inplace_indices: Sequence[int] = (), tir_vars: Any = None
) -> OpCall:
    operands: list[Expr] = [gvar, _as_tuple(args)]
    if tir_vars is not None:
        operands.append(tir_vars if isinstance(tir_vars, ShapeExpr) else ShapeExpr(tir_vars))
    return tuple(operands), {"inplace_indices": tuple(inplace_indices)}


def call_tir_inplace(
    gvar: GlobalVar, args: Any, inplace_indices: Any, out_ty: Any = None, tir_vars: Any = None
) -> Call:
    """Like `call_tir`, but output i reuses argument `inplace_indices[i]` (-1: a fresh one)."""
    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    return _with_types(_call_tir_inplace(gvar, args, indices, tir_vars), _out_type(out_ty))


@relax_op("call_dps_packed", infer=_given_type, pattern=OpPatternKind.OPAQUE)
def _call_dps_packed(func: Expr, args: Any) -> OpCall:
    return (func, _as_tuple(args)), {}


def call_dps_packed(func: str | Expr, args: Any, out_ty: Any = None) -> Call:
    """Calls a runtime function that writes its last arguments, of type `out_ty`."""
    callee = ExternFunc(func) if isinstance(func, str) else func
    return _with_types(_call_dps_packed(callee, args), _out_type(out_ty))


@relax_op("call_pure_packed", infer=_given_type, pattern=OpPatternKind.OPAQUE)
def _call_pure_packed(func: Expr, *args: Any) -> OpCall:
    return (func, *map(convert_to_expr, args)), {}


def call_pure_packed(func: str | Expr, *args: Any, ty_args: Any = None) -> Call:
    """Calls a runtime function that is promised to have no side effects."""
    callee = ExternFunc(func) if isinstance(func, str) else func
    types = ty_args if isinstance(ty_args, (list, tuple)) else [ty_args] if ty_args else []
    return _with_types(_call_pure_packed(callee, *args), *types)


def call_packed(func: str | Expr, *args: Any, ty_args: Any = None) -> Call:
    """Calls a runtime function (which may have side effects)."""
    callee = ExternFunc(func) if isinstance(func, str) else func
    types = ty_args if isinstance(ty_args, (list, tuple)) else [ty_args] if ty_args else []
    call = Call(callee, tuple(map(convert_to_expr, args)), None, types)
    return call.replace(ty=_given_type(call, []))


def _shape_of_type(call: Call, types: list[Any]) -> Type:
    (ty,) = types
    if not isinstance(ty, TensorType):
        raise WorkbenchError(f"shape_of: expected a tensor, got {ty}", nodes=[call])
    return ShapeType(ty.dims) if ty.dims is not None else ShapeType(ndim=ty.ndim)


@relax_op("shape_of", infer=_shape_of_type)
def shape_of(expr: Expr) -> OpCall:
    """The shape of a tensor as a shape value."""
    return (expr,), {}


def _tensor_to_shape_type(call: Call, types: list[Any]) -> Type:
    (ty,) = types
    dims = ty.dims if isinstance(ty, TensorType) else None
    if dims and len(dims) == 1 and isinstance(dims[0], IntImm):
        return ShapeType(ndim=dims[0].value)
    return ShapeType()


@relax_op("tensor_to_shape", infer=_tensor_to_shape_type)
def tensor_to_shape(expr: Expr) -> OpCall:
    """A one-dimensional integer tensor as a shape value."""
    return (expr,), {}


def _shape_to_tensor_type(call: Call, types: list[Any]) -> Type:
    (ty,) = types
    ndim = ty.ndim if isinstance(ty, ShapeType) else -1
    return TensorType([ndim], "int64") if ndim >= 0 else TensorType(dtype="int64", ndim=1)


@relax_op("shape_to_tensor", infer=_shape_to_tensor_type)
def shape_to_tensor(expr: Expr) -> OpCall:
    """A shape value as an int64 tensor."""
    return (expr,), {}


@relax_op("null_value", infer=lambda call, types: AnyType())
def null_value() -> OpCall:
    """The value None of the runtime."""
    return (), {}


@relax_op("print", infer=lambda call, types: TupleType(()), pure=False)
def _print(fmt: Expr, *values: Any) -> OpCall:
    return (fmt, *map(convert_to_expr, values)), {}


def print_(*values: Any, format: str = "") -> Call:
    """Prints values at run time."""
    return _print(StringImm(format), *values)


@relax_op("assert_op", infer=lambda call, types: TupleType(()), pure=False)
def _assert_op(condition: Expr, fmt: Expr, *values: Any) -> OpCall:
    return (condition, fmt, *map(convert_to_expr, values)), {}


def assert_op(condition: Any, format_args: Any = (), format: str = "") -> Call:
    """Fails at run time unless `condition` holds."""
    args = format_args if isinstance(format_args, (list, tuple)) else [format_args]
    return _assert_op(convert_to_expr(condition), StringImm(format), *args)
