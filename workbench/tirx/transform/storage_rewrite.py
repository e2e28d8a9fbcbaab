"""StorageRewrite: buffers are allocated once and share memory where their lives do not overlap."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.core.traverse import free_vars, iter_nodes, rewrite, substitute
from workbench.ir.expr import IntImm, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx.analysis.memory import buffer_elements
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    AllocBuffer,
    AttrStmt,
    DeclBuffer,
    For,
    ForKind,
    SeqStmt,
    Stmt,
)

Rewriting = Generator[Any, Any, Any]


@define_pass("tirx.StorageRewrite", level="function", on=PrimFunc)
def StorageRewrite(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Moves allocations out of serial loops and merges those that are never alive together.

    Before: `for i: A = T.alloc_buffer((64,)); …` and later `B = T.alloc_buffer((64,)); …`
    After: one `A = T.alloc_buffer((64,))` in front, used for both

    An allocation stays inside a parallel loop, where each turn needs its own.
    """
    body = _reuse_all(_hoist(func.body))
    return func.with_body(body)


def _hoist(body: Stmt) -> Stmt:
    """Moves allocations to the start of the function, of the parallel loop or the thread scope."""
    scopes: list[list[AllocBuffer]] = [[]]

    def alloc(node: AllocBuffer) -> Any:
        if buffer_elements(node.buffer) is None or node.buffer.ty.strides:
            return node
        if free_vars(node.buffer.ty):
            return node
        scopes[-1].append(node)
        return SeqStmt(())

    def scope(node: Any) -> Rewriting:
        threads = isinstance(node, AttrStmt) and node.attr_key == "thread_extent"
        parallel = isinstance(node, For) and node.kind in (
            ForKind.PARALLEL,
            ForKind.THREAD_BINDING,
            ForKind.VECTORIZED,
        )
        if not threads and not parallel:
            return (yield node)
        scopes.append([])
        inner = yield node.body
        own = scopes.pop()
        if own:
            inner = SeqStmt.flatten(own, inner)
        return node.replace(body=inner)

    def sequence(node: SeqStmt) -> Rewriting:
        items = yield node.seq
        if all(a is b for a, b in zip(items, node.seq, strict=True)):
            return node
        return SeqStmt.flatten([i for i in items if not (isinstance(i, SeqStmt) and not i.seq)])

    new = rewrite(
        body, {AllocBuffer: alloc, For: scope, AttrStmt: scope, SeqStmt: sequence}, memo=False
    )
    own = scopes.pop()
    return SeqStmt.flatten(own, new) if own else new


def _reuse_all(body: Stmt) -> Stmt:
    """Shares memory within each list of statements."""

    def sequence(node: SeqStmt) -> Any:
        return reuse(node)

    return rewrite(body, {SeqStmt: sequence}, memo=False)


def reuse(node: SeqStmt) -> Stmt:
    """A sequence in which a later allocation takes over the memory of one that is dead.

    The life of a buffer goes from its first to its last use among the statements of the sequence;
    a buffer that something else points into (DeclBuffer) keeps its memory.
    """
    allocs = [s for s in node.seq if isinstance(s, AllocBuffer)]
    if len(allocs) < 2:
        return node
    lives = _lives(node, {id(a.buffer) for a in allocs})
    pool: list[list[Any]] = []  # [alloc, elements, last use]
    images: dict[Var, Var] = {}
    for alloc in sorted(allocs, key=lambda a: lives.get(id(a.buffer), (0, 0))[0]):
        buffer = alloc.buffer
        life = lives.get(id(buffer))
        count = buffer_elements(buffer)
        if life is None or count is None or life[1] < 0:
            continue
        best = _best(pool, buffer, count, life[0])
        if best is None:
            pool.append([alloc, count, life[1], []])
            continue
        best[1], best[2] = max(best[1], count), life[1]
        best[3].append(buffer)
    return _merged(node, pool, images)


def _best(pool: list[list[Any]], buffer: Var, count: int, start: int) -> list[Any] | None:
    found: list[Any] | None = None
    for entry in pool:
        ty = entry[0].buffer.ty
        fits = (
            entry[2] < start
            and ty.dtype == buffer.ty.dtype
            and ty.storage_scope == buffer.ty.storage_scope
            and len(ty.shape) == len(buffer.ty.shape) == 1
            and not buffer.ty.strides
        )
        if fits and (found is None or abs(entry[1] - count) < abs(found[1] - count)):
            found = entry
    return found


def _merged(node: SeqStmt, pool: list[list[Any]], images: dict[Var, Var]) -> Stmt:
    gone: set[int] = set()
    grown: dict[int, AllocBuffer] = {}
    for alloc, count, _, guests in pool:
        if not guests:
            continue
        old = alloc.buffer
        size = IntImm(old.ty.shape[0].dtype, count)
        new = Var(old.name, old.ty.replace(shape=(size,)), old.span)
        grown[id(alloc)] = alloc.replace(buffer=new)
        images[old] = new
        for guest in guests:
            images[guest] = new
            gone.add(id(guest))
    if not images:
        return node
    out: list[Stmt] = []
    for item in node.seq:
        if isinstance(item, AllocBuffer) and id(item.buffer) in gone:
            continue
        out.append(grown[id(item)] if id(item) in grown else substitute(item, images))
    return SeqStmt.flatten(out)


def _lives(node: SeqStmt, wanted: set[int]) -> dict[int, tuple[int, int]]:
    """First and last statement that uses each buffer; (n, -1) for one that is pointed into."""
    lives: dict[int, tuple[int, int]] = {}
    pinned: set[int] = set()
    for position, item in enumerate(node.seq):
        if isinstance(item, AllocBuffer):
            continue
        for decl in iter_nodes(item, DeclBuffer):
            if decl.data is not None:
                pinned |= {id(v) for v in iter_nodes(decl.data, Var)} & wanted
        for var in iter_nodes(item, Var):
            key = id(var)
            if key in wanted:
                first, _ = lives.get(key, (position, position))
                lives[key] = (first, position)
    for key in pinned:
        lives[key] = (lives[key][0], -1)
    return lives
