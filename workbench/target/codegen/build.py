"""Lowered functions → a module that runs: LLVM IR, object code, link, packed functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.ir.module import IRModule
from workbench.runtime.executable import Stage
from workbench.runtime.module import Module
from workbench.target.codegen import jit
from workbench.target.codegen.compile import Compiled, line_map
from workbench.target.codegen.compile_pool import CompilePool, Job, helpers_for
from workbench.target.codegen.llvm import KernelIR, generate
from workbench.target.codegen.machine import CodegenError, machine_of
from workbench.target.codegen.signature import Signature
from workbench.target.target import Target
from workbench.tirx.function import PrimFunc

#: Gives, for a function, `id(statement)` → line in the printed module.
LinesOf = Callable[[str, PrimFunc], Mapping[int, int]]


@dataclass
class Kernel:
    """One compiled function."""

    name: str
    ir: KernelIR
    compiled: Compiled
    linked: jit.Linked | None = None

    @property
    def signature(self) -> Signature:
        """Its interface."""
        return self.ir.signature

    @property
    def address(self) -> int:
        """The address of the raw entry (see `Signature`)."""
        if self.linked is None:
            raise CodegenError(f"{self.name} was compiled for another machine and is not linked")
        return self.linked.addresses[self.signature.symbol]


class Kernels:
    """The compiled functions of a module, in order, and what can be looked at: `stages`."""

    def __init__(self, kernels: list[Kernel], target: Target) -> None:
        self.by_name = {k.name: k for k in kernels}
        self.target = target

    def _joined(self, text: Callable[[Kernel], str]) -> str:
        return "\n".join(f"; {k.name}\n{text(k)}" for k in self.by_name.values())

    def llvm_ir(self) -> str:
        """The generated IR of all functions."""
        return self._joined(lambda k: k.ir.text)

    def optimised_ir(self) -> str:
        """The IR of all functions after LLVM's passes."""
        return self._joined(lambda k: k.compiled.optimised_ir)

    def asm(self) -> str:
        """The assembly of all functions."""
        return "\n".join(f"# {k.name}\n{k.compiled.asm}" for k in self.by_name.values())

    def asm_lines(self) -> dict[int, tuple[int, ...]]:
        """Line of `asm()` → lines of the printed module before."""
        return line_map(self.asm())

    def stages(self) -> list[Stage]:
        """The artefacts after the loop IR, in order; each text is made when first looked at."""
        return [
            Stage("llvm-ir", "llvm", self.llvm_ir),
            Stage("llvm-ir-optimised", "llvm", self.optimised_ir),
            Stage("asm", "asm", self.asm, LazyMap(self.asm_lines)),
        ]


class LazyMap(Mapping[int, tuple[int, ...]]):
    """A mapping that is computed when first looked at."""

    def __init__(self, make: Callable[[], dict[int, tuple[int, ...]]]) -> None:
        self._make = make
        self._made: dict[int, tuple[int, ...]] | None = None

    def _get(self) -> dict[int, tuple[int, ...]]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, key: int) -> tuple[int, ...]:
        return self._get()[key]

    def __iter__(self) -> Any:
        return iter(self._get())

    def __len__(self) -> int:
        return len(self._get())


def build(mod: IRModule, target: Target, lines_of: LinesOf | None = None) -> Module:
    """Compiles every PrimFunc of a lowered module that has a `global_symbol`.

    Parameters
    ----------
    mod : functions lowered to flat loops; see `codegen.llvm`.
    lines_of : line numbers of statements in the printed module, for the line maps.

    Returns a `runtime.Module` whose `kernels` are the compiled functions. Raises `CodegenError`.
    """
    kernels = compile_kernels(mod, target, lines_of)
    if _is_native(target):
        for kernel in kernels:
            _link(kernel)
    return as_module(kernels, target)


def _is_native(target: Target) -> bool:
    here, there = jit.host_machine(), machine_of(target)
    return here.arch == there.arch and here.is_linux == there.is_linux


def compile_kernels(mod: IRModule, target: Target, lines_of: LinesOf | None = None) -> list[Kernel]:
    """Compiles, without linking, every PrimFunc that has a `global_symbol`."""
    program = {g.name_hint: f for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
    named = [(str(f.attrs["global_symbol"]), f) for f in program.values() if _is_named(f)]
    pool = CompilePool(target, helpers_for(len(named)))
    texts: list[KernelIR] = []
    jobs: list[Job] = []
    try:
        for name, func in named:
            lines = None if lines_of is None else lines_of(name, func)
            texts.append(generate(name, func, target, program, lines))
            jobs.append(pool.add(texts[-1].text))
        compiled = pool.finish(jobs)
    finally:
        pool.close()
    kernels = [
        Kernel(name, ir, made) for (name, _), ir, made in zip(named, texts, compiled, strict=True)
    ]
    if not kernels:
        raise CodegenError(
            "the module has no function to compile",
            hint='a PrimFunc needs the attribute "global_symbol"',
        )
    return kernels


def _is_named(func: PrimFunc) -> bool:
    return func.attrs.get("global_symbol") is not None


def _link(kernel: Kernel) -> None:
    signature = kernel.signature
    names = [signature.packed_symbol, signature.symbol]
    kernel.linked = jit.link_kernels(
        kernel.compiled.obj, names, parallel=kernel.ir.parallel, externs=kernel.ir.externs
    )


def as_module(kernels: list[Kernel], target: Target) -> Module:
    """A runtime module of compiled kernels."""
    table = Kernels(kernels, target)
    functions: dict[str, Any] = {}

    def lookup(name: str) -> Any:
        found = functions.get(name)
        kernel = table.by_name.get(name)
        if found is None and kernel is not None:
            if kernel.linked is None:
                raise CodegenError(
                    f"{name} was compiled for {machine_of(target).triple}, not for this machine",
                    hint="export it with export_library",
                )
            import tvm_ffi

            found = functions[name] = tvm_ffi.Function.__from_extern_c__(
                kernel.linked.addresses[kernel.signature.packed_symbol],
                keep_alive_object=kernel.linked,
            )
        return found

    objects = [k.compiled.obj for k in kernels]
    parallel = any(k.ir.parallel for k in kernels)
    objects += jit.exported_support(machine_of(target), parallel)
    return Module(
        kind=target.kind.name,
        lookup=lookup,
        names=[k.name for k in kernels],
        sources={"ll": table.llvm_ir, "ll-optimised": table.optimised_ir, "asm": table.asm},
        objects=objects,
        keep_alive=table,
        written=lambda name: {
            position: table.by_name[name].signature.params[position].name
            for position in table.by_name[name].signature.written
        },
    )


def kernels_of(module: Module) -> Kernels:
    """The compiled functions behind a module that `build` made."""
    found = module.keep_alive
    if not isinstance(found, Kernels):
        raise CodegenError(f"{module!r} was not compiled in this process")
    return found
