"""Regions touched by a loop nest: the union of a box over the domains of its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.arith.analyzer import Analyzer
from workbench.arith.build import imm, make_add, make_mul, make_sub
from workbench.arith.int_set import IntervalSet, IntSet, eval_set
from workbench.arith.iter_map import detect
from workbench.arith.iter_nodes import IterMapLevel, IterSumExpr, is_one
from workbench.ir.expr import IntImm, Range
from workbench.tirx.expr import LE


def estimate_region_strict_bound(
    region: Sequence[Range],
    var_dom: Mapping[Any, Range],
    predicate: Any = True,
    analyzer: Analyzer | None = None,
) -> list[IntSet] | None:
    """The box that is exactly the union of `region`, or None where the union is no box.

    Parameters
    ----------
    region : one Range per dimension. var_dom : the domains of the variables.
    predicate : a condition on the variables.
    """
    found = detect(
        [r.min for r in region],
        var_dom,
        predicate,
        IterMapLevel.Surjective,
        analyzer=analyzer,
        overlap=True,
    )
    if len(found.indices) != len(region):
        return None
    known = Analyzer() if analyzer is None else analyzer
    out: list[IntSet] = []
    for index, r in zip(found.indices, region, strict=True):
        dimension = _swept(index, r, known)
        if dimension is None:
            return None
        out.append(dimension)
    return out


def _swept(index: IterSumExpr, r: Range, analyzer: Analyzer) -> IntervalSet | None:
    """The union of [i, i + extent) over i = base + scale * (0 … n-1), if it has no holes."""
    low = index.base
    extent = r.extent
    if type(extent) is IntImm and extent.ty != low.ty:
        extent = imm(low.ty, extent.value)
    last = make_sub(extent, imm(low.ty, 1))
    if index.args:
        split = index.args[0]
        scale = split.scale
        if type(scale) is IntImm and scale.value < 0:
            return None
        if not is_one(scale) and not analyzer.can_prove(LE(scale, extent)):
            return None
        steps = make_sub(split.extent, imm(low.ty, 1))
        last = make_add(make_mul(steps, scale), last)
    return IntervalSet(analyzer.simplify(low), analyzer.simplify(make_add(low, last)))


def estimate_region_lower_bound(
    region: Sequence[Range],
    var_dom: Mapping[Any, Range],
    predicate: Any = True,
    analyzer: Analyzer | None = None,
) -> list[IntSet] | None:
    """A box that the union of `region` contains (and covers where this can be shown), or None."""
    return estimate_region_strict_bound(region, var_dom, predicate, analyzer)


def estimate_region_upper_bound(
    region: Sequence[Range],
    var_dom: Mapping[Any, Range],
    predicate: Any = True,
    analyzer: Analyzer | None = None,
) -> list[IntSet]:
    """A box that contains the union of `region`: exact if possible, else by interval arithmetic."""
    exact = estimate_region_strict_bound(region, var_dom, predicate, analyzer)
    if exact is not None:
        return exact
    known = Analyzer() if analyzer is None else analyzer.clone()
    for var, domain in var_dom.items():
        known.bind(var, domain, allow_override=True)
    domains = {v: IntervalSet.from_range(d) for v, d in var_dom.items()}
    out: list[IntSet] = []
    for r in region:
        single = estimate_region_strict_bound([r], var_dom, predicate, analyzer)
        out.append(single[0] if single is not None else eval_set(r, domains, known))
    return out
