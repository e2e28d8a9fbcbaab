"""Which variables and symbolic dimensions a Relax program defines and uses."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import bound_vars, free_vars, iter_nodes
from workbench.ir.expr import Expr, GlobalVar, Var, is_prim_var
from workbench.ir.type import Type
from workbench.relax.expr import Binding, DataflowBlock, Function, ShapeExpr, VarBinding
from workbench.relax.type import ShapeType


def all_vars(expr: Any) -> list[Var]:
    """All Relax variables (no symbolic dimensions), in order of occurrence."""
    return [v for v in iter_nodes(expr, Var) if not is_prim_var(v)]


def relax_free_vars(expr: Any) -> list[Var]:
    """Relax variables used but not bound."""
    return [v for v in free_vars(expr) if not is_prim_var(v)]


def free_symbolic_vars(func: Any) -> list[Var]:
    """Symbolic dimensions used but not bound."""
    return [v for v in free_vars(func) if is_prim_var(v)]


def relax_bound_vars(expr: Any) -> list[Var]:
    """Variables that functions and bindings define, in order."""
    return [v for v in bound_vars(expr) if not is_prim_var(v)]


def defined_symbolic_vars(func: Function) -> list[Var]:
    """Symbolic dimensions that the parameters bind."""
    found: dict[int, Var] = {}
    for param in func.params:
        for var in definable_tir_vars_in_type(param.ty):
            found.setdefault(id(var), var)
    return list(found.values())


def tir_vars_in_type(ty: Type) -> list[Var]:
    """All symbolic dimensions in a type."""
    return [v for v in iter_nodes(ty, Var) if is_prim_var(v)]


def definable_tir_vars_in_type(ty: Type) -> list[Var]:
    """Symbolic dimensions that stand alone in a place of the type, so that a value defines them."""
    found: dict[int, Var] = {}
    for node in iter_nodes(ty, ShapeExpr, ShapeType):
        for value in node.values or ():
            if isinstance(value, Var):
                found.setdefault(id(value), value)
    return list(found.values())


def all_global_vars(expr: Any) -> list[GlobalVar]:
    """Global names used, each once."""
    found: dict[GlobalVar, None] = {}
    for gvar in iter_nodes(expr, GlobalVar):
        found.setdefault(gvar)
    return list(found)


def get_var2val(func: Function) -> dict[Var, Expr]:
    """Variable → bound value, for the bindings of a function."""
    return {b.var: b.value for b in iter_nodes(func, VarBinding)}


def name_to_binding(func: Function) -> dict[str, list[Binding]]:
    """Name → bindings of that name."""
    found: dict[str, list[Binding]] = {}
    for binding in iter_nodes(func, Binding):
        found.setdefault(binding.var.name, []).append(binding)
    return found


def udchain(dfb: DataflowBlock | Function) -> dict[Var, list[Var]]:
    """For every variable bound below, the variables whose bindings use it."""
    users: dict[Var, list[Var]] = {}
    for binding in iter_nodes(dfb, Binding):
        users.setdefault(binding.var, [])
        for used in relax_free_vars(binding.value):  # type: ignore[attr-defined]
            users.setdefault(used, []).append(binding.var)
    return users


__all__ = [
    "all_global_vars",
    "all_vars",
    "definable_tir_vars_in_type",
    "defined_symbolic_vars",
    "free_symbolic_vars",
    "get_var2val",
    "name_to_binding",
    "relax_bound_vars",
    "relax_free_vars",
    "tir_vars_in_type",
    "udchain",
]
