"""Rewrite rules as equations.

    rule = RuleSet("add")
    rule(x * y + x * z, x * (y + z))
    rule(x // c1 * c1 + x % c1, x, when=c1 != 0)

`x y z` match any expression, `c1 c2` integer constants; a variable that occurs twice must match the
same expression twice. Commutative operators match in both orders. In the right side and in `when`
an expression of constants alone is computed; a rule whose constants do not fit the data type does
not apply. `when` holds conditions on constants (`c1 > 0`) and on what the analyzer knows of the
operands: `x >= 0`, `y < c1`, `x != 0` by constant bounds, `multiple(x, c1)` by residues.

`on` says for which data types a rule is valid: INDEX (int32 and int64, unbounded arithmetic; the
default), INTEGER (also those that wrap around), FLOATING, ANY.

`arith.matcher` compiles the rules.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from workbench.arith import build
from workbench.arith.build import FLOAT, INDEX, WRAP

INTEGER = frozenset({INDEX, WRAP})
INDEX_ONLY = frozenset({INDEX})
FLOATING = frozenset({FLOAT})
ANY = frozenset({INDEX, WRAP, FLOAT, build.BOOLEAN, build.OTHER})

BINARY = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "FloorDiv": "//",
    "FloorMod": "%",
    "Div": "/",
    "Mod": "truncmod",
    "Min": "min",
    "Max": "max",
    "EQ": "==",
    "NE": "!=",
    "LT": "<",
    "LE": "<=",
    "GT": ">",
    "GE": ">=",
    "And": "&",
    "Or": "|",
}
COMMUTES = {"Add", "Mul", "Min", "Max", "EQ", "NE", "And", "Or"}
#: Operators whose constant operand is moved to the right; a pattern with one has one order.
CONSTANT_LAST = {"Add", "Mul", "EQ", "NE"}
COMPARES = {"EQ", "NE", "LT", "LE", "GT", "GE"}


class Pattern:
    """An expression over pattern variables; Python's operators build larger ones."""

    def __add__(self, other: Any) -> Pattern:
        return Op("Add", self, other)

    def __radd__(self, other: Any) -> Pattern:
        return Op("Add", other, self)

    def __sub__(self, other: Any) -> Pattern:
        return Op("Sub", self, other)

    def __rsub__(self, other: Any) -> Pattern:
        return Op("Sub", other, self)

    def __mul__(self, other: Any) -> Pattern:
        return Op("Mul", self, other)

    def __rmul__(self, other: Any) -> Pattern:
        return Op("Mul", other, self)

    def __floordiv__(self, other: Any) -> Pattern:
        return Op("FloorDiv", self, other)

    def __rfloordiv__(self, other: Any) -> Pattern:
        return Op("FloorDiv", other, self)

    def __mod__(self, other: Any) -> Pattern:
        return Op("FloorMod", self, other)

    def __rmod__(self, other: Any) -> Pattern:
        return Op("FloorMod", other, self)

    def __truediv__(self, other: Any) -> Pattern:
        return Op("Div", self, other)

    def __rtruediv__(self, other: Any) -> Pattern:
        return Op("Div", other, self)

    def __and__(self, other: Any) -> Pattern:
        return Op("And", self, other)

    def __or__(self, other: Any) -> Pattern:
        return Op("Or", self, other)

    def __invert__(self) -> Pattern:
        return Op("Not", self)

    def __neg__(self) -> Pattern:
        return Op("Sub", 0, self)

    def __eq__(self, other: object) -> Pattern:  # type: ignore[override]
        return Op("EQ", self, other)

    def __ne__(self, other: object) -> Pattern:  # type: ignore[override]
        return Op("NE", self, other)

    def __lt__(self, other: Any) -> Pattern:
        return Op("LT", self, other)

    def __le__(self, other: Any) -> Pattern:
        return Op("LE", self, other)

    def __gt__(self, other: Any) -> Pattern:
        return Op("GT", self, other)

    def __ge__(self, other: Any) -> Pattern:
        return Op("GE", self, other)

    __hash__ = object.__hash__


class Leaf(Pattern):
    """A variable of patterns. (Siblings, not one a subclass of the other: Python would turn `x <
    c1` round for a subclass on the right.)"""

    constant = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class PVar(Leaf):
    """Matches any expression."""


class PConst(Leaf):
    """Matches an integer constant."""

    constant = True


class Literal(Pattern):
    """A number in a pattern."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


class Op(Pattern):
    """An operator over patterns; `name` is a node class or a function of conditions."""

    def __init__(self, name: str, *args: Any) -> None:
        self.name = name
        self.args = tuple(a if isinstance(a, Pattern) else Literal(a) for a in args)

    def __repr__(self) -> str:
        sign = BINARY.get(self.name)
        if sign is None or sign.isalpha():
            return f"{sign or self.name}({', '.join(map(repr, self.args))})"
        return f"({self.args[0]!r} {sign} {self.args[1]!r})"


def pmin(a: Any, b: Any) -> Pattern:
    """The smaller of two patterns."""
    return Op("Min", a, b)


def pmax(a: Any, b: Any) -> Pattern:
    """The larger of two patterns."""
    return Op("Max", a, b)


def truncmod(a: Any, b: Any) -> Pattern:
    """The remainder of the truncating division."""
    return Op("Mod", a, b)


def select(condition: Any, a: Any, b: Any) -> Pattern:
    """Select(condition, a, b)"""
    return Op("Select", condition, a, b)


def ramp(base: Any, stride: Any, lanes: Any) -> Pattern:
    """The vector base, base + stride, …"""
    return Op("Ramp", base, stride, lanes)


def broadcast(value: Any, lanes: Any) -> Pattern:
    """A vector of equal elements."""
    return Op("Broadcast", value, lanes)


def multiple(value: Any, factor: Any) -> Pattern:
    """Condition: `value` is known to be a multiple of the constant `factor`."""
    return Op("multiple", value, factor)


def symbolic(value: Any) -> Pattern:
    """Condition: `value` is no constant (keeps rules that move constants from turning in
    circles)."""
    return Op("symbolic", value)


def integer(value: Any) -> Pattern:
    """Condition: `value` is an integer; for rules whose root is bool but speak of numbers."""
    return Op("integer", value)


def no_carry(base: Any, span: Any, divisor: Any) -> Pattern:
    """Condition: base % divisor + span < divisor, so adding 0 … span keeps the quotient."""
    return Op("no_carry", base, span, divisor)


def gcd(a: Any, b: Any) -> Pattern:
    """The greatest common divisor of constants."""
    return Op("gcd", a, b)


def true(like: Any) -> Pattern:
    """The constant True."""
    return Op("true", like)


x, y, z, w = PVar("x"), PVar("y"), PVar("z"), PVar("w")
s, t = PVar("s"), PVar("t")
c1, c2, c3 = PConst("c1"), PConst("c2"), PConst("c3")
n = PConst("n")  # a number of lanes
TRUE, FALSE = Op("true"), Op("false")


def pattern_vars(pattern: Pattern) -> list[Leaf]:
    """The variables of a pattern in the order of their first occurrence."""
    found: dict[str, Leaf] = {}
    stack: list[Pattern] = [pattern]
    while stack:
        p = stack.pop()
        if isinstance(p, Leaf):
            found.setdefault(p.name, p)
        elif isinstance(p, Op):
            stack.extend(reversed(p.args))
    return list(found.values())


@dataclass(eq=False)
class Rule:
    """One equation: `lhs` may be replaced by `rhs` where `when` holds."""

    root: str
    lhs: Op
    rhs: Pattern
    when: Pattern | None
    on: frozenset[int]
    source: str
    exact: bool = False

    @property
    def name(self) -> str:
        """The rule as text."""
        condition = f"  when {self.when!r}" if self.when is not None else ""
        return f"{self.lhs!r} → {self.rhs!r}{condition}"


#: All rules, by root, in the order in which they are tried.
table: dict[str, list[Rule]] = {}


class RuleSet:
    """Adds rules to the table; one per file of `arith/rules`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(
        self,
        lhs: Any,
        rhs: Any,
        when: Any = None,
        on: frozenset[int] = INDEX_ONLY,
        exact: bool = False,
    ) -> None:
        """Declares one rule; `exact`: operands of commutative operators only as they are
        written."""
        frame = inspect.currentframe()
        assert frame is not None
        frame = frame.f_back
        assert frame is not None
        source = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        assert isinstance(lhs, Op), "the left side is an operator"
        right = rhs if isinstance(rhs, Pattern) else Literal(rhs)
        table.setdefault(lhs.name, []).append(Rule(lhs.name, lhs, right, when, on, source, exact))
