"""CanonicalizeBindings: no variable is only another name of a variable."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Var
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.analysis import is_base_of
from workbench.relax.analysis.variables import definable_tir_vars_in_type
from workbench.relax.expr import (
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings


@define_pass("relax.CanonicalizeBindings", level="function", on=Function)
def CanonicalizeBindings(func: Function, ctx: PassContext) -> Function:
    """Removes aliases, fields taken from known tuples, and casts that say nothing new.

    lv = R.exp(x);  lv1 = lv;  t = (lv1, x);  lv2 = t[0];  gv = lv2
    →
    gv = R.exp(x)
    """
    outputs = _outputs(func)
    tuples: dict[int, Tuple] = {}

    def visit(binding: Any, run: BindingRewriter) -> None:
        value = binding.value
        if isinstance(value, TupleGetItem):
            known = value.tuple_value
            known = tuples.get(id(known)) if isinstance(known, Var) else known
            if isinstance(known, Tuple):
                value = known.fields[value.index]
                binding = binding.replace(value=value)
        if value is binding.var:
            return  # the output binding of a value that took its name above
        if isinstance(value, Var) and _says_nothing(binding):
            run.replace(binding.var, value)
            return
        out = outputs.get(id(binding.var))
        if out is not None:  # the variable that leaves the block names the value itself
            run.replace(binding.var, out)
            binding = binding.replace(var=out)
        if isinstance(value, Tuple):
            tuples[id(binding.var)] = value
        run.keep(binding)

    return rewrite_bindings(func, visit)


def _says_nothing(binding: Any) -> bool:
    """Whether a binding of a variable can be dropped."""
    if not isinstance(binding, MatchCast):
        return True
    fresh = definable_tir_vars_in_type(binding.ty)
    known = {id(v) for v in iter_nodes(binding.value.ty, Var)}
    return all(id(v) in known for v in fresh) and is_base_of(binding.ty, binding.value.ty)


def _outputs(func: Function) -> dict[int, Var]:
    """Dataflow variables → the variable under which their value leaves the block."""
    out: dict[int, Var] = {}
    for block in iter_nodes(func, DataflowBlock):
        for binding in block.bindings:
            value = binding.value
            if (
                isinstance(binding, VarBinding)
                and not isinstance(binding.var, DataflowVar)
                and isinstance(value, DataflowVar)
            ):
                out.setdefault(id(value), binding.var)
    return out
