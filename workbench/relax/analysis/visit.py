"""Traversal of graph programs in TVM's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.core.node import Node
from workbench.ir.expr import Call, Expr, Var, is_prim_expr
from workbench.relax.expr import Constant, Function, SeqExpr


def post_order_visit(expr: Node, fvisit: Callable[[Any], Any]) -> None:
    """Calls `fvisit` with every expression after its children, each object once."""
    seen: set[int] = set()
    stack: list[tuple[Any, bool]] = [(expr, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            fvisit(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((c, False) for c in reversed(_operands(node)))


def _operands(node: Any) -> list[Any]:
    """The expressions directly below an expression, with those inside blocks."""
    if isinstance(node, (Var, Constant)) or is_prim_expr(node):
        return []
    if isinstance(node, Call):
        return [node.op, *node.args]
    if isinstance(node, SeqExpr):
        found: list[Any] = []
        for block in node.blocks:
            for binding in block.bindings:
                found += [binding.value, binding.var]  # type: ignore[attr-defined]
        return [*found, node.body]
    if isinstance(node, Function):
        return [*node.params, node.body]
    return [c for c in node.children() if isinstance(c, Expr)]


__all__ = ["post_order_visit"]
