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
    truth,
)
from workbench.arith.const_int_bound import (
    NEG_INF,
    POS_INF,
    Bound,
    add_bounds,
    div_bounds,
    floordiv_int,
    floormod_bounds,
    intersect,
    scale_bounds,
    type_bound,
)
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

LARGE = 1 << 31

#: (atom, lower, upper): atom // lower % upper
Digit = tuple[int, int, int | None]


class Sum:
    """const + Σ coef * digit, of one integer type."""

    __slots__ = ("const", "expr", "terms", "ty")

    def __init__(self, ty: Any, const: int, terms: dict[Digit, int], expr: Any = None) -> None:
        self.ty = ty
        self.const = const
        self.terms = terms
        self.expr = expr

    def scaled(self, factor: int) -> Sum:
        """This sum times a constant."""
        if factor == 1:
            return self
        if factor == 0:
            return Sum(self.ty, 0, {})
        terms = {digit: coef * factor for digit, coef in self.terms.items()}
        return Sum(self.ty, self.const * factor, terms)


Form = Any  # a Sum, or an expression in canonical form


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
                return total if _fits(total) else self.opaque(cls, a, b)
            if cls is FloorDiv:
                return self.floordiv(a, b)
            if cls is FloorMod:
                return self.floormod(a, b)
            if cls is Div or cls is Mod:
                low = self.sum_bound(a)[0]
                if low >= 0 and self.sum_bound(b)[0] >= 0:
                    return self.floordiv(a, b) if cls is Div else self.floormod(a, b)
            elif cls is Min or cls is Max:
                return self.extremum(node, cls, a, b)
            elif cls in _COMPARE:
                return self.compare(node, cls, a, b)
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

    def floordiv(self, a: Sum, b: Sum) -> Sum:
        """a // b"""
        if b.terms:
            return self.symbolic_division(a, b)[0]
        c = b.const
        if c == 0:
            return self.opaque(FloorDiv, a, b)
        if c < 0:
            return self.floordiv(a.scaled(-1), b.scaled(-1))
        if c == 1:
            return a
        whole, rest = self._split(a, c)
        quotient = self._small_quotient(rest, c)
        if quotient is not None:
            return self.add(whole, quotient, 1)
        if rest.const == 0 and len(rest.terms) == 1:
            digit, coef = next(iter(rest.terms.items()))
            if coef > 0 and c % coef == 0:
                return self.add(whole, self._divide_digit(rest.ty, digit, c // coef), 1)
        return self.add(whole, self._divide_rest(rest, c), 1)

    def _split(self, a: Sum, c: int) -> tuple[Sum, Sum]:
        """a = whole * c + rest, no coefficient of rest divisible. Proofs take multiples of c out of
        the constant too; elsewhere `(n - 1) // 4` stays as it is written."""
        whole = {d: k // c for d, k in a.terms.items() if k % c == 0}
        rest = {d: k for d, k in a.terms.items() if k % c}
        taken = a.const // c if self.expand or a.const % c == 0 else 0
        return Sum(a.ty, taken, whole), Sum(a.ty, a.const - taken * c, rest)

    def _small_quotient(self, rest: Sum, c: int) -> Sum | None:
        """The constant quotient of a sum whose bounds lie between two multiples of c."""
        low, high = self.sum_bound(rest)
        if low > NEG_INF and high < POS_INF and low // c == high // c:
            return Sum(rest.ty, low // c, {})
        return None

    def _divide_digit(self, ty: Any, digit: Digit, c: int) -> Sum:
        """(atom // lower % upper) // c"""
        atom, lower, upper = digit
        small = imm(ty, lower * c) is not None
        if upper is not None or not small:
            if upper is None or upper % c or not small:
                number = self.factors(Sum(ty, 0, {digit: 1}))[1][0]
                return Sum(ty, 0, {(number, c, None): 1})
            upper = upper // c
        return self.normal(ty, (atom, lower * c, upper))

    def normal(self, ty: Any, digit: Digit, coef: int = 1) -> Sum:
        """A digit with what its bounds make superfluous taken away."""
        atom, lower, upper = digit
        if upper == 1:
            return Sum(ty, 0, {})
        bound = self.atom_bound(atom)
        if upper is not None and bound[0] >= 0 and bound[1] < lower * upper:
            upper = None
        if upper is None and bound[0] >= 0 and bound[1] < lower:
            return Sum(ty, 0, {})
        return Sum(ty, 0, {(atom, lower, upper): coef})

    def _low_part(self, rest: Sum, c: int) -> tuple[int, Sum, Sum] | None:
        """rest = g * high + low with g > 1 a divisor of c and 0 <= low < g."""
        order = sorted(rest.terms.items(), key=lambda item: -abs(item[1]))
        g = c
        for count in range(1, len(order) + 1):
            g = gcd(g, order[count - 1][1])
            if g == 1:
                return None
            low = Sum(rest.ty, rest.const % g, dict(order[count:]))
            bound = self.sum_bound(low)
            if bound[0] >= 0 and bound[1] < g:
                high = Sum(rest.ty, rest.const // g, {d: k // g for d, k in order[:count]})
                return g, high, low
        return None

    def _divide_rest(self, rest: Sum, c: int) -> Sum:
        parts = self._low_part(rest, c)
        if parts is not None:
            g, high, _ = parts
            return self.floordiv(high, Sum(rest.ty, c // g, {}))
        return Sum(rest.ty, 0, {(self.sum_number(rest), c, None): 1})

    def floormod(self, a: Sum, b: Sum) -> Sum:
        """a % b"""
        if b.terms:
            return self.symbolic_division(a, b)[1]
        c = b.const
        if c == 0:
            return self.opaque(FloorMod, a, b)
        if c < 0:
            return self.floormod(a.scaled(-1), b.scaled(-1)).scaled(-1)
        if c == 1:
            return Sum(a.ty, 0, {})
        terms = {d: k for d, k in a.terms.items() if k % c}
        if self.expand or len(terms) == 1:
            # Elsewhere factors above c stay: they say which iterators were fused.
            terms = {d: k % c if k > 0 else -(-k % c) for d, k in terms.items()}
        rest = Sum(a.ty, a.const % c, terms)
        quotient = self._small_quotient(rest, c)
        if quotient is not None:
            return self.add(rest, Sum(a.ty, quotient.const * c, {}), -1)
        if rest.const == 0 and len(terms) == 1:
            digit, coef = next(iter(terms.items()))
            g = gcd(coef, c)
            if coef == g:
                return self._cut_digit(a.ty, digit, c // g).scaled(g)
        parts = self._low_part(rest, c)
        if parts is not None:
            g, high, low = parts
            return self.add(low, self.floormod(high, Sum(a.ty, c // g, {})), g)
        return self.normal(a.ty, (self.sum_number(rest), 1, c))

    def _cut_digit(self, ty: Any, digit: Digit, c: int) -> Sum:
        """(atom // lower % upper) % c"""
        atom, lower, upper = digit
        if upper is not None and upper % c:
            if upper <= c:
                return Sum(ty, 0, {digit: 1})
            number = self.factors(Sum(ty, 0, {digit: 1}))[1][0]
            return Sum(ty, 0, {(number, 1, c): 1})
        return self.normal(ty, (atom, lower, c))

    def symbolic_division(self, a: Sum, b: Sum) -> tuple[Sum, Sum]:
        """Quotient and remainder by a divisor that is no constant (and not zero where
        evaluated)."""
        coef, factors = self.factors(b)
        whole = Sum(a.ty, 0, {})
        rest = Sum(a.ty, 0, {})
        for digit, k in a.terms.items():
            mine = self.factors(Sum(a.ty, 0, {digit: 1}))[1]
            left = _remove(mine, factors) if k % coef == 0 else None
            if left is None:
                rest = self.add(rest, Sum(a.ty, 0, {digit: k}), 1)
            else:
                whole = self.add(whole, self._product_of(a.ty, left).scaled(k // coef), 1)
        rest = self.add(rest, Sum(a.ty, a.const, {}), 1)
        if not rest.terms and rest.const == 0:
            return whole, rest
        divisor = self.to_expr(b)
        if self._is_below(rest, divisor):
            return whole, rest
        if not whole.terms and not whole.const:
            rest = a
        return (
            self.add(whole, self.opaque(FloorDiv, rest, b), 1),
            self.opaque(FloorMod, rest, b),
        )

    def _is_below(self, rest: Sum, divisor: Any) -> bool:
        """0 <= rest < divisor"""
        low, high = self.sum_bound(rest)
        if low < 0:
            return False
        if high < self.analyzer.bounds.value(divisor)[0]:
            return True
        return self.analyzer.is_below(self.to_expr(rest), divisor)

    def _product_of(self, ty: Any, factors: list[int]) -> Sum:
        result = Sum(ty, 1, {})
        for factor in factors:
            one = self.sums.get(factor) or Sum(ty, 0, {(factor, 1, None): 1})
            result = self.multiply(result, one)
        return result

    def opaque(self, cls: type, a: Sum, b: Sum) -> Sum:
        """An operation that stays as it is, as an atom."""
        key = (cls, self.sum_number(a), self.sum_number(b))
        found = self.numbers.get(key)
        if found is None:
            found = self.register(key, make[cls](self.to_expr(a), self.to_expr(b)))
        return self.atom_sum(found, self.atoms[found])

    def extremum(self, node: Any, cls: type, a: Sum, b: Sum) -> Sum:
        """Min or max: decided by the bounds of the difference, or an atom."""
        low, high = self.sum_bound(self.add(a, b, -1))
        if low >= 0:
            return b if cls is Min else a
        if high <= 0:
            return a if cls is Min else b
        x, y = self.to_expr(a), self.to_expr(b)
        built = node if x is node.a and y is node.b else make[cls](x, y)
        return self.atom_sum(self.number(built, built), built)

    def compare(self, node: Any, cls: type, a: Sum, b: Sum) -> Any:
        """A comparison: decided by the difference, divided by its common factor, or as it is."""
        difference = self.add(a, b, -1)
        known = decide(cls, self.sum_bound(difference))
        if known is not None:
            return TRUE if known else FALSE
        if not difference.terms:
            return truth(node.ty, decide(cls, (difference.const, difference.const)) is True)
        found = self._reduce(cls, difference)
        if found is None:
            return FALSE if cls is EQ else TRUE
        cancelled = len(difference.terms) < len(a.terms) + len(b.terms)
        if found[1] is not difference or cancelled or (a.const and b.const):
            return self._rebuild(*found)
        x, y = self.to_expr(a), self.to_expr(b)
        return node if x is node.a and y is node.b else make[cls](x, y)

    def _reduce(self, cls: type, total: Sum) -> tuple[type, Sum] | None:
        """A comparison of a sum with 0 that says the same; None: an equation without solution."""
        g = 0
        for coef in total.terms.values():
            g = gcd(g, coef)
        if g > 1:
            terms = {d: k // g for d, k in total.terms.items()}
            if cls in (EQ, NE):
                return None if total.const % g else (cls, Sum(total.ty, total.const // g, terms))
            # g*X + c < 0  ⟺  X + floor(c / g) < 0;   g*X + c <= 0  ⟺  X + ceil(c / g) <= 0
            const = total.const // g if cls in (LT, GE) else -(-total.const // g)
            return cls, Sum(total.ty, const, terms)
        if len(total.terms) > 1 and cls not in (EQ, NE):
            strict = cls in (LT, GE)
            shifted = total if strict else Sum(total.ty, total.const - 1, total.terms)
            dropped = self._drop_low(shifted)
            if dropped is not None:
                return (cls if strict else {LE: LT, GT: GE}[cls]), dropped
        return cls, total

    def _drop_low(self, total: Sum) -> Sum | None:
        """g*X + low < 0 ⟺ X < 0 where 0 <= low < g (and the constant is a multiple of g)."""
        order = sorted(total.terms.items(), key=lambda item: -abs(item[1]))
        g = 0
        for count in range(1, len(order)):
            g = gcd(g, order[count - 1][1])
            if g == 1:
                return None
            low = Sum(total.ty, total.const % g, dict(order[count:]))
            bound = self.sum_bound(low)
            if bound[0] >= 0 and bound[1] < g:
                return Sum(total.ty, total.const // g, {d: k // g for d, k in order[:count]})
        return None

    def _rebuild(self, cls: type, total: Sum) -> Any:
        """total cmp 0 with the negative terms on the other side."""
        left = Sum(total.ty, 0, {d: k for d, k in total.terms.items() if k > 0})
        right = Sum(total.ty, -total.const, {d: -k for d, k in total.terms.items() if k < 0})
        if not left.terms:
            left = Sum(total.ty, total.const, {})
            right = Sum(total.ty, 0, right.terms)
            if cls in (EQ, NE):
                left, right = right, left
            return make[cls](self.to_expr(left), self.to_expr(right))
        return make[cls](self.to_expr(left), self.to_expr(right))

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


def _fits(total: Sum) -> bool:
    """Whether all constants of a sum fit its type."""
    limit = 1 << (total.ty.dtype.bits - 1)
    if not -limit <= total.const < limit:
        return False
    return all(-limit < coef < limit for coef in total.terms.values())


def lower_is_all(digit: Digit) -> bool:
    """Whether a digit is the whole atom."""
    return digit[1] == 1 and digit[2] is None


def decide(cls: type, bound: Bound) -> bool | None:
    """Whether `d cmp 0` holds for all d in the bounds (True), for none (False), or it depends."""
    low, high = bound
    if cls is LT:
        return True if high < 0 else False if low >= 0 else None
    if cls is LE:
        return True if high <= 0 else False if low > 0 else None
    if cls is GT:
        return True if low > 0 else False if high <= 0 else None
    if cls is GE:
        return True if low >= 0 else False if high < 0 else None
    apart = low > 0 or high < 0
    if cls is EQ:
        return False if apart else True if low == high == 0 else None
    return True if apart else False if low == high == 0 else None


def _remove(items: list[int], taken: list[int]) -> list[int] | None:
    """The multiset difference, or None if `taken` is not contained."""
    left = list(items)
    for item in taken:
        if item not in left:
            return None
        left.remove(item)
    return left


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
