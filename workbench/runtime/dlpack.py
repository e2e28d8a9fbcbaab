"""DLPack capsules for arrays that NumPy itself refuses to export.

NumPy exports neither the types of ml_dtypes (bfloat16, float8, int4) nor read-only arrays. This
module writes the `DLManagedTensor` of any array by ctypes; the array stays alive until the consumer
calls the deleter.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from workbench.runtime.dtype import DataType


class _DLDevice(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    _fields_ = [
        ("dl_tensor", _DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


#: What a live capsule keeps: address of the managed tensor → (struct, dimensions, array).
_LIVE: dict[int, tuple[Any, ...]] = {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(address: int) -> None:
    _LIVE.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop_capsule(capsule: int) -> None:
    # A consumer renames the capsule to "used_dltensor"; then the deleter is its business.
    if _capsule_is_valid(capsule, b"dltensor"):
        _LIVE.pop(_capsule_pointer(capsule, b"dltensor"), None)


_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype = ctypes.py_object
_capsule_new.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
_capsule_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_NAME = ctypes.create_string_buffer(b"dltensor")


def capsule_of(array: np.ndarray[Any, Any], dtype: DataType) -> Any:
    """A `dltensor` capsule that shares the memory of a CPU array; `dtype` is what it declares."""
    ndim = array.ndim
    dims = (ctypes.c_int64 * (2 * ndim or 1))(
        *array.shape, *(stride // max(array.itemsize, 1) for stride in array.strides)
    )
    managed = _DLManagedTensor()
    tensor = managed.dl_tensor
    tensor.data = array.ctypes.data
    tensor.device = _DLDevice(1, 0)
    tensor.ndim = ndim
    tensor.dtype = _DLDataType(int(dtype.type_code), dtype.bits, dtype.lanes)
    tensor.shape = ctypes.addressof(dims)
    tensor.strides = ctypes.addressof(dims) + 8 * ndim
    managed.deleter = ctypes.cast(_delete, ctypes.c_void_p).value
    address = ctypes.addressof(managed)
    _LIVE[address] = (managed, dims, array)
    return _capsule_new(
        address, ctypes.addressof(_NAME), ctypes.cast(_drop_capsule, ctypes.c_void_p)
    )


def array_at(
    address: int, shape: tuple[int, ...], dtype: DataType, owner: Any
) -> np.ndarray[Any, Any]:
    """A NumPy view of compact CPU memory; `owner` lives as long as the view."""
    storage = dtype.numpy()
    count = int(np.prod(shape, dtype=np.int64))
    buffer = (ctypes.c_char * (count * storage.itemsize)).from_address(address)
    buffer._owner = owner  # type: ignore[attr-defined]
    return np.frombuffer(memoryview(buffer), dtype=storage, count=count).reshape(shape)
