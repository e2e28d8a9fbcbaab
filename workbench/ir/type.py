"""Types shared by the dialects. A type compares and hashes structurally."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.core.leaves import register_leaf
from workbench.core.node import META, Node, as_tuple, field
from workbench.core.structural import structural_equal, structural_hash
from workbench.ir.span import Span
from workbench.runtime.dtype import DataType

register_leaf(DataType, "dtype", key=str, encode=str, decode=DataType)


class Type(Node):
    """Base of all types."""

    #: Which dialect's operators values of this type have: "prim", "buffer" or "relax".
    __family__: ClassVar[str] = "relax"
    span: Span | None = field(role=META, default=None, kw_only=True)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Type) and structural_equal(self, other))

    def __hash__(self) -> int:
        return structural_hash(self, map_free_vars=True)

    def is_base_of(self, derived: Type) -> bool:
        """Whether every value of type `derived` has this type."""
        return relations["is_base_of"](self, derived)


#: Questions about two types; the graph dialect replaces them by ones that know its types.
relations: dict[str, Callable[[Type, Type], bool]] = {"is_base_of": structural_equal}


class PrimType(Type):
    """The type of a scalar or vector value: a machine data type such as `float32x16`."""

    __family__: ClassVar[str] = "prim"
    dtype: DataType = field(converter=DataType)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PrimType):
            return self.dtype == other.dtype
        if isinstance(other, str):
            return self.dtype == other
        return False

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __str__(self) -> str:
        """The name of the data type, as in TVM; scripts write `T.int32`."""
        return str(self.dtype)


class PointerType(Type):
    """A pointer to elements of a type in a storage scope ("" is global)."""

    __family__: ClassVar[str] = "prim"
    element_type: Type
    storage_scope: str = ""

    @property
    def dtype(self) -> DataType:
        """A pointer is a handle."""
        return DataType("handle")


class TupleType(Type):
    """A tuple of typed fields; the empty one is the unit type."""

    fields: tuple[Type, ...] = field(converter=as_tuple, default=())


class FuncType(Type):
    """A function type of low-level functions."""

    arg_types: tuple[Type, ...]
    ret_type: Type


# The static type of an expression's `ty`: which type it is depends on the dialect, so static checks
# see Any; at run time the fields hold a `Type` (or None while it is not known).
if TYPE_CHECKING:
    TypeOf = Any
    MaybeType = Any
else:
    TypeOf = Type
    MaybeType = Type | None


_prim_types: dict[str, PrimType] = {}


def prim_type(dtype: Any) -> PrimType:
    """The shared `PrimType` of a data type (a `PrimType` is returned as it is)."""
    if type(dtype) is PrimType:
        return dtype
    found = _prim_types.get(dtype)
    if found is None:
        found = _prim_types[str(dtype)] = PrimType(DataType(dtype))
    return found


def as_type(value: Any) -> Type:
    """A type as it is; a data type name as its `PrimType` ("handle" is an untyped pointer)."""
    if isinstance(value, Type):
        return value
    if isinstance(value, str):
        return PointerType(VOID) if value == "handle" else prim_type(value)
    raise TypeError(f"expected a type or the name of a data type, got {type(value).__name__}")


VOID: PrimType = prim_type("void")
BOOL: PrimType = prim_type("bool")
