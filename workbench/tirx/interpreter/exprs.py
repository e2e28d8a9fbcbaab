"""Expressions as Python source.

Each handler is a generator: it yields an operand and receives its `Val` (source text, range of an
integer, whether it is a vector). Ranges decide where wrap-around and bounds checks can be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from workbench.core.dispatch import Dispatch
from workbench.ir.expr import FloatImm, GlobalVar, IntImm, StringImm, Var
from workbench.runtime.dtype import DataType
from workbench.tirx import expr as e
from workbench.tirx.interpreter import values
from workbench.tirx.interpreter.values import InterpretError, int_range

#: Longer expressions are cut into assignments, so that Python's parser is never nested too deep.
MAX_DEPTH = 24


class Val:
    """A compiled expression. `lo` and `hi` bound an integer (None: only its type is known)."""

    __slots__ = ("depth", "dtype", "hi", "lo", "src", "vec")

    def __init__(
        self,
        src: str,
        dtype: DataType,
        lo: int | None = None,
        hi: int | None = None,
        vec: bool = False,
        depth: int = 1,
    ) -> None:
        self.src = src
        self.dtype = dtype
        self.vec = vec
        self.depth = depth
        if lo is None and not dtype.is_float and not dtype.is_handle and not dtype.is_void:
            lo, hi = int_range(dtype)
        self.lo = lo
        self.hi = hi


Steps = Generator[Any, Val, Val]


class ExprCompiler:
    """Turns expressions into source; statements are compiled by the subclass in `program`."""

    def __init__(self, root: Any, consts: dict[int, int]) -> None:
        self.root = root
        self.consts = consts
        self.lines: list[str] = []
        self.indent = 1
        self.names: dict[int, str] = {}
        self.keep: list[Any] = []
        self.ranges: dict[int, tuple[int | None, int | None]] = {}
        self.vector_vars: set[int] = set()
        self.mask: str | None = None
        self.shapes: dict[int, list[Val]] = {}
        self.bounds = values.Bounds()
        self.space: dict[str, Any] = {
            "np": np,
            "_v": values,
            "_ck": self.bounds.check,
            "_cv": self.bounds.check_vector,
        }
        self.counter = 0
        #: Statements that the branch compiled last needs in front of it.
        self.pending: list[str] = []
        #: Pointers to the data of buffers, and their offsets in elements, as source.
        self.pointers: dict[int, str] = {}
        self.offsets: dict[int, str] = {}

    # Emission

    def emit(self, line: str) -> None:
        """Appends a statement at the current indentation."""
        self.lines.append("    " * self.indent + line)

    def fresh(self, prefix: str) -> str:
        """A Python name that is not used yet."""
        self.counter += 1
        text = "".join(c if c.isalnum() and c.isascii() else "_" for c in prefix)
        return f"{text or 'v'}_{self.counter}"

    def name(self, var: Var) -> str:
        """The Python name of a variable."""
        found = self.names.get(id(var))
        if found is None:
            raise InterpretError(
                f"variable {var.name} is used before it is defined", nodes=(var,), root=self.root
            )
        return found

    def define(self, var: Var) -> str:
        """Gives a variable a Python name."""
        self.keep.append(var)
        name = self.names[id(var)] = self.fresh(var.name)
        return name

    def constant(self, value: Any, prefix: str = "c") -> str:
        """Puts an object into the program's globals and returns its name."""
        name = f"_{prefix}{len(self.space)}"
        self.space[name] = value
        return name

    def numpy_type(self, dtype: DataType) -> str:
        """The name of the NumPy type of a data type."""
        name = f"_t_{dtype.base}"
        if name not in self.space:
            self.space[name] = dtype.numpy().type
        return name

    def pointer(self, buffer: Var) -> str:
        """Source of the pointer to a buffer's data."""
        self.name(buffer)
        return self.pointers[id(buffer)]

    def callee(self, gvar: GlobalVar) -> str:
        """The name under which another function of the module is called."""
        raise InterpretError(f"{gvar.name_hint} cannot be called here", root=self.root)

    # Driving

    def expr(self, node: Any) -> Val:
        """Compiles an expression of any depth."""
        stack: list[Steps] = [HANDLERS(node, self)]
        result: Any = None
        while stack:
            try:
                wanted = stack[-1].send(result)
            except StopIteration as stop:
                stack.pop()
                result = self.cut(stop.value)
                continue
            if type(wanted) is tuple:
                stack.append(_captured(self, *wanted))
            else:
                stack.append(HANDLERS(wanted, self))
            result = None
        assert result is not None
        return result

    def cut(self, val: Val) -> Val:
        """Stores a deep expression in a variable."""
        if val.depth < MAX_DEPTH:
            return val
        name = self.fresh("t")
        self.emit(f"{name} = {val.src}")
        return Val(name, val.dtype, val.lo, val.hi, val.vec)

    def fit(self, src: str, dtype: DataType, lo: int, hi: int, depth: int) -> Val:
        """A scalar integer wrapped to its type where it may leave the range."""
        low, high = int_range(dtype)
        if lo >= low and hi <= high:
            return Val(src, dtype, lo, hi, depth=depth)
        if dtype.is_bool:
            return Val(f"(({src}) & 1)", dtype, 0, 1, depth=depth + 1)
        mask = (1 << dtype.bits) - 1
        if dtype.is_uint:
            return Val(f"(({src}) & {mask})", dtype, depth=depth + 1)
        half = 1 << (dtype.bits - 1)
        return Val(f"((({src}) + {half} & {mask}) - {half})", dtype, depth=depth + 1)


def _captured(run: ExprCompiler, node: Any, mask: str | None) -> Steps:
    """Compiles a branch; the statements it needs are collected apart in `run.pending`."""
    saved_lines, saved_mask = run.lines, run.mask
    run.lines, run.mask = [], mask
    run.indent += 1
    val = yield node
    run.indent -= 1
    own, run.lines, run.mask = run.lines, saved_lines, saved_mask
    run.pending = own
    return val


HANDLERS = Dispatch("interpreter: expression")


def depth_of(*vals: Val) -> int:
    """The nesting of an expression over compiled operands."""
    return 1 + max(v.depth for v in vals)


@HANDLERS.register(IntImm)
def _int(node: IntImm, run: ExprCompiler) -> Steps:
    return Val(
        f"({node.value})" if node.value < 0 else str(node.value), node.dtype, node.value, node.value
    )
    yield


@HANDLERS.register(FloatImm)
def _float(node: FloatImm, run: ExprCompiler) -> Steps:
    return Val(run.constant(node.dtype.numpy().type(node.value)), node.dtype)
    yield


@HANDLERS.register(StringImm)
def _string(node: StringImm, run: ExprCompiler) -> Steps:
    return Val(repr(node.value), DataType("handle"))
    yield


@HANDLERS.register(Var)
def _var(node: Var, run: ExprCompiler) -> Steps:
    known = run.consts.get(id(node))
    if known is not None:
        return Val(f"({known})" if known < 0 else str(known), node.dtype, known, known)
    lo, hi = run.ranges.get(id(node), (None, None))
    vec = id(node) in run.vector_vars or node.dtype.lanes > 1
    if node.ty.__family__ == "buffer":
        return Val(run.name(node), DataType("handle"))
    return Val(run.name(node), node.dtype, lo, hi, vec)
    yield


def _numbers(a: Val, b: Val) -> tuple[int, int, int, int]:
    assert a.lo is not None
    assert a.hi is not None
    assert b.lo is not None
    assert b.hi is not None
    return a.lo, a.hi, b.lo, b.hi


def _both(node: Any, run: ExprCompiler) -> Generator[Any, Val, tuple[Val, Val]]:
    a = yield node.a
    b = yield node.b
    return a, b


def _add_range(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    return a + c, b + d


def _sub_range(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    return a - d, b - c


def _mul_range(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


_SIMPLE: dict[type, tuple[str, Callable[[int, int, int, int], tuple[int, int]]]] = {
    e.Add: ("+", _add_range),
    e.Sub: ("-", _sub_range),
    e.Mul: ("*", _mul_range),
}


@HANDLERS.register(e.Add, e.Sub, e.Mul)
def _simple(node: Any, run: ExprCompiler) -> Steps:
    a, b = yield from _both(node, run)
    sign, bounds = _SIMPLE[type(node)]
    src = f"({a.src} {sign} {b.src})"
    if node.dtype.is_float:
        return Val(src, node.dtype, vec=a.vec or b.vec, depth=depth_of(a, b))
    lo, hi = bounds(*_numbers(a, b))
    if a.vec or b.vec:
        low, high = int_range(node.dtype.base)
        inside = lo >= low and hi <= high
        if node.dtype.is_bool:
            src = f"(({src}) != 0)" if type(node) is e.Mul else f"np.not_equal({a.src}, {b.src})"
        return Val(src, node.dtype, *((lo, hi) if inside else (low, high)), True, depth_of(a, b))
    return run.fit(src, node.dtype, lo, hi, depth_of(a, b))


def _floor_div_range(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    corners = (a // c, a // d, b // c, b // d)
    return min(corners), max(corners)


_DIVISION = {
    e.FloorDiv: ("//", "floor_div"),
    e.FloorMod: ("%", "floor_mod"),
    e.Div: ("//", "trunc_div"),
    e.Mod: ("%", "trunc_mod"),
}


@HANDLERS.register(e.FloorDiv, e.FloorMod, e.Div, e.Mod)
def _division(node: Any, run: ExprCompiler) -> Steps:
    a, b = yield from _both(node, run)
    sign, function = _DIVISION[type(node)]
    depth = depth_of(a, b)
    if node.dtype.is_float:
        vec = a.vec or b.vec
        if type(node) is e.Div:
            return Val(f"({a.src} / {b.src})", node.dtype, vec=vec, depth=depth)
        function = {"trunc_mod": "np.fmod", "floor_div": "_v.float_floor_div"}.get(
            function, "_v.float_floor_mod"
        )
        return Val(f"{function}({a.src}, {b.src})", node.dtype, vec=vec, depth=depth)
    a0, a1, b0, b1 = _numbers(a, b)
    floors = type(node) in (e.FloorDiv, e.FloorMod)
    easy = b0 > 0 and (floors or a0 >= 0)
    low, high = int_range(node.dtype.base)
    if sign == "//":
        lo, hi = _floor_div_range(a0, a1, b0, b1) if easy else (low, high)
    else:
        lo, hi = (0, b1 - 1) if easy else (low, high)
        if easy and a0 >= 0:
            hi = min(hi, a1)
    if a.vec or b.vec:
        if easy:
            return Val(f"({a.src} {sign} {b.src})", node.dtype, lo, hi, True, depth)
        left = a.src if a.vec else f"np.asarray({a.src}, dtype={run.numpy_type(node.dtype)})"
        right = b.src if b.vec else f"np.asarray({b.src}, dtype={run.numpy_type(node.dtype)})"
        src = f"_v.vec_{function}({left}, {right})"
        return Val(src, node.dtype, lo, hi, True, depth)
    if easy:
        return Val(f"({a.src} {sign} {b.src})", node.dtype, lo, hi, depth=depth)
    return run.fit(f"_v.{function}({a.src}, {b.src})", node.dtype, low, high + 1, depth)


@HANDLERS.register(e.Min, e.Max)
def _extremum(node: Any, run: ExprCompiler) -> Steps:
    a, b = yield from _both(node, run)
    which = "min" if type(node) is e.Min else "max"
    vec = a.vec or b.vec
    pick = min if which == "min" else max
    lo = hi = None
    if not node.dtype.is_float:
        a0, a1, b0, b1 = _numbers(a, b)
        lo, hi = pick(a0, b0), pick(a1, b1)
    if vec:
        src = f"np.{which}imum({a.src}, {b.src})"
    elif node.dtype.is_float:
        src = f"_v.float_{which}({a.src}, {b.src})"
    else:
        src = f"{which}({a.src}, {b.src})"
    return Val(src, node.dtype, lo, hi, vec, depth_of(a, b))


_COMPARE = {e.EQ: "==", e.NE: "!=", e.LT: "<", e.LE: "<=", e.GT: ">", e.GE: ">="}


@HANDLERS.register(*_COMPARE)
def _compare(node: Any, run: ExprCompiler) -> Steps:
    a, b = yield from _both(node, run)
    src = f"({a.src} {_COMPARE[type(node)]} {b.src})"
    return Val(src, node.dtype, 0, 1, a.vec or b.vec, depth_of(a, b))


@HANDLERS.register(e.And, e.Or)
def _logic(node: Any, run: ExprCompiler) -> Steps:
    a, b = yield from _both(node, run)
    sign = "&" if type(node) is e.And else "|"
    return Val(f"({a.src} {sign} {b.src})", node.dtype, 0, 1, a.vec or b.vec, depth_of(a, b))


@HANDLERS.register(e.Not)
def _not(node: e.Not, run: ExprCompiler) -> Steps:
    a = yield node.a
    src = f"np.logical_not({a.src})" if a.vec else f"(not {a.src})"
    return Val(src, node.dtype, 0, 1, a.vec, depth_of(a))


@HANDLERS.register(e.Select)
def _select(node: e.Select, run: ExprCompiler) -> Steps:
    c = yield node.condition
    a = yield node.true_value
    b = yield node.false_value
    vec = c.vec or a.vec or b.vec
    return Val(
        choose(run, c, a, b, node.dtype) if vec else f"_v.select({c.src}, {a.src}, {b.src})",
        node.dtype,
        *hull(a, b),
        vec,
        depth_of(c, a, b),
    )


def choose(run: ExprCompiler, c: Val, a: Val, b: Val, dtype: DataType) -> str:
    """A vector choice; the result keeps the exact type (Python ints are weakly typed)."""
    kind = run.numpy_type(dtype)
    sides = [v.src if v.vec else f"np.asarray({v.src}, dtype={kind})" for v in (a, b)]
    return f"np.where({c.src}, {sides[0]}, {sides[1]})"


def hull(a: Val, b: Val) -> tuple[int | None, int | None]:
    """The smallest range around both values."""
    if a.lo is None or b.lo is None or a.hi is None or b.hi is None:
        return None, None
    return min(a.lo, b.lo), max(a.hi, b.hi)


@HANDLERS.register(e.Cast)
def _cast(node: e.Cast, run: ExprCompiler) -> Steps:
    a = yield node.value
    to, source = node.dtype, a.dtype
    if a.vec:
        kind = run.numpy_type(to)
        low, high = (None, None) if to.is_float else int_range(to.base)
        if low is not None and high is not None and a.lo is not None and a.hi is not None:
            if not source.is_float and low <= a.lo and a.hi <= high:
                low, high = a.lo, a.hi
        return Val(f"_v.cast_vector({a.src}, {kind})", to, low, high, True, depth_of(a))
    if to.is_bool:
        return Val(f"({a.src} != 0)", to, 0, 1, depth=depth_of(a))
    if to.is_float:
        kind = run.numpy_type(to)
        if (
            source.is_float
            or source.is_bool
            or (a.lo is not None and a.lo >= -(2**24) and a.hi is not None and a.hi <= 2**24)
        ):
            return Val(f"{kind}({a.src})", to, depth=depth_of(a))
        exact = "np.uint64" if source.is_uint else "np.int64"
        return Val(f"{exact}({a.src}).astype({kind})", to, depth=depth_of(a) + 1)
    if source.is_float:
        return run.fit(f"_v.float_to_int({a.src})", to, -(1 << 70), 1 << 70, depth_of(a))
    assert a.lo is not None
    assert a.hi is not None
    src = f"int({a.src})" if source.is_bool else a.src
    return run.fit(src, to, a.lo, a.hi, depth_of(a))


@HANDLERS.register(e.Let)
def _let(node: e.Let, run: ExprCompiler) -> Steps:
    value = yield node.value
    name = run.define(node.var)
    run.emit(f"{name} = {value.src}")
    run.ranges[id(node.var)] = (value.lo, value.hi)
    if value.vec:
        run.vector_vars.add(id(node.var))
    return (yield node.body)


def _lanes(value: Any) -> int:
    return int(value)


@HANDLERS.register(e.Ramp)
def _ramp(node: e.Ramp, run: ExprCompiler) -> Steps:
    base = yield node.base
    stride = yield node.stride
    lanes = _lanes(node.lanes)
    src = f"_v.ramp({base.src}, {stride.src}, {lanes}, {run.numpy_type(node.dtype)})"
    lo = hi = None
    if base.lo is not None and stride.lo is not None:
        b0, b1, s0, s1 = _numbers(base, stride)
        low, high = int_range(node.dtype.base)
        first, last = b0 + min(0, s0 * (lanes - 1)), b1 + max(0, s1 * (lanes - 1))
        lo, hi = (first, last) if first >= low and last <= high else (low, high)
    return Val(src, node.dtype, lo, hi, True, depth_of(base, stride))


@HANDLERS.register(e.Broadcast)
def _broadcast(node: e.Broadcast, run: ExprCompiler) -> Steps:
    value = yield node.value
    src = f"_v.broadcast({value.src}, {_lanes(node.lanes)}, {run.numpy_type(node.dtype)})"
    return Val(src, node.dtype, value.lo, value.hi, True, depth_of(value))


@HANDLERS.register(e.Shuffle)
def _shuffle(node: e.Shuffle, run: ExprCompiler) -> Steps:
    parts = []
    for item in node.vectors:
        parts.append((yield item))
    picks = []
    for item in node.indices:
        picks.append((yield item))
    kind = run.numpy_type(node.dtype)
    joined = ", ".join(f"np.atleast_1d(np.asarray({p.src}, dtype={kind}))" for p in parts)
    index = ", ".join(p.src for p in picks)
    src = f"np.concatenate([{joined}])[[{index}]]"
    vec = node.dtype.lanes > 1
    if not vec:
        src = f"_v.scalar({src}[0])"
    return Val(src, node.dtype, vec=vec, depth=depth_of(*parts, *picks))


def index_source(run: ExprCompiler, node: Any, vals: list[Val]) -> tuple[str, bool]:
    """The text of an index tuple with the needed bounds checks; whether it is a vector access."""
    buffer = node.buffer
    shape = run.shapes[id(buffer)]
    vec = any(v.vec for v in vals)
    parts = []
    for dim, (val, extent) in enumerate(zip(vals, shape, strict=True)):
        known = (
            val.lo is not None
            and val.hi is not None
            and extent.lo is not None
            and val.lo >= 0
            and val.hi < extent.lo
        )
        if known:
            parts.append(val.src)
            continue
        site = run.bounds.site(node, buffer, dim, run.root)
        if val.vec or run.mask:
            mask = f", {run.mask}" if run.mask else ""
            parts.append(f"_cv({val.src}, {extent.src}, {site}{mask})")
        else:
            parts.append(f"_ck({val.src}, {extent.src}, {site})")
    if not parts:
        return "()", vec
    return ", ".join(parts), vec


@HANDLERS.register(e.BufferLoad)
def _load(node: e.BufferLoad, run: ExprCompiler) -> Steps:
    vals = []
    for item in node.indices:
        vals.append((yield item))
    name = run.name(node.buffer)
    depth = depth_of(*vals) if vals else 1
    dtype: DataType = node.dtype
    if node.predicate is not None:
        return (yield from _masked_load(node, run, name, vals))
    index, vec = index_source(run, node, vals)
    src = f"{name}[{index}]"
    if not vec and not dtype.is_float and not dtype.is_handle and dtype.lanes == 1:
        src = f"int({src})" if not dtype.is_bool else f"bool({src})"
    return Val(src, dtype, vec=vec, depth=depth + 1)


def _masked_load(node: e.BufferLoad, run: ExprCompiler, name: str, vals: list[Val]) -> Steps:
    predicate = yield node.predicate
    mask = run.fresh("mask")
    run.emit(f"{mask} = {predicate.src}")
    saved, run.mask = run.mask, mask
    index, _ = index_source(run, node, vals)
    run.mask = saved
    kind = run.numpy_type(node.dtype)
    src = f"np.where({mask}, {name}[{index}], np.zeros(1, dtype={kind}))"
    return Val(src, node.dtype, vec=True, depth=2)
