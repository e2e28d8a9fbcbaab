"""StorageRewrite: buffers are allocated once and share memory where their lives do not overlap."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from workbench.core.traverse import free_vars, iter_nodes, rewrite, walk
from workbench.ir.expr import Call, IntImm, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx.analysis.memory import buffer_elements
from workbench.tirx.expr import BufferLoad
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    AllocBuffer,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    SeqStmt,
    Stmt,
)


@define_pass("tirx.StorageRewrite", level="function", on=PrimFunc)
def StorageRewrite(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Moves allocations out of serial loops and merges those that are never alive together.

    Before: `for i: A = T.alloc_buffer((64,)); …` and later `B = T.alloc_buffer((64,)); …`
    After: one `A = T.alloc_buffer((64,))` in front, used for both

    An allocation stays inside a parallel loop, where each turn needs its own. Buffers of unknown
    size, and those with strides, stay where they are.
    """
    if ctx.get("tirx.disable_storage_rewrite", False):
        return func
    if not any(True for _ in iter_nodes(func.body, AllocBuffer)):
        return func
    plan = _Plan(func.body)
    return func.with_body(plan.apply(func.body))


@dataclass
class _Life:
    """An allocation, the scope it moves to, and the part of the program in which it is alive.

    The part is counted in leaf statements. An allocation inside a loop is fresh in every turn, so
    its life ends with the turn; one outside lives through all turns of a loop that uses it.
    """

    alloc: AllocBuffer
    scope: int
    size: int
    first: int = -1
    last: int = -1


@dataclass
class _Slot:
    """Memory that several allocations share."""

    owner: _Life
    size: int
    last: int
    guests: list[Var] = field(default_factory=list)


class _Plan:
    """Which allocation moves where, and whose memory it uses."""

    def __init__(self, body: Stmt) -> None:
        self.lives: dict[int, _Life] = {}
        self.scopes = [0]
        self.clock = 0
        self.refused: set[int] = set()
        table = {
            For: self._scope,
            AttrStmt: self._scope,
            SeqStmt: self._sequence,
            BufferStore: self._leaf,
            Evaluate: self._leaf,
        }
        walk(body, table, once=False)
        self.slots = self._assign()
        self.images: dict[int, Var] = {}
        self.keep: list[Any] = [body]
        for slot in self.slots:
            buffer = slot.owner.alloc.buffer
            new = buffer
            if slot.size != slot.owner.size:
                size = IntImm(buffer.ty.shape[0].dtype, slot.size)
                new = Var(buffer.name, buffer.ty.replace(shape=(size,)), buffer.span)
                self.images[id(buffer)] = new
            for guest in slot.guests:
                self.images[id(guest)] = new

    def _scope(self, node: Any) -> Generator[Any, None, None]:
        if not _is_scope(node):
            yield node
            return
        self.scopes.append(id(node))
        yield node.body
        self.scopes.pop()

    def _leaf(self, node: Stmt) -> Generator[Any, None, None]:
        self.clock += 1
        yield ()

    def _sequence(self, node: SeqStmt) -> Generator[Any, None, None]:
        own: dict[int, _Life] = {}
        for item in node.seq:
            if isinstance(item, AllocBuffer):
                life = self._declare(item)
                if life is not None:
                    own[id(item.buffer)] = life
                continue
            start = self.clock
            yield item
            self.clock += 1
            if own:
                self._use(item, own, start)

    def _declare(self, alloc: AllocBuffer) -> _Life | None:
        buffer = alloc.buffer
        size = buffer_elements(buffer)
        if size is None or buffer.ty.strides or free_vars(buffer.ty) or id(buffer) in self.lives:
            self.refused.add(id(buffer))
            return None
        life = _Life(alloc, self.scopes[-1], size)
        self.lives[id(buffer)] = life
        return life

    def _use(self, item: Stmt, own: dict[int, _Life], start: int) -> None:
        for node in iter_nodes(item, BufferLoad, BufferStore, Call, DeclBuffer):
            if isinstance(node, (BufferLoad, BufferStore)):
                used: Any = (node.buffer,)
            elif isinstance(node, DeclBuffer):
                used = ()
                for var in iter_nodes(node.data, Var) if node.data is not None else ():
                    # Something else points into the buffer: its memory is not shared.
                    self.refused.add(id(var))
            else:
                used = node.args
            for var in used:
                life = own.get(id(var))
                if life is not None:
                    life.first = start if life.first < 0 else life.first
                    life.last = self.clock

    def _assign(self) -> list[_Slot]:
        slots: list[_Slot] = []
        for life in sorted(self.lives.values(), key=lambda x: x.first):
            buffer = life.alloc.buffer
            best = None
            if life.first >= 0 and id(buffer) not in self.refused:
                best = _best(slots, life, self.refused)
            if best is None:
                slots.append(_Slot(life, life.size, life.last))
                continue
            best.size, best.last = max(best.size, life.size), life.last
            best.guests.append(buffer)
        return slots

    def apply(self, body: Stmt) -> Stmt:
        """The program with allocations at the start of their scopes."""
        by_scope: dict[int, list[AllocBuffer]] = {}
        for slot in self.slots:
            alloc = slot.owner.alloc
            new = self.images.get(id(alloc.buffer), alloc.buffer)
            by_scope.setdefault(slot.owner.scope, []).append(alloc.replace(buffer=new))

        def variable(node: Var) -> Any:
            return self.images.get(id(node), node)

        def scope(node: Any) -> Generator[Any, Any, Any]:
            new = yield node
            own = by_scope.get(id(node))
            return new.replace(body=SeqStmt.flatten(own, new.body)) if own else new

        def sequence(node: SeqStmt) -> Generator[Any, Any, Any]:
            kept = tuple(s for s in node.seq if not self._moves(s))
            items = yield kept
            if len(kept) == len(node.seq) and items is kept:
                return node
            return SeqStmt.flatten(items)

        new = rewrite(body, {For: scope, AttrStmt: scope, SeqStmt: sequence, Var: variable})
        own = by_scope.get(0)
        return SeqStmt.flatten(own, new) if own else new

    def _moves(self, stmt: Stmt) -> bool:
        return isinstance(stmt, AllocBuffer) and id(stmt.buffer) in self.lives


def _is_scope(node: Any) -> bool:
    if isinstance(node, AttrStmt):
        return node.attr_key == "thread_extent"
    return node.kind in (ForKind.PARALLEL, ForKind.THREAD_BINDING, ForKind.VECTORIZED)


def _best(slots: list[_Slot], life: _Life, refused: set[int]) -> _Slot | None:
    """The slot nearest in size whose memory is free when the life begins."""
    ty = life.alloc.buffer.ty
    found: _Slot | None = None
    for slot in slots:
        other = slot.owner.alloc.buffer.ty
        fits = (
            slot.owner.scope == life.scope
            and slot.owner.first >= 0
            and slot.last <= life.first
            and id(slot.owner.alloc.buffer) not in refused
            and other.dtype == ty.dtype
            and other.storage_scope == ty.storage_scope
            and len(other.shape) == len(ty.shape) == 1
        )
        if fits and (found is None or abs(slot.size - life.size) < abs(found.size - life.size)):
            found = slot
    return found
