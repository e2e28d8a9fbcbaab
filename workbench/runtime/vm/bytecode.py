"""The program of the virtual machine: functions of few, readable instructions over registers.

    call  DST = FUNCTION(ARGS)      a kernel, a builtin (`vm.builtin.…`), a function of the program,
                                    or a packed function of that name
    ret   REGISTER
    goto  OFFSET                    relative to this instruction
    if    REGISTER, OFFSET          goes on if the value holds, else jumps by OFFSET

A program can be printed, built by hand (`ExecBuilder`), and saved as bytes: a JSON header with
everything but the weights, then the weights, each aligned to 64 bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.runtime.dtype import DataType
from workbench.runtime.tensor import Tensor, of_array

_MAGIC = b"WBVM"
_VERSION = 1
_ALIGN = 64


class VMError(WorkbenchError, RuntimeError):
    """A program of the virtual machine is ill-formed or failed."""


class Opcode(IntEnum):
    """The kinds of instructions."""

    CALL = 1
    RET = 2
    GOTO = 3
    IF = 4


class Arg(NamedTuple):
    """An operand: register "r", integer "i", constant "c" (index into the pool), function "f"."""

    kind: str
    value: Any

    def __str__(self) -> str:
        return {"r": "%", "i": "", "c": "c", "f": "@"}[self.kind] + str(self.value)


@dataclass(frozen=True)
class Instruction:
    """One instruction; which fields are used depends on `op`. `dst` -1: the result is dropped."""

    op: Opcode
    dst: int = -1
    func: str = ""
    args: tuple[Arg, ...] = ()
    offset: int = 0

    def __str__(self) -> str:
        if self.op is Opcode.CALL:
            target = f"%{self.dst} = " if self.dst >= 0 else ""
            return f"call  {target}{self.func}({', '.join(map(str, self.args))})"
        if self.op is Opcode.RET:
            return f"ret   {self.args[0]}"
        if self.op is Opcode.GOTO:
            return f"goto  {self.offset:+d}"
        return f"if    {self.args[0]}, else {self.offset:+d}"


@dataclass(frozen=True)
class VMFunction:
    """A function: the first registers hold its arguments."""

    name: str
    params: tuple[str, ...]
    registers: int
    code: tuple[Instruction, ...]


@dataclass(frozen=True)
class KernelInfo:
    """How a compiled kernel is called.

    params : "tensor" or a scalar data type, in order. implicit : symbolic sizes passed after them,
    each as (parameter, dimension, data type). origins : what the kernel implements, for people.
    """

    name: str
    symbol: str
    params: tuple[str, ...]
    implicit: tuple[tuple[int, int, str], ...] = ()
    origins: tuple[str, ...] = ()


@dataclass
class Program:
    """Functions, kernels and constants (tensors, shapes, strings, numbers)."""

    functions: dict[str, VMFunction] = field(default_factory=dict)
    kernels: dict[str, KernelInfo] = field(default_factory=dict)
    constants: list[Any] = field(default_factory=list)

    def function(self, name: str) -> VMFunction:
        """The function of a name. Raises VMError with near names."""
        found = self.functions.get(name)
        if found is None:
            known = list(self.functions)
            hint = did_you_mean(name, known) or f"it has {', '.join(known) or 'none'}"
            raise VMError(f"the program has no function {name!r}", hint=hint)
        return found

    def as_text(self) -> str:
        """The program as readable text."""
        lines: list[str] = []
        for function in self.functions.values():
            params = ", ".join(f"%{i}: {p}" for i, p in enumerate(function.params))
            lines.append(f"@{function.name}({params})  # {function.registers} registers")
            for number, instruction in enumerate(function.code):
                notes = [
                    f"c{a.value} = {_short(self.constants[a.value])}"
                    for a in instruction.args
                    if a.kind == "c"
                ]
                note = f"  # {', '.join(notes)}" if notes else ""
                lines.append(f"  {number:4}  {instruction}{note}")
            lines.append("")
        return "\n".join(lines)

    def as_python(self) -> str:
        """A Python program that builds this one with `ExecBuilder`."""
        lines = ["from workbench.runtime.vm import ExecBuilder", "", "ib = ExecBuilder()"]
        for function in self.functions.values():
            inputs = f"num_inputs={len(function.params)}, params={list(function.params)!r}"
            lines.append(f"with ib.function({function.name!r}, {inputs}):")
            for instruction in function.code:
                lines.append(f"    {self._python(instruction)}")
        return "\n".join([*lines, ""])

    def _python(self, i: Instruction) -> str:
        def arg(a: Arg) -> str:
            names = {"r": "ib.r", "i": "ib.imm", "c": "ib.c", "f": "ib.f"}
            value = repr(a.value) if a.kind == "f" else str(a.value)
            return f"{names[a.kind]}({value})"

        if i.op is Opcode.CALL:
            args = ", ".join(map(arg, i.args))
            dst = f", dst=ib.r({i.dst})" if i.dst >= 0 else ""
            return f"ib.emit_call({i.func!r}, args=[{args}]{dst})"
        if i.op is Opcode.RET:
            return f"ib.emit_ret({arg(i.args[0])})"
        if i.op is Opcode.GOTO:
            return f"ib.emit_goto({i.offset})"
        return f"ib.emit_if({arg(i.args[0])}, {i.offset})"

    def stats(self) -> str:
        """How large the program is."""
        tensors = [c for c in self.constants if isinstance(c, Tensor)]
        size = sum(t.nbytes for t in tensors)
        lines = [
            f"functions: {', '.join(self.functions)}",
            f"kernels: {len(self.kernels)}",
            f"constants: {len(self.constants)}, of them {len(tensors)} tensors of {size} bytes",
        ]
        for f in self.functions.values():
            calls: dict[str, int] = {}
            for i in f.code:
                if i.op is Opcode.CALL:
                    kind = "kernels" if i.func in self.kernels else i.func
                    calls[kind] = calls.get(kind, 0) + 1
            inner = ", ".join(f"{k} {n}" for k, n in sorted(calls.items()))
            lines.append(
                f"{f.name}: {len(f.code)} instructions, {f.registers} registers; calls: {inner}"
            )
        return "\n".join(lines)

    # -- bytes --------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The program as bytes; see the module's text."""
        blobs: list[bytes] = []
        position = 0
        constants: list[Any] = []
        for value in self.constants:
            if isinstance(value, Tensor):
                data = np.ascontiguousarray(value.view()).tobytes()
                constants.append(
                    {"dtype": str(value.dtype), "shape": list(value.shape), "at": position}
                )
                padded = data + bytes(-len(data) % _ALIGN)
                blobs.append(padded)
                position += len(padded)
            elif isinstance(value, tuple):
                constants.append({"tuple": list(value)})
            else:
                constants.append(value)
        header = json.dumps(
            {
                "functions": [_function_json(f) for f in self.functions.values()],
                "kernels": [asdict(k) for k in self.kernels.values()],
                "constants": constants,
            }
        ).encode()
        head = _MAGIC + struct.pack("<IQ", _VERSION, len(header)) + header
        head += bytes(-len(head) % _ALIGN)
        return head + b"".join(blobs)

    @staticmethod
    def from_bytes(data: bytes | memoryview) -> Program:
        """Reads what `to_bytes` wrote; tensors are views of `data`. Raises VMError otherwise."""
        view = memoryview(data)
        if len(view) < 16 or bytes(view[:4]) != _MAGIC:
            raise VMError("these bytes are no program of the virtual machine")
        version, length = struct.unpack("<IQ", view[4:16])
        if version != _VERSION:
            raise VMError(f"the program has format version {version}, expected {_VERSION}")
        if 16 + length > len(view):
            raise VMError(f"the program is truncated: {len(view)} bytes")
        content = json.loads(bytes(view[16 : 16 + length]))
        start = 16 + length + (-(16 + length) % _ALIGN)
        program = Program()
        for item in content["functions"]:
            program.functions[item["name"]] = _function_of(item)
        for item in content["kernels"]:
            program.kernels[item["name"]] = KernelInfo(
                item["name"],
                item["symbol"],
                tuple(item["params"]),
                tuple(tuple(x) for x in item["implicit"]),
                tuple(item["origins"]),
            )
        program.constants = [_constant_of(c, view, start) for c in content["constants"]]
        return program


def _short(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype}{list(value.shape)}"
    text = repr(value)
    return text if len(text) <= 48 else text[:47] + "…"


def _function_json(f: VMFunction) -> dict[str, Any]:
    code = [[int(i.op), i.dst, i.func, [list(a) for a in i.args], i.offset] for i in f.code]
    return {"name": f.name, "params": list(f.params), "registers": f.registers, "code": code}


def _function_of(item: dict[str, Any]) -> VMFunction:
    code = tuple(
        Instruction(Opcode(op), dst, func, tuple(Arg(*a) for a in args), offset)
        for op, dst, func, args, offset in item["code"]
    )
    return VMFunction(item["name"], tuple(item["params"]), item["registers"], code)


def _constant_of(item: Any, view: memoryview, start: int) -> Any:
    if not isinstance(item, dict):
        return item
    if "tuple" in item:
        return tuple(item["tuple"])
    dtype = DataType(item["dtype"])
    shape = tuple(item["shape"])
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return of_array(np.empty(shape, dtype.numpy()), dtype)
    offset = start + item["at"]
    if offset + count * dtype.numpy().itemsize > len(view):
        raise VMError(f"the program is truncated: {len(view)} bytes")
    array = np.frombuffer(view, dtype.numpy(), count, offset).reshape(shape)
    return of_array(array, dtype)


class ExecBuilder:
    """Builds a program instruction by instruction; TVM's interface.

    ib = ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("vm.builtin.copy", args=[ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    program = ib.get()
    """

    def __init__(self) -> None:
        self.program = Program()
        self._code: list[Instruction] = []
        self._open = False

    @contextmanager
    def function(
        self, name: str, num_inputs: int = 0, params: Sequence[str] | None = None
    ) -> Generator[ExecBuilder]:
        """Opens a function; it is finished when the block ends."""
        if self._open:
            raise VMError(f"function {name!r} inside another function")
        if name in self.program.functions:
            raise VMError(f"the program has a function {name!r} already")
        names = tuple(params) if params is not None else tuple(f"p{i}" for i in range(num_inputs))
        if len(names) != num_inputs:
            raise VMError(f"function {name!r}: {num_inputs} inputs, {len(names)} names")
        self._code, self._open = [], True
        try:
            yield self
        finally:
            self._open = False
        self._check(name, self._code)
        used = [a.value for i in self._code for a in i.args if a.kind == "r"]
        used += [i.dst for i in self._code]
        registers = max([num_inputs - 1, *used], default=-1) + 1
        self.program.functions[name] = VMFunction(name, names, registers, tuple(self._code))

    def _check(self, name: str, code: list[Instruction]) -> None:
        if not code or code[-1].op not in (Opcode.RET, Opcode.GOTO):
            raise VMError(f"function {name!r} does not end with ret")
        for number, instruction in enumerate(code):
            if instruction.op in (Opcode.GOTO, Opcode.IF):
                if not 0 <= number + instruction.offset < len(code):
                    raise VMError(
                        f"function {name!r}: instruction {number} jumps out of the function"
                    )

    def _emit(self, instruction: Instruction) -> int:
        if not self._open:
            raise VMError("an instruction outside a function", hint="with ib.function(name, n):")
        self._code.append(instruction)
        return len(self._code) - 1

    def r(self, index: int) -> Arg:
        """A register."""
        return Arg("r", index)

    def imm(self, value: int) -> Arg:
        """An integer."""
        return Arg("i", value)

    def c(self, index: int) -> Arg:
        """A constant by its number."""
        return Arg("c", index)

    def f(self, name: str) -> Arg:
        """A function by its name."""
        return Arg("f", name)

    def void_arg(self) -> Arg:
        """No register, for results that are dropped."""
        return Arg("r", -1)

    def convert_constant(self, value: Any) -> Arg:
        """Adds a constant (tensor, array, tuple of integers, string, number) to the pool."""
        if isinstance(value, np.ndarray):
            value = of_array(np.ascontiguousarray(value))
        plain = isinstance(value, (str, int, float, tuple))
        for number, known in enumerate(self.program.constants):
            if known is value or (plain and type(known) is type(value) and known == value):
                return Arg("c", number)
        self.program.constants.append(value)
        return Arg("c", len(self.program.constants) - 1)

    def emit_call(self, name: str, args: Sequence[Any] = (), dst: Arg | None = None) -> int:
        """A call; arguments that are no operands become constants."""
        operands = tuple(a if isinstance(a, Arg) else self.convert_constant(a) for a in args)
        target = -1 if dst is None else dst.value
        return self._emit(Instruction(Opcode.CALL, target, name, operands))

    def emit_ret(self, result: Arg) -> int:
        """The end of the function."""
        return self._emit(Instruction(Opcode.RET, args=(result,)))

    def emit_goto(self, pc_offset: int) -> int:
        """A jump."""
        return self._emit(Instruction(Opcode.GOTO, offset=pc_offset))

    def emit_if(self, cond: Arg, false_offset: int) -> int:
        """Goes on if the value in the register holds, else jumps."""
        return self._emit(Instruction(Opcode.IF, args=(cond,), offset=false_offset))

    def position(self) -> int:
        """The number of the next instruction."""
        return len(self._code)

    def set_offset(self, at: int, target: int) -> None:
        """Makes the jump at instruction `at` go to instruction `target`."""
        old = self._code[at]
        self._code[at] = Instruction(old.op, old.dst, old.func, old.args, target - at)

    def get(self) -> Program:
        """The program so far."""
        return self.program
