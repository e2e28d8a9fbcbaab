"""LLVM IR text → optimised IR, assembly and object code.

Every compile has its own LLVM context. Object code is kept in the user's cache folder under a hash
of the text, the machine and LLVM's version; assembly and optimised IR are made when asked for.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.target.codegen import object_cache
from workbench.target.codegen.machine import CodegenError, Machine, llvm, machine_of, target_machine
from workbench.target.target import Target

_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")


@dataclass
class Compiled:
    """One compiled module. `seconds` has the time of each step that ran."""

    ir: str
    machine: Machine
    opt_level: int
    obj: bytes
    from_cache: bool
    seconds: dict[str, float] = field(default_factory=dict)

    @cached_property
    def optimised_ir(self) -> str:
        """The IR after LLVM's passes."""
        module, _ = _optimised(self.ir, self.machine, self.opt_level, {})
        return str(module)

    @cached_property
    def asm(self) -> str:
        """The assembly text, with `.loc` directives where there is debug information."""
        module, tm = _optimised(self.ir, self.machine, self.opt_level, {})
        return str(tm.emit_assembly(module))


def optimise(ir_text: str, target: Target) -> Compiled:
    """Optimises IR for a target and makes object code.

    Raises `CodegenError` with LLVM's message if the text is not valid IR.
    """
    machine, level = machine_of(target), int(target.get("opt-level", 3))
    return compile_ir(ir_text, machine, level, use_cache=bool(target.get("cache", True)))


def compile_ir(
    ir_text: str, machine: Machine, opt_level: int = 3, *, use_cache: bool = True
) -> Compiled:
    """Like `optimise`, for a machine."""
    found = cached(ir_text, machine, opt_level) if use_cache else None
    if found is not None:
        return found
    seconds: dict[str, float] = {}
    module, tm = _optimised(ir_text, machine, opt_level, seconds)
    start = time.perf_counter()
    obj = bytes(tm.emit_object(module))
    seconds["emit"] = time.perf_counter() - start
    made = Compiled(ir_text, machine, opt_level, obj, False, seconds)
    if use_cache:
        keep(made)
    return made


def _key(ir_text: str, machine: Machine, opt_level: int) -> str:
    return object_cache.key_of(ir_text, f"{machine.key()}/O{opt_level}", llvm().llvm_version_info)


def cached(ir_text: str, machine: Machine, opt_level: int) -> Compiled | None:
    """What an earlier compile left in the cache folder, or None."""
    found = object_cache.load(_key(ir_text, machine, opt_level))
    return None if found is None else Compiled(ir_text, machine, opt_level, found, True)


def keep(made: Compiled) -> None:
    """Puts object code into the cache folder."""
    object_cache.store(_key(made.ir, made.machine, made.opt_level), made.obj)


def _optimised(
    ir_text: str, machine: Machine, opt_level: int, seconds: dict[str, float]
) -> tuple[Any, Any]:
    """Parses and optimises in a context of its own; returns the module and its target machine."""
    binding = llvm()
    tm = target_machine(machine, opt_level)
    start = time.perf_counter()
    try:
        module = binding.parse_assembly(ir_text, binding.create_context())
        module.triple = machine.triple
        # Without the data layout LLVM has no cost model and hardly vectorises.
        module.data_layout = str(tm.target_data)
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM refuses the generated code: {str(error).strip()}") from error
    parsed = time.perf_counter()
    if opt_level > 0:
        tuning = binding.create_pipeline_tuning_options(opt_level)
        tuning.loop_vectorization = tuning.slp_vectorization = opt_level >= 2
        tuning.loop_interleaving = tuning.loop_unrolling = True
        builder = binding.create_pass_builder(tm, tuning)
        builder.getModulePassManager().run(module, builder)
    seconds["parse"] = parsed - start
    seconds["optimise"] = time.perf_counter() - parsed
    return module, tm


def line_map(asm: str) -> dict[int, tuple[int, ...]]:
    """Line of the assembly → line of the source that its debug location names (lines from 1)."""
    out: dict[int, tuple[int, ...]] = {}
    current = 0
    for number, text in enumerate(asm.splitlines(), 1):
        found = _LOC.match(text)
        if found:
            current = int(found[2])
        elif text.startswith("\t") and not text.startswith("\t."):
            if current:
                out[number] = (current,)
        elif text and not text[0].isspace() and not text.startswith("."):
            current = 0  # a new function
    return out
