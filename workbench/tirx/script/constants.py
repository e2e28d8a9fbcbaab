"""Refuses constant indices outside of a buffer, where the script is read.

Only what certainly runs is judged: a guarded access (`if`, `T.if_then_else`, `T.where` …) may name
an element that does not exist, as unrolled loops do, and so may an address, a region of
`T.reads`, or a view of memory whose true size is not known.
"""

from __future__ import annotations

import ast
from typing import Any

from workbench.ir.expr import IntImm
from workbench.script.evaluate import Reader
from workbench.tirx.script.buffers import is_buffer
from workbench.tirx.script.state import FunctionState

_NOT_ACCESSES = frozenset(
    ["if_then_else", "Select", "address_of", "reads", "writes", "match_buffer", "decl_buffer"]
)
_LAZY = (
    ast.IfExp,
    ast.BoolOp,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.DictComp,
)


def check_indices(reader: Reader, here: FunctionState, stmt: ast.stmt) -> None:
    """Raises ScriptError at a constant index of a statement outside of its buffer."""
    if here.guards or here.if_frames or any(_conditional(b.predicate) for b in here.blocks):
        return
    if isinstance(stmt, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)):
        _visit(reader, here, stmt)
    elif isinstance(stmt, (ast.If, ast.While)):
        _visit(reader, here, stmt.test)


def _conditional(predicate: Any) -> bool:
    return not (isinstance(predicate, IntImm) and predicate.value == 1)


def _visit(reader: Reader, here: FunctionState, node: ast.AST) -> None:
    if isinstance(node, _LAZY):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _NOT_ACCESSES:
            return
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        buffer = reader.lookup(node.value.id)
        if is_buffer(buffer) and id(buffer) not in here.views:
            _check(reader, buffer, node)
    for child in ast.iter_child_nodes(node):
        _visit(reader, here, child)


def _check(reader: Reader, buffer: Any, node: ast.Subscript) -> None:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(parts) != len(buffer.ty.shape):
        return
    for axis, (part, extent) in enumerate(zip(parts, buffer.ty.shape, strict=True)):
        if not isinstance(extent, IntImm):
            continue
        found = _constant(reader, part)
        if found is not None and not 0 <= found < extent.value:
            raise reader.error(
                part,
                f"index {found} is outside of dimension {axis} of {buffer.name},"
                f" which has {extent.value} elements",
                f"indices from 0 to {extent.value - 1}" if extent.value else "",
            )


def _constant(reader: Reader, node: ast.expr) -> int | None:
    """The number an index is, if it is one as written: 9, -1, T.int64(9), or a Python number."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _constant(reader, node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Name):
        value = reader.lookup(node.id)
        return value if type(value) is int else None
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("int8", "int16", "int32", "int64", "uint32", "uint64")
        and len(node.args) == 1
    ):
        return _constant(reader, node.args[0])
    return None
