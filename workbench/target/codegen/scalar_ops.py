"""Arithmetic, comparisons and conversions on register values, for every data type.

Semantics (those of `tirx.interpret`): integers wrap around; division by zero gives 0 and never
traps; shifts by the width or more give 0 (the sign for signed right shifts); minimum and maximum of
floats propagate NaN; bfloat16 and float8 results are computed in float32 and rounded to nearest
even; float → integer truncates, and is unspecified out of range.
"""

from __future__ import annotations

from workbench.runtime.dtype import DataType
from workbench.target.codegen.emitter import FunctionEmitter
from workbench.target.codegen.llvm_types import (
    NARROW,
    constant,
    kind_of,
    mangle,
    memory,
    register,
    register_element,
    vector,
)

_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "mod": "frem"}
_COMPARE = {
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
}
_F32 = DataType("float32")


def binary(fn: FunctionEmitter, name: str, a: str, b: str, dtype: DataType) -> str:
    """The value of `a name b`; names: add sub mul div mod floordiv floormod min max."""
    kind = kind_of(dtype)
    if kind == "float":
        return _float_binary(fn, name, a, b, dtype)
    if kind == "bool":
        return _bool_binary(fn, name, a, b, dtype)
    if name in ("add", "sub", "mul"):
        flags = " nsw" if fn.nsw and kind == "int" and dtype.bits >= 32 else ""
        return fn.op(f"{name}{flags} {register(dtype)} {a}, {b}")
    if name in ("min", "max"):
        return intrinsic(fn, f"llvm.{'s' if kind == 'int' else 'u'}{name}", dtype, a, b)
    return _divide(fn, name, a, b, dtype)


def _float_binary(fn: FunctionEmitter, name: str, a: str, b: str, dtype: DataType) -> str:
    kind = register(dtype)
    flags = fn.module.flags if str(dtype.base) in ("float32", "float64") else ""
    if name in ("min", "max"):
        return _float_extreme(fn, name, a, b, dtype)
    if name == "floordiv":
        quotient = rounded(fn, fn.op(f"fdiv{flags} {kind} {a}, {b}"), dtype)
        return intrinsic(fn, "llvm.floor", dtype, quotient)
    if name == "floormod":
        quotient = _float_binary(fn, "floordiv", a, b, dtype)
        product = rounded(fn, fn.op(f"fmul {kind} {quotient}, {b}"), dtype)
        return rounded(fn, fn.op(f"fsub {kind} {a}, {product}"), dtype)
    return rounded(fn, fn.op(f"{_FLOAT[name]}{flags} {kind} {a}, {b}"), dtype)


def _float_extreme(fn: FunctionEmitter, name: str, a: str, b: str, dtype: DataType) -> str:
    """NaN if either operand is NaN; which zero is taken of two is unspecified."""
    if register_element(dtype) == "half":
        wide = _F32.with_lanes(dtype.lanes)
        return cast(
            fn,
            _float_extreme(fn, name, cast(fn, a, dtype, wide), cast(fn, b, dtype, wide), wide),
            wide,
            dtype,
        )
    kind = register(dtype)
    order = "olt" if name == "min" else "ogt"
    smaller = fn.op(f"fcmp {order} {kind} {a}, {b}")
    mask = vector("i1", dtype.lanes)
    best = fn.op(f"select nsz {mask} {smaller}, {kind} {a}, {kind} {b}")
    if not _may_be_nan(a):
        return best  # the comparison is false for a NaN in b, and b is what it selects
    nan = fn.op(f"fcmp uno {kind} {a}, {a}")
    return fn.op(f"select {mask} {nan}, {kind} {a}, {kind} {best}")


def _may_be_nan(text: str) -> bool:
    """False for a constant number, True for anything computed."""
    digits = text.split("0x")[-1].rstrip(")") if "0x" in text else ""
    return not digits or digits[:3].upper() in ("7FF", "FFF") or digits.startswith("H")


def _bool_binary(fn: FunctionEmitter, name: str, a: str, b: str, dtype: DataType) -> str:
    """Arithmetic of truth values: + and max are or, * and min are and, - is exclusive or."""
    instruction = {"add": "or", "max": "or", "mul": "and", "min": "and", "sub": "xor"}.get(name)
    kind = register(dtype)
    if instruction is None:
        # a divided by b: a where b is true, 0 where it is false; the remainder is always 0.
        return fn.op(f"and {kind} {a}, {b}") if "div" in name else constant(0, dtype)
    return fn.op(f"{instruction} {kind} {a}, {b}")


def _constant_divisor(text: str, dtype: DataType) -> int | None:
    if dtype.lanes > 1:
        inner = text.rpartition(" ")[2].rstrip(")")
        return int(inner) if text.startswith("splat") and inner.lstrip("-").isdigit() else None
    return int(text) if text.lstrip("-").isdigit() else None


def _divide(fn: FunctionEmitter, name: str, a: str, b: str, dtype: DataType) -> str:
    kind, signed = register(dtype), dtype.is_int
    divisor = _constant_divisor(b, dtype)
    if divisor == 0:
        return constant(0, dtype)
    flooring = signed and name.startswith("floor")
    if flooring and divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        if name == "floordiv":
            return fn.op(f"ashr {kind} {a}, {constant(divisor.bit_length() - 1, dtype)}")
        return fn.op(f"and {kind} {a}, {constant(divisor - 1, dtype)}")
    if divisor is None:
        return _guarded(fn, name, a, b, dtype)
    return _quotient(fn, name, a, b, dtype)


def _quotient(fn: FunctionEmitter, name: str, a: str, b: str, dtype: DataType) -> str:
    """The division for a divisor that cannot trap."""
    kind, mask = register(dtype), vector("i1", dtype.lanes)
    if not dtype.is_int:
        return fn.op(f"{'udiv' if 'div' in name else 'urem'} {kind} {a}, {b}")
    if name == "div":
        return fn.op(f"sdiv {kind} {a}, {b}")
    remainder = fn.op(f"srem {kind} {a}, {b}")
    if name == "mod":
        return remainder
    zero = constant(0, dtype)
    inexact = fn.op(f"icmp ne {kind} {remainder}, {zero}")
    signs = fn.op(f"xor {kind} {remainder}, {b}")
    differ = fn.op(f"icmp slt {kind} {signs}, {zero}")
    fix = fn.op(f"and {mask} {inexact}, {differ}")
    if name == "floormod":
        moved = fn.op(f"add {kind} {remainder}, {b}")
        return fn.op(f"select {mask} {fix}, {kind} {moved}, {kind} {remainder}")
    quotient = fn.op(f"sdiv {kind} {a}, {b}")
    one = fn.op(f"zext {mask} {fix} to {kind}")
    return fn.op(f"sub {kind} {quotient}, {one}")


def _guarded(fn: FunctionEmitter, name: str, a: str, b: str, dtype: DataType) -> str:
    """Division by a computed divisor: 0 for zero; the most negative number by -1 wraps around."""
    kind, mask, zero = register(dtype), vector("i1", dtype.lanes), constant(0, dtype)
    by_zero = fn.op(f"icmp eq {kind} {b}, {zero}")
    unsafe = by_zero
    if dtype.is_int:
        lowest = fn.op(f"icmp eq {kind} {a}, {constant(-(1 << (dtype.bits - 1)), dtype)}")
        minus = fn.op(f"icmp eq {kind} {b}, {constant(-1, dtype)}")
        unsafe = fn.op(f"or {mask} {by_zero}, {fn.op(f'and {mask} {lowest}, {minus}')}")
    safe = fn.op(f"select {mask} {unsafe}, {kind} {constant(1, dtype)}, {kind} {b}")
    result = _quotient(fn, name, a, safe, dtype)
    return fn.op(f"select {mask} {by_zero}, {kind} {zero}, {kind} {result}")


def compare(fn: FunctionEmitter, name: str, a: str, b: str, dtype: DataType) -> str:
    """A comparison; names: eq ne lt le gt ge."""
    for_float, for_int, for_uint = _COMPARE[name]
    kind = kind_of(dtype)
    if kind == "float":
        return fn.op(f"fcmp {for_float} {register(dtype)} {a}, {b}")
    return fn.op(f"icmp {for_int if kind == 'int' else for_uint} {register(dtype)} {a}, {b}")


def shift(fn: FunctionEmitter, name: str, a: str, b: str, dtype: DataType) -> str:
    """`shift_left` or `shift_right` by any amount."""
    kind, mask = register(dtype), vector("i1", dtype.lanes)
    arithmetic = name == "shift_right" and dtype.is_int
    instruction = "shl" if name == "shift_left" else "ashr" if arithmetic else "lshr"
    amount = _constant_divisor(b, dtype)
    if amount is not None and 0 <= amount < dtype.bits:
        return fn.op(f"{instruction} {kind} {a}, {b}")
    far = fn.op(f"icmp uge {kind} {b}, {constant(dtype.bits, dtype)}")
    limit = constant(dtype.bits - 1 if arithmetic else 0, dtype)
    safe = fn.op(f"select {mask} {far}, {kind} {limit}, {kind} {b}")
    moved = fn.op(f"{instruction} {kind} {a}, {safe}")
    if arithmetic:
        return moved
    return fn.op(f"select {mask} {far}, {kind} {constant(0, dtype)}, {kind} {moved}")


def intrinsic(fn: FunctionEmitter, name: str, dtype: DataType, *args: str) -> str:
    """An LLVM intrinsic overloaded on the type of its arguments, which is also its result's."""
    kind = register(dtype)
    callee = fn.module.declare(f"{name}.{mangle(dtype)}", kind, ", ".join([kind] * len(args)))
    return fn.op(f"call {kind} {callee}({', '.join(f'{kind} {a}' for a in args)})")


def rounded(fn: FunctionEmitter, text: str, dtype: DataType) -> str:
    """A float rounded to the narrow type `dtype` (a no-op for the types LLVM has)."""
    name = str(dtype.base)
    if name not in NARROW:
        return text
    if name == "bfloat16":
        return _round_bf16(fn, text, dtype.lanes)
    return from_memory(fn, _encode_f8(fn, text, dtype), dtype)


class _Lanes:
    """Instructions on `lanes` lanes of i32 and float, for the conversions below."""

    def __init__(self, fn: FunctionEmitter, lanes: int) -> None:
        self.fn = fn
        self.int = vector("i32", lanes)
        self.float = vector("float", lanes)
        self.mask = vector("i1", lanes)
        self.int_type = DataType("int32").with_lanes(lanes)
        self.float_type = _F32.with_lanes(lanes)

    def const(self, value: int) -> str:
        return constant(value, self.int_type)

    def number(self, value: float) -> str:
        return constant(value, self.float_type)

    def bits(self, text: str) -> str:
        return self.fn.op(f"bitcast {self.float} {text} to {self.int}")

    def back(self, text: str) -> str:
        return self.fn.op(f"bitcast {self.int} {text} to {self.float}")

    def do(self, name: str, a: str, b: int | str) -> str:
        return self.fn.op(f"{name} {self.int} {a}, {b if isinstance(b, str) else self.const(b)}")

    def pick(self, condition: str, a: str, b: str) -> str:
        return self.fn.op(f"select {self.mask} {condition}, {self.int} {a}, {self.int} {b}")

    def test(self, predicate: str, a: str, b: int) -> str:
        return self.fn.op(f"icmp {predicate} {self.int} {a}, {self.const(b)}")

    def is_nan(self, text: str) -> str:
        return self.fn.op(f"fcmp uno {self.float} {text}, {text}")


def _round_bits(w: _Lanes, bits: str, dropped: int) -> str:
    """Rounds to nearest even by dropping low bits; overflow carries into the exponent."""
    odd = w.do("and", w.do("lshr", bits, dropped), 1)
    up = w.do("add", w.do("add", bits, odd), (1 << (dropped - 1)) - 1)
    return w.do("and", up, -(1 << dropped))


def _round_bf16(fn: FunctionEmitter, text: str, lanes: int) -> str:
    w = _Lanes(fn, lanes)
    bits = w.bits(text)
    quiet = w.do("and", w.do("or", bits, 0x400000), -65536)
    return w.back(w.pick(w.is_nan(text), quiet, _round_bits(w, bits, 16)))


#: float8 formats: mantissa bits, exponent of the smallest normal number, bits of the largest finite
#: value, code of overflow and of NaN.
_FLOAT8 = {
    "float8_e4m3fn": (3, -6, 0x7E, 0x7F, 0x7F),
    "float8_e5m2": (2, -14, 0x7B, 0x7C, 0x7E),
}


def _encode_f8(fn: FunctionEmitter, text: str, dtype: DataType) -> str:
    """The float8 code (i8) nearest to a float: ties to even, overflow as ml_dtypes does."""
    mantissa, lowest, top, overflow, nan = _FLOAT8[str(dtype.base)]
    w = _Lanes(fn, dtype.lanes)
    bits = w.bits(text)
    sign = w.do("and", w.do("lshr", bits, 24), 0x80)
    size = w.do("and", bits, 0x7FFFFFFF)
    drop = 23 - mantissa
    # Scaled by a power of two, the exponent of the narrow type lies where float32 has its own.
    rebias = (127 + lowest - 1) << 23
    normal = w.do("lshr", w.do("sub", _round_bits(w, size, drop), rebias), drop)
    # Below the normal numbers the spacing is constant: adding 2**k leaves the rounded count behind.
    magic = 2.0 ** (lowest - mantissa + 23)
    total = fn.op(f"fadd {w.float} {w.back(size)}, {w.number(magic)}")
    count = w.do("and", w.bits(total), (1 << 22) - 1)
    is_small = w.test("ult", size, (127 + lowest) << 23)
    code = w.pick(is_small, count, normal)
    code = w.pick(w.test("ugt", code, top), w.const(overflow), code)
    code = w.pick(w.test("ugt", size, 0x7F800000), w.const(nan), code)
    whole = w.do("or", code, sign)
    return fn.op(f"trunc {w.int} {whole} to {vector('i8', dtype.lanes)}")


def _decode_f8(fn: FunctionEmitter, text: str, dtype: DataType) -> str:
    mantissa, lowest, _, overflow, nan = _FLOAT8[str(dtype.base)]
    w = _Lanes(fn, dtype.lanes)
    code = fn.op(f"zext {vector('i8', dtype.lanes)} {text} to {w.int}")
    size = w.do("and", code, 0x7F)
    raised = w.back(w.do("shl", size, 23 - mantissa))
    value = fn.op(f"fmul {w.float} {raised}, {w.number(2.0 ** (127 + lowest - 1))}")
    bits = w.bits(value)
    special = w.pick(w.test("eq", size, overflow), w.const(0x7F800000), bits)
    at_least = nan if overflow == nan else overflow + 1
    special = w.pick(w.test("uge", size, at_least), w.const(0x7FC00000), special)
    sign = w.do("shl", w.do("and", code, 0x80), 24)
    return w.back(w.do("or", special, sign))


def from_memory(fn: FunctionEmitter, text: str, dtype: DataType) -> str:
    """The register form of a value in memory form."""
    kind = kind_of(dtype)
    if kind == "bool":
        zero = constant(0, DataType("uint8").with_lanes(dtype.lanes))
        return fn.op(f"icmp ne {memory(dtype)} {text}, {zero}")
    if str(dtype.base) == "bfloat16":
        w = _Lanes(fn, dtype.lanes)
        return w.back(w.do("shl", fn.op(f"zext {memory(dtype)} {text} to {w.int}"), 16))
    if str(dtype.base) in _FLOAT8:
        return _decode_f8(fn, text, dtype)
    return text


def to_memory(fn: FunctionEmitter, text: str, dtype: DataType) -> str:
    """The memory form of a value in register form."""
    if kind_of(dtype) == "bool":
        return fn.op(f"zext {register(dtype)} {text} to {memory(dtype)}")
    if str(dtype.base) == "bfloat16":
        w = _Lanes(fn, dtype.lanes)
        return fn.op(f"trunc {w.int} {w.do('lshr', w.bits(text), 16)} to {memory(dtype)}")
    if str(dtype.base) in _FLOAT8:
        return _encode_f8(fn, text, dtype)
    return text


def cast(fn: FunctionEmitter, text: str, source: DataType, target: DataType) -> str:
    """A value of `source` converted to `target` (same number of lanes)."""
    if source == target:
        return text
    old, new = kind_of(source), kind_of(target)
    a, b = register(source), register(target)
    if new == "bool":
        if old == "bool":
            return text
        zero = constant(0, source)
        return fn.op(f"{'fcmp une' if old == 'float' else 'icmp ne'} {a} {text}, {zero}")
    if old == "float" and new == "float":
        return _float_to_float(fn, text, source, target)
    if old == "float" and new in ("int", "uint"):
        if register_element(source) == "half":
            wide = vector("float", source.lanes)
            text, a = fn.op(f"fpext {a} {text} to {wide}"), wide
        whole = fn.op(f"{'fptosi' if new == 'int' else 'fptoui'} {a} {text} to {b}")
        return fn.op(f"freeze {b} {whole}")
    if new == "float":
        return _to_float(fn, text, source, target)
    if new == "handle":
        return fn.op(f"inttoptr {a} {text} to {b}")
    if old == "handle":
        return fn.op(f"ptrtoint {a} {text} to {b}")
    bits = 1 if old == "bool" else source.bits
    if bits == target.bits:
        return text
    if bits > target.bits:
        return fn.op(f"trunc {a} {text} to {b}")
    return fn.op(f"{'sext' if old == 'int' else 'zext'} {a} {text} to {b}")


def _to_float(fn: FunctionEmitter, text: str, source: DataType, target: DataType) -> str:
    """An integer or truth value as a float; narrow types by way of float32."""
    instruction = "sitofp" if source.is_int and source.bits > 1 else "uitofp"
    if register_element(target) == "double":
        return fn.op(f"{instruction} {register(source)} {text} to {register(target)}")
    middle = _F32.with_lanes(source.lanes)
    value = fn.op(f"{instruction} {register(source)} {text} to {register(middle)}")
    return _float_to_float(fn, value, middle, target)


def _float_to_float(fn: FunctionEmitter, text: str, source: DataType, target: DataType) -> str:
    old, new = register_element(source), register_element(target)
    lanes = source.lanes
    if old == new:
        return rounded(fn, text, target)
    if new == "half" and old == "double":
        text, old = _odd_float(fn, text, lanes), "float"
    order = ("half", "float", "double")
    if order.index(new) > order.index(old):
        if old == "half":
            text = fn.op(f"fpext {vector('half', lanes)} {text} to {vector('float', lanes)}")
            if new == "float":
                return rounded(fn, text, target)
        return fn.op(f"fpext {vector('float', lanes)} {text} to {vector(new, lanes)}")
    value = fn.op(f"fptrunc {vector(old, lanes)} {text} to {vector(new, lanes)}")
    return rounded(fn, value, target)


def _odd_float(fn: FunctionEmitter, text: str, lanes: int) -> str:
    """A double as float32 rounded to odd, so that rounding it again to half is exact."""
    w = _Lanes(fn, lanes)
    wide = vector("double", lanes)
    near = fn.op(f"fptrunc {wide} {text} to {w.float}")
    back = fn.op(f"fpext {w.float} {near} to {wide}")
    wide_type = DataType("float64").with_lanes(lanes)
    size, size_back = (
        intrinsic(fn, "llvm.fabs", wide_type, text),
        intrinsic(fn, "llvm.fabs", wide_type, back),
    )
    inexact = fn.op(f"fcmp one {wide} {size}, {size_back}")
    above = fn.op(f"fcmp ogt {wide} {size_back}, {size}")
    bits = w.bits(near)
    down = w.pick(above, w.do("sub", bits, 1), bits)
    return w.back(w.pick(inexact, w.do("or", down, 1), bits))
