"""Systems of linear equations over the integers, solved by unimodular elimination (Smith form)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.arith.analyzer import Analyzer, conjuncts
from workbench.arith.build import FALSE, imm, make, make_add, make_mul, make_sub
from workbench.arith.int_set import IntervalSet, eval_set
from workbench.arith.linear import detect_linear_equation
from workbench.core.errors import WorkbenchError
from workbench.core.node import Node, field
from workbench.core.traverse import free_vars, substitute
from workbench.ir.expr import Expr, IntImm, Range, Var, as_expr
from workbench.tirx.expr import EQ, LE, LT


class IntConstraints(Node):
    """Variables with their ranges, and relations between them."""

    variables: tuple[Var, ...] = ()
    ranges: Mapping[Var, Range] = field(default=None, converter=lambda v: dict(v or {}))
    relations: tuple[Expr, ...] = ()


class IntConstraintsTransform(Node):
    """Two equivalent systems and the maps between their variables."""

    src: IntConstraints
    dst: IntConstraints
    src_to_dst: Mapping[Var, Expr]
    dst_to_src: Mapping[Var, Expr]


def solve_linear_equations(
    equations: Any,
    variables: Sequence[Var] | None = None,
    ranges: Mapping[Var, Range] | None = None,
) -> IntConstraintsTransform:
    """Solves linear equations for integer variables.

    The result has fewer variables (none if the solution is unique), expressions of the old
    variables in the new ones, and the conditions under which the old ones lie in their ranges. An
    unsolvable system has the relation False.
    """
    if isinstance(equations, IntConstraints):
        system = equations
    else:
        given = [as_expr(e) for e in ([equations] if isinstance(equations, Expr) else equations)]
        found = variables if variables is not None else free_vars(tuple(given))
        system = IntConstraints(tuple(found), ranges or {}, tuple(given))
    rows: list[list[int]] = []
    constants: list[Any] = []
    kept: list[Expr] = []
    for relation in [c for e in system.relations for c in conjuncts(e)]:
        row = _row(relation, system.variables)
        if row is None:
            kept.append(relation)
        else:
            rows.append(row[0])
            constants.append(row[1])
    return _solve(system, rows, constants, kept)


def _row(relation: Any, variables: Sequence[Var]) -> tuple[list[int], Any] | None:
    """An equation as constant coefficients and right side."""
    if type(relation) is not EQ:
        return None
    found = detect_linear_equation(make_sub(relation.a, relation.b), variables)
    if not found or not all(type(c) is IntImm for c in found[:-1]):
        return None
    right = make_sub(imm(found[-1].ty, 0), found[-1])
    return [int(c) for c in found[:-1]], right  # type: ignore[call-overload]


def _solve(
    system: IntConstraints, rows: list[list[int]], right: list[Any], kept: list[Expr]
) -> IntConstraintsTransform:
    analyzer = Analyzer()
    for var, domain in system.ranges.items():
        analyzer.bind(var, domain, allow_override=True)
    count = len(system.variables)
    transform = [[int(i == j) for j in range(count)] for i in range(count)]
    right = [analyzer.simplify(r) for r in right]
    rank = _diagonalize(rows, right, transform, analyzer)
    relations: list[Expr] = []
    solved: list[Any] = []
    ty = system.variables[0].ty if system.variables else None
    for i in range(rank):
        d = rows[i][i]
        rest = analyzer.simplify(right[i] % d) if abs(d) != 1 else _zero(right[i])
        if type(rest) is IntImm:
            if rest.value:
                relations.append(FALSE)
        else:
            relations.append(make[EQ](rest, imm(rest.ty, 0)))
        solved.append(analyzer.simplify(right[i] // d))
    for value in right[rank:]:
        if type(value) is IntImm and value.value:
            relations.append(FALSE)
        elif type(value) is not IntImm:
            relations.append(make[EQ](value, imm(value.ty, 0)))
    if any(r is FALSE for r in relations):
        unsolvable = IntConstraints((), {}, (FALSE,))
        return IntConstraintsTransform(system, unsolvable, {}, {})
    fresh = [Var(f"n{i}", ty) for i in range(count - rank)]
    unknowns = solved + list(fresh)
    src_to_dst = {
        var: _combination(transform[i], unknowns, var.ty, analyzer)
        for i, var in enumerate(system.variables)
    }
    inverse = _inverse(transform)
    dst_to_src = {
        new: _combination(inverse[rank + k], list(system.variables), new.ty, analyzer)
        for k, new in enumerate(fresh)
    }
    return _with_ranges(system, fresh, src_to_dst, dst_to_src, relations, kept, analyzer)


def _with_ranges(
    system: IntConstraints,
    fresh: list[Var],
    src_to_dst: dict[Var, Any],
    dst_to_src: dict[Var, Any],
    relations: list[Expr],
    kept: list[Expr],
    analyzer: Analyzer,
) -> IntConstraintsTransform:
    """Ranges of the new variables, and what else the old ranges and relations ask for."""
    domains = {v: IntervalSet.from_range(r) for v, r in system.ranges.items()}
    ranges: dict[Var, Range] = {}
    known = Analyzer()
    for new in fresh:
        covered = eval_set(dst_to_src[new], domains, analyzer)
        if covered.has_lower_bound() and covered.has_upper_bound():
            length = make_add(make_sub(covered.max_value, covered.min_value), imm(new.ty, 1))
            ranges[new] = Range.from_min_extent(covered.min_value, analyzer.simplify(length))
            known.bind(new, ranges[new])
    for var, domain in system.ranges.items():
        image = src_to_dst.get(var)
        if image is None:
            continue
        end = known.simplify(make_add(domain.min, domain.extent))
        for condition in (make[LE](domain.min, image), make[LT](image, end)):
            simple = known.simplify(condition)
            if not (type(simple) is IntImm and simple.value):
                relations.append(simple)
    relations += [known.simplify(substitute(k, src_to_dst)) for k in kept]
    target = IntConstraints(tuple(fresh), ranges, tuple(relations))
    return IntConstraintsTransform(system, target, src_to_dst, dst_to_src)


def _combination(row: Sequence[int], values: Sequence[Any], ty: Any, analyzer: Analyzer) -> Any:
    total: Any = imm(ty, 0)
    for factor, value in zip(row, values, strict=True):
        if factor:
            coefficient = imm(ty, factor)
            assert coefficient is not None
            total = make_add(total, make_mul(value, coefficient))
    return analyzer.simplify(total)


def _diagonalize(
    rows: list[list[int]], right: list[Any], transform: list[list[int]], analyzer: Analyzer
) -> int:
    """Brings U * rows * V to diagonal form; applies U to `right` and V to `transform`; the rank."""
    height, width = len(rows), len(transform)
    rank = 0
    while rank < min(height, width):
        pivot = _smallest(rows, rank, width)
        if pivot is None:
            break
        i, j = pivot
        rows[rank], rows[i] = rows[i], rows[rank]
        right[rank], right[i] = right[i], right[rank]
        for row in (*rows, *transform):
            row[rank], row[j] = row[j], row[rank]
        if _eliminate(rows, right, transform, rank, analyzer):
            rank += 1
    return rank


def _zero(like: Any) -> Any:
    return imm(like.ty, 0)


def _smallest(rows: list[list[int]], start: int, width: int) -> tuple[int, int] | None:
    """The place of the smallest entry that is not zero."""
    best: tuple[int, int, int] | None = None
    for i in range(start, len(rows)):
        for j in range(start, width):
            value = abs(rows[i][j])
            if value and (best is None or value < best[0]):
                best = (value, i, j)
    return None if best is None else best[1:]


def _eliminate(
    rows: list[list[int]], right: list[Any], transform: list[list[int]], k: int, analyzer: Analyzer
) -> bool:
    """One round of clearing row and column k by the pivot; whether both are clear."""
    pivot = rows[k][k]
    clear = True
    for i in range(k + 1, len(rows)):
        factor = rows[i][k] // pivot
        if factor:
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
            scaled = make_mul(right[k], imm(right[k].ty, factor))
            right[i] = analyzer.simplify(make_sub(right[i], scaled))
        clear = clear and rows[i][k] == 0
    for j in range(k + 1, len(transform)):
        factor = rows[k][j] // pivot
        if factor:
            for row in (*rows, *transform):
                row[j] -= factor * row[k]
        clear = clear and rows[k][j] == 0
    return clear


def _inverse(matrix: list[list[int]]) -> list[list[int]]:
    """The inverse of a unimodular matrix."""
    n = len(matrix)
    work = [[*row, *(int(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for k in range(n):
        while True:
            below = [i for i in range(k, n) if work[i][k]]
            if not below:
                raise WorkbenchError("the matrix of the change of variables has no inverse")
            pivot = min(below, key=lambda i: abs(work[i][k]))
            work[k], work[pivot] = work[pivot], work[k]
            for i in range(k + 1, n):
                factor = work[i][k] // work[k][k]
                work[i] = [a - factor * b for a, b in zip(work[i], work[k], strict=True)]
            if not any(work[i][k] for i in range(k + 1, n)):
                break
        if work[k][k] < 0:
            work[k] = [-a for a in work[k]]
    for k in reversed(range(n)):
        for i in range(k):
            factor = work[i][k]
            work[i] = [a - factor * b for a, b in zip(work[i], work[k], strict=True)]
    return [row[n:] for row in work]
