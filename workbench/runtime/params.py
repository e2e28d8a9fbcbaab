"""Named tensors as bytes, in the format of TVM's parameter files.

Layout, little endian: magic, 8 reserved bytes, count and names, count and tensors; a tensor is
magic, reserved, device (2 × i32), ndim (i32), type (u8 code, u8 bits, u16 lanes), shape (i64 each),
number of bytes (i64), bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.runtime.dtype import DataType, DataTypeCode
from workbench.runtime.tensor import Tensor, tensor

_FILE_MAGIC = 0xF7E58D4F05049CB7
_TENSOR_MAGIC = 0xDD5E40F096B4A13F
_TYPE_NAMES = {
    DataTypeCode.INT: "int{}",
    DataTypeCode.UINT: "uint{}",
    DataTypeCode.FLOAT: "float{}",
    DataTypeCode.BFLOAT: "bfloat{}",
    DataTypeCode.COMPLEX: "complex{}",
    DataTypeCode.BOOL: "bool",
}


class ParamsError(WorkbenchError, ValueError):
    """Bytes that are no parameter file."""


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """The parameters as bytes. Values are tensors or arrays."""
    parts = [struct.pack("<QQQ", _FILE_MAGIC, 0, len(params))]
    for name in params:
        data = name.encode()
        parts += [struct.pack("<Q", len(data)), data]
    parts.append(struct.pack("<Q", len(params)))
    for value in params.values():
        item = value if isinstance(value, Tensor) else tensor(value)
        data = np.ascontiguousarray(item.view()).tobytes()
        kind = item.dtype
        parts.append(struct.pack("<QQiii", _TENSOR_MAGIC, 0, 1, 0, item.ndim))
        parts.append(struct.pack("<BBH", int(kind.type_code), kind.bits, kind.lanes))
        parts.append(struct.pack(f"<{item.ndim}qq", *item.shape, len(data)))
        parts.append(data)
    return b"".join(parts)


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, Tensor]:
    """The parameters in `param_bytes`. Raises `ParamsError` if they are damaged."""
    try:
        return _load(memoryview(bytes(param_bytes)))
    except (struct.error, UnicodeDecodeError) as error:
        raise ParamsError(f"the parameter file is damaged or cut off: {error}") from error


def _load(data: memoryview) -> dict[str, Tensor]:
    at = 0

    def take(form: str) -> tuple[Any, ...]:
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values

    magic, _, count = take("QQQ")
    if magic != _FILE_MAGIC:
        raise ParamsError("expected a parameter file, found other bytes")
    names = []
    for _ in range(count):
        (length,) = take("Q")
        names.append(bytes(data[at : at + length]).decode())
        at += length
    if take("Q")[0] != count:
        raise ParamsError("the parameter file has another number of names than of tensors")
    result: dict[str, Tensor] = {}
    for name in names:
        magic, _, _, _, ndim = take("QQiii")
        code, bits, _lanes = take("BBH")
        if magic != _TENSOR_MAGIC:
            raise ParamsError(f"parameter {name!r} is damaged")
        shape = take(f"{ndim}q")
        (nbytes,) = take("q")
        chunk = data[at : at + nbytes]
        if len(chunk) != nbytes:
            raise ParamsError(f"the parameter file is cut off inside {name!r}")
        at += nbytes
        result[name] = tensor(np.frombuffer(chunk, _numpy_type(code, bits)).reshape(shape))
    return result


def _numpy_type(code: int, bits: int) -> np.dtype[Any]:
    kind = DataTypeCode(code)
    if kind in _TYPE_NAMES:
        name = _TYPE_NAMES[kind].format(bits)
    else:
        head, tail = kind.name[:6].lower(), kind.name[6:].lower()
        name = f"{head}_{tail}"
    return DataType(name).numpy()


def save_param_dict_to_file(params: Mapping[str, Any], path: str | Path) -> None:
    """Writes the parameters to a file."""
    Path(path).write_bytes(save_param_dict(params))


def load_param_dict_from_file(path: str | Path) -> dict[str, Tensor]:
    """Reads a parameter file."""
    return load_param_dict(Path(path).read_bytes())
