"""`compile`: one entry for graph programs and loop programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ir.function import BaseFunc
from workbench.ir.module import IRModule
from workbench.ir.transform import Pass
from workbench.relax.expr import Function
from workbench.relax.vm_build import build as build_relax
from workbench.runtime.executable import Executable
from workbench.s_tir.build import as_target
from workbench.s_tir.build import build as build_loops
from workbench.tirx.function import PrimFunc


def compile(
    mod: IRModule | PrimFunc | Function,
    target: Any = None,
    *,
    relax_pipeline: str | Pass | None = "default",
    tir_pipeline: str | Pass | None = "default",
    params: Mapping[str, Any] | None = None,
) -> Executable:
    """Compiles a module, or a function, for a target.

    Parameters
    ----------
    mod : a module with Relax functions (run it in `relax.VirtualMachine`) or with loop functions
        only (call them directly), or one function, which becomes `main`.
    target : a Target or what makes one ("llvm", "llvm -mcpu=…"); default: the current target, else
        this machine.
    relax_pipeline, tir_pipeline : passes for graphs and for loops, by name or as a pass; None keeps
        the program as it is.
    params : weights by parameter name, bound as constants before anything else.

    Returns
    -------
    An executable; `.stages` holds every stage from the given program to assembly.

    Raises WorkbenchError for what is no program; passes and code generators raise their own errors.
    """
    chosen = as_target(target)
    if isinstance(mod, BaseFunc) and not isinstance(mod, IRModule):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, IRModule):
        raise WorkbenchError(
            f"compile: expected an IRModule or a function, got {type(mod).__name__}",
            hint="from_onnx(model) or BlockBuilder().get() make modules",
        )
    if not mod.functions:
        raise WorkbenchError("compile: the module has no functions")
    if any(isinstance(f, Function) for f in mod.functions.values()):
        return build_relax(
            mod, chosen, params, relax_pipeline=relax_pipeline, tir_pipeline=tir_pipeline
        )
    if params:
        raise WorkbenchError("compile: params belong to Relax functions, the module has none")
    return build_loops(mod, chosen, tir_pipeline)


def build(
    mod: IRModule | PrimFunc | Function, target: Any = None, pipeline: str | Pass | None = "default"
) -> Executable:
    """Compiles loop programs (TVM's name); graph programs go to `compile`."""
    return compile(mod, target, tir_pipeline=pipeline)
