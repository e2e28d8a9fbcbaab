"""reindex: a copy of a buffer whose dimensions are the block's variables.

    C[i, j] += A[i, k] * B[j, k]   reindex(C, ("read", 1))   B_reindex[j, k] = B[j, k]
                                              →             C[i, j] += A[i, k] * B_reindex[j, k]

With `reorder_block_iter_var` before it, this changes the layout of an operand.
"""

from __future__ import annotations

from typing import Any

from workbench.arith import Analyzer
from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes, substitute
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.s_tir.analysis.blocks import vars_of
from workbench.s_tir.analysis.regions import covers, relax_index
from workbench.s_tir.sblock_scope import Entry
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.primitives.body_rewrite import BlockRewriter
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
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    stmt_list,
)


def _normal(self: Any, args: dict[str, Any]) -> dict[str, Any]:
    """The buffer as ("read" or "write", number)."""
    value = args["buffer"]
    if isinstance(value, (tuple, list)):
        side, index = value
        if side not in ("read", "write"):
            raise ScheduleError(f"buffer: expected 'read' or 'write', found {side!r}")
        return {**args, "buffer": (side, int(index))}
    entry = self.entry_of(args["block"])
    for side in ("read", "write"):
        names = [r.buffer for r in getattr(entry.stmt, side + "s")]
        if any(b is value or b.name == value for b in names):
            found = buffer_index_of(self, {**args, "buffer": value}, "buffer", side + "s")
            return {**args, "buffer": (side, found["buffer"])}
    buffer_index_of(self, {**args, "buffer": value}, "buffer", "reads")
    raise AssertionError("buffer_index_of raises for an unknown buffer")


class ReindexPrimitives(ScheduleBase):
    """reindex."""

    @primitive("ReIndex", attrs=("buffer",), normalize=_normal)
    def reindex(self, block: SBlockRV | str, buffer: tuple[str, int] | str | Var) -> SBlockRV:
        """Lets a block access a buffer through a copy indexed by the block's own variables, in
        their order; returns the copying block.

        Parameters
        ----------
        buffer : ("read" or "write", number), a name, or the buffer.
        """
        assert isinstance(block, SBlockRV) and isinstance(buffer, tuple)
        entry = self.entry_of(block)
        side, index = buffer
        old = (read_buffer if side == "read" else written_buffer)(entry, index)
        check_not_updated(entry, old)
        indices = self._indices(entry, old, side)
        used = [v for v in entry.stmt.iter_vars if id(v.var) in vars_of(tuple(indices))]
        shape = [v.dom.min + v.dom.extent for v in used]
        shape = [Analyzer().simplify(s) for s in shape]
        copy = decl_buffer(shape, old.dtype, f"{old.name}_reindex")
        scope = self.state.scope(entry.key)
        nest, copying = _copy(old, copy, used, indices, side)
        new, reuse = self._redirected(entry, old, copy, [v.var for v in used])
        body = self._placed(scope, entry, old, nest, new, side)
        alloc = (*scope.stmt.alloc_buffers, copy)
        self.state.replace(scope.key, scope.stmt.replace(body=body, alloc_buffers=alloc), reuse)
        found = self.state.get_sref(copying)
        assert found is not None
        return self.new_block(found.key)

    def _indices(self, entry: Entry, buffer: Var, side: str) -> list[Expr]:
        """The indices at which a block accesses a buffer; there must be one way only."""
        found: list[Any] = []
        for node in iter_nodes((entry.stmt.body, entry.stmt.init or ()), BufferLoad, BufferStore):
            if node.buffer is buffer and not any(
                structural_equal(node.indices, other) for other in found
            ):
                found.append(node.indices)
        if len(found) != 1:
            raise ScheduleError(
                f"{entry.label} accesses {buffer.name} in {len(found)} different ways",
                nodes=[entry.stmt],
            )
        indices = list(found[0])
        self._check_in_buffer(entry, buffer, indices)
        return indices

    def _check_in_buffer(self, entry: Entry, buffer: Var, indices: list[Expr]) -> None:
        """The copy runs unconditionally, so every index must be inside the buffer."""
        analyzer = Analyzer()
        env: dict[Var, tuple[Any, Any]] = {}
        for v in entry.stmt.iter_vars:
            analyzer.bind(v.var, v.dom)
            env[v.var] = (v.dom.min, analyzer.simplify(v.dom.min + v.dom.extent - 1))
        whole = [Range(extent) for extent in buffer.shape]
        for index, dom in zip(indices, whole, strict=True):
            found = relax_index(index, IntImm(index.dtype, 1), env, analyzer)
            if found is None or not covers([dom], [found], analyzer):
                raise ScheduleError(
                    f"{entry.label} accesses {buffer.name} at {index}, which is not always inside",
                    nodes=[entry.stmt],
                )

    def _redirected(
        self, entry: Entry, old: Var, copy: Var, at: list[Var]
    ) -> tuple[SBlock, dict[Any, Any]]:
        def load(node: BufferLoad) -> BufferLoad | None:
            return BufferLoad(copy, at) if node.buffer is old else None

        def store(node: BufferStore) -> BufferStore | None:
            return BufferStore(copy, node.value, at) if node.buffer is old else None

        run = BlockRewriter({BufferLoad: load, BufferStore: store}, redetect=True)
        new = run.run(entry.stmt)
        return new, run.reuse

    def _placed(
        self, scope: Entry, entry: Entry, old: Var, nest: Stmt, new: SBlock, side: str
    ) -> Stmt:
        """The scope's body with the copy before (reads) or after (writes) the block's nest."""
        deps = self.state.dependences(scope.key)
        writers = [w for w in deps.writers.get(old, []) if w.key is not entry.key]
        others = writers if side == "read" else deps.readers.get(old, [])
        top = _top(self.state, entry, scope)
        for other in others:
            if other.key is not entry.key and _top(self.state, other, scope) is top:
                raise ScheduleError(
                    f"{other.label} is in the same nest as {entry.label}",
                    nodes=[other.stmt, entry.stmt],
                    hint="reindex before compute_at",
                )
        if side == "write" and writers:
            raise ScheduleError(
                f"{old.name} is written by {writers[0].label} too", nodes=[entry.stmt]
            )
        parts: list[Stmt] = []
        for stmt in stmt_list(scope.stmt.body):
            inside = any(n is entry.stmt for n in iter_nodes(stmt, SBlock))
            changed = replace_stmts(stmt, {id(entry.stmt): new}) if inside else stmt
            assert changed is not None
            order = [nest, changed] if side == "read" else [changed, nest]
            parts.extend(order if inside else [changed])
        return SeqStmt(parts)


def _top(state: Any, entry: Entry, scope: Entry) -> Any:
    while entry.parent is not scope.key:
        entry = state.entry(entry.parent)
    return entry.key


def _copy(
    old: Var, copy: Var, used: list[IterVar], indices: list[Expr], side: str
) -> tuple[Stmt, SBlock]:
    builder = NestBuilder((), keep_unit=True)
    mapping: dict[Var, Expr] = {}
    iter_vars: list[IterVar] = []
    values: list[Expr] = []
    for place, v in enumerate(used):
        assert v.dom is not None
        new = IterVar(
            Range.from_min_extent(v.dom.min, v.dom.extent),
            Var(f"v{place}", v.var.ty),
            IterType.DATA_PAR,
        )
        mapping[v.var] = new.var
        iter_vars.append(new)
        values.append(builder.bind(new, None))
    at = [v.var for v in iter_vars]
    outer = [substitute(i, mapping) for i in indices]
    source, target = (old, copy) if side == "read" else (copy, old)
    source_at, target_at = (outer, at) if side == "read" else (at, outer)
    block = SBlock(
        tuple(iter_vars),
        (BufferRegion.from_point(source, source_at),),
        (BufferRegion.from_point(target, target_at),),
        f"{copy.name}_reindex" if side == "read" else copy.name,
        BufferStore(target, BufferLoad(source, source_at), target_at),
    )
    return builder.build(SBlockRealize(tuple(values), True, block)), block
