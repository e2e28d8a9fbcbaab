"""Loop nests around a block for given ranges of its variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.s_tir.analysis.blocks import analyzer_for, loop_ranges
from workbench.s_tir.analysis.regions import IntervalOf, at_most, difference
from workbench.s_tir.sblock_scope import Entry
from workbench.tirx.expr import GE, LT, IterVar
from workbench.tirx.stmt import For, ForKind, SBlockRealize, Stmt


class NestBuilder:
    """A loop nest around a block for given ranges of its variables, inside other loops."""

    def __init__(self, around: Sequence[Entry], keep_unit: bool) -> None:
        self.analyzer = analyzer_for(around)
        self.env: dict[Var, tuple[Any, Any]] = {}
        for var, r in loop_ranges(around).items():
            self.env[var] = (r.min, r.min + r.extent - 1)
        self.keep_unit = keep_unit
        self.loops: list[tuple[Var, Expr]] = []
        self.terms: list[Expr] = []

    def bind(self, iter_var: IterVar, wanted: Range | None) -> Expr:
        """The value of a block variable; adds the loop it needs, and predicates."""
        dom = iter_var.dom
        assert dom is not None
        low, extent = dom.min, dom.extent
        if wanted is not None and not self._whole(wanted, dom):
            low = wanted.min
            extent = wanted.extent
        unit = isinstance(extent, IntImm) and extent.value == 1
        if isinstance(dom.extent, IntImm) and dom.extent.value == 1 and not self.keep_unit:
            return dom.min
        if unit and not self.keep_unit:
            self._guard(low, dom)
            return low
        var = Var(f"ax{len(self.loops)}", iter_var.var.ty)
        extent = extent if extent.dtype == var.dtype else extent.astype(var.dtype)
        self.loops.append((var, extent))
        self.analyzer.bind(var, Range(extent))
        self.env[var] = (IntImm(var.dtype, 0), extent - 1)
        zero = isinstance(low, IntImm) and low.value == 0
        value = var if zero else low + var
        if low is not dom.min or extent is not dom.extent:
            self._guard(value, dom)
        return value

    def _whole(self, wanted: Range, dom: Range) -> bool:
        """Whether the wanted range is at least the whole domain."""
        gap = difference(wanted.extent, dom.extent, self.analyzer)
        return isinstance(gap, IntImm) and gap.value >= 0

    def _guard(self, value: Any, dom: Range) -> None:
        end = self.analyzer.simplify(dom.min + dom.extent)
        if not self.analyzer.can_prove(value < end) and not self._ends_before(value, end):
            self.terms.append(LT(value, end))
        if not self.analyzer.can_prove(value >= dom.min):
            self.terms.append(GE(value, dom.min))

    def _ends_before(self, value: Any, end: Expr) -> bool:
        """Whether the last value over all loops is below `end` (loops may end at a symbol)."""
        reach = IntervalOf(self.env, self.analyzer)(value)
        return reach is not None and at_most(
            self.analyzer.simplify(reach[1] + 1), end, self.analyzer
        )

    def build(self, realize: SBlockRealize) -> Stmt:
        """The loops around the realization, whose values are those that `bind` gave."""
        body: Stmt = realize
        for var, extent in reversed(self.loops):
            body = For(var, IntImm(var.dtype, 0), extent, ForKind.SERIAL, body)
        return body
