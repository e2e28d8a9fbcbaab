"""Printers of primitive expressions."""

from __future__ import annotations

from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Call, Expr, FloatImm, IntImm, Op, Var
from workbench.ir.script.printers import call_printers, operator_name, target_config, type_value
from workbench.ir.type import PointerType, PrimType
from workbench.script.doc import (
    ADD,
    AND,
    ATOM,
    COMPARE,
    LAMBDA,
    LOWEST,
    MUL,
    NOT,
    OR,
    Doc,
    binary,
    call,
    join,
    literal,
    mapping,
    seq,
    text,
)
from workbench.script.printer import Printer, declarations, prints
from workbench.target import Target
from workbench.tirx import expr as E
from workbench.tirx import op
from workbench.tirx.buffer import BufferType
from workbench.tirx.function import IndexMap
from workbench.tirx.script.intrinsics import DTYPE_FIRST, DTYPE_LAST, WRITTEN_AS
from workbench.tirx.script.print_buffer import buffer_form
from workbench.tirx.stmt import BufferRegion


def _t(name: str, p: Printer) -> str:
    p.used_prefixes.add("T")
    return f"T.{name}"


# Arithmetic

#: node type → (operator, precedence, name of the explicit form).
_BINARY = {
    E.Add: ("+", ADD),
    E.Sub: ("-", ADD),
    E.Mul: ("*", MUL),
    E.Div: ("/", MUL),
    E.FloorDiv: ("//", MUL),
    E.FloorMod: ("%", MUL),
    E.EQ: ("==", COMPARE),
    E.NE: ("!=", COMPARE),
    E.LT: ("<", COMPARE),
    E.LE: ("<=", COMPARE),
    E.GT: (">", COMPARE),
    E.GE: (">=", COMPARE),
    E.And: ("and", AND),
    E.Or: ("or", OR),
}


#: node type → the constants on the left, and on the right, with which the operator folds or fails.
_NEUTRAL: dict[type, tuple[tuple[int, ...], tuple[int, ...]]] = {
    E.Add: ((0,), (0,)),
    E.Sub: ((), (0,)),
    E.Mul: ((0, 1), (0, 1)),
    E.Div: ((0,), (0, 1)),
    E.FloorDiv: ((0,), (0, 1)),
    E.FloorMod: ((0,), (0, 1)),
}


def _folds(node: E.BinaryOp) -> bool:
    """Whether Python's operator on the operands would not give this node but a simpler one."""
    a, b = node.a, node.b
    first = isinstance(a, (IntImm, FloatImm))
    second = isinstance(b, (IntImm, FloatImm))
    if first and second:
        return True
    if isinstance(node, E.LogicalOp):
        return first or second
    if isinstance(node, E.CmpOp):
        return False
    left, right = _NEUTRAL[type(node)]
    return (first and a.value in left) or (second and b.value in right)


@prints(*_BINARY)
def _binary(node: E.BinaryOp, p: Printer) -> Doc:
    symbol, prec = _BINARY[type(node)]
    a, b = p.doc(node.a), p.doc(node.b)
    integers = isinstance(node, E.Div) and not node.a.dtype.is_float
    if integers or _folds(node):
        return call(_t(type(node).__name__, p), a, b)
    return binary(symbol, a, b, prec, node)


_FUNCTIONS = {E.Min: "min", E.Max: "max", E.Mod: "truncmod"}


@prints(*_FUNCTIONS)
def _function(node: E.BinaryOp, p: Printer) -> Doc:
    constants = isinstance(node.a, (IntImm, FloatImm)) and isinstance(node.b, (IntImm, FloatImm))
    name = type(node).__name__ if constants else _FUNCTIONS[type(node)]
    return call(_t(name, p), p.doc(node.a), p.doc(node.b))


@prints(E.Not)
def _not(node: E.Not, p: Printer) -> Doc:
    if isinstance(node.a, IntImm):
        return call(_t("Not", p), p.doc(node.a))
    return Doc(("not ", p.doc(node.a).at_least(NOT)), NOT, node)


@prints(E.Select)
def _select(node: E.Select, p: Printer) -> Doc:
    parts = (node.condition, node.true_value, node.false_value)
    return call(_t("Select", p), *[p.doc(x) for x in parts])


@prints(E.Cast)
def _cast(node: E.Cast, p: Printer) -> Doc:
    return call(_t("Cast", p), literal(str(node.dtype)), p.doc(node.value))


@prints(E.Let)
def _let(node: E.Let, p: Printer) -> Doc:
    value = p.doc(node.value)
    var = p.doc(node.var)
    return call(_t("Let", p), p.doc(node.body), where=mapping([(var, value)]))


@prints(E.Ramp)
def _ramp(node: E.Ramp, p: Printer) -> Doc:
    return call(_t("Ramp", p), p.doc(node.base), p.doc(node.stride), p.doc(node.lanes))


@prints(E.Broadcast)
def _broadcast(node: E.Broadcast, p: Printer) -> Doc:
    return call(_t("Broadcast", p), p.doc(node.value), p.doc(node.lanes))


@prints(E.Shuffle)
def _shuffle(node: E.Shuffle, p: Printer) -> Doc:
    vectors = [p.doc(v) for v in node.vectors]
    return call(_t("Shuffle", p), seq(vectors), seq([p.doc(i) for i in node.indices]))


# Buffers


def buffer_word(buffer: Any, p: Printer) -> Doc:
    """A buffer where it is meant as a buffer (a scalar's name means its value)."""
    if not isinstance(buffer, Var):
        return p.doc(buffer).at_least(ATOM)
    name = p.use(buffer)
    if p.facts.get(("scalar", id(buffer))):
        name += ".buffer"
    return text(name, buffer)


@prints(BufferType)
def _buffer_type(node: BufferType, p: Printer) -> Doc:
    return buffer_form("Buffer", node, p, with_dtype=True)


@declarations.register(BufferType)
def _declare_buffer(ty: BufferType, p: Printer) -> Doc:
    return buffer_form("Buffer", ty, p)


@declarations.register(PrimType)
def _declare_scalar(ty: PrimType, p: Printer) -> Doc:
    return text(f"{_t(ty.dtype, p)}()")


@declarations.register(PointerType)
def _declare_pointer(ty: Any, p: Printer) -> Doc:
    shown = p.doc(ty)
    return shown if str(shown).endswith(")") else Doc((shown, "()"))


def _index(index: Any, p: Printer) -> Doc:
    """One index; a vector of consecutive or equally spaced elements as a slice."""
    if isinstance(index, E.Ramp) and isinstance(index.lanes, IntImm):
        base, stride, lanes = index.base, index.stride, index.lanes.value
        if isinstance(stride, IntImm) and stride.value > 0 and lanes > 1:
            length = lanes * stride.value
            low = p.doc(base)
            if isinstance(base, IntImm):
                high = p.doc(IntImm(base.dtype, base.value + length))
            else:
                high = binary("+", low, p.doc(IntImm(base.dtype, length)), ADD)
            step = [] if stride.value == 1 else [":", p.doc(stride)]
            return Doc((low.at_least(LAMBDA), ":", high, *step), LOWEST, index)
    return p.doc(index)


def stop_of(low: Any, extent: Any, p: Printer) -> Doc:
    """The end of a range, so that reading it gives the extent back."""
    if isinstance(low, IntImm) and isinstance(extent, IntImm):
        return p.doc(IntImm(low.dtype, low.value + extent.value))
    if isinstance(low, IntImm) and low.value == 0:
        return p.doc(extent)
    if isinstance(extent, IntImm) and extent.value == 0:  # `low + 0` would be read as `low`
        return call(_t("Add", p), p.doc(low), p.doc(extent))
    return binary("+", p.doc(low), p.doc(extent), ADD)


def subscript(base: Doc, indices: list[Doc]) -> Doc:
    """`base[indices]`; no index at all is written as an empty tuple."""
    if not indices:
        return Doc((base, "[()]"))
    return Doc([base, "[", *join(indices), "]"])


def is_scalar_access(node: Any, p: Printer) -> bool:
    """Whether a load or store is of a buffer that is written as a scalar variable."""
    if not p.facts.get(("scalar", id(node.buffer))) or node.predicate is not None:
        return False
    index = node.indices[0]
    return isinstance(index, IntImm) and index.value == 0 and index.dtype == "int32"


@prints(E.BufferLoad)
def _load(node: E.BufferLoad, p: Printer) -> Doc:
    if is_scalar_access(node, p):
        return text(p.use(node.buffer), node)
    buffer = buffer_word(node.buffer, p)
    if node.predicate is not None:
        return call(
            Doc((buffer, ".vload")),
            seq([p.doc(i) for i in node.indices]),
            predicate=p.doc(node.predicate),
        )
    return subscript(buffer, [_index(i, p) for i in node.indices])


@prints(E.ProducerLoad)
def _producer_load(node: E.ProducerLoad, p: Printer) -> Doc:
    producer = node.producer
    name = getattr(producer, "name", None) or getattr(
        getattr(producer, "op", None), "name", "tensor"
    )
    return subscript(text(str(name)), [p.doc(i) for i in node.indices])


@prints(BufferRegion)
def region(node: BufferRegion, p: Printer) -> Doc:
    """`A[i, 0:4]`: a range of one element as its index."""
    out = []
    for r in node.region:
        low = p.doc(r.min)
        if isinstance(r.extent, IntImm) and r.extent.value == 1:
            out.append(low)
        else:
            high = stop_of(r.min, r.extent, p).at_least(LAMBDA)
            out.append(Doc((low.at_least(LAMBDA), ":", high), LOWEST, r))
    return subscript(buffer_word(node.buffer, p), out)


# Calls


def _intrinsic(node: Call, p: Printer) -> Doc:
    name = operator_name(node)
    if name == "tirx.buffer_data" and len(node.args) == 1 and isinstance(node.args[0], Var):
        return Doc((buffer_word(node.args[0], p), ".data"), ATOM, node)
    if node.attrs or node.ty_args:
        return call_printers[""](node, p)
    args = [_argument(a, p) for a in node.args]
    if name in DTYPE_FIRST:
        args.insert(0, type_value(node.ty, p))
    elif name in DTYPE_LAST:
        args.append(type_value(node.ty, p))
    elif not _derived(node):
        return call_printers[""](node, p)
    written = WRITTEN_AS.get(name) or name.partition(".")[2]
    return call(_t(written, p), *args)


def _derived(node: Call) -> bool:
    """Whether the builder of the intrinsic, which reading calls, makes this very call."""
    name = operator_name(node)
    written = WRITTEN_AS.get(name) or name.partition(".")[2]
    build = Op.get(name).attr("builder") or getattr(op, written, None)
    if not callable(build):
        return False
    try:
        found = build(*node.args)
    except (TypeError, ValueError, IndexError, AttributeError, WorkbenchError):
        return False
    return (
        isinstance(found, Call)
        and found.op is node.op
        and len(found.args) == len(node.args)
        and all(a is b for a, b in zip(found.args, node.args, strict=True))
        and (found.ty is node.ty or found.ty == node.ty)
    )


def _argument(value: Any, p: Printer) -> Doc:
    return buffer_word(value, p) if isinstance(value, Var) else p.doc(value)


call_printers["tirx"] = _intrinsic


# Iteration variables, reductions, index maps, targets


@prints(E.IterVar)
def _iter_var(node: E.IterVar, p: Printer) -> Doc:
    kinds = {
        0: "DataPar",
        1: "ThreadIndex",
        2: "CommReduce",
        3: "Ordered",
        4: "Opaque",
        5: "Unrolled",
        6: "Vectorized",
        7: "Parallelized",
        8: "Tensorized",
    }
    domain = text("None") if node.dom is None else _domain(node.dom, p)
    kind, tag = literal(kinds[node.iter_type]), literal(node.thread_tag)
    name = p.doc(node.var) if p.knows(node.var) else literal(node.var.name)
    return call(_t("iter_var", p), name, domain, kind, tag)


def _domain(dom: Any, p: Printer) -> Doc:
    low, high = p.doc(dom.min), stop_of(dom.min, dom.extent, p)
    return call(_t("Range", p), low, high)


def function(variables: Any, result: Any, p: Printer) -> Doc:
    """A lambda of variables."""
    p.push()
    declares, p.declares = p.declares, False
    names = [p.define(v) for v in variables]
    shown = [p.doc(x) for x in result]
    p.declares = declares
    p.pop()
    body = shown[0].at_least(TERNARY_OR_LOOSER) if len(shown) == 1 else seq(shown, "(", ")")
    return Doc((f"lambda {', '.join(names)}: ", body), LAMBDA)


TERNARY_OR_LOOSER = LAMBDA


@prints(E.CommReducer)
def _comm_reducer(node: E.CommReducer, p: Printer) -> Doc:
    identity = seq([p.doc(e) for e in node.identity_element])
    body = function((*node.lhs, *node.rhs), node.result, p)
    dtypes = {str(v.dtype) for v in (*node.lhs, *node.rhs)}
    wanted = {str(e.dtype) for e in node.identity_element}
    assert dtypes == wanted or len(dtypes) > 1, "operands and identity have one data type"
    return call(_t("comm_reducer", p), body, identity)


@prints(E.Reduce)
def _reduce(node: E.Reduce, p: Printer) -> Doc:
    axis = seq([p.doc(a) for a in node.axis])
    return call(
        _t("reduce", p),
        p.doc(node.combiner),
        source=seq([p.doc(s) for s in node.source]),
        init=seq([p.doc(s) for s in node.init]),
        axis=axis,
        condition=p.doc(node.condition),
        value_index=literal(node.value_index),
    )


@prints(IndexMap)
def _index_map(node: IndexMap, p: Printer) -> Doc:
    body = function(node.initial_indices, node.final_indices, p)
    inverse = None
    if isinstance(node.inverse_index_map, IndexMap):
        back = node.inverse_index_map
        inverse = function(back.initial_indices, back.final_indices, p)
    dtypes = {str(v.dtype) for v in node.initial_indices}
    dtype = None if dtypes == {"int64"} or not dtypes else literal(dtypes.pop())
    return call(_t("index_map", p), body, inverse_index_map=inverse, index_dtype=dtype)


@prints(Target)
def _target(node: Target, p: Printer) -> Doc:
    return call(_t("target", p), p.mapping(target_config(node)))


def extent_of(node: Expr, p: Printer) -> Doc:
    """An expression as an argument."""
    return p.doc(node)
