"""The functions of `T` that make statements, buffers and blocks while a script is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Op, Range, StringImm, Var, as_expr
from workbench.ir.type import PointerType, TupleType, Type, as_type
from workbench.script.error import ScriptError
from workbench.target import Target
from workbench.tirx import expr as nodes
from workbench.tirx import op
from workbench.tirx import stmt as S
from workbench.tirx.buffer import BufferType
from workbench.tirx.expr import BufferLoad, CommReducer, IterVar
from workbench.tirx.function import IndexMap
from workbench.tirx.script.state import BlockState, find_state, sequence, state
from workbench.tirx.script.values import (
    BufferSpec,
    Frame,
    FreeBuffer,
    LoopFrame,
    MetaVar,
    Pending,
    Scalar,
    region_of,
    type_of,
    value_of,
)

# Buffers


def Buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    layout: Any = None,
    allocated_addr: Any = (),
) -> FreeBuffer:
    """A buffer parameter (as an annotation) or a buffer from outside (`A = T.Buffer(...)`)."""
    return FreeBuffer(
        BufferSpec(
            shape,
            dtype,
            strides=strides,
            elem_offset=elem_offset,
            scope=scope,
            align=align,
            offset_factor=offset_factor,
            layout=plain_layout(layout),
            allocated_addr=allocated_addr,
        )
    )


def plain_layout(layout: Any) -> Any:
    """A layout; the row-major one that TVM writes for every buffer is no layout here."""
    return None if isinstance(layout, TileLayout) and layout.is_row_major() else layout


class TileLayout:
    """`T.TileLayout(T.S[shape:strides])`, as TVM writes it; only the row-major one is known."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def is_row_major(self) -> bool:
        """Whether the strides are those of a compact row-major buffer."""
        from workbench.core.structural import structural_equal

        shape, strides = self.spec
        expected: Any = 1
        for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
            found, want = as_expr(stride), as_expr(expected)
            same = found.dtype == want.dtype and structural_equal(found, want)
            if not same and getattr(found, "value", found) != getattr(want, "value", want):
                return False
            expected = (
                as_expr(extent) * expected
                if not isinstance(expected, int)
                else (extent * expected if isinstance(extent, int) else as_expr(extent) * expected)
            )
        return True


class LayoutWord:
    """`T.S[(4, m):(m, 1)]`: shape and strides of a layout."""

    def __getitem__(self, item: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        if isinstance(item, slice):
            start = item.start if isinstance(item.start, tuple) else (item.start,)
            stop = item.stop if isinstance(item.stop, tuple) else (item.stop,)
            return start, stop
        raise ScriptError("only layouts of the form T.S[shape:strides] are known")


class _Made(Pending):
    """A buffer that is defined by a statement or belongs to a block."""

    def __init__(self, spec: BufferSpec, place: Callable[[Var], Any]) -> None:
        self.spec = spec
        self.place = place

    def bind(self, name: str) -> Any:
        buffer = self.spec.make(name, state("a buffer").resolve)
        self.place(buffer)
        return buffer


def alloc_buffer(
    shape: Any,
    dtype: Any = "float32",
    scope: str = "global",
    *,
    strides: Any = None,
    elem_offset: Any = None,
    align: int = -1,
    offset_factor: int = 0,
    annotations: Mapping[str, Any] | None = None,
    layout: Any = None,
    allocated_addr: Any = (),
    data: Any = None,
) -> Pending:
    """Allocates a buffer for the statements that follow."""
    if data is not None:
        raise ScriptError("alloc_buffer has no data", hint="T.decl_buffer(shape, data=...)")
    spec = BufferSpec(
        shape,
        dtype,
        strides=strides,
        elem_offset=elem_offset,
        scope=scope,
        align=align,
        offset_factor=offset_factor,
        layout=plain_layout(layout),
        allocated_addr=allocated_addr,
    )
    here = state("T.alloc_buffer")
    return _Made(spec, lambda b: here.emit(S.AllocBuffer(b, dict(annotations or {}))))


def alloc_local(shape: Any, dtype: Any = "float32", **options: Any) -> Pending:
    """`T.alloc_buffer` in local memory."""
    return alloc_buffer(shape, dtype, "local", **options)


def alloc_shared(shape: Any, dtype: Any = "float32", **options: Any) -> Pending:
    """`T.alloc_buffer` in shared memory."""
    return alloc_buffer(shape, dtype, "shared", **options)


_NO_DATA = object()


def decl_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = _NO_DATA,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    layout: Any = None,
    allocated_addr: Any = (),
) -> Pending:
    """A buffer over the memory that `data` points to; without `data`, an allocation."""
    if data is _NO_DATA:
        return alloc_buffer(
            shape,
            dtype,
            scope,
            strides=strides,
            elem_offset=elem_offset,
            align=align,
            offset_factor=offset_factor,
            layout=layout,
            allocated_addr=allocated_addr,
        )
    pointer = None if data is None else value_of(data)
    if pointer is not None and scope == "global" and isinstance(pointer.ty, PointerType):
        scope = pointer.ty.storage_scope or scope
    spec = BufferSpec(
        shape,
        dtype,
        strides=strides,
        elem_offset=elem_offset,
        scope=scope,
        align=align,
        offset_factor=offset_factor,
        layout=plain_layout(layout),
        allocated_addr=allocated_addr,
    )
    here = state("T.decl_buffer")
    return _Made(spec, lambda b: here.emit(S.DeclBuffer(b, pointer)))


def view_of(buffer: Var, shape: Sequence[Any]) -> Pending:
    """`A.view(16, 4)`: a buffer of another shape over the same memory."""
    dims = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return decl_buffer(dims, str(buffer.dtype), op.buffer_data(buffer), scope=buffer.scope())


def sblock_alloc_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    layout: Any = None,
    allocated_addr: Any = (),
) -> Pending:
    """A buffer that the innermost block (or the function's root block) allocates."""
    spec = BufferSpec(
        shape,
        dtype,
        strides=strides,
        elem_offset=elem_offset,
        scope=scope,
        align=align,
        offset_factor=offset_factor,
        layout=plain_layout(layout),
        allocated_addr=allocated_addr,
    )
    here = state("T.sblock_alloc_buffer")
    place = here.blocks[-1].allocations if here.blocks else here.root_allocations
    return _Made(spec, place.append)


def match_buffer(
    param: Any,
    shape: Any = None,
    dtype: Any = None,
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "",
    align: int = -1,
    offset_factor: int = 0,
    layout: Any = None,
    allocated_addr: Any = (),
) -> Pending:
    """A buffer for a parameter of type `T.handle`, or a view of a region inside a block."""
    here = state("T.match_buffer")
    is_param = any(param is p for p in here.params)
    region = None if is_param else region_of(param)
    if shape is None:
        if region is None:
            raise ScriptError("T.match_buffer: the shape of a parameter has to be given")
        shape = [r.extent for r in region.region]
    if dtype is None:
        dtype = "float32" if region is None else str(region.buffer.dtype)
    if not scope:
        scope = "global" if region is None else region.buffer.scope()
    spec = BufferSpec(
        shape,
        dtype,
        strides=strides,
        elem_offset=elem_offset,
        scope=scope,
        align=align,
        offset_factor=offset_factor,
        layout=plain_layout(layout),
        allocated_addr=allocated_addr,
    )
    if is_param:

        def replace(buffer: Var) -> None:
            here.params[:] = [buffer if p is param else p for p in here.params]

        return _Made(spec, replace)
    assert region is not None
    block = here.block("T.match_buffer")
    return _Made(spec, lambda b: block.matches.append(S.MatchBufferRegion(b, region)))


def scalar(name: str, ty: Any, value: Any = None) -> Scalar:
    """`x: T.int32 = value`: one element of local memory, written as a variable."""
    here = state("a scalar variable")
    dtype = str(type_of(ty).dtype)  # type: ignore[attr-defined]
    made = BufferSpec((1,), dtype, scope="local").make(name, here.resolve)
    here.emit(S.AllocBuffer(made))
    if value is not None:
        here.emit(store(made, (0,), value))
    return Scalar(made)


def store(buffer: Var, indices: Sequence[Any], value: Any, predicate: Any = None) -> S.BufferStore:
    """`buffer[indices] = value`; a Python number takes the type of the buffer."""
    exprs = [value_of(i) for i in indices]
    want = nodes.loaded_type(buffer, exprs)
    if isinstance(value, (int, float)):
        value = op.const(value, want.dtype)
    else:
        value = value_of(value)
        if value.ty != want:
            value = op.cast(want.dtype, value)
    return S.BufferStore(buffer, value, exprs, predicate)


# Simple statements


def evaluate(value: Any) -> None:
    """Evaluates an expression for its effect."""
    state("T.evaluate").emit(S.Evaluate(value_of(value)))


class Bound(Pending):
    """`x = T.bind(value)`."""

    def __init__(self, value: Any, ty: Type | None) -> None:
        self.ty = ty
        self.value = value_for(value, ty)

    def bind(self, name: str) -> Var:
        var = Var(name, self.value.ty if self.ty is None else self.ty)
        state("T.bind").emit(S.Bind(var, self.value))
        return var


def value_for(value: Any, ty: Type | None) -> Expr:
    """A value; a Python number takes the wanted type."""
    if isinstance(value, (int, float)) and ty is not None and hasattr(ty, "dtype"):
        return op.const(value, ty.dtype)  # type: ignore[attr-defined]
    return value_of(value)


def bind(value: Any, type_annotation: Any = None, *, var: Any = None) -> Pending:
    """A variable with a value, visible in the statements that follow."""
    return Bound(value, None if type_annotation is None else type_of(type_annotation))


def buffer_store(buffer: Any, value: Any, indices: Sequence[Any], predicate: Any = None) -> None:
    """`buffer[indices] = value`."""
    state("T.buffer_store").emit(store(buffer, indices, value, predicate))


def Break() -> None:
    """Leaves the innermost loop."""
    state("T.Break").emit(S.Break())


def Continue() -> None:
    """Goes on with the next turn of the innermost loop."""
    state("T.Continue").emit(S.Continue())


def Return(value: Any) -> None:
    """Returns from the function."""
    state("T.Return").emit(S.Return(value_of(value)))


def add_to_parent(stmt: S.Stmt) -> None:
    """Adds a finished statement."""
    state("T.add_to_parent").emit(stmt)


def assertion(condition: Any, kind: Any, parts: Any) -> S.AssertStmt:
    """An assertion with the kind of its error and the parts of its message."""
    pieces = list(parts) if isinstance(parts, (list, tuple)) else [parts]
    texts = tuple(p if isinstance(p, StringImm) else StringImm(str(p)) for p in pieces)
    error = kind if isinstance(kind, StringImm) else StringImm(str(kind))
    return S.AssertStmt(error, value_of(condition), texts)


def Assert(condition: Any, message: Any, error_kind: str = "RuntimeError") -> None:
    """An assertion."""
    state("T.Assert").emit(assertion(condition, error_kind, message))


# Loops


def _range(start: Any, stop: Any) -> tuple[Any, Any]:
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
    from workbench.core.structural import structural_equal

    if isinstance(high, nodes.Add) and structural_equal(high.a, low):
        return high.b
    return op.subtract(high, low)


def grid(*extents: Any) -> LoopFrame:
    """Serial loops, one in the other; an extent may be a pair (start, stop)."""
    return LoopFrame([_range(*e) if isinstance(e, tuple) else _range(e, None) for e in extents])


def _loop(kind: S.ForKind, doc: str) -> Callable[..., LoopFrame]:
    def make(
        start: Any,
        stop: Any = None,
        *,
        annotations: Mapping[str, Any] | None = None,
        step: Any = None,
        thread: Any = None,
        unroll: bool | None = None,
    ) -> LoopFrame:
        notes = dict(annotations or {})
        if unroll is not None:
            notes["disable_unroll" if unroll is False else "pragma_unroll"] = True
        return LoopFrame([_range(start, stop)], kind, thread=thread, annotations=notes, step=step)

    make.__doc__ = doc
    make.__name__ = kind.name.lower()
    return make


serial = _loop(S.ForKind.SERIAL, "A loop whose turns run one after another.")
parallel = _loop(S.ForKind.PARALLEL, "A loop whose turns run on several threads.")
vectorized = _loop(S.ForKind.VECTORIZED, "A loop that becomes vector instructions.")
unroll = _loop(S.ForKind.UNROLLED, "A loop that is unrolled.")


def thread_binding(
    start: Any,
    stop: Any = None,
    thread: Any = None,
    *,
    annotations: Mapping[str, Any] | None = None,
    step: Any = None,
) -> LoopFrame:
    """A loop whose turns are the threads of an axis such as "threadIdx.x"."""
    if thread is None:
        if not isinstance(stop, str):
            raise ScriptError(
                "T.thread_binding: the thread is missing",
                hint='T.thread_binding(8, thread="threadIdx.x")',
            )
        stop, thread = None, stop
    return LoopFrame(
        [_range(start, stop)],
        S.ForKind.THREAD_BINDING,
        thread=thread,
        annotations=annotations,
        step=step,
    )


# Attributes and threads


class AttrFrame(Frame):
    """`T.attr(node, key, value)`: the statements inside have an attribute."""

    def __init__(self, entries: Sequence[tuple[Any, str, Any]]) -> None:
        self.entries = list(entries)

    def leave(self, body: list[S.Stmt]) -> S.Stmt:
        out = sequence(body)
        for node, key, value in reversed(self.entries):
            out = S.AttrStmt(node, key, value_of(value), out)
        return out


def attr(node_or_dict: Any, attr_key: str | None = None, value: Any = None) -> AttrFrame:
    """An attribute of the statements inside (or of all that follow)."""
    if isinstance(node_or_dict, Mapping):
        return AttrFrame([(0, k, v) for k, v in node_or_dict.items()])
    if attr_key is None:
        raise ScriptError("T.attr: the key is missing", hint='T.attr(node, "key", value)')
    node = node_or_dict
    if isinstance(node, MetaVar):
        node = node.value
    elif isinstance(node, Scalar):
        node = node.buffer
    elif isinstance(node, (int, float, str)):
        node = as_expr(node)
    return AttrFrame([(node, attr_key, value)])


class LaunchFrame(Frame):
    """`T.launch_thread("blockIdx.x", 8)`: the statements inside run on the threads of an axis."""

    def __init__(self, thread: Any, extent: Any) -> None:
        self.extent = value_of(extent)
        self.known: IterVar | None = None
        if isinstance(thread, str):
            self.tag = thread
            self.alias = _ThreadVar(self)
        else:
            here = state("T.launch_thread")
            var = thread.var if isinstance(thread, IterVar) else thread
            found = here.threads.get(id(var))
            if found is None:
                raise ScriptError("T.launch_thread: expected the name of a thread axis")
            self.known = found
            self.tag = found.thread_tag
        self.var: Var | None = None

    def make(self, name: str) -> Var:
        """The thread variable."""
        self.var = Var(name, self.extent.dtype)
        axis = IterVar(Range(self.extent), self.var, IterVar.ThreadIndex, self.tag)
        here = state("T.launch_thread")
        here.threads[id(self.var)] = axis
        here.keep.append(self.var)
        return self.var

    def leave(self, body: list[S.Stmt]) -> S.Stmt:
        var = self.known.var if self.known is not None else self.var
        if var is None:
            var = Var(self.tag.replace(".", "_"), self.extent.dtype)
        axis = IterVar(Range(self.extent), var, IterVar.ThreadIndex, self.tag)
        key = "virtual_thread" if self.tag == "vthread" else "thread_extent"
        return S.AttrStmt(axis, key, self.extent, sequence(body))


class _ThreadVar(Pending):
    def __init__(self, frame: LaunchFrame) -> None:
        self.frame = frame

    def bind(self, name: str) -> Var:
        return self.frame.make(name)


def launch_thread(thread: Any, extent: Any) -> LaunchFrame:
    """The statements inside run on `extent` threads of an axis."""
    return LaunchFrame(thread, extent)


class _EnvThread(Pending):
    def __init__(self, tag: str, dtype: str) -> None:
        self.tag = tag
        self.dtype = dtype

    def bind(self, name: str) -> Var:
        var = Var(name, self.dtype)
        here = state("T.env_thread")
        here.threads[id(var)] = IterVar(None, var, IterVar.ThreadIndex, self.tag)
        here.keep.append(var)
        return var


def env_thread(thread_tag: str, dtype: str = "int32") -> Pending:
    """The variable of a thread axis, launched later."""
    return _EnvThread(thread_tag, dtype)


# Branches with `with`


class IfFrame(Frame):
    """`with T.If(condition):` around `with T.Then():` and `with T.Else():`."""

    def __init__(self, condition: Any) -> None:
        self.condition = value_of(condition)
        self.branches: dict[str, S.Stmt] = {}

    def enter(self) -> None:
        state("T.If").if_frames.append(self)

    def leave(self, body: list[S.Stmt]) -> S.Stmt:
        state("T.If").if_frames.pop()
        if "then" not in self.branches:
            raise ScriptError("T.If: `with T.Then():` is missing")
        return S.IfThenElse(self.condition, self.branches["then"], self.branches.get("else"))


class _BranchFrame(Frame):
    def __init__(self, which: str) -> None:
        self.which = which

    def leave(self, body: list[S.Stmt]) -> None:
        frames = state("T.Then").if_frames
        if not frames:
            raise ScriptError("T.Then and T.Else stand inside of `with T.If(condition):`")
        frames[-1].branches[self.which] = sequence(body)


def If(condition: Any) -> IfFrame:
    """A branch; Python's `if` is the usual form."""
    return IfFrame(condition)


def Then() -> Frame:
    """The statements of `T.If` where the condition holds."""
    return _BranchFrame("then")


def Else() -> Frame:
    """The statements of `T.If` where it does not."""
    return _BranchFrame("else")


class WhileFrame(Frame):
    """`with T.While(condition):`"""

    def __init__(self, condition: Any) -> None:
        self.condition = value_of(condition)

    def leave(self, body: list[S.Stmt]) -> S.Stmt:
        return S.While(self.condition, sequence(body))


def While(condition: Any) -> Frame:
    """A loop; Python's `while` is the usual form."""
    return WhileFrame(condition)


# Blocks


class BlockFrame(Frame):
    """`with T.sblock("name"):`"""

    def __init__(self, name: str, no_realize: bool) -> None:
        self.block = BlockState(name, not no_realize)

    def enter(self) -> None:
        state("T.sblock").blocks.append(self.block)

    def leave(self, body: list[S.Stmt]) -> S.Stmt:
        state("T.sblock").blocks.pop()
        return self.block.finish(sequence(body))


def sblock(name: str = "", no_realize: bool = False, exec_scope: str = "") -> Frame:
    """A block: a unit of computation with axes of its own."""
    if exec_scope:
        raise ScriptError("execution scopes of tile programs are not supported")
    return BlockFrame(name, no_realize)


class InitFrame(Frame):
    """`with T.init():`"""

    def leave(self, body: list[S.Stmt]) -> None:
        block = state("T.init").block("T.init")
        if block.init is not None:
            raise ScriptError("a block has one `with T.init():`")
        block.init = sequence(body)


def init() -> Frame:
    """What a block does where its reduction starts."""
    return InitFrame()


def _flat(items: Sequence[Any]) -> list[Any]:
    out: list[Any] = []
    for item in items:
        out.extend(item if isinstance(item, (list, tuple)) else [item])
    return out


def reads(*buffer_slices: Any) -> None:
    """The regions that a block reads."""
    block = state("T.reads").block("T.reads")
    block.reads = [*(block.reads or []), *map(region_of, _flat(buffer_slices))]


def writes(*buffer_slices: Any) -> None:
    """The regions that a block writes."""
    block = state("T.writes").block("T.writes")
    block.writes = [*(block.writes or []), *map(region_of, _flat(buffer_slices))]


def where(predicate: Any) -> None:
    """The condition under which a block runs."""
    block = state("T.where").block("T.where")
    block.predicate = (
        IntImm("bool", predicate) if isinstance(predicate, (bool, int)) else (value_of(predicate))
    )


def sblock_attr(attrs: Mapping[str, Any]) -> None:
    """Annotations of a block."""
    block = state("T.sblock_attr").block("T.sblock_attr")
    for key, value in attrs.items():
        if key in block.annotations:
            raise ScriptError(f"the block has the annotation {key!r} already")
        block.annotations[key] = value


class _Axis(Pending):
    def __init__(self, kind: int, dom: Range, binding: Any, dtype: str) -> None:
        self.kind = kind
        self.dom = dom
        self.binding = binding
        self.dtype = dtype

    def bind(self, name: str) -> Var:
        here = state("T.axis")
        block = here.block("T.axis")
        if block.realize and self.binding is None:
            raise ScriptError(f"the axis {name} needs the value it is bound to")
        var = Var(name, self.dtype)
        block.axes.append(IterVar(self.dom, var, self.kind))
        if self.binding is not None:
            value = self.binding
            if isinstance(value, (int, float)):
                value = op.const(value, self.dtype)
            block.values.append(value_of(value))
        return var


class Axis:
    """`T.axis`: the axes of a block."""

    __script_namespace__ = True

    @staticmethod
    def _make(kind: int, dom: Any, binding: Any, dtype: Any) -> Pending:
        if isinstance(dom, Range):
            low, extent = dom.min, dom.extent
        else:
            low, extent = _range(*dom) if isinstance(dom, (tuple, list)) else _range(dom, None)
        domain = Range.from_min_extent(low, extent)
        return _Axis(kind, domain, binding, str(extent.dtype if dtype is None else dtype))

    @staticmethod
    def spatial(dom: Any, binding: Any = None, dtype: Any = None) -> Pending:
        """An axis whose turns are independent."""
        return Axis._make(0, dom, binding, dtype)

    @staticmethod
    def reduce(dom: Any, binding: Any = None, dtype: Any = None) -> Pending:
        """An axis over which a value is accumulated."""
        return Axis._make(2, dom, binding, dtype)

    @staticmethod
    def scan(dom: Any, binding: Any = None, dtype: Any = None) -> Pending:
        """An axis whose turns are in order."""
        return Axis._make(3, dom, binding, dtype)

    @staticmethod
    def opaque(dom: Any, binding: Any = None, dtype: Any = None) -> Pending:
        """An axis of which nothing is known."""
        return Axis._make(4, dom, binding, dtype)

    S = spatial
    R = reduce

    @staticmethod
    def remap(kinds: str, bindings: Sequence[Any], dtype: Any = None) -> Any:
        """Axes with the domains of the loops they are bound to; `kinds` is a text of S and R."""
        here = state("T.axis.remap")
        if len(kinds) != len(bindings):
            raise ScriptError(f"T.axis.remap: {len(kinds)} kinds but {len(bindings)} loops")
        out = []
        for kind, binding in zip(kinds, bindings, strict=True):
            if kind not in "SR":
                raise ScriptError(f"T.axis.remap: expected S or R, got {kind!r}")
            loop = here.loops.get(id(binding))
            if loop is None:
                raise ScriptError(
                    "T.axis.remap: expected loop variables",
                    hint="T.axis.spatial(extent, value) takes any value",
                )
            dom = Range.from_min_extent(*loop)
            out.append(_Axis(0 if kind == "S" else 2, dom, binding, str(loop[1].dtype)))
        return out if len(out) != 1 else out[0]


# Functions


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Attributes of the function."""
    state("T.func_attr").attrs.update(attrs)


def func_name(name: str) -> None:
    """The name of the function."""
    state("T.func_name").name = name


def func_ret(ret_type: Any) -> None:
    """The type that the function returns."""
    state("T.func_ret").ret_type = None if ret_type is None else type_of(ret_type)


def arg(name: str, obj: Any) -> Any:
    """Adds a parameter."""
    here = state("T.arg")
    value = obj.bind(name) if isinstance(obj, Pending) else obj
    here.params.append(value)
    return value


# Expressions


def _exact(cls: type, name: str) -> Callable[[Any, Any], Expr]:
    def build(a: Any, b: Any, span: Any = None) -> Expr:
        return cls(*op.match_types(name, _plain(a, b), _plain(b, a)))

    build.__doc__ = f"The node `{cls.__name__}`, not simplified."
    build.__name__ = cls.__name__
    return build


def _plain(value: Any, other: Any) -> Any:
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
        "Select", _plain(true_value, false_value), _plain(false_value, true_value)
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
    low, step = op.match_types("Ramp", _plain(base, stride), _plain(stride, base))
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
    x, y = op.match_types(name, _plain(a, b), _plain(b, a))
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
    return CommReducer(variables[:count], variables[count:], results, starts)


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
    var = v.bind("v") if isinstance(v, Pending) else v
    return IterVar(dom, var, kinds.index(iter_type), thread_tag)


def make_range(begin: Any, end: Any = None) -> Range:
    """The interval [begin, end)."""
    return Range.from_min_extent(*_range(begin, end))


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


def Range_(begin: Any, end: Any = None) -> Range:
    """The interval [begin, end)."""
    return make_range(begin, end)


def tuple_type(*fields: Any) -> Type:
    """The type of a tuple."""
    return TupleType(tuple(type_of(f) for f in fields))


def pointer(dtype: Any, storage_scope: str = "global") -> Type:
    """The type of a pointer."""
    return PointerType(as_type(dtype) if isinstance(dtype, str) else type_of(dtype), storage_scope)


def call_global(callee: GlobalVar, args: Sequence[Any]) -> Expr:
    """A call of another function of the module."""
    return op.call_tir(callee, *[a if isinstance(a, Var) else value_of(a) for a in args])


def is_buffer(value: Any) -> bool:
    """Whether a value is a buffer variable."""
    return isinstance(value, Var) and isinstance(value.ty, BufferType)


def static_assert(x: Any, message: str = "") -> None:
    """Fails while reading unless `x` holds."""
    if not x:
        raise ScriptError(f"static_assert failed{': ' + message if message else ''}")


def in_function() -> bool:
    """Whether a function is being read."""
    return find_state() is not None
