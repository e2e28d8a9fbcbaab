"""Relations between types: subtypes, least common ancestor, erasure, matching of shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from workbench.arith import Analyzer
from workbench.core.errors import WorkbenchError
from workbench.core.structural import structural_equal
from workbench.core.traverse import free_vars, iter_nodes, rewrite, substitute
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Op, Var
from workbench.ir.type import PointerType, PrimType, TupleType, Type, relations
from workbench.relax.expr import ExternFunc, Function, ShapeExpr
from workbench.relax.type import (
    AnyType,
    FuncType,
    PackedFuncType,
    ShapeType,
    TensorType,
)


class TypeInferenceError(WorkbenchError, TypeError):
    """The operands of a call do not fit its operator or callee."""


class BaseCheckResult(IntEnum):
    """Outcome of `type_base_check(base, derived)`."""

    FAIL_L0 = 0  # of different kinds
    FAIL_L1 = 1  # known to disagree
    FAIL_L2 = 2  # may agree at run time
    PASS = 3


def same_dim(a: Any, b: Any) -> bool:
    """Whether two dimensions are structurally equal, or equal after simplification."""
    if a is b or structural_equal(a, b):
        return True
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value
    return bool(Analyzer().can_prove_equal(a, b))


def _dims_check(base: Any, derived: Any) -> BaseCheckResult:
    """Compares two tuples of dimensions of one length."""
    result = BaseCheckResult.PASS
    for a, b in zip(base, derived, strict=True):
        if same_dim(a, b):
            continue
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            return BaseCheckResult.FAIL_L1
        result = min(result, BaseCheckResult.FAIL_L2)
    return result


def _tensor_check(base: TensorType, derived: TensorType) -> BaseCheckResult:
    if base.dtype is not None and derived.dtype != base.dtype:
        return BaseCheckResult.FAIL_L2 if derived.dtype is None else BaseCheckResult.FAIL_L1
    if base.ndim == -1 and base.shape is None:
        return BaseCheckResult.PASS
    if derived.ndim == -1:
        return BaseCheckResult.FAIL_L2
    if base.ndim != derived.ndim:
        return BaseCheckResult.FAIL_L1
    if base.shape is None or base.shape is derived.shape:
        return BaseCheckResult.PASS
    if base.dims is None or derived.dims is None:
        return BaseCheckResult.FAIL_L2
    return _dims_check(base.dims, derived.dims)


def _shape_check(base: ShapeType, derived: ShapeType) -> BaseCheckResult:
    if base.ndim == -1:
        return BaseCheckResult.PASS
    if derived.ndim == -1:
        return BaseCheckResult.FAIL_L2
    if base.ndim != derived.ndim:
        return BaseCheckResult.FAIL_L1
    if base.values is None:
        return BaseCheckResult.PASS
    if derived.values is None:
        return BaseCheckResult.FAIL_L2
    return _dims_check(base.values, derived.values)


def type_base_check(base: Type, derived: Type) -> BaseCheckResult:
    """Whether every value of type `derived` has type `base`."""
    if base is derived or isinstance(base, AnyType):
        return BaseCheckResult.PASS
    if isinstance(derived, AnyType):
        return BaseCheckResult.FAIL_L2
    if isinstance(base, TensorType) and isinstance(derived, TensorType):
        return _tensor_check(base, derived)
    if isinstance(base, ShapeType) and isinstance(derived, ShapeType):
        return _shape_check(base, derived)
    if isinstance(base, TupleType) and isinstance(derived, TupleType):
        if len(base.fields) != len(derived.fields):
            return BaseCheckResult.FAIL_L1
        results = map(type_base_check, base.fields, derived.fields)
        return min(results, default=BaseCheckResult.PASS)
    if isinstance(base, (PrimType, PointerType)) and isinstance(derived, (PrimType, PointerType)):
        return BaseCheckResult.PASS if base == derived else BaseCheckResult.FAIL_L1
    if isinstance(base, FuncType) and isinstance(derived, FuncType):
        return _func_check(base, derived)
    if isinstance(base, FuncType) and isinstance(derived, PackedFuncType):
        return BaseCheckResult.FAIL_L2
    if type(base) is type(derived):
        return BaseCheckResult.PASS if base == derived else BaseCheckResult.FAIL_L1
    return BaseCheckResult.FAIL_L0


def _func_check(base: FuncType, derived: FuncType) -> BaseCheckResult:
    if base.purity and not derived.purity:
        return BaseCheckResult.FAIL_L1
    if base.params is None:
        return type_base_check(base.ret, derived.ret)
    if derived.params is None:
        return BaseCheckResult.FAIL_L2
    if len(base.params) != len(derived.params):
        return BaseCheckResult.FAIL_L1
    if structural_equal(base, derived):
        return BaseCheckResult.PASS
    params = min(
        (type_base_check(d, b) for b, d in zip(base.params, derived.params, strict=True)),
        default=BaseCheckResult.PASS,
    )
    return min(params, type_base_check(base.ret, derived.ret))


def is_base_of(base: Type, derived: Type) -> bool:
    """Whether `derived` is a subtype of `base`."""
    return type_base_check(base, derived) is BaseCheckResult.PASS


relations["is_base_of"] = is_base_of


def type_lca(lhs: Type, rhs: Type) -> Type:
    """The most specific type that both types are subtypes of."""
    if is_base_of(lhs, rhs):
        return lhs
    if is_base_of(rhs, lhs):
        return rhs
    if isinstance(lhs, TensorType) and isinstance(rhs, TensorType):
        dtype = lhs.dtype if lhs.dtype == rhs.dtype else None
        if lhs.ndim != rhs.ndim or lhs.ndim == -1:
            return TensorType(dtype=dtype, ndim=-1)
        if lhs.dims is not None and rhs.dims is not None:
            if all(map(same_dim, lhs.dims, rhs.dims)):
                return TensorType(lhs.shape, dtype)
        return TensorType(dtype=dtype, ndim=lhs.ndim)
    if isinstance(lhs, ShapeType) and isinstance(rhs, ShapeType):
        return ShapeType(ndim=lhs.ndim if lhs.ndim == rhs.ndim else -1)
    if isinstance(lhs, TupleType) and isinstance(rhs, TupleType):
        if len(lhs.fields) == len(rhs.fields):
            return TupleType([type_lca(a, b) for a, b in zip(lhs.fields, rhs.fields, strict=True)])
    if isinstance(lhs, FuncType) and isinstance(rhs, FuncType):
        return FuncType(None, type_lca(lhs.ret, rhs.ret), lhs.purity and rhs.purity)
    return AnyType()


def erase_to_well_defined(
    ty: Type,
    shape_var_map: Mapping[Var, Expr | None] | Callable[[Var], Expr | None] | None = None,
    var_map: Mapping[Var, Expr] | None = None,
) -> Type:
    """Removes what refers to variables that the maps do not define.

    A mapped symbolic variable is replaced by its image; a shape that uses an unmapped one becomes
    unknown (its rank stays).
    """
    lookup = shape_var_map or {}
    find = lookup if callable(lookup) else lookup.get

    def defined(expr: Expr) -> Expr | None:
        images: dict[Var, Expr] = {}
        for var in free_vars(expr):
            image = find(var)
            if image is None:
                return None
            images[var] = image
        return substitute(expr, images)

    def tensor(node: TensorType) -> Any:
        if node.shape is None:
            return node
        if isinstance(node.shape, Var):
            image = (var_map or {}).get(node.shape)
            if image is not None:
                return node.replace(shape=image)
            return TensorType(dtype=node.dtype, ndim=node.ndim, vdevice=node.vdevice)
        dims = [defined(d) for d in node.dims or ()]
        if any(d is None for d in dims):
            return TensorType(dtype=node.dtype, ndim=node.ndim, vdevice=node.vdevice)
        return TensorType(ShapeExpr(dims), node.dtype, node.vdevice)

    def shape(node: ShapeType) -> Any:
        if node.values is None:
            return node
        dims = [defined(d) for d in node.values]
        return ShapeType(ndim=node.ndim) if any(d is None for d in dims) else ShapeType(dims)

    def function(node: FuncType) -> Any:
        yield ()
        return node  # a function type binds its own symbols

    def control_tensor(node: TensorType) -> Any:
        yield ()
        return tensor(node)

    def control_shape(node: ShapeType) -> Any:
        yield ()
        return shape(node)

    return rewrite(
        ty,
        {TensorType: control_tensor, ShapeType: control_shape, FuncType: function},
        memo=False,
    )


def match_types(param: Type, arg: Type, binding: dict[Var, Expr]) -> None:
    """Extends `binding` (symbolic variables → expressions) so that `param` fits `arg`."""
    if isinstance(param, TensorType) and isinstance(arg, TensorType):
        if isinstance(param.shape, Var) and arg.shape is not None:
            binding.setdefault(param.shape, arg.shape)
        _match_dims(param.dims, arg.dims, binding)
    elif isinstance(param, ShapeType) and isinstance(arg, ShapeType):
        _match_dims(param.values, arg.values, binding)
    elif isinstance(param, TupleType) and isinstance(arg, TupleType):
        for p, a in zip(param.fields, arg.fields, strict=False):
            match_types(p, a, binding)


def _match_dims(param: Any, arg: Any, binding: dict[Var, Expr]) -> None:
    if param is None or arg is None:
        return
    for p, a in zip(param, arg, strict=False):
        if isinstance(p, Var):
            binding.setdefault(p, a)


def derive_call_ret_type(func_ty: FuncType, call: Call, ctx: Any = None) -> Type:
    """The type of calling a value of type `func_ty`; `ctx` is not needed.

    Raises TypeInferenceError if the number of arguments differs or an argument cannot fit.
    """
    if func_ty.params is None:
        if call.ty_args:
            return call.ty_args[0] if len(call.ty_args) == 1 else TupleType(call.ty_args)
        if func_ty.derive_func is not None:
            return func_ty.derive_func(call)
        return func_ty.ret
    if len(func_ty.params) != len(call.args):
        raise TypeInferenceError(
            f"{call.op}: expected {len(func_ty.params)} arguments, got {len(call.args)}",
            nodes=[call],
        )
    binding: dict[Var, Expr] = {}
    for param, arg in zip(func_ty.params, call.args, strict=True):
        match_types(param, arg.ty, binding)
    for position, (param, arg) in enumerate(zip(func_ty.params, call.args, strict=True)):
        wanted = substitute(param, binding)
        if type_base_check(wanted, arg.ty) < BaseCheckResult.FAIL_L2:
            raise TypeInferenceError(
                f"{call.op}: argument {position} should be {wanted}, got {arg.ty}", nodes=[call]
            )
    unbound = {id(v) for p in func_ty.params for v in iter_nodes(p, Var) if v not in binding}
    images = {v: binding.get(v, v) for v in free_vars(func_ty.ret) if id(v) not in unbound}
    return erase_to_well_defined(func_ty.ret, images, binding)


def infer_call_type(call: Call, lookup: Callable[[GlobalVar], Any] = lambda gvar: None) -> Type:
    """The type of a call whose operands have theirs; `lookup` finds functions of the module."""
    callee = call.op
    if isinstance(callee, Op):
        info = callee.attr("info")
        if info is None or info.infer is None:
            return call.ty if call.ty is not None else AnyType()
        return info.infer(call, [a.ty for a in call.args])
    if isinstance(callee, GlobalVar):
        found = lookup(callee)
        ty = found.ty if isinstance(found, (Function, ExternFunc)) else callee.ty
    else:
        ty = callee.ty
    if isinstance(ty, FuncType):
        return derive_call_ret_type(ty, call)
    if isinstance(ty, (PackedFuncType, AnyType)) or ty is None:
        if call.ty_args:
            return call.ty_args[0] if len(call.ty_args) == 1 else TupleType(call.ty_args)
        return call.ty if call.ty is not None else AnyType()
    raise TypeInferenceError(f"{callee} of type {ty} cannot be called", nodes=[call])
