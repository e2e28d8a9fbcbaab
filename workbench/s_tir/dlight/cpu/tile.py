"""The choice of a register tile for a reduction, by counting cycles.

A tile is `rows` values of one variable times `vectors` vectors of another; its sums stay in
registers while the reduction runs. Per step of the reduction it costs its multiplications, its
loads, and at least the latency of one addition; besides there are the packing of operands, the
store of the result, and what is left over at the borders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.ir.expr import Var
from workbench.s_tir.dlight.access import Access, total
from workbench.s_tir.dlight.cpu.machine import Cpu

_LATENCY = 4.0
_GATHER = 2.5  # cycles an element that is loaded by itself
_RAGGED = 1.03  # what a last column with code of its own costs the others
_UNKNOWN_VECTOR = 1.5  # vectors along an extent that may turn out to be small
_SHORT_STEP = 4  # steps up to this load whole vectors and shuffle them
_PACK = 1.8  # cycles an element that is copied to another layout
_SCATTER = 1.5  # cycles an element of a result that is stored by itself
_L2_ELEMENTS = 160_000
_CODE = 20.0  # what a written-out statement must save, in cycles, to be worth its compile time


@dataclass
class Axis:
    """A loop of the block: one variable, or several fused ones."""

    variables: list[Var]
    extent: int
    constant: bool

    @property
    def inner(self) -> Var:
        """The fastest variable."""
        return self.variables[-1]


@dataclass
class Tile:
    """A plan: vectors along `vector`, rows along `row` (None: none)."""

    vector: int
    row: int | None
    lanes: int
    vectors: int
    rows: int
    packed: list[Access] = field(default_factory=list)
    cycles: float = 0.0


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def choose_tile(
    spatial: Sequence[Axis],
    reduce: Sequence[Axis],
    reads: Sequence[Access],
    output: Access,
    cpu: Cpu,
) -> Tile | None:
    """The cheapest tile, or None if no variable gives vectors."""
    width = cpu.lanes(output.buffer.ty.dtype)
    best: Tile | None = None
    for v in range(len(spatial)):
        if not spatial[v].constant and spatial[v].extent < width:
            continue
        for lanes in _lane_choices(width, spatial[v].extent):
            rows_of: list[int | None] = [None, *(r for r in range(len(spatial)) if r != v)]
            for r in rows_of:
                for vectors, rows in _shapes(spatial, v, r, lanes, cpu):
                    tile = Tile(v, r, lanes, vectors, rows)
                    if _price(tile, spatial, reduce, reads, output, width) and (
                        best is None or tile.cycles < best.cycles
                    ):
                        best = tile
    return best


def _lane_choices(width: int, extent: int) -> list[int]:
    return [n for n in (width, width // 2, width // 4) if n >= 4 and n <= extent]


def _shapes(
    spatial: Sequence[Axis], v: int, r: int | None, lanes: int, cpu: Cpu
) -> list[tuple[int, int]]:
    most = max(1, spatial[v].extent // lanes)
    out: list[tuple[int, int]] = []
    budget = cpu.registers - cpu.registers // 4
    for vectors in range(1, 9):
        if vectors > most:
            break
        if r is None:
            out.append((vectors, 1))
            continue
        for rows in (2, 3, 4, 5, 6, 7, 8, 12, 14):
            if rows * vectors <= budget and rows <= spatial[r].extent:
                out.append((vectors, rows))
    return out


def _price(
    tile: Tile,
    spatial: Sequence[Axis],
    reduce: Sequence[Axis],
    reads: Sequence[Access],
    output: Access,
    width: int,
) -> bool:
    """Sets `tile.cycles` and `tile.packed`; False if the tile makes no sense."""
    axis = spatial[tile.vector].inner
    row = spatial[tile.row].inner if tile.row is not None else None
    # A 512-bit operation takes as long as two of 256 bits or less.
    unit = 1.0 if tile.lanes == width and width >= 16 else 0.5
    outer = total([a.extent for i, a in enumerate(spatial) if i not in (tile.vector, tile.row)])
    elements = total([a.extent for a in spatial])
    depth = total([a.extent for a in reduce])
    loads, pack = 0.0, 0.0
    for access in reads:
        step = access.step(axis)
        times = tile.rows if row is not None and access.step(row) != 0 else 1
        if step == 0:
            loads += 0.5 * times
            continue
        if step != 1:
            if 2 <= step <= _SHORT_STEP:
                gathered = tile.vectors * times * (step * 0.5 + (step - 1)) * max(unit, 0.5)
            else:
                gathered = tile.vectors * times * tile.lanes * _GATHER
            copying = _copied(access, spatial, reduce) * _PACK
            steps = elements * depth / (tile.lanes * tile.vectors * max(1, tile.rows))
            saved = (gathered - 0.5 * tile.vectors * times) * steps
            if access.number < 0 or access.steps is None or saved < 1.5 * copying:
                loads += gathered
                continue
            tile.packed.append(access)
            pack += copying
        loads += (0.5 if unit == 1 else 0.3) * tile.vectors * times
    compute = tile.vectors * tile.rows * (unit + 0.05)
    step_cycles = max(compute, loads, _LATENCY)
    steps = outer * _border(spatial, tile, compute)
    store = elements * (_SCATTER if output.step(axis) != 1 else 2.0 / tile.lanes)
    code = tile.vectors * tile.rows * _variants(spatial, tile)
    if not spatial[tile.vector].constant:
        steps *= _UNKNOWN_VECTOR
    tile.cycles = steps * depth * step_cycles + pack + store + steps * 12 + code * _CODE
    return True


def _copied(access: Access, spatial: Sequence[Axis], reduce: Sequence[Axis]) -> int:
    """Elements of a copy indexed by the variables of the access: windows are written out."""
    return total(
        [a.extent for a in (*spatial, *reduce) if any(access.step(v) for v in a.variables)]
    )


def _variants(spatial: Sequence[Axis], tile: Tile) -> int:
    """How often the tile is written out: every border needs code of its own."""
    v = spatial[tile.vector]
    count = 2 if not v.constant or v.extent % (tile.lanes * tile.vectors) else 1
    if tile.row is not None:
        r = spatial[tile.row]
        count *= 2 if not r.constant or r.extent % tile.rows else 1
    return count


def _border(spatial: Sequence[Axis], tile: Tile, compute: float) -> float:
    """Number of tiles in the plane of the tile, what is left over counted by its cost."""
    v = spatial[tile.vector]
    if v.constant:
        across, rest = divmod(v.extent, tile.lanes)
        full, partial = divmod(across, tile.vectors)
        columns = float(full)
        if partial or rest:
            # The last column of tiles runs under masks.
            columns += (partial + (1.5 if rest else 0.0)) / tile.vectors
            columns *= _RAGGED
    else:
        # On average half of the last tile is wasted.
        columns = v.extent / (tile.lanes * tile.vectors) + 0.5
    if tile.row is None:
        return columns
    r = spatial[tile.row]
    if not r.constant:
        return columns * (r.extent / tile.rows + 0.5)
    whole, left = divmod(r.extent, tile.rows)
    return columns * (whole + (max(left / tile.rows, 0.6) if left else 0))


def panel_fits(depth: int, tile: Tile) -> bool:
    """Whether the packed operand of one column of tiles stays in the second-level cache."""
    return depth * tile.vectors * tile.lanes <= _L2_ELEMENTS
