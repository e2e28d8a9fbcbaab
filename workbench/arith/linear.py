"""Linear forms: `detect_linear_equation`, `detect_clip_bound`, `deduce_bound`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.arith.analyzer import Analyzer, conjuncts
from workbench.arith.build import (
    INDEX,
    imm,
    kind_of,
    make,
    make_add,
    make_floordiv,
    make_mul,
    make_sub,
)
from workbench.arith.int_set import IntervalSet, as_int_set, eval_set
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Expr, IntImm, Var, as_expr
from workbench.tirx.expr import EQ, GE, GT, LE, LT, Add, FloorDiv, IterVar, Max, Min, Mul, Not, Sub


def _vars(var_list: Sequence[Any]) -> list[Var]:
    return [v.var if isinstance(v, IterVar) else v for v in var_list]


def uses(expr: Any, variables: Sequence[Var]) -> bool:
    """Whether an expression contains one of the variables."""
    wanted = {id(v) for v in variables}
    return any(id(n) in wanted for n in iter_nodes(expr, Var))


def _linear_in(expr: Any, var: Var) -> tuple[Any, Any] | None:
    """(coefficient, rest) with expr = coefficient * var + rest, or None; an explicit stack."""
    done: dict[int, tuple[Any, Any] | None] = {}
    stack = [expr]
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        cls = type(node)
        ty = node.ty
        if cls is Var or cls not in (Add, Sub, Mul):
            if node is var:
                done[id(node)] = (imm(ty, 1), imm(ty, 0))
            else:
                done[id(node)] = None if uses(node, [var]) else (imm(ty, 0), node)
            stack.pop()
            continue
        missing = [c for c in (node.a, node.b) if id(c) not in done]
        if missing:
            stack.extend(missing)
            continue
        a, b = done[id(node.a)], done[id(node.b)]
        done[id(node)] = None if a is None or b is None else _combine(cls, a, b)
        stack.pop()
    return done[id(expr)]


def _combine(cls: type, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any] | None:
    if cls is not Mul:
        return make[cls](a[0], b[0]), make[cls](a[1], b[1])
    a_uses, b_uses = (type(p[0]) is not IntImm or p[0].value for p in (a, b))
    if a_uses and b_uses:
        return None
    if b_uses:
        a, b = b, a
    return make_mul(a[0], b[1]), make_mul(a[1], b[1])


def detect_linear_equation(expr: Any, var_list: Sequence[Any]) -> list[Expr]:
    """Coefficients and rest of `expr = Σ var[i] * coeff[i] + rest`.

    Returns `[coeff[0], …, rest]`, or an empty list if the expression is not linear in the
    variables.
    """
    variables = _vars(var_list)
    analyzer = Analyzer()
    rest = as_expr(expr)
    out: list[Expr] = []
    for var in variables:
        found = _linear_in(rest, var)
        if found is None:
            return []
        coeff = analyzer.simplify(found[0])
        if coeff.ty != var.ty and type(coeff) is IntImm:
            same_type = imm(var.ty, coeff.value)
            coeff = coeff if same_type is None else same_type
        if uses(coeff, variables):
            return []
        out.append(coeff)
        rest = found[1]
    return [*out, analyzer.simplify(rest)]


def detect_clip_bound(expr: Any, var_list: Sequence[Any]) -> list[Expr | None]:
    """The bounds of variables in a conjunction of comparisons.

    Returns `[min of var 0, max of var 0, min of var 1, …]` with None where there is no bound, or an
    empty list if a part of the condition bounds no variable of the list.
    """
    variables = _vars(var_list)
    analyzer = Analyzer()
    bounds: dict[int, list[Any]] = {id(v): [None, None] for v in variables}
    for condition in conjuncts(analyzer.rewrite_simplify(as_expr(expr))):
        if type(condition) is IntImm and condition.value:
            continue
        used = [v for v in variables if uses(condition, [v])]
        if len(used) != 1:
            return []
        found = deduce_bound(used[0], condition, {}, {})
        if not isinstance(found, IntervalSet) or found.is_nothing() or found.is_everything():
            return []
        entry = bounds[id(used[0])]
        if found.has_lower_bound():
            low = found.min_value
            entry[0] = low if entry[0] is None else analyzer.simplify(make[Max](entry[0], low))
        if found.has_upper_bound():
            high = found.max_value
            entry[1] = high if entry[1] is None else analyzer.simplify(make[Min](entry[1], high))
    return [end for v in variables for end in bounds[id(v)]]


def deduce_bound(
    var: Any, cond: Any, hint_map: Mapping[Any, Any], relax_map: Mapping[Any, Any]
) -> IntervalSet:
    """The values of `var` for which a comparison holds whatever the variables of `relax_map` are.

    `hint_map` gives the domains of other variables (it decides signs). Returns the empty set if
    the comparison cannot be solved for `var`.
    """
    target = var.var if isinstance(var, IterVar) else var
    analyzer = Analyzer()
    for other, domain in {**hint_map, **relax_map}.items():
        if other is not target:
            analyzer.update(other, as_int_set(domain), override=True)
    condition: Any = as_expr(cond)
    if type(condition) is Not:
        condition = analyzer.rewrite_simplify(condition)
    cls = type(condition)
    if cls not in (LT, LE, GT, GE, EQ) or kind_of(condition.a.ty) != INDEX:
        return IntervalSet.nothing()
    a, b = condition.a, condition.b
    if uses(b, [target]) and not uses(a, [target]):
        a, b = b, a
        cls = {LT: GT, LE: GE, GT: LT, GE: LE, EQ: EQ}[cls]
    if uses(b, [target]) or _occurrences(a, target) > 1:
        found = _linear_in(analyzer.canonical_simplify(make_sub(a, b)), target)
        if found is None:
            return IntervalSet.nothing()
        a, b = make_mul(target, analyzer.simplify(found[0])), make_sub(imm(a.ty, 0), found[1])
    one = imm(a.ty, 1)
    if cls is LT:
        cls, b = LE, make_sub(b, one)
    elif cls is GT:
        cls, b = GE, make_add(b, one)
    return _solve(target, a, cls, b, analyzer, relax_map)


def _occurrences(expr: Any, var: Var) -> int:
    return sum(1 for n in iter_nodes(expr, Var, once=False) if n is var)


def _solve(
    var: Var, expr: Any, cls: type, bound: Any, analyzer: Analyzer, relax_map: Mapping[Any, Any]
) -> IntervalSet:
    """Peels operations off `expr cls bound` until the variable stands alone."""
    flip = {LE: GE, GE: LE, EQ: EQ}
    nothing = IntervalSet.nothing()
    while expr is not var:
        kind = type(expr)
        if kind not in (Add, Sub, Mul, FloorDiv):
            return nothing
        left = uses(expr.a, [var])
        if kind is Add:
            expr, other = (expr.a, expr.b) if left else (expr.b, expr.a)
            bound = make_sub(bound, other)
        elif kind is Sub:
            if left:
                expr, bound = expr.a, make_add(bound, expr.b)
            else:
                expr, bound, cls = expr.b, make_sub(expr.a, bound), flip[cls]
        elif kind is Mul:
            expr, factor = (expr.a, expr.b) if left else (expr.b, expr.a)
            low, high = analyzer.bound(factor)
            if cls is EQ or (low <= 0 <= high):
                return nothing
            if high < 0:
                factor, bound = _negated(factor), _negated(bound)
                cls = flip[cls]
            if cls is GE:  # expr >= ceil(bound / factor)
                bound = make_add(bound, make_sub(factor, imm(factor.ty, 1)))
            bound = make_floordiv(bound, factor)
        else:
            divisor = expr.b
            if not left or analyzer.bound(divisor)[0] <= 0 or cls is EQ:
                return nothing
            bound = make_mul(bound, divisor)
            if cls is LE:
                bound = make_add(bound, make_sub(divisor, imm(divisor.ty, 1)))
            expr = expr.a
    relaxed = eval_set(analyzer.simplify(bound), relax_map, analyzer)
    everything = IntervalSet.everything()
    low = everything.min_value if cls is LE else relaxed.max_value
    high = everything.max_value if cls is GE else relaxed.min_value
    return IntervalSet(low, high)


def _negated(expr: Any) -> Any:
    return imm(expr.ty, -expr.value) if type(expr) is IntImm else make_sub(imm(expr.ty, 0), expr)
