"""The meaning of scalar and vector expressions, for checking the simplifier by evaluation.

Index types are unbounded integers, narrow and unsigned ones wrap around, floats are rounded to
their type after each operation. `evaluate` raises ZeroDivisionError where a divisor is zero.
"""

import math

import numpy as np

from workbench.arith.build import BOOLEAN, FLOAT, WRAP, kind_of, range_of, round_float
from workbench.ir import Call, FloatImm, IntImm, Var
from workbench.tirx import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
)


def trunc_div(a, b):
    if isinstance(a, float):
        return a / b
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


BINARY = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    Div: trunc_div,
    Mod: lambda a, b: a - b * trunc_div(a, b),
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: lambda a, b: a if a < b else b,
    Max: lambda a, b: a if a > b else b,
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
    And: lambda a, b: bool(a) and bool(b),
    Or: lambda a, b: bool(a) or bool(b),
}


def normal(ty, value):
    kind = kind_of(ty)
    if kind == WRAP:
        low, high = range_of(ty.dtype)
        return (int(value) - low) % (high - low + 1) + low
    if kind == FLOAT:
        return round_float(ty.dtype, float(value)) if math.isfinite(value) else float(value)
    if kind == BOOLEAN:
        return bool(value)
    return int(value)


def lanewise(function, *values):
    if not any(isinstance(v, list) for v in values):
        return function(*values)
    lanes = next(len(v) for v in values if isinstance(v, list))
    spread = [v if isinstance(v, list) else [v] * lanes for v in values]
    return [function(*row) for row in zip(*spread, strict=True)]


def evaluate(expr, env):
    """The value of an expression; `env` maps variables to numbers. A vector is a list."""
    cls = type(expr)
    if cls is Var:
        return env[expr]
    if cls in (IntImm, FloatImm):
        return normal(expr.ty, expr.value)
    if cls in BINARY:
        a, b = evaluate(expr.a, env), evaluate(expr.b, env)
        with np.errstate(all="ignore"):
            return lanewise(lambda x, y: normal(expr.ty, BINARY[cls](x, y)), a, b)
    if cls is Not:
        return lanewise(lambda x: not x, evaluate(expr.a, env))
    if cls is Select:
        parts = (expr.condition, expr.true_value, expr.false_value)
        return lanewise(lambda c, a, b: a if c else b, *[evaluate(p, env) for p in parts])
    if cls is Cast:
        return lanewise(lambda x: normal(expr.ty, x), evaluate(expr.value, env))
    if cls is Ramp:
        base, stride = evaluate(expr.base, env), evaluate(expr.stride, env)
        return [normal(expr.ty, base + i * stride) for i in range(expr.lanes.value)]
    if cls is Broadcast:
        return [evaluate(expr.value, env)] * expr.lanes.value
    if cls is Let:
        return evaluate(expr.body, {**env, expr.var: evaluate(expr.value, env)})
    if cls is Call:
        name = expr.op.name
        if name == "tirx.if_then_else":
            return evaluate(expr.args[1 if evaluate(expr.args[0], env) else 2], env)
        a, b = (evaluate(x, env) for x in expr.args)
        bits = {
            "tirx.bitwise_and": lambda: a & b,
            "tirx.bitwise_or": lambda: a | b,
            "tirx.bitwise_xor": lambda: a ^ b,
            "tirx.shift_left": lambda: a << b,
            "tirx.shift_right": lambda: a >> b,
        }
        return normal(expr.ty, bits[name]())
    raise TypeError(f"no meaning for {cls.__name__}")


def same_value(a, b):
    """Equality that tells 0.0 from -0.0 and finds nan equal to itself."""
    if isinstance(a, list) or isinstance(b, list):
        return (
            isinstance(a, list)
            and isinstance(b, list)
            and len(a) == len(b)
            and all(map(same_value, a, b))
        )
    if isinstance(a, float) or isinstance(b, float):
        return repr(float(a)) == repr(float(b))
    return a == b
