"""Compiles rewrite rules to Python functions and finds the ones that can apply to a node.

A rule becomes one function per order of the operands of its commutative operators: guards on node
classes and constants, the conditions, then the construction of the right side. Functions are
generated when a root is first simplified, and found by the root, the classes of the operands and
the kind of data type.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

from workbench.arith import build, rules
from workbench.arith.pattern import (
    BINARY,
    COMMUTES,
    COMPARES,
    CONSTANT_LAST,
    FLOATING,
    INTEGER,
    Leaf,
    Literal,
    Op,
    Pattern,
    PConst,
    Rule,
    table,
)
from workbench.ir.expr import FloatImm, IntImm
from workbench.tirx import expr as nodes

# ---------------------------------------------------------------------------------------------
# Variants


def _variants(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern with the operands of commutative operators in both orders."""
    if not isinstance(pattern, Op):
        yield pattern
        return
    for args in itertools.product(*(list(_variants(a)) for a in pattern.args)):
        yield Op(pattern.name, *args)
        fixed = any(isinstance(a, (PConst, Literal)) for a in pattern.args)
        if pattern.name in COMMUTES and not (fixed and pattern.name in CONSTANT_LAST):
            yield Op(pattern.name, *reversed(args))


def _renamed(pattern: Pattern, names: dict[str, str]) -> str:
    if isinstance(pattern, Leaf):
        return names.setdefault(pattern.name, f"{'c' if pattern.constant else 'v'}{len(names)}")
    if isinstance(pattern, Op):
        return f"{pattern.name}({','.join(_renamed(a, names) for a in pattern.args)})"
    return repr(pattern)


def variants(rule: Rule) -> list[Op]:
    """The different left sides of a rule."""
    seen: set[tuple[str, str]] = set()
    out: list[Op] = []
    for lhs in [rule.lhs] if rule.exact else _variants(rule.lhs):
        names: dict[str, str] = {}
        key = (_renamed(lhs, names), "" if rule.when is None else _renamed(rule.when, names))
        if key not in seen:
            seen.add(key)
            assert isinstance(lhs, Op)
            out.append(lhs)
    return out


# ---------------------------------------------------------------------------------------------
# Code

_FIELDS: dict[str, tuple[str, ...]] = {
    "Not": ("a",),
    "Select": ("condition", "true_value", "false_value"),
    "Ramp": ("base", "stride", "lanes"),
    "Broadcast": ("value", "lanes"),
}


def fields_of(name: str) -> tuple[str, ...]:
    """The operand fields of a node class."""
    return _FIELDS.get(name, ("a", "b"))


class _Code:
    """Writes the matcher of one variant of a rule: guards, then the right side."""

    def __init__(self, rule: Rule, lhs: Op) -> None:
        self.rule = rule
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {
            "IntImm": IntImm,
            "FloatImm": FloatImm,
            "same": build.same,
            "imm": build.imm,
            "constant": build.constant,
            "truth": build.truth,
            "truncdiv": build.truncdiv_int,
            "truncmod": build.truncmod_int,
            "gcd": math.gcd,
            "min": min,
            "max": max,
            "kind_of": build.kind_of,
            "INTEGER": INTEGER,
        }
        self.bound: dict[str, str] = {}  # pattern variable → Python name of the node
        self.types: dict[str, str] = {}  # type slot → Python expression of a type
        self.slots: dict[str, str] = {}  # pattern variable → type slot
        self.counter = 0
        self.lhs = lhs

    def fresh(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def compile(self) -> Callable[[Any, Any], Any]:
        self.destructure(self.lhs, "node", "root")
        if self.rule.when is not None:
            self.condition(self.rule.when)
        result = self.construct(self.rule.rhs, "root")
        self.emit(f"return {result}")
        text = "def match(node, A):\n" + "\n".join(f"    {line}" for line in self.lines)
        exec(compile(text, f"<rule {self.rule.name}>", "exec"), self.scope)
        match = self.scope["match"]
        match.rule = self.rule
        match.text = text
        return match

    # -- left side ---------------------------------------------------------------------------

    def child_slots(self, op: Op, slot: str) -> list[str]:
        """The type slots of the operands, given that of the node."""
        if op.name in COMPARES:
            return [self.fresh("slot")] * 2
        if op.name == "Select":
            return [self.fresh("slot"), slot, slot]
        if op.name in ("Ramp", "Broadcast"):
            element = self.fresh("slot")
            return [element] * (len(op.args) - 1) + [self.fresh("slot")]
        return [slot] * len(op.args)

    def destructure(self, op: Op, node: str, slot: str) -> None:
        """Guards that `node` has the shape of `op`; its class is known already."""
        self.types.setdefault(slot, f"{node}.ty")
        slots = self.child_slots(op, slot)
        deeper: list[tuple[Op, str, str]] = []
        for arg, name, child_slot in zip(op.args, fields_of(op.name), slots, strict=True):
            if isinstance(arg, Op):
                child = self.fresh("n")
                self.emit(f"{child} = {node}.{name}")
                if arg.name in ("true", "false"):
                    value = int(arg.name == "true")
                    self.emit(f"if type({child}) is not IntImm or {child}.value != {value}: return")
                    self.emit(f"if {child}.ty.dtype != 'bool': return")
                    continue
                self.scope[arg.name] = getattr(nodes, arg.name)
                self.emit(f"if type({child}) is not {arg.name}: return")
                deeper.append((arg, child, child_slot))
            elif isinstance(arg, Literal):
                child = self.fresh("n")
                self.emit(f"{child} = {node}.{name}")
                if self.rule.on is FLOATING:  # 0.0 is not -0.0
                    test = f"type({child}) is not FloatImm or repr({child}.value) != '{arg.value}'"
                else:
                    test = f"type({child}) is not IntImm or {child}.value != {arg.value}"
                self.emit(f"if {test}: return")
            else:
                assert isinstance(arg, Leaf)
                self.leaf(arg, f"{node}.{name}", child_slot)
        for arg, child, child_slot in deeper:
            self.destructure(arg, child, child_slot)

    def leaf(self, var: Leaf, value: str, slot: str) -> None:
        known = self.bound.get(var.name)
        if known is not None:
            if var.constant:
                child = self.fresh("n")
                self.emit(f"{child} = {value}")
                self.emit(f"if type({child}) is not IntImm or {child}.value != {var.name}: return")
            else:
                child = self.fresh("n")
                self.emit(f"{child} = {value}")
                self.emit(f"if {child} is not {known} and not same({child}, {known}): return")
            return
        name = f"p_{var.name}"
        self.bound[var.name] = name
        self.slots[var.name] = slot
        self.types.setdefault(slot, f"{name}.ty")
        self.emit(f"{name} = {value}")
        if var.constant:
            self.emit(f"if type({name}) is not IntImm: return")
            self.emit(f"{var.name} = {name}.value")

    # -- conditions --------------------------------------------------------------------------

    def is_constant(self, p: Pattern) -> bool:
        """Whether a pattern is made of constants alone."""
        if isinstance(p, Leaf):
            return p.constant
        if isinstance(p, Op):
            return p.name not in ("true", "false") and all(self.is_constant(a) for a in p.args)
        return True

    def number(self, p: Pattern) -> str:
        """Python code of a constant pattern; integer semantics of the IR."""
        if isinstance(p, Literal):
            return repr(p.value)
        if isinstance(p, Leaf):
            return p.name
        assert isinstance(p, Op)
        args = [self.number(a) for a in p.args]
        if p.name == "Div":
            return f"truncdiv({args[0]}, {args[1]})"
        if p.name in ("And", "Or"):
            return f"({args[0]} {p.name.lower()} {args[1]})"
        if p.name in ("Min", "Max", "Mod", "gcd"):
            function = {"Mod": "truncmod"}.get(p.name, p.name.lower())
            return f"{function}({args[0]}, {args[1]})"
        return f"({args[0]} {BINARY[p.name]} {args[1]})"

    def condition(self, p: Pattern) -> None:
        """Emits a guard."""
        if isinstance(p, Op) and p.name == "And":
            for arg in p.args:
                self.condition(arg)
            return
        self.emit(f"if not ({self.test(p)}): return")

    def test(self, p: Pattern) -> str:
        """Python code of a condition."""
        assert isinstance(p, Op), p
        if p.name == "And":
            return f"({self.test(p.args[0])} and {self.test(p.args[1])})"
        if p.name == "Or":
            return f"({self.test(p.args[0])} or {self.test(p.args[1])})"
        if self.is_constant(p):
            return self.number(p)
        if p.name == "multiple":
            node = self.operand(p.args[0])
            return f"A.is_multiple({node}, {self.number(p.args[1])})"
        if p.name == "symbolic":
            return f"type({self.operand(p.args[0])}) is not IntImm"
        if p.name == "integer":
            return f"kind_of({self.operand(p.args[0])}.ty) in INTEGER"
        if p.name == "no_carry":
            node = self.operand(p.args[0])
            return f"A.no_carry({node}, {self.number(p.args[1])}, {self.number(p.args[2])})"
        assert p.name in COMPARES, p
        a, b = p.args
        if p.name in ("NE", "EQ"):
            low, high = self.interval(a)
            value = self.number(b)
            if p.name == "NE":
                return f"({low} > {value} or {high} < {value})"
            return f"{low} == {high} == {value}"
        if p.name in ("LT", "LE"):
            return f"{self.interval(a)[1]} {BINARY[p.name]} {self.interval(b)[0]}"
        return f"{self.interval(a)[0]} {BINARY[p.name]} {self.interval(b)[1]}"

    def operand(self, p: Pattern) -> str:
        assert isinstance(p, Leaf), f"a condition speaks of a pattern variable, not of {p!r}"
        return self.bound[p.name]

    def interval(self, p: Pattern) -> tuple[str, str]:
        """Python names of the constant bounds of a pattern variable or a constant."""
        if self.is_constant(p):
            number = self.number(p)
            return number, number
        node = self.operand(p)
        low, high = f"low_{node}", f"high_{node}"
        line = f"{low}, {high} = A.bound({node})"
        if line not in self.lines:
            self.emit(line)
        return low, high

    # -- right side --------------------------------------------------------------------------

    def construct(self, p: Pattern, slot: str) -> str:
        """Code that builds the pattern; emits what it needs before."""
        if isinstance(p, Leaf):
            return self.bound[p.name]
        if isinstance(p, Op) and p.name in ("true", "false"):
            return f"truth({self.types[slot]}, {p.name == 'true'})"
        if self.rule.on is FLOATING and isinstance(p, Literal):
            return f"FloatImm({self.types[slot]}.dtype, {p.value})"
        if isinstance(p, Literal) or self.is_constant(p):
            name = self.fresh("k")
            self.emit(f"{name} = constant({self.types[slot]}, {self.number(p)})")
            self.emit(f"if {name} is None: return")
            return name
        assert isinstance(p, Op)
        slots = self.rhs_slots(p, slot)
        args = [self.construct(a, s) for a, s in zip(p.args, slots, strict=True)]
        maker = f"make_{p.name}"
        self.scope[maker] = _maker(p.name)
        return f"{maker}({', '.join(args)})"

    def rhs_slots(self, op: Op, slot: str) -> list[str]:
        """Type slots of the operands on the right: found through a variable below them."""
        if op.name in COMPARES or op.name in ("Ramp", "Broadcast"):
            inner = self.slot_below(op.args[0]) or self.slot_below(op.args[1])
            assert inner is not None, f"no type for {op!r}"
            slots = [inner] * len(op.args)
            if op.name in ("Ramp", "Broadcast"):
                slots[-1] = self.slot_below(op.args[-1]) or inner
            return slots
        if op.name == "Select":
            return [self.slot_below(op.args[0]) or slot, slot, slot]
        return [slot] * len(op.args)

    def slot_below(self, p: Pattern) -> str | None:
        if isinstance(p, Leaf):
            return self.slots[p.name]
        if isinstance(p, Op):
            if p.name in COMPARES:
                return None
            for arg in p.args:
                found = self.slot_below(arg)
                if found is not None:
                    return found
        return None


def _maker(name: str) -> Callable[..., Any]:
    special: dict[str, Callable[..., Any]] = {
        "Not": build.make_not,
        "Select": build.make_select,
        "Ramp": build.make_ramp,
        "Broadcast": build.make_broadcast,
    }
    return special.get(name) or build.make[getattr(nodes, name)]


def compile_rule(rule: Rule) -> list[tuple[Op, Callable[[Any, Any], Any]]]:
    """The matchers of a rule, one per variant of its left side."""
    return [(lhs, _Code(rule, lhs).compile()) for lhs in variants(rule)]


# ---------------------------------------------------------------------------------------------
# Dispatch

_compiled: dict[str, list[tuple[tuple[Any, ...], Rule, Callable[[Any, Any], Any]]]] = {}
selected: dict[Any, tuple[Any, ...]] = {}


def _operand_types(lhs: Op) -> tuple[Any, ...]:
    """What the operands of a left side must be: a class, or None for anything."""
    wanted: list[Any] = []
    for arg in lhs.args:
        if isinstance(arg, Op):
            constant = arg.name in ("true", "false")
            wanted.append(IntImm if constant else getattr(nodes, arg.name))
        elif isinstance(arg, Literal):
            wanted.append((IntImm, FloatImm))
        elif isinstance(arg, PConst):
            wanted.append(IntImm)
        else:
            wanted.append(None)
    return tuple(wanted)


def _accepts(wanted: Any, cls: type) -> bool:
    return wanted is None or cls is wanted or (isinstance(wanted, tuple) and cls in wanted)


def matchers(root: type, operands: tuple[type, ...], kind: int) -> tuple[Any, ...]:
    """The matchers that can apply to a node of class `root` over operands of these classes."""
    key = (root, operands, kind)
    found = selected.get(key)
    if found is None:
        name = root.__name__
        if name not in _compiled:
            rules.load()
            _compiled[name] = [
                (_operand_types(lhs), rule, match)
                for rule in table.get(name, [])
                for lhs, match in compile_rule(rule)
            ]
        found = tuple(
            match
            for wanted, rule, match in _compiled[name]
            if kind in rule.on
            and all(_accepts(w, cls) for w, cls in zip(wanted, operands, strict=True))
        )
        selected[key] = found
    return found
