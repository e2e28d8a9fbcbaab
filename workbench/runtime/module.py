"""Modules of compiled functions: just compiled, or loaded from a shared library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.runtime import benchmark, linker, threads
from workbench.runtime.device import Device
from workbench.runtime.function import FunctionNotFoundError, PackedFunc, get_global_func

Source = str | Callable[[], str]

#: Compiled functions export beside `NAME` a function `NAME.writes`: the bit mask of its parameters
#: whose memory it writes (the first 63).
WRITES_SUFFIX = ".writes"


class ModuleError(WorkbenchError, RuntimeError):
    """A module that cannot do what was asked: no such format, not exportable, not loadable."""


class Module:
    """A set of packed functions, with the sources and object code they came from.

    Parameters
    ----------
    kind : what made it: "llvm", "library", ….
    lookup : gives the tvm-ffi function of a name, or None.
    names : the names that `lookup` knows, where they are known.
    sources : format ("ll", "asm", …) → text, or a function that makes the text.
    objects : relocatable object files that together export the functions.
    keep_alive : whatever must live as long as the functions.
    written : gives, for a function, the parameters it writes: position → name ("" if unknown).
        Read-only arrays are refused there. Without it, as for libraries of other makers, nothing
        is known about the functions, and read-only arrays are passed as they are.
    """

    entry_name = "main"

    def __init__(
        self,
        *,
        kind: str,
        lookup: Callable[[str], Any],
        names: Sequence[str] = (),
        sources: Mapping[str, Source] | None = None,
        objects: Sequence[bytes] = (),
        keep_alive: Any = None,
        written: Callable[[str], Mapping[int, str]] | None = None,
    ) -> None:
        self.kind = kind
        self.names = tuple(names)
        self.sources: dict[str, Source] = dict(sources or {})
        self.objects = tuple(objects)
        self.imports: list[Module] = []
        self._lookup = lookup
        self._written = written
        self.keep_alive = keep_alive
        #: The library it was loaded from.
        self.path: Path | None = None
        self._functions: dict[str, PackedFunc] = {}

    def get_function(self, name: str, query_imports: bool = False) -> PackedFunc:
        """The function `name`; with `query_imports` also from imported modules.

        Raises `FunctionNotFoundError` with the nearest names.
        """
        found = self._functions.get(name)
        if found is not None:
            return found
        found = self.find(name, query_imports)
        if found is None:
            known = list(self.names)
            hint = did_you_mean(name, known) or (f"it has {', '.join(known)}" if known else "")
            raise FunctionNotFoundError(f"the module has no function {name!r}", hint=hint)
        return found

    def find(self, name: str, query_imports: bool = False) -> PackedFunc | None:
        """The function `name`, or None."""
        found = self._lookup(name)
        if found is not None:
            written = {} if self._written is None else self._written(name)
            return self._functions.setdefault(name, PackedFunc(found, name, written))
        for imported in self.imports if query_imports else ():
            if (inner := imported.find(name, True)) is not None:
                return inner
        return None

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether the module has a function of that name."""
        return self.find(name, query_imports) is not None

    def import_module(self, module: Module) -> None:
        """Adds a module in which `query_imports` also looks."""
        self.imports.append(module)

    def __getitem__(self, name: str) -> PackedFunc:
        if not isinstance(name, str):
            raise TypeError(f"expected the name of a function, got {name!r}")
        return self.get_function(name, query_imports=True)

    def __getattr__(self, name: str) -> PackedFunc:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get_function(name, query_imports=True)

    def __call__(self, *args: Any) -> Any:
        """Calls the only function, or `main`."""
        name = self.names[0] if len(self.names) == 1 else self.entry_name
        return self.get_function(name, query_imports=True)(*args)

    def embedded(self, name: str) -> memoryview:
        """Bytes that were put into the library under a name; the view keeps the library alive.

        Raises `FunctionNotFoundError` if it carries none of that name.
        """
        import ctypes

        finder = self.get_function(name)
        address, size = int(finder(0)), int(finder(1))
        buffer = (ctypes.c_char * size).from_address(address)
        buffer._owner = self  # type: ignore[attr-defined]
        return memoryview(buffer).cast("B").toreadonly()

    def inspect_source(self, fmt: str = "") -> str:
        """The text of a format ("ll", "asm" …); the first one if none is named.

        Raises `ModuleError` listing the formats there are.
        """
        if not fmt and self.sources:
            fmt = next(iter(self.sources))
        source = self.sources.get({"s": "asm", "llvm": "ll"}.get(fmt, fmt))
        if source is None:
            raise ModuleError(
                f"no source in format {fmt!r}",
                hint=f"formats: {', '.join(self.sources) or 'none (a loaded library)'}",
            )
        return source if isinstance(source, str) else source()

    def get_write_formats(self) -> list[str]:
        """Formats `write_to_file` knows for this module."""
        return [*self.sources, *(["o", "so"] if self.objects else [])]

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Writes one format (by default the one the file's ending says)."""
        fmt = fmt or Path(file_name).suffix.lstrip(".")
        if fmt in ("o", "so"):
            self.export_library(file_name)
        else:
            Path(file_name).write_text(self.inspect_source(fmt))

    def export_library(
        self,
        file_name: str | Path,
        *,
        fcompile: Callable[..., Any] | None = None,
        addons: Sequence[str] | None = None,
        workspace_dir: str | None = None,
        **options: Any,
    ) -> Path:
        """Writes a shared library (`.so`) that any tvm-ffi host loads, or its object file (`.o`).

        `fcompile(output, object_paths, **options)` replaces the linker; `addons` are more object
        files. Raises `ModuleError` if the module has no object code, `LinkError` if linking fails.
        """
        parts = [*self.objects, *(o for inner in self.imports for o in inner.objects)]
        if not parts:
            raise ModuleError(f"a module of kind {self.kind!r} has no object code to export")
        path = Path(file_name)
        if path.suffix == ".o":
            return linker.link_relocatable(path, parts)
        if fcompile is not None:
            return _link_with(fcompile, path, parts, addons or (), workspace_dir, options)
        return linker.link_shared(path, [*parts, *(addons or ())])

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: float = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str | Callable[..., Any] = "",
    ) -> Callable[..., benchmark.BenchmarkResult]:
        """A function that times calls of `func_name` with its arguments; see `benchmark`."""
        setup = get_global_func(f_preproc) if isinstance(f_preproc, str) and f_preproc else None
        return benchmark.evaluator(
            self.get_function(func_name, query_imports=True),
            number=number,
            repeat=repeat,
            min_repeat_ms=min_repeat_ms,
            limit_zero_time_iterations=limit_zero_time_iterations,
            cooldown_interval_ms=cooldown_interval_ms,
            repeats_to_cooldown=repeats_to_cooldown,
            cache_flush_bytes=cache_flush_bytes,
            setup=setup or (f_preproc if callable(f_preproc) else None),
        )

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Module holds machine code and cannot be pickled: write it with"
            " export_library(path) and read it with workbench.runtime.load_module(path)"
        )

    def __repr__(self) -> str:
        return f"Module({self.kind}: {', '.join(self.names) or '…'})"


def _link_with(
    fcompile: Callable[..., Any],
    path: Path,
    parts: Sequence[bytes],
    addons: Sequence[str],
    workspace_dir: str | None,
    options: Mapping[str, Any],
) -> Path:
    import tempfile

    with tempfile.TemporaryDirectory(dir=workspace_dir) as folder:
        files = []
        for number, data in enumerate(parts):
            part = Path(folder) / f"part{number}.o"
            part.write_bytes(data)
            files.append(str(part))
        fcompile(str(path), [*files, *addons], **options)
    return path


def load_module(path: str | Path) -> Module:
    """Loads a shared library written by `export_library` (or any library of tvm-ffi functions).

    Raises `ModuleError` if the file is missing or not a library.
    """
    import tvm_ffi

    file = Path(path).resolve()
    if not file.is_file():
        raise ModuleError(f"cannot load {path}: no such file")
    try:
        inner = tvm_ffi.load_module(str(file))
    except Exception as error:
        raise ModuleError(f"cannot load {path}: {error}") from error
    lookup = _finder(inner)
    module = Module(kind="library", lookup=lookup, keep_alive=inner, written=_written_by(lookup))
    module.path = file
    _follow_num_threads(module)
    return module


def system_lib(symbol_prefix: str = "") -> Module:
    """Functions that were linked into the process itself, under a prefix."""
    import tvm_ffi

    inner = tvm_ffi.system_lib(symbol_prefix)
    lookup = _finder(inner)
    return Module(kind="system_lib", lookup=lookup, keep_alive=inner, written=_written_by(lookup))


def _finder(inner: Any) -> Callable[[str], Any]:
    def lookup(name: str) -> Any:
        try:
            return inner.get_function(name)
        except AttributeError:
            return None

    return lookup


def _written_by(lookup: Callable[[str], Any]) -> Callable[[str], Mapping[int, str]]:
    """What the functions of a library tell about their parameters."""

    def written(name: str) -> Mapping[int, str]:
        tell = lookup(f"{name}{WRITES_SUFFIX}")
        mask = 0 if tell is None else int(tell())
        return {position: "" for position in range(mask.bit_length()) if mask >> position & 1}

    return written


def _follow_num_threads(module: Module) -> None:
    """A library with parallel loops carries its own thread pool: tell it the number of threads."""
    setter = module.find("workbench_set_num_threads", False)
    if setter is not None:
        setter(threads.num_threads())
        threads.on_change.append(setter)
