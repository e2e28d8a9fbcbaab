"""Analyses of blocks and loops: kinds of blocks, regions, accesses."""

from workbench.s_tir.analysis.access import (
    get_sblock_access_region,
    get_sblock_read_write_region,
)
from workbench.s_tir.analysis.blocks import (
    is_complete_block,
    is_output_block,
    is_reduction_block,
    is_trivial_binding,
)
from workbench.s_tir.analysis.regions import relax_index, relax_region, union_region

__all__ = [
    "get_sblock_access_region",
    "get_sblock_read_write_region",
    "is_complete_block",
    "is_output_block",
    "is_reduction_block",
    "is_trivial_binding",
    "relax_index",
    "relax_region",
    "union_region",
]
