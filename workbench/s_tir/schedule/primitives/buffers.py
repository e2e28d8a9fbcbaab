"""Arguments that choose a buffer: by number, by name, or by itself."""

from __future__ import annotations

from typing import Any

from workbench.core.errors import did_you_mean
from workbench.ir.expr import IntImm, Var
from workbench.s_tir.sblock_scope import Entry
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.state import ScheduleState


def buffer_index_of(sch: Any, args: dict[str, Any], name: str, side: str) -> dict[str, Any]:
    """The arguments with the buffer `name` as a number among the block's `reads` or `writes`."""
    value = args[name]
    if isinstance(value, IntImm):
        return {**args, name: value.value}
    if isinstance(value, int):
        return args
    entry: Entry = sch.entry_of(args["block"])
    buffers = [r.buffer for r in getattr(entry.stmt, side)]
    for place, buffer in enumerate(buffers):
        if buffer is value or (isinstance(value, str) and buffer.name == value):
            return {**args, name: place}
    wanted = value if isinstance(value, str) else value.name
    names = [b.name for b in buffers]
    raise ScheduleError(
        f"{entry.label} {side} no buffer {wanted!r}",
        nodes=[entry.stmt],
        hint=did_you_mean(wanted, names) or f"it {side}: {', '.join(names) or 'none'}",
    )


def read_buffer(entry: Entry, index: int) -> Var:
    """The buffer of a block's read region."""
    return _nth(entry, index, "reads")


def written_buffer(entry: Entry, index: int) -> Var:
    """The buffer of a block's write region."""
    return _nth(entry, index, "writes")


def _nth(entry: Entry, index: int, side: str) -> Var:
    regions = getattr(entry.stmt, side)
    if not 0 <= index < len(regions):
        names = ", ".join(f"{i}: {r.buffer.name}" for i, r in enumerate(regions)) or "none"
        raise ScheduleError(
            f"{entry.label} has {len(regions)} {side[:-1]} regions ({names}), found number {index}",
            nodes=[entry.stmt],
        )
    return regions[index].buffer


def check_not_updated(entry: Entry, buffer: Var) -> None:
    """Raises ScheduleError if a block reads a buffer that it also writes."""
    sides = (entry.stmt.reads, entry.stmt.writes)
    if all(any(r.buffer is buffer for r in regions) for regions in sides):
        raise ScheduleError(
            f"{entry.label} updates {buffer.name}: it reads and writes it",
            nodes=[entry.stmt],
            hint="copy the buffer before decompose_reduction",
        )


def allocating_block(state: ScheduleState, entry: Entry, buffer: Var) -> Entry:
    """The enclosing block that allocates a buffer. Raises ScheduleError if none does."""
    for above in state.ancestors(entry.key):
        if above.is_block and any(b is buffer for b in above.stmt.alloc_buffers):
            return above
    raise ScheduleError(
        f"{buffer.name} is not allocated by a block: it is a parameter or a view",
        nodes=[entry.stmt],
        hint="cache_write gives the block a buffer of its own",
    )
