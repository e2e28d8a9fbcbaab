"""Recorded runs: when only shapes decide what a function does, the second call replays the first.

The first call with given argument shapes notes every kernel launch. If nothing in the function
depends on values, the next call with the same shapes launches the same kernels with the same
addresses, except for those of the arguments and of the results: checks, shapes, allocation and
decoding are skipped. A recording owns the memory between its kernels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from workbench.runtime.vm.kernels import BoundKernel
from workbench.runtime.vm.values import Buf, Storage


class Launch:
    """One kernel launch: its arguments, and which of them change from call to call."""

    __slots__ = ("args", "kernel", "patches", "values")

    def __init__(self, kernel: BoundKernel, values: Sequence[Any]) -> None:
        self.kernel = kernel
        self.values = tuple(values)
        self.args = tuple(kernel.arguments(values))
        #: (position, number of the address, offset to it)
        self.patches: tuple[tuple[int, int, int], ...] = ()


class Recording:
    """The launches of one run, ready to be repeated for other arguments of the same shapes."""

    def __init__(self, arguments: Sequence[Buf], launches: list[Launch], result: Any) -> None:
        self.launches = launches
        self.count = len(arguments)
        self.results: list[Storage] = []  # the storages that results lie in
        self._find_results(result)
        base = {id(s): self.count + n for n, s in enumerate(self.results)}
        first = [a.ptr for a in arguments]
        for launch in launches:
            patches: list[tuple[int, int, int]] = []
            for position, value in enumerate(launch.values):
                if type(value) is not Buf:
                    continue
                if value.source >= 0:
                    patches.append((position, value.source, value.ptr - first[value.source]))
                elif value.storage is not None and id(value.storage) in base:
                    patches.append((position, base[id(value.storage)], value.offset))
            launch.patches = tuple(patches)
        self.result = result
        self.sizes = [s.size for s in self.results]

    def _find_results(self, value: Any) -> None:
        if isinstance(value, tuple):
            for item in value:
                self._find_results(item)
        elif type(value) is Buf and value.storage is not None:
            if not any(value.storage is s for s in self.results):
                self.results.append(value.storage)

    def run(
        self,
        arguments: Sequence[Buf],
        allocate: Callable[[int, int], Storage],
        hook: Callable[[BoundKernel, float], None] | None = None,
    ) -> Any:
        """Repeats the launches; `allocate(number, size)` gives the memory of a result."""
        fresh = [allocate(n, size) for n, size in enumerate(self.sizes)]
        addresses = [a.ptr for a in arguments] + [s.ptr for s in fresh]
        for launch in self.launches:
            args: Any = launch.args
            if launch.patches:
                args = list(args)
                for position, number, offset in launch.patches:
                    args[position] = addresses[number] + offset
            if hook is None:
                failed = launch.kernel.call(*args)
            else:
                start = time.perf_counter()
                failed = launch.kernel.call(*args)
                hook(launch.kernel, time.perf_counter() - start)
            if failed:
                launch.kernel.fail([self._value(v, arguments, fresh) for v in launch.values])
        return self._value(self.result, arguments, fresh)

    def _value(self, value: Any, arguments: Sequence[Buf], fresh: list[Storage]) -> Any:
        """A value of the first run as it is in this one."""
        if isinstance(value, tuple):
            return tuple(self._value(v, arguments, fresh) for v in value)
        if type(value) is not Buf:
            return value
        if value.source >= 0:
            return arguments[value.source].reshaped(value.shape)
        for old, new in zip(self.results, fresh, strict=True):
            if value.storage is old:
                ptr = new.ptr + value.offset
                return Buf(ptr, value.shape, value.dtype, new, new, value.offset)
        return value
