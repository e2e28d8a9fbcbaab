"""Bottom-up evaluation of expressions with an explicit stack and a memo by identity.

Base of the constant-bound and modular analyses. A memo entry keeps its node alive, so an id is
never reused while the entry exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from workbench.tirx.expr import BinaryOp

_T = TypeVar("_T")

Handler = Callable[[Any, Any], Any]
Inputs = Callable[[Any], tuple[Any, ...]]


def operands(expr: Any) -> tuple[Any, ...]:
    """The operands of a binary node."""
    return (expr.a, expr.b)


class PostOrder(Generic[_T]):
    """`value(expr)`: the handlers of `table` compute it from the values of their inputs."""

    #: class → (inputs of a node, function of (self, node)); resolved along the MRO.
    table: dict[type, tuple[Inputs | None, Handler]] = {}
    limit = 200_000

    def __init__(self) -> None:
        self.memo: dict[int, tuple[Any, _T]] = {}

    def default(self, expr: Any) -> _T:
        """The value of a node without a handler."""
        raise NotImplementedError

    def value(self, expr: Any) -> _T:
        """The value of an expression."""
        memo = self.memo
        found = memo.get(id(expr))
        if found is not None:
            return found[1]
        if len(memo) > self.limit:
            memo.clear()
        table = self.table
        stack = [expr]
        while stack:
            node = stack[-1]
            if id(node) in memo:
                stack.pop()
                continue
            cls = type(node)
            entry = table.get(cls)
            if entry is None:
                entry = self._resolve(cls)
            inputs, handler = entry
            if inputs is not None:
                missing = [c for c in inputs(node) if id(c) not in memo]
                if missing:
                    stack.extend(missing)
                    continue
            memo[id(node)] = (node, self.finish(node, handler(self, node)))
            stack.pop()
        return memo[id(expr)][1]

    def finish(self, expr: Any, value: _T) -> _T:
        """Last adjustment of a computed value (what the context knows of the expression)."""
        return value

    def _resolve(self, cls: type) -> tuple[Inputs | None, Handler]:
        for base in cls.__mro__:
            if base in self.table and base is not BinaryOp:
                entry = self.table[base]
                break
        else:
            entry = (None, lambda self, node: self.default(node))
        self.table[cls] = entry
        return entry

    def clear(self) -> None:
        """Forgets all values: what is known of the variables has changed."""
        self.memo = {}
