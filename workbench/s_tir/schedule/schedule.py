"""Schedule: the object a user transforms loop programs with."""

from __future__ import annotations

from typing import Any

from workbench.core.live import Live
from workbench.ir.expr import Expr, GlobalVar
from workbench.ir.module import IRModule
from workbench.s_tir.sblock_scope import Entry
from workbench.s_tir.schedule.error import ScheduleArgumentError, ScheduleError
from workbench.s_tir.schedule.moves import Move, legal_moves
from workbench.s_tir.schedule.primitives.annotation import AnnotationPrimitives
from workbench.s_tir.schedule.primitives.cache import CachePrimitives
from workbench.s_tir.schedule.primitives.compute_at import ComputeAtPrimitives
from workbench.s_tir.schedule.primitives.inline import InlinePrimitives
from workbench.s_tir.schedule.primitives.layout import LayoutPrimitives
from workbench.s_tir.schedule.primitives.lookup import LookupPrimitives
from workbench.s_tir.schedule.primitives.loop_kind import LoopKindPrimitives
from workbench.s_tir.schedule.primitives.loops import LoopPrimitives
from workbench.s_tir.schedule.primitives.reduction import ReductionPrimitives
from workbench.s_tir.schedule.primitives.reindex import ReindexPrimitives
from workbench.s_tir.schedule.primitives.rfactor import RFactorPrimitives
from workbench.s_tir.schedule.primitives.sampling import SamplingPrimitives
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV
from workbench.s_tir.schedule.state import Key, ScheduleState, StmtSRef
from workbench.tirx.function import PrimFunc


class Schedule(
    LookupPrimitives,
    SamplingPrimitives,
    LoopPrimitives,
    LoopKindPrimitives,
    CachePrimitives,
    ComputeAtPrimitives,
    InlinePrimitives,
    ReductionPrimitives,
    RFactorPrimitives,
    AnnotationPrimitives,
    LayoutPrimitives,
    ReindexPrimitives,
    Live,
):
    """Transforms a program by primitives that keep its meaning.

    Parameters
    ----------
    mod : an IRModule, or a PrimFunc (which becomes the function `main`).
    seed : of the sampling primitives.
    debug_mask : "all" checks the state after every primitive.
    error_render_level : "detail" errors show the program with the loops and blocks they speak of
        underlined; "fast" errors are the reason alone (`error.render()` shows the program);
        "none" keeps no program.
    enable_check : False leaves out costly legality checks.

    Every primitive checks that it keeps the meaning and raises ScheduleError with a reason if not.
    """

    def __init__(
        self,
        mod: PrimFunc | IRModule,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ) -> None:
        state = ScheduleState(mod, debug_mask=debug_mask, enable_check=enable_check)
        super().__init__(state, seed=seed, error_render_level=error_render_level)
        functions = [g for g, f in state.mod.functions.items() if isinstance(f, PrimFunc)]
        if len(functions) == 1:
            self._working_on = functions[0]

    # What primitives work on

    @property
    def func_working_on(self) -> GlobalVar | None:
        """The function `get_sblock` looks in when no function is named."""
        return self._working_on

    def work_on(self, func_name: str) -> None:
        """Sets the function `get_sblock` looks in."""
        gvar = self.mod.get_global_var(func_name)
        if not isinstance(self.mod[gvar], PrimFunc):
            raise ScheduleError(f"work_on: {func_name!r} is no loop function (PrimFunc)")
        self._working_on = gvar

    def block_named(self, name: str) -> SBlockRV:
        """The block of a name, looked up with `get_sblock`."""
        return self.get_sblock(name)

    def look_up(self, key: Key) -> SBlockRV | LoopRV:
        """A variable for a block or loop that the trace knows, by recorded look-ups if needed."""
        for inst in reversed(self.trace.insts):
            for rv in inst.outputs:
                if isinstance(rv, (SBlockRV, LoopRV)) and self._symbols.get(rv) is key:
                    return rv
        entry = self.state.entry(key)
        if not entry.is_block:
            block = self.state.blocks_below(key)[0]
            place = [e.key for e in self.state.loops_above(block.key)].index(key)
            around = self.look_up(block.key)
            assert isinstance(around, SBlockRV)
            return self.get_loops(around)[place]
        for gvar, func in self.mod.functions.items():
            if not isinstance(func, PrimFunc):
                continue
            blocks = [e for e in self.state.index(gvar).entries.values() if e.is_block]
            if any(e.key is key for e in blocks):
                if sum(e.name == entry.name for e in blocks) == 1:
                    return self.get_sblock(entry.name, gvar.name_hint)
                break
        scope = self.state.scope(key)
        place = [e.key for e in self.state.blocks_below(scope.key)].index(key)
        return self.get_child_blocks(self.look_up(scope.key))[place]

    # Looking

    def get(self, rand_var_or_sref: Any) -> Any:
        """What a random variable means now: the `For`, the `SBlock`, or the integer."""
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        if isinstance(rand_var_or_sref, (LoopRV, SBlockRV)):
            return self.entry_of(rand_var_or_sref).stmt
        if isinstance(rand_var_or_sref, (Expr, int)):
            return self.int_of(rand_var_or_sref)
        raise ScheduleArgumentError(
            f"get: expected a random variable, found {type(rand_var_or_sref).__name__}"
        )

    def get_sref(self, rand_var_or_stmt: Any) -> StmtSRef | None:
        """The reference of a block or loop, given its random variable or its node."""
        if isinstance(rand_var_or_stmt, (LoopRV, SBlockRV)):
            return self.sref_of(rand_var_or_stmt)
        return self.state.get_sref(rand_var_or_stmt)

    def remove_rv(self, rand_var: Any) -> None:
        """Forgets a random variable."""
        self._symbols.pop(rand_var, None)

    def copy(self) -> Schedule:
        """A second schedule in the same state; the random variables mean the same in both."""
        other = Schedule(
            self.mod,
            seed=self.fork_seed(),
            debug_mask=self.state.debug_mask,
            error_render_level=self.error_render_level,
            enable_check=self.state.enable_check,
        )
        other._working_on = self._working_on
        other._loose = set(self._loose)
        other.take_version(self._version, self.state.snapshot(), self._symbols)
        return other

    def entry_at(self, target: Any) -> Entry:
        """Where a random variable, reference or node is."""
        if isinstance(target, (LoopRV, SBlockRV)):
            return self.entry_of(target)
        if isinstance(target, StmtSRef):
            return self.state.entry(target.key)
        found = self.state.get_sref(target)
        if found is None:
            raise ScheduleArgumentError("this node is no block or loop of the present program")
        return found.entry

    def legal_moves(self, target: Any) -> list[Move]:
        """What can be done with a block or loop now, and why not the rest."""
        return legal_moves(self, target)

    def show(self, *args: Any, **kwargs: Any) -> None:
        """Prints the program and the trace."""
        print(self.mod)
        print(self.trace)

    def __repr__(self) -> str:
        return f"{self.mod}\n{self.trace}"
