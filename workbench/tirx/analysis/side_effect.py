"""Effects of expressions, comparison of expressions, variables that nothing binds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.structural import structural_equal
from workbench.core.traverse import free_vars, iter_nodes
from workbench.ir.expr import Call, Expr, Var
from workbench.tirx.expr import BufferLoad
from workbench.tirx.op.intrin import CallEffectKind, effect_of
from workbench.tirx.stmt import Break, Continue, For, Stmt, While


def side_effect(expr: Any) -> CallEffectKind:
    """The strongest effect in an expression; a load reads state."""
    worst = CallEffectKind.Pure
    for node in iter_nodes(expr, Call, BufferLoad):
        found = CallEffectKind.ReadState if isinstance(node, BufferLoad) else effect_of(node)
        if found > worst:
            worst = found
    return worst


def is_pure(expr: Any) -> bool:
    """Whether an expression neither changes nor reads memory."""
    return side_effect(expr) <= CallEffectKind.Pure


def expr_deep_equal(lhs: Expr, rhs: Expr) -> bool:
    """Whether two expressions are the same tree over the same variables."""
    return lhs is rhs or structural_equal(lhs, rhs)


def undefined_vars(node: Any, defs: Sequence[Var] | None = None) -> list[Var]:
    """Variables used but bound neither below `node` nor in `defs`, in order of first use."""
    known = {id(v) for v in defs or ()}
    return [v for v in free_vars(node) if id(v) not in known]


def uses_var(node: Any, var: Var) -> bool:
    """Whether a variable occurs below `node`."""
    return any(v is var for v in iter_nodes(node, Var))


def uses_any(node: Any, variables: set[int]) -> bool:
    """Whether one of the variables (by `id`) occurs below `node`."""
    return any(id(v) in variables for v in iter_nodes(node, Var))


def jumps_out(body: Stmt) -> bool:
    """Whether a loop's body leaves or continues that loop (not one inside it)."""
    stack: list[Any] = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, (Break, Continue)):
            return True
        if not isinstance(node, (For, While)):
            stack.extend(c for c in node.children() if isinstance(c, Stmt))
    return False
