"""What compiling gives: a module that runs, and every stage it went through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.core.live import Live
from workbench.runtime.function import PackedFunc
from workbench.runtime.module import Module


@dataclass(eq=False)
class Stage:
    """One artefact of a compilation.

    `name` is "relax", "tirx", "llvm-ir", "asm" …, `language` how to highlight it, `source` its text
    (or a function that makes it), `line_map` line number → line numbers in the stage before.
    `value` is the program behind the text where it is more than text (an IRModule).
    """

    name: str
    language: str
    source: str | Callable[[], str]
    line_map: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    value: Any = None

    @cached_property
    def text(self) -> str:
        """The text of the stage."""
        return self.source if isinstance(self.source, str) else self.source()

    def __repr__(self) -> str:
        return f"Stage({self.name!r}, {len(self.line_map)} mapped lines)"


class Executable(Live):
    """A compiled module: call it, index it by function name, look at its `stages`, export it."""

    def __init__(self, mod: Module, stages: Sequence[Stage] = ()) -> None:
        self.mod = mod
        self.stages: tuple[Stage, ...] = tuple(stages)

    def jit(self, **_options: Any) -> Module:
        """The module that runs."""
        return self.mod

    def stage(self, name: str) -> Stage:
        """The stage of that name. Raises `KeyError` listing the names there are."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(f"no stage {name!r}; stages: {', '.join(s.name for s in self.stages)}")

    def inspect_source(self, fmt: str = "") -> str:
        """The text of a format, see `Module.inspect_source`."""
        return self.mod.inspect_source(fmt)

    def __getitem__(self, name: str) -> PackedFunc:
        return self.mod[name]

    def __call__(self, *args: Any) -> Any:
        """Calls the only function, or `main`."""
        return self.mod(*args)

    def time_evaluator(self, func_name: str, *args: Any, **options: Any) -> Any:
        """See `Module.time_evaluator`."""
        return self.mod.time_evaluator(func_name, *args, **options)

    def export_library(self, file_name: Any, **options: Any) -> Any:
        """See `Module.export_library`."""
        return self.mod.export_library(file_name, **options)

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{type(self).__name__} holds machine code and cannot be pickled: write it with"
            " exe.export_library(path) and read it with workbench.runtime.load_module(path)"
        )

    def __repr__(self) -> str:
        return f"Executable({self.mod!r}, stages: {', '.join(s.name for s in self.stages)})"
