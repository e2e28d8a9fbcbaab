"""LowerIntrin: operations that a code generator does not know become ones it knows."""

from __future__ import annotations

from typing import Any

from workbench.core.traverse import rewrite
from workbench.ir.expr import Call, IntImm, Op
from workbench.ir.transform import PassContext, define_pass
from workbench.tirx import expr as e
from workbench.tirx import op
from workbench.tirx.function import PrimFunc

_NO_OPS = ("tirx.likely", "tirx.ignore_loop_partition", "tirx.tvm_thread_invariant")


@define_pass("tirx.LowerIntrin", level="function", on=PrimFunc)
def LowerIntrin(func: PrimFunc, ctx: PassContext) -> PrimFunc:
    """Removes marks, and writes flooring division by powers of two as shifts and masks.

    Before: `A[i // 4] = B[i % 4]`, `if T.likely(c)`
    After: `A[i >> 2] = B[i & 3]`, `if c`
    """
    return rewrite(func, {Call: _call, e.FloorDiv: _floordiv, e.FloorMod: _floormod})


def _call(node: Call) -> Any:
    if isinstance(node.op, Op) and node.op.name in _NO_OPS:
        return node.args[0]
    return node


def _power_of_two(node: Any) -> int:
    divisor = node.b.value if isinstance(node.b, e.Broadcast) else node.b
    if not isinstance(divisor, IntImm) or node.dtype.is_bool:
        return -1
    value = divisor.value
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else -1


def _floordiv(node: e.FloorDiv) -> Any:
    shift = _power_of_two(node)
    return node if shift < 0 else op.shift_right(node.a, op.const(shift, node.dtype))


def _floormod(node: e.FloorMod) -> Any:
    shift = _power_of_two(node)
    return node if shift < 0 else op.bitwise_and(node.a, op.const((1 << shift) - 1, node.dtype))
