"""StmtSimplify: simplifies every expression by what is known where it stands."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.arith import Analyzer
from workbench.core.structural import structural_equal
from workbench.core.traverse import rewrite
from workbench.ir.expr import Call, Expr, IntImm, Op, Range, StringImm, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import op
from workbench.tirx.expr import And, BufferLoad, IterVar
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    Return,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
    While,
)

Rewriting = Generator[Any, Any, Any]


@define_pass("tirx.StmtSimplify", level="function", on=PrimFunc)
def StmtSimplify(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Simplifies expressions with the ranges of loops and the conditions that hold.

    Before: `for i in range(8): if i < 16: A[(i * 4 + 3) // 4 * 2] = x + 0`
    After: `for i in range(8): A[i * 2] = x`
    """
    return simplify_body(func)


def simplify_body(func: PrimFunc) -> PrimFunc:
    """The function with all its statements simplified."""
    return func.with_body(_Simplifier().run(func.body))


class _Simplifier:
    """One walk through a function; the analyzer knows the loops and conditions around."""

    def __init__(self) -> None:
        self.analyzer = Analyzer()
        self.inline: dict[int, Expr] = {}
        self.keep: list[Var] = []

    def run(self, stmt: Stmt) -> Stmt:
        """A statement with everything below simplified."""
        table = {
            For: self.loop,
            IfThenElse: self.condition,
            BufferStore: self.store,
            Bind: self.bind,
            Evaluate: self.value,
            Return: self.value,
            AssertStmt: self.assertion,
            While: self.repeat,
            AttrStmt: self.attribute,
            SeqStmt: self.sequence,
            SBlockRealize: self.realize,
            SBlock: self.block,
            AllocBuffer: self.declared,
            DeclBuffer: self.declared,
        }
        return rewrite(stmt, table, memo=False)

    def expr(self, value: Any) -> Any:
        """An expression simplified; variables bound to constants and variables are replaced."""
        if value is None or isinstance(value, (IntImm, StringImm)):
            return value
        if self.inline:
            value = rewrite(value, {Var: self._inlined})
        if isinstance(value, Var):
            return value
        return self.analyzer.simplify(value)

    def _inlined(self, var: Var) -> Any:
        return self.inline.get(id(var), var)

    def truth(self, value: Any) -> bool | None:
        """Whether a condition is known to hold, or known not to."""
        if isinstance(value, IntImm):
            return bool(value.value)
        return None

    def loop(self, node: For) -> Rewriting:
        low, extent = self.expr(node.min), self.expr(node.extent)
        self.analyzer.bind(node.loop_var, Range.from_min_extent(low, extent), True)
        if isinstance(extent, IntImm):
            body = yield node.body
        else:
            with self.analyzer.constraint_scope(extent > 0):
                body = yield node.body
        return node.replace(min=low, extent=extent, step=self.expr(node.step), body=body)

    def condition(self, node: IfThenElse) -> Rewriting:
        test = self.expr(node.condition)
        known = self.truth(test)
        if known is not None:
            if known:
                return (yield node.then_case)
            if node.else_case is None:
                return Evaluate(IntImm("int32", 0))
            return (yield node.else_case)
        with self.analyzer.constraint_scope(unmarked(test)):
            then = yield node.then_case
        other = node.else_case
        if other is not None:
            with self.analyzer.constraint_scope(op.logical_not(unmarked(test))):
                other = yield node.else_case
        return node.replace(condition=test, then_case=then, else_case=other)

    def store(self, node: BufferStore) -> Rewriting:
        value = self.expr(node.value)
        indices = tuple(map(self.expr, node.indices))
        unchanged = (
            type(value) is BufferLoad
            and value.buffer is node.buffer
            and node.predicate is None
            and structural_equal(value.indices, indices)
        )
        if unchanged:
            return Evaluate(IntImm("int32", 0))
        return node.replace(value=value, indices=indices, predicate=self.expr(node.predicate))
        yield

    def bind(self, node: Bind) -> Rewriting:
        value = self.expr(node.value)
        if isinstance(value, (IntImm, Var)) and value.ty.__family__ == "prim":
            self.inline[id(node.var)] = value
            self.keep.append(node.var)
        elif value.dtype.lanes == 1 and (value.dtype.is_int or value.dtype.is_uint):
            self.analyzer.update(node.var, self.analyzer.const_int_bound(value), True)
        return node.replace(value=value)
        yield

    def value(self, node: Any) -> Rewriting:
        return node.replace(value=self.expr(node.value))
        yield

    def assertion(self, node: AssertStmt) -> Rewriting:
        test = self.expr(node.condition)
        if self.truth(test):
            return Evaluate(IntImm("int32", 0))
        return node.replace(condition=test)
        yield

    def repeat(self, node: While) -> Rewriting:
        test = self.expr(node.condition)
        body = yield node.body
        return node.replace(condition=test, body=body)

    def attribute(self, node: AttrStmt) -> Rewriting:
        value = self.expr(node.value)
        if node.attr_key == "thread_extent" and isinstance(node.node, IterVar):
            zero = IntImm(node.node.var.dtype, 0)
            self.analyzer.bind(node.node.var, Range.from_min_extent(zero, value), True)
        body = yield node.body
        return node.replace(value=value, body=body)

    def sequence(self, node: SeqStmt) -> Rewriting:
        out = []
        for item in node.seq:
            new = yield item
            out.append(new)
        if all(a is b for a, b in zip(out, node.seq, strict=True)):
            return node
        return SeqStmt.flatten(out)

    def realize(self, node: SBlockRealize) -> Rewriting:
        values = tuple(map(self.expr, node.iter_values))
        predicate = self.expr(node.predicate)
        for axis in node.block.iter_vars:
            if axis.dom is not None:
                self.analyzer.bind(axis.var, axis.dom, True)
        with self.analyzer.constraint_scope(predicate):
            block = yield node.block
        return node.replace(iter_values=values, predicate=predicate, block=block)

    def block(self, node: SBlock) -> Rewriting:
        init = None
        if node.init is not None:
            init = yield node.init
        body = yield node.body
        reads = tuple(map(self.region, node.reads))
        writes = tuple(map(self.region, node.writes))
        return node.replace(
            init=init, body=body, reads=_kept(reads, node.reads), writes=_kept(writes, node.writes)
        )

    def region(self, node: BufferRegion) -> BufferRegion:
        """A region with simplified bounds."""
        ranges = []
        same = True
        for r in node.region:
            low, extent = self.expr(r.min), self.expr(r.extent)
            same = same and low is r.min and extent is r.extent
            ranges.append(Range.from_min_extent(low, extent))
        return node if same else node.replace(region=tuple(ranges))

    def declared(self, node: Any) -> Rewriting:
        return node
        yield


def _kept(new: tuple[Any, ...], old: tuple[Any, ...]) -> tuple[Any, ...]:
    return old if all(a is b for a, b in zip(new, old, strict=True)) else new


def unmarked(condition: Any) -> Any:
    """A condition without its `likely` marks."""
    mark = Op.get("tirx.likely")

    def strip(node: Call) -> Any:
        return node.args[0] if node.op is mark else node

    return rewrite(condition, {Call: strip})


def conjuncts(condition: Any) -> list[Any]:
    """The parts of a conjunction."""
    out: list[Any] = []
    stack = [condition]
    while stack:
        item = stack.pop()
        if isinstance(item, And):
            stack += [item.b, item.a]
        else:
            out.append(item)
    return out
