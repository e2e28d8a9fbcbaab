"""Schedules: transforming loop programs by primitives, with traces and a history.

Read `base` first (random variables, running a primitive, versions), then `state`; each primitive is
one decorated method in `primitives/`.
"""

from workbench.s_tir.sblock_scope import Dependency, DepKind, SBlockScope
from workbench.s_tir.schedule.base import History, Version
from workbench.s_tir.schedule.error import ScheduleArgumentError, ScheduleError
from workbench.s_tir.schedule.instruction import (
    Instruction,
    InstructionKind,
    instruction_kinds,
    primitive,
)
from workbench.s_tir.schedule.moves import Move, apply_move, legal_moves
from workbench.s_tir.schedule.random_variable import ExprRV, LoopRV, SBlockRV
from workbench.s_tir.schedule.schedule import Schedule
from workbench.s_tir.schedule.state import ScheduleState, StmtSRef
from workbench.s_tir.schedule.trace import Trace

__all__ = [
    "DepKind",
    "Dependency",
    "ExprRV",
    "History",
    "Instruction",
    "InstructionKind",
    "LoopRV",
    "Move",
    "SBlockRV",
    "SBlockScope",
    "Schedule",
    "ScheduleArgumentError",
    "ScheduleError",
    "ScheduleState",
    "StmtSRef",
    "Trace",
    "Version",
    "apply_move",
    "instruction_kinds",
    "legal_moves",
    "primitive",
]
