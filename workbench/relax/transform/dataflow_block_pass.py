"""`dataflowblock_pass`: TVM's decorator for passes over dataflow blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.traverse import rewrite
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, function_pass_decorator
from workbench.relax.expr import DataflowBlock, Function


def dataflowblock_pass(
    pass_func: Any = None,
    opt_level: int = 0,
    name: str | None = None,
    required: Sequence[str] = (),
    traceable: bool = False,
) -> Any:
    """A pass from `f(block, mod, ctx)`, called with every dataflow block of the Relax functions.

    A class with `transform_dataflowblock(self, block, mod, ctx)` gives a pass class.
    """

    def make(target: Any) -> Any:
        title = name or target.__name__
        if isinstance(target, type):

            def build(*args: Any, **options: Any) -> Any:
                owner: Any = target(*args, **options)
                return _pass(owner.transform_dataflowblock, opt_level, title, required)

            return build
        return _pass(target, opt_level, title, required)

    return make if pass_func is None else make(pass_func)


def _pass(visit: Callable[..., Any], opt_level: int, name: str, required: Sequence[str]) -> Any:
    def run(func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, {DataflowBlock: lambda block: visit(block, mod, ctx)})

    return function_pass_decorator(Function)(run, opt_level, name, required)


__all__ = ["dataflowblock_pass"]
