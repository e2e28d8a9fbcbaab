"""The functions of `R` that make values while a script is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.ir.expr import Call as _Call
from workbench.ir.expr import Expr, GlobalVar, Op, StringImm
from workbench.ir.type import Type
from workbench.relax import expr as _expr
from workbench.relax import op as _op
from workbench.relax.expr import DataTypeImm, ShapeExpr, convert_to_expr
from workbench.relax.script.read import DataflowFrame, MatchCastValue
from workbench.relax.script.words import state, type_of
from workbench.tirx.script.values import NewVar


def dataflow() -> DataflowFrame:
    """`with R.dataflow():` bindings without side effects."""
    return DataflowFrame()


def output(*variables: Any) -> None:
    """The variables that leave a dataflow block."""
    if state("R.output").outputs is None:
        raise ValueError("R.output stands inside of `with R.dataflow():`")


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Attributes of the function."""
    state("R.func_attr").attrs.update(attrs)


def func_name(name: str) -> None:
    """The name of the function."""
    state("R.func_name").name = name


def func_ret_ty(ret_ty: Any) -> None:
    """The type that the function returns."""
    state("R.func_ret_ty").ret_ty = type_of(ret_ty)


func_ret_type = func_ret_ty


def func_ret_value(value: Any) -> None:
    """The value that the function returns."""
    here = state("R.func_ret_value")
    here.result = here.builder.as_leaf(convert_to_expr(value))


def match_cast(value: Any, ty: Any) -> MatchCastValue:
    """Checks a value against a type at run time and binds the new symbols in it."""
    return MatchCastValue(value, type_of(ty))


def const(value: Any, dtype: Any = None) -> Expr:
    """A constant tensor."""
    if isinstance(value, str):
        value = float(value)
    return _expr.const(value, None if dtype is None else str(dtype))


def shape(values: Any) -> Expr:
    """A shape value."""
    return ShapeExpr(values)


def make_tuple(*fields: Any) -> Expr:
    """A tuple value."""
    return _expr.Tuple(fields)


def text(value: Any) -> Expr:
    """A text value."""
    return StringImm(str(value))


def data_type(value: Any) -> Expr:
    """A data type as a value."""
    return DataTypeImm(value)


def ExternFunc(global_symbol: Any, ty: Any = None) -> Expr:
    """A function known by name at run time."""
    return _expr.ExternFunc(global_symbol, None if ty is None else type_of(ty))


def Call(
    callee: Any,
    args: Any = (),
    attrs: Any = None,
    ty_args: Any = None,
    ret_ty: Any = None,
) -> Expr:
    """The node `Call` with everything it has."""
    target = Op.get(callee) if isinstance(callee, str) else callee
    exprs = [convert_to_expr(a) for a in args]
    types = [type_of(t) for t in ty_args or ()]
    ret = None if ret_ty is None else type_of(ret_ty)
    return _Call(target, exprs, attrs, types, ret_ty=ret)


def Var(ty: Any) -> Any:
    """A free variable of a type: `x = R.Var(R.Tensor((4,), "float32"))`."""
    return NewVar(type_of(ty))


def _types(given: Any) -> list[Type]:
    items = given if isinstance(given, (list, tuple)) else [given]
    return [type_of(t) for t in items if t is not None]


def call_tir(
    gvar: GlobalVar,
    args: Any,
    out_ty: Any = None,
    tir_vars: Any = None,
    out_sinfo: Any = None,
) -> Expr:
    """Calls a kernel of the module; it writes fresh outputs of type `out_ty`."""
    given = out_ty if out_ty is not None else out_sinfo
    return _op.call_tir(gvar, args, _types(given), tir_vars)


def call_tir_inplace(
    gvar: GlobalVar, args: Any, inplace_indices: Any, out_ty: Any, tir_vars: Any = None
) -> Expr:
    """Like `R.call_tir`; output i reuses argument `inplace_indices[i]`."""
    return _op.call_tir_inplace(gvar, args, inplace_indices, _types(out_ty), tir_vars)


def call_dps_packed(func: Any, args: Any, out_ty: Any = None) -> Expr:
    """Calls a runtime function that writes its last arguments."""
    return _op.call_dps_packed(func, args, _types(out_ty))


def call_packed(func: Any, *args: Any, ty_args: Any = (), **attrs: Any) -> Expr:
    """Calls a runtime function."""
    call = _op.call_packed(func, *args, ty_args=_types(ty_args))
    return call.replace(attrs=attrs) if attrs else call


def call_pure_packed(func: Any, *args: Any, ty_args: Any = ()) -> Expr:
    """Calls a runtime function without side effects."""
    return _op.call_pure_packed(func, *args, ty_args=_types(ty_args))


def print_values(*values: Any, format: Any = "") -> Expr:
    """Prints values at run time."""
    return _op.print_(*values, format=_word(format))


def assert_op(condition: Any, format_args: Any = (), format: Any = "") -> Expr:
    """Fails at run time unless the condition holds."""
    return _op.assert_op(condition, format_args, _word(format))


def _word(value: Any) -> Any:
    return value.value if isinstance(value, StringImm) else value
