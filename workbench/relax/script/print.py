"""Printers of the graph IR: types, values, bindings, functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.structural import structural_equal
from workbench.core.traverse import free_vars, iter_nodes
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, StringImm, Var
from workbench.ir.script.printers import (
    attributes,
    call_printers,
    function_name,
    operator_name,
)
from workbench.ir.type import TupleType, Type
from workbench.relax import expr as X
from workbench.relax.op.registry import op_info
from workbench.relax.type import AnyType, FuncType, PackedFuncType, ShapeType, TensorType
from workbench.script.doc import LOWEST, Doc, call, join, literal, seq, text
from workbench.script.printer import (
    PROGRAMS,
    STATEMENTS,
    Printer,
    declarations,
    metadata_keys,
    prints,
)

STATEMENTS += [X.Binding, X.BindingBlock]
metadata_keys["relax.Constant"] = "relax.expr.Constant"

#: Constants of at most this many elements are written out.
_SMALL = 16


def _r(name: str, p: Printer) -> str:
    p.used_prefixes.add("R")
    return f"R.{name}"


# Types


def _dims(values: Any, p: Printer) -> list[Doc]:
    """Dimensions; in a signature, those with symbols as texts."""
    out = []
    for dim in values:
        symbols = list(iter_nodes(dim, Var)) if p.facts.get("signature") else []
        if symbols:
            new = [v for v in symbols if not p.knows(v)]
            for symbol in new:
                p.define(symbol)
                p.facts["signature"].append(symbol)
            out.append(literal(str(p.doc(dim))).of(dim))
        else:
            out.append(p.doc(dim))
    return out


@prints(TensorType)
def _tensor_type(node: TensorType, p: Printer) -> Doc:
    outer, p.prefix = p.prefix, "R"
    shape: list[Doc] = []
    if isinstance(node.shape, X.ShapeExpr):
        shape = [seq(_dims(node.shape.values, p), "(", ")")]
    elif node.shape is not None:
        shape = [p.doc(node.shape)]
    p.prefix = outer
    ndim = literal(node.ndim) if node.shape is None and node.ndim != -1 else None
    dtype = None if node.dtype is None else literal(str(node.dtype))
    device = None if node.vdevice is None else literal(device_name(node.vdevice, p))
    if not shape and dtype is None and device is None and ndim is None:
        return text(_r("Tensor", p))
    return call(_r("Tensor", p), *shape, dtype=dtype, vdevice=device, ndim=ndim)


def device_name(device: Any, p: Printer) -> str:
    """A virtual device as "kind:number:memory", the number counting devices of its kind."""
    known = p.facts.get(("vdevice name", id(device)))
    kind = str(getattr(device.target, "kind", "llvm"))
    return f"{known or f'{kind}:{device.vdevice_id}'}:{device.memory_scope}"


@prints(ShapeType)
def _shape_type(node: ShapeType, p: Printer) -> Doc:
    if node.values is not None:
        outer, p.prefix = p.prefix, "R"
        shown = seq(_dims(node.values, p))
        p.prefix = outer
        return call(_r("Shape", p), shown)
    if node.ndim != -1:
        return call(_r("Shape", p), ndim=literal(node.ndim))
    return text(_r("Shape", p))


@prints(AnyType)
def _any_type(node: AnyType, p: Printer) -> Doc:
    return text(_r("Any", p))


@prints(PackedFuncType)
def _packed_type(node: PackedFuncType, p: Printer) -> Doc:
    return text(_r("PackedFunc", p))


@prints(FuncType)
def _func_type(node: FuncType, p: Printer) -> Doc:
    name = _r("Callable", p)
    if node.params is None:
        if isinstance(node.ret, AnyType) and not node.purity:
            return text(name)
        return call(name, ret=p.doc(node.ret), purity=literal(node.purity))
    params = seq([p.doc(t) for t in node.params], "(", ")")
    return call(name, params, p.doc(node.ret), literal(node.purity))


# Values


@prints(X.ShapeExpr)
def _shape(node: X.ShapeExpr, p: Printer) -> Doc:
    return call(_r("shape", p), seq([p.doc(v) for v in node.values]))


@prints(X.Tuple)
def _tuple(node: X.Tuple, p: Printer) -> Doc:
    if not node.fields:
        return call(_r("tuple", p))
    return seq([p.doc(f) for f in node.fields], "(", ")")


@prints(X.TupleGetItem)
def _get_item(node: X.TupleGetItem, p: Printer) -> Doc:
    return Doc((p.doc(node.tuple_value).at_least(14), f"[{node.index}]"))


@prints(X.DataTypeImm)
def _dtype(node: X.DataTypeImm, p: Printer) -> Doc:
    return call(_r("dtype", p), literal(str(node.value)))


@prints(X.Constant)
def _constant(node: X.Constant, p: Printer) -> Doc:
    data = node.data
    plain = TensorType(data.shape, data.dtype)
    if int(np.prod(data.shape)) > _SMALL or (node.ty is not None and node.ty != plain):
        return p.meta(node)
    array = np.asarray(data.numpy())
    if 0 in array.shape:
        return p.meta(node)
    return call(_r("const", p), _array(array), literal(str(data.dtype)))


def _array(array: Any) -> Doc:
    """A small array as nested lists of the shortest numbers that give it back."""
    if array.ndim:
        return seq([_array(row) for row in array])
    if array.dtype.kind in "iu":
        return literal(int(array))
    if array.dtype.kind == "b":
        return literal(bool(array))
    value = float(array)
    if value != value or value in (float("inf"), -float("inf")):
        return text(f'float("{value!r}")')
    exact = repr(value)
    short = str(array[()])
    if array.dtype.kind == "f" and float(array.dtype.type(float(short))) == value:
        exact = repr(float(short))
    return text(exact) if not exact.startswith("-") else Doc((exact,), 13)


@prints(X.ExternFunc)
def _extern(node: X.ExternFunc, p: Printer) -> Doc:
    ty = None if node.ty == FuncType.opaque_func() else p.doc(node.ty)
    return call(_r("ExternFunc", p), literal(node.global_symbol), ty=ty)


def value(node: Any, p: Printer) -> Doc:
    """An expression of the graph level: texts are `R.str`."""
    if isinstance(node, StringImm):
        return call(_r("str", p), literal(node.value)).of(node)
    if isinstance(node, X.Tuple) and node.fields:
        return seq([value(f, p) for f in node.fields], "(", ")").of(node)
    return p.doc(node)


# Calls

#: Operators whose text is not "operands, then attributes by name".
call_forms: dict[str, Callable[[Call, Printer], Doc | None]] = {}


def _form(*names: str) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        for name in names:
            call_forms[name] = function
        return function

    return add


def _types(types: Any, p: Printer) -> Doc:
    return seq([p.doc(t) for t in types], "(", ")")


def _out_type(node: Call, p: Printer) -> Doc:
    (ty,) = node.ty_args
    if isinstance(ty, TupleType) and len(ty.fields) > 1:
        return seq([p.doc(t) for t in ty.fields])
    return p.doc(ty)


@_form("relax.call_tir", "relax.call_tir_inplace")
def _call_tir(node: Call, p: Printer) -> Doc | None:
    name = operator_name(node)
    inplace = name == "relax.call_tir_inplace"
    attrs = dict(node.attrs or {})
    indices = attrs.pop("inplace_indices", None)
    if attrs or len(node.ty_args) != 1 or len(node.args) not in (2, 3):
        return None
    callee, args = node.args[:2]
    return call(
        _r(name.partition(".")[2], p),
        p.doc(callee),
        value(args, p),
        out_ty=_out_type(node, p),
        tir_vars=p.doc(node.args[2]) if len(node.args) == 3 else None,
        inplace_indices=seq([literal(i) for i in indices]) if inplace and indices else None,
    )


@_form("relax.call_dps_packed")
def _call_dps(node: Call, p: Printer) -> Doc | None:
    if node.attrs or len(node.ty_args) != 1:
        return None
    callee, args = node.args
    return call(
        _r("call_dps_packed", p), _callee(callee, p), value(args, p), out_ty=_out_type(node, p)
    )


@_form("relax.call_pure_packed")
def _call_pure(node: Call, p: Printer) -> Doc | None:
    if node.attrs:
        return None
    args = [value(a, p) for a in node.args[1:]]
    types = _types(node.ty_args, p) if node.ty_args else None
    return call(_r("call_pure_packed", p), _callee(node.args[0], p), *args, ty_args=types)


@_form("relax.print")
def _print(node: Call, p: Printer) -> Doc | None:
    if node.attrs or not isinstance(node.args[0], StringImm):
        return None
    values = [value(a, p) for a in node.args[1:]]
    return call(_r("print", p), *values, format=literal(node.args[0].value))


@_form("relax.assert_op")
def _assert(node: Call, p: Printer) -> Doc | None:
    if node.attrs or len(node.args) < 2 or not isinstance(node.args[1], StringImm):
        return None
    values = seq([value(a, p) for a in node.args[2:]])
    given = [values] if len(node.args) > 2 else []
    condition = value(node.args[0], p)
    return call(_r("assert_op", p), condition, *given, format=literal(node.args[1].value))


def _callee(node: Any, p: Printer) -> Doc:
    plain = isinstance(node, X.ExternFunc) and node.ty == FuncType.opaque_func()
    return literal(node.global_symbol) if plain else p.doc(node)


def _call(node: Call, p: Printer) -> Doc:
    outer, p.prefix = p.prefix, "R"
    name = operator_name(node)
    form = call_forms.get(name)
    out = None if form is None else form(node, p)
    if out is None and form is None and not node.ty_args and _is_built(node):
        args = [value(a, p) for a in node.args]
        named = {k: _attribute(v, p) for k, v in (node.attrs or {}).items()}
        out = call(_r(name.partition(".")[2], p), *args, **named)
    if out is None:
        out = call_printers[""](node, p)
    p.prefix = outer
    return out


def _attribute(item: Any, p: Printer) -> Doc:
    if isinstance(item, (tuple, list)):
        return seq([_attribute(v, p) for v in item])
    return p.attribute(item)


def _is_built(node: Call) -> bool:
    """Whether the operator's own function, given operands and attributes, makes this call."""
    info = op_info(node)
    if info is None:
        return False
    declared = getattr(info.builder, "__wrapped__", info.builder)
    try:
        operands, attrs = declared(*node.args, **(node.attrs or {}))
    except (TypeError, ValueError, AttributeError, WorkbenchError):
        return False
    if len(operands) != len(node.args) or set(attrs) != set(node.attrs or {}):
        return False
    same = all(a is b or structural_equal(a, b) for a, b in zip(operands, node.args, strict=True))
    wanted = node.attrs or {}
    return same and all(structural_equal(_frozen(v), wanted[k]) for k, v in attrs.items())


def _frozen(item: Any) -> Any:
    return tuple(map(_frozen, item)) if isinstance(item, (list, tuple)) else item


call_printers["relax"] = _call


def _function_call(node: Call, p: Printer) -> Doc:
    """A call of something that is no operator."""
    outer, p.prefix = p.prefix, "R"
    args = [value(a, p) for a in node.args]
    types = _types(node.ty_args, p) if node.ty_args else None
    derived = AnyType()
    if node.ty_args:
        derived = node.ty_args[0] if len(node.ty_args) == 1 else TupleType(node.ty_args)
    told = node.ty is None or node.ty == p.facts.get("annotation", derived)
    if isinstance(node.op, X.ExternFunc) and not node.attrs and (told or node.ty == derived):
        out = call(_r("call_packed", p), _callee(node.op, p), *args, ty_args=types)
    elif isinstance(node.op, (GlobalVar, Var)) and not node.attrs:
        out = call(p.doc(node.op), *args, ty_args=types)
    else:
        out = call_printers[""](node, p)
    p.prefix = outer
    return out


call_printers["relax function"] = _function_call


# Bindings


@prints(X.VarBinding)
def _binding(node: X.VarBinding, p: Printer) -> None:
    outer, p.prefix = p.prefix, "R"
    kind = _VALUES.get(type(node.value))
    if kind is not None:
        kind(node, p)
    else:
        _assign(node.var, node.value, p)
    p.prefix = outer


def _is_call_with_type(node: Any) -> bool:
    names = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed")
    return isinstance(node, Call) and getattr(node.op, "name", "") in names


def _assign(var: Var, node: Any, p: Printer) -> None:
    """`var: type = value`; a call for its effect alone has no variable."""
    ty = var.ty
    if isinstance(node, Call) and not node.ty_args:
        p.facts["annotation"] = ty  # reading gives a call of a runtime function this type
    shown = value(node, p)
    p.facts.pop("annotation", None)
    unit = isinstance(ty, TupleType) and not ty.fields
    untyped = isinstance(node, Call) and isinstance(node.op, X.ExternFunc) and not node.ty_args
    if unit and not untyped and isinstance(node, Call) and id(var) not in p.facts.get("used", ()):
        p.line(shown)
        return
    told = _is_call_with_type(node) or not p.options.show_all_ty
    annotated = ty is not None and not (told and node.ty is not None and node.ty == ty)
    annotation = [": ", p.doc(ty)] if annotated else []
    p.line(text(p.define(var), var), *annotation, " = ", shown)


@prints(X.MatchCast)
def _match_cast(node: X.MatchCast, p: Printer) -> None:
    outer, p.prefix = p.prefix, "R"
    source = value(node.value, p)
    ty = p.doc(node.ty)
    annotation = [] if node.var.ty is None else [": ", p.doc(node.var.ty)]
    name = text(p.define(node.var), node.var)
    p.line(name, *annotation, " = ", call(_r("match_cast", p), source, ty))
    p.prefix = outer


def _if(node: X.VarBinding, p: Printer) -> None:
    branch: Any = node.value
    p.page.open(branch)
    p.line("if ", value(branch.cond, p), ":")
    name = p.fresh(node.var.name)
    p.reserve(name)
    p.block(lambda: _branch(branch.true_branch, node.var, name, p))
    p.line("else:")
    p.block(lambda: _branch(branch.false_branch, node.var, name, p))
    p.page.close(branch)
    p.bind(node.var, name)


def _branch(node: X.SeqExpr, var: Var, name: str, p: Printer) -> None:
    _blocks(node, p)
    shown = value(node.body, p)
    annotation = [] if var.ty is None else [": ", p.doc(var.ty)]
    p.line(name, *annotation, " = ", shown)


def _inner_function(node: X.VarBinding, p: Printer) -> None:
    function: Any = node.value
    name = p.define(node.var)
    p.facts["printed name"] = name
    p.stmt(function)
    p.facts.pop("printed name", None)


def _inner_sequence(node: X.VarBinding, p: Printer) -> None:
    inner: Any = node.value
    _blocks(inner, p)
    _assign(node.var, inner.body, p)


_VALUES: dict[type, Callable[[X.VarBinding, Printer], None]] = {
    X.If: _if,
    X.Function: _inner_function,
    X.SeqExpr: _inner_sequence,
}


@prints(X.BindingBlock)
def _binding_block(node: X.BindingBlock, p: Printer) -> None:
    for binding in node.bindings:
        p.stmt(binding)


@prints(X.DataflowBlock)
def _dataflow_block(node: X.DataflowBlock, p: Printer) -> None:
    p.line(f"with {_r('dataflow', p)}():")
    p.indent += 1  # names of a dataflow block stay in view: its outputs are used below
    outputs = []
    for binding in node.bindings:
        p.stmt(binding)
        if not isinstance(binding.var, X.DataflowVar):
            outputs.append(binding.var)
    p.line(_r("output", p), "(", *join([p.doc(v) for v in outputs]), ")")
    p.indent -= 1


def _blocks(node: X.SeqExpr, p: Printer) -> None:
    for block in node.blocks:
        p.stmt(block)


@prints(X.SeqExpr)
def _sequence(node: X.SeqExpr, p: Printer) -> None:
    _blocks(node, p)
    p.line("return ", value(node.body, p))


@prints(X.If)
def _bare_if(node: X.If, p: Printer) -> None:
    p.line("if ", value(node.cond, p), ":")
    p.block(lambda: _sequence(node.true_branch, p))
    p.line("else:")
    p.block(lambda: _sequence(node.false_branch, p))


# Functions


def _used(node: Any) -> set[int]:
    """The variables that occur elsewhere than where they are bound."""
    used: set[int] = set()
    for part in iter_nodes(node):
        if isinstance(part, X.Binding):
            below = part.value if isinstance(part, (X.VarBinding, X.MatchCast)) else None
            if isinstance(below, Var):
                used.add(id(below))
        elif not isinstance(part, (X.Function, Var)):
            used.update(id(c) for c in part.children() if isinstance(c, Var))
    return used


@prints(X.Function)
def _function(node: X.Function, p: Printer) -> None:
    outer, p.prefix = p.prefix, "R"
    declares, p.declares = p.declares, True
    name = function_name(node, p)
    nested = "function depth" in p.facts
    options = []
    if "global_symbol" not in node.attrs and not nested:
        options.append("private=True")
    if not node.is_pure:
        options.append("pure=False")
    p.line(f"@{_r('function', p)}" + (f"({', '.join(options)})" if options else ""))
    p.push()
    symbols: list[Any] = [None]
    p.facts["signature"] = symbols
    params = [Doc((text(p.define(v), v), ": ", p.doc(v.ty)), LOWEST) for v in node.params]
    ret = [] if node.ret_ty is None else [" -> ", p.doc(node.ret_ty)]
    p.facts.pop("signature")
    p.line(f"def {name}(", *join(params), ")", *ret, ":")
    if not nested:
        p.facts["used"] = _used(node)

    def content() -> None:
        for symbol in symbols[1:]:
            p.used_prefixes.add("T")
            p.line(f"{p.use(symbol)} = T.{symbol.dtype}()")
        shown = attributes(node, name, ())
        if shown:
            p.line("R.func_attr(", p.mapping(shown), ")")
        restore = {} if nested else _alias(node, p)
        if not nested:
            for var in () if p.closed else free_vars(node):
                if isinstance(var, Var):
                    p.use(var)
        p.facts["function depth"] = True
        p.stmt(node.body)
        if not nested:
            p.facts.pop("function depth")
        p.facts.update(restore)

    p.block(content)
    p.pop()
    p.prefix, p.declares = outer, declares


def _alias(node: X.Function, p: Printer) -> dict[Any, Any]:
    """Writes `cls = Module` if the function calls others; returns the names to restore."""
    module = p.facts.get("module")
    if module is None or next(iter_nodes(node, GlobalVar), None) is None:
        return {}
    p.line(f"cls = {module}")
    old = {k: v for k, v in p.facts.items() if isinstance(k, tuple) and k[0] == "function"}
    for key in old:
        p.facts[key] = f"cls.{old[key].rpartition('.')[2]}"
    return old


# Declarations of free variables


@declarations.register(TensorType, ShapeType, FuncType, AnyType, TupleType)
def _declare(ty: Type, p: Printer) -> Doc:
    """A free variable of the graph level, in a snippet."""
    return call(_r("Var", p), p.doc(ty))


PROGRAMS.add("relax.Function")


def is_plain_int(node: Any) -> bool:
    """Whether a constant is written as a plain number at the graph level."""
    return isinstance(node, IntImm) and node.dtype in ("int64", "bool")


__all__ = ["Expr", "call_forms", "value"]
