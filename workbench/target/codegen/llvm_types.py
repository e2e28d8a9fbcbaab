"""Data types and constants as LLVM text.

A value has two forms. In *memory* bool is i8, bfloat16 i16, float8 i8. In a *register* bool is i1,
bfloat16 and float8 are a float that holds a value of the narrow type exactly, so that arithmetic on
them is float arithmetic followed by a rounding. All other types are the same in both places.
"""

from __future__ import annotations

import math
import struct

from workbench.ir.expr import Var
from workbench.runtime.dtype import DataType, DataTypeCode
from workbench.target.codegen.machine import CodegenError
from workbench.tirx.buffer import BufferType

#: Types whose register form is float.
NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
_REGISTER = {
    "bool": "i1",
    "uint1": "i1",
    "int1": "i1",
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "handle": "ptr",
    **dict.fromkeys(NARROW, "float"),
}
_MEMORY = {
    "bool": "i8",
    "uint1": "i8",
    "int1": "i8",
    "bfloat16": "i16",
    "float8_e4m3fn": "i8",
    "float8_e5m2": "i8",
}
_INTEGERS = (DataTypeCode.INT, DataTypeCode.UINT)


def vector(element: str, lanes: int) -> str:
    """The LLVM type of `lanes` elements."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def register_element(dtype: DataType) -> str:
    """The register type of one lane. Raises `CodegenError` for types without arithmetic."""
    name = str(dtype.base)
    found = _REGISTER.get(name)
    if found is not None:
        return found
    if dtype.type_code in _INTEGERS and dtype.bits >= 8:
        return f"i{dtype.bits}"
    raise CodegenError(
        f"the CPU code generator has no type {name}",
        hint="store it as int8 or uint8 and convert with T.Cast / T.reinterpret",
    )


def register(dtype: DataType) -> str:
    """The register type of a value."""
    return vector(register_element(dtype), dtype.lanes)


def memory_element(dtype: DataType) -> str:
    """The type of one lane in memory."""
    return _MEMORY.get(str(dtype.base)) or register_element(dtype)


def memory(dtype: DataType) -> str:
    """The type of a value in memory."""
    return vector(memory_element(dtype), dtype.lanes)


def item_bytes(dtype: DataType) -> int:
    """Bytes of one lane in memory."""
    return (8 if dtype.bits < 8 else dtype.bits) // 8


def mangle(dtype: DataType) -> str:
    """How LLVM names the register type in overloaded intrinsics: f32, v16f32, i64."""
    names = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}
    element = register_element(dtype)
    short = names.get(element, element)
    return short if dtype.lanes == 1 else f"v{dtype.lanes}{short}"


def kind_of(dtype: DataType) -> str:
    """ "float", "int", "uint", "bool" or "handle"."""
    if dtype.is_float:
        return "float"
    if dtype.is_int and dtype.bits > 1:
        return "int"
    if dtype.is_handle:
        return "handle"
    return "uint" if dtype.is_uint and dtype.bits > 1 else "bool"


def float_text(value: float, element: str) -> str:
    """An exact floating constant of an LLVM type (half, float, double)."""
    if element == "half":
        try:
            bits = struct.unpack("<H", struct.pack("<e", value))[0]
        except OverflowError:
            bits = 0x7C00 if value > 0 else 0xFC00
        return f"0xH{bits:04X}"
    if element == "float":
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = math.copysign(math.inf, value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def constant(value: float | int | bool, dtype: DataType) -> str:
    """A constant of a data type, splat over its lanes."""
    element = register_element(dtype)
    if element == "ptr":
        text = "null" if not value else f"inttoptr (i64 {int(value)} to ptr)"
    elif element == "i1":
        text = "true" if value else "false"
    elif element.startswith("i"):
        text = str(_wrapped(int(value), dtype))
    else:
        number = float(value)
        if str(dtype.base) in NARROW:
            number = float(dtype.base.numpy().type(number))
        text = float_text(number, element)
    return text if dtype.lanes == 1 else f"splat ({element} {text})"


def _wrapped(value: int, dtype: DataType) -> int:
    """The signed number LLVM writes for an integer of that width."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if value >> (dtype.bits - 1) else value


def buffer_type(buffer: Var) -> BufferType:
    """The type of a buffer variable."""
    ty = buffer.ty
    assert isinstance(ty, BufferType), f"{buffer.name} is no buffer"
    return ty


def c_string(text: str) -> tuple[str, int]:
    """A NUL-terminated constant and its length in bytes."""
    data = text.encode() + b"\0"
    body = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)
    return f'c"{body}"', len(data)
