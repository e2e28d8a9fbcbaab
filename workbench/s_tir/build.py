"""From loop programs to machine code: lower, generate, link; every stage is kept.

exe = build(func)                  # a PrimFunc or a module of them
exe["main"](a, b, c)
exe.stage("asm").text
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes
from workbench.ir.module import IRModule
from workbench.ir.transform import Pass
from workbench.runtime.executable import Executable, Stage
from workbench.runtime.module import Module
from workbench.s_tir.pipeline import get_tir_pipeline
from workbench.script import print_with_ranges
from workbench.target.codegen import build as generate
from workbench.target.codegen import kernels_of
from workbench.target.codegen.build import LazyMap
from workbench.target.target import Target
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Stmt


class Printed:
    """A module as text, with the lines of its nodes; made when first looked at."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod

    @cached_property
    def _made(self) -> tuple[str, Mapping[int, Any]]:
        return print_with_ranges(self.mod)

    @property
    def text(self) -> str:
        """The TVMScript of the module."""
        return self._made[0]

    @cached_property
    def lines(self) -> Mapping[int, int]:
        """`id(node)` → the line (from 1) where it starts."""
        text, ranges = self._made
        starts = [0]
        for i, char in enumerate(text):
            if char == "\n":
                starts.append(i + 1)
        return {key: bisect.bisect_right(starts, r[0][0]) for key, r in ranges.items() if r}


class Statements:
    """Numbers for the statements of a module, to be turned into printed lines when looked at.

    Debug locations carry the numbers; printing a large module only to know its lines would cost as
    much as lowering it.
    """

    def __init__(self) -> None:
        self.numbered: list[Stmt] = []

    def lines_of(self, name: str, func: PrimFunc) -> Mapping[int, int]:
        """What the code generator asks for: `id(statement)` → its number, counted from 1."""
        first = len(self.numbered) + 1
        self.numbered.extend(iter_nodes(func.body, Stmt))
        return {id(s): first + i for i, s in enumerate(self.numbered[first - 1 :])}

    def located(self, stage: Stage, printed: Printed) -> Stage:
        """The stage with a line map to the printed module instead of to the numbers."""
        numbers = stage.line_map

        def lines() -> dict[int, tuple[int, ...]]:
            where = printed.lines
            found: dict[int, tuple[int, ...]] = {}
            for line, statements in numbers.items():
                ids = (id(self.numbered[n - 1]) for n in statements)
                places = tuple(where[i] for i in ids if i in where)
                if places:
                    found[line] = places
            return found

        return Stage(stage.name, stage.language, stage.source, LazyMap(lines), stage.value)


def as_module(value: IRModule | PrimFunc) -> IRModule:
    """A module whose functions are named for the outside.

    A bare function becomes `main`. In a module without any `global_symbol`, every function gets its
    own name as one; otherwise those without it stay private.
    """
    if isinstance(value, PrimFunc):
        name = str(value.attrs.get("global_symbol", "main"))
        return IRModule({name: value.with_attr("global_symbol", name)})
    if not isinstance(value, IRModule):
        raise WorkbenchError(
            f"build: expected an IRModule or a PrimFunc, got {type(value).__name__}"
        )
    functions = value.functions
    if any("global_symbol" in f.attrs for f in functions.values()):
        return value
    return value.replace(
        functions={g: f.with_attr("global_symbol", g.name_hint) for g, f in functions.items()}
    )


def as_target(target: Any) -> Target:
    """A target from a name, a mapping, a Target, or the current one (`llvm` outside any)."""
    if target is None:
        return Target.current(allow_none=True) or Target("llvm")
    return target if isinstance(target, Target) else Target(target)


def lower(mod: IRModule, target: Target, pipeline: str | Pass | None = None) -> IRModule:
    """Runs a lowering pipeline (by name, or a pass)."""
    passes = pipeline if isinstance(pipeline, Pass) else get_tir_pipeline(pipeline, target)
    return passes(mod)


def build_kernels(
    mod: IRModule, target: Target, pipeline: str | Pass | None = None
) -> tuple[Module, list[Stage]]:
    """Lowers and compiles the PrimFuncs of a module.

    Returns the module of kernels and the stages from the loops on: `tirx` (as given),
    `tirx-lowered`, `llvm-ir`, `llvm-ir-optimised`, `asm`; the lines of the assembly map to those of
    `tirx-lowered`.
    """
    before = Printed(mod)
    lowered = lower(mod, target, pipeline)
    after = Printed(lowered)
    statements = Statements()
    kernels = generate(lowered, target, statements.lines_of)
    stages = [
        Stage("tirx", "python", lambda: before.text, value=mod),
        Stage("tirx-lowered", "python", lambda: after.text, value=lowered),
        *(
            statements.located(s, after) if s.name == "asm" else s
            for s in kernels_of(kernels).stages()
        ),
    ]
    return kernels, stages


def build(
    mod: IRModule | PrimFunc, target: Any = None, pipeline: str | Pass | None = None
) -> Executable:
    """Compiles loop programs for a target.

    Parameters
    ----------
    mod : a PrimFunc, or a module; see `as_module` for which functions can be called.
    target : a Target or what makes one; default: the current target, else `llvm` for this machine.
    pipeline : a lowering pipeline, by name or as a pass (default: "default").
    """
    named = as_module(mod)
    kernels, stages = build_kernels(named, as_target(target), pipeline)
    return Executable(kernels, stages)
