"""The virtual machine: runs programs of `bytecode` with compiled kernels.

vm = VirtualMachine(exe, cpu())
y = vm["main"](x)

A machine keeps the memory of its programs between calls; calls of several threads take turns.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.runtime import benchmark
from workbench.runtime.device import Device
from workbench.runtime.function import get_global_func
from workbench.runtime.module import Module
from workbench.runtime.vm.builtins import BUILTINS, STATIC, ArgumentError, alloc_tensor
from workbench.runtime.vm.bytecode import Arg, Instruction, Opcode, Program, VMError, VMFunction
from workbench.runtime.vm.executable import EMBEDDED, VMExecutable
from workbench.runtime.vm.kernels import BoundKernel, addresses_of
from workbench.runtime.vm.replay import Launch, Recording
from workbench.runtime.vm.values import Buf, Storage, as_buf

#: Recordings kept per function, each with the memory of its intermediate values; the oldest goes.
_MAX_RECORDINGS = 8
Step = Callable[[list[Any]], None]
Hook = Callable[[BoundKernel, float], None]
#: `(function, name, before, result, *arguments) → VMInstrumentReturnKind or None`.
Instrument = Callable[..., Any]


@dataclass(frozen=True)
class KernelTime:
    """One measured kernel launch."""

    name: str
    seconds: float
    origins: tuple[str, ...] = ()


class _Code:
    """A decoded function: steps in order, and what control flow does after each."""

    def __init__(self, function: VMFunction) -> None:
        self.function = function
        self.steps: list[Any] = []
        self.replayable = True
        self.recordings: dict[Any, Recording] = {}
        self.result_storages: dict[tuple[Any, int], Storage] = {}


class VMInstrumentReturnKind(IntEnum):
    """What an instrument may answer before a call."""

    NO_OP = 0
    SKIP_RUN = 1


class VirtualMachine:
    """Runs the functions of an executable.

    Parameters
    ----------
    rt_mod : what `relax.build` gives, or a module loaded from an exported library.
    device : where to run; this runtime has the CPU.
    profile : kept for programs written for TVM; `profile(...)` works in any case.

    Threads may share a machine; their calls run one after the other.

    Raises VMError if the module holds no program, or for a device it cannot run on.
    """

    def __init__(
        self,
        rt_mod: VMExecutable | Module,
        device: Device | Sequence[Device] | None = None,
        memory_cfg: Any = None,
        profile: bool = False,
    ) -> None:
        devices = device if isinstance(device, (list, tuple)) else [device]
        for item in devices:
            if item is not None and not isinstance(item, Device):
                raise VMError(
                    f"expected a device, got {type(item).__name__} {item!r}", hint="wb.cpu()"
                )
            if item is not None and item.device_type != 1:
                raise VMError(f"the virtual machine runs on the CPU, got {item}")
        module, program, lookup = _parts(rt_mod)
        self.module: Module = module
        self.program: Program = program
        self.replay = True
        self.output: Callable[[str], None] = lambda text: print(text, file=sys.stdout)
        self._hook: Hook | None = None
        self._launches: list[Launch] | None = None
        self._constants = [_constant(c) for c in program.constants]
        self._kernels = {
            name: BoundKernel(info, lookup(info.symbol), module)
            for name, info in program.kernels.items()
        }
        self._codes: dict[str, _Code] = {}
        self._lock = threading.RLock()  # a call may call the machine again
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._saved: dict[str, Callable[[], Any]] = {}
        self._instrument: Instrument | None = None
        self._outputs: dict[str, Any] = {}

    # -- calling ------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """A function of the program, or one saved by `save_function`, as a Python function."""
        if name in self._saved:
            return self._saved[name]
        self._code(name)

        def call(*args: Any, **named: Any) -> Any:
            code = self._code(name)
            return self._call(code, self._by_name(code, args, named) if named else args)

        call.__name__ = name
        return call

    def __call__(self, *args: Any) -> Any:
        """Calls `main`."""
        return self._call(self._code("main"), args)

    def invoke(self, name: str, *args: Any) -> Any:
        """Calls a function by name."""
        return self._call(self._code(name), args)

    def save_function(
        self,
        func_name: str,
        saved_name: str,
        *args: Any,
        include_return: bool = True,
        **kwargs: Any,
    ) -> None:
        """Keeps a call with its arguments under a name: `vm[saved_name]()` runs it.

        With `include_return=False` the result is dropped, which is what timing wants.
        Raises VMError if the program has a function of that name.
        """
        if saved_name in self.program.functions:
            raise VMError(f"save_function: the program has a function {saved_name!r} already")
        code = self._code(func_name)
        values = self._by_name(code, args, kwargs)
        self._check_count(code, values)

        def saved() -> Any:
            result = self._call(self._code(func_name), values)
            return result if include_return else None

        self._saved[saved_name] = saved

    def function_names(self) -> list[str]:
        """The functions that can be called."""
        return list(self.program.functions)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keeps arguments, by position or name, for `invoke_stateful`."""
        code = self._code(func_name)
        values = self._by_name(code, args, kwargs)
        self._check_count(code, values)
        self._inputs[func_name] = values

    def _by_name(
        self, code: _Code, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Any, ...]:
        """All arguments in order; those missing in the middle are an error."""
        params = code.function.params
        given = dict(zip(params, args, strict=False))
        for name in named:
            if name not in params:
                hint = did_you_mean(name, params) or f"its parameters: {', '.join(params)}"
                raise ArgumentError(f"{code.function.name} has no parameter {name!r}", hint=hint)
            if name in given:
                raise ArgumentError(f"{code.function.name}: {name!r} was given twice")
        if not named:
            return args
        given.update(named)
        missing = [p for p in params if p not in given]
        if missing or len(args) > len(params):
            self._check_count(code, list(given), f"; missing: {', '.join(missing)}")
        return tuple(given[p] for p in params)

    @staticmethod
    def _check_count(code: _Code, values: Sequence[Any], more: str = "") -> None:
        params = code.function.params
        if len(values) != len(params):
            raise ArgumentError(
                f"{code.function.name}: expected {len(params)} arguments "
                f"({', '.join(params)}), got {len(values)}{more}"
            )

    def invoke_stateful(self, func_name: str) -> None:
        """Calls a function with the arguments of `set_input`; `get_outputs` gives the result."""
        if func_name not in self._inputs:
            raise VMError(f"no arguments for {func_name!r}", hint="call set_input first")
        self._outputs[func_name] = self[func_name](*self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Any:
        """The result of the last `invoke_stateful`."""
        if func_name not in self._outputs:
            raise VMError(f"{func_name!r} has no result yet", hint="call invoke_stateful first")
        return self._outputs[func_name]

    # -- measuring ----------------------------------------------------------------------------

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        **options: Any,
    ) -> Callable[..., benchmark.BenchmarkResult]:
        """A function that times calls of `func_name`; see `runtime.benchmark`."""
        return benchmark.evaluator(
            self[func_name], number=number, repeat=repeat, min_repeat_ms=min_repeat_ms, **options
        )

    def set_hook(self, hook: Hook | None) -> None:
        """Calls `hook(kernel, seconds)` after every kernel; None stops it."""
        self._hook = hook

    def set_instrument(self, instrument: Instrument | None) -> None:
        """Calls `instrument(func, name, before, result, *args)` around every call of the program.

        `before` is True ahead of the call (then `result` is None) and False after it. If the first
        one returns `VMInstrumentReturnKind.SKIP_RUN`, the call is left out. `func` is the name as
        well: kernels are no objects here. None stops it.
        """
        self._instrument = instrument
        self._codes.clear()  # steps are decoded again, with or without the instrument

    def profile(self, func_name: str, *args: Any) -> list[KernelTime]:
        """Runs a function once and gives the time of each of its kernels, in order."""
        found: list[KernelTime] = []
        outer, self._hook = self._hook, _collect(found)
        try:
            self[func_name](*args)
        finally:
            self._hook = outer
        return found

    # -- running ------------------------------------------------------------------------------

    def _call(self, code: _Code, args: tuple[Any, ...]) -> Any:
        self._check_count(code, args)
        values: list[Any] = []
        for number, arg in enumerate(args):
            buf = as_buf(arg, number)
            values.append(_convert(arg) if buf is None else buf)
        # Calls share the memory between their kernels, and what a result lies in is in use from
        # the moment that somebody outside holds it.
        with self._lock:
            return _outside(self._execute(code, values))

    def _execute(self, code: _Code, values: list[Any]) -> Any:
        """Runs a function on register values, by its recording if there is one."""
        replay = self.replay and code.replayable and self._instrument is None
        if not replay or self._launches is not None:
            return self._interpret(code, values)
        key = _key(values)
        if key is None:
            return self._interpret(code, values)
        recording = code.recordings.get(key)
        if recording is not None:

            def allocate(number: int, size: int) -> Storage:
                return _reusable(code.result_storages, (key, number), size)

            return recording.run(values, allocate, self._hook)
        self._launches = []
        try:
            result = self._interpret(code, values)
            launches = self._launches
        finally:
            self._launches = None
        if len(code.recordings) >= _MAX_RECORDINGS:
            oldest = next(iter(code.recordings))
            del code.recordings[oldest]
            for old in [k for k in code.result_storages if k[0] == oldest]:
                del code.result_storages[old]
        code.recordings[key] = Recording(values, launches, result)
        return result

    def _interpret(self, code: _Code, values: list[Any]) -> Any:
        registers = values + [None] * (code.function.registers - len(values))
        steps = code.steps
        pc = 0
        while True:
            step = steps[pc]
            kind = step[0]
            if kind is Opcode.CALL:
                step[1](registers)
                pc += 1
            elif kind is Opcode.RET:
                return step[1](registers)
            elif kind is Opcode.GOTO:
                pc += step[1]
            else:
                pc += 1 if step[1](registers) else step[2]

    # -- decoding -----------------------------------------------------------------------------

    def _code(self, name: str) -> _Code:
        found = self._codes.get(name)
        if found is None:
            found = self._codes[name] = _Code(self.program.function(name))
            found.steps = [self._decode(i, found) for i in found.function.code]
        return found

    def _decode(self, i: Instruction, code: _Code) -> tuple[Any, ...]:
        if i.op is Opcode.GOTO:
            code.replayable = False
            return i.op, i.offset
        if i.op is Opcode.CALL:
            return i.op, self._decode_call(i, code)
        get = self._getter(i.args[0])
        if i.op is Opcode.RET:
            return i.op, get
        code.replayable = False
        condition = BUILTINS["vm.builtin.read_if_cond"]
        return i.op, lambda registers: condition(self, get(registers)), i.offset

    def _getter(self, arg: Arg) -> Callable[[list[Any]], Any]:
        if arg.kind == "r":
            index = arg.value
            return lambda registers: registers[index]
        value = self._constants[arg.value] if arg.kind == "c" else arg.value
        return lambda registers: value

    def _decode_call(self, i: Instruction, code: _Code) -> Step:
        fixed = [
            None if a.kind == "r" else self._constants[a.value] if a.kind == "c" else a.value
            for a in i.args
        ]
        moving = [(n, a.value) for n, a in enumerate(i.args) if a.kind == "r"]

        def operands(registers: list[Any]) -> list[Any]:
            values = list(fixed)
            for position, register in moving:
                values[position] = registers[register]
            return values

        step = self._plain_step(i, code, operands)
        return step if self._instrument is None else self._watched(i, step, operands)

    def _plain_step(
        self, i: Instruction, code: _Code, operands: Callable[[list[Any]], list[Any]]
    ) -> Step:
        """What a call instruction does."""
        kernel = self._kernels.get(i.func)
        if kernel is not None:
            return self._kernel_step(kernel, operands)
        if i.func == "vm.builtin.call_tir_dyn":
            return self._dynamic_step(operands)
        function = self._function(i, code)
        dst = i.dst
        if dst < 0:
            return lambda registers: function(operands(registers))

        def step(registers: list[Any]) -> None:
            registers[dst] = function(operands(registers))

        return step

    def _watched(
        self, i: Instruction, step: Step, operands: Callable[[list[Any]], list[Any]]
    ) -> Step:
        """A step with the instrument called before and after it."""
        instrument = self._instrument
        assert instrument is not None

        def watched(registers: list[Any]) -> None:
            args = [_outside(v) for v in operands(registers)]
            if instrument(i.func, i.func, True, None, *args) == VMInstrumentReturnKind.SKIP_RUN:
                return
            step(registers)
            result = _outside(registers[i.dst]) if i.dst >= 0 else None
            instrument(i.func, i.func, False, result, *args)

        return watched

    def _launch(self, kernel: BoundKernel, values: Sequence[Any]) -> None:
        if self._launches is not None:
            self._launches.append(Launch(kernel, values))
        if self._hook is None:
            kernel.run(values)
        else:
            start = time.perf_counter()
            kernel.run(values)
            self._hook(kernel, time.perf_counter() - start)

    def _kernel_step(self, kernel: BoundKernel, operands: Callable[[list[Any]], list[Any]]) -> Step:
        return lambda registers: self._launch(kernel, operands(registers))

    def _dynamic_step(self, operands: Callable[[list[Any]], list[Any]]) -> Step:
        """A kernel call whose last operand, a shape, holds its scalars."""

        def step(registers: list[Any]) -> None:
            name, *values, scalars = operands(registers)
            self._launch(self._kernels[name], [*values, *scalars])

        return step

    def _function(self, i: Instruction, code: _Code) -> Callable[[list[Any]], Any]:
        """What a call runs: a builtin, a function of the program, or a packed function."""
        if i.func == "vm.builtin.alloc_storage":
            return _StorageKeeper()
        if i.func == "vm.builtin.alloc_tensor":
            return lambda values: alloc_tensor(self, *values)
        found = BUILTINS.get(i.func)
        if found is not None:
            code.replayable = code.replayable and i.func in STATIC
            return lambda values: found(self, *values)
        code.replayable = False
        if i.func in self.program.functions:
            inner = self.program.functions[i.func].name
            return lambda values: self._interpret(self._code(inner), values)
        return self._packed(i.func)

    def _packed(self, name: str) -> Callable[[list[Any]], Any]:
        """A packed function: of the module, or a global one, looked up when first called."""
        known: list[Any] = []

        def call(values: list[Any]) -> Any:
            if not known:
                known.append(self.module.find(name, True) or get_global_func(name))
            return _convert(known[0](*[_outside(v) for v in values]))

        return call


class _StorageKeeper:
    """Memory of one instruction, kept between calls as long as nobody else holds a view of it."""

    def __init__(self) -> None:
        self.storage: Storage | None = None

    def __call__(self, values: list[Any]) -> Storage:
        size = int(values[0][0])
        storage = self.storage
        if (
            storage is None
            or storage.size < size
            or not storage.is_free()
            or sys.getrefcount(storage) > 3
        ):
            storage = Storage(size)
        self.storage = storage
        return storage


def _reusable(kept: dict[Any, Storage], key: Any, size: int) -> Storage:
    """The memory of a result: that of the last call if its result is gone, else new memory."""
    storage = kept.get(key)
    if storage is None or sys.getrefcount(storage) > 3 or not storage.is_free():
        storage = kept[key] = Storage(size)
    return storage


def _key(values: Sequence[Any]) -> Any:
    """What decides the course of a function: the shapes of its arguments; None if values do."""
    key: list[Any] = []
    for value in values:
        if type(value) is not Buf:
            return None
        key.append((value.shape, value.dtype))
    return tuple(key)


def _convert(value: Any) -> Any:
    """A value from outside as a register holds it."""
    if isinstance(value, (tuple, list)):
        return tuple(_convert(v) for v in value)
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str, Buf, Storage)):
        return value
    found = as_buf(value)
    return value if found is None else found


def _outside(value: Any) -> Any:
    """A register value for the world outside."""
    if type(value) is Buf:
        return value.tensor()
    return tuple(map(_outside, value)) if isinstance(value, tuple) else value


def _constant(value: Any) -> Any:
    found = None if isinstance(value, (str, tuple, int, float)) else as_buf(value)
    return value if found is None else found


def _collect(found: list[KernelTime]) -> Hook:
    def hook(kernel: BoundKernel, seconds: float) -> None:
        found.append(KernelTime(kernel.info.name, seconds, kernel.info.origins))

    return hook


def _parts(rt_mod: Any) -> tuple[Module, Program, Callable[[str], int]]:
    """The kernels, the program and the addresses of what a machine is made from."""
    if isinstance(rt_mod, VMExecutable):
        return rt_mod.mod, rt_mod.program, rt_mod.address_of
    if isinstance(rt_mod, Module):
        if rt_mod.find(EMBEDDED) is None:
            raise VMError(
                f"{rt_mod!r} holds no program of the virtual machine",
                hint="export what relax.build gives, or call its functions directly",
            )
        return rt_mod, Program.from_bytes(rt_mod.embedded(EMBEDDED)), addresses_of(rt_mod)
    raise WorkbenchError(
        f"VirtualMachine: expected an executable or a module, got {type(rt_mod).__name__}",
        hint="relax.build(mod) makes an executable",
    )
