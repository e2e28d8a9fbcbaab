"""rfactor: partial reductions that can run at the same time, combined afterwards.

for i, k0, k1: C[i] += A[i, k0 * 8 + k1]       rfactor(k1, 0)
    →   for i, k0, k1: C_rf[k1, i] += A[i, k0 * 8 + k1]      (block C_rf, k1 is data-parallel)
        for i, k1: C[i] += C_rf[k1, i]                       (block C)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from workbench.core.structural import structural_equal
from workbench.core.traverse import substitute
from workbench.ir.expr import Expr, FloatImm, IntImm, Range, Var
from workbench.s_tir.analysis.access import get_sblock_read_write_region
from workbench.s_tir.analysis.blocks import (
    REDUCTION,
    SPATIAL,
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
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV
from workbench.s_tir.schedule.state import replace_stmts
from workbench.tirx.buffer import decl_buffer
from workbench.tirx.expr import Add, And, BufferLoad, IterVar, Max, Min, Mul, Or
from workbench.tirx.op import max_value, min_value
from workbench.tirx.stmt import (
    BufferStore,
    For,
    ForKind,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    stmt_list,
)

#: Commutative, associative operators with what may be their identity element.
_IDENTITY: dict[type, Callable[[str], list[Any]]] = {
    Add: lambda dtype: [_number(dtype, 0)],
    Mul: lambda dtype: [_number(dtype, 1)],
    Max: lambda dtype: [min_value(dtype), *_infinite(dtype, "-inf")],
    Min: lambda dtype: [max_value(dtype), *_infinite(dtype, "inf")],
    And: lambda dtype: [IntImm("bool", 1)],
    Or: lambda dtype: [IntImm("bool", 0)],
}


def _infinite(dtype: str, text: str) -> list[Expr]:
    return [FloatImm(dtype, float(text))] if "float" in dtype else []


def _number(dtype: str, value: int) -> Expr:
    return FloatImm(dtype, value) if "float" in dtype else IntImm(dtype, value)


class Combination:
    """The reduction `target[at] = combine(target[at], value)` of a block."""

    def __init__(self, entry: Entry) -> None:
        block: SBlock = entry.stmt
        store, init = block.body, block.init
        if not isinstance(store, BufferStore) or not isinstance(init, BufferStore):
            raise ScheduleError(f"{entry.label} reduces several values at once", nodes=[block])
        value = store.value
        kind = type(value)
        if kind not in _IDENTITY:
            raise ScheduleError(
                f"{entry.label} combines by {kind.__name__}, which is not known to be commutative "
                f"and associative",
                nodes=[block],
            )
        own = BufferLoad(store.buffer, store.indices)
        left, right = value.a, value.b  # type: ignore[attr-defined]
        if structural_equal(left, own):
            self.value = right
        elif structural_equal(right, own):
            self.value = left
        else:
            raise ScheduleError(
                f"{entry.label} does not combine its output with a new value", nodes=[block]
            )
        if not any(structural_equal(init.value, x) for x in _IDENTITY[kind](store.value.dtype)):
            raise ScheduleError(
                f"{entry.label} starts with {init.value}, not with the identity of its reduction",
                nodes=[block],
            )
        self.kind: Any = kind
        self.store = store
        self.init = init.value


def _moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    if entry.stmt.loop_var is not None and any(
        b.stmt.init is not None for b in sch.state.blocks_below(entry.key)
    ):
        yield Move({"loop": rv, "factor_axis": 0}, "partial reductions, combined afterwards")


class RFactorPrimitives(ScheduleBase):
    """rfactor."""

    @primitive("RFactor", attrs=("factor_axis",), moves=_moves)
    def rfactor(self, loop: LoopRV, factor_axis: int) -> SBlockRV:
        """Makes a loop of a reduction data-parallel: its iterations accumulate separately, and a
        second block combines them. Returns the block of the partial results.

        Parameters
        ----------
        factor_axis : the place of the new dimension in the buffer of partial results; negative
            places count from the end.
        """
        target = self.entry_of(loop)
        entry = self._only_reduction(target)
        combination = Combination(entry)
        ndim = len(combination.store.indices)
        if not -ndim - 1 <= factor_axis <= ndim:
            raise ScheduleError(
                f"factor_axis: expected a place among {ndim + 1} dimensions, found {factor_axis}",
                nodes=[entry.stmt],
            )
        place = factor_axis + ndim + 1 if factor_axis < 0 else factor_axis
        loops = self.state.loops_above(entry.key)
        self._check_loops(entry, target, loops)
        partial, combined = _blocks(entry, target, loops, combination, place)
        return self._store(entry, loops, partial, combined)

    def _only_reduction(self, target: Entry) -> Entry:
        below = self.state.blocks_below(target.key)
        if len(below) != 1:
            raise ScheduleError(
                f"{target.label} contains {len(below)} blocks; rfactor needs exactly one",
                nodes=[target.stmt, *(b.stmt for b in below)],
            )
        reason = reduction_reason(self.state, below[0])
        if reason:
            raise ScheduleError(
                f"{below[0].label} is no reduction block: {reason}", nodes=[below[0].stmt]
            )
        return below[0]

    def _check_loops(self, entry: Entry, target: Entry, loops: Sequence[Entry]) -> None:
        reduces, spatial = _driven(entry)
        var = id(target.stmt.loop_var)
        if var not in reduces or var in spatial:
            raise ScheduleError(
                f"{target.label} does not drive only reduction variables of {entry.label}",
                nodes=[target.stmt, entry.stmt],
                hint="choose a loop of the reduction",
            )
        for loop in loops:
            both = id(loop.stmt.loop_var) in reduces & spatial
            if both:
                raise ScheduleError(
                    f"{loop.label} drives reduction and data-parallel variables",
                    nodes=[loop.stmt],
                )
        zero = {
            e.stmt.loop_var: IntImm(e.stmt.loop_var.dtype, 0)
            for e in loops
            if id(e.stmt.loop_var) in reduces and e.key is not target.key
        }
        analyzer = analyzer_for(loops)
        for term in conjuncts(entry.realize.predicate):
            if vars_of(term) & reduces and not analyzer.can_prove(substitute(term, zero)):
                raise ScheduleError(
                    f"some iterations of {target.label} have no element: {term}",
                    nodes=[target.stmt],
                    hint="split the loop by a factor that divides its extent",
                )
        scope = self.state.scope(entry.key)
        outer = loops[0]
        deps = self.state.dependences(scope.key)
        for key in deps.consumers(entry.key):
            if self.state.is_below(key, outer.key):
                raise ScheduleError(
                    f"{self.state.entry(key).label} uses the result inside {outer.label}",
                    nodes=[outer.stmt, self.state.entry(key).stmt],
                    hint="rfactor before reverse_compute_at",
                )

    def _store(
        self, entry: Entry, loops: Sequence[Entry], partial: SBlockRealize, combined: Stmt
    ) -> SBlockRV:
        scope = self.state.scope(entry.key)
        outer = loops[0].stmt
        nest = replace_stmts(outer, {id(entry.realize): partial})
        assert nest is not None
        body = _after(scope.stmt.body, outer, nest, combined)
        buffer = partial.block.writes[0].buffer
        new = scope.stmt.replace(body=body, alloc_buffers=(*scope.stmt.alloc_buffers, buffer))
        combining = _block_of(combined)
        self.state.replace(scope.key, new, {entry.stmt: combining})
        found = self.state.get_sref(partial.block)
        assert found is not None
        return self.new_block(found.key)


def _driven(entry: Entry) -> tuple[set[int], set[int]]:
    """Loop variables that drive reduction variables, and those that drive the others."""
    reduces: set[int] = set()
    spatial: set[int] = set()
    for v, value in zip(entry.stmt.iter_vars, entry.realize.iter_values, strict=True):
        (reduces if v.iter_type == REDUCTION else spatial).update(vars_of(value))
    return reduces, spatial


def _blocks(
    entry: Entry, target: Entry, loops: Sequence[Entry], c: Combination, place: int
) -> tuple[SBlockRealize, Stmt]:
    """The block of partial results, and the nest that combines them."""
    _, spatial = _driven(entry)
    ty = target.stmt.loop_var.ty
    extent = target.stmt.extent
    factor = IterVar(Range(extent), Var(f"v{target.name}", ty), SPATIAL)
    iter_vars: list[IterVar] = [factor]
    values: list[Expr] = [target.stmt.loop_var]
    mapping: dict[Var, Expr] = {target.stmt.loop_var: factor.var}
    renamed: dict[Var, Expr] = {}
    for v, value in zip(entry.stmt.iter_vars, entry.realize.iter_values, strict=True):
        if v.iter_type != REDUCTION:
            fresh = v.replace(var=Var(v.var.name, v.var.ty))
            renamed[v.var] = fresh.var
            iter_vars.append(fresh)
            values.append(value)
    for v, value in zip(entry.stmt.iter_vars, entry.realize.iter_values, strict=True):
        if v.iter_type != REDUCTION:
            continue
        if id(target.stmt.loop_var) not in vars_of(value):
            same = v.replace(var=Var(v.var.name, v.var.ty))
            renamed[v.var] = same.var
            iter_vars.append(same)
            values.append(value)
            continue
        for loop in loops:
            var = loop.stmt.loop_var
            if id(var) in vars_of(value) and var not in mapping:
                own = IterVar(Range(loop.stmt.extent), Var(f"v{var.name}", var.ty), REDUCTION)
                mapping[var] = own.var
                iter_vars.append(own)
                values.append(var)
        renamed[v.var] = substitute(value, mapping)
    shape = list(c.store.buffer.shape)
    shape.insert(place, extent)
    name = f"{c.store.buffer.name}_rf"
    buffer = decl_buffer(shape, c.store.buffer.dtype, name)
    at = [substitute(i, renamed) for i in c.store.indices]
    at.insert(place, factor.var)
    own_load = BufferLoad(buffer, at)
    block = _with_regions(
        SBlock(
            tuple(iter_vars),
            (),
            (),
            f"{entry.name}_rf",
            BufferStore(buffer, c.kind(own_load, substitute(c.value, renamed)), at),
            BufferStore(buffer, c.init, at),
            annotations=entry.stmt.annotations,
            span=entry.stmt.span,
        )
    )
    partial = SBlockRealize(tuple(values), entry.realize.predicate, block)
    return partial, _combining(entry, target, loops, c, buffer, place, spatial)


def _combining(
    entry: Entry,
    target: Entry,
    loops: Sequence[Entry],
    c: Combination,
    buffer: Var,
    place: int,
    spatial: set[int],
) -> Stmt:
    """The nest that combines the partial results."""
    block: SBlock = entry.stmt
    reduces, _ = _driven(entry)
    terms = [t for t in conjuncts(entry.realize.predicate) if not vars_of(t) & reduces]
    needed = spatial | vars_of(tuple(terms))
    kept = [e for e in loops if id(e.stmt.loop_var) in needed or e.key is target.key]
    kept.sort(key=lambda e: e.key is target.key)
    copies = {e.stmt.loop_var: Var(e.name, e.stmt.loop_var.ty) for e in kept}
    ty = target.stmt.loop_var.ty
    factor = IterVar(Range(target.stmt.extent), Var(f"v{target.name}", ty), REDUCTION)
    iter_vars: list[IterVar] = [factor]
    values: list[Expr] = [copies[target.stmt.loop_var]]
    renamed: dict[Var, Expr] = {}
    for v, value in zip(block.iter_vars, entry.realize.iter_values, strict=True):
        if v.iter_type != REDUCTION:
            fresh = v.replace(var=Var(v.var.name, v.var.ty))
            renamed[v.var] = fresh.var
            iter_vars.append(fresh)
            values.append(substitute(value, copies))
    at = [substitute(i, renamed) for i in c.store.indices]
    source = list(at)
    source.insert(place, factor.var)
    value = c.kind(BufferLoad(c.store.buffer, at), BufferLoad(buffer, source))
    new = _with_regions(
        SBlock(
            tuple(iter_vars),
            (),
            (),
            entry.name,
            BufferStore(c.store.buffer, value, at),
            BufferStore(c.store.buffer, c.init, at),
            annotations=block.annotations,
            span=block.span,
        )
    )
    terms = [substitute(t, copies) for t in terms]
    stmt: Stmt = SBlockRealize(tuple(values), conjunction(terms), new)
    for e in reversed(kept):
        var = copies[e.stmt.loop_var]
        extent = substitute(e.stmt.extent, copies)
        stmt = For(var, e.stmt.min, extent, ForKind.SERIAL, stmt)
    return stmt


def _with_regions(block: SBlock) -> SBlock:
    reads, writes = get_sblock_read_write_region(block)
    return block.replace(reads=tuple(reads), writes=tuple(writes))


def _block_of(stmt: Any) -> SBlock:
    while isinstance(stmt, For):
        stmt = stmt.body
    return stmt.block


def _after(body: Stmt, old: Stmt, new: Stmt, added: Stmt) -> Stmt:
    """A body with `old` replaced by `new` followed by `added`."""
    if any(s is old for s in stmt_list(body)):
        parts: list[Stmt] = []
        for s in stmt_list(body):
            parts.extend([new, added] if s is old else [s])
        return SeqStmt(parts)
    found = replace_stmts(body, {id(old): SeqStmt([new, added])})
    assert found is not None
    return found
