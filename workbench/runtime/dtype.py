"""Data types by name: `DataType("float32x4")` is the string "float32x4" with its parts attached.

A `DataType` is an interned `str`: it compares, hashes and prints as its name, so `dtype == "int32"`
costs a string comparison and nothing else. Bits, lanes and type code follow DLPack; `bool` is one
byte in memory; `handle` is an opaque 64-bit pointer; `void` has no bits.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError, did_you_mean


class DataTypeError(WorkbenchError, ValueError):
    """A text that names no data type, or a type that has no NumPy counterpart."""


class DataTypeCode(IntEnum):
    """Type codes of DLPack."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    COMPLEX = 5
    BOOL = 6
    Float8E3M4 = 7
    Float8E4M3 = 8
    Float8E4M3B11FNUZ = 9
    Float8E4M3FN = 10
    Float8E4M3FNUZ = 11
    Float8E5M2 = 12
    Float8E5M2FNUZ = 13
    Float8E8M0FNU = 14
    Float6E2M3FN = 15
    Float6E3M2FN = 16
    Float4E2M1FN = 17


#: Types whose name does not end in their number of bits: name → (code, bits).
_NAMED: dict[str, tuple[DataTypeCode, int]] = {
    "bool": (DataTypeCode.BOOL, 8),
    "handle": (DataTypeCode.HANDLE, 64),
    "void": (DataTypeCode.HANDLE, 0),
    "float8_e3m4": (DataTypeCode.Float8E3M4, 8),
    "float8_e4m3": (DataTypeCode.Float8E4M3, 8),
    "float8_e4m3b11fnuz": (DataTypeCode.Float8E4M3B11FNUZ, 8),
    "float8_e4m3fn": (DataTypeCode.Float8E4M3FN, 8),
    "float8_e4m3fnuz": (DataTypeCode.Float8E4M3FNUZ, 8),
    "float8_e5m2": (DataTypeCode.Float8E5M2, 8),
    "float8_e5m2fnuz": (DataTypeCode.Float8E5M2FNUZ, 8),
    "float8_e8m0fnu": (DataTypeCode.Float8E8M0FNU, 8),
    "float6_e2m3fn": (DataTypeCode.Float6E2M3FN, 6),
    "float6_e3m2fn": (DataTypeCode.Float6E3M2FN, 6),
    "float4_e2m1fn": (DataTypeCode.Float4E2M1FN, 4),
}
_SIZED: dict[str, tuple[DataTypeCode, tuple[int, ...]]] = {
    "int": (DataTypeCode.INT, (1, 2, 4, 8, 16, 32, 64)),
    "uint": (DataTypeCode.UINT, (1, 2, 4, 8, 16, 32, 64)),
    "float": (DataTypeCode.FLOAT, (16, 32, 64)),
    "bfloat": (DataTypeCode.BFLOAT, (16,)),
    "complex": (DataTypeCode.COMPLEX, (64, 128)),
}
_SIZED_NAME = re.compile(r"([a-z]+)([1-9]\d*)")
_LANES = re.compile(r"[1-9]\d*")
_NUMPY_NAMES = frozenset(
    ["bool", "complex64", "complex128", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
_INTERNED: dict[str, DataType] = {}


class DataType(str):
    """A data type. `DataType(x)` takes a name, another DataType, a NumPy dtype or scalar type.

    Attributes: `type_code`, `bits` (of one lane), `lanes`, `base` (the type of one lane).
    Raises `DataTypeError` for a text that names no type.
    """

    __slots__ = ("bits", "lanes", "type_code")

    type_code: DataTypeCode
    bits: int
    lanes: int

    def __new__(cls, name: Any = "float32") -> DataType:
        """The interned data type of a name, a NumPy dtype or a scalar type."""
        if type(name) is DataType:
            return name
        if isinstance(name, str):
            found = _INTERNED.get(name)
            return found if found is not None else _parse(name)
        return _parse(_name_of(name))

    @property
    def base(self) -> DataType:
        """The type of one lane."""
        return self if self.lanes == 1 else self.with_lanes(1)

    @property
    def itemsize(self) -> int:
        """Bytes of one element, all lanes; sub-byte types are rounded up."""
        return (self.bits * self.lanes + 7) // 8

    def with_lanes(self, lanes: int) -> DataType:
        """The same element type with `lanes` lanes."""
        name = str.__str__(self) if self.lanes == 1 else str.rpartition(self, "x")[0]
        return DataType(name if lanes == 1 else f"{name}x{lanes}")

    @property
    def is_float(self) -> bool:
        """Any floating type, the narrow ones included."""
        code = self.type_code
        return code in (DataTypeCode.FLOAT, DataTypeCode.BFLOAT) or code >= DataTypeCode.Float8E3M4

    @property
    def is_int(self) -> bool:
        """Signed integer."""
        return self.type_code == DataTypeCode.INT

    @property
    def is_uint(self) -> bool:
        """Unsigned integer (bool is not one)."""
        return self.type_code == DataTypeCode.UINT

    @property
    def is_bool(self) -> bool:
        """Truth values."""
        return self.type_code == DataTypeCode.BOOL

    @property
    def is_handle(self) -> bool:
        """Opaque pointer."""
        return self.type_code == DataTypeCode.HANDLE and self.bits == 64

    @property
    def is_void(self) -> bool:
        """No value."""
        return self.bits == 0

    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of one lane (bfloat16, float8, int4 … come from ml_dtypes).

        Raises `DataTypeError` for `handle` and `void`.
        """
        name = str.__str__(self.base)
        if name in _NUMPY_NAMES:
            return np.dtype(name)
        if name == "int1" or name == "uint1":
            return np.dtype("bool")
        import ml_dtypes

        scalar = getattr(ml_dtypes, name, None)
        if scalar is None:
            raise DataTypeError(f"{name} has no NumPy counterpart")
        return np.dtype(scalar)

    def __repr__(self) -> str:
        return f"DataType({str.__repr__(self)})"

    def __reduce__(self) -> tuple[type[DataType], tuple[str]]:
        return DataType, (str.__str__(self),)


def _name_of(value: Any) -> str:
    """The name of a NumPy dtype, scalar type or Python number type."""
    if value is bool:
        return "bool"
    if value is int:
        return "int32"
    if value is float:
        return "float32"
    try:
        return np.dtype(value).name
    except TypeError as error:
        raise DataTypeError(f"expected a data type, got {value!r}") from error


def _parse(name: str) -> DataType:
    base, _, tail = name.rpartition("x")
    if not (_LANES.fullmatch(tail) and (base in _NAMED or base[-1:].isdigit())):
        base, tail = name, "1"
    sized = _SIZED_NAME.fullmatch(base)
    if base in _NAMED:
        code, bits = _NAMED[base]
    elif sized and sized[1] in _SIZED and int(sized[2]) in _SIZED[sized[1]][1]:
        code, bits = _SIZED[sized[1]][0], int(sized[2])
    else:
        known = [f"{k}{b}" for k, (_, sizes) in _SIZED.items() for b in sizes] + list(_NAMED)
        hint = did_you_mean(name, known) or f"known types: {', '.join(known)}"
        raise DataTypeError(f"{name!r} is not a data type", hint=hint)
    lanes = int(tail)
    result = str.__new__(DataType, base if lanes == 1 else f"{base}x{lanes}")
    result.type_code, result.bits, result.lanes = code, bits, lanes
    _INTERNED[name] = _INTERNED.setdefault(str.__str__(result), result)
    return _INTERNED[name]
