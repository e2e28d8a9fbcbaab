"""BF16ComputeLegalize and FP8ComputeLegalize: narrow floats are computed in float32."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from workbench.core.traverse import rewrite
from workbench.ir.expr import Call, Op
from workbench.ir.transform import PassContext, define_pass
from workbench.ir.type import prim_type
from workbench.runtime.dtype import DataType, DataTypeCode
from workbench.tirx import expr as e
from workbench.tirx import op
from workbench.tirx.function import PrimFunc

Rewriting = Generator[Any, Any, Any]


@define_pass("tirx.BF16ComputeLegalize", level="function", on=PrimFunc)
def BF16ComputeLegalize(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Computes bfloat16 arithmetic in float32, rounding after every operation.

    Before: `C[i] = A[i] + B[i]` (bfloat16)
    After: `C[i] = T.Cast("bfloat16", T.Cast("float32", A[i]) + T.Cast("float32", B[i]))`
    """
    return _legalize(func, lambda d: d.type_code == DataTypeCode.BFLOAT, "float32")


@define_pass("tirx.FP8ComputeLegalize", level="function", on=PrimFunc)
def FP8ComputeLegalize(
    func: PrimFunc, ctx: PassContext, *, promote_dtype: str = "float32"
) -> PrimFunc:
    """Computes float8 arithmetic in a wider type, rounding after every operation."""
    return _legalize(func, lambda d: d.is_float and d.bits == 8, promote_dtype)


def _legalize(func: PrimFunc, narrow: Callable[[DataType], bool], wide: str) -> PrimFunc:
    def up(value: Any) -> Any:
        return op.cast(DataType(wide).with_lanes(value.dtype.lanes), value)

    def binary(node: Any) -> Any:
        if not narrow(node.a.dtype):
            return node
        new = type(node)(up(node.a), up(node.b), span=node.span)
        return new if isinstance(node, e.CmpOp) else op.cast(node.dtype, new)

    def call(node: Call) -> Any:
        pure_math = isinstance(node.op, Op) and node.op.attr("vectorizable") and node.args
        if not pure_math or not any(narrow(a.dtype) for a in node.args):
            return node
        if node.op is Op.get("tirx.reinterpret") or node.op is Op.get("tirx.likely"):
            return node
        args = tuple(up(a) if narrow(a.dtype) else a for a in node.args)
        if not narrow(node.dtype):
            return node.replace(args=args)
        kind = prim_type(DataType(wide).with_lanes(node.dtype.lanes))
        new = Call(node.op, args, node.attrs, node.ty_args, ret_ty=kind, span=node.span)
        return op.cast(node.dtype, new)

    return rewrite(func, {e.BinaryOp: binary, Call: call})
