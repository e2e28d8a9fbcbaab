"""What Python's operators and calls mean in the loop IR."""

from __future__ import annotations

import builtins
from typing import Any

from workbench.ir.expr import Expr, GlobalVar, IntImm, is_prim_expr
from workbench.tirx import expr as nodes
from workbench.tirx import op
from workbench.tirx import stmt as S
from workbench.tirx.expr import IterVar
from workbench.tirx.script import buffers, build, expressions
from workbench.tirx.script.values import (
    LoopFrame,
    NewVar,
    Pending,
    Scalar,
    value_of,
)


class TirDialect:
    """Python's operators on expressions of the loop IR.

    An operator on operands of one data type gives the node it stands for; constants are folded and
    types matched by `tirx.op`.
    """

    nodes: dict[str, tuple[type, str]] = {
        "add": (nodes.Add, "add"),
        "sub": (nodes.Sub, "subtract"),
        "mul": (nodes.Mul, "multiply"),
        "truediv": (nodes.Div, "divide"),
        "floordiv": (nodes.FloorDiv, "floordiv"),
        "mod": (nodes.FloorMod, "floormod"),
        "eq": (nodes.EQ, "equal"),
        "ne": (nodes.NE, "not_equal"),
        "lt": (nodes.LT, "less"),
        "le": (nodes.LE, "less_equal"),
        "gt": (nodes.GT, "greater"),
        "ge": (nodes.GE, "greater_equal"),
        "and": (nodes.And, "logical_and"),
        "or": (nodes.Or, "logical_or"),
    }
    others = {
        "pow": "power",
        "lshift": "shift_left",
        "rshift": "shift_right",
        "and_": "bitwise_and",
        "or_": "bitwise_or",
        "xor": "bitwise_xor",
    }

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """A node, or what `tirx.op` makes of the operands."""
        if not (_is_value(a) and _is_value(b)):
            if name in ("eq", "ne"):
                return (a is b or a == b) == (name == "eq")
            import operator

            return getattr(operator, name)(a, b)
        x, y = expressions.plain_number(a, b), expressions.plain_number(b, a)
        if name not in self.nodes:
            return getattr(op, self.others[name])(x, y)
        cls, function = self.nodes[name]
        constant = (IntImm, nodes.FloatImm)
        simple = x.dtype == y.dtype and not (isinstance(x, constant) or isinstance(y, constant))
        compares = issubclass(cls, nodes.CmpOp) and x.dtype == y.dtype
        both = isinstance(x, constant) and isinstance(y, constant)
        division = cls is nodes.Div and not x.dtype.is_float
        if (simple or (compares and not both)) and not division:
            return cls(x, y)
        return getattr(op, function)(x, y)

    def unary(self, name: str, a: Any) -> Any:
        """A node, or what `tirx.op` makes of the operand."""
        x = value_of(a)
        if name == "not_":
            return nodes.Not(x)
        if name == "neg":
            return op.negative(x)
        return x if name == "pos" else op.bitwise_not(x)

    def choose(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """`a if c else b` evaluates only the chosen side."""
        return op.if_then_else(
            value_of(condition),
            expressions.plain_number(then, otherwise),
            expressions.plain_number(otherwise, then),
        )

    def subscript(self, value: Any, index: Any) -> Any:
        """A load, a region, or Python's subscript."""
        if buffers.is_buffer(value):
            items = index if isinstance(index, tuple) else (index,)
            if any(isinstance(i, slice) for i in items) or len(items) == value.ty.ndim:
                plain = tuple(i if isinstance(i, slice) else value_of(i) for i in items)
                return value[bounds(plain)]
            raise TypeError(
                f"buffer {value.name} has {value.ty.ndim} dimensions, got {len(items)} indices"
            )
        if isinstance(value, Expr):
            raise TypeError(f"{value} is no buffer and cannot be indexed")
        if isinstance(index, IntImm):
            index = index.value
        return value[index]

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A call of a builder; `range` is a loop, a global function a call."""
        if function is builtins.range:
            return _python_range(args, kwargs)
        if isinstance(function, GlobalVar):
            return expressions.call_global(function, args)
        if hasattr(function, "inline_call"):
            return function.inline_call(args, kwargs)
        return function(*map(_argument, args), **{k: _argument(v) for k, v in kwargs.items()})

    def attribute(self, value: Any, name: str) -> Any:
        """Python's attribute; a buffer has `view`."""
        if name == "view" and buffers.is_buffer(value):
            return lambda *shape: buffers.view_of(value, shape)
        return getattr(value, name)


def bounds(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Indices with the ends of their slices as expressions."""

    def one(part: Any) -> Any:
        return part if part is None or isinstance(part, int) else value_of(part)

    return tuple(
        slice(one(i.start), one(i.stop), one(i.step)) if isinstance(i, slice) else i for i in items
    )


def _argument(value: Any) -> Any:
    """A scalar variable is passed as its value; everything else as it is."""
    return value_of(value) if isinstance(value, Scalar) else value


def _is_value(value: Any) -> bool:
    if isinstance(value, Expr):
        return is_prim_expr(value)
    return isinstance(value, (int, float, Scalar, IterVar, S.BufferRegion, NewVar)) or (
        hasattr(value, "__as_expr__") and not isinstance(value, Pending)
    )


def _python_range(args: list[Any], kwargs: dict[str, Any]) -> LoopFrame:
    if kwargs or not 1 <= len(args) <= 3:
        raise TypeError(f"range expects 1 to 3 arguments, got {len(args)}")
    start, stop = (args[0], None) if len(args) == 1 else (args[0], args[1])
    return build.serial(start, stop, step=None if len(args) < 3 else value_of(args[2]))
