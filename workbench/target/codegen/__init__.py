"""Code generation for CPUs: lowered loop IR → LLVM IR text → object code → callable functions.

`llvm.generate` writes the IR, `compile.optimise` runs LLVM, `jit` links into the process, `build`
puts them together. `kernels_of(module)` gives what can be looked at.
"""

from workbench.target.codegen.build import Kernel, Kernels, build, kernels_of
from workbench.target.codegen.machine import CodegenError

__all__ = ["CodegenError", "Kernel", "Kernels", "build", "kernels_of"]
