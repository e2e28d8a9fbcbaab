"""Types and small expressions in a few characters, for node labels: "(1, 16, n, 8) f32"."""

from __future__ import annotations

import re
from typing import Any

from workbench.core.text import generic_repr, to_text
from workbench.ir.expr import IntImm, Var
from workbench.ir.type import PrimType, TupleType
from workbench.relax.type import ShapeType, TensorType
from workbench.tirx.buffer import BufferType

#: Longer symbolic dimensions are cut; the details of a node have them whole.
DIM_WIDTH = 16

_CONSTANT = re.compile(r"T\.u?int\d+\((-?\d+)\)")
_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u"}


def short_dtype(dtype: object) -> str:
    """ "f32" for "float32"; what has no short form stays as it is."""
    text = str(dtype)
    for name, short in _SHORT.items():
        rest = text.removeprefix(name)
        if rest != text and rest[:1].isdigit():
            return short + rest
    return text


def expr_text(value: Any, width: int = 24) -> str:
    """An expression in one line, cut at `width` characters; never fails."""
    if isinstance(value, IntImm):
        return str(value.value)
    if isinstance(value, Var):
        return value.name
    text = _CONSTANT.sub(r"\1", " ".join(safe_text(value).split())).replace("T.", "")
    return text if len(text) <= width else text[: width - 1] + "…"


def safe_text(value: Any) -> str:
    """The script of a value, or its generic form where the printer cannot print it.

    A view must show ill-formed programs too: they are what a reader debugs.
    """
    try:
        return to_text(value)
    except Exception:
        return generic_repr(value)


def type_text(ty: Any) -> str:
    """A type in a few characters; "?" where nothing is known."""
    match ty:
        case None:
            return "?"
        case TensorType():
            dims = ty.dims
            if dims is None:
                shape = "(?)" if ty.ndim < 0 else "(" + ", ".join("?" * ty.ndim) + ")"
            else:
                shape = _shape(dims)
            return f"{shape} {short_dtype(ty.dtype or '?')}"
        case BufferType():
            return f"{_shape(ty.shape)} {short_dtype(ty.dtype)}"
        case ShapeType():
            return "shape " + (_shape(ty.values) if ty.values is not None else "?")
        case TupleType():
            if not ty.fields:
                return "unit"
            first = type_text(ty.fields[0])
            return f"tuple of {first}" if len(ty.fields) == 1 else f"{first} +{len(ty.fields) - 1}"
        case PrimType():
            return short_dtype(ty.dtype)
        case _:
            return type(ty).__name__.removesuffix("Type").lower()


def _shape(dims: Any) -> str:
    """A shape like Python prints a tuple."""
    inner = ", ".join(expr_text(dim, DIM_WIDTH) for dim in dims)
    return f"({inner},)" if len(dims) == 1 else f"({inner})"
