"""Element-wise functions: inlined into few blocks, parallel outside, vectors inside."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, IntImm, Var
from workbench.s_tir.dlight.access import Access, Hints, accesses_of
from workbench.s_tir.dlight.base import ScheduleRule
from workbench.s_tir.dlight.cpu.machine import PARALLEL_CYCLES, Cpu, is_cpu
from workbench.s_tir.dlight.kernel import (
    attempt,
    inline_injective,
    is_injective,
    root_blocks,
)
from workbench.s_tir.schedule import LoopRV, SBlockRV, Schedule
from workbench.target import Target
from workbench.tirx.expr import CmpOp
from workbench.tirx.function import PrimFunc


class Elementwise(ScheduleRule):
    """Functions of injective blocks only (element-wise, broadcasts, layout changes)."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Any:
        """Inlines, fuses, parallelises and vectorises."""
        if not is_cpu(target):
            return None
        sch = Schedule(func, error_render_level="none")
        if not all(is_injective(sch, b) for b in root_blocks(sch)):
            return None
        inline_injective(sch)
        cpu = Cpu(target)
        for block in root_blocks(sch):
            schedule_injective(sch, block, cpu)
        return sch


#: TVM's and our older name for the same rule.
Injective = Elementwise


def schedule_injective(sch: Schedule, block: SBlockRV, cpu: Cpu) -> None:
    """Parallel and vector loops for a block whose loops are its variables."""
    entry = sch.entry_of(block)
    loops = sch.get_loops(block)
    if not loops:
        return
    hints = Hints()
    reads, store = accesses_of(entry.stmt, hints)
    if store is None or len(loops) != len(entry.stmt.iter_vars):
        _parallel_outer(sch, loops, hints, cpu)
        return
    inner = _contiguous_suffix(entry.stmt, [*reads, store], hints)
    suffix = loops[len(loops) - inner :]
    prefix = _fusible(sch, loops[: len(loops) - inner])
    row = sch.fuse(*suffix) if len(suffix) > 1 else suffix[0]
    lanes = cpu.lanes(store.buffer.ty.dtype)
    work = _size(sch, prefix, hints) * _size(sch, [row], hints)
    parallel = work >= PARALLEL_CYCLES * (1 if _is_heavy(entry) else 4)
    outer = sch.fuse(*prefix) if len(prefix) > 1 else (prefix[0] if prefix else None)
    if parallel and (outer is None or _size(sch, [outer], hints) < 2 * cpu.threads):
        chunk = _chunk(sch, row, lanes, cpu, hints)
        if chunk is not None:
            first, row = sch.split(row, [None, chunk])
            outer = first if outer is None else sch.fuse(outer, first)
    _vectorize(sch, row, lanes, masked=_asks(entry))
    if parallel and outer is not None:
        attempt(lambda: sch.parallel(outer))


def _fusible(sch: Schedule, loops: list[LoopRV]) -> list[LoopRV]:
    """The leading loops of which one can be made: up to an extent that is a sum such as `n + 2`.

    Divided by products of such extents, the fused variable would not be seen to be a mere split.
    """
    for place, loop in enumerate(loops):
        if place and not isinstance(sch.get(loop).extent, (IntImm, Var)):
            return loops[:place]
    return loops


def _asks(entry: Any) -> bool:
    """Whether the value depends on a condition, which keeps LLVM from making vectors."""
    return any(True for _ in iter_nodes(entry.stmt.body, CmpOp))


def _is_heavy(entry: Any) -> bool:
    return any(True for _ in iter_nodes(entry.stmt.body, Call))


def _size(sch: Schedule, loops: list[LoopRV], hints: Hints) -> int:
    out = 1
    for loop in loops:
        out *= hints.of(sch.get(loop).extent)
    return out


def _chunk(sch: Schedule, row: LoopRV, lanes: int, cpu: Cpu, hints: Hints) -> int | None:
    """The length of a thread's share of a row: a multiple of the vector, dividing the row."""
    extent = sch.get(row).extent
    if not isinstance(extent, IntImm):
        return 1024
    share = extent.value // (4 * cpu.threads)
    for size in range(share - share % lanes, 0, -lanes):
        if extent.value % size == 0:
            return size
    return max(lanes, share - share % lanes) if share >= lanes else None


def _vectorize(sch: Schedule, row: LoopRV, lanes: int, masked: bool = False) -> None:
    """The inner loop as vectors, where its extent allows; else LLVM's vectoriser sees to it.

    `masked`: rows of any length become vectors, the last one under a mask.
    """
    extent = sch.get(row).extent
    if not isinstance(extent, IntImm):
        if masked and lanes >= 4:
            _, inner = sch.split(row, [None, lanes])
            attempt(lambda: sch.vectorize(inner))
        return
    for count in (lanes, lanes // 2, lanes // 4):
        if count >= 4 and extent.value % count == 0:
            if extent.value == count:
                attempt(lambda: sch.vectorize(row))
                return
            _, inner = sch.split(row, [None, count])
            attempt(lambda v=inner: sch.vectorize(v))
            return


def _contiguous_suffix(block: Any, accesses: list[Access], hints: Hints) -> int:
    """How many of the last variables walk every access as one contiguous row (at least 1).

    A variable that a condition asks for stays a loop of its own.
    """
    iter_vars = block.iter_vars
    asked = {id(v) for n in iter_nodes(block.body, CmpOp) for v in iter_nodes(n, Var)}
    count = 1
    for place in range(len(iter_vars) - 2, -1, -1):
        outer, inner = iter_vars[place], iter_vars[place + 1]
        extent = hints.of(inner.dom.extent)
        unit = hints.of(outer.dom.extent) == 1
        if (id(outer.var) in asked or id(inner.var) in asked) and not unit:
            return count
        for access in accesses:
            if access.steps is None:
                return count
            step = access.step(inner.var)
            if access.step(outer.var) != extent * step and not unit:
                return count
        count += 1
    return count


def _parallel_outer(sch: Schedule, loops: list[LoopRV], hints: Hints, cpu: Cpu) -> None:
    """The outermost loop parallel, if there is enough work."""
    if _size(sch, loops, hints) >= PARALLEL_CYCLES:
        attempt(lambda: sch.parallel(loops[0]))
