"""Comparisons and extrema of canonical sums: decided by the difference or divided by its factor."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from workbench.arith.build import FALSE, TRUE, make, truth
from workbench.arith.sums import Sum, decide
from workbench.tirx.expr import EQ, GE, GT, LE, LT, NE, Min

if TYPE_CHECKING:
    from workbench.arith.canonical import Canonical


def extremum(forms: Canonical, node: Any, cls: type, a: Sum, b: Sum) -> Sum:
    """Min or max: decided by the bounds of the difference, or an atom."""
    low, high = forms.sum_bound(forms.add(a, b, -1))
    if low >= 0:
        return b if cls is Min else a
    if high <= 0:
        return a if cls is Min else b
    x, y = forms.to_expr(a), forms.to_expr(b)
    built = node if x is node.a and y is node.b else make[cls](x, y)
    return forms.atom_sum(forms.number(built, built), built)


def compare(forms: Canonical, node: Any, cls: type, a: Sum, b: Sum) -> Any:
    """A comparison: decided by the difference, divided by its common factor, or as it is."""
    difference = forms.add(a, b, -1)
    known = decide(cls, forms.sum_bound(difference))
    if known is not None:
        return TRUE if known else FALSE
    if not difference.terms:
        return truth(node.ty, decide(cls, (difference.const, difference.const)) is True)
    found = _reduce(forms, cls, difference)
    if found is None:
        return FALSE if cls is EQ else TRUE
    cancelled = len(difference.terms) < len(a.terms) + len(b.terms)
    if found[1] is not difference or cancelled or (a.const and b.const):
        return _rebuild(forms, *found)
    x, y = forms.to_expr(a), forms.to_expr(b)
    return node if x is node.a and y is node.b else make[cls](x, y)


def _reduce(forms: Canonical, cls: type, total: Sum) -> tuple[type, Sum] | None:
    """A comparison of a sum with 0 that says the same; None: an equation without solution."""
    g = 0
    for coef in total.terms.values():
        g = gcd(g, coef)
    if g > 1:
        terms = {d: k // g for d, k in total.terms.items()}
        if cls in (EQ, NE):
            return None if total.const % g else (cls, Sum(total.ty, total.const // g, terms))
        # g*X + c < 0  ⟺  X + floor(c / g) < 0;   g*X + c <= 0  ⟺  X + ceil(c / g) <= 0
        const = total.const // g if cls in (LT, GE) else -(-total.const // g)
        return cls, Sum(total.ty, const, terms)
    if len(total.terms) > 1 and cls not in (EQ, NE):
        strict = cls in (LT, GE)
        shifted = total if strict else Sum(total.ty, total.const - 1, total.terms)
        dropped = _drop_low(forms, shifted)
        if dropped is not None:
            return (cls if strict else {LE: LT, GT: GE}[cls]), dropped
    return cls, total


def _drop_low(forms: Canonical, total: Sum) -> Sum | None:
    """g*X + low < 0 ⟺ X < 0 where 0 <= low < g (and the constant is a multiple of g)."""
    order = sorted(total.terms.items(), key=lambda item: -abs(item[1]))
    g = 0
    for count in range(1, len(order)):
        g = gcd(g, order[count - 1][1])
        if g == 1:
            return None
        low = Sum(total.ty, total.const % g, dict(order[count:]))
        bound = forms.sum_bound(low)
        if bound[0] >= 0 and bound[1] < g:
            return Sum(total.ty, total.const // g, {d: k // g for d, k in order[:count]})
    return None


def _rebuild(forms: Canonical, cls: type, total: Sum) -> Any:
    """total cmp 0 with the negative terms on the other side."""
    left = Sum(total.ty, 0, {d: k for d, k in total.terms.items() if k > 0})
    right = Sum(total.ty, -total.const, {d: -k for d, k in total.terms.items() if k < 0})
    if not left.terms:
        left = Sum(total.ty, total.const, {})
        right = Sum(total.ty, 0, right.terms)
        if cls in (EQ, NE):
            left, right = right, left
        return make[cls](forms.to_expr(left), forms.to_expr(right))
    return make[cls](forms.to_expr(left), forms.to_expr(right))
