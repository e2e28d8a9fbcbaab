"""Run-time helpers of interpreted programs: exact arithmetic, memory, pointers, bounds.

A scalar integer is a Python int kept in the range of its type, a bool a Python (or NumPy) bool, a
float a NumPy scalar of its type; a vector is a one-dimensional NumPy array of its type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.runtime.dtype import DataType


class InterpretError(WorkbenchError, RuntimeError):
    """A program did something that has no meaning: an index outside its buffer, a bad argument."""


def int_range(dtype: DataType) -> tuple[int, int]:
    """The least and greatest value of an integer type or bool."""
    if dtype.is_bool:
        return 0, 1
    if dtype.is_uint:
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1


def trunc_div(a: int, b: int) -> int:
    """Quotient towards zero; 0 for a zero divisor."""
    if b == 0:
        return 0
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def trunc_mod(a: int, b: int) -> int:
    """Remainder of `trunc_div`; 0 for a zero divisor."""
    return 0 if b == 0 else a - trunc_div(a, b) * b


def floor_div(a: int, b: int) -> int:
    """Quotient towards minus infinity; 0 for a zero divisor."""
    return a // b if b else 0


def floor_mod(a: int, b: int) -> int:
    """Remainder of `floor_div`; 0 for a zero divisor."""
    return a % b if b else 0


def float_floor_div(a: Any, b: Any) -> Any:
    """floor(a / b)"""
    return np.floor(a / b).astype(a.dtype)


def float_floor_mod(a: Any, b: Any) -> Any:
    """a - floor(a / b) * b"""
    return a - float_floor_div(a, b) * b


def _safe_divisor(b: Any) -> tuple[Any, Any]:
    b = np.asarray(b)
    zero = b == 0
    return zero, np.where(zero, np.ones_like(b), b)


def vec_floor_div(a: Any, b: Any) -> Any:
    """`floor_div` lane by lane."""
    zero, b = _safe_divisor(b)
    return np.where(zero, np.zeros_like(b), np.floor_divide(a, b)).astype(b.dtype)


def vec_floor_mod(a: Any, b: Any) -> Any:
    """`floor_mod` lane by lane."""
    zero, b = _safe_divisor(b)
    return np.where(zero, np.zeros_like(b), np.remainder(a, b)).astype(b.dtype)


def vec_trunc_div(a: Any, b: Any) -> Any:
    """`trunc_div` lane by lane."""
    zero, b = _safe_divisor(b)
    q = np.floor_divide(a, b)
    inexact = (q * b != a) & ((np.less(a, 0)) != (b < 0))
    return np.where(zero, np.zeros_like(b), q + inexact.astype(b.dtype)).astype(b.dtype)


def vec_trunc_mod(a: Any, b: Any) -> Any:
    """`trunc_mod` lane by lane."""
    zero, safe = _safe_divisor(b)
    return np.where(zero, np.zeros_like(safe), np.fmod(a, safe)).astype(safe.dtype)


def float_min(a: Any, b: Any) -> Any:
    """The smaller; NaN if one is NaN."""
    if a != a:
        return a
    if b != b:
        return b
    return a if a < b else b


def float_max(a: Any, b: Any) -> Any:
    """The larger; NaN if one is NaN."""
    if a != a:
        return a
    if b != b:
        return b
    return a if a > b else b


def float_to_int(value: Any) -> int:
    """Truncation; NaN and infinities give 0."""
    number = float(value)
    return int(number) if math.isfinite(number) else 0


def select(condition: Any, a: Any, b: Any) -> Any:
    """Both sides are evaluated."""
    return a if condition else b


def cast_vector(value: Any, dtype: Any) -> Any:
    """A vector converted to a NumPy type; floats are truncated to integers."""
    if value.dtype.kind not in "iub" and np.dtype(dtype).kind in "iu":
        wide = value.astype("float64")
        wide = np.where(np.isfinite(wide), np.trunc(wide), 0.0)
        return wide.astype("int64" if np.dtype(dtype) != np.uint64 else dtype).astype(dtype)
    if np.dtype(dtype) == np.bool_:
        return value != 0
    return value.astype(dtype)


def ramp(base: Any, stride: Any, lanes: int, dtype: Any) -> Any:
    """base, base + stride, …"""
    start = np.asarray(base, dtype=dtype)
    steps = np.arange(lanes).astype(dtype) * np.asarray(stride, dtype=dtype)
    return (
        (start.reshape(-1, 1) + steps.reshape(1, -1)).reshape(-1) if start.ndim else (start + steps)
    )


def broadcast(value: Any, lanes: int, dtype: Any) -> Any:
    """`lanes` copies of a scalar (or of a vector)."""
    return np.tile(np.asarray(value, dtype=dtype).reshape(-1), lanes)


def bitcast(value: Any, source: Any, target: Any) -> Any:
    """The bits of a value of one NumPy type read as another."""
    out = np.atleast_1d(np.asarray(value, dtype=source)).view(target)
    return out if np.ndim(value) else scalar(out[0])


def scalar(value: Any) -> Any:
    """A scalar in the interpreter's form: Python ints, NumPy floats."""
    return int(value) if isinstance(value, (np.integer, int)) else value


class Pointer:
    """A place in memory: the bytes it points into and an offset in bytes."""

    __slots__ = ("memory", "offset")

    def __init__(self, memory: np.ndarray[Any, Any], offset: int = 0) -> None:
        self.memory = memory
        self.offset = offset

    def moved(self, count: int) -> Pointer:
        """The pointer `count` bytes further on."""
        return Pointer(self.memory, self.offset + count)


def pointer_of(array: np.ndarray[Any, Any], name: str) -> Pointer:
    """The pointer to the first element of a contiguous array."""
    if not array.flags.c_contiguous:
        raise InterpretError(
            f"the data pointer of {name} is taken, so its array must be contiguous; "
            f"its strides are {array.strides}"
        )
    return Pointer(array.reshape(-1).view(np.uint8))


def strided(
    name: str,
    pointer: Pointer,
    dtype: Any,
    shape: Sequence[int],
    strides: Sequence[int] | None,
    offset: int,
) -> np.ndarray[Any, Any]:
    """A view of memory as an array. Raises InterpretError if it reaches beyond the memory."""
    kind = np.dtype(dtype)
    size = kind.itemsize
    start = pointer.offset + offset * size
    if strides is None:
        strides = []
        step = 1
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= extent
    reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if any(n == 0 for n in shape):
        reach = 0
    available = pointer.memory.nbytes
    if start < 0 or start + reach * size > available:
        raise InterpretError(
            f"buffer {name} of shape {tuple(shape)} needs bytes [{start}, {start + reach * size}) "
            f"of a memory of {available} bytes"
        )
    base = pointer.memory[start : start + reach * size].view(kind)
    return np.lib.stride_tricks.as_strided(base, tuple(shape), [s * size for s in strides])


def allocate(shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
    """Fresh memory with a recognisable content, so that reading it unwritten shows."""
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return np.full(tuple(shape), 0x5A, dtype=kind)
    if kind.kind == "b":
        return np.ones(tuple(shape), dtype=kind)
    return np.full(tuple(shape), np.nan, dtype=kind)


class Bounds:
    """Checks of indices; each site knows its buffer and place for the error."""

    def __init__(self) -> None:
        self.sites: list[tuple[Any, Any, int, Any]] = []

    def site(self, node: Any, buffer: Any, dim: int, root: Any) -> int:
        """Registers a place and returns its number."""
        self.sites.append((node, buffer, dim, root))
        return len(self.sites) - 1

    def check(self, index: int, extent: int, site: int) -> int:
        """The index, if it is inside."""
        if 0 <= index < extent:
            return index
        return self.fail(index, extent, site)

    def check_vector(self, index: Any, extent: int, site: int, mask: Any = None) -> Any:
        """The vector of indices, if the lanes under the mask are inside."""
        if mask is not None:
            if not np.ndim(index):
                if 0 <= index < extent or not mask.any():
                    return index if 0 <= index < extent else 0
                return self.fail(index, extent, site)
            index = np.where(mask, index, 0)
        lanes = np.asarray(index)
        if lanes.size and (lanes.min() < 0 or lanes.max() >= extent):
            bad = lanes[(lanes < 0) | (lanes >= extent)]
            return self.fail(int(bad.reshape(-1)[0]), extent, site)
        return index

    def fail(self, index: int, extent: int, site: int) -> Any:
        """Raises the error of a site."""
        node, buffer, dim, root = self.sites[site]
        raise InterpretError(
            f"index {index} of dimension {dim} of buffer {buffer.name} is outside [0, {extent})",
            nodes=(node,),
            root=root,
            hint="guard the access by a condition, or make the buffer larger",
        )


def failed_assert(kind: str, parts: Sequence[str]) -> Exception:
    """The exception of an AssertStmt."""
    import builtins

    found = getattr(builtins, kind, None)
    message = "".join(parts)
    if isinstance(found, type) and issubclass(found, Exception):
        return found(message)
    return InterpretError(f"{kind}: {message}" if kind else message)
