"""The simplifier as a whole: random expressions against random evaluation."""

import random

import pytest

from tests.arith.evaluation import evaluate, same_value
from workbench.arith import Analyzer, ProofStrength
from workbench.core import iter_nodes
from workbench.core.recorder import recording
from workbench.ir import FloatImm, IntImm, Range, Var
from workbench.tirx import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
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
    Not,
    Or,
    Ramp,
    Select,
    Sub,
    op,
)

ARITHMETIC = [Add, Add, Add, Sub, Sub, Mul, FloorDiv, FloorMod, Min, Max]
COMPARISONS = [EQ, NE, LT, LE, GT, GE]


class Maker:
    """Random expressions over a few variables."""

    def __init__(self, rng, dtype="int32", truncating=False):
        self.rng = rng
        self.dtype = dtype
        self.vars = [Var(f"v{i}", dtype) for i in range(4)]
        self.truncating = truncating

    def constant(self):
        choice = [0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 16, 12, 64]
        value = self.rng.choice(choice)
        if self.dtype.startswith("int") and self.rng.random() < 0.2:
            value = -value
        return IntImm(self.dtype, value)

    def number(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            return rng.choice(self.vars) if rng.random() < 0.7 else self.constant()
        if rng.random() < 0.08:
            return Select(self.condition(depth - 1), self.number(depth - 1), self.number(depth - 1))
        cls = rng.choice(ARITHMETIC + ([Div, Mod] if self.truncating else []))
        a = self.number(depth - 1)
        if cls is Mul or cls in (FloorDiv, FloorMod, Div, Mod):
            b = self.constant() if rng.random() < 0.8 else self.number(depth - 1)
        else:
            b = self.number(depth - 1)
        return cls(a, b)

    def condition(self, depth):
        rng = self.rng
        draw = rng.random()
        if depth > 0 and draw < 0.25:
            cls = rng.choice([And, Or])
            return cls(self.condition(depth - 1), self.condition(depth - 1))
        if depth > 0 and draw < 0.32:
            return Not(self.condition(depth - 1))
        return rng.choice(COMPARISONS)(self.number(depth), self.number(depth))


def bind_random(rng, maker, analyzer):
    values = {}
    for var in maker.vars:
        low, extent = rng.choice([0, 0, 0, -3, 5]), rng.choice([1, 2, 4, 8, 16, 7, 30])
        if not maker.dtype.startswith("int"):
            low = max(low, 0)
        analyzer.bind(
            var, Range.from_min_extent(IntImm(maker.dtype, low), IntImm(maker.dtype, extent))
        )
        values[var] = range(low, low + extent)
    return values


def check_points(rng, before, after, values, analyzer, holds=None, count=6):
    bound = analyzer.const_int_bound(before) if not before.dtype.startswith("bool") else None
    residue = analyzer.modular_set(before) if bound is not None else None
    checked = 0
    for _ in range(count * 5):
        if checked == count:
            break
        env = {v: rng.choice(c) for v, c in values.items()}
        try:
            if holds is not None and not evaluate(holds, env):
                continue
            want = evaluate(before, env)
        except ZeroDivisionError:
            continue
        checked += 1
        got = evaluate(after, env)
        assert same_value(want, got), (
            f"\n  {before} = {want}\n  {after} = {got}\n  at "
            + ", ".join(f"{v.name}={x}" for v, x in env.items())
            + (f"\n  where {holds}" if holds is not None else "")
        )
        if bound is not None and not isinstance(want, float):
            assert bound.min_value <= want <= bound.max_value, (before, bound, env, want)
            if residue.coeff:
                assert want % residue.coeff == residue.base, (before, residue, env, want)
            else:
                assert want == residue.base


@pytest.mark.parametrize("seed", range(30))
def test_index_expressions(seed):
    rng = random.Random(seed)
    for _ in range(60):
        maker = Maker(rng, "int32", truncating=rng.random() < 0.3)
        analyzer = Analyzer()
        values = bind_random(rng, maker, analyzer)
        expr = maker.number(rng.randrange(1, 5))
        for simplify in (
            analyzer.rewrite_simplify,
            analyzer.canonical_simplify,
            analyzer.simplify,
        ):
            check_points(rng, expr, simplify(expr), values, analyzer)


@pytest.mark.parametrize("seed", range(10))
def test_conditions(seed):
    rng = random.Random(seed)
    for _ in range(60):
        maker = Maker(rng)
        analyzer = Analyzer()
        values = bind_random(rng, maker, analyzer)
        expr = maker.condition(rng.randrange(1, 4))
        check_points(rng, expr, analyzer.simplify(expr), values, analyzer)
        check_points(rng, expr, analyzer.canonical_simplify(expr), values, analyzer)


@pytest.mark.parametrize("seed", range(12))
def test_under_a_condition(seed):
    rng = random.Random(seed)
    for _ in range(50):
        maker = Maker(rng)
        analyzer = Analyzer()
        values = bind_random(rng, maker, analyzer)
        holds = maker.condition(rng.randrange(0, 3))
        expr = maker.number(rng.randrange(1, 4))
        question = maker.condition(rng.randrange(0, 3))
        before = analyzer.simplify(expr)
        with analyzer.constraint_scope(holds):
            check_points(rng, expr, analyzer.simplify(expr), values, analyzer, holds)
            check_points(rng, question, analyzer.simplify(question), values, analyzer, holds)
        assert analyzer.simplify(expr) is before
        check_points(rng, expr, analyzer.simplify(expr), values, analyzer)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_proved_holds(seed):
    """Proofs from facts, from products multiplied out and from symbolic ranges."""
    rng = random.Random(seed)
    proved = 0
    for _ in range(25):
        a, b, n, m = variables = [Var(name, "int32") for name in "abnm"]
        analyzer = Analyzer()
        one = IntImm("int32", 1)
        analyzer.bind(n, Range(1, 7))
        analyzer.bind(m, Range(1, 7))
        analyzer.bind(a, Range.from_min_extent(IntImm("int32", 0), n))
        analyzer.bind(b, Range.from_min_extent(m, n) if rng.random() < 0.5 else Range(0, 5))

        def linear():
            total = IntImm("int32", rng.randrange(-3, 4))
            for var in variables:
                total = total + var * rng.choice([-2, -1, 0, 0, 1, 1, 2])
            if rng.random() < 0.3:
                total = total + rng.choice(variables) * rng.choice(variables)
            if rng.random() < 0.2:
                total = total // rng.choice([2, 3, 4])
            return total

        def comparison():
            return rng.choice(COMPARISONS)(linear(), linear())

        holds = And(comparison(), comparison()) if rng.random() < 0.7 else comparison()
        questions = [comparison() for _ in range(6)]
        questions += [LE(a, Sub(n, one)), LT(a, n), And(LT(a, n), GE(b, IntImm("int32", 0)))]
        with analyzer.constraint_scope(holds):
            found = [q for q in questions if analyzer.can_prove(q, ProofStrength.SYMBOLIC_BOUND)]
        proved += len(found)
        for _ in range(40):
            env = {n: rng.randrange(1, 7), m: rng.randrange(1, 7)}
            env[a] = rng.randrange(env[n])
            low, high = analyzer.int_set(b).min_value, analyzer.int_set(b).max_value
            bounds = evaluate(low, env), evaluate(high, env)
            env[b] = rng.randint(*bounds)
            if evaluate(holds, env):
                for question in found:
                    assert evaluate(question, env), (holds, question, env)
    assert proved > 20


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint32", "int16"])
def test_types_that_wrap_around(dtype):
    rng = random.Random(dtype)
    for _ in range(250):
        maker = Maker(rng, dtype, truncating=rng.random() < 0.3)
        analyzer = Analyzer()
        values = bind_random(rng, maker, analyzer)
        expr = maker.number(rng.randrange(1, 4))
        check_points(rng, expr, analyzer.simplify(expr), values, analyzer)
        condition = maker.condition(rng.randrange(0, 3))
        check_points(rng, condition, analyzer.simplify(condition), values, analyzer)


def float_expr(rng, variables, depth):
    if depth == 0:
        if rng.random() < 0.6:
            return rng.choice(variables)
        return FloatImm("float32", rng.choice([0.0, -0.0, 1.0, 2.0, 0.1, 1e30, -3.5]))
    cls = rng.choice([Add, Sub, Mul, Div, Min, Max])
    return cls(float_expr(rng, variables, depth - 1), float_expr(rng, variables, depth - 1))


def test_floats_keep_their_value():
    rng = random.Random(1)
    variables = [Var("a", "float32"), Var("b", "float32")]
    points = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0**100, float("inf"), float("nan"), 3.25]
    for _ in range(800):
        expr = float_expr(rng, variables, rng.randrange(1, 4))
        after = Analyzer().simplify(expr)
        for _ in range(5):
            env = {v: rng.choice(points) for v in variables}
            try:
                want = evaluate(expr, env)
            except ZeroDivisionError:
                continue
            assert same_value(want, evaluate(after, env)), (expr, after, env)


def test_vectors():
    rng = random.Random(2)
    for _ in range(400):
        maker = Maker(rng)
        analyzer = Analyzer()
        values = bind_random(rng, maker, analyzer)

        def vector(depth):
            if depth == 0:
                if rng.random() < 0.5:
                    return Broadcast(maker.number(1), 4)
                return Ramp(maker.number(1), maker.constant(), 4)
            cls = rng.choice([Add, Sub, Mul, FloorDiv, FloorMod, Min, Max])
            right = (
                Broadcast(maker.constant(), 4)
                if cls in (FloorDiv, FloorMod, Mul)
                else vector(depth - 1)
            )
            return cls(vector(depth - 1), right)

        expr = vector(rng.randrange(1, 3))
        if rng.random() < 0.3:
            expr = rng.choice([LT, LE, EQ])(expr, vector(1))
        after = analyzer.simplify(expr)
        assert after.ty == expr.ty
        for _ in range(5):
            env = {v: rng.choice(c) for v, c in values.items()}
            try:
                want = evaluate(expr, env)
            except ZeroDivisionError:
                continue
            assert same_value(want, evaluate(after, env)), (expr, after, env)


def test_casts_let_and_calls():
    rng = random.Random(3)
    for _ in range(300):
        maker = Maker(rng)
        analyzer = Analyzer()
        values = bind_random(rng, maker, analyzer)
        a, b = maker.number(2), maker.number(2)
        t = Var("t", "int32")
        expr = rng.choice(
            [
                lambda: Add(Cast("int64", a), Cast("int64", b)),
                lambda: Mul(Cast("int64", Add(a, b)), IntImm("int64", 4)),
                lambda: Cast("int32", Cast("int64", a)),
                lambda: Let(t, a, Add(t, FloorMod(t, IntImm("int32", 4)))),
                lambda: op.if_then_else(maker.condition(1), a, b),
                lambda: op.bitwise_and(a, IntImm("int32", 7)),
                lambda: FloorDiv(op.shift_right(a, IntImm("int32", 2)), IntImm("int32", 3)),
                lambda: Cast("int8", IntImm("int32", rng.randrange(-300, 300))),
                lambda: Cast("float32", IntImm("int32", rng.randrange(-300, 300))),
            ]
        )()
        check_points(rng, expr, analyzer.simplify(expr), values, analyzer)


def test_simplification_is_stable():
    """A second run changes the value of nothing and mostly not even the form."""
    rng = random.Random(4)
    changed = 0
    for _ in range(300):
        maker = Maker(rng)
        analyzer = Analyzer()
        bind_random(rng, maker, analyzer)
        once = analyzer.canonical_simplify(maker.number(3))
        twice = analyzer.canonical_simplify(once)
        changed += twice is not once
    assert changed <= 15


def test_deep_expressions():
    x, y = Var("x", "int32"), Var("y", "int32")
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 4))
    deep = x
    for i in range(20_000):
        deep = Add(deep, y if i % 3 else IntImm("int32", 1))
    assert sum(1 for _ in iter_nodes(analyzer.simplify(deep))) < 20
    condition = LT(x, IntImm("int32", 3))
    choice = x
    for _ in range(3_000):
        choice = Select(condition, Add(choice, y), y)
    analyzer.simplify(choice)
    assert analyzer.const_int_bound(deep).min_value < 0
    assert analyzer.modular_set(deep).coeff == 1


def test_rules_are_recorded_with_their_place():
    x = Var("x", "int32")
    with recording("rule") as events:
        Analyzer().rewrite_simplify(FloorDiv(Mul(x, IntImm("int32", 8)), IntImm("int32", 4)))
    assert [e.kind for e in events.events] == ["rule"]
    event = events.events[0]
    assert "floordiv.py:" in event.source
    assert "//" in event.name
