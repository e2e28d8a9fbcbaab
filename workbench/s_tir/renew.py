"""renew_defs: the same function with fresh variables in every definition."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.core.traverse import iter_nodes, rewrite, substitute
from workbench.ir.expr import Expr, Var
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import AllocBuffer, Bind, DeclBuffer, For, SBlock, SeqStmt, Stmt


def _fresh(variables: Any, mapping: dict[Var, Expr]) -> None:
    for var in variables:
        mapping[var] = Var(var.name, substitute(var.ty, mapping))


def _loop(node: For) -> Generator[Any, Any, Any]:
    var = Var(node.loop_var.name, node.loop_var.ty)
    body = yield substitute(node.body, {node.loop_var: var})
    return node.replace(loop_var=var, body=body)


def _block(node: SBlock) -> Generator[Any, Any, Any]:
    mapping: dict[Var, Expr] = {}
    _fresh([v.var for v in node.iter_vars], mapping)
    _fresh(node.alloc_buffers, mapping)
    _fresh([m.buffer for m in node.match_buffers], mapping)
    new = substitute(node, mapping)
    body = yield new.body
    init = yield new.init
    if new is node and body is node.body:
        # A node of its own, so that two uses of one block become two blocks.
        new = node.replace(annotations=dict(node.annotations))
    return new.replace(body=body, init=init)


def _sequence(node: SeqStmt) -> Generator[Any, Any, Any]:
    mapping: dict[Var, Expr] = {}
    for stmt in node.seq:
        if isinstance(stmt, Bind):
            _fresh([stmt.var], mapping)
        elif isinstance(stmt, (AllocBuffer, DeclBuffer)):
            _fresh([stmt.buffer], mapping)
    items = yield substitute(node.seq, mapping)
    return SeqStmt(items)


def renew_defs(func: PrimFunc) -> PrimFunc:
    """A copy in which every parameter, loop, block and allocation defines variables of its own.

    A node that occurs several times becomes several nodes, so that a schedule can tell them apart.
    """
    mapping: dict[Var, Expr] = {}
    for param in func.params:
        _fresh([v for v in iter_nodes(param.ty, Var) if v not in mapping], mapping)
        _fresh([param], mapping)
    func = substitute(func, mapping)
    body: Stmt = rewrite(func.body, {For: _loop, SBlock: _block, SeqStmt: _sequence}, memo=False)
    return func.replace(body=body)
