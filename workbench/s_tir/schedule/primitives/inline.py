"""Inlining: compute_inline (into consumers), reverse_compute_inline (into the producer).

B[i] = A[i] * 2       compute_inline(B)
C[i] = B[i] + 1              →              C[i] = A[i] * 2 + 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workbench.arith import Analyzer
from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes, rewrite, substitute
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.s_tir.analysis.access import get_sblock_read_write_region
from workbench.s_tir.analysis.blocks import (
    block_kind_reason,
    complete_reason,
    foreign_predicate,
    is_output_block,
)
from workbench.s_tir.analysis.regions import relax_index
from workbench.s_tir.sblock_scope import DepKind, Entry
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.moves import Move
from workbench.s_tir.schedule.primitives.body_rewrite import BlockRewriter
from workbench.s_tir.schedule.random_variable import SBlockRV
from workbench.s_tir.schedule.state import replace_stmts
from workbench.tirx.expr import BufferLoad
from workbench.tirx.stmt import BufferStore, SBlock, Stmt


def _moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    if entry.parent is not None:
        yield Move({"block": rv}, "")


def single_store(entry: Entry) -> BufferStore:
    """The store that is the whole body of a block."""
    body = entry.stmt.body
    if not isinstance(body, BufferStore):
        raise ScheduleError(
            f"{entry.label} is more than one store",
            nodes=[entry.stmt],
            hint="only blocks that store one expression can be inlined",
        )
    if body.predicate is not None:
        raise ScheduleError(f"{entry.label} stores under a mask", nodes=[entry.stmt])
    return body


def variables_at(entry: Entry, indices: Sequence[Expr], what: str) -> list[Var | None]:
    """The block variable in each place of `indices` (None: a dimension of one element).

    Raises ScheduleError unless the indices are distinct variables that cover all of the block's.
    """
    own = {id(v.var): v for v in entry.stmt.iter_vars}
    out: list[Var | None] = []
    seen: set[int] = set()
    for index in indices:
        if isinstance(index, Var) and id(index) in own and id(index) not in seen:
            seen.add(id(index))
            out.append(index)
        elif isinstance(index, IntImm) and index.value == 0:
            out.append(None)
        else:
            raise ScheduleError(
                f"{what} is indexed by {index} in {entry.label}; inlining needs distinct block "
                "variables as indices",
                nodes=[entry.stmt],
                hint="compute_at keeps the block but computes it where it is used",
            )
    for key, v in own.items():
        unit = isinstance(v.dom.extent, IntImm) and v.dom.extent.value == 1
        if key not in seen and not unit:
            raise ScheduleError(
                f"the variable {v.var.name!r} of {entry.label} is no index of {what}",
                nodes=[entry.stmt],
            )
    return out


def _unit_values(entry: Entry) -> dict[Var, Expr]:
    return {
        v.var: v.dom.min
        for v in entry.stmt.iter_vars
        if isinstance(v.dom.extent, IntImm) and v.dom.extent.value == 1
    }


class InlinePrimitives(ScheduleBase):
    """compute_inline, reverse_compute_inline."""

    @primitive("ComputeInline", moves=_moves)
    def compute_inline(self, block: SBlockRV | str) -> None:
        """Puts the expression of a block wherever its result is read, and removes the block.

        Legal if the block is complete, stores one expression at distinct block variables, and its
        buffer is no output.
        """
        assert isinstance(block, SBlockRV)
        entry = self.entry_of(block)
        scope = self.state.scope(entry.key)
        self._check_complete(entry)
        store = single_store(entry)
        if is_output_block(self.state, entry):
            raise ScheduleError(
                f"{entry.label} writes the output {store.buffer.name}",
                nodes=[entry.stmt],
                hint="reverse_compute_inline puts an output block into its producer",
            )
        deps = self.state.dependences(scope.key)
        if not deps.consumers(entry.key):
            raise ScheduleError(f"nothing reads what {entry.label} writes", nodes=[entry.stmt])
        places = variables_at(entry, store.indices, store.buffer.name)
        units = _unit_values(entry)

        def inline(load: BufferLoad) -> Expr | None:
            if load.buffer is not store.buffer:
                return None
            if load.predicate is not None or any(i.dtype.lanes > 1 for i in load.indices):
                raise ScheduleError(f"{store.buffer.name} is read as a vector")
            at = {v: i for v, i in zip(places, load.indices, strict=True) if v is not None}
            return substitute(store.value, {**units, **at})

        run = BlockRewriter({BufferLoad: inline}, redetect=True)
        changes: dict[int, Stmt | None] = {id(entry.realize): None}
        for key in deps.consumers(entry.key):
            consumer = self.state.entry(key).stmt
            changes[id(consumer)] = run.run(consumer)
        self._finish(scope, changes, store.buffer, run.reuse)

    def _check_complete(self, entry: Entry) -> None:
        reason = complete_reason(self.state, entry)
        if entry.stmt.init is not None:
            reason = "it is a reduction: it has an init statement"
        term = foreign_predicate(self.state, entry) if not reason else None
        if term is not None:
            reason = f"it runs only where {term}"
        if reason:
            raise ScheduleError(
                f"{entry.label} cannot be inlined: {reason}",
                nodes=[entry.stmt],
                hint="compute_at computes it where it is used",
            )

    def _finish(self, scope: Entry, changes: dict[int, Stmt | None], gone: Var, reuse: Any) -> None:
        """Stores the changed statements of a scope, and drops the buffer `gone`."""
        new_parts = tuple(s for s in changes.values() if s is not None)
        if any(v is gone for v in iter_nodes(new_parts, Var)):
            raise ScheduleError(
                f"{gone.name} is used in another way than by loads and stores",
                nodes=[scope.stmt],
            )
        body = replace_stmts(scope.stmt.body, changes)
        assert body is not None, "the consumers or the producer are left"
        left = tuple(b for b in scope.stmt.alloc_buffers if b is not gone)
        new = scope.stmt.replace(body=body, alloc_buffers=left)
        self.state.replace(scope.key, new, reuse)

    @primitive("ReverseComputeInline", moves=_moves)
    def reverse_compute_inline(self, block: SBlockRV | str) -> None:
        """Lets the producer of a block store what the block computes from it.

        Legal if the block is complete, has one producer (a complete block that nothing else reads)
        and reads it at distinct block variables.
        """
        assert isinstance(block, SBlockRV)
        entry = self.entry_of(block)
        scope = self.state.scope(entry.key)
        self._check_complete(entry)
        store = single_store(entry)
        producer = self._only_producer(entry, scope)
        source = single_store(producer)
        loads = [n for n in iter_nodes(store, BufferLoad) if n.buffer is source.buffer]
        if not loads or any(not structural_equal(n.indices, loads[0].indices) for n in loads[1:]):
            raise ScheduleError(
                f"{entry.label} reads {source.buffer.name} in several places",
                nodes=[entry.stmt],
            )
        places = variables_at(entry, loads[0].indices, source.buffer.name)
        self._check_same_domain(entry, producer, places, source)
        at: dict[Var, Expr] = _unit_values(entry)
        for var, index in zip(places, source.indices, strict=True):
            if var is not None:
                at[var] = index

        def inline(load: BufferLoad) -> Expr | None:
            return source.value if load.buffer is source.buffer else None

        value = rewrite(substitute(store.value, at), {BufferLoad: inline})
        indices = [substitute(i, at) for i in store.indices]
        new_store = BufferStore(store.buffer, value, indices, span=store.span)
        new: SBlock = producer.stmt.replace(body=new_store)
        reads, writes = get_sblock_read_write_region(new)
        new = new.replace(reads=tuple(reads), writes=tuple(writes))
        realize = producer.realize.replace(block=new)
        changes: dict[int, Stmt | None] = {id(entry.realize): None, id(producer.realize): realize}
        self._finish(scope, changes, source.buffer, {producer.stmt: new})

    def _only_producer(self, entry: Entry, scope: Entry) -> Entry:
        deps = self.state.dependences(scope.key)
        producers = [self.state.entry(k) for k in deps.producers(entry.key)]
        if len(producers) != 1:
            names = ", ".join(p.label for p in producers) or "none"
            raise ScheduleError(
                f"{entry.label} must have exactly one producer, found {names}",
                nodes=[entry.stmt, *(p.stmt for p in producers)],
                hint="compute_inline the other producers first",
            )
        producer = producers[0]
        if any(
            d.kind is not DepKind.RAW
            for d in [*deps.get_deps_by_dst(entry.key), *deps.get_deps_by_dst(producer.key)]
        ):
            raise ScheduleError(
                f"{entry.label} overwrites what another block reads", nodes=[entry.stmt]
            )
        reason = block_kind_reason(self.state, producer) or complete_reason(self.state, producer)
        consumers = deps.consumers(producer.key)
        if not reason and len(consumers) != 1:
            others = [self.state.entry(k).label for k in consumers if k is not entry.key]
            reason = f"{', '.join(others)} reads it too"
        if not reason and is_output_block(self.state, producer):
            reason = "it writes an output"
        if reason:
            raise ScheduleError(
                f"{entry.label} cannot be put into its producer {producer.label}: {reason}",
                nodes=[entry.stmt, producer.stmt],
                hint="reverse_compute_at computes it inside the producer's loops",
            )
        return producer

    def _check_same_domain(
        self, entry: Entry, producer: Entry, places: Sequence[Var | None], source: BufferStore
    ) -> None:
        """The consumer's variables run exactly over what the producer stores."""
        analyzer = Analyzer()
        env: dict[Var, tuple[Any, Any]] = {}
        for v in producer.stmt.iter_vars:
            analyzer.bind(v.var, v.dom)
            env[v.var] = (v.dom.min, analyzer.simplify(v.dom.min + v.dom.extent - 1))
        domains = {id(v.var): v.dom for v in entry.stmt.iter_vars}
        one = IntImm("int32", 1)
        for var, index in zip(places, source.indices, strict=True):
            made = relax_index(index, IntImm(index.dtype, 1), env, analyzer)
            dom: Range = (
                domains[id(var)]
                if var is not None
                else Range.from_min_extent(IntImm(index.dtype, 0), one.astype(index.dtype))
            )
            if made is None or not (
                analyzer.can_prove_equal(made.min, dom.min)
                and analyzer.can_prove_equal(made.extent, dom.extent)
            ):
                raise ScheduleError(
                    f"{entry.label} runs over another domain than {producer.label} stores: {dom} "
                    f"instead of {made}",
                    nodes=[entry.stmt, producer.stmt],
                )
