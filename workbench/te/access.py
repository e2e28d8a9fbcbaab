"""What a block of a tensor expression reads and writes: boxes around the loaded elements.

A block made from a tensor expression has no loops inside, so every access is a point; several
points of one buffer are joined to a box. Bounds whose difference is known are compared as linear
forms; otherwise the box uses `min` and `max`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from workbench.core.structural import structural_equal, structural_hash
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.tirx.expr import Add, BufferLoad, Max, Min, Mul, Sub
from workbench.tirx.stmt import BufferRegion, BufferStore

#: A linear form: coefficient by structural hash of the term, and the constant under key None.
Linear = dict[int | None, int]


def _constant(e: Expr) -> Linear:
    return {None: e.value}  # type: ignore[attr-defined]


def _scaled(form: Linear, factor: int) -> Linear:
    return {k: v * factor for k, v in form.items()}


def _sum(a: Linear, b: Linear, sign: int) -> Linear:
    out = dict(a)
    for key, value in b.items():
        out[key] = out.get(key, 0) + sign * value
    return out


def _product(e: Any) -> Linear:
    if isinstance(e.b, IntImm):
        return _scaled(linear_form(e.a), e.b.value)
    if isinstance(e.a, IntImm):
        return _scaled(linear_form(e.b), e.a.value)
    return {structural_hash(e): 1}


_forms: dict[type, Callable[[Any], Linear]] = {
    IntImm: _constant,
    Add: lambda e: _sum(linear_form(e.a), linear_form(e.b), 1),
    Sub: lambda e: _sum(linear_form(e.a), linear_form(e.b), -1),
    Mul: _product,
}


def linear_form(e: Expr) -> Linear:
    """`e` as a sum of terms with constant coefficients (terms by structural hash)."""
    function = _forms.get(type(e))
    return function(e) if function is not None else {structural_hash(e): 1}


def known_difference(a: Expr, b: Expr) -> int | None:
    """a - b if it is evidently a constant."""
    difference = _sum(linear_form(a), linear_form(b), -1)
    constant = difference.pop(None, 0)
    return None if any(difference.values()) else constant


class _Interval:
    """The closed interval of the indices seen in one dimension."""

    __slots__ = ("high", "low")

    def __init__(self, index: Expr) -> None:
        self.low = self.high = index

    def add(self, index: Expr) -> None:
        below = known_difference(index, self.low)
        if below is None:
            self.low = Min(self.low, index)
        elif below < 0:
            self.low = index
        above = known_difference(index, self.high)
        if above is None:
            self.high = Max(self.high, index)
        elif above > 0:
            self.high = index

    def range(self) -> Range:
        size = known_difference(self.high, self.low)
        one = IntImm(self.low.dtype, 1)
        extent: Expr
        if size is None:
            extent = Sub(Add(self.high, one), self.low)
        else:
            extent = IntImm(self.low.dtype, size + 1)
        return Range.from_min_extent(self.low, extent)


def regions_of(accesses: Iterable[tuple[Var, tuple[Expr, ...]]]) -> list[BufferRegion]:
    """One box per buffer around the given accesses, in the order of the first access."""
    boxes: dict[int, tuple[Var, list[_Interval]]] = {}
    seen: dict[int, list[tuple[Expr, ...]]] = {}
    for buffer, indices in accesses:
        known = boxes.get(id(buffer))
        if known is None:
            boxes[id(buffer)] = (buffer, [_Interval(i) for i in indices])
            seen[id(buffer)] = [indices]
            continue
        if any(structural_equal(indices, old) for old in seen[id(buffer)]):
            continue
        seen[id(buffer)].append(indices)
        for interval, index in zip(known[1], indices, strict=True):
            interval.add(index)
    return [BufferRegion(buffer, [i.range() for i in dims]) for buffer, dims in boxes.values()]


def reads_of(values: Iterable[Expr]) -> list[BufferRegion]:
    """The boxes that the loads in `values` read."""
    loads = iter_nodes(tuple(values), BufferLoad)
    return regions_of((load.buffer, load.indices) for load in loads)


def whole_buffers(body: Any, known: Iterable[Var]) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """The known buffers that a statement reads and writes, each as a whole.

    A buffer that is passed on by address counts as both.
    """
    names = {id(b): b for b in known}
    loaded = {id(n.buffer) for n in iter_nodes(body, BufferLoad)}
    stored = {id(n.buffer) for n in iter_nodes(body, BufferStore)}
    mentioned = {id(v) for v in iter_nodes(body, Var)}
    passed = mentioned - loaded - stored
    reads = [b for k, b in names.items() if k in loaded or k in passed]
    writes = [b for k, b in names.items() if k in stored or k in passed]
    return [BufferRegion.full(b) for b in reads], [BufferRegion.full(b) for b in writes]
