"""LLVM IR of one function of the loop IR, with everything it needs, as one module of text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Var
from workbench.target.codegen import intrinsics, scalar_ops
from workbench.target.codegen.emitter import FunctionEmitter, ModuleEmitter, Pointer, Scalar
from workbench.target.codegen.llvm_types import buffer_type, item_bytes, memory
from workbench.target.codegen.machine import CodegenError, machine_of
from workbench.target.codegen.packed_api import emit_packed_entry
from workbench.target.codegen.signature import Signature, signature_of
from workbench.target.codegen.statements import scope
from workbench.target.codegen.writes import written_params
from workbench.target.target import Target
from workbench.tirx.buffer import is_buffer_var
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Stmt

assert intrinsics.EXPRESSIONS  # importing it is what makes calls known
#: Expressions this deep are generated without exhausting Python's stack.
_RECURSION = 200_000


@dataclass(frozen=True)
class KernelIR:
    """The text of a function's module, its interface, whether it launches parallel loops, and the C
    functions it calls by name."""

    text: str
    signature: Signature
    parallel: bool
    externs: frozenset[str] = frozenset()


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def number_statements(func: PrimFunc) -> dict[int, int]:
    """`id(statement)` → its number in pre-order, counted from 1: the lines of a function whose
    printed form is not known."""
    return {id(s): number for number, s in enumerate(iter_nodes(func.body, Stmt), 1)}


def generate(
    name: str,
    func: PrimFunc,
    target: Target,
    program: Mapping[str, PrimFunc] | None = None,
    lines: Mapping[int, int] | None = None,
) -> KernelIR:
    """The LLVM IR of a lowered function.

    Parameters
    ----------
    name : the name it is exported under.
    program : the functions it may call, by the names of their `GlobalVar`s.
    lines : `id(statement)` → line of the printed function, for debug locations.

    Raises `CodegenError`, naming the node, for what is not lowered or not known on a CPU.
    """
    where = number_statements(func) if lines is None else lines
    module = ModuleEmitter(machine_of(target), target, program or {}, where)
    written = written_params(func, program or {})
    signature = replace(signature_of(name, func), written=written)
    with _deep_recursion():
        _emit(module, signature, func, signature.symbol, internal=False)
        done: set[str] = set()
        while pending := [n for n in module.callees if n not in done]:
            for callee in pending:
                done.add(callee)
                inner = module.callees[callee]
                own = signature_of(callee, inner)
                if own.implicit:
                    raise CodegenError(
                        f"{name}: {callee} has symbolic sizes and cannot be called directly",
                        hint="pass the sizes as parameters",
                    )
                _emit(module, own, inner, f"{callee}.local", internal=True)
        emit_packed_entry(module, signature)
    return KernelIR(module.text(), signature, module.uses_pool, frozenset(module.externs))


def _emit(
    module: ModuleEmitter, signature: Signature, func: PrimFunc, symbol: str, *, internal: bool
) -> None:
    """The function itself: pointers and scalars in, a status out."""
    noalias = bool(func.attrs.get("tirx.noalias", False))
    params: list[str] = []
    bound: list[tuple[Var, Pointer | str]] = []
    shared = 0 if noalias else module.new_root()
    for position, var in enumerate((*signature.params, *signature.implicit)):
        text = f"%arg${position}"
        if is_buffer_var(var):
            align = item_bytes(buffer_type(var).dtype)
            flags = "noalias " if noalias else ""
            params.append(f"ptr {flags}align {align} {text}")
            root = module.new_root() if noalias else shared
            bound.append((var, Pointer(text, root, noalias, align)))
        else:
            params.append(f"{memory(var.dtype)} {text}")
            bound.append((var, text))
    result = None
    if signature.result is not None:
        params.append("ptr noalias %result$")
        result = ("%result$", signature.result)
    fn = FunctionEmitter(
        module, symbol, ", ".join(params), line=0, internal=internal, result=result
    )
    for var, value in bound:
        if isinstance(value, Pointer):
            fn.env[id(var)] = value
        elif var.dtype.is_handle:
            fn.env[id(var)] = Scalar(value)
        else:
            fn.bind(var, scalar_ops.from_memory(fn, value, var.dtype))
    scope(fn, func.body)
    fn.finish()
