"""Expressions as Python source.

Each handler is a generator: it yields an operand and receives its `Val` (source text, range of an
integer, whether it is a vector). Ranges decide where wrap-around and bounds checks can be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from workbench.core.dispatch import Dispatch
from workbench.ir.expr import Call, FloatImm, GlobalVar, IntImm, Op, StringImm, Var
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

    # Driving

    def expr(self, node: Any) -> Val:
        """Compiles an expression of any depth."""
        stack: list[Steps] = [HANDLERS(node, self)]
        result: Val | None = None
        while stack:
            try:
                wanted = stack[-1].send(result)  # type: ignore[arg-type]
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
    run.pending = own  # type: ignore[attr-defined]
    return val


HANDLERS = Dispatch("interpreter: expression")


def _depth(*vals: Val) -> int:
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
    assert a.lo is not None and a.hi is not None and b.lo is not None and b.hi is not None
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
        return Val(src, node.dtype, vec=a.vec or b.vec, depth=_depth(a, b))
    lo, hi = bounds(*_numbers(a, b))
    if a.vec or b.vec:
        low, high = int_range(node.dtype.base)
        inside = lo >= low and hi <= high
        if node.dtype.is_bool:
            src = f"(({src}) != 0)" if type(node) is e.Mul else f"np.not_equal({a.src}, {b.src})"
        return Val(src, node.dtype, *((lo, hi) if inside else (low, high)), True, _depth(a, b))
    return run.fit(src, node.dtype, lo, hi, _depth(a, b))


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
    depth = _depth(a, b)
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
    return Val(src, node.dtype, lo, hi, vec, _depth(a, b))


_COMPARE = {e.EQ: "==", e.NE: "!=", e.LT: "<", e.LE: "<=", e.GT: ">", e.GE: ">="}


@HANDLERS.register(*_COMPARE)
def _compare(node: Any, run: ExprCompiler) -> Steps:
    a, b = yield from _both(node, run)
    src = f"({a.src} {_COMPARE[type(node)]} {b.src})"
    return Val(src, node.dtype, 0, 1, a.vec or b.vec, _depth(a, b))


@HANDLERS.register(e.And, e.Or)
def _logic(node: Any, run: ExprCompiler) -> Steps:
    a, b = yield from _both(node, run)
    sign = "&" if type(node) is e.And else "|"
    return Val(f"({a.src} {sign} {b.src})", node.dtype, 0, 1, a.vec or b.vec, _depth(a, b))


@HANDLERS.register(e.Not)
def _not(node: e.Not, run: ExprCompiler) -> Steps:
    a = yield node.a
    src = f"np.logical_not({a.src})" if a.vec else f"(not {a.src})"
    return Val(src, node.dtype, 0, 1, a.vec, _depth(a))


@HANDLERS.register(e.Select)
def _select(node: e.Select, run: ExprCompiler) -> Steps:
    c = yield node.condition
    a = yield node.true_value
    b = yield node.false_value
    vec = c.vec or a.vec or b.vec
    return Val(
        _choose(run, c, a, b, node.dtype) if vec else f"_v.select({c.src}, {a.src}, {b.src})",
        node.dtype,
        *_hull(a, b),
        vec,
        _depth(c, a, b),
    )


def _choose(run: ExprCompiler, c: Val, a: Val, b: Val, dtype: DataType) -> str:
    """A vector choice; the result keeps the exact type (Python ints are weakly typed)."""
    kind = run.numpy_type(dtype)
    sides = [v.src if v.vec else f"np.asarray({v.src}, dtype={kind})" for v in (a, b)]
    return f"np.where({c.src}, {sides[0]}, {sides[1]})"


def _hull(a: Val, b: Val) -> tuple[int | None, int | None]:
    if a.lo is None or b.lo is None or a.hi is None or b.hi is None:
        return None, None
    return min(a.lo, b.lo), max(a.hi, b.hi)


@HANDLERS.register(e.Cast)
def _cast(node: e.Cast, run: ExprCompiler) -> Steps:
    a = yield node.value
    to, source = node.dtype, a.dtype
    if a.vec:
        kind = run.numpy_type(to)
        inside = a.lo is not None and not to.is_float and not source.is_float
        low, high = (None, None) if to.is_float else int_range(to.base)
        if inside and low is not None and high is not None and low <= a.lo and a.hi <= high:  # type: ignore[operator]
            low, high = a.lo, a.hi
        return Val(f"_v.cast_vector({a.src}, {kind})", to, low, high, True, _depth(a))
    if to.is_bool:
        return Val(f"({a.src} != 0)", to, 0, 1, depth=_depth(a))
    if to.is_float:
        kind = run.numpy_type(to)
        if (
            source.is_float
            or source.is_bool
            or (a.lo is not None and a.lo >= -(2**24) and a.hi is not None and a.hi <= 2**24)
        ):
            return Val(f"{kind}({a.src})", to, depth=_depth(a))
        exact = "np.uint64" if source.is_uint else "np.int64"
        return Val(f"{exact}({a.src}).astype({kind})", to, depth=_depth(a) + 1)
    if source.is_float:
        return run.fit(f"_v.float_to_int({a.src})", to, -(1 << 70), 1 << 70, _depth(a))
    assert a.lo is not None and a.hi is not None
    src = f"int({a.src})" if source.is_bool else a.src
    return run.fit(src, to, a.lo, a.hi, _depth(a))


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
    return Val(src, node.dtype, lo, hi, True, _depth(base, stride))


@HANDLERS.register(e.Broadcast)
def _broadcast(node: e.Broadcast, run: ExprCompiler) -> Steps:
    value = yield node.value
    src = f"_v.broadcast({value.src}, {_lanes(node.lanes)}, {run.numpy_type(node.dtype)})"
    return Val(src, node.dtype, value.lo, value.hi, True, _depth(value))


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
    return Val(src, node.dtype, vec=vec, depth=_depth(*parts, *picks))


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
    depth = _depth(*vals) if vals else 1
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


# Calls


@HANDLERS.register(Call)
def _call(node: Call, run: ExprCompiler) -> Steps:
    if isinstance(node.op, GlobalVar):
        return (yield from _call_function(node, run))
    assert isinstance(node.op, Op)
    special = CALLS.get(node.op.name)
    if special is not None:
        return (yield from special(node, run))
    meaning = node.op.attr("numpy")
    if meaning is None:
        raise InterpretError(
            f"the interpreter has no meaning for {node.op.name}", nodes=(node,), root=run.root
        )
    vals = []
    for item in node.args:
        vals.append((yield item))
    name = f"_op_{node.op.name.replace('.', '_')}"
    run.space.setdefault(name, meaning)
    vec = any(v.vec for v in vals)
    args = []
    for val in vals:
        exact = not val.vec and not val.dtype.is_float and not val.dtype.is_handle
        args.append(f"{run.numpy_type(val.dtype)}({val.src})" if exact else val.src)
    src = f"{name}({', '.join(args)})"
    if not vec and not node.dtype.is_float:
        src = f"bool({src})" if node.dtype.is_bool else f"int({src})"
    return Val(src, node.dtype, vec=vec, depth=_depth(*vals) + 1)


def _if_then_else(node: Call, run: ExprCompiler) -> Steps:
    condition = yield node.args[0]
    if condition.vec:
        return (yield from _masked_choice(node, run, condition))
    a = yield (node.args[1], run.mask)
    lines_a = run.pending  # type: ignore[attr-defined]
    b = yield (node.args[2], run.mask)
    lines_b = run.pending  # type: ignore[attr-defined]
    hull = _hull(a, b)
    vec = a.vec or b.vec
    kind = run.numpy_type(node.dtype) if vec else ""
    sides = [v.src if v.vec or not vec else f"np.asarray({v.src}, dtype={kind})" for v in (a, b)]
    if not lines_a and not lines_b:
        src = f"({sides[0]} if {condition.src} else {sides[1]})"
        return Val(src, node.dtype, *hull, vec, _depth(condition, a, b))
    name = run.fresh("t")
    run.emit(f"if {condition.src}:")
    run.lines.extend(lines_a)
    run.emit(f"    {name} = {sides[0]}")
    run.emit("else:")
    run.lines.extend(lines_b)
    run.emit(f"    {name} = {sides[1]}")
    return Val(name, node.dtype, *hull, vec)


def _masked_choice(node: Call, run: ExprCompiler, condition: Val) -> Steps:
    """A vector condition: both sides are evaluated, loads only in the lanes that choose them."""
    yes, no = run.fresh("mask"), run.fresh("mask")
    outer = f" & {run.mask}" if run.mask else ""
    run.emit(f"{yes} = ({condition.src}){outer}")
    run.emit(f"{no} = np.logical_not({condition.src}){outer}")
    sides = []
    for item, mask in ((node.args[1], yes), (node.args[2], no)):
        val = yield (item, mask)
        run.lines.extend(line[4:] for line in run.pending)  # type: ignore[attr-defined]
        sides.append(val)
    a, b = sides
    src = _choose(run, Val(yes, DataType("bool"), vec=True), a, b, node.dtype)
    return Val(src, node.dtype, *_hull(a, b), True, _depth(a, b))


def _reinterpret(node: Call, run: ExprCompiler) -> Steps:
    a = yield node.args[0]
    if node.dtype.is_handle or a.dtype.is_handle:
        return Val(a.src, node.dtype, depth=a.depth)
    source, target = run.numpy_type(a.dtype), run.numpy_type(node.dtype)
    return Val(f"_v.bitcast({a.src}, {source}, {target})", node.dtype, vec=a.vec, depth=_depth(a))


def _buffer_data(node: Call, run: ExprCompiler) -> Steps:
    buffer = node.args[0]
    assert isinstance(buffer, Var)
    return Val(run.pointer(buffer), DataType("handle"))  # type: ignore[attr-defined]
    yield


def _address_of(node: Call, run: ExprCompiler) -> Steps:
    load = node.args[0]
    if not isinstance(load, e.BufferLoad):
        raise InterpretError("the address of a scalar has no meaning here", nodes=(node,))
    vals = []
    for item in load.indices:
        vals.append((yield item))
    name = run.name(load.buffer)
    pointer = run.pointer(load.buffer)  # type: ignore[attr-defined]
    terms = [f"({v.src}) * {name}.strides[{k}]" for k, v in enumerate(vals)]
    offset = run.offsets.get(id(load.buffer), "0")  # type: ignore[attr-defined]
    moved = " + ".join([f"{offset} * {name}.itemsize", *terms])
    return Val(f"{pointer}.moved({moved})", DataType("handle"), depth=3)


def _add_byte_offset(node: Call, run: ExprCompiler) -> Steps:
    a = yield node.args[0]
    b = yield node.args[1]
    return Val(f"{a.src}.moved({b.src})", DataType("handle"), depth=_depth(a, b))


def _access_ptr(node: Call, run: ExprCompiler) -> Steps:
    pointer = yield node.args[1]
    offset = yield node.args[2]
    size = node.args[0].dtype.itemsize
    src = f"{pointer.src}.moved(({offset.src}) * {size})"
    return Val(src, DataType("handle"), depth=_depth(pointer, offset))


def _isnull(node: Call, run: ExprCompiler) -> Steps:
    a = yield node.args[0]
    return Val(f"({a.src} is None)", node.dtype, 0, 1, depth=_depth(a))


def _undef(node: Call, run: ExprCompiler) -> Steps:
    return Val("0", node.dtype, 0, 0)
    yield


def _large_uint(node: Call, run: ExprCompiler) -> Steps:
    low = yield node.args[0]
    high = yield node.args[1]
    return Val(f"(({high.src} << 32) + {low.src})", node.dtype, depth=_depth(low, high))


def _packed(node: Call, run: ExprCompiler) -> Steps:
    first = node.args[0]
    assert isinstance(first, StringImm)
    args = []
    for item in node.args[1:]:
        args.append((yield item))
    from workbench.runtime.function import get_global_func

    name = run.constant(get_global_func(first.value), "packed")
    return Val(f"{name}({', '.join(a.src for a in args)})", node.dtype, depth=3)


def _call_function(node: Call, run: ExprCompiler) -> Steps:
    args = []
    for item in node.args:
        if isinstance(item, Var) and item.ty.__family__ == "buffer":
            args.append(Val(run.name(item), DataType("handle")))
        else:
            args.append((yield item))
    assert isinstance(node.op, GlobalVar)
    name = run.callee(node.op, node)  # type: ignore[attr-defined]
    return Val(
        f"{name}({', '.join(a.src for a in args)})",
        node.ty.dtype if hasattr(node.ty, "dtype") else DataType("void"),
        depth=3,
    )


def _unsupported(why: str) -> Callable[[Call, ExprCompiler], Steps]:
    def fail(node: Call, run: ExprCompiler) -> Steps:
        assert isinstance(node.op, Op)
        raise InterpretError(f"{node.op.name}: {why}", nodes=(node,), root=run.root)
        yield

    return fail


_THREADS = "threads run one after another here, so exchange among them has no meaning"
CALLS: dict[str, Callable[[Call, ExprCompiler], Steps]] = {
    "tirx.if_then_else": _if_then_else,
    "tirx.reinterpret": _reinterpret,
    "tirx.buffer_data": _buffer_data,
    "tirx.address_of": _address_of,
    "tirx.handle_add_byte_offset": _add_byte_offset,
    "tirx.tvm_access_ptr": _access_ptr,
    "tirx.isnullptr": _isnull,
    "tirx.undef": _undef,
    "tirx.large_uint_imm": _large_uint,
    "tirx.tvm_call_packed": _packed,
    "tirx.tvm_call_cpacked": _packed,
    "tirx.tvm_storage_sync": _unsupported(_THREADS),
    "tirx.tvm_thread_allreduce": _unsupported(_THREADS),
    "tirx.call_extern": _unsupported("an external function has no meaning in NumPy"),
    "tirx.call_pure_extern": _unsupported("an external function has no meaning in NumPy"),
}
