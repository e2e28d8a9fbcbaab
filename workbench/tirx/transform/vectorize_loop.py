"""VectorizeLoop: loops of kind VECTORIZED become vector statements."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from workbench.arith import Analyzer
from workbench.core.dispatch import Dispatch
from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes, rewrite, substitute
from workbench.ir.expr import Expr, IntImm, Range, Var
from workbench.ir.span import made_from
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import expr as e
from workbench.tirx import op
from workbench.tirx import stmt as s
from workbench.tirx.analysis.side_effect import side_effect, uses_any
from workbench.tirx.buffer import BufferType
from workbench.tirx.function import PrimFunc
from workbench.tirx.op.intrin import CallEffectKind
from workbench.tirx.transform.convert_ssa import renew_definitions
from workbench.tirx.transform.stmt_simplify import conjuncts
from workbench.tirx.transform.vector_expr import (
    Scalarize,
    VectorExprs,
    _lane_index,
    _vector_last,
    is_splat,
    lanes_of,
)


@define_pass("tirx.VectorizeLoop", level="function", on=PrimFunc)
def VectorizeLoop(func: PrimFunc, ctx: PassContext, *, enable_vectorize: bool = True) -> PrimFunc:
    """Replaces vectorised loops by operations on vectors.

    Before: `for i in T.vectorized(4): B[j * 4 + i] = A[j * 4 + i] + x`
    After: `B[j * 4:j * 4 + 4] = A[j * 4:j * 4 + 4] + T.Broadcast(x, 4)`

    A condition on the lane becomes a mask of loads and stores. What has no vector form (calls with
    effects, inner loops whose bounds differ by lane) runs lane by lane.
    """
    if ctx.get("tirx.disable_vectorize", False):
        enable_vectorize = False
    analyzer = Analyzer()
    own: list[set[int]] = [set()]

    def loop(node: s.For) -> Generator[Any, Any, Any]:
        analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent), True)
        shared = node.kind in (s.ForKind.PARALLEL, s.ForKind.THREAD_BINDING)
        own.append(set() if shared else own[-1])
        new: s.For = yield node
        own.pop()
        if new.kind is not s.ForKind.VECTORIZED:
            return new
        if not enable_vectorize:
            return new.replace(kind=s.ForKind.SERIAL)
        return vectorized(new, analyzer, own[-1], func)

    def alloc(node: s.AllocBuffer) -> s.AllocBuffer:
        own[-1].add(id(node.buffer))
        return node

    return rewrite(func, {s.For: loop, s.AllocBuffer: alloc}, memo=False)


def vectorized(loop: s.For, analyzer: Analyzer, own: set[int], root: Any) -> s.Stmt:
    """The vector form of one loop. `own`: buffers (by `id`) that no other thread sees."""
    extent = loop.extent
    if not isinstance(extent, IntImm):
        raise WorkbenchError(
            f"loop {loop.loop_var.name} cannot be vectorised: its extent {extent} is not constant",
            nodes=(loop,),
            root=root,
            hint="split the loop and vectorise the inner one, which has a constant extent",
        )
    if extent.value <= 1:
        return substitute(loop.body, {loop.loop_var: loop.min})
    run = _Vectorizer(loop, analyzer, own)
    try:
        body = run.stmt(loop.body, None)
    except Scalarize:
        return loop.replace(kind=s.ForKind.SERIAL)
    return body if body.span is not None else body.replace(span=made_from(loop))


class _Vectorizer:
    """Statements of one vectorised loop."""

    def __init__(self, loop: s.For, analyzer: Analyzer, own: set[int]) -> None:
        assert isinstance(loop.extent, IntImm)
        self.loop = loop
        self.lanes = loop.extent.value
        self.own = own
        self.exprs = VectorExprs(loop.loop_var, loop.min, self.lanes, analyzer)
        #: Variables and buffers that exist once per lane: a lane-by-lane loop cannot see them.
        self.per_lane: set[int] = set()

    def stmt(self, node: s.Stmt, mask: Any) -> s.Stmt:
        """The vector form of a statement under a mask (None: all lanes)."""
        handler = _STMTS.find(type(node))
        if handler is None:
            raise Scalarize
        return handler(self, node, mask)

    def one_by_one(self, node: s.Stmt) -> s.Stmt:
        """A statement that runs for each lane in turn."""
        if uses_any(node, self.per_lane):
            raise Scalarize
        var = Var(self.loop.loop_var.name, self.loop.loop_var.ty)
        body = renew_definitions(substitute(node, {self.loop.loop_var: var}))
        return s.For(
            var,
            self.loop.min,
            self.loop.extent,
            s.ForKind.SERIAL,
            body,
            span=self.loop.span or made_from(self.loop),
        )

    def part(self, node: s.Stmt, mask: Any) -> s.Stmt:
        """A statement of a sequence: lane by lane if it must be and no mask is in force."""
        try:
            return self.stmt(node, mask)
        except Scalarize:
            if mask is not None:
                raise
            return self.one_by_one(node)


_STMTS: Dispatch = Dispatch("vectorise: statement")
_Handler = Callable[[_Vectorizer, Any, Any], s.Stmt]


@_STMTS.register(s.SeqStmt)
def _seq(run: _Vectorizer, node: s.SeqStmt, mask: Any) -> s.Stmt:
    return node.replace(seq=tuple(run.part(item, mask) for item in node.seq))


@_STMTS.register(s.BufferStore)
def _store(run: _Vectorizer, node: s.BufferStore, mask: Any) -> s.Stmt:
    if node.predicate is not None:
        raise Scalarize
    value = run.exprs(node.value, mask)
    indices = tuple(run.exprs(i, mask) for i in node.indices)
    private = run.exprs.private.get(id(node.buffer))
    if private is not None:
        index = _lane_index(indices[0], run.exprs)
        return s.BufferStore(private, run.exprs.wide(value), index, mask, span=node.span)
    if all(map(is_splat, indices)):
        own = any(n.buffer is node.buffer for n in iter_nodes(node.value, e.BufferLoad))
        if own or mask is not None or lanes_of(value) > 1:
            raise Scalarize
        return node.replace(value=value, indices=indices)
    indices = _vector_last(indices, run.exprs)
    wide_mask = None if mask is None else run.exprs.wide(mask)
    if mask is not None and id(node.buffer) in run.own:
        if run.exprs.inside(node.buffer, indices):
            # Memory of this thread: writing back what is there keeps it in registers.
            old = e.BufferLoad(node.buffer, indices)
            value = e.Select(wide_mask, run.exprs.wide(value), old)
            return s.BufferStore(node.buffer, value, indices, span=node.span)
    return s.BufferStore(node.buffer, run.exprs.wide(value), indices, wide_mask, span=node.span)


@_STMTS.register(s.IfThenElse)
def _if(run: _Vectorizer, node: s.IfThenElse, mask: Any) -> s.Stmt:
    condition = run.exprs(node.condition, mask)
    if lanes_of(condition) == 1:
        then = run.part(node.then_case, mask)
        other = None if node.else_case is None else run.part(node.else_case, mask)
        return node.replace(condition=condition, then_case=then, else_case=other)
    wide = run.exprs.wide
    parts = conjuncts(node.condition)
    same = [c for c in parts if lanes_of(run.exprs(c, mask)) == 1]
    if same and node.else_case is None:
        # What all lanes agree on is tested once.
        rest = op.all(*[c for c in parts if not any(c is other for other in same)])
        body = run.stmt(node.replace(condition=rest), mask)
        return s.IfThenElse(op.all(*[run.exprs(c, mask) for c in same]), body, span=node.span)
    yes: Expr = condition if mask is None else e.And(wide(mask), condition)
    then = run.stmt(node.then_case, yes)
    if node.else_case is None:
        return then
    no: Expr = e.Not(condition)
    if mask is not None:
        no = e.And(wide(mask), no)
    return s.SeqStmt.flatten(then, run.stmt(node.else_case, no))


@_STMTS.register(s.For)
def _for(run: _Vectorizer, node: s.For, mask: Any) -> s.Stmt:
    low, extent = run.exprs(node.min, mask), run.exprs(node.extent, mask)
    step = None if node.step is None else run.exprs(node.step, mask)
    if lanes_of(low) > 1 or lanes_of(extent) > 1 or (step is not None and lanes_of(step) > 1):
        raise Scalarize
    body = run.stmt(node.body, mask)
    return node.replace(min=low, extent=extent, step=step, body=body)


@_STMTS.register(s.Bind)
def _bind(run: _Vectorizer, node: s.Bind, mask: Any) -> s.Stmt:
    value = run.exprs(node.value, mask)
    if lanes_of(value) == 1:
        return node.replace(value=value)
    var = Var(node.var.name, value.ty)
    run.exprs.images[id(node.var)] = var
    run.exprs.keep.append(node.var)
    run.per_lane.add(id(node.var))
    return s.Bind(var, value, span=node.span)


@_STMTS.register(s.AllocBuffer)
def _alloc(run: _Vectorizer, node: s.AllocBuffer, mask: Any) -> s.Stmt:
    ty: BufferType = node.buffer.ty
    if len(ty.shape) != 1 or ty.dtype.lanes != 1 or ty.strides:
        raise Scalarize
    shape = (op.multiply(ty.shape[0], run.lanes),)
    new = Var(node.buffer.name, ty.replace(shape=shape))
    run.exprs.private[id(node.buffer)] = new
    run.exprs.keep.append(node.buffer)
    run.per_lane.add(id(node.buffer))
    return node.replace(buffer=new)


@_STMTS.register(s.AttrStmt)
def _attr(run: _Vectorizer, node: s.AttrStmt, mask: Any) -> s.Stmt:
    return node.replace(body=run.stmt(node.body, mask))


@_STMTS.register(s.Evaluate)
def _evaluate(run: _Vectorizer, node: s.Evaluate, mask: Any) -> s.Stmt:
    if side_effect(node.value) <= CallEffectKind.ReadState:
        return s.Evaluate(IntImm("int32", 0))
    raise Scalarize
