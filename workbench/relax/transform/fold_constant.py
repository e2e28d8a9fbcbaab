"""FoldConstant: kernels whose operands are all known run at compile time."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.ir.expr import Call, IntImm, Op
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.analysis.kernel_pattern import leaf_blocks
from workbench.relax.expr import Constant, DataflowVar, Function, Tuple, VarBinding
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings
from workbench.relax.type import TensorType
from workbench.runtime.dtype import DataType
from workbench.runtime.tensor import tensor
from workbench.tirx.function import PrimFunc
from workbench.tirx.interpreter import interpret

#: Results with more elements are computed by the program itself.
MAX_ELEMENTS = 1 << 22
#: Kernels that run more operations than this are left alone: they would be interpreted.
MAX_WORK = 1 << 26


@define_pass("relax.FoldConstant")
def FoldConstant(mod: IRModule, ctx: PassContext, *, max_elements: int = MAX_ELEMENTS) -> IRModule:
    """Replaces calls of kernels with constant operands, and constant reshapes, by their results.

        lv = R.call_tir(cls.add, (<constant>, <constant>), out_ty=R.Tensor((4,)))
        →
        lv = <constant>                      # its uses name the constant

    The kernel runs in the interpreter. max_elements : larger results stay computed at run time (a
    constant of that size would only make the program larger).
    """

    def visit(binding: Any, run: BindingRewriter) -> None:
        value = binding.value
        if isinstance(value, Constant):
            folded: Constant | None = value
        elif isinstance(binding, VarBinding) and isinstance(value, Call):
            folded = fold_call(value, mod, max_elements)
        else:
            folded = None
        if folded is None:
            run.keep(binding)
        elif isinstance(binding.var, DataflowVar) or not run.in_dataflow:
            run.replace(binding.var, folded)
        else:  # the value leaves its block: the binding stays, with the constant
            run.bind(binding, folded)

    for gvar, func in mod.functions.items():
        if isinstance(func, Function) and not func.attrs.get("Primitive"):
            mod = mod.with_func(gvar, rewrite_bindings(func, visit))
    return mod


def fold_call(call: Call, mod: IRModule, max_elements: int = MAX_ELEMENTS) -> Constant | None:
    """The value of a call with constant operands, or None."""
    if not isinstance(call.op, Op):
        return None
    if call.op.name in ("relax.reshape", "relax.flatten", "relax.squeeze", "relax.expand_dims"):
        data = call.args[0]
        shape = _constant_shape(call.ty)
        if isinstance(data, Constant) and shape is not None:
            return Constant(tensor(data.data.view().reshape(shape)))
        return None
    if call.op.name != "relax.call_tir" or len(call.args) != 2:
        return None
    return _run_kernel(call, mod, max_elements)


def _run_kernel(call: Call, mod: IRModule, max_elements: int) -> Constant | None:
    kernel: Any = mod[call.args[0]]  # type: ignore[index]
    operands = call.args[1]
    shape = _constant_shape(call.ty)
    if shape is None or not isinstance(operands, Tuple) or not isinstance(kernel, PrimFunc):
        return None
    if not all(isinstance(f, Constant) for f in operands.fields):
        return None
    size = int(np.prod(shape, dtype=np.int64))
    if size > max_elements or _work(kernel) > MAX_WORK:
        return None
    ty: Any = call.ty
    inputs: list[Any] = [np.array(f.data.view()) for f in operands.fields]  # type: ignore[attr-defined]
    out = np.zeros(shape, DataType(ty.dtype).numpy())
    interpret(kernel, *inputs, out)
    return Constant(tensor(out))


def _constant_shape(ty: Any) -> tuple[int, ...] | None:
    if not isinstance(ty, TensorType) or ty.dims is None or ty.dtype is None:
        return None
    if not all(isinstance(d, IntImm) for d in ty.dims):
        return None
    return tuple(int(d) for d in ty.dims)  # type: ignore[call-overload]


def _work(kernel: PrimFunc) -> int:
    """The number of block instances that a kernel runs (of constant extents)."""
    total = 0
    for block in leaf_blocks(kernel) or ():
        count = 1
        for axis in block.iter_vars:
            assert axis.dom is not None
            extent = axis.dom.extent
            count *= extent.value if isinstance(extent, IntImm) else 1
        total += count
    return total
