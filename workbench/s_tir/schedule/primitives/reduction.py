"""Reductions: decompose_reduction, rfactor.

for k:                                    C[i] = 0           (block C_init)
    C[i] = (k == 0 ? 0 : C[i]) + A[i, k]  →  for k: C[i] = C[i] + A[i, k]   (block C_update)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workbench.core.traverse import substitute
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.s_tir.analysis.access import get_sblock_read_write_region
from workbench.s_tir.analysis.blocks import (
    REDUCTION,
    analyzer_for,
    conjunction,
    conjuncts,
    reduction_reason,
    vars_of,
)
from workbench.s_tir.sblock_scope import Entry
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.moves import Move
from workbench.s_tir.schedule.primitives.body_rewrite import fresh_iter_vars
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV
from workbench.s_tir.schedule.state import replace_stmts
from workbench.tirx.stmt import SBlock, SBlockRealize, SeqStmt, Stmt


def _decompose_moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    for loop in sch.state.loops_above(entry.key) if entry.parent is not None else ():
        yield Move({"block": rv, "loop": sch.new_loop(loop.key)}, f"init before loop {loop.name!r}")


def _driving(entry: Entry) -> set[int]:
    """The loop variables that drive reduction variables."""
    found: set[int] = set()
    for v, value in zip(entry.stmt.iter_vars, entry.realize.iter_values, strict=True):
        if v.iter_type == REDUCTION:
            found |= vars_of(value)
    return found


class ReductionPrimitives(ScheduleBase):
    """decompose_reduction."""

    @primitive("DecomposeReduction", moves=_decompose_moves)
    def decompose_reduction(self, block: SBlockRV | str, loop: LoopRV) -> SBlockRV:
        """Makes the init of a reduction a block of its own in front of a loop.

        The loop must be around the block and not inside a loop that drives a reduction variable.
        Returns the init block; the given block becomes the update.
        """
        assert isinstance(block, SBlockRV)
        entry, target = self.entry_of(block), self.entry_of(loop)
        reason = reduction_reason(self.state, entry)
        if reason:
            raise ScheduleError(
                f"{entry.label} is no reduction block: {reason}", nodes=[entry.stmt]
            )
        if not self.state.is_below(entry.key, target.key):
            raise ScheduleError(
                f"{target.label} is not around {entry.label}", nodes=[entry.stmt, target.stmt]
            )
        loops = self.state.loops_above(entry.key)
        depth = next((i for i, e in enumerate(loops) if e.key is target.key), None)
        if depth is None:
            raise ScheduleError(
                f"{target.label} is outside the scope of {entry.label}",
                nodes=[entry.stmt, target.stmt],
            )
        self._check_above(entry, loops[:depth], target)
        self._check_repeated(entry, loops[depth:])
        init_stmt, init = self._init_nest(entry, loops[depth:])
        update = self._update(entry.stmt)
        realize = entry.realize.replace(block=update)
        new_loop = replace_stmts(target.stmt, {id(entry.realize): realize})
        assert new_loop is not None
        self.state.replace(target.key, SeqStmt([init_stmt, new_loop]), {entry.stmt: update})
        found = self.state.get_sref(init)
        assert found is not None
        return self.new_block(found.key)

    def _check_repeated(self, entry: Entry, below: Sequence[Entry]) -> None:
        """After an init outside of it, a loop that repeats the block would accumulate again."""
        used = vars_of(entry.realize.iter_values)
        for loop in below:
            extent = loop.stmt.extent
            if id(loop.stmt.loop_var) in used:
                continue
            if not (isinstance(extent, IntImm) and extent.value == 1):
                raise ScheduleError(
                    f"{loop.label} repeats {entry.label} as a whole: with one init in front of it,"
                    " the same elements would be accumulated again and again",
                    nodes=[loop.stmt, entry.stmt],
                    hint="choose a loop inside of it",
                )

    def _check_above(self, entry: Entry, above: Sequence[Entry], target: Entry) -> None:
        driving = _driving(entry)
        for loop in above:
            if id(loop.stmt.loop_var) in driving:
                raise ScheduleError(
                    f"{loop.label} around {target.label} drives a reduction variable of "
                    f"{entry.label}: the init would run again in every iteration of it",
                    nodes=[loop.stmt, target.stmt],
                    hint=f"choose {loop.label} or one outside it",
                )

    def _init_nest(self, entry: Entry, loops: Sequence[Entry]) -> tuple[Stmt, SBlock]:
        """The init block in copies of the loops that drive its variables."""
        block: SBlock = entry.stmt
        kept = [v for v in block.iter_vars if v.iter_type != REDUCTION]
        values = [
            value
            for v, value in zip(block.iter_vars, entry.realize.iter_values, strict=True)
            if v.iter_type != REDUCTION
        ]
        iter_vars, mapping = fresh_iter_vars(kept)
        assert block.init is not None, "a reduction block has an init"
        init = SBlock(
            tuple(iter_vars),
            (),
            (),
            f"{block.name_hint}_init",
            substitute(block.init, mapping),
            annotations=block.annotations,
            span=block.span,
        )
        reads, writes = get_sblock_read_write_region(init)
        init = init.replace(reads=tuple(reads), writes=tuple(writes))
        terms = conjuncts(entry.realize.predicate)
        needed = vars_of(tuple(values)) | (vars_of(tuple(terms)) - _driving(entry))
        renamed: dict[Var, Expr] = {}
        copies: list[tuple[Any, Var]] = []
        for loop in loops:
            var = loop.stmt.loop_var
            if id(var) in needed:
                new = Var(f"{var.name}_init", var.ty)
                renamed[var] = new
                copies.append((loop.stmt, new))
            else:
                # The init belongs to the first iteration of the reduction.
                renamed[var] = loop.stmt.min
        analyzer = analyzer_for(self.state.loops_above(entry.key))
        for old, new in copies:
            analyzer.bind(new, Range.from_min_extent(old.min, old.extent))
        terms = [substitute(t, renamed) for t in terms]
        terms = [t for t in terms if not analyzer.can_prove(t)]
        stmt: Stmt = SBlockRealize(
            tuple(substitute(v, renamed) for v in values),
            conjunction(terms),
            init,
            span=entry.realize.span,
        )
        for old, var in reversed(copies):
            stmt = old.replace(loop_var=var, extent=substitute(old.extent, renamed), body=stmt)
        return stmt, init

    def _update(self, block: SBlock) -> SBlock:
        update = block.replace(init=None, name_hint=f"{block.name_hint}_update")
        reads, writes = get_sblock_read_write_region(update)
        return update.replace(reads=tuple(reads), writes=tuple(writes))
