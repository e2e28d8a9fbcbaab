"""Quotients and remainders of canonical sums, digit by digit."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from workbench.arith.build import imm
from workbench.arith.const_int_bound import NEG_INF, POS_INF
from workbench.arith.sums import Digit, Sum
from workbench.tirx.expr import FloorDiv, FloorMod

if TYPE_CHECKING:
    from workbench.arith.canonical import Canonical


def floordiv(forms: Canonical, a: Sum, b: Sum) -> Sum:
    """a // b"""
    if b.terms:
        return symbolic_division(forms, a, b)[0]
    c = b.const
    if c == 0:
        return forms.opaque(FloorDiv, a, b)
    if c < 0:
        return floordiv(forms, a.scaled(-1), b.scaled(-1))
    if c == 1:
        return a
    whole, rest = _split(forms, a, c)
    quotient = _small_quotient(forms, rest, c)
    if quotient is not None:
        return forms.add(whole, quotient, 1)
    if rest.const == 0 and len(rest.terms) == 1:
        digit, coef = next(iter(rest.terms.items()))
        if coef > 0 and c % coef == 0:
            return forms.add(whole, _divide_digit(forms, rest.ty, digit, c // coef), 1)
    return forms.add(whole, _divide_rest(forms, rest, c), 1)


def _split(forms: Canonical, a: Sum, c: int) -> tuple[Sum, Sum]:
    """a = whole * c + rest, no coefficient of rest divisible. Proofs take multiples of c out of
    the constant too; elsewhere `(n - 1) // 4` stays as it is written."""
    whole = {d: k // c for d, k in a.terms.items() if k % c == 0}
    rest = {d: k for d, k in a.terms.items() if k % c}
    taken = a.const // c if forms.expand or a.const % c == 0 else 0
    return Sum(a.ty, taken, whole), Sum(a.ty, a.const - taken * c, rest)


def _small_quotient(forms: Canonical, rest: Sum, c: int) -> Sum | None:
    """The constant quotient of a sum whose bounds lie between two multiples of c."""
    low, high = forms.sum_bound(rest)
    if low > NEG_INF and high < POS_INF and low // c == high // c:
        return Sum(rest.ty, low // c, {})
    return None


def _divide_digit(forms: Canonical, ty: Any, digit: Digit, c: int) -> Sum:
    """(atom // lower % upper) // c"""
    atom, lower, upper = digit
    small = imm(ty, lower * c) is not None
    if upper is not None or not small:
        if upper is None or upper % c or not small:
            number = forms.factors(Sum(ty, 0, {digit: 1}))[1][0]
            return Sum(ty, 0, {(number, c, None): 1})
        upper = upper // c
    return normal(forms, ty, (atom, lower * c, upper))


def normal(forms: Canonical, ty: Any, digit: Digit, coef: int = 1) -> Sum:
    """A digit with what its bounds make superfluous taken away."""
    atom, lower, upper = digit
    if upper == 1:
        return Sum(ty, 0, {})
    bound = forms.atom_bound(atom)
    if upper is not None and bound[0] >= 0 and bound[1] < lower * upper:
        upper = None
    if upper is None and bound[0] >= 0 and bound[1] < lower:
        return Sum(ty, 0, {})
    return Sum(ty, 0, {(atom, lower, upper): coef})


def _low_part(forms: Canonical, rest: Sum, c: int) -> tuple[int, Sum, Sum] | None:
    """rest = g * high + low with g > 1 a divisor of c and 0 <= low < g."""
    order = sorted(rest.terms.items(), key=lambda item: -abs(item[1]))
    g = c
    for count in range(1, len(order) + 1):
        g = gcd(g, order[count - 1][1])
        if g == 1:
            return None
        low = Sum(rest.ty, rest.const % g, dict(order[count:]))
        bound = forms.sum_bound(low)
        if bound[0] >= 0 and bound[1] < g:
            high = Sum(rest.ty, rest.const // g, {d: k // g for d, k in order[:count]})
            return g, high, low
    return None


def _divide_rest(forms: Canonical, rest: Sum, c: int) -> Sum:
    parts = _low_part(forms, rest, c)
    if parts is not None:
        g, high, _ = parts
        return floordiv(forms, high, Sum(rest.ty, c // g, {}))
    return Sum(rest.ty, 0, {(forms.sum_number(rest), c, None): 1})


def floormod(forms: Canonical, a: Sum, b: Sum) -> Sum:
    """a % b"""
    if b.terms:
        return symbolic_division(forms, a, b)[1]
    c = b.const
    if c == 0:
        return forms.opaque(FloorMod, a, b)
    if c < 0:
        return floormod(forms, a.scaled(-1), b.scaled(-1)).scaled(-1)
    if c == 1:
        return Sum(a.ty, 0, {})
    terms = {d: k for d, k in a.terms.items() if k % c}
    if forms.expand or len(terms) == 1:
        # Elsewhere factors above c stay: they say which iterators were fused.
        terms = {d: k % c if k > 0 else -(-k % c) for d, k in terms.items()}
    rest = Sum(a.ty, a.const % c, terms)
    quotient = _small_quotient(forms, rest, c)
    if quotient is not None:
        return forms.add(rest, Sum(a.ty, quotient.const * c, {}), -1)
    if rest.const == 0 and len(terms) == 1:
        digit, coef = next(iter(terms.items()))
        g = gcd(coef, c)
        if coef == g:
            return _cut_digit(forms, a.ty, digit, c // g).scaled(g)
    parts = _low_part(forms, rest, c)
    if parts is not None:
        g, high, low = parts
        return forms.add(low, floormod(forms, high, Sum(a.ty, c // g, {})), g)
    return normal(forms, a.ty, (forms.sum_number(rest), 1, c))


def _cut_digit(forms: Canonical, ty: Any, digit: Digit, c: int) -> Sum:
    """(atom // lower % upper) % c"""
    atom, lower, upper = digit
    if upper is not None and upper % c:
        if upper <= c:
            return Sum(ty, 0, {digit: 1})
        number = forms.factors(Sum(ty, 0, {digit: 1}))[1][0]
        return Sum(ty, 0, {(number, 1, c): 1})
    return normal(forms, ty, (atom, lower, c))


def symbolic_division(forms: Canonical, a: Sum, b: Sum) -> tuple[Sum, Sum]:
    """Quotient and remainder by a divisor that is no constant (and not zero where
    evaluated)."""
    coef, factors = forms.factors(b)
    whole = Sum(a.ty, 0, {})
    rest = Sum(a.ty, 0, {})
    for digit, k in a.terms.items():
        mine = forms.factors(Sum(a.ty, 0, {digit: 1}))[1]
        left = _remove(mine, factors) if k % coef == 0 else None
        if left is None:
            rest = forms.add(rest, Sum(a.ty, 0, {digit: k}), 1)
        else:
            whole = forms.add(whole, _product_of(forms, a.ty, left).scaled(k // coef), 1)
    rest = forms.add(rest, Sum(a.ty, a.const, {}), 1)
    if not rest.terms and rest.const == 0:
        return whole, rest
    divisor = forms.to_expr(b)
    if _is_below(forms, rest, divisor):
        return whole, rest
    if not whole.terms and not whole.const:
        rest = a
    return (
        forms.add(whole, forms.opaque(FloorDiv, rest, b), 1),
        forms.opaque(FloorMod, rest, b),
    )


def _is_below(forms: Canonical, rest: Sum, divisor: Any) -> bool:
    """0 <= rest < divisor"""
    low, high = forms.sum_bound(rest)
    if low < 0:
        return False
    if high < forms.analyzer.bounds.value(divisor)[0]:
        return True
    return forms.analyzer.is_below(forms.to_expr(rest), divisor)


def _product_of(forms: Canonical, ty: Any, factors: list[int]) -> Sum:
    result = Sum(ty, 1, {})
    for factor in factors:
        one = forms.sums.get(factor) or Sum(ty, 0, {(factor, 1, None): 1})
        result = forms.multiply(result, one)
    return result


def _remove(items: list[int], taken: list[int]) -> list[int] | None:
    """The multiset difference, or None if `taken` is not contained."""
    left = list(items)
    for item in taken:
        if item not in left:
            return None
        left.remove(item)
    return left
