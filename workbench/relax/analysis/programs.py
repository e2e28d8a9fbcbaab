"""Facts about whole functions and modules: recursion, unused bindings, memory."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import iter_nodes, rewrite
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Op, Var
from workbench.ir.module import IRModule
from workbench.ir.type import Type
from workbench.relax.analysis.purity import is_impure_call
from workbench.relax.analysis.variables import all_global_vars, all_vars
from workbench.relax.expr import (
    Binding,
    Function,
    If,
    SeqExpr,
    ShapeExpr,
)
from workbench.relax.type import ShapeType, TensorType


def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """The groups of functions that call each other in a circle (or themselves)."""
    functions = mod.functions_items()
    uses = {g: [u for u in all_global_vars(f) if u in mod.functions] for g, f in functions}
    reach: dict[GlobalVar, set[GlobalVar]] = {}
    for start in uses:
        seen: set[GlobalVar] = set()
        stack = list(uses[start])
        while stack:
            gvar = stack.pop()
            if gvar not in seen:
                seen.add(gvar)
                stack.extend(uses[gvar])
        reach[start] = seen
    groups: list[list[GlobalVar]] = []
    done: set[GlobalVar] = set()
    for gvar in uses:
        if gvar in reach[gvar] and gvar not in done:
            group = [g for g in uses if g in reach[gvar] and gvar in reach[g]]
            done.update(group)
            groups.append(group)
    return groups


def used_vars(expr: Expr) -> list[Var]:
    """The variables that are read in an expression, in order of their first use."""
    found: dict[int, Var] = {}

    def look(node: Any) -> None:
        if isinstance(node, Function):
            look(node.body)
        elif isinstance(node, SeqExpr):
            for block in node.blocks:
                for binding in block.bindings:
                    look(binding.value)  # type: ignore[attr-defined]
            look(node.body)
        elif isinstance(node, If):
            for part in (node.cond, node.true_branch, node.false_branch):
                look(part)
        else:
            for var in all_vars(node):
                found.setdefault(id(var), var)

    look(expr)
    return list(found.values())


def remove_all_unused(func: Function) -> Function:
    """The function without bindings that nothing needs; calls with effects stay."""
    body = _cleaned(func.body)
    return func if body is func.body else func.replace(body=body)


def _cleaned(seq: SeqExpr) -> SeqExpr:
    used = {id(v) for v in used_vars(seq.body)}
    blocks: list[Any] = []
    for block in reversed(seq.blocks):
        kept: list[Any] = []
        for binding in reversed(block.bindings):
            value = binding.value  # type: ignore[attr-defined]
            effect = any(is_impure_call(c) for c in iter_nodes(value, Call))
            if id(binding.var) not in used and not effect:
                continue
            if isinstance(value, If):
                yes, no = _cleaned(value.true_branch), _cleaned(value.false_branch)
                value = value.replace(true_branch=yes, false_branch=no)
                binding = binding.replace(value=value)
            used.update(id(v) for v in used_vars(value))
            used.update(id(v) for v in all_vars(getattr(binding, "ty", ())))
            kept.append(binding)
        same = len(kept) == len(block.bindings) and all(
            a is b for a, b in zip(kept[::-1], block.bindings, strict=True)
        )
        blocks.append(block if same else block.replace(bindings=tuple(kept[::-1])))
    blocks.reverse()
    same = all(a is b for a, b in zip(blocks, seq.blocks, strict=True))
    return seq if same else seq.replace(blocks=tuple(blocks))


def computable_at_compile_time(func: Function) -> list[Var]:
    """The variables that depend on the parameters after the first `num_input` ones only.

    Those parameters are weights; what depends on nothing else can be computed once, before the
    program runs. Empty for a function without the attribute `num_input`.
    """
    number = func.attrs.get("num_input")
    if number is None:
        return []
    early: dict[int, Var] = {id(p): p for p in func.params[int(number) :]}
    known = {id(v) for p in early.values() for v in iter_nodes(p.ty, Var)}
    for block in func.body.blocks:
        for binding in block.bindings:
            value = binding.value  # type: ignore[attr-defined]
            needs = list(iter_nodes(value, Var))
            pure = not any(is_impure_call(c) for c in iter_nodes(value, Call))
            if pure and all(id(v) in early or id(v) in known for v in needs):
                early[id(binding.var)] = binding.var
    return list(early.values())


def get_static_type(ty: Type) -> Type:
    """The type with everything symbolic forgotten: ranks and dtypes stay."""

    def tensor(node: TensorType) -> Any:
        yield ()
        return TensorType(dtype=node.dtype, ndim=node.ndim, vdevice=node.vdevice)

    def shape(node: ShapeType) -> Any:
        yield ()
        return ShapeType(ndim=node.ndim)

    return rewrite(ty, {TensorType: tensor, ShapeType: shape})


def collect_non_negative_expressions(ty: Type) -> list[Expr]:
    """The symbolic expressions in a type that are extents, and so not negative."""
    found: dict[int, Expr] = {}
    for node in iter_nodes(ty, ShapeExpr, ShapeType):
        for value in node.values or ():
            if not isinstance(value, IntImm):
                found.setdefault(id(value), value)
    return list(found.values())


def estimate_memory_usage(mod: IRModule | Function) -> str:
    """Text about the memory that the tensors of a lowered program take, before and after planning.

    Tensors are those of `R.builtin.alloc_tensor`, storage that of `R.memory.alloc_storage`; with
    sizes not known at compile time they are counted apart.
    """
    if isinstance(mod, Function):
        mod = IRModule.from_expr(mod)
    lines = ["Memory usage estimation:"]
    for gvar, func in mod.functions_items():
        if isinstance(func, Function):
            lines += _function_memory(gvar.name_hint, func)
    return "\n".join(lines)


def _function_memory(name: str, func: Function) -> list[str]:
    tensors = storage = dynamic = tensor_bytes = storage_bytes = 0
    for binding in iter_nodes(func, Binding):
        call = binding.value  # type: ignore[attr-defined]
        kind = call.op.name if isinstance(call, Call) and isinstance(call.op, Op) else ""
        if kind in ("relax.builtin.alloc_tensor", "relax.memory.alloc_tensor"):
            size = _bytes(call.ty)
            tensors += 1
            dynamic += size is None
            tensor_bytes += size or 0
        elif kind == "relax.memory.alloc_storage":
            storage += 1
            for value in call.args[0].values:  # type: ignore[attr-defined]
                storage_bytes += value.value if isinstance(value, IntImm) else 0
    return [
        f" * Function {name}:",
        f"   - {tensors} tensors, {dynamic} of a size known at run time only;"
        f" the others take {tensor_bytes} bytes",
        f"   - {storage} planned pieces of storage take {storage_bytes} bytes",
    ]


def _bytes(ty: Any) -> int | None:
    """The bytes of a tensor of known size."""
    if not isinstance(ty, TensorType) or ty.dims is None or ty.dtype is None:
        return None
    total = (ty.dtype.bits * ty.dtype.lanes + 7) // 8
    for dim in ty.dims:
        if not isinstance(dim, IntImm):
            return None
        total *= dim.value
    return total


__all__ = [
    "collect_non_negative_expressions",
    "computable_at_compile_time",
    "detect_recursion",
    "estimate_memory_usage",
    "get_static_type",
    "remove_all_unused",
    "used_vars",
]
