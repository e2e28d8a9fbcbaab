"""Regions of index expressions: what a box of loop iterations reaches.

An interval is a pair (low, high) of expressions, both inclusive; None is "anything". Loop variables
have intervals in an environment; what is not in it counts as a constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from workbench.arith import Analyzer
from workbench.core.dispatch import Dispatch
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, Expr, IntImm, Range, Var
from workbench.s_tir.analysis.linear import Sweep, linear_form
from workbench.tirx.expr import (
    Add,
    Cast,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Select,
    Sub,
)

Interval = tuple[Any, Any] | None
Env = Mapping[Var, tuple[Any, Any]]


def _point(value: Interval) -> bool:
    return value is not None and value[0] is value[1]


class IntervalOf:
    """Interval arithmetic over an environment, simplified by an analyzer."""

    def __init__(self, env: Env, analyzer: Analyzer) -> None:
        self.env = env
        self.analyzer = analyzer
        self._known = {id(v): r for v, r in env.items()}

    def __call__(self, expr: Any) -> Interval:
        """The interval of an expression, not simplified."""
        if isinstance(expr, IntImm):
            return (expr, expr)
        if isinstance(expr, Var):
            return self._known.get(id(expr), (expr, expr))
        rule = _rules.find(type(expr))
        if rule is None:
            if any(id(v) in self._known for v in iter_nodes(expr, Var)):
                return None
            return (expr, expr)
        return rule(self, expr)

    def sign(self, value: Any) -> int:
        """1 if provably ≥ 0, -1 if provably ≤ 0, else 0."""
        if isinstance(value, IntImm):
            return 1 if value.value >= 0 else -1
        if self.analyzer.can_prove(value >= 0):
            return 1
        return -1 if self.analyzer.can_prove(value <= 0) else 0


_rules = Dispatch("interval")


@_rules.register(Add)
def _add(run: IntervalOf, e: Add) -> Interval:
    a, b = run(e.a), run(e.b)
    if a is None or b is None:
        return None
    if _point(a) and _point(b):
        return (e, e)
    return (a[0] + b[0], a[1] + b[1])


@_rules.register(Sub)
def _sub(run: IntervalOf, e: Sub) -> Interval:
    a, b = run(e.a), run(e.b)
    if a is None or b is None:
        return None
    if _point(a) and _point(b):
        return (e, e)
    return (a[0] - b[1], a[1] - b[0])


@_rules.register(Mul)
def _mul(run: IntervalOf, e: Mul) -> Interval:
    a, b = run(e.a), run(e.b)
    if a is None or b is None:
        return None
    if _point(a) and _point(b):
        return (e, e)
    if _point(a):
        a, b = b, a
    if not _point(b):
        return None
    sign = run.sign(b[0])
    if sign == 0:
        return None
    low, high = a[0] * b[0], a[1] * b[0]
    return (low, high) if sign > 0 else (high, low)


@_rules.register(FloorDiv)
def _floordiv(run: IntervalOf, e: FloorDiv) -> Interval:
    a, b = run(e.a), run(e.b)
    if a is None or b is None or not _point(b):
        return None
    if _point(a):
        return (e, e)
    if run.sign(b[0]) <= 0:
        return None
    return (a[0] // b[0], a[1] // b[0])


@_rules.register(FloorMod)
def _floormod(run: IntervalOf, e: FloorMod) -> Interval:
    a, b = run(e.a), run(e.b)
    if b is None or not _point(b):
        return None
    if a is not None:
        if _point(a):
            return (e, e)
        first, last = a[0] // b[0], a[1] // b[0]
        if run.analyzer.can_prove_equal(first, last):
            return (a[0] % b[0], a[1] % b[0])
    if run.sign(b[0]) <= 0:
        return None
    return (IntImm(e.dtype, 0), b[0] - 1)


@_rules.register(Min)
def _min(run: IntervalOf, e: Min) -> Interval:
    a, b = run(e.a), run(e.b)
    if a is None or b is None:
        return None
    if _point(a) and _point(b):
        return (e, e)
    return (Min(a[0], b[0]), Min(a[1], b[1]))


@_rules.register(Max)
def _max(run: IntervalOf, e: Max) -> Interval:
    a, b = run(e.a), run(e.b)
    if a is None or b is None:
        return None
    if _point(a) and _point(b):
        return (e, e)
    return (Max(a[0], b[0]), Max(a[1], b[1]))


@_rules.register(Cast)
def _cast(run: IntervalOf, e: Cast) -> Interval:
    a = run(e.value)
    if a is None or not e.dtype.startswith(("int", "uint")):
        return None
    if _point(a):
        return (e, e)
    return (Cast(e.dtype, a[0]), Cast(e.dtype, a[1]))


def _union(a: Interval, b: Interval) -> Interval:
    if a is None or b is None:
        return None
    return (Min(a[0], b[0]), Max(a[1], b[1]))


@_rules.register(Select)
def _select(run: IntervalOf, e: Select) -> Interval:
    return _union(run(e.true_value), run(e.false_value))


@_rules.register(Call)
def _call(run: IntervalOf, e: Call) -> Interval:
    if getattr(e.op, "name", "") == "tirx.if_then_else":
        return _union(run(e.args[1]), run(e.args[2]))
    if any(id(v) in run._known for v in iter_nodes(e, Var)):
        return None
    return (e, e)


def _constant_spans(env: Env) -> dict[int, tuple[int, int]] | None:
    spans: dict[int, tuple[int, int]] = {}
    for var, (low, high) in env.items():
        if not (isinstance(low, IntImm) and isinstance(high, IntImm)):
            return None
        spans[id(var)] = (low.value, high.value)
    return spans


def relax_index(low: Any, extent: Any, env: Env, analyzer: Analyzer) -> Range | None:
    """The range that [low, low + extent) sweeps over the environment (None: unknown)."""
    if isinstance(extent, IntImm):
        form = linear_form(low)
        spans = _constant_spans(env) if form is not None else None
        if form is not None and spans is not None:
            sweep = Sweep(form, spans)
            size = sweep.high.constant - sweep.low.constant + extent.value
            if size == extent.value and not any(k in spans for k in form.terms):
                return Range.from_min_extent(low, extent)
            return Range.from_min_extent(sweep.low.expr(low.dtype), IntImm(extent.dtype, size))
    run = IntervalOf(env, analyzer)
    interval = run(low)
    size = run(extent) if not isinstance(extent, IntImm) else (extent, extent)
    if interval is None or size is None:
        return None
    if _point(interval):
        return Range.from_min_extent(interval[0], analyzer.simplify(size[1]))
    first = analyzer.simplify(interval[0])
    length = analyzer.simplify(interval[1] - interval[0] + size[1])
    return Range.from_min_extent(first, length)


def relax_region(
    region: Sequence[Range], env: Env, analyzer: Analyzer, shape: Sequence[Expr]
) -> list[Range]:
    """The box a region sweeps over the environment; an unknown dimension is the whole one."""
    out: list[Range] = []
    for r, extent in zip(region, shape, strict=True):
        found = relax_index(r.min, r.extent, env, analyzer)
        out.append(found if found is not None else Range(extent))
    return out


def union_region(
    a: Sequence[Range], b: Sequence[Range], analyzer: Analyzer, shape: Sequence[Expr]
) -> list[Range]:
    """The smallest box around two boxes; a dimension that cannot be compared is the whole one."""
    out: list[Range] = []
    for x, y, extent in zip(a, b, shape, strict=True):
        if x is y:
            out.append(x)
            continue
        low_gap = difference(y.min, x.min, analyzer)
        high_gap = difference(low_gap + y.extent, x.extent, analyzer)
        if isinstance(low_gap, IntImm) and isinstance(high_gap, IntImm):
            low = x.min if low_gap.value >= 0 else y.min
            end_extra = max(high_gap.value, 0)
            start_extra = max(-low_gap.value, 0)
            size = analyzer.simplify(x.extent + (start_extra + end_extra))
            out.append(Range.from_min_extent(low, size))
        else:
            out.append(Range(extent))
    return out


def difference(a: Any, b: Any, analyzer: Analyzer) -> Any:
    """a - b, simplified."""
    if a is b:
        return IntImm(a.dtype, 0)
    x, y = linear_form(a), linear_form(b)
    if x is not None and y is not None and x.same_terms(y):
        return IntImm(a.dtype, x.constant - y.constant)
    return analyzer.simplify(a - b)


def at_most(a: Any, b: Any, analyzer: Analyzer) -> bool:
    """Whether a <= b, provably."""
    x, y = linear_form(a), linear_form(b)
    if x is not None and y is not None and x.same_terms(y):
        return x.constant <= y.constant
    return bool(analyzer.can_prove(a <= b)) or _relaxed_most(a - b) <= 0


def _relaxed_most(expr: Any) -> float:
    """An upper bound of an expression in which quotients are real numbers; inf if there is none.

    So rows of tiles are seen to reach the end of a size that is a quotient itself:
    `(n - 1) // 2 + 1 - (n + 31) // 32 * 16 <= (n - 1) / 2 + 1 - (n + 31 - 31) / 2 < 1`.
    """
    total = Fraction(0)
    slopes: dict[int, Fraction] = {}
    stack: list[tuple[Any, Fraction]] = [(expr, Fraction(1))]
    while stack:
        node, factor = stack.pop()
        if isinstance(node, IntImm):
            total += factor * node.value
        elif isinstance(node, (Add, Sub)):
            stack += [(node.a, factor), (node.b, factor if isinstance(node, Add) else -factor)]
        elif isinstance(node, Mul) and isinstance(node.b, IntImm):
            stack.append((node.a, factor * node.b.value))
        elif isinstance(node, Mul) and isinstance(node.a, IntImm):
            stack.append((node.b, factor * node.a.value))
        elif isinstance(node, FloorDiv) and isinstance(node.b, IntImm) and node.b.value > 0:
            stack.append((node.a, factor / node.b.value))
            if factor < 0:  # at least (a - b + 1) / b
                total -= factor * (node.b.value - 1) / node.b.value
        elif isinstance(node, Var):
            slopes[id(node)] = slopes.get(id(node), Fraction(0)) + factor
        else:
            return math.inf
    return math.inf if any(slopes.values()) else math.floor(total)


def covers(big: Sequence[Range], small: Sequence[Range], analyzer: Analyzer) -> bool:
    """Whether a box provably contains another."""
    for x, y in zip(big, small, strict=True):
        if x is y:
            continue
        if not at_most(x.min, y.min, analyzer):
            return False
        if not at_most(y.min + y.extent, x.min + x.extent, analyzer):
            return False
    return True
