"""Visitors, mutators and traversal functions of statements, for programs written for TVM.

The compiler itself uses `core.walk`, `core.rewrite` and `core.substitute`. The classes are those of
`tirx.functor` with TVM's older method names (`visit_block_`, `visit_seqstmt_` …).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.core.traverse import substitute as replace_vars
from workbench.ir.expr import Var, as_expr
from workbench.tirx.expr_functor import METHODS_BY_OLDER_NAMES
from workbench.tirx.functor import Functor, MutatorBase, VisitorBase, add_methods, map_parts, parts
from workbench.tirx.stmt import Stmt


@add_methods(METHODS_BY_OLDER_NAMES, Stmt)
class StmtFunctor(Functor):
    """A function over statements: `visit_<node>_` per class, no defaults."""

    def visit_stmt_default_(self, op: Any) -> Any:
        """Called where there is no method. Raises NotImplementedError."""
        return super()._default(op)

    def _default(self, node: Any) -> Any:
        return self.visit_stmt_default_(node)


@add_methods(METHODS_BY_OLDER_NAMES, Stmt)
class StmtVisitor(VisitorBase):
    """Visits statements. Expressions are handed to `visit_expr`, which does nothing here."""

    def visit_expr(self, expr: Any) -> Any:
        """Nothing; override it to look at expressions."""


@add_methods(METHODS_BY_OLDER_NAMES, Stmt)
class StmtMutator(MutatorBase):
    """Rewrites statements. Expressions are handed to `visit_expr`, which keeps them here."""

    def visit_expr(self, expr: Any) -> Any:
        """The expression itself; override it to rewrite expressions."""
        return expr


@add_methods(METHODS_BY_OLDER_NAMES)
class StmtExprVisitor(VisitorBase):
    """Visits statements and expressions."""


@add_methods(METHODS_BY_OLDER_NAMES)
class StmtExprMutator(MutatorBase):
    """Rewrites statements and expressions."""


def post_order_visit(node: Any, fvisit: Callable[[Any], Any]) -> None:
    """Calls `fvisit` with every expression and statement after its children, each object once."""
    seen: set[int] = set()
    stack: list[tuple[Any, bool]] = [(node, False)]
    while stack:
        item, ready = stack.pop()
        if ready:
            fvisit(item)
        elif id(item) not in seen:
            seen.add(id(item))
            stack.append((item, True))
            stack.extend((part, False) for part in reversed(list(parts(item))))


def pre_order_visit(node: Any, fvisit: Callable[[Any], bool]) -> None:
    """Calls `fvisit` with a node before its children, and goes into them if it returns True."""
    seen: set[int] = set()
    stack: list[Any] = [node]
    while stack:
        item = stack.pop()
        if id(item) not in seen:
            seen.add(id(item))
            if fvisit(item):
                stack.extend(reversed(list(parts(item))))


def ir_transform(
    stmt: Stmt,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """Rewrites a statement.

    Parameters
    ----------
    preorder : called with a node before its children; what it returns, unless None, takes the
        node's place and is not gone into.
    postorder : called with the rebuilt node; what it returns, unless None, takes its place.
    only_enable : type keys ("tirx.Evaluate", "ir.Call") of the nodes the functions are called with.
    """
    keys = None if only_enable is None else set(only_enable)

    def visit(node: Any) -> Any:
        chosen = keys is None or type(node).__type_key__ in keys
        if chosen and preorder is not None:
            new = preorder(node)
            if new is not None:
                return new
        node = map_parts(node, visit)
        if chosen and postorder is not None:
            new = postorder(node)
            if new is not None:
                return new
        return node

    return visit(stmt)


def substitute(node: Any, vmap: Mapping[Var, Any]) -> Any:
    """Replaces variables by expressions (numbers are made constants of the variable's type)."""

    def image(var: Var, value: Any) -> Any:
        if isinstance(value, (int, float)):
            return as_expr(value).astype(str(var.dtype))
        return as_expr(value)

    return replace_vars(node, {var: image(var, value) for var, value in vmap.items()})


__all__ = [
    "StmtExprMutator",
    "StmtExprVisitor",
    "StmtFunctor",
    "StmtMutator",
    "StmtVisitor",
    "ir_transform",
    "post_order_visit",
    "pre_order_visit",
    "substitute",
]
