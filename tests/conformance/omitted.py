"""Public names of TVM 0.26 that this project leaves out on purpose, and why.

Patterns are matched against "namespace.name" ("." stands for the package itself).
"""

from fnmatch import fnmatch

#: Namespaces that are compared. Submodules count as namespaces, not as names.
NAMESPACES = (
    ". ir ir.transform ir.instrument runtime relax relax.op relax.op.nn relax.op.image"
    " relax.op.memory relax.op.builtin relax.analysis relax.transform relax.expr_functor tirx"
    " tirx.op tirx.stmt_functor tirx.expr_functor tirx.analysis tirx.transform s_tir"
    " s_tir.schedule s_tir.transform s_tir.analysis s_tir.dlight arith te topi topi.nn topi.image"
    " target error"
).split()

#: Reason → patterns.
OMITTED = {
    "a name imported into the module, public where it is defined": (
        "tirx.op.Array tirx.op.Buffer* tirx.op.Call tirx.op.CommReducer tirx.op.Expr"
        " tirx.op.ExprWithOp tirx.op.ExprOp tirx.op.IntImm tirx.op.Op tirx.op.PointerType"
        " tirx.op.PrimType tirx.op.Span tirx.op.TensorMapType tirx.op.Var tirx.op.is_buffer_var"
        " tirx.stmt_functor.Expr* tirx.stmt_functor.PrimFunc tirx.stmt_functor.Range"
        " tirx.expr_functor.IterVar tirx.expr_functor.Range tirx.analysis.[A-Z]*"
        " s_tir.analysis.[A-Z]* relax.expr_functor.* topi.Analyzer topi.Cast topi.DataTypeCode"
        " topi.IRBuilder topi.const_vector topi.decl_buffer topi.extern topi.make_idx topi.div"
        " topi.floordiv topi.floormod topi.nn.add topi.nn.concatenate topi.nn.if_then_else"
        " topi.nn.strided_slice topi.nn.logger topi.nn.simplify"
        " topi.image.pad topi.image.simplify topi.pi topi.*pack_layout topi.*xc_layout"
        " topi.*get_const_* topi.*equal_const_int"
        " topi.*get_pad_* topi.nn.get_padded_shape topi.ceil_log2 topi.tensor_size"
        " topi.within_index"
        " topi.unravel_index topi.InvalidShapeError"
    ),
    "C++ objects, foreign memory and processes: there is no object system of another language": (
        ".register_object .device_from_target .tvm_wrap_excepthook runtime.ObjectConvertible"
        " runtime.Scriptable runtime.device_from_target runtime.disco runtime.load_static_library"
        " error.RPC* error.register_error .[vh]* .ext_dev runtime.vpi"
    ),
    "errors derive from WorkbenchError and the matching Python errors": "error.*",
    "`runtime` loads no compiler; `tirx.const` makes constants": "runtime.const",
    "pass kinds are made by decorators, not by classes": (
        "ir.transform.ModulePass relax.transform.DataflowBlockPass relax.transform.FunctionPass"
        " tirx.transform.PrimFuncPass ir.instrument.PassPrintingInstrument"
    ),
    "options of passes are keyword arguments, not objects": (
        "tirx.transform.*Config tirx.transform.Hoisted* s_tir.transform.*Config"
        " s_tir.transform.Hoisted* s_tir.schedule.ScheduleDebugMask"
    ),
    "programs for GPUs, accelerators and tiles: the only target so far is the CPU": (
        "tirx.*Layout tirx.DispatchContext tirx.ExecScope tirx.ScopeId* tirx.TilePrimitiveCall"
        " tirx.BufferAccessKind tirx.LambdaExpr tirx.DataProducer tirx*tvm_*_sync"
        " tirx*tvm_*_fragment tirx.op.tvm_* tirx.op.cooperative_* tirx.op.filter tirx.op.selector"
        " tirx.op.print_buffer tirx*TVMBackend* tirx.op.anylist_* tirx.transform.LowerTIRx*"
        " tirx.transform.LowerWarpMemory tirx.transform.TilePrimitiveDispatch"
        " tirx.transform.LowerTVMBuiltin tirx.transform.PointerValueTypeRewrite"
        " tirx.transform.*StorageLegalize s_tir.transform.* s_tir.analysis.verify_gpu_code"
        " s_tir.analysis.get_vtcm* ir.register_intrin_lowering *q_multiply_shift_per_axis"
        " target.VirtualDevice relax.transform.*CUDA* relax.transform.*GPU* relax.transform.IPC*"
        " relax.transform.*VDevice relax.transform.AllocateWorkspace relax.op.to_vdevice"
        " relax.op.hint_on_device relax.transform.SplitLayoutRewritePreproc"
    ),
    "tuning, partitioning and external code generators come with later parts": (
        "relax.transform.MetaSchedule* relax.transform.FuseOpsByPattern"
        " relax.transform.FusionPattern relax.transform.PatternCheckContext"
        " relax.transform.MergeCompositeFunctions relax.transform.RunCodegen"
        " relax.transform.SplitCallTIRByPattern relax.transform.AttachExternModules"
        " relax.DataflowBlockRewrite relax.BasePyModule relax.op.call_py_func"
        " relax.transform.AlterOpImpl relax.transform.AttachAttrLayoutFreeBuffers"
        " relax.analysis.suggest_layout_transforms s_tir.S* s_tir.s* s_tir.dlight.*"
        " s_tir.analysis.*"
    ),
    "training: gradients come with a later part": (
        "*call_tir_with_grad relax.op.register_gradient relax.transform.Gradient"
        " relax.transform.DecomposeOpsForTraining"
    ),
    "passes of the graph that the default pipeline does without": "relax.transform.[A-Z]*",
    "closures as values of the machine come with a later part": (
        "relax.op.*closure relax.op.call_builtin_with_ctx relax.op.call_inplace_packed"
    ),
    "results whose size depends on the data": (
        "relax.op.nonzero relax.op.unique relax.op.dynamic_strided_slice"
        " relax.op.*non_max_suppression relax.op.get_valid_counts"
    ),
    "operators outside the models at hand": (
        "relax.op.layout_transform relax.op.median relax.op.multi* relax.op.roi_*"
        " relax.op.wrap_param relax.op.nn.attention_var_len relax.op.image.* relax.op.memory.view"
        " relax.op.memory.ensure_zero_offset topi.*"
    ),
    "scans are external blocks; thread axes belong to GPUs": (
        "te.ScanOp te.scan te.tag_scope te.thread_axis"
    ),
    "an extension of the analyzer by Z3": "arith.*",
    "inlining between loop functions": "tirx.transform.InlinePrivateFunctions",
    "it lives in s_tir, where schedules need it": "tirx.stmt_functor.renew_defs",
}


def reason(namespace, name):
    """Why a name is left out, or None."""
    full = f"{'' if namespace == '.' else namespace}.{name}"
    for why, patterns in OMITTED.items():
        if any(fnmatch(full, p) for p in patterns.split()):
            return why
    return None
