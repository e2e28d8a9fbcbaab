"""Types of the graph IR: what is known of a value before it runs.

A dimension is an int64 expression; unknown parts are None (shape, dtype) or -1 (number of
dimensions). `AnyType` is the type of everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.node import DEF, META, construct, field, init_fields
from workbench.ir.expr import Expr, IntImm, Var, as_expr
from workbench.ir.global_info import VDevice
from workbench.ir.span import Span
from workbench.ir.type import FuncType as PrimFuncType
from workbench.ir.type import PrimType, TupleType, Type, prim_type
from workbench.runtime.dtype import DataType


def as_dim(value: Any) -> Expr:
    """A dimension: Python integers become int64 constants."""
    if isinstance(value, Expr):
        if isinstance(value, IntImm) and value.dtype != "int64":
            return IntImm("int64", value.value)
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return as_expr(value)
    return IntImm("int64", value.__index__())


def _dims(values: Any) -> tuple[Expr, ...] | None:
    return None if values is None else tuple(map(as_dim, values))


class AnyType(Type):
    """The type of any value."""


#: TVM's older name.
ObjectType = AnyType


class PackedFuncType(Type):
    """The type of an opaque runtime function."""


class ShapeType(Type):
    """The type of a shape value: its dimensions, or only their number (-1: unknown)."""

    values: tuple[Expr, ...] | None = field(converter=_dims, default=None)
    ndim: int = -1

    def __init__(
        self, values: Sequence[Any] | None = None, ndim: int = -1, span: Span | None = None
    ) -> None:
        if values is not None:
            values = tuple(values)
            if ndim not in (-1, len(values)):
                raise ValueError(f"ShapeType: {len(values)} values but ndim={ndim}")
            ndim = len(values)
        init_fields(self, values=values, ndim=ndim, span=span)


def _shape_of(value: Any) -> Expr | None:
    if value is None or isinstance(value, Expr):
        return value
    from workbench.relax.expr import ShapeExpr

    return ShapeExpr(value)


def _dtype(value: Any) -> DataType | None:
    if value is None or value == "":
        return None
    dtype = prim_type(value).dtype
    return None if dtype == "void" else dtype


class TensorType(Type):
    """The type of a tensor.

    `shape` is a `ShapeExpr`, a variable of `ShapeType`, or None (unknown; then `ndim` may still be
    known, else -1). `dtype` is None where unknown.
    """

    shape: Expr | None = field(converter=_shape_of, default=None)
    dtype: DataType | None = field(converter=_dtype, default="float32")
    vdevice: VDevice | None = None
    ndim: int = -1

    def __init__(
        self,
        shape: Any = None,
        dtype: str | PrimType | None = "float32",
        vdevice: VDevice | None = None,
        ndim: int = -1,
        span: Span | None = None,
    ) -> None:
        shape = _shape_of(shape)
        if shape is not None:
            known = shape.ty.ndim if isinstance(shape.ty, ShapeType) else -1
            if ndim not in (-1, known):
                raise ValueError(f"TensorType: the shape has {known} dimensions but ndim={ndim}")
            ndim = known
        init_fields(self, shape=shape, dtype=dtype, vdevice=vdevice, ndim=ndim, span=span)

    @property
    def dims(self) -> tuple[Expr, ...] | None:
        """The dimensions where they are known one by one, else None."""
        return None if self.shape is None else getattr(self.shape.ty, "values", None)


class FuncType(Type):
    """The type of a Relax function; `params` None means any parameters.

    The parameters' types bind the symbolic variables that occur in them.
    """

    params: tuple[Type, ...] | None = field(
        role=DEF, converter=lambda v: None if v is None else tuple(v), default=None
    )
    ret: Type = field(default=None, converter=lambda v: AnyType() if v is None else v)
    purity: bool = True
    derive_func: Any = field(role=META, default=None)

    @staticmethod
    def opaque_func(
        *,
        ret: Type | None = None,
        derive_func: Callable[..., Type] | None = None,
        purity: bool = False,
    ) -> FuncType:
        """A function of unknown parameters; the result type is `ret` or what `derive_func` says."""
        return construct(
            FuncType, {"params": None, "ret": ret, "purity": purity, "derive_func": derive_func}
        )


__all__ = [
    "AnyType",
    "FuncType",
    "ObjectType",
    "PackedFuncType",
    "PrimFuncType",
    "PrimType",
    "ShapeType",
    "TensorType",
    "TupleType",
    "Type",
    "Var",
    "as_dim",
]
