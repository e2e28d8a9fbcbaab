"""What compiling a graph program gives: its kernels, its program, and every stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from workbench.runtime.executable import Executable, Stage
from workbench.runtime.module import Module, load_module
from workbench.runtime.vm.bytecode import Program

#: The name under which an exported library carries its program.
EMBEDDED = "workbench_vm_program"


class VMExecutable(Executable):
    """A compiled graph program; `relax.VirtualMachine(exe)` runs it.

    Parameters
    ----------
    mod : the compiled kernels. program : the bytecode with its constants.
    address_of : the address of a kernel's raw entry, by symbol.
    embed : makes object files of bytes, for `export_library`.
    """

    def __init__(
        self,
        mod: Module,
        program: Program,
        address_of: Callable[[str], int],
        stages: Sequence[Stage] = (),
        embed: Callable[[str, bytes], list[bytes]] | None = None,
    ) -> None:
        super().__init__(mod, stages)
        self.program = program
        self.address_of = address_of
        self._embed = embed
        self._machine: Any = None

    def machine(self) -> Any:
        """A virtual machine for this executable, made on first use."""
        if self._machine is None:
            from workbench.runtime.vm.machine import VirtualMachine

            self._machine = VirtualMachine(self)
        return self._machine

    def as_text(self) -> str:
        """The bytecode as text."""
        return self.program.as_text()

    def as_python(self) -> str:
        """The bytecode as a Python program that builds it."""
        return self.program.as_python()

    def stats(self) -> str:
        """How large the program is."""
        return self.program.stats()

    def __getitem__(self, name: str) -> Any:
        """A function of the program, or a compiled kernel."""
        if name in self.program.functions:
            return self.machine()[name]
        return self.mod[name]

    def __call__(self, *args: Any) -> Any:
        """Calls `main`."""
        return self.machine()(*args)

    def time_evaluator(self, func_name: str, *args: Any, **options: Any) -> Any:
        """See `VirtualMachine.time_evaluator`; kernels are timed by the module."""
        if func_name in self.program.functions:
            return self.machine().time_evaluator(func_name, *args, **options)
        return self.mod.time_evaluator(func_name, *args, **options)

    def export_library(self, file_name: Any, **options: Any) -> Path:
        """Writes kernels, bytecode and constants as one shared library.

        `runtime.load_module` reads it, also in a process without any compiler. Raises ModuleError
        if the executable was made for another kind of file.
        """
        from workbench.runtime.module import ModuleError

        if self._embed is None:
            raise ModuleError("this executable cannot be exported: it was not made by relax.build")
        extra = self._embed(EMBEDDED, self.program.to_bytes())
        whole = Module(
            kind=self.mod.kind,
            lookup=self.mod.find,
            names=self.mod.names,
            objects=[*self.mod.objects, *extra],
        )
        return whole.export_library(file_name, **options)

    def __repr__(self) -> str:
        names = ", ".join(self.program.functions)
        return f"VMExecutable({names}: {len(self.program.kernels)} kernels)"


def load_executable(path: str | Path) -> VMExecutable:
    """An executable from a library written by `export_library`."""
    from workbench.runtime.vm.kernels import addresses_of

    module = load_module(path)
    program = Program.from_bytes(module.embedded(EMBEDDED))
    return VMExecutable(module, program, addresses_of(module))
