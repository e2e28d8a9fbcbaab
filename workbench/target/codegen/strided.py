"""Loads of every second, third or fourth element: whole vectors and shuffles, no gather."""

from __future__ import annotations

from workbench.ir.expr import Expr, IntImm, Var
from workbench.runtime.dtype import DataType
from workbench.target.codegen.emitter import FunctionEmitter
from workbench.target.codegen.llvm_types import item_bytes, memory
from workbench.tirx.expr import Add, Broadcast, Ramp, Sub

#: Steps up to this are loaded whole; beyond it a gather reads less.
MOST = 4


def short_ramp(e: Expr) -> tuple[Expr, int] | None:
    """(first index, step) of indices with a constant step of 2 … MOST; None for others."""
    if isinstance(e, Ramp):
        if isinstance(e.stride, IntImm) and 2 <= e.stride.value <= MOST:
            return (e.base, e.stride.value) if e.base.dtype.lanes == 1 else None
        return None
    if isinstance(e, (Add, Sub)):
        a, b = e.a, e.b
        if isinstance(e, Add) and isinstance(a, Broadcast):
            a, b = b, a
        inner = short_ramp(a)
        if inner is not None and isinstance(b, Broadcast) and b.value.dtype.lanes == 1:
            return type(e)(inner[0], b.value), inner[1]
    return None


def strided_load(fn: FunctionEmitter, buffer: Var, start: str, step: int, dtype: DataType) -> str:
    """The vector of `dtype.lanes` elements, `step` apart, from the address `start` on.

    Reads the elements between as well, but none before the first or behind the last.
    """
    lanes, kind, align = dtype.lanes, memory(dtype), item_bytes(buffer.dtype)
    span = (lanes - 1) * step + 1
    offsets = [min(j * lanes, span - lanes) for j in range(-(-span // lanes))]
    element = memory(buffer.dtype)
    whole = ""
    for number, offset in enumerate(offsets):
        address = start
        if offset:
            address = fn.op(f"getelementptr inbounds {element}, ptr {start}, i64 {offset}")
        part = fn.op(f"load {kind}, ptr {address}, align {align}", buffer.name)
        whole = part if number == 0 else _merge(fn, kind, whole, part, number, offsets, step, lanes)
    return whole


def _merge(
    fn: FunctionEmitter,
    kind: str,
    whole: str,
    part: str,
    number: int,
    offsets: list[int],
    step: int,
    lanes: int,
) -> str:
    """`whole` with the lanes that vector `number` holds taken from it."""
    picked: list[str] = []
    for lane in range(lanes):
        place = lane * step
        source = min(place // lanes, len(offsets) - 1)
        if source == number:
            picked.append(f"i32 {lanes + place - offsets[number]}")
        elif source < number:
            picked.append(f"i32 {place if number == 1 else lane}")
        else:
            picked.append("i32 poison")
    mask = ", ".join(picked)
    return fn.op(f"shufflevector {kind} {whole}, {kind} {part}, <{lanes} x i32> <{mask}>")
