"""Layers 7 and 8: schedulable loop programs: schedules, their analysis, default schedules.

`dlight` (layer 8) is imported by its own name.
"""

from workbench.s_tir import analysis, pipeline, sblock_scope, schedule, transform
from workbench.s_tir.renew import renew_defs
from workbench.s_tir.sblock_scope import SBlockScope
from workbench.s_tir.schedule import Schedule, ScheduleError, ScheduleState, StmtSRef, Trace
from workbench.tirx.function import TensorIntrin

__all__ = [
    "SBlockScope",
    "Schedule",
    "ScheduleError",
    "ScheduleState",
    "StmtSRef",
    "TensorIntrin",
    "Trace",
    "analysis",
    "pipeline",
    "renew_defs",
    "sblock_scope",
    "schedule",
    "transform",
]
