"""Pipelines over graph programs: flat lists, to be read from top to bottom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.registry import Registry
from workbench.ir.transform import Pass, Sequential
from workbench.relax import transform as relax
from workbench.s_tir import dlight


def graph_passes() -> list[Pass]:
    """Simplification of the graph, before operators become kernels."""
    return [
        relax.Normalize(),
        relax.CanonicalizeBindings(),
        relax.FoldConstant(),
        relax.FoldBatchNorm(),
        relax.EliminateCommonSubexpr(),
        relax.DeadCodeElimination(),
    ]


def kernel_passes() -> list[Pass]:
    """Operators become kernels, kernels become fewer."""
    return [
        relax.LegalizeOps(),
        relax.CanonicalizeBindings(),
        relax.FoldConstant(),
        relax.DeadCodeElimination(),
        relax.ConvertToDataflow(),
        relax.AnnotateTIROpPattern(),
        relax.FuseOps(),
        relax.FuseTIR(),
        relax.RewriteDataflowReshape(),
        relax.DeadCodeElimination(),
    ]


def lowering_passes() -> list[Pass]:
    """From values to memory, from memory to the virtual machine."""
    return [
        relax.ToNonDataflow(),
        relax.RemovePurityChecking(),
        relax.CallTIRRewrite(),
        relax.CanonicalizeBindings(),
        relax.StaticPlanBlockMemory(),
        relax.LowerAllocTensor(),
        relax.KillAfterLastUse(),
        relax.VMBuiltinLower(),
        relax.VMShapeLower(),
        relax.AttachGlobalSymbol(),
    ]


def default_pipeline(target: Any = None) -> Sequential:
    """Everything from an imported model to what the code generators take."""
    passes = [
        # Graph: aliases, batch normalisation, common subexpressions, unused code.
        *graph_passes(),
        # Kernels: operators to loops, constants, fusion.
        *kernel_passes(),
        # Loops of kernels: a schedule for the target, by rules.
        *schedule_passes(target),
        # Machine: memory plan, builtin functions, symbolic shapes, names.
        *lowering_passes(),
    ]
    return Sequential(passes, name="default_pipeline")


def schedule_passes(_target: Any) -> list[Pass]:
    """The default schedule rules; all targets so far are CPUs."""
    return [dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())]


def zero_pipeline(target: Any = None) -> Sequential:
    """Operators become fused kernels, and no more; the result is a graph program still."""
    return Sequential(
        [
            relax.LegalizeOps(),
            relax.AnnotateTIROpPattern(),
            relax.FoldConstant(),
            relax.FuseOps(),
            relax.FuseTIR(),
        ],
        name="zero_pipeline",
    )


def plain_pipeline(target: Any = None) -> Sequential:
    """The smallest pipeline that runs: legalise and lower, without fusion or schedules."""
    return Sequential(
        [relax.Normalize(), relax.LegalizeOps(), *lowering_passes()], name="plain_pipeline"
    )


#: Pipelines by name: functions of a target.
relax_pipelines: Registry[Callable[..., Sequential]] = Registry("Relax pipeline")
relax_pipelines.add("default", default_pipeline)
relax_pipelines.add("default_build", default_pipeline)
relax_pipelines.add("zero", zero_pipeline)
relax_pipelines.add("plain", plain_pipeline)


def register_pipeline(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a pipeline, a function of a target that gives a pass, under a name."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        return relax_pipelines.add(name, function)

    return add


def get_pipeline(name: str = "zero", target: Any = None, **options: Any) -> Sequential:
    """The pipeline of a name. Raises RegistryError with near names if unknown."""
    return relax_pipelines[name](target, **options)


def get_default_pipeline(target: Any = None) -> Sequential:
    """The pipeline for a target."""
    return default_pipeline(target)
