"""CommonSubexprElim: a value that several statements compute is computed once."""

from __future__ import annotations

from typing import Any

from workbench.core.structural import structural_equal, structural_hash
from workbench.core.traverse import rewrite
from workbench.ir.expr import Call, Expr, FloatImm, IntImm, Op, StringImm, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import expr as e
from workbench.tirx import stmt as s
from workbench.tirx.function import PrimFunc
from workbench.tirx.op.intrin import CallEffectKind, effect_of

_SIMPLE = (IntImm, FloatImm, StringImm, Var)


@define_pass("tirx.CommonSubexprElim", level="function", on=PrimFunc)
def CommonSubexprElim(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Binds pure expressions that occur twice or more in one list of statements to a variable.

    Before: `A[i * 64 + j] = x`, `B[i * 64 + j] = y`
    After: `cse_v1 = i * 64 + j`, `A[cse_v1] = x`, `B[cse_v1] = y`
    """
    if ctx.get("tirx.disable_cse_tir", False):
        return func
    counter = [0]

    def fresh(ty: Any) -> Var:
        counter[0] += 1
        return Var(f"cse_v{counter[0]}", ty)

    def sequence(node: s.SeqStmt) -> Any:
        out = _eliminate(list(node.seq), fresh)
        return node if out is None else out

    def store(node: s.BufferStore) -> Any:
        out = _eliminate([node], fresh)
        return node if out is None else out

    def run(node: s.Stmt) -> s.Stmt:
        return rewrite(node, {s.SeqStmt: sequence, s.BufferStore: store})

    return func.with_body(run(func.body))


def _eliminate(items: list[s.Stmt], fresh: Any) -> s.Stmt | None:
    """The statements with their common expressions bound in front of the first use, or None."""
    counts: dict[int, list[Any]] = {}
    for position, item in enumerate(items):
        for expr in _candidates(item):
            key = structural_hash(expr)
            entry = counts.get(key)
            if entry is None:
                counts[key] = [expr, 1, position]
            elif structural_equal(entry[0], expr):
                entry[1] += 1
    chosen = [c for c in counts.values() if c[1] > 1]
    if not chosen:
        return None
    chosen.sort(key=lambda c: -_size(c[0]))
    binds: dict[int, list[s.Stmt]] = {}
    images: dict[int, tuple[Any, Var]] = {}
    for expr, _, position in chosen:
        if any(
            _inside(expr, other) and not _elsewhere(expr, items, images)
            for other, _ in images.values()
        ):
            continue
        var = fresh(expr.ty)
        images[structural_hash(expr)] = (expr, var)
        binds.setdefault(position, []).append(s.Bind(var, expr))
    return _rebuild(items, binds, images)


def _rebuild(
    items: list[s.Stmt], binds: dict[int, list[s.Stmt]], images: dict[int, tuple[Any, Var]]
) -> s.Stmt:
    def swap(node: Any) -> Any:
        if isinstance(node, _SIMPLE) or not isinstance(node, Expr) or node.ty is None:
            return node
        found = images.get(structural_hash(node))
        return found[1] if found is not None and structural_equal(found[0], node) else node

    def outer(node: Any) -> Any:
        new = swap(node)
        if new is not node:
            return new
        return (yield node)

    out: list[s.Stmt] = []
    for position, item in enumerate(items):
        for bind in reversed(binds.get(position, [])):
            out.append(bind)
        out.append(_own_expressions(item, outer))
    return s.SeqStmt.flatten(out)


def _own_expressions(item: s.Stmt, outer: Any) -> s.Stmt:
    kinds = (e.BinaryOp, e.Not, e.Select, e.Cast, e.Ramp, e.Broadcast, e.BufferLoad, Call)
    table: dict[type, Any] = dict.fromkeys(kinds, outer)
    if isinstance(item, s.BufferStore):
        value, indices = rewrite((item.value, item.indices), table)
        return item.replace(value=value, indices=indices)
    if isinstance(item, s.Bind):
        return item.replace(value=rewrite(item.value, table))
    return item


def _candidates(item: s.Stmt) -> list[Any]:
    """Pure integer index computations of a statement, outermost first."""
    roots: list[Any] = []
    if isinstance(item, s.BufferStore):
        roots = [item.value, *item.indices]
    elif isinstance(item, s.Bind):
        roots = [item.value]
    found: list[Any] = []
    stack = roots
    while stack:
        node = stack.pop()
        if isinstance(node, _SIMPLE):
            continue
        if _eligible(node):
            found.append(node)
        stack.extend(c for c in node.children() if isinstance(c, Expr) and c.ty is not None)
    return found


def _eligible(node: Any) -> bool:
    if not isinstance(node, (e.BinaryOp, e.Cast)) or node.dtype.is_float or node.dtype.is_handle:
        return False
    if node.dtype.lanes != 1 or node.dtype.is_bool:
        return False
    stack: list[Any] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, (e.BufferLoad, e.Let)):
            return False
        if isinstance(item, Call) and (
            not isinstance(item.op, Op)
            or effect_of(item) > CallEffectKind.Pure
            or item.op.name == "tirx.if_then_else"
        ):
            return False
        stack.extend(c for c in item.children() if isinstance(c, Expr) and c.ty is not None)
    return True


def _size(expr: Any) -> int:
    count, stack = 0, [expr]
    while stack:
        node = stack.pop()
        count += 1
        stack.extend(c for c in node.children() if isinstance(c, Expr))
    return count


def _inside(expr: Any, other: Any) -> bool:
    stack = [other]
    while stack:
        node = stack.pop()
        if type(node) is type(expr) and structural_equal(node, expr):
            return True
        stack.extend(c for c in node.children() if isinstance(c, Expr))
    return False


def _elsewhere(expr: Any, items: list[s.Stmt], images: dict[int, tuple[Any, Var]]) -> bool:
    """Whether an expression occurs outside the larger ones that are bound already."""
    for item in items:
        roots: list[Any] = []
        if isinstance(item, s.BufferStore):
            roots = [item.value, *item.indices]
        elif isinstance(item, s.Bind):
            roots = [item.value]
        while roots:
            node = roots.pop()
            known = images.get(structural_hash(node)) if not isinstance(node, _SIMPLE) else None
            if known is not None and structural_equal(known[0], node):
                continue
            if type(node) is type(expr) and structural_equal(node, expr):
                return True
            roots.extend(c for c in node.children() if isinstance(c, Expr))
    return False
