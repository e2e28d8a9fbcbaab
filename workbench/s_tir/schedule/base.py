"""What every primitive builds on: random variables, running a primitive, the tree of versions.

A primitive runs on `self.state`. If it fails, the state is what it was; if it succeeds, the module,
the meaning of the random variables and the trace together become a new `Version`, a child of the
one before. Undo goes to the parent; nothing is ever inverted or lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.arith import Analyzer
from workbench.core.recorder import active
from workbench.core.traverse import substitute
from workbench.ir.expr import GlobalVar, IntImm, Var
from workbench.ir.module import IRModule
from workbench.s_tir.schedule.error import ScheduleArgumentError, ScheduleError
from workbench.s_tir.schedule.instruction import Instruction, InstructionKind
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV, new_expr_rv
from workbench.s_tir.schedule.state import Entry, Key, ScheduleState, StmtSRef
from workbench.s_tir.schedule.trace import Names, Trace

_MODULUS, _MULTIPLIER = (1 << 31) - 1, 48271


class Version:
    """One immutable state in the history of a schedule.

    `instruction` is the step that led here from `parent` (None at the start), `seconds` what it
    took, `children` the versions made from here, oldest first.
    """

    __slots__ = (
        "children",
        "decision",
        "instruction",
        "number",
        "parent",
        "saved",
        "seconds",
        "seed",
        "symbols",
    )

    def __init__(
        self,
        number: int,
        saved: Any,
        symbols: Mapping[Any, Any],
        seed: int,
        parent: Version | None = None,
        instruction: Instruction | None = None,
        decision: Any = None,
        seconds: float = 0.0,
    ) -> None:
        self.number = number
        self.saved = saved
        self.symbols = symbols
        self.seed = seed
        self.parent = parent
        self.instruction = instruction
        self.decision = decision
        self.seconds = seconds
        self.children: list[Version] = []

    @property
    def mod(self) -> IRModule:
        """The module in this state."""
        return self.saved[0]

    @property
    def path(self) -> list[Version]:
        """The versions from the start to this one."""
        found: list[Version] = []
        at: Version | None = self
        while at is not None:
            found.append(at)
            at = at.parent
        return found[::-1]

    @property
    def trace(self) -> Trace:
        """The instructions that lead here."""
        trace = Trace()
        for version in self.path:
            if version.instruction is not None:
                trace.append(version.instruction, version.decision)
        return trace

    @property
    def line(self) -> str:
        """The step that led here as a line of Python ("" at the start)."""
        names = Names()
        text = ""
        for version in self.path:
            if version.instruction is not None:
                text = names.line(version.instruction, version.decision)
        return text

    @property
    def is_lookup(self) -> bool:
        """Whether the step only looked something up (the program is the same)."""
        return self.instruction is not None and self.instruction.kind.is_pure

    def walk(self) -> Iterator[Version]:
        """This version and all made from it, parents first."""
        stack: list[Version] = [self]
        while stack:
            version = stack.pop()
            yield version
            stack.extend(reversed(version.children))


class History:
    """The tree of versions of a schedule: `root`, `current`, and all of them by number."""

    def __init__(self, root: Version, current: Version) -> None:
        self.root = root
        self.current = current

    def __iter__(self) -> Iterator[Version]:
        return self.root.walk()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, number: int) -> Version:
        for version in self:
            if version.number == number:
                return version
        raise KeyError(f"the history has no version {number}; it has {len(self)}")

    @property
    def steps(self) -> list[Version]:
        """The versions from the start to the current one that changed the program."""
        return [v for v in self.current.path if v.instruction is not None and not v.is_lookup]

    def __repr__(self) -> str:
        lines: list[str] = []
        depth: dict[int, int] = {id(self.root): 0}
        for version in self:
            level = depth[id(version)]
            for child in version.children:
                depth[id(child)] = level + (len(version.children) > 1)
            mark = "→" if version is self.current else " "
            if version.instruction is None or not version.is_lookup:
                what = version.line or "start"
                lines.append(f"{mark} {'  ' * level}{version.number}: {what}")
        return "\n".join(lines)


class ScheduleBase:
    """State, random variables and history; the primitives are added by the families."""

    def __init__(
        self,
        state: ScheduleState,
        *,
        seed: int | None = None,
        error_render_level: str = "detail",
    ) -> None:
        if error_render_level not in ("detail", "fast", "none"):
            raise ScheduleArgumentError(
                f"error_render_level: expected 'detail', 'fast' or 'none', found "
                f"{error_render_level!r}"
            )
        self.state = state
        self.error_render_level = error_render_level
        self._symbols: dict[Any, Any] = {}
        #: Variables of suggested moves, which no step of the trace has given.
        self._loose: set[Any] = set()
        self._seed = _first_seed(seed)
        self._working_on: GlobalVar | None = None
        self._decision: Any = None
        self._count = 0
        self._version = Version(0, state.snapshot(), {}, self._seed)

    # Meaning of random variables

    def _meaning(self, rv: Any) -> Any:
        found = self._symbols.get(rv)
        if found is None:
            kind = "loop" if isinstance(rv, LoopRV) else "block"
            name = getattr(rv, "hint", getattr(rv, "name", ""))
            raise ScheduleArgumentError(
                f"the {kind} variable {name!r} means nothing at this point of the schedule",
                hint="it belongs to another schedule or to a step that was undone; get it again",
            )
        return found

    def entry_of(self, rv: LoopRV | SBlockRV) -> Entry:
        """Where a block or loop is. Raises ScheduleError if it is gone."""
        return self.state.entry(self._meaning(rv))

    def int_of(self, value: Any) -> int:
        """The value of a number, of a random variable, or of arithmetic on them."""
        if isinstance(value, int):
            return value
        if isinstance(value, IntImm):
            return value.value
        known = {v: IntImm("int32", n) for v, n in self._symbols.items() if isinstance(v, Var)}
        expr = substitute(value, known)
        result = expr if isinstance(expr, IntImm) else Analyzer().simplify(expr)
        if not isinstance(result, IntImm):
            raise ScheduleArgumentError(f"{value} is no integer at this point of the schedule")
        return result.value

    def new_loop(self, key: Key) -> LoopRV:
        """A random variable for a loop."""
        rv = LoopRV(self.state.entry(key).name)
        self._symbols[rv] = key
        return rv

    def new_block(self, key: Key) -> SBlockRV:
        """A random variable for a block."""
        rv = SBlockRV(self.state.entry(key).name)
        self._symbols[rv] = key
        return rv

    def new_expr(self, value: int) -> Any:
        """A random variable for an integer."""
        rv = new_expr_rv()
        self._symbols[rv] = value
        return rv

    # Random numbers

    def _next_random(self) -> int:
        self._seed = (self._seed * _MULTIPLIER) % _MODULUS
        return self._seed

    def seed(self, seed: int) -> None:
        """Starts the random numbers anew."""
        self._seed = _first_seed(seed)

    def fork_seed(self) -> int:
        """A seed for another schedule."""
        return self._next_random()

    # Running a primitive

    def run_primitive(
        self, kind: InstructionKind, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Checks the arguments, runs a primitive, records it; on failure nothing has changed."""
        recorder = active("primitive")
        if recorder is None:
            return self._run(kind, args, kwargs)
        with recorder.step("primitive", kind.method, self.state.mod) as event:
            result = self._run(kind, args, kwargs)
            event.after = self.state.mod
            event.info["line"] = self._version.line
            return result

    def _run(self, kind: InstructionKind, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        start = time.perf_counter()
        try:
            values = self._prepare(kind, kind.bind(args, kwargs))
        except ScheduleError as error:
            self._describe(error, kind)
            raise
        if self._loose:
            values = {name: self._recorded(value) for name, value in values.items()}
        result = self._attempt(kind, values)
        many = isinstance(result, (list, tuple))
        outputs = list(result) if many else [] if result is None else [result]
        inst = Instruction(kind, values, outputs, many)
        self._count += 1
        version = Version(
            self._count,
            self.state.snapshot(),
            self._symbols,
            self._seed,
            self._version,
            inst,
            self._decision,
            time.perf_counter() - start,
        )
        self._version.children.append(version)
        self._version = version
        return result

    def _prepare(self, kind: InstructionKind, values: dict[str, Any]) -> dict[str, Any]:
        blocks = [n for n in values if kind.takes_block(n)]
        for name in reversed(blocks):
            value = values[name]
            if isinstance(value, str):
                values[name] = self.block_named(value)
            elif isinstance(value, (list, tuple)):
                named = [self.block_named(v) if isinstance(v, str) else v for v in value]
                values[name] = named
        return kind.normalize(self, values) if kind.normalize else values

    def _recorded(self, value: Any) -> Any:
        """Arguments with the variables of suggested moves looked up by steps of the trace."""
        if isinstance(value, (list, tuple)):
            return type(value)(self._recorded(v) for v in value)
        if isinstance(value, (LoopRV, SBlockRV)) and value in self._loose:
            return self.look_up(self._meaning(value))
        return value

    def look_up(self, key: Key) -> Any:
        """A variable for a block or loop that the trace knows, by recorded look-ups if needed."""
        raise NotImplementedError

    def block_named(self, name: str) -> SBlockRV:
        """The block of a name, looked up with `get_sblock` (which the trace records)."""
        raise NotImplementedError

    def _attempt(self, kind: InstructionKind, values: Mapping[str, Any]) -> Any:
        """Runs a primitive's body; restores the state if it fails."""
        saved, symbols, seed = self.state.snapshot(), self._symbols, self._seed
        self._symbols = dict(symbols)
        self._decision = None
        named = dict(values)
        rest = named.pop(kind.variadic, ()) if kind.variadic else ()
        try:
            return kind.function(self, *rest, **named)
        except ScheduleError as error:
            self.state.restore(saved)
            self._symbols, self._seed = dict(symbols), seed
            self._describe(error, kind)
            raise
        except BaseException:
            self.state.restore(saved)
            self._symbols, self._seed = dict(symbols), seed
            raise

    def _describe(self, error: ScheduleError, kind: InstructionKind) -> None:
        error.primitive = error.primitive or kind.method
        if error.root is None and self.error_render_level != "none":
            error.root = self.state.mod
        error.detail = self.error_render_level == "detail"

    def why_not(self, method: str, /, *args: Any, **kwargs: Any) -> str:
        """The reason why a primitive cannot be applied now; "" if it can. Changes nothing."""
        function = getattr(type(self), method)
        kind: InstructionKind = function.kind
        version, symbols, seed, count = self._version, self._symbols, self._seed, self._count
        try:
            self._attempt(kind, self._prepare(kind, kind.bind(args, kwargs)))
        except ScheduleError as error:
            self._describe(error, kind)
            return error.message + (f"; try: {error.hint}" if error.hint else "")
        finally:
            if self._version is not version:
                del version.children[-1]
            self._version, self._seed, self._count = version, seed, count
            self._symbols = symbols
            self.state.restore(version.saved)
        return ""

    # History

    @property
    def history(self) -> History:
        """The tree of all states this schedule has been in."""
        return History(self._version.path[0], self._version)

    def goto(self, version: Version | int) -> None:
        """Makes a version of the history the current one."""
        target = self.history[version] if isinstance(version, int) else version
        self._version = target
        self.state.restore(target.saved)
        self._symbols = dict(target.symbols)
        self._seed = target.seed

    def undo(self, steps: int = 1) -> None:
        """Goes back to before the last `steps` primitives that changed the program."""
        at = self._version
        for _ in range(steps):
            while at.parent is not None and at.is_lookup:
                at = at.parent
            if at.parent is None:
                raise ScheduleError("undo: there is nothing to undo", hint="sch.history")
            at = at.parent
        self.goto(at)

    def redo(self, branch: int = -1) -> None:
        """Goes on to the next version made from here.

        `branch` chooses among several: -1 is the newest, 0 the oldest.
        """
        at = self._version
        if not at.children:
            raise ScheduleError("redo: nothing was undone here", hint="sch.history")
        if not -len(at.children) <= branch < len(at.children):
            raise ScheduleError(
                f"redo: there are {len(at.children)} branches here, found branch={branch}"
            )
        at = at.children[branch]
        while at.is_lookup and at.children:
            at = at.children[-1]
        self.goto(at)

    def take_version(self, version: Version, saved: Any, symbols: Mapping[Any, Any]) -> None:
        """Starts with the past of another schedule: its trace and what its variables mean."""
        path = version.path
        at: Version | None = None
        for old in path:
            new = Version(
                old.number,
                old.saved,
                old.symbols,
                self._seed,
                at,
                old.instruction,
                old.decision,
                old.seconds,
            )
            if at is not None:
                at.children.append(new)
            at = new
        assert at is not None
        self._version, self._count = at, at.number
        self.state.restore(saved)
        self._symbols = dict(symbols)

    @property
    def trace(self) -> Trace:
        """The instructions so far."""
        return self._version.trace

    @property
    def mod(self) -> IRModule:
        """The program as scheduled so far."""
        return self.state.mod

    def sref_of(self, rv: LoopRV | SBlockRV) -> StmtSRef:
        """The reference of a random variable."""
        return StmtSRef(self.state, self.entry_of(rv).key)


def _first_seed(seed: int | None) -> int:
    if seed is None or seed == -1:
        seed = 1
    if not isinstance(seed, int) or seed < 0:
        raise ScheduleArgumentError(f"seed: expected a non-negative integer, found {seed!r}")
    return seed % _MODULUS or 1
