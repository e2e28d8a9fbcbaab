"""What is known while a function is being read: statements so far, blocks, loops, symbols."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from workbench.ir.expr import Expr, IntImm, Var
from workbench.ir.type import Type
from workbench.script.error import ScriptError
from workbench.tirx.expr import IterVar
from workbench.tirx.script.regions import access_regions
from workbench.tirx.script.values import value_of
from workbench.tirx.stmt import (
    BufferRegion,
    DeclBuffer,
    Evaluate,
    MatchBufferRegion,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
)


@dataclass
class BlockState:
    """A block being read."""

    name: str
    realize: bool = True
    axes: list[IterVar] = field(default_factory=list)
    values: list[Expr] = field(default_factory=list)
    predicate: Expr = field(default_factory=lambda: IntImm("bool", 1))
    reads: list[BufferRegion] | None = None
    writes: list[BufferRegion] | None = None
    allocations: list[Var] = field(default_factory=list)
    matches: list[MatchBufferRegion] = field(default_factory=list)
    annotations: dict[str, Any] = field(default_factory=dict)
    init: Stmt | None = None

    def finish(self, body: Stmt) -> Stmt:
        """The block around `body`; regions that were not written are found."""
        reads, writes = self.reads, self.writes
        if reads is None or writes is None:
            found = access_regions(self, body)
            reads = found[0] if reads is None else reads
            writes = found[1] if writes is None else writes
        block = SBlock(
            tuple(self.axes),
            tuple(reads),
            tuple(writes),
            self.name,
            body,
            self.init,
            tuple(self.allocations),
            tuple(self.matches),
            self.annotations,
        )
        if not self.realize:
            return block
        return SBlockRealize(tuple(self.values), self.predicate, block)


@dataclass
class FunctionState:
    """A function being read."""

    reader: Any
    name: str = ""
    s_tir: bool = False
    params: list[Var] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    ret_type: Type | None = None
    #: Symbols of the signature by name, and the data types that the body gives to names.
    symbols: dict[str, Var] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    root_allocations: list[Var] = field(default_factory=list)
    blocks: list[BlockState] = field(default_factory=list)
    loops: dict[int, tuple[Expr, Expr]] = field(default_factory=dict)
    threads: dict[int, IterVar] = field(default_factory=dict)
    lists: list[list[Stmt]] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)
    #: No root block is put around the body.
    bare: bool = False
    if_frames: list[Any] = field(default_factory=list)
    #: How many loops and how many conditions are around, and buffers over memory of other ones.
    depth: int = 0
    guards: int = 0
    views: set[int] = field(default_factory=set)

    def emit(self, stmt: Stmt) -> None:
        """Adds a statement."""
        if not self.lists:
            raise ScriptError("a statement outside of a function body")
        if isinstance(stmt, DeclBuffer) and stmt.data is not None:
            self.views.add(id(stmt.buffer))
        self.lists[-1].append(stmt)

    def block(self, what: str) -> BlockState:
        """The block being read. Raises `ScriptError` outside of any."""
        if not self.blocks:
            raise ScriptError(
                f"{what} stands outside of a block", hint='put it inside: with T.sblock("name"):'
            )
        return self.blocks[-1]

    def resolve(self, word: str) -> Expr:
        """The expression that a text in a signature means; unknown names are new symbols."""
        return value_of(self.reader.expression(word, self.symbol))

    def symbol(self, name: str, alone: bool) -> Var | None:
        """The symbol of a name in a text; None for parameters and outer constants."""
        known = self.symbols.get(name)
        if known is not None:
            return known
        found = self.reader.lookup(name)
        outer = isinstance(found, int) and not (alone or name in self.dtypes)
        if isinstance(found, Expr) or outer:
            return None
        made = self.symbols[name] = Var(name, self.dtypes.get(name, "int32"))
        self.reader.define(name, made)
        return made


_current: ContextVar[FunctionState | None] = ContextVar("workbench_script_function", default=None)


def find_state() -> FunctionState | None:
    """The function being read, or None."""
    return _current.get()


def state(what: str) -> FunctionState:
    """The function being read. Raises `ScriptError` if there is none."""
    found = _current.get()
    if found is None:
        raise ScriptError(
            f"{what} has a meaning only inside a function that is read",
            hint="use it in the body of a @T.prim_func",
        )
    return found


def sequence(stmts: Sequence[Stmt]) -> Stmt:
    """The statements as one."""
    if not stmts:
        return Evaluate(0)
    return stmts[0] if len(stmts) == 1 else SeqStmt(tuple(stmts))
