"""Compiled kernels as the machine calls them: by address, with addresses of data."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from workbench.runtime.module import Module, ModuleError
from workbench.runtime.vm.bytecode import KernelInfo, VMError
from workbench.runtime.vm.values import Buf, describe

_SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "handle": ctypes.c_void_p,
}


class BoundKernel:
    """A kernel of the program, bound to its machine code.

    Called with register values it passes the data addresses, the scalars, and the symbolic sizes
    read from the shapes of its arguments.
    """

    __slots__ = ("address", "call", "implicit", "info", "module", "tensors", "total")

    def __init__(self, info: KernelInfo, address: int, module: Module) -> None:
        types = [ctypes.c_void_p if p == "tensor" else self._scalar(info, p) for p in info.params]
        types += [self._scalar(info, dtype) for _, _, dtype in info.implicit]
        self.info = info
        self.address = address
        self.module = module
        self.call: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(address)
        self.tensors = tuple(p == "tensor" for p in info.params)
        self.implicit = tuple((p, d) for p, d, _ in info.implicit)
        self.total = len(types)

    def _scalar(self, info: KernelInfo, dtype: str) -> Any:
        found = _SCALARS.get(dtype)
        if found is None:
            raise VMError(f"kernel {info.name} takes a scalar of type {dtype}")
        return found

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        """What the machine code gets for register values."""
        if len(values) != len(self.tensors):
            raise VMError(
                f"kernel {self.info.name} takes {len(self.tensors)} arguments, got {len(values)}"
            )
        out: list[Any] = []
        for value, tensor in zip(values, self.tensors, strict=True):
            if not tensor:
                out.append(value)
            elif type(value) is Buf:
                out.append(value.ptr)
            else:
                raise VMError(f"kernel {self.info.name} takes a tensor, got {describe(value)}")
        out.extend(values[p].shape[d] for p, d in self.implicit)
        return out

    def run(self, values: Sequence[Any]) -> None:
        """Runs the kernel."""
        if self.call(*self.arguments(values)):
            self.fail(values)

    def fail(self, values: Sequence[Any]) -> None:
        """Raises the error that the machine code reported.

        The raw entry only says that there is one; the checked entry says which.
        """
        self.module[self.info.name](*[v.tensor() if isinstance(v, Buf) else v for v in values])
        raise VMError(f"kernel {self.info.name} failed")


def addresses_of(module: Module) -> Callable[[str], int]:
    """The addresses of the raw entries of a loaded library."""
    if module.path is None:
        raise ModuleError("the module was not loaded from a library, its kernels have no address")
    library = ctypes.CDLL(str(module.path))

    def lookup(symbol: str) -> int:
        try:
            entry = getattr(library, symbol)
        except AttributeError:
            raise ModuleError(f"{module.path} does not export {symbol!r}") from None
        return ctypes.cast(entry, ctypes.c_void_p).value or 0

    return lookup
