"""Every rewrite rule, checked by random evaluation of both sides.

The rules come from the table, so a new line in `arith/rules` needs no test. A rule that never
applies is an error too.
"""

import itertools
import random

import pytest

from tests.arith.evaluation import evaluate, same_value
from workbench.arith import Analyzer, ConstIntBound, ModularSet, pattern
from workbench.arith import rules as rule_files
from workbench.arith.build import FLOAT, INDEX, WRAP, range_of
from workbench.arith.matcher import compile_rule
from workbench.ir import FloatImm, IntImm, Var
from workbench.ir.type import prim_type
from workbench.tirx import expr as nodes

rule_files.load()
RULES = [rule for rules in pattern.table.values() for rule in rules]
NUMBERS = {INDEX: ["int32", "int64"], WRAP: ["uint8", "int8"], FLOAT: ["float32"]}
LANES = 4


class Builder:
    """Makes an expression of a pattern: variables of the right types, random constants."""

    def __init__(self, rng, number):
        self.rng = rng
        self.number = prim_type(number)
        self.vars = {}
        self.constants = {}

    def literal(self, value, ty):
        if ty.dtype.is_float:
            return FloatImm(ty.dtype, value)
        low, high = range_of(ty.dtype)
        if not low <= value <= high:
            raise ValueError(value)
        return IntImm(ty.dtype, value)

    def build(self, p, ty):
        if isinstance(p, pattern.PConst):
            if p.name not in self.constants:
                lanes = p.name == "n"
                value = (
                    LANES
                    if lanes
                    else self.rng.choice([0, 1, 2, 3, 4, 5, 6, 8, 12, -1, -2, -3, -4])
                )
                self.constants[p.name] = value
            value = self.constants[p.name]
            return IntImm("int32", value) if p.name == "n" else self.literal(value, ty)
        if isinstance(p, pattern.PVar):
            if p.name not in self.vars:
                self.vars[p.name] = Var(p.name, str(ty.dtype))
            return self.vars[p.name]
        if isinstance(p, pattern.Literal):
            return self.literal(p.value, ty)
        name = p.name
        if name in ("true", "false"):
            return IntImm("bool", int(name == "true"))
        cls = getattr(nodes, name)
        if name in ("EQ", "NE", "LT", "LE", "GT", "GE"):
            inner = self.vector(ty) if ty.dtype.lanes > 1 else self.number
            types = [inner, inner]
        elif name == "Select":
            types = [prim_type("bool").dtype.with_lanes(ty.dtype.lanes), ty, ty]
        elif name in ("Ramp", "Broadcast"):
            element = prim_type(ty.dtype.base)
            types = [element] * (len(p.args) - 1) + [prim_type("int32")]
        else:
            types = [ty] * len(p.args)
        types = [prim_type(t) for t in types]
        return cls(*(self.build(a, t) for a, t in zip(p.args, types, strict=True)))

    def vector(self, ty):
        return prim_type(self.number.dtype.with_lanes(ty.dtype.lanes))


def mentions(p, *names):
    if isinstance(p, pattern.Op):
        return p.name in names or any(mentions(a, *names) for a in p.args)
    return False


def root_type(rule, number):
    vector = mentions(rule.lhs, "Ramp", "Broadcast")
    boolean = rule.root in ("And", "Or", "Not", "EQ", "NE", "LT", "LE", "GT", "GE")
    ty = prim_type("bool" if boolean else number)
    return prim_type(ty.dtype.with_lanes(LANES)) if vector else ty


def random_facts(rng, builder, analyzer):
    """Gives the variables bounds and residues; returns their possible values."""
    values = {}
    for var in builder.vars.values():
        dtype = var.dtype
        if dtype.lanes > 1:
            values[var] = [[rng.choice([False, True]) for _ in range(dtype.lanes)]]
            continue
        if dtype == "bool":
            values[var] = [False, True]
        elif dtype.is_float:
            values[var] = [0.0, -0.0, 1.5, -2.25, float("inf"), float("nan")]
        else:
            low, high = range_of(dtype)
            style = rng.randrange(5)
            if style == 0:
                a, b = -20, 20
            elif style == 1:
                a, b = 0, rng.choice([0, 1, 2, 3, 5, 7, 11])
            elif style == 2:
                a, b = -rng.randrange(1, 12), rng.choice([-1, 0])
            elif style == 3:
                a = rng.randrange(1, 12)
                b = a + rng.randrange(0, 10)
            else:
                a, b = low, high
            a, b = max(a, low), min(b, high)
            if a > b:
                a, b = low, high
            analyzer.update(var, ConstIntBound(a, b), override=True)
            step = rng.choice([1, 1, 2, 4, 6])
            choice = list(range(max(a, -40), min(b, 300) + 1))
            if step > 1:
                base = rng.choice([0, 0, 1])
                analyzer.update(var, ModularSet(step, base), override=True)
                choice = [v for v in choice if v % step == base]
            if style == 4:
                choice += [v for v in (a, b) if step == 1]
            values[var] = choice or [None]
    return values


def kinds_of(rule):
    return [n for kind in (INDEX, WRAP, FLOAT) if kind in rule.on for n in NUMBERS[kind]]


@pytest.mark.parametrize("rule", RULES, ids=[f"{r.root}-{i}" for i, r in enumerate(RULES)])
def test_rule(rule):
    rng = random.Random(rule.name)
    fired = 0
    numbers = kinds_of(rule)
    for (lhs, match), trial in itertools.product(compile_rule(rule), range(700)):
        if fired > 48 and trial > 24:
            break
        number = numbers[trial % len(numbers)]
        builder = Builder(rng, number)
        try:
            expr = builder.build(lhs, root_type(rule, number))
        except (ValueError, TypeError):
            continue
        analyzer = Analyzer()
        values = random_facts(rng, builder, analyzer)
        result = match(expr, analyzer)
        if result is None or any(v == [None] for v in values.values()):
            continue
        fired += 1
        assert result.ty == expr.ty, f"{rule.name}: {result.ty} is not {expr.ty}"
        for _ in range(8):
            env = {var: rng.choice(choice) for var, choice in values.items()}
            try:
                left = evaluate(expr, env)
            except ZeroDivisionError:
                continue
            right = evaluate(result, env)
            assert same_value(left, right), (
                f"{rule.name}\n  {rule.source}\n  {expr} = {left}\n  {result} = {right}\n  at "
                + ", ".join(f"{v.name}={x}" for v, x in env.items())
            )
    assert fired, f"the rule never applies: {rule.name} ({rule.source})"
