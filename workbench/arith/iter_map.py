"""Iteration maps: block variables as quasi-affine bijections of loop variables.

An index of loops, such as `i // 4`, `i % 4` or `i * 8 + j`, is a sum of *splits* of *marks*. A mark is
something that runs through 0 … extent-1: a loop variable, or a sum of splits fused into one iterator
(`i * 8 + j` where j has extent 8 runs through 0 … 8*extent(i)-1). A split is
`mark // lower_factor % extent * scale`. `detect_iter_map` finds that form, and checks that the splits
of all indices use every mark without overlap (`Surjective`) and completely (`Bijective`).

Predicates such as `i * 4 + j < 30`, left by splits that do not divide, make a mark of the constrained
sum. Extents may be symbolic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from workbench.arith.analyzer import Analyzer, conjuncts
from workbench.arith.build import (
    imm,
    make,
    make_add,
    make_floordiv,
    make_floormod,
    make_mul,
    make_sub,
    same,
)
from workbench.core.errors import WorkbenchError
from workbench.core.node import Node, field
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Expr, IntImm, Range, Var, as_expr
from workbench.tirx.expr import EQ, GE, GT, LE, LT, Add, FloorDiv, FloorMod, IterVar, Max, Min, Mul, Sub


class IterMapLevel(IntEnum):
    """What `detect_iter_map` checks: bijection, surjection onto the box of extents, or nothing."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """The level of a name ("bijective", "surjective", "nocheck")."""
        for level in IterMapLevel:
            if level.name.lower() == name.lower():
                return level
        raise WorkbenchError(
            f"unknown check level {name!r}", hint="one of bijective, surjective, nocheck"
        )


class IterMapExpr(Expr):
    """Base of the expressions of iteration maps."""


class IterMark(Node):
    """Something that runs through 0 … extent-1: a variable or a fused sum."""

    source: Expr = field(converter=as_expr)
    extent: Expr = field(converter=as_expr)


class IterSplitExpr(IterMapExpr):
    """source // lower_factor % extent * scale"""

    source: IterMark
    lower_factor: Expr = field(converter=as_expr)
    extent: Expr = field(converter=as_expr)
    scale: Expr = field(converter=as_expr)
    ty: Any = field(init=False, derive=lambda self: self.source.source.ty)


class IterSumExpr(IterMapExpr):
    """Σ args + base"""

    args: tuple[IterSplitExpr, ...]
    base: Expr = field(converter=as_expr)
    ty: Any = field(init=False, derive=lambda self: self.base.ty)


class IterMapResult(Node):
    """What `detect_iter_map` found: one `IterSumExpr` per index, or none and the reasons."""

    indices: tuple[IterSumExpr, ...] = ()
    errors: tuple[str, ...] = ()
    padding_predicate: Expr = field(converter=as_expr, default=None)


class _Failed(Exception):
    """The indices are no iteration map; the message says why."""


# ---------------------------------------------------------------------------------------------
# Arithmetic on extents and scales: Python-fast for constants


class _Arithmetic:
    """Exact arithmetic on constants and symbolic expressions in the state of an analyzer."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def equal(self, a: Any, b: Any) -> bool:
        if type(a) is IntImm and type(b) is IntImm:
            return a.value == b.value
        return same(a, b) or self.analyzer.can_prove_equal(a, self.like(b, a))

    @staticmethod
    def like(value: Any, other: Any) -> Any:
        """A constant in the type of another expression."""
        if type(value) is IntImm and value.ty != other.ty:
            return imm(other.ty, value.value) or value
        return value

    def times(self, a: Any, b: Any) -> Any:
        if type(a) is IntImm:
            a, b = b, a
        if type(b) is IntImm:
            if b.value == 1:
                return a
            if b.value == 0:
                return self.like(b, a)
            if type(a) is IntImm:
                found = imm(a.ty, a.value * b.value)
                if found is not None:
                    return found
            b = self.like(b, a)
        return self.analyzer.simplify(make_mul(a, b))

    def plus(self, a: Any, b: Any) -> Any:
        if type(b) is IntImm and b.value == 0:
            return a
        if type(a) is IntImm and a.value == 0:
            return b
        return self.analyzer.simplify(make_add(a, self.like(b, a)))

    def minus(self, a: Any, b: Any) -> Any:
        if type(b) is IntImm and b.value == 0:
            return a
        if type(a) is IntImm:
            a = self.like(a, b)
        return self.analyzer.simplify(make_sub(a, self.like(b, a)))

    def divide(self, a: Any, b: Any) -> Any:
        """The exact quotient, or None."""
        if type(b) is IntImm:
            if b.value == 1:
                return a
            if b.value == 0:
                return None
            if type(a) is IntImm:
                return imm(a.ty, a.value // b.value) if a.value % b.value == 0 else None
            b = self.like(b, a)
        elif type(a) is IntImm:
            a = self.like(a, b)
        if type(a) is IntImm and a.value == 0:
            return a
        if same(a, b):
            return imm(a.ty, 1)
        rest = self.analyzer.simplify(make_floormod(a, b))
        if type(rest) is IntImm and rest.value == 0:
            return self.analyzer.simplify(make_floordiv(a, b))
        return None

    def at_most(self, a: Any, b: Any) -> bool:
        if type(a) is IntImm and type(b) is IntImm:
            return a.value <= b.value
        if type(a) is IntImm:
            a = self.like(a, b)
        return self.analyzer.can_prove(LE(a, self.like(b, a)))

    @staticmethod
    def one(ty: Any) -> Any:
        found = imm(ty, 1)
        assert found is not None
        return found

    @staticmethod
    def zero(ty: Any) -> Any:
        found = imm(ty, 0)
        assert found is not None
        return found


def is_one(expr: Any) -> bool:
    """Whether an expression is the constant 1."""
    return type(expr) is IntImm and expr.value == 1


def is_zero(expr: Any) -> bool:
    """Whether an expression is the constant 0."""
    return type(expr) is IntImm and expr.value == 0


# ---------------------------------------------------------------------------------------------
# Detection


class _Detector:
    """Brings indices into the form of sums of splits of marks."""

    def __init__(
        self, inputs: Mapping[Any, Range], predicate: Any, analyzer: Analyzer, trivial: bool
    ) -> None:
        self.analyzer = analyzer
        self.math = _Arithmetic(analyzer)
        #: id(var) → its sum
        self.inputs: dict[int, IterSumExpr] = {}
        self.marks: list[IterMark] = []  # in order of creation: a fused mark after its parts
        self.variables: dict[int, Var] = {}  # id(mark) → variable
        self.fused: dict[Any, IterMark] = {}
        #: constrained sums: (splits, what they are replaced by, offset)
        self.constraints: list[tuple[tuple[IterSplitExpr, ...], IterMark, Any]] = []
        for key, domain in inputs.items():
            self.add_input(key.var if isinstance(key, IterVar) else key, domain, trivial)
        self.add_predicate(predicate)

    def add_input(self, var: Var, domain: Range, trivial: bool) -> None:
        low, extent = self.analyzer.simplify(domain.min), self.analyzer.simplify(domain.extent)
        low, extent = self.math.like(low, var), self.math.like(extent, var)
        one = self.math.one(var.ty)
        if is_one(extent) and trivial:
            self.inputs[id(var)] = IterSumExpr((), low)
            return
        source = var if is_zero(low) else make_sub(var, low)
        mark = self.new_mark(source, extent)
        self.variables[id(mark)] = var
        self.inputs[id(var)] = IterSumExpr((IterSplitExpr(mark, one, extent, one),), low)

    def new_mark(self, source: Any, extent: Any) -> IterMark:
        mark = IterMark(source, extent)
        self.marks.append(mark)
        return mark

    # -- predicates

    def add_predicate(self, predicate: Any) -> None:
        """Turns the bounds in a predicate into marks of constrained sums."""
        bounds: dict[Any, tuple[IterSumExpr, list[Any], list[Any]]] = {}
        for condition in conjuncts(predicate):
            if type(condition) is IntImm:
                if condition.value:
                    continue
                raise _Failed("the predicate is never true")
            total, low, high = self.bound_of(condition)
            if not total.args:
                if not self.analyzer.can_prove(condition):
                    raise _Failed(f"the predicate {condition} does not bound an iterator")
                continue
            entry = bounds.setdefault(self.key(total.args), (total, [], []))
            if low is not None:
                entry[1].append(low)
            if high is not None:
                entry[2].append(high)
        for total, lows, highs in sorted(bounds.values(), key=lambda e: len(e[0].args)):
            self.constrain(total, lows, highs)

    def bound_of(self, condition: Any) -> tuple[IterSumExpr, Any, Any]:
        """A comparison as (sum without base, inclusive lower bound, exclusive upper bound)."""
        cls = type(condition)
        if cls not in (LT, LE, GT, GE, EQ):
            raise _Failed(f"the predicate {condition} is no bound of an affine index")
        a, b = condition.a, condition.b
        if cls in (GT, GE):
            a, b, cls = b, a, {GT: LT, GE: LE}[cls]
        left, right = self.sum(a), self.sum(b)
        one = self.math.one(a.ty)
        if cls is EQ:
            if left.args and right.args:
                raise _Failed(f"the predicate {condition} relates iterators")
            total, other = (left, right) if left.args else (right, left)
            value = self.math.minus(other.base, total.base)
            return self.bare(total), value, self.math.plus(value, one)
        if left.args and right.args:
            left, right = self.plus(left, right, -1), IterSumExpr((), self.math.zero(a.ty))
        if right.args:
            low = self.math.minus(left.base, right.base)
            return self.bare(right), low if cls is LE else self.math.plus(low, one), None
        high = self.math.minus(right.base, left.base)
        return self.bare(left), None, high if cls is LT else self.math.plus(high, one)

    def bare(self, total: IterSumExpr) -> IterSumExpr:
        return IterSumExpr(total.args, self.math.zero(total.base.ty))

    def constrain(self, total: IterSumExpr, lows: list[Any], highs: list[Any]) -> None:
        """Makes a mark of low <= total < high."""
        if all(self.negative(s.scale) for s in total.args):  # -x < -3: turn round
            minus_one = imm(total.base.ty, -1)
            flipped = self.scaled(total, minus_one)
            one = self.math.one(total.base.ty)
            turned = [self.math.minus(one, h) for h in highs]  # t < h  ⟺  -t >= 1 - h
            highs = [self.math.minus(one, x) for x in lows]  # t >= l  ⟺  -t < 1 - l
            total, lows = flipped, turned
        fused = self.fuse(IterSumExpr(total.args, self.math.zero(total.base.ty)), "predicate")
        assert len(fused.args) == 1
        split = fused.args[0]
        if not is_one(split.scale):
            raise _Failed("a predicate bounds a multiple of an iterator")
        least: Any = self.math.zero(total.base.ty)
        end: Any = split.extent
        for low in lows:
            if not self.math.at_most(low, least):
                below = self.math.at_most(least, low)
                least = low if below else self.analyzer.simplify(make[Max](least, low))
        for high in highs:
            if not self.math.at_most(end, high):
                below = self.math.at_most(high, end)
                end = high if below else self.analyzer.simplify(make[Min](end, high))
        if is_zero(least) and end is split.extent:
            return
        extent = self.math.minus(end, least)
        if type(extent) is IntImm and extent.value <= 0:
            raise _Failed("the predicate is never true")
        parts = total.args if len(total.args) > 1 else (split,)
        source = IterSumExpr(parts, self.math.minus(self.math.zero(least.ty), least))
        mark = self.new_mark(source, extent)
        self.constraints.append((parts, mark, least))

    @staticmethod
    def negative(scale: Any) -> bool:
        return type(scale) is IntImm and scale.value < 0

    # -- sums

    def key(self, args: Sequence[IterSplitExpr]) -> Any:
        """A hashable description of splits, whatever their order."""
        return frozenset(
            (id(s.source), self.token(s.lower_factor), self.token(s.extent), self.token(s.scale))
            for s in args
        )

    @staticmethod
    def token(expr: Any) -> Any:
        return expr.value if type(expr) is IntImm else str(expr)

    def sum(self, expr: Any) -> IterSumExpr:
        """An expression as a sum of splits (iterative over long sums by pairs)."""
        cls = type(expr)
        if cls is Var:
            found = self.inputs.get(id(expr))
            return found if found is not None else IterSumExpr((), expr)
        if not self.mentions(expr):
            return IterSumExpr((), self.analyzer.simplify(expr))
        if cls is Add or cls is Sub:
            parts: list[tuple[Any, int]] = []
            stack: list[tuple[Any, int]] = [(expr, 1)]
            while stack:
                node, sign = stack.pop()
                if type(node) is Add:
                    stack += [(node.b, sign), (node.a, sign)]
                elif type(node) is Sub:
                    stack += [(node.b, -sign), (node.a, sign)]
                else:
                    parts.append((node, sign))
            total = IterSumExpr((), self.math.zero(expr.ty))
            for node, sign in parts:
                total = self.plus(total, self.sum(node), sign)
            return total
        if cls is Mul:
            a, b = self.sum(expr.a), self.sum(expr.b)
            if a.args and b.args:
                raise _Failed(f"{expr} multiplies iterators")
            return self.scaled(a, b.base) if a.args else self.scaled(b, a.base)
        if cls is FloorDiv or cls is FloorMod:
            divisor = self.sum(expr.b)
            if divisor.args:
                raise _Failed(f"{expr} divides by an iterator")
            divide = self.floordiv if cls is FloorDiv else self.floormod
            return divide(self.sum(expr.a), divisor.base, expr)
        raise _Failed(f"{expr} is not affine in the iterators")

    def mentions(self, expr: Any) -> bool:
        """Whether an expression contains an iterator."""
        return any(id(v) in self.inputs for v in iter_nodes(expr, Var))

    def plus(self, a: IterSumExpr, b: IterSumExpr, sign: int) -> IterSumExpr:
        """a ± b, equal splits added up."""
        args = list(a.args)
        factor = imm(a.base.ty, sign)
        for split in b.args:
            scale = self.math.times(split.scale, factor)
            for i, old in enumerate(args):
                if (
                    old.source is split.source
                    and self.math.equal(old.lower_factor, split.lower_factor)
                    and self.math.equal(old.extent, split.extent)
                ):
                    merged = self.math.plus(old.scale, scale)
                    if is_zero(merged):
                        del args[i]
                    else:
                        args[i] = old.replace(scale=merged)
                    break
            else:
                args.append(split.replace(scale=scale))
        base = self.math.plus(a.base, b.base) if sign > 0 else self.math.minus(a.base, b.base)
        return IterSumExpr(tuple(args), base)

    def scaled(self, a: IterSumExpr, factor: Any) -> IterSumExpr:
        if is_zero(factor):
            return IterSumExpr((), self.math.zero(a.base.ty))
        args = tuple(s.replace(scale=self.math.times(s.scale, factor)) for s in a.args)
        return IterSumExpr(args, self.math.times(a.base, factor))

    # -- fusing

    def apply_constraints(self, total: IterSumExpr) -> IterSumExpr:
        """Replaces constrained sums in a sum by their marks."""
        for parts, mark, least in self.constraints:
            found = self.match(parts, total.args)
            if found is None:
                continue
            used, factor = found
            rest = tuple(s for s in total.args if not any(s is u for u in used))
            one = self.math.one(total.base.ty)
            replaced = IterSplitExpr(mark, one, mark.extent, factor)
            base = self.math.plus(total.base, self.math.times(least, factor))
            total = IterSumExpr((*rest, replaced), base)
        return total

    def match(
        self, parts: Sequence[IterSplitExpr], args: Sequence[IterSplitExpr]
    ) -> tuple[list[IterSplitExpr], Any] | None:
        """Finds the splits of a constrained sum, all scaled by one factor, among `args`."""
        factor: Any = None
        used: list[IterSplitExpr] = []
        for part in parts:
            for split in args:
                if (
                    split.source is part.source
                    and self.math.equal(split.lower_factor, part.lower_factor)
                    and self.math.equal(split.extent, part.extent)
                ):
                    ratio = self.math.divide(split.scale, part.scale)
                    if ratio is None or (factor is not None and not self.math.equal(ratio, factor)):
                        return None
                    factor = ratio
                    used.append(split)
                    break
            else:
                return None
        return used, factor

    def fuse(self, total: IterSumExpr, what: Any) -> IterSumExpr:
        """A sum whose splits are one iterator: at most one split."""
        total = self.apply_constraints(total)
        if len(total.args) <= 1:
            return total
        order = self.sorted(total.args)
        first = order[-1].scale
        expected = first
        for split in reversed(order):
            if not self.math.equal(split.scale, expected):
                raise _Failed(
                    f"{what}: the iterators do not follow each other: expected a factor of "
                    f"{expected}, found {split.scale}"
                )
            expected = self.math.times(expected, split.extent)
        one = self.math.one(total.base.ty)
        extent = self.math.divide(expected, first)
        if extent is None:
            raise _Failed(f"{what}: cannot divide {expected} by {first}")
        parts: list[IterSplitExpr] = []
        scale = one
        for split in reversed(order):
            parts.insert(0, split.replace(scale=scale))
            scale = self.math.times(scale, split.extent)
        key = tuple((id(s.source), self.token(s.lower_factor), self.token(s.extent)) for s in parts)
        mark = self.fused.get(key)
        if mark is None:
            mark = self.new_mark(IterSumExpr(tuple(parts), self.math.zero(total.base.ty)), extent)
            self.fused[key] = mark
        return IterSumExpr((IterSplitExpr(mark, one, extent, first),), total.base)

    def sorted(self, args: Sequence[IterSplitExpr]) -> list[IterSplitExpr]:
        """Splits by falling scale; symbolic scales by what can be proved."""
        if all(type(s.scale) is IntImm for s in args):
            for s in args:
                if s.scale.value <= 0:  # type: ignore[attr-defined]
                    raise _Failed(f"an iterator has the negative factor {s.scale}")
            # of equal scales the one of extent 1 is the outer one: it changes nothing
            return sorted(args, key=lambda s: (s.scale.value, is_one(s.extent)), reverse=True)
        rest = list(args)
        order: list[IterSplitExpr] = []
        expected: Any = None
        while rest:
            found = None
            if expected is None:
                found = self.smallest(rest)
            else:
                found = next((s for s in rest if self.math.equal(s.scale, expected)), None)
            if found is None:
                return [*rest, *order]
            rest = [s for s in rest if s is not found]
            order.insert(0, found)
            expected = self.math.times(found.scale, found.extent)
        return order

    def smallest(self, args: Sequence[IterSplitExpr]) -> IterSplitExpr:
        """The split of the smallest scale: a constant, or one that divides all others."""
        constants = [s for s in args if type(s.scale) is IntImm]
        if constants:
            return min(constants, key=lambda s: s.scale.value)  # type: ignore[attr-defined]
        for split in args:
            if all(self.math.divide(o.scale, split.scale) is not None for o in args):
                return split
        return args[-1]

    # -- division

    def floordiv(self, total: IterSumExpr, c: Any, expr: Any) -> IterSumExpr:
        """total // c"""
        if is_one(c):
            return total
        exact = [self.math.divide(s.scale, c) for s in total.args]
        if all(e is not None for e in exact):
            args = tuple(
                s.replace(scale=e) for s, e in zip(total.args, exact, strict=True)
            )
            base = self.analyzer.simplify(make_floordiv(total.base, self.math.like(c, total.base)))
            return IterSumExpr(args, base)
        total = self.fuse(total, expr)
        split = total.args[0]
        base, split, step = self.aligned(total, split, c, expr)
        lower = self.math.times(split.lower_factor, step)
        one = self.math.one(total.base.ty)
        extent = self.math.divide(split.extent, step)
        if extent is None:
            if self.math.at_most(split.extent, step):
                return IterSumExpr((), base)
            raise _Failed(f"{expr}: {step} does not divide the extent {split.extent}")
        return IterSumExpr((IterSplitExpr(split.source, lower, extent, one),), base)

    def aligned(
        self, total: IterSumExpr, split: IterSplitExpr, c: Any, expr: Any
    ) -> tuple[Any, IterSplitExpr, Any]:
        """(base // c, split, c // scale) where the base is a multiple of c and the scale divides c."""
        base = self.math.divide(total.base, self.math.like(c, total.base))
        if base is None:
            raise _Failed(f"{expr}: the offset {total.base} is no multiple of {c}")
        step = self.math.divide(c, split.scale)
        if step is None:
            raise _Failed(f"{expr}: the factor {split.scale} does not divide {c}")
        return base, split, step

    def floormod(self, total: IterSumExpr, c: Any, expr: Any) -> IterSumExpr:
        """total % c"""
        kept = [s for s in total.args if self.math.divide(s.scale, c) is None]
        if not kept:
            base = self.analyzer.simplify(make_floormod(total.base, self.math.like(c, total.base)))
            return IterSumExpr((), base)
        total = self.fuse(total, expr)
        split = total.args[0]
        _, split, step = self.aligned(total, split, c, expr)
        zero = self.math.zero(total.base.ty)
        if self.math.divide(split.extent, step) is None:
            if self.math.at_most(split.extent, step):
                return IterSumExpr((split,), zero)
            raise _Failed(f"{expr}: {step} does not divide the extent {split.extent}")
        result = IterSplitExpr(split.source, split.lower_factor, step, split.scale)
        return IterSumExpr((result,), zero)

    # -- the check

    def check(self, indices: Sequence[IterSumExpr], level: IterMapLevel) -> list[str]:
        """The reasons why the indices are no surjection (bijection)."""
        uses: dict[int, list[IterSplitExpr]] = {}
        for index in indices:
            for split in index.args:
                uses.setdefault(id(split.source), []).append(split)
        errors: list[str] = []
        for mark in reversed(self.marks):
            splits = uses.get(id(mark))
            if splits is None:
                if level is IterMapLevel.Bijective and id(mark) in self.variables:
                    if not is_one(mark.extent):
                        errors.append(f"the iterator {self.name(mark)} is not used")
                continue
            problem = self.check_mark(mark, splits, level)
            if problem:
                errors.append(problem)
            if isinstance(mark.source, IterSumExpr):
                for part in mark.source.args:
                    uses.setdefault(id(part.source), []).append(part)
        return errors

    def check_mark(
        self, mark: IterMark, splits: Sequence[IterSplitExpr], level: IterMapLevel
    ) -> str:
        """Whether splits of one mark are digits that follow each other and reach its extent."""
        rest = list(splits)
        expected: Any = self.math.one(mark.extent.ty)
        while rest:
            found = next((s for s in rest if self.math.equal(s.lower_factor, expected)), None)
            if found is None:
                gap = self.next_digit(rest, expected)
                if gap is None or level is IterMapLevel.Bijective:
                    kind = "leaves out or repeats digits"
                    return f"the indices use {self.name(mark)} in a way that {kind}"
                found = gap
            rest.pop(next(i for i, s in enumerate(rest) if s is found))
            expected = self.math.times(found.lower_factor, found.extent)
        complete = self.math.equal(expected, mark.extent)
        if level is IterMapLevel.Bijective and not complete:
            return f"the indices use {self.name(mark)} up to {expected}, not to {mark.extent}"
        if not complete and self.math.divide(mark.extent, expected) is None:
            return f"{expected} does not divide the extent {mark.extent} of {self.name(mark)}"
        return ""

    def next_digit(self, rest: Sequence[IterSplitExpr], expected: Any) -> IterSplitExpr | None:
        """The lowest split above a gap: its lower factor is a multiple of what was expected."""
        above = [
            s for s in rest if self.math.divide(s.lower_factor, expected) is not None
        ]
        for split in above:
            if all(
                o is split or self.math.at_most(split.lower_factor, o.lower_factor) for o in rest
            ):
                return split
        return None

    def name(self, mark: IterMark) -> str:
        """What to call a mark in messages."""
        var = self.variables.get(id(mark))
        return var.name if var is not None else str(normalize_iter_map_to_expr(mark.source))


def _inputs_of(input_iters: Any) -> dict[Any, Range]:
    pairs = input_iters.items() if isinstance(input_iters, Mapping) else input_iters
    out: dict[Any, Range] = {}
    for var, domain in pairs:
        key = var.var if isinstance(var, IterVar) else var
        out[key] = domain if isinstance(domain, Range) else Range(domain)
    return out


def _level(value: Any) -> IterMapLevel:
    return IterMapLevel.from_str(value) if isinstance(value, str) else IterMapLevel(value)


def _condition(predicate: Any) -> Any:
    return IntImm("bool", int(predicate)) if isinstance(predicate, bool) else as_expr(predicate)


def _prepare(inputs: Mapping[Any, Range], analyzer: Analyzer | None) -> Analyzer:
    """An analyzer of its own that knows the ranges of the iterators."""
    own = Analyzer() if analyzer is None else analyzer.clone()
    for var, domain in inputs.items():
        own.bind(var, domain, allow_override=True)
    return own


def detect_iter_map(
    indices: Sequence[Any],
    input_iters: Any,
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> IterMapResult:
    """Whether indices are an iteration map of the iterators, and which.

    Parameters
    ----------
    indices : the index expressions. input_iters : variable → Range.
    predicate : a condition on the iterators that holds wherever the indices are used.
    check_level : `IterMapLevel` or its name.
    simplify_trivial_iterators : iterators of extent 1 become constants.
    analyzer : what is known of other variables.

    Returns an `IterMapResult`; `indices` is empty and `errors` says why if there is no such map.
    """
    inputs = _inputs_of(input_iters)
    known = _prepare(inputs, analyzer)
    level = _level(check_level)
    true = IntImm("bool", 1)
    try:
        detector = _Detector(
            inputs, known.simplify(_condition(predicate)), known, simplify_trivial_iterators
        )
        found = [detector.fuse(detector.sum(known.simplify(i)), i) for i in map(as_expr, indices)]
    except _Failed as reason:
        return IterMapResult((), (str(reason),), true)
    if level is not IterMapLevel.NoCheck:
        errors = detector.check(found, level)
        if errors:
            return IterMapResult((), tuple(errors), true)
    return IterMapResult(tuple(found), (), true)


def normalize_to_iter_sum(
    index: Any, input_iters: Any, analyzer: Analyzer | None = None
) -> IterSumExpr:
    """An index as a sum of splits, by falling scale; what is not affine goes to the base."""
    inputs = _inputs_of(input_iters)
    known = _prepare(inputs, analyzer)
    detector = _Detector(inputs, IntImm("bool", 1), known, True)
    expr = known.simplify(as_expr(index))
    total = IterSumExpr((), detector.math.zero(expr.ty))
    stack: list[tuple[Any, int]] = [(expr, 1)]
    while stack:
        node, sign = stack.pop()
        if type(node) is Add:
            stack += [(node.b, sign), (node.a, sign)]
            continue
        if type(node) is Sub:
            stack += [(node.b, -sign), (node.a, sign)]
            continue
        try:
            part = detector.sum(node)
        except _Failed:
            part = IterSumExpr((), node)
        total = detector.plus(total, part, sign)
    try:
        args = detector.sorted(total.args)
    except _Failed:
        args = sorted(total.args, key=lambda s: -getattr(s.scale, "value", 0))
    return IterSumExpr(tuple(args), total.base)


def normalize_iter_map_to_expr(expr: Any) -> Any:
    """The ordinary expression of an iteration map expression."""
    if isinstance(expr, IterSumExpr):
        total: Any = None
        for split in expr.args:
            part = normalize_iter_map_to_expr(split)
            total = part if total is None else make_add(total, part)
        if total is None:
            return expr.base
        return total if is_zero(expr.base) else make_add(total, expr.base)
    if isinstance(expr, IterSplitExpr):
        source = expr.source
        value = normalize_iter_map_to_expr(source.source)
        lower, extent = expr.lower_factor, expr.extent
        whole = _Arithmetic(Analyzer()).equal
        if is_one(lower) and not whole(extent, source.extent):
            value = make_floormod(value, extent)
        elif not is_one(lower):
            if not whole(_product(lower, extent), source.extent):
                value = make_floormod(value, _product(lower, extent))
            value = make_floordiv(value, lower)
        return value if is_one(expr.scale) else make_mul(value, expr.scale)
    return expr


def _product(a: Any, b: Any) -> Any:
    return _Arithmetic(Analyzer()).times(a, b)


def iter_map_simplify(
    indices: Sequence[Any],
    input_iters: Any,
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> list[Any]:
    """The indices simplified as an iteration map; as they are (simplified) where they are none."""
    inputs = _inputs_of(input_iters)
    known = _prepare(inputs, analyzer)
    found = detect_iter_map(
        indices, inputs, predicate, check_level, simplify_trivial_iterators, analyzer
    )
    if found.indices:
        return [known.simplify(normalize_iter_map_to_expr(i)) for i in found.indices]
    return [known.simplify(as_expr(i)) for i in indices]


def inverse_affine_iter_map(iter_map: Sequence[Any], outputs: Sequence[Any]) -> dict[Var, Any]:
    """The iterators as expressions of the outputs of a bijective iteration map.

    `iter_map` is what `detect_iter_map` found; `[i // 16, i % 16]` with outputs `[a, b]` gives
    `{i: a * 16 + b}`.
    """
    if len(iter_map) != len(outputs):
        raise WorkbenchError(
            f"inverse_affine_iter_map: {len(iter_map)} indices, but {len(outputs)} outputs"
        )
    analyzer = Analyzer()
    math = _Arithmetic(analyzer)
    values: dict[int, Any] = {}  # id(mark) → value
    order: list[IterMark] = []

    def feed(split: IterSplitExpr, value: Any) -> None:
        part = math.times(value, split.lower_factor)
        old = values.get(id(split.source))
        values[id(split.source)] = part if old is None else math.plus(old, part)

    def visit(mark: IterMark) -> None:
        stack: list[tuple[IterMark, bool]] = [(mark, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif not any(node is m for m in order):
                stack.append((node, True))
                if isinstance(node.source, IterSumExpr):
                    stack.extend((s.source, False) for s in node.source.args)

    for index in iter_map:
        for split in index.args:
            visit(split.source)
    for index, output in zip(iter_map, outputs, strict=True):
        if not index.args:
            continue
        if len(index.args) != 1:
            raise WorkbenchError("inverse_affine_iter_map: an index is no single iterator")
        split = index.args[0]
        value = math.minus(math.like(as_expr(output), index.base), index.base)
        if not is_one(split.scale):
            value = analyzer.simplify(make_floordiv(value, split.scale))
        feed(split, value)
    result: dict[Var, Any] = {}
    for mark in _unique(order)[::-1]:
        value = values.get(id(mark))
        if value is None:
            continue
        source = mark.source
        if isinstance(source, IterSumExpr):
            _push_down(source, value, math, feed)
        else:
            var, offset = _variable(source)
            result[var] = analyzer.simplify(value if offset is None else make_add(value, offset))
    return result


def _unique(marks: Sequence[IterMark]) -> list[IterMark]:
    seen: dict[int, IterMark] = {}
    for mark in marks:
        seen.setdefault(id(mark), mark)
    return list(seen.values())


def _push_down(source: IterSumExpr, value: Any, math: _Arithmetic, feed: Any) -> None:
    """Gives the splits of a fused sum their digits of its value."""
    rest = math.minus(value, source.base)
    for position, split in enumerate(source.args):
        digit = rest
        if position:
            digit = make_floormod(digit, math.times(split.scale, split.extent))
        if not is_one(split.scale):
            digit = make_floordiv(digit, split.scale)
        feed(split, math.analyzer.simplify(digit))


def _variable(source: Any) -> tuple[Var, Any]:
    """The variable of a mark and what was taken from it."""
    if isinstance(source, Var):
        return source, None
    assert type(source) is Sub, source
    assert isinstance(source.a, Var), source
    return source.a, source.b


# ---------------------------------------------------------------------------------------------
# Division into an outer and an inner space


def subspace_divide(
    bindings: Sequence[Any],
    input_iters: Any,
    sub_iters: Sequence[Var],
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> list[list[IterMark]]:
    """Writes each binding as outer * extent(inner) + inner, where inner speaks of `sub_iters` only.

    Returns `[[outer, inner] for each binding] + [[outer predicate, inner predicate]]` as marks (a
    predicate is the extent of its mark, as in TVM), or an empty list if the bindings cannot be
    divided.
    """
    inputs = _inputs_of(input_iters)
    known = _prepare(inputs, analyzer)
    inner_ids = {id(v) for v in sub_iters}
    conditions = conjuncts(known.simplify(_condition(predicate)))
    sides: list[list[Any]] = [[], []]
    for condition in conditions:
        used = [v for v in iter_nodes(condition, Var) if id(v) in {id(k) for k in inputs}]
        inner = [v for v in used if id(v) in inner_ids]
        if inner and len(inner) != len(used):
            return []
        sides[bool(inner)].append(condition)
    try:
        detector = _Detector(
            inputs, known.simplify(_condition(predicate)), known, simplify_trivial_iterators
        )
        sums = [detector.apply_constraints(detector.sum(known.simplify(as_expr(b)))) for b in bindings]
        fused = [detector.fuse(total, b) for total, b in zip(sums, bindings, strict=True)]
        if _level(check_level) is not IterMapLevel.NoCheck:
            if detector.check(fused, _level(check_level)):
                return []
        result: list[list[IterMark]] = [
            list(_divide(detector, total, inner_ids)) for total in sums
        ]
    except _Failed:
        return []
    result.append([IterMark(IntImm("int32", 0), _conjunction(side)) for side in sides])
    return result


def _conjunction(conditions: Sequence[Any]) -> Any:
    from workbench.arith.analyzer import all_of

    return all_of([c for c in conditions if not (type(c) is IntImm and c.value)])


def _divide(
    detector: _Detector, total: IterSumExpr, inner_ids: set[int]
) -> tuple[IterMark, IterMark]:
    """(outer, inner) of one binding; the inner splits are the least significant ones, and the offset
    goes with them."""
    math = detector.math
    zero = math.zero(total.base.ty)
    order = detector.sorted(total.args) if total.args else []
    inner: list[IterSplitExpr] = []
    outer: list[IterSplitExpr] = []
    for split in order:
        sides = {id(v) in inner_ids for v in _variables_of(split.source)}
        if len(sides) != 1:
            raise _Failed("an iterator belongs to both spaces")
        if sides.pop():
            inner.append(split)
        elif inner:
            raise _Failed("an outer iterator is less significant than an inner one")
        else:
            outer.append(split)
    extent = math.one(total.base.ty)
    for split in inner:
        extent = math.times(extent, split.extent)
    scaled: list[IterSplitExpr] = []
    for split in outer:
        scale = math.divide(split.scale, extent)
        if scale is None:
            raise _Failed("the outer factor is no multiple of the inner extent")
        scaled.append(split.replace(scale=scale))
    first = detector.fuse(IterSumExpr(tuple(scaled), zero), "outer")
    second = detector.fuse(IterSumExpr(tuple(inner), total.base), "inner")
    return _as_mark(first, math), _as_mark(second, math)


def _as_mark(total: IterSumExpr, math: _Arithmetic) -> IterMark:
    """A fused sum with its extent."""
    if not total.args:
        return IterMark(total, math.one(total.base.ty))
    return IterMark(total, total.args[0].extent)


def _variables_of(mark: IterMark) -> list[Var]:
    """The variables below a mark."""
    found: list[Var] = []
    stack = [mark]
    while stack:
        source = stack.pop().source
        if isinstance(source, IterSumExpr):
            stack.extend(s.source for s in source.args)
        else:
            found.append(_variable(source)[0])
    return found
