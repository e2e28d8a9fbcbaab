"""Reductions over rows: softmax, normalisation, sums and means, poolings.

All blocks that share their leading variables run in one parallel loop over them; a reduction along
contiguous memory keeps one partial result per vector lane.
"""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import IntImm
from workbench.s_tir.analysis.blocks import (
    REDUCTION,
    SPATIAL,
    is_trivial_binding,
    vars_of,
)
from workbench.s_tir.dlight.access import Hints, accesses_of, total
from workbench.s_tir.dlight.base import ScheduleRule
from workbench.s_tir.dlight.cpu.elementwise import _vectorize, schedule_injective
from workbench.s_tir.dlight.cpu.machine import PARALLEL_CYCLES, Cpu, is_cpu
from workbench.s_tir.dlight.kernel import (
    attempt,
    inline_injective,
    is_injective,
    is_output,
    is_reduction,
    root_blocks,
)
from workbench.s_tir.schedule import LoopRV, SBlockRV, Schedule
from workbench.target import Target
from workbench.tirx.function import PrimFunc


class Reduction(ScheduleRule):
    """Functions with reductions whose outputs share their leading variables.

    `rows_only` leaves single reductions that do not run along contiguous memory to other rules.
    """

    def __init__(self, rows_only: bool = False) -> None:
        self.rows_only = rows_only

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Any:
        """The row-wise schedule, or None."""
        if not is_cpu(target):
            return None
        sch = Schedule(func, error_render_level="none")
        blocks = root_blocks(sch)
        reductions = [b for b in blocks if is_reduction(sch, b)]
        if not reductions or not all(is_reduction(sch, b) or is_injective(sch, b) for b in blocks):
            return None
        if self.rows_only and len(reductions) == 1 and _prefers_columns(sch, reductions[0]):
            return None
        if not all(is_trivial_binding(sch.state, sch.entry_of(b)) for b in blocks):
            return None
        inline_injective(sch, into_reductions=True)
        cpu = Cpu(target)
        shared = _shared_rows(sch)
        partial = [_lanes(sch, b, cpu) for b in reductions]
        _rows_together(sch, shared, cpu)
        for block in partial:
            if block is not None:
                _vector_lanes(sch, block)
        for block in root_blocks(sch):
            _finish(sch, block, cpu)
        return sch


def _prefers_columns(sch: Schedule, block: SBlockRV) -> bool:
    """Whether a data-parallel variable gives better vectors than the reduction's own."""
    entry = sch.entry_of(block)
    reads, store = accesses_of(entry.stmt, Hints())
    if store is None or any(a.steps is None for a in reads):
        return False
    reduce = [v for v in entry.stmt.iter_vars if v.iter_type == REDUCTION]
    if not any(a.step(reduce[-1].var) == 1 for a in reads):
        return True
    length = total([Hints().of(v.dom.extent) for v in reduce])
    return length < 16


def _shared_rows(sch: Schedule) -> int:
    """How many leading data-parallel variables all blocks have in common."""
    counts: list[int] = []
    extents: list[list[int]] = []
    hints = Hints()
    for block in root_blocks(sch):
        entry = sch.entry_of(block)
        leading: list[int] = []
        for v in entry.stmt.iter_vars:
            if v.iter_type != SPATIAL:
                break
            leading.append(hints.of(v.dom.extent))
        extents.append(leading)
        counts.append(len(leading))
    count = min(counts)
    while count and any(e[:count] != extents[0][:count] for e in extents):
        count -= 1
    return count


def _lanes(sch: Schedule, block: SBlockRV, cpu: Cpu) -> SBlockRV | None:
    """Splits a reduction along contiguous memory into one partial result per lane."""
    entry = sch.entry_of(block)
    reads, store = accesses_of(entry.stmt, Hints())
    if store is None:
        return None
    loops = sch.get_loops(block)
    order = [i for i, v in enumerate(entry.stmt.iter_vars) if v.iter_type == REDUCTION]
    last = order[-1]
    var = entry.stmt.iter_vars[last]
    if not any(a.step(var.var) == 1 for a in reads) or not isinstance(var.dom.extent, IntImm):
        return None
    group = [last]
    for i in reversed(order[:-1]):
        outer, inner = entry.stmt.iter_vars[i], entry.stmt.iter_vars[group[0]]
        if i + 1 != group[0] or not isinstance(outer.dom.extent, IntImm):
            break
        if any(a.step(outer.var) != inner.dom.extent.value * a.step(inner.var) for a in reads):
            break
        group.insert(0, i)
    length = total([entry.stmt.iter_vars[i].dom.extent.value for i in group])
    lanes = cpu.lanes(store.buffer.ty.dtype)
    count = _partial_results(length, lanes)
    if count == 0:
        return None
    loop = sch.fuse(*[loops[i] for i in group]) if len(group) > 1 else loops[last]
    _, lane = sch.split(loop, [None, count])
    found: list[SBlockRV] = []
    if not attempt(lambda: found.append(sch.rfactor(lane, -1))):
        return None
    return found[0]


def _partial_results(length: int, lanes: int) -> int:
    """How many partial results: several vectors for long rows, to hide the latency of additions."""
    for n in (4 * lanes, 2 * lanes, lanes):
        enough = length >= (4 if n > lanes else 2) * n
        if enough and (length % n == 0 or length >= 16 * n):
            return n
    return next((n for n in (lanes // 2, lanes // 4) if n >= 4 and length % n == 0), 0)


def _vector_lanes(sch: Schedule, block: SBlockRV) -> None:
    """The loop over lanes innermost, as a vector, with sums that stay in registers."""
    entry = sch.entry_of(block)
    lane = entry.stmt.iter_vars[0].var
    value = dict(zip((v.var for v in entry.stmt.iter_vars), entry.realize.iter_values, strict=True))
    loops = sch.get_loops(block)
    own = [x for x in loops if sch.get(x).loop_var is value[lane]]
    if not own:
        return
    place = next(i for i, x in enumerate(loops) if x is own[0])
    after = loops[place + 1 :]
    if after and not attempt(lambda: sch.reorder(*after, own[0])):
        return
    attempt(lambda: sch.set_scope(block, 0, "local"))
    if attempt(lambda: sch.vectorize(own[0])):
        inner = [x for x in loops if x is not own[0]]
        first = _first_reduction_loop(sch, block, inner)
        if first is not None:
            attempt(lambda: sch.decompose_reduction(block, first))


def _first_reduction_loop(sch: Schedule, block: SBlockRV, loops: list[LoopRV]) -> LoopRV | None:
    """The outermost loop that drives a reduction variable."""
    entry = sch.entry_of(block)
    driving = vars_of(
        tuple(
            value
            for v, value in zip(entry.stmt.iter_vars, entry.realize.iter_values, strict=True)
            if v.iter_type == REDUCTION
        )
    )
    return next((x for x in loops if id(sch.get(x).loop_var) in driving), None)


def _rows_together(sch: Schedule, shared: int, cpu: Cpu) -> None:
    """All blocks inside one parallel loop over the shared leading variables."""
    blocks = root_blocks(sch)
    outputs = [b for b in blocks if is_output(sch, b)]
    if shared == 0 or len(outputs) != 1:
        return
    output = outputs[0]
    loops = sch.get_loops(output)[:shared]
    row = sch.fuse(*loops) if len(loops) > 1 else loops[0]
    for block in reversed(blocks):
        if block is not output:
            attempt(lambda b=block: sch.compute_at(b, row))
    rows = Hints().of(sch.get(row).extent)
    if _work(sch) >= PARALLEL_CYCLES and rows > 1:
        attempt(lambda: sch.parallel(row))


def _work(sch: Schedule) -> int:
    hints = Hints()
    most = 0
    for block in sch.get_child_blocks(sch.get_sblock("root")):
        entry = sch.entry_of(block)
        most = max(most, total([hints.of(v.dom.extent) for v in entry.stmt.iter_vars]))
    return most


def _finish(sch: Schedule, block: SBlockRV, cpu: Cpu) -> None:
    """Blocks outside the common loop get schedules of their own; inner loops become vectors."""
    entry = sch.entry_of(block)
    if not is_injective(sch, block):
        if not any(int(e.stmt.kind) == 1 for e in sch.state.loops_above(entry.key)):
            loops = sch.get_loops(block)
            if _work(sch) >= PARALLEL_CYCLES and loops:
                attempt(lambda: sch.parallel(loops[0]))
        return
    loops = sch.get_loops(block)
    alone = all(len(e.children) == 1 for e in sch.state.loops_above(entry.key))
    if alone and all(int(sch.get(x).kind) == 0 for x in loops):
        if is_trivial_binding(sch.state, entry):
            schedule_injective(sch, block, cpu)
        return
    inner: LoopRV | None = loops[-1] if loops else None
    if inner is not None and int(sch.get(inner).kind) == 0:
        store = entry.stmt.body
        _vectorize(sch, inner, cpu.lanes(store.buffer.ty.dtype))
