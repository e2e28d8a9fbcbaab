"""A kernel from operator to assembly: operators | loops | machine code, with the links between.

The code generator gives each assembly line the lines of `tirx-lowered` that it implements; the
spans of statements lead on to the operators of the model.
"""

from __future__ import annotations

import bisect
import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.node import Node
from workbench.core.traverse import iter_nodes
from workbench.ir.span import SequentialSpan, Span
from workbench.runtime.executable import Executable
from workbench.script import print_with_ranges
from workbench.tirx.stmt import Stmt

from .highlight import code_lines
from .panel import Data, Progress, Request, unknown
from .part import Bullets, Code, CodeLine, Empty, Part, Text, column, line
from .render_html import code_html, fragment
from .stages import stages_view

#: Longer listings are cut (and say so).
MAX_LINES = 3000

_DEF = re.compile(r"^\s*def (\w+)\(")
_SYMBOL = re.compile(r"^(?:__wb_|__tvm_ffi_)?(\w+?)(?:\.[\w.]+)?:")
#: The type of integer constants: indices are easier to read without.
_INT = re.compile(r"\bT\.int64\((-?\d+)\)")
#: Directives say nothing about what runs; the values of constants do.
_DIRECTIVE = re.compile(
    r"^\s*\.(?:cfi\w*|loc|file|text|p2align|type|size|globl|hidden|section|ident|addrsig\w*)\b"
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One loop function: its lines in the two texts, and what its statements implement."""

    name: str
    loops: tuple[int, ...]
    asm: tuple[int, ...]
    operators: tuple[str, ...]


def operators_of(node: Node) -> tuple[str, ...]:
    """The names of model operators that the spans of a function or statement lead to, in order."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    todo: deque[Any] = deque([getattr(node, "span", None)])
    while todo:
        span = todo.popleft()
        if not isinstance(span, Span) or id(span) in seen:
            continue
        seen.add(id(span))
        if isinstance(span, SequentialSpan):
            todo.extend(span.spans)
        if isinstance(span.origin, str):
            found[span.origin] = None
        elif isinstance(span.origin, Node):
            todo.append(getattr(span.origin, "span", None))
    return tuple(found)


class StagesPanel:
    """One kernel at a time; the page links lines by their identities.

    A loop line is "L14" plus "O0" for each operator that it implements, an assembly line lists the
    loop lines it came from, an operator is "O0".
    """

    module = "stages_view"
    pure = frozenset({"kernel"})
    slow: frozenset[str] = frozenset()

    def __init__(self, exe: Executable) -> None:
        """Raises WorkbenchError if `exe` has no stages (it was loaded from a file)."""
        names = [stage.name for stage in exe.stages]
        if "asm" not in names or "tirx-lowered" not in names:
            raise WorkbenchError(
                "explore: this executable has no stages to show",
                hint="one that was loaded has machine code only; compile the program here",
            )
        self.exe = exe
        self.title = "From operators to machine code"
        self.lowered, self.asm = exe.stage("tirx-lowered"), exe.stage("asm")
        self.loop_text = code_lines(_INT.sub(r"\1", self.lowered.text), self.lowered.language)
        self.asm_text = code_lines(self.asm.text, self.asm.language)
        mod = self.lowered.value
        self.functions = {} if mod is None else {g.name_hint: f for g, f in mod.functions_items()}
        self.line_operators = self._line_operators()
        self.kernels = {kernel.name: kernel for kernel in self._kernels()}

    def _line_operators(self) -> dict[int, set[str]]:
        """Line of the loops → operators that its statements implement."""
        mod = self.lowered.value
        if mod is None:
            return {}
        text, ranges = print_with_ranges(mod)
        starts = [0, *(i + 1 for i, char in enumerate(text) if char == "\n")]
        found: dict[int, set[str]] = {}
        for stmt in iter_nodes(mod, Stmt):
            places = ranges.get(id(stmt))
            names = operators_of(stmt) if places else ()
            if names and places:
                found.setdefault(bisect.bisect_right(starts, places[0][0]), set()).update(names)
        return found

    def _kernels(self) -> Iterable[Kernel]:
        """The functions of the loops, each with its share of the assembly."""
        asm: dict[str, list[int]] = {}
        owner = ""
        for one in self.asm_text:
            found = _SYMBOL.match(one.text)
            if found is not None:
                owner = found[1]
            asm.setdefault(owner, []).append(one.number or 0)
        begin, name = 0, ""
        for i, one in enumerate(self.loop_text, 1):
            found = _DEF.match(one.text)
            if found is None:
                continue
            if name:
                yield self._kernel(name, range(begin, i), asm)
            begin, name = i, found[1]
        if name:
            yield self._kernel(name, range(begin, len(self.loop_text) + 1), asm)

    def _kernel(self, name: str, lines: range, asm: Mapping[str, list[int]]) -> Kernel:
        """One function, without the blank lines and decorators behind it."""
        loops = list(lines)
        while loops and self._is_gap(self.loop_text[loops[-1] - 1].text):
            loops.pop()
        lines_say = {one for n in loops for one in self.line_operators.get(n, ())}
        whole = operators_of(self.functions[name]) if name in self.functions else ()
        told = dict.fromkeys([*whole, *sorted(lines_say)])
        code = [n for n in asm.get(name, ()) if not _DIRECTIVE.match(self.asm_text[n - 1].text)]
        return Kernel(name, tuple(loops), tuple(code), tuple(told))

    @staticmethod
    def _is_gap(text: str) -> bool:
        """Whether a line belongs to what comes next."""
        return not text.strip() or text.lstrip().startswith(("@", "#"))

    def data(self) -> Data:
        """The list of kernels, and the first of them."""
        rows = [[k.name, len(k.loops), len(k.asm)] for k in self.kernels.values()]
        first = next(iter(self.kernels), "")
        return {"kernels": rows, "first": self._answer(first) if first else None}

    def _answer(self, name: str) -> Data:
        """The three listings of a kernel as HTML."""
        if name not in self.kernels:
            known = ", ".join(self.kernels)
            raise ValueError(f"there is no kernel {name!r}; there are {known or 'none'}")
        kernel = self.kernels[name]
        return {
            "name": name,
            "operators": list(kernel.operators),
            "loops": code_html(self._loops(kernel)),
            "asm": fragment(self._asm(kernel)),
        }

    def _loops(self, kernel: Kernel) -> Code:
        """The loop lines with their identities."""
        index = {name: f"O{i}" for i, name in enumerate(kernel.operators)}
        out = []
        for number in kernel.loops[:MAX_LINES]:
            names = self.line_operators.get(number, set())
            ident = " ".join([f"L{number}", *sorted(index[name] for name in names)])
            out.append(replace(self.loop_text[number - 1], ident=ident))
        return Code(tuple(out), f"loops of {kernel.name}")

    def _asm(self, kernel: Kernel, notes: bool = False) -> Part:
        """The assembly lines with the loop lines they came from."""
        out: list[CodeLine] = []
        before: tuple[int, ...] = ()
        for number in kernel.asm[:MAX_LINES]:
            places = tuple(p for p in self.asm.line_map.get(number, ()) if p in kernel.loops)
            ident = " ".join(f"L{place}" for place in places)
            note = "line " + ", ".join(map(str, places)) if places and places != before else ""
            shown = replace(self.asm_text[number - 1], ident=ident, note=note if notes else "")
            out.append(shown)
            before = places or before
        if not out:
            return Empty(f"{kernel.name} has no machine code of its own")
        hidden = len(kernel.asm) - len(out)
        more = Text(f"{hidden:,} more lines: exe.stage('asm').text", "dim") if hidden else None
        return column(Code(tuple(out), f"assembly of {kernel.name}"), more)

    def answer(self, op: str, args: Mapping[str, Any], progress: Progress) -> Data:
        """`kernel` {name}: its operators, loops and assembly."""
        if op != "kernel":
            raise unknown(self, op)
        return self._answer(str(args["name"]))

    def requests(self) -> Iterable[Request]:
        """Every kernel."""
        for name in self.kernels:
            yield "kernel", {"name": name}

    def static(self) -> Part:
        """The table of the stages, each of them folded."""
        return stages_view(self.exe)

    def pinned(self, state: Mapping[str, Any]) -> Part:
        """The kernel on show; its assembly says which loop line it is from."""
        kernel = self.kernels.get(str(state.get("name")))
        if kernel is None:
            return self.static()
        operators = [Text(name) for name in kernel.operators]
        return column(
            line(Text(kernel.name, "strong")),
            Bullets(tuple(operators)) if operators else None,
            self._loops(kernel),
            self._asm(kernel, notes=True),
        )


__all__ = ["Kernel", "StagesPanel", "operators_of"]
