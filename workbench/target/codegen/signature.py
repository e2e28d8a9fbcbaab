"""What a compiled function takes: its parameters, and the symbolic sizes it reads from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.core.traverse import free_vars
from workbench.ir.expr import Expr, Var
from workbench.runtime.dtype import DataType
from workbench.runtime.module import WRITES_SUFFIX
from workbench.target.codegen.llvm_types import buffer_type
from workbench.target.codegen.machine import CodegenError
from workbench.tirx.buffer import is_buffer_var
from workbench.tirx.function import PrimFunc


@dataclass(frozen=True)
class Signature:
    """The interface of a function.

    `symbol` is the raw entry `__wb_NAME`: one argument per parameter (data pointer of a buffer, raw
    pointer of a handle, scalar), then one per implicit variable in `implicit`, then, if `result` is
    set, a pointer to where the result goes; it returns 0, or -1 with an error set.
    """

    name: str
    params: tuple[Var, ...]
    implicit: tuple[Var, ...]
    result: DataType | None
    #: Positions of the parameters whose memory the function writes.
    written: tuple[int, ...] = ()

    @property
    def symbol(self) -> str:
        """The raw entry."""
        return f"__wb_{self.name}"

    @property
    def packed_symbol(self) -> str:
        """The entry with the tvm-ffi calling convention."""
        return f"__tvm_ffi_{self.name}"

    @property
    def writes_symbol(self) -> str:
        """The entry that tells, as a bit mask, which parameters the function writes."""
        return f"__tvm_ffi_{self.name}{WRITES_SUFFIX}"


def signature_of(name: str, func: PrimFunc) -> Signature:
    """The signature of a function. Raises `CodegenError` for parameters that cannot be passed."""
    given = {id(p) for p in func.params}
    implicit: dict[int, Var] = {}
    for param in func.params:
        if not is_buffer_var(param):
            if param.dtype.lanes != 1:
                raise CodegenError(
                    f"{name}: the parameter {param.name!r} is a vector ({param.dtype})",
                    nodes=[param],
                )
            continue
        ty = buffer_type(param)
        places: list[Expr] = [*ty.shape, *ty.strides]
        if ty.elem_offset is not None:
            places.append(ty.elem_offset)
        for place in places:
            for var in free_vars(place):
                if id(var) not in given:
                    implicit.setdefault(id(var), var)
    result: Any = getattr(func.ret_type, "dtype", None)
    if result is not None and result.is_void:
        result = None
    return Signature(name, tuple(func.params), tuple(implicit.values()), result)


def describe(param: Var) -> str:
    """A parameter's type as it is named in messages: float32[128, n], int32, handle."""
    if is_buffer_var(param):
        ty = buffer_type(param)
        return f"{ty.dtype}[{', '.join(map(extent_text, ty.shape))}]"
    return str(param.dtype)


def extent_text(extent: Expr) -> str:
    """An extent as it is named in messages."""
    value = getattr(extent, "value", None)
    if isinstance(value, int):
        return str(value)
    return extent.name if isinstance(extent, Var) else str(extent)
