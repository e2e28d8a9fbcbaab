"""New loop variables for old ones: bindings and predicates below changed loops."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from workbench.arith import detect_iter_map, normalize_iter_map_to_expr
from workbench.core.traverse import rewrite
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.s_tir.analysis.blocks import conjunction, conjuncts
from workbench.s_tir.analysis.linear import Linear, linear_form
from workbench.tirx.stmt import For, SBlock, SBlockRealize, Stmt


class Rebinding:
    """Rewrites what is below a loop: other values for loop variables, further predicates."""

    def __init__(
        self,
        mapping: Mapping[Var, Expr],
        terms: Sequence[Expr],
        ranges: Mapping[Var, Range],
        keep_unit: bool,
    ) -> None:
        self.mapping = {id(v): e for v, e in mapping.items()}
        self.terms = list(terms)
        self.ranges = dict(ranges)
        self.keep_unit = keep_unit
        self.inner: list[tuple[Var, Range]] = []
        self.reuse: dict[SBlock, SBlock] = {}
        self.depth = 0

    def run(self, body: Stmt) -> Stmt:
        """The rewritten body of the changed loops."""
        return rewrite(
            body,
            {
                Var: lambda v: self.mapping.get(id(v)),
                For: self._loop,
                SBlockRealize: self._realize,
                SBlock: self._block,
            },
        )

    def _loop(self, loop: For) -> Generator[Any, Any, Any]:
        self.inner.append((loop.loop_var, Range.from_min_extent(loop.min, loop.extent)))
        low = yield loop.min
        extent = yield loop.extent
        body = yield loop.body
        self.inner.pop()
        return loop.replace(min=low, extent=extent, body=body)

    def _block(self, block: SBlock) -> Generator[Any, Any, Any]:
        self.depth += 1
        new = yield block
        self.depth -= 1
        if new is not block:
            self.reuse[block] = new
        return new

    def _realize(self, node: SBlockRealize) -> Generator[Any, Any, Any]:
        values = yield node.iter_values
        predicate = yield node.predicate
        block = yield node.block
        if self.depth == 0:
            predicate = conjunction(conjuncts(predicate) + self.terms)
            if values is not node.iter_values:
                ranges = {**self.ranges, **dict(self.inner)}
                values = simplify_bindings(values, ranges, predicate, self.keep_unit)
        return node.replace(iter_values=tuple(values), predicate=predicate, block=block)


def simplify_bindings(
    values: Sequence[Expr], ranges: Mapping[Var, Range], predicate: Expr, keep_unit: bool
) -> list[Expr]:
    """Bindings in normal form: sums of loop variables, where they are quasi-affine."""
    out: list[Any] = [
        None if f is None else _ordered(f, ranges, keep_unit).expr(v.dtype)
        for f, v in zip(map(linear_form, values), values, strict=True)
    ]
    if any(v is None for v in out):
        found = detect_iter_map(values, ranges, predicate, simplify_trivial_iterators=not keep_unit)
        rest = map(normalize_iter_map_to_expr, found.indices) if found.indices else values
        out = [a if a is not None else b for a, b in zip(out, rest, strict=True)]
    return out


def _ordered(form: Linear, ranges: Mapping[Var, Range], keep_unit: bool) -> Linear:
    """Without loops of one iteration, unless they are kept."""
    if keep_unit:
        return form
    units = {
        id(v) for v, r in ranges.items() if isinstance(r.extent, IntImm) and r.extent.value == 1
    }
    return Linear({k: t for k, t in form.terms.items() if k not in units}, form.constant)
