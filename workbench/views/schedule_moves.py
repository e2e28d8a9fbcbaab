"""The menu of the schedule explorer: what can be applied to a loop or block, and why not.

Everything is derived from the declaration of a primitive: its first argument says whether it is
about a loop, several loops, or a block; loops, blocks and buffers that it takes besides become
choices, of which only those are offered that the schedule accepts; the rest are text fields.
"""

from __future__ import annotations

import ast
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ir.expr import GlobalVar, IntImm
from workbench.s_tir.schedule.instruction import InstructionKind, instruction_kinds
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV
from workbench.s_tir.schedule.schedule import Schedule
from workbench.s_tir.schedule.state import Entry, Key
from workbench.tirx.function import PrimFunc

from .loop_tree import Scope, scopes

#: Candidates tried for one argument; a program with more loops shows the nearest ones.
MAX_TRIED = 24
_THREADS = ("threadIdx.x", "threadIdx.y", "blockIdx.x", "blockIdx.y", "vthread.x")
_MEMORIES = ("global", "local", "shared")
_BUFFER_ARGUMENTS = {
    "read_buffer_index": "reads",
    "write_buffer_index": "writes",
    "buffer_index": "writes",
}
#: Suggestions for arguments without a default.
_SUGGESTED = {"axis": "-2", "factor": "32", "offset": "8", "ann_val": "16"}
_ANNOTATION = "pragma_auto_unroll_max_step"


@dataclass(frozen=True, slots=True)
class Field:
    """An argument to fill in: free text, or one of `choices` (value, label).

    `option` marks what has a default and is shown on request.  `missing` says that there is
    nothing to choose, and why.
    """

    name: str
    value: str
    choices: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    option: bool = False
    missing: str = ""

    def data(self) -> dict[str, Any]:
        """For the page."""
        out: dict[str, Any] = {"name": self.name, "value": self.value, "hint": self.hint}
        if self.option:
            out["option"] = True
        if self.choices:
            out["choices"] = [list(pair) for pair in self.choices]
        return out


@dataclass(frozen=True, slots=True)
class Move:
    """A primitive for the selected loop or block: its fields if legal, else the reason."""

    name: str
    doc: str
    legal: bool
    why: str = ""
    fields: tuple[Field, ...] = ()

    def data(self) -> dict[str, Any]:
        """For the page."""
        args = [field.data() for field in self.fields]
        return {
            "name": self.name, "doc": self.doc, "legal": self.legal, "why": self.why, "args": args,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A loop or block of the schedule's present program."""

    scope: Scope
    key: Key
    function: GlobalVar
    parents: tuple[str, ...]

    @property
    def ident(self) -> str:
        """The identity that the loop tree, the script and the page use."""
        return self.scope.ident

    @property
    def is_block(self) -> bool:
        """Whether it is a block."""
        return self.scope.is_block

    @property
    def name(self) -> str:
        """Name of the block or loop variable."""
        stmt = self.scope.stmt
        return stmt.block.name_hint if self.is_block else stmt.loop_var.name

    @property
    def label(self) -> str:
        """The name, counted where it repeats."""
        return self.ident.rpartition("/")[2].partition(":")[2]


class Places:
    """The loops and blocks of a schedule by identity."""

    def __init__(self, sch: Schedule) -> None:
        self.sch = sch
        self.trees: dict[str, list[Scope]] = {}
        self.by_id: dict[str, Place] = {}
        functions = [(g, f) for g, f in sch.mod.functions_items() if isinstance(f, PrimFunc)]
        for gvar, func in functions:
            prefix = f"{gvar.name_hint}/" if len(functions) > 1 else ""
            found = scopes(func, prefix)
            self.trees[gvar.name_hint] = found
            entries = {id(e.stmt): e for e in sch.state.index(gvar).entries.values()}
            for scope in found:
                self._add(scope, entries, gvar, ())

    def _add(
        self, scope: Scope, entries: Mapping[int, Entry], gvar: GlobalVar, parents: tuple[str, ...]
    ) -> None:
        """A scope and all inside it."""
        stmt = scope.stmt.block if scope.is_block else scope.stmt
        entry = entries.get(id(stmt))
        if entry is not None:
            self.by_id[scope.ident] = Place(scope, entry.key, gvar, parents)
            parents = (*parents, scope.ident)
        for child in scope.children:
            self._add(child, entries, gvar, parents)

    def __getitem__(self, ident: str) -> Place:
        found = self.by_id.get(ident)
        if found is None:
            raise WorkbenchError(f"the program has no loop or block {ident!r} now")
        return found

    def loops(self, function: GlobalVar) -> list[Place]:
        """All loops of a function in program order."""
        return [p for p in self.by_id.values() if not p.is_block and p.function == function]

    def blocks(self, function: GlobalVar) -> list[Place]:
        """All blocks of a function in program order."""
        return [p for p in self.by_id.values() if p.is_block and p.function == function]

    def chain(self, place: Place) -> list[Place]:
        """The loops inside a loop as long as each is all that its parent contains."""
        out: list[Place] = []
        at = place.scope
        while len(at.children) == 1 and not at.children[0].is_block:
            at = at.children[0]
            if at.ident not in self.by_id:
                break
            out.append(self.by_id[at.ident])
        return out


def subject(kind: InstructionKind) -> str:
    """ "loop", "loops", "block", "either" or "" : what the first argument of a primitive is."""
    if not kind.params:
        return ""
    first = kind.params[0]
    hint = kind.hints[first.name]
    parts = (hint, *typing.get_args(hint))
    loop, block = LoopRV in parts, SBlockRV in parts
    if loop and (first.name == kind.variadic or typing.get_origin(hint) in (list, Sequence)):
        return "loops"
    if loop and block:
        return "either"
    return "loop" if loop else "block" if block else ""


def applicable(place: Place) -> Iterator[InstructionKind]:
    """The primitives whose first argument can be this loop or block."""
    wanted = ("block", "either") if place.is_block else ("loop", "loops", "either")
    for name in instruction_kinds.names():
        kind = instruction_kinds[name]
        if not kind.is_pure and not name.startswith("Sample") and subject(kind) in wanted:
            yield kind


def menu(sch: Schedule, places: Places, ident: str) -> list[Move]:
    """The moves for a loop or block, legal ones first, in the order of their names."""
    place = places[ident]
    moves = [_move(sch, places, place, kind) for kind in applicable(place)]
    return sorted(moves, key=lambda move: (not move.legal, move.name))


def _doc(kind: InstructionKind) -> str:
    """The first sentence of a primitive's documentation."""
    text = " ".join((kind.function.__doc__ or "").strip().partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", text)[0].replace("`", "")


def _move(sch: Schedule, places: Places, place: Place, kind: InstructionKind) -> Move:
    """Try a primitive with its suggested arguments; keep the choices that are legal."""
    fields = [
        _field(places, place, kind, param.name)
        for param in kind.params
        if param.name != "decision" and (param is not kind.params[0] or subject(kind) == "loops")
    ]
    doc = _doc(kind)
    missing = next((f.missing for f in fields if f.missing), "")
    if missing:
        return Move(kind.method, doc, False, missing)
    at = next((i for i, f in enumerate(fields) if f.choices and _enumerated(kind, f.name)), None)
    values = {field.name: field.value for field in fields}
    if at is None:
        why = refusal(sch, places, place, kind, values)
        return Move(kind.method, doc, not why, why, tuple(fields))
    chosen = fields[at]
    good: list[tuple[str, str]] = []
    reasons: list[str] = []
    for value, label in chosen.choices[:MAX_TRIED]:
        why = refusal(sch, places, place, kind, {**values, chosen.name: value})
        if why:
            reasons.append(why if len(chosen.choices) == 1 else f"{label}: {why}")
        else:
            good.append((value, label))
    if not good:
        more = f" (and {len(reasons) - 1} other choices fail)" if len(reasons) > 1 else ""
        return Move(kind.method, doc, False, reasons[0] + more)
    fields[at] = replace(chosen, value=good[0][0], choices=tuple(good))
    return Move(kind.method, doc, True, "", tuple(fields))


def _enumerated(kind: InstructionKind, name: str) -> bool:
    """Whether the choices of an argument are loops, blocks or buffers: what legality hangs on."""
    hint = kind.hints[name]
    parts = (hint, *typing.get_args(hint))
    return LoopRV in parts or SBlockRV in parts or name in _BUFFER_ARGUMENTS


def _field(places: Places, place: Place, kind: InstructionKind, name: str) -> Field:
    """The field of one argument, with a suggestion."""
    hint = kind.hints[name]
    parts = (hint, *typing.get_args(hint))
    default = next(p.default for p in kind.params if p.name == name)
    if name == kind.params[0].name:
        return _loops_field(places, place, kind, name)
    if LoopRV in parts:
        near = sorted(places.loops(place.function), key=lambda p: p.ident not in place.parents)
        return _choice(name, [(p.ident, p.label) for p in near], "there is no loop to choose")
    if SBlockRV in parts and typing.get_origin(hint) is None and default is inspect.Parameter.empty:
        others = [p for p in places.blocks(place.function) if p is not place]
        return _choice(name, [(p.ident, p.label) for p in others], "there is no other block")
    if name in _BUFFER_ARGUMENTS and place.is_block:
        side = _BUFFER_ARGUMENTS[name]
        regions = getattr(place.scope.stmt.block, side)
        pairs = [(str(i), region.buffer.name) for i, region in enumerate(regions)]
        return _choice(name, pairs, f"block {place.label} {side} no buffer")
    if name == "thread_axis":
        return _choice(name, [(one, one) for one in _THREADS])
    if name in ("storage_scope", "scope"):
        return _choice(name, [(one, one) for one in _MEMORIES])
    if name == "ann_key" and kind.method == "unannotate":
        stmt = place.scope.stmt.block if place.is_block else place.scope.stmt
        none = f"{'block' if place.is_block else 'loop'} {place.label} has no annotation"
        return _choice(name, [(key, key) for key in stmt.annotations], none)
    if default is not inspect.Parameter.empty:
        if hint is bool:
            order = (default, not default)
            return replace(_choice(name, [(str(one), str(one)) for one in order]), option=True)
        text = default if isinstance(default, str) else repr(default)
        return Field(name, text, option=True)
    return _free(place, kind, name, hint)


def _free(place: Place, kind: InstructionKind, name: str, hint: Any) -> Field:
    """A text field for an argument without a default."""
    if name == "factors":
        return Field(name, f"[None, {_factor(place)}]", hint="None is worked out")
    if name == "ann_key":
        return Field(name, _ANNOTATION)
    if name == "new_order" and place.is_block:
        count = len(place.scope.stmt.block.iter_vars)
        return Field(name, repr([*range(1, count), 0]), hint="numbers of the axes")
    if hint is bool:
        return _choice(name, [("False", "False"), ("True", "True")])
    return Field(name, _SUGGESTED.get(name, "0" if hint is int else ""))


def _choice(name: str, pairs: Sequence[tuple[str, str]], none: str = "") -> Field:
    """A field of choices; `none` says why there are none."""
    if not pairs:
        return Field(name, "", missing=none)
    return Field(name, pairs[0][0], tuple(pairs))


def _factor(place: Place) -> int:
    """A divisor of the extent that makes a good inner loop."""
    extent = getattr(place.scope.stmt, "extent", None)
    if not isinstance(extent, IntImm):
        return 8
    return next((f for f in (16, 8, 4, 2) if extent.value % f == 0 and extent.value > f), 4)


def _loops_field(places: Places, place: Place, kind: InstructionKind, name: str) -> Field:
    """Several loops that start with the selected one, or change places with it."""
    inner = places.chain(place)
    if kind.method == "reorder":
        above = [p for p in map(places.__getitem__, place.parents) if not p.is_block]
        swaps = [(place, other) for other in above] + [(other, place) for other in inner]
        pairs = [(f"{a.ident} {b.ident}", f"{a.label} outside {b.label}") for a, b in swaps]
        none = f"no loop stands directly around or inside loop {place.label}"
        return _choice(name, pairs, none)
    runs = [[place, *inner[:count]] for count in range(1, len(inner) + 1)]
    pairs = [(" ".join(p.ident for p in run), ", ".join(p.label for p in run)) for run in runs]
    return _choice(name, pairs, f"loop {place.label} does not consist of a single inner loop")


def refusal(
    sch: Schedule, places: Places, place: Place, kind: InstructionKind, values: Mapping[str, str]
) -> str:
    """Why the primitive cannot be applied with these fields; "" if it can.  Nothing is recorded."""
    made: list[Any] = []

    def stand_in(one: Place) -> Any:
        """A random variable that no line of the trace defines."""
        rv = sch.new_block(one.key) if one.is_block else sch.new_loop(one.key)
        made.append(rv)
        return rv

    try:
        args, kwargs = arguments(places, place, kind, values, stand_in)
        return sch.why_not(kind.method, *args, **kwargs)
    except FieldError as error:
        return str(error)
    finally:
        for rv in made:
            sch.remove_rv(rv)


class FieldError(WorkbenchError, ValueError):
    """A field holds something that is no value of its argument."""


def arguments(
    places: Places,
    place: Place,
    kind: InstructionKind,
    values: Mapping[str, str],
    rv_of: Callable[[Place], Any],
) -> tuple[list[Any], dict[str, Any]]:
    """Fields as the arguments of a primitive: (positional, by name)."""
    first = kind.params[0].name
    several = subject(kind) == "loops"
    if several:
        items = [rv_of(places[ident]) for ident in values.get(first, "").split()]
        positional = items if first == kind.variadic else [items]
    else:
        positional = [rv_of(place)]
    named: dict[str, Any] = {}
    for param in kind.params[1:]:
        if param.name in values and param.name != "decision":
            named[param.name] = _value(places, kind, param.name, values[param.name], rv_of)
    return positional, named


def _value(
    places: Places,
    kind: InstructionKind,
    name: str,
    text: str,
    rv_of: Callable[[Place], Any],
) -> Any:
    """The value that a field stands for."""
    hint = kind.hints[name]
    parts = (hint, *typing.get_args(hint))
    if (LoopRV in parts or SBlockRV in parts) and text in places.by_id:
        return rv_of(places[text])
    if hint is str or (str in parts and name in ("storage_scope", "scope", "thread_axis")):
        return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        if str in parts or hint is Any:
            return text
        raise FieldError(
            f"{name}: expected a Python value such as 8, True or [None, 8], found {text!r}"
        ) from None


def recorded(sch: Schedule, places: Places, place: Place) -> Any:
    """A random variable for a place that the trace defines: one there is, else by looking it up."""
    for inst in reversed(sch.trace.insts):
        for rv in inst.outputs:
            if isinstance(rv, SBlockRV if place.is_block else LoopRV) and _means(sch, rv, place):
                return rv
    block = place if place.is_block else _block_in(places, place)
    found: Any = None
    for inst in reversed(sch.trace.insts):
        for rv in inst.outputs:
            if found is None and isinstance(rv, SBlockRV) and _means(sch, rv, block):
                found = rv
    if found is None:
        found = sch.get_sblock(block.name, block.function.name_hint)
    if place.is_block:
        return found
    for rv in sch.get_loops(found):
        if _means(sch, rv, place):
            return rv
    raise WorkbenchError(f"loop {place.label} is not among the loops of block {block.label}")


def _means(sch: Schedule, rv: Any, place: Place) -> bool:
    """Whether a random variable stands for a place now."""
    try:
        return sch.entry_of(rv).key is place.key
    except WorkbenchError:
        return False  # it stands for something that is gone


def _block_in(places: Places, place: Place) -> Place:
    """A block below a loop, through which the loop can be looked up."""
    inside = (s for s in place.scope.walk() if s.is_block and s.ident in places.by_id)
    found = next(inside, None)
    if found is None:
        raise WorkbenchError(f"loop {place.label} contains no block, so no primitive can name it")
    return places.by_id[found.ident]
