"""Layer 2: types, expressions, modules and passes shared by the dialects."""

from workbench.core.serial import load_json, save_json
from workbench.core.structural import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from workbench.ir import instrument, transform
from workbench.ir.attrs import Attrs, DictAttrs
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
    "Attrs",
    "BaseFunc",
    "Call",
    "CallingConv",
    "DictAttrs",
    "DummyGlobalInfo",
    "Expr",
    "FloatImm",
    "FuncType",
    "GlobalInfo",
    "GlobalVar",
    "IRModule",
    "IntImm",
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
    "register_op_attr",
    "save_json",
    "structural_equal",
    "structural_hash",
    "transform",
]
