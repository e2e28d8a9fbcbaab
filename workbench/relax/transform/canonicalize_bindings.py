"""CanonicalizeBindings: no variable is only another name of a variable."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import iter_nodes, rewrite
from workbench.ir.expr import Var
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.analysis import is_base_of
from workbench.relax.analysis.variables import definable_tir_vars_in_type
from workbench.relax.expr import (
    DataflowVar,
    Function,
    MatchCast,
    Tuple,
    TupleGetItem,
)
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings


@define_pass("relax.CanonicalizeBindings", level="function", on=Function)
def CanonicalizeBindings(func: Function, ctx: PassContext) -> Function:
    """Removes aliases, fields taken from known tuples, and casts that say nothing new.

    lv = R.exp(x);  lv1 = lv;  t = (lv1, x);  lv2 = t[0];  gv = lv2
    →
    gv = R.exp(x)
    """
    outputs: dict[int, Var] = {}  # dataflow variable → the name under which its value leaves
    kept: list[Var] = []
    tuples: dict[int, Tuple] = {}

    def visit(binding: Any, run: BindingRewriter) -> None:
        value = binding.value
        if isinstance(value, TupleGetItem):
            known = value.tuple_value
            known = tuples.get(id(known)) if isinstance(known, Var) else known
            if isinstance(known, Tuple):
                value = known.fields[value.index]
                binding = binding.replace(value=value)
        if isinstance(value, Var) and _says_nothing(binding):
            if isinstance(value, DataflowVar) and not isinstance(binding.var, DataflowVar):
                kept.append(value)
                first = outputs.setdefault(id(value), binding.var)
                if first is not binding.var:
                    run.replace(binding.var, first)
            else:
                run.replace(binding.var, value)
            return
        if isinstance(value, Tuple):
            tuples[id(binding.var)] = value
        run.keep(binding)

    new = rewrite_bindings(func, visit)
    return rewrite(new, {Var: lambda v: outputs.get(id(v))}) if outputs else new


def _says_nothing(binding: Any) -> bool:
    """Whether a binding of a variable can be dropped."""
    if not isinstance(binding, MatchCast):
        return True
    fresh = definable_tir_vars_in_type(binding.ty)
    known = {id(v) for v in iter_nodes(binding.value.ty, Var)}
    return all(id(v) in known for v in fresh) and is_base_of(binding.ty, binding.value.ty)
