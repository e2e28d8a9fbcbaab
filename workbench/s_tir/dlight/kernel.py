"""The shape of a function: its blocks in order, which are injective, which reduce; inlining."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call
from workbench.s_tir.analysis.blocks import REDUCTION, SPATIAL, complete_reason, is_output_block
from workbench.s_tir.dlight.access import Hints, total
from workbench.s_tir.sblock_scope import Entry
from workbench.s_tir.schedule import SBlockRV, Schedule, ScheduleError
from workbench.tirx.expr import BufferLoad, Select
from workbench.tirx.stmt import BufferStore

#: Intrinsics that cost no more than an addition: inlining them twice does no harm.
_CHEAP = {"tirx.if_then_else", "tirx.likely", "tirx.reinterpret", "tirx.fabs", "tirx.sqrt"}


def attempt(action: Callable[[], Any]) -> bool:
    """Runs a primitive; False if it is not legal."""
    try:
        action()
    except ScheduleError:
        return False
    return True


def root_blocks(sch: Schedule) -> list[SBlockRV]:
    """The blocks directly inside the root block, in program order."""
    return sch.get_child_blocks(sch.get_sblock("root"))


def entry_of(sch: Schedule, block: SBlockRV) -> Entry:
    """Where a block is."""
    return sch.entry_of(block)


def is_injective(sch: Schedule, block: SBlockRV) -> bool:
    """One store, all variables data-parallel."""
    entry = sch.entry_of(block)
    return (
        isinstance(entry.stmt.body, BufferStore)
        and all(v.iter_type == SPATIAL for v in entry.stmt.iter_vars)
        and not complete_reason(sch.state, entry)
    )


def is_reduction(sch: Schedule, block: SBlockRV) -> bool:
    """Has an init and a reduction variable."""
    entry = sch.entry_of(block)
    return entry.stmt.init is not None and any(
        v.iter_type == REDUCTION for v in entry.stmt.iter_vars
    )


def is_output(sch: Schedule, block: SBlockRV) -> bool:
    """Whether a block writes a parameter of the function."""
    return is_output_block(sch.state, sch.entry_of(block))


def is_cheap(sch: Schedule, block: SBlockRV) -> bool:
    """Whether computing an element again costs next to nothing."""
    store = sch.entry_of(block).stmt.body
    calls = [n for n in iter_nodes(store.value, Call) if getattr(n.op, "name", "") not in _CHEAP]
    return not calls and sum(1 for _ in iter_nodes(store.value, BufferLoad)) <= 2


def has_condition(sch: Schedule, block: SBlockRV) -> bool:
    """Whether a block chooses between values (padding does)."""
    store = sch.entry_of(block).stmt.body
    return any(
        isinstance(n, Select) or getattr(getattr(n, "op", None), "name", "") == "tirx.if_then_else"
        for n in iter_nodes(store.value, Call, Select)
    )


def used_once(sch: Schedule, block: SBlockRV, consumers: list[SBlockRV]) -> bool:
    """Whether the one consumer of a block meets every element at most once."""
    if len(consumers) != 1 or has_condition(sch, block):
        return False
    hints = Hints()
    made = total([hints.of(v.dom.extent) for v in sch.entry_of(block).stmt.iter_vars])
    used = total([hints.of(v.dom.extent) for v in sch.entry_of(consumers[0]).stmt.iter_vars])
    return used <= made


def inline_injective(sch: Schedule, into_reductions: bool = False) -> None:
    """Inlines the injective blocks whose value is used once, or is cheap.

    Producers of reductions stay where an element is used many times, unless `into_reductions`
    allows the cheap ones.
    """
    for block in root_blocks(sch):
        if not is_injective(sch, block) or is_output(sch, block):
            continue
        consumers = sch.get_consumers(block)
        reduced = any(not is_injective(sch, c) for c in consumers)
        if reduced and not (
            used_once(sch, block, consumers) or (into_reductions and is_cheap(sch, block))
        ):
            continue
        if len(consumers) <= 1 or is_cheap(sch, block):
            attempt(lambda b=block: sch.compute_inline(b))
    for block in reversed(root_blocks(sch)):
        if is_injective(sch, block) and not is_reduction(sch, block):
            producers = sch.get_producers(block)
            if len(producers) == 1 and is_injective(sch, producers[0]):
                attempt(lambda b=block: sch.reverse_compute_inline(b))
