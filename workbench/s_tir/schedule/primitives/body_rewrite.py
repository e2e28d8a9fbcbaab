"""Rewriting the bodies of blocks so that their read and write regions follow."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from workbench.core.traverse import rewrite, substitute
from workbench.ir.expr import Expr, Var
from workbench.s_tir.analysis.access import get_sblock_read_write_region
from workbench.tirx.expr import IterVar
from workbench.tirx.stmt import SBlock

Reuse = dict[Any, Any]


class BlockRewriter:
    """`rewrite` with a table; remembers which block became which."""

    def __init__(self, table: Mapping[type, Callable[[Any], Any]], redetect: bool = False) -> None:
        self.table = dict(table)
        self.redetect = redetect
        self.reuse: Reuse = {}

    def run(self, stmt: Any) -> Any:
        """The rewritten statement."""
        return rewrite(stmt, {**self.table, SBlock: self._block}, memo=True)

    def _block(self, block: SBlock) -> Generator[Any, Any, Any]:
        new = yield block
        if new is block:
            return block
        if self.redetect:
            reads, writes = get_sblock_read_write_region(new)
            new = new.replace(reads=tuple(reads), writes=tuple(writes))
        self.reuse[block] = new
        return new


def replace_buffer(stmt: Any, old: Var, new: Var) -> tuple[Any, Reuse]:
    """A statement with a buffer replaced everywhere, and which block became which."""

    def swap(var: Var) -> Var | None:
        return new if var is old else None

    run = BlockRewriter({Var: swap})
    return run.run(stmt), run.reuse


def fresh_block(block: SBlock, **changes: Any) -> SBlock:
    """A copy of a block with block variables of its own."""
    block = block.replace(**changes)
    mapping: dict[Var, Expr] = {v.var: Var(v.var.name, v.var.ty) for v in block.iter_vars}
    return substitute(block, mapping)


def fresh_iter_vars(iter_vars: Any) -> tuple[list[IterVar], dict[Var, Expr]]:
    """Copies of block variables, and the map from the old to the new variables."""
    mapping: dict[Var, Expr] = {}
    out: list[IterVar] = []
    for v in iter_vars:
        var = Var(v.var.name, v.var.ty)
        mapping[v.var] = var
        out.append(v.replace(var=var))
    return out, mapping
