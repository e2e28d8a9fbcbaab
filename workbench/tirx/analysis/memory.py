"""Allocated memory of a function."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from workbench.core.traverse import walk
from workbench.ir.expr import IntImm, Var
from workbench.ir.module import IRModule
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import AllocBuffer, SBlock, SeqStmt


def buffer_elements(buffer: Var) -> int | None:
    """Number of elements of a buffer (gaps of strides included), None if not constant."""
    ty = buffer.ty
    total = 1
    if ty.strides:
        for extent, stride in zip(ty.shape, ty.strides, strict=True):
            if not isinstance(extent, IntImm) or not isinstance(stride, IntImm):
                return None
            total += (extent.value - 1) * stride.value
        return total
    for extent in ty.shape:
        if not isinstance(extent, IntImm):
            return None
        total *= extent.value
    return total


def buffer_bytes(buffer: Var) -> int | None:
    """Bytes of a buffer, None if not constant."""
    count = buffer_elements(buffer)
    return None if count is None else count * buffer.ty.dtype.itemsize


def calculate_allocated_bytes(func_or_mod: PrimFunc | IRModule) -> dict[str, dict[str, int]]:
    """The most bytes allocated at one time, by function and storage scope."""
    if isinstance(func_or_mod, PrimFunc):
        return {"main": _peak(func_or_mod)}
    return {
        gvar.name_hint: _peak(func)
        for gvar, func in func_or_mod.functions.items()
        if isinstance(func, PrimFunc)
    }


def _peak(func: PrimFunc) -> dict[str, int]:
    now: dict[str, int] = {}
    peak: dict[str, int] = {}

    def add(buffer: Var, sign: int) -> None:
        scope = buffer.ty.storage_scope
        now[scope] = now.get(scope, 0) + sign * (buffer_bytes(buffer) or 0)
        peak[scope] = max(peak.get(scope, 0), now[scope])

    def sequence(node: SeqStmt) -> Generator[Any, None, None]:
        own = [s.buffer for s in node.seq if isinstance(s, AllocBuffer)]
        for buffer in own:
            add(buffer, 1)
        yield node
        for buffer in own:
            add(buffer, -1)

    def block(node: SBlock) -> Generator[Any, None, None]:
        for buffer in node.alloc_buffers:
            add(buffer, 1)
        yield node
        for buffer in node.alloc_buffers:
            add(buffer, -1)

    walk(func.body, {SeqStmt: sequence, SBlock: block}, once=False)
    return peak
