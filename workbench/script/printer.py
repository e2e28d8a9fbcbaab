"""The printing engine: a table from node types to functions, names of variables, pages.

A printer function gets the node and the running `Printer`. For an expression or a type it returns
a `Doc`; for a statement it adds lines and returns None. Dialects register their functions with
`@prints(For)` in `workbench.<dialect>.script`, which is imported when the first of its nodes is
printed. What has no printer is shown as `metadata["type"][i]`; what is ill-formed is shown in the
generic form, so printing never fails.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.core.dispatch import Dispatch
from workbench.core.leaves import find_leaf
from workbench.core.names import identifier
from workbench.core.node import FrozenMap, Node
from workbench.core.registry import Registry
from workbench.core.serial import to_json
from workbench.core.text import generic_repr
from workbench.core.traverse import free_vars
from workbench.script.doc import ATOM, Doc, Page, Range, call, literal, mapping, seq, text

#: node type → function(node, printer).
printers = Dispatch("script printer")
prints = printers.register

#: How free variables of a type are declared before use: type → function(var, name, printer) → Doc.
declarations = Dispatch("script declaration")

#: Names that variables must not take.
RESERVED = frozenset(
    [
        "T",
        "R",
        "I",
        "cls",
        "metadata",
        "range",
        "self",
        "None",
        "True",
        "False",
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "except",
        "finally",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "is",
        "lambda",
        "nonlocal",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "try",
        "while",
        "with",
        "yield",
        "workbench",
        "tvm",
        "int",
        "float",
        "bool",
        "str",
        "list",
        "tuple",
        "dict",
    ]
)


#: Node types that stand for a whole program; their free variables are declared inside them.
PROGRAMS: set[str] = {"ir.IRModule", "tirx.PrimFunc", "relax.Function"}

#: Types whose values are statements: printed alone, their free variables are declared first.
STATEMENTS: list[type] = []


@dataclass(frozen=True)
class Options:
    """What can be chosen about the text.

    Parameters
    ----------
    name : the name of a function or module printed on its own.
    syntax_sugar : short forms (`T.grid`, `T.axis.remap`, scalars, no root block, `A.view`).
    show_meta : print the content of `metadata[...]` entries at the end.
    indent_spaces : width of one level.
    num_context_lines : with underlined nodes, lines shown around them (-1: all).
    show_all_ty : print the types of all Relax variables, also of those that can be derived.
    header : print the comment lines that say what `T`, `R` and `I` are.
    package : the package named in that comment.
    """

    name: str | None = None
    syntax_sugar: bool = True
    show_meta: bool = False
    indent_spaces: int = 4
    num_context_lines: int = -1
    show_all_ty: bool = True
    header: bool = True
    package: str = "workbench"
    obj_to_underline: Sequence[Any] = ()
    obj_to_annotate: dict[Any, str] = field(default_factory=dict)


class _NotClosed(Exception):
    """A program that was assumed to be closed has a free variable."""


@dataclass
class Printer:
    """One run of the printer over one value."""

    options: Options
    page: Page = field(default_factory=Page)
    indent: int = 0
    #: The namespace prefix that types and constants take here.
    prefix: str = "T"
    #: What a variable is called where it is used, by identity.
    names: dict[int, str] = field(default_factory=dict)
    #: Facts that dialects keep about nodes in view, by identity.
    facts: dict[Any, Any] = field(default_factory=dict)
    used_prefixes: set[str] = field(default_factory=set)
    metadata: dict[str, list[Any]] = field(default_factory=dict)
    #: Whether undeclared variables get a line of their own before the current line.
    declares: bool = False
    #: Whether the program is assumed to have no free variables, which saves looking for them.
    closed: bool = False
    _taken: dict[str, int] = field(default_factory=dict)
    #: By base name: no smaller number than this is free; by name: its base and number.
    _next: dict[str, int] = field(default_factory=dict)
    _derived: dict[str, tuple[str, int]] = field(default_factory=dict)
    _scopes: list[list[tuple[int, str]]] = field(default_factory=lambda: [[]])
    _keep: list[Any] = field(default_factory=list)

    # Expressions

    def doc(self, value: Any) -> Doc:
        """The piece of text of any value that may occur in a node."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return self.scalar(value)
        if isinstance(value, (tuple, list)):
            return seq([self.doc(v) for v in value])
        if isinstance(value, dict):
            return self.mapping(value)
        cls = type(value)
        function = printers.find(cls) or load_printer(cls)
        if function is None:
            return self.meta(value)
        out = function(value, self)
        assert out is not None, f"{cls.__name__} is a statement, not an expression"
        return out.of(value)

    def scalar(self, value: Any) -> Doc:
        """A Python constant; infinities and NaN as `float("inf")`."""
        if isinstance(value, float) and (value != value or value in (_INF, -_INF)):
            return text(f'float("{value!r}")')
        if isinstance(value, int) and not isinstance(value, bool):
            value = int(value)  # an enumeration is written as its number
        return literal(value)

    def mapping(self, value: Mapping[Any, Any]) -> Doc:
        """A dictionary with its keys in order of their text."""
        items = sorted(value.items(), key=lambda kv: str(kv[0]))
        return mapping([(self.doc(k), self.attribute(v)) for k, v in items])

    def attribute(self, value: Any) -> Doc:
        """A value in a dictionary of attributes, where node and Python constants differ."""
        special = attribute_printers.find(type(value))
        if special is None and isinstance(value, Node) and type(value) not in printers:
            load_printer(type(value))
            special = attribute_printers.find(type(value))
        if special is not None:
            return special(value, self).of(value)
        if isinstance(value, (tuple, list)):
            return seq([self.attribute(v) for v in value])
        return self.doc(value)

    def meta(self, value: Any) -> Doc:
        """A reference to an entry of the metadata section."""
        leaf = find_leaf(type(value))
        if isinstance(value, Node):
            key = metadata_keys.get(type(value).__type_key__, type(value).__type_key__)
        elif leaf is not None:
            key = f"leaf.{leaf.name}"
        else:
            raise TypeError(f"a {type(value).__name__} has no script form")
        entries = self.metadata.setdefault(key, [])
        number = next((i for i, known in enumerate(entries) if known is value), len(entries))
        if number == len(entries):
            entries.append(value)
        return Doc((f'metadata["{key}"][{number}]',), ATOM, value)

    # Statements

    def line(self, *parts: str | Doc) -> None:
        """Adds a line at the current indentation."""
        self.page.add(self.indent, Doc(parts) if len(parts) != 1 else parts[0])

    def stmt(self, node: Any) -> None:
        """Adds the lines of a statement."""
        self.page.open(node)
        cls = type(node)
        function = printers.find(cls) or load_printer(cls)
        out = self.meta(node) if function is None else function(node, self)
        if out is not None:
            self.line(out)
        self.page.close(node)

    def block(self, body: Callable[[], None]) -> None:
        """Adds what `body` adds, one level deeper and in a scope of its own."""
        self.indent += 1
        self.push()
        before = len(self.page.items)
        body()
        if not any(type(item[0]) is int for item in self.page.items[before:]):
            self.line("pass")
        self.pop()
        self.indent -= 1

    # Names

    def push(self) -> None:
        """Enters a scope of names."""
        self._scopes.append([])

    def pop(self) -> None:
        """Leaves it: its names are free again."""
        for key, name in self._scopes.pop():
            self.names.pop(key, None)
            if name:
                self._release(name)

    def _release(self, name: str) -> None:
        left = self._taken[name] - 1
        if left:
            self._taken[name] = left
            return
        del self._taken[name]
        base, number = self._derived.pop(name, (name, 0))
        self._next[base] = min(self._next.get(base, 0), number)

    def fresh(self, hint: str) -> str:
        """A name that nothing in view has."""
        base = identifier(hint)
        number = self._next.get(base, 0)
        name = f"{base}_{number}" if number else base
        while name in RESERVED or name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._next[base] = number
        if number:
            self._derived[name] = (base, number)
        return name

    def define(self, var: Any, hint: str | None = None) -> str:
        """Gives a variable a name in the current scope (it keeps one that it has)."""
        known = self.names.get(id(var))
        if known is not None:
            return known
        name = self.fresh(var.name if hint is None else hint)
        self.bind(var, name)
        self.reserve(name)
        self._scopes[-1][-1] = (id(var), name)
        return name

    def bind(self, var: Any, expression: str) -> None:
        """Lets a variable be written as `expression` in the current scope."""
        self.names[id(var)] = expression
        self._keep.append(var)  # so that its id stays its own
        self._scopes[-1].append((id(var), ""))

    def reserve(self, name: str) -> None:
        """Keeps variables from taking `name`."""
        self._taken[name] = self._taken.get(name, 0) + 1

    def knows(self, var: Any) -> bool:
        """Whether the variable has a name here."""
        return id(var) in self.names

    def use(self, var: Any) -> str:
        """The name of a variable; one without a name is declared first, or named as it says."""
        name = self.names.get(id(var))
        if name is not None:
            return name
        if self.declares:
            return self.declare(var)
        return self.define(var)

    def declare(self, var: Any) -> str:
        """Adds a line that creates a free variable, where its type has such a form."""
        if self.closed:
            raise _NotClosed
        found = declarations.find(type(var.ty)) if var.ty is not None else None
        if found is None and isinstance(var.ty, Node):
            load_printer(type(var.ty))
            found = declarations.find(type(var.ty))
        if found is None:
            return self.define(var)
        value = found(var.ty, self)
        name = self.define(var)
        self.line(Doc((name,), ATOM, var), " = ", value)
        return name


#: Names of node types in `metadata[...]`, where TVM's differ from ours.
metadata_keys: dict[str, str] = {}

#: How a value is written inside a dictionary of attributes, where that differs.
attribute_printers = Dispatch("attribute printer")
_INF = float("inf")


def load_printer(cls: type) -> Callable[..., Any] | None:
    """Imports the script package of the dialect that declares `cls`; its printer or None."""
    parts = cls.__module__.split(".")
    if len(parts) > 1 and parts[0] == "workbench" and load_dialect(parts[1]):
        return printers.find(cls)
    return None


def load_dialect(name: str) -> bool:
    """Imports the script package of a dialect, unless it has none or is loaded already."""
    module = f"workbench.{name}.script"
    if name in ("core", "runtime") or module in sys.modules:
        return False
    if importlib.util.find_spec(f"workbench.{name}") is None:
        return False
    if importlib.util.find_spec(module) is None:
        return False
    importlib.import_module(module)  # seam: the printers of a dialect are loaded on first use
    return True


#: Printed before and after a program: function(printer, value).
_frames: Registry[Any] = Registry("script frame")


def _header(printer: Printer) -> list[str]:
    names = {"I": "ir", "T": "tirx", "R": "relax"}
    package = printer.options.package
    used = [k for k in names if k in printer.used_prefixes]
    return [f"# from {package}.script import {names[k]} as {k}" for k in used]


def _footer(printer: Printer) -> list[str]:
    if not printer.metadata:
        return []
    if not printer.options.show_meta:
        return ["", "# Metadata omitted. Use show_meta=True in script() to show it."]
    content = FrozenMap({k: tuple(vs) for k, vs in printer.metadata.items()})
    package = printer.options.package
    escaped = to_json(content).replace("\\", "\\\\")
    return ["", f'metadata = {package}.ir.load_json("""{escaped}""")']


def _print(value: Any, options: Options) -> tuple[str, dict[int, list[Range]]]:
    is_program = isinstance(value, Node) and value.__type_key__ in PROGRAMS
    if is_program:
        try:
            return _print_with(Printer(options, closed=True), value, True)
        except _NotClosed:
            pass
    return _print_with(Printer(options), value, is_program)


def _print_with(
    printer: Printer, value: Any, is_program: bool
) -> tuple[str, dict[int, list[Range]]]:
    options = printer.options
    if isinstance(value, Node) and (printers.find(type(value)) or load_printer(type(value))):
        if not is_program and isinstance(value, tuple(STATEMENTS)):
            printer.declares = True
            for var in free_vars(value):
                printer.use(var)
        printer.stmt(value)
    else:
        printer.line(printer.doc(value))
    extra = Page()
    if is_program and options.header:
        for one in [*_header(printer), ""]:
            extra.add(0, one)
    extra.items += printer.page.items
    for one in _footer(printer):
        extra.add(0, one)
    return extra.render(options.indent_spaces)


#: Nesting that Python's default limit of recursion does not allow; frames live on the heap.
_DEEP = 400_000


def print_with_ranges(value: Any, **options: Any) -> tuple[str, dict[int, list[Range]]]:
    """The text of a value and, by `id(node)`, the ranges (start, end) of every node in it.

    The value has to stay alive as long as the ranges are used.
    """
    chosen = _options(options)
    try:
        return _print(value, chosen)
    except RecursionError:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _DEEP))
        try:
            return _print(value, chosen)
        finally:
            sys.setrecursionlimit(limit)


#: Options of TVM's `script()` that change nothing here.
_IGNORED = frozenset(
    [
        "ir_prefix",
        "tir_prefix",
        "relax_prefix",
        "module_alias",
        "buffer_dtype",
        "int_dtype",
        "float_dtype",
        "verbose_expr",
        "print_line_numbers",
        "show_object_address",
        "extra_config",
        "path_to_underline",
        "path_to_annotate",
    ]
)


def _options(given: dict[str, Any]) -> Options:
    known = {k: v for k, v in given.items() if k not in _IGNORED}
    try:
        return Options(**known)
    except TypeError as error:
        names = ", ".join(Options.__dataclass_fields__)
        raise TypeError(f"script(): {error}; options: {names}") from None


def script(value: Any, **options: Any) -> str:
    """The text of a value. Ill-formed values are printed in the generic form.

    Options: see `Options`.
    """
    chosen = _options(options)
    cls = type(value)
    if isinstance(value, Node) and printers.find(cls) is None and load_printer(cls) is None:
        return generic_repr(value)  # a node without a script form, such as one of a test
    try:
        if chosen.obj_to_underline or chosen.obj_to_annotate:
            marks = {id(n): "" for n in chosen.obj_to_underline}
            marks.update({id(n): m for n, m in chosen.obj_to_annotate.items()})
            return _underlined(value, marks, options, chosen.num_context_lines)
        return print_with_ranges(value, **options)[0]
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        return f"{generic_repr(value)}  # not printable as script: {error}"


#: More lines than this are cut to the surroundings of the underlined ones.
_LONG = 80


def underline(root: Any, nodes: Sequence[Any], message: str) -> str:
    """The program with `nodes` underlined by ^^^ and `message` beside the first of them."""
    marks: dict[int, str] = {}
    for position, node in enumerate(nodes):
        marks[id(node)] = message if position == 0 else ""
    return _underlined(root, marks, {}, -1)


def _underlined(root: Any, marks: dict[int, str], options: dict[str, Any], context: int) -> str:
    wanted = {k: v for k, v in options.items() if not k.startswith("obj_to_")}
    program, ranges = print_with_ranges(root, **wanted)
    lines = program.split("\n")
    starts = [0]
    for one in lines:
        starts.append(starts[-1] + len(one) + 1)
    below: dict[int, list[tuple[int, int, str]]] = {}
    for key, note in marks.items():
        for number, (start, end) in enumerate(ranges.get(key, ())):
            row = _row(starts, start)
            column = start - starts[row]
            width = max(1, min(end - start, len(lines[row]) - column))
            below.setdefault(row, []).append((column, width, note if number == 0 else ""))
    if context < 0 and len(lines) > _LONG:
        context = 8
    shown = set(range(len(lines)))
    if context >= 0 and below:
        shown = {i for row in below for i in range(row - context, row + context + 1)}
    out: list[str] = []
    skipped = False
    for number, one in enumerate(lines):
        if number not in shown:
            if not skipped:
                out.append("…")
            skipped = True
            continue
        skipped = False
        out.append(one)
        if number in below:
            out.extend(_marker(below[number]))
    return "\n".join(out)


def _row(starts: list[int], offset: int) -> int:
    from bisect import bisect_right

    return bisect_right(starts, offset) - 1


def _marker(places: list[tuple[int, int, str]]) -> list[str]:
    length = max(column + width for column, width, _ in places)
    marks = [" "] * length
    for column, width, _ in places:
        marks[column : column + width] = "^" * width
    notes = [note for _, _, note in places if note]
    return ["".join(marks) + (f" {notes[0]}" if notes else "")]


__all__ = [
    "PROGRAMS",
    "STATEMENTS",
    "Options",
    "Printer",
    "attribute_printers",
    "call",
    "declarations",
    "load_printer",
    "print_with_ranges",
    "printers",
    "prints",
    "script",
    "underline",
]
