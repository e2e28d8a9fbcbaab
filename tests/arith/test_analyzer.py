"""What an `Analyzer` is told and asked."""

import pytest

from workbench.arith import (
    Analyzer,
    CompareResult,
    ConstIntBound,
    IntervalSet,
    ModularSet,
    ProofStrength,
)
from workbench.core import structural_equal
from workbench.core.errors import WorkbenchError
from workbench.ir import FloatImm, IntImm, Range, Var
from workbench.tirx import EQ, Add, Div, FloorDiv, IterVar, Mul, Not, Or, Ramp, Select, Sub, op

x, y, n, m = (Var(name, "int32") for name in "xynm")


def bounds(analyzer, expr):
    found = analyzer.const_int_bound(expr)
    return found.min_value, found.max_value


def test_binding():
    analyzer = Analyzer()
    analyzer.bind(x, Range(2, 10))
    assert bounds(analyzer, x) == (2, 9)
    assert analyzer.const_int_bound_is_bound(x)
    analyzer.bind(x, Range(2, 10))
    with pytest.raises(WorkbenchError, match="x is already known"):
        analyzer.bind(x, Range(0, 10))
    analyzer.bind(x, Range(0, 10), allow_override=True)
    assert bounds(analyzer, x + 1) == (1, 10)
    analyzer.bind(y, x * 2 + 1)
    assert structural_equal(analyzer.simplify(y - 1), Mul(x, IntImm("int32", 2)))
    with pytest.raises(WorkbenchError, match="y is already known"):
        analyzer.bind(y, x)
    axis = IterVar(Range(0, 4), Var("a", "int32"), 0)
    analyzer.bind(axis, Range(0, 4))
    assert bounds(analyzer, axis.var) == (0, 3)
    with pytest.raises(TypeError, match="expected a variable"):
        analyzer.bind(x + 1, Range(0, 4))


def test_a_range_of_one_value_is_that_value():
    analyzer = Analyzer()
    analyzer.bind(x, Range(n, n + 1))
    assert analyzer.simplify(x) is n
    analyzer.bind(y, Range(3, 4))
    assert int(analyzer.simplify(y * 2)) == 6


def test_updates():
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(0, 7))
    analyzer.update(x, ModularSet(4, 1))
    assert bounds(analyzer, x % 4) == (1, 1)
    assert int(analyzer.simplify(x % 2)) == 1
    with pytest.raises(WorkbenchError, match="already known"):
        analyzer.const_int_bound_update(x, ConstIntBound(0, 8))
    analyzer.const_int_bound_update(x, ConstIntBound(0, 8), override=True)
    analyzer.update(y, IntervalSet(n, n + 3))
    assert analyzer.can_prove(y < n + 4, ProofStrength.SYMBOLIC_BOUND)
    with pytest.raises(TypeError, match="expected ConstIntBound"):
        analyzer.update(x, 3)


def test_bounds_of_types():
    byte = Var("b", "uint8")
    analyzer = Analyzer()
    assert bounds(analyzer, byte) == (0, 255)
    assert bounds(analyzer, byte + byte) == (0, 255)
    assert bounds(analyzer, byte // 2) == (0, 127)
    assert bounds(analyzer, x)[0] == -(2**31)
    wide = Var("w", "int64")
    assert analyzer.const_int_bound(wide).min_value == ConstIntBound.NEG_INF
    assert str(analyzer.const_int_bound(wide)) == "ConstIntBound[-inf, inf]"
    assert bounds(analyzer, op.bitwise_and(x, IntImm("int32", 7))) == (0, 7)


def test_constraints():
    analyzer = Analyzer()
    with analyzer.constraint_scope(x % 3 == 0):
        assert analyzer.modular_set(x).coeff == 3
        assert int(analyzer.simplify(x % 3)) == 0
    assert analyzer.modular_set(x).coeff == 1
    with analyzer.constraint_scope(op.all(x >= 0, x + y < 10, y >= 2)):
        assert bounds(analyzer, x) == (0, 7)
        assert bounds(analyzer, y) == (2, 9)
        assert analyzer.can_prove(x + y <= 12)
    assert not analyzer.can_prove(x + y <= 12)
    with analyzer.constraint_scope(n < m):
        assert analyzer.can_prove(n <= m)
        assert analyzer.can_prove(m - n > 0)
        assert analyzer.can_prove(n * 2 < m * 2)
        assert not analyzer.can_prove(n + 1 < m)
        assert int(analyzer.simplify(Select(m <= n, x, IntImm("int32", 7)))) == 7
    with analyzer.constraint_scope(op.likely(op.logical_and(n < 4, m < 3))):
        assert analyzer.can_prove(n + m < 6)
        assert analyzer.can_prove(op.likely(op.logical_and(n < 4, m < 3)))
    flag = Var("flag", "bool")
    with analyzer.constraint_scope(Or(flag, n < 3)):
        assert analyzer.can_prove(Or(flag, n < 3))
    with analyzer.constraint_scope(Not(flag)):
        assert int(analyzer.simplify(Select(flag, IntImm("int32", 1), IntImm("int32", 2)))) == 2


def test_facts_add_up():
    analyzer = Analyzer()
    k = Var("k", "int32")
    with analyzer.constraint_scope(op.all(n < m, m <= k, k < x)):
        assert analyzer.can_prove(n < k)
        assert analyzer.can_prove(n + 1 < x)
        assert not analyzer.can_prove(n + 2 < x)
        assert analyzer.try_compare(n, x) is CompareResult.LT
        assert analyzer.try_compare(k, n) is CompareResult.GT
        assert analyzer.try_compare(m, k) is CompareResult.LE
    assert analyzer.try_compare(n, x) is CompareResult.UNKNOWN


def test_results_do_not_depend_on_history():
    analyzer = Analyzer()
    for first, second in ((n * m * 2, m * n * 2), (op.max(n, m) + 1, op.max(m, n) + 1)):
        assert analyzer.simplify(first) is first
        assert analyzer.simplify(second) is second


def test_long_conjunctions():
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 4))
    everything = x >= 0
    for _ in range(5_000):
        everything = op.logical_and(everything, x < 4)
    assert analyzer.can_prove(everything)


def test_nested_scopes_and_clones():
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 100))
    with analyzer.constraint_scope(x < 50):
        with analyzer.constraint_scope(x > 10):
            assert bounds(analyzer, x) == (11, 49)
            copy = analyzer.clone()
        assert bounds(analyzer, x) == (0, 49)
    assert bounds(analyzer, x) == (0, 99)
    assert bounds(copy, x) == (11, 49)
    copy.bind(y, Range(0, 4))
    assert not analyzer.const_int_bound_is_bound(y)


def test_symbolic_proofs():
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, n))
    analyzer.bind(y, Range(0, m))
    strong = ProofStrength.SYMBOLIC_BOUND
    assert analyzer.can_prove(x < n, strong)
    assert analyzer.can_prove(x + 1 <= n, strong)
    assert not analyzer.can_prove(x < n - 1, strong)
    assert analyzer.can_prove_equal((n + 1) * (m + 1), n * m + n + m + 1)
    assert not analyzer.can_prove_equal(n, m)
    assert structural_equal(analyzer.simplify((m * n + x) // n), m)
    assert analyzer.simplify((m * n + x) % n) is x
    assert analyzer.can_prove_greater_equal(x, 0)
    assert not analyzer.can_prove_less(x, 100)


def test_comparing():
    analyzer = Analyzer()
    analyzer.bind(x, Range(0, 4))
    analyzer.bind(y, Range(8, 12))
    zero = IntImm("int32", 0)
    assert analyzer.try_compare(x, y) is CompareResult.LT
    assert analyzer.try_compare(y, x) is CompareResult.GT
    assert analyzer.try_compare(x, zero) is CompareResult.GE
    assert analyzer.try_compare(zero, x) is CompareResult.LE
    assert analyzer.try_compare(x + y, y + x) is CompareResult.EQ
    assert analyzer.try_compare(n, m) is CompareResult.UNKNOWN


def test_step_limit_and_counts():
    analyzer = Analyzer()
    analyzer.rewrite_simplify((x * 4 + 8) // 4)
    assert analyzer.rewrite_simplify_stats["rewrites"] > 0
    analyzer.reset_rewrite_simplify_stats()
    analyzer.set_maximum_rewrite_steps(1)
    with pytest.raises(WorkbenchError, match="more than 1 steps"):
        analyzer.rewrite_simplify((y * 8 + 16) // 4 * 2)


def test_the_same_object_comes_back():
    analyzer = Analyzer()
    for expr in (x, x * 4 + y, n // 4, Select(n < m, n + 1, m), Ramp(x, IntImm("int32", 1), 4)):
        assert analyzer.simplify(expr) is expr


def test_what_is_not_done():
    analyzer = Analyzer()
    big = IntImm("int32", 2**30)
    assert isinstance(analyzer.simplify(Mul(big, IntImm("int32", 4))), Mul)
    division = FloorDiv(x, IntImm("int32", 0))
    assert analyzer.simplify(division) is division
    f = Var("f", "float32")
    for expr in (
        Mul(f, FloatImm("float32", 0.0)),
        Sub(Add(f, f), f),
        Div(f, f),
        Add(Add(f, FloatImm("float32", 1.0)), FloatImm("float32", 2.0)),
    ):
        assert analyzer.simplify(expr) is expr
    tenth = FloatImm("float32", 0.1)
    assert analyzer.simplify(Add(tenth, tenth)).value == 0.20000000298023224
    byte = Var("b", "uint8")
    assert not analyzer.can_prove(Add(byte, IntImm("uint8", 1)) > byte)
    assert analyzer.can_prove(EQ(byte - byte, IntImm("uint8", 0)))
