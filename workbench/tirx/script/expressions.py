"""The functions of `T` that make expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.core.structural import structural_equal
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Op, Range, Var, as_expr
from workbench.ir.type import PointerType, TupleType, Type, as_type
from workbench.script.error import ScriptError
from workbench.target import Target
from workbench.tirx import expr as nodes
from workbench.tirx import op
from workbench.tirx.expr import BufferLoad, CommReducer, IterVar
from workbench.tirx.function import IndexMap
from workbench.tirx.script.values import (
    Pending,
    type_of,
    value_for,
    value_of,
)


def half_open(start: Any, stop: Any) -> tuple[Any, Any]:
    """(min, extent) of a half-open interval."""
    if stop is None:
        extent = value_of(start)
        return IntImm(extent.dtype, 0), extent
    if isinstance(start, int) and isinstance(stop, int):
        return as_expr(start), as_expr(stop - start)
    low, high = op.match_types("range", value_of(start), value_of(stop))
    return low, difference(high, low)


def difference(high: Expr, low: Expr) -> Expr:
    """high - low; `low + extent` minus `low` is the extent as it was written."""
    if isinstance(high, nodes.Add) and structural_equal(high.a, low):
        return high.b
    return op.subtract(high, low)


def _exact(cls: type, name: str) -> Callable[[Any, Any], Expr]:
    def build(a: Any, b: Any, span: Any = None) -> Expr:
        return cls(*op.match_types(name, plain_number(a, b), plain_number(b, a)))

    build.__doc__ = f"The node `{cls.__name__}`, not simplified."
    build.__name__ = cls.__name__
    return build


def plain_number(value: Any, other: Any) -> Any:
    """A Python number in the type of the other operand."""
    if isinstance(value, (int, float)) and not isinstance(other, (int, float)):
        dtype = value_of(other).dtype
        if not (isinstance(value, float) and not dtype.is_float) and not dtype.is_bool:
            return op.const(value, dtype)
    return value_of(value)


BINARY_NODES: dict[str, Callable[..., Expr]] = {
    name: _exact(getattr(nodes, name), name)
    for name in [
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Mod",
        "FloorDiv",
        "FloorMod",
        "Min",
        "Max",
        "EQ",
        "NE",
        "LT",
        "LE",
        "GT",
        "GE",
        "And",
        "Or",
    ]
}


def Not(a: Any, span: Any = None) -> Expr:
    """The node `Not`, not simplified."""
    return nodes.Not(value_of(a))


def Select(condition: Any, true_value: Any, false_value: Any, span: Any = None) -> Expr:
    """`true_value` where `condition` holds, else `false_value`; both are evaluated."""
    a, b = op.match_types(
        "Select", plain_number(true_value, false_value), plain_number(false_value, true_value)
    )
    return nodes.Select(value_of(condition), a, b)


def Cast(dtype: Any, value: Any, span: Any = None) -> Expr:
    """The node `Cast`, not simplified."""
    return nodes.Cast(str(type_of(dtype).dtype), value_of(value))  # type: ignore[attr-defined]


def cast(value: Any, dtype: Any, span: Any = None) -> Expr:
    """`value` converted to a data type."""
    return op.cast(str(type_of(dtype).dtype), value_of(value))  # type: ignore[attr-defined]


def Ramp(base: Any, stride: Any, lanes: Any, span: Any = None) -> Expr:
    """The vector base, base + stride, …"""
    low, step = op.match_types("Ramp", plain_number(base, stride), plain_number(stride, base))
    return nodes.Ramp(low, step, value_of(lanes))


def Broadcast(value: Any, lanes: Any, span: Any = None) -> Expr:
    """A vector of copies."""
    return nodes.Broadcast(value_of(value), value_of(lanes))


def Shuffle(vectors: Sequence[Any], indices: Sequence[Any], span: Any = None) -> Expr:
    """Chosen elements of vectors."""
    return nodes.Shuffle(tuple(map(value_of, vectors)), tuple(map(value_of, indices)))


def Let(expr: Any, where: Mapping[Any, Any]) -> Expr:
    """`expr` with variables bound: `T.Let(x + 1, where={x: 3})`."""
    out = value_of(expr)
    for var, value in reversed(list(where.items())):
        out = nodes.Let(var, value_for(value, var.ty), out)
    return out


def BufferLoadNode(buffer: Any, indices: Sequence[Any], predicate: Any = None) -> Expr:
    """The node `BufferLoad`."""
    return BufferLoad(buffer, [value_of(i) for i in indices], predicate)


def CallNode(
    callee: Any,
    args: Sequence[Any] = (),
    attrs: Any = None,
    ty_args: Sequence[Any] | None = None,
    span: Any = None,
    ret_ty: Any = None,
) -> Expr:
    """The node `Call` with everything it has."""
    target = Op.get(callee) if isinstance(callee, str) else callee
    exprs = tuple(value_of(a) for a in args)
    types = tuple(type_of(t) for t in ty_args or ())
    ty = None if ret_ty is None else type_of(ret_ty)
    return Call(target, exprs, attrs, types, ret_ty=ty)


def minimum(a: Any, b: Any, span: Any = None) -> Expr:
    """The smaller of two values."""
    return _fold_or("minimum", nodes.Min, a, b)


def maximum(a: Any, b: Any, span: Any = None) -> Expr:
    """The larger of two values."""
    return _fold_or("maximum", nodes.Max, a, b)


def _fold_or(name: str, cls: type, a: Any, b: Any) -> Expr:
    x, y = op.match_types(name, plain_number(a, b), plain_number(b, a))
    constant = (nodes.IntImm, nodes.FloatImm)
    if isinstance(x, constant) and isinstance(y, constant):
        return getattr(op, name)(x, y)
    return cls(x, y)


def comm_reducer(combiner: Callable[..., Any], identity: Sequence[Any]) -> CommReducer:
    """A combiner of values with its identity elements."""
    starts = [value_of(i) for i in identity]
    import inspect

    names = list(inspect.signature(combiner).parameters)
    count = len(starts)
    if len(names) != 2 * count:
        raise ScriptError(
            f"T.comm_reducer: {count} identity elements need {2 * count} parameters, "
            f"got {len(names)}"
        )
    variables = [Var(n, starts[i % count].ty) for i, n in enumerate(names)]
    result = combiner(*variables)
    results = tuple(map(value_of, result if isinstance(result, (tuple, list)) else [result]))
    lhs, rhs = tuple(variables[:count]), tuple(variables[count:])
    return CommReducer(lhs, rhs, results, tuple(starts))


def index_map(
    mapping: Callable[..., Any],
    *,
    inverse_index_map: Callable[..., Any] | None = None,
    index_dtype: str = "int64",
) -> IndexMap:
    """A map of indices, given as a function."""
    inverse = None
    if inverse_index_map is not None:
        inverse = index_map(inverse_index_map, index_dtype=index_dtype)
    import inspect

    variables = [Var(n, index_dtype) for n in inspect.signature(mapping).parameters]
    result = mapping(*variables)
    out = result if isinstance(result, (tuple, list)) else [result]
    exprs = [op.const(e, index_dtype) if isinstance(e, int) else value_of(e) for e in out]
    return IndexMap(variables, exprs, inverse)


def iter_var(v: Any, dom: Any, iter_type: str, thread_tag: str) -> IterVar:
    """An iteration variable."""
    kinds = [
        "DataPar",
        "ThreadIndex",
        "CommReduce",
        "Ordered",
        "Opaque",
        "Unrolled",
        "Vectorized",
        "Parallelized",
        "Tensorized",
    ]
    if iter_type not in kinds:
        raise ScriptError(f"unknown kind of iteration {iter_type!r}; known: {', '.join(kinds)}")
    if isinstance(v, str):
        v = Var(v, dom.extent.dtype if isinstance(dom, Range) else "int32")
    var = v.bind("v") if isinstance(v, Pending) else v
    return IterVar(dom, var, kinds.index(iter_type), thread_tag)


def make_range(begin: Any, end: Any = None) -> Range:
    """The interval [begin, end)."""
    return Range.from_min_extent(*half_open(begin, end))


def reduce(
    combiner: CommReducer,
    source: Sequence[Any],
    init: Sequence[Any],
    axis: Sequence[Any],
    condition: Any,
    value_index: int,
) -> Expr:
    """A reduction (of te)."""
    sources = [value_of(s) for s in source]
    return nodes.Reduce(combiner, sources, axis, value_of(condition), value_index, init)


def target(target_config: Any, host: Any = None) -> Target:
    """A target."""
    return Target(target_config, host)


def tuple_type(*fields: Any) -> Type:
    """The type of a tuple."""
    return TupleType(tuple(type_of(f) for f in fields))


def pointer(dtype: Any, storage_scope: str = "global") -> Type:
    """The type of a pointer."""
    return PointerType(as_type(dtype) if isinstance(dtype, str) else type_of(dtype), storage_scope)


def call_global(callee: GlobalVar, args: Sequence[Any]) -> Expr:
    """A call of another function of the module."""
    return op.call_tir(callee, *[a if isinstance(a, Var) else value_of(a) for a in args])
