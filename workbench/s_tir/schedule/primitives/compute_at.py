"""Where a block is computed: compute_at (producers), reverse_compute_at (consumers).

for i, j: B[i, j] = A[i, j] * 2       compute_at(B, i)     for i:
for i, j: C[i, j] = B[i, j] + 1              →                 for ax0: B[i, ax0] = A[i, ax0] * 2
                                                               for j: C[i, j] = B[i, j] + 1
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.arith import Analyzer
from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.s_tir.analysis.blocks import (
    REDUCTION,
    analyzer_for,
    block_kind_reason,
    conjunction,
    foreign_predicate,
    is_output_block,
    loops_around,
    pipeline_reason,
    swept_regions,
    vars_of,
)
from workbench.s_tir.analysis.regions import at_most, union_region
from workbench.s_tir.sblock_scope import DepKind, Entry, SBlockScope
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.moves import Move
from workbench.s_tir.schedule.primitives.exact_region import is_exact_box
from workbench.s_tir.schedule.primitives.nest import NestBuilder
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV
from workbench.s_tir.schedule.state import ScheduleState, replace_stmts
from workbench.tirx.stmt import ForKind, SBlock, SBlockRealize, SeqStmt, Stmt, stmt_list

Required = dict[int, Range]


def _same_range(a: Range, b: Range) -> bool:
    return structural_equal(a.min, b.min) and structural_equal(a.extent, b.extent)


def variable_ranges(
    pairs: Sequence[tuple[Sequence[Range], Sequence[Range]]], block: SBlock
) -> Required:
    """What ranges of block variables give a region.

    `pairs` are (the block's region, in terms of its variables; the wanted region). A dimension that
    is one variable fixes that variable's range; contradicting wishes and other dimensions fix
    nothing.
    """
    own = {id(v.var) for v in block.iter_vars}
    found: Required = {}
    free: set[int] = set()
    for region, wanted in pairs:
        here: Required = {}
        for r, want in zip(region, wanted, strict=True):
            single = isinstance(r.extent, IntImm) and r.extent.value == 1
            if single and isinstance(r.min, Var) and id(r.min) in own:
                old = here.get(id(r.min))
                if old is not None and not _same_range(old, want):
                    free.add(id(r.min))
                here[id(r.min)] = want
        for key in own - set(here):
            if any(key in vars_of(r.min) for r in region):
                free.add(key)
        for key, want in here.items():
            old = found.get(key)
            if old is not None and not _same_range(old, want):
                free.add(key)
            found[key] = want
        for key in set(found) - set(here):
            free.add(key)
    return {k: r for k, r in found.items() if k not in free}


def rebuilt_nest(
    state: ScheduleState, entry: Entry, loop: Entry, required: Required, keep_unit: bool
) -> tuple[Stmt, SBlockRealize]:
    """A block in new loops below `loop` that cover the required ranges."""
    builder = NestBuilder([*loops_around(state, loop.key), loop], keep_unit)
    block: SBlock = entry.stmt
    values = [builder.bind(v, required.get(id(v.var))) for v in block.iter_vars]
    realize = entry.realize.replace(iter_values=tuple(values), predicate=conjunction(builder.terms))
    return builder.build(realize), realize


def blocks_in(stmt: Stmt) -> set[int]:
    """The identities of the blocks in a statement."""
    return {id(b) for b in iter_nodes(stmt, SBlock)}


def find_position(loop: Entry, before: Iterable[Entry], after: Iterable[Entry], index: int) -> int:
    """The place in a loop's body after `before` and in front of `after`.

    index -1: the last such place, -2: the first, others: that place, which must be between them.
    """
    statements = stmt_list(loop.stmt.body)
    inside = [blocks_in(s) for s in statements]
    first, last = 0, len(statements)
    for entry in before:
        for place, found in enumerate(inside):
            if id(entry.stmt) in found:
                first = max(first, place + 1)
    for entry in after:
        for place, found in enumerate(inside):
            if id(entry.stmt) in found:
                last = min(last, place)
    if first > last:
        raise ScheduleError(
            f"inside {loop.label} there is no place after its producers and before its consumers",
            nodes=[loop.stmt],
            hint="choose a loop nearer to the consumers",
        )
    if index == -1:
        return last
    if index == -2:
        return first
    if not first <= index <= last:
        raise ScheduleError(
            f"index: expected a place between {first} and {last} in the body of {loop.label}, "
            f"found {index}",
            nodes=[loop.stmt],
        )
    return index


def _compute_at_moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    yield from _location_moves(sch, entry, rv, "consumers")


def _reverse_moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    yield from _location_moves(sch, entry, rv, "producers")


def _location_moves(sch: Any, entry: Entry, rv: Any, side: str) -> Iterable[Move]:
    state: ScheduleState = sch.state
    if entry.parent is None:
        return
    deps = state.dependences(state.scope(entry.key).key)
    others = getattr(deps, side)(entry.key)
    if not others:
        return
    other = state.entry(others[0 if side == "consumers" else -1])
    for loop in state.loops_above(other.key)[:6]:
        if not state.is_below(entry.key, loop.key):
            target = sch.new_loop(loop.key)
            yield Move({"block": rv, "loop": target}, f"at loop {loop.name!r} of {other.name}")


class ComputeAtPrimitives(ScheduleBase):
    """compute_at, reverse_compute_at."""

    @primitive("ComputeAt", attrs=("preserve_unit_loops", "index"), moves=_compute_at_moves)
    def compute_at(
        self,
        block: SBlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Computes a producer inside a loop of its consumers, only what that iteration needs.

        Parameters
        ----------
        preserve_unit_loops : keep loops of one iteration.
        index : place in the loop's body; -1 the last possible, -2 the first.

        Legal if the block is complete or a reduction, writes no output of its scope, and all its
        consumers are inside the loop.
        """
        assert isinstance(block, SBlockRV)
        entry, target = self.entry_of(block), self.entry_of(loop)
        scope = self._check_move(entry, target)
        deps = self.state.dependences(scope.key)
        if is_output_block(self.state, entry):
            raise ScheduleError(
                f"{entry.label} writes an output, so all of it must be computed",
                nodes=[entry.stmt],
                hint="reverse_compute_at moves a block to its producers",
            )
        consumers = [self.state.entry(k) for k in deps.consumers(entry.key)]
        self._check_inside(entry, target, consumers, "consumer")
        producers = [self.state.entry(k) for k in deps.producers(entry.key)]
        place = find_position(target, producers, consumers, index)
        required = self._required(entry, target, consumers)
        self._move(entry, target, scope, required, place, preserve_unit_loops)

    @primitive("ReverseComputeAt", attrs=("preserve_unit_loops", "index"), moves=_reverse_moves)
    def reverse_compute_at(
        self,
        block: SBlockRV | str,
        loop: LoopRV,
        preserve_unit_loops: bool = False,
        index: int = -1,
    ) -> None:
        """Computes a consumer inside a loop of its producers, as soon as its input is there.

        Legal if the block is complete or a reduction and all its producers are inside the loop.
        The options are those of `compute_at`.
        """
        assert isinstance(block, SBlockRV)
        entry, target = self.entry_of(block), self.entry_of(loop)
        scope = self._check_move(entry, target)
        deps = self.state.dependences(scope.key)
        producers = [self.state.entry(k) for k in deps.producers(entry.key)]
        self._check_inside(entry, target, producers, "producer")
        consumers = [self.state.entry(k) for k in deps.consumers(entry.key)]
        place = find_position(target, producers, consumers, index)
        required = self._produced(entry, target, scope, producers)
        self._move(entry, target, scope, required, place, preserve_unit_loops)

    # Checks

    def _check_move(self, entry: Entry, target: Entry) -> Entry:
        state = self.state
        scope = state.scope(entry.key)
        if scope.key is not state.scope(target.key).key:
            raise ScheduleError(
                f"{entry.label} and {target.label} are not in the same block",
                nodes=[entry.stmt, target.stmt],
            )
        if state.is_below(entry.key, target.key):
            raise ScheduleError(
                f"{target.label} is around {entry.label} already",
                nodes=[entry.stmt, target.stmt],
                hint="choose a loop of another nest, or reorder",
            )
        reason = block_kind_reason(state, entry)
        if not reason:
            term = foreign_predicate(state, entry)
            reason = f"{entry.label} runs only where {term}" if term is not None else ""
        if not reason:
            reason = pipeline_reason(state, scope.key)
        if reason:
            raise ScheduleError(reason, nodes=[entry.stmt])
        self._check_no_overwriting(entry, state.dependences(scope.key))
        return scope

    def _check_no_overwriting(self, entry: Entry, deps: SBlockScope) -> None:
        for dep in [*deps.get_deps_by_dst(entry.key), *deps.get_deps_by_src(entry.key)]:
            if dep.kind is not DepKind.RAW:
                other = dep.src if dep.dst is entry.key else dep.dst
                raise ScheduleError(
                    f"{entry.label} and {self.state.entry(other).label} use the same buffer in "
                    "turn, so their order must stay",
                    nodes=[entry.stmt, self.state.entry(other).stmt],
                )

    def _check_inside(
        self, entry: Entry, target: Entry, others: Sequence[Entry], word: str
    ) -> None:
        if not others:
            raise ScheduleError(
                f"{entry.label} has no {word} in its scope", nodes=[entry.stmt, target.stmt]
            )
        outside = [e for e in others if not self.state.is_below(e.key, target.key)]
        if outside:
            names = ", ".join(e.label for e in outside)
            raise ScheduleError(
                f"not all {word}s of {entry.label} are inside {target.label}: {names}",
                nodes=[target.stmt, *(e.stmt for e in outside)],
                hint=f"bring the {word}s together first, or choose a loop around all of them",
            )

    # Ranges

    def _required(self, entry: Entry, target: Entry, consumers: Sequence[Entry]) -> Required:
        """Ranges of a producer's variables that the consumers in one iteration read."""
        loops = [*loops_around(self.state, target.key), target]
        pairs: list[tuple[Sequence[Range], Sequence[Range]]] = []
        for write in entry.stmt.writes:
            for consumer in consumers:
                reads = [r for r in consumer.stmt.reads if r.buffer is write.buffer]
                analyzer = analyzer_for([*loops, *self.state.loops_above(consumer.key)])
                for wanted in swept_regions(self.state, consumer, reads, target.key, analyzer):
                    pairs.append((write.region, wanted))
        merged = _merge(pairs, loops)
        return variable_ranges(merged, entry.stmt)

    def _produced(
        self, entry: Entry, target: Entry, scope: Entry, producers: Sequence[Entry]
    ) -> Required:
        """Ranges of a consumer's variables whose inputs one iteration produces."""
        loops = [*loops_around(self.state, target.key), target]
        pairs: list[tuple[Sequence[Range], Sequence[Range]]] = []
        totals: list[tuple[Sequence[Range], Sequence[Range]]] = []
        for producer in producers:
            analyzer = analyzer_for([*loops, *self.state.loops_above(producer.key)])
            for write in producer.stmt.writes:
                for read in entry.stmt.reads:
                    if read.buffer is not write.buffer:
                        continue
                    sweep = swept_regions
                    made = sweep(self.state, producer, [write], target.key, analyzer)[0]
                    total = sweep(self.state, producer, [write], scope.key, analyzer)[0]
                    if not is_exact_box(self.state, producer, made, target.key, analyzer):
                        raise ScheduleError(
                            f"one iteration of {target.label} writes a part of "
                            f"{write.buffer.name} that is no box: {entry.label} would read "
                            "elements that are not computed yet",
                            nodes=[target.stmt, producer.stmt],
                            hint="choose tiles that end where rows end, or a loop further out",
                        )
                    pairs.append((read.region, made))
                    totals.append((read.region, total))
        wanted = variable_ranges(pairs, entry.stmt)
        reach = variable_ranges(totals, entry.stmt)
        analyzer = analyzer_for(loops)
        found = {
            id(v.var): wanted[id(v.var)]
            for v in entry.stmt.iter_vars
            if id(v.var) in wanted and _reaches(reach.get(id(v.var)), v.dom, analyzer)
        }
        self._check_partial_reduction(entry, target, found)
        return found

    def _check_partial_reduction(self, entry: Entry, target: Entry, found: Required) -> None:
        """A reduction spread over outer loops must meet every element exactly once."""
        analyzer = analyzer_for([*loops_around(self.state, target.key), target])
        partial = [
            v
            for v in entry.stmt.iter_vars
            if v.iter_type == REDUCTION
            and id(v.var) in found
            and not _covers_domain(found[id(v.var)], v.dom, analyzer)
        ]
        if not partial:
            return
        summed: set[int] = set()
        for v in partial:
            summed |= vars_of(found[id(v.var)].min)
        for loop in [*self.state.loops_above(target.key), target]:
            together = loop.stmt.kind not in (ForKind.SERIAL, ForKind.UNROLLED)
            if together and id(loop.stmt.loop_var) in summed:
                raise ScheduleError(
                    f"{entry.label} would accumulate over {loop.label}, whose iterations run "
                    "together",
                    nodes=[entry.stmt, loop.stmt],
                    hint="move the block first, or keep the loop serial",
                )
        used: set[int] = set()
        for wanted in found.values():
            used |= vars_of(wanted.min)
        for loop in [*self.state.loops_above(target.key), target]:
            extent = loop.stmt.extent
            if id(loop.stmt.loop_var) not in used and not (
                isinstance(extent, IntImm) and extent.value == 1
            ):
                raise ScheduleError(
                    f"{entry.label} accumulates over {partial[0].var.name}, and {loop.label} would "
                    "repeat the same elements",
                    nodes=[entry.stmt, loop.stmt],
                    hint=f"choose a loop outside {loop.name!r}",
                )

    # The move

    def _move(
        self,
        entry: Entry,
        target: Entry,
        scope: Entry,
        required: Required,
        place: int,
        keep_unit: bool,
    ) -> None:
        stmt, _ = rebuilt_nest(self.state, entry, target, required, keep_unit)
        body = stmt_list(target.stmt.body)
        body.insert(place, stmt)
        new_loop = target.stmt.replace(body=SeqStmt(body) if len(body) > 1 else body[0])
        changes: Mapping[int, Stmt | None] = {
            id(target.stmt): new_loop,
            id(entry.realize): None,
        }
        new_body = replace_stmts(scope.stmt.body, changes)
        assert new_body is not None
        self.state.replace(scope.key, scope.stmt.replace(body=new_body))


def _merge(
    pairs: list[tuple[Sequence[Range], Sequence[Range]]], loops: Sequence[Entry]
) -> list[tuple[Sequence[Range], Sequence[Range]]]:
    """Wishes for the same region united into one."""
    analyzer = analyzer_for(loops)
    out: list[tuple[Sequence[Range], Sequence[Range]]] = []
    for region, wanted in pairs:
        for place, (other, old) in enumerate(out):
            if other is region:
                whole = [Range(_far(r, analyzer)) for r in region]
                united = union_region(old, wanted, analyzer, [w.extent for w in whole])
                out[place] = (region, united)
                break
        else:
            out.append((region, wanted))
    return out


def _far(r: Range, analyzer: Analyzer) -> Expr:
    """An extent no wish exceeds: incomparable wishes then mean the whole domain."""
    return IntImm(r.extent.dtype, (1 << 31) - 1)


def _reaches(total: Range | None, dom: Range, analyzer: Analyzer) -> bool:
    return total is not None and _covers_domain(total, dom, analyzer)


def _covers_domain(r: Range, dom: Range, analyzer: Analyzer) -> bool:
    return at_most(r.min, dom.min, analyzer) and at_most(
        dom.min + dom.extent, r.min + r.extent, analyzer
    )
