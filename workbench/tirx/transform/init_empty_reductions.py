"""InitEmptyReductions: a reduction over nothing gives its initial values."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.arith import Analyzer
from workbench.core.traverse import iter_nodes, rewrite, substitute
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.expr import And, IterVar
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import For, ForKind, IfThenElse, SBlock, SBlockRealize, SeqStmt, Stmt


@define_pass("tirx.InitEmptyReductions", level="function", on=PrimFunc)
def InitEmptyReductions(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Initialises what a block reduces into where its reduction domain may be empty.

    The `init` of a block runs in its first turn. Where sizes are symbols there may be no turn:

    Before: `for k in range(n): … with T.init(): C[vi] = 0` …
    After: `if n <= 0: C[i] = 0`, then the loop as before

    Domains that are known to have an element change nothing.
    """
    return init_empty_reductions(func)


def init_empty_reductions(func: PrimFunc) -> PrimFunc:
    """What `InitEmptyReductions` does."""
    if any(_doubtful(b) for b in iter_nodes(func.body, SBlock) if b.init is not None):
        return _Placer().run(func)
    return func


def _doubtful(block: SBlock) -> list[Expr]:
    """The extents of the reduction domain that may be 0."""
    found: list[Expr] = []
    for axis in block.iter_vars:
        if axis.iter_type == IterVar.CommReduce and axis.dom is not None:
            extent = axis.dom.extent
            if isinstance(extent, IntImm):
                if extent.value <= 0:
                    found.append(extent)
            elif not Analyzer().can_prove(extent >= 1):
                found.append(extent)
    return found


class _Placer:
    """Puts the extra initialisations in front of the outermost loop of their reductions."""

    def __init__(self) -> None:
        self.loops: list[For] = []
        self.places: dict[int, list[Stmt]] = {}

    def run(self, func: PrimFunc) -> PrimFunc:
        table = {For: self._for, SBlock: self._block, SBlockRealize: self._realize}
        return rewrite(func, table, memo=False)

    def _placed(self, old: Stmt, new: Stmt) -> Stmt:
        before = self.places.pop(id(old), None)
        return SeqStmt.flatten(*before, new) if before else new

    def _for(self, loop: For) -> Generator[Any, Any, Stmt]:
        self.loops.append(loop)
        new = yield loop
        self.loops.pop()
        return self._placed(loop, new)

    def _block(self, block: SBlock) -> Generator[Any, Any, SBlock]:
        outside, self.loops = self.loops, []
        new = yield block
        self.loops = outside
        return new

    def _realize(self, realize: SBlockRealize) -> Generator[Any, Any, Stmt]:
        block: SBlock = realize.block
        doubtful = _doubtful(block) if block.init is not None else []
        if doubtful:
            driving = _driving(realize)
            first = next(
                (n for n, x in enumerate(self.loops) if id(x.loop_var) in driving), len(self.loops)
            )
            below = self.loops[first:]
            place: Stmt = below[0] if below else realize
            init = _init(realize, below, driving, doubtful)
            self.places.setdefault(id(place), []).append(init)
        new = yield realize
        return self._placed(realize, new)


def _vars(value: Any) -> set[int]:
    return {id(v) for v in iter_nodes(value, Var)}


def _driving(realize: SBlockRealize) -> set[int]:
    found: set[int] = set()
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if axis.iter_type == IterVar.CommReduce:
            found |= _vars(value)
    return found


def _terms(predicate: Expr) -> list[Expr]:
    if isinstance(predicate, And):
        return _terms(predicate.a) + _terms(predicate.b)
    return [] if isinstance(predicate, IntImm) and predicate.value else [predicate]


def _init(
    realize: SBlockRealize, below: list[For], driving: set[int], doubtful: list[Expr]
) -> Stmt:
    """The init over its elements, if the reduction domain is empty.

    Elements are chosen by copies of the loops `below` that drive them; where a loop drives the
    reduction as well (a fused one), by a loop over all values of the block's variable.
    """
    block: SBlock = realize.block
    gone = {id(x.loop_var) for x in below} & driving
    values: dict[Var, Expr] = {}
    ranges: list[tuple[Var, Range]] = []
    checks = [t for t in _terms(realize.predicate) if not _vars(t) & gone]
    needed: set[int] = _vars(tuple(checks))
    for axis, value in zip(block.iter_vars, realize.iter_values, strict=True):
        assert axis.dom is not None, "block variables have domains"
        if axis.iter_type == IterVar.CommReduce:
            values[axis.var] = axis.dom.min
        elif _vars(value) & gone:
            every = Var(f"{axis.var.name}_init", axis.var.ty)
            values[axis.var] = every
            ranges.append((every, axis.dom))
        else:
            values[axis.var] = value
            needed |= _vars(value)
            if _terms(realize.predicate):
                checks.append(value < axis.dom.min + axis.dom.extent)
    renamed: dict[Var, Expr] = {}
    copies: list[tuple[Var, Range]] = []
    for loop in below:
        low, extent = substitute((loop.min, loop.extent), renamed)
        if id(loop.loop_var) in needed and id(loop.loop_var) not in driving:
            copy = Var(f"{loop.loop_var.name}_init", loop.loop_var.ty)
            renamed[loop.loop_var] = copy
            copies.append((copy, Range.from_min_extent(low, extent)))
        else:
            renamed[loop.loop_var] = low
    values = {var: substitute(value, renamed) for var, value in values.items()}
    body = _body(block, values)
    for check in checks:
        body = IfThenElse(substitute(check, renamed), body)
    for var, dom in reversed([*copies, *ranges]):
        body = For(var, dom.min, dom.extent, ForKind.SERIAL, body)
    empty = op.any(*(substitute(extent, renamed) <= 0 for extent in doubtful))
    return IfThenElse(empty, body, span=block.span)


def _body(block: SBlock, values: dict[Var, Expr]) -> Stmt:
    assert block.init is not None
    if not block.match_buffers:
        return substitute(block.init, values)
    views = SBlock((), block.reads, block.writes, f"{block.name_hint}_init", block.init)
    views = substitute(views.replace(match_buffers=block.match_buffers), values)
    return SBlockRealize((), IntImm("bool", 1), views)
