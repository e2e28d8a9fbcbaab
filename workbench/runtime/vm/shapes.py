"""Formulas of dimensions: `"(s0 * 16)"` as a function of the heap of sizes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache

from workbench.runtime.vm.bytecode import VMError

_NODES = (
    ast.Expression, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Call,
    ast.Name, ast.Load, ast.Constant, ast.UnaryOp, ast.USub, ast.Subscript,
)  # fmt: skip


class _Slots(ast.NodeTransformer):
    """`s3` becomes `h[3]`; every other name but min and max is refused."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in ("min", "max"):
            return node
        if node.id.startswith("s") and node.id[1:].isdigit():
            index = ast.Constant(int(node.id[1:]))
            return ast.Subscript(ast.Name("h", ast.Load()), index, ast.Load())
        raise VMError(f"a formula of sizes may name slots s0, s1 …, min and max; got {node.id!r}")


@lru_cache(maxsize=1024)
def formula(text: str) -> Callable[[list[int]], int]:
    """The function of a formula. Raises VMError for anything but integer arithmetic on slots."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise VMError(f"not a formula of sizes: {text!r}") from error
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise VMError(f"a formula of sizes is + - * // % min max, got {text!r}")
        if isinstance(node, ast.Constant) and not isinstance(node.value, int):
            raise VMError(f"a formula of sizes holds integers, got {text!r}")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise VMError(f"a formula of sizes calls min and max only, got {text!r}")
    body = _Slots().visit(tree)
    ast.fix_missing_locations(body)
    scope = {"__builtins__": {}, "min": min, "max": max}
    code = ast.fix_missing_locations(
        ast.Expression(
            ast.Lambda(ast.arguments([], [ast.arg("h")], None, [], [], None, []), body.body)
        )
    )
    return eval(compile(code, "<sizes>", "eval"), scope)
