"""Bytes (weights, bytecode) as an object file, so that an exported library carries them.

The bytes go into the read-only section of an ELF file written here: as LLVM text they would be
three times as long and take seconds to parse. A small function makes them reachable from any
tvm-ffi host: `NAME(0)` is their address, `NAME(1)` their number. `runtime.Module.embedded(NAME)`
views them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from workbench.target.codegen.compile import compile_ir
from workbench.target.codegen.emitter import symbol
from workbench.target.codegen.machine import CodegenError, Machine, machine_of
from workbench.target.target import Target

_ELF_MACHINE = {"x86_64": 62, "aarch64": 183, "riscv64": 243}
_ALIGN = 64

_ACCESSOR = """
target triple = "$TRIPLE"

@$DATA = external hidden constant i8

; An Any is { i32 type index, i32 padding, i64 payload }; type index 1 is an integer.
define i32 $FUNCTION(ptr %self, ptr %args, i32 %count, ptr %result) {
entry:
  %one = icmp eq i32 %count, 1
  br i1 %one, label %read, label %give
read:
  %at = getelementptr i8, ptr %args, i64 8
  %asked = load i64, ptr %at
  %size = icmp eq i64 %asked, 1
  br label %give
give:
  %wants_size = phi i1 [ false, %entry ], [ %size, %read ]
  %address = ptrtoint ptr @$DATA to i64
  %value = select i1 %wants_size, i64 $SIZE, i64 %address
  store i64 1, ptr %result
  %payload = getelementptr i8, ptr %result, i64 8
  store i64 %value, ptr %payload
  ret i32 0
}
"""


def data_objects(name: str, data: bytes, target: Target) -> list[bytes]:
    """Two object files: the bytes, and the packed function `name` that finds them.

    Raises `CodegenError` for targets whose object files are not ELF.
    """
    machine = machine_of(target)
    inner = "__wb_data_" + "".join(c if c.isalnum() else "_" for c in name)
    text = (
        _ACCESSOR.replace("$TRIPLE", machine.triple)
        .replace("$DATA", inner)
        .replace("$FUNCTION", symbol(f"__tvm_ffi_{name}"))
        .replace("$SIZE", str(len(data)))
    )
    return [elf_object(inner, data, machine), compile_ir(text, machine, 1, use_cache=False).obj]


@dataclass
class _Section:
    name: str
    kind: int
    flags: int
    content: bytes
    link: int = 0
    info: int = 0
    align: int = 1
    entry: int = 0


def elf_object(name: str, data: bytes, machine: Machine) -> bytes:
    """A relocatable ELF64 file with `data` in `.rodata` under a hidden global symbol."""
    number = _ELF_MACHINE.get(machine.arch)
    if number is None or not machine.is_linux:
        raise CodegenError(
            f"data cannot be put into an object file for {machine.triple}",
            hint="export for Linux on x86_64, aarch64 or riscv64",
        )
    names = b"\0" + name.encode() + b"\0"
    # Symbol: name, info (global object), other (hidden), section 1, value, size.
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 0x11, 2, 1, 0, len(data))
    sections = [
        _Section(".rodata", 1, 2, data, align=_ALIGN),
        _Section(".symtab", 2, 0, symbols, link=3, info=1, align=8, entry=24),
        _Section(".strtab", 3, 0, names),
        _Section(".note.GNU-stack", 1, 0, b""),
        _Section(".shstrtab", 3, 0, b""),
    ]
    labels = b"\0" + b"".join(s.name.encode() + b"\0" for s in sections)
    sections[-1].content = labels
    return _elf_file(sections, labels, number)


def _elf_file(sections: list[_Section], labels: bytes, machine: int) -> bytes:
    body = bytearray(64)
    headers = [bytes(64)]
    for section in sections:
        body.extend(bytes(-len(body) % section.align))
        offset = len(body)
        body.extend(section.content)
        headers.append(
            struct.pack(
                "<IIQQQQIIQQ",
                labels.index(b"\0" + section.name.encode() + b"\0") + 1,
                section.kind,
                section.flags,
                0,
                offset,
                len(section.content),
                section.link,
                section.info,
                section.align,
                section.entry,
            )
        )
    body.extend(bytes(-len(body) % 8))
    table = len(body)
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    # Relocatable file, version 1, no entry, no program headers.
    body[:64] = identity + struct.pack(
        "<HHIQQQIHHHHHH",
        1,
        machine,
        1,
        0,
        0,
        table,
        0,
        64,
        0,
        0,
        64,
        len(headers),
        len(headers) - 1,
    )
    return bytes(body) + b"".join(headers)
