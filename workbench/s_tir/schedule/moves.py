"""The menu of moves: what can be done with a block or loop now, and why not the rest.

Whether a move is legal is found by doing it on the side, so the menu and the primitives can never
disagree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.s_tir.schedule.instruction import InstructionKind, instruction_kinds


class Move:
    """A suggestion: a primitive's arguments and words for them.

    Filled in by `legal_moves`: `primitive` (the method), `ok`, `reason` (why not), `line` (the
    Python that does it).
    """

    __slots__ = ("args", "label", "line", "ok", "primitive", "reason")

    def __init__(self, args: Mapping[str, Any], label: str) -> None:
        self.args = dict(args)
        self.label = label
        self.primitive = ""
        self.ok = False
        self.reason = ""
        self.line = ""

    def __iter__(self) -> Any:
        return iter((self.primitive, self.args, self.ok, self.reason))

    def __repr__(self) -> str:
        state = "ok" if self.ok else f"no: {self.reason}"
        return f"Move({self.primitive} {self.label}: {state})"


def legal_moves(sch: Any, target: Any) -> list[Move]:
    """The moves for a block or loop of a schedule (its random variable, reference or node).

    Each has `primitive`, `args`, `label`, `ok` and, where it is not legal, `reason`. To apply one:
    `getattr(sch, move.primitive)(**move.args)` (`apply_move`). The schedule is not changed.
    """
    entry = sch.entry_at(target)
    saved = sch._symbols
    sch._symbols = dict(saved)
    try:
        rv = sch.new_block(entry.key) if entry.is_block else sch.new_loop(entry.key)
        found: list[Move] = []
        for _, kind in instruction_kinds.items():
            if kind.moves is None:
                continue
            for move in kind.moves(sch, entry, rv) if _applies(kind, entry.is_block) else ():
                _judge(sch, kind, move)
                found.append(move)
        # The variables of the suggestions stay valid; a step that uses one looks it up first.
        sch._loose.update(v for v in sch._symbols if v not in saved)
        saved.update(sch._symbols)
        return found
    finally:
        sch._symbols = saved


def _applies(kind: InstructionKind, is_block: bool) -> bool:
    names = {p.name for p in kind.params}
    if "block" in names:
        return is_block
    return not is_block


def _judge(sch: Any, kind: InstructionKind, move: Move) -> None:
    args = dict(move.args)
    rest = args.pop(kind.variadic, ()) if kind.variadic else ()
    move.primitive = kind.method
    move.label = move.label or kind.method
    move.reason = sch.why_not(kind.method, *rest, **args)
    move.ok = not move.reason


def apply_move(sch: Any, move: Move) -> Any:
    """Does what a move suggests."""
    kind = getattr(type(sch), move.primitive).kind
    args = dict(move.args)
    rest = args.pop(kind.variadic, ()) if kind.variadic else ()
    return getattr(sch, move.primitive)(*rest, **args)
