"""The functions of `T` that make loops, simple statements, attributes and branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.ir.expr import Range, StringImm, Var, as_expr
from workbench.ir.type import Type
from workbench.script.error import ScriptError
from workbench.tirx import op
from workbench.tirx import stmt as S
from workbench.tirx.expr import IterVar
from workbench.tirx.script.buffers import store
from workbench.tirx.script.expressions import half_open
from workbench.tirx.script.state import sequence, state
from workbench.tirx.script.values import (
    Frame,
    LoopFrame,
    MetaVar,
    Pending,
    Scalar,
    type_of,
    value_for,
    value_of,
)

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
        """The value under a name."""
        var = Var(name, self.value.ty if self.ty is None else self.ty)
        state("T.bind").emit(S.Bind(var, self.value))
        return var


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


def static_assert(x: Any, message: str = "") -> None:
    """Fails while reading unless `x` holds."""
    if not x:
        raise ScriptError(f"static_assert failed{': ' + message if message else ''}")


# Loops


def grid(*extents: Any) -> LoopFrame:
    """Serial loops, one in the other; an extent may be a pair (start, extent)."""
    return LoopFrame([_start_and_extent(e) for e in extents])


def _start_and_extent(value: Any) -> tuple[Any, Any]:
    if not isinstance(value, tuple):
        return half_open(value, None)
    if len(value) != 2:
        raise ScriptError(f"T.grid: expected an extent or (start, extent), got {value!r}")
    if all(isinstance(v, int) for v in value):
        return as_expr(value[0]), as_expr(value[1])
    return op.match_types("T.grid", value_of(value[0]), value_of(value[1]))


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
        return LoopFrame(
            [half_open(start, stop)], kind, thread=thread, annotations=notes, step=step
        )

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
        [half_open(start, stop)],
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
        """The statement around `body`."""
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
        """The statement around `body`."""
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
        """The value under a name."""
        return self.frame.make(name)


def launch_thread(thread: Any, extent: Any) -> LaunchFrame:
    """The statements inside run on `extent` threads of an axis."""
    return LaunchFrame(thread, extent)


class _EnvThread(Pending):
    def __init__(self, tag: str, dtype: str) -> None:
        self.tag = tag
        self.dtype = dtype

    def bind(self, name: str) -> Var:
        """The value under a name."""
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
        """Begins it."""
        state("T.If").if_frames.append(self)

    def leave(self, body: list[S.Stmt]) -> S.Stmt:
        """The statement around `body`."""
        state("T.If").if_frames.pop()
        if "then" not in self.branches:
            raise ScriptError("T.If: `with T.Then():` is missing")
        return S.IfThenElse(self.condition, self.branches["then"], self.branches.get("else"))


class _BranchFrame(Frame):
    def __init__(self, which: str) -> None:
        self.which = which

    def leave(self, body: list[S.Stmt]) -> None:
        """The statement around `body`."""
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
        """The statement around `body`."""
        return S.While(self.condition, sequence(body))


def While(condition: Any) -> Frame:
    """A loop; Python's `while` is the usual form."""
    return WhileFrame(condition)


# Functions


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Attributes of the function."""
    state("T.func_attr").attrs.update(attrs)


def bare_body() -> None:
    """The body has blocks but no root block, and none is put around it."""
    state("T.bare_body").bare = True


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
