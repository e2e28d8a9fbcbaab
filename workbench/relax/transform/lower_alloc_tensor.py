"""LowerAllocTensor: the allocations that were not planned."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Call, IntImm, Op
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.expr import Function, ShapeExpr
from workbench.relax.op.infer import simplify
from workbench.relax.op.memory import alloc_storage, alloc_tensor
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings
from workbench.runtime.dtype import DataType


@define_pass("relax.LowerAllocTensor", level="function", on=Function)
def LowerAllocTensor(func: Function, ctx: PassContext) -> Function:
    """Gives every remaining tensor memory of its own.

    a = R.builtin.alloc_tensor(R.shape([n]), "float32")
    →
    storage = R.memory.alloc_storage(R.shape([n * 4]), …)
    a = R.memory.alloc_tensor(storage, 0, R.shape([n]), "float32")
    """

    def visit(binding: Any, run: BindingRewriter) -> None:
        call = binding.value
        if not (
            isinstance(call, Call)
            and isinstance(call.op, Op)
            and call.op.name == "relax.builtin.alloc_tensor"
            and isinstance(call.args[0], ShapeExpr)
        ):
            run.keep(binding)
            return
        shape, dtype = call.args[0], call.args[1]
        size: Any = IntImm("int64", DataType(dtype.value).itemsize)  # type: ignore[attr-defined]
        for dim in shape.values:
            size = size * dim
        storage = run.emit(alloc_storage([simplify(size)], 0, "global", "uint8"), "storage")
        run.bind(binding, alloc_tensor(storage, 0, shape, dtype, 0))

    return rewrite_bindings(func, visit)
