"""Constant bounds of integer expressions: interval arithmetic over Python integers.

Values beyond 63 bits count as infinite. Index arithmetic (int32, int64) is unbounded; in narrow and
unsigned types an operation that may wrap around has the bounds of its type.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any, ClassVar

from workbench.arith.build import (
    BOOLEAN,
    INDEX,
    WRAP,
    kind_of,
    range_of,
    same,
    truncdiv_int,
)
from workbench.arith.modular_set import ModularAnalysis
from workbench.arith.postorder import PostOrder, operands
from workbench.core.node import Node, field
from workbench.ir.expr import Call, IntImm, Var
from workbench.tirx.expr import (
    Add,
    Broadcast,
    Cast,
    CmpOp,
    Div,
    FloorDiv,
    FloorMod,
    Let,
    LogicalOp,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Ramp,
    Select,
    Shuffle,
    Sub,
)

POS_INF = (1 << 63) - 1
NEG_INF = -POS_INF

Bound = tuple[int, int]
EVERYTHING: Bound = (NEG_INF, POS_INF)


class ConstIntBound(Node):
    """min_value <= value <= max_value, with `POS_INF` / `NEG_INF` where there is no bound."""

    POS_INF: ClassVar[int] = POS_INF
    NEG_INF: ClassVar[int] = NEG_INF

    min_value: int = field(converter=int)
    max_value: int = field(converter=int)

    def __repr__(self) -> str:
        low = "-inf" if self.min_value <= NEG_INF else str(self.min_value)
        high = "inf" if self.max_value >= POS_INF else str(self.max_value)
        return f"ConstIntBound[{low}, {high}]"


def _clip(value: int) -> int:
    return POS_INF if value > POS_INF else NEG_INF if value < NEG_INF else value


def _mul(a: int, b: int) -> int:
    if a == 0 or b == 0:
        return 0
    if abs(a) >= POS_INF or abs(b) >= POS_INF:
        return POS_INF if (a > 0) == (b > 0) else NEG_INF
    return _clip(a * b)


def add_bounds(a: Bound, b: Bound) -> Bound:
    """The bounds of a sum."""
    low = NEG_INF if a[0] <= NEG_INF or b[0] <= NEG_INF else _clip(a[0] + b[0])
    high = POS_INF if a[1] >= POS_INF or b[1] >= POS_INF else _clip(a[1] + b[1])
    return (low, high)


def scale_bounds(a: Bound, factor: int) -> Bound:
    """The bounds of a product with a constant."""
    if factor == 1:
        return a
    x, y = _mul(a[0], factor), _mul(a[1], factor)
    return (x, y) if x <= y else (y, x)


def mul_bounds(a: Bound, b: Bound) -> Bound:
    """The bounds of a product."""
    corners = [_mul(x, y) for x in a for y in b]
    return (min(corners), max(corners))


def _divide(divide: Callable[[int, int], int], a: int, b: int) -> int:
    """Quotient with infinities; b is not 0."""
    if abs(a) >= POS_INF:
        return POS_INF if (a > 0) == (b > 0) else NEG_INF
    if abs(b) >= POS_INF:
        return divide(a, POS_INF if b > 0 else NEG_INF)
    return divide(a, b)


def div_bounds(a: Bound, b: Bound, divide: Callable[[int, int], int]) -> Bound:
    """The bounds of a flooring or truncating quotient; the divisor is not 0."""
    low, high = b
    if low == 0:
        low = 1
    if high == 0:
        high = -1
    if low > high:
        return EVERYTHING
    if low < 0 < high:
        most = max(abs(a[0]), abs(a[1]))
        return (-most, most)
    corners = [_divide(divide, x, y) for x in a for y in (low, high)]
    return (min(corners), max(corners))


def floordiv_int(a: int, b: int) -> int:
    """a // b"""
    return a // b


def floormod_bounds(a: Bound, b: Bound, coeff: int = 1, base: int = 0) -> Bound:
    """The bounds of a flooring remainder, where a ≡ base (mod coeff); the divisor is not 0."""
    low, high = b
    if low >= 0:
        if a[0] >= 0 and a[1] < low:
            return a
        if low == high and low > 0:
            if low < POS_INF and a[0] > NEG_INF and a[1] < POS_INF and a[0] // low == a[1] // low:
                return (a[0] % low, a[1] % low)
            step = gcd(coeff, low)
            first = base % step if step else 0
            top = low - step + first if step > 0 else low - 1
            return (first, min(top, a[1]) if a[0] >= 0 else top)
        top = _clip(high - 1) if high < POS_INF else POS_INF
        return (0, min(top, a[1]) if a[0] >= 0 else top)
    if high <= 0:
        return (_clip(low + 1) if low > NEG_INF else NEG_INF, 0)
    most = POS_INF if high >= POS_INF else high - 1
    least = NEG_INF if low <= NEG_INF else low + 1
    return (least, most)


def mod_bounds(a: Bound, b: Bound) -> Bound:
    """The bounds of a truncating remainder (sign of the dividend)."""
    most = max(abs(b[0]), abs(b[1]))
    top = POS_INF if most >= POS_INF else max(most - 1, 0)
    low = 0 if a[0] >= 0 else max(-top, a[0])
    high = 0 if a[1] <= 0 else min(top, a[1])
    return (low, high)


def type_bound(expr: Any) -> Bound:
    """What the type alone says."""
    kind = kind_of(expr.ty)
    if kind in (INDEX, WRAP, BOOLEAN):
        low, high = range_of(expr.ty.dtype)
        return (max(low, NEG_INF), min(high, POS_INF))
    return EVERYTHING


def intersect(a: Bound, b: Bound) -> Bound:
    """What both say. Contradicting facts keep the first (the code they speak of is dead)."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else a


class BoundAnalysis(PostOrder[Bound]):
    """The constant bounds of expressions, given those of the variables and of known facts."""

    def __init__(self, modular: ModularAnalysis) -> None:
        super().__init__()
        self.modular = modular
        #: id(var) → (var, bound)
        self.vars: dict[int, tuple[Var, Bound]] = {}
        #: facts in force: (expression that is no variable, bound)
        self.facts: tuple[tuple[Any, Bound], ...] = ()

    def default(self, expr: Any) -> Bound:
        """An expression that is not understood: its type's range."""
        return type_bound(expr)

    def finish(self, expr: Any, value: Bound) -> Bound:
        """Cuts to the type where the operation may wrap, and to what is known."""
        if kind_of(expr.ty) == WRAP:
            whole = type_bound(expr)
            if value[0] < whole[0] or value[1] > whole[1]:
                value = whole
        if self.facts:
            for known, bound in self.facts:
                if type(known) is type(expr) and same(known, expr):
                    value = intersect(value, bound)
        return value


def _of(self: BoundAnalysis, expr: Any) -> Bound:
    return self.memo[id(expr)][1]


def _var(self: BoundAnalysis, expr: Var) -> Bound:
    found = self.vars.get(id(expr))
    return found[1] if found is not None else type_bound(expr)


def _int(self: BoundAnalysis, expr: IntImm) -> Bound:
    value = _clip(expr.value)
    return (value, value)


def _sub(self: BoundAnalysis, expr: Sub) -> Bound:
    if expr.a is expr.b:
        return (0, 0)
    return add_bounds(_of(self, expr.a), scale_bounds(_of(self, expr.b), -1))


def _floormod(self: BoundAnalysis, expr: FloorMod) -> Bound:
    a, b = _of(self, expr.a), _of(self, expr.b)
    if b[0] == b[1] and not 0 <= a[0] <= a[1] < b[0]:
        coeff, base = self.modular.value(expr.a)
        return floormod_bounds(a, b, coeff, base) if coeff > 0 else floormod_bounds(a, b)
    return floormod_bounds(a, b)


def _min(self: BoundAnalysis, expr: Any) -> Bound:
    a, b = _of(self, expr.a), _of(self, expr.b)
    return (min(a[0], b[0]), min(a[1], b[1]))


def _max(self: BoundAnalysis, expr: Any) -> Bound:
    a, b = _of(self, expr.a), _of(self, expr.b)
    return (max(a[0], b[0]), max(a[1], b[1]))


def _union(a: Bound, b: Bound) -> Bound:
    return (min(a[0], b[0]), max(a[1], b[1]))


def _select(self: BoundAnalysis, expr: Select) -> Bound:
    condition = _of(self, expr.condition)
    if condition[0] == 1:
        return _of(self, expr.true_value)
    if condition[1] == 0:
        return _of(self, expr.false_value)
    return _union(_of(self, expr.true_value), _of(self, expr.false_value))


def _cast(self: BoundAnalysis, expr: Cast) -> Bound:
    whole = type_bound(expr)
    if kind_of(expr.value.ty) not in (INDEX, WRAP, BOOLEAN):
        return whole
    inner = _of(self, expr.value)
    if kind_of(expr.ty) == BOOLEAN:
        return inner if inner[0] >= 0 and inner[1] <= 1 else (0, 1)
    return inner if whole[0] <= inner[0] and inner[1] <= whole[1] else whole


def _ramp(self: BoundAnalysis, expr: Ramp) -> Bound:
    lanes = expr.lanes.value if isinstance(expr.lanes, IntImm) else POS_INF
    last = scale_bounds(_of(self, expr.stride), lanes - 1)
    return add_bounds(_of(self, expr.base), _union((0, 0), last))


def _call_inputs(expr: Call) -> tuple[Any, ...]:
    name = getattr(expr.op, "name", "").rpartition(".")[2]
    return expr.args if name in _calls else ()


def _call(self: BoundAnalysis, expr: Call) -> Bound:
    handler = _calls.get(getattr(expr.op, "name", "").rpartition(".")[2])
    if handler is None or kind_of(expr.ty) not in (INDEX, WRAP):
        return type_bound(expr)
    return handler(expr, *[_of(self, a) for a in expr.args])


def _shift_right(expr: Call, a: Bound, b: Bound) -> Bound:
    if b[0] < 0 or b[1] > 63:
        return type_bound(expr)
    return div_bounds(a, (1 << b[0], 1 << b[1]), floordiv_int)


def _shift_left(expr: Call, a: Bound, b: Bound) -> Bound:
    if b[0] < 0 or b[1] > 62:
        return type_bound(expr)
    found = mul_bounds(a, (1 << b[0], 1 << b[1]))
    whole = type_bound(expr)
    return found if whole[0] <= found[0] and found[1] <= whole[1] else whole


def _bitwise_and(expr: Call, a: Bound, b: Bound) -> Bound:
    if a[0] >= 0 or b[0] >= 0:
        return (0, min(x[1] for x in (a, b) if x[0] >= 0))
    return type_bound(expr)


def _bits_up(expr: Call, a: Bound, b: Bound) -> Bound:
    """Or, xor: no more bits than the larger operand has."""
    if a[0] < 0 or b[0] < 0:
        return type_bound(expr)
    return (0, _clip((1 << max(a[1].bit_length(), b[1].bit_length())) - 1))


def _if_then_else(expr: Call, condition: Bound, a: Bound, b: Bound) -> Bound:
    return a if condition[0] == 1 else b if condition[1] == 0 else _union(a, b)


_calls: dict[str, Callable[..., Bound]] = {
    "shift_right": _shift_right,
    "shift_left": _shift_left,
    "bitwise_and": _bitwise_and,
    "bitwise_or": _bits_up,
    "bitwise_xor": _bits_up,
    "if_then_else": _if_then_else,
    "likely": lambda expr, a: a,
}

BoundAnalysis.table = {
    Var: (None, _var),
    IntImm: (None, _int),
    Add: (operands, lambda s, e: add_bounds(_of(s, e.a), _of(s, e.b))),
    Sub: (operands, _sub),
    Mul: (operands, lambda s, e: mul_bounds(_of(s, e.a), _of(s, e.b))),
    FloorDiv: (operands, lambda s, e: div_bounds(_of(s, e.a), _of(s, e.b), floordiv_int)),
    FloorMod: (operands, _floormod),
    Div: (operands, lambda s, e: div_bounds(_of(s, e.a), _of(s, e.b), truncdiv_int)),
    Mod: (operands, lambda s, e: mod_bounds(_of(s, e.a), _of(s, e.b))),
    Min: (operands, _min),
    Max: (operands, _max),
    CmpOp: (None, lambda s, e: (0, 1)),
    LogicalOp: (None, lambda s, e: (0, 1)),
    Not: (None, lambda s, e: (0, 1)),
    Select: (lambda e: (e.condition, e.true_value, e.false_value), _select),
    Cast: (lambda e: (e.value,), _cast),
    Ramp: (lambda e: (e.base, e.stride), _ramp),
    Broadcast: (lambda e: (e.value,), lambda s, e: _of(s, e.value)),
    Shuffle: (
        lambda e: e.vectors,
        lambda s, e: (min(_of(s, v)[0] for v in e.vectors), max(_of(s, v)[1] for v in e.vectors)),
    ),
    Let: (lambda e: (e.body,), lambda s, e: _of(s, e.body)),
    Call: (_call_inputs, _call),
}
