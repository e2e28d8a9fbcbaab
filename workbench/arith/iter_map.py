"""Iteration maps: block variables as quasi-affine bijections of loop variables.

An index of loops, such as `i // 4`, `i % 4` or `i * 8 + j`, is a sum of *splits* of *marks*. A
mark is something that runs through 0 … extent-1: a loop variable, or a sum of splits fused into
one iterator (`i * 8 + j` where j has extent 8 runs through 0 … 8*extent(i)-1). A split is `mark
// lower_factor % extent * scale`. `detect_iter_map` finds that form, and checks that the splits
of all indices use every mark without overlap (`Surjective`) and completely (`Bijective`).

Predicates such as `i * 4 + j < 30`, left by splits that do not divide, make a mark of the
constrained sum. Extents may be symbolic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.arith.analyzer import Analyzer, conjuncts
from workbench.arith.build import imm, make, make_floordiv, make_floormod, make_sub
from workbench.arith.iter_nodes import (
    Arithmetic,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    NotAffine,
    is_one,
    is_zero,
    normalize_iter_map_to_expr,
    rescaled,
    split_of,
    sum_of,
)
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import IntImm, Range, Var, as_expr
from workbench.tirx.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    FloorDiv,
    FloorMod,
    IterVar,
    Max,
    Min,
    Mul,
    Sub,
)

# ---------------------------------------------------------------------------------------------
# Detection


class Detector:
    """Brings indices into the form of sums of splits of marks."""

    def __init__(
        self,
        inputs: Mapping[Any, Range],
        predicate: Any,
        analyzer: Analyzer,
        trivial: bool,
        overlap: bool = False,
    ) -> None:
        self.analyzer = analyzer
        self.overlap = overlap  # whether windows may overlap: `i + j` runs through its whole range
        self.math = Arithmetic(analyzer)
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
        """Declares an iterator and its range."""
        low, extent = self.analyzer.simplify(domain.min), self.analyzer.simplify(domain.extent)
        low, extent = self.math.like(low, var), self.math.like(extent, var)
        one = self.math.one(var.ty)
        if is_one(extent) and trivial:
            self.inputs[id(var)] = sum_of((), low)
            return
        source = var if is_zero(low) else make_sub(var, low)
        mark = self.new_mark(source, extent)
        self.variables[id(mark)] = var
        self.inputs[id(var)] = sum_of((split_of(mark, one, extent, one),), low)

    def new_mark(self, source: Any, extent: Any) -> IterMark:
        """A new mark, after those it is made of."""
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
                raise NotAffine("the predicate is never true")
            total, low, high = self.bound_of(condition)
            if not total.args:
                if not self.analyzer.can_prove(condition):
                    raise NotAffine(f"the predicate {condition} does not bound an iterator")
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
            raise NotAffine(f"the predicate {condition} is no bound of an affine index")
        a, b = condition.a, condition.b
        if cls in (GT, GE):
            a, b, cls = b, a, {GT: LT, GE: LE}[cls]
        left, right = self.sum(a), self.sum(b)
        one = self.math.one(a.ty)
        if cls is EQ:
            if left.args and right.args:
                raise NotAffine(f"the predicate {condition} relates iterators")
            total, other = (left, right) if left.args else (right, left)
            value = self.math.minus(other.base, total.base)
            return self.bare(total), value, self.math.plus(value, one)
        if left.args and right.args:
            left, right = self.plus(left, right, -1), sum_of((), self.math.zero(a.ty))
        if right.args:
            low = self.math.minus(left.base, right.base)
            return self.bare(right), low if cls is LE else self.math.plus(low, one), None
        high = self.math.minus(right.base, left.base)
        return self.bare(left), None, high if cls is LT else self.math.plus(high, one)

    def bare(self, total: IterSumExpr) -> IterSumExpr:
        """The sum without its base."""
        return sum_of(total.args, self.math.zero(total.base.ty))

    def constrain(self, total: IterSumExpr, lows: list[Any], highs: list[Any]) -> None:
        """Makes a mark of low <= total < high."""
        if all(self.negative(s.scale) for s in total.args):  # -x < -3: turn round
            minus_one = imm(total.base.ty, -1)
            flipped = self.scaled(total, minus_one)
            one = self.math.one(total.base.ty)
            turned = [self.math.minus(one, h) for h in highs]  # t < h  ⟺  -t >= 1 - h
            highs = [self.math.minus(one, x) for x in lows]  # t >= l  ⟺  -t < 1 - l
            total, lows = flipped, turned
        fused = self.fuse(sum_of(total.args, self.math.zero(total.base.ty)), "predicate")
        assert len(fused.args) == 1
        split = fused.args[0]
        if not is_one(split.scale):
            raise NotAffine("a predicate bounds a multiple of an iterator")
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
            raise NotAffine("the predicate is never true")
        parts = total.args if len(total.args) > 1 else (split,)
        source = sum_of(parts, self.math.minus(self.math.zero(least.ty), least))
        mark = self.new_mark(source, extent)
        self.constraints.append((parts, mark, least))

    @staticmethod
    def negative(scale: Any) -> bool:
        """Whether a factor is a negative constant."""
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
        """A hashable stand-in of an extent or factor."""
        return expr.value if type(expr) is IntImm else str(expr)

    def sum(self, expr: Any) -> IterSumExpr:
        """An expression as a sum of splits (iterative over long sums by pairs)."""
        cls = type(expr)
        if cls is Var:
            found = self.inputs.get(id(expr))
            return found if found is not None else sum_of((), expr)
        if cls is IntImm:
            return sum_of((), expr)
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
            total = sum_of((), self.math.zero(expr.ty))
            for node, sign in parts:
                total = self.plus(total, self.sum(node), sign)
            return total
        if cls is Mul:
            a, b = self.sum(expr.a), self.sum(expr.b)
            if a.args and b.args:
                raise NotAffine(f"{expr} multiplies iterators")
            if not a.args and not b.args:
                return sum_of((), expr)
            return self.scaled(a, b.base) if a.args else self.scaled(b, a.base)
        if cls is FloorDiv or cls is FloorMod:
            divisor = self.sum(expr.b)
            if divisor.args:
                raise NotAffine(f"{expr} divides by an iterator")
            dividend = self.sum(expr.a)
            if not dividend.args:
                return sum_of((), self.analyzer.simplify(expr))
            divide = self.floordiv if cls is FloorDiv else self.floormod
            return divide(dividend, divisor.base, expr)
        if not self.mentions(expr):
            return sum_of((), self.analyzer.simplify(expr))
        raise NotAffine(f"{expr} is not affine in the iterators")

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
                        args[i] = rescaled(old, merged)
                    break
            else:
                args.append(rescaled(split, scale))
        base = self.math.plus(a.base, b.base) if sign > 0 else self.math.minus(a.base, b.base)
        return sum_of(tuple(args), base)

    def scaled(self, a: IterSumExpr, factor: Any) -> IterSumExpr:
        """The sum times a factor."""
        if is_zero(factor):
            return sum_of((), self.math.zero(a.base.ty))
        args = tuple(rescaled(s, self.math.times(s.scale, factor)) for s in a.args)
        return sum_of(args, self.math.times(a.base, factor))

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
            replaced = split_of(mark, one, mark.extent, factor)
            base = self.math.plus(total.base, self.math.times(least, factor))
            total = sum_of((*rest, replaced), base)
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
                if self.overlap:
                    return self.fuse_windows(total, order, what)
                raise NotAffine(
                    f"{what}: the iterators do not follow each other: expected a factor of "
                    f"{expected}, found {split.scale}"
                )
            expected = self.math.times(expected, split.extent)
        one = self.math.one(total.base.ty)
        extent = self.math.divide(expected, first)
        if extent is None:
            raise NotAffine(f"{what}: cannot divide {expected} by {first}")
        parts: list[IterSplitExpr] = []
        scale = one
        for split in reversed(order):
            parts.insert(0, rescaled(split, scale))
            scale = self.math.times(scale, split.extent)
        key = tuple((id(s.source), self.token(s.lower_factor), self.token(s.extent)) for s in parts)
        mark = self.fused.get(key)
        if mark is None:
            mark = self.new_mark(sum_of(tuple(parts), self.math.zero(total.base.ty)), extent)
            self.fused[key] = mark
        return sum_of((split_of(mark, one, extent, first),), total.base)

    def fuse_windows(
        self, total: IterSumExpr, order: Sequence[IterSplitExpr], what: Any
    ) -> IterSumExpr:
        """A sum whose splits overlap but leave no holes, as one iterator."""
        first = order[-1].scale
        one = self.math.one(total.base.ty)
        width = order[-1].extent
        parts = [order[-1].replace(scale=one)]
        for split in reversed(order[:-1]):
            step = self.math.divide(split.scale, first)
            if step is None or not self.math.at_most(step, width):
                raise NotAffine(f"{what}: the factor {split.scale} leaves holes")
            width = self.math.plus(width, self.math.times(self.math.minus(split.extent, one), step))
            parts.insert(0, rescaled(split, step))
        key = ("windows", self.key(parts))
        mark = self.fused.get(key)
        if mark is None:
            mark = self.new_mark(sum_of(tuple(parts), self.math.zero(total.base.ty)), width)
            self.fused[key] = mark
        return sum_of((split_of(mark, one, width, first),), total.base)

    def sorted(self, args: Sequence[Any]) -> list[IterSplitExpr]:
        """Splits by falling scale; symbolic scales by what can be proved."""
        if all(type(s.scale) is IntImm for s in args):
            for s in args:
                if s.scale.value <= 0:
                    raise NotAffine(f"an iterator has the negative factor {s.scale}")
            # of equal scales the one of extent 1 is the outer one: it changes nothing
            return sorted(args, key=_significance, reverse=True)
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
            args = tuple(rescaled(s, e) for s, e in zip(total.args, exact, strict=True))
            base = self.analyzer.simplify(make_floordiv(total.base, self.math.like(c, total.base)))
            return sum_of(args, base)
        total = self.fuse(total, expr)
        split = total.args[0]
        base, split, step = self.aligned(total, split, c, expr)
        lower = self.math.times(split.lower_factor, step)
        one = self.math.one(total.base.ty)
        extent = self.math.divide(split.extent, step)
        if extent is None:
            if self.math.at_most(split.extent, step):
                return sum_of((), base)
            raise NotAffine(f"{expr}: {step} does not divide the extent {split.extent}")
        return sum_of((split_of(split.source, lower, extent, one),), base)

    def aligned(
        self, total: IterSumExpr, split: IterSplitExpr, c: Any, expr: Any
    ) -> tuple[Any, IterSplitExpr, Any]:
        """(base // c, split, c // scale) where the base is a multiple of c and the scale divides
        c."""
        base = self.math.divide(total.base, self.math.like(c, total.base))
        if base is None:
            raise NotAffine(f"{expr}: the offset {total.base} is no multiple of {c}")
        step = self.math.divide(c, split.scale)
        if step is None:
            raise NotAffine(f"{expr}: the factor {split.scale} does not divide {c}")
        return base, split, step

    def floormod(self, total: IterSumExpr, c: Any, expr: Any) -> IterSumExpr:
        """total % c"""
        kept = [s for s in total.args if self.math.divide(s.scale, c) is None]
        if not kept:
            base = self.analyzer.simplify(make_floormod(total.base, self.math.like(c, total.base)))
            return sum_of((), base)
        total = self.fuse(total, expr)
        split = total.args[0]
        _, split, step = self.aligned(total, split, c, expr)
        zero = self.math.zero(total.base.ty)
        if self.math.divide(split.extent, step) is None:
            if self.math.at_most(split.extent, step):
                return sum_of((split,), zero)
            raise NotAffine(f"{expr}: {step} does not divide the extent {split.extent}")
        result = split_of(split.source, split.lower_factor, step, split.scale)
        return sum_of((result,), zero)

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
        above = [s for s in rest if self.math.divide(s.lower_factor, expected) is not None]
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


def _significance(split: Any) -> tuple[int, bool]:
    return split.scale.value, is_one(split.extent)


def inputs_of(input_iters: Any) -> dict[Any, Range]:
    """Variables and ranges of any mapping or list of pairs."""
    pairs = input_iters.items() if isinstance(input_iters, Mapping) else input_iters
    out: dict[Any, Range] = {}
    for var, domain in pairs:
        key = var.var if isinstance(var, IterVar) else var
        out[key] = domain if isinstance(domain, Range) else Range(domain)
    return out


def level_of(value: Any) -> IterMapLevel:
    """A check level or its name."""
    return IterMapLevel.from_str(value) if isinstance(value, str) else IterMapLevel(value)


def as_condition(predicate: Any) -> Any:
    """A predicate as an expression."""
    return IntImm("bool", int(predicate)) if isinstance(predicate, bool) else as_expr(predicate)


def prepare(
    inputs: Mapping[Any, Range], analyzer: Analyzer | None, trivial: bool = True
) -> Analyzer:
    """An analyzer of its own that knows the ranges of the iterators."""
    own = Analyzer() if analyzer is None else analyzer.clone()
    for var, domain in inputs.items():
        if trivial or not is_one(domain.extent):
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
    level = level_of(check_level)
    overlap = level is not IterMapLevel.Bijective  # windows are onto, but not one to one
    return detect(
        indices, input_iters, predicate, level, simplify_trivial_iterators, analyzer, overlap
    )


def detect(
    indices: Sequence[Any],
    input_iters: Any,
    predicate: Any,
    level: IterMapLevel,
    trivial: bool = True,
    analyzer: Analyzer | None = None,
    overlap: bool = False,
) -> IterMapResult:
    """`detect_iter_map`, where windows may overlap on demand."""
    inputs = inputs_of(input_iters)
    known = prepare(inputs, analyzer, trivial)
    true = IntImm("bool", 1)
    try:
        condition = known.simplify(as_condition(predicate))
        detector = Detector(inputs, condition, known, trivial, overlap)
        found = [detector.fuse(detector.sum(known.simplify(i)), i) for i in map(as_expr, indices)]
    except NotAffine as reason:
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
    inputs = inputs_of(input_iters)
    known = prepare(inputs, analyzer)
    detector = Detector(inputs, IntImm("bool", 1), known, True)
    expr = known.simplify(as_expr(index))
    total = sum_of((), detector.math.zero(expr.ty))
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
        except NotAffine:
            part = sum_of((), node)
        total = detector.plus(total, part, sign)
    try:
        args = detector.sorted(total.args)
    except NotAffine:
        args = sorted(total.args, key=lambda s: -getattr(s.scale, "value", 0))
    return sum_of(tuple(args), total.base)


def iter_map_simplify(
    indices: Sequence[Any],
    input_iters: Any,
    predicate: Any = True,
    check_level: Any = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> list[Any]:
    """The indices simplified as an iteration map; as they are (simplified) where they are none."""
    inputs = inputs_of(input_iters)
    known = prepare(inputs, analyzer)
    found = detect_iter_map(
        indices, inputs, predicate, check_level, simplify_trivial_iterators, analyzer
    )
    if found.indices:
        return [known.simplify(normalize_iter_map_to_expr(i)) for i in found.indices]
    return [known.simplify(as_expr(i)) for i in indices]
