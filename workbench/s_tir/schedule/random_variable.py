"""Random variables: what a schedule hands out for blocks, loops and integers.

They are names, not nodes: a `LoopRV` means a loop of whichever module the schedule is at. The same
trace gives them meaning again in another schedule.
"""

from __future__ import annotations

from workbench.ir.expr import Expr, Var


class SBlockRV:
    """Stands for a block."""

    __slots__ = ("__weakref__", "hint")

    def __init__(self, hint: str = "") -> None:
        self.hint = hint

    def __repr__(self) -> str:
        return f"SBlockRV({self.hint})"


class LoopRV:
    """Stands for a loop."""

    __slots__ = ("__weakref__", "hint")

    def __init__(self, hint: str = "") -> None:
        self.hint = hint

    def __repr__(self) -> str:
        return f"LoopRV({self.hint})"


#: An integer chosen by sampling: a variable, so that arithmetic on it is possible.
ExprRV = Expr


def new_expr_rv(hint: str = "v") -> Var:
    """A fresh integer random variable."""
    return Var(hint, "int32")
