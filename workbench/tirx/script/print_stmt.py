"""Printers of statements and functions."""

from __future__ import annotations

from typing import Any

from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, IntImm, Var
from workbench.script.doc import (
    ATOM,
    LOWEST,
    Doc,
    call,
    join,
    literal,
    mapping,
    seq,
    text,
)
from workbench.script.printer import STATEMENTS, Printer, prints
from workbench.tirx import stmt as S
from workbench.tirx.buffer import BufferType
from workbench.tirx.expr import IterVar
from workbench.tirx.script.print_buffer import (
    buffer_form,
    define_buffer,
    is_scalar_buffer,
    symbols,
)
from workbench.tirx.script.print_expr import (
    _index,
    buffer_word,
    is_scalar_access,
    stop_of,
    subscript,
)

STATEMENTS.append(S.Stmt)


def _t(name: str, p: Printer) -> str:
    p.used_prefixes.add("T")
    return f"T.{name}"


# Sequences and scopes


def body(node: Any, p: Printer) -> None:
    """The statements of a block."""
    if isinstance(node, S.SeqStmt):
        p.page.open(node)
        _sequence(node, p)
        p.page.close(node)
    elif isinstance(node, S.AttrStmt):
        p.page.open(node)
        _attr(node, p, concise=True)
        p.page.close(node)
    else:
        p.stmt(node)


@prints(S.SeqStmt)
def _sequence(node: S.SeqStmt, p: Printer) -> None:
    items = iter(range(len(node.seq)))
    for position in items:
        one = node.seq[position]
        after = node.seq[position + 1] if position + 1 < len(node.seq) else None
        if isinstance(one, S.AllocBuffer) and _alloc(one, p, after):
            next(items)
            continue
        if not isinstance(one, S.AllocBuffer):
            p.stmt(one)


@prints(S.AllocBuffer)
def _alloc_statement(node: S.AllocBuffer, p: Printer) -> None:
    _alloc(node, p, None)


def _alloc(node: S.AllocBuffer, p: Printer, after: Any) -> bool:
    """An allocation; a scalar together with its first value. True: `after` is printed too."""
    ty: BufferType = node.buffer.ty
    p.page.open(node)
    if p.options.syntax_sugar and is_scalar_buffer(ty) and not node.annotations:
        p.facts["scalar", id(node.buffer)] = True
        value = None
        if isinstance(after, S.BufferStore) and after.buffer is node.buffer:
            uses = any(v is node.buffer for v in iter_nodes(after.value, Var))
            if is_scalar_access(after, p) and not uses:
                value = p.doc(after.value).of(after)
        name = text(p.define(node.buffer), node.buffer)
        p.line(name, f": {_t(ty.dtype, p)}", *([] if value is None else [" = ", value]))
        p.page.close(node)
        return value is not None
    word = {"local": "alloc_local", "shared": "alloc_shared"}.get(ty.storage_scope, "alloc_buffer")
    default = "global" if word == "alloc_buffer" else ty.storage_scope
    form = buffer_form(word, ty, p, annotations=node.annotations, default_scope=default)
    p.line(text(define_buffer(node.buffer, p), node.buffer), " = ", form)
    p.page.close(node)
    return False


@prints(S.DeclBuffer)
def _decl(node: S.DeclBuffer, p: Printer) -> None:
    ty: BufferType = node.buffer.ty
    source = _viewed(node, p)
    if source is not None:
        dims = [p.doc(s) for s in ty.shape]
        form = Doc([buffer_word(source, p), ".view(", *join(dims), ")"])
    else:
        data = text("None") if node.data is None else p.doc(node.data)
        pointer = getattr(node.data, "ty", None)
        inherited = getattr(pointer, "storage_scope", "") or "global"
        form = buffer_form("decl_buffer", ty, p, data=data, default_scope=inherited)
    p.line(text(define_buffer(node.buffer, p), node.buffer), " = ", form)


def _viewed(node: S.DeclBuffer, p: Printer) -> Any:
    """The buffer of which a declaration is a plain view, or None."""
    data, ty = node.data, node.buffer.ty
    if not (p.options.syntax_sugar and isinstance(data, Call)):
        return None
    if getattr(data.op, "name", "") != "tirx.buffer_data" or not ty.shape:
        return None
    source = data.args[0]
    if not isinstance(source, Var) or not isinstance(source.ty, BufferType):
        return None
    like = BufferType(ty.dtype, ty.storage_scope, ty.shape)
    same = source.ty.dtype == ty.dtype and source.ty.storage_scope == ty.storage_scope
    return source if same and structural_equal(like, ty) else None


@prints(S.Bind)
def _bind(node: S.Bind, p: Printer) -> None:
    value = p.doc(node.value)
    annotation = Doc((f": {_t('let', p)}[", p.doc(node.var.ty), "]"))
    p.line(text(p.define(node.var), node.var), annotation, " = ", value)


# Simple statements


@prints(S.BufferStore)
def _store(node: S.BufferStore, p: Printer) -> Doc:
    value = p.doc(node.value)
    if is_scalar_access(node, p):
        return Doc((text(p.use(node.buffer), node.buffer), " = ", value), LOWEST)
    buffer = buffer_word(node.buffer, p)
    if node.predicate is not None:
        indices = seq([p.doc(i) for i in node.indices])
        return call(Doc((buffer, ".vstore")), indices, value, predicate=p.doc(node.predicate))
    target = subscript(buffer, [_index(i, p) for i in node.indices])
    return Doc((target, " = ", value), LOWEST)


@prints(S.Evaluate)
def _evaluate(node: S.Evaluate, p: Printer) -> Doc:
    value = node.value
    shown = p.doc(value)
    if isinstance(value, Call) and getattr(value.op, "name", "") != "tirx.buffer_data":
        return Doc((shown,), LOWEST)
    return call(_t("evaluate", p), shown)


@prints(S.AssertStmt)
def _assert(node: S.AssertStmt, p: Printer) -> Doc:
    parts = seq([p.doc(m) for m in node.message_parts])
    details = seq([p.doc(node.error_kind), parts], "(", ")")
    return Doc(("assert ", p.doc(node.condition), ", ", details), LOWEST)


@prints(S.Break)
def _break(node: S.Break, p: Printer) -> Doc:
    return text("break")


@prints(S.Continue)
def _continue(node: S.Continue, p: Printer) -> Doc:
    return text("continue")


@prints(S.Return)
def _return(node: S.Return, p: Printer) -> Doc:
    return Doc(("return ", p.doc(node.value)), LOWEST)


@prints(S.MatchBufferRegion)
def _match_buffer(node: S.MatchBufferRegion, p: Printer) -> None:
    form = buffer_form("match_buffer", node.buffer.ty, p, p.doc(node.source))
    p.line(text(define_buffer(node.buffer, p), node.buffer), " = ", form)


# Control flow


_KINDS = {
    S.ForKind.SERIAL: "serial",
    S.ForKind.PARALLEL: "parallel",
    S.ForKind.VECTORIZED: "vectorized",
    S.ForKind.UNROLLED: "unroll",
    S.ForKind.THREAD_BINDING: "thread_binding",
}


def _plain(node: Any) -> bool:
    """A serial loop from 0 without extras: it may be part of a `T.grid`."""
    return (
        isinstance(node, S.For)
        and node.kind == S.ForKind.SERIAL
        and isinstance(node.min, IntImm)
        and node.min.value == 0
        and node.min.dtype == node.loop_var.dtype
        and node.extent.dtype == node.loop_var.dtype
        and not node.annotations
        and node.thread_binding is None
        and node.step is None
    )


def _nest(node: S.For) -> list[S.For]:
    """The loops that are written as one `T.grid`."""
    loops = [node]
    bound = {id(node.loop_var)}
    inner: Any = node.body
    while _plain(node) and _plain(inner):
        if any(id(v) in bound for v in symbols(inner.extent)):
            break
        loops.append(inner)
        bound.add(id(inner.loop_var))
        inner = inner.body
    return loops


@prints(S.For)
def _for(node: S.For, p: Printer) -> None:
    loops = _nest(node) if p.options.syntax_sugar else [node]
    if len(loops) > 1:
        extents = [p.doc(loop.extent) for loop in loops]
        header = call(_t("grid", p), *extents)
    else:
        header = _loop_header(node, p)
    p.push()
    names = [text(p.define(loop.loop_var), loop.loop_var) for loop in loops]
    for loop in loops[1:]:
        p.page.open(loop)
    p.line("for ", *join(names), " in ", header, ":")
    for loop in loops:
        p.facts["loop", id(loop.loop_var)] = loop
    p.block(lambda: body(loops[-1].body, p))
    for loop in reversed(loops[1:]):
        p.page.close(loop)
    p.pop()


def _loop_header(node: S.For, p: Printer) -> Doc:
    kind = node.kind
    low, extent = node.min, node.extent
    step = node.step
    zero = isinstance(low, IntImm) and low.value == 0
    args = [stop_of(low, extent, p)]
    if not (zero and extent.dtype == low.dtype):
        args.insert(0, p.doc(low))
    sugar = p.options.syntax_sugar and kind == S.ForKind.SERIAL and not node.annotations
    if sugar and node.thread_binding is None:
        if step is not None:
            args = [p.doc(low), *args] if len(args) == 1 else args
            args.append(p.doc(step))
        return call("range", *args)
    thread = None
    if node.thread_binding is not None:
        thread = _thread(node.thread_binding, p)
    annotations = p.mapping(node.annotations) if node.annotations else None
    return call(
        _t(_KINDS[kind], p),
        *args,
        thread=thread,
        annotations=annotations,
        step=None if step is None else p.doc(step),
    )


def _thread(binding: IterVar, p: Printer) -> Doc:
    if binding.dom is None and binding.iter_type == IterVar.ThreadIndex:
        return literal(binding.thread_tag)
    p.push()
    declares, p.declares = p.declares, False
    shown = p.doc(binding)
    p.declares = declares
    p.pop()
    return shown


@prints(S.While)
def _while(node: S.While, p: Printer) -> None:
    p.line("while ", p.doc(node.condition), ":")
    p.block(lambda: body(node.body, p))


@prints(S.IfThenElse)
def _if(node: S.IfThenElse, p: Printer) -> None:
    p.line("if ", p.doc(node.condition), ":")
    p.block(lambda: body(node.then_case, p))
    if node.else_case is not None:
        p.line("else:")
        p.block(lambda: body(node.else_case, p))


@prints(S.AttrStmt)
def _attr_statement(node: S.AttrStmt, p: Printer) -> None:
    _attr(node, p, concise=False)


def _attr(node: S.AttrStmt, p: Printer, concise: bool) -> None:
    header, alias, inner = _attr_header(node, p)
    var = None
    if alias is not None:
        var = text(p.define(alias), alias)
    if concise and p.options.syntax_sugar:
        p.line(*([] if var is None else [var, " = "]), header)
        body(inner, p)
        return
    p.line("with ", header, *([] if var is None else [" as ", var]), ":")
    p.block(lambda: body(inner, p))


def _thread_key(axis: IterVar) -> str:
    return "virtual_thread" if axis.thread_tag == "vthread" else "thread_extent"


def _attr_header(node: S.AttrStmt, p: Printer) -> tuple[Doc, Any, Any]:
    """The header, the variable that it defines (or None) and the body below it."""
    owner = node.node
    is_thread = (
        isinstance(owner, IterVar)
        and owner.iter_type == IterVar.ThreadIndex
        and node.attr_key
        == ("virtual_thread" if owner.thread_tag == "vthread" else "thread_extent")
        and owner.dom is not None
        and isinstance(owner.dom.min, IntImm)
        and owner.dom.min.value == 0
        and structural_equal(owner.dom.extent, node.value)
    )
    if is_thread:
        extent = p.doc(node.value)
        if p.knows(owner.var):
            return call(_t("launch_thread", p), p.doc(owner.var), extent), None, node.body
        return call(_t("launch_thread", p), literal(owner.thread_tag), extent), owner.var, node.body
    if type(owner) is int and owner == 0 and p.options.syntax_sugar:
        pairs = []
        inner: Any = node
        keys: set[str] = set()
        while isinstance(inner, S.AttrStmt) and type(inner.node) is int and inner.node == 0:
            if inner.attr_key in keys:
                break
            keys.add(inner.attr_key)
            pairs.append((literal(inner.attr_key), p.doc(inner.value)))
            inner = inner.body
        return call(_t("attr", p), mapping(pairs)), None, inner
    shown = _attr_node(owner, p)
    return call(_t("attr", p), shown, literal(node.attr_key), p.doc(node.value)), None, node.body


def _attr_node(owner: Any, p: Printer) -> Doc:
    if isinstance(owner, Var):
        return buffer_word(owner, p)
    if isinstance(owner, IntImm):
        return p.doc(owner)
    if type(owner) is int:
        return call(_t("meta_var", p), literal(owner))
    return p.doc(owner)


# Blocks


@prints(S.SBlockRealize)
def _realize(node: S.SBlockRealize, p: Printer) -> None:
    _block(node.block, node, p)


@prints(S.SBlock)
def _bare_block(node: S.SBlock, p: Printer) -> None:
    _block(node, None, p)


def _block(node: S.SBlock, realize: S.SBlockRealize | None, p: Printer) -> None:
    p.used_prefixes.add("T")
    bare = [] if realize is not None else [", no_realize=True"]
    p.page.open(node)
    p.line("with T.sblock(", literal(node.name_hint), *bare, "):")
    p.block(lambda: _block_content(node, realize, p))
    p.page.close(node)


def _block_content(node: S.SBlock, realize: S.SBlockRealize | None, p: Printer) -> None:
    _axes(node, realize, p)
    if realize is not None and not (
        isinstance(realize.predicate, IntImm) and realize.predicate.value == 1
    ):
        p.line("T.where(", p.doc(realize.predicate), ")")
    block_header(node, p)
    body(node.body, p)


def block_header(node: S.SBlock, p: Printer, regions: bool = True) -> None:
    """What is written of a block between its axes and its body.

    A region may speak of a buffer that the block allocates, or of a view that it makes; those are
    named first, so the lines are put in an order in which every name is known.
    """
    inside = [id(b) for b in node.alloc_buffers]
    matched = {id(m.buffer) for m in node.match_buffers}
    late = [id(v) for r in (*node.reads, *node.writes) for v in iter_nodes(r, Var)]
    early_alloc = any(i in late for i in inside)
    early_match = any(i in matched for i in late)
    if early_alloc or early_match:
        _allocations(node, p)
        if early_match:
            _matches(node, p)
    if regions:
        p.line("T.reads(", *join([p.doc(r) for r in node.reads]), ")")
        p.line("T.writes(", *join([p.doc(r) for r in node.writes]), ")")
    if node.annotations:
        p.line("T.sblock_attr(", p.mapping(node.annotations), ")")
    if not (early_alloc or early_match):
        _allocations(node, p)
    if not early_match:
        _matches(node, p)
    if node.init is not None:
        init = node.init
        p.line("with T.init():")
        p.block(lambda: body(init, p))


def _allocations(node: S.SBlock, p: Printer) -> None:
    for buffer in node.alloc_buffers:
        form = buffer_form("sblock_alloc_buffer", buffer.ty, p)
        p.line(text(define_buffer(buffer, p), buffer), " = ", form)


def _matches(node: S.SBlock, p: Printer) -> None:
    for match in node.match_buffers:
        p.stmt(match)


_AXES = {0: "spatial", 2: "reduce", 3: "scan", 4: "opaque"}


def _axes(node: S.SBlock, realize: S.SBlockRealize | None, p: Printer) -> None:
    values: list[Any] = [None] * len(node.iter_vars)
    if realize is not None:
        values = list(realize.iter_values)
    shown = [None if v is None else p.doc(v) for v in values]
    position = 0
    while position < len(node.iter_vars):
        end = position
        while end < len(node.iter_vars) and _remaps(node.iter_vars[end], values[end], p):
            end += 1
        if end - position > 1 and p.options.syntax_sugar:
            group = node.iter_vars[position:end]
            kinds = "".join("S" if iv.iter_type == 0 else "R" for iv in group)
            names = [_axis_name(iv, p) for iv in group]
            loops = seq([v for v in shown[position:end] if v is not None])
            p.line(*join(names), " = T.axis.remap(", literal(kinds), ", ", loops, ")")
            position = end
            continue
        _axis(node.iter_vars[position], shown[position], p)
        position += 1


def _axis_name(axis: IterVar, p: Printer) -> Doc:
    return Doc((text(p.define(axis.var), axis.var),), ATOM, axis)


def _axis(axis: IterVar, value: Doc | None, p: Printer) -> None:
    dom: Any = axis.dom
    kind = _AXES.get(axis.iter_type)
    if kind is None or axis.thread_tag or dom is None:
        raise TypeError(f"block axis {axis.var.name} is neither spatial, reduce, scan nor opaque")
    if isinstance(dom.min, IntImm) and dom.min.value == 0:
        extent = p.doc(dom.extent)
    else:
        extent = seq([p.doc(dom.min), stop_of(dom.min, dom.extent, p)], "(", ")")
    args = [extent] if value is None else [extent, value]
    form = call(f"T.axis.{kind}", *args)
    dtype = axis.var.dtype
    if dtype != dom.extent.dtype:
        form = call(f"T.axis.{kind}", *args, dtype=literal(str(dtype)))
    p.line(_axis_name(axis, p), " = ", form)


def _remaps(axis: IterVar, value: Any, p: Printer) -> bool:
    """Whether an axis is a loop variable with the domain of its loop."""
    if axis.iter_type not in (0, 2) or not isinstance(value, Var) or axis.dom is None:
        return False
    loop = p.facts.get(("loop", id(value)))
    return (
        loop is not None
        and loop.step is None
        and axis.var.dtype == value.dtype
        and structural_equal(loop.min, axis.dom.min)
        and structural_equal(loop.extent, axis.dom.extent)
    )
