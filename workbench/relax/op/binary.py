"""Element-wise operators of two operands, with broadcasting."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Expr
from workbench.relax.op.infer import as_relax, binary_arith, binary_compare, te_call
from workbench.relax.op.registry import OpCall, OpPatternKind, relax_op


def _declare(name: str, doc: str, infer: Any = binary_arith, topi: str | None = None) -> Any:
    @relax_op(name, infer=infer, legalize=te_call(topi or name), pattern=OpPatternKind.BROADCAST)
    def build(x1: Any, x2: Any) -> OpCall:
        left = x1 if isinstance(x1, Expr) else as_relax(x1, x2 if isinstance(x2, Expr) else None)
        return (left, as_relax(x2, left)), {}

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"{doc}, element by element, with NumPy's broadcasting."
    return build


add = _declare("add", "x1 + x2")
subtract = _declare("subtract", "x1 - x2")
multiply = _declare("multiply", "x1 * x2")
divide = _declare("divide", "x1 / x2")
floor_divide = _declare("floor_divide", "The quotient rounded down")
mod = _declare("mod", "The remainder with the sign of the divisor", topi="floor_mod")
floor_mod = _declare("floor_mod", "The remainder with the sign of the divisor")
power = _declare("power", "x1 to the power of x2")
maximum = _declare("maximum", "The larger operand")
minimum = _declare("minimum", "The smaller operand")
log_add_exp = _declare("log_add_exp", "log(exp(x1) + exp(x2))")
atan2 = _declare("atan2", "The angle of the point (x2, x1)")
bitwise_and = _declare("bitwise_and", "Bitwise and")
bitwise_or = _declare("bitwise_or", "Bitwise or")
bitwise_xor = _declare("bitwise_xor", "Bitwise exclusive or")
left_shift = _declare("left_shift", "x1 shifted left by x2 bits")
right_shift = _declare("right_shift", "x1 shifted right by x2 bits")
equal = _declare("equal", "x1 == x2", binary_compare)
not_equal = _declare("not_equal", "x1 != x2", binary_compare)
less = _declare("less", "x1 < x2", binary_compare)
less_equal = _declare("less_equal", "x1 <= x2", binary_compare)
greater = _declare("greater", "x1 > x2", binary_compare)
greater_equal = _declare("greater_equal", "x1 >= x2", binary_compare)
logical_and = _declare("logical_and", "x1 and x2", binary_compare)
logical_or = _declare("logical_or", "x1 or x2", binary_compare)
logical_xor = _declare("logical_xor", "Exactly one of x1 and x2", binary_compare)
