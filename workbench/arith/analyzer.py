"""`Analyzer`: what is known of integer variables, and what follows for expressions."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from math import gcd
from typing import Any

from workbench.arith import const_int_bound as cib
from workbench.arith import int_set
from workbench.arith import modular_set as ms
from workbench.arith.build import (
    BOOLEAN,
    INDEX,
    WRAP,
    imm,
    is_call,
    kind_of,
    make,
    make_add,
    make_sub,
    same,
)
from workbench.arith.canonical import Canonical
from workbench.arith.const_int_bound import Bound, BoundAnalysis, ConstIntBound
from workbench.arith.int_set import IntervalSet, eval_set, is_neg_inf, is_pos_inf, upper_end
from workbench.arith.modular_set import ModularAnalysis, ModularSet
from workbench.arith.rewrite import Rewriter
from workbench.arith.sums import Sum, decide
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Expr, IntImm, Range, Var, as_expr
from workbench.tirx.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    CmpOp,
    FloorMod,
    IterVar,
    Mod,
    Not,
    Or,
)


class ProofStrength(IntEnum):
    """How hard `can_prove` tries."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class CompareResult(IntEnum):
    """What is known of two expressions: a set of {equal, less, greater} as bits."""

    INCONSISTENT = 0
    EQ = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5
    NE = 6
    UNKNOWN = 7


class Analyzer:
    """Collects facts on integer variables and uses them to simplify and prove.

    Index arithmetic (int32, int64) counts as unbounded; divisors count as not zero.
    """

    def __init__(self) -> None:
        self.modular = ModularAnalysis()
        self.bounds = BoundAnalysis(self.modular)
        self.canonical = Canonical(self)
        self.rewriter = Rewriter(self)
        #: id(var) → (var, expression it is bound to)
        self.images: dict[int, tuple[Var, Any]] = {}
        #: id(var) → (var, least, greatest): symbolic inclusive bounds of a range
        self.ranges: dict[int, tuple[Var, Any, Any]] = {}
        #: conditions in force with their value
        self.truths: tuple[tuple[Any, bool], ...] = ()
        #: terms of a sum → bounds that the conditions in force give them
        self.linear: dict[frozenset[Any], Bound] = {}

    # -- facts -------------------------------------------------------------------------------

    def bind(self, var: Any, expr: Any, allow_override: bool = False) -> None:
        """Declares the range or the value of a variable.

        Parameters
        ----------
        var : the variable. expr : a `Range`, or the expression it is equal to.
        allow_override : whether it may be known already; else another fact is an error.
        """
        var = _as_var(var)
        if isinstance(expr, Range):
            low = self.simplify(expr.min)
            extent = self.simplify(expr.extent)
            if type(extent) is IntImm and extent.value == 1:
                self._bind_value(var, low, allow_override)
            else:
                self._bind_range(var, low, extent, allow_override)
            return
        self._bind_value(var, self.simplify(as_expr(expr)), allow_override)

    def _bind_value(self, var: Var, value: Any, allow_override: bool) -> None:
        if value is var:
            return
        old = self.images.get(id(var))
        if old is not None and not allow_override and not self.can_prove_equal(old[1], value):
            raise _already_bound(var, old[1], value)
        self.images[id(var)] = (var, value)
        self.ranges.pop(id(var), None)
        if kind_of(var.ty) in (INDEX, WRAP):
            self.bounds.vars[id(var)] = (var, self.bounds.value(value))
            self.modular.vars[id(var)] = (var, self.modular.value(value))
        self._forget()

    def _bind_range(self, var: Var, low: Any, extent: Any, allow_override: bool) -> None:
        if type(low) is IntImm and type(extent) is IntImm:
            start, last = (low.value, low.value), (0, low.value + extent.value - 1)
        else:
            start, count = self.bounds.value(low), self.bounds.value(extent)
            last = cib.add_bounds(start, cib.add_bounds(count, (-1, -1)))
        bound = (start[0], max(last[1], start[0]))
        old = self.bounds.vars.get(id(var))
        if old is not None and old[1] != bound and not allow_override:
            raise _already_bound(var, f"bounds {old[1]}", f"bounds {bound}")
        self.images.pop(id(var), None)
        self.bounds.vars[id(var)] = (var, bound)
        if kind_of(var.ty) == INDEX and extent.ty == low.ty:
            one = imm(extent.ty, 1)
            if type(extent) is IntImm and type(low) is IntImm:
                self.ranges.pop(id(var), None)
            else:
                greatest = make_add(low, make_sub(extent, one))
                self.ranges[id(var)] = (var, low, greatest)
        self._forget()

    def update(self, var: Any, info: Any, override: bool = False) -> None:
        """Adds a `ConstIntBound`, a `ModularSet` or an `IntervalSet` of a variable.

        Raises WorkbenchError if something else is known of it and `override` is not set.
        """
        var = _as_var(var)
        if isinstance(info, ConstIntBound):
            bound = (info.min_value, info.max_value)
            old = self.bounds.vars.get(id(var))
            if old is not None and old[1] != bound and not override:
                raise _already_bound(var, old[1], bound)
            self.bounds.vars[id(var)] = (var, bound)
        elif isinstance(info, ModularSet):
            self.modular.vars[id(var)] = (var, ms.residue(info.coeff, info.base))
        elif isinstance(info, IntervalSet):
            low, high = info.min_value, info.max_value
            if not is_neg_inf(low) and not is_pos_inf(high):
                self.ranges[id(var)] = (var, low, high)
            least = cib.NEG_INF if is_neg_inf(low) else self.bounds.value(low)[0]
            most = cib.POS_INF if is_pos_inf(high) else self.bounds.value(high)[1]
            self.bounds.vars[id(var)] = (var, (least, most))
        else:
            raise TypeError(
                f"update: expected ConstIntBound, ModularSet or IntSet, got {type(info).__name__}"
            )
        self._forget()

    def const_int_bound_update(self, var: Any, info: ConstIntBound, override: bool = False) -> None:
        """Declares the constant bounds of a variable."""
        self.update(var, info, override)

    def const_int_bound_is_bound(self, var: Any) -> bool:
        """Whether bounds of the variable were declared."""
        return id(_as_var(var)) in self.bounds.vars

    def _forget(self) -> None:
        self.bounds.clear()
        self.modular.clear()
        self.canonical.forget()
        self.rewriter.forget()

    def clone(self) -> Analyzer:
        """An independent analyzer that knows the same."""
        other = Analyzer()
        other.bounds.vars = dict(self.bounds.vars)
        other.bounds.facts = self.bounds.facts
        other.modular.vars = dict(self.modular.vars)
        other.images = dict(self.images)
        other.ranges = dict(self.ranges)
        other.truths = self.truths
        if self.truths:
            for fact, value in self.truths:
                other.assume_linear(fact if value else Not(fact))
        return other

    @contextmanager
    def constraint_scope(self, constraint: Any) -> Generator[Analyzer]:
        """Inside the `with` block the condition holds."""
        saved = self._save()
        self.assume(as_expr(constraint))
        try:
            yield self
        finally:
            self._restore(saved)

    def _save(self) -> tuple[Any, ...]:
        bounds, modular, canonical = self.bounds, self.modular, self.canonical
        return (
            bounds.vars,
            bounds.facts,
            bounds.memo,
            modular.vars,
            modular.memo,
            canonical.forms,
            canonical.bounds,
            self.rewriter.memo,
            self.truths,
            self.linear,
            self.images,
            self.ranges,
            canonical.atoms,
        )

    def _restore(self, saved: tuple[Any, ...]) -> None:
        bounds, modular, canonical = self.bounds, self.modular, self.canonical
        (
            bounds.vars,
            bounds.facts,
            bounds.memo,
            modular.vars,
            modular.memo,
            canonical.forms,
            canonical.bounds,
            self.rewriter.memo,
            self.truths,
            self.linear,
            self.images,
            self.ranges,
            atoms,
        ) = saved
        if canonical.atoms is not atoms:  # the numbering was started anew in between
            canonical.forms, canonical.bounds = {}, {}

    def assume(self, condition: Any) -> None:
        """Adds a condition for good (see `constraint_scope`)."""
        condition = self.simplify(condition)
        self.bounds.vars = dict(self.bounds.vars)
        self.modular.vars = dict(self.modular.vars)
        self.linear = dict(self.linear)
        self.images = dict(self.images)
        self.ranges = dict(self.ranges)
        self.bounds.memo, self.modular.memo, self.rewriter.memo = {}, {}, {}
        self.canonical.forget()
        facts = [f for f in conjuncts(condition) if type(f) is not IntImm]
        likely = [f.args[0] for f in facts if is_call(f, "tirx.likely")]
        facts += [part for f in likely for part in conjuncts(f)]
        for _ in range(3):  # a bound found late may tighten what an earlier fact says
            known = (dict(self.bounds.vars), self.bounds.facts)
            for fact in facts:
                self.assume_linear(fact)
            if (self.bounds.vars, self.bounds.facts) == known or len(facts) == 1:
                break
        self.truths = (*self.truths, *((_positive(f)) for f in facts))
        self._forget()

    def assume_linear(self, fact: Any) -> None:
        """Derives bounds of sums, of variables and of other terms from a comparison."""
        cls = type(fact)
        if cls not in _COMPARES or kind_of(fact.a.ty) != INDEX or fact.a.ty.dtype.lanes != 1:
            return
        if cls is EQ:
            self._assume_residue(fact)
        canonical = self.canonical
        total = canonical.add(canonical.sum_of(fact.a), canonical.sum_of(fact.b), -1)
        bound = canonical.sum_bound(total)
        limit = _limit(cls, bound)
        if limit is None or not total.terms:
            return
        low, high = cib.intersect(bound, limit)
        shifted = (
            cib.NEG_INF if low <= cib.NEG_INF else low - total.const,
            cib.POS_INF if high >= cib.POS_INF else high - total.const,
        )
        self._add_linear(total, shifted)
        self._propagate(total, shifted)

    def _add_linear(self, total: Sum, bound: Bound) -> None:
        """Notes the bounds of Σ terms, divided by their common factor."""
        g = 0
        for coef in total.terms.values():
            g = gcd(g, coef)
        low = bound[0] if bound[0] <= cib.NEG_INF else -(-bound[0] // g)
        high = bound[1] if bound[1] >= cib.POS_INF else bound[1] // g
        terms = {d: c // g for d, c in total.terms.items()}
        for sign in (1, -1):
            key = frozenset((d, c * sign) for d, c in terms.items())
            found = (low, high) if sign == 1 else (-high, -low)
            old = self.linear.get(key)
            self.linear[key] = found if old is None else cib.intersect(found, old)

    def _propagate(self, total: Sum, bound: Bound) -> None:
        """coef * digit lies within what the bound of the sum leaves to it."""
        canonical = self.canonical
        parts = {d: canonical.term_bound(d, c) for d, c in total.terms.items()}
        for digit, coef in total.terms.items():
            others: Bound = (0, 0)
            for other, part in parts.items():
                if other != digit:
                    others = cib.add_bounds(others, part)
            low, high = cib.add_bounds(bound, (-others[1], -others[0]))
            if coef < 0:
                low, high, coef = -high, -low, -coef
            least = cib.NEG_INF if low <= cib.NEG_INF else -(-low // coef)
            most = cib.POS_INF if high >= cib.POS_INF else high // coef
            self._tighten(canonical.digit_expr(digit, total.ty), (least, most))

    def _tighten(self, expr: Any, bound: Bound) -> None:
        old = self.bounds.value(expr)
        new = cib.intersect(old, bound)
        if new == old:
            return
        if type(expr) is Var:
            self.bounds.vars[id(expr)] = (expr, new)
        else:
            self.bounds.facts = (*self.bounds.facts, (expr, new))
        self.bounds.clear()
        self.canonical.forget()

    def _assume_residue(self, fact: EQ) -> None:
        """x % c == r"""
        a: Any = fact.a
        b: Any = fact.b
        if type(a) not in (FloorMod, Mod) or type(b) is not IntImm or type(a.b) is not IntImm:
            return
        if type(a.a) is Var and a.b.value > 0 and (type(a) is FloorMod or b.value == 0):
            old = self.modular.value(a.a)
            new = ms.intersect(old, ms.residue(a.b.value, b.value))
            if new is not None:
                self.modular.vars[id(a.a)] = (a.a, new)

    # -- questions ---------------------------------------------------------------------------

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        """The constant bounds of an integer expression."""
        return ConstIntBound(*self.bounds.value(as_expr(expr)))

    def modular_set(self, expr: Any) -> ModularSet:
        """What is known of an integer expression modulo a constant."""
        return ModularSet(*self.modular.value(as_expr(expr)))

    def int_set(self, expr: Any, dom_map: Mapping[Any, Any] | None = None) -> Any:
        """A symbolic set that contains the expression for all values of the variables in `dom_map`
        (of the variables bound to ranges, if not given)."""
        if dom_map is None:
            dom_map = {var: IntervalSet(low, high) for var, low, high in self._interval_domains()}
        return eval_set(as_expr(expr), dom_map, self)

    def _interval_domains(self) -> Iterator[tuple[Var, Any, Any]]:
        for var, low, high in self.ranges.values():
            yield var, low, high
        for var, (low, high) in self.bounds.vars.values():
            if id(var) not in self.ranges and cib.NEG_INF < low <= high < cib.POS_INF:
                least, most = imm(var.ty, low), imm(var.ty, high)
                if least is not None and most is not None:
                    yield var, least, most

    def rewrite_simplify(self, expr: Any) -> Any:
        """Simplifies by the rewrite rules."""
        return self.rewriter.simplify(as_expr(expr))

    def canonical_simplify(self, expr: Any) -> Any:
        """Brings into canonical form."""
        return self.canonical.simplify(as_expr(expr))

    def simplify(self, expr: Any, steps: int = 2) -> Any:
        """Simplifies: rewrite rules (step 1), canonical form (step 2), rules again (step 3) …"""
        if type(expr) is IntImm:
            return expr
        result = as_expr(expr)
        for step in range(steps):
            if type(result) is IntImm or (type(result) is Var and step):
                break
            if step % 2 == 0:
                result = self.rewriter.simplify(result)
            else:
                result = self.canonical.simplify(result)
        return result

    def can_prove(self, expr: Any, strength: int = ProofStrength.DEFAULT) -> bool:
        """Whether a condition certainly holds.

        With `SYMBOLIC_BOUND` the symbolic ends of ranges are used too.
        """
        pending = [self.simplify(as_expr(expr))]
        while pending:
            condition = pending.pop()
            if type(condition) is And:
                pending += [condition.b, condition.a]
            elif type(condition) is Or:
                if not any(self._prove_one(part, strength) for part in _disjuncts(condition)):
                    return False
            elif not self._prove_one(condition, strength):
                return False
        return True

    def _prove_one(self, condition: Any, strength: int) -> bool:
        """Proves a simplified condition that is no conjunction."""
        if type(condition) is IntImm:
            return condition.value != 0
        if type(condition) is And:
            return self.can_prove(condition, strength)
        if not isinstance(condition, CmpOp) or kind_of(condition.a.ty) != INDEX:
            return False
        if self._prove_expanded(condition):
            return True
        if self.linear and self._prove_by_facts(condition):
            return True
        if strength >= ProofStrength.SYMBOLIC_BOUND and self.ranges:
            return self._prove_by_ranges(condition)
        return False

    def _prove_by_facts(self, condition: Any) -> bool:
        """Adds up conditions in force: n < m and m < k give n < k."""
        difference = self._difference(condition.a, condition.b)
        cls = type(condition)
        low, high = cib.NEG_INF, cib.POS_INF
        if cls in (LT, LE, EQ, NE):
            high = self._greatest(difference, -1 if cls in (LT, NE) else 0)
        if cls in (GT, GE, EQ, NE):
            low = -self._greatest(difference.scaled(-1), -1 if cls in (GT, NE) else 0)
        return decide(cls, (low, high)) is True

    def _difference(self, a: Any, b: Any) -> Sum:
        canonical = self.canonical
        return canonical.add(canonical.sum_of(a), canonical.sum_of(b), -1)

    def _greatest(self, total: Sum, goal: int, depth: int = 3) -> int:
        """An upper bound of a sum by its bounds and by taking facts away; `goal` is good enough."""
        canonical = self.canonical
        best = canonical.sum_bound(total)[1]
        if depth == 0 or best <= goal:
            return best
        for terms, (_, high) in list(self.linear.items()):
            if high >= cib.POS_INF or not any(total.terms.get(d, 0) * c > 0 for d, c in terms):
                continue
            fact = Sum(total.ty, -high, dict(terms))  # fact <= 0
            rest = canonical.add(total, fact, -1)
            if len(rest.terms) <= len(total.terms):
                best = min(best, self._greatest(rest, goal, depth - 1))
                if best <= goal:
                    break
        return best

    def _prove_expanded(self, condition: Any) -> bool:
        """Decides by the bounds of the difference with all products multiplied out."""
        difference = self._expanded(make_sub(condition.a, condition.b))
        return decide(type(condition), difference) is True

    def _expanded(self, difference: Any) -> Bound:
        expander = self.canonical.expander()
        return expander.sum_bound(expander.sum_of(difference))

    def _prove_by_ranges(self, condition: Any) -> bool:
        """Replaces variables by the end of their range that makes the comparison hardest."""
        cls = type(condition)
        a, b = condition.a, condition.b
        if cls in (GT, GE):
            a, b, cls = b, a, {GT: LT, GE: LE}[cls]
        if cls not in (LT, LE):
            return False
        worst = upper_end(make_sub(a, b), self)
        if worst is None:
            return False
        return decide(cls, self._expanded(worst)) is True

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Whether two expressions certainly have the same value."""
        a, b = as_expr(lhs), as_expr(rhs)
        if same(a, b):
            return True
        if type(a) is IntImm and type(b) is IntImm:
            return a.value == b.value
        if kind_of(a.ty) not in (INDEX, WRAP, BOOLEAN) or a.ty != b.ty:
            return a.ty == b.ty and same(self.simplify(a), self.simplify(b))
        return (
            self.can_prove(EQ(a, b))
            if kind_of(a.ty) != BOOLEAN
            else same(self.simplify(a), self.simplify(b))
        )

    def can_prove_greater_equal(self, expr: Any, lower_bound: int) -> bool:
        """Whether expr >= lower_bound certainly holds."""
        e = as_expr(expr)
        if self.bounds.value(e)[0] >= lower_bound:
            return True
        return self.bounds.value(self.simplify(e))[0] >= lower_bound

    def can_prove_less(self, expr: Any, upper_bound: int) -> bool:
        """Whether expr < upper_bound certainly holds."""
        e = as_expr(expr)
        if self.bounds.value(e)[1] < upper_bound:
            return True
        return self.bounds.value(self.simplify(e))[1] < upper_bound

    def try_compare(self, lhs: Any, rhs: Any, propagate_inequalities: bool = True) -> CompareResult:
        """The most specific relation that can be shown."""
        a, b = as_expr(lhs), as_expr(rhs)
        difference = self._difference(a, b)
        low, high = self.canonical.sum_bound(difference)
        if propagate_inequalities:
            low, high = cib.intersect((low, high), self._expanded(make_sub(a, b)))
            if self.linear:
                most = self._greatest(difference, -1)
                least = -self._greatest(difference.scaled(-1), -1)
                low, high = cib.intersect((low, high), (least, most))
        if low == high == 0:
            return CompareResult.EQ
        if high < 0:
            return CompareResult.LT
        if low > 0:
            return CompareResult.GT
        if high == 0:
            return CompareResult.LE
        if low == 0:
            return CompareResult.GE
        return CompareResult.UNKNOWN if not self.can_prove(NE(a, b)) else CompareResult.NE

    def set_maximum_rewrite_steps(self, maximum: int) -> None:
        """Makes the rewrite simplifier fail after so many steps (0: no limit)."""
        self.rewriter.maximum = maximum

    @property
    def rewrite_simplify_stats(self) -> dict[str, int]:
        """How many rules were applied so far."""
        return {"rewrites": self.rewriter.steps}

    def reset_rewrite_simplify_stats(self) -> None:
        """Starts counting anew."""
        self.rewriter.steps = 0

    # -- what rules ask ----------------------------------------------------------------------

    def bound(self, expr: Any) -> Bound:
        """The constant bounds as a pair."""
        return self.bounds.value(expr)

    def is_multiple(self, expr: Any, factor: int) -> bool:
        """Whether an expression is known to be a multiple of a constant."""
        coeff, base = self.modular.value(expr)
        return coeff % factor == 0 and base % factor == 0

    def no_carry(self, base: Any, span: int, divisor: int) -> bool:
        """Whether base % divisor + span < divisor."""
        low, high = self.bounds.value(base)
        if low >= 0 and high + span < divisor:
            return True
        coeff, rest = self.modular.value(base)
        step = gcd(coeff, divisor)
        return rest % step + span < step

    def is_below(self, expr: Any, limit: Any) -> bool:
        """Whether expr < limit, by the symbolic ends of ranges."""
        if not self.ranges:
            return False
        return self._prove_by_ranges(LT(expr, limit))


_COMPARES = (EQ, NE, LT, LE, GT, GE)


def _limit(cls: type, bound: Bound) -> Bound | None:
    """The bounds of d where `d cmp 0` holds."""
    if cls is EQ:
        return (0, 0)
    if cls is LT:
        return (cib.NEG_INF, -1)
    if cls is LE:
        return (cib.NEG_INF, 0)
    if cls is GT:
        return (1, cib.POS_INF)
    if cls is GE:
        return (0, cib.POS_INF)
    if bound[0] == 0:
        return (1, cib.POS_INF)
    return (cib.NEG_INF, -1) if bound[1] == 0 else None


def conjuncts(condition: Any) -> list[Any]:
    """The parts of a conjunction."""
    out: list[Any] = []
    stack = [condition]
    while stack:
        c = stack.pop()
        if type(c) is And:
            stack += [c.b, c.a]
        else:
            out.append(c)
    return out


def _disjuncts(condition: Any) -> list[Any]:
    """The parts of a disjunction."""
    out: list[Any] = []
    stack = [condition]
    while stack:
        c = stack.pop()
        if type(c) is Or:
            stack += [c.b, c.a]
        else:
            out.append(c)
    return out


def _positive(fact: Any) -> tuple[Any, bool]:
    return (fact.a, False) if type(fact) is Not else (fact, True)


def _as_var(var: Any) -> Var:
    if isinstance(var, IterVar):
        return var.var
    if not isinstance(var, Var):
        raise TypeError(f"expected a variable, got {type(var).__name__} {var}")
    return var


def _already_bound(var: Var, old: Any, new: Any) -> WorkbenchError:
    return WorkbenchError(
        f"variable {var.name} is already known to have {old}, which is not {new}",
        hint="bind(..., allow_override=True) replaces what is known",
    )


def all_of(conditions: Sequence[Expr]) -> Any:
    """The conjunction of conditions (True if there are none)."""
    result: Any = None
    for condition in conditions:
        result = condition if result is None else make[And](result, condition)
    return IntImm("bool", 1) if result is None else result


int_set.set_default_analyzer(Analyzer)
