"""Which parameters a lowered function writes, so that calls can refuse read-only memory."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Op, Var
from workbench.tirx.expr import BufferLoad
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Bind, BufferStore, DeclBuffer


def written_params(func: PrimFunc, program: Mapping[str, PrimFunc]) -> tuple[int, ...]:
    """The positions of parameters whose memory `func` writes.

    Found are stores, also through views and in functions of `program` that it calls, and pointers
    taken for writing (`tvm_access_ptr`). What a foreign function does with a plain address is not
    known and does not count.
    """
    return tuple(sorted(_written(func, program, frozenset())))


def _written(
    func: PrimFunc, program: Mapping[str, PrimFunc], running: frozenset[str]
) -> frozenset[int]:
    roots = {id(param): position for position, param in enumerate(func.params)}
    found: set[int] = set()

    def note(base: Var | None) -> None:
        if base is not None and id(base) in roots:
            found.add(roots[id(base)])

    # Pre-order: a view is declared before it is used.
    for node in iter_nodes(func.body):
        if isinstance(node, (DeclBuffer, Bind)):
            made, source = (
                (node.buffer, node.data) if isinstance(node, DeclBuffer) else (node.var, node.value)
            )
            base = None if source is None else _base(source)
            if base is not None and id(base) in roots:
                roots[id(made)] = roots[id(base)]
        elif isinstance(node, BufferStore):
            note(node.buffer)
        elif isinstance(node, Call) and isinstance(node.op, GlobalVar):
            name = node.op.name_hint
            if name in program and name not in running:
                for position in _written(program[name], program, running | {name}):
                    note(_base(node.args[position]))
        elif isinstance(node, Call) and _name(node) == "tirx.tvm_access_ptr":
            mask = node.args[4]
            if isinstance(mask, IntImm) and mask.value & 2:
                note(_base(node))
    return frozenset(found)


def _base(pointer: Expr) -> Var | None:
    """The variable into whose memory a pointer expression points, where that is plain."""
    while isinstance(pointer, Call) and pointer.args:
        first = pointer.args[1] if _name(pointer) == "tirx.tvm_access_ptr" else pointer.args[0]
        if isinstance(first, BufferLoad):
            return first.buffer if _name(pointer) == "tirx.address_of" else None
        pointer = first
    return pointer if isinstance(pointer, Var) else None


def _name(call: Call) -> str:
    return call.op.name if isinstance(call.op, Op) else ""
