"""The virtual machine that runs compiled graph programs. Loads no compiler."""

from workbench.runtime.vm.builtins import ArgumentError
from workbench.runtime.vm.bytecode import (
    Arg,
    ExecBuilder,
    Instruction,
    KernelInfo,
    Opcode,
    Program,
    VMError,
    VMFunction,
)
from workbench.runtime.vm.executable import VMExecutable, load_executable
from workbench.runtime.vm.kernels import BoundKernel
from workbench.runtime.vm.machine import KernelTime, VirtualMachine, VMInstrumentReturnKind

__all__ = [
    "Arg",
    "ArgumentError",
    "BoundKernel",
    "ExecBuilder",
    "Instruction",
    "KernelInfo",
    "KernelTime",
    "Opcode",
    "Program",
    "VMError",
    "VMExecutable",
    "VMFunction",
    "VMInstrumentReturnKind",
    "VirtualMachine",
    "load_executable",
]
