"""Canonical form of integer expressions: sums of scaled digits.

An index expression becomes a `Sum`: a constant and terms `coef * (atom // lower % upper)`, where an
atom is a variable or an expression that is no sum, and `upper` None means that nothing is cut off.
Terms of one atom whose digits are neighbours merge (`x // 4 * 4 + x % 4` is `x`); a quotient or
remainder of a sum is taken term by term where that is exact, and the rest becomes an atom itself.
Atoms are numbered by value, so two sums are equal exactly when their terms are.

Equal values get equal forms where only commutativity, associativity, distribution over constants
and digits matter; products of sums are not multiplied out unless `expand` is set (used for
proofs).
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING, Any

from workbench.arith import comparing, division
from workbench.arith.build import (
    FALSE,
    INDEX,
    TRUE,
    fold,
    fold_cast,
    imm,
    is_call,
    kind_of,
    make,
    make_add,
    make_cast,
    make_floordiv,
    make_floormod,
    make_mul,
    make_sub,
    same,
)
from workbench.arith.const_int_bound import (
    Bound,
    add_bounds,
    div_bounds,
    floordiv_int,
    floormod_bounds,
    intersect,
    scale_bounds,
    type_bound,
)
from workbench.arith.sums import LARGE, Digit, Form, Sum, decide, fits, lower_is_all
from workbench.core.node import plan_of
from workbench.ir.expr import Call, FloatImm, IntImm, Op, Var
from workbench.tirx.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
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
    Select,
    Sub,
)

if TYPE_CHECKING:
    from workbench.arith.analyzer import Analyzer


class Canonical:
    """Canonical forms in the state of an analyzer. `simplify(expr)` is the way in."""

    limit = 100_000

    def __init__(self, analyzer: Analyzer, expand: bool = False) -> None:
        self.analyzer = analyzer
        self.expand = expand
        self.reset()

    def expander(self) -> Canonical:
        """The same that multiplies products out. It shares the numbering, which facts speak of."""
        other = Canonical(self.analyzer, expand=True)
        other.numbers, other.atoms = self.numbers, self.atoms
        other.sums, other.products = self.sums, self.products
        other.bounds = self.bounds
        return other

    def reset(self) -> None:
        """Forgets everything."""
        self.numbers: dict[Any, int] = {}
        self.atoms: list[Any] = []  # number → expression
        self.sums: dict[int, Sum] = {}  # number → the sum that the atom stands for
        self.products: dict[int, tuple[int, ...]] = {}  # number → its factors
        self.forget()

    def forget(self) -> None:
        """Forgets forms (they depend on what is known), keeps the numbering (it does not)."""
        self.forms: dict[int, tuple[Any, Form]] = {}
        self.bounds: dict[int, Bound] = {}
        if len(self.atoms) > self.limit and not self.analyzer.linear:
            self.reset()

    def simplify(self, expr: Any) -> Any:
        """The expression in canonical form; the same object if nothing changes."""
        result = self.to_expr(self.form(expr))
        return expr if result is not expr and same(result, expr) else result

    def sum_of(self, expr: Any) -> Sum:
        """The canonical sum of an index expression."""
        return self.as_sum(self.form(expr), expr.ty)

    # -- the machine -------------------------------------------------------------------------

    def form(self, expr: Any) -> Form:
        """The canonical form of any expression."""
        forms = self.forms
        found = forms.get(id(expr))
        if found is not None:
            return found[1]
        stack = [expr]
        while stack:
            node = stack[-1]
            if id(node) in forms:
                stack.pop()
                continue
            cls = type(node)
            if cls is Var:
                image = self.analyzer.images.get(id(node))
                if image is not None:
                    if id(image[1]) not in forms:
                        stack.append(image[1])
                        continue
                    result: Form = forms[id(image[1])][1]
                else:
                    result = self.variable(node)
            elif cls is IntImm:
                result = node
                if kind_of(node.ty) == INDEX:
                    result = Sum(node.ty, node.value, {}, node)
            elif isinstance(node, BinaryOp):
                a, b = forms.get(id(node.a)), forms.get(id(node.b))
                if a is None or b is None:
                    if b is None:
                        stack.append(node.b)
                    if a is None:
                        stack.append(node.a)
                    continue
                result = self.binary(node, cls, a[1], b[1])
            else:
                below = plan_of(cls).children(node)
                missing = [c for c in below if id(c) not in forms]
                if missing:
                    stack.extend(missing)
                    continue
                result = self.other(node, below)
            forms[id(node)] = (node, result)
            stack.pop()
        return forms[id(expr)][1]

    def variable(self, var: Var) -> Form:
        """A variable that is bound to no expression: an atom, or the only value it can have."""
        if kind_of(var.ty) != INDEX or var.ty.dtype.lanes != 1:
            return var
        known = self.analyzer.bounds.vars.get(id(var))
        if known is not None and known[1][0] == known[1][1]:
            return Sum(var.ty, known[1][0], {})
        return self.atom_sum(self.number(var, var), var)

    def binary(self, node: Any, cls: type, a: Form, b: Form) -> Form:
        """The form of a binary node from those of its operands."""
        ty = node.a.ty
        if type(a) is Sum and type(b) is Sum:
            if cls is Add or cls is Sub or cls is Mul:
                if cls is Mul:
                    total = self.multiply(a, b)
                else:
                    total = self.add(a, b, 1 if cls is Add else -1)
                return total if fits(total) else self.opaque(cls, a, b)
            if cls is FloorDiv:
                return division.floordiv(self, a, b)
            if cls is FloorMod:
                return division.floormod(self, a, b)
            if cls is Div or cls is Mod:
                low = self.sum_bound(a)[0]
                if low >= 0 and self.sum_bound(b)[0] >= 0:
                    return (
                        division.floordiv(self, a, b)
                        if cls is Div
                        else division.floormod(self, a, b)
                    )
            elif cls is Min or cls is Max:
                return comparing.extremum(self, node, cls, a, b)
            elif cls in _COMPARE:
                return comparing.compare(self, node, cls, a, b)
        x, y = self.to_expr(a), self.to_expr(b)
        folded = fold(cls, x, y)
        if folded is None:
            folded = self.logic(cls, x, y)
        if folded is not None:
            return self.as_form(folded)
        built = node if x is node.a and y is node.b else make[cls](x, y)
        if kind_of(ty) == INDEX and ty.dtype.lanes == 1 and cls not in _BOOLEAN:
            return self.atom_sum(self.number(built, built), built)
        return built

    @staticmethod
    def logic(kind: type, a: Any, b: Any) -> Any:
        """And, Or with a constant side or equal sides."""
        if kind is not And and kind is not Or:
            return None
        neutral = kind is And
        for x, y in ((a, b), (b, a)):
            if type(x) is IntImm:
                return y if bool(x.value) == neutral else x
        return a if same(a, b) else None

    def other(self, node: Any, below: list[Any]) -> Form:
        """The form of any other node: canonical children; a cast of a sum is a sum of casts."""
        new = [self.to_expr(self.forms[id(c)][1]) for c in below]
        if type(node) is Let:
            new[0] = node.var  # what it binds stays a variable, also where its value is known
        if type(node) is Cast:
            return self.cast(node, self.forms[id(node.value)][1], new[0])
        chosen = self.chosen(node)
        if chosen is not None:
            return chosen
        if all(x is y for x, y in zip(new, below, strict=True)):
            built = node
        else:
            built = plan_of(type(node)).with_children(node, new)
        ty = getattr(node, "ty", None)
        if ty is not None and kind_of(ty) == INDEX and ty.dtype.lanes == 1:
            return self.atom_sum(self.number(built, built), built)
        return built

    def chosen(self, node: Any) -> Form | None:
        """The form of the branch that a constant condition chooses; a negated constant."""
        if type(node) is Select:
            parts = (node.condition, node.true_value, node.false_value)
        elif type(node) is Not:
            truth_of = self.forms[id(node.a)][1]
            if type(truth_of) is IntImm:
                return FALSE if truth_of.value else TRUE
            return None
        elif is_call(node, "tirx.if_then_else"):
            parts = node.args
        else:
            return None
        condition = self.forms[id(parts[0])][1]
        if type(condition) is not IntImm:
            return None
        return self.forms[id(parts[1 if condition.value else 2])][1]

    def cast(self, node: Cast, inner: Form, value: Any) -> Form:
        """A cast between index types goes to the terms of a sum where nothing can overflow."""
        folded = fold_cast(node.ty, value)
        if folded is not None:
            return self.as_form(folded)
        built = node if value is node.value else make_cast(node.ty, value)
        if kind_of(node.ty) != INDEX or node.ty.dtype.lanes != 1:
            return built
        if type(inner) is Sum and (len(inner.terms) > 1 or inner.const or self._scaled(inner)):
            low, high = self.sum_bound(inner)
            smallest, largest = type_bound(node)
            whole_low, whole_high = type_bound(node.value)
            parts = [self.term_bound(d, c) for d, c in inner.terms.items()]
            parts.append((low, high))
            safe = all(
                max(smallest, whole_low) <= p[0] and p[1] <= min(largest, whole_high) for p in parts
            )
            if safe:
                total = Sum(node.ty, inner.const, {})
                for digit, coef in inner.terms.items():
                    source = self.digit_expr(digit, inner.ty)
                    part = make_cast(node.ty, source)
                    one = self.atom_sum(self.number(part, part), part)
                    total = self.add(total, one, coef)
                return total
        return self.atom_sum(self.number(built, built), built)

    @staticmethod
    def _scaled(total: Sum) -> bool:
        return any(coef != 1 for coef in total.terms.values())

    # -- numbering ---------------------------------------------------------------------------

    def number(self, expr: Any, key_of: Any) -> int:
        """The number of an atom; equal values (of pure expressions) have equal numbers."""
        return self.register(self.key(key_of), expr)

    def register(self, key: Any, expr: Any) -> int:
        """The number under a key, allocated on first sight."""
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.atoms)
            self.atoms.append(expr)
        elif found not in self.sums:
            self.atoms[found] = expr  # the spelling seen last: results do not depend on history
        return found

    def key(self, node: Any) -> Any:
        """A hashable value that is equal for equal expressions. The children have forms."""
        cls = type(node)
        if cls is Var:
            return ("var", id(node))
        if cls is IntImm or cls is FloatImm:
            return (cls, node.ty.dtype, repr(node.value))
        if cls is Op:
            return ("op", node.name)
        if isinstance(node, BinaryOp):
            a, b = self.value_number(node.a), self.value_number(node.b)
            return (cls, min(a, b), max(a, b)) if cls in _COMMUTATIVE else (cls, a, b)
        if cls is Call:
            if not _is_pure(node) or node.attrs is not None:
                return ("node", id(node))
            return (Call, node.op.name, node.ty, tuple(self.value_number(a) for a in node.args))
        if cls is Let:
            return ("node", id(node))
        plan = plan_of(cls)
        leaves = tuple(
            _leaf(getattr(node, f.name)) for f in plan.fields if f.shape in ("leaf", "any")
        )
        return (cls, node.ty, leaves, tuple(self.value_number(c) for c in plan.children(node)))

    def value_number(self, expr: Any) -> int:
        """The number of any expression in canonical form."""
        form = self.form(expr)
        if type(form) is Sum:
            return self.sum_number(form)
        return self.register(self.key(form), form)

    def sum_number(self, total: Sum) -> int:
        """The number of a sum: of its atom if it is nothing but that."""
        if total.const == 0 and len(total.terms) == 1:
            ((atom, lower, upper), coef) = next(iter(total.terms.items()))
            if coef == 1 and lower == 1 and upper is None:
                return atom
        key = ("sum", total.ty.dtype, total.const, frozenset(total.terms.items()))
        found = self.numbers.get(key)
        if found is None:
            found = self.register(key, self.to_expr(total))
            self.sums[found] = total
        return found

    def atom_sum(self, number: int, expr: Any) -> Sum:
        """The sum that is one atom."""
        return Sum(expr.ty, 0, {(number, 1, None): 1}, self.atoms[number])

    def as_sum(self, form: Form, ty: Any) -> Sum:
        """A form as a sum."""
        assert type(form) is Sum, (form, ty)
        return form

    def as_form(self, expr: Any) -> Form:
        """A constant (or another finished expression) as a form."""
        if type(expr) is IntImm and kind_of(expr.ty) == INDEX:
            return Sum(expr.ty, expr.value, {}, expr)
        return expr

    # -- bounds ------------------------------------------------------------------------------

    def atom_bound(self, number: int) -> Bound:
        """The constant bounds of an atom."""
        found = self.bounds.get(number)
        if found is None:
            found = self.analyzer.bounds.value(self.atoms[number])
            total = self.sums.get(number)
            if total is not None:
                other = self.sum_bound(total)
                found = (max(found[0], other[0]), min(found[1], other[1]))
            self.bounds[number] = found
        return found

    def digit_bound(self, digit: Digit) -> Bound:
        """The constant bounds of atom // lower % upper."""
        atom, lower, upper = digit
        bound = self.atom_bound(atom)
        if lower != 1:
            bound = div_bounds(bound, (lower, lower), floordiv_int)
        return bound if upper is None else floormod_bounds(bound, (upper, upper))

    def term_bound(self, digit: Digit, coef: int) -> Bound:
        """The constant bounds of coef * digit."""
        return scale_bounds(self.digit_bound(digit), coef)

    def sum_bound(self, total: Sum) -> Bound:
        """The constant bounds of a sum (terms taken as independent)."""
        bound = (total.const, total.const)
        for digit, coef in total.terms.items():
            bound = add_bounds(bound, self.term_bound(digit, coef))
        if self.analyzer.linear:
            bound = self._known_bound(total, bound)
        return bound

    def _known_bound(self, total: Sum, bound: Bound) -> Bound:
        """Cuts the bounds of a sum to what the conditions in force say of its terms."""
        g = 0
        for coef in total.terms.values():
            g = gcd(g, coef)
        if g == 0:
            return bound
        known = self.analyzer.linear.get(frozenset((d, c // g) for d, c in total.terms.items()))
        if known is None:
            return bound
        return intersect(bound, add_bounds(scale_bounds(known, g), (total.const, total.const)))

    def decided(self, comparison: Any) -> bool | None:
        """Whether the bounds of the difference decide a comparison of index expressions."""
        difference = self.add(self.sum_of(comparison.a), self.sum_of(comparison.b), -1)
        return decide(type(comparison), self.sum_bound(difference))

    # -- arithmetic --------------------------------------------------------------------------

    def add(self, a: Sum, b: Sum, factor: int) -> Sum:
        """a + factor * b, neighbouring digits merged."""
        if not b.terms and not b.const:
            return a
        if not a.terms and not a.const and factor == 1:
            return b
        terms = dict(a.terms)
        touched: set[int] = set()
        for digit, coef in b.terms.items():
            old = terms.get(digit)
            new = coef * factor + (old or 0)
            if new:
                terms[digit] = new
            elif old is not None:
                del terms[digit]
            touched.add(digit[0])
        result = Sum(a.ty, a.const + b.const * factor, terms)
        counts: dict[int, int] = {}
        for digit in terms:
            counts[digit[0]] = counts.get(digit[0], 0) + 1
        for atom in touched:
            if counts.get(atom, 0) > 1:
                result = self.merge(result, atom)
        return result

    def merge(self, total: Sum, atom: int) -> Sum:
        """Merges digits of one atom: (x // l % u) * c + (x // (l*u) % v) * (c*u)."""
        while True:
            mine = [(d, c) for d, c in total.terms.items() if d[0] == atom]
            pair = self._mergeable(mine)
            if pair is None:
                return total
            (low, coef), (high, _) = pair
            assert low[2] is not None
            upper = None if high[2] is None else low[2] * high[2]
            joined: Digit = (atom, low[1], upper)
            terms: dict[Digit, int] = {}
            for digit, c in total.terms.items():
                if digit == low:
                    terms[joined] = terms.get(joined, 0) + coef
                elif digit != high:
                    terms[digit] = terms.get(digit, 0) + c
            total = Sum(total.ty, total.const, {d: c for d, c in terms.items() if c})
            inner = self.sums.get(atom)
            if inner is not None and lower_is_all(joined) and joined in total.terms:
                factor = total.terms[joined]
                rest = {d: c for d, c in total.terms.items() if d != joined}
                return self.add(Sum(total.ty, total.const, rest), inner, factor)

    @staticmethod
    def _mergeable(mine: list[tuple[Digit, int]]) -> Any:
        for low in mine:
            (_, lower, upper), coef = low
            if upper is None:
                continue
            for high in mine:
                if high[0][1] == lower * upper and high[1] == coef * upper:
                    joined = upper * (high[0][2] or 1)
                    if joined < LARGE:
                        return low, high
        return None

    def multiply(self, a: Sum, b: Sum) -> Sum:
        """The product of two sums."""
        if not b.terms:
            return a.scaled(b.const)
        if not a.terms:
            return b.scaled(a.const)
        if self.expand and (len(a.terms) + bool(a.const)) * (len(b.terms) + bool(b.const)) <= 64:
            result = Sum(a.ty, a.const * b.const, {})
            result = self.add(result, Sum(b.ty, 0, b.terms), a.const)
            result = self.add(result, Sum(a.ty, 0, a.terms), b.const)
            for da, ca in a.terms.items():
                for db, cb in b.terms.items():
                    one = self.product(Sum(a.ty, 0, {da: 1}), Sum(b.ty, 0, {db: 1}))
                    result = self.add(result, one, ca * cb)
            return result
        return self.product(a, b)

    def product(self, a: Sum, b: Sum) -> Sum:
        """The product as a scaled atom with sorted factors."""
        coef_a, factors_a = self.factors(a)
        coef_b, factors_b = self.factors(b)
        found = factors_a + factors_b
        expr = self.atoms[found[0]]
        for factor in found[1:]:
            expr = make_mul(expr, self.atoms[factor])
        number = self.register(("product", *sorted(found)), expr)
        self.products[number] = tuple(found)
        return Sum(a.ty, 0, {(number, 1, None): coef_a * coef_b})

    def factors(self, total: Sum) -> tuple[int, list[int]]:
        """The constant and the atoms whose product a sum is."""
        if len(total.terms) == 1 and total.const == 0:
            digit, coef = next(iter(total.terms.items()))
            atom, lower, upper = digit
            if lower != 1 or upper is not None:
                expr = self.digit_expr(digit, total.ty)
                key = ("sum", total.ty.dtype, 0, frozenset({(digit, 1)}))
                atom = self.register(key, expr)
                self.sums[atom] = Sum(total.ty, 0, {digit: 1}, expr)
            return coef, list(self.products.get(atom, (atom,)))
        return 1, [self.sum_number(total)]

    def opaque(self, cls: type, a: Sum, b: Sum) -> Sum:
        """An operation that stays as it is, as an atom."""
        key = (cls, self.sum_number(a), self.sum_number(b))
        found = self.numbers.get(key)
        if found is None:
            found = self.register(key, make[cls](self.to_expr(a), self.to_expr(b)))
        return self.atom_sum(found, self.atoms[found])

    # -- back to expressions -----------------------------------------------------------------

    def digit_expr(self, digit: Digit, ty: Any) -> Any:
        """atom // lower % upper as an expression."""
        atom, lower, upper = digit
        expr = self.atoms[atom]
        if upper is not None:
            limit = imm(ty, lower * upper)
            if limit is not None:
                expr = make_floormod(expr, limit)
            elif lower != 1:
                step = imm(ty, lower)
                assert step is not None
                return make_floormod(make_floordiv(expr, step), imm(ty, upper))
        if lower != 1:
            step = imm(ty, lower)
            assert step is not None, "a divisor always fits the type"
            expr = make_floordiv(expr, step)
        return expr

    def to_expr(self, form: Form) -> Any:
        """The expression of a form: falling coefficients, then the constant, then what is taken
        away."""
        if type(form) is not Sum:
            return form
        expr = form.expr
        if expr is None:
            expr = form.expr = self._build(form)
            self.forms[id(expr)] = (expr, form)
        return expr

    def _build(self, total: Sum) -> Any:
        ty = total.ty
        terms = sorted(total.terms.items(), key=lambda item: -item[1])
        expr: Any = None
        for digit, coef in terms:
            if coef > 0:
                part = self._term(digit, coef, ty)
                expr = part if expr is None else make_add(expr, part)
        const = total.const
        if const > 0 or (expr is None and (const < 0 or not terms)):
            part = self._const(ty, const)
            expr = part if expr is None else make_add(expr, part)
            const = 0
        for digit, coef in terms:
            if coef < 0:
                if expr is None:
                    expr = self._term(digit, coef, ty)
                else:
                    expr = make_sub(expr, self._term(digit, -coef, ty))
        if const < 0:
            expr = make_sub(expr, self._const(ty, -const))
        return expr

    def _term(self, digit: Digit, coef: int, ty: Any) -> Any:
        expr = self.digit_expr(digit, ty)
        return expr if coef == 1 else make_mul(expr, self._const(ty, coef))

    @staticmethod
    def _const(ty: Any, value: int) -> Any:
        """A constant; one that does not fit its type is written as a sum or product that does."""
        found = imm(ty, value)
        if found is not None:
            return found
        half = 1 << (ty.dtype.bits - 2)
        high, low = divmod(value, half)
        high_imm = Canonical._const(ty, high)
        return make_add(make_mul(high_imm, imm(ty, half)), imm(ty, low))


def _leaf(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return id(value)
    return repr(value) if isinstance(value, float) else value


def _is_pure(call: Call) -> bool:
    """Whether two evaluations of a call give the same value."""
    if type(call.op) is not Op:
        return False
    return call.op.attr("effect", 99) in _PURE_EFFECTS


_PURE_EFFECTS = (0, 1)  # expression annotation, pure
_COMPARE = frozenset({EQ, NE, LT, LE, GT, GE})
_BOOLEAN = _COMPARE | {And, Or}
_COMMUTATIVE = frozenset({Add, Mul, Min, Max, EQ, NE, And, Or})
Rebuild = Callable[[Any, Any], Any]
