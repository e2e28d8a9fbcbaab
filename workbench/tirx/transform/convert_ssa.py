"""ConvertSSA: every definition has a variable of its own."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.core.traverse import bound_vars, rewrite, substitute
from workbench.ir.expr import Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx.expr import Let
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import AllocBuffer, Bind, DeclBuffer, For, SeqStmt, Stmt


@define_pass("tirx.ConvertSSA", level="function", on=PrimFunc)
def ConvertSSA(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Renames variables that are defined more than once.

    Before: `for i in range(4): …`, `for i in range(8): …` (one variable)
    After: two loops over different variables of the same name
    """
    return convert_ssa(func)


def convert_ssa(func: PrimFunc) -> PrimFunc:
    """The function with every definition renamed that comes second."""
    seen: set[int] = {id(p) for p in func.params}
    keep: list[Var] = list(func.params)

    def again(var: Var) -> bool:
        if id(var) in seen:
            return True
        seen.add(id(var))
        keep.append(var)
        return False

    def loop(node: For) -> Generator[Any, Any, Any]:
        if again(node.loop_var):
            var = _fresh(node.loop_var)
            again(var)
            node = node.replace(loop_var=var, body=substitute(node.body, {node.loop_var: var}))
        low = yield node.min
        extent = yield node.extent
        body = yield node.body
        return node.replace(min=low, extent=extent, body=body)

    def let(node: Let) -> Generator[Any, Any, Any]:
        if again(node.var):
            var = _fresh(node.var)
            again(var)
            node = Let(var, node.value, substitute(node.body, {node.var: var}), span=node.span)
        value = yield node.value
        body = yield node.body
        return node.replace(value=value, body=body)

    def sequence(node: SeqStmt) -> Generator[Any, Any, Any]:
        items = list(node.seq)
        out: list[Stmt] = []
        for position in range(len(items)):
            current = items[position]
            var = _defined(current)
            if var is not None and again(var):
                new = _fresh(var)
                again(new)
                for later in range(position + 1, len(items)):
                    items[later] = substitute(items[later], {var: new})
                current = _renamed(current, var, new)
            if var is None:
                current = yield current
            out.append(current)
        if all(a is b for a, b in zip(out, node.seq, strict=True)):
            return node
        return node.replace(seq=tuple(out))

    return func.with_body(rewrite(func.body, {For: loop, Let: let, SeqStmt: sequence}, memo=False))


def _defined(stmt: Stmt) -> Var | None:
    if isinstance(stmt, Bind):
        return stmt.var
    return stmt.buffer if isinstance(stmt, (AllocBuffer, DeclBuffer)) else None


def _renamed(stmt: Any, old: Var, new: Var) -> Stmt:
    return stmt.replace(var=new) if isinstance(stmt, Bind) else stmt.replace(buffer=new)


def _fresh(var: Var) -> Var:
    return Var(var.name, var.ty, var.span)


def renew_definitions(stmt: Any) -> Any:
    """A copy whose bound variables are new ones (symbols in their types included)."""
    mapping = {v: _fresh(v) for v in bound_vars(stmt)}
    return substitute(stmt, mapping) if mapping else stmt
