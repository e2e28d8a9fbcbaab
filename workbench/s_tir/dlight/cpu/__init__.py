"""Schedule rules for CPUs."""

from workbench.s_tir.dlight.base import ScheduleRule
from workbench.s_tir.dlight.cpu.contraction import GEMM, Contraction, Conv2d, Matmul
from workbench.s_tir.dlight.cpu.elementwise import Elementwise, Injective
from workbench.s_tir.dlight.cpu.fallback import Fallback
from workbench.s_tir.dlight.cpu.reduction import Reduction


def default_rules() -> list[ScheduleRule]:
    """The rules in the order in which they are tried."""
    return [
        Elementwise(),
        Matmul(),
        Conv2d(),
        Reduction(rows_only=True),
        Contraction(),
        Reduction(),
        Fallback(),
    ]


__all__ = [
    "GEMM",
    "Contraction",
    "Conv2d",
    "Elementwise",
    "Fallback",
    "Injective",
    "Matmul",
    "Reduction",
    "default_rules",
]
