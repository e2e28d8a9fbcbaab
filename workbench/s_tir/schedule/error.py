"""ScheduleError: why a primitive cannot be applied, naming the loops and blocks it speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.text import underline


class ScheduleError(WorkbenchError):
    """A primitive cannot be applied.

    `primitive` is its name, `nodes` the loops and blocks of the reason; `render()` prints the
    program with them underlined. `str(error)` does the same when `detail` is set (the schedule's
    `error_render_level="detail"`).
    """

    def __init__(
        self,
        message: str,
        *,
        nodes: Sequence[Any] = (),
        root: Any = None,
        hint: str = "",
        primitive: str = "",
    ) -> None:
        super().__init__(message, nodes=nodes, root=root, hint=hint)
        self.primitive = primitive
        self.detail = False

    @property
    def reason(self) -> str:
        """The message and what to try, without the program."""
        head = f"{self.primitive}: {self.message}" if self.primitive else self.message
        return f"{head}\n  try: {self.hint}" if self.hint else head

    def __str__(self) -> str:
        if self.detail and self.root is not None and self.nodes:
            return self.render()
        return self.reason

    def render(self) -> str:
        """The reason followed by the program with the named loops and blocks underlined."""
        if self.root is None or not self.nodes:
            return self.reason
        return f"{self.reason}\n\n{underline(self.root, self.nodes, self.message)}"


class ScheduleArgumentError(ScheduleError, TypeError):
    """An argument of a primitive has the wrong type, or a random variable means nothing here."""
