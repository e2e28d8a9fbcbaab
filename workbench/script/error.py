"""Errors of the script layer: where in which source, with the place underlined."""

from __future__ import annotations

from workbench.core.errors import WorkbenchError


class ScriptError(WorkbenchError, SyntaxError):
    """A script that cannot be read.

    Attributes: `filename`, `lineno`, `offset` (line and column, counted from 1), `end_lineno`,
    `end_offset` and `text` (the source line), as in Python's own `SyntaxError`.
    """

    def __init__(
        self,
        message: str,
        *,
        filename: str = "<script>",
        line: int = 0,
        column: int = 0,
        end_line: int = 0,
        end_column: int = 0,
        source_line: str = "",
        hint: str = "",
    ) -> None:
        WorkbenchError.__init__(self, message, hint=hint)
        self.msg = f"{message} (try: {hint})" if hint else message  # what tracebacks show
        self.filename = filename
        self.lineno = line
        self.offset = column
        self.end_lineno = end_line or line
        self.end_offset = end_column or column + 1
        self.text = source_line

    def __str__(self) -> str:
        parts = [self.message]
        if self.lineno:
            parts.append(f" --> {self.filename}:{self.lineno}:{self.offset}")
        if self.text:
            number = str(self.lineno)
            margin = " " * len(number)
            line = self.text.rstrip("\n").expandtabs(1)
            first = self.offset or 1
            last = self.end_offset if self.end_lineno == self.lineno else None
            width = max(1, min(last or len(line) + 1, len(line) + 1) - first)
            parts += [
                f" {margin} |",
                f" {number} | {line}",
                f" {margin} | {' ' * (first - 1)}{'^' * width}",
            ]
        if self.hint:
            parts.append(f"  try: {self.hint}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        place = (self.filename, self.lineno, self.offset, self.end_lineno, self.end_offset)
        return (_rebuild, (type(self), self.message, self.hint, self.text, *place))


def _rebuild(
    cls: type[ScriptError], message: str, hint: str, text: str, filename: str, *place: int
) -> ScriptError:
    line, column, end_line, end_column = place
    return cls(
        message,
        filename=filename,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        source_line=text,
        hint=hint,
    )
