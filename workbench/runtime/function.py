"""Packed functions: calls across the tvm-ffi boundary, and the table of global functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workbench.core.errors import RegistryError, WorkbenchError, did_you_mean
from workbench.runtime.tensor import Tensor, TensorError, of_array, of_ffi


class FunctionNotFoundError(WorkbenchError, AttributeError, ValueError):
    """No function of that name."""


def to_ffi(value: Any) -> Any:
    """What tvm-ffi is given for a value: NumPy arrays it would refuse are wrapped first."""
    if type(value) is np.ndarray and (value.dtype.isbuiltin != 1 or not value.flags.writeable):
        return of_array(value)
    if isinstance(value, (list, tuple)):
        return [to_ffi(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def from_ffi(value: Any) -> Any:
    """What the user is given for a tvm-ffi value: our `Tensor`, tuples for arrays, numbers."""
    if value is None or type(value) in (int, float, bool, Tensor):
        return value
    import tvm_ffi

    if isinstance(value, tvm_ffi.Tensor):
        return of_ffi(value)
    if isinstance(value, (tvm_ffi.Array, tvm_ffi.List)):
        return tuple(from_ffi(item) for item in value)
    if isinstance(value, tvm_ffi.Function):
        return PackedFunc(value)
    return value


class PackedFunc:
    """A callable behind the tvm-ffi ABI. Takes tensors, arrays with DLPack, numbers, strings.

    Arrays are passed without copies; a returned tensor is a `runtime.Tensor`. A read-only array is
    taken where the function only reads; `written` are the parameters it writes (position → name).
    """

    __slots__ = ("__weakref__", "ffi", "name", "written")

    def __init__(self, ffi: Any, name: str = "", written: Mapping[int, str] | None = None) -> None:
        self.ffi = ffi
        self.name = name
        self.written = tuple((written or {}).items())

    def __call__(self, *args: Any) -> Any:
        """Calls the function; an error inside arrives as the Python exception of its kind.

        Raises `TensorError` for a read-only array where the function writes.
        """
        for position, name in self.written:
            if position < len(args):
                value = args[position]
                if type(value) is Tensor:
                    bad = value.read_only
                else:
                    bad = type(value) is np.ndarray and not value.flags.writeable
                if bad:
                    raise _read_only(self.name, position, name)
        for value in args:
            kind = type(value)
            if kind is not Tensor and kind is not int:
                args = tuple([to_ffi(item) for item in args])
                break
        result = self.ffi(*args)
        return None if result is None else from_ffi(result)

    def __tvm_ffi_object__(self) -> Any:
        return self.ffi

    def __repr__(self) -> str:
        return f"PackedFunc({self.name or 'anonymous'})"


def _read_only(function: str, position: int, name: str) -> TensorError:
    which = f"argument {position} ({name})" if name else f"argument {position}"
    return TensorError(
        f"{function}: {which} is written, but the given array is read-only",
        hint="pass a copy: x.copy() can be written",
    )


def convert_func(function: Callable[..., Any]) -> PackedFunc:
    """Makes a packed function of a Python callable; its tensor arguments arrive as our `Tensor`."""
    import tvm_ffi

    if isinstance(function, PackedFunc):
        return function
    name = getattr(function, "__name__", "")
    return PackedFunc(tvm_ffi.convert(_adapt(function)), name)


def _adapt(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return to_ffi(function(*[from_ffi(arg) for arg in args]))

    return call


def register_global_func(
    func_name: str | Callable[..., Any],
    f: Callable[..., Any] | None = None,
    override: bool = False,
) -> Any:
    """Registers a Python function under a name that compiled code can call; also a decorator.

    Raises `RegistryError` if the name is taken and `override` is false.
    """
    if callable(func_name):
        return register_global_func(func_name.__name__, func_name, override)
    name = func_name

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        import tvm_ffi

        if not override and get_global_func(name, allow_missing=True) is not None:
            raise RegistryError(
                f"global function {name!r} is already registered", hint="override=True"
            )
        inner = function.ffi if isinstance(function, PackedFunc) else _adapt(function)
        tvm_ffi.register_global_func(name, inner, override)
        return function

    return register if f is None else register(f)


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """The global function `name`.

    Raises `FunctionNotFoundError` unless `allow_missing`, which gives None.
    """
    import tvm_ffi

    found = tvm_ffi.get_global_func(name, allow_missing=True)
    if found is not None:
        return PackedFunc(found, name)
    if allow_missing:
        return None
    names = tvm_ffi.registry.list_global_func_names()
    raise FunctionNotFoundError(
        f"no global function {name!r}",
        hint=did_you_mean(name, names) or "register it with workbench.register_global_func",
    )


def remove_global_func(name: str) -> None:
    """Takes a global function out of the table."""
    import tvm_ffi

    tvm_ffi.registry.remove_global_func(name)


def convert(value: Any) -> Any:
    """What compiled code would be given: functions become `PackedFunc`, the rest stays."""
    return convert_func(value) if callable(value) and not isinstance(value, type) else value
