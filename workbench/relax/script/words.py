"""The words of types in `R`, and what its functions return before it has a name."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from workbench.ir.expr import Expr, Var
from workbench.ir.global_info import VDevice
from workbench.ir.script.read import lookup_vdevice
from workbench.ir.type import TupleType, Type
from workbench.relax.type import AnyType, FuncType, PackedFuncType, ShapeType, TensorType
from workbench.script.error import ScriptError
from workbench.tirx.script import values


@dataclass
class FunctionState:
    """A function being read."""

    reader: Any
    builder: Any
    name: str = ""
    attrs: dict[str, Any] = field(default_factory=dict)
    #: Symbols by name, and the data types that the body gives to names.
    symbols: dict[str, Var] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    #: Names that leave the dataflow block being read; None outside of one.
    outputs: set[str] | None = None
    #: What the function (or branch) returns, once it does.
    result: Expr | None = None
    ret_ty: Type | None = None
    pure: bool = True


_current: ContextVar[FunctionState | None] = ContextVar("workbench_relax_function", default=None)


def find_state() -> FunctionState | None:
    """The function being read, or None."""
    return _current.get()


def state(what: str) -> FunctionState:
    """The function being read. Raises `ScriptError` if there is none."""
    found = _current.get()
    if found is None:
        raise ScriptError(
            f"{what} has a meaning only inside a function that is read",
            hint="use it in the body of an @R.function",
        )
    return found


def resolve(word: str) -> Expr:
    """The expression that a text in a type means; unknown names are new symbols."""
    here = state(f"the dimension {word!r}")

    def symbol(name: str, alone: bool) -> Var | None:
        known = here.symbols.get(name)
        if known is not None:
            return known
        found = here.reader.lookup(name)
        outer = isinstance(found, int) and not (alone or name in here.dtypes)
        if isinstance(found, Expr) or outer:
            return None
        made = here.symbols[name] = Var(name, here.dtypes.get(name, "int64"))
        here.reader.define(name, made)
        return made

    return here.reader.expression(word, symbol)


class LaterType:
    """A type with symbols, outside of any function: Python evaluates annotations too."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __repr__(self) -> str:
        return f"R.{self.word}(…)"


def dims_of(shape: Any) -> list[Any] | None:
    """The dimensions of a shape; None if they have symbols that cannot be resolved here."""
    out = []
    for dim in shape:
        if isinstance(dim, str):
            if find_state() is None:
                return None
            dim = resolve(dim)
        out.append(dim)
    return out


def type_of(value: Any) -> Type:
    """The type that a word or a value names."""
    if isinstance(value, Type):
        return value
    if isinstance(value, TypeWord):
        return value.plain()
    if isinstance(value, (tuple, list)):
        return TupleType(tuple(type_of(v) for v in value))
    if isinstance(value, LaterType):
        raise ScriptError("a type with symbols has a meaning only inside a function that is read")
    return values.type_of(value)


class TypeWord:
    """A word such as `R.Tensor`, which is a type as it stands and with arguments."""

    def plain(self) -> Type:
        """The type of the bare word."""
        raise NotImplementedError


class TensorWord(TypeWord):
    """`R.Tensor`"""

    def plain(self) -> Type:
        """A tensor of which nothing is known."""
        return TensorType(dtype=None)

    def __call__(
        self, shape: Any = None, dtype: Any = None, vdevice: Any = None, ndim: int = -1
    ) -> Any:
        """The type of a tensor."""
        if isinstance(shape, str) and dtype is None:
            shape, dtype = None, shape
        if shape is not None and not isinstance(shape, Expr):
            if not isinstance(shape, Sequence) or isinstance(shape, str):
                raise ScriptError(f"R.Tensor: the shape is a tuple, got {shape!r}")
            shape = dims_of(shape)
            if shape is None:
                return LaterType("Tensor")
        kind = None if dtype is None else str(values.type_of(dtype).dtype)  # type: ignore[attr-defined]
        return TensorType(shape, kind, device_of(vdevice), ndim)


def device_of(value: Any) -> VDevice | None:
    """A virtual device from "kind:number:memory"."""
    if value is None or isinstance(value, VDevice):
        return value
    parts = str(value).split(":")
    index = int(parts[1]) if len(parts) > 1 and parts[1] else 0
    return lookup_vdevice(parts[0] or None, index)


class ShapeWord(TypeWord):
    """`R.Shape`"""

    def plain(self) -> Type:
        """A shape of which nothing is known."""
        return ShapeType()

    def __call__(self, values: Any = None, ndim: int = -1) -> Any:
        """The type of a shape."""
        if values is None:
            return ShapeType(ndim=ndim)
        dims = dims_of(values)
        return LaterType("Shape") if dims is None else ShapeType(dims)


class TupleWord(TypeWord):
    """`R.Tuple`"""

    def plain(self) -> Type:
        """The type of the empty tuple."""
        return TupleType(())

    def __call__(self, *fields: Any) -> Any:
        """The type of a tuple."""
        items = fields[0] if len(fields) == 1 and isinstance(fields[0], (list, tuple)) else fields
        if any(isinstance(i, LaterType) for i in items):
            return LaterType("Tuple")
        return TupleType(tuple(type_of(i) for i in items))


class AnyWord(TypeWord):
    """`R.Any` (TVM's older name: `R.Object`)"""

    def plain(self) -> Type:
        """The type of any value."""
        return AnyType()

    def __call__(self) -> Type:
        """The type of any value."""
        return AnyType()


class PackedFuncWord(TypeWord):
    """`R.PackedFunc`"""

    def plain(self) -> Type:
        """The type of an opaque function."""
        return PackedFuncType()

    def __call__(self) -> Type:
        """The type of an opaque function."""
        return PackedFuncType()


class CallableWord(TypeWord):
    """`R.Callable`"""

    def plain(self) -> Type:
        """A function of which nothing is known."""
        return FuncType.opaque_func()

    def __call__(self, params: Any = None, ret: Any = None, purity: bool | None = None) -> Any:
        """The type of a function; without `params`, of any parameters."""
        if params is None:
            returned = None if ret is None else type_of(ret)
            return FuncType.opaque_func(ret=returned, purity=bool(purity))
        items = list(params) if isinstance(params, (tuple, list)) else [params]
        if any(isinstance(i, LaterType) for i in (*items, ret)):
            return LaterType("Callable")
        kinds = tuple(type_of(i) for i in items)
        return FuncType(kinds, type_of(ret), True if purity is None else purity)


def prim_type_word(dtype: Any = None, value: Any = None) -> Any:
    """`R.Prim("int64")`: the type of a scalar."""
    if dtype is None:
        if isinstance(value, str):
            return LaterType("Prim") if find_state() is None else resolve(value).ty
        return values.type_of("int64") if isinstance(value, int) else value.ty
    return values.type_of(dtype)
