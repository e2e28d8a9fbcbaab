"""Errors that say what was expected, what was found, where, and what to try.

Every error a user can cause derives from `WorkbenchError`. An error may name IR nodes; whoever
shows it asks `core.text` to print the program with those nodes underlined.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class WorkbenchError(Exception):
    """Base of all errors caused by input.

    Parameters
    ----------
    message : the short reason, one line.
    nodes : IR nodes the message speaks of; they are underlined in the printed program.
    root : the program (function or module) in which to show `nodes`.
    hint : what to try instead.
    """

    def __init__(
        self,
        message: str,
        *,
        nodes: Sequence[Any] = (),
        root: Any = None,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.nodes = tuple(nodes)
        self.root = root
        self.hint = hint

    def __str__(self) -> str:
        text = self.message
        if self.hint:
            text += f"\n  try: {self.hint}"
        return text

    def render(self) -> str:
        """The message followed by the program with the named nodes underlined."""
        from workbench.core.text import underline

        if self.root is None or not self.nodes:
            return str(self)
        return f"{self}\n\n{underline(self.root, self.nodes, self.message)}"


class FrozenNodeError(WorkbenchError, AttributeError):
    """An IR node is a value: its fields cannot be assigned."""


class RegistryError(WorkbenchError, KeyError):
    """A name is registered twice, or is not registered."""

    __str__ = WorkbenchError.__str__


class StructuralMismatch(WorkbenchError, ValueError):
    """`assert_structural_equal` found a difference; `path` is the way to the first one."""

    def __init__(self, message: str, path: str, lhs: Any, rhs: Any) -> None:
        super().__init__(message)
        self.path = path
        self.lhs = lhs
        self.rhs = rhs


#: TVM's names of errors: programs catch what the compiler refuses by them.
InternalError = WorkbenchError
DiagnosticError = WorkbenchError


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known names, or an empty string."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
