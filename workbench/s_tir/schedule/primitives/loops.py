"""Loops: split, fuse, reorder, add_unit_loop.

for i in range(128):          split(i, [None, 16])     for i_0 in range(8):
    …                                 →                    for i_1 in range(16):
                                                               … i_0 * 16 + i_1 …
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from workbench.arith import Analyzer
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.s_tir.analysis.blocks import (
    REDUCTION,
    SPATIAL,
    affine_reason,
    loop_ranges,
    loops_around,
    uncovered_reason,
    vars_of,
)
from workbench.s_tir.sblock_scope import Entry
from workbench.s_tir.schedule.base import ScheduleBase
from workbench.s_tir.schedule.error import ScheduleError
from workbench.s_tir.schedule.instruction import primitive
from workbench.s_tir.schedule.moves import Move
from workbench.s_tir.schedule.primitives.rebinding import Rebinding
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV
from workbench.s_tir.schedule.state import ScheduleState, replace_stmts
from workbench.tirx.expr import LT
from workbench.tirx.stmt import For, ForKind, Stmt


def _zero(like: Expr) -> IntImm:
    return IntImm(like.dtype, 0)


def check_plain(entry: Entry) -> None:
    """A loop without annotation and thread binding that starts at 0."""
    loop: For = entry.stmt
    if loop.annotations:
        raise ScheduleError(
            f"{entry.label} has the annotation {', '.join(map(repr, loop.annotations))}",
            nodes=[loop],
            hint="unannotate it first, and annotate the result",
        )
    if loop.thread_binding is not None:
        raise ScheduleError(
            f"{entry.label} is bound to {loop.thread_binding.thread_tag}",
            nodes=[loop],
            hint="bind after splitting and fusing",
        )
    if not (isinstance(loop.min, IntImm) and loop.min.value == 0):
        raise ScheduleError(f"{entry.label} does not start at 0 but at {loop.min}", nodes=[loop])


def nest(loops: Iterable[For], body: Stmt) -> Stmt:
    """Loops (their bodies are ignored) around a body, outermost first."""
    for loop in reversed(list(loops)):
        body = loop.replace(body=body)
    return body


# Suggestions for the menu of legal moves


def _split_moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    extent = entry.stmt.extent
    sizes = [64, 16, 8, 4]
    if isinstance(extent, IntImm):
        sizes = [s for s in sizes if s < extent.value and extent.value % s == 0][:2] or [4]
    else:
        sizes = [16]
    for size in sizes:
        yield Move({"loop": rv, "factors": [None, size]}, f"split in tiles of {size}")


def _fuse_moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    state: ScheduleState = sch.state
    children = [state.entry(c) for c in entry.children]
    if len(children) == 1 and not children[0].is_block:
        inner = sch.new_loop(children[0].key)
        yield Move({"loops": (rv, inner)}, f"fuse with the inner loop {children[0].name!r}")
    elif children:
        below = [c for c in children if not c.is_block]
        if below:
            inner = sch.new_loop(below[0].key)
            yield Move({"loops": (rv, inner)}, f"fuse with the inner loop {below[0].name!r}")


def _reorder_moves(sch: Any, entry: Entry, rv: Any) -> Iterable[Move]:
    state: ScheduleState = sch.state
    for child in entry.children:
        other = state.entry(child)
        if not other.is_block:
            inner = sch.new_loop(child)
            yield Move({"ordered_loops": (inner, rv)}, f"move inside the loop {other.name!r}")
            return


def _key(loop: Entry) -> int:
    return id(loop.stmt.loop_var)


def _single(loop: Entry) -> bool:
    extent = loop.stmt.extent
    return isinstance(extent, IntImm) and extent.value == 1


def _typed(value: Expr, loop: Entry) -> Expr:
    """A value for a loop's variable in its data type (loops of different types can be fused)."""
    dtype = loop.stmt.loop_var.dtype
    return value if value.dtype == dtype else value.astype(dtype)


class LoopPrimitives(ScheduleBase):
    """split, fuse, reorder, add_unit_loop."""

    def loop_entry(self, loop: LoopRV) -> Entry:
        """Where a loop is."""
        return self.entry_of(loop)

    @primitive(
        "Split",
        flatten="factors",
        attrs=("preserve_unit_iters", "disable_predication"),
        moves=_split_moves,
    )
    def split(
        self,
        loop: LoopRV,
        factors: Sequence[int | Expr | None],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Splits a loop into nested loops of the given extents, outermost first.

        Parameters
        ----------
        factors : extents; one may be None and is then what is needed. If their product is more
            than the extent, blocks below get a predicate.
        preserve_unit_iters : whether loops of one iteration stay visible in the bindings.
        disable_predication : no predicate; the program must tolerate the additional iterations.
        """
        entry = self.entry_of(loop)
        check_plain(entry)
        old: For = entry.stmt
        sizes = self._factors(entry, factors)
        analyzer = Analyzer()
        for e in loops_around(self.state, entry.key):
            analyzer.bind(e.stmt.loop_var, Range(e.stmt.extent))
        variables = [Var(f"{old.loop_var.name}_{k}", old.loop_var.ty) for k in range(len(sizes))]
        value: Any = variables[0]
        for var, size in zip(variables[1:], sizes[1:], strict=True):
            value = value * size + var
        for var, size in zip(variables, sizes, strict=True):
            analyzer.bind(var, Range(size))
        if len(sizes) == 1:
            value = variables[0]
        terms: list[Expr] = []
        if not disable_predication and not analyzer.can_prove(value < old.extent):
            terms = [LT(value, old.extent)]
        self._replace_loops(
            entry,
            old.body,
            variables,
            sizes,
            {old.loop_var: value},
            terms,
            preserve_unit_iters,
        )
        return [self.new_loop(v) for v in variables]

    def _factors(self, entry: Entry, factors: Sequence[Any]) -> list[Expr]:
        """The extents of the new loops as expressions of the loop's type."""
        loop: For = entry.stmt
        sizes: list[Any] = []
        missing: int | None = None
        product: Any = IntImm(loop.extent.dtype, 1)
        for place, factor in enumerate(factors):
            if factor is None:
                if missing is not None:
                    raise ScheduleError(
                        f"factors: at most one may be None, found two (at {missing} and {place})",
                        nodes=[loop],
                    )
                missing = place
                sizes.append(None)
                continue
            size = self._size(factor, loop)
            if isinstance(size, IntImm) and size.value <= 0:
                raise ScheduleError(
                    f"factors: expected positive numbers, found {size.value} at {place}",
                    nodes=[loop],
                )
            sizes.append(size)
            product = product * size
        analyzer = Analyzer()
        if missing is not None:
            sizes[missing] = analyzer.simplify((loop.extent + (product - 1)) // product)
            return sizes
        product = analyzer.simplify(product)
        if not sizes or analyzer.can_prove(product < loop.extent):
            raise ScheduleError(
                f"the product of the factors is {product if sizes else 'missing'}, but "
                f"{entry.label} has {loop.extent} iterations",
                nodes=[loop],
                hint="give None for one factor: it becomes what is needed",
            )
        return sizes

    def _size(self, factor: Any, loop: For) -> Any:
        if isinstance(factor, Expr) and not isinstance(factor, IntImm):
            used = vars_of(factor)
            if any(id(v) in used for v in self._symbols if isinstance(v, Var)):
                factor = self.int_of(factor)
            else:
                return factor.astype(loop.extent.dtype)
        return IntImm(loop.extent.dtype, self.int_of(factor))

    def _replace_loops(
        self,
        entry: Entry,
        body: Stmt,
        variables: Sequence[Var],
        sizes: Sequence[Expr],
        mapping: Mapping[Var, Expr],
        terms: Sequence[Expr],
        keep_unit: bool,
    ) -> None:
        ranges = loop_ranges(self.state.loops_above(entry.key))
        for var, size in zip(variables, sizes, strict=True):
            ranges[var] = Range(size)
        run = Rebinding(mapping, terms, ranges, keep_unit)
        body = run.run(body)
        for var, size in zip(reversed(variables), reversed(sizes), strict=True):
            body = For(var, _zero(size), size, ForKind.SERIAL, body, span=entry.stmt.span)
        self.state.replace(entry.key, body, run.reuse)

    @primitive("Fuse", attrs=("preserve_unit_iters",), moves=_fuse_moves)
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuses directly nested loops, outermost first, into one.

        for i in range(4):                    for i_j_fused in range(32):
            for j in range(8):        →           … i_j_fused // 8 … i_j_fused % 8 …
        """
        if not loops:
            raise ScheduleError("expected at least one loop, found none")
        entries = [self.entry_of(rv) for rv in loops]
        for entry in entries:
            check_plain(entry)
        for outer, inner in pairwise(entries):
            self._check_directly_inside(outer, inner)
        extents = [e.stmt.extent for e in entries]
        product: Any = extents[0]
        for extent in extents[1:]:
            product = product * extent
        product = Analyzer().simplify(product)
        fused = Var("_".join(e.name for e in entries) + "_fused", product.dtype)
        mapping: dict[Var, Expr] = {}
        left: Any = fused
        for entry in reversed(entries[1:]):
            extent = entry.stmt.extent
            mapping[entry.stmt.loop_var] = _typed(left % extent, entry)
            left = left // extent
        mapping[entries[0].stmt.loop_var] = _typed(left, entries[0])
        self._replace_loops(
            entries[0],
            entries[-1].stmt.body,
            [fused],
            [product],
            mapping,
            (),
            preserve_unit_iters,
        )
        return self.new_loop(fused)

    def _check_directly_inside(self, outer: Entry, inner: Entry) -> None:
        if inner.parent is not outer.key:
            raise ScheduleError(
                f"{inner.label} is not directly inside {outer.label}",
                nodes=[outer.stmt, inner.stmt],
                hint="reorder the loops so that they are next to each other, outermost first",
            )
        if inner.trail:
            others = [c for c in outer.children if c is not inner.key]
            names = ", ".join(self.state.entry(c).label for c in others)
            raise ScheduleError(
                f"{outer.label} contains more than {inner.label}" + (f": {names}" if names else ""),
                nodes=[outer.stmt, inner.stmt],
            )
        if id(outer.stmt.loop_var) in vars_of((inner.stmt.min, inner.stmt.extent)):
            raise ScheduleError(
                f"the extent of {inner.label} depends on {outer.label}: {inner.stmt.extent}",
                nodes=[outer.stmt, inner.stmt],
            )

    @primitive("Reorder", moves=_reorder_moves)
    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Puts loops of one nest into the given order; the other loops keep their places.

        The loops must lie on one line (each inside the one before, nothing beside them), and the
        blocks inside must tolerate it: data-parallel or reduction variables with quasi-affine
        bindings.
        """
        if not ordered_loops:
            raise ScheduleError("expected at least one loop, found none")
        entries = [self.entry_of(rv) for rv in ordered_loops]
        keys = [e.key for e in entries]
        for place, entry in enumerate(entries):
            if any(entry.key is k for k in keys[:place]):
                raise ScheduleError(f"{entry.label} is given twice", nodes=[entry.stmt])
        chain = self._chain(entries)
        order = iter(entries)
        chosen = {id(e.key) for e in entries}
        target = [next(order) if id(e.key) in chosen else e for e in chain]
        self._check_dependent_extents(target)
        self._check_blocks_reorder(chain, target)
        self._check_repetition(chain, target)
        body = nest([e.stmt for e in target], chain[-1].stmt.body)
        self.state.replace(chain[0].key, body)

    def _chain(self, entries: Sequence[Entry]) -> list[Entry]:
        """All loops from the outermost to the innermost of `entries`; they must form a line."""
        bottom = max(entries, key=lambda e: e.depth)
        top = min(entries, key=lambda e: e.depth)
        chain = [bottom]
        while chain[-1] is not top:
            parent = chain[-1].parent
            above = self.state.entry(parent) if parent is not None else None
            if above is None or above.is_block or above.depth < top.depth:
                break
            chain.append(above)
        chain.reverse()
        keys = [e.key for e in chain]
        missing = [e for e in entries if not any(e.key is k for k in keys)]
        if missing:
            raise ScheduleError(
                f"the loops are not nested in one another: {missing[0].label} does not lie "
                f"between {chain[0].label} and {bottom.label}",
                nodes=[missing[0].stmt, chain[0].stmt],
                hint="reorder works on the loops of one nest; compute_at brings nests together",
            )
        for outer, inner in pairwise(chain):
            if inner.trail:
                others = [self.state.entry(c) for c in outer.children if c is not inner.key]
                raise ScheduleError(
                    f"{outer.label} contains more than {inner.label}: "
                    f"{', '.join(o.label for o in others) or 'other statements'}",
                    nodes=[outer.stmt, *(o.stmt for o in others)],
                    hint="loops can only change places when nothing else is between them",
                )
        return chain

    def _check_repetition(self, chain: Sequence[Entry], target: Sequence[Entry]) -> None:
        """A loop that repeats a reduction as a whole does not come inside of the reduction."""
        for block in self.state.blocks_below(chain[-1].key):
            used: set[int] = set()
            driving: set[int] = set()
            for var, value in zip(block.stmt.iter_vars, block.realize.iter_values, strict=True):
                used |= vars_of(value)
                if var.iter_type == REDUCTION:
                    driving |= vars_of(value)

            def inside(
                order: Sequence[Entry], used: set[int] = used, driving: set[int] = driving
            ) -> list[Entry]:
                first = next((n for n, e in enumerate(order) if _key(e) in driving), len(order))
                return [e for e in order[first:] if _key(e) not in used and not _single(e)]

            before = {_key(e) for e in inside(chain)}
            for loop in inside(target):
                if _key(loop) not in before:
                    raise ScheduleError(
                        f"{loop.label} repeats {block.label} as a whole: inside of the reduction "
                        "it would accumulate the same elements again and again",
                        nodes=[loop.stmt, block.stmt],
                        hint=f"leave {loop.label} outside of the loops of the reduction",
                    )

    def _check_dependent_extents(self, target: Sequence[Entry]) -> None:
        for place, entry in enumerate(target):
            used = vars_of((entry.stmt.min, entry.stmt.extent))
            for inner in target[place + 1 :]:
                if id(inner.stmt.loop_var) in used:
                    raise ScheduleError(
                        f"the extent of {entry.label} depends on {inner.label}, which would come "
                        "inside it",
                        nodes=[entry.stmt, inner.stmt],
                    )

    def _check_blocks_reorder(self, chain: Sequence[Entry], target: Sequence[Entry]) -> None:
        below = self.state.blocks_below(chain[0].key)
        for block in below:
            for iter_var in block.stmt.iter_vars:
                if iter_var.iter_type not in (SPATIAL, REDUCTION):
                    raise ScheduleError(
                        f"{block.label} has the variable {iter_var.var.name!r}, which is neither "
                        "data-parallel nor a reduction",
                        nodes=[block.stmt],
                    )
            if self.state.enable_check:
                reason = affine_reason(self.state, block)
                if not reason and len(below) > 1:
                    reason = uncovered_reason(self.state, block)
                if not reason:
                    reason = _order_reason(block, chain, target)
                if reason:
                    raise ScheduleError(reason, nodes=[block.stmt, *(e.stmt for e in chain)])

    @primitive("AddUnitLoop")
    def add_unit_loop(self, block_or_loop: SBlockRV | LoopRV) -> LoopRV:
        """Puts a loop of one iteration around a block or loop."""
        entry = self.entry_of(block_or_loop)
        var = Var("u", "int32")
        stmt: Stmt = entry.stmt
        if entry.is_block:
            if entry.parent is None:
                raise ScheduleError(f"{entry.label} is the root of its function", nodes=[stmt])
            self._wrap_realize(entry, var)
        else:
            self.state.replace(entry.key, _unit(var, stmt))
        return self.new_loop(var)

    def _wrap_realize(self, entry: Entry, var: Var) -> None:
        assert entry.parent is not None
        above = self.state.entry(entry.parent)
        body = replace_stmts(above.stmt.body, {id(entry.realize): _unit(var, entry.realize)})
        assert body is not None
        self.state.replace(above.key, above.stmt.replace(body=body))


def _unit(var: Var, body: Stmt) -> For:
    return For(var, IntImm("int32", 0), IntImm("int32", 1), ForKind.SERIAL, body)


def _order_reason(block: Entry, chain: Sequence[Entry], target: Sequence[Entry]) -> str:
    """Why the init of a reduction would no longer come first in another loop order.

    A loop that drives both a data-parallel and a reduction variable (a fused one) must keep its
    place among the loops that drive reduction variables.
    """
    if block.stmt.init is None:
        return ""
    reduces: set[int] = set()
    spatial: set[int] = set()
    for iter_var, value in zip(block.stmt.iter_vars, block.realize.iter_values, strict=True):
        (reduces if iter_var.iter_type == REDUCTION else spatial).update(vars_of(value))
    mixed = reduces & spatial
    if not mixed:
        return ""
    before = [e.key for e in chain if id(e.stmt.loop_var) in reduces]
    after = [e.key for e in target if id(e.stmt.loop_var) in reduces]
    if all(a is b for a, b in zip(before, after, strict=True)):
        return ""
    names = [e.name for e in chain if id(e.stmt.loop_var) in mixed]
    return (
        f"the loop {names[0]!r} drives both data-parallel and reduction variables of {block.label}:"
        " in another order the reduction would not start with its init"
        if names
        else f"a loop around {block.label} drives both kinds of its variables"
    )
