"""What is done with iteration maps: inverting them, and dividing them into an outer and inner
part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.arith.analyzer import Analyzer, all_of, conjuncts
from workbench.arith.build import make_add, make_floordiv, make_floormod
from workbench.arith.iter_map import Detector, as_condition, inputs_of, level_of, prepare
from workbench.arith.iter_nodes import (
    Arithmetic,
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    NotAffine,
    is_one,
)
from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import IntImm, Var, as_expr
from workbench.tirx.expr import Sub


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
    math = Arithmetic(analyzer)
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


def _push_down(source: IterSumExpr, value: Any, math: Arithmetic, feed: Any) -> None:
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
    inputs = inputs_of(input_iters)
    known = prepare(inputs, analyzer, simplify_trivial_iterators)
    inner_ids = {id(v) for v in sub_iters}
    conditions = conjuncts(known.simplify(as_condition(predicate)))
    sides: list[list[Any]] = [[], []]
    for condition in conditions:
        used = [v for v in iter_nodes(condition, Var) if id(v) in {id(k) for k in inputs}]
        inner = [v for v in used if id(v) in inner_ids]
        if inner and len(inner) != len(used):
            return []
        sides[bool(inner)].append(condition)
    try:
        detector = Detector(
            inputs, known.simplify(as_condition(predicate)), known, simplify_trivial_iterators
        )
        sums = [
            detector.apply_constraints(detector.sum(known.simplify(as_expr(b)))) for b in bindings
        ]
        fused = [detector.fuse(total, b) for total, b in zip(sums, bindings, strict=True)]
        if level_of(check_level) is not IterMapLevel.NoCheck:
            if detector.check(fused, level_of(check_level)):
                return []
        result: list[list[IterMark]] = [list(_divide(detector, total, inner_ids)) for total in sums]
    except NotAffine:
        return []
    result.append([IterMark(IntImm("int32", 0), _conjunction(side)) for side in sides])
    return result


def _conjunction(conditions: Sequence[Any]) -> Any:
    return all_of([c for c in conditions if not (type(c) is IntImm and c.value)])


def _divide(
    detector: Detector, total: IterSumExpr, inner_ids: set[int]
) -> tuple[IterMark, IterMark]:
    """(outer, inner) of one binding; the inner splits are the least significant ones, and the
    offset goes with them."""
    math = detector.math
    zero = math.zero(total.base.ty)
    order = detector.sorted(total.args) if total.args else []
    inner: list[IterSplitExpr] = []
    outer: list[IterSplitExpr] = []
    for split in order:
        sides = {id(v) in inner_ids for v in _variables_of(split.source)}
        if len(sides) != 1:
            raise NotAffine("an iterator belongs to both spaces")
        if sides.pop():
            inner.append(split)
        elif inner:
            raise NotAffine("an outer iterator is less significant than an inner one")
        else:
            outer.append(split)
    extent = math.one(total.base.ty)
    for split in inner:
        extent = math.times(extent, split.extent)
    scaled: list[IterSplitExpr] = []
    for split in outer:
        scale = math.divide(split.scale, extent)
        if scale is None:
            raise NotAffine("the outer factor is no multiple of the inner extent")
        scaled.append(split.replace(scale=scale))
    first = detector.fuse(IterSumExpr(tuple(scaled), zero), "outer")
    second = detector.fuse(IterSumExpr(tuple(inner), total.base), "inner")
    return _as_mark(first, math), _as_mark(second, math)


def _as_mark(total: IterSumExpr, math: Arithmetic) -> IterMark:
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
