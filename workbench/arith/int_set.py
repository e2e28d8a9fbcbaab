"""Symbolic sets of integers: intervals with symbolic ends, and their images under expressions.

`eval_set(expr, dom_map, analyzer)` covers all values of an expression while variables range over
their sets: the region relaxation of `compute_at`, buffer compaction and access detection. An
interval covers; it need not be tight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.arith.build import (
    INDEX,
    WRAP,
    imm,
    kind_of,
    make,
    make_add,
    make_floordiv,
    make_mul,
    make_sub,
    same,
)
from workbench.core.node import Node, field, plan_of
from workbench.ir.expr import Call, Expr, IntImm, Range, Var, as_expr
from workbench.ir.type import prim_type
from workbench.tirx.expr import (
    LE,
    Add,
    Broadcast,
    BufferLoad,
    Cast,
    CmpOp,
    FloorDiv,
    FloorMod,
    IterVar,
    LogicalOp,
    Max,
    Min,
    Mul,
    Not,
    Ramp,
    Select,
    Sub,
)

if TYPE_CHECKING:
    from workbench.arith.analyzer import Analyzer


_analyzers: list[Callable[[], Analyzer]] = []


def set_default_analyzer(make_analyzer: Callable[[], Analyzer]) -> None:
    """Says what to use where no analyzer is given. `arith.analyzer`, which stands on this module,
    calls it once when imported."""
    _analyzers[:] = [make_analyzer]


def _default_analyzer() -> Analyzer:
    return _analyzers[0]()


class IntSet(Node):
    """A set of integers."""

    def is_nothing(self) -> bool:
        """Whether the set is certainly empty."""
        return False

    def is_everything(self) -> bool:
        """Whether nothing is known."""
        return False

    @staticmethod
    def vector(vec: Any) -> IntSet:
        """The interval that covers the elements of a vector expression."""
        return eval_set(as_expr(vec), {}, None)

    @staticmethod
    def single_point(point: Any) -> IntSet:
        """The set of one value."""
        return IntervalSet.single_point(point)

    @staticmethod
    def interval(low: Any, high: Any) -> IntSet:
        """The closed interval."""
        return IntervalSet(low, high)

    @staticmethod
    def from_range(r: Range) -> IntSet:
        """The values of a range."""
        return IntervalSet.from_range(r)


_handle = prim_type("int64")
_POS = Var("pos_inf", "int64")
_NEG = Var("neg_inf", "int64")


def pos_inf() -> Expr:
    """The symbol of +∞."""
    return _POS


def neg_inf() -> Expr:
    """The symbol of -∞."""
    return _NEG


def is_pos_inf(expr: Any) -> bool:
    """Whether an end is +∞."""
    return expr is _POS


def is_neg_inf(expr: Any) -> bool:
    """Whether an end is -∞."""
    return expr is _NEG


class IntervalSet(IntSet):
    """[min_value, max_value], ends included. Empty: min is +∞ and max is -∞."""

    min_value: Expr = field(converter=as_expr)
    max_value: Expr = field(converter=as_expr)

    def __repr__(self) -> str:
        return f"IntervalSet[{self.min_value}, {self.max_value}]"

    @staticmethod
    def single_point(point: Any) -> IntervalSet:
        """The set of one value."""
        expr = as_expr(point)
        return IntervalSet(expr, expr)

    @staticmethod
    def from_range(r: Range) -> IntervalSet:
        """The values of a range."""
        extent, low = r.extent, r.min
        if type(extent) is IntImm and extent.value == 1:
            return IntervalSet(low, low)
        return IntervalSet(low, _minus_one(_plus(low, extent)))

    @staticmethod
    def everything() -> IntervalSet:
        """All integers."""
        return IntervalSet(_NEG, _POS)

    @staticmethod
    def nothing() -> IntervalSet:
        """The empty set."""
        return IntervalSet(_POS, _NEG)

    def is_nothing(self) -> bool:
        """Whether the set is empty by its ends."""
        low, high = self.min_value, self.max_value
        if is_pos_inf(low) or is_neg_inf(high):
            return True
        return type(low) is IntImm and type(high) is IntImm and low.value > high.value

    def is_everything(self) -> bool:
        """Whether nothing is known."""
        return is_neg_inf(self.min_value) and is_pos_inf(self.max_value)

    def is_single_point(self) -> bool:
        """Whether both ends are one expression."""
        return same(self.min_value, self.max_value) and not self.is_everything()

    def has_lower_bound(self) -> bool:
        """Whether the lower end is finite."""
        return not is_neg_inf(self.min_value) and not is_pos_inf(self.min_value)

    def has_upper_bound(self) -> bool:
        """Whether the upper end is finite."""
        return not is_pos_inf(self.max_value) and not is_neg_inf(self.max_value)

    def cover_range(self, fallback: Range) -> Range:
        """The set as a range; `fallback` where an end is infinite."""
        if not (self.has_lower_bound() and self.has_upper_bound()):
            return fallback
        low, high = self.min_value, self.max_value
        if self.is_single_point():
            one = imm(low.ty, 1)
            assert one is not None
            return Range.from_min_extent(low, one)
        extent = _plus(_minus(high, low), imm(low.ty, 1))
        return Range.from_min_extent(low, extent)


class PresburgerSet(IntSet):
    """A set described by linear constraints over variables (kept as a condition)."""

    variables: tuple[Var, ...]
    condition: Expr = field(converter=as_expr)


def _plus(a: Any, b: Any) -> Any:
    if type(b) is IntImm:
        if b.value == 0:
            return a
        if type(a) is IntImm:
            found = imm(a.ty, a.value + b.value)
            if found is not None:
                return found
    if type(a) is IntImm and a.value == 0 and a.ty == b.ty:
        return b
    return make_add(a, b)


def _minus(a: Any, b: Any) -> Any:
    if type(b) is IntImm:
        negated = imm(b.ty, -b.value)
        return make_sub(a, b) if negated is None else _plus(a, negated)
    return imm(a.ty, 0) if same(a, b) else make_sub(a, b)


def _minus_one(a: Any) -> Any:
    if type(a) is Add and type(a.b) is IntImm:
        return _plus(a.a, imm(a.ty, a.b.value - 1))
    return _minus(a, imm(a.ty, 1))


def as_int_set(value: Any) -> IntSet:
    """An IntSet; a Range or expression becomes an interval."""
    if isinstance(value, IntSet):
        return value
    if isinstance(value, Range):
        return IntervalSet.from_range(value)
    return IntervalSet.single_point(value)


# ---------------------------------------------------------------------------------------------
# Images of sets under expressions

Ends = tuple[Any, Any]  # (low, high); the infinities are _NEG and _POS
_ALL: Ends = (_NEG, _POS)


class _Evaluator:
    """Evaluates expressions over interval domains, bottom-up with an explicit stack."""

    def __init__(self, dom: Mapping[int, Ends], analyzer: Analyzer) -> None:
        self.dom = dom
        self.analyzer = analyzer
        self.memo: dict[int, tuple[Any, Ends]] = {}

    def run(self, expr: Any) -> Ends:
        memo = self.memo
        stack = [expr]
        while stack:
            node = stack[-1]
            if id(node) in memo:
                stack.pop()
                continue
            below = self.inputs(node)
            missing = [c for c in below if id(c) not in memo]
            if missing:
                stack.extend(missing)
                continue
            memo[id(node)] = (node, self.compute(node, [memo[id(c)][1] for c in below]))
            stack.pop()
        return memo[id(expr)][1]

    def inputs(self, node: Any) -> tuple[Any, ...]:
        cls = type(node)
        if cls in _RULES:
            return (node.a, node.b)
        if cls is Select:
            return (node.true_value, node.false_value)
        if cls is Call and getattr(node.op, "name", "") == "tirx.if_then_else":
            return tuple(node.args[1:])
        if cls is Cast or cls is Broadcast:
            return (node.value,)
        if cls is Ramp:
            return (node.base, node.stride)
        return ()

    def compute(self, node: Any, below: list[Ends]) -> Ends:
        cls = type(node)
        if cls is Var:
            found = self.dom.get(id(node))
            return (node, node) if found is None else found
        if cls is IntImm:
            return (node, node)
        if kind_of(node.ty) not in (INDEX, WRAP):
            return _ALL if self.depends(node) else (node, node)
        rule = _RULES.get(cls)
        if below and all(a is b for a, b in below) and cls not in (Ramp, Cast):
            values = [a for a, _ in below]
            if rule is not None:
                if values[0] is node.a and values[1] is node.b:
                    return (node, node)
                point = make[cls](*values)
                return (point, point)
        if rule is not None and cls in _MAY_WRAP and kind_of(node.ty) == WRAP:
            # The ends of such a sum may wrap around apart: only bounds that know of it hold.
            low, high = self.analyzer.bounds.value(node)
            return self.constants(node.ty, low, high)
        if rule is not None:
            return rule(self, below[0], below[1])
        if cls is Select or (cls is Call and below):
            return self.union(below[0], below[1])
        if cls is Cast:
            return self.cast(node, below[0])
        if cls is Broadcast:
            return below[0]
        if cls is Ramp:
            return self.ramp(node, below)
        if self.depends(node):
            low, high = self.analyzer.bounds.value(node)
            return self.constants(node.ty, low, high)
        return (node, node)

    def constants(self, ty: Any, low: int, high: int) -> Ends:
        least, most = imm(ty, low), imm(ty, high)
        if kind_of(ty) == OTHER_KIND:
            return _ALL
        return (_NEG if least is None else least, _POS if most is None else most)

    def depends(self, node: Any) -> bool:
        """Whether a node contains a variable that has a domain."""
        stack = [node]
        while stack:
            n = stack.pop()
            if type(n) is Var:
                if id(n) in self.dom:
                    return True
            elif type(n) is BufferLoad:
                stack.extend(n.indices)
            else:
                stack.extend(plan_of(type(n)).children(n))
        return False

    # -- ends

    def sign(self, expr: Any) -> int | None:
        """1: not negative, -1: not positive, None: not known."""
        if is_pos_inf(expr):
            return 1
        if is_neg_inf(expr):
            return -1
        low, high = self.analyzer.bounds.value(expr)
        return 1 if low >= 0 else -1 if high <= 0 else None

    def lesser(self, a: Any, b: Any) -> Any:
        if is_neg_inf(a) or is_pos_inf(b):
            return a
        if is_neg_inf(b) or is_pos_inf(a):
            return b
        return a if same(a, b) else self.analyzer.simplify(make[Min](a, b))

    def greater(self, a: Any, b: Any) -> Any:
        if is_pos_inf(a) or is_neg_inf(b):
            return a
        if is_pos_inf(b) or is_neg_inf(a):
            return b
        return a if same(a, b) else self.analyzer.simplify(make[Max](a, b))

    def union(self, a: Ends, b: Ends) -> Ends:
        return (self.lesser(a[0], b[0]), self.greater(a[1], b[1]))

    def cast(self, node: Cast, inner: Ends) -> Ends:
        if inner[0] is inner[1] is node.value:
            return (node, node)
        if any(end is _NEG or end is _POS for end in inner):
            return tuple(e if e is _NEG or e is _POS else Cast(node.dtype, e) for e in inner)  # type: ignore[return-value]
        return (Cast(node.dtype, inner[0]), Cast(node.dtype, inner[1]))

    def ramp(self, node: Ramp, below: list[Ends]) -> Ends:
        base, stride = below
        if not isinstance(node.lanes, IntImm) or type(stride[0]) is not IntImm:
            return _ALL
        last = imm(node.base.ty, node.lanes.value - 1)
        span = _multiply(self, stride, (last, last))
        zero = imm(node.base.ty, 0)
        return _add(self, base, self.union(span, (zero, zero)))


OTHER_KIND = -1


def _finite(*ends: Any) -> bool:
    return not any(e is _NEG or e is _POS for e in ends)


def _add(ev: _Evaluator, a: Ends, b: Ends) -> Ends:
    low = _NEG if a[0] is _NEG or b[0] is _NEG else _plus(a[0], b[0])
    high = _POS if a[1] is _POS or b[1] is _POS else _plus(a[1], b[1])
    return (low, high)


def _subtract(ev: _Evaluator, a: Ends, b: Ends) -> Ends:
    low = _NEG if a[0] is _NEG or b[1] is _POS else _minus(a[0], b[1])
    high = _POS if a[1] is _POS or b[0] is _NEG else _minus(a[1], b[0])
    return (low, high)


def _times(end: Any, factor: Any) -> Any:
    if type(factor) is IntImm:
        if factor.value == 0:
            return factor
        if factor.value == 1:
            return end
        if end is _NEG or end is _POS:
            return end if factor.value > 0 else (_POS if end is _NEG else _NEG)
        if type(end) is IntImm:
            found = imm(end.ty, end.value * factor.value)
            if found is not None:
                return found
    return make_mul(end, factor)


def _multiply(ev: _Evaluator, a: Ends, b: Ends) -> Ends:
    if a[0] is a[1] and b[0] is not b[1]:
        a, b = b, a
    if b[0] is not b[1]:
        if _finite(*a, *b):
            corners = [_times(x, y) for x in a for y in b]
            if ev.sign(a[0]) == 1 and ev.sign(b[0]) == 1:
                return (corners[0], corners[3])
            if all(type(c) is IntImm for c in corners):
                ordered = sorted(corners, key=lambda c: c.value)
                return (ordered[0], ordered[-1])
        return _ALL
    factor = b[0]
    sign = ev.sign(factor)
    if not _finite(*a) and type(factor) is not IntImm:
        return _ALL
    if sign is None:
        ends = _times(a[0], factor), _times(a[1], factor)
        return (ev.lesser(*ends), ev.greater(*ends))
    low, high = _times(a[0], factor), _times(a[1], factor)
    return (low, high) if sign > 0 else (high, low)


def _floordiv(ev: _Evaluator, a: Ends, b: Ends) -> Ends:
    if b[0] is not b[1] or not _finite(b[0]):
        return _ALL
    divisor = b[0]
    sign = ev.sign(divisor)
    if sign is None:
        return _ALL
    ends = [e if e is _NEG or e is _POS else _quotient(e, divisor) for e in a]
    if sign < 0:
        flip = {id(_NEG): _POS, id(_POS): _NEG}
        ends = [flip.get(id(e), e) for e in reversed(ends)]
    return (ends[0], ends[1])


def _quotient(end: Any, divisor: Any) -> Any:
    if type(end) is IntImm and type(divisor) is IntImm and divisor.value != 0:
        found = imm(end.ty, end.value // divisor.value)
        if found is not None:
            return found
    return make_floordiv(end, divisor)


def _floormod(ev: _Evaluator, a: Ends, b: Ends) -> Ends:
    if b[0] is not b[1] or not _finite(b[0]) or ev.sign(b[0]) != 1:
        return _ALL
    divisor = b[0]
    analyzer = ev.analyzer
    zero = imm(divisor.ty, 0)
    if _finite(*a):
        low, high = _quotient(a[0], divisor), _quotient(a[1], divisor)
        first, last = analyzer.simplify(low), analyzer.simplify(high)
        if same(first, last):
            whole = _times(first, divisor)
            return (_minus(a[0], whole), _minus(a[1], whole))
    return (zero, _minus_one(divisor))


def _minimum(ev: _Evaluator, a: Ends, b: Ends) -> Ends:
    return (ev.lesser(a[0], b[0]), ev.lesser(a[1], b[1]))


def _maximum(ev: _Evaluator, a: Ends, b: Ends) -> Ends:
    return (ev.greater(a[0], b[0]), ev.greater(a[1], b[1]))


_RULES: dict[type, Callable[[_Evaluator, Ends, Ends], Ends]] = {
    Add: _add,
    Sub: _subtract,
    Mul: _multiply,
    FloorDiv: _floordiv,
    FloorMod: _floormod,
    Min: _minimum,
    Max: _maximum,
}
_BOOLEAN = (CmpOp, LogicalOp, Not)
_MAY_WRAP = (Add, Sub, Mul)


def _domains(dom_map: Mapping[Any, Any]) -> dict[int, Ends]:
    out: dict[int, Ends] = {}
    for var, value in dom_map.items():
        key = var.var if isinstance(var, IterVar) else var
        interval = as_int_set(value)
        if not isinstance(interval, IntervalSet):
            raise TypeError(f"expected an interval for {key}, got {type(interval).__name__}")
        low, high = interval.min_value, interval.max_value
        out[id(key)] = (low, low if interval.is_single_point() else high)
    return out


def eval_set(
    expr: Any, dom_map: Mapping[Any, Any], analyzer: Analyzer | None = None
) -> IntervalSet:
    """The interval that covers `expr` while the variables of `dom_map` range over their sets.

    `dom_map` maps variables to IntSets or Ranges; `expr` may be an expression, a Range or an
    IntSet.
    """
    run = _Evaluator(_domains(dom_map), analyzer or _default_analyzer())
    if isinstance(expr, Range):
        expr = IntervalSet.from_range(expr)
    if isinstance(expr, IntervalSet):
        low = expr.min_value if not expr.has_lower_bound() else run.run(expr.min_value)[0]
        high = expr.max_value if not expr.has_upper_bound() else run.run(expr.max_value)[1]
    else:
        low, high = run.run(as_expr(expr))
    return _simplified(low, high, run.analyzer)


def _simplified(low: Any, high: Any, analyzer: Analyzer) -> IntervalSet:
    if low is high and _finite(low):
        point = analyzer.simplify(low)
        return IntervalSet(point, point)
    least = low if not _finite(low) else analyzer.simplify(low)
    most = high if not _finite(high) else analyzer.simplify(high)
    return IntervalSet(least, most)


def eval_range(
    r: Range, dom_map: Mapping[Any, Any], analyzer: Analyzer | None = None
) -> IntervalSet:
    """The interval that a range covers while variables range over their sets."""
    return eval_set(r, dom_map, analyzer)


def upper_end(expr: Any, analyzer: Analyzer) -> Any:
    """An upper bound of `expr` without the variables that have symbolic ranges, or None."""
    domains = {id(v): (low, high) for v, low, high in analyzer.ranges.values()}
    run = _Evaluator(domains, analyzer)
    current = analyzer.simplify(expr)
    for _ in range(4):  # ranges may speak of other ranged variables
        current = run.run(current)[1]
        if not _finite(current):
            return None
        if not run.depends(current):
            return current
        current = analyzer.simplify(current)
    return None


# ---------------------------------------------------------------------------------------------
# Union, intersection, comparison


def union(sets: Sequence[Any], analyzer: Analyzer | None = None) -> IntervalSet:
    """The smallest interval that covers all sets."""
    run = _Evaluator({}, analyzer or _default_analyzer())
    ends: Ends = (_POS, _NEG)
    for item in map(as_int_set, sets):
        assert isinstance(item, IntervalSet), item
        if not item.is_nothing():
            ends = run.union(ends, (item.min_value, item.max_value))
    return IntervalSet(*ends)


def intersect(sets: Sequence[Any], analyzer: Analyzer | None = None) -> IntervalSet:
    """The interval common to all sets."""
    run = _Evaluator({}, analyzer or _default_analyzer())
    low, high = _NEG, _POS
    for item in map(as_int_set, sets):
        assert isinstance(item, IntervalSet), item
        low, high = run.greater(low, item.min_value), run.lesser(high, item.max_value)
    return IntervalSet(low, high)


def union_region(
    regions: Sequence[Sequence[Any]], analyzer: Analyzer | None = None
) -> list[IntervalSet]:
    """The union of boxes, dimension by dimension."""
    if not regions:
        return []
    rank = len(regions[0])
    assert all(len(r) == rank for r in regions), "regions of one buffer have one rank"
    return [union([r[i] for r in regions], analyzer) for i in range(rank)]


union_lower_bound = union


def covers(outer: Any, inner: Any, analyzer: Analyzer | None = None) -> bool:
    """Whether `inner` certainly lies within `outer`."""
    known = analyzer or _default_analyzer()
    a, b = as_int_set(outer), as_int_set(inner)
    assert isinstance(a, IntervalSet), a
    assert isinstance(b, IntervalSet), b
    low = is_neg_inf(a.min_value) or (
        _finite(a.min_value, b.min_value)
        and known.can_prove(make_le(a.min_value, b.min_value), strength=1)
    )
    high = is_pos_inf(a.max_value) or (
        _finite(a.max_value, b.max_value)
        and known.can_prove(make_le(b.max_value, a.max_value), strength=1)
    )
    return low and high


def make_le(a: Any, b: Any) -> Any:
    """a <= b"""
    return make[LE](a, b)
