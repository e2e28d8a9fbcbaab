"""Layer 8: passes over the graph IR. One file each; the names are TVM's."""

from workbench.ir.transform import function_pass_decorator as _decorator
from workbench.relax.expr import Function as _Function
from workbench.relax.transform.annotate_tir_op_pattern import AnnotateTIROpPattern
from workbench.relax.transform.attach_global_symbol import AttachGlobalSymbol
from workbench.relax.transform.bind_params import BindParams, BindSymbolicVars
from workbench.relax.transform.call_tir_rewrite import CallTIRRewrite
from workbench.relax.transform.canonicalize_bindings import CanonicalizeBindings
from workbench.relax.transform.convert_to_dataflow import ConvertToDataflow, ToNonDataflow
from workbench.relax.transform.dataflow_block_pass import dataflowblock_pass
from workbench.relax.transform.dead_code_elimination import DeadCodeElimination
from workbench.relax.transform.eliminate_common_subexpr import EliminateCommonSubexpr
from workbench.relax.transform.fold_batch_norm import FoldBatchNorm
from workbench.relax.transform.fold_constant import FoldConstant
from workbench.relax.transform.fuse_ops import FuseOps
from workbench.relax.transform.fuse_tir import FuseTIR
from workbench.relax.transform.kill_after_last_use import KillAfterLastUse
from workbench.relax.transform.legalize_ops import LegalizeOps
from workbench.relax.transform.lower_alloc_tensor import LowerAllocTensor
from workbench.relax.transform.normalize import Normalize
from workbench.relax.transform.remove_purity_checking import RemovePurityChecking
from workbench.relax.transform.rewrite_dataflow_reshape import RewriteDataflowReshape
from workbench.relax.transform.static_plan_block_memory import StaticPlanBlockMemory
from workbench.relax.transform.vm_builtin_lower import LowerRuntimeBuiltin, VMBuiltinLower
from workbench.relax.transform.vm_shape_lower import VMShapeLower

#: TVM's decorator: a pass from `f(function, mod, ctx)` over Relax functions.
function_pass = _decorator(_Function)

__all__ = [
    "AnnotateTIROpPattern",
    "AttachGlobalSymbol",
    "BindParams",
    "BindSymbolicVars",
    "CallTIRRewrite",
    "CanonicalizeBindings",
    "ConvertToDataflow",
    "DeadCodeElimination",
    "EliminateCommonSubexpr",
    "FoldBatchNorm",
    "FoldConstant",
    "FuseOps",
    "FuseTIR",
    "KillAfterLastUse",
    "LegalizeOps",
    "LowerAllocTensor",
    "LowerRuntimeBuiltin",
    "Normalize",
    "RemovePurityChecking",
    "RewriteDataflowReshape",
    "StaticPlanBlockMemory",
    "ToNonDataflow",
    "VMBuiltinLower",
    "VMShapeLower",
    "dataflowblock_pass",
    "function_pass",
]
