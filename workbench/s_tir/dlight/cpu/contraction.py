"""Contractions: matrix products, convolutions, window sums, by a tile of sums in registers.

for i, j, k: C[i, j] += A[i, k] * B[k, j]
    →
for j_0 parallel:                            columns of tiles
    B_global = panel of B                    packed once, stays in cache
    for i_0:                                 rows of tiles
        for i_1, j_1: C_local = 0
        for k: for i_1, j_1 unrolled: for j_2 vectorized: C_local += A * B_global
        D = epilogue(C_local)
"""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import IntImm
from workbench.s_tir.analysis.blocks import REDUCTION, SPATIAL, is_trivial_binding
from workbench.s_tir.dlight.access import Access, Hints, accesses_of, linear, total
from workbench.s_tir.dlight.base import ScheduleRule
from workbench.s_tir.dlight.cpu.elementwise import schedule_injective
from workbench.s_tir.dlight.cpu.machine import PARALLEL_CYCLES, Cpu, is_cpu
from workbench.s_tir.dlight.cpu.tile import Axis, Tile, choose_tile, panel_fits
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
from workbench.tirx.expr import BufferLoad
from workbench.tirx.function import PrimFunc

#: Small tiles are written out for several steps of the reduction, up to this many multiply-adds.
_UNROLLED = 8
#: A contiguous operand is packed into panels if it is larger than this (elements).
_PACKED_ABOVE = 16_384


class Contraction(ScheduleRule):
    """Functions with one reduction block that multiplies or adds up linear accesses."""

    def fits(self, reads: list[Access]) -> bool:
        """Whether this rule takes a reduction that reads in this way."""
        return True

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Any:
        """The tiled schedule, or None."""
        if not is_cpu(target):
            return None
        sch = Schedule(func, error_render_level="none")
        blocks = root_blocks(sch)
        reductions = [b for b in blocks if is_reduction(sch, b)]
        if len(reductions) != 1 or not all(
            b is reductions[0] or is_injective(sch, b) for b in blocks
        ):
            return None
        main = reductions[0]
        reads, _ = accesses_of(sch.entry_of(main).stmt, Hints())
        if not self.fits(reads):
            return None
        inline_injective(sch)
        _inline_layout(sch, main)
        return _Tiler(sch, main, Cpu(target)).run()


class Matmul(Contraction):
    """Matrix products: every index is one variable (after fusing)."""

    def fits(self, reads: list[Access]) -> bool:
        """Two operands without windows."""
        return len(reads) == 2 and all(not _has_window(a) for a in reads)


#: TVM's names of the same rule.
GEMM = Matmul


class Conv2d(Contraction):
    """Convolutions and window reductions: an index of the input is a sum of variables."""

    def fits(self, reads: list[Access]) -> bool:
        """Some operand with a window."""
        return any(_has_window(a) for a in reads)


def _has_window(access: Access) -> bool:
    return any(len(linear(i) or {}) > 1 for i in access.indices)


def _inline_layout(sch: Schedule, main: SBlockRV) -> None:
    """Inlines producers of the reduction that only rename indices (linearly)."""
    for producer in sch.get_producers(main):
        if not is_injective(sch, producer) or len(sch.get_consumers(producer)) != 1:
            continue
        value = sch.entry_of(producer).stmt.body.value
        if not isinstance(value, BufferLoad):
            continue
        trial = sch.copy()
        if not attempt(lambda t=trial, p=producer: t.compute_inline(p)):
            continue
        reads, _ = accesses_of(trial.entry_of(main).stmt, Hints())
        if all(a.steps is not None for a in reads):
            sch.compute_inline(producer)


class _Tiler:
    """Applies a tile to a schedule."""

    def __init__(self, sch: Schedule, main: SBlockRV, cpu: Cpu) -> None:
        self.sch = sch
        self.main = main
        self.cpu = cpu
        self.hints = Hints()
        self.spatial: list[Axis] = []
        self.reduce: list[Axis] = []
        self.s_loops: list[LoopRV] = []
        self.r_loops: list[LoopRV] = []

    def run(self) -> Schedule | None:
        """The schedule, or None if the accesses are not linear or nothing can be a vector."""
        sch, main = self.sch, self.main
        entry = sch.entry_of(main)
        self.hints.batch(r.buffer for r in (*entry.stmt.reads, *entry.stmt.writes))
        reads, output = accesses_of(entry.stmt, self.hints)
        if output is None or output.steps is None or not is_trivial_binding(sch.state, entry):
            return None
        if any(a.steps is None for a in reads):
            return None
        groups = self._groups(entry, [*reads, output])
        depth = total([a.extent for a in self.reduce])
        tile = choose_tile(self.spatial, self.reduce, reads, output, self.cpu)
        if tile is None:
            return None
        self._end_with_rows(tile, entry)
        self._pack(tile)
        contiguous = output.step(self.spatial[tile.vector].inner) == 1
        out = sch.cache_write(main, 0, "local") if contiguous else self._local_sums(tile)
        self._epilogue(out)
        self._fuse_groups(groups)
        self._tile(tile, depth, output, out, reads)
        for block in root_blocks(sch):
            if block_is_untouched(sch, block):
                schedule_injective(sch, block, self.cpu)
        return sch

    # Loops

    def _groups(self, entry: Any, accesses: list[Access]) -> list[list[int]]:
        """Neighbouring variables that every access walks as one; fills the axes."""
        iter_vars = entry.stmt.iter_vars
        groups: list[list[int]] = []
        for place, v in enumerate(iter_vars):
            if groups and self._joins(iter_vars[groups[-1][-1]], v, accesses):
                groups[-1].append(place)
            else:
                groups.append([place])
        for group in groups:
            members = [iter_vars[i] for i in group]
            extent = total([self.hints.of(m.dom.extent) for m in members])
            constant = all(isinstance(m.dom.extent, IntImm) for m in members)
            used = [m for m in members if self.hints.of(m.dom.extent) != 1] or members[-1:]
            axis = Axis([m.var for m in used], extent, constant)
            (self.reduce if members[0].iter_type == REDUCTION else self.spatial).append(axis)
        return groups

    def _joins(self, outer: Any, inner: Any, accesses: list[Access]) -> bool:
        if outer.iter_type != inner.iter_type or outer.iter_type not in (SPATIAL, REDUCTION):
            return False
        extent = self.hints.of(inner.dom.extent)
        if self.hints.of(outer.dom.extent) == 1:
            return True
        if extent == 1:
            return False
        if inner.iter_type == SPATIAL and not isinstance(inner.dom.extent, IntImm):
            return False  # a tile that may end anywhere in a row is no box that a store could cover
        return all(a.step(outer.var) == extent * a.step(inner.var) for a in accesses)

    def _fuse_groups(self, groups: list[list[int]]) -> None:
        sch = self.sch
        loops = sch.get_loops(self.main)
        for group in groups:
            members = [loops[i] for i in group]
            loop = sch.fuse(*members) if len(members) > 1 else members[0]
            index = len(self.s_loops)
            if index < len(self.spatial):
                self.s_loops.append(loop)
            else:
                self.r_loops.append(loop)

    def _end_with_rows(self, tile: Tile, entry: Any) -> None:
        """Takes fewer vectors where tiles along fused variables would end in the middle of a row.

        What such a tile computes is no box of the output, so that nothing can store it at once.
        """
        variables = self.spatial[tile.vector].variables
        if len(variables) < 2:
            return
        inner = next(v for v in entry.stmt.iter_vars if v.var is variables[-1])
        row = self.hints.of(inner.dom.extent)
        for vectors in range(tile.vectors, 0, -1):
            width = vectors * tile.lanes
            if row % width == 0 or width % row == 0:
                tile.vectors = vectors
                return

    # Operands and result

    def _pack(self, tile: Tile) -> None:
        """Copies of operands in which the vector variable is the fastest; they are panels later."""
        self.packed: list[SBlockRV] = []
        if not tile.packed:
            return
        sch = self.sch
        order, back = self._vector_last(tile)
        numbers = sorted({a.number for a in tile.packed})
        sch.reorder_block_iter_var(self.main, order)
        for number in numbers:
            self.packed.append(sch.reindex(self.main, ("read", number)))
        sch.reorder_block_iter_var(self.main, back)

    def _vector_last(self, tile: Tile) -> tuple[list[int], list[int]]:
        """The order of block variables with the vector variable last, and the way back."""
        entry = self.sch.entry_of(self.main)
        last = {id(v) for v in self.spatial[tile.vector].variables}
        order = [i for i, v in enumerate(entry.stmt.iter_vars) if id(v.var) not in last]
        order += [i for i, v in enumerate(entry.stmt.iter_vars) if id(v.var) in last]
        return order, [order.index(i) for i in range(len(order))]

    def _local_sums(self, tile: Tile) -> SBlockRV:
        """Sums in a buffer of their own, in which the vector variable is the fastest."""
        sch, main = self.sch, self.main
        order, back = self._vector_last(tile)
        sch.reorder_block_iter_var(main, order)
        out = sch.reindex(main, ("write", 0))
        sch.set_scope(main, 0, "local")
        sch.reorder_block_iter_var(main, back)
        return out

    def _epilogue(self, out: SBlockRV) -> bool:
        """Lets the block that stores the tile store the final result."""
        sch = self.sch
        consumers = sch.get_consumers(out)
        if len(consumers) != 1 or is_output(sch, out):
            return False
        return attempt(lambda: sch.reverse_compute_inline(consumers[0]))

    # The tile

    def _tile(
        self, tile: Tile, depth: int, output: Access, out: SBlockRV, reads: list[Access]
    ) -> None:
        sch, main = self.sch, self.main
        v0, v1, v2 = sch.split(self.s_loops[tile.vector], [None, tile.vectors, tile.lanes])
        r0 = r1 = None
        if tile.row is not None:
            r0, r1 = sch.split(self.s_loops[tile.row], [None, tile.rows])
        others = [loop for i, loop in enumerate(self.s_loops) if i not in (tile.vector, tile.row)]
        k_outer, k_inner = self._reduction_loops(tile)
        rows = [r0] if r0 is not None else []
        contiguous = output.step(self.spatial[tile.vector].inner) == 1
        column_first = not contiguous or bool(self.packed) or len(self.spatial) <= 2
        outer = [v0, *others, *rows] if column_first else [*others, *rows, v0]
        # Loops with a border come last: fused into a parallel loop, a border would be a condition
        # in it. A long loop over columns may stay first: its border is one column of many.
        ragged = self._ragged(tile, v0, r0)
        if column_first and self.hints.of(sch.get(v0).extent) >= 8 * self.cpu.threads:
            ragged = [x for x in ragged if x is not v0]
        outer = [x for x in outer if x not in ragged] + [x for x in outer if x in ragged]
        inner = [v1, v2] if r1 is None else [r1, v1, v2]
        sch.reorder(*outer, *k_outer, *k_inner, *inner)
        self._panels(tile, depth, v0, outer, reads)
        if attempt(lambda: sch.reverse_compute_at(out, outer[-1])):
            self._store_loops(out, contiguous, tile, len(outer))
        alone = outer[0] is v0 and v0 in self._ragged(tile, v0, r0)
        whole = [x for x in outer if x not in ragged]
        self._parallel(outer[:1] if alone or not whole else whole, tile)
        for loop in (r1, v1, *k_inner):
            if loop is not None:
                sch.unroll(loop)
        sch.vectorize(v2)
        first = k_outer[0] if k_outer else k_inner[0]
        sch.decompose_reduction(main, first)

    def _reduction_loops(self, tile: Tile) -> tuple[list[LoopRV], list[LoopRV]]:
        """Reduction loops outside, and those written out inside."""
        outer = list(self.r_loops)
        inner: list[LoopRV] = []
        room = max(1, _UNROLLED // (tile.rows * tile.vectors))
        sizes = [a.extent for a in self.reduce]
        while outer and self.reduce[len(outer) - 1].constant and sizes[len(outer) - 1] <= room:
            size = sizes[len(outer) - 1]
            if len(outer) == 1 and size > 1:
                break
            room //= max(1, size)
            inner.insert(0, outer.pop())
        if outer and not inner and self.reduce[len(outer) - 1].constant:
            factor = next((f for f in (4, 2) if f <= room and sizes[len(outer) - 1] % f == 0), 1)
            if factor > 1 and sizes[len(outer) - 1] > factor:
                loop, last = self.sch.split(outer.pop(), [None, factor])
                outer.append(loop)
                inner.append(last)
        return outer, inner

    def _panels(
        self, tile: Tile, depth: int, v0: LoopRV, outer: list[LoopRV], reads: list[Access]
    ) -> None:
        """Packs a column's operand inside the loop over columns, if it is reused there."""
        sch = self.sch
        columns = self.hints.of(sch.get(v0).extent)
        below = total([self.hints.of(sch.get(x).extent) for x in outer[1:]])
        first = outer[0] is v0
        axis_extent = self.spatial[tile.vector].extent
        even = axis_extent % (tile.vectors * tile.lanes) == 0
        enough = columns >= 4 * self.cpu.threads or (even and columns % self.cpu.threads == 0)
        if not first or below < 4 or not panel_fits(depth, tile) or not enough:
            return
        axis = self.spatial[tile.vector].inner
        blocks = list(self.packed)
        for access in reads:
            wide = access.step(axis) == 1 and access.elements // self.spatial[tile.vector].extent
            large = access.elements >= _PACKED_ABOVE and axis_extent >= 256
            if access not in tile.packed and wide and wide >= 64 and large:
                number = self._region_of(access)
                if number is not None:
                    blocks.append(sch.cache_read(self.main, number, "global"))
        for block in blocks:
            if attempt(lambda b=block: sch.compute_at(b, v0)):
                last = sch.get_loops(block)[-1]
                extent = sch.get(last).extent
                if isinstance(extent, IntImm) and extent.value % tile.lanes == 0:
                    _, lane = sch.split(last, [None, tile.lanes])
                    attempt(lambda x=lane: sch.vectorize(x))

    def _region_of(self, access: Access) -> int | None:
        for number, region in enumerate(self.sch.entry_of(self.main).stmt.reads):
            if region.buffer is access.buffer:
                return number
        return None

    def _store_loops(self, out: SBlockRV, contiguous: bool, tile: Tile, above: int) -> None:
        sch = self.sch
        loops = sch.get_loops(out)[above:]
        if not loops:
            return
        if not contiguous:
            # The sums are read across, so that the result is written along.
            if len(loops) > 1:
                sch.reorder(loops[-1], *loops[:-1])
            return
        extent = sch.get(loops[-1]).extent
        if isinstance(extent, IntImm) and extent.value % tile.lanes == 0:
            lane = loops[-1]
            if extent.value > tile.lanes:
                _, lane = sch.split(loops[-1], [None, tile.lanes])
            attempt(lambda: sch.vectorize(lane))

    def _ragged(self, tile: Tile, v0: LoopRV, r0: LoopRV | None) -> list[LoopRV]:
        """The loops over tiles that end with a partial tile."""
        out: list[LoopRV] = []
        v = self.spatial[tile.vector]
        if not v.constant or v.extent % (tile.vectors * tile.lanes):
            out.append(v0)
        if r0 is not None and tile.row is not None:
            r = self.spatial[tile.row]
            if not r.constant or r.extent % tile.rows:
                out.append(r0)
        return out

    def _parallel(self, outer: list[LoopRV], tile: Tile) -> None:
        """Enough of the outer loops in parallel to keep all threads busy."""
        sch = self.sch
        if tile.cycles < PARALLEL_CYCLES:
            return
        chosen: list[LoopRV] = []
        count = 1
        for loop in outer:
            if chosen and (len(sch.entry_of(chosen[-1]).children) != 1):
                break
            chosen.append(loop)
            count *= self.hints.of(sch.get(loop).extent)
            if count >= 4 * self.cpu.threads:
                break
        target = sch.fuse(*chosen) if len(chosen) > 1 else chosen[0]
        attempt(lambda: sch.parallel(target))


def block_is_untouched(sch: Schedule, block: SBlockRV) -> bool:
    """Whether a block still has its first loops: one a variable, serial, unshared."""
    entry = sch.entry_of(block)
    if entry.stmt.init is not None or not is_injective(sch, block):
        return False
    return is_trivial_binding(sch.state, entry) and all(
        int(e.stmt.kind) == 0 and len(e.children) == 1 for e in sch.state.loops_above(entry.key)
    )
