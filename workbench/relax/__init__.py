"""Layer 7: the graph IR (Relax): types, expressions, operators, builder, analysis.

Passes, the build entry point and the frontends are loaded when first named.
"""

import importlib
from typing import Any

from workbench.ir.expr import Call, Expr, GlobalVar, StringImm, Var
from workbench.ir.span import Span
from workbench.ir.type import PrimType, TupleType, Type
from workbench.relax.expr import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
    const,
    convert_to_expr,
    extern,
    get_shape_of,
    prim_value,
)
from workbench.relax.type import (
    AnyType,
    FuncType,
    ObjectType,
    PackedFuncType,
    ShapeType,
    TensorType,
)

from workbench.relax import analysis, op  # isort: skip
from workbench.relax.block_builder import BlockBuilder  # isort: skip
from workbench.relax.op.base import (  # isort: skip
    call_dps_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
)

#: TVM's older names of the types.
TensorStructInfo = TensorType
ShapeStructInfo = ShapeType
TupleStructInfo = TupleType
ObjectStructInfo = AnyType
FuncStructInfo = FuncType

_LAZY = {
    "VirtualMachine": "workbench.runtime.vm",
    "VMExecutable": "workbench.runtime.vm",
    "VMInstrumentReturnKind": "workbench.runtime.vm",
    "build": "workbench.relax.vm_build",
    "ExecBuilder": "workbench.relax.vm_build",
    "interpret": "workbench.relax.interpret",
    "get_pipeline": "workbench.relax.pipeline",
    "get_default_pipeline": "workbench.relax.pipeline",
    "register_pipeline": "workbench.relax.pipeline",
    "ExprFunctor": "workbench.relax.expr_functor",
    "PyExprMutator": "workbench.relax.expr_functor",
    "PyExprVisitor": "workbench.relax.expr_functor",
}
_MODULES = ("transform", "frontend", "pipeline", "vm_build", "script", "expr_functor")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"workbench.relax.{name}")
    raise AttributeError(f"module 'workbench.relax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})


__all__ = [
    "AnyType",
    "Binding",
    "BindingBlock",
    "BlockBuilder",
    "Call",
    "Constant",
    "DataTypeImm",
    "DataflowBlock",
    "DataflowVar",
    "Expr",
    "ExternFunc",
    "FuncStructInfo",
    "FuncType",
    "Function",
    "GlobalVar",
    "If",
    "MatchCast",
    "ObjectStructInfo",
    "ObjectType",
    "PackedFuncType",
    "PrimType",
    "SeqExpr",
    "ShapeExpr",
    "ShapeStructInfo",
    "ShapeType",
    "Span",
    "StringImm",
    "TensorStructInfo",
    "TensorType",
    "Tuple",
    "TupleGetItem",
    "TupleStructInfo",
    "TupleType",
    "Type",
    "Var",
    "VarBinding",
    "analysis",
    "call_dps_packed",
    "call_pure_packed",
    "call_tir",
    "call_tir_inplace",
    "const",
    "convert_to_expr",
    "extern",
    "get_shape_of",
    "op",
    "prim_value",
]
