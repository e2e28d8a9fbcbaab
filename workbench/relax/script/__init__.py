"""TVMScript of the graph IR: the namespace `R`.

    from workbench.script import relax as R

Every operator that `workbench.relax.op` declares is `R.<name>` without a declaration here; the
functions that are no operators are in `build`, the words of types in `words`.
"""

from __future__ import annotations

import ast
import builtins

from workbench.core.errors import did_you_mean
from workbench.relax import op as _op
from workbench.relax.expr import If, SeqExpr, ShapeExpr, TupleGetItem, prim_value
from workbench.relax.op.registry import relax_ops as _relax_ops
from workbench.relax.script import print as printers
from workbench.relax.script.build import (
    Call,
    ExternFunc,
    Var,
    assert_op,
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    const,
    dataflow,
    func_attr,
    func_name,
    func_ret_ty,
    func_ret_value,
    match_cast,
    output,
    shape,
)
from workbench.relax.script.build import data_type as dtype
from workbench.relax.script.build import make_tuple as tuple
from workbench.relax.script.build import print_values as print
from workbench.relax.script.build import text as str
from workbench.relax.script.read import read_function
from workbench.relax.script.words import (
    AnyWord,
    CallableWord,
    PackedFuncWord,
    ShapeWord,
    TensorWord,
    TupleWord,
)
from workbench.relax.script.words import prim_type_word as Prim
from workbench.script.reader import definition_reader

function = definition_reader(read_function, "R.function", ast.FunctionDef)
Tensor = TensorWord()
Shape = ShapeWord()
Tuple = TupleWord()
Any = Object = AnyWord()
Callable = CallableWord()
PackedFunc = PackedFuncWord()
func_ret_type = func_ret_ty


class OpNamespace:
    """`R.nn`, `R.image` …: the operators whose names begin with it."""

    __script_namespace__ = True

    def __init__(self, prefix: builtins.str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: builtins.str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _lookup(f"{self.__dict__['_prefix']}.{name}")

    def __dir__(self) -> list[builtins.str]:
        start = f"relax.{self.__dict__['_prefix']}."
        return [n[len(start) :] for n in _relax_ops.names() if n.startswith(start)]


def _lookup(path: builtins.str) -> object:
    full = f"relax.{path}"
    if full in _relax_ops:
        return _relax_ops[full].builder
    owner: object = _op
    for part in path.split("."):
        owner = getattr(owner, part, None)
    if callable(owner):
        return owner
    if any(n.startswith(f"{full}.") for n in _relax_ops.names()):
        return OpNamespace(path)
    known = [n[6:] for n in _relax_ops.names()]
    near = did_you_mean(path, known)
    raise AttributeError(f"R has no {path!r}" + (f"; {near}" if near else ""))


def __getattr__(name: builtins.str) -> object:
    """The operators that `workbench.relax.op` declares."""
    if name.startswith("_"):
        raise AttributeError(name)
    return _lookup(name)


def __dir__() -> list[builtins.str]:
    known = set(__all__) - {"printers"}
    known.update(n[6:].partition(".")[0] for n in _relax_ops.names())
    return sorted(known)


__all__ = [  # the namespace is open: see __getattr__
    "Any",
    "Call",
    "Callable",
    "ExternFunc",
    "If",
    "Object",
    "PackedFunc",
    "Prim",
    "SeqExpr",
    "Shape",
    "ShapeExpr",
    "Tensor",
    "Tuple",
    "TupleGetItem",
    "Var",
    "assert_op",
    "call_dps_packed",
    "call_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "const",
    "dataflow",
    "dtype",
    "func_attr",
    "func_name",
    "func_ret_ty",
    "func_ret_type",
    "func_ret_value",
    "function",
    "match_cast",
    "output",
    "prim_value",
    "print",
    "printers",
    "shape",
    "str",
    "tuple",
]
