"""Checks that a program means something: every variable is defined where it is used, once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes, walk
from workbench.ir.expr import Var
from workbench.ir.module import IRModule
from workbench.tirx.expr import BufferLoad, CommReducer, Let, Reduce
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    DeclBuffer,
    For,
    IfThenElse,
    MatchBufferRegion,
    SBlock,
    SBlockRealize,
    SeqStmt,
    While,
)

Walk = Generator[Any, None, None]


class IllFormedError(WorkbenchError, ValueError):
    """A program uses a variable that is not defined, or defines one twice."""


class _Checker:
    """Walks a function with the set of variables in scope."""

    def __init__(self, func: PrimFunc, unique: bool) -> None:
        self.func = func
        self.scope: dict[int, Var] = {}
        self.ever: dict[int, Var] = {}
        self.unique = unique

    def define(self, var: Var, node: Any) -> None:
        """Puts a variable, and the ones its type introduces, in scope."""
        if id(var) in self.scope or (self.unique and id(var) in self.ever):
            raise IllFormedError(
                f"variable {var.name} is defined twice",
                nodes=(node,),
                root=self.func,
                hint="run ConvertSSA, which gives every definition a variable of its own",
            )
        for inner in iter_nodes(var.ty, Var):
            self.scope.setdefault(id(inner), inner)
        self.scope[id(var)] = self.ever[id(var)] = var

    def use(self, var: Var) -> None:
        if id(var) not in self.scope:
            what = "buffer" if var.ty.__family__ == "buffer" else "variable"
            raise IllFormedError(
                f"{what} {var.name} is used where it is not defined", nodes=(var,), root=self.func
            )

    def scoped(self, handler: Callable[[Any], Walk]) -> Callable[[Any], Walk]:
        """A handler whose definitions end with the node."""

        def run(node: Any) -> Walk:
            saved = dict(self.scope)
            yield from handler(node)
            self.scope = saved

        return run

    def check(self) -> None:
        for param in self.func.params:
            self.define(param, self.func)
        scoped = self.scoped
        walk(
            self.func.body,
            {
                Var: self.variable,
                SeqStmt: scoped(self.sequence),
                For: scoped(self.loop),
                While: scoped(self.plain),
                IfThenElse: self.branches,
                AttrStmt: scoped(self.attribute),
                Bind: self.bind,
                AllocBuffer: self.alloc,
                DeclBuffer: self.decl,
                Let: scoped(self.let),
                SBlockRealize: self.realize,
                SBlock: scoped(self.block),
                CommReducer: scoped(self.plain),
                Reduce: scoped(self.plain),
            },
            once=False,
        )

    def variable(self, node: Var) -> Walk:
        self.use(node)
        yield ()

    def plain(self, node: Any) -> Walk:
        yield node

    def sequence(self, node: SeqStmt) -> Walk:
        yield from node.seq

    def branches(self, node: IfThenElse) -> Walk:
        yield node.condition
        for case in (node.then_case, node.else_case):
            if case is not None:
                saved = dict(self.scope)
                yield case
                self.scope = saved

    def loop(self, node: For) -> Walk:
        yield (node.min, node.extent, node.step)
        self.define(node.loop_var, node)
        yield node.body

    def attribute(self, node: AttrStmt) -> Walk:
        yield node.value
        var = getattr(node.node, "var", None)
        if isinstance(var, Var) and id(var) not in self.scope:
            self.define(var, node)
        yield node.body

    def bind(self, node: Bind) -> Walk:
        yield node.value
        self.define(node.var, node)

    def alloc(self, node: AllocBuffer) -> Walk:
        yield node.buffer.ty
        self.define(node.buffer, node)

    def decl(self, node: DeclBuffer) -> Walk:
        if node.data is not None:
            yield node.data
        self.define(node.buffer, node)

    def let(self, node: Let) -> Walk:
        yield node.value
        self.define(node.var, node)
        yield node.body

    def realize(self, node: SBlockRealize) -> Walk:
        yield (node.iter_values, node.predicate)
        yield node.block

    def block(self, node: SBlock) -> Walk:
        for axis in node.iter_vars:
            if axis.dom is not None:
                yield axis.dom
            self.define(axis.var, node)
        yield (node.reads, node.writes)
        for buffer in node.alloc_buffers:
            self.define(buffer, node)
        for match in node.match_buffers:
            yield from self.match(match)
        for body in (node.init, node.body):
            if body is not None:
                saved = dict(self.scope)
                yield body
                self.scope = saved

    def match(self, node: MatchBufferRegion) -> Walk:
        yield node.source
        self.define(node.buffer, node)


def _functions(obj: PrimFunc | IRModule) -> list[PrimFunc]:
    if isinstance(obj, PrimFunc):
        return [obj]
    return [f for f in obj.functions.values() if isinstance(f, PrimFunc)]


def verify_well_formed(obj: PrimFunc | IRModule, assert_mode: bool = True) -> bool:
    """Whether variables and buffers are defined before they are used, and once in a scope.

    With `assert_mode` an ill-formed program raises `IllFormedError`, which names the variable.
    """
    return _verify(obj, False, assert_mode)


verify_tirx_well_formed = verify_well_formed


def verify_ssa(func: PrimFunc) -> bool:
    """Whether every variable is defined at most once in the whole function."""
    return _verify(func, True, False)


def _verify(obj: PrimFunc | IRModule, unique: bool, strict: bool) -> bool:
    try:
        for func in _functions(obj):
            _Checker(func, unique).check()
    except IllFormedError:
        if strict:
            raise
        return False
    return True


def verify_memory(func: PrimFunc) -> bool:
    """Whether no device memory is accessed outside a kernel (always true of a CPU function)."""
    target = func.attrs.get("target")
    kind = str(getattr(getattr(target, "kind", None), "name", getattr(target, "kind", "llvm")))
    if kind in ("llvm", "c", "None", "hexagon"):
        return True
    inside: list[int] = [0]
    bad: list[Any] = []

    def kernel(node: Any) -> Walk:
        is_thread = getattr(node, "attr_key", "thread_extent") == "thread_extent" and (
            isinstance(node, AttrStmt) or node.thread_binding is not None
        )
        inside[0] += is_thread
        yield node
        inside[0] -= is_thread

    def access(node: Any) -> None:
        if not inside[0] and node.buffer.ty.storage_scope == "global":
            bad.append(node)

    table = {AttrStmt: kernel, For: kernel, BufferLoad: access, BufferStore: access}
    walk(func.body, table, once=False)
    return not bad


def find_entry_func(mod: IRModule) -> PrimFunc | None:
    """The function marked as entry, else the only one, else the one named `main`."""
    functions = [(g, f) for g, f in mod.functions.items() if isinstance(f, PrimFunc)]
    for gvar, func in functions:
        if func.attrs.get("tirx.is_entry_func") or (
            len(functions) > 1 and gvar.name_hint == "main"
        ):
            return func
    return functions[0][1] if len(functions) == 1 else None
