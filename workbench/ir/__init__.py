"""Layer 2: types, expressions, modules and passes shared by the dialects."""

from workbench.ir import instrument, op, transform
from workbench.ir.attrs import Attrs, DictAttrs
from workbench.ir.base import (
    Array,
    EnvFunc,
    Map,
    Node,
    assert_structural_equal,
    get_first_structural_mismatch,
    load_json,
    make_node,
    save_json,
    structural_equal,
    structural_hash,
)
from workbench.ir.expr import (
    Call,
    Expr,
    FloatImm,
    GlobalVar,
    IntImm,
    Op,
    Range,
    StringImm,
    Var,
    as_expr,
    is_prim_expr,
    is_prim_var,
    register_op_attr,
)
from workbench.ir.function import BaseFunc, CallingConv
from workbench.ir.global_info import DummyGlobalInfo, GlobalInfo, VDevice
from workbench.ir.module import IRModule
from workbench.ir.span import SequentialSpan, SourceName, Span
from workbench.ir.type import FuncType, PointerType, PrimType, TupleType, Type

__all__ = [
    "Array",
    "Attrs",
    "BaseFunc",
    "Call",
    "CallingConv",
    "DictAttrs",
    "DummyGlobalInfo",
    "EnvFunc",
    "Expr",
    "FloatImm",
    "FuncType",
    "GlobalInfo",
    "GlobalVar",
    "IRModule",
    "IntImm",
    "Map",
    "Node",
    "Op",
    "PointerType",
    "PrimType",
    "Range",
    "SequentialSpan",
    "SourceName",
    "Span",
    "StringImm",
    "TupleType",
    "Type",
    "VDevice",
    "Var",
    "as_expr",
    "assert_structural_equal",
    "get_first_structural_mismatch",
    "instrument",
    "is_prim_expr",
    "is_prim_var",
    "load_json",
    "make_node",
    "op",
    "register_op_attr",
    "save_json",
    "structural_equal",
    "structural_hash",
    "transform",
]
