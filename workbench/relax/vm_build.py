"""`relax.build`: a graph program for the virtual machine, with compiled kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Call, Op, Var
from workbench.ir.module import IRModule
from workbench.ir.transform import Pass
from workbench.relax.expr import Function
from workbench.relax.pipeline import get_pipeline
from workbench.relax.transform.bind_params import bind_params
from workbench.relax.vm_codegen import generate_bytecode
from workbench.runtime.executable import Stage
from workbench.runtime.module import Module
from workbench.runtime.vm import ExecBuilder, KernelInfo, VMExecutable
from workbench.s_tir.build import Printed, as_target, build_kernels
from workbench.target.codegen import kernels_of
from workbench.target.codegen.data import data_objects
from workbench.target.codegen.signature import Signature
from workbench.target.target import Target
from workbench.tirx.buffer import is_buffer_var
from workbench.tirx.function import PrimFunc


def build(
    mod: IRModule | Function,
    target: Any = None,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: str | Pass | None = "default",
    tir_pipeline: str | Pass | None = "default",
    exec_mode: str = "bytecode",
    *,
    system_lib: bool | None = None,
) -> VMExecutable:
    """Compiles a module of Relax functions for the virtual machine.

    Parameters
    ----------
    mod : the module, or one function, which becomes `main`.
    target : a Target or what makes one; default: the current target, else this machine.
    params : weights of `main` by parameter name, bound as constants.
    relax_pipeline, tir_pipeline : passes for the graph and for the loops, by name or as a pass;
        None for the graph means that it is lowered already.
    exec_mode : "bytecode".

    Returns an executable: `relax.VirtualMachine(exe)` runs it, `exe.stages` shows its making.
    Raises WorkbenchError for an operator that cannot be lowered, or an unknown mode.
    """
    if exec_mode != "bytecode":
        raise WorkbenchError(f"relax.build: exec_mode is bytecode, got {exec_mode!r}")
    if system_lib:
        raise WorkbenchError("relax.build: system_lib is not supported; export a shared library")
    if isinstance(mod, Function):
        mod = IRModule.from_expr(mod)
    chosen = as_target(target)
    before = mod
    if params:
        main: Any = mod["main"]
        mod = mod.with_func("main", bind_params(main, params))
    if isinstance(relax_pipeline, str):
        relax_pipeline = get_pipeline(relax_pipeline, chosen)
    lowered = mod if relax_pipeline is None else relax_pipeline(mod)
    builder = generate_bytecode(lowered)
    kernels, stages = _kernels(lowered, chosen, tir_pipeline, builder)
    given, graph = Printed(before), Printed(_without_kernels(lowered))
    program = builder.get()
    all_stages = [
        Stage("relax", "python", lambda: given.text, value=before),
        Stage("relax-lowered", "python", lambda: graph.text, value=lowered),
        *stages,
        Stage("vm", "text", program.as_text, value=program),
    ]
    return VMExecutable(
        kernels,
        program,
        _addresses(kernels),
        all_stages,
        lambda name, data: data_objects(name, data, chosen),
    )


def _without_kernels(mod: IRModule) -> IRModule:
    functions = {g: f for g, f in mod.functions.items() if not isinstance(f, PrimFunc)}
    return mod.replace(functions=functions)


def _kernels(
    mod: IRModule, target: Target, pipeline: Any, builder: ExecBuilder
) -> tuple[Module, list[Stage]]:
    """Compiles the kernels and enters them into the program."""
    functions = {g: f for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
    if not functions:
        return Module(kind=target.kind.name, lookup=lambda name: None), []
    name = None if pipeline == "default" else pipeline
    module, stages = build_kernels(mod.replace(functions=functions), target, name)
    by_name = {str(f.attrs.get("global_symbol")): f for f in functions.values()}
    for kernel in kernels_of(module).by_name.values():
        info = _kernel_info(kernel.signature, by_name[kernel.name])
        builder.program.kernels[kernel.name] = info
    return module, stages


def _addresses(module: Module) -> Any:
    """The addresses of raw entries of kernels compiled in this process."""
    table = {}
    if module.names:
        table = {k.signature.symbol: k for k in kernels_of(module).by_name.values()}

    def address_of(symbol: str) -> int:
        return table[symbol].address

    return address_of


def _kernel_info(signature: Signature, func: PrimFunc) -> KernelInfo:
    """How the machine calls a kernel."""
    params: list[str] = []
    places: dict[int, tuple[int, int]] = {}
    for number, param in enumerate(signature.params):
        if not is_buffer_var(param):
            params.append(str(param.dtype))
            continue
        params.append("tensor")
        for axis, extent in enumerate(param.ty.shape):
            if isinstance(extent, Var):
                places.setdefault(id(extent), (number, axis))
    implicit: list[tuple[int, int, str]] = []
    for var in signature.implicit:
        place = places.get(id(var))
        if place is None:
            raise WorkbenchError(
                f"kernel {signature.name}: the size {var.name} is the extent of no argument",
                root=func,
                nodes=(var,),
                hint="pass it as a scalar (tir_vars of call_tir)",
            )
        implicit.append((*place, str(var.dtype)))
    return KernelInfo(
        signature.name, signature.symbol, tuple(params), tuple(implicit), kernel_origins(func)
    )


def kernel_origins(func: PrimFunc) -> tuple[str, ...]:
    """The operators that a kernel implements, by name, in order."""
    spans = getattr(func.span, "spans", None) or (func.span,)
    found = []
    for span in spans:
        origin = span.origin if span is not None else None
        if origin is not None:
            found.append(origin_text(origin))
    return tuple(found)


def origin_text(origin: Any) -> str:
    """What a kernel comes from, as a person names it: the operator of a call, or the given text."""
    if isinstance(origin, Call) and isinstance(origin.op, Op):
        return origin.op.name.removeprefix("relax.")
    return origin if isinstance(origin, str) else type(origin).__name__


__all__ = ["ExecBuilder", "VMExecutable", "build", "kernel_origins", "origin_text"]
