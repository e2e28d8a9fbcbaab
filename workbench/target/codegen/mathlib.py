"""Elementary functions as branch-free LLVM IR, so that vectors stay vectors.

LLVM turns `llvm.exp` on a vector into one libm call per lane. These functions work on any number of
float32 lanes; LLVM inlines them and its loop vectoriser sees straight-line code. Polynomials are
minimax fits (Remez exchange in 30 digits) on the reduced ranges named beside them. Errors, measured
against double precision at a million points of each range, are at most 2.4 units in the last place,
except for sin, cos and tan beyond |x| = 1e7 (NaN beyond 2**31). float64 goes to libm; float16 and
the narrower types are computed in float32. `contract` lets LLVM fuse a multiplication with an
addition where the CPU can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from workbench.target.codegen.llvm_types import float_text, vector

#: exp(r) = 1 + r + r² P(r), |r| <= ln(2) / 2; error 3.2e-9.
_EXP = (
    0.5000000094222663,
    0.16666519034509036,
    0.04166620721259701,
    0.008368886070729605,
    0.0013950448945565358,
)
#: log(1 + t) = t - t²/2 + t³ P(t), 1 + t in [sqrt(1/2), sqrt(2)]; error 7.7e-10.
_LOG = (
    0.33333311740321653,
    -0.24999986250441894,
    0.2000216111899833,
    -0.16669235806198077,
    0.1421969834184723,
    -0.12385001863212747,
    0.1186719263681138,
    -0.11784994540091961,
    0.06921343714742573,
)
#: tanh(x) = x + x³ P(x²), |x| <= 0.625; error 4.4e-9.
_TANH = (
    -0.3333328283606654,
    0.13331449330454934,
    -0.05373928768733829,
    0.020635074914990136,
    -0.005698090855972185,
)
#: erf(x) = x P(x²), |x| <= 1; error 1.3e-9.
_ERF = (
    1.1283791658339046,
    -0.37612626463063953,
    0.11283591195402712,
    -0.026854013669667724,
    0.0051886131335065555,
    -0.000801184190530914,
    7.85647525956381e-05,
)
#: erfc(x) exp(x²) = P(1 / (1 + x/2)), 1 <= x <= 4; error 1e-10.
_ERFC = (
    -0.00015506308100885966,
    0.2849268124463492,
    0.25959192878960596,
    0.3481474771242137,
    -0.10433418455220332,
    0.5641529952994787,
    -0.4717864580406646,
    0.11951169274188321,
)
#: 2**r, |r| <= 1/2, in double; error 7.8e-13.
_EXP2 = (
    1.000000000000027,
    0.6931471805459275,
    0.24022650695467612,
    0.05550410941224972,
    0.009618129228481776,
    0.0013333450552768288,
    0.00015403411639994553,
    1.5310082884027005e-05,
    1.3264067621872083e-06,
)
#: log2(m) = s Q(s²), s = (m - 1) / (m + 1), in double; error 8e-14.
_LOG2 = (
    2.885390081777847,
    0.961796694119302,
    0.577077940512186,
    0.4122094506554006,
    0.31989714729094265,
    0.2830278458810407,
)
#: sin(r) = r P(r²) and cos(r) = P(r²), |r| <= pi / 4, in double; errors 5e-15 and 6e-14.
_SIN = (
    0.9999999999999952,
    -0.16666666666611524,
    0.008333333323103787,
    -0.00019841262900254127,
    2.755518966551257e-06,
    -2.4750689053595366e-08,
)
_COS = (
    0.9999999999999375,
    -0.49999999999284234,
    0.041666666533875865,
    -0.0013888879877721853,
    2.4798822159048404e-05,
    -2.716581979213116e-07,
)
#: atan(x) = x P(x²), |x| <= tan(pi / 8), in double; error 6.2e-10.
_ATAN = (
    0.9999999993789849,
    -0.33333306909053206,
    0.19998174219966178,
    -0.1423923528610352,
    0.10566840821493272,
    -0.060170218568181645,
)
#: asin(x) = x + x³ P(x²), |x| <= 1/2; error 2.9e-10.
_ASIN = (
    0.16666660142575163,
    0.07500500309825961,
    0.04451713447116279,
    0.031809373321835546,
    0.014423612302092765,
    0.03754705092352804,
)
#: pi / 2 in three parts: the first two have 33 bits, so that their products with an integer of 20
#: bits are exact in double.
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)


class V(str):
    """The name of an SSA value together with its element type."""

    __slots__ = ("element",)
    element: str


class Body:
    """Writes the body of one function over `lanes` lanes; values are `V`."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self.declared: set[str] = set()

    def value(self, text: str, element: str) -> V:
        """A value of an element type."""
        v = V(text)
        v.element = element
        return v

    def type(self, element: str) -> str:
        """The LLVM type of a value of that element type."""
        return vector(element, self.lanes)

    def op(self, text: str, element: str) -> V:
        """Emits an instruction and names its result."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return self.value(name, element)

    def const(self, number: float, element: str = "float") -> V:
        """A constant in all lanes."""
        text = str(int(number)) if element[0] == "i" else float_text(number, element)
        return self.value(text if self.lanes == 1 else f"splat ({element} {text})", element)

    def _binary(self, name: str, a: V, b: V | float) -> V:
        other = b if isinstance(b, V) else self.const(b, a.element)
        flags = " contract" if name[0] == "f" else ""
        return self.op(f"{name}{flags} {self.type(a.element)} {a}, {other}", a.element)

    def add(self, a: V, b: V | float) -> V:
        """a + b of floats or integers."""
        return self._binary("fadd" if a.element[0] != "i" else "add", a, b)

    def sub(self, a: V, b: V | float) -> V:
        """a - b of floats or integers."""
        return self._binary("fsub" if a.element[0] != "i" else "sub", a, b)

    def mul(self, a: V, b: V | float) -> V:
        """a * b of floats."""
        return self._binary("fmul", a, b)

    def div(self, a: V, b: V | float) -> V:
        """a / b of floats."""
        return self._binary("fdiv", a, b)

    def bits(self, name: str, a: V, b: V | float) -> V:
        """and, or, xor, shl, lshr, ashr of integers."""
        return self._binary(name, a, b)

    def compare(self, predicate: str, a: V, b: V | float) -> V:
        """A comparison: fcmp predicate for floats, icmp for integers."""
        other = b if isinstance(b, V) else self.const(b, a.element)
        name = "icmp" if a.element[0] == "i" else "fcmp"
        return self.op(f"{name} {predicate} {self.type(a.element)} {a}, {other}", "i1")

    def select(self, condition: V, a: V | float, b: V | float) -> V:
        """a where the condition holds, else b; at least one is a value."""
        element = a.element if isinstance(a, V) else b.element  # type: ignore[union-attr]
        left = a if isinstance(a, V) else self.const(a, element)
        right = b if isinstance(b, V) else self.const(b, element)
        kind = self.type(element)
        return self.op(
            f"select {self.type('i1')} {condition}, {kind} {left}, {kind} {right}", element
        )

    def convert(self, name: str, a: V, element: str) -> V:
        """A conversion instruction (bitcast, fpext, fptosi …)."""
        return self.op(f"{name} {self.type(a.element)} {a} to {self.type(element)}", element)

    def call(self, intrinsic: str, a: V) -> V:
        """A unary LLVM intrinsic of the type of `a`."""
        short = {"float": "f32", "double": "f64"}.get(a.element, a.element)
        suffix = short if self.lanes == 1 else f"v{self.lanes}{short}"
        kind = self.type(a.element)
        self.declared.add(f"declare {kind} @{intrinsic}.{suffix}({kind})")
        return self.op(f"call {kind} @{intrinsic}.{suffix}({kind} {a})", a.element)

    def abs(self, a: V) -> V:
        """|a|"""
        return self.call("llvm.fabs", a)

    def negate(self, a: V) -> V:
        """-a"""
        return self.op(f"fneg {self.type(a.element)} {a}", a.element)

    def poly(self, x: V, coefficients: Sequence[float]) -> V:
        """The polynomial with the given coefficients, lowest first (Horner)."""
        total: V = self.const(coefficients[-1], x.element)
        for c in reversed(coefficients[:-1]):
            total = self.add(self.mul(total, x), c)
        return total

    def with_sign_of(self, magnitude: V, sign: V) -> V:
        """The magnitude with the sign bit of `sign` (float32)."""
        top = self.bits("and", self.convert("bitcast", sign, "i32"), -(1 << 31))
        low = self.bits("and", self.convert("bitcast", magnitude, "i32"), 0x7FFFFFFF)
        return self.convert("bitcast", self.bits("or", low, top), "float")

    def pow2(self, n: V) -> V:
        """2**n for an integer n in the exponent range of float32 (i32) or double (i64)."""
        if n.element == "i32":
            raised = self.bits("shl", self.add(n, 127), 23)
            return self.convert("bitcast", raised, "float")
        return self.convert("bitcast", self.bits("shl", self.add(n, 1023), 52), "double")


def _clamped(b: Body, x: V, low: float, high: float) -> V:
    """x within [low, high]; NaN stays."""
    x = b.select(b.compare("ogt", x, high), high, x)
    return b.select(b.compare("olt", x, low), low, x)


def _exp(b: Body, x: V) -> V:
    x = _clamped(b, x, -104.0, 89.0)
    n = b.call("llvm.rint", b.mul(x, math.log2(math.e)))
    # ln 2 in two parts: the first has 15 bits, so that n times it is exact.
    r = b.sub(b.sub(x, b.mul(n, 0.693145751953125)), b.mul(n, 1.4286068203094172e-06))
    p = b.add(b.add(b.mul(b.mul(r, r), b.poly(r, _EXP)), r), 1.0)
    return _scaled(b, p, n)


def _scaled(b: Body, p: V, n: V) -> V:
    """p * 2**n in two steps, so that overflow and the subnormal numbers come out right."""
    safe = b.select(b.compare("uno", n, n), 0.0, n)
    whole = b.convert("fptosi", safe, "i32")
    half = b.bits("ashr", whole, 1)
    rest = b.sub(whole, half)
    return b.mul(b.mul(p, b.pow2(half)), b.pow2(rest))


def _exp2(b: Body, x: V) -> V:
    x = _clamped(b, x, -151.0, 129.0)
    n = b.call("llvm.rint", x)
    r = b.mul(b.sub(x, n), math.log(2))
    p = b.add(b.add(b.mul(b.mul(r, r), b.poly(r, _EXP)), r), 1.0)
    return _scaled(b, p, n)


def _exp10(b: Body, x: V) -> V:
    d = b.convert("fpext", _clamped(b, x, -46.0, 39.0), "double")
    return b.convert("fptrunc", _exp2_double(b, b.mul(d, math.log2(10))), "float")


def _expm1(b: Body, x: V) -> V:
    d = b.convert("fpext", _clamped(b, x, -104.0, 89.0), "double")
    wide = b.sub(_exp2_double(b, b.mul(d, math.log2(math.e))), 1.0)
    # Below 2**-10 the difference cancels; three terms of the series are exact enough there.
    series = b.mul(d, b.poly(d, (1.0, 0.5, 1 / 6, 1 / 24)))
    small = b.compare("olt", b.abs(d), 2.0**-10)
    return b.convert("fptrunc", b.select(small, series, wide), "float")


def _split(b: Body, x: V) -> tuple[V, V]:
    """x = m * 2**e with m in [sqrt(1/2), sqrt(2)), for positive finite x; e as a float."""
    tiny = b.compare("olt", x, 2.0**-126)
    x = b.select(tiny, b.mul(x, 2.0**23), x)
    whole = b.convert("bitcast", x, "i32")
    # sqrt(1/2) is 0x3F3504F3: subtracting it puts the border between exponents there.
    shifted = b.sub(whole, 0x3F3504F3)
    e = b.bits("ashr", shifted, 23)
    m = b.convert("bitcast", b.sub(whole, b.bits("shl", e, 23)), "float")
    exponent = b.convert("sitofp", e, "float")
    return m, b.select(tiny, b.sub(exponent, 23.0), exponent)


def _log_special(b: Body, x: V, y: V) -> V:
    """What a logarithm is at 0, at infinity and for negative numbers."""
    y = b.select(b.compare("oeq", x, math.inf), math.inf, y)
    y = b.select(b.compare("oeq", x, 0.0), -math.inf, y)
    return b.select(b.compare("ult", x, 0.0), math.nan, y)


def _log1p_poly(b: Body, t: V) -> V:
    """log(1 + t) - t for t in [sqrt(1/2) - 1, sqrt(2) - 1]."""
    square = b.mul(t, t)
    return b.add(b.mul(b.mul(square, t), b.poly(t, _LOG)), b.mul(square, -0.5))


def _log(b: Body, x: V) -> V:
    m, e = _split(b, x)
    t = b.sub(m, 1.0)
    low = b.add(_log1p_poly(b, t), b.mul(e, 1.4286068203094172e-06))
    return _log_special(b, x, b.add(b.add(low, t), b.mul(e, 0.693145751953125)))


def _log_base(b: Body, x: V, per_bit: float, per_unit: float) -> V:
    m, e = _split(b, x)
    t = b.sub(m, 1.0)
    log_m = b.convert("fpext", b.add(_log1p_poly(b, t), t), "double")
    wide = b.add(b.mul(log_m, per_unit), b.mul(b.convert("fpext", e, "double"), per_bit))
    return _log_special(b, x, b.convert("fptrunc", wide, "float"))


def _log2(b: Body, x: V) -> V:
    return _log_base(b, x, 1.0, math.log2(math.e))


def _log10(b: Body, x: V) -> V:
    return _log_base(b, x, math.log10(2), math.log10(math.e))


def _log1p(b: Body, x: V) -> V:
    d = b.add(b.convert("fpext", x, "double"), 1.0)
    wide = b.mul(_log2_double(b, d), math.log(2))
    y = b.convert("fptrunc", wide, "float")
    # Below 2**-20 the sum 1 + x has lost half of the bits that matter.
    series = b.sub(x, b.mul(b.mul(x, x), 0.5))
    y = b.select(b.compare("olt", b.abs(x), 2.0**-20), series, y)
    y = b.select(b.compare("oeq", x, math.inf), math.inf, y)
    y = b.select(b.compare("oeq", x, -1.0), -math.inf, y)
    return b.select(b.compare("ult", x, -1.0), math.nan, y)


def _tanh(b: Body, x: V) -> V:
    a = b.abs(x)
    square = b.mul(x, x)
    small = b.add(b.mul(b.mul(square, x), b.poly(square, _TANH)), x)
    big = b.select(b.compare("ogt", a, 10.0), 10.0, a)
    large = b.sub(b.const(1.0), b.div(b.const(2.0), b.add(_exp(b, b.add(big, big)), 1.0)))
    return b.with_sign_of(b.select(b.compare("olt", a, 0.625), small, large), x)


def _sigmoid(b: Body, x: V) -> V:
    # exp(-|x|) never overflows; for negative x it is also the numerator.
    e = _exp(b, b.negate(b.abs(x)))
    top = b.select(b.compare("olt", x, 0.0), e, 1.0)
    return b.div(top, b.add(e, 1.0))


def _erf(b: Body, x: V) -> V:
    a = b.abs(x)
    square = b.mul(x, x)
    small = b.mul(x, b.poly(square, _ERF))
    far = b.select(b.compare("ogt", a, 4.0), 4.0, a)
    t = b.div(b.const(1.0), b.add(b.mul(far, 0.5), 1.0))
    tail = b.mul(_exp(b, b.negate(b.mul(far, far))), b.poly(t, _ERFC))
    large = b.with_sign_of(b.sub(b.const(1.0), tail), x)
    return b.select(b.compare("olt", a, 1.0), small, large)


def _log2_double(b: Body, x: V) -> V:
    """log2 of a positive finite double that is no subnormal."""
    whole = b.convert("bitcast", x, "i64")
    e = b.bits("ashr", b.sub(whole, 0x3FE6A09E667F3BCD), 52)
    m = b.convert("bitcast", b.sub(whole, b.bits("shl", e, 52)), "double")
    s = b.div(b.sub(m, 1.0), b.add(m, 1.0))
    log_m = b.mul(s, b.poly(b.mul(s, s), _LOG2))
    return b.add(log_m, b.convert("sitofp", e, "double"))


def _exp2_double(b: Body, x: V) -> V:
    """2**x of a double, for results that fit into a float32 or overflow it."""
    x = b.select(b.compare("ogt", x, 300.0), 300.0, x)
    x = b.select(b.compare("olt", x, -300.0), -300.0, x)
    n = b.call("llvm.rint", x)
    p = b.poly(b.sub(x, n), _EXP2)
    safe = b.select(b.compare("uno", n, n), 0.0, n)
    return b.mul(p, b.pow2(b.convert("fptosi", safe, "i64")))


def _pow(b: Body, x: V, y: V) -> V:
    dx, dy = b.convert("fpext", b.abs(x), "double"), b.convert("fpext", y, "double")
    log = _log2_double(b, dx)
    log = b.select(b.compare("oeq", dx, 0.0), -math.inf, log)
    log = b.select(b.compare("oeq", dx, math.inf), math.inf, log)
    log = b.select(b.compare("uno", dx, dx), math.nan, log)
    size = b.convert("fptrunc", _exp2_double(b, b.mul(log, dy)), "float")
    half = b.mul(y, 0.5)
    whole = b.compare("oeq", b.call("llvm.floor", y), y)
    even = b.compare("oeq", b.call("llvm.floor", half), half)
    is_odd = b.bits("and", whole, b.bits("xor", even, 1 if b.lanes == 1 else -1))
    signed = b.select(is_odd, b.with_sign_of(size, x), size)
    bad = b.bits("and", b.compare("olt", x, 0.0), b.bits("xor", whole, 1 if b.lanes == 1 else -1))
    bad = b.bits("and", bad, b.compare("ogt", x, -math.inf))
    result = b.select(bad, math.nan, signed)
    one = b.bits("or", b.compare("oeq", y, 0.0), b.compare("oeq", x, 1.0))
    unit = b.bits("and", b.compare("oeq", x, -1.0), b.compare("oeq", b.abs(y), math.inf))
    return b.select(b.bits("or", one, unit), 1.0, result)


def _quadrant(b: Body, x: V) -> tuple[V, V]:
    """x as double in [-pi/4, pi/4] and the number of quarter turns (i32)."""
    d = b.convert("fpext", x, "double")
    n = b.call("llvm.rint", b.mul(d, 2 / math.pi))
    for part in _HALF_PI:
        d = b.sub(d, b.mul(n, part))
    bounded = b.compare("olt", b.abs(n), 2.0**31)
    d = b.select(bounded, d, math.nan)
    return d, b.convert("fptosi", b.select(bounded, n, 0.0), "i32")


def _sin_cos(b: Body, x: V, turn: int) -> tuple[V, V]:
    """sin and cos of x + turn * pi/2, in double."""
    r, n = _quadrant(b, x)
    n = b.add(n, turn)
    square = b.mul(r, r)
    s, c = b.mul(r, b.poly(square, _SIN)), b.poly(square, _COS)
    swap = b.compare("ne", b.bits("and", n, 1), 0)
    s, c = b.select(swap, c, s), b.select(swap, s, c)
    s = b.select(b.compare("ne", b.bits("and", n, 2), 0), b.negate(s), s)
    c = b.select(b.compare("ne", b.bits("and", b.add(n, 1), 2), 0), b.negate(c), c)
    return s, c


def _sin(b: Body, x: V) -> V:
    y = b.convert("fptrunc", _sin_cos(b, x, 0)[0], "float")
    return b.select(b.compare("oeq", x, 0.0), x, y)


def _cos(b: Body, x: V) -> V:
    return b.convert("fptrunc", _sin_cos(b, x, 1)[0], "float")


def _tan(b: Body, x: V) -> V:
    s, c = _sin_cos(b, x, 0)
    y = b.convert("fptrunc", b.div(s, c), "float")
    return b.select(b.compare("oeq", x, 0.0), x, y)


def _sinh(b: Body, x: V) -> V:
    d = b.abs(b.convert("fpext", x, "double"))
    scaled = b.mul(d, math.log2(math.e))
    up, down = _exp2_double(b, scaled), _exp2_double(b, b.negate(scaled))
    wide = b.mul(b.sub(up, down), 0.5)
    series = b.mul(d, b.add(b.mul(b.mul(d, d), 1 / 6), 1.0))
    wide = b.select(b.compare("olt", d, 2.0**-8), series, wide)
    return b.with_sign_of(b.convert("fptrunc", wide, "float"), x)


def _cosh(b: Body, x: V) -> V:
    d = b.convert("fpext", x, "double")
    scaled = b.mul(d, math.log2(math.e))
    up, down = _exp2_double(b, scaled), _exp2_double(b, b.negate(scaled))
    return b.convert("fptrunc", b.mul(b.add(up, down), 0.5), "float")


def _atan_double(b: Body, a: V) -> V:
    """atan of a double that is not negative."""
    tan_pi_8, tan_3pi_8 = math.sqrt(2) - 1, math.sqrt(2) + 1
    big, middle = b.compare("ogt", a, tan_3pi_8), b.compare("ogt", a, tan_pi_8)
    turned = b.div(b.sub(a, 1.0), b.add(a, 1.0))
    inverse = b.div(b.const(-1.0, "double"), a)
    r = b.select(big, inverse, b.select(middle, turned, a))
    base = b.select(big, math.pi / 2, b.select(middle, b.const(math.pi / 4, "double"), 0.0))
    return b.add(base, b.mul(r, b.poly(b.mul(r, r), _ATAN)))


def _atan(b: Body, x: V) -> V:
    a = b.convert("fpext", b.abs(x), "double")
    return b.with_sign_of(b.convert("fptrunc", _atan_double(b, a), "float"), x)


def _asin_parts(b: Body, a: V) -> tuple[V, V, V]:
    """For a = |x|: is it above 1/2, and asin of the reduced argument and the argument itself."""
    high = b.compare("ogt", a, 0.5)
    z = b.select(high, b.mul(b.sub(b.const(1.0), a), 0.5), b.mul(a, a))
    r = b.select(high, b.call("llvm.sqrt", z), a)
    return high, b.add(b.mul(b.mul(z, r), b.poly(z, _ASIN)), r), r


def _asin(b: Body, x: V) -> V:
    high, y, _ = _asin_parts(b, b.abs(x))
    folded = b.sub(b.const(math.pi / 2), b.add(y, y))
    return b.with_sign_of(b.select(high, folded, y), x)


def _acos(b: Body, x: V) -> V:
    high, y, _ = _asin_parts(b, b.abs(x))
    negative = b.compare("olt", x, 0.0)
    double = b.add(y, y)
    outer = b.select(negative, b.sub(b.const(math.pi), double), double)
    inner = b.select(negative, b.add(y, math.pi / 2), b.sub(b.const(math.pi / 2), y))
    return b.select(high, outer, inner)


def _rsqrt(b: Body, x: V) -> V:
    return b.div(b.const(1.0), b.call("llvm.sqrt", x))


#: Function name → (writer, number of arguments).
FUNCTIONS: dict[str, tuple[Callable[..., V], int]] = {
    "exp": (_exp, 1),
    "exp2": (_exp2, 1),
    "exp10": (_exp10, 1),
    "expm1": (_expm1, 1),
    "log": (_log, 1),
    "log2": (_log2, 1),
    "log10": (_log10, 1),
    "log1p": (_log1p, 1),
    "tanh": (_tanh, 1),
    "sigmoid": (_sigmoid, 1),
    "erf": (_erf, 1),
    "pow": (_pow, 2),
    "sin": (_sin, 1),
    "cos": (_cos, 1),
    "tan": (_tan, 1),
    "sinh": (_sinh, 1),
    "cosh": (_cosh, 1),
    "atan": (_atan, 1),
    "asin": (_asin, 1),
    "acos": (_acos, 1),
    "rsqrt": (_rsqrt, 1),
}


def symbol(name: str, lanes: int) -> str:
    """The name of the function for a number of lanes."""
    return f"wb.{name}.f32" if lanes == 1 else f"wb.{name}.v{lanes}f32"


def function_ir(name: str, lanes: int) -> tuple[str, set[str]]:
    """The definition of a function for a number of lanes, and the declarations it needs."""
    writer, count = FUNCTIONS[name]
    body = Body(lanes)
    args = [body.value(f"%x{i}", "float") for i in range(count)]
    result = writer(body, *args)
    kind = body.type("float")
    head = (
        f"define internal {kind} @{symbol(name, lanes)}({', '.join(f'{kind} {a}' for a in args)})"
    )
    lines = [f"{head} alwaysinline nounwind {{", *body.lines, f"  ret {kind} {result}", "}"]
    return "\n".join(lines), body.declared
