"""Sums of scaled digits: the values of the canonical form (`arith.canonical`)."""

from __future__ import annotations

from typing import Any

from workbench.arith.const_int_bound import Bound
from workbench.tirx.expr import EQ, GE, GT, LE, LT

LARGE = 1 << 31

#: (atom, lower, upper): atom // lower % upper
Digit = tuple[int, int, int | None]


class Sum:
    """const + Σ coef * digit, of one integer type."""

    __slots__ = ("const", "expr", "terms", "ty")

    def __init__(self, ty: Any, const: int, terms: dict[Digit, int], expr: Any = None) -> None:
        self.ty = ty
        self.const = const
        self.terms = terms
        self.expr = expr

    def scaled(self, factor: int) -> Sum:
        """This sum times a constant."""
        if factor == 1:
            return self
        if factor == 0:
            return Sum(self.ty, 0, {})
        terms = {digit: coef * factor for digit, coef in self.terms.items()}
        return Sum(self.ty, self.const * factor, terms)


Form = Any  # a Sum, or an expression in canonical form


def fits(total: Sum) -> bool:
    """Whether all constants of a sum fit its type."""
    limit = 1 << (total.ty.dtype.bits - 1)
    if not -limit <= total.const < limit:
        return False
    return all(-limit < coef < limit for coef in total.terms.values())


def lower_is_all(digit: Digit) -> bool:
    """Whether a digit is the whole atom."""
    return digit[1] == 1 and digit[2] is None


def decide(cls: type, bound: Bound) -> bool | None:
    """Whether `d cmp 0` holds for all d in the bounds (True), for none (False), or it depends."""
    low, high = bound
    if cls is LT:
        return True if high < 0 else False if low >= 0 else None
    if cls is LE:
        return True if high <= 0 else False if low > 0 else None
    if cls is GT:
        return True if low > 0 else False if high <= 0 else None
    if cls is GE:
        return True if low >= 0 else False if high < 0 else None
    apart = low > 0 or high < 0
    if cls is EQ:
        return False if apart else True if low == high == 0 else None
    return True if apart else False if low == high == 0 else None
