"""Interval sets, regions, linear forms and equation systems, checked by enumeration."""

import itertools
import random

import pytest

from tests.arith.evaluation import evaluate
from tests.arith.test_simplify import Maker
from workbench.arith import (
    Analyzer,
    IntervalSet,
    IntSet,
    deduce_bound,
    detect_clip_bound,
    detect_linear_equation,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
    solve_linear_equations,
)
from workbench.arith.int_set import covers, eval_set, intersect, is_neg_inf, is_pos_inf, union
from workbench.core import substitute
from workbench.ir import IntImm, Range, Var
from workbench.tirx import EQ, Ramp, op

x, y, z, n, m = (Var(name, "int32") for name in "xyznm")


def ends(interval, env=None):
    low, high = interval.min_value, interval.max_value
    return (
        None if is_neg_inf(low) else evaluate(low, env or {}),
        None if is_pos_inf(high) else evaluate(high, env or {}),
    )


@pytest.mark.parametrize("seed", range(20))
def test_sets_contain_all_values(seed):
    rng = random.Random(seed)
    for _ in range(30):
        maker = Maker(rng)
        a, b, free, _ = maker.vars
        domains = {a: (-2, rng.randrange(0, 6)), b: (0, rng.randrange(0, 9))}
        expr = maker.number(rng.randrange(1, 4))
        analyzer = Analyzer()
        dom = {
            v: IntervalSet(IntImm("int32", lo), IntImm("int32", hi))
            for v, (lo, hi) in domains.items()
        }
        covered = eval_set(expr, dom, analyzer)
        for _ in range(12):
            env = {v: rng.randrange(-9, 20) for v in maker.vars}
            for v, (lo, hi) in domains.items():
                env[v] = rng.randint(lo, hi)
            try:
                value = evaluate(expr, env)
                low, high = ends(covered, env)
            except ZeroDivisionError:
                continue
            assert low is None or low <= value, (expr, covered, env)
            assert high is None or value <= high, (expr, covered, env)


def test_interval_helpers():
    assert ends(IntSet.interval(1, 5)) == (1, 5)
    assert IntSet.single_point(x).min_value is x
    assert ends(IntSet.vector(Ramp(IntImm("int32", 3), IntImm("int32", 2), 4))) == (3, 9)
    assert ends(IntSet.from_range(Range(2, 10))) == (2, 9)
    assert IntervalSet.everything().is_everything()
    assert IntervalSet.nothing().is_nothing()
    assert ends(union([IntervalSet(1, 2), IntervalSet(5, 9), IntervalSet.nothing()])) == (1, 9)
    assert ends(intersect([IntervalSet(1, 7), IntervalSet(5, 9)])) == (5, 7)
    assert covers(IntervalSet(0, 9), IntervalSet(2, 9))
    assert not covers(IntervalSet(0, 9), IntervalSet(2, 10))
    assert covers(IntervalSet(n, n + 9), IntervalSet(n + 1, n + 9))
    window = Analyzer().int_set(x * 4 + y, {x: IntervalSet(0, 3)})
    assert ends(window, {y: 5}) == (5, 17)
    bound = Analyzer()
    bound.bind(x, Range(0, 4))
    bound.bind(y, Range(0, n))
    assert ends(bound.int_set(x * 2 + y), {n: 10}) == (0, 15)


REGIONS = [
    ([(x * 8 + y, 1)], True),
    ([(x * 8 + y, 3)], True),
    ([(x * 8, 8)], True),
    ([(x + y, 1)], True),
    ([(x * 2 + z, 1), (y, 2)], True),
    ([(x // 2, 1), (x % 2, 1)], True),
    ([(y * 2, 3)], True),
    ([(x * 8 + y + 5, 1)], x * 8 + y < 30),
    ([(x, 1), (y + 1, 4)], op.all(x < 3, y >= 2)),
    ([(x * 2 + z * 8, 2)], True),
]
HOLES = [
    ([(x * 8, 4)], True),
    ([(x, 1), (x, 1)], True),
    ([(x + y, 1), (x, 1)], True),
    ([(op.max(x, y), 1)], True),
]
DOMAIN = {x: Range(0, 4), y: Range(0, 8), z: Range(0, 2)}


def touched(region, predicate):
    out = set()
    spans = [range(int(r.extent)) for r in DOMAIN.values()]
    for values in itertools.product(*spans):
        env = dict(zip(DOMAIN, values, strict=True))
        if predicate is True or evaluate(predicate, env):
            starts = [evaluate(e, env) for e, _ in region]
            sides = [range(s, s + extent) for s, (_, extent) in zip(starts, region, strict=True)]
            out.update(itertools.product(*sides))
    return out


def ranges_of(region):
    return [Range.from_min_extent(e, IntImm("int32", extent)) for e, extent in region]


@pytest.mark.parametrize("case", REGIONS)
def test_strict_regions(case):
    region, predicate = case
    found = estimate_region_strict_bound(ranges_of(region), DOMAIN, predicate)
    assert found is not None
    box = [range(ends(s)[0], ends(s)[1] + 1) for s in found]
    assert set(itertools.product(*box)) == touched(region, predicate)
    assert estimate_region_lower_bound(ranges_of(region), DOMAIN, predicate) is not None


@pytest.mark.parametrize("case", REGIONS + HOLES)
def test_upper_regions(case):
    region, predicate = case
    found = estimate_region_upper_bound(ranges_of(region), DOMAIN, predicate)
    box = [range(ends(s)[0], ends(s)[1] + 1) for s in found]
    assert touched(region, predicate) <= set(itertools.product(*box))


@pytest.mark.parametrize("case", HOLES)
def test_regions_that_are_no_box(case):
    region, predicate = case
    assert estimate_region_strict_bound(ranges_of(region), DOMAIN, predicate) is None


def test_symbolic_regions():
    (found,) = estimate_region_strict_bound(
        [Range.from_min_extent(x * 8 + y, IntImm("int32", 1))], DOMAIN, x * 8 + y < n
    )
    assert ends(found, {n: 20}) == (0, 19)
    assert ends(found, {n: 50}) == (0, 31)
    (tile,) = estimate_region_upper_bound([Range.from_min_extent(x * m, m)], {x: Range(0, n)})
    assert ends(tile, {n: 3, m: 5}) == (0, 14)


def test_linear_equations():
    coeffs = detect_linear_equation(x * 4 + y * 2 + 3, [x, y])
    assert [int(c) for c in coeffs] == [4, 2, 3]
    a, b = detect_linear_equation(x * n + y, [x])
    assert a is n
    assert b is y
    assert [int(c) for c in detect_linear_equation(x * 4 - y - (x - 1) * 2, [x, y])] == [2, -1, 2]
    assert detect_linear_equation(x * x, [x]) == []
    assert detect_linear_equation(x // 2, [x]) == []
    assert len(detect_linear_equation(n * m, [])) == 1


def test_clip_bounds():
    def numbers(found):
        return [None if e is None else int(e) for e in found]

    assert numbers(detect_clip_bound(op.all(x < 10, x >= 2, y < 3), [x, y])) == [2, 9, None, 2]
    assert numbers(detect_clip_bound(x * 2 < 10, [x])) == [None, 4]
    assert detect_clip_bound(op.all(x < 10, y < 3), [x]) == []
    low, high = detect_clip_bound(op.all(x < n * 6, x - 1 > 0), [x])
    assert int(low) == 2
    assert evaluate(high, {n: 2}) == 11


CONDITIONS = [
    x * 4 + y < 20,
    (x + y) * 2 >= 9,
    x // 4 < 3,
    3 <= x // 2,
    -x > y,
    x * 4 >= 10,
    10 - x * 3 >= y,
    y - x * 4 > 3,
    x * 3 - y <= x,
    x + 5 > y * 2,
    y * 2 < x,
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_deduced_bounds_suffice_and_are_tight(condition):
    domain = {y: IntervalSet(1, 4)}
    found = deduce_bound(x, condition, domain, domain)
    low, high = ends(found)
    assert low is not None or high is not None
    for value in range(-30, 30):
        inside = (low is None or low <= value) and (high is None or value <= high)
        holds = all(evaluate(condition, {x: value, y: w}) for w in range(1, 5))
        assert inside == holds, (condition, found, value)


def test_bounds_that_cannot_be_deduced():
    assert deduce_bound(x, x * x > 3, {}, {}).is_nothing()
    assert deduce_bound(x, EQ(x * 2, n), {}, {}).is_nothing()
    assert deduce_bound(x, x * y > 3, {}, {}).is_nothing()


def test_equation_systems():
    unique = solve_linear_equations([EQ(x + y, 20), EQ(x - y, 10)], [x, y])
    assert int(unique.src_to_dst[x]) == 15
    assert int(unique.src_to_dst[y]) == 5
    assert unique.dst.variables == ()
    none = solve_linear_equations([EQ(x + y, 20), EQ(x + y, 21)], [x, y])
    assert not none.dst.relations[0].value
    odd = solve_linear_equations([EQ(x * 2 + y * 4, 7)], [x, y])
    assert not odd.dst.relations[0].value


@pytest.mark.parametrize("seed", range(15))
def test_random_equation_systems(seed):
    rng = random.Random(seed)
    rows = [[rng.randrange(-3, 4) for _ in range(3)] for _ in range(rng.randrange(1, 3))]
    right = [rng.randrange(-6, 7) for _ in rows]
    unknowns = [x, y, z]
    equations = [
        EQ(r[0] * x + r[1] * y + r[2] * z + IntImm("int32", 0), IntImm("int32", c))
        for r, c in zip(rows, right, strict=True)
    ]
    domains = {v: Range(-4, 5) for v in unknowns}
    result = solve_linear_equations(equations, unknowns, domains)
    grid = itertools.product(range(-4, 5), repeat=3)
    solutions = {
        p
        for p in grid
        if all(
            sum(a * b for a, b in zip(r, p, strict=True)) == c
            for r, c in zip(rows, right, strict=True)
        )
    }
    found = set()
    fresh = result.dst.variables
    spans = [result.dst.ranges[v] for v in fresh]
    for values in itertools.product(
        *(range(int(s.min), int(s.min) + int(s.extent)) for s in spans)
    ):
        env = dict(zip(fresh, values, strict=True))
        if all(evaluate(r, env) for r in result.dst.relations):
            found.add(tuple(evaluate(result.src_to_dst[v], env) for v in unknowns))
            for new, expr in result.dst_to_src.items():
                old = substitute(expr, result.src_to_dst)
                assert evaluate(old, env) == env[new]
    assert found == solutions


def test_bounds_of_unsigned_differences_stay_in_their_type():
    """-51 is no value of an unsigned type, so the bound is written as a difference."""
    from workbench import tirx

    x = tirx.Var("x", "uint64")
    rest = (tirx.const(51, "uint64") - x % tirx.const(51, "uint64")).astype("int32")
    analyzer = Analyzer()
    assert not analyzer.can_prove(tirx.max(rest, 1) < 1)
    assert analyzer.can_prove(tirx.max(rest, 1) >= 1)


def test_sets_of_sums_that_wrap_around():
    from workbench import tirx

    i = tirx.Var("i", "int32")
    analyzer = Analyzer()
    value = (tirx.const(3, "uint8") - (i + 3).astype("uint8")).astype("int32")
    found = analyzer.int_set(value, {i: tirx.Range(0, 4)})  # 0, 255, 254, 253
    assert int(found.min_value) <= 0
    assert int(found.max_value) >= 255
