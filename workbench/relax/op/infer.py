"""Type inference shared by operator families, and the bridge to topi for legalisation."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from workbench.arith import Analyzer
from workbench.ir.expr import Call, Expr, IntImm
from workbench.ir.type import PrimType, TupleType, Type
from workbench.relax.analysis.type_relation import TypeInferenceError, same_dim
from workbench.relax.expr import Tuple, const
from workbench.relax.type import ShapeType, TensorType, as_dim

_TYPED_NUMBER = re.compile(r"T\.u?int(?:32|64)\((-?\d+)\)")


def fail(call: Call, message: str, hint: str = "") -> NoReturn:
    """Raises a TypeInferenceError that names the operator."""
    name = getattr(call.op, "name", str(call.op))
    text = _TYPED_NUMBER.sub(r"\1", message)  # sizes read better without their types
    raise TypeInferenceError(f"{name}: {text}", nodes=[call], hint=hint)


def tensor_type(call: Call, ty: Any, what: str) -> TensorType:
    """The operand's type if it is a tensor; a scalar counts as a tensor without dimensions."""
    if isinstance(ty, TensorType):
        return ty
    if isinstance(ty, PrimType):
        return TensorType((), str(ty.dtype))
    fail(call, f"{what}: expected a tensor, got {ty}")


def tensors(call: Call, types: Sequence[Any], *names: str) -> list[TensorType]:
    """All operands as tensor types; `names` are used in errors."""
    if len(types) != len(names):
        fail(call, f"expected {len(names)} operands ({', '.join(names)}), got {len(types)}")
    return [tensor_type(call, t, n) for t, n in zip(types, names, strict=True)]


def tuple_tensors(call: Call, ty: Any, what: str) -> list[TensorType]:
    """The fields of a tuple operand, all tensors."""
    if not isinstance(ty, TupleType):
        fail(call, f"{what}: expected a tuple of tensors, got {ty}")
    return [tensor_type(call, t, f"{what}[{i}]") for i, t in enumerate(ty.fields)]


def require_ndim(call: Call, ty: TensorType, ndim: int, what: str) -> None:
    """Fails if the rank is known and is another."""
    if ty.ndim not in (-1, ndim):
        fail(call, f"{what}: expected {ndim} dimensions, got {ty.ndim} ({ty})")


def same_as_input(call: Call, types: list[Any]) -> Type:
    """Element by element: shape and dtype of the first operand."""
    return tensor_type(call, types[0], "x").replace(vdevice=None)


def float_unary(call: Call, types: list[Any]) -> Type:
    """Like `same_as_input`, for functions defined on floating-point numbers only."""
    ty = tensor_type(call, types[0], "x")
    if ty.dtype is not None and not is_float(ty.dtype):
        fail(call, f"expected a floating-point tensor, got {ty}", "cast it: R.astype(x, 'float32')")
    return ty


def is_float(dtype: Any) -> bool:
    """Whether a dtype is a floating-point one (bfloat16 and the 8-bit formats included)."""
    return "float" in str(dtype)


def common_dtype(call: Call, types: Sequence[TensorType]) -> Any:
    """The one dtype of the operands (None if unknown); fails if two known ones differ."""
    known = [t.dtype for t in types if t.dtype is not None]
    if len(set(known)) > 1:
        fail(
            call,
            f"operands have different dtypes: {', '.join(map(str, known))}",
            "cast one of them with R.astype",
        )
    return known[0] if known and len(known) == len(types) else None


def broadcast_dims(call: Call, a: Sequence[Expr], b: Sequence[Expr]) -> list[Expr] | None:
    """NumPy's broadcasting; None where two symbolic dimensions may or may not agree."""
    out: list[Expr] = []
    for i in range(max(len(a), len(b))):
        x = a[len(a) - 1 - i] if i < len(a) else None
        y = b[len(b) - 1 - i] if i < len(b) else None
        if x is None or y is None:
            out.append(x if x is not None else y)  # type: ignore[arg-type]
        elif _is_one(x):
            out.append(y)
        elif _is_one(y) or same_dim(x, y):
            out.append(x)
        elif isinstance(x, IntImm) and isinstance(y, IntImm):
            fail(call, f"shapes ({_show(a)}) and ({_show(b)}) cannot be broadcast: {x} and {y}")
        else:
            return None
    return out[::-1]


def _is_one(dim: Expr) -> bool:
    return isinstance(dim, IntImm) and dim.value == 1


def _show(dims: Sequence[Expr]) -> str:
    return ", ".join(map(str, dims))


def broadcast_type(call: Call, types: Sequence[TensorType], dtype: Any) -> TensorType:
    """The type of an element-wise operation of several operands."""
    if any(t.ndim == -1 for t in types):
        return TensorType(dtype=dtype, ndim=-1)
    rank = max(t.ndim for t in types)
    if any(t.dims is None for t in types):
        shared = {id(t.shape): t for t in types}
        if len(shared) == 1:
            return TensorType(types[0].shape, dtype)
        return TensorType(dtype=dtype, ndim=rank)
    dims: list[Expr] | None = list(types[0].dims or ())
    for other in types[1:]:
        assert dims is not None
        dims = broadcast_dims(call, dims, other.dims or ())
        if dims is None:
            return TensorType(dtype=dtype, ndim=rank)
    return TensorType(dims, dtype)


def binary_arith(call: Call, types: list[Any]) -> Type:
    """Two broadcast operands of one dtype."""
    pair = tensors(call, types, "x1", "x2")
    return broadcast_type(call, pair, common_dtype(call, pair))


def binary_compare(call: Call, types: list[Any]) -> Type:
    """Two broadcast operands of one dtype; the result is bool."""
    pair = tensors(call, types, "x1", "x2")
    common_dtype(call, pair)
    return broadcast_type(call, pair, "bool")


def normalize_axis(call: Call, axis: int, ndim: int) -> int:
    """A non-negative axis; fails if it is out of range."""
    if not -ndim <= axis < ndim:
        fail(call, f"axis {axis} is out of range for {ndim} dimensions")
    return axis + ndim if axis < 0 else axis


def normalize_axes(call: Call, axes: Sequence[int], ndim: int) -> list[int]:
    """Non-negative axes without repetition."""
    out = [normalize_axis(call, a, ndim) for a in axes]
    if len(set(out)) != len(out):
        fail(call, f"an axis is named twice in {list(axes)}")
    return out


def simplify(expr: Any) -> Expr:
    """A dimension in simplest form."""
    if isinstance(expr, IntImm):
        return expr
    return Analyzer().simplify(as_dim(expr))


def shape_dims(call: Call, ty: Any) -> tuple[Expr, ...] | None:
    """The dimensions in the type of a shape operand."""
    if not isinstance(ty, ShapeType):
        fail(call, f"expected a shape, got {ty}")
    return ty.values


def topi_function(name: str) -> Callable[..., Any]:
    """`topi.<name>`, looked up when first needed."""
    module, _, attr = f"workbench.topi.{name}".rpartition(".")
    return getattr(importlib.import_module(module), attr)


def te_call(
    name: str, *attrs: str, kernel: str | None = None, **fixed: Any
) -> Callable[[Any, Call], Expr]:
    """Legalisation by `topi.<name>(*operands, attr=call.attrs.attr …)`.

    Integer and float scalars among the operands and attributes pass through; a `Tuple` operand
    becomes a list of tensors. `kernel` names the kernel, where it is not called as the operator.
    """

    def legalize(builder: Any, call: Call) -> Expr:
        values = {a: call.attr(a) for a in attrs}
        hint = kernel or str(getattr(call.op, "name", name)).rpartition(".")[2]
        return builder.call_te(
            topi_function(name), *call.args, primfunc_name_hint=hint, **values, **fixed
        )

    return legalize


def as_relax(value: Any, like: Expr | None = None) -> Expr:
    """An operand: Python numbers become constants of the dtype of `like`."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, (list, tuple)):
        return Tuple([as_relax(v) for v in value])
    dtype = None
    if like is not None and isinstance(like.ty, TensorType) and like.ty.dtype is not None:
        dtype = str(like.ty.dtype)
    return const(value, dtype)
