"""EliminateCommonSubexpr: what is computed twice is computed once."""

from __future__ import annotations

from typing import Any

from workbench.core.structural import structural_equal, structural_hash
from workbench.ir.expr import Call, Var
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import (
    Constant,
    DataflowVar,
    Function,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from workbench.relax.transform.purity import is_impure
from workbench.relax.transform.rewriter import BindingRewriter


@define_pass("relax.EliminateCommonSubexpr", level="function_in_module", on=Function)
def EliminateCommonSubexpr(
    func: Function, mod: IRModule, ctx: PassContext, *, call_only: bool = False
) -> Function:
    """Replaces a pure expression by the variable that holds an equal one already.

        lv = R.exp(x);  lv1 = R.exp(x);  gv = R.add(lv, lv1)
        →
        lv = R.exp(x);  gv = R.add(lv, lv)

    call_only : leave tuples and their fields alone.
    """
    kinds = (Call,) if call_only else (Call, Tuple, TupleGetItem)
    scopes: list[dict[Any, tuple[Var, Any]]] = [{}]

    def visit(binding: Any, run: BindingRewriter) -> None:
        value = binding.value
        if (
            isinstance(binding, VarBinding)
            and isinstance(value, kinds)
            and not is_impure(value, mod)
        ):
            key = _key(value)
            found = scopes[-1].get(key)
            if found is not None and _same(found[1], value) and _visible(found[0], binding.var):
                run.replace(binding.var, found[0])
                return
            scopes[-1].setdefault(key, (binding.var, value))
        run.keep(binding)

    return _Scoped(visit, BlockBuilder(), scopes).function(func)


class _Scoped(BindingRewriter):
    """A rewriter in which the values known in a branch are forgotten after it."""

    def __init__(self, visit: Any, builder: BlockBuilder, scopes: list[dict[Any, Any]]) -> None:
        super().__init__(visit, builder)
        self.scopes = scopes

    def seq(self, seq: SeqExpr) -> SeqExpr:
        """A body in a scope of its own."""
        self.scopes.append(dict(self.scopes[-1]))
        try:
            return super().seq(seq)
        finally:
            self.scopes.pop()


def _visible(known: Var, other: Var) -> bool:
    """A value that leaves its block is not replaced by one that does not."""
    return not isinstance(known, DataflowVar) or isinstance(other, DataflowVar)


def _operand_key(value: Any) -> Any:
    """Constants count as equal only if they are the same object: their content is large."""
    if isinstance(value, (Var, Constant)):
        return id(value)
    if isinstance(value, Tuple):
        return tuple(map(_operand_key, value.fields))
    return structural_hash(value)


def _key(value: Any) -> Any:
    if isinstance(value, Tuple):
        return ("tuple", _operand_key(value))
    if isinstance(value, TupleGetItem):
        return ("field", _operand_key(value.tuple_value), value.index)
    rest = structural_hash((value.attrs, value.ty_args))
    return (_operand_key(value.op), tuple(map(_operand_key, value.args)), rest)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Call):
        return structural_equal((a.op, a.attrs, a.ty_args), (b.op, b.attrs, b.ty_args))
    return True
