"""RemovePurityChecking: from here on functions may have effects."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, Op
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.expr import Function
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings


@define_pass("relax.RemovePurityChecking", level="function", on=Function)
def RemovePurityChecking(func: Function, ctx: PassContext) -> Function:
    """Marks functions as pure by declaration and unwraps `call_pure_packed`.

    lv = R.call_pure_packed("f", x, ty_args=(T,))
    →
    R.func_attr({"relax.force_pure": True});  lv = R.call_packed("f", x, ty_args=(T,))
    """

    def visit(binding: Any, run: BindingRewriter) -> None:
        call = binding.value
        if isinstance(call, Call) and isinstance(call.op, Op):
            if call.op.name == "relax.call_pure_packed":
                plain = Call(call.args[0], call.args[1:], call.attrs, call.ty_args, ret_ty=call.ty)
                run.bind(binding, plain.replace(span=call.span))
                return
        run.keep(binding)

    new = rewrite_bindings(func, visit)
    return new.with_attr("relax.force_pure", True) if new.is_pure else new
