"""Simplified expressions are equal for all values, not only where they were tried: by z3."""

import random

import pytest

from tests.arith.test_simplify import Maker, bind_random
from workbench.arith import Analyzer
from workbench.ir import IntImm, Var
from workbench.tirx import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Sub,
)

z3 = pytest.importorskip("z3")

BINARY = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    # z3 rounds so that the remainder is not negative: down for a positive divisor, up for others
    FloorDiv: lambda a, b: z3.If(b > 0, a / b, (-a) / (-b)),
    FloorMod: lambda a, b: z3.If(b > 0, a % b, -((-a) % (-b))),
    Min: lambda a, b: z3.If(a < b, a, b),
    Max: lambda a, b: z3.If(a > b, a, b),
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
    And: z3.And,
    Or: z3.Or,
}


def translate(expr, names, divisors):
    cls = type(expr)
    if cls is Var:
        return names.setdefault(expr, z3.Int(expr.name))
    if cls is IntImm:
        return z3.BoolVal(bool(expr.value)) if expr.dtype == "bool" else z3.IntVal(expr.value)
    if cls is Not:
        return z3.Not(translate(expr.a, names, divisors))
    if cls is Select:
        parts = (expr.condition, expr.true_value, expr.false_value)
        return z3.If(*(translate(p, names, divisors) for p in parts))
    a, b = translate(expr.a, names, divisors), translate(expr.b, names, divisors)
    if cls in (FloorDiv, FloorMod):
        divisors.append(b)
    return BINARY[cls](a, b)


@pytest.mark.parametrize("seed", range(8))
def test_equal_for_all_values(seed):
    rng = random.Random(seed)
    proved = 0
    for _ in range(12):
        maker = Maker(rng)
        analyzer = Analyzer()
        ranges = bind_random(rng, maker, analyzer) if rng.random() < 0.5 else {}
        expr = maker.condition(1) if rng.random() < 0.3 else maker.number(rng.randrange(1, 4))
        after = analyzer.simplify(expr)
        names, divisors = {}, []
        solver = z3.Solver()
        solver.set("timeout", 300)
        left, right = translate(expr, names, divisors), translate(after, names, [])
        solver.add(left != right, *(d != 0 for d in divisors))
        for var, values in ranges.items():
            value = names.setdefault(var, z3.Int(var.name))
            solver.add(value >= values[0], value <= values[-1])
        answer = solver.check()
        assert answer != z3.sat, (expr, after, solver.model())
        proved += answer == z3.unsat
    assert proved >= 6
