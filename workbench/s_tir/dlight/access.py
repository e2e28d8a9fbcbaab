"""How a block walks through memory: the step of every access for every variable.

Extents that are not known at compile time get a number of their own, a prime, so that steps can be
compared; these numbers only steer the choice of a schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.arith import Analyzer
from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes, substitute
from workbench.ir.expr import Expr, IntImm, Var
from workbench.s_tir.analysis.linear import linear_form
from workbench.tirx.expr import BufferLoad, Cast
from workbench.tirx.stmt import BufferStore, SBlock

_BATCH = 2
_UNKNOWN = (61, 67, 71, 73, 79, 83, 89, 97)


class Hints:
    """Numbers in the place of extents unknown at compile time."""

    def __init__(self) -> None:
        self._values: dict[int, int] = {}
        self._kept: list[Var] = []

    def batch(self, buffers: Iterable[Var]) -> None:
        """Takes unknown batches for small: leading extents of three dimensions and more.

        A model that leaves its batch open mostly runs with one or a few items.
        """
        for buffer in buffers:
            shape = buffer.shape
            if len(shape) < 3 or not isinstance(shape[0], Var) or id(shape[0]) in self._values:
                continue
            if not any(v is shape[0] for extent in shape[1:] for v in iter_nodes(extent, Var)):
                self._values[id(shape[0])] = _BATCH
                self._kept.append(shape[0])

    def of(self, expr: Any) -> int:
        """A number for an extent."""
        if isinstance(expr, int):
            return expr
        if isinstance(expr, IntImm):
            return expr.value
        values: dict[Var, Expr] = {}
        for var in iter_nodes(expr, Var):
            if id(var) not in self._values:
                self._values[id(var)] = _UNKNOWN[len(self._kept) % len(_UNKNOWN)]
                self._kept.append(var)
            values[var] = IntImm(var.dtype, self._values[id(var)])
        found = Analyzer().simplify(substitute(expr, values))
        return found.value if isinstance(found, IntImm) else _UNKNOWN[0]


Terms = dict[int, int]


def linear(expr: Any) -> Terms | None:
    """Integer coefficients of the variables in an index, by identity; None if it is not linear."""
    form = linear_form(expr.value if isinstance(expr, Cast) else expr)
    return None if form is None else {k: c for k, (_, c) in form.terms.items()}


class Access:
    """One way in which a block accesses a buffer.

    `step(v)` is the distance in elements between neighbours in `v`; None in `steps` means that the
    indices are not linear.
    """

    def __init__(self, buffer: Var, indices: Sequence[Expr], hints: Hints, number: int) -> None:
        self.buffer = buffer
        self.indices = tuple(indices)
        self.number = number  # of the read region; -1 for the output
        self.elements = 1
        self.steps: Terms | None = {}
        stride = 1
        for index, extent in zip(reversed(self.indices), reversed(buffer.shape), strict=True):
            terms = linear(index)
            if terms is None or self.steps is None:
                self.steps = None
            else:
                for key, value in terms.items():
                    self.steps[key] = self.steps.get(key, 0) + value * stride
            stride *= hints.of(extent)
        self.elements = stride

    def step(self, var: Var) -> int:
        """Distance between neighbours in a variable; 0: it does not matter, -1: irregular."""
        return -1 if self.steps is None else self.steps.get(id(var), 0)


def accesses_of(block: SBlock, hints: Hints) -> tuple[list[Access], Access | None]:
    """The distinct loads of a block (but those of what it writes), and its store.

    The store is None if the block is more than one store.
    """
    store = block.body
    if not isinstance(store, BufferStore):
        return [], None
    numbers = {id(r.buffer): n for n, r in enumerate(block.reads)}
    seen: list[BufferLoad] = []
    for load in iter_nodes(store.value, BufferLoad, once=False):
        if load.buffer is store.buffer:
            continue
        if not any(_same(load, other) for other in seen):
            seen.append(load)
    reads = [Access(n.buffer, n.indices, hints, numbers.get(id(n.buffer), -1)) for n in seen]
    return reads, Access(store.buffer, store.indices, hints, -1)


def _same(a: BufferLoad, b: BufferLoad) -> bool:
    return a.buffer is b.buffer and structural_equal(a.indices, b.indices)


def total(extents: Mapping[Any, int] | Sequence[int]) -> int:
    """The product of extents."""
    out = 1
    for e in extents.values() if isinstance(extents, Mapping) else extents:
        out *= e
    return out
