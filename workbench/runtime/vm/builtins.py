"""What the machine does itself: `vm.builtin.NAME` is the function NAME of the table here.

A builtin gets the machine and the values of its operands. Those in `STATIC` depend on the shapes of
the arguments only, so that a run can be recorded and replayed (see `replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.runtime.dtype import DataType
from workbench.runtime.vm.bytecode import VMError
from workbench.runtime.vm.shapes import formula
from workbench.runtime.vm.values import Buf, Storage, as_buf, describe, itemsize

#: Codes of a dimension (those of the pass VMShapeLower).
CONSTANT, STORE, SLOT, ANY = 0, 1, 2, 3


class ArgumentError(WorkbenchError, ValueError, TypeError):
    """An argument of a compiled function has another type or shape than it takes."""


Builtin = Callable[..., Any]
BUILTINS: dict[str, Builtin] = {}
STATIC: set[str] = set()


def builtin(static: bool = False) -> Callable[[Builtin], Builtin]:
    """Declares a builtin under its function's name (without a trailing underscore)."""

    def add(function: Builtin) -> Builtin:
        name = f"vm.builtin.{function.__name__.rstrip('_')}"
        assert name not in BUILTINS, name
        BUILTINS[name] = function
        if static:
            STATIC.add(name)
        return function

    return add


@builtin(static=True)
def alloc_shape_heap(vm: Any, size: int) -> list[int]:
    """The heap of sizes of one call."""
    return [0] * size


def _wrong(context: str, value: Any, why: str = "", hint: str = "") -> ArgumentError:
    return ArgumentError(f"{context}, got {describe(value)}{why}", hint=hint)


@builtin(static=True)
def check_tensor_info(vm: Any, value: Any, ndim: int, dtype: str, context: str) -> None:
    """Fails unless the value is a tensor of that rank (-1: any) and type ("void": any)."""
    if not isinstance(value, Buf):
        raise _wrong(context, value, hint="pass a NumPy array or a tensor")
    if dtype != "void" and value.dtype != dtype:
        raise _wrong(context, value, hint=f'x.astype("{dtype}") converts it')
    if ndim >= 0 and len(value.shape) != ndim:
        raise _wrong(context, value)


@builtin(static=True)
def check_shape_info(vm: Any, value: Any, ndim: int, context: str) -> None:
    """Fails unless the value is a shape of that rank (-1: any)."""
    if not isinstance(value, tuple) or (ndim >= 0 and len(value) != ndim):
        raise _wrong(context, value)


@builtin(static=True)
def check_tuple_info(vm: Any, value: Any, count: int, context: str) -> None:
    """Fails unless the value is a tuple of that length."""
    if not isinstance(value, tuple) or len(value) != count:
        raise _wrong(context, value)


@builtin(static=True)
def match_shape(vm: Any, value: Any, heap: list[int], ndim: int, *rest: Any) -> None:
    """Stores and compares the dimensions of a tensor or shape by code."""
    context = rest[-1]
    shape = value.shape if isinstance(value, Buf) else value
    if len(shape) != ndim:
        raise _wrong(context, value)
    for axis, extent in enumerate(shape):
        code, number = rest[2 * axis], rest[2 * axis + 1]
        if code == STORE:
            heap[number] = extent
        elif code == CONSTANT:
            if extent != number:
                raise _wrong(context, value, f": dimension {axis} should be {number}")
        elif code == SLOT and extent != heap[number]:
            raise _wrong(context, value, f": dimension {axis} should be {heap[number]}")


@builtin()
def match_prim_value(vm: Any, value: Any, heap: list[int], slot: int, context: str) -> None:
    """Stores a scalar argument."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise _wrong(context, value, hint="pass a Python integer")
    heap[slot] = int(value)


@builtin(static=True)
def compute_dim(vm: Any, heap: list[int], slot: int, text: str) -> None:
    """Computes a size from others."""
    heap[slot] = formula(text)(heap)


@builtin(static=True)
def make_shape(vm: Any, heap: list[int], ndim: int, *codes: int) -> tuple[int, ...]:
    """A shape of constants and slots."""
    return tuple(
        heap[codes[2 * i + 1]] if codes[2 * i] == SLOT else codes[2 * i + 1] for i in range(ndim)
    )


@builtin(static=True)
def make_prim_value(vm: Any, heap: list[int], code: int, number: int) -> int:
    """A size as a number."""
    return heap[number] if code == SLOT else number


@builtin(static=True)
def alloc_storage(vm: Any, size: Any, device: int, dtype: str, scope: str) -> Storage:
    """Memory. (The machine replaces this by one that keeps memory between calls.)"""
    return Storage(int(size[0]) * itemsize(DataType(dtype)))


@builtin(static=True)
def alloc_tensor(
    vm: Any, storage: Storage, offset: int, shape: tuple[int, ...], dtype: Any, device: int = 0
) -> Buf:
    """A tensor in a memory."""
    kind = dtype if type(dtype) is DataType else DataType(dtype)
    size = itemsize(kind)
    for extent in shape:
        size *= extent
    if offset + size > storage.size:
        raise VMError(
            f"a tensor of {size} bytes at {offset} does not fit into memory of {storage.size} bytes"
        )
    return Buf(storage.ptr + offset, shape, kind, storage, storage, offset)


@builtin(static=True)
def null_value(vm: Any) -> None:
    """None."""


@builtin(static=True)
def reshape(vm: Any, value: Buf, shape: tuple[int, ...]) -> Buf:
    """A view of a tensor under another shape."""
    old = new = 1
    for extent in value.shape:
        old *= extent
    for extent in shape:
        new *= extent
    if old != new:
        raise VMError(f"cannot reshape {value.text()} to {list(shape)}")
    return value.reshaped(tuple(shape))


@builtin(static=True)
def make_tuple(vm: Any, *values: Any) -> tuple[Any, ...]:
    """A tuple."""
    return values


@builtin(static=True)
def tuple_getitem(vm: Any, value: Any, index: int) -> Any:
    """A field of a tuple."""
    return value[index]


@builtin(static=True)
def copy(vm: Any, value: Any) -> Any:
    """The value itself, in another register."""
    return value


@builtin(static=True)
def shape_of(vm: Any, value: Buf) -> tuple[int, ...]:
    """The shape of a tensor."""
    return value.shape


@builtin()
def tensor_to_shape(vm: Any, value: Buf) -> tuple[int, ...]:
    """A one-dimensional tensor as a shape."""
    return tuple(int(x) for x in value.tensor().view().reshape(-1))


@builtin()
def shape_to_tensor(vm: Any, value: tuple[int, ...]) -> Buf:
    """A shape as an int64 tensor."""
    found = as_buf(np.asarray(value, np.int64))
    assert found is not None
    return found


@builtin()
def read_if_cond(vm: Any, value: Any) -> bool:
    """The truth of a scalar tensor or number."""
    if isinstance(value, Buf):
        return bool(value.tensor().view().reshape(-1)[0])
    return bool(value)


@builtin()
def print_(vm: Any, text: str, *values: Any) -> None:
    """Prints values; each `{}` of the text takes one."""
    shown = [v.tensor().view() if isinstance(v, Buf) else v for v in values]
    vm.output(text.format(*shown) if text else " ".join(map(str, shown)))


@builtin()
def assert_op(vm: Any, condition: Any, text: str, *values: Any) -> None:
    """Fails unless the condition holds."""
    if not read_if_cond(vm, condition):
        shown = [v.tensor().view() if isinstance(v, Buf) else v for v in values]
        raise AssertionError(text.format(*shown) if text else "assertion failed")
