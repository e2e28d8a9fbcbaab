"""Writers of LLVM IR text: one for a module, one for each function.

They know instructions, blocks, names, constants, debug lines and the variables in scope; what the
nodes of the loop IR mean is in `expressions`, `intrinsics` and `statements`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.runtime.dtype import DataType
from workbench.target.codegen import mathlib
from workbench.target.codegen.llvm_types import c_string, register
from workbench.target.codegen.machine import CodegenError, Machine
from workbench.target.target import Target

_UNSAFE = re.compile(r"[^A-Za-z0-9_.]")
_SAFE_SYMBOL = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$]*\Z")
_FAST = {
    "fast-math-nnan": "nnan",
    "fast-math-ninf": "ninf",
    "fast-math-nsz": "nsz",
    "fast-math-arcp": "arcp",
    "fast-math-contract": "contract",
    "fast-math-reassoc": "reassoc",
}
#: Bytes of stack that the buffers of one function may take; what does not fit goes to the heap.
STACK_BUFFER = 64 << 10
STACK_TOTAL = 256 << 10
#: Bytes behind a local buffer, for lanes that a mask leaves out.
LOCAL_ROOM = 256


def symbol(name: str) -> str:
    """A function or global name as LLVM text: quoted where needed."""
    if _SAFE_SYMBOL.match(name):
        return f"@{name}"
    escaped = "".join(c if c.isalnum() or c in "_.$ -" else f"\\{ord(c) & 255:02X}" for c in name)
    return f'@"{escaped}"'


def fast_flags(target: Target) -> str:
    """The fast-math flags of a target, with a blank before each."""
    if target.get("fast-math"):
        return " fast"
    return "".join(f" {flag}" for option, flag in _FAST.items() if target.get(option))


@dataclass
class Pointer:
    """Where a buffer is. Pointers of one `root` may overlap; `noalias` says that of the root."""

    text: str
    root: int
    noalias: bool
    align: int = 1


@dataclass
class Scalar:
    """A scalar or vector variable: its register value, and as a 64-bit index where it is one."""

    text: str
    wide: str | None = None


class ModuleEmitter:
    """One LLVM module: globals, declarations, functions, metadata."""

    def __init__(
        self,
        machine: Machine,
        target: Target,
        program: Mapping[str, Any],
        lines: Mapping[int, int] | None,
    ) -> None:
        self.machine = machine
        self.target = target
        self.flags = fast_flags(target)
        self.debug = bool(target.get("debug-info", True))
        self.lines = lines or {}
        self.globals: list[str] = []
        self.functions: list[str] = []
        self.uses_pool = False
        #: C functions that the program itself names: they must exist where the code is linked.
        self.externs: set[str] = set()
        self.callees: dict[str, Any] = {}
        self._program = program
        self._declared: dict[str, str] = {}
        self._strings: dict[str, str] = {}
        self._math: set[str] = set()
        self._metadata: list[str] = []
        self._locations: dict[tuple[str, int], str] = {}
        self._roots = 0
        self._tables = 0
        if self.debug:
            self.metadata(
                'distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "workbench", '
                "isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)"
            )
            self.metadata('!DIFile(filename: "tirx", directory: ".")')
            self.metadata('!{i32 2, !"Debug Info Version", i32 3}')
            self.metadata("!DISubroutineType(types: !{})")

    def metadata(self, text: str) -> str:
        """Adds a metadata node and gives its name."""
        self._metadata.append(text)
        return f"!{len(self._metadata) - 1}"

    def location(self, scope: str, line: int) -> str:
        """The debug location of a line in a function."""
        found = self._locations.get((scope, line))
        if found is None:
            found = self.metadata(f"!DILocation(line: {line}, column: 1, scope: {scope})")
            self._locations[scope, line] = found
        return found

    def subprogram(self, name: str, line: int) -> str:
        """The debug description of a function."""
        return self.metadata(
            f'distinct !DISubprogram(name: "{_UNSAFE.sub("_", name)}", file: !1, line: {line}, '
            "type: !3, unit: !0, spFlags: DISPFlagDefinition | DISPFlagOptimized)"
        )

    def declare(self, name: str, result: str, params: str, attributes: str = "") -> str:
        """Declares an external function and gives its name as text.

        Raises `CodegenError` if it is declared already with other types.
        """
        text = f"declare {result} {symbol(name)}({params}){attributes}"
        old = self._declared.setdefault(name, text)
        if old != text:
            raise CodegenError(
                f"the external function {name!r} is called with different types:\n  {old}\n  {text}"
            )
        return symbol(name)

    def string(self, text: str) -> str:
        """A pointer to a NUL-terminated constant."""
        found = self._strings.get(text)
        if found is None:
            body, length = c_string(text)
            found = f"@.str{len(self._strings)}"
            self.globals.append(f"{found} = private unnamed_addr constant [{length} x i8] {body}")
            self._strings[text] = found
        return found

    def table(self, initialiser: str) -> str:
        """A pointer to constant data, given as type and value."""
        self._tables += 1
        name = f"@.table{self._tables}"
        self.globals.append(f"{name} = private unnamed_addr constant {initialiser}")
        return name

    def math(self, name: str, lanes: int) -> str:
        """A function of the library of elementary functions."""
        wanted = mathlib.symbol(name, lanes)
        if wanted not in self._math:
            self._math.add(wanted)
            text, declarations = mathlib.function_ir(name, lanes)
            self.functions.append(text)
            for line in declarations:
                self._declared.setdefault(line.partition("@")[2].partition("(")[0], line)
        return f"@{wanted}"

    def callee(self, name: str) -> Any:
        """A function of the program that this module calls; it is generated into the module.

        Raises `CodegenError` if the program has no such function.
        """
        found = self._program.get(name)
        if found is None:
            raise CodegenError(f"a call of {name!r}, which is no PrimFunc of the module")
        self.callees.setdefault(name, found)
        return found

    def callee_symbol(self, name: str) -> str:
        """The symbol of a function that `callee` has named."""
        return symbol(f"{name}.local")

    def function_slot(self, name: str) -> str:
        """The global that keeps the handle of a packed function."""
        key = f"packed:{name}"
        found = self._strings.get(key)
        if found is None:
            found = f"@.packed{len(self._strings)}"
            self.globals.append(f"{found} = internal global ptr null")
            self._strings[key] = found
        return found

    def new_root(self) -> int:
        """A number for memory that overlaps no other."""
        self._roots += 1
        return self._roots

    def text(self) -> str:
        """The whole module."""
        parts = [f'source_filename = "tirx"\ntarget triple = "{self.machine.triple}"', ""]
        parts += self.globals
        parts += sorted(self._declared.values())
        parts += ["", *self.functions, ""]
        parts.append(
            f'attributes #0 = {{ nounwind "prefer-vector-width"="{self.machine.vector_bits}" '
            '"no-trapping-math"="true" }'
        )
        parts.append("attributes #1 = { cold noinline nounwind }")
        if self.debug:
            parts += ["!llvm.dbg.cu = !{!0}", "!llvm.module.flags = !{!2}"]
        parts += [f"!{number} = {text}" for number, text in enumerate(self._metadata)]
        return "\n".join(parts) + "\n"


@dataclass
class Loop:
    """Where `break` and `continue` go, and how many heap buffers were alive outside."""

    leave: str
    again: str
    heap: int


@dataclass
class FunctionEmitter:
    """One function. Values are the text of an operand; `env` maps `id(variable)` to what it is."""

    module: ModuleEmitter
    name: str
    params: str
    line: int = 0
    internal: bool = False
    attributes: str = "#0"
    env: dict[int, Pointer | Scalar] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    allocas: list[str] = field(default_factory=list)
    heap: list[str] = field(default_factory=list)
    #: Bytes of local buffers on the stack, the room behind them included, by `id(buffer)`.
    roomy: dict[int, int] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    parallel: bool = False
    result: tuple[str, DataType] | None = None
    _count: int = 0
    _stack_used: int = 0
    _terminated: bool = False
    _block: str = "entry.body"
    _dbg: str = ""
    _scope: str = ""
    nsw: bool = False

    def __post_init__(self) -> None:
        if self.module.debug:
            self._scope = self.module.subprogram(self.name, self.line)
            self.at_line(self.line)

    def at_line(self, line: int) -> None:
        """Instructions from here on belong to a line of the source."""
        if self.module.debug:
            self._dbg = f", !dbg {self.module.location(self._scope, line)}"

    def at(self, stmt: Any) -> None:
        """Instructions from here on belong to a statement."""
        line = self.module.lines.get(id(stmt))
        if line is not None:
            self.line = line
            self.at_line(line)

    def fresh(self, hint: str = "t") -> str:
        """A new local name."""
        self._count += 1
        return f"%{_UNSAFE.sub('_', hint)}.{self._count}"

    def emit(self, text: str) -> None:
        """Adds an instruction that gives no value."""
        if self._terminated:
            self.block(self.label("dead"))
        self.lines.append(f"  {text}{self._dbg}")

    def op(self, text: str, hint: str = "t") -> str:
        """Adds an instruction and names its value."""
        name = self.fresh(hint)
        self.emit(f"{name} = {text}")
        return name

    def label(self, hint: str) -> str:
        """A new block label."""
        self._count += 1
        return f"{_UNSAFE.sub('_', hint)}.{self._count}"

    def block(self, label: str) -> None:
        """Starts a block."""
        if not self._terminated:
            self.emit(f"br label %{label}")
        self.lines.append(f"{label}:")
        self._terminated = False
        self._block = label

    @property
    def current(self) -> str:
        """The label of the block being written."""
        return self._block

    @property
    def terminated(self) -> bool:
        """Whether the block being written has ended."""
        return self._terminated

    def jump(self, label: str) -> None:
        """Ends the block with a jump."""
        if not self._terminated:
            self.emit(f"br label %{label}")
            self._terminated = True

    def branch(self, condition: str, yes: str, no: str, metadata: str = "") -> None:
        """Ends the block with a conditional jump."""
        tail = f", {metadata}" if metadata else ""
        self.emit(f"br i1 {condition}, label %{yes}, label %{no}{tail}")
        self._terminated = True

    def ret(self, code: str) -> None:
        """Frees heap buffers and returns a status."""
        self.free_down_to(0, keep=True)
        self.emit(f"ret i32 {code}")
        self._terminated = True

    def alloca(self, kind: str, hint: str, align: int = 8, bytes_: int = 0) -> str:
        """A stack slot, made in the entry block."""
        name = self.fresh(hint)
        self._stack_used += bytes_
        self.allocas.append(f"  {name} = alloca {kind}, align {align}")
        return name

    def fits_stack(self, size: int) -> bool:
        """Whether a buffer of that many bytes goes on the stack."""
        return size <= STACK_BUFFER and self._stack_used + size <= STACK_TOTAL

    def free_down_to(self, depth: int, *, keep: bool = False) -> None:
        """Frees the heap buffers above a depth; `keep` leaves them in the list (early exits)."""
        if not self._terminated:
            for pointer in reversed(self.heap[depth:]):
                self.module.declare("free", "void", "ptr")
                self.emit(f"call void @free(ptr {pointer})")
        if not keep:
            del self.heap[depth:]

    def fail_unless(self, condition: str, kind: str, message: str) -> None:
        """Raises an error of a kind with a constant message unless the condition holds."""
        good, bad = self.label("ok"), self.label("raise")
        self.branch(condition, good, bad)
        self.block(bad)
        self.raise_error(kind, message)
        self.block(good)

    def raise_error(self, kind: str, message: str) -> None:
        """Raises an error and returns."""
        self.module.declare("TVMFFIErrorSetRaisedFromCStr", "void", "ptr, ptr")
        self.emit(
            f"call void @TVMFFIErrorSetRaisedFromCStr(ptr {self.module.string(kind)}, "
            f"ptr {self.module.string(message)})"
        )
        self.ret("-1")

    def check_status(self, code: str) -> None:
        """Returns -1 if a call returned another status than 0; the error is set already."""
        bad, good = self.label("failed"), self.label("ok")
        self.branch(self.op(f"icmp eq i32 {code}, 0"), good, bad)
        self.block(bad)
        self.ret("-1")
        self.block(good)

    def bind(self, var: Any, text: str, wide: str | None = None) -> None:
        """Gives a scalar variable its value."""
        dtype: DataType = var.dtype
        if wide is None and dtype.lanes == 1 and dtype.bits > 1 and (dtype.is_int or dtype.is_uint):
            wide = self.widen(text, dtype)
        self.env[id(var)] = Scalar(text, wide)

    def widen(self, text: str, dtype: DataType) -> str:
        """An integer as a signed 64-bit index."""
        if dtype.bits >= 64 or not text.startswith("%"):
            return text
        return self.op(f"{'sext' if dtype.is_int else 'zext'} {register(dtype)} {text} to i64")

    def finish(self) -> None:
        """Adds the function to its module."""
        if not self._terminated:
            self.ret("0")
        linkage = "internal " if self.internal else ""
        tail = f" !dbg {self._scope}" if self._scope else ""
        head = f"define {linkage}i32 {symbol(self.name)}({self.params}) {self.attributes}{tail} {{"
        jump = f"  br label %entry.body{self._entry_location()}"
        self.module.functions.append(
            "\n".join([head, "entry:", *self.allocas, jump, "entry.body:", *self.lines, "}"])
        )

    def _entry_location(self) -> str:
        if not self._scope:
            return ""
        return f", !dbg {self.module.location(self._scope, 0)}"
