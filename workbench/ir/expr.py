"""Expressions shared by the dialects: Expr, Var, GlobalVar, Op, Call, constants, Range.

One `Var` and one `Call` serve both levels, as in TVM 0.26: the type tells them apart. A variable of
`PrimType` is a scalar, one of `tirx.BufferType` is a buffer, one of `relax.TensorType` a tensor.

Python operators on expressions build nodes. What they build belongs to the dialects, which install
their operators in `operators` when imported (one of the named seams).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.core.errors import WorkbenchError
from workbench.core.node import META, Node, as_tuple, construct, field, init_fields
from workbench.core.registry import Registry
from workbench.ir.attrs import as_attrs
from workbench.ir.span import Span
from workbench.ir.type import (
    MaybeType,
    PointerType,
    PrimType,
    Type,
    as_type,
    prim_type,
)
from workbench.runtime.dtype import DataType, DataTypeCode

#: Operators by family and name ("add"): filled by the dialects. The family of an operand is what
#: its type says (`Type.__family__`).
operators: dict[str, dict[str, Callable[..., Any]]] = {"prim": {}, "relax": {}, "buffer": {}}


def is_prim_expr(value: Any) -> bool:
    """Whether `value` is an expression of scalar, vector or pointer type."""
    return isinstance(value, Expr) and isinstance(value.ty, (PrimType, PointerType))


def is_prim_var(value: Any) -> bool:
    """Whether `value` is a variable of scalar, vector or pointer type."""
    return isinstance(value, Var) and isinstance(value.ty, (PrimType, PointerType))


class NotABufferError(WorkbenchError, TypeError, AttributeError):
    """What only buffers have was asked of another variable."""


def _operate(name: str, *args: Any) -> Any:
    """Builds what the dialect of the operands builds; NotImplemented if there is none."""
    family = "prim"
    for arg in args:
        if isinstance(arg, Expr):
            own = arg.ty.__family__ if arg.ty is not None else "relax"
            if own != "prim":
                family = own
    function = operators[family].get(name)
    return NotImplemented if function is None else function(*args)


def _require(value: Any, name: str, *args: Any, **options: Any) -> Any:
    """An operation that only the values of one family have (buffers, mostly)."""
    family = value.ty.__family__ if value.ty is not None else "relax"
    function = operators[family].get(name)
    if function is None:
        raise NotABufferError(f"{name}: {value.name} is no buffer but has the type {value.ty}")
    return function(value, *args, **options)


class _Operators(Node):
    """Python's operators; the base of `Expr`."""

    def __add__(self, other: Any) -> Any:
        return _operate("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _operate("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _operate("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _operate("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _operate("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _operate("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _operate("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operate("divide", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _operate("floor_divide", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _operate("floor_divide", other, self)

    def __mod__(self, other: Any) -> Any:
        return _operate("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _operate("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return _operate("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _operate("power", other, self)

    def __matmul__(self, other: Any) -> Any:
        return _operate("matmul", self, other)

    def __neg__(self) -> Any:
        return _operate("negative", self)

    def __lshift__(self, other: Any) -> Any:
        return _operate("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _operate("left_shift", other, self)

    def __rshift__(self, other: Any) -> Any:
        return _operate("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _operate("right_shift", other, self)

    def __and__(self, other: Any) -> Any:
        return _operate("bitwise_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return _operate("bitwise_and", other, self)

    def __or__(self, other: Any) -> Any:
        return _operate("bitwise_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return _operate("bitwise_or", other, self)

    def __xor__(self, other: Any) -> Any:
        return _operate("bitwise_xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return _operate("bitwise_xor", other, self)

    def __invert__(self) -> Any:
        return _operate("bitwise_not", self)

    def __lt__(self, other: Any) -> Any:
        return _operate("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _operate("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _operate("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _operate("greater_equal", self, other)

    def __getitem__(self, index: Any) -> Any:
        built = _operate("getitem", self, index)
        if built is NotImplemented:
            raise TypeError(f"{type(self).__name__} cannot be indexed")
        return built

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return operators["relax"]["call"](self, *args, **kwargs)

    # An indexable object without a length would be iterated for ever by Python's old protocol.
    __iter__: ClassVar[Any] = None


class Expr(_Operators):
    """Base of all expressions. `ty` is the type; `dtype` the data type of a scalar or a tensor."""

    span: Span | None = field(role=META, default=None, kw_only=True)

    if TYPE_CHECKING:
        ty: Any = field(init=False)  # declared by every subclass, stored or derived

    def __eq__(self, other: object) -> Any:
        if is_prim_expr(self) and (isinstance(other, (int, float)) or is_prim_expr(other)):
            return operators["prim"]["equal"](self, other)
        return self is other

    def __ne__(self, other: object) -> Any:
        if is_prim_expr(self) and (isinstance(other, (int, float)) or is_prim_expr(other)):
            return operators["prim"]["not_equal"](self, other)
        return self is not other

    __hash__ = object.__hash__

    @property
    def dtype(self) -> DataType:
        """The data type of the value (of the elements, for a tensor or buffer)."""
        return self.ty.dtype

    def expr_ty(self) -> Type:
        """The type; TVM's name."""
        return self.ty

    def astype(self, dtype: str, span: Span | None = None) -> Any:
        """A cast to `dtype`."""
        return _operate("astype", self, dtype)

    def equal(self, other: Any) -> Any:
        """The comparison as an expression."""
        return _operate("equal", self, other)

    def __bool__(self) -> bool:
        if is_prim_expr(self):
            raise ValueError(
                "a symbolic expression has no truth value at compile time: "
                "use T.if_then_else, T.And / T.Or / T.Not, or an IfThenElse statement"
            )
        return True


class Var(Expr, kind="var"):
    """A variable: a scalar, a buffer or a tensor, by its type. Identity is what counts."""

    name: str = field(role=META)
    ty: MaybeType = field(converter=lambda v: None if v is None else as_type(v), default=None)

    def __init__(
        self,
        name: str | None = None,
        ty: Type | str | None = None,
        span: Span | None = None,
        *,
        name_hint: str | None = None,
    ) -> None:
        given = name if name is not None else name_hint
        if not isinstance(given, str):
            raise TypeError(f"Var: expected a name, got {type(given).__name__} {given!r}")
        init_fields(self, name=given, ty=ty, span=span)

    @property
    def name_hint(self) -> str:
        """TVM's older name of `name`."""
        return self.name

    # What a buffer variable offers; the values are those of its `BufferType`.

    @property
    def shape(self) -> Any:
        """The shape of a buffer or tensor."""
        return self.ty.shape

    @property
    def strides(self) -> Any:
        """The strides of a buffer (empty: compact)."""
        return self.ty.strides

    @property
    def elem_offset(self) -> Any:
        """The offset of a buffer's first element, in elements."""
        return self.ty.elem_offset

    @property
    def data_alignment(self) -> int:
        """The alignment of a buffer's data in bytes."""
        return self.ty.data_alignment

    @property
    def offset_factor(self) -> int:
        """The factor that divides a buffer's offset."""
        return self.ty.offset_factor

    def scope(self) -> str:
        """The storage scope of a buffer."""
        return self.ty.storage_scope

    @property
    def data(self) -> Any:
        """The pointer to a buffer's data, as an expression."""
        return _require(self, "buffer_data")

    def vload(self, begin: Any, dtype: str | None = None, predicate: Any = None) -> Any:
        """A load (a vector if `dtype` has lanes) starting at `begin`."""
        return _require(self, "vload", begin, dtype, predicate)

    def vstore(self, begin: Any, value: Any, predicate: Any = None) -> Any:
        """A store starting at `begin`."""
        return _require(self, "vstore", begin, value, predicate)

    def access_ptr(self, access_mask: Any, **options: Any) -> Any:
        """A pointer into the buffer for intrinsics; `access_mask` is "r", "w" or "rw"."""
        return _require(self, "access_ptr", access_mask, **options)

    def offset_of(self, indices: Any) -> Any:
        """The flat element offset of `indices`."""
        return _require(self, "offset_of", indices)


class GlobalVar(Expr):
    """The name of a function in a module; equal by name."""

    __map_key__: ClassVar[str] = "name_hint"
    name_hint: str
    ty: Any = field(role=META, default=None, kw_only=True)

    def __init__(self, name_hint: str, *, ty: Type | None = None, span: Span | None = None) -> None:
        init_fields(self, name_hint=name_hint, ty=ty, span=span)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalVar) and self.name_hint == other.name_hint

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("GlobalVar", self.name_hint))


class Op(Expr, kind="singleton"):
    """A primitive operator: one object per name, `Op.get("relax.add")`.

    Facts about operators live in side tables (`op.attr("name")`), each declared with the operator.
    """

    name: str
    ty: Any = field(init=False, derive=lambda self: None)

    @staticmethod
    def get(op_name: str) -> Op:
        """The operator of that name. Raises `RegistryError` with near names if unknown."""
        return _ops[op_name]

    @staticmethod
    def lookup(name: str, **_: Any) -> Op:
        """Used when reading JSON: the registered operator."""
        return Op.get(name)

    @staticmethod
    def list_op_names() -> list[str]:
        """All registered names, sorted."""
        return _ops.names()

    def attr(self, key: str, default: Any = None) -> Any:
        """A fact about the operator."""
        return _op_attrs[self.name].get(key, default)

    get_attr = attr

    def has_attr(self, key: str) -> bool:
        """Whether the fact is declared."""
        return key in _op_attrs[self.name]

    def set_attr(self, key: str, value: Any) -> None:
        """Declares a fact (once)."""
        table = _op_attrs[self.name]
        if key in table and table[key] is not value:
            raise WorkbenchError(f"operator {self.name} has an attribute {key!r} already")
        table[key] = value


_ops: Registry[Op] = Registry("operator")
_op_attrs: dict[str, dict[str, Any]] = {}


def register_op(name: str, **attrs: Any) -> Op:
    """Declares an operator with its facts; the second declaration of a name is an error."""
    op = _ops.add(name, Op(name))
    _op_attrs[name] = dict(attrs)
    return op


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Adds a fact to an operator; usable as a decorator."""

    def add(item: Any) -> Any:
        Op.get(op_name).set_attr(attr_key, item)
        return item

    return add if value is None else add(value)


def as_op(value: Any) -> Any:
    """An operator from its name; anything else as it is."""
    return Op.get(value) if isinstance(value, str) else value


class Call(Expr):
    """A call of an operator, a global function, an external function or a closure.

    `ty` is the type of the result (argument `ret_ty`); `ty_args` are types passed to the callee
    (the output types of `call_tir`).
    """

    op: Expr = field(converter=as_op)
    args: tuple[Expr, ...] = field(converter=as_tuple)
    attrs: Any = field(
        converter=lambda value: None if value is None else as_attrs(value), default=None
    )
    ty_args: tuple[Type, ...] = field(converter=lambda value: tuple(value or ()), default=())
    ty: MaybeType = field(
        converter=lambda value: None if value is None else as_type(value),
        default=None,
        kw_only=True,
        alias="ret_ty",
    )

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute of the call."""
        return default if self.attrs is None else self.attrs.get(name, default)


def _int_value(value: Any) -> int:
    if isinstance(value, bool) or hasattr(value, "__index__"):
        return value.__index__()
    raise TypeError(f"IntImm: expected an integer, got {type(value).__name__} {value!r}")


class IntImm(Expr):
    """An integer (or bool) constant. `IntImm("int32", 3)`."""

    _dtype: DataType = field(converter=lambda v: prim_type(v).dtype, alias="dtype")
    value: int = field(converter=_int_value)
    ty: PrimType = field(init=False, derive=lambda self: prim_type(self._dtype))

    def __check__(self) -> None:
        code, bits = self._dtype.type_code, self._dtype.bits
        if self._dtype == "bool":
            low, high = 0, 1
        elif code == DataTypeCode.UINT:
            low, high = 0, (1 << bits) - 1
        else:
            low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if not low <= self.value <= high:
            raise ValueError(f"IntImm: {self.value} is outside the range of {self._dtype}")

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0

    def __float__(self) -> float:
        return float(self.value)


class FloatImm(Expr):
    """A floating-point constant. `FloatImm("float32", 1.0)`; the value is rounded to the type."""

    _dtype: DataType = field(converter=lambda v: prim_type(v).dtype, alias="dtype")
    value: float = field(converter=float)
    ty: PrimType = field(init=False, derive=lambda self: prim_type(self._dtype))

    def __float__(self) -> float:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0.0


class StringImm(Expr):
    """A string constant (arguments of packed calls, error messages)."""

    value: str
    ty: Any = field(init=False, derive=lambda self: PointerType(prim_type("int8")))


def as_expr(value: Any) -> Expr:
    """An expression as it is; Python numbers and strings as constants.

    int → int32 (int64 where it does not fit), float → float32, bool → bool, str → StringImm;
    anything with `asobject()` or `var` that stands for an expression (an `IterVar`) is converted.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return IntImm("bool", int(value))
    if isinstance(value, int):
        fits = -(1 << 31) <= value < (1 << 31)
        return IntImm("int32" if fits else "int64", value)
    if isinstance(value, float):
        return FloatImm("float32", value)
    if isinstance(value, str):
        return StringImm(value)
    convert = getattr(value, "__as_expr__", None)
    if convert is not None:
        return convert()
    if hasattr(value, "__index__"):
        return as_expr(int(value))
    if type(value).__module__ == "numpy" and hasattr(value, "dtype") and value.ndim == 0:
        name = str(value.dtype)
        return FloatImm(name, float(value)) if "float" in name else IntImm(name, int(value))
    raise TypeError(f"expected an expression or a number, got {type(value).__name__} {value!r}")


class Range(Node):
    """The half-open interval [min, min + extent). `Range(begin, end)` or `Range(extent)`."""

    min: Expr = field(converter=as_expr)
    extent: Expr = field(converter=as_expr)
    span: Span | None = field(role=META, default=None, kw_only=True)

    def __init__(self, begin: Any, end: Any = None, span: Span | None = None) -> None:
        if end is None:
            low: Any = 0
            extent: Any = begin
            if isinstance(extent, Expr):
                low = IntImm(extent.dtype, 0)
        else:
            low, extent = begin, end - begin
        init_fields(self, min=low, extent=extent, span=span)

    @staticmethod
    def from_min_extent(min_value: Any, extent: Any, span: Span | None = None) -> Range:
        """The range of a start and a length."""
        return construct(Range, {"min": min_value, "extent": extent, "span": span})

    @staticmethod
    def from_extent(extent: Any) -> Range:
        """[0, extent)."""
        return Range(extent)
