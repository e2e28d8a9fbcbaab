"""LoopPartition: a loop is cut where a condition starts or ceases to hold for all its turns."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import nullcontext
from typing import Any

from workbench.arith import Analyzer
from workbench.core.traverse import iter_nodes, rewrite, substitute
from workbench.ir.expr import Call, Expr, IntImm, Op, Range, Var
from workbench.ir.span import made_from
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.analysis.side_effect import is_pure, jumps_out, uses_var
from workbench.tirx.expr import GE, GT, LE, LT, Add, Mul, Sub
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Evaluate, For, ForKind, IfThenElse, SBlock, SeqStmt, Stmt, While
from workbench.tirx.transform.fold import substitute_fold
from workbench.tirx.transform.stmt_simplify import conjuncts, simplify_body

#: Bodies of more nodes than this are not copied.
MAX_NODES = 6000
_LIKELY = Op.get("tirx.likely")


@define_pass("s_tir.LoopPartition", level="function", on=PrimFunc)
def LoopPartition(
    func: PrimFunc,
    ctx: PassContext,
    *,
    partition_const_loop: bool = True,
    no_unroll_loop_with_extent_one: bool = False,
    unroll_loop_with_partition_hint_no_interval: bool = False,
) -> PrimFunc:
    """Cuts loops so that `likely` conditions need no test in the main part.

    Before: `for i in range(7): for j in range(16): if T.likely(i * 16 + j < 100): …`
    After: `for i in range(6): for j in range(16): …` and, for `i = 6`, `for j in range(4): …`
    """
    if not any(n.op is _LIKELY for n in iter_nodes(func.body, Call)):
        return func
    run = _Partition(partition_const_loop)
    body = rewrite(func.body, {For: run.loop}, memo=False)
    cut = body is not func.body
    new = func.with_body(_strip_likely(body))
    return simplify_body(new) if cut else new


def _strip_likely(stmt: Stmt) -> Stmt:
    return rewrite(stmt, {Call: lambda n: n.args[0] if n.op is _LIKELY else n})


class _Partition:
    """A walk from the outermost loop inwards."""

    def __init__(self, constant_loops: bool) -> None:
        self.analyzer = Analyzer()
        self.constant_loops = constant_loops
        #: Margins of conditions by `id`; the conditions are kept alive with them.
        self.margins: dict[int, tuple[Any, Any]] = {}

    def loop(self, node: For) -> Generator[Any, Any, Any]:
        self.analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), True)
        pieces = self.pieces(node)
        if pieces is None:
            body = yield node.body
            return node.replace(body=body)
        out: list[Stmt] = []
        for piece in pieces:
            self.analyzer.bind(piece.loop_var, Range.from_min_extent(piece.min, piece.extent), True)
            body = yield piece.body
            out.append(self.finished(piece.replace(body=body)))
        return SeqStmt.flatten(out)

    def finished(self, piece: For) -> Stmt:
        """A piece of one turn needs no loop; every other piece starts at 0."""
        if isinstance(piece.extent, IntImm) and piece.extent.value == 1:
            return substitute_fold(piece.body, {piece.loop_var: piece.min})
        if isinstance(piece.min, IntImm) and piece.min.value == 0:
            return piece
        body = substitute(piece.body, {piece.loop_var: op.add(piece.loop_var, piece.min)})
        return piece.replace(min=IntImm(piece.loop_var.dtype, 0), body=body)

    def pieces(self, loop: For) -> list[For] | None:
        """The parts of a loop, or None to leave it."""
        if loop.kind is ForKind.THREAD_BINDING or loop.step is not None or jumps_out(loop.body):
            return None
        if not self.constant_loops and isinstance(loop.extent, IntImm):
            return None
        conditions, inner = _likely_conditions(loop)
        if not conditions or sum(1 for _ in iter_nodes(loop.body, once=False)) > MAX_NODES:
            return None
        first: Any = loop.min
        last: Any = op.add(loop.min, loop.extent)
        begin, end = first, last
        decided: list[Any] = []
        exact = True
        for condition in conditions:
            found = self.interval(loop, condition, inner)
            if found is None:
                continue
            low, high, sharp = found
            exact = exact and sharp
            begin = begin if low is None else op.maximum(begin, low)
            end = end if high is None else op.minimum(end, high)
            decided.append(condition)
        if not decided:
            return None
        parts = self.parts(loop, None if begin is first else begin, end, last)
        if parts is None:
            return None
        # Outside the interval of a single condition that no inner loop takes part in, it is false.
        return self.copies(loop, parts, decided, exact and len(decided) == 1)

    def parts(
        self, loop: For, begin: Any, end: Any, last: Any
    ) -> list[tuple[Any, Any, bool]] | None:
        """(start, extent, whether the conditions hold) of up to three pieces; None: no main one.

        `begin` is None if the conditions hold from the start.
        """
        first, zero = loop.min, IntImm(loop.min.dtype, 0)
        fixed = loop.kind in (ForKind.VECTORIZED, ForKind.UNROLLED)
        known = isinstance(loop.extent, IntImm)
        scope = nullcontext() if known else self.analyzer.constraint_scope(loop.extent > 0)
        simplify = self.analyzer.simplify
        with scope:
            start = first if begin is None else simplify(op.minimum(begin, last))
            length = simplify(op.maximum(op.subtract(op.maximum(end, first), start), zero))
            constant = isinstance(length, IntImm)
            if (constant and length.value <= 0) or (fixed and not constant):
                return None  # an unrolled or vectorised loop has to keep a constant extent
            before = zero if begin is None else simplify(op.subtract(start, first))
            after = simplify(op.add(start, length))
            rest = simplify(op.subtract(last, after))
        if fixed and not (isinstance(before, IntImm) and isinstance(rest, IntImm)):
            return None
        return [(first, before, False), (start, length, True), (after, rest, False)]

    def copies(self, loop: For, parts: list[Any], decided: list[Any], exact: bool) -> list[For]:
        out: list[For] = []
        for low, extent, main in parts:
            if isinstance(extent, IntImm) and extent.value <= 0:
                continue
            var = Var(loop.loop_var.name, loop.loop_var.ty)
            body = loop.body
            if main or exact:
                body = _without(loop.body, decided, main)
            body = substitute_fold(body, {loop.loop_var: var}, renew=bool(out))
            kind = loop.kind
            if not main and kind is ForKind.PARALLEL and isinstance(extent, IntImm):
                kind = ForKind.SERIAL if extent.value == 1 else kind
            span = loop.span or made_from(loop)
            out.append(
                loop.replace(loop_var=var, min=low, extent=extent, body=body, kind=kind, span=span)
            )
        return out

    def interval(
        self, loop: For, condition: Any, inner: dict[int, For]
    ) -> tuple[Expr | None, Expr | None, bool] | None:
        """[low, high) of the loop variable where the condition holds in all inner turns.

        The last part tells whether it holds nowhere else.
        """
        simplify = self.analyzer.simplify
        found = self.margins.get(id(condition))
        if found is None:
            margin = _margin(condition)
            found = (condition, None if margin is None else simplify(margin))
            self.margins[id(condition)] = found
        gap = found[1]
        if gap is None:
            return None
        var = loop.loop_var
        known = {id(var), *inner}
        terms = linear_terms(gap, known)
        if terms is None:
            return None
        slopes, rest = terms
        _, slope = slopes.pop(id(var), (var, 0))
        if slope == 0:
            return None
        for key, (_, step) in slopes.items():
            owner = inner[key]
            worst: Any = owner.min
            if step < 0:
                worst = op.subtract(op.add(owner.min, owner.extent), IntImm(owner.min.dtype, 1))
            if any(id(v) in known for v in iter_nodes(worst, Var)):
                return None
            rest = op.add(rest, op.multiply(op.cast(rest.dtype, worst), step))
        rest = simplify(rest)
        # slope * var + rest >= 0
        if slope > 0:
            return op.ceildiv(op.multiply(rest, -1), IntImm(var.dtype, slope)), None, not slopes
        high = op.add(op.floordiv(rest, IntImm(var.dtype, -slope)), 1)
        return None, high, not slopes


def _margin(condition: Any) -> Expr | None:
    """An expression that is not negative exactly where an integer comparison holds."""
    cls = type(condition)
    if cls not in (LT, LE, GT, GE) or not condition.a.dtype.is_int:
        return None
    a, b = condition.a, condition.b
    if cls in (GT, GE):
        a, b = b, a
    gap = op.subtract(b, a)
    return op.subtract(gap, IntImm(gap.dtype, 1)) if cls in (LT, GT) else gap


def linear_terms(expr: Any, known: set[int]) -> tuple[dict[int, tuple[Var, int]], Any] | None:
    """An expression as a sum: factors of the known variables (by `id`), and all the rest.

    None if a known variable occurs in anything but a constant multiple of itself.
    """
    slopes: dict[int, tuple[Var, int]] = {}
    rest: Any = IntImm(expr.dtype, 0)
    stack: list[tuple[Any, int]] = [(expr, 1)]
    while stack:
        node, factor = stack.pop()
        if isinstance(node, (Add, Sub)):
            stack.append((node.a, factor))
            stack.append((node.b, factor if isinstance(node, Add) else -factor))
        elif isinstance(node, Mul) and isinstance(node.b, IntImm):
            stack.append((node.a, factor * node.b.value))
        elif isinstance(node, Mul) and isinstance(node.a, IntImm):
            stack.append((node.b, factor * node.a.value))
        elif isinstance(node, Var) and id(node) in known:
            _, old = slopes.get(id(node), (node, 0))
            slopes[id(node)] = (node, old + factor)
        elif any(id(v) in known for v in iter_nodes(node, Var)):
            return None
        else:
            rest = op.add(rest, op.multiply(node, IntImm(node.dtype, factor)))
    return slopes, rest


def _likely_conditions(loop: For) -> tuple[list[Any], dict[int, For]]:
    """The marked conditions below a loop that use its variable, and the loops inside."""
    inner: dict[int, For] = {}
    found: list[Any] = []
    stack: list[Any] = [loop.body]
    while stack:
        node = stack.pop()
        if isinstance(node, For):
            inner[id(node.loop_var)] = node
        if isinstance(node, (SBlock, While)):
            continue
        if isinstance(node, IfThenElse):
            test = node.condition
            if isinstance(test, Call) and test.op is _LIKELY and is_pure(test):
                found += [c for c in conjuncts(test.args[0]) if uses_var(c, loop.loop_var)]
        stack.extend(c for c in node.children() if isinstance(c, Stmt))
    return found, inner


def _without(body: Stmt, decided: list[Any], holds: bool) -> Stmt:
    """The body with conditions taken for true (or all of them for false)."""
    known = {id(c) for c in decided}

    def condition(node: IfThenElse) -> Generator[Any, Any, Any]:
        then = yield node.then_case
        other = node.else_case
        if other is not None:
            other = yield node.else_case
        test = node.condition
        if isinstance(test, Call) and test.op is _LIKELY:
            parts = conjuncts(test.args[0])
            left = [c for c in parts if id(c) not in known]
            if len(left) < len(parts):
                if not holds:
                    return Evaluate(IntImm("int32", 0)) if other is None else other
                if not left:
                    return then
                return node.replace(
                    condition=op.likely(op.all(*left)), then_case=then, else_case=other
                )
        return node.replace(then_case=then, else_case=other)

    return rewrite(body, {IfThenElse: condition}, memo=False)
