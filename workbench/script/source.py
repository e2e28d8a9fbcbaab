"""Finding the source text of a decorated function or class, in files and in notebook cells."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from dataclasses import dataclass
from types import FrameType
from typing import Any

from workbench.script.error import ScriptError


@dataclass(frozen=True)
class Source:
    """A piece of source text and its place in the file it comes from.

    `first_line` and `indent` are what was cut off above and to the left of `text`.
    """

    filename: str
    text: str
    first_line: int = 0
    indent: int = 0

    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.split("\n")

    def error(self, node: Any, message: str, hint: str = "") -> ScriptError:
        """An error at a syntax node (or a `SyntaxError`)."""
        row = getattr(node, "lineno", None) or 1
        lines = self.lines()
        line = lines[row - 1] if 0 < row <= len(lines) else ""
        shift = self.indent if line else 0
        # columns of the ast count bytes, ours characters
        column = _characters(line, getattr(node, "col_offset", 0) or 0)
        last = getattr(node, "end_lineno", None) or row
        end = _characters(line, getattr(node, "end_col_offset", None) or column + 1)
        return ScriptError(
            message,
            filename=self.filename,
            line=row + self.first_line,
            column=column + shift + 1,
            end_line=last + self.first_line,
            end_column=end + shift + 1,
            source_line=" " * shift + line,
            hint=hint,
        )

    def parse(self) -> ast.Module:
        """The syntax tree. Raises `ScriptError` where the text is not Python."""
        try:
            return ast.parse(self.text)
        except SyntaxError as error:
            place = ast.Pass()
            place.lineno = error.lineno or 1
            place.end_lineno = error.end_lineno or place.lineno
            place.col_offset = max(0, (error.offset or 1) - 1)
            place.end_col_offset = max(place.col_offset + 1, (error.end_offset or 1) - 1)
            raise self.error(place, f"not valid Python: {error.msg}") from None
        except (RecursionError, MemoryError) as error:
            raise ScriptError(
                "the program is nested too deeply for Python's parser",
                filename=self.filename,
                hint="pass programs of this depth as JSON: to_json / from_json",
            ) from error


def _characters(line: str, byte_column: int) -> int:
    return len(line.encode()[:byte_column].decode(errors="ignore"))


def source_of(target: Any, frame: FrameType) -> tuple[Source, ast.stmt]:
    """The source and the definition of a function or class that is being decorated in `frame`."""
    name = target.__name__
    if inspect.isclass(target):
        filename, start = frame.f_code.co_filename, frame.f_lineno
        wanted: tuple[type, ...] = (ast.ClassDef,)
    else:
        code = inspect.unwrap(target).__code__
        filename, start = code.co_filename, code.co_firstlineno
        wanted = (ast.FunctionDef,)
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, frame.f_globals)
    if not lines:
        raise ScriptError(
            f"the source of {name!r} is not available (it was defined in {filename})",
            hint="workbench.script.from_source(text) reads a program from text",
        )
    found = _at_line(filename, lines, start, name, wanted)
    if found is None:
        found = _anywhere(filename, lines, start, name, wanted)
    if found is None:
        raise ScriptError(
            f"the definition of {name!r} was not found in {filename} near line {start}",
            hint="if the file was edited since it was imported, import it again",
        )
    return found


def _at_line(
    filename: str, lines: list[str], start: int, name: str, wanted: tuple[type, ...]
) -> tuple[Source, ast.stmt] | None:
    """The definition whose first line (of its decorators) is `start`."""
    try:
        block = inspect.getblock(lines[start - 1 :])
    except (IndentationError, SyntaxError, IndexError):
        return None
    whole = "".join(block).rstrip("\n")
    text = textwrap.dedent(whole)
    indent = len(whole) - len(whole.lstrip()) if whole else 0
    source = Source(filename, text, start - 1, indent)
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return None
    if len(body) == 1 and isinstance(body[0], wanted) and getattr(body[0], "name", "") == name:
        return source, body[0]
    return None


def _anywhere(
    filename: str, lines: list[str], start: int, name: str, wanted: tuple[type, ...]
) -> tuple[Source, ast.stmt] | None:
    """The definition of that name nearest to a line of the file."""
    source = Source(filename, "".join(lines))
    try:
        tree = ast.parse(source.text)
    except SyntaxError:
        return None
    found = [n for n in ast.walk(tree) if isinstance(n, wanted) and getattr(n, "name", "") == name]
    if not found:
        return None
    best = min(found, key=lambda n: abs(getattr(n, "lineno", 0) - start))
    assert isinstance(best, ast.stmt)
    return source, best
