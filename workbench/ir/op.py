"""Operators, under TVM's module name."""

from workbench.ir.expr import Op, register_op_attr

__all__ = ["Op", "register_op_attr"]
