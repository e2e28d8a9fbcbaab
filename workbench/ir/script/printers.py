"""Printers of the nodes that the dialects share: constants, variables, calls, types, modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.names import NameSupply, identifier
from workbench.ir.attrs import Attrs
from workbench.ir.env_func import EnvFunc
from workbench.ir.expr import (
    Call,
    Expr,
    FloatImm,
    GlobalVar,
    IntImm,
    Op,
    Range,
    StringImm,
    Var,
)
from workbench.ir.function import BaseFunc
from workbench.ir.global_info import DummyGlobalInfo, VDevice
from workbench.ir.module import IRModule
from workbench.ir.span import SequentialSpan, SourceName, Span
from workbench.ir.type import FuncType, PointerType, PrimType, TupleType
from workbench.script.doc import ATOM, UNARY, Doc, call, join, literal, mapping, seq, text
from workbench.script.printer import (
    RESERVED,
    Printer,
    attribute_printers,
    load_dialect,
    prints,
)
from workbench.target import Target

#: How a call of an operator is written: the part of its name before the first dot → function.
call_printers: dict[str, Callable[[Call, Printer], Doc]] = {}


def dtype_word(dtype: str, p: Printer) -> str:
    """`T.float32`; counts as a use of `T`."""
    p.used_prefixes.add("T")
    return f"T.{dtype}"


@prints(IntImm)
def _int(node: IntImm, p: Printer) -> Doc:
    value, dtype = node.value, node.dtype
    if dtype == ("int32" if p.prefix == "T" else "int64"):  # what a plain number means here
        return Doc((str(value),), UNARY if value < 0 else ATOM)
    if dtype == "bool":
        return text(
            str(bool(value)) if p.prefix == "R" else f"{dtype_word('bool', p)}({bool(value)})"
        )
    return text(f"{dtype_word(dtype, p)}({value})")


@prints(FloatImm)
def _float(node: FloatImm, p: Printer) -> Doc:
    value = node.value
    word = repr(value)
    if word in ("inf", "-inf", "nan"):
        word = f'"{word}"'
    return text(f"{dtype_word(node.dtype, p)}({word})")


@prints(StringImm)
def _string(node: StringImm, p: Printer) -> Doc:
    return literal(node.value)


@attribute_printers.register(IntImm)
def _int_attribute(node: IntImm, p: Printer) -> Doc:
    # a plain number would be read as a Python integer
    value = bool(node.value) if node.dtype == "bool" else node.value
    return text(f"{dtype_word(node.dtype, p)}({value})")


@attribute_printers.register(StringImm)
def _string_attribute(node: StringImm, p: Printer) -> Doc:
    p.used_prefixes.add("T")
    return call("T.StringImm", literal(node.value))


@prints(Var)
def _var(node: Var, p: Printer) -> Doc:
    return text(p.use(node), node)


@prints(EnvFunc)
def _env_func(node: EnvFunc, p: Printer) -> Doc:
    p.used_prefixes.add("I")
    return call("I.EnvFunc", literal(node.name))


@prints(GlobalVar)
def _global_var(node: GlobalVar, p: Printer) -> Doc:
    name = p.facts.get(("function", node.name_hint))
    if name is not None:
        return text(name)
    p.used_prefixes.add("I")
    return call("I.GlobalVar", literal(node.name_hint))


@prints(Op)
def _op(node: Op, p: Printer) -> Doc:
    p.used_prefixes.add("I")
    return call("I.Op", literal(node.name))


@prints(Call)
def _call(node: Call, p: Printer) -> Doc:
    if isinstance(node.op, Op):
        family = node.op.name.partition(".")[0]
        if family not in call_printers:
            load_dialect(family)
        printer = call_printers.get(family, call_printers[""])
    else:
        printer = call_printers.get("relax function" if p.prefix == "R" else "", _raw_call)
    return printer(node, p)


def operator_name(node: Call) -> str:
    """The name of the operator that a call calls ("" for other callees)."""
    return node.op.name if isinstance(node.op, Op) else ""


def type_value(ty: Any, p: Printer) -> Doc:
    """A type as an argument: a data type by its name, another type as an object."""
    if isinstance(ty, PrimType):
        return literal(str(ty.dtype))
    shown = p.doc(ty)
    if isinstance(ty, PointerType):
        return Doc((shown, ".ty" if str(shown).endswith(")") else "().ty"))
    return shown


def _raw_call(node: Call, p: Printer) -> Doc:
    """The constructor form: everything the node has."""
    attrs = None if node.attrs is None else p.mapping(node.attrs)
    types = seq([p.doc(t) for t in node.ty_args]) if node.ty_args else None
    p.used_prefixes.add(p.prefix)
    if isinstance(node.op, Op):
        op = literal(node.op.name)
    else:
        op = p.doc(node.op)
        if attrs is None and types is None and node.ty is None:
            return Doc([op.at_least(14), "(", *join([p.doc(a) for a in node.args]), ")"])
    ret = None if node.ty is None else type_value(node.ty, p)
    arguments = seq([p.doc(a) for a in node.args])
    return call(f"{p.prefix}.Call", op, arguments, attrs=attrs, ty_args=types, ret_ty=ret)


call_printers[""] = _raw_call


@prints(Range)
def _range(node: Range, p: Printer) -> Doc:
    p.used_prefixes.add("I")
    low, extent = p.doc(node.min), p.doc(node.extent)
    if isinstance(node.min, IntImm) and isinstance(node.extent, IntImm):
        return call(
            "I.Range", low, p.doc(IntImm(node.min.dtype, node.min.value + node.extent.value))
        )
    return call("I.Range.from_min_extent", low, extent)


# Types


@prints(PrimType)
def _prim_type(node: PrimType, p: Printer) -> Doc:
    return text(dtype_word(node.dtype, p))


@prints(PointerType)
def _pointer_type(node: PointerType, p: Printer) -> Doc:
    word = dtype_word("handle", p)
    element = node.element_type
    scope = node.storage_scope
    if isinstance(element, PrimType) and element.dtype == "void" and not scope:
        return text(word)
    inner = literal(str(element.dtype)) if isinstance(element, PrimType) else p.doc(element)
    return call(word, inner, literal(scope))


@prints(TupleType)
def _tuple_type(node: TupleType, p: Printer) -> Doc:
    if not node.fields and p.prefix == "T":
        return text("None")
    p.used_prefixes.add(p.prefix)
    return call(f"{p.prefix}.Tuple", *[p.doc(t) for t in node.fields])


@prints(FuncType)
def _func_type(node: FuncType, p: Printer) -> Doc:
    p.used_prefixes.add("I")
    return call("I.FuncType", seq([p.doc(t) for t in node.arg_types]), p.doc(node.ret_type))


# Modules


@prints(VDevice)
def _vdevice(node: VDevice, p: Printer) -> Doc:
    p.used_prefixes.add("I")
    target = node.target
    shown = p.mapping(target_config(target)) if isinstance(target, Target) else p.doc(target)
    return call("I.vdevice", shown, p.doc(node.vdevice_id), p.doc(node.memory_scope))


def target_config(node: Target) -> dict[str, Any]:
    """The target as a mapping, without the options that have their default value."""
    config = dict(node.export())
    for name, option in node.kind.options.items():
        if name in config and config[name] == option.default:
            del config[name]
    if node.host is not None:
        config["host"] = target_config(node.host)
    return config


@prints(DummyGlobalInfo)
def _dummy(node: DummyGlobalInfo, p: Printer) -> Doc:
    p.used_prefixes.add("I")
    return text("I.dummy_global_info()")


@prints(Attrs)
def _attrs(node: Attrs, p: Printer) -> Doc:
    return p.mapping(node)


@prints(SourceName)
def _source_name(node: SourceName, p: Printer) -> Doc:
    p.used_prefixes.add("I")
    return call("I.SourceName", literal(node.name))


@prints(Span)
def _span(node: Span, p: Printer) -> Doc:
    p.used_prefixes.add("I")
    places = [node.line, node.end_line, node.column, node.end_column]
    return call("I.Span", literal(node.source_name.name), *map(p.doc, places))


@prints(SequentialSpan)
def _spans(node: SequentialSpan, p: Printer) -> Doc:
    p.used_prefixes.add("I")
    return call("I.SequentialSpan", seq([p.doc(s) for s in node.spans]))


@prints(IRModule)
def _module(node: IRModule, p: Printer) -> None:
    p.used_prefixes.add("I")
    name = p.options.name or "Module"
    p.reserve(name)
    p.facts["module"] = name
    words = NameSupply(set(RESERVED))
    for gvar in node.functions:
        word = words.fresh(identifier(gvar.name_hint))  # the name itself, if Python can take it
        p.facts["function", gvar.name_hint] = f"{name}.{word}"
    _vdevices(node, p)
    p.line("@I.ir_module")
    p.line(f"class {name}:")
    p.block(lambda: _module_body(node, p))


def _vdevices(node: IRModule, p: Printer) -> None:
    """Names every virtual device by its kind and its number among those of the kind."""
    seen: dict[str, int] = {}
    for position, info in enumerate(node.global_infos.get("vdevice", ())):
        kind = str(getattr(info.target, "kind", "llvm"))
        p.facts["vdevice name", id(info)] = f"{kind}:{seen.get(kind, 0)}"
        p.facts["vdevice place", id(info)] = position
        seen[kind] = seen.get(kind, 0) + 1


def _module_body(node: IRModule, p: Printer) -> None:
    if node.attrs:
        p.line("I.module_attrs(", p.mapping(node.attrs), ")")
    if node.global_infos:
        infos = [
            (literal(str(k)), seq([p.doc(i) for i in v]))
            for k, v in sorted(node.global_infos.items(), key=lambda kv: str(kv[0]))
        ]
        p.line("I.module_global_infos(", mapping(infos), ")")
    first = not (node.attrs or node.global_infos)
    for gvar, function in node.functions.items():
        if not first:
            p.page.add(0, "")
        first = False
        p.facts["printed name"] = p.facts["function", gvar.name_hint].rpartition(".")[2]
        p.push()
        if isinstance(function, Expr):
            p.stmt(function)
        p.pop()
        p.facts.pop("printed name", None)


def function_name(node: BaseFunc, p: Printer) -> str:
    """The name under which a function is printed: its key in the module, or its symbol."""
    named = p.facts.get("printed name")
    if named is not None:
        return named
    if p.options.name is not None:
        return p.options.name
    return identifier(str(node.attrs.get("global_symbol", "main")))


def attributes(node: BaseFunc, name: str, hidden: tuple[str, ...]) -> dict[str, Any]:
    """The attributes of a function to be printed in its body."""
    return {
        k: v
        for k, v in node.attrs.items()
        if k not in hidden and not (k == "global_symbol" and v == name)
    }
