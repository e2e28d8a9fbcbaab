"""The pipeline from scheduled programs to plain loops a code generator accepts.

`default_tir_pipeline` is one flat list; read it from top to bottom.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.registry import Registry
from workbench.ir.module import IRModule
from workbench.ir.transform import Pass, PassContext, Sequential, module_pass
from workbench.s_tir import transform as s_tir
from workbench.tirx import transform as tirx


@module_pass(name="s_tir.SkipAssertOnRequest")
def _assertions(mod: IRModule, ctx: PassContext) -> IRModule:
    """Removes assertions under `PassContext(config={"tirx.disable_assert": True})`."""
    return tirx.SkipAssert()(mod) if ctx.get("tirx.disable_assert", False) else mod


def default_tir_pipeline(target: Any = None) -> Sequential:
    """All passes from blocks to loops, for a CPU.

    Narrowing of indices to 32 bits is left out: addresses have 64 bits, and an index of 64 bits
    spares their extension. bfloat16 and float8 arithmetic is rounded by the code generator itself.
    """
    passes: list[Pass] = []
    if target is not None:
        passes.append(tirx.BindTarget(target=target))
    passes += [
        # Blocks: initialisation, place and size of buffers, then the blocks themselves.
        s_tir.CanonicalizeLoop(),
        tirx.InitEmptyReductions(),
        s_tir.LowerInitBlock(),
        s_tir.PlanAndUpdateBufferAllocationLocation(),
        s_tir.ConvertBlocksToOpaque(),
        s_tir.CompactBufferAllocation(),
        s_tir.UnifyThreadBinding(),
        s_tir.LowerMatchBuffer(),
        s_tir.LowerOpaqueBlock(),
        # Memory: one index per access.
        tirx.FlattenBuffer(),
        tirx.StmtSimplify(),
        # Loops: cut at conditions, vectors, shared memory, unrolling.
        s_tir.LoopPartition(),
        tirx.VectorizeLoop(),
        tirx.StorageRewrite(),
        s_tir.HoistIfThenElse(),
        tirx.UnrollLoop(),
        tirx.RemoveNoOp(),
        s_tir.RewriteUnsafeSelect(),
        # Functions: checks and marks for the code generator.
        _assertions,
        tirx.ConvertSSA(),
        tirx.VerifyMemory(),
        tirx.AnnotateEntryFunc(),
        tirx.SplitHostDevice(),
        tirx.MakePackedAPI(),
        tirx.LowerIntrin(),
    ]
    return Sequential(passes, name="default_tir_pipeline")


#: Pipelines by name: functions of a target.
tir_pipelines: Registry[Callable[..., Sequential]] = Registry("tir pipeline")
tir_pipelines.add("default", default_tir_pipeline)
tir_pipelines.add("s_tir", default_tir_pipeline)


def register_tir_pipeline(name: str, pipeline_factory: Callable[..., Sequential]) -> None:
    """Declares a pipeline (a function of a target that gives a pass) under a name."""
    tir_pipelines.add(name, pipeline_factory)


def get_tir_pipeline(name: str | None = None, target: Any = None, **options: Any) -> Sequential:
    """The pipeline of a name ("default"). Raises RegistryError with near names if unknown."""
    return tir_pipelines[name or "default"](target, **options)


def get_default_tir_pipeline(target: Any = None) -> Sequential:
    """The pipeline for a target."""
    return default_tir_pipeline(target)
