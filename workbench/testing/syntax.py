"""Random functions that use every form of the script language, whatever they mean.

`prim_funcs()` gives well-scoped loop programs with all statements and most expressions: attributes,
threads, views, scalars, blocks with regions, matches and annotations, odd loops, constants that
Python would fold. They are made to be printed and read, not to be run (see `programs` for those).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from workbench.ir.attrs import Attrs
from workbench.ir.expr import Call, Expr, FloatImm, IntImm, Op, Range, StringImm, Var
from workbench.ir.type import PointerType, prim_type
from workbench.tirx import expr as E
from workbench.tirx import op as T
from workbench.tirx import stmt as S
from workbench.tirx.buffer import BufferType, decl_buffer
from workbench.tirx.function import PrimFunc

_NAMES = ("i", "j", "x", "x_1", "T", "if", "v.w", "A")
_COMPARE = (E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE)
_ARITH = (E.Add, E.Sub, E.Mul, E.FloorDiv, E.FloorMod, E.Min, E.Max, E.Div, E.Mod)


@dataclass
class _Scope:
    draw: Callable[[Any], Any]
    ints: list[Var] = field(default_factory=list)
    floats: list[Var] = field(default_factory=list)
    buffers: list[Var] = field(default_factory=list)
    in_loop: bool = False

    def inner(self, **changes: Any) -> _Scope:
        """A copy for a block of its own."""
        made = _Scope(
            self.draw, list(self.ints), list(self.floats), list(self.buffers), self.in_loop
        )
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    def pick(self, *options: Any) -> Any:
        """One of the options."""
        return self.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        """An integer."""
        return self.draw(st.integers(low, high))

    def flag(self) -> bool:
        """A coin."""
        return self.draw(st.booleans())

    def name(self) -> str:
        """A name; some are taken, some are no identifiers."""
        return self.pick(*_NAMES)


def _int(s: _Scope, depth: int) -> Expr:
    how = s.number(0, 7)
    if depth <= 0 or how <= 2:
        if s.ints and s.flag():
            return s.pick(*s.ints)
        return IntImm("int32", s.number(-9, 9))
    if how == 3:
        return E.Select(_bool(s, depth - 1), _int(s, depth - 1), _int(s, depth - 1))
    if how == 4:
        return E.Cast("int32", _float(s, depth - 1))
    if how == 5:
        var = Var(s.name(), "int32")
        value = _int(s, depth - 1)
        return E.Let(var, value, _int(s.inner(ints=[*s.ints, var]), depth - 1))
    return s.pick(*_ARITH)(_int(s, depth - 1), _int(s, depth - 1))


def _float(s: _Scope, depth: int) -> Expr:
    how = s.number(0, 8)
    if depth <= 0 or how <= 2:
        if s.floats and s.flag():
            return s.pick(*s.floats)
        return FloatImm("float32", s.pick(0.0, -0.0, 1.0, 0.1, 1e30, float("inf"), -2.5))
    if how == 3 and s.buffers:
        return _load(s, depth - 1)
    if how == 4:
        return Call(
            Op.get(s.pick("tirx.exp", "tirx.sqrt")), (_float(s, depth - 1),), ret_ty="float32"
        )
    if how == 5:
        return T.call_extern("float32", "f", _float(s, depth - 1), _int(s, depth - 1), "text\n")
    if how == 6:
        return E.Cast("float32", _int(s, depth - 1))
    return s.pick(E.Add, E.Sub, E.Mul, E.Div, E.Min)(_float(s, depth - 1), _float(s, depth - 1))


def _bool(s: _Scope, depth: int) -> Expr:
    how = s.number(0, 5)
    if depth <= 0 or how <= 2:
        return s.pick(*_COMPARE)(_int(s, depth - 1), _int(s, depth - 1))
    if how == 3:
        return E.Not(_bool(s, depth - 1))
    if how == 4:
        return s.pick(IntImm("bool", 1), IntImm("bool", 0))
    return s.pick(E.And, E.Or)(_bool(s, depth - 1), _bool(s, depth - 1))


def _load(s: _Scope, depth: int) -> Expr:
    buffer = s.pick(*s.buffers)
    return E.BufferLoad(buffer, [_int(s, depth) for _ in buffer.ty.shape])


def _buffer(s: _Scope, scope: str = "") -> Var:
    shape = [s.number(1, 8) for _ in range(s.number(1, 2))]
    return decl_buffer(
        shape,
        "float32",
        s.name(),
        strides=[8] * len(shape) if s.number(0, 5) == 0 else None,
        elem_offset=s.pick(None, None, None, 4),
        scope=scope or s.pick("global", "shared", "local"),
        data_alignment=s.pick(64, 64, 128),
        offset_factor=s.pick(1, 1, 4),
    )


def _store(s: _Scope) -> S.Stmt:
    if not s.buffers:
        return S.Evaluate(_int(s, 2))
    buffer = s.pick(*s.buffers)
    indices = [_int(s, 1) for _ in buffer.ty.shape]
    if s.number(0, 4) == 0:
        stride = s.pick(1, 2)
        indices[-1] = E.Ramp(indices[-1], IntImm("int32", stride), 4)
        value = E.Broadcast(_float(s, 1), 4)
        predicate = E.Broadcast(_bool(s, 0), 4) if s.flag() else None
        return S.BufferStore(buffer, value, indices, predicate)
    return S.BufferStore(buffer, _float(s, 2), indices)


def _annotations(s: _Scope) -> dict[str, Any]:
    values: tuple[Any, ...] = (
        1,
        True,
        "text",
        1.5,
        None,
        (1, 2),
        {"a": 1},
        IntImm("int32", 3),
        StringImm("s"),
    )
    keys = s.draw(st.lists(st.sampled_from(("a", "b.c", "pragma_x")), max_size=2, unique=True))
    return dict(Attrs({k: s.pick(*values) for k in keys}))


def _loop(s: _Scope, depth: int) -> S.Stmt:
    dtype = s.pick("int32", "int32", "int64")
    var = Var(s.name(), dtype)
    inner = s.inner(in_loop=True)
    if dtype == "int32":
        inner.ints.append(var)
    body = _body(inner, depth - 1)
    if dtype == "int64":
        return S.For(var, IntImm("int64", s.number(0, 2)), IntImm("int64", 8), 0, body)
    kind = s.number(0, 4)
    binding = None
    if kind == S.ForKind.THREAD_BINDING:
        binding = E.IterVar(None, Var("", "int32"), E.IterVar.ThreadIndex, "threadIdx.x")
    low = s.pick(IntImm("int32", 0), IntImm("int32", 0), IntImm("int32", 3), _int(s, 1))
    extent = s.pick(IntImm("int32", s.number(1, 9)), _int(s, 1))
    step = s.pick(None, None, None, IntImm("int32", 2))
    return S.For(var, low, extent, kind, body, binding, _annotations(s), step)


def _attr(s: _Scope, depth: int) -> S.Stmt:
    how = s.number(0, 3)
    if how == 0:
        extent = IntImm("int32", s.number(1, 8))
        axis = E.IterVar(Range(extent), Var(s.name(), "int32"), 1, s.pick("blockIdx.x", "vthread"))
        key = "virtual_thread" if axis.thread_tag == "vthread" else "thread_extent"
        inner = s.inner()
        inner.ints.append(axis.var)
        return S.AttrStmt(axis, key, extent, _body(inner, depth - 1))
    owner: Any = s.pick(0, IntImm("int32", 0), StringImm("default"))
    if how == 1 and s.buffers:
        owner = s.pick(*s.buffers)
    value = s.pick(IntImm("int32", 1), StringImm("v"), _int(s, 1))
    return S.AttrStmt(owner, s.pick("key", "pragma_a"), value, _body(s.inner(), depth - 1))


def _region(s: _Scope, buffer: Var) -> S.BufferRegion:
    ranges = []
    for dim in buffer.ty.shape:
        low = s.pick(IntImm("int32", 0), _int(s, 1))
        whole = dim if dim.dtype == "int32" else IntImm("int32", 3)
        extent = s.pick(IntImm("int32", 1), whole, IntImm("int32", 2), _int(s, 1))
        ranges.append(Range.from_min_extent(low, extent))
    return S.BufferRegion(buffer, ranges)


def _block(s: _Scope, depth: int) -> S.Stmt:
    axes, values = [], []
    inner = s.inner(in_loop=False)
    for _ in range(s.number(0, 3)):
        low = s.pick(0, 0, 2)
        domain = Range.from_min_extent(IntImm("int32", low), IntImm("int32", s.number(1, 9)))
        axis = E.IterVar(domain, Var(s.name(), "int32"), s.pick(0, 0, 2, 3, 4))
        axes.append(axis)
        values.append(s.pick(*s.ints) if s.ints and s.flag() else _int(s, 1))
        inner.ints.append(axis.var)
    reads = [_region(inner, s.pick(*s.buffers))] if s.buffers and s.flag() else []
    writes = [_region(inner, s.pick(*s.buffers))] if s.buffers and s.flag() else []
    made = [_buffer(s)] if s.number(0, 3) == 0 else []
    inner.buffers += made
    matches = []
    if s.buffers and s.number(0, 3) == 0:
        source = _region(inner, s.pick(*s.buffers))
        shape = [r.extent for r in source.region]
        offset = s.pick(None, Var("off", "int32"))
        like = BufferType("float32", "global", shape, (), offset, 64, s.pick(1, 2))
        view = Var("M", like)
        matches = [S.MatchBufferRegion(view, source)]
        inner.buffers.append(view)
    init = _store(inner) if s.number(0, 3) == 0 else None
    predicate = s.pick(IntImm("bool", 1), IntImm("bool", 1), _bool(s, 0))
    block = S.SBlock(
        tuple(axes),
        tuple(reads),
        tuple(writes),
        s.pick("b", "root", ""),
        _body(inner, depth - 1),
        init,
        tuple(made),
        tuple(matches),
        _annotations(s),
    )
    return S.SBlockRealize(tuple(values), predicate, block)


def _declaration(s: _Scope) -> S.Stmt:
    """A statement that defines something for what follows."""
    how = s.number(0, 4)
    if how == 0:
        made = _buffer(s)
        s.buffers.append(made)
        return S.AllocBuffer(made, _annotations(s))
    if how == 1:
        made = decl_buffer((1,), "float32", s.name(), scope="local")
        s.buffers.append(made)
        return S.AllocBuffer(made)
    if how == 2 and s.buffers:
        source = s.pick(*s.buffers)
        data: Any = T.buffer_data(source)
        made = s.pick(decl_buffer((16,), "float32", s.name(), scope=source.scope()), _buffer(s))
        s.buffers.append(made)
        return S.DeclBuffer(made, s.pick(data, data, None))
    if how == 3:
        pointer = PointerType(prim_type("float32"), "global")
        var = Var(s.name(), pointer)
        return S.Bind(var, Call(Op.get("tirx.reinterpret"), (_int(s, 0),), ret_ty=pointer))
    var = Var(s.name(), "int32")
    value = _int(s, 2)
    s.ints.append(var)
    return S.Bind(var, value)


def _simple(s: _Scope) -> S.Stmt:
    how = s.number(0, 4)
    if how == 0:
        parts = tuple(StringImm(t) for t in ("a", 'quote" and\nline')[: s.number(0, 2)])
        return S.AssertStmt(StringImm("ValueError"), _bool(s, 1), parts)
    if how == 1:
        return S.Evaluate(T.call_packed("tests.f", _int(s, 1), _float(s, 1)))
    if how == 2 and s.in_loop:
        return s.pick(S.Break(), S.Continue())
    return _store(s)


def _statement(s: _Scope, depth: int) -> S.Stmt:
    how = s.number(0, 8)
    if depth <= 0 or how <= 2:
        return _simple(s)
    if how == 3:
        return _loop(s, depth)
    if how == 4:
        return _attr(s, depth)
    if how == 5:
        return _block(s, depth)
    if how == 6:
        inner = s.inner(in_loop=True)
        return S.While(_bool(s, 1), _body(inner, depth - 1))
    if how == 7:
        otherwise = _body(s.inner(), depth - 1) if s.flag() else None
        return S.IfThenElse(_bool(s, 1), _body(s.inner(), depth - 1), otherwise)
    return _declaration(s)


def _body(s: _Scope, depth: int) -> S.Stmt:
    count = s.number(1, 3)
    stmts = []
    for position in range(count):
        if position + 1 < count and s.number(0, 2) == 0:
            stmts.append(_declaration(s))
        else:
            stmts.append(_statement(s, depth))
    flat = S.SeqStmt(tuple(stmts)).seq
    return flat[0] if len(flat) == 1 else S.SeqStmt(flat)


@st.composite
def prim_funcs(draw: Callable[[Any], Any], depth: int = 3) -> PrimFunc:
    """Random functions to be printed and read; `depth` bounds the nesting."""
    s = _Scope(draw)
    params: list[Var] = [Var("n", "int32")]
    s.ints.append(params[0])
    symbol = Var("m", s.pick("int32", "int64"))
    for number in range(s.number(0, 2)):
        shape: list[Any] = [s.number(1, 8), s.number(1, 8)]
        if s.flag():
            shape[0] = s.pick(symbol, symbol * 2, params[0]) if number == 0 else symbol
        buffer = decl_buffer(shape, "float32", s.name(), data_alignment=s.pick(64, 128))
        params.append(buffer)
        s.buffers.append(buffer)
    attrs: dict[str, Any] = {"global_symbol": s.pick("main", "other")} if s.flag() else {}
    if s.flag():
        attrs["s_tir"] = True
    attrs.update(_annotations(s))
    body = _body(s, depth)
    return PrimFunc(params, body, s.pick(None, prim_type("int32")), attrs)
