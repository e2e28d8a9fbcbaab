"""Copies of buffers: cache_read, cache_write.

C[i] = A[i] + 1      cache_read(C, A, "local")     A_local[v0] = A[v0]
                               →                   C[i] = A_local[i] + 1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Range, Var
from workbench.s_tir.analysis.blocks import (
    analyzer_for,
    conjunction,
    loops_around,
    swept_regions,
)
from workbench.s_tir.analysis.regions import union_region
from workbench.s_tir.sblock_scope import Entry, Key
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.moves import Move
from workbench.s_tir.schedule.primitives.body_rewrite import Reuse, replace_buffer
from workbench.s_tir.schedule.primitives.buffers import (
    buffer_index_of,
    check_not_updated,
    read_buffer,
    written_buffer,
)
from workbench.s_tir.schedule.primitives.nest import NestBuilder
from workbench.s_tir.schedule.random_variable import SBlockRV
from workbench.s_tir.schedule.state import replace_stmts
from workbench.tirx.buffer import decl_buffer
from workbench.tirx.expr import BufferLoad, IterType, IterVar
from workbench.tirx.stmt import (
    BufferRegion,
    BufferStore,
    For,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    stmt_list,
)

#: Storage scopes that buffers may have: memory kind and an optional tag after a dot.
_SCOPE = re.compile(
    r"(global|shared|local|warp|texture|wmma\.(matrix_a|matrix_b|accumulator)|m16n8k8"
    r"|metal\.simdgroup)(\.\w+)?$"
)


def check_storage_scope(scope: str) -> None:
    """Raises ScheduleError if no storage scope has this name."""
    if not _SCOPE.match(scope):
        raise ScheduleError(
            f"unknown storage scope {scope!r}",
            hint="'global', 'local', 'shared', 'shared.dyn', 'warp' …",
        )


def _read_moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    for place, region in enumerate(entry.stmt.reads if entry.parent is not None else ()):
        args = {"block": rv, "read_buffer_index": place, "storage_scope": "local"}
        yield Move(args, f"read {region.buffer.name} through a local copy")


def _write_moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    for place, region in enumerate(entry.stmt.writes if entry.parent is not None else ()):
        args = {"block": rv, "write_buffer_index": place, "storage_scope": "local"}
        yield Move(args, f"write {region.buffer.name} through a local copy")


def scoped_name(buffer: Var, scope: str) -> str:
    """The name of a copy of a buffer in a storage scope."""
    return f"{buffer.name}_{re.sub(r'[^0-9A-Za-z_]', '_', scope)}"


def copy_nest(
    source: Var, target: Var, name: str, region: Sequence[Range], loops: Sequence[Entry]
) -> Stmt:
    """Loops that copy a region of a buffer to the same place of another, below `loops`."""
    builder = NestBuilder(loops, keep_unit=True)
    iter_vars = [
        IterVar(Range(extent), Var(f"v{place}", extent.ty), IterType.DATA_PAR)
        for place, extent in enumerate(source.shape)
    ]
    values = [builder.bind(v, r) for v, r in zip(iter_vars, region, strict=True)]
    at = [v.var for v in iter_vars]
    block = SBlock(
        tuple(iter_vars),
        (BufferRegion.from_point(source, at),),
        (BufferRegion.from_point(target, at),),
        name,
        BufferStore(target, BufferLoad(source, at), at),
    )
    return builder.build(SBlockRealize(tuple(values), conjunction(builder.terms), block))


class CachePrimitives(ScheduleBase):
    """cache_read, cache_write."""

    @primitive(
        "CacheRead",
        attrs=("read_buffer_index", "storage_scope"),
        optional=("consumer_blocks",),
        normalize=lambda self, args: _normal(self, args, "read_buffer_index", "reads"),
        moves=_read_moves,
    )
    def cache_read(
        self,
        block: SBlockRV | str,
        read_buffer_index: int | str | Var,
        storage_scope: str,
        consumer_blocks: Sequence[SBlockRV | str] | None = None,
    ) -> SBlockRV:
        """Lets blocks read a buffer through a copy in another storage scope; returns the copying
        block.

        Parameters
        ----------
        read_buffer_index : the buffer by number among what the block reads, by name, or itself.
        consumer_blocks : the blocks that read the copy; left out, all that read the buffer.
        """
        assert isinstance(block, SBlockRV) and isinstance(read_buffer_index, int)
        check_storage_scope(storage_scope)
        entry = self.entry_of(block)
        buffer = read_buffer(entry, read_buffer_index)
        check_not_updated(entry, buffer)
        scope = self.state.scope(entry.key)
        deps = self.state.dependences(scope.key)
        writers = self._single_writer(entry, buffer, deps.writers.get(buffer, []))
        chosen = self._consumers(consumer_blocks, scope)
        readers = [
            e for e in deps.readers.get(buffer, []) if not any(e.key is w.key for w in writers)
        ]
        some = [e for e in readers if any(e.key is k for k in chosen)] if chosen else readers
        copy = decl_buffer(
            buffer.shape, buffer.dtype, scoped_name(buffer, storage_scope), scope=storage_scope
        )
        subset = len(some) < len(readers)
        self._insert(scope, buffer, copy, writers, some, subset, reading=True)
        return self._copy_block(copy)

    @primitive(
        "CacheWrite",
        attrs=("write_buffer_index", "storage_scope"),
        optional=("consumer_blocks",),
        normalize=lambda self, args: _normal(self, args, "write_buffer_index", "writes"),
        moves=_write_moves,
    )
    def cache_write(
        self,
        block: SBlockRV | str,
        write_buffer_index: int | str | Var,
        storage_scope: str,
        consumer_blocks: Sequence[SBlockRV | str] | None = None,
    ) -> SBlockRV:
        """Lets a block write to a copy in another storage scope, which a new block copies back;
        returns that block.

        Parameters
        ----------
        write_buffer_index : the buffer by number among what the block writes, by name, or itself.
        consumer_blocks : blocks that read the copy instead of the buffer.
        """
        assert isinstance(block, SBlockRV) and isinstance(write_buffer_index, int)
        check_storage_scope(storage_scope)
        entry = self.entry_of(block)
        buffer = written_buffer(entry, write_buffer_index)
        check_not_updated(entry, buffer)
        scope = self.state.scope(entry.key)
        deps = self.state.dependences(scope.key)
        self._single_writer(entry, buffer, deps.writers.get(buffer, []))
        chosen = self._consumers(consumer_blocks, scope)
        some = [e for e in deps.readers.get(buffer, []) if any(e.key is k for k in chosen)]
        copy = decl_buffer(
            buffer.shape, buffer.dtype, scoped_name(buffer, storage_scope), scope=storage_scope
        )
        self._insert(scope, buffer, copy, [entry], some, False, reading=False)
        return self._copy_block(copy)

    # Parts

    def _single_writer(self, entry: Entry, buffer: Var, writers: list[Entry]) -> list[Entry]:
        if len(writers) > 1:
            raise ScheduleError(
                f"{buffer.name} is written by {len(writers)} blocks: "
                f"{', '.join(w.label for w in writers)}",
                nodes=[entry.stmt, *(w.stmt for w in writers)],
                hint="cache the buffer before decompose_reduction",
            )
        return writers

    def _consumers(self, blocks: Any, scope: Entry) -> list[Key]:
        keys: list[Key] = []
        for rv in blocks or ():
            entry = self.entry_of(rv)
            if self.state.scope(entry.key).key is not scope.key:
                raise ScheduleError(
                    f"{entry.label} is in another scope", nodes=[entry.stmt, scope.stmt]
                )
            keys.append(entry.key)
        return keys

    def _copy_block(self, copy: Var) -> SBlockRV:
        """The block that reads or writes a fresh copy and nothing else but its origin."""
        index = next(
            e
            for i in self.state.indexes()
            for e in i.entries.values()
            if e.is_block and e.name == self._last_copy and _touches(e, copy)
        )
        return self.new_block(index.key)

    def _insert(
        self,
        scope: Entry,
        buffer: Var,
        copy: Var,
        writers: Sequence[Entry],
        readers: Sequence[Entry],
        subset: bool,
        reading: bool,
    ) -> None:
        """Puts the copying nest in its place and redirects the blocks to the copy."""
        state = self.state
        place = self._place(scope, writers, readers, subset, reading)
        users = list(readers if reading else writers)
        if not all(state.is_below(e.key, place[0].key) for e in users):
            users = list(writers)
        region = self._region(place, buffer, users)
        self._last_copy = copy.name
        source, target = (buffer, copy) if reading else (copy, buffer)
        shared = place[0]
        loops = [] if shared.is_block else [*loops_around(state, shared.key), shared]
        nest = copy_nest(source, target, copy.name, region, loops)
        changes: dict[int, Stmt | None] = {}
        reuse: Reuse = {}
        for entry in readers if reading else [*writers, *readers]:
            new, below = replace_buffer(entry.stmt, buffer, copy)
            reuse.update(below)
            reuse[entry.stmt] = new
            changes[id(entry.stmt)] = new
        body = _inserted(scope, place, nest, changes)
        alloc = (*scope.stmt.alloc_buffers, copy)
        new_scope = scope.stmt.replace(body=body, alloc_buffers=alloc)
        state.replace(scope.key, new_scope, reuse)

    def _place(
        self,
        scope: Entry,
        writers: Sequence[Entry],
        readers: Sequence[Entry],
        subset: bool,
        reading: bool,
    ) -> tuple[Entry, Entry | None, bool]:
        """(the block or loop in whose body the copy goes, the neighbour, whether after it).

        After the writer, inside the loops it shares with the nearest reader; with no writer, or for
        a choice of readers, in front of the first reader.
        """
        others = list(readers)
        if not reading:
            deps = self.state.dependences(scope.key)
            buffer = {id(r.buffer) for w in writers for r in w.stmt.writes}
            others = [
                e
                for b, found in deps.readers.items()
                if id(b) in buffer
                for e in found
                if not any(e.key is w.key for w in writers)
            ]
        if not writers:
            if subset and readers:
                return scope, _under(self.state, readers[0], scope.key), False
            return scope, None, False
        shared = scope
        for entry in self.state.loops_above(writers[0].key):
            if any(self.state.is_below(o.key, entry.key) for o in others):
                shared = entry
            else:
                break
        if reading and subset and readers:
            return shared, _under(self.state, readers[0], shared.key), False
        last = [writers[0], *(readers if not reading else ())]
        below = [_under(self.state, e, shared.key) for e in last]
        order = {id(k): i for i, k in enumerate(shared.children)}
        below.sort(key=lambda e: order[id(e.key)])
        return shared, below[-1], True

    def _region(
        self, place: tuple[Entry, Entry | None, bool], buffer: Var, users: Sequence[Entry]
    ) -> list[Range]:
        """The whole buffer, or inside a loop what that iteration uses of it."""
        shared = place[0]
        if shared.is_block:
            return [Range(extent) for extent in buffer.shape]
        loops = [*loops_around(self.state, shared.key), shared]
        found: list[Range] | None = None
        for entry in users:
            analyzer = analyzer_for([*loops, *self.state.loops_above(entry.key)])
            regions = [r for r in (*entry.stmt.reads, *entry.stmt.writes) if r.buffer is buffer]
            for swept in swept_regions(self.state, entry, regions, shared.key, analyzer):
                found = (
                    swept if found is None else union_region(found, swept, analyzer, buffer.shape)
                )
        assert found is not None, "the buffer is used by the blocks given"
        return found


def _under(state: Any, entry: Entry, above: Key) -> Entry:
    """The ancestor of an entry (or itself) directly below `above`."""
    while entry.parent is not above:
        assert entry.parent is not None
        entry = state.entry(entry.parent)
    return entry


def _inserted(
    scope: Entry,
    place: tuple[Entry, Entry | None, bool],
    nest: Stmt,
    changes: dict[int, Stmt | None],
) -> Stmt:
    """The body of a scope with `nest` in its place and the changed blocks."""
    shared, neighbour, after = place
    statements = stmt_list(shared.stmt.body)
    if neighbour is None:
        spot = 0
    else:
        own = id(neighbour.stmt)
        spot = next(i for i, s in enumerate(statements) if _contains(s, own))
        spot += 1 if after else 0
    marked = [replace_stmts(s, changes) for s in statements]
    parts = [*marked[:spot], nest, *marked[spot:]]
    body: Stmt = SeqStmt([p for p in parts if p is not None])
    if shared.is_block:
        return body
    new = replace_stmts(
        scope.stmt.body, {**changes, id(shared.stmt): shared.stmt.replace(body=body)}
    )
    assert new is not None
    return new


def _contains(stmt: Stmt, wanted: int) -> bool:
    return any(id(n) == wanted for n in iter_nodes(stmt, SBlock, For))


def _touches(entry: Entry, copy: Var) -> bool:
    return any(r.buffer is copy for r in (*entry.stmt.reads, *entry.stmt.writes))


def _normal(self: Any, args: dict[str, Any], name: str, side: str) -> dict[str, Any]:
    args = buffer_index_of(self, args, name, side)
    return {**args, "consumer_blocks": list(args["consumer_blocks"] or ())}
