"""What the CPU rules need to know of a target: vector lanes, registers, threads."""

from __future__ import annotations

from workbench.runtime.dtype import DataType
from workbench.runtime.threads import num_threads
from workbench.target import Target
from workbench.target.codegen.machine import machine_of

#: A parallel loop pays off above this many cycles of work.
PARALLEL_CYCLES = 20_000


class Cpu:
    """A CPU as the rules see it."""

    def __init__(self, target: Target) -> None:
        self.vector_bits = machine_of(target).vector_bits
        self.threads = int(target.get("num-cores") or num_threads())
        self.registers = 32 if self.vector_bits >= 512 else 16

    def lanes(self, dtype: str) -> int:
        """Elements of a data type in a vector register, at least 1."""
        return max(1, self.vector_bits // max(8, DataType(dtype).bits))


def is_cpu(target: Target) -> bool:
    """Whether the rules here are for a target."""
    return "cpu" in target.keys
