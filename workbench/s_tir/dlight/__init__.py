"""Layer 8: default schedules by rules, without a search.

with Target("llvm"):
    mod = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(mod)
"""

from workbench.s_tir.dlight import cpu
from workbench.s_tir.dlight.base import (
    IS_SCHEDULED,
    ApplyDefaultSchedule,
    ScheduleRule,
    apply_rules,
    is_schedulable,
    schedule_function,
)

__all__ = [
    "IS_SCHEDULED",
    "ApplyDefaultSchedule",
    "ScheduleRule",
    "apply_rules",
    "cpu",
    "is_schedulable",
    "schedule_function",
]
