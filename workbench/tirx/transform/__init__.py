"""Passes over loop programs without blocks. One file each; `simple` holds the small ones."""

from workbench.tirx.transform.bf16_legalize import BF16ComputeLegalize, FP8ComputeLegalize
from workbench.tirx.transform.common_subexpr import CommonSubexprElim
from workbench.tirx.transform.convert_ssa import ConvertSSA, renew_definitions
from workbench.tirx.transform.flatten_buffer import FlattenBuffer
from workbench.tirx.transform.host_device import MakePackedAPI, SplitHostDevice
from workbench.tirx.transform.init_empty_reductions import InitEmptyReductions
from workbench.tirx.transform.lower_intrin import LowerIntrin
from workbench.tirx.transform.narrow_data_type import ForceNarrowIndexToInt32, NarrowDataType
from workbench.tirx.transform.remove_no_op import RemoveNoOp
from workbench.tirx.transform.simple import (
    AnnotateEntryFunc,
    Apply,
    BindTarget,
    Filter,
    RemoveAssume,
    SkipAssert,
    VerifyMemory,
    prim_func_pass,
)
from workbench.tirx.transform.stmt_simplify import StmtSimplify
from workbench.tirx.transform.storage_rewrite import StorageRewrite
from workbench.tirx.transform.unroll_loop import UnrollLoop
from workbench.tirx.transform.vectorize_loop import VectorizeLoop

__all__ = [
    "AnnotateEntryFunc",
    "Apply",
    "BF16ComputeLegalize",
    "BindTarget",
    "CommonSubexprElim",
    "ConvertSSA",
    "FP8ComputeLegalize",
    "Filter",
    "FlattenBuffer",
    "ForceNarrowIndexToInt32",
    "InitEmptyReductions",
    "LowerIntrin",
    "MakePackedAPI",
    "NarrowDataType",
    "RemoveAssume",
    "RemoveNoOp",
    "SkipAssert",
    "SplitHostDevice",
    "StmtSimplify",
    "StorageRewrite",
    "UnrollLoop",
    "VectorizeLoop",
    "VerifyMemory",
    "prim_func_pass",
    "renew_definitions",
]
