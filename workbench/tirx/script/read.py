"""Reads the definition of a function under `@T.prim_func`: one function per kind of statement."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import Any

from workbench.ir.expr import Expr, GlobalVar, IntImm, Op, Var, is_prim_expr
from workbench.ir.type import FuncType, TupleType
from workbench.script.error import ScriptError
from workbench.script.evaluate import BINARY, Reader
from workbench.tirx import expr as nodes
from workbench.tirx import stmt as S
from workbench.tirx.expr import IterVar
from workbench.tirx.function import PrimFunc
from workbench.tirx.script import buffers, build, expressions
from workbench.tirx.script.constants import check_indices
from workbench.tirx.script.dialect import TirDialect, bounds
from workbench.tirx.script.root import needs_root
from workbench.tirx.script.state import FunctionState, _current, sequence, state
from workbench.tirx.script.values import (
    DtypeWord,
    Frame,
    FreeBuffer,
    LetWord,
    LoopFrame,
    MetaVar,
    Pending,
    Scalar,
    annotations_of,
    type_of,
    value_for,
    value_of,
)

# Statements


class BodyReader:
    """Reads statements into the lists of a `FunctionState`."""

    def __init__(self, reader: Reader, here: FunctionState) -> None:
        self.reader = reader
        self.here = here

    def body(self, stmts: Sequence[ast.stmt], names: dict[str, Any] | None = None) -> list[S.Stmt]:
        """The statements of a block, in a scope of their own."""
        with self.reader.scope(names):
            return self.inline(stmts)

    def inline(self, stmts: Sequence[ast.stmt]) -> list[S.Stmt]:
        """The statements, in the scope around them."""
        out: list[S.Stmt] = []
        self.here.lists.append(out)
        try:
            for position, stmt in enumerate(stmts):
                frame = self.one(stmt)
                if frame is not None:  # it holds for all that follows
                    with self.reader.at(stmt):
                        frame.enter()
                        rest = self.inline(stmts[position + 1 :])
                        finished = frame.leave(rest)
                        if finished is not None:
                            out.append(finished)
                    break
        finally:
            self.here.lists.pop()
        return out

    def one(self, stmt: ast.stmt) -> Frame | None:
        """Reads one statement; a frame without `with` is returned."""
        handler = _STATEMENTS.get(type(stmt))
        if handler is None:
            raise self.reader.error(
                stmt, f"{type(stmt).__name__} statements are not part of TVMScript"
            )
        with self.reader.at(stmt):
            check_indices(self.reader, self.here, stmt)
            return handler(self, stmt)

    def looped(self, stmts: Sequence[ast.stmt], names: dict[str, Any] | None = None) -> S.Stmt:
        """The body of a loop."""
        self.here.depth += 1
        try:
            return sequence(self.body(stmts, names))
        finally:
            self.here.depth -= 1

    def guarded(self, stmts: Sequence[ast.stmt]) -> S.Stmt:
        """Statements that run only under a condition."""
        self.here.guards += 1
        try:
            return sequence(self.body(stmts))
        finally:
            self.here.guards -= 1

    def frame(self, frame: Frame, body: Sequence[ast.stmt], alias: ast.expr | None) -> None:
        """`with frame as alias: body`."""
        frame.enter()
        with self.reader.scope():
            if alias is not None:
                if frame.alias is None:
                    raise self.reader.error(alias, "this frame has nothing to be named")
                self.bind(alias, frame.alias)
            inner = self.inline(body)
        finished = frame.leave(inner)
        if finished is not None:
            self.here.emit(finished)

    def bind(self, target: ast.expr, value: Any) -> None:
        """Gives a value a name, or the parts of a value their names."""
        if isinstance(target, (ast.Tuple, ast.List)):
            values = list(value) if isinstance(value, (tuple, list)) else [value]
            if len(values) != len(target.elts):
                raise self.reader.error(
                    target, f"expected {len(target.elts)} values, got {len(values)}"
                )
            for part, item in zip(target.elts, values, strict=True):
                self.bind(part, item)
            return
        if isinstance(target, ast.Subscript):
            self.store(target, value)
            return
        if not isinstance(target, ast.Name):
            raise self.reader.error(target, "expected a name or a buffer element on the left")
        with self.reader.at(target):
            self.reader.define(target.id, self.named(target.id, value))

    def named(self, name: str, value: Any) -> Any:
        """What a name stands for after `name = value`."""
        if isinstance(value, Pending):
            return value.bind(name)
        if isinstance(value, MetaVar):
            return value.value
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Pending):
            return value[0].bind(name)
        if isinstance(value, S.BufferRegion):
            value = value_of(value)
        scalar = isinstance(value, (int, float, Scalar)) or (
            isinstance(value, Expr) and is_prim_expr(value) and not value.dtype.is_handle
        )
        if not scalar:
            return value
        known = self.reader.lookup(name)
        if isinstance(known, Scalar):
            self.here.emit(buffers.store(known.buffer, (0,), value))
            return known
        expr = value_of(value)
        return buffers.scalar(name, str(expr.dtype), expr)

    def store(self, target: ast.Subscript, value: Any) -> None:
        """`A[i, j] = value`."""
        buffer = self.reader.eval(target.value)
        index = self.reader.eval(target.slice)
        if not buffers.is_buffer(buffer):
            if isinstance(buffer, (dict, list)):
                buffer[index] = value
                return
            raise self.reader.error(target, f"{ast.unparse(target.value)} is not a buffer")
        items = index if isinstance(index, tuple) else (index,)
        with self.reader.at(target):
            place = buffer[bounds(tuple(i if isinstance(i, slice) else value_of(i) for i in items))]
            load = value_of(place)
            assert isinstance(load, nodes.BufferLoad)
        self.here.emit(buffers.store(buffer, load.indices, value))


def _assign(self: BodyReader, node: ast.Assign) -> Frame | None:
    value = self.reader.eval(node.value)
    if isinstance(value, Frame):
        if len(node.targets) != 1:
            raise self.reader.error(node, "expected one name on the left")
        if value.alias is None:
            raise self.reader.error(node, "this statement has no value to be named")
        self.bind(node.targets[0], value.alias)
        return value
    for target in node.targets:
        self.bind(target, value)
    return None


def _annotated(self: BodyReader, node: ast.AnnAssign) -> None:
    if not isinstance(node.target, ast.Name):
        raise self.reader.error(node, "an annotation belongs to a name")
    annotation = self.reader.eval(node.annotation)
    name = node.target.id
    value = None if node.value is None else self.reader.eval(node.value)
    if isinstance(annotation, LetWord):
        if value is None:
            raise self.reader.error(node, "T.let needs a value")
        made: Any = build.bind(value, annotation.ty).bind(name)
    elif isinstance(annotation, FreeBuffer):
        raise self.reader.error(
            node.annotation, "a buffer is made by T.alloc_buffer or T.decl_buffer"
        )
    elif isinstance(annotation, (DtypeWord, str)) and not type_of(annotation).dtype.is_handle:  # type: ignore[attr-defined]
        made = buffers.scalar(name, annotation, value)
    else:
        if value is None:
            raise self.reader.error(node, f"{name} needs a value")
        made = build.bind(value, annotation).bind(name)
    self.reader.define(name, made)


def _augmented(self: BodyReader, node: ast.AugAssign) -> None:
    current = self.reader.eval(_loaded(node.target))
    value = self.reader.binary(BINARY[type(node.op)], current, self.reader.eval(node.value))
    self.bind(node.target, value)


def _loaded(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Name):
        return ast.copy_location(ast.Name(node.id, ast.Load()), node)
    if isinstance(node, ast.Subscript):
        return ast.copy_location(ast.Subscript(node.value, node.slice, ast.Load()), node)
    return node


def _expression(self: BodyReader, node: ast.Expr) -> Frame | None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return None  # a docstring
    value = self.reader.eval(node.value)
    if isinstance(value, Frame):
        return value
    if value is None:
        return None
    if isinstance(value, S.Stmt):
        self.here.emit(value)
    elif isinstance(value, (list, tuple)):
        for one in value:
            self.here.emit(one if isinstance(one, S.Stmt) else S.Evaluate(value_of(one)))
    elif isinstance(value, Pending):
        raise self.reader.error(node, "the value has to be assigned to a name")
    else:
        self.here.emit(S.Evaluate(value_of(value)))
    return None


def _for(self: BodyReader, node: ast.For) -> None:
    if node.orelse:
        raise self.reader.error(node.orelse[0], "a loop has no else branch")
    frame = self.reader.eval(node.iter)
    if not isinstance(frame, LoopFrame):
        if isinstance(frame, (list, tuple, builtins.range)):
            for item in frame:  # a Python loop: repeated while reading
                with self.reader.scope():
                    self.reader.assign(node.target, item)
                    for stmt in self.inline(node.body):
                        self.here.emit(stmt)
            return
        raise self.reader.error(
            node.iter,
            f"expected a loop, got {type(frame).__name__}",
            "range(n), T.grid(n, m), T.serial(n), T.parallel(n), T.vectorized(n), T.unroll(n)",
        )
    tuple_target = isinstance(node.target, (ast.Tuple, ast.List))
    targets = node.target.elts if isinstance(node.target, (ast.Tuple, ast.List)) else [node.target]
    if len(frame.ranges) == 1 and tuple_target and len(targets) != 1:
        raise self.reader.error(node.target, f"expected 1 loop variable, got {len(targets)}")
    if len(targets) != len(frame.ranges):
        raise self.reader.error(
            node.target, f"expected {len(frame.ranges)} loop variables, got {len(targets)}"
        )
    names: dict[str, Any] = {}
    variables: list[Var] = []
    for target, (low, extent) in zip(targets, frame.ranges, strict=True):
        if not isinstance(target, ast.Name):
            raise self.reader.error(target, "a loop variable is a name")
        var = Var(target.id, extent.dtype)
        self.here.loops[id(var)] = (low, extent)
        self.here.keep.append(var)
        variables.append(var)
        names[target.id] = var
    out = self.looped(node.body, names)
    step = None if frame.step is None else expressions.plain_number(frame.step, frame.ranges[0][1])
    for var, (low, extent) in zip(reversed(variables), reversed(frame.ranges), strict=True):
        binding = _thread_axis(frame.thread, var)
        notes = annotations_of(frame.annotations)
        out = S.For(var, low, extent, frame.kind, out, binding, notes, step)
    self.here.emit(out)


def _thread_axis(thread: Any, var: Var) -> Any:
    if thread is None or isinstance(thread, IterVar):
        return thread
    return IterVar(None, Var("", var.ty), IterVar.ThreadIndex, str(thread))


def _while(self: BodyReader, node: ast.While) -> None:
    if node.orelse:
        raise self.reader.error(node.orelse[0], "a loop has no else branch")
    condition = value_of(self.reader.eval(node.test))
    self.here.emit(S.While(condition, self.looped(node.body)))


def _if(self: BodyReader, node: ast.If) -> None:
    condition = self.reader.eval(node.test)
    if isinstance(condition, (bool, int, str, type(None))):
        for stmt in self.inline(node.body if condition else node.orelse):  # decided while reading
            self.here.emit(stmt)
        return
    then = self.guarded(node.body)
    otherwise = self.guarded(node.orelse) if node.orelse else None
    self.here.emit(S.IfThenElse(value_of(condition), then, otherwise))


def _with(self: BodyReader, node: ast.With) -> None:
    def nested(position: int) -> None:
        item = node.items[position]
        with self.reader.at(item.context_expr):
            frame = self.reader.eval(item.context_expr)
            if isinstance(frame, LoopFrame) or not isinstance(frame, Frame):
                raise self.reader.error(
                    item.context_expr,
                    f"`with` expects a frame, got {type(frame).__name__}",
                    "T.sblock(...), T.init(), T.attr(...), T.launch_thread(...), T.If(...)",
                )
        last = position + 1 == len(node.items)
        if last:
            self.frame(frame, node.body, item.optional_vars)
            return
        frame.enter()
        out: list[S.Stmt] = []
        self.here.lists.append(out)
        with self.reader.scope():
            if item.optional_vars is not None:
                self.bind(item.optional_vars, frame.alias)
            nested(position + 1)
        self.here.lists.pop()
        finished = frame.leave(out)
        if finished is not None:
            self.here.emit(finished)

    nested(0)


def _assert(self: BodyReader, node: ast.Assert) -> None:
    condition = self.reader.eval(node.test)
    if node.msg is None:
        raise self.reader.error(node, "an assertion needs a message", 'assert x > 0, "message"')
    message = self.reader.eval(node.msg)
    kind, parts = message if isinstance(message, tuple) else ("RuntimeError", [message])
    self.here.emit(build.assertion(condition, kind, parts))


def _return(self: BodyReader, node: ast.Return) -> None:
    if node.value is None:
        raise self.reader.error(node, "`return` needs a value", "T.thread_return() ends a thread")
    value = self.reader.eval(node.value)
    self.here.emit(S.Return(value_for(value, self.here.ret_type)))


def _leave(self: BodyReader, node: ast.stmt, stmt: S.Stmt) -> None:
    if not self.here.depth:
        word = "break" if isinstance(node, ast.Break) else "continue"
        raise self.reader.error(node, f"`{word}` stands outside of a loop")
    self.here.emit(stmt)


def _function(self: BodyReader, node: ast.FunctionDef) -> None:
    """A function inside a function: a macro, read where it is called."""
    for decorator in node.decorator_list:
        found = self.reader.eval(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if getattr(found, "__script_macro__", False):
            break
    else:
        raise self.reader.error(node, "a function inside a function has to be a @T.macro")
    macro = Macro(self.reader.source, node, list(self.reader.scopes))
    self.reader.define(node.name, macro)


_STATEMENTS: dict[type, Callable[[BodyReader, Any], Frame | None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.For: _for,
    ast.While: _while,
    ast.If: _if,
    ast.With: _with,
    ast.Assert: _assert,
    ast.Return: _return,
    ast.FunctionDef: _function,
    ast.Break: lambda self, node: _leave(self, node, S.Break()),
    ast.Continue: lambda self, node: _leave(self, node, S.Continue()),
    ast.Pass: lambda self, node: None,
}


# Macros


class Macro:
    """A function whose statements are read where it is called (`@T.macro`, `@T.inline`)."""

    def __init__(self, source: Any, node: ast.FunctionDef, scopes: list[dict[str, Any]]) -> None:
        self.source = source
        self.node = node
        self.scopes = scopes

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Only the reader calls a macro."""
        raise TypeError(f"the macro {self.node.name} is called inside functions that are read")

    def inline_call(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Reads the body into the function being read."""
        here = state(f"the macro {self.node.name}")
        names = _bind_arguments(self.node, args, kwargs)
        inner = Reader(self.source, list(self.scopes))
        outer = here.reader
        here.reader = inner
        try:
            with inner.reading(TirDialect()), inner.scope(names):
                stmts = list(self.node.body)
                tail = stmts.pop() if stmts and isinstance(stmts[-1], ast.Return) else None
                for stmt in BodyReader(inner, here).inline(stmts):
                    here.emit(stmt)
                if isinstance(tail, ast.Return) and tail.value is not None:
                    return inner.eval(tail.value)
        finally:
            here.reader = outer
        return None


def _bind_arguments(
    node: ast.FunctionDef, args: list[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if len(args) > len(names):
        raise TypeError(f"{node.name} takes {len(names)} arguments, got {len(args)}")
    out = {**dict(zip(names, args, strict=False)), **kwargs}
    missing = [n for n in names if n not in out]
    if missing:
        raise TypeError(f"{node.name}: missing {', '.join(missing)}")
    return out


def read_macro(reader: Reader, node: ast.FunctionDef, hygienic: bool = True) -> Macro:
    """A function whose statements are put where it is called."""
    return Macro(reader.source, node, list(reader.scopes))


# Functions


def _declared_dtypes(reader: Reader, node: ast.FunctionDef) -> dict[str, str]:
    """The data types that `n = T.int64()` in the body gives to symbols of the signature."""
    found: dict[str, str] = {}
    for stmt in node.body:
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
            continue
        target, value = stmt.targets[0], stmt.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        else:
            pairs = [(target, value)]
        for name, call in pairs:
            if isinstance(name, ast.Name) and isinstance(call, ast.Call) and not call.args:
                word = reader.eval(call.func) if isinstance(call.func, ast.Attribute) else None
                if isinstance(word, DtypeWord):
                    found[name.id] = str(word.dtype)
    return found


def _is_buffer_annotation(node: ast.expr | None) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and (node.func.attr == "Buffer")
    )


def _parameters(reader: Reader, node: ast.FunctionDef, here: FunctionState) -> None:
    """Makes the parameters: scalars first, for the shapes may speak of them."""
    args = node.args
    if args.vararg or args.kwarg or args.kwonlyargs or args.defaults:
        raise reader.error(node, "parameters are plain names with annotations")
    listed = [*args.posonlyargs, *args.args]
    made: dict[str, Var] = {}
    for arg in listed:
        if arg.annotation is None:
            raise reader.error(arg, f"the parameter {arg.arg!r} has no type", f"{arg.arg}: T.int32")
        if any(other is not arg and other.arg == arg.arg for other in listed):
            raise reader.error(arg, f"two parameters are named {arg.arg!r}")
        if not _is_buffer_annotation(arg.annotation):
            with reader.at(arg.annotation):
                value = reader.eval(arg.annotation)
                if isinstance(value, FreeBuffer):
                    continue
                made[arg.arg] = Var(arg.arg, type_of(value))
            reader.define(arg.arg, made[arg.arg])
    for arg in listed:
        if arg.arg in made:
            continue
        assert arg.annotation is not None
        with reader.at(arg.annotation):
            for word in _symbolic_texts(arg.annotation):
                here.resolve(word)
            value = reader.eval(arg.annotation)
            if not isinstance(value, FreeBuffer):
                raise TypeError(f"expected T.Buffer(...), got {value!r}")
            made[arg.arg] = value.spec.make(arg.arg, here.resolve)
        reader.define(arg.arg, made[arg.arg])
    here.params = [made[arg.arg] for arg in listed]


def _symbolic_texts(annotation: ast.expr) -> list[str]:
    """The texts in the shape of `T.Buffer(("n", 4), ...)`: they bring symbols."""
    if not isinstance(annotation, ast.Call):
        return []
    places: list[ast.expr] = list(annotation.args[:1])
    places += [k.value for k in annotation.keywords if k.arg in ("shape", "elem_offset")]
    return [
        n.value
        for place in places
        for n in ast.walk(place)
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    ]


def _return_type(reader: Reader, node: ast.FunctionDef) -> Any:
    if node.returns is None:
        return None
    with reader.at(node.returns):
        value = reader.eval(node.returns)
        ty = None if value is None else type_of(value)
    return None if isinstance(ty, TupleType) and not ty.fields else ty


def read_prim_func(
    reader: Reader,
    node: ast.FunctionDef,
    *,
    private: bool = False,
    s_tir: bool = False,
    check_well_formed: bool = True,
    persistent: bool = False,
) -> PrimFunc:
    """Reads a function of the loop IR.

    `@T.prim_func` may have the options `private` (no global symbol), `s_tir` (the function can be
    scheduled: it has blocks).
    """
    if persistent:
        raise reader.error(node, "persistent kernels of tile programs are not supported")
    here = FunctionState(reader, node.name, s_tir)
    token = _current.set(here)
    try:
        with reader.reading(TirDialect()), reader.scope():
            here.dtypes = _declared_dtypes(reader, node)
            _parameters(reader, node, here)
            here.ret_type = _return_type(reader, node)
            if not private:
                here.attrs["global_symbol"] = node.name
            if s_tir:
                here.attrs["s_tir"] = True
            stmts = BodyReader(reader, here).inline(node.body)
            body = sequence(stmts)
    finally:
        _current.reset(token)
    if needs_root(body, bool(here.root_allocations)) and not here.bare:
        root = S.SBlock((), (), (), "root", body, None, tuple(here.root_allocations))
        body = S.SBlockRealize((), IntImm("bool", 1), root)
    return PrimFunc(here.params, body, here.ret_type, here.attrs)


def declare_prim_func(reader: Reader, node: ast.FunctionDef, **options: Any) -> Any:
    """What callers may know of a function before it is read: its name and the type it returns."""
    with reader.reading(TirDialect()):
        returns = _return_type(reader, node)
    ret = returns if returns is not None else type_of("void")
    return GlobalVar(node.name, ty=FuncType((), ret))


read_prim_func.declare = declare_prim_func  # type: ignore[attr-defined]


def known_operator(name: str) -> Op | None:
    """The registered operator `tirx.<name>`, or None."""
    full = f"tirx.{name}"
    try:
        return Op.get(full)
    except ScriptError:
        return None
    except KeyError:
        return None
