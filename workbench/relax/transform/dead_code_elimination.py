"""DeadCodeElimination: what nothing uses goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import GlobalVar, Var
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.analysis.variables import all_global_vars, definable_tir_vars_in_type
from workbench.relax.expr import Binding, Function, If, MatchCast, SeqExpr
from workbench.relax.transform.purity import is_impure


@define_pass("relax.DeadCodeElimination")
def DeadCodeElimination(
    mod: IRModule, ctx: PassContext, *, entry_functions: Sequence[str] | None = None
) -> IRModule:
    """Removes bindings without users and functions that no entry function reaches.

        lv = R.exp(x);  lv1 = R.log(x);  gv = R.negative(lv)
        →
        lv = R.exp(x);  gv = R.negative(lv)

    Calls with effects stay. entry_functions : names to keep; by default all functions with a
    `global_symbol` (if none has one, all Relax functions).
    """
    functions: dict[GlobalVar, Any] = {}
    for gvar, func in mod.functions.items():
        functions[gvar] = _function(func, mod) if isinstance(func, Function) else func
    reached = _reachable(functions, entry_functions)
    functions = {g: f for g, f in functions.items() if g in reached}
    same = len(functions) == len(mod.functions) and all(
        f is mod.functions[g] for g, f in functions.items()
    )
    return mod if same else mod.replace(functions=functions)


def _reachable(functions: dict[GlobalVar, Any], names: Sequence[str] | None) -> set[GlobalVar]:
    if names is not None:
        entries = [g for g in functions if g.name_hint in set(names)]
    else:
        entries = [g for g, f in functions.items() if "global_symbol" in f.attrs]
        entries = entries or [g for g, f in functions.items() if isinstance(f, Function)]
        entries = entries or list(functions)
    reached: set[GlobalVar] = set()
    stack = list(entries)
    while stack:
        gvar = stack.pop()
        if gvar in reached or gvar not in functions:
            continue
        reached.add(gvar)
        stack.extend(all_global_vars(functions[gvar]))
    return reached


def _function(func: Function, mod: IRModule) -> Function:
    body = _seq(func.body, mod, set())
    return func if body is func.body else func.replace(body=body)


def _seq(seq: SeqExpr, mod: IRModule, used: set[int]) -> SeqExpr:
    """The body without unused bindings; adds the variables it uses to `used`."""
    used.update(_names(seq.body))
    blocks = []
    changed = False
    for block in reversed(seq.blocks):
        kept: list[Binding] = []
        for binding in reversed(block.bindings):
            new = _binding(binding, mod, used)
            changed = changed or new is not binding
            if new is not None:
                kept.append(new)
        blocks.append(block.replace(bindings=tuple(reversed(kept))) if changed else block)
    return seq.replace(blocks=tuple(reversed(blocks))) if changed else seq


def _binding(binding: Any, mod: IRModule, used: set[int]) -> Binding | None:
    """The binding as it stays, or None. (Bindings come last first.)"""
    value = binding.value
    defines = (
        {id(v) for v in definable_tir_vars_in_type(binding.ty)}
        if isinstance(binding, MatchCast)
        else set()
    )
    wanted = id(binding.var) in used or bool(defines & used) or isinstance(binding, MatchCast)
    if not wanted and not is_impure(value, mod):
        return None
    used.update(_names(binding.var.ty))
    if isinstance(value, If):
        used.update(_names(value.cond))
        yes, no = _seq(value.true_branch, mod, used), _seq(value.false_branch, mod, used)
        if yes is value.true_branch and no is value.false_branch:
            return binding
        return binding.replace(value=value.replace(true_branch=yes, false_branch=no))
    used.update(_names(value))
    return binding


def _names(node: Any) -> set[int]:
    return {id(v) for v in iter_nodes(node, Var)}
