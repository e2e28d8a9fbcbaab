"""StaticPlanBlockMemory: tensors that are not alive together share memory.

The bindings of a function are numbered; a tensor lives from its allocation to the last binding that
uses it or something that may be a view of it. Its memory is then free for a later tensor. What the
function returns is allocated anew in every call and takes no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes, substitute
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Op, Var, is_prim_var
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.expr import (
    ExternFunc,
    Function,
    If,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from workbench.relax.op.infer import simplify
from workbench.relax.op.memory import alloc_storage, alloc_tensor
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings
from workbench.runtime.dtype import DataType
from workbench.tirx.expr import Add, Mul
from workbench.tirx.function import PrimFunc

#: A free memory is not used for a tensor that is smaller by more than this factor.
_WASTE = 16


@dataclass(eq=False)
class _Token:
    """A tensor to place: `size` in bytes, a number or an expression."""

    var: Var
    start: int
    size: int | Expr
    last: int = 0
    escapes: bool = False
    storage: _Storage | None = None


@dataclass(eq=False)
class _Storage:
    """Memory that holds one tensor after another."""

    size: int | Expr
    tokens: list[_Token] = field(default_factory=list)
    var: Var | None = None


@define_pass("relax.StaticPlanBlockMemory", level="function_in_module", on=Function)
def StaticPlanBlockMemory(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Places tensors in shared memories.

        a = R.builtin.alloc_tensor(R.shape([64]), "float32");  cls.f(x, a)
        b = R.builtin.alloc_tensor(R.shape([64]), "float32");  cls.g(a, b);  …
        →
        storage = R.memory.alloc_storage(R.shape([256]))
        a = R.memory.alloc_tensor(storage, 0, …);  …

    A symbolic size shares memory only with equal sizes, unless the function's attribute
    `tir_var_upper_bound` ({"n": 16}) bounds it.
    """
    tokens = _Liveness(func, mod).run()
    if not tokens:
        return func
    _place(tokens)
    return _rewrite(func, tokens)


def planned_bytes(func: Function) -> int:
    """The memory of constant size that a planned function allocates."""
    total = 0
    for call in iter_nodes(func, Call):
        if isinstance(call.op, Op) and call.op.name == "relax.memory.alloc_storage":
            (size,) = call.args[0].values  # type: ignore[attr-defined]
            total += size.value if isinstance(size, IntImm) else 0
    return total


class _Liveness:
    """Finds the allocations of a function and how long each is in use."""

    def __init__(self, func: Function, mod: IRModule) -> None:
        self.func = func
        self.mod = mod
        self.bounds = dict(func.attrs.get("tir_var_upper_bound", {}))
        self.holds: dict[int, set[int]] = {}  # variable → tokens it may be a view of
        self.tokens: list[_Token] = []

    def run(self) -> list[_Token]:
        position = 0
        for block in self.func.body.blocks:
            for binding in block.bindings:
                self.binding(binding, position)
                position += 1
        for var in iter_nodes(self.func.body.body, Var):
            for number in self.holds.get(id(var), ()):
                self.tokens[number].escapes = True
        return [t for t in self.tokens if not t.escapes]

    def binding(self, binding: Any, position: int) -> None:
        value = binding.value
        used: set[int] = set()
        for var in iter_nodes(value, Var):
            used |= self.holds.get(id(var), set())
        for number in used:
            self.tokens[number].last = position
        if _is_allocation(value) and isinstance(binding, VarBinding):
            number = len(self.tokens)
            size = _bytes(value, self.bounds)
            self.tokens.append(_Token(binding.var, position, size, position))
            self.holds[id(binding.var)] = {number}
        elif self.may_alias(value):
            self.holds[id(binding.var)] = used
            if isinstance(value, If):  # a branch may hand out what it uses at any time
                for number in used:
                    self.tokens[number].escapes = True

    def may_alias(self, value: Any) -> bool:
        """Whether a value may be (part of) one of its operands."""
        if isinstance(value, (Var, Tuple, TupleGetItem, If)):
            return True
        if not isinstance(value, Call):
            return False
        if isinstance(value.op, Op):
            return value.op.name in ("relax.reshape", "relax.call_pure_packed")
        if isinstance(value.op, GlobalVar):
            return not isinstance(self.mod[value.op], PrimFunc)
        return not (isinstance(value.op, ExternFunc) and _is_unit(value))


def _is_unit(call: Call) -> bool:
    return getattr(call.ty, "fields", None) == ()


def _is_allocation(value: Any) -> bool:
    return (
        isinstance(value, Call)
        and isinstance(value.op, Op)
        and value.op.name == "relax.builtin.alloc_tensor"
        and isinstance(value.args[0], ShapeExpr)
    )


def _bytes(call: Any, bounds: Mapping[str, int]) -> int | Expr:
    """The size of an allocation: a number where it is known or bounded."""
    total: Any = IntImm("int64", DataType(call.args[1].value).itemsize)
    for dim in call.args[0].values:
        total = total * dim
    total = simplify(total)
    if isinstance(total, IntImm):
        return total.value
    if bounds and _is_monotone(total):
        names = {v: bounds.get(v.name) for v in iter_nodes(total, Var) if is_prim_var(v)}
        if all(b is not None for b in names.values()):
            bound = simplify(substitute(total, {v: IntImm("int64", b) for v, b in names.items()}))  # type: ignore[arg-type]
            if isinstance(bound, IntImm):
                return bound.value
    return total


def _is_monotone(e: Expr) -> bool:
    return all(isinstance(n, (Add, Mul, Var, IntImm)) for n in iter_nodes(e, Expr))


def _place(tokens: list[_Token]) -> None:
    """Gives every token a storage: best fit among the free ones, in the order of allocation."""
    busy: list[_Token] = []
    free: list[_Storage] = []
    for token in tokens:
        for other in [t for t in busy if t.last < token.start]:
            busy.remove(other)
            assert other.storage is not None
            free.append(other.storage)
        storage = _choose(token.size, free)
        if storage is None:
            storage = _Storage(token.size)
        else:
            free.remove(storage)
            if isinstance(token.size, int) and isinstance(storage.size, int):
                storage.size = max(storage.size, token.size)
        storage.tokens.append(token)
        token.storage = storage
        busy.append(token)


def _choose(size: int | Expr, free: list[_Storage]) -> _Storage | None:
    if not isinstance(size, int):
        return next(
            (s for s in free if isinstance(s.size, Expr) and structural_equal(s.size, size)), None
        )
    fixed = [s for s in free if isinstance(s.size, int) and s.size <= size * _WASTE]
    large = [s for s in fixed if s.size >= size]  # type: ignore[operator]
    if large:
        return min(large, key=lambda s: s.size)  # type: ignore[arg-type, return-value]
    small = [s for s in fixed if s.size * _WASTE >= size]  # type: ignore[operator]
    return max(small, key=lambda s: s.size) if small else None  # type: ignore[arg-type, return-value]


def _rewrite(func: Function, tokens: list[_Token]) -> Function:
    planned = {id(t.var): t for t in tokens}

    def visit(binding: Any, run: BindingRewriter) -> None:
        token = planned.get(id(binding.var))
        if token is None:
            run.keep(binding)
            return
        storage = token.storage
        assert storage is not None
        if storage.var is None:
            storage.var = run.emit(alloc_storage([storage.size], 0, "global", "uint8"), "storage")
        shape, dtype = binding.value.args[:2]
        run.bind(binding, alloc_tensor(storage.var, 0, shape, dtype, 0))

    body: SeqExpr = rewrite_bindings(func, visit).body
    return func.replace(body=body)
