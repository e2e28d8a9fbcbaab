"""Expressions of the graph IR, in A-normal form once normalised: calls are bound to variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.node import DEF, META, Node, as_tuple, field, init_fields
from workbench.ir.attrs import as_attrs
from workbench.ir.expr import Call, Expr, FloatImm, GlobalVar, IntImm, StringImm, Var, as_expr
from workbench.ir.function import BaseFunc
from workbench.ir.span import Span
from workbench.ir.type import MaybeType, TupleType, Type, TypeOf, prim_type
from workbench.relax.type import AnyType, FuncType, ShapeType, TensorType, as_dim
from workbench.runtime.dtype import DataType
from workbench.runtime.tensor import Tensor, tensor


class DataflowVar(Var):
    """A variable visible only in its dataflow block."""

    def __init__(
        self,
        name: str | None = None,
        ty: Type | str | None = None,
        span: Span | None = None,
        *,
        name_hint: str | None = None,
    ) -> None:
        super().__init__(name, ty, span, name_hint=name_hint)


class ShapeExpr(Expr):
    """A shape of known rank: int64 expressions."""

    values: tuple[Expr, ...] = field(converter=lambda v: tuple(map(as_dim, v)))
    ty: TypeOf = field(init=False, derive=lambda self: ShapeType(self.values))

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __iter__(self) -> Iterator[Expr]:  # type: ignore[override]
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


def _tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else tensor(value)


class Constant(Expr):
    """A tensor known at compile time."""

    data: Tensor = field(converter=_tensor)
    ty: MaybeType = field(role=META, default=None)

    def __init__(self, data: Any, ty: Type | None = None, span: Span | None = None) -> None:
        value = _tensor(data)
        init_fields(self, data=value, ty=ty or TensorType(value.shape, value.dtype), span=span)


def const(value: Any, dtype: str | None = None) -> Constant:
    """A constant of a number, nested list or array; Python floats are float32, ints int32."""
    if isinstance(value, Tensor):
        return Constant(value)
    if dtype is None:
        if isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, int):
            dtype = "int32"
        elif isinstance(value, float):
            dtype = "float32"
        elif isinstance(value, (list, tuple)):
            array = np.asarray(value)
            short = {"float64": "float32", "int64": "int32"}
            dtype = short.get(str(array.dtype), str(array.dtype))
    if dtype is None:
        return Constant(tensor(np.asarray(value)))
    return Constant(tensor(np.asarray(value).astype(DataType(dtype).numpy())))


class DataTypeImm(Expr):
    """A data type as a value."""

    value: DataType = field(converter=DataType)
    ty: TypeOf = field(init=False, derive=lambda self: AnyType())


def _as_relax(value: Any) -> Expr:
    return value if isinstance(value, Expr) else convert_to_expr(value)


class Tuple(Expr):
    """A tuple of values."""

    fields: tuple[Expr, ...] = field(converter=lambda v: tuple(map(_as_relax, v)))
    ty: MaybeType = field(init=False, derive=lambda self: _tuple_type(self.fields))

    def __getitem__(self, index: Any) -> Any:
        return self.fields[index]

    def __iter__(self) -> Iterator[Expr]:  # type: ignore[override]
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


def _tuple_type(fields: Sequence[Expr]) -> Type | None:
    types = [f.ty for f in fields]
    return None if any(t is None for t in types) else TupleType(types)


class TupleGetItem(Expr):
    """Field `index` of a tuple."""

    tuple_value: Expr
    index: int = field(converter=int)
    ty: MaybeType = field(init=False, derive=lambda self: self._type())

    def _type(self) -> Type | None:
        whole = self.tuple_value.ty
        if not isinstance(whole, TupleType):
            return AnyType() if whole is not None else None
        if not 0 <= self.index < len(whole.fields):
            raise IndexError(
                f"TupleGetItem: index {self.index} of a tuple with {len(whole.fields)} fields"
            )
        return whole.fields[self.index]


class Binding(Node):
    """Base of bindings."""

    span: Span | None = field(role=META, default=None, kw_only=True)
    var: Var = field(role=DEF)


class VarBinding(Binding):
    """`var = value`"""

    value: Expr = field()


class MatchCast(Binding):
    """`var = match_cast(value, ty)`: checks `value` against `ty` and binds new symbols in it."""

    value: Expr = field()
    ty: TypeOf = field(role=DEF)


class BindingBlock(Node):
    """Bindings in order."""

    bindings: tuple[Binding, ...] = field(converter=as_tuple)
    span: Span | None = field(role=META, default=None, kw_only=True)


class DataflowBlock(BindingBlock):
    """Bindings without side effects or control flow; variables that leave it are plain `Var`s."""


class SeqExpr(Expr):
    """Binding blocks, then the value of `body`."""

    blocks: tuple[BindingBlock, ...] = field(converter=lambda v: tuple(b for b in v if b.bindings))
    body: Expr = field()
    ty: MaybeType = field(init=False, derive=lambda self: self.body.ty)


def as_seq(value: Any) -> SeqExpr:
    """A body: anything that is no `SeqExpr` gets an empty one around it."""
    return value if isinstance(value, SeqExpr) else SeqExpr((), _as_relax(value))


class If(Expr):
    """`true_branch` if the scalar `cond` holds, else `false_branch`."""

    cond: Expr
    true_branch: SeqExpr = field(converter=as_seq)
    false_branch: SeqExpr = field(converter=as_seq)
    ty: MaybeType = field(role=META, default=None, kw_only=True)


class Function(BaseFunc):
    """A graph-level function. The parameters' types bind the symbolic dimensions in them."""

    params: tuple[Var, ...] = field(role=DEF)
    body: SeqExpr = field(converter=as_seq)
    ret_ty: Type | None = field(default=None)
    is_pure: bool = True
    ty: MaybeType = field(init=False, derive=lambda self: self._type())

    def __init__(
        self,
        params: Sequence[Var] | Var,
        body: Expr,
        ret_ty: Type | None = None,
        is_pure: bool | None = True,
        attrs: Mapping[str, Any] | None = None,
        span: Span | None = None,
    ) -> None:
        body = as_seq(body)
        names = (params,) if isinstance(params, Var) else tuple(params)
        init_fields(
            self,
            params=names,
            body=body,
            ret_ty=ret_ty if ret_ty is not None else body.ty,
            is_pure=True if is_pure is None else is_pure,
            attrs=as_attrs(attrs),
            span=span,
        )

    def _type(self) -> Type | None:
        if self.ret_ty is None:
            return None
        return FuncType(tuple(p.ty for p in self.params), self.ret_ty, self.is_pure)

    @staticmethod
    def create_empty(
        params: Sequence[Var],
        ret_ty: Type,
        is_pure: bool = True,
        attrs: Mapping[str, Any] | None = None,
        span: Span | None = None,
    ) -> Function:
        """A function with a signature and a unit body, to be filled in."""
        return Function(params, Tuple(()), ret_ty, is_pure, attrs, span)

    def bind_params(self, binding_map: Mapping[Any, Any]) -> Function:
        """The function with parameters (by name or variable) replaced by constants."""
        from workbench.relax.binding import bind_params

        return bind_params(self, binding_map)

    def bind_symbolic_vars(self, binding_map: Mapping[Any, Any]) -> Function:
        """The function with symbolic dimensions (by name or variable) replaced."""
        from workbench.relax.binding import bind_symbolic_vars

        return bind_symbolic_vars(self, binding_map)

    def inline_functions(self, function_map: Mapping[Any, Function]) -> Function:
        """The function with calls of other functions (by name) replaced by their bodies."""
        from workbench.relax.binding import inline_functions

        return inline_functions(self, function_map)


class ExternFunc(BaseFunc):
    """A function known by name at run time."""

    global_symbol: str
    ty: TypeOf = field(default=None)

    def __init__(
        self,
        global_symbol: str,
        ty: Type | None = None,
        attrs: Mapping[str, Any] | None = None,
        span: Span | None = None,
    ) -> None:
        init_fields(
            self,
            global_symbol=global_symbol,
            ty=ty or FuncType.opaque_func(),
            attrs=as_attrs(attrs),
            span=span,
        )


def extern(name: str, ty: Type | None = None, span: Span | None = None) -> ExternFunc:
    """A function known by name at run time."""
    return ExternFunc(name, ty, span=span)


def prim_value(value: Any, dtype: str | None = None) -> Expr:
    """A scalar as a value of graphs: int64 or float64 unless `dtype` says another."""
    if isinstance(value, Expr):
        return value
    if dtype is not None:
        return FloatImm(dtype, value) if "float" in dtype else IntImm(dtype, value)
    if isinstance(value, bool):
        return as_expr(value)
    if isinstance(value, int):
        return IntImm("int64", value)
    return FloatImm("float64", float(value))


def convert_to_expr(value: Any) -> Expr:
    """Python values as expressions: sequences as `Tuple`, numbers as scalars, str as StringImm."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, (tuple, list)):
        return Tuple([convert_to_expr(v) for v in value])
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, DataType):
        return DataTypeImm(value)
    if isinstance(value, (np.ndarray, Tensor)):
        return const(value)
    return prim_value(value)


def get_shape_of(expr: Expr) -> Expr | None:
    """The shape of a tensor-valued expression where it is known."""
    ty = expr.ty
    return ty.shape if isinstance(ty, TensorType) else None


__all__ = [
    "Binding",
    "BindingBlock",
    "Call",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowVar",
    "Expr",
    "ExternFunc",
    "Function",
    "GlobalVar",
    "If",
    "MatchCast",
    "SeqExpr",
    "ShapeExpr",
    "StringImm",
    "Tuple",
    "TupleGetItem",
    "Var",
    "VarBinding",
    "as_seq",
    "const",
    "convert_to_expr",
    "extern",
    "get_shape_of",
    "prim_type",
    "prim_value",
]
