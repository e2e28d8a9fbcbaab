"""What fits every function: its outer loops in parallel, where legal and worth it."""

from __future__ import annotations

from typing import Any

from workbench.s_tir.dlight.access import Hints
from workbench.s_tir.dlight.base import ScheduleRule
from workbench.s_tir.dlight.cpu.elementwise import schedule_injective
from workbench.s_tir.dlight.cpu.machine import PARALLEL_CYCLES, Cpu, is_cpu
from workbench.s_tir.dlight.kernel import attempt, inline_injective, is_injective, root_blocks
from workbench.s_tir.schedule import Schedule
from workbench.target import Target
from workbench.tirx.function import PrimFunc


class Fallback(ScheduleRule):
    """Any function: inlines what can be, schedules injective blocks, parallelises the others."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Any:
        """A schedule; never None on a CPU."""
        if not is_cpu(target):
            return None
        sch = Schedule(func, error_render_level="none")
        cpu = Cpu(target)
        inline_injective(sch)
        for block in root_blocks(sch):
            if is_injective(sch, block):
                schedule_injective(sch, block, cpu)
                continue
            loops = sch.get_loops(block)
            hints = Hints()
            work = 1
            for loop in loops:
                work *= hints.of(sch.get(loop).extent)
            if work >= PARALLEL_CYCLES:
                for loop in loops[:2]:
                    if hints.of(sch.get(loop).extent) > 1 and attempt(
                        lambda x=loop: sch.parallel(x)
                    ):
                        break
        return sch
