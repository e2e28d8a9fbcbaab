"""Arithmetic, comparisons, conversions: compiled code against NumPy, scalar and vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.target.programs import elementwise, elementwise_all
from workbench import tirx
from workbench.runtime import DataType
from workbench.tirx import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    Sub,
)
from workbench.tirx.op import builtin, math

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
SIZE = 64


def numpy_type(dtype: str) -> Any:
    return DataType(dtype).numpy()


def samples(dtype: str, seed: int) -> np.ndarray[Any, Any]:
    """Values of all sizes, with the special ones in front."""
    rng = np.random.default_rng(seed)
    kind = numpy_type(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, SIZE).astype(bool)
    if dtype in INTS:
        info = np.iinfo(kind)
        values = rng.integers(info.min, info.max, SIZE, dtype=kind, endpoint=True)
        values[:20] = rng.integers(max(info.min, -9), 10, 20)
        values[:6] = [0, 1, info.max, info.min, 2, 0]
        return values
    values = (rng.standard_normal(SIZE) * 2.0 ** rng.integers(-6, 5, SIZE)).astype(kind)
    values[:6] = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]).astype(kind)
    return values


def same(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> None:
    """Equal, NaN equal to NaN; the sign of zero does not matter."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    if got.dtype.kind not in "biu":
        got, want = got.astype("float64"), want.astype("float64")
    np.testing.assert_array_equal(got, want)


def truncated(op: str, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """C's division and remainder, exact, 0 for a divisor of 0, wrapped to the type."""
    out = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else 0
        value = quotient if op == "div" else x - quotient * y if y else 0
        out.append(value)
    bits = a.dtype.itemsize * 8
    return np.array([v & ((1 << bits) - 1) for v in out], dtype=f"u{a.dtype.itemsize}").view(
        a.dtype
    )


def floored(op: str, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Python's division and remainder, 0 for a divisor of 0, wrapped to the type."""
    bits = a.dtype.itemsize * 8
    out = [
        0 if y == 0 else x // y if op == "floordiv" else x % y
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    return np.array([v & ((1 << bits) - 1) for v in out], dtype=f"u{a.dtype.itemsize}").view(
        a.dtype
    )


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", INTS)
def test_integer_arithmetic(dtype: str, lanes: int) -> None:
    a, b = samples(dtype, 1), samples(dtype, 2)
    b[:20] = np.roll(b[:20], 3)
    with np.errstate(all="ignore"):
        wanted: dict[type, np.ndarray[Any, Any]] = {
            Add: a + b,
            Sub: a - b,
            Mul: a * b,
            Min: np.minimum(a, b),
            Max: np.maximum(a, b),
            Div: truncated("div", a, b),
            Mod: truncated("mod", a, b),
            FloorDiv: floored("floordiv", a, b),
            FloorMod: floored("floormod", a, b),
        }
    found = elementwise_all(list(wanted), [a, b], [dtype] * len(wanted), lanes=lanes)
    for got, want in zip(found, wanted.values(), strict=True):
        same(got, want)


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 8, 64, -1, -4, -5])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16"])
def test_division_by_constants(dtype: str, divisor: int) -> None:
    if divisor < 0 and dtype.startswith("u"):
        divisor = -divisor + 9
    a = samples(dtype, 3)
    b = np.full_like(a, divisor)
    constant = tirx.const(divisor, dtype)
    same(elementwise(lambda x: Div(x, constant), [a], dtype), truncated("div", a, b))
    same(elementwise(lambda x: Mod(x, constant), [a], dtype), truncated("mod", a, b))
    same(elementwise(lambda x: FloorDiv(x, constant), [a], dtype), floored("floordiv", a, b))
    same(elementwise(lambda x: FloorMod(x, constant), [a], dtype), floored("floormod", a, b))


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_arithmetic(dtype: str, lanes: int) -> None:
    a, b = samples(dtype, 4), np.roll(samples(dtype, 5), 3)
    with np.errstate(all="ignore"):
        wanted: dict[type, np.ndarray[Any, Any]] = {
            Add: a + b,
            Sub: a - b,
            Mul: a * b,
            Div: a / b,
            Min: np.minimum(a, b),
            Max: np.maximum(a, b),
        }
    found = elementwise_all(list(wanted), [a, b], [dtype] * len(wanted), lanes=lanes)
    for got, want in zip(found, wanted.values(), strict=True):
        same(got, want.astype(a.dtype))


def test_float_remainders() -> None:
    a = np.array([7.5, -7.5, 7.5, -7.5, 0.25, 6.0], "float32")
    b = np.array([2.0, 2.0, -2.0, -2.0, 3.0, 2.0], "float32")
    same(elementwise(Mod, [a, b], "float32"), np.fmod(a, b))
    same(elementwise(FloorMod, [a, b], "float32"), np.mod(a, b))
    same(elementwise(FloorDiv, [a, b], "float32"), np.floor_divide(a, b))


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int64", "float16", "bfloat16", "float32", "bool"]
)
def test_comparisons(dtype: str, lanes: int) -> None:
    a, b = samples(dtype, 6), samples(dtype, 7)
    b[1::3] = a[1::3]
    checks: dict[type, Callable[..., Any]] = {
        EQ: np.equal,
        NE: np.not_equal,
        LT: np.less,
        LE: np.less_equal,
        GT: np.greater,
        GE: np.greater_equal,
    }
    found = elementwise_all(list(checks), [a, b], ["bool"] * len(checks), lanes=lanes)
    with np.errstate(all="ignore"):
        for got, function in zip(found, checks.values(), strict=True):
            same(got, function(a, b))


@pytest.mark.parametrize("lanes", [1, 8])
def test_logic_and_select(lanes: int) -> None:
    a, b = samples("bool", 8), samples("bool", 9)
    x, y = samples("float32", 10), samples("float32", 11)
    same(elementwise(And, [a, b], "bool", lanes=lanes), a & b)
    same(elementwise(Or, [a, b], "bool", lanes=lanes), a | b)
    same(elementwise(Not, [a], "bool", lanes=lanes), ~a)
    same(elementwise(Select, [a, x, y], "float32", lanes=lanes), np.where(a, x, y))


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("source", ["bool", *INTS, *FLOATS])
def test_casts_to_everything(source: str, lanes: int) -> None:
    targets = ["bool", *INTS, *FLOATS]
    a = samples(source, 12)
    # What a float outside an integer's range becomes is unspecified: only numbers that fit.
    small = positive = a
    if source in FLOATS:
        wide = a.astype("float64")
        fits = np.isfinite(wide) & (np.abs(wide) < 100)
        small = np.where(fits, a, np.array(-3.5, a.dtype))
        positive = np.where(fits & (wide > -1), a, np.array(3.5, a.dtype))
    kinds = [DataType(target).with_lanes(lanes) for target in targets]
    signed, unsigned = INTS[:4], INTS[4:]
    for values, names in ((a, ["bool", *FLOATS]), (small, signed), (positive, unsigned)):
        makes = [lambda x, k=k: Cast(k, x) for k in kinds if k.base in names]
        for got, target in zip(
            elementwise_all(makes, [values], names, lanes=lanes), names, strict=True
        ):
            with np.errstate(all="ignore"):
                if target == "bool":
                    want = values.astype("float64") != 0
                elif target.startswith(("float8", "bfloat")) and source not in FLOATS:
                    want = values.astype("float32").astype(numpy_type(target))
                else:
                    want = values.astype(numpy_type(target))
            same(got, want)


def test_double_to_half_rounds_once() -> None:
    rng = np.random.default_rng(13)
    base = rng.standard_normal(SIZE).astype("float16").astype("float64")
    step = np.spacing(base.astype("float16")).astype("float64")
    # Just above the middle between two halves: rounding to float32 first would land on the middle.
    a = base + step * 0.5 * (1 + 2.0**-30)
    same(elementwise(lambda x: Cast("float16", x), [a], "float16"), a.astype("float16"))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16"])
def test_every_code_of_the_narrow_types(name: str) -> None:
    kind = numpy_type(name)
    word = f"u{kind.itemsize}"
    codes = np.arange(1 << min(16, 8 * kind.itemsize), dtype=word).view(kind)
    same(elementwise(lambda x: Cast("float32", x), [codes], "float32"), codes.astype("float32"))
    rng = np.random.default_rng(14)
    wide = codes.astype("float32")
    with np.errstate(all="ignore"):
        near = wide * (1 + rng.choice([-1, -0.5, 0.5, 1, 0], len(wide)) * 2.0**-9)
        near = near.astype("float32")
        want = near.astype(kind)
    same(elementwise(lambda x: Cast(name, x), [near], name), want)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_bits_and_shifts(dtype: str, lanes: int) -> None:
    a, b = samples(dtype, 15), samples(dtype, 16)
    bits = a.dtype.itemsize * 8
    amount = (np.arange(SIZE) % (bits + 2)).astype(a.dtype)
    same(elementwise(tirx.op.bitwise_and, [a, b], dtype, lanes=lanes), a & b)
    same(elementwise(tirx.op.bitwise_or, [a, b], dtype, lanes=lanes), a | b)
    same(elementwise(tirx.op.bitwise_xor, [a, b], dtype, lanes=lanes), a ^ b)
    same(elementwise(tirx.op.bitwise_not, [a], dtype, lanes=lanes), ~a)
    left = [(int(x) << int(n)) & ((1 << bits) - 1) for x, n in zip(a, amount, strict=True)]
    right = [int(x) >> int(n) for x, n in zip(a, amount, strict=True)]
    wanted = np.array(left, f"u{a.dtype.itemsize}").view(a.dtype)
    same(elementwise(tirx.op.shift_left, [a, amount], dtype, lanes=lanes), wanted)
    same(
        elementwise(tirx.op.shift_right, [a, amount], dtype, lanes=lanes),
        np.array(right).astype(a.dtype),
    )


UNARY: dict[str, tuple[Callable[..., Any], tuple[float, float]]] = {
    "exp": (np.exp, (-80, 80)),
    "exp2": (np.exp2, (-100, 100)),
    "exp10": (lambda x: 10.0**x, (-30, 30)),
    "log": (np.log, (0, 50)),
    "log2": (np.log2, (0, 50)),
    "log10": (np.log10, (0, 50)),
    "log1p": (np.log1p, (-0.9, 50)),
    "tanh": (np.tanh, (-10, 10)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-50, 50)),
    "erf": (None, (-5, 5)),  # type: ignore[dict-item]
    "sin": (np.sin, (-100, 100)),
    "cos": (np.cos, (-100, 100)),
    "tan": (np.tan, (-1.5, 1.5)),
    "sinh": (np.sinh, (-20, 20)),
    "cosh": (np.cosh, (-20, 20)),
    "atan": (np.arctan, (-20, 20)),
    "asin": (np.arcsin, (-1, 1)),
    "acos": (np.arccos, (-1, 1)),
    "asinh": (np.arcsinh, (-20, 20)),
    "acosh": (np.arccosh, (1, 20)),
    "atanh": (np.arctanh, (-0.99, 0.99)),
    "sqrt": (np.sqrt, (0, 50)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0.01, 50)),
    "floor": (np.floor, (-9, 9)),
    "ceil": (np.ceil, (-9, 9)),
    "trunc": (np.trunc, (-9, 9)),
    "round": (np.rint, (-9, 9)),
    "nearbyint": (np.rint, (-9, 9)),
    "fabs": (np.abs, (-9, 9)),
}


@pytest.mark.parametrize("name", list(UNARY))
def test_elementary_functions(name: str) -> None:
    import math as pymath

    function, (low, high) = UNARY[name]
    function = function or np.vectorize(pymath.erf)
    rng = np.random.default_rng(17)
    build = getattr(math, name)
    for dtype, ulps, lanes in (
        ("float32", 4, 1),
        ("float32", 4, 8),
        ("float64", 2, 1),
        ("float64", 2, 4),
        ("float16", 1, 8),
        ("bfloat16", 1, 1),
    ):
        a = rng.uniform(low, high, SIZE).astype(numpy_type(dtype))
        if dtype in ("float16", "bfloat16"):
            a = np.clip(a, -8, 8).astype(a.dtype) if low < 0 else a
        got = elementwise(build, [a], dtype, lanes=lanes).astype("float64")
        want = function(a.astype("float64"))
        eps = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
        fits = np.abs(want) < (6e4 if dtype == "float16" else 1e38)
        error = np.abs(got - want)[fits] / (np.abs(want)[fits] * eps[dtype] + 1e-300)
        tiny = np.abs(want)[fits] < (6e-5 if dtype == "float16" else 1e-37)
        assert error[~tiny].max(initial=0) <= ulps, (dtype, lanes)


def test_functions_at_the_special_values() -> None:
    a = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-40, 3e38, -3e38], "float32")
    with np.errstate(all="ignore"):
        for name in ("exp", "log", "tanh", "sqrt", "log1p", "exp2", "log2", "atan", "rsqrt"):
            got = elementwise(getattr(math, name), [a], "float32")
            want = UNARY[name][0](a.astype("float64")).astype("float32")
            np.testing.assert_allclose(got, want, rtol=4e-7)
            zeros = want == 0
            assert (np.signbit(got) == np.signbit(want))[zeros].all(), name


@pytest.mark.parametrize("lanes", [1, 8])
def test_binary_functions(lanes: int) -> None:
    rng = np.random.default_rng(18)
    a = np.exp(rng.uniform(-5, 5, SIZE)).astype("float32")
    b = rng.uniform(-4, 4, SIZE).astype("float32")
    for name, function in (
        ("pow", np.power),
        ("atan2", np.arctan2),
        ("hypot", np.hypot),
        ("copysign", np.copysign),
        ("nextafter", np.nextafter),
        ("fmod", np.fmod),
    ):
        got = elementwise(getattr(math, name), [a, b], "float32", lanes=lanes)
        np.testing.assert_allclose(got, function(a, b), rtol=5e-7)
    n = rng.integers(-10, 10, SIZE).astype("int32")
    same(elementwise(math.ldexp, [a, n], "float32", lanes=lanes), np.ldexp(a, n))
    negative = elementwise(math.pow, [-a, n.astype("float32")], "float32", lanes=lanes)
    np.testing.assert_allclose(negative, np.power(-a, n.astype("float32")), rtol=5e-7)
    c = rng.standard_normal(SIZE).astype("float32")
    fused = (a.astype("float64") * b + c).astype("float32")
    np.testing.assert_allclose(
        elementwise(math.fma, [a, b, c], "float32", lanes=lanes), fused, rtol=1e-7
    )


def test_integer_intrinsics() -> None:
    a = samples("int32", 19)
    unsigned = a.view("uint32")
    counts = np.array([int(x).bit_count() for x in unsigned], "int32")
    zeros = np.array([32 - int(x).bit_length() for x in unsigned], "int32")
    same(elementwise(math.popcount, [a], "int32"), counts)
    same(elementwise(math.clz, [a], "int32"), zeros)
    x = samples("float32", 20)
    same(elementwise(math.isnan, [x], "bool"), np.isnan(x))
    same(elementwise(math.isinf, [x], "bool"), np.isinf(x))
    same(elementwise(lambda v: builtin.reinterpret("int32", v), [x], "int32"), x.view("int32"))
    h = samples("bfloat16", 21)
    same(elementwise(lambda v: builtin.reinterpret("int16", v), [h], "int16"), h.view("int16"))


def test_contraction_is_an_option() -> None:
    from workbench.target import Target

    rng = np.random.default_rng(22)
    a, b, c = (rng.standard_normal(4096).astype("float32") for _ in range(3))
    exact = a * b + c
    make = lambda x, y, z: Add(Mul(x, y), z)
    same(elementwise(make, [a, b, c], "float32"), exact)
    default = elementwise(make, [a, b, c], "float32", target=Target("llvm"))
    np.testing.assert_allclose(default, exact, atol=1e-6)


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn"])
def test_narrow_floats_on_older_processors(cpu: str, dtype: str) -> None:
    from workbench.target import Target

    a, b = samples(dtype, 23), samples(dtype, 24)
    target = Target({"kind": "llvm", "mcpu": cpu})
    with np.errstate(all="ignore"):
        want = (a * b).astype(a.dtype)
    for lanes in (1, 8):
        same(elementwise(Mul, [a, b], dtype, lanes=lanes, target=target), want)
