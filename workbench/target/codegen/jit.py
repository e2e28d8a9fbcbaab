"""Object code into this process: one LLJIT for everything, one library per object.

The thread pool is linked on first use and shared by all jitted code. At exit it is stopped before
LLVM frees its code.
"""

from __future__ import annotations

import atexit
import ctypes
import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from workbench.runtime import threads
from workbench.target.codegen import arguments, threadpool
from workbench.target.codegen.compile import compile_ir
from workbench.target.codegen.machine import (
    CodegenError,
    Machine,
    llvm,
    machine_of,
    target_machine,
)
from workbench.target.target import Target

#: The part of the tvm-ffi C API that generated code calls.
FFI_SYMBOLS = (
    "TVMFFIErrorSetRaisedFromCStr",
    "TVMFFIErrorSetRaisedFromCStrParts",
    "TVMFFIErrorMoveFromRaised",
    "TVMFFIErrorSetRaised",
    "TVMFFIObjectDecRef",
    "TVMFFIFunctionGetGlobal",
    "TVMFFIFunctionCall",
)
_names = itertools.count()
_lock = threading.Lock()
_engine: Any = None


@dataclass
class Linked:
    """Code in memory: `addresses` by symbol. It stays as long as this object."""

    addresses: dict[str, int]
    keep: list[Any] = field(default_factory=list)


@lru_cache(maxsize=1)
def ffi_addresses() -> dict[str, int]:
    """Addresses of the tvm-ffi C API in this process."""
    import tvm_ffi

    library = ctypes.CDLL(str(tvm_ffi.libinfo.find_libtvm_ffi()))
    return {
        name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        for name in FFI_SYMBOLS
    }


#: Conversions of float16 that LLVM calls on processors without instructions for them.
_HALF_HELPERS = ("__extendhfsf2", "__truncsfhf2", "__truncdfhf2")


def _half_helpers(obj: bytes) -> dict[str, int]:
    """Addresses of the helpers an object mentions, from the compiler's support library."""
    wanted = [name for name in _HALF_HELPERS if name.encode() in obj]
    if not wanted:
        return {}
    try:
        library = ctypes.CDLL("libgcc_s.so.1")
        return {
            name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in wanted
        }
    except (OSError, AttributeError) as error:
        raise CodegenError(
            f"float16 on this processor needs {', '.join(wanted)} from libgcc, which is not here",
            hint="install libgcc 12 or newer, or convert the model to float32",
        ) from error


def _lljit() -> Any:
    global _engine
    if _engine is None:
        _engine = llvm().create_lljit_compiler(target_machine(host_machine()))
    return _engine


def host_machine() -> Machine:
    """This machine."""
    return machine_of(Target("llvm"))


def link_object(
    obj: bytes, symbols: Sequence[str], imports: Mapping[str, int] | None = None
) -> Linked:
    """Links object code into the process and gives the addresses of `symbols`.

    `imports` are addresses for undefined symbols that the process itself does not export.
    Raises `CodegenError` naming the symbols that nothing defines.
    """
    with _lock:
        builder = llvm().JITLibraryBuilder().add_object_img(obj).add_current_process()
        given = {**ffi_addresses(), **_half_helpers(obj), **(imports or {})}
        for name, address in given.items():
            builder = builder.import_symbol(name, address)
        for name in symbols:
            builder = builder.export_symbol(name)
        try:
            library = builder.link(_lljit(), f"wb{next(_names)}")
            return Linked({name: int(library[name]) for name in symbols}, [library])
        except RuntimeError as error:
            raise CodegenError(
                f"the generated code cannot be linked: {error}",
                hint="a T.call_extern names a C function that this process does not have",
            ) from error


class _Pool:
    """The process's pool: the address of its launcher, and its life."""

    def __init__(self) -> None:
        text = threadpool.threadpool_ir(host_machine(), exported=False)
        compiled = compile_ir(text, host_machine(), 2)
        names = [
            threadpool.LAUNCH,
            threadpool.STOP,
            threadpool.SET_THREADS,
            threadpool.GET_THREADS,
        ]
        self.linked = link_object(compiled.obj, names)
        at = self.linked.addresses
        self.launch = at[threadpool.LAUNCH]
        self.set_threads = ctypes.CFUNCTYPE(None, ctypes.c_int32)(at[threadpool.SET_THREADS])
        self.get_threads = ctypes.CFUNCTYPE(ctypes.c_int32)(at[threadpool.GET_THREADS])
        stop = ctypes.CFUNCTYPE(None)(at[threadpool.STOP])
        self.set_threads(threads.num_threads())
        threads.on_change.append(self.set_threads)
        atexit.register(stop)


@lru_cache(maxsize=1)
def pool() -> _Pool:
    """The thread pool of this process, linked on first use."""
    return _Pool()


@lru_cache(maxsize=1)
def support() -> Linked:
    """The functions that check arguments, linked on first use."""
    text = arguments.support_ir(host_machine(), exported=False)
    names = [arguments.BAD_ARGUMENT, arguments.CHECK]
    return link_object(compile_ir(text, host_machine(), 1).obj, names)


def link_kernels(
    obj: bytes, symbols: Sequence[str], *, parallel: bool, externs: Iterable[str] = ()
) -> Linked:
    """Links kernels.

    `parallel` says whether they launch parallel loops, `externs` which C functions they call by
    name. Raises `CodegenError` naming those that this process does not have.
    """
    process = ctypes.CDLL(None)
    missing = [name for name in sorted(externs) if not hasattr(process, name)]
    if missing:
        raise CodegenError(
            f"T.call_extern: this process has no C function {', '.join(map(repr, missing))}",
            hint="load its library first: ctypes.CDLL(path, ctypes.RTLD_GLOBAL)",
        )
    imports = dict(support().addresses)
    if parallel:
        imports[threadpool.LAUNCH] = pool().launch
    return link_object(obj, symbols, imports)


@lru_cache(maxsize=8)
def exported_support(machine: Machine, parallel: bool) -> list[bytes]:
    """What every exported library carries: the check of arguments; the pool, if it is needed."""
    texts = [arguments.support_ir(machine, exported=True)]
    if parallel:
        texts.append(threadpool.threadpool_ir(machine, exported=True))
    return [compile_ir(text, machine, 1).obj for text in texts]
