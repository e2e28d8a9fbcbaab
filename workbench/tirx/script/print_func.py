"""Printers of functions and their signatures."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import free_vars
from workbench.ir.expr import Expr, Var
from workbench.ir.script.printers import attributes, function_name
from workbench.script.doc import (
    ATOM,
    LOWEST,
    Doc,
    join,
    literal,
    text,
)
from workbench.script.printer import Printer, prints
from workbench.tirx import stmt as S
from workbench.tirx.buffer import BufferType
from workbench.tirx.function import PrimFunc, TensorIntrin
from workbench.tirx.script.print_buffer import (
    buffer_form,
    define_buffer,
    implicit_offset,
    own_stride,
    symbols,
)
from workbench.tirx.script.print_stmt import block_header, body
from workbench.tirx.script.root import is_implicit_root, needs_root


def _t(name: str, p: Printer) -> str:
    p.used_prefixes.add("T")
    return f"T.{name}"


@prints(PrimFunc)
def _prim_func(node: PrimFunc, p: Printer) -> None:
    p.used_prefixes.add("T")
    outer, p.prefix = p.prefix, "T"
    declares, p.declares = p.declares, True
    name = function_name(node, p)
    hidden = ("s_tir",) if node.attrs.get("s_tir") is True else ()
    options = []
    if "global_symbol" not in node.attrs:
        options.append("private=True")
    if hidden:
        options.append("s_tir=True")
    p.line("@T.prim_func" + (f"({', '.join(options)})" if options else ""))
    p.push()
    params, matches, declared = _signature(node, p)
    ret = [] if node.ret_type is None else [" -> ", p.doc(node.ret_type)]
    p.line(f"def {name}(", *join(params), ")", *ret, ":")

    def content() -> None:
        if declared:
            kinds = ", ".join(f"{_t(v.dtype, p)}()" for v in declared)
            p.line(", ".join(p.use(v) for v in declared), f" = {kinds}")
        for buffer, handle in matches:
            form = buffer_form("match_buffer", buffer.ty, p, text(handle), with_dtype=True)
            p.line(text(define_buffer(buffer, p), buffer), " = ", form)
        shown = attributes(node, name, hidden)
        if shown:
            p.line("T.func_attr(", p.mapping(shown), ")")
        sugar = p.options.syntax_sugar and is_implicit_root(node.body)
        if not sugar and needs_root(node.body, False):
            p.line("T.bare_body()")
        for var in () if p.closed else free_vars(node):
            if isinstance(var, Var):
                p.use(var)
        _function_body(node, p)

    p.block(content)
    p.pop()
    p.prefix, p.declares = outer, declares


def _signature(node: PrimFunc, p: Printer) -> tuple[list[Doc], list[tuple[Var, str]], list[Var]]:
    """The parameters, the buffers matched in the body, and the symbols declared there.

    Dimensions with symbols are written as texts; new symbols are declared in the body. Buffers
    with symbols that are not int32 take the form with a handle, which TVM can read as well.
    """
    scalars = [v for v in node.params if not isinstance(v.ty, BufferType)]
    for var in scalars:
        p.define(var)
    params: list[Doc] = []
    matches: list[tuple[Var, str]] = []
    declared: list[Var] = []
    for var in node.params:
        ty = var.ty
        if not isinstance(ty, BufferType):
            params.append(Doc((text(p.use(var), var), ": ", p.doc(ty)), LOWEST))
            continue
        if _needs_handle(ty, p):
            handle = p.fresh(f"var_{p.define(var)}")
            p.reserve(handle)
            params.append(text(f"{handle}: {_t('handle', p)}"))
            matches.append((var, handle))
            continue
        shape = [_signature_dim(dim, p, declared) for dim in ty.shape]
        form = buffer_form("Buffer", ty, p, shape=shape, with_dtype=True)
        params.append(Doc((text(define_buffer(var, p), var), ": ", form), LOWEST))
    return params, matches, declared


def _signature_dim(dim: Any, p: Printer, declared: list[Var]) -> Doc:
    """A dimension in a signature: one with symbols as a text, for Python evaluates annotations."""
    names = symbols(dim)
    for symbol in names:
        if not p.knows(symbol):
            p.define(symbol)
            declared.append(symbol)
    word = p.doc(dim)
    return Doc((literal(str(word)),), ATOM, dim) if names else word


def _needs_handle(ty: BufferType, p: Printer) -> bool:
    """Whether the annotation cannot say the types of the symbols it brings."""
    offset = ty.elem_offset
    implicit = implicit_offset(ty, p)
    new = [v for v in symbols(ty.shape) if not p.knows(v)]
    if any(str(v.dtype) != "int32" for v in new):
        return True
    inner = {id(v) for v in new}
    rest = [s for s in ty.strides if not own_stride(s, p)]
    if offset is not None and not implicit:
        rest.append(offset)
    return any(not p.knows(v) and id(v) not in inner for v in symbols(tuple(rest)))


def _function_body(node: PrimFunc, p: Printer) -> None:
    inner: Expr | S.Stmt = node.body
    if p.options.syntax_sugar and is_implicit_root(inner):
        assert isinstance(inner, S.SBlockRealize)
        p.page.open(inner)
        p.page.open(inner.block)
        p.line('# with T.sblock("root"):')
        block_header(inner.block, p, regions=False)
        body(inner.block.body, p)
        p.page.close(inner.block)
        p.page.close(inner)
        return
    body(inner, p)


@prints(TensorIntrin)
def _tensor_intrin(node: TensorIntrin, p: Printer) -> None:
    for name, function in (("desc", node.desc), ("impl", node.impl)):
        if name == "impl":
            p.page.add(0, "")
        p.facts["printed name"] = name
        p.stmt(function)
        p.facts.pop("printed name")
