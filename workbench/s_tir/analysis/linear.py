"""Linear forms: sums of variables with integer coefficients, the common case of every index.

Most regions and bindings are such sums over loops of constant extent; for them intervals are plain
integer arithmetic and no simplifier is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.dispatch import Dispatch
from workbench.ir.expr import Expr, IntImm, Var
from workbench.tirx.expr import Add, Mul, Sub


class Linear:
    """`constant` + the sum of coefficient * variable (`terms`: id → (variable, coefficient))."""

    __slots__ = ("constant", "terms")

    def __init__(self, terms: dict[int, tuple[Var, int]], constant: int) -> None:
        self.terms = terms
        self.constant = constant

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """The sum with `factor` times another form."""
        terms = dict(self.terms)
        for key, (var, c) in other.terms.items():
            value = terms[key][1] + c * factor if key in terms else c * factor
            if value:
                terms[key] = (var, value)
            else:
                terms.pop(key, None)
        return Linear(terms, self.constant + other.constant * factor)

    def times(self, factor: int) -> Linear:
        """The product with an integer."""
        if factor == 0:
            return Linear({}, 0)
        terms = {k: (v, c * factor) for k, (v, c) in self.terms.items()}
        return Linear(terms, self.constant * factor)

    def same_terms(self, other: Linear) -> bool:
        """Whether both differ by a constant only."""
        if len(self.terms) != len(other.terms):
            return False
        return all(k in other.terms and other.terms[k][1] == c for k, (_, c) in self.terms.items())

    def expr(self, dtype: str) -> Expr:
        """The form as an expression."""
        total: Any = None
        for var, c in self.terms.values():
            part = var if c == 1 else var * IntImm(var.dtype, c)
            total = part if total is None else total + part
        if total is None:
            return IntImm(dtype, self.constant)
        if self.constant > 0:
            return total + IntImm(total.dtype, self.constant)
        return total if self.constant == 0 else total - IntImm(total.dtype, -self.constant)


#: Forms of variables that stand for something (block variables for their bindings).
Known = Mapping[int, Linear]

_rules = Dispatch("linear form")


def linear_form(expr: Any, known: Known | None = None) -> Linear | None:
    """The linear form of an expression, or None."""
    rule = _rules.find(type(expr))
    return None if rule is None else rule(expr, known)


@_rules.register(IntImm)
def _const(expr: IntImm, known: Known | None) -> Linear:
    return Linear({}, expr.value)


@_rules.register(Var)
def _var(expr: Var, known: Known | None) -> Linear:
    found = known.get(id(expr)) if known else None
    return found if found is not None else Linear({id(expr): (expr, 1)}, 0)


@_rules.register(Add)
def _add(expr: Add, known: Known | None) -> Linear | None:
    a = linear_form(expr.a, known)
    b = linear_form(expr.b, known) if a is not None else None
    return a.plus(b) if a is not None and b is not None else None


@_rules.register(Sub)
def _sub(expr: Sub, known: Known | None) -> Linear | None:
    a = linear_form(expr.a, known)
    b = linear_form(expr.b, known) if a is not None else None
    return a.plus(b, -1) if a is not None and b is not None else None


@_rules.register(Mul)
def _mul(expr: Mul, known: Known | None) -> Linear | None:
    a, b = expr.a, expr.b
    if isinstance(a, IntImm):
        a, b = b, a
    if not isinstance(b, IntImm):
        return None
    form = linear_form(a, known)
    return form.times(b.value) if form is not None else None


class Sweep:
    """What a linear form reaches over loops of constant extent: `low` and `high`, inclusive, as
    forms of the other variables that differ by a constant."""

    __slots__ = ("high", "low")

    def __init__(self, form: Linear, extents: Mapping[int, tuple[int, int]]) -> None:
        low, high = form.constant, form.constant
        terms: dict[int, tuple[Var, int]] = {}
        for key, (var, c) in form.terms.items():
            span = extents.get(key)
            if span is None:
                terms[key] = (var, c)
                continue
            ends = (c * span[0], c * span[1])
            low += min(ends)
            high += max(ends)
        self.low = Linear(terms, low)
        self.high = Linear(terms, high)
