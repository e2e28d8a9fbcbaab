"""Residues: what is known of an integer expression modulo a constant."""

from __future__ import annotations

from math import gcd
from typing import Any

from workbench.arith.build import INDEX, WRAP, kind_of, range_of
from workbench.arith.postorder import PostOrder, operands
from workbench.core.node import Node, field
from workbench.ir.expr import Call, IntImm, Var
from workbench.runtime.dtype import DataTypeCode
from workbench.tirx.expr import (
    Add,
    Broadcast,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Ramp,
    Select,
    Sub,
)

Residue = tuple[int, int]  # (coeff, base): value ≡ base (mod coeff); coeff 0: the value is base
ANYTHING: Residue = (1, 0)


class ModularSet(Node):
    """value = coeff * k + base for some integer k, with 0 <= base < coeff (coeff 0: a constant)."""

    coeff: int = field(converter=int)
    base: int = field(converter=int)

    def __repr__(self) -> str:
        return f"ModularSet(coeff={self.coeff}, base={self.base})"


def residue(coeff: int, base: int) -> Residue:
    """The normal form of a residue."""
    coeff = abs(coeff)
    return (coeff, base % coeff) if coeff else (0, base)


def union(a: Residue, b: Residue) -> Residue:
    """What holds of both."""
    return residue(gcd(a[0], b[0], a[1] - b[1]), a[1])


def intersect(a: Residue, b: Residue) -> Residue | None:
    """The residue of values that satisfy both, or None if there are none."""
    (m, r), (n, s) = a, b
    if m == 0 or n == 0:
        if m != 0:
            (m, r), (n, s) = (n, s), (m, r)
        holds = r == s if n == 0 else (r - s) % n == 0
        return (0, r) if holds else None
    g = gcd(m, n)
    if (r - s) % g:
        return None
    step = n // g
    k = ((s - r) // g * pow(m // g, -1, step)) % step if step > 1 else 0
    return residue(m // g * n, r + m * k)


def _times(a: Residue, b: Residue) -> Residue:
    coeff = gcd(a[0] * b[0], a[0] * b[1], a[1] * b[0])
    return residue(coeff, a[1] * b[1])


class ModularAnalysis(PostOrder[Residue]):
    """The residues of expressions, given those of the variables."""

    def __init__(self) -> None:
        super().__init__()
        #: id(var) → (var, residue)
        self.vars: dict[int, tuple[Var, Residue]] = {}

    def default(self, expr: Any) -> Residue:
        """Nothing known."""
        return ANYTHING

    def finish(self, expr: Any, value: Residue) -> Residue:
        """In a type that wraps around only residues modulo powers of two survive."""
        if value[0] == 1:
            return value
        kind = kind_of(expr.ty)
        if kind == INDEX:
            return value
        if kind != WRAP:
            return ANYTHING
        low, high = range_of(expr.ty.dtype)
        if value[0] == 0 and low <= value[1] <= high:
            return value
        return residue(gcd(value[0], high - low + 1), value[1])


def _of(self: ModularAnalysis, expr: Any) -> Residue:
    return self.memo[id(expr)][1]


def _var(self: ModularAnalysis, expr: Var) -> Residue:
    found = self.vars.get(id(expr))
    return found[1] if found is not None else ANYTHING


def _add(self: ModularAnalysis, expr: Any) -> Residue:
    a, b = _of(self, expr.a), _of(self, expr.b)
    return residue(gcd(a[0], b[0]), a[1] + b[1])


def _sub(self: ModularAnalysis, expr: Any) -> Residue:
    a, b = _of(self, expr.a), _of(self, expr.b)
    return residue(gcd(a[0], b[0]), a[1] - b[1])


def _mul(self: ModularAnalysis, expr: Any) -> Residue:
    return _times(_of(self, expr.a), _of(self, expr.b))


def _floordiv(self: ModularAnalysis, expr: Any) -> Residue:
    a, b = _of(self, expr.a), _of(self, expr.b)
    if b[0] == 0 and b[1] != 0 and a[0] % b[1] == 0:
        return residue(a[0] // b[1], a[1] // b[1])
    return ANYTHING


def _div(self: ModularAnalysis, expr: Any) -> Residue:
    a, b = _of(self, expr.a), _of(self, expr.b)
    if b[0] == 0 and b[1] != 0 and a[0] % b[1] == 0 and a[1] % b[1] == 0:
        return residue(a[0] // b[1], a[1] // b[1])
    return ANYTHING


def _floormod(self: ModularAnalysis, expr: Any) -> Residue:
    a, b = _of(self, expr.a), _of(self, expr.b)
    if b[0] == 0 and b[1] != 0:
        if a[0] % b[1] == 0:
            return (0, a[1] % b[1])
        return residue(gcd(a[0], b[1]), a[1])
    return residue(gcd(a[0], b[0], b[1]), a[1])


def _mod(self: ModularAnalysis, expr: Any) -> Residue:
    a, b = _of(self, expr.a), _of(self, expr.b)
    if b[1] == 0 and b[0] == 0:
        return ANYTHING
    return residue(gcd(a[0], b[0], b[1]), a[1])


def _either(self: ModularAnalysis, expr: Any) -> Residue:
    return union(_of(self, expr.a), _of(self, expr.b))


def _select(self: ModularAnalysis, expr: Select) -> Residue:
    return union(_of(self, expr.true_value), _of(self, expr.false_value))


def _cast(self: ModularAnalysis, expr: Cast) -> Residue:
    """A cast that wraps around keeps residues modulo powers of two; `finish` does that."""
    source, target = expr.value.ty.dtype, expr.ty.dtype
    if kind_of(expr.value.ty) not in (INDEX, WRAP):
        return ANYTHING
    value = _of(self, expr.value)
    both_signed = source.type_code == target.type_code == DataTypeCode.INT
    if both_signed and target.bits >= source.bits:
        return value
    coeff = gcd(value[0], 1 << target.bits)
    return residue(coeff, value[1])


def _ramp(self: ModularAnalysis, expr: Ramp) -> Residue:
    base, stride = _of(self, expr.base), _of(self, expr.stride)
    return residue(gcd(base[0], stride[0], stride[1]), base[1])


def _call_inputs(expr: Call) -> tuple[Any, ...]:
    name = getattr(expr.op, "name", "").rpartition(".")[2]
    return expr.args if name in ("shift_left", "if_then_else", "likely") else ()


def _call(self: ModularAnalysis, expr: Call) -> Residue:
    name = getattr(expr.op, "name", "").rpartition(".")[2]
    if name == "shift_left":
        shift = _of(self, expr.args[1])
        if shift[0] == 0 and 0 <= shift[1] < 64:
            return _times(_of(self, expr.args[0]), (0, 1 << shift[1]))
    elif name == "if_then_else":
        return union(_of(self, expr.args[1]), _of(self, expr.args[2]))
    elif name == "likely":
        return _of(self, expr.args[0])
    return ANYTHING


ModularAnalysis.table = {
    Var: (None, _var),
    IntImm: (None, lambda s, e: (0, e.value)),
    Add: (operands, _add),
    Sub: (operands, _sub),
    Mul: (operands, _mul),
    FloorDiv: (operands, _floordiv),
    Div: (operands, _div),
    FloorMod: (operands, _floormod),
    Mod: (operands, _mod),
    Min: (operands, _either),
    Max: (operands, _either),
    Select: (lambda e: (e.true_value, e.false_value), _select),
    Cast: (lambda e: (e.value,), _cast),
    Ramp: (lambda e: (e.base, e.stride), _ramp),
    Broadcast: (lambda e: (e.value,), lambda s, e: _of(s, e.value)),
    Let: (lambda e: (e.body,), lambda s, e: _of(s, e.body)),
    Call: (_call_inputs, _call),
}
