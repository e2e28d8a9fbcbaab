"""One data type for all indices of a function: loops, block variables, shapes and subscripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from workbench.core.traverse import iter_nodes, rewrite
from workbench.ir.expr import Call, Expr, IntImm, Range, Var
from workbench.runtime.dtype import DataType
from workbench.tirx.buffer import BufferType
from workbench.tirx.expr import BinaryOp, BufferLoad, Cast, IterVar, LogicalOp, Select
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Bind, BufferStore, For

_Rewriting = Iterator[Any]


def _as(e: Expr, dtype: DataType) -> Expr:
    """`e` in the data type, constants directly."""
    if e.dtype == dtype:
        return e
    if isinstance(e, IntImm):
        return IntImm(dtype, e.value)
    if isinstance(e, Cast) and e.value.dtype == dtype:
        return e.value
    return Cast(dtype, e)


def _is_index(e: Expr) -> bool:
    return e.dtype in ("int32", "int64")


class _Normalizer:
    """The handlers of the rewriting; `dtype` is the wanted type."""

    def __init__(self, func: PrimFunc, dtype: DataType) -> None:
        self.dtype = dtype
        self.variables: dict[int, tuple[Var, Var]] = {}
        for node in iter_nodes(func, For, IterVar, Var):
            if isinstance(node, For):
                self.widen(node.loop_var)
            elif isinstance(node, IterVar):
                self.widen(node.var)
            elif isinstance(node.ty, BufferType):
                for dim in (*node.ty.shape, *node.ty.strides):
                    if not isinstance(dim, IntImm):
                        for var in iter_nodes(dim, Var):
                            self.widen(var)

    def widen(self, variable: Var) -> None:
        if variable.dtype != self.dtype and id(variable) not in self.variables:
            new = Var(variable.name, self.dtype, variable.span)
            self.variables[id(variable)] = (variable, new)

    def index(self, e: Expr) -> Expr:
        return _as(e, self.dtype) if _is_index(e) else e

    def matched(self, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        """Two operands in one type: that of a loaded value, or the index type."""
        if a.dtype == b.dtype or not (_is_index(a) and _is_index(b)):
            return a, b
        values = [e.dtype for e in (a, b) if e.dtype != self.dtype and not isinstance(e, IntImm)]
        wanted = values[0] if values else self.dtype
        return _as(a, wanted), _as(b, wanted)

    def var(self, node: Var) -> _Rewriting:
        found = self.variables.get(id(node))
        if found is not None:
            return found[1]
        ty = node.ty
        if not isinstance(ty, BufferType):
            return node
        shape = yield ty.shape
        strides = yield ty.strides
        shape, strides = [self.index(d) for d in shape], [self.index(d) for d in strides]
        pairs = zip((*shape, *strides), (*ty.shape, *ty.strides), strict=True)
        same = all(x is y for x, y in pairs)
        return node if same else node.replace(ty=ty.replace(shape=shape, strides=strides))

    def binary(self, node: BinaryOp) -> _Rewriting:
        a = yield node.a
        b = yield node.b
        if a is node.a and b is node.b:
            return node
        a, b = self.matched(a, b)
        return type(node)(a, b, span=node.span)

    def logical(self, node: LogicalOp) -> _Rewriting:
        return (yield node)

    def select(self, node: Select) -> _Rewriting:
        condition = yield node.condition
        a = yield node.true_value
        b = yield node.false_value
        a, b = self.matched(a, b)
        return node.replace(condition=condition, true_value=a, false_value=b)

    def cast(self, node: Cast) -> _Rewriting:
        value = yield node.value
        return _as(value, node.dtype) if _is_index(value) else node.replace(value=value)

    def call(self, node: Call) -> _Rewriting:
        """Arguments keep their types, except for the two values of `if_then_else`."""
        args = yield node.args
        if all(a is b for a, b in zip(args, node.args, strict=True)):
            return node
        if getattr(node.op, "name", "") == "tirx.if_then_else":
            yes, no = self.matched(args[1], args[2])
            return node.replace(args=(args[0], yes, no), ty=yes.ty)
        kept = [
            _as(new, old.dtype) if new is not old and _is_index(new) else new
            for new, old in zip(args, node.args, strict=True)
        ]
        return node.replace(args=tuple(kept))

    def load(self, node: BufferLoad) -> _Rewriting:
        buffer = yield node.buffer
        indices = yield node.indices
        return BufferLoad(buffer, [self.index(i) for i in indices], node.predicate, span=node.span)

    def store(self, node: BufferStore) -> _Rewriting:
        buffer = yield node.buffer
        value = yield node.value
        indices = yield node.indices
        if _is_index(value):
            value = _as(value, node.value.dtype)
        return node.replace(buffer=buffer, value=value, indices=[self.index(i) for i in indices])

    def bind(self, node: Bind) -> _Rewriting:
        value = yield node.value
        return node.replace(value=_as(value, node.var.dtype) if _is_index(value) else value)

    def range(self, node: Range) -> _Rewriting:
        low = yield node.min
        extent = yield node.extent
        return Range.from_min_extent(self.index(low), self.index(extent))

    def loop(self, node: For) -> _Rewriting:
        variable = yield node.loop_var
        low = yield node.min
        extent = yield node.extent
        body = yield node.body
        return node.replace(
            loop_var=variable, min=self.index(low), extent=self.index(extent), body=body
        )

    def table(self) -> dict[type, Callable[[Any], Any]]:
        return {
            Var: self.var,
            BinaryOp: self.binary,
            LogicalOp: self.logical,
            Select: self.select,
            Cast: self.cast,
            Call: self.call,
            BufferLoad: self.load,
            BufferStore: self.store,
            Bind: self.bind,
            Range: self.range,
            For: self.loop,
        }


def with_index_dtype(func: PrimFunc, dtype: str) -> PrimFunc:
    """`func` with every index computed in `dtype`; values that are no indices keep their types.

    for i in range(n):  A[i // 2]        (i, n: int32)
    →
    for i in range(n):  A[i // T.int64(2)]   (i, n: int64)
    """
    run = _Normalizer(func, DataType(dtype))
    return rewrite(func, run.table())
