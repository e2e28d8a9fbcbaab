"""KillAfterLastUse: objects are let go as soon as nothing needs them."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, Op, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.expr import Function, SeqExpr, Tuple, TupleGetItem, VarBinding
from workbench.relax.op.memory import kill_storage, kill_tensor

_KILLERS = {
    "relax.memory.alloc_storage": kill_storage,
    "relax.memory.alloc_tensor": kill_tensor,
}
_VIEWS = ("relax.reshape",)


@define_pass("relax.KillAfterLastUse", level="function", on=Function)
def KillAfterLastUse(func: Function, ctx: PassContext) -> Function:
    """Marks the last use of storages and tensors.

        a = R.memory.alloc_tensor(storage, …);  cls.f(x, a);  cls.g(a, b)
        →
        a = R.memory.alloc_tensor(storage, …);  cls.f(x, a);  cls.g(a, b);  R.memory.kill_tensor(a)

    A storage is let go when the last tensor in it is.
    """
    last = _last_uses(func)
    ends: dict[int, list[VarBinding]] = {}
    for position, var, killer in last.values():
        if position is not None:
            unit = Var("_", killer(var).ty)
            ends.setdefault(position, []).append(VarBinding(unit, killer(var)))
    if not ends:
        return func
    position = 0
    blocks = []
    for block in func.body.blocks:
        bindings: list[Any] = []
        for binding in block.bindings:
            bindings.append(binding)
            bindings.extend(ends.get(position, ()))
            position += 1
        blocks.append(block.replace(bindings=tuple(bindings)))
    return func.replace(body=SeqExpr(tuple(blocks), func.body.body))


def _last_uses(func: Function) -> dict[int, tuple[int | None, Var, Any]]:
    """Allocated object → (position of its last use; None if it leaves, variable, killer)."""
    roots: dict[int, set[int]] = {}  # variable → the allocated objects it may hold
    found: dict[int, tuple[int | None, Var, Any]] = {}
    position = 0
    for block in func.body.blocks:
        for binding in block.bindings:
            value: Any = binding.value  # type: ignore[attr-defined]
            held: set[int] = set()
            for var in iter_nodes(value, Var):
                held |= roots.get(id(var), set())
            for key in held:
                found[key] = (position, *found[key][1:])
            name = value.op.name if isinstance(value, Call) and isinstance(value.op, Op) else ""
            if name in _KILLERS:
                found[id(binding.var)] = (position, binding.var, _KILLERS[name])
                roots[id(binding.var)] = {id(binding.var), *held}
            elif isinstance(value, (Var, Tuple, TupleGetItem)) or not _is_plain(value):
                roots[id(binding.var)] = held
            position += 1
    for var in iter_nodes(func.body.body, Var):
        for key in roots.get(id(var), ()):
            found[key] = (None, *found[key][1:])
    return found


def _is_plain(value: Any) -> bool:
    """Whether a call's result holds none of its operands."""
    if not isinstance(value, Call):
        return False
    if isinstance(value.op, Op):
        return value.op.name not in _VIEWS
    return getattr(value.ty, "fields", None) == ()
