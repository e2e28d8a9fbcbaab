"""Passes that lower programs with blocks to plain loops, and loop passes after them."""

from workbench.s_tir.transform.canonicalize_loop import CanonicalizeLoop
from workbench.s_tir.transform.compact_buffer_allocation import CompactBufferAllocation
from workbench.s_tir.transform.convert_blocks_to_opaque import ConvertBlocksToOpaque
from workbench.s_tir.transform.hoist_if_then_else import HoistIfThenElse
from workbench.s_tir.transform.loop_partition import LoopPartition
from workbench.s_tir.transform.lower_init_block import LowerInitBlock
from workbench.s_tir.transform.lower_match_buffer import LowerMatchBuffer
from workbench.s_tir.transform.lower_opaque_block import LowerOpaqueBlock
from workbench.s_tir.transform.plan_buffer_allocation import (
    PlanAndUpdateBufferAllocationLocation,
)
from workbench.s_tir.transform.renormalize_split_pattern import RenormalizeSplitPattern
from workbench.s_tir.transform.rewrite_unsafe_select import RewriteUnsafeSelect
from workbench.s_tir.transform.unify_thread_binding import UnifyThreadBinding

__all__ = [
    "CanonicalizeLoop",
    "CompactBufferAllocation",
    "ConvertBlocksToOpaque",
    "HoistIfThenElse",
    "LoopPartition",
    "LowerInitBlock",
    "LowerMatchBuffer",
    "LowerOpaqueBlock",
    "PlanAndUpdateBufferAllocationLocation",
    "RenormalizeSplitPattern",
    "RewriteUnsafeSelect",
    "UnifyThreadBinding",
]
