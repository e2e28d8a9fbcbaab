"""Whether the box around what one iteration writes holds nothing but what it writes.

A consumer that is computed inside a loop of its producer runs on the whole box. Elements of the box
that the iteration does not write are not there yet (a tile of 12 in rows of 10 touches two rows, a
box of 20), so the box must be exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.arith import Analyzer
from workbench.ir.expr import Expr, IntImm, Range
from workbench.s_tir.analysis.blocks import REDUCTION, vars_of
from workbench.s_tir.sblock_scope import Entry, Key
from workbench.s_tir.schedule.state import ScheduleState


def is_exact_box(
    state: ScheduleState, producer: Entry, box: Sequence[Range], above: Key, analyzer: Analyzer
) -> bool:
    """Whether the iterations of a producer below `above` fill a box of its output.

    They do if there are at least as many of them (over its spatial variables) as elements.
    """
    spatial: set[int] = set()
    pairs = zip(producer.stmt.iter_vars, producer.realize.iter_values, strict=True)
    for variable, value in pairs:
        if variable.iter_type != REDUCTION:
            spatial |= vars_of(value)
    extents = [
        loop.stmt.extent
        for loop in state.loops_above(producer.key)
        if state.is_below(loop.key, above) and id(loop.stmt.loop_var) in spatial
    ]
    sizes = [r.extent for r in box]
    most = _largest(sizes, analyzer)
    if most is not None and all(isinstance(e, IntImm) for e in extents):
        count = 1
        for extent in extents:
            count *= extent.value  # type: ignore[attr-defined]
        if most <= count:
            return True
    return bool(analyzer.can_prove(_product(sizes) <= _product(extents)))


def _largest(sizes: Sequence[Expr], analyzer: Analyzer) -> int | None:
    """The largest number of elements, if every extent is bounded."""
    total = 1
    for size in sizes:
        bound = analyzer.const_int_bound(size)
        if bound.max_value >= 1 << 40:
            return None
        total *= max(bound.max_value, 0)
    return total


def _product(values: Sequence[Any]) -> Any:
    total: Any = IntImm("int64", 1)
    for value in values:
        total = value if isinstance(total, IntImm) and total.value == 1 else total * value
    return total
