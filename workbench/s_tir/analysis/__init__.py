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
from workbench.s_tir.analysis.functions import (
    assert_pure_function,
    detect_buffer_access_lca,
    estimate_tir_flops,
    find_anchor_sblock,
    is_pure_function,
)
from workbench.s_tir.analysis.regions import relax_index, relax_region, union_region
from workbench.tirx.analysis import calculate_allocated_bytes

__all__ = [
    "assert_pure_function",
    "calculate_allocated_bytes",
    "detect_buffer_access_lca",
    "estimate_tir_flops",
    "find_anchor_sblock",
    "get_sblock_access_region",
    "get_sblock_read_write_region",
    "is_complete_block",
    "is_output_block",
    "is_pure_function",
    "is_reduction_block",
    "is_trivial_binding",
    "relax_index",
    "relax_region",
    "union_region",
]
