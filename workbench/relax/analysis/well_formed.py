"""Checks that a graph program means something, and says where it does not.

A program is well-formed if
* every variable is defined once, before its uses, and in their scope; symbolic dimensions likewise;
* it is in A-normal form: operands are variables, constants, shapes, scalars or tuples of those;
* everything has a type, and results have the types that were declared for them;
* dataflow variables stay in their block, and a dataflow block has neither effects nor branches;
* a function that is marked as pure has no effects (unless `relax.force_pure` is set);
* functions of the module that are called exist, and `global_symbol` agrees with the name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, Expr, GlobalVar, Op, StringImm, Var, is_prim_expr, is_prim_var
from workbench.ir.module import IRModule
from workbench.ir.type import Type
from workbench.relax.analysis.purity import is_impure_call
from workbench.relax.analysis.type_relation import BaseCheckResult, type_base_check
from workbench.relax.analysis.variables import definable_tir_vars_in_type, tir_vars_in_type
from workbench.relax.expr import (
    Binding,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
)
from workbench.tirx.analysis.well_formed import IllFormedError

_LEAVES = (Var, Constant, ShapeExpr, StringImm, DataTypeImm, GlobalVar, ExternFunc, Op)


class _Checker:
    """Collects the faults of a program: (what is wrong, the nodes it concerns)."""

    def __init__(self, mod: IRModule | None, check_ty: bool) -> None:
        self.mod = mod
        self.check_ty = check_ty
        self.faults: list[tuple[str, tuple[Any, ...]]] = []
        self.scope: dict[int, Var] = {}
        self.ever: dict[int, Var] = {}
        self.dataflow = False

    def fault(self, message: str, *nodes: Any) -> None:
        self.faults.append((message, nodes))

    # -- variables ----------------------------------------------------------------------------

    def define(self, var: Var, node: Any) -> None:
        if id(var) in self.ever:
            self.fault(f"variable {var.name} is defined more than once", node)
        self.scope[id(var)] = self.ever[id(var)] = var

    def define_symbols(self, ty: Type | None) -> None:
        """Puts the dimensions that stand alone in a type in scope."""
        for var in definable_tir_vars_in_type(ty) if ty is not None else ():
            self.scope.setdefault(id(var), var)

    def use(self, var: Var, node: Any) -> None:
        if id(var) in self.scope:
            return
        if isinstance(var, DataflowVar) and id(var) in self.ever:
            self.fault(f"variable {var.name} is used outside its dataflow block", node)
        elif is_prim_var(var):
            self.fault(f"symbolic dimension {var.name} is not defined", node)
        else:
            self.fault(f"variable {var.name} is used where it is not defined", node)

    def type_of(self, node: Any, ty: Type | None, what: str) -> None:
        """A type must be there, and the dimensions in it must be defined."""
        if ty is None:
            self.fault(f"{what} has no type", node)
            return
        for var in tir_vars_in_type(ty):
            self.use(var, node)

    # -- functions ----------------------------------------------------------------------------

    def function(self, func: Function) -> None:
        outer, outer_dataflow = dict(self.scope), self.dataflow
        self.dataflow = False
        for param in func.params:
            if isinstance(param, DataflowVar):
                self.fault(f"parameter {param.name} is a dataflow variable", param)
            self.define(param, param)
            self.define_symbols(param.ty)
        for param in func.params:
            self.type_of(param, param.ty, f"parameter {param.name}")
        symbols = dict(self.scope)
        self.seq(func.body)
        if func.ret_ty is not None:
            inner, self.scope = self.scope, symbols
            self.type_of(func, func.ret_ty, "the result")
            self.scope = inner
            self.fits(func.ret_ty, func.body.ty, "the result", func.body.body)
        if func.is_pure and not func.attrs.get("relax.force_pure"):
            self.pure(func.body)
        self.scope, self.dataflow = outer, outer_dataflow

    def pure(self, body: SeqExpr) -> None:
        for call in _own_calls(body):
            if is_impure_call(call, self.mod):
                self.fault("a pure function has a call with effects", call)

    def fits(self, declared: Type, found: Type | None, what: str, node: Any) -> None:
        """Two types must not be known to disagree."""
        if not self.check_ty or found is None:
            return
        if type_base_check(declared, found) in (BaseCheckResult.FAIL_L0, BaseCheckResult.FAIL_L1):
            self.fault(f"{what} is declared as {declared} but is {found}", node)

    # -- bodies -------------------------------------------------------------------------------

    def seq(self, body: Any) -> None:
        if not isinstance(body, SeqExpr):
            self.fault("a body is a SeqExpr", body)
            return
        for block in body.blocks:
            outer = self.dataflow
            self.dataflow = isinstance(block, DataflowBlock)
            for binding in block.bindings:
                self.binding(binding)
            if self.dataflow:
                for binding in block.bindings:
                    if isinstance(binding.var, DataflowVar):
                        self.scope.pop(id(binding.var), None)
            self.dataflow = outer
        self.leaf(body.body, body.body, "the value of a body")

    def binding(self, binding: Any) -> None:
        var = binding.var
        if isinstance(var, DataflowVar) and not self.dataflow:
            self.fault(f"dataflow variable {var.name} is defined outside a block", binding)
        if isinstance(binding, MatchCast):
            self.leaf(binding.value, binding, "the value of a match_cast")
            self.define_symbols(binding.ty)
            self.type_of(binding, binding.ty, "a match_cast")
        else:
            if isinstance(binding.value, Function):
                self.define(var, binding)  # a local function may call itself
                self.function(binding.value)
            else:
                self.value(binding.value, binding)
            if var.ty is not None:
                self.fits(var.ty, binding.value.ty, f"variable {var.name}", binding)
        self.type_of(binding, var.ty, f"variable {var.name}")
        if not isinstance(binding.value, Function) or isinstance(binding, MatchCast):
            self.define(var, binding)

    def value(self, value: Expr, binding: Binding) -> None:
        """What a binding may bind."""
        if isinstance(value, Call):
            self.call(value)
        elif isinstance(value, If):
            self.branches(value)
        elif isinstance(value, TupleGetItem):
            self.leaf(value.tuple_value, value, "the tuple of an access")
        elif isinstance(value, SeqExpr):
            self.fault("a binding of a sequence of bindings", binding)
        else:
            self.leaf(value, binding, "the value of a binding")

    def call(self, call: Call) -> None:
        if isinstance(call.op, GlobalVar):
            if self.mod is not None and call.op not in self.mod:
                self.fault(f"the module has no function {call.op.name_hint}", call)
        else:
            self.leaf(call.op, call, "the callee")
        for position, arg in enumerate(call.args):
            self.leaf(arg, call, f"argument {position}")
        if self.check_ty:
            self.type_of(call, call.ty, "a call")
        if self.dataflow and is_impure_call(call, self.mod):
            self.fault("a dataflow block has a call with effects", call)

    def branches(self, value: If) -> None:
        if self.dataflow:
            self.fault("a dataflow block has a branch", value)
        self.leaf(value.cond, value, "the condition")
        for branch in (value.true_branch, value.false_branch):
            outer = dict(self.scope)
            self.seq(branch)
            self.scope = outer

    def leaf(self, expr: Expr, node: Any, what: str) -> None:
        """An operand: everything else must be bound to a variable first."""
        if isinstance(expr, Tuple):
            for item in expr.fields:
                self.leaf(item, node, what)
        elif isinstance(expr, Var):
            self.use(expr, node)
        elif isinstance(expr, GlobalVar):
            if self.mod is not None and expr not in self.mod:
                self.fault(f"the module has no function {expr.name_hint}", node)
        elif isinstance(expr, ShapeExpr) or is_prim_expr(expr):
            for var in iter_nodes(expr, Var):
                self.use(var, node)
        elif not isinstance(expr, _LEAVES):
            self.fault(f"{what} is not in normal form: it is a {type(expr).__name__}", node)


def _own_calls(body: SeqExpr) -> Iterable[Call]:
    """The calls in a body and its branches, not those in local functions."""
    stack: list[Any] = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, Call):
            yield node
        if not isinstance(node, Function):
            stack.extend(c for c in node.children() if not isinstance(c, Type))


def _faults(obj: IRModule | Function, check_ty: bool) -> list[tuple[str, tuple[Any, ...]]]:
    if isinstance(obj, Function):
        checker = _Checker(None, check_ty)
        checker.function(obj)
        return checker.faults
    if not isinstance(obj, IRModule):
        raise TypeError(f"well_formed: expected a module or a function, got {type(obj).__name__}")
    checker = _Checker(obj, check_ty)
    for gvar, func in obj.functions.items():
        symbol = func.attrs.get("global_symbol")
        if symbol is not None and str(symbol) != gvar.name_hint:
            checker.fault(f"function {gvar.name_hint} has the global_symbol {symbol!r}", func)
        if isinstance(func, Function):
            checker.ever = {}  # functions may share variables, as those of one pass do
            checker.function(func)
    return checker.faults


def well_formed(obj: IRModule | Function, check_ty: bool = True) -> None:
    """Raises `IllFormedError` with the reasons if a graph program is not well-formed.

    Parameters
    ----------
    obj : a module (its Relax functions are checked) or a function.
    check_ty : whether types must be present on calls and agree with what is declared.
    """
    faults = _faults(obj, check_ty)
    if faults:
        shown = [message for message, _ in faults[:5]]
        if len(faults) > len(shown):
            shown.append(f"and {len(faults) - len(shown)} more")
        raise IllFormedError(
            "; ".join(shown), nodes=tuple(n for _, nodes in faults for n in nodes), root=obj
        )


def check_well_formed(obj: IRModule | Function, check_ty: bool = True) -> bool:
    """Whether a graph program is well-formed; `well_formed` says why not."""
    return not _faults(obj, check_ty)


__all__ = ["IllFormedError", "check_well_formed", "well_formed"]
