"""Token classes of TVMScript, Python, LLVM IR and assembly, by regular expression.

A highlighter must not fail on ill-formed text, so this is no parser: what no rule matches is plain.
Classes: k keyword, s string, n number, c comment, f called or defined name, m dialect prefix,
y type or dtype, d decorator, "" the rest.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .part import CodeLine, Token

_KEYWORDS = (
    "and|as|assert|break|class|continue|def|del|elif|else|except|False|finally|for|from|if|import|"
    "in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield"
)
_DTYPE = r"(?:float|bfloat|int|uint)\d+(?:_\w+)?(?:x\d+)?|bool|handle"

_PYTHON = re.compile(
    rf"""(?P<c>\#.*)
    |(?P<s>[rbf]{{0,2}}(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?))
    |(?P<d>@[\w.]+)
    |(?P<n>\b(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\b)
    |(?P<k>\b(?:{_KEYWORDS})\b)
    |(?P<y>(?<![\w.])(?:[TRI]\.)?(?:{_DTYPE}|Tensor|Buffer|Shape|Object|Prim|Tuple|Callable)\b)
    |(?P<m>(?<![\w.])(?:[TRI]|cls|sch)\.(?=\w))
    |(?P<f>[A-Za-z_]\w*(?=\())
    |(?P<o>[A-Za-z_]\w*|\s+|.)""",
    re.VERBOSE,
)
_LLVM = re.compile(
    r"""(?P<c>;.*)
    |(?P<s>c?"[^"]*"?)
    |(?P<f>@[\w.$-]+)
    |(?P<m>%[\w.$-]+)
    |(?P<d>^[\w.$-]+:|[!\#][\w.]*)
    |(?P<y>\b(?:i\d+|float|double|half|ptr|void|label|x)\b)
    |(?P<n>-?\b(?:0x[0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b)
    |(?P<k>\b(?:define|declare|target|attributes|ret|br|switch|load|store|getelementptr|inbounds|phi
        |call|tail|fmul|fadd|fsub|fdiv|add|sub|mul|icmp|fcmp|select|alloca|bitcast|zext|sext|trunc
        |insertelement|extractelement|shufflevector|unreachable|align|nuw|nsw|fast|contract)\b)
    |(?P<o>[A-Za-z_]\w*|\s+|.)""",
    re.VERBOSE,
)
_ASM = re.compile(
    r"""(?P<c>(?:\#|;|//).*)
    |(?P<s>"[^"]*"?)
    |(?P<d>^\s*\.[\w.]+|^[\w.$]+:)
    |(?P<m>%[a-z]\w*)
    |(?P<n>\$?-?\b(?:0x[0-9A-Fa-f]+|\d+)\b)
    |(?P<k>^\s*[a-z][\w.]*)
    |(?P<o>[A-Za-z_]\w*|\s+|.)""",
    re.VERBOSE,
)
RULES = {
    "script": _PYTHON, "python": _PYTHON, "llvm": _LLVM, "llvm-ir": _LLVM, "asm": _ASM,
}  # fmt: skip


@lru_cache(maxsize=20_000)  # the same lines come back pass after pass
def tokens(text: str, language: str = "script") -> tuple[Token, ...]:
    """One line of `text` as tokens whose texts join to `text`; an unknown language is plain."""
    rule = RULES.get(language)
    if rule is None:
        return (Token(text),) if text else ()
    out: list[Token] = []
    for found in rule.finditer(text):
        kind = found.lastgroup or "o"
        kind = "" if kind == "o" else kind
        if out and out[-1].kind == kind == "":
            out[-1] = Token(out[-1].text + found.group())
        else:
            out.append(Token(found.group(), kind))
    return tuple(out)


def code_lines(text: str, language: str = "script", start: int = 1) -> tuple[CodeLine, ...]:
    """`text` as numbered, highlighted lines."""
    lines = text.rstrip("\n").split("\n") if text else []
    return tuple(CodeLine(tokens(one, language), start + i) for i, one in enumerate(lines))


_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def words(text: str) -> list[str]:
    """`text` cut into identifiers, numbers, blanks and single symbols."""
    return _WORD.findall(text)
