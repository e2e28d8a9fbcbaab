"""Visitors and mutators of expressions, with TVM's older method names; see `tirx.functor`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.ir.expr import Expr
from workbench.tirx.functor import (
    METHODS,
    OLDER_NAMES,
    Functor,
    MutatorBase,
    VisitorBase,
    add_methods,
)

#: Node class → method of the classes here and in `stmt_functor`.
METHODS_BY_OLDER_NAMES: Mapping[type, str] = {
    cls: OLDER_NAMES.get(name, name) for cls, name in METHODS.items()
}


@add_methods(METHODS_BY_OLDER_NAMES, Expr)
class ExprFunctor(Functor):
    """A function over expressions: `visit_<node>_` per class, no defaults."""

    def visit_expr_default_(self, op: Any) -> Any:
        """Called where there is no method. Raises NotImplementedError."""
        return super()._default(op)

    def _default(self, node: Any) -> Any:
        return self.visit_expr_default_(node)


@add_methods(METHODS_BY_OLDER_NAMES, Expr)
class ExprVisitor(VisitorBase):
    """Visits expressions."""


@add_methods(METHODS_BY_OLDER_NAMES, Expr)
class ExprMutator(MutatorBase):
    """Rewrites expressions."""


__all__ = ["ExprFunctor", "ExprMutator", "ExprVisitor"]
