"""Types and small expressions in a few characters, for node labels: "(1, 16, n, 8) f32"."""

from __future__ import annotations

from typing import Any

from workbench.core.text import generic_repr, to_text
from workbench.ir.expr import IntImm, Var
from workbench.ir.type import PrimType, TupleType
from workbench.relax.type import ShapeType, TensorType
from workbench.tirx.buffer import BufferType

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
    text = " ".join(safe_text(value).split())
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
            inner = [type_text(one) for one in ty.fields]
            shown = ", ".join(inner[:3]) + (f", … {len(inner)}" if len(inner) > 3 else "")
            return f"tuple {shown}" if inner else "unit"
        case PrimType():
            return short_dtype(ty.dtype)
        case _:
            return type(ty).__name__.removesuffix("Type").lower()


def _shape(dims: Any) -> str:
    """A shape like Python prints a tuple."""
    inner = ", ".join(expr_text(dim) for dim in dims)
    return f"({inner},)" if len(dims) == 1 else f"({inner})"
