"""Random programs in te and random schedules of them (hypothesis strategies).

A program is a small graph of computations on int32 tensors: element-wise, broadcast, transposed,
padded, windowed, reduced, contracted. `apply_random_primitives` applies primitives with random
arguments; what a primitive refuses is skipped. The result must compute the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from workbench import te
from workbench.core.traverse import rewrite, substitute
from workbench.ir.expr import IntImm
from workbench.s_tir.schedule import LoopRV, SBlockRV, Schedule, ScheduleError
from workbench.tirx import op as T
from workbench.tirx.function import PrimFunc
from workbench.tirx.interpreter import interpret
from workbench.tirx.stmt import For, ForKind

Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass
class Stages:
    """The tensors made so far."""

    draw: Draw
    inputs: list[Any]
    tensors: list[Any]
    count: int = 0

    def pick(self) -> Any:
        """Some earlier tensor, the last one more often."""
        if self.draw(st.booleans()):
            return self.tensors[-1]
        return self.draw(st.sampled_from(self.tensors))

    def name(self) -> str:
        """A fresh name."""
        self.count += 1
        return f"S{self.count}"

    def extents(self, tensor: Any) -> list[int]:
        """The shape in numbers."""
        return [int(d) for d in tensor.shape]


def _unary(s: Stages) -> Any:
    a = s.pick()
    scale, shift = s.draw(st.integers(-3, 3)), s.draw(st.integers(-3, 3))
    return te.compute(a.shape, lambda *i: a(*i) * scale + shift, name=s.name())


def _binary(s: Stages) -> Any:
    a = s.pick()
    same = [t for t in s.tensors if s.extents(t) == s.extents(a)]
    b = s.draw(st.sampled_from(same))
    kind = s.draw(st.sampled_from(["add", "max", "sub"]))
    function = {"add": lambda x, y: x + y, "max": T.maximum, "sub": lambda x, y: x - y}[kind]
    return te.compute(a.shape, lambda *i: function(a(*i), b(*i)), name=s.name())


def _transpose(s: Stages) -> Any:
    a = s.pick()
    return te.compute(tuple(reversed(a.shape)), lambda *i: a(*reversed(i)) + 1, name=s.name())


def _broadcast(s: Stages) -> Any:
    a = s.pick()
    extent = s.draw(st.integers(1, 6))
    return te.compute((*a.shape, extent), lambda *i: a(*i[:-1]) + i[-1], name=s.name())


def _reduce(s: Stages) -> Any:
    a = s.pick()
    extents = s.extents(a)
    place = s.draw(st.integers(0, len(extents) - 1))
    k = te.reduce_axis((0, extents[place]), name="k")
    rest = extents[:place] + extents[place + 1 :] or [1]
    combine = s.draw(st.sampled_from([te.sum, te.max]))
    one = len(extents) == 1

    def body(*i: Any) -> Any:
        at = [k.var] if one else [*i[:place], k.var, *i[place:]]
        return combine(a(*at), axis=k)

    return te.compute(tuple(rest), body, name=s.name())


def _contract(s: Stages) -> Any:
    a = s.pick()
    extents = s.extents(a)
    n = s.draw(st.integers(1, 6))
    b = te.placeholder((extents[-1], n), "int32", name=f"W{len(s.inputs)}")
    s.inputs.append(b)
    k = te.reduce_axis((0, extents[-1]), name="k")
    return te.compute(
        (*extents[:-1], n),
        lambda *i: te.sum(a(*i[:-1], k.var) * b(k.var, i[-1]), axis=k),
        name=s.name(),
    )


def _pad(s: Stages) -> Any:
    a = s.pick()
    n = s.extents(a)[-1]
    return te.compute(
        (*a.shape[:-1], n + 2),
        lambda *i: T.if_then_else(
            T.all(i[-1] >= 1, i[-1] < n + 1), a(*i[:-1], i[-1] - 1), T.const(0, "int32")
        ),
        name=s.name(),
    )


def _window(s: Stages) -> Any:
    a = s.pick()
    n = s.extents(a)[-1]
    width = s.draw(st.integers(1, min(3, n)))
    stride = s.draw(st.integers(1, 2))
    k = te.reduce_axis((0, width), name="k")
    return te.compute(
        (*a.shape[:-1], (n - width) // stride + 1),
        lambda *i: te.sum(a(*i[:-1], i[-1] * stride + k.var), axis=k),
        name=s.name(),
    )


_KINDS = (_unary, _binary, _transpose, _broadcast, _reduce, _contract, _pad, _window)


@st.composite
def te_programs(draw: Draw, max_stages: int = 4) -> PrimFunc:
    """A function of int32 tensors with up to `max_stages` computations and one or two outputs."""
    rank = draw(st.integers(1, 2))
    shape = tuple(draw(st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12])) for _ in range(rank))
    first = te.placeholder(shape, "int32", name="A")
    stages = Stages(draw, [first], [first])
    for _ in range(draw(st.integers(1, max_stages))):
        made = draw(st.sampled_from(_KINDS))(stages)
        if int(np.prod(stages.extents(made))) <= 600 and len(made.shape) <= 3:
            stages.tensors.append(made)
    if len(stages.tensors) == 1:
        stages.tensors.append(_unary(stages))
    outputs = [stages.tensors[-1]]
    others = list(stages.tensors[1:-1])
    if others and draw(st.integers(0, 4)) == 0:
        outputs.insert(0, draw(st.sampled_from(others)))
    return te.create_prim_func([*stages.inputs, *outputs])


def arguments(func: PrimFunc, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Small random int32 arrays for the parameters."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-4, 5, [int(d) for d in p.shape]).astype("int32") for p in func.params]


# Schedules


class RandomScheduler:
    """Applies primitives with arguments drawn at random; remembers what was applied."""

    def __init__(self, sch: Schedule, draw: Draw) -> None:
        self.sch = sch
        self.draw = draw
        self.applied: list[str] = []
        self.refused = 0

    def step(self) -> None:
        """One primitive; a refusal changes nothing."""
        name = self.draw(st.sampled_from(sorted(_STEPS)))
        try:
            _STEPS[name](self)
            self.applied.append(name)
        except ScheduleError:
            self.refused += 1

    def block(self) -> SBlockRV:
        """Some block."""
        blocks = self.sch.get_child_blocks(self.sch.get_sblock("root"))
        return self.draw(st.sampled_from(blocks))

    def loops(self) -> list[LoopRV]:
        """The loops of some block; none raises ScheduleError."""
        loops = self.sch.get_loops(self.block())
        if not loops:
            raise ScheduleError("a block without loops")
        return loops

    def loop(self) -> LoopRV:
        """Some loop."""
        return self.draw(st.sampled_from(self.loops()))

    def split(self) -> None:
        """split with one unknown factor or none."""
        factors: list[int | None] = [
            self.draw(st.integers(1, 5)) for _ in range(self.draw(st.integers(1, 2)))
        ]
        factors.insert(self.draw(st.integers(0, len(factors))), None)
        self.sch.split(self.loop(), factors, preserve_unit_iters=self.draw(st.booleans()))

    def fuse(self) -> None:
        """fuse of neighbours."""
        loops = self.loops()
        start = self.draw(st.integers(0, len(loops) - 1))
        self.sch.fuse(*loops[start : start + self.draw(st.integers(1, 3))])

    def reorder(self) -> None:
        """reorder of some loops."""
        loops = self.loops()
        chosen = self.draw(st.permutations(loops))[: self.draw(st.integers(1, 4))]
        self.sch.reorder(*chosen)

    def kind(self) -> None:
        """parallel, vectorize or unroll."""
        getattr(self.sch, self.draw(st.sampled_from(["parallel", "vectorize", "unroll"])))(
            self.loop()
        )

    def compute_at(self) -> None:
        """compute_at or reverse_compute_at."""
        method = self.draw(st.sampled_from(["compute_at", "reverse_compute_at"]))
        getattr(self.sch, method)(
            self.block(),
            self.loop(),
            preserve_unit_loops=self.draw(st.booleans()),
            index=self.draw(st.sampled_from([-1, -1, -2])),
        )

    def inline(self) -> None:
        """compute_inline or reverse_compute_inline."""
        method = self.draw(st.sampled_from(["compute_inline", "reverse_compute_inline"]))
        getattr(self.sch, method)(self.block())

    def cache(self) -> None:
        """cache_read or cache_write."""
        if self.draw(st.booleans()):
            self.sch.cache_read(self.block(), self.draw(st.integers(0, 1)), "local")
        else:
            self.sch.cache_write(self.block(), 0, "global")

    def decompose(self) -> None:
        """decompose_reduction."""
        block = self.block()
        loops = self.sch.get_loops(block)
        if not loops:
            raise ScheduleError("a block without loops")
        self.sch.decompose_reduction(block, self.draw(st.sampled_from(loops)))

    def rfactor(self) -> None:
        """rfactor."""
        self.sch.rfactor(self.loop(), self.draw(st.integers(-1, 1)))

    def layout(self) -> None:
        """reindex, reorder_block_iter_var, set_scope, add_unit_loop."""
        block = self.block()
        which = self.draw(st.integers(0, 3))
        if which == 0:
            self.sch.reindex(block, (self.draw(st.sampled_from(["read", "write"])), 0))
        elif which == 1:
            count = len(self.sch.get(block).iter_vars)
            self.sch.reorder_block_iter_var(block, self.draw(st.permutations(range(count))))
        elif which == 2:
            self.sch.set_scope(block, 0, "local")
        else:
            self.sch.add_unit_loop(self.draw(st.sampled_from([block, self.loop()])))

    def sample(self) -> None:
        """sample_perfect_tile and a split by it."""
        loop = self.loop()
        factors = self.sch.sample_perfect_tile(loop, 2, 8)
        self.sch.split(loop, factors)


_STEPS: dict[str, Callable[[RandomScheduler], None]] = {
    "split": RandomScheduler.split,
    "fuse": RandomScheduler.fuse,
    "reorder": RandomScheduler.reorder,
    "kind": RandomScheduler.kind,
    "compute_at": RandomScheduler.compute_at,
    "inline": RandomScheduler.inline,
    "cache": RandomScheduler.cache,
    "decompose": RandomScheduler.decompose,
    "rfactor": RandomScheduler.rfactor,
    "layout": RandomScheduler.layout,
    "sample": RandomScheduler.sample,
}


def apply_random_primitives(sch: Schedule, draw: Draw, count: int) -> RandomScheduler:
    """Tries `count` random primitives on a schedule."""
    run = RandomScheduler(sch, draw)
    for _ in range(count):
        run.step()
    return run


def reversed_parallel(func: PrimFunc) -> PrimFunc:
    """The function with parallel and vector loops run backwards: the same, if they were legal."""

    def backwards(loop: For) -> For | None:
        if loop.kind not in (ForKind.PARALLEL, ForKind.VECTORIZED):
            return None
        last: Any = loop.extent - IntImm(loop.extent.dtype, 1)
        body = substitute(loop.body, {loop.loop_var: last - loop.loop_var})
        return loop.replace(kind=ForKind.SERIAL, body=body)

    return rewrite(func, {For: backwards})


def outputs_of(func: PrimFunc, original: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
    """What a function leaves in its arguments, interpreted on copies of the given ones."""
    copies = [a.copy() for a in original]
    interpret(func, *copies)
    return copies


def matmul(
    n: int = 128, m: int = 128, depth: int = 128, relu: bool = True, dtype: str = "float32"
) -> PrimFunc:
    """`D = max(A @ B, 0)` (or the product alone), with blocks `C` and `D`."""
    A = te.placeholder((n, depth), dtype, name="A")
    B = te.placeholder((depth, m), dtype, name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    if not relu:
        return te.create_prim_func([A, B, C])
    D = te.compute((n, m), lambda i, j: T.maximum(C[i, j], T.const(0, dtype)), name="D")
    return te.create_prim_func([A, B, D])
