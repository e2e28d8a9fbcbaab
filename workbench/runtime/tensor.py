"""Tensors: memory with a shape, a dtype and a device; everything else talks DLPack to them.

A CPU tensor is backed by a NumPy array whose data is aligned to 64 bytes when allocated here. The
tvm-ffi object that crosses the call boundary is made on first use and kept. `from_dlpack` and the
DLPack methods share memory in both directions; `tensor(x)` and `.numpy()` copy, as in TVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.leaves import find_leaf, register_leaf
from workbench.runtime import dlpack
from workbench.runtime.device import Device, cpu
from workbench.runtime.dtype import DataType

#: Alignment, in bytes, of memory allocated by this runtime: one AVX-512 register, one cache line.
ALIGNMENT = 64
_CPU = cpu()


class TensorError(WorkbenchError, ValueError):
    """A tensor that does not fit: wrong shape, dtype, device or layout."""


class Tensor:
    """An n-dimensional array on a device. Made by `tensor`, `empty` and `from_dlpack`."""

    __slots__ = ("__weakref__", "_array", "_ffi", "device", "dtype", "read_only", "shape")

    _array: np.ndarray[Any, Any] | None
    _ffi: Any
    shape: tuple[int, ...]
    dtype: DataType
    device: Device
    #: Whether it wraps an array that must not be written.
    read_only: bool

    def __init__(self) -> None:
        raise TypeError("use runtime.tensor(x), runtime.empty(shape, dtype) or from_dlpack(x)")

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    def numel(self) -> int:
        """Number of elements."""
        return self.size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Distance between neighbours along each axis, in elements."""
        array = self.view()
        return tuple(step // max(array.itemsize, 1) for step in array.strides)

    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return bool(self.view().flags.c_contiguous)

    def data_ptr(self) -> int:
        """Address of the first element."""
        return int(self.view().ctypes.data if self._array is not None else self._ffi.data_ptr())

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy as a NumPy array (`numpy.from_dlpack(t)` gives a view without a copy)."""
        return self.view().copy()

    def copyfrom(self, source: Any) -> Tensor:
        """Copies the values of an array of the same shape into this tensor; converts the dtype.

        Raises `TensorError` if the shapes differ.
        """
        values = source.view() if isinstance(source, Tensor) else np.asarray(source)
        if values.shape != self.shape:
            raise TensorError(
                f"copyfrom: expected an array of shape {self.shape}, got {values.shape}"
            )
        view = self.view()
        view[...] = values.astype(view.dtype, copy=False)
        return self

    def copyto(self, target: Tensor | Device, mem_scope: str | None = None) -> Tensor:
        """Copies into another tensor of the same shape and dtype, or to a new one on a device."""
        if isinstance(target, Device):
            return empty(self.shape, self.dtype, target, mem_scope).copyfrom(self)
        if target.dtype != self.dtype:
            raise TensorError(f"copyto: expected dtype {self.dtype}, got {target.dtype}")
        return target.copyfrom(self)

    def same_as(self, other: object) -> bool:
        """Whether both are the same tensor object."""
        return self is other or (
            isinstance(other, Tensor) and self._ffi is not None and self._ffi is other._ffi
        )

    def _create_view(
        self, shape: Sequence[int], dtype: str | None = None, relative_byte_offset: int = 0
    ) -> Tensor:
        """A tensor that shares this memory with another shape, dtype or start."""
        if not self.is_contiguous():
            raise TensorError("a view needs a contiguous tensor")
        kind = DataType(dtype or self.dtype)
        wanted = tuple(int(n) for n in shape)
        need = int(np.prod(wanted, dtype=np.int64)) * kind.itemsize
        flat = self.view().reshape(-1).view(np.uint8)
        if relative_byte_offset < 0 or relative_byte_offset + need > flat.size:
            raise TensorError(
                f"a view of {need} bytes at offset {relative_byte_offset} does not fit into a"
                f" tensor of {flat.size} bytes"
            )
        part = flat[relative_byte_offset : relative_byte_offset + need]
        return of_array(part.view(kind.numpy()).reshape(wanted), kind)

    def view(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array that shares the memory."""
        if self._array is None:
            if self.device.device_type != 1:
                raise TensorError(f"the tensor is on {self.device}; copy it to the CPU first")
            if not self._ffi.is_contiguous():
                self._array = np.from_dlpack(self._ffi)
            else:
                self._array = dlpack.array_at(
                    self._ffi.data_ptr(), self.shape, self.dtype, self._ffi
                )
        return self._array

    def __tvm_ffi_object__(self) -> Any:
        found = self._ffi
        if found is None:
            import tvm_ffi

            found = self._ffi = tvm_ffi.from_dlpack(self)
        return found

    def __dlpack__(self, **options: Any) -> Any:
        if self._array is None:
            return self._ffi.__dlpack__(**options)
        array = self._array
        if array.dtype.isbuiltin == 1 and array.flags.writeable and self.dtype.lanes == 1:
            return array.__dlpack__(**options)
        return dlpack.capsule_of(array, self.dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device.device_type, self.device.index

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        view = self.view()
        if dtype is not None and np.dtype(dtype) != view.dtype:
            if copy is False:
                raise ValueError("the dtype cannot be changed without a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of no dimensions has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self.view()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.view()[index] = value.view() if isinstance(value, Tensor) else value

    def __float__(self) -> float:
        return float(self.view().reshape(-1)[0]) if self.size == 1 else float(self.view())

    def __int__(self) -> int:
        return int(self.view().reshape(-1)[0]) if self.size == 1 else int(self.view())

    def __str__(self) -> str:
        return str(self.view()) if self.device.device_type == 1 else repr(self)

    def __repr__(self) -> str:
        if self.device.device_type != 1:
            return f"<Tensor shape={self.shape}, dtype={self.dtype}, {self.device}>"
        return f"{self.view()!r}\n<Tensor shape={self.shape}, dtype={self.dtype}, {self.device}>"

    def __reduce__(self) -> Any:
        view = np.ascontiguousarray(self.view())
        return _rebuild, (self.shape, str(self.dtype), view.tobytes())


def _rebuild(shape: tuple[int, ...], dtype: str, data: bytes) -> Tensor:
    kind = DataType(dtype)
    return tensor(np.frombuffer(data, dtype=kind.numpy()).reshape(shape))


def of_array(array: np.ndarray[Any, Any], dtype: DataType | None = None) -> Tensor:
    """Wraps an array without copying it.

    Raises `TensorError` for elements that compiled code cannot address in place: the other byte
    order, or strides that are no multiples of the element.
    """
    if not array.dtype.isnative:
        raise TensorError(
            f"expected elements in the byte order of this machine, got {array.dtype.str!r}",
            hint="x.astype(x.dtype.newbyteorder('=')) converts it",
        )
    size = array.itemsize
    if any(step % size for step in array.strides if size) and array.size > 1:
        raise TensorError(
            f"expected strides that are multiples of {size} bytes ({array.dtype.name}), got"
            f" {array.strides}",
            hint="numpy.ascontiguousarray(x) copies it",
        )
    return _make(array, None, array.shape, dtype or _dtype_of(array), _CPU)


def _dtype_of(array: np.ndarray[Any, Any]) -> DataType:
    if array.dtype.kind in "OSUVMm" and array.dtype.isbuiltin != 2:
        raise TensorError(
            f"expected numbers, got an array of {array.dtype} ({array.dtype.name})",
            hint="numpy.asarray(x, dtype='float32') makes an array of numbers",
        )
    return DataType(array.dtype.name)


def of_ffi(value: Any) -> Tensor:
    """Wraps a tvm-ffi tensor without copying it."""
    where = value.device
    on_cpu = where.type == "cpu" and where.index == 0
    device = _CPU if on_cpu else Device(where.type, where.index)
    return _make(None, value, tuple(value.shape), DataType(str(value.dtype)), device)


def _make(
    array: np.ndarray[Any, Any] | None,
    ffi: Any,
    shape: tuple[int, ...],
    dtype: DataType,
    device: Device,
) -> Tensor:
    self = object.__new__(Tensor)
    self._array = array  # pyright: ignore[reportPrivateUsage]  (the constructor is not public)
    self._ffi = ffi  # pyright: ignore[reportPrivateUsage]
    self.shape = shape
    self.dtype = dtype
    self.device = device
    self.read_only = array is not None and not array.flags.writeable
    return self


def empty(
    shape: Sequence[int] | int,
    dtype: str = "float32",
    device: Device | None = None,
    mem_scope: str | None = None,
) -> Tensor:
    """A new tensor of unspecified content, aligned to 64 bytes.

    Raises `TensorError` for a device this runtime cannot allocate on, or a negative extent.
    """
    where = device or _CPU
    if where.device_type != 1:
        raise TensorError(f"cannot allocate on {where}: this runtime has only the CPU")
    dims = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
    if any(n < 0 for n in dims):
        raise TensorError(f"expected extents that are not negative, got shape {dims}")
    kind = DataType(dtype)
    storage = kind.numpy()
    nbytes = int(np.prod(dims, dtype=np.int64)) * storage.itemsize
    raw = np.empty(nbytes + ALIGNMENT, dtype=np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return of_array(raw[start : start + nbytes].view(storage).reshape(dims), kind)


def tensor(arr: Any, device: Device | None = None, mem_scope: str | None = None) -> Tensor:
    """A new tensor with a copy of `arr`: a tensor, an array, or nested lists of numbers."""
    try:
        source = arr.view() if isinstance(arr, Tensor) else np.asarray(arr)
    except ValueError as error:  # nested lists of different lengths
        raise TensorError(f"expected an array or nested lists of numbers: {error}") from error
    kind = arr.dtype if isinstance(arr, Tensor) else _dtype_of(source)
    return empty(source.shape, kind, device, mem_scope).copyfrom(source)


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor that shares the memory of a NumPy, torch, JAX … array, or of a DLPack capsule.

    Shapes and strides are those of the source. NumPy arrays of ml_dtypes types and read-only
    arrays are taken too. Raises `TensorError` if the object offers no DLPack.
    """
    if isinstance(ext_tensor, Tensor):
        return ext_tensor
    if isinstance(ext_tensor, np.ndarray):
        return of_array(ext_tensor)
    import tvm_ffi

    if isinstance(ext_tensor, tvm_ffi.Tensor):
        return of_ffi(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__") and type(ext_tensor).__name__ != "PyCapsule":
        raise TensorError(f"expected an object with __dlpack__, got {type(ext_tensor).__name__}")
    return of_ffi(tvm_ffi.from_dlpack(ext_tensor))


_array_leaf = find_leaf(np.ndarray)
assert _array_leaf is not None
register_leaf(
    Tensor,
    "tensor",
    key=lambda t, key=_array_leaf.key: key(t.view()),
    encode=lambda t, encode=_array_leaf.encode: encode(t.view()),
    decode=lambda value, decode=_array_leaf.decode: of_array(decode(value)),
)

__all__ = ["ALIGNMENT", "Tensor", "TensorError", "empty", "from_dlpack", "tensor"]
