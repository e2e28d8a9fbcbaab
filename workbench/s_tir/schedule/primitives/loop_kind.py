"""How a loop runs: parallel, vectorize, unroll, bind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.ir.expr import IntImm, Var
from workbench.s_tir.analysis.blocks import parallel_reason, pipeline_reason
from workbench.s_tir.sblock_scope import Entry
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.moves import Move
from workbench.s_tir.schedule.random_variable import LoopRV
from workbench.tirx.expr import IterType, IterVar
from workbench.tirx.stmt import ForKind

THREAD_TAGS = (
    *(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx", "vthread") for axis in "xyz"),
    "vthread",
)


def _moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    yield Move({"loop": rv}, "")


def _bind_moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    for tag in ("blockIdx.x", "threadIdx.x"):
        yield Move({"loop": rv, "thread_axis": tag}, f"bind to {tag}")


class LoopKindPrimitives(ScheduleBase):
    """parallel, vectorize, unroll, bind."""

    @primitive("Parallel", moves=_moves)
    def parallel(self, loop: LoopRV) -> None:
        """Runs the iterations of a loop on all threads.

        Legal if the loop drives no reduction variable and the blocks inside only need what the same
        iteration computes.
        """
        self._set_kind(loop, ForKind.PARALLEL, "parallel")

    @primitive("Vectorize", moves=_moves)
    def vectorize(self, loop: LoopRV) -> None:
        """Runs the iterations of a loop as the lanes of vectors. Legal as for `parallel`; the
        extent must be constant."""
        entry = self.entry_of(loop)
        if not isinstance(entry.stmt.extent, IntImm):
            raise ScheduleError(
                f"{entry.label} has no constant extent: it is {entry.stmt.extent}",
                nodes=[entry.stmt],
                hint="split it with a constant inner factor and vectorize the inner loop",
            )
        self._set_kind(loop, ForKind.VECTORIZED, "vectorized")

    @primitive("Unroll", moves=_moves)
    def unroll(self, loop: LoopRV) -> None:
        """Writes the iterations of a loop out one after another."""
        entry = self.entry_of(loop)
        self.state.replace(entry.key, _with_kind(entry.stmt, ForKind.UNROLLED))

    @primitive("Bind", attrs=("thread_axis",), moves=_bind_moves)
    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Runs the iterations of a loop on the threads of an axis (`blockIdx.x`, `threadIdx.y` …).

        A loop that drives reduction variables may be bound to `threadIdx` only.
        """
        entry = self.entry_of(loop)
        if thread_axis not in THREAD_TAGS:
            raise ScheduleError(
                f"unknown thread axis {thread_axis!r}",
                nodes=[entry.stmt],
                hint=f"one of {', '.join(THREAD_TAGS)}",
            )
        self._check(entry, f"bound to {thread_axis}", thread_axis)
        extent = entry.stmt.extent
        var = IterVar(None, Var(thread_axis, extent.ty), IterType.THREAD_INDEX, thread_axis)
        stmt = entry.stmt.replace(kind=ForKind.THREAD_BINDING, thread_binding=var)
        self.state.replace(entry.key, stmt)

    def _set_kind(self, loop: LoopRV, kind: ForKind, word: str) -> None:
        entry = self.entry_of(loop)
        self._check(entry, word, "")
        self.state.replace(entry.key, _with_kind(entry.stmt, kind))

    def _check(self, entry: Entry, word: str, tag: str) -> None:
        if not self.state.enable_check:
            return
        reason = parallel_reason(self.state, entry, tag)
        hint = ""
        if "reduction variable" in reason and "drives" in reason:
            hint = (
                "reorder a data-parallel loop to this place, or rfactor the loop to make partial "
                "results that are combined afterwards"
            )
        elif "init" in reason or "written by" in reason:
            hint = f"make the loop {word} before decompose_reduction"
        if not reason:
            reason = pipeline_reason(self.state, self.state.scope(entry.key).key)
        if reason:
            below = [b.stmt for b in self.state.blocks_below(entry.key)]
            raise ScheduleError(
                f"{entry.label} cannot be {word}: {reason}",
                nodes=[entry.stmt, *below],
                hint=hint,
            )


def _with_kind(loop: Any, kind: ForKind) -> Any:
    return loop.replace(kind=kind, thread_binding=None)
