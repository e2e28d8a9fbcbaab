"""What the functions of `T` return while a script is read, before it has a name or a place.

A `Pending` becomes a value when it is assigned to a name; a `Frame` becomes a statement when the
statements inside it have been read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.ir.attrs import Attrs
from workbench.ir.expr import Expr, FloatImm, IntImm, Var, as_expr
from workbench.ir.type import VOID, PointerType, TupleType, Type, as_type, prim_type
from workbench.runtime.dtype import DataType
from workbench.script.error import ScriptError
from workbench.tirx import op
from workbench.tirx.buffer import DEFAULT_ALIGNMENT, BufferType
from workbench.tirx.expr import BufferLoad, Ramp
from workbench.tirx.stmt import BufferRegion, Stmt


class Pending:
    """A value that takes the name it is assigned to."""

    def bind(self, name: str) -> Any:
        """The value under a name; adds the statements that define it."""
        raise NotImplementedError

    def __as_expr__(self) -> Expr:
        return self.bind("v")


class NewVar(Pending):
    """`n = T.int32()`: a variable."""

    def __init__(self, ty: Type) -> None:
        self.ty = ty
        self._made: Var | None = None

    def bind(self, name: str) -> Var:
        """The variable; one that a signature has brought keeps its identity."""
        from workbench.tirx.script.state import find_state

        state = find_state()
        known = None if state is None else state.symbols.get(name)
        if known is not None:
            if known.ty != self.ty:
                raise ScriptError(
                    f"{name} is {known.dtype} where it was used first, here it is "
                    f"{getattr(self.ty, 'dtype', self.ty)}"
                )
            return known
        if self._made is None:
            self._made = Var(name, self.ty)
        return self._made


class DtypeWord:
    """`T.float32`: a type; called, a constant, a cast or a new variable."""

    def __init__(self, name: str) -> None:
        self.dtype = DataType(name)
        self.__name__ = name

    @property
    def ty(self) -> Type:
        """The type itself."""
        return prim_type(self.dtype)

    def __call__(self, expr: Any = None) -> Any:
        """A constant, a cast, or a new variable."""
        if expr is None:
            return NewVar(self.ty)
        if isinstance(expr, str):
            if expr not in ("inf", "-inf", "nan"):
                raise ValueError(f"T.{self.dtype}: expected a number, got {expr!r}")
            return op.const(float(expr), self.dtype)
        if isinstance(expr, float) and self.dtype.is_float and self.dtype.lanes == 1:
            return FloatImm(self.dtype, expr)  # exactly as written
        if isinstance(expr, (int, float)):
            return op.const(expr, self.dtype)
        return op.cast(self.dtype, value_of(expr))

    def __str__(self) -> str:
        return str(self.dtype)

    def __repr__(self) -> str:
        return f"T.{self.dtype}"


class HandleWord:
    """`T.handle`: a pointer; called, a new variable of pointer type."""

    @property
    def ty(self) -> Type:
        """An untyped pointer."""
        return PointerType(VOID)

    def __call__(self, dtype: Any = None, storage_scope: str = "global") -> NewVar:
        """A new pointer variable (as an annotation, its type)."""
        if dtype is None:
            return NewVar(self.ty)
        element = type_of(dtype)
        return NewVar(PointerType(element, storage_scope))

    def __repr__(self) -> str:
        return "T.handle"


def type_of(value: Any) -> Type:
    """The type that a word, a string or an annotation names."""
    if isinstance(value, Type):
        return value
    if isinstance(value, (NewVar, DtypeWord, HandleWord)):
        return value.ty
    if isinstance(value, str):
        return as_type(value)
    if isinstance(value, (tuple, list)):
        return TupleType(tuple(type_of(v) for v in value))
    raise TypeError(f"expected a type such as T.float32 or T.handle, got {value!r}")


class LetWord:
    """`T.let` and `T.let[T.int32]`: the annotation of a binding."""

    def __init__(self, ty: Type | None = None) -> None:
        self.ty = ty

    def __getitem__(self, item: Any) -> LetWord:
        return LetWord(type_of(item))


class Scalar:
    """A buffer of one element that is written as a variable."""

    def __init__(self, buffer: Var) -> None:
        self.buffer = buffer

    def __as_expr__(self) -> Expr:
        return BufferLoad(self.buffer, [IntImm("int32", 0)])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__as_expr__(), name)


class MetaVar:
    """`T.meta_var(x)`: a Python name for `x`, no variable of the program."""

    def __init__(self, value: Any) -> None:
        self.value = value


def value_of(value: Any) -> Expr:
    """Anything that stands for a scalar or vector value as an expression."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, BufferRegion):
        return load_of(value)
    return as_expr(value)


def value_for(value: Any, ty: Type | None) -> Expr:
    """A value; a Python number takes the wanted type."""
    if isinstance(value, (int, float)) and ty is not None and hasattr(ty, "dtype"):
        return op.const(value, ty.dtype)  # type: ignore[attr-defined]
    return value_of(value)


def annotations_of(value: Any) -> dict[str, Any]:
    """Annotations as nodes hold them: lists are tuples, mappings are immutable."""
    return dict(Attrs(value or {}))


def load_of(region: BufferRegion) -> BufferLoad:
    """`A[i, 0:4]` as a value: the last range is a vector."""
    indices: list[Any] = []
    for r in region.region:
        if isinstance(r.extent, IntImm) and r.extent.value == 1:
            indices.append(r.min)
        else:
            indices.append(Ramp(r.min, IntImm(r.min.dtype, 1), r.extent))
    return BufferLoad(region.buffer, indices)


def region_of(value: Any) -> BufferRegion:
    """`A[i, 0:4]` as a region of the buffer."""
    if isinstance(value, BufferRegion):
        return value
    if isinstance(value, BufferLoad):
        return BufferRegion.from_point(value.buffer, value.indices)
    if isinstance(value, Scalar):
        return BufferRegion.full(value.buffer)
    if isinstance(value, Var) and isinstance(value.ty, BufferType):
        return BufferRegion.full(value)
    raise TypeError(f"expected a part of a buffer such as A[i, 0:4], got {value!r}")


class BufferSpec:
    """The facts of a buffer that has no name yet. Texts in the shape are symbols."""

    def __init__(
        self,
        shape: Any,
        dtype: Any = "float32",
        *,
        strides: Any = None,
        elem_offset: Any = None,
        scope: str = "global",
        align: int = -1,
        offset_factor: int = 0,
        layout: Any = None,
        allocated_addr: Any = (),
    ) -> None:
        if isinstance(shape, (int, str, Expr)) or not isinstance(shape, Sequence):
            shape = (shape,)
        self.shape = tuple(shape)
        self.dtype = type_of(dtype).dtype  # type: ignore[attr-defined]
        self.strides = () if strides is None else tuple(strides)
        self.elem_offset = elem_offset
        self.scope = scope or "global"
        self.align = align
        self.offset_factor = offset_factor
        self.layout = layout
        self.allocated_addr = allocated_addr

    def make(self, name: str, resolve: Callable[[str], Expr]) -> Var:
        """The buffer under a name; `resolve` gives the expression of a text."""
        shape = tuple(resolve(s) if isinstance(s, str) else value_of(s) for s in self.shape)
        strides = []
        for stride in self.strides:
            strides.append(Var(stride, "int32") if isinstance(stride, str) else value_of(stride))
        offset = self.elem_offset
        if isinstance(offset, str):
            offset = resolve(offset)
        elif offset is None and self.offset_factor > 0:
            dtype = shape[0].dtype if shape else "int32"
            offset = Var(f"{name}_elem_offset", dtype)
        elif type(offset) is int and offset == 0:
            offset = None
        ty = BufferType(
            self.dtype,
            self.scope,
            shape,
            strides,
            None if offset is None else value_of(offset),
            self.align if self.align > 0 else DEFAULT_ALIGNMENT,
            self.offset_factor if self.offset_factor > 0 else 1,
            self.layout,
            self.allocated_addr,
        )
        return Var(name, ty)


class FreeBuffer(Pending):
    """`A = T.Buffer((4,), "float32")`: a buffer from outside; as an annotation, a parameter."""

    def __init__(self, spec: BufferSpec) -> None:
        self.spec = spec

    def bind(self, name: str) -> Var:
        """The value under a name."""
        from workbench.tirx.script.state import find_state

        state = find_state()
        return self.spec.make(name, _no_text if state is None else state.resolve)


def _no_text(word: str) -> Expr:
    raise ScriptError(f"the shape {word!r} has a meaning only in the parameters of a function")


class Frame:
    """A statement around other statements. `alias` is what `with … as name` binds."""

    alias: Any = None

    def enter(self) -> None:
        """Called before the statements inside are read."""

    def leave(self, body: list[Stmt]) -> Stmt | None:
        """The finished statement, or None if there is none to add."""
        raise NotImplementedError


class LoopFrame(Frame):
    """One or several loops: `T.grid`, `T.serial`, `range` …"""

    def __init__(
        self,
        ranges: Sequence[tuple[Any, Any]],
        kind: int = 0,
        *,
        thread: Any = None,
        annotations: Any = None,
        step: Any = None,
    ) -> None:
        self.ranges = list(ranges)
        self.kind = kind
        self.thread = thread
        self.annotations = annotations
        self.step = step
