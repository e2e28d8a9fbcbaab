"""The loops and blocks of a PrimFunc as a tree, with kinds, extents, annotations, buffers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import IntImm
from workbench.ir.module import IRModule
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    AllocBuffer,
    For,
    ForKind,
    IfThenElse,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)

from .part import Badge, Empty, Line, Part, Text, Tone, Tree, TreeItem, line
from .type_text import expr_text, type_text

KIND_WORD = {
    ForKind.SERIAL: "",
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorized",
    ForKind.UNROLLED: "unrolled",
    ForKind.THREAD_BINDING: "thread",
}
_TONE: dict[ForKind, Tone] = {
    ForKind.PARALLEL: "good",
    ForKind.VECTORIZED: "info",
    ForKind.UNROLLED: "info",
    ForKind.THREAD_BINDING: "good",
}


@dataclass
class Scope:
    """A loop or block in the tree: its statement, its stable name, and what is inside."""

    stmt: Any
    ident: str
    children: list[Scope] = field(default_factory=list)

    @property
    def is_block(self) -> bool:
        """Whether this is a block (else a loop, branch or while)."""
        return isinstance(self.stmt, SBlockRealize)

    def walk(self) -> Iterator[Scope]:
        """This scope and all inside, outermost first."""
        yield self
        for child in self.children:
            yield from child.walk()


def scopes(func: PrimFunc, prefix: str = "") -> list[Scope]:
    """The outermost loops and blocks of `func`.

    A scope is named after its variable or block and counted where names repeat: "i", "i#2", "C".
    The root block that only holds allocations is left out.
    """
    seen: dict[str, int] = {}

    def ident(name: str, kind: str) -> str:
        """A name that is unique in the function."""
        base = f"{prefix}{kind}:{name}"
        seen[base] = seen.get(base, 0) + 1
        return base if seen[base] == 1 else f"{base}#{seen[base]}"

    def inside(stmt: Stmt | None) -> list[Scope]:
        """Scopes directly under a statement."""
        match stmt:
            case SeqStmt():
                return [scope for one in stmt.seq for scope in inside(one)]
            case For():
                made = Scope(stmt, ident(stmt.loop_var.name, "loop"))
                made.children = inside(stmt.body)
                return [made]
            case SBlockRealize():
                return block(stmt)
            case IfThenElse():
                made = Scope(stmt, ident("if", "branch"))
                made.children = inside(stmt.then_case) + inside(stmt.else_case)
                return [made]
            case While():
                made = Scope(stmt, ident("while", "branch"))
                made.children = inside(stmt.body)
                return [made]
            case Stmt():
                body = getattr(stmt, "body", None)
                return inside(body) if isinstance(body, Stmt) else []
            case _:
                return []

    def block(stmt: SBlockRealize) -> list[Scope]:
        """A block and what is under it; the root block gives way to its content."""
        if not stmt.block.iter_vars and stmt.block.name_hint == "root":
            return inside(stmt.block.body)
        made = Scope(stmt, ident(stmt.block.name_hint, "block"))
        made.children = inside(stmt.block.body)
        return [made]

    return inside(func.body)


def loop_label(stmt: For) -> Line:
    """A loop: variable, extent, kind, thread, step, annotations."""
    start = "" if isinstance(stmt.min, IntImm) and stmt.min.value == 0 else expr_text(stmt.min)
    extent = expr_text(stmt.extent)
    pieces: list[Part] = [
        Text("for", "dim"),
        Text(stmt.loop_var.name, "strong"),
        Text(f"{start} + {extent}" if start else extent, "code"),
    ]
    if stmt.kind is not ForKind.SERIAL:
        word = KIND_WORD[stmt.kind]
        if stmt.kind is ForKind.THREAD_BINDING and stmt.thread_binding is not None:
            word = stmt.thread_binding.thread_tag or word
        pieces.append(Badge(word, _TONE.get(stmt.kind, "neutral")))
    if stmt.step is not None:
        pieces.append(Text(f"step {expr_text(stmt.step)}", "code"))
    pieces.extend(Badge(f"{key} = {expr_text(value)}") for key, value in stmt.annotations.items())
    return Line(tuple(pieces))


#: What `IterVar.iter_type` says about a block axis.
_ITER = {0: "S", 2: "R", 3: "O"}


def block_label(stmt: SBlockRealize) -> Line:
    """A block: name, kinds of its axes, what it reads and writes, annotations."""
    found = stmt.block
    axes = "".join(_ITER.get(int(v.iter_type), "·") for v in found.iter_vars)
    pieces: list[Part] = [Text("block", "dim"), Text(found.name_hint, "strong")]
    if axes:
        pieces.append(Text(axes, "code"))
    writes = ", ".join(dict.fromkeys(region.buffer.name for region in found.writes))
    reads = ", ".join(dict.fromkeys(region.buffer.name for region in found.reads))
    if writes or reads:
        pieces.append(Text(f"{writes or '∅'} ← {reads or '∅'}", "dim"))
    if found.init is not None:
        pieces.append(Badge("reduction"))
    pieces.extend(Badge(f"{key} = {expr_text(value)}") for key, value in found.annotations.items())
    return Line(tuple(pieces))


def scope_label(scope: Scope) -> Part:
    """The label of a scope of any kind."""
    match scope.stmt:
        case For():
            return loop_label(scope.stmt)
        case SBlockRealize():
            return block_label(scope.stmt)
        case IfThenElse() | While():
            word = "if" if isinstance(scope.stmt, IfThenElse) else "while"
            return line(Text(word, "dim"), Text(expr_text(scope.stmt.condition, 48), "code"))
        case _:
            return Text(type(scope.stmt).__name__)


def tree_of(found: list[Scope], label: str) -> Part:
    """Scopes as a tree."""

    def item(scope: Scope) -> TreeItem:
        """One scope with what is inside."""
        return TreeItem(
            scope_label(scope), tuple(item(c) for c in scope.children), True, scope.ident
        )

    return Tree(tuple(item(scope) for scope in found), label)


def loop_tree(func: PrimFunc, name: str = "main") -> Part:
    """The loops and blocks of `func`."""
    found = scopes(func)
    if not found:
        return Empty(f"{name} has no loop and no block: straight-line code")
    return tree_of(found, f"loops and blocks of {name}")


def module_loop_tree(mod: IRModule) -> Part:
    """The loops and blocks of every PrimFunc of a module."""
    items = [
        TreeItem(
            line(Text("def", "dim"), Text(gvar.name_hint, "strong")),
            tuple(_items(scopes(func, f"{gvar.name_hint}/"))),
        )
        for gvar, func in mod.functions_items()
        if isinstance(func, PrimFunc)
    ]
    return Tree(tuple(items), "functions") if items else Empty("the module has no loop function")


def _items(found: list[Scope]) -> Iterator[TreeItem]:
    """Scopes as tree items."""
    for scope in found:
        yield TreeItem(scope_label(scope), tuple(_items(scope.children)), True, scope.ident)


def buffer_rows(func: PrimFunc) -> Iterator[tuple[str, str, str]]:
    """(name, type, role) of the parameters and the buffers allocated inside."""
    for param in func.params:
        yield param.name, type_text(param.ty), "parameter"
    for node in iter_nodes(func.body, SBlock, AllocBuffer):
        inner = node.alloc_buffers if isinstance(node, SBlock) else (node.buffer,)
        for buffer in inner:
            yield buffer.name, type_text(buffer.ty), f"allocated ({buffer.scope()})"
