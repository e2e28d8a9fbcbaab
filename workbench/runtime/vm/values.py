"""Values in registers: tensors as addresses with shapes, and the memory they lie in."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from workbench.runtime.dtype import DataType
from workbench.runtime.tensor import ALIGNMENT, Tensor, from_dlpack, of_array

_NUMPY: dict[DataType, np.dtype[Any]] = {}
_OURS: dict[np.dtype[Any], DataType] = {}


def numpy_type(dtype: DataType) -> np.dtype[Any]:
    """NumPy's type of the elements."""
    found = _NUMPY.get(dtype)
    if found is None:
        found = _NUMPY[dtype] = dtype.numpy()
    return found


def type_of_array(array: np.ndarray[Any, Any]) -> DataType:
    """Our type of an array's elements."""
    found = _OURS.get(array.dtype)
    if found is None:
        found = _OURS[array.dtype] = DataType(array.dtype.name)
    return found


def itemsize(dtype: DataType) -> int:
    """Bytes of an element."""
    return numpy_type(dtype).itemsize


class Storage:
    """Memory of a size in bytes, aligned; `raw` is the array that owns it."""

    __slots__ = ("flat", "ptr", "raw", "size")

    def __init__(self, size: int) -> None:
        self.raw = np.empty(size + ALIGNMENT, np.uint8)
        start = -self.raw.ctypes.data % ALIGNMENT
        self.flat = self.raw[start : start + size]
        self.ptr = self.raw.ctypes.data + start
        self.size = size

    def is_free(self) -> bool:
        """Whether nobody outside holds a view of it.

        Every NumPy view of the memory keeps a reference to `raw`; two are our own (`self.raw` and
        the base of `self.flat`), one is the argument of getrefcount.
        """
        return sys.getrefcount(self.raw) <= 3


class Buf:
    """A tensor in a register: its address, shape and type, and what keeps the memory alive.

    `source` is the number of the argument it is a view of, or -1. `storage` is the memory it lies
    in if the machine allocated it, `offset` its place in it.
    """

    __slots__ = ("dtype", "offset", "owner", "ptr", "shape", "source", "storage")

    def __init__(
        self,
        ptr: int,
        shape: tuple[int, ...],
        dtype: DataType,
        owner: Any,
        storage: Storage | None = None,
        offset: int = 0,
        source: int = -1,
    ) -> None:
        self.ptr = ptr
        self.shape = shape
        self.dtype = dtype
        self.owner = owner
        self.storage = storage
        self.offset = offset
        self.source = source

    def tensor(self) -> Tensor:
        """The value for the world outside; shares the memory."""
        owner = self.owner
        if self.storage is not None:
            size = itemsize(self.dtype)
            for extent in self.shape:
                size *= extent
            part = self.storage.flat[self.offset : self.offset + size]
            return of_array(part.view(numpy_type(self.dtype)).reshape(self.shape), self.dtype)
        if isinstance(owner, Tensor) and owner.shape == self.shape:
            return owner
        view = owner.view() if isinstance(owner, Tensor) else owner
        return of_array(view.reshape(self.shape), self.dtype)

    def reshaped(self, shape: tuple[int, ...]) -> Buf:
        """A view under another shape of the same size."""
        return Buf(self.ptr, shape, self.dtype, self.owner, self.storage, self.offset, self.source)

    def text(self) -> str:
        """Type and shape, as messages name them."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def _is_plain(array: np.ndarray[Any, Any]) -> bool:
    flags = array.flags
    return flags.c_contiguous and flags.aligned and array.dtype.isnative


def plain_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values in row-major order, aligned, in the byte order of this machine."""
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def as_buf(value: Any, source: int = -1) -> Buf | None:
    """A register value for a tensor or array (without a copy if kernels can read it), else None."""
    kind = type(value)
    if kind is np.ndarray:
        array = value if _is_plain(value) else plain_array(value)
        return Buf(array.ctypes.data, array.shape, type_of_array(array), array, source=source)
    if kind is Tensor:
        view = value.view()
        if not _is_plain(view):
            view = plain_array(view)
            return Buf(view.ctypes.data, value.shape, value.dtype, view, source=source)
        return Buf(view.ctypes.data, value.shape, value.dtype, value, source=source)
    if isinstance(value, np.ndarray):
        return as_buf(np.asarray(value), source)
    if hasattr(value, "__dlpack__"):
        return as_buf(from_dlpack(value), source)
    return None


def describe(value: Any) -> str:
    """A value as error messages name it."""
    if isinstance(value, Buf):
        return value.text()
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"{type(value).__name__} {value!r}" if not isinstance(value, str) else repr(value)
