"""VMBuiltinLower: operators that the virtual machine implements itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.ir.expr import Call, Expr, Op
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.expr import ExternFunc, Function
from workbench.relax.op.vm import alloc_storage, alloc_tensor, kill_object
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings


def _packed(name: str) -> Callable[[Call], Expr]:
    def lower(call: Call) -> Expr:
        return Call(ExternFunc(f"vm.builtin.{name}"), call.args, ret_ty=call.ty, span=call.span)

    return lower


def _alloc_storage(call: Call) -> Expr:
    size, device, scope, _ = call.args
    return alloc_storage(size, device, "uint8", scope)


_RULES: dict[str, Callable[[Call], Expr]] = {
    "relax.memory.alloc_storage": _alloc_storage,
    "relax.memory.alloc_tensor": lambda call: alloc_tensor(*call.args),
    "relax.memory.kill_storage": lambda call: kill_object(*call.args),
    "relax.memory.kill_tensor": lambda call: kill_object(*call.args),
    "relax.reshape": _packed("reshape"),
    "relax.flatten": lambda call: _to_shape(call),
    "relax.expand_dims": lambda call: _to_shape(call),
    "relax.squeeze": lambda call: _to_shape(call),
    "relax.shape_of": _packed("shape_of"),
    "relax.tensor_to_shape": _packed("tensor_to_shape"),
    "relax.shape_to_tensor": _packed("shape_to_tensor"),
    "relax.null_value": _packed("null_value"),
    "relax.print": _packed("print"),
    "relax.assert_op": _packed("assert_op"),
}


def _to_shape(call: Call) -> Expr:
    """A change of dimensions that was not made a kernel, as a view."""
    shape = getattr(call.ty, "shape", None)
    if shape is None:
        return call
    callee = ExternFunc("vm.builtin.reshape")
    return Call(callee, (call.args[0], shape), ret_ty=call.ty, span=call.span)


@define_pass("relax.VMBuiltinLower", level="function", on=Function)
def VMBuiltinLower(func: Function, ctx: PassContext) -> Function:
    """Names the builtin function of the machine for operators that are no kernels.

    lv = R.reshape(x, R.shape([8]));  R.memory.kill_tensor(a)
    →
    lv = R.call_packed("vm.builtin.reshape", x, R.shape([8]));  R.vm.kill_object(a)
    """

    def visit(binding: Any, run: BindingRewriter) -> None:
        call = binding.value
        rule = None
        if isinstance(call, Call) and isinstance(call.op, Op):
            rule = _RULES.get(call.op.name)
        if rule is None:
            run.keep(binding)
        else:
            run.bind(binding, rule(call))

    return rewrite_bindings(func, visit)


#: TVM's newer name.
LowerRuntimeBuiltin = VMBuiltinLower
