"""Substitution that folds the integer constants it uncovers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.core.traverse import bound_vars, rewrite
from workbench.ir.expr import IntImm, Var
from workbench.tirx import op
from workbench.tirx.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Cast,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Or,
    Sub,
)

_FOLDS: dict[type, Callable[..., Any]] = {
    Add: op.add,
    Sub: op.subtract,
    Mul: op.multiply,
    FloorDiv: op.floordiv,
    FloorMod: op.floormod,
    Min: op.minimum,
    Max: op.maximum,
    And: op.logical_and,
    Or: op.logical_or,
    EQ: op.equal,
    NE: op.not_equal,
    LT: op.less,
    LE: op.less_equal,
    GT: op.greater,
    GE: op.greater_equal,
}


def _fold(node: Any) -> Any:
    if not (isinstance(node.a, IntImm) or isinstance(node.b, IntImm)):
        return node
    divides = isinstance(node, (FloorDiv, FloorMod))
    if divides and (not isinstance(node.b, IntImm) or node.b.value == 0):
        return node
    a, b = node.a, node.b
    if type(node) is Add and isinstance(b, IntImm) and type(a) is Add and isinstance(a.b, IntImm):
        return op.add(a.a, op.add(a.b, b))  # (x + 1) + 2
    new = _FOLDS[type(node)](a, b)
    same = type(new) is type(node) and new.a is node.a and new.b is node.b
    return node if same else new


def _fold_cast(node: Cast) -> Any:
    return op.cast(node.dtype, node.value) if isinstance(node.value, IntImm) else node


def substitute_fold(stmt: Any, mapping: Mapping[Var, Any], renew: bool = False) -> Any:
    """`substitute`, with integer arithmetic on constants folded.

    With `renew` the variables bound below get new ones in the same walk.
    """
    images = {id(v): (v, value) for v, value in mapping.items()}
    if renew:
        for var in bound_vars(stmt):
            images[id(var)] = (var, Var(var.name, var.ty, var.span))

    def variable(node: Var) -> Any:
        found = images.get(id(node))
        if found is not None:
            return found[1]
        return (yield node)

    table: dict[type, Any] = dict.fromkeys(_FOLDS, _fold)
    table[Cast] = _fold_cast
    table[Var] = variable
    return rewrite(stmt, table)
