"""TVMScript of the loop IR: the namespace `T`.

    from workbench.script import tirx as T

Statement and block builders are in `build`, the words of types in `values`. Every intrinsic that
`workbench.tirx.op` declares is `T.<name>` without a declaration here.
"""

from __future__ import annotations

import ast
from typing import Any

from workbench.core.errors import did_you_mean
from workbench.ir.expr import FloatImm, IntImm, StringImm, as_expr
from workbench.ir.expr import Op as _Op
from workbench.runtime.dtype import DataType, DataTypeError
from workbench.script.reader import definition_reader
from workbench.tirx import op as _op
from workbench.tirx.expr import CommReducer, IterVar, ProducerLoad, Reduce, Var
from workbench.tirx.script import print_expr, print_func, print_stmt
from workbench.tirx.script.blocks import (
    Axis,
    init,
    reads,
    sblock,
    sblock_attr,
    where,
    writes,
)
from workbench.tirx.script.buffers import (
    Buffer,
    LayoutWord,
    TileLayout,
    alloc_buffer,
    alloc_local,
    alloc_shared,
    decl_buffer,
    match_buffer,
    sblock_alloc_buffer,
)
from workbench.tirx.script.build import (
    Assert,
    Break,
    Continue,
    Else,
    If,
    Return,
    Then,
    While,
    add_to_parent,
    arg,
    attr,
    bare_body,
    bind,
    buffer_store,
    env_thread,
    evaluate,
    func_attr,
    func_name,
    func_ret,
    grid,
    launch_thread,
    parallel,
    serial,
    static_assert,
    thread_binding,
    unroll,
    vectorized,
)
from workbench.tirx.script.expressions import (
    BINARY_NODES,
    Broadcast,
    Cast,
    Let,
    Not,
    Ramp,
    Select,
    Shuffle,
    cast,
    comm_reducer,
    index_map,
    iter_var,
    reduce,
    target,
)
from workbench.tirx.script.expressions import BufferLoadNode as BufferLoad
from workbench.tirx.script.expressions import CallNode as Call
from workbench.tirx.script.expressions import make_range as Range
from workbench.tirx.script.expressions import maximum as max
from workbench.tirx.script.expressions import minimum as min
from workbench.tirx.script.expressions import pointer as Ptr
from workbench.tirx.script.expressions import tuple_type as Tuple
from workbench.tirx.script.intrinsics import OPERATOR_OF
from workbench.tirx.script.read import read_macro, read_prim_func
from workbench.tirx.script.values import DtypeWord, HandleWord, LetWord
from workbench.tirx.script.values import MetaVar as meta_var

prim_func = definition_reader(read_prim_func, "T.prim_func", ast.FunctionDef)
macro = definition_reader(read_macro, "T.macro", ast.FunctionDef)
macro.__script_macro__ = True
inline = macro
axis = Axis()
S = LayoutWord()
let = LetWord()
handle = HandleWord()
boolean = DtypeWord("bool")
truncdiv = BINARY_NODES["Div"]
truncmod = BINARY_NODES["Mod"]
ramp = Ramp
broadcast = Broadcast

globals().update(BINARY_NODES)

_SHORT = {"i": "int", "u": "uint", "f": "float", "bf": "bfloat"}


def __getattr__(name: str) -> Any:
    """Words of data types, and the intrinsics that `tirx.op` declares."""
    if name.startswith("_"):
        raise AttributeError(name)
    made = _find(name)
    if made is None:
        near = did_you_mean(name, __dir__())
        raise AttributeError(f"T has no {name!r}" + (f"; {near}" if near else ""))
    globals()[name] = made
    return made


def _find(name: str) -> Any:
    letters = name.rstrip("0123456789")
    word = _SHORT.get(letters)
    try:
        return DtypeWord(f"{word}{name[len(letters) :]}" if word else name)
    except DataTypeError:
        pass
    found = getattr(_op, name, None)
    if callable(found):
        return found
    known = _Op.list_op_names()
    for full in (OPERATOR_OF.get(name), f"tirx.{name}"):
        if full is not None and full in known:
            return _plain_call(full)
    return None


def _plain_call(full: str) -> Any:
    """A builder for an operator that is registered without one."""
    operator = _Op.get(full)
    build = operator.attr("builder")
    if build is not None:
        return build

    def call(*args: Any, dtype: str = "handle", span: Any = None) -> Any:
        return _op.call_intrin(dtype, operator, *map(as_expr, args))

    call.__name__ = full.rpartition(".")[2]
    call.__doc__ = f"A call of {full}."
    return call


def __dir__() -> list[str]:
    known = {*__all__, *BINARY_NODES} - {"print_expr", "print_func", "print_stmt"}
    known.update(n for n in _op.__all__ if callable(getattr(_op, n)))
    known.update(n.partition(".")[2] for n in _Op.list_op_names() if n.startswith("tirx."))
    for base in ("int", "uint"):
        known.update(f"{base}{bits}" for bits in (8, 16, 32, 64))
    known.update(["float16", "float32", "float64", "bfloat16", "bool", "void"])
    return sorted(known)


__all__ = [  # the namespace is open: see __getattr__
    "Assert",
    "Break",
    "Broadcast",
    "Buffer",
    "BufferLoad",
    "Call",
    "Cast",
    "CommReducer",
    "Continue",
    "DataType",
    "Else",
    "FloatImm",
    "If",
    "IntImm",
    "IterVar",
    "Let",
    "Not",
    "ProducerLoad",
    "Ptr",
    "Ramp",
    "Range",
    "Reduce",
    "Return",
    "Select",
    "Shuffle",
    "StringImm",
    "Then",
    "TileLayout",
    "Tuple",
    "Var",
    "While",
    "add_to_parent",
    "alloc_buffer",
    "alloc_local",
    "alloc_shared",
    "arg",
    "attr",
    "axis",
    "bare_body",
    "bind",
    "boolean",
    "broadcast",
    "buffer_store",
    "cast",
    "comm_reducer",
    "decl_buffer",
    "env_thread",
    "evaluate",
    "func_attr",
    "func_name",
    "func_ret",
    "grid",
    "handle",
    "index_map",
    "init",
    "inline",
    "iter_var",
    "launch_thread",
    "let",
    "macro",
    "match_buffer",
    "max",
    "meta_var",
    "min",
    "parallel",
    "prim_func",
    "print_expr",
    "print_func",
    "print_stmt",
    "ramp",
    "reads",
    "reduce",
    "sblock",
    "sblock_alloc_buffer",
    "sblock_attr",
    "serial",
    "static_assert",
    "target",
    "thread_binding",
    "truncdiv",
    "truncmod",
    "unroll",
    "vectorized",
    "where",
    "writes",
]
