"""What changed between two printed programs, told in terms of the program.

Three differences from a text diff: functions are matched by name, so moved ones do not count;
a consistent renaming of variables is found first and does not count; and a summary names what
happened ("loop i (128) split into i_0 × i_1", "R.nn.relu −3", "function fused_add added").
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from .highlight import tokens, words
from .part import (
    Badge,
    Bullets,
    Code,
    CodeFold,
    CodeLine,
    Column,
    Empty,
    Heading,
    Line,
    Mark,
    Part,
    Text,
    Token,
)

#: Unchanged lines shown around a change.
CONTEXT = 3
#: Lines of more words are not compared word by word; a line is compared with so many others.
MAX_WORDS, MAX_TRIED = 120, 12

_NOT_NAMES = frozenset({*keyword.kwlist, "T", "R", "I", "cls", "sch", "self"})
_DEF = re.compile(r"^(\s*)def (\w+)\(")
_LOOP = re.compile(r"^\s*for (.+?) in (range|T\.\w+|sch\.\w+)\((.*)\):")
_CALL = re.compile(r"(?<![\w.])([TRI]\.[\w.]+|sch\.\w+)(?=\()")


@dataclass(frozen=True, slots=True)
class FunctionDiff:
    """One function: its lines with marks (before folding), and the counts."""

    name: str
    status: str  # "added", "removed", "changed", "renamed" (variables only), "same"
    lines: tuple[CodeLine, ...]
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference of two programs.  `added` and `removed` count lines that truly differ."""

    functions: tuple[FunctionDiff, ...]
    added: int
    removed: int
    renames: tuple[tuple[str, str], ...]
    summary: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Whether anything but names differs."""
        return bool(self.added or self.removed)

    @property
    def counts(self) -> str:
        """ "+N −M", or "no change"."""
        return f"+{self.added} −{self.removed}" if self.changed else "no change"


def diff(before: str, after: str) -> Diff:
    """The structural difference of two scripts (each a whole module or one function)."""
    old, new = dict(split_functions(before)), dict(split_functions(after))
    for side in (old, new):
        if "" in side:
            side[""] = [line for line in side[""] if _telling(line)]
    parts: list[FunctionDiff] = []
    renames: dict[str, str] = {}
    for name in [*new, *(n for n in old if n not in new)]:
        if name not in old:
            parts.append(_whole(name, "added", "+", new[name]))
        elif name not in new:
            parts.append(_whole(name, "removed", "-", old[name]))
        elif old[name] == new[name]:
            lines = tuple(CodeLine(tokens(text), i) for i, text in enumerate(new[name], 1))
            parts.append(FunctionDiff(name, "same", lines, 0, 0))
        else:
            found, names = _function_diff(name, old[name], new[name])
            parts.append(found)
            renames.update(names)
    added = sum(part.added for part in parts)
    removed = sum(part.removed for part in parts)
    summary = tuple(_summary(parts, old, new)) if added or removed else ()
    return Diff(tuple(parts), added, removed, tuple(renames.items()), summary)


def split_functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """(name, lines) per function, decorators included; what comes before is named ""."""
    pending: list[str] = []
    current: list[str] = []
    name, indent = "", -1
    for line in text.rstrip("\n").split("\n") if text else ():
        depth = len(line) - len(line.lstrip())
        found = _DEF.match(line)
        opens = found is not None and (indent < 0 or depth <= indent)
        if opens or (line.lstrip().startswith("@") and (indent < 0 or depth <= indent)):
            if not opens:
                pending.append(line)
                continue
            assert found is not None
            if current and any(one.strip() for one in current):
                yield name, _trimmed(current)
            name, indent, current = found[2], depth, [*pending, line]
            pending = []
        else:
            current.extend(pending)
            pending = []
            current.append(line)
    current.extend(pending)
    if any(one.strip() for one in current):
        yield name, _trimmed(current)


def _telling(line: str) -> bool:
    """Whether a line outside functions says something about the program."""
    text = line.strip()
    return bool(text) and text != "pass" and not text.startswith("# from ")


def _trimmed(lines: list[str]) -> list[str]:
    """`lines` without blank lines at the end."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _whole(name: str, status: str, mark: Mark, lines: Sequence[str]) -> FunctionDiff:
    """A function that is there on one side only."""
    made = tuple(CodeLine(tokens(text), i, mark) for i, text in enumerate(lines, 1))
    count = len(lines)
    return FunctionDiff(
        name, status, made, count if mark == "+" else 0, count if mark == "-" else 0
    )


def _is_name(word: str, previous: str) -> bool:
    """Whether a word may be a variable: an identifier that is no attribute and no keyword."""
    return (word[0].isalpha() or word[0] == "_") and previous != "." and word not in _NOT_NAMES


def _skeleton(line: str) -> str:
    """A line with variables replaced: equal skeletons may be a renaming."""
    out: list[str] = []
    previous = ""
    in_string = ""
    for word in words(line):
        if in_string:
            in_string = "" if word == in_string else in_string
        elif word in "\"'":
            in_string = word
        elif _is_name(word, previous):
            out.append("\0")
            previous = word
            continue
        out.append(word)
        previous = word
    return "".join(out)


def find_renames(old: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """A one-to-one map of variable names that makes most of the aligned lines equal."""
    votes: Counter[tuple[str, str]] = Counter()
    for tag, i0, i1, j0, _ in _match([_skeleton(s) for s in old], [_skeleton(s) for s in new]):
        if tag != "equal":
            continue
        for a, b in zip(old[i0:i1], new[j0:], strict=False):
            previous = ""
            for left, right in zip(words(a), words(b), strict=True):
                if _is_name(left, previous) and _is_name(right, previous):
                    votes[left, right] += 1
                previous = left
    taken: dict[str, str] = {}
    back: dict[str, str] = {}
    for (left, right), _ in sorted(votes.items(), key=lambda item: (-item[1], item[0])):
        if left not in taken and right not in back:
            taken[left], back[right] = right, left
    # A name that is still in use on the other side under the same name was not renamed.
    return {a: b for a, b in taken.items() if a != b}


def _renamed(line: str, names: dict[str, str]) -> str:
    """`line` with variables renamed."""
    out: list[str] = []
    previous = ""
    for word in words(line):
        out.append(names.get(word, word) if _is_name(word, previous) else word)
        previous = word
    return "".join(out)


def _match(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Opcodes as of difflib, after cutting equal ends; without its "popular line" heuristic."""
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    out: list[tuple[str, int, int, int, int]] = []
    if head:
        out.append(("equal", 0, head, 0, head))
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    # The quadratic worst case is not worth waiting for on very long functions.
    junk = len(middle_a) * len(middle_b) > 4_000_000
    if middle_a or middle_b:
        for tag, i0, i1, j0, j1 in SequenceMatcher(
            None, middle_a, middle_b, autojunk=junk
        ).get_opcodes():
            out.append((tag, i0 + head, i1 + head, j0 + head, j1 + head))
    if tail:
        out.append(("equal", len(a) - tail, len(a), len(b) - tail, len(b)))
    return out


def _function_diff(
    name: str, old: Sequence[str], new: Sequence[str]
) -> tuple[FunctionDiff, dict[str, str]]:
    """The marked lines of one function and the renaming that was applied first."""
    names = find_renames(old, new)
    shown = [_renamed(line, names) for line in old] if names else list(old)
    lines: list[CodeLine] = []
    added = removed = 0
    used: set[str] = set()
    # Indentation is structure that the lines around a line tell: a line that only moved deeper is
    # the same line, and is marked "~" like one whose names changed.
    for tag, i0, i1, j0, j1 in _match([s.strip() for s in shown], [s.strip() for s in new]):
        if tag == "equal":
            for i, j in zip(range(i0, i1), range(j0, j1), strict=True):
                mark: Mark = "" if old[i] == new[j] else "~"
                if mark and old[i].strip() != new[j].strip():
                    used.update(words(old[i]))
                lines.append(CodeLine(tokens(new[j]), j + 1, mark))
            continue
        removed += i1 - i0
        added += j1 - j0
        gone, come = emphasised(old[i0:i1], new[j0:j1])
        lines.extend(CodeLine(t, i0 + k + 1, "-") for k, t in enumerate(gone))
        lines.extend(CodeLine(t, j0 + k + 1, "+") for k, t in enumerate(come))
    status = "changed" if added or removed else "renamed"
    renames = {a: b for a, b in names.items() if a in used}
    return FunctionDiff(name, status, tuple(lines), added, removed), renames


def emphasised(
    old: Sequence[str], new: Sequence[str]
) -> tuple[list[tuple[Token, ...]], list[tuple[Token, ...]]]:
    """Tokens of removed and added lines; where two lines are alike, what differs is strong."""
    gone = [tokens(text) for text in old]
    come = [tokens(text) for text in new]
    for i, j in _pair(old, new):
        a, b = words(old[i]), words(new[j])
        left: list[tuple[int, int]] = []
        right: list[tuple[int, int]] = []
        at_a, at_b = _offsets(a), _offsets(b)
        for tag, i0, i1, j0, j1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            # Depth is what the lines around tell: blanks at the start are not emphasised.
            if tag != "equal":
                left.append((max(at_a[i0], _indent(old[i])), at_a[i1]))
                right.append((max(at_b[j0], _indent(new[j])), at_b[j1]))
        gone[i], come[j] = _strong(gone[i], left), _strong(come[j], right)
    return gone, come


def _indent(text: str) -> int:
    """Number of blanks at the start."""
    return len(text) - len(text.lstrip())


def _pair(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of lines that are versions of each other, in order (greedy, at least 70 % alike).

    Comparing words is quadratic: long lines are left out, and only near lines are tried.
    """
    left = [words(text.strip()) for text in old]
    right = [words(text.strip()) for text in new]
    start = 0
    for i, a in enumerate(left):
        if len(a) > MAX_WORDS:
            continue
        best, place = 0.7, -1
        matcher = SequenceMatcher(None, b=a, autojunk=False)
        for j in range(start, min(len(right), start + MAX_TRIED)):
            if len(right[j]) > MAX_WORDS:
                continue
            matcher.set_seq1(right[j])
            if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
                ratio = matcher.ratio()
                if ratio > best:
                    best, place = ratio, j
        if place >= 0:
            yield i, place
            start = place + 1


def _offsets(pieces: Sequence[str]) -> list[int]:
    """The start of each piece, and the end of the last."""
    out = [0]
    for piece in pieces:
        out.append(out[-1] + len(piece))
    return out


def _strong(line: tuple[Token, ...], spans: Sequence[tuple[int, int]]) -> tuple[Token, ...]:
    """`line` with the characters in `spans` marked strong."""
    cuts = sorted({edge for span in spans for edge in span})
    out: list[Token] = []
    at = 0
    for token in line:
        end = at + len(token.text)
        edges = [at, *(cut for cut in cuts if at < cut < end), end]
        for low, high in pairwise(edges):
            strong = any(a <= low and high <= b for a, b in spans) and high > low
            out.append(Token(token.text[low - at : high - at], token.kind, strong))
        at = end
    return tuple(out)


def _summary(
    parts: Sequence[FunctionDiff], old: dict[str, list[str]], new: dict[str, list[str]]
) -> Iterator[str]:
    """Sentences that say what happened, the most telling first."""
    for status in ("added", "removed"):
        names = [p.name for p in parts if p.status == status and p.name]
        if names:
            some = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if names[6:] else "")
            yield f"function{'s' if len(names) > 1 else ''} {status}: {some}"
    for part in parts:
        if part.status == "changed":
            where = f" in {part.name}" if len(parts) > 1 else ""
            yield from (text + where for text in _loop_changes(old[part.name], new[part.name]))
    before, after = _calls(old), _calls(new)
    deltas = {name: after[name] - before[name] for name in {*before, *after}}
    ranked = sorted((n for n in deltas if deltas[n]), key=lambda n: (-abs(deltas[n]), n))
    told = [f"{n} {'+' if deltas[n] > 0 else '−'}{abs(deltas[n])}" for n in ranked[:8]]
    if told:
        yield "uses: " + ", ".join(told) + (" …" if len(ranked) > 8 else "")


def _calls(functions: dict[str, list[str]]) -> Counter[str]:
    """How often each `T.x`, `R.x` is called in code (comments excluded)."""
    out: Counter[str] = Counter()
    for lines in functions.values():
        for text in lines:
            if not text.lstrip().startswith(("#", "@")):
                out.update(_CALL.findall(text))
    for boring in ("T.Buffer", "R.Tensor", "T.reads", "T.writes", "R.output", "T.func_attr"):
        out.pop(boring, None)
    return out


Loops = dict[str, list[tuple[str, str]]]


def _loops(lines: Sequence[str]) -> Loops:
    """variable → (kind, extent) of each loop of that name, in program order."""
    out: Loops = {}
    for text in lines:
        found = _LOOP.match(text)
        if found is None:
            continue
        names = [name.strip() for name in found[1].split(",")]
        kind = {"range": "serial", "T.serial": "serial", "T.grid": "serial"}.get(
            found[2], found[2].removeprefix("T.")
        )
        extents = re.split(r",\s*(?![^()]*\))", found[3])
        if found[2] != "T.grid":
            positional = [one for one in extents if "=" not in one]
            extents = positional[-1:]
        for name, extent in zip(names, extents, strict=False):
            out.setdefault(name, []).append((kind, extent.strip()))
    return out


def _loop_changes(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Splits, fusions, changes of kind and order, read off loop names and extents."""
    before, after = _loops(old), _loops(new)
    gone = [n for n in before if len(before[n]) > len(after.get(n, ()))]
    come = [n for n in after if len(after[n]) > len(before.get(n, ()))]
    for name in gone:
        made = [other for other in come if re.fullmatch(rf"{re.escape(name)}(_\d+)+", other)]
        if len(made) > 1:
            shown = " × ".join(f"{other} ({after[other][0][1]})" for other in made)
            yield f"loop {name} ({before[name][0][1]}) split into {shown}"
    for name in come:
        kept = [g for g in gone if "_fused" in name and g in name.split("_fused")[0]]
        if len(kept) > 1:
            yield f"loops {', '.join(kept)} fused into {name} ({after[name][0][1]})"
    for name, loops in after.items():
        earlier = before.get(name, [])
        if name in come and name not in before:
            if loops[0][0] not in ("serial", "grid"):
                yield f"loop {name} is {loops[0][0]}"
        elif len(earlier) == len(loops):
            for (kind_a, extent_a), (kind_b, extent_b) in zip(earlier, loops, strict=True):
                if kind_a != kind_b:
                    yield f"loop {name} is now {kind_b} (was {kind_a})"
                elif extent_a != extent_b:
                    yield f"extent of loop {name}: {extent_a} → {extent_b}"
    order_a, order_b = list(before), list(after)
    if order_a != order_b and sorted(order_a) == sorted(order_b) and not gone and not come:
        yield f"loop order: {', '.join(order_a)} → {', '.join(order_b)}"


def folded(lines: Sequence[CodeLine], context: int = CONTEXT) -> tuple[CodeLine | CodeFold, ...]:
    """`lines` with long unchanged stretches folded."""
    keep = [False] * len(lines)
    for i, one in enumerate(lines):
        if one.mark in ("+", "-"):
            for k in range(max(0, i - context), min(len(lines), i + context + 1)):
                keep[k] = True
    out: list[CodeLine | CodeFold] = []
    i = 0
    while i < len(lines):
        if keep[i]:
            out.append(lines[i])
            i += 1
            continue
        end = i
        while end < len(lines) and not keep[end]:
            end += 1
        hidden = tuple(lines[i:end])
        if len(hidden) <= 2:
            out.extend(hidden)
        else:
            out.append(CodeFold(f"{len(hidden)} unchanged lines", hidden))
        i = end
    return tuple(out)


def diff_part(found: Diff, fold: bool = True) -> Part:
    """A diff as a view: counts, summary, then each function that is not the same."""
    if not found.functions:
        return Empty("both programs are empty")
    children: list[Part] = [_headline(found)]
    if found.summary:
        children.append(Bullets(tuple(Text(text) for text in found.summary)))
    shown = 0
    for part in found.functions:
        if part.status in ("same", "renamed"):
            continue
        shown += 1
        name = part.name or "(head of the module)"
        if len(found.functions) > 1:
            children.append(Heading(f"{name}: {part.status} +{part.added} −{part.removed}", 4))
        whole = part.status in ("added", "removed") or not fold
        lines = part.lines if whole else folded(part.lines)
        children.append(Code(lines, f"diff of {name}"))
    same = len(found.functions) - shown
    if shown == 0:
        why = "only names of variables differ" if found.renames else "the programs are equal"
        children.append(Empty(f"nothing changed: {why}"))
    elif same:
        word = "function is" if same == 1 else "functions are"
        children.append(Text(f"{same} other {word} unchanged.", "dim"))
    if any(one.mark == "~" for part in found.functions for one in part.lines if shown):
        legend = "~ marks a line that only moved deeper or whose names changed."
        children.append(Text(legend, "dim"))
    return Column(tuple(children))


def _headline(found: Diff) -> Part:
    """Counts and renames in one line."""
    pieces: list[Part] = [Badge(found.counts, "info" if found.changed else "neutral")]
    if found.renames:
        some = ", ".join(f"{a} → {b}" for a, b in found.renames[:6])
        more = f" and {len(found.renames) - 6} more" if found.renames[6:] else ""
        pieces.append(Text(f"renamed (not counted): {some}{more}", "dim"))
    return Line(tuple(pieces))
