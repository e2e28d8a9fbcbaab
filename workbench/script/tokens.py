"""Tokens of script text, for highlighting. Works on any text, also on text that is no program."""

from __future__ import annotations

import builtins
import keyword
import re

_PIECE = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<string>[rbfRBF]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?))
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
    |(?P<decorator>@[A-Za-z_][\w.]*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<space>\s+)
    |(?P<operator>[^\w\s])""",
    re.VERBOSE | re.DOTALL,
)
_PREFIX = frozenset(["T", "R", "I", "cls"])
_DTYPE = re.compile(r"(?:(?:bfloat|float|uint|int)\d+(?:_\w+)?(?:x\d+)?|bool|handle|void)$")
_CONSTANTS = frozenset(["True", "False", "None"])
_BUILTINS = frozenset(name for name in dir(builtins) if name.islower())


def tokenize(text: str) -> list[tuple[str, int, int]]:
    """The tokens as (kind, start, end), blanks left out.

    Kinds: comment, string, number, decorator, keyword, constant, prefix (`T`, `R`, `I`), dtype,
    function (a name that is called), builtin, name, operator.
    """
    out: list[tuple[str, int, int]] = []
    for found in _PIECE.finditer(text):
        kind = found.lastgroup or "operator"
        if kind == "space":
            continue
        start, end = found.span()
        if kind == "word":
            kind = _kind(found.group(), text, start, end)
        out.append((kind, start, end))
    return out


def _kind(word: str, text: str, start: int, end: int) -> str:
    after = text[end : end + 1]
    if word in _CONSTANTS:
        return "constant"
    if keyword.iskeyword(word):
        return "keyword"
    if word in _PREFIX and after == ".":
        return "prefix"
    attribute = text[start - 1 : start] == "."
    if _DTYPE.match(word) and (attribute or after != "="):
        return "dtype"
    if after == "(":
        return "builtin" if word in _BUILTINS and not attribute else "function"
    return "name"
