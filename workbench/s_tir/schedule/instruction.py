"""Primitives as data: the decorator that declares one, and the instructions a trace consists of.

A primitive is one decorated method. From its signature follow the check of its arguments, the
instruction in the trace, replay, the line of Python, the JSON form and the entry in the menu of
legal moves.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from workbench.core.registry import Registry
from workbench.ir.expr import Expr, FloatImm, IntImm, StringImm, Var
from workbench.s_tir.schedule.error import ScheduleArgumentError
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV

P = ParamSpec("P")
R = TypeVar("R")

#: Words of messages for the types of arguments.
_WORDS: dict[Any, str] = {
    LoopRV: "a loop (LoopRV)",
    SBlockRV: "a block (SBlockRV)",
    Expr: "an integer random variable",
    Var: "a buffer",
    int: "an integer",
    bool: "True or False",
    str: "a string",
    float: "a number",
    type(None): "None",
    dict: "a dictionary",
}


class InstructionKind:
    """A primitive: its name in traces ("Split"), its method, and how its arguments are written.

    Parameters
    ----------
    attrs : the arguments that are attributes (the others are inputs: random variables and numbers).
    flatten : a sequence argument whose items are inputs of their own.
    positional : arguments printed without their name.
    optional : arguments left out of the Python form when empty or None.
    pure : the primitive only looks things up.
    normalize : makes the recorded form of the arguments (a buffer's name becomes its number).
    moves : suggests arguments for the menu of legal moves.
    """

    def __init__(self, name: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self.name = name
        self.function = function
        self.method = function.__name__
        self.attrs: tuple[str, ...] = options["attrs"]
        self.flatten: str = options["flatten"]
        self.positional: tuple[str, ...] = options["positional"]
        self.optional: tuple[str, ...] = options["optional"]
        self.is_pure: bool = options["pure"]
        self.normalize: Callable[..., dict[str, Any]] | None = options["normalize"]
        self.moves: Callable[..., Iterable[Any]] | None = options["moves"]
        self.signature = inspect.signature(function)
        self.params = [p for p in self.signature.parameters.values() if p.name != "self"]
        self.variadic = next((p.name for p in self.params if p.kind is p.VAR_POSITIONAL), "")
        self.inputs = tuple(
            p.name for p in self.params if p.name not in self.attrs and p.name != "decision"
        )
        self._hints: dict[str, Any] | None = None
        self._takes_block: dict[str, bool] = {}

    @property
    def hints(self) -> dict[str, Any]:
        """The annotations of the parameters, resolved when first used."""
        if self._hints is None:
            self._hints = typing.get_type_hints(self.function)
        return self._hints

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name, checked. Raises ScheduleArgumentError."""
        try:
            bound = self.signature.bind(None, *args, **kwargs)
        except TypeError as error:
            raise ScheduleArgumentError(
                str(error), hint=f"sch.{self.method}{self._shown()}", primitive=self.method
            ) from None
        bound.apply_defaults()
        values = dict(bound.arguments)
        values.pop("self")
        for name, value in values.items():
            self._check(name, value)
        return values

    def takes_block(self, name: str) -> bool:
        """Whether an argument is a block or a list of blocks (names are then looked up)."""
        found = self._takes_block.get(name)
        if found is None:
            found = self._takes_block[name] = SBlockRV in _flat(self.hints[name])
        return found

    def _shown(self) -> str:
        return f"({', '.join(str(p).split(':')[0] for p in self.params)})"

    def _check(self, name: str, value: Any) -> None:
        hint = self.hints[name]
        items = value if name == self.variadic else [value]
        for place, item in enumerate(items):
            if not _fits(item, hint):
                where = f"argument {name!r}" + (f" [{place}]" if name == self.variadic else "")
                raise ScheduleArgumentError(
                    f"{where}: expected {_words(hint)}, found {_found(item)}",
                    primitive=self.method,
                    hint=_advice(hint, item),
                )

    def __repr__(self) -> str:
        return f"InstructionKind({self.name})"


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if hint is Any:
        return True
    if origin is typing.Union or origin is types.UnionType:
        return any(_fits(value, h) for h in typing.get_args(hint))
    if origin is tuple:
        parts = typing.get_args(hint)
        return (
            isinstance(value, (tuple, list))
            and len(value) == len(parts)
            and all(_fits(v, p) for v, p in zip(value, parts, strict=True))
        )
    if origin in (list, Sequence):
        (item,) = typing.get_args(hint)
        return isinstance(value, (list, tuple)) and all(_fits(v, item) for v in value)
    if origin in (dict, Mapping):
        return isinstance(value, Mapping)
    if origin is not None and getattr(origin, "__name__", "") == "Callable":
        return callable(value)
    if hint is Callable:
        return callable(value)
    if hint is bool:
        return isinstance(value, (bool, int))
    if hint is int:
        return (isinstance(value, int) and not isinstance(value, bool)) or isinstance(value, IntImm)
    if hint is float:
        return isinstance(value, (int, float, FloatImm))
    if hint is str:
        return isinstance(value, (str, StringImm))
    return isinstance(value, hint)


def _flat(hint: Any) -> list[Any]:
    """A type and all types in it."""
    return [hint] + [t for part in typing.get_args(hint) for t in _flat(part)]


def _words(hint: Any) -> str:
    origin = typing.get_origin(hint)
    if origin is typing.Union or origin is types.UnionType:
        parts = list(dict.fromkeys(_words(h) for h in typing.get_args(hint)))
        return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " or " + parts[-1]
    if origin in (list, Sequence):
        return f"a list of ({_words(typing.get_args(hint)[0])})"
    if origin is tuple:
        return f"a tuple ({', '.join(_words(h) for h in typing.get_args(hint))})"
    if origin in (dict, Mapping):
        return "a dictionary"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def _found(value: Any) -> str:
    if isinstance(value, (LoopRV, SBlockRV)):
        return f"{_WORDS[type(value)]} {value.hint!r}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) < 60 else text[:57] + '…'}"


def _advice(hint: Any, value: Any) -> str:
    text = _words(hint)
    if "LoopRV" in text and isinstance(value, (SBlockRV, str)):
        return "sch.get_loops(block) gives the loops of a block"
    if "SBlockRV" in text and not isinstance(value, SBlockRV):
        return "sch.get_sblock(name) gives a block"
    return ""


#: All primitives by the name they have in traces.
instruction_kinds: Registry[InstructionKind] = Registry("schedule primitive")


def primitive(
    name: str,
    *,
    attrs: tuple[str, ...] = (),
    flatten: str = "",
    positional: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    pure: bool = False,
    normalize: Callable[..., dict[str, Any]] | None = None,
    moves: Callable[..., Iterable[Any]] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declares a schedule primitive; see `InstructionKind` for the options."""
    options = locals().copy()

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        kind = InstructionKind(name, function, options)
        instruction_kinds.add(name, kind)

        @functools.wraps(function)
        def method(*args: P.args, **kwargs: P.kwargs) -> R:
            schedule: Any = args[0]
            return schedule.run_primitive(kind, args[1:], kwargs)

        method.kind = kind  # type: ignore[attr-defined]
        return method

    return declare


class Instruction:
    """One step of a trace: a primitive with its arguments and what it returned."""

    __slots__ = ("args", "kind", "outputs", "returns_list")

    def __init__(
        self, kind: InstructionKind, args: Mapping[str, Any], outputs: Sequence[Any], many: bool
    ) -> None:
        self.kind = kind
        self.args = dict(args)
        self.outputs = tuple(outputs)
        self.returns_list = many

    @property
    def inputs(self) -> tuple[Any, ...]:
        """Random variables and numbers it was applied to."""
        found: list[Any] = []
        for name in self.kind.inputs:
            value = self.args[name]
            if name in (self.kind.flatten, self.kind.variadic):
                found.extend(value)
            else:
                found.append(value)
        return tuple(found)

    @property
    def attrs(self) -> tuple[Any, ...]:
        """Its other arguments."""
        return tuple(self.args[name] for name in self.kind.attrs)

    def __repr__(self) -> str:
        from workbench.s_tir.schedule.trace import Names

        return Names().line(self, None)
