"""Traces: the instructions of a schedule, their Python and JSON forms, and replay.

The Python form is the one TVM prints and runs as it is. The JSON form is
`[[[kind, inputs, attrs, outputs], …], [[index, decision], …]]`.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes, substitute
from workbench.ir.expr import Expr, FloatImm, IntImm, StringImm, Var
from workbench.s_tir.schedule.instruction import Instruction, InstructionKind, instruction_kinds
from workbench.s_tir.schedule.random_variable import LoopRV, SBlockRV

if TYPE_CHECKING:
    from workbench.s_tir.schedule.schedule import Schedule


class Names:
    """Names of random variables in printing order: b0, l1, v2 …"""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.kept: list[Any] = []

    def define(self, rv: Any) -> str:
        """Gives a random variable the next name."""
        letter = "b" if isinstance(rv, SBlockRV) else "l" if isinstance(rv, LoopRV) else "v"
        name = f"{letter}{len(self.names)}"
        self.names[id(rv)] = name
        self.kept.append(rv)
        return name

    def of(self, rv: Any) -> str:
        """The name of a random variable."""
        return self.names.get(id(rv), "_")

    def value(self, value: Any) -> str:
        """A value as Python."""
        if isinstance(value, (SBlockRV, LoopRV)):
            return self.of(value)
        if isinstance(value, (IntImm, FloatImm, StringImm)):
            return self.value(value.value)
        if isinstance(value, Var) and id(value) in self.names:
            return self.of(value)
        if isinstance(value, Expr):
            named = {rv: Var(self.of(rv), "int32") for rv in self.kept if isinstance(rv, Var)}
            return str(substitute(value, named))
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, Mapping):
            inner = ", ".join(f"{self.value(k)}: {self.value(v)}" for k, v in value.items())
            return "{" + inner + "}"
        if isinstance(value, tuple):
            inner = ", ".join(map(self.value, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.value, value))}]"
        return repr(value)

    def line(self, inst: Instruction, decision: Any) -> str:
        """One instruction as a line of Python; defines its outputs."""
        kind = inst.kind
        parts: list[str] = []
        for param in kind.params:
            value = inst.args[param.name]
            if param.name == "decision":
                continue
            if param.name == kind.variadic:
                parts.extend(map(self.value, value))
                continue
            if param.name in kind.optional and (value is None or value == [] or value == ()):
                continue
            if isinstance(value, tuple) and param.name != "buffer":
                value = list(value)
            text = self.value(value)
            parts.append(text if param.name in kind.positional else f"{param.name}={text}")
        if decision is not None:
            parts.append(f"decision={self.value(decision)}")
        call = f"sch.{kind.method}({', '.join(parts)})"
        outputs = [self.define(rv) for rv in inst.outputs]
        if not outputs:
            return call
        target = ", ".join(outputs)
        if inst.returns_list and len(outputs) == 1:
            target += ","
        return f"{target} = {call}"


class Trace:
    """A sequence of instructions with the decisions of the sampling ones."""

    def __init__(
        self,
        insts: Sequence[Instruction] = (),
        decisions: Mapping[Instruction, Any] | None = None,
    ) -> None:
        self.insts = list(insts)
        self.decisions: dict[Instruction, Any] = dict(decisions or {})

    def get_decision(self, inst: Instruction) -> Any:
        """The decision of a sampling instruction, or None."""
        return self.decisions.get(inst)

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Adds an instruction."""
        self.insts.append(inst)
        if decision is not None:
            self.decisions[inst] = decision

    def pop(self) -> Instruction | None:
        """Removes and returns the last instruction."""
        if not self.insts:
            return None
        inst = self.insts.pop()
        self.decisions.pop(inst, None)
        return inst

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool) -> Trace:
        """A trace with another decision at one instruction."""
        insts = self._without_postproc() if remove_postproc else self.insts
        return Trace(insts, {**self.decisions, inst: decision})

    def simplified(self, remove_postproc: bool) -> Trace:
        """The trace without lookups whose results nobody uses."""
        used: set[int] = set()
        kept: list[Instruction] = []
        for inst in reversed(self._without_postproc() if remove_postproc else self.insts):
            if inst.kind.is_pure and not any(id(rv) in used for rv in inst.outputs):
                continue
            for value in inst.args.values():
                used.update(id(rv) for rv in _random_variables(value))
            kept.append(inst)
        kept.reverse()
        return Trace(kept, {i: d for i, d in self.decisions.items() if i in kept})

    def _without_postproc(self) -> list[Instruction]:
        kept: list[Instruction] = []
        for inst in self.insts:
            if inst.kind.name == "EnterPostproc":
                break
            kept.append(inst)
        return kept

    # Python

    def lines(self) -> list[str]:
        """One line of Python an instruction."""
        names = Names()
        return [names.line(inst, self.decisions.get(inst)) for inst in self.insts]

    def as_python(self) -> list[str]:
        """The lines; TVM's name."""
        return self.lines()

    def __str__(self) -> str:
        body = [f"  {line}" for line in self.lines()] or ["  pass"]
        head = ["# from workbench import s_tir", "def apply_trace(sch: s_tir.Schedule) -> None:"]
        return "\n".join(head + body)

    __repr__ = __str__

    def show(self, style: str | None = None, black_format: bool | None = None) -> None:
        """Prints the Python form."""
        print(self)

    # Replay

    def apply_to_schedule(
        self,
        sch: Schedule,
        remove_postproc: bool = False,
        decision_provider: Callable[[Instruction, Any, Any, Any], Any] | None = None,
    ) -> None:
        """Applies the instructions to a schedule.

        Parameters
        ----------
        remove_postproc : stop at `enter_postproc`.
        decision_provider : called with (instruction, inputs, attrs, decision); gives the decision.
        """
        images: dict[int, Any] = {}
        kept: list[Any] = []
        for inst in self._without_postproc() if remove_postproc else self.insts:
            decision = self.decisions.get(inst)
            args = {name: _image(value, images, kept) for name, value in inst.args.items()}
            if "decision" in args:
                if decision_provider is not None:
                    decision = decision_provider(inst, inst.inputs, inst.attrs, decision)
                args["decision"] = decision
            result = call_kind(sch, inst.kind, args)
            outputs = result if isinstance(result, list) else [] if result is None else [result]
            if len(outputs) != len(inst.outputs):
                raise WorkbenchError(
                    f"replay of {inst.kind.method}: expected {len(inst.outputs)} results as when "
                    f"it was recorded, found {len(outputs)}: the program is another one"
                )
            for old, new in zip(inst.outputs, outputs, strict=True):
                images[id(old)] = new
                kept.append(old)

    # JSON

    def as_json(self, remove_postproc: bool = False) -> list[Any]:
        """The instructions and decisions as JSON-able lists."""
        names = Names()
        rows: list[Any] = []
        decisions: list[Any] = []
        for inst in self._without_postproc() if remove_postproc else self.insts:
            inputs = [_to_json(v, names) for v in inst.inputs]
            attrs = [_to_json(v, names) for v in inst.attrs]
            rows.append([inst.kind.name, inputs, attrs, [names.define(o) for o in inst.outputs]])
            if inst in self.decisions:
                decisions.append([len(rows) - 1, _to_json(self.decisions[inst], names)])
        return [rows, decisions]

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Schedule) -> None:
        """Applies a trace in JSON form (a string or the lists) to a schedule."""
        rows, decisions = _read_json(json_obj)
        by_index = {int(i): d for i, d in decisions}
        known: dict[str, Any] = {}
        for index, row in enumerate(rows):
            kind_name, inputs, attrs, outputs = row
            kind = instruction_kinds[str(kind_name)]
            args = _arguments(kind, inputs, attrs, known, f"instruction {index}")
            if any(p.name == "decision" for p in kind.params):
                args["decision"] = by_index.get(index)
            result = call_kind(sch, kind, args)
            values = result if isinstance(result, list) else [] if result is None else [result]
            if len(values) != len(outputs):
                raise WorkbenchError(
                    f"trace, instruction {index} ({kind_name}): expected {len(outputs)} results, "
                    f"found {len(values)}: the program is another one"
                )
            known.update(zip(outputs, values, strict=True))


def call_kind(sch: Any, kind: InstructionKind, args: Mapping[str, Any]) -> Any:
    """Calls a primitive of a schedule with its arguments by name."""
    named = dict(args)
    rest = named.pop(kind.variadic, ()) if kind.variadic else ()
    return getattr(sch, kind.method)(*rest, **named)


def _random_variables(value: Any) -> list[Any]:
    if isinstance(value, (SBlockRV, LoopRV)):
        return [value]
    if isinstance(value, Expr):
        return list(iter_nodes(value, Var))
    if isinstance(value, (list, tuple)):
        return [rv for item in value for rv in _random_variables(item)]
    if isinstance(value, Mapping):
        return [rv for item in value.values() for rv in _random_variables(item)]
    return []


def _image(value: Any, images: Mapping[int, Any], kept: Sequence[Any]) -> Any:
    if isinstance(value, (SBlockRV, LoopRV)):
        return images.get(id(value), value)
    if isinstance(value, Expr):
        pairs = {old: images[id(old)] for old in kept if isinstance(old, Var)}
        return substitute(value, pairs)
    if isinstance(value, (list, tuple)):
        return type(value)(_image(v, images, kept) for v in value)
    if isinstance(value, dict):
        return {k: _image(v, images, kept) for k, v in value.items()}
    return value


def _to_json(value: Any, names: Names) -> Any:
    if isinstance(value, (SBlockRV, LoopRV)) or (
        isinstance(value, Var) and id(value) in names.names
    ):
        return names.of(value)
    if isinstance(value, (IntImm, FloatImm)):
        return value.value
    if isinstance(value, StringImm):
        return json.dumps(value.value)
    if isinstance(value, Expr):
        return {"expr": names.value(value)}
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return [_to_json(v, names) for v in value]
    if isinstance(value, Mapping):
        return {k: _to_json(v, names) for k, v in value.items()}
    if value is None:
        return "None"
    return value


def _read_json(value: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise WorkbenchError(f"this is no trace in JSON form: {error}") from None
    if not (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and all(isinstance(part, (list, tuple)) for part in value)
        and all(isinstance(row, (list, tuple)) and len(row) == 4 for row in value[0])
    ):
        raise WorkbenchError(
            "this is no trace in JSON form: expected "
            "[[[kind, inputs, attrs, outputs], …], [[index, decision], …]]"
        )
    return list(value[0]), list(value[1])


def _arguments(
    kind: InstructionKind, inputs: Any, attrs: Any, known: Mapping[str, Any], where: str
) -> dict[str, Any]:
    values = [_from_json(v, known) for v in inputs]
    args: dict[str, Any] = {}
    for place, name in enumerate(kind.inputs):
        if name in (kind.flatten, kind.variadic):
            args[name] = values[place:]
            values = values[:place]
        elif place < len(values):
            args[name] = values[place]
        else:
            raise WorkbenchError(f"trace, {where} ({kind.name}): no value for {name!r}")
    if len(attrs) != len(kind.attrs):
        raise WorkbenchError(
            f"trace, {where} ({kind.name}): expected the attributes {', '.join(kind.attrs)}, "
            f"found {len(attrs)} values"
        )
    for name, value in zip(kind.attrs, attrs, strict=True):
        args[name] = bool(value) if kind.hints[name] is bool else _from_json(value, {})
    return args


def _from_json(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        if value in known:
            return known[value]
        if value == "None":
            return None
        if len(value) >= 2 and value[0] == value[-1] == '"':
            return json.loads(value)
        return value
    if isinstance(value, list):
        return [_from_json(v, known) for v in value]
    if isinstance(value, dict):
        if set(value) == {"expr"}:
            return _arithmetic(ast.parse(str(value["expr"]), mode="eval").body, known)
        return {k: _from_json(v, known) for k, v in value.items()}
    return value


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _arithmetic(tree: ast.expr, known: Mapping[str, Any]) -> Any:
    """The value of an arithmetic expression over random variables."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return tree.value
    if isinstance(tree, ast.Name) and isinstance(known.get(tree.id), Var):
        return known[tree.id]
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        return _OPERATORS[type(tree.op)](
            _arithmetic(tree.left, known), _arithmetic(tree.right, known)
        )
    raise WorkbenchError(f"trace: {ast.unparse(tree)!r} is no arithmetic on random variables")
