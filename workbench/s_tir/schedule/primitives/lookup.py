"""Finding blocks and loops: the primitives that change nothing."""

from __future__ import annotations

from workbench.core.errors import did_you_mean
from workbench.ir.expr import GlobalVar
from workbench.s_tir.analysis.blocks import is_output_block
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV
from workbench.tirx.function import PrimFunc


class LookupPrimitives(ScheduleBase):
    """get_sblock, get_loops, get_child_blocks, get_producers, get_consumers, get_output_blocks."""

    @primitive(
        "GetSBlock",
        attrs=("name", "func_name"),
        pure=True,
        normalize=lambda self, args: {**args, "func_name": self.function_named(args["func_name"])},
    )
    def get_sblock(self, name: str, func_name: str | None = None) -> SBlockRV:
        """The block of a name.

        Parameters
        ----------
        func_name : the function to look in; left out, the one worked on (`work_on`), or the only
            one, or `main`.

        Raises ScheduleError if there is no such block, or several.
        """
        index = self.state.index(self.mod.get_global_var(self.function_named(func_name)))
        found = [e for e in index.entries.values() if e.is_block and e.name == name]
        if len(found) == 1:
            return self.new_block(found[0].key)
        names = [e.name for e in index.entries.values() if e.is_block]
        if found:
            raise ScheduleError(
                f"there are {len(found)} blocks named {name!r}",
                nodes=[e.stmt for e in found],
                hint="get_child_blocks of the block or loop around them tells them apart",
            )
        raise ScheduleError(
            f"there is no block named {name!r}",
            hint=did_you_mean(name, names) or f"the blocks are: {', '.join(names)}",
        )

    def function_named(self, name: str | None) -> str:
        """The name of the function to look in."""
        if name is not None:
            gvar = GlobalVar(name)
            if not isinstance(self.mod.functions.get(gvar), PrimFunc):
                raise ScheduleError(
                    f"the module has no loop function {name!r}",
                    hint=f"its loop functions: {', '.join(self.functions()) or 'none'}",
                )
            return name
        if self._working_on is not None:
            return self._working_on.name_hint
        names = self.functions()
        if "main" in names:
            return "main"
        raise ScheduleError(
            f"the module has {len(names)} loop functions, and none was chosen",
            hint=f"sch.work_on(name) with one of: {', '.join(names) or 'none'}",
        )

    def functions(self) -> list[str]:
        """Names of the loop functions of the module."""
        return [g.name_hint for g, f in self.mod.functions.items() if isinstance(f, PrimFunc)]

    @primitive("GetLoops", pure=True)
    def get_loops(self, block: SBlockRV | str) -> list[LoopRV]:
        """The loops around a block within its scope, outermost first."""
        assert isinstance(block, SBlockRV)
        return [self.new_loop(e.key) for e in self.state.loops_above(self.entry_of(block).key)]

    @primitive("GetChildBlocks", pure=True, positional=("block_or_loop",))
    def get_child_blocks(self, block_or_loop: SBlockRV | LoopRV) -> list[SBlockRV]:
        """The outermost blocks inside a block or loop, in program order."""
        below = self.state.blocks_below(self.entry_of(block_or_loop).key)
        return [self.new_block(e.key) for e in below]

    @primitive("GetProducers", pure=True)
    def get_producers(self, block: SBlockRV | str) -> list[SBlockRV]:
        """The blocks of the same scope that write what a block reads."""
        assert isinstance(block, SBlockRV)
        entry = self.entry_of(block)
        scope = self.state.dependences(self.state.scope(entry.key).key)
        return [self.new_block(k) for k in scope.producers(entry.key)]

    @primitive("GetConsumers", pure=True)
    def get_consumers(self, block: SBlockRV | str) -> list[SBlockRV]:
        """The blocks of the same scope that read what a block writes."""
        assert isinstance(block, SBlockRV)
        entry = self.entry_of(block)
        scope = self.state.dependences(self.state.scope(entry.key).key)
        return [self.new_block(k) for k in scope.consumers(entry.key)]

    @primitive("GetOutputBlocks", pure=True)
    def get_output_blocks(self, scope_block: SBlockRV | str) -> list[SBlockRV]:
        """The blocks inside a block that write something not allocated in it."""
        assert isinstance(scope_block, SBlockRV)
        below = self.state.blocks_below(self.entry_of(scope_block).key)
        return [self.new_block(e.key) for e in below if is_output_block(self.state, e)]
