"""Statements as Python source: a PrimFunc becomes one Python function over NumPy arrays.

Loops of any kind run one iteration after another; a thread-bound loop too. Innermost loops of one
store are vectorised where that cannot be observed: element-wise ones, and reductions in order
(`ufunc.accumulate` adds from left to right, as the loop does).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import workbench.tirx.interpreter.calls  # noqa: F401  (registers the calls)
from workbench.core.dispatch import Dispatch
from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, StringImm, Var, as_expr
from workbench.runtime.dtype import DataType
from workbench.tirx import expr as e
from workbench.tirx import stmt as s
from workbench.tirx.function import PrimFunc
from workbench.tirx.interpreter.exprs import ExprCompiler, Val, index_source
from workbench.tirx.interpreter.values import InterpretError
from workbench.tirx.op.intrin import CallEffectKind, effect_of

#: Shorter loops run faster one by one.
MIN_VECTOR = 12


class ProgramCompiler(ExprCompiler):
    """Compiles one PrimFunc; `callee` gives the Python function of another one."""

    def __init__(
        self,
        func: PrimFunc,
        consts: dict[int, int],
        callee: Callable[[GlobalVar], Callable[..., Any]],
        vectorize: bool,
    ) -> None:
        super().__init__(func, consts)
        self.func = func
        self.find_callee = callee
        self.vectorize = vectorize
        self.roots: dict[int, Any] = {}

    def compile(self) -> tuple[Callable[..., Any], str]:
        """The Python function of the program, and its source."""
        names = [self.define(p) for p in self.func.params]
        head = f"def _program({', '.join(names)}):"
        for param in self.func.params:
            if param.ty.__family__ == "buffer":
                self.declare(param, f"_v.pointer_of({self.name(param)}, {param.name!r})", param)
        self.stmt(self.func.body)
        body = self.lines or ["    pass"]
        source = "\n".join([head, *body])
        exec(
            compile(source, f"<interpreted {self.func.attrs.get('global_symbol', '')}>", "exec"),
            self.space,
        )
        return self.space["_program"], source

    def callee(self, gvar: GlobalVar) -> str:
        """The name under which another function of the module is called."""
        return self.constant(self.find_callee(gvar), "callee")

    def declare(self, buffer: Var, pointer: str, root: Any) -> None:
        """Notes what is known of a buffer whose array has been defined."""
        self.shapes[id(buffer)] = [self.expr(as_expr(d)) for d in buffer.ty.shape]
        self.pointers[id(buffer)] = pointer
        self.roots[id(buffer)] = root
        if buffer.ty.elem_offset is not None:
            free = list(iter_nodes(buffer.ty.elem_offset, Var))
            if all(id(v) in self.names or id(v) in self.consts for v in free):
                self.offsets[id(buffer)] = self.expr(buffer.ty.elem_offset).src

    def stmt(self, node: s.Stmt) -> None:
        """Compiles a statement at the current indentation."""
        if self.indent > 80:
            raise InterpretError("the program nests more than 80 statements", root=self.root)
        STMTS(node, self)

    def nested(self, node: s.Stmt) -> None:
        """Compiles a statement one level deeper."""
        self.indent += 1
        before = len(self.lines)
        self.stmt(node)
        if len(self.lines) == before:
            self.emit("pass")
        self.indent -= 1

    def assign(self, var: Var, val: Val) -> None:
        """Binds a variable to a value."""
        name = self.define(var)
        self.emit(f"{name} = {val.src}")
        self.ranges[id(var)] = (val.lo, val.hi)
        if val.vec:
            self.vector_vars.add(id(var))

    def allocate(self, buffer: Var) -> None:
        """Fresh memory for a buffer."""
        ty = buffer.ty
        shape = [self.expr(as_expr(d)).src for d in ty.shape]
        kind = self.numpy_type(ty.dtype)
        name = self.define(buffer)
        if not ty.strides and ty.dtype.lanes == 1:
            self.emit(f"{name} = _v.allocate(({''.join(x + ', ' for x in shape)}), {kind})")
            self.declare(buffer, f"_v.pointer_of({name}, {buffer.name!r})", buffer)
            return
        if ty.dtype.lanes != 1:
            raise InterpretError(
                f"buffer {buffer.name}: elements of vector type {ty.dtype} are not interpreted",
                root=self.root,
            )
        strides = [self.expr(as_expr(d)).src for d in ty.strides]
        reach = " + ".join(
            ["1", *(f"({n} - 1) * ({k})" for n, k in zip(shape, strides, strict=True))]
        )
        pointer = self.fresh(buffer.name + "_data")
        self.emit(f"{pointer} = _v.pointer_of(_v.allocate(({reach},), {kind}), {buffer.name!r})")
        self.view(buffer, name, pointer, buffer)

    def view(self, buffer: Var, name: str, pointer: str, root: Any) -> None:
        """An array over memory that a pointer points to."""
        ty = buffer.ty
        shape = "".join(self.expr(as_expr(d)).src + ", " for d in ty.shape)
        strides = "None"
        if ty.strides:
            strides = "(" + "".join(self.expr(as_expr(d)).src + ", " for d in ty.strides) + ")"
        offset = "0"
        if ty.elem_offset is not None:
            for var in iter_nodes(ty.elem_offset, Var):
                if id(var) not in self.names and id(var) not in self.consts:
                    self.emit(f"{self.define(var)} = 0")
                    self.ranges[id(var)] = (0, 0)
            offset = self.expr(ty.elem_offset).src
        kind = self.numpy_type(ty.dtype)
        self.emit(
            f"{name} = _v.strided({buffer.name!r}, {pointer}, {kind}, ({shape}), {strides}, "
            f"{offset})"
        )
        self.declare(buffer, pointer, root)

    # Vectorised innermost loops

    def vector_loop(self, loop: s.For, low: Val, high: Val, step: int) -> bool:
        """Emits the loop as array operations if that is possible."""
        if not self.vectorize or self.mask or step != 1:
            return False
        if low.lo is not None and low.lo == low.hi and high.lo is not None and high.lo == high.hi:
            if high.lo - low.lo < MIN_VECTOR:
                return False
        plan = _plan(self, loop)
        if plan is None:
            return False
        kind = self.numpy_type(loop.loop_var.dtype)
        name = self.define(loop.loop_var)
        self.emit(f"{name} = np.arange({low.src}, {high.src}, dtype={kind})")
        self.vector_vars.add(id(loop.loop_var))
        self.ranges[id(loop.loop_var)] = _span(low, high)
        self.emit(f"if {name}.size:")
        self.indent += 1
        plan(self, name)
        self.indent -= 1
        self.vector_vars.discard(id(loop.loop_var))
        return True


def _span(low: Val, high: Val) -> tuple[int | None, int | None]:
    if low.lo is None or high.hi is None:
        return None, None
    return low.lo, max(low.lo, high.hi - 1)


Plan = Callable[[ProgramCompiler, str], None]


def _plan(run: ProgramCompiler, loop: s.For) -> Plan | None:
    """How to vectorise the body of a loop, or None."""
    bindings: list[tuple[Var, Expr]] = []
    conditions: list[Expr] = []
    body = loop.body
    init: s.BufferStore | None = None
    reduce_starts: list[tuple[Var, Expr]] = []
    while True:
        if type(body) is s.SBlockRealize:
            block = body.block
            if block.alloc_buffers or block.match_buffers:
                return None
            if block.init is not None:
                if type(block.init) is not s.BufferStore or init is not None:
                    return None
                init = block.init
                for axis in block.iter_vars:
                    if axis.iter_type == e.IterVar.CommReduce and axis.dom is not None:
                        reduce_starts.append((axis.var, axis.dom.min))
            bindings += [(a.var, v) for a, v in zip(block.iter_vars, body.iter_values, strict=True)]
            if not (isinstance(body.predicate, IntImm) and body.predicate.value):
                conditions.append(body.predicate)
            body = block.body
        elif type(body) is s.IfThenElse and body.else_case is None and init is None:
            conditions.append(body.condition)
            body = body.then_case
        elif type(body) is s.AttrStmt:
            body = body.body
        else:
            break
    if type(body) is not s.BufferStore or body.predicate is not None:
        return None
    parts = (body.value, body.indices, tuple(conditions), tuple(v for _, v in bindings))
    if not _harmless(run, parts, body):
        return None
    env = {id(var): value for var, value in bindings}
    slopes = [_slope(i, loop.loop_var, env) for i in body.indices]
    if any(k is not None and k != 0 for k in slopes) and init is None:
        return _elementwise(body, bindings, conditions)
    if all(k == 0 for k in slopes):
        return _reduction(run, loop, body, bindings, conditions, init, reduce_starts)
    return None


def _harmless(run: ProgramCompiler, parts: Any, store: s.BufferStore) -> bool:
    """Whether evaluating all lanes before storing gives the same: scalars only, no alias."""
    target = run.roots.get(id(store.buffer))
    if target is None:
        return False
    for node in iter_nodes(parts, Expr):
        if isinstance(node, Call):
            if effect_of(node) > CallEffectKind.Pure or isinstance(node.op, GlobalVar):
                return False
        elif isinstance(node, (e.Let, e.Ramp, e.Broadcast, e.Shuffle)):
            return False
        elif isinstance(node, e.BufferLoad):
            if node.predicate is not None:
                return False
            root = run.roots.get(id(node.buffer))
            if root is None:
                return False
            if root is target and not (
                node.buffer is store.buffer and structural_equal(node.indices, store.indices)
            ):
                return False
    return True


def _slope(expr: Any, var: Var, env: dict[int, Expr], depth: int = 0) -> int | None:
    """The factor of `var` in an expression that is linear in it; 0 if it does not occur."""
    if expr is var:
        return 1
    if depth > 60:
        return None
    cls = type(expr)
    if cls is Var:
        bound = env.get(id(expr))
        return 0 if bound is None else _slope(bound, var, env, depth + 1)
    if cls in (e.Add, e.Sub):
        a, b = (_slope(x, var, env, depth + 1) for x in (expr.a, expr.b))
        if a is None or b is None:
            return None
        return a + b if cls is e.Add else a - b
    if cls is e.Mul:
        for x, y in ((expr.a, expr.b), (expr.b, expr.a)):
            if isinstance(y, IntImm):
                k = _slope(x, var, env, depth + 1)
                return None if k is None else k * y.value
    used = list(iter_nodes(expr, Var))
    if all(v is not var and _slope(v, var, env, depth + 1) == 0 for v in used):
        return 0
    return None


def _bind_all(run: ProgramCompiler, bindings: Any, conditions: Any) -> Val | None:
    """Emits block variables and conditions; returns the mask as a value, None for no condition."""
    for var, value in bindings:
        run.assign(var, run.expr(value))
    mask: Val | None = None
    for condition in conditions:
        val = run.expr(condition)
        mask = (
            val
            if mask is None
            else Val(f"({mask.src} & {val.src})", val.dtype, 0, 1, mask.vec or val.vec)
        )
    return mask


def _elementwise(store: s.BufferStore, bindings: Any, conditions: Any) -> Plan:
    def emit(run: ProgramCompiler, loop_name: str) -> None:
        mask = _bind_all(run, bindings, conditions)
        if mask is not None:
            name = run.fresh("mask")
            run.emit(f"{name} = np.broadcast_to({mask.src}, {loop_name}.shape)")
            run.mask = name
        value = run.expr(store.value)
        vals = [run.expr(i) for i in store.indices]
        index, _ = index_source(run, store, vals)
        target = run.name(store.buffer)
        if run.mask:
            m = run.mask
            run.emit(f"_i = np.broadcast_arrays({index}, {m})[:-1]")
            run.emit(f"_x = np.broadcast_to(np.asarray({value.src}), {m}.shape)")
            run.emit(f"{target}[tuple(k[{m}] for k in _i)] = _x[{m}]")
            run.mask = None
        else:
            run.emit(f"{target}[{index}] = {value.src}")

    return emit


_FOLDS = {e.Add: "add", e.Mul: "multiply", e.Min: "minimum", e.Max: "maximum"}


def _reduction(
    run: ProgramCompiler,
    loop: s.For,
    store: s.BufferStore,
    bindings: Any,
    conditions: Any,
    init: s.BufferStore | None,
    starts: list[tuple[Var, Expr]],
) -> Plan | None:
    """C[i] = C[i] op f(k): an ordered accumulation."""
    value: Any = store.value
    function = _FOLDS.get(type(value))
    dtype: DataType = store.buffer.ty.dtype
    if function is None or dtype.is_bool or dtype.base not in _EXACT:
        return None
    for mine, other in ((value.a, value.b), (value.b, value.a)):
        if isinstance(mine, e.BufferLoad) and mine.buffer is store.buffer:
            if any(n.buffer is store.buffer for n in iter_nodes(other, e.BufferLoad)):
                return None
            break
    else:
        return None
    if init is not None and (
        conditions
        or not structural_equal(init.indices, store.indices)
        or init.buffer is not store.buffer
        or _varies(init.value, bindings)
        or not _starts_once(loop, bindings, starts)
    ):
        return None

    def emit(run: ProgramCompiler, loop_name: str) -> None:
        mask = _bind_all(run, bindings, conditions)
        if init is not None:
            _emit_init(run, loop_name, init, starts, store)
        if mask is not None:
            name = run.fresh("mask")
            run.emit(f"{name} = np.broadcast_to({mask.src}, {loop_name}.shape)")
            run.mask = name
        term = run.expr(other)
        run.mask, masked = None, run.mask
        vals = [_scalar(run.expr(i)) for i in store.indices]
        kind = run.numpy_type(dtype)
        run.emit(f"_x = np.broadcast_to(np.asarray({term.src}, dtype={kind}), {loop_name}.shape)")
        if masked:
            run.emit(f"_x = _x[{masked}]")
            run.emit("if _x.size:")
            run.indent += 1
        index, _ = index_source(run, store, vals)
        cell = f"{run.name(store.buffer)}[{index}]"
        run.emit(f"_x = np.concatenate((np.asarray({cell}, dtype={kind}).reshape(1), _x))")
        run.emit(f"{cell} = np.{function}.accumulate(_x, dtype={kind})[-1]")
        if masked:
            run.indent -= 1

    return emit


def _starts_once(loop: s.For, bindings: Any, starts: list[tuple[Var, Expr]]) -> bool:
    """Whether only the first turn can be the start of a reduction: a variable of it increases."""
    env = {id(var): value for var, value in bindings}
    return any((_slope(var, loop.loop_var, env) or 0) > 0 for var, _ in starts)


_EXACT = {f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)} | {"float32", "float64"}


def _varies(value: Expr, bindings: Any) -> bool:
    return any(True for _ in iter_nodes(value, e.BufferLoad, Var))


def _scalar(val: Val) -> Val:
    """An index that is the same in all lanes."""
    return (
        Val(f"int(np.asarray({val.src}).reshape(-1)[0])", val.dtype, val.lo, val.hi)
        if (val.vec)
        else val
    )


def _emit_init(
    run: ProgramCompiler,
    loop_name: str,
    init: s.BufferStore,
    starts: list[tuple[Var, Expr]],
    store: s.BufferStore,
) -> None:
    """Runs the initialisation if the first lane starts the reduction (no other lane can)."""
    tests = []
    for var, low in starts:
        val, start = run.expr(var), run.expr(low)
        first = f"{val.src}[0]" if val.vec else val.src
        tests.append(f"{first} == {start.src}")
    vals = [_scalar(run.expr(i)) for i in store.indices]
    value = run.expr(init.value)
    run.emit(f"if {' and '.join(tests) or 'True'}:")
    run.indent += 1
    index, _ = index_source(run, init, vals)
    run.emit(f"{run.name(init.buffer)}[{index}] = {value.src}")
    run.indent -= 1


STMTS = Dispatch("interpreter: statement")


@STMTS.register(s.SeqStmt)
def _seq(node: s.SeqStmt, run: ProgramCompiler) -> None:
    for item in node.seq:
        run.stmt(item)


@STMTS.register(s.Bind)
def _bind(node: s.Bind, run: ProgramCompiler) -> None:
    run.assign(node.var, run.expr(node.value))


@STMTS.register(s.BufferStore)
def _store(node: s.BufferStore, run: ProgramCompiler) -> None:
    value = run.expr(node.value)
    vals = [run.expr(i) for i in node.indices]
    target = run.name(node.buffer)
    if node.predicate is None:
        index, _ = index_source(run, node, vals)
        run.emit(f"{target}[{index}] = {value.src}")
        return
    mask = run.fresh("mask")
    run.emit(f"{mask} = np.atleast_1d({run.expr(node.predicate).src})")
    run.mask = mask
    index, _ = index_source(run, node, vals)
    run.mask = None
    run.emit(f"_i = np.broadcast_arrays({index}, {mask})[:-1]")
    run.emit(f"_x = np.broadcast_to(np.asarray({value.src}), {mask}.shape)")
    run.emit(f"{target}[tuple(k[{mask}] for k in _i)] = _x[{mask}]")


@STMTS.register(s.Evaluate)
def _evaluate(node: s.Evaluate, run: ProgramCompiler) -> None:
    if not isinstance(node.value, (IntImm, StringImm)):
        run.emit(run.expr(node.value).src)


@STMTS.register(s.For)
def _for(node: s.For, run: ProgramCompiler) -> None:
    low = run.expr(node.min)
    extent = run.expr(node.extent)
    step = 1 if node.step is None else node.step
    if low.lo is not None and low.lo == low.hi == 0:
        high = extent
    else:
        lo = hi = None
        if low.lo is not None and extent.lo is not None:
            lo = low.lo + extent.lo
        if low.hi is not None and extent.hi is not None:
            hi = low.hi + extent.hi
        high = Val(f"{low.src} + {extent.src}", low.dtype, lo, hi)
    if isinstance(step, int) and run.vector_loop(node, low, high, step):
        return
    name = run.define(node.loop_var)
    stride = "" if node.step is None else f", {run.expr(node.step).src}"
    run.ranges[id(node.loop_var)] = _span(low, high)
    run.emit(f"for {name} in range({low.src}, {high.src}{stride}):")
    run.nested(node.body)


@STMTS.register(s.While)
def _while(node: s.While, run: ProgramCompiler) -> None:
    run.emit("while True:")
    run.indent += 1
    run.emit(f"if not {run.expr(node.condition).src}:")
    run.emit("    break")
    run.stmt(node.body)
    run.indent -= 1


@STMTS.register(s.Break)
def _break(node: s.Break, run: ProgramCompiler) -> None:
    run.emit("break")


@STMTS.register(s.Continue)
def _continue(node: s.Continue, run: ProgramCompiler) -> None:
    run.emit("continue")


@STMTS.register(s.Return)
def _return(node: s.Return, run: ProgramCompiler) -> None:
    run.emit(f"return {run.expr(node.value).src}")


@STMTS.register(s.IfThenElse)
def _if(node: s.IfThenElse, run: ProgramCompiler) -> None:
    run.emit(f"if {run.expr(node.condition).src}:")
    run.nested(node.then_case)
    if node.else_case is not None:
        run.emit("else:")
        run.nested(node.else_case)


@STMTS.register(s.AssertStmt)
def _assert(node: s.AssertStmt, run: ProgramCompiler) -> None:
    run.emit(f"if not {run.expr(node.condition).src}:")
    parts = [p.value for p in node.message_parts]
    run.emit(f"    raise _v.failed_assert({node.error_kind.value!r}, {parts!r})")


@STMTS.register(s.AttrStmt)
def _attr(node: s.AttrStmt, run: ProgramCompiler) -> None:
    if isinstance(node.node, e.IterVar) and id(node.node.var) not in run.names:
        if node.attr_key in ("thread_extent", "virtual_thread"):
            extent = run.expr(node.value)
            name = run.define(node.node.var)
            run.ranges[id(node.node.var)] = (0, None if extent.hi is None else extent.hi - 1)
            run.emit(f"for {name} in range({extent.src}):")
            run.nested(node.body)
            return
    run.stmt(node.body)


@STMTS.register(s.AllocBuffer)
def _alloc(node: s.AllocBuffer, run: ProgramCompiler) -> None:
    run.allocate(node.buffer)


@STMTS.register(s.DeclBuffer)
def _decl(node: s.DeclBuffer, run: ProgramCompiler) -> None:
    if node.data is None:
        run.allocate(node.buffer)
        return
    pointer = run.fresh(node.buffer.name + "_data")
    run.emit(f"{pointer} = {run.expr(node.data).src}")
    run.view(node.buffer, run.define(node.buffer), pointer, _root_of_pointer(run, node.data))


def _root_of_pointer(run: ProgramCompiler, data: Expr) -> Any:
    """The buffer whose memory a pointer expression points into, or None."""
    sources = [v for v in iter_nodes(data, Var) if v.ty.__family__ == "buffer"]
    if len(sources) == 1 and isinstance(data, Call):
        return run.roots.get(id(sources[0]))
    return None


@STMTS.register(s.SBlockRealize)
def _realize(node: s.SBlockRealize, run: ProgramCompiler) -> None:
    block = node.block
    for axis, value in zip(block.iter_vars, node.iter_values, strict=True):
        run.assign(axis.var, run.expr(value))
    always = isinstance(node.predicate, IntImm) and node.predicate.value
    if not always:
        run.emit(f"if {run.expr(node.predicate).src}:")
        run.indent += 1
        before = len(run.lines)
        _block(block, run)
        if len(run.lines) == before:
            run.emit("pass")
        run.indent -= 1
        return
    _block(block, run)


@STMTS.register(s.SBlock)
def _block(block: s.SBlock, run: ProgramCompiler) -> None:
    for buffer in block.alloc_buffers:
        run.allocate(buffer)
    for match in block.match_buffers:
        _match(match, run)
    if block.init is not None:
        tests = []
        for axis in block.iter_vars:
            if axis.iter_type == e.IterVar.CommReduce and axis.dom is not None:
                tests.append(f"{run.name(axis.var)} == {run.expr(axis.dom.min).src}")
        run.emit(f"if {' and '.join(tests) or 'True'}:")
        run.nested(block.init)
    run.stmt(block.body)


def _match(match: s.MatchBufferRegion, run: ProgramCompiler) -> None:
    """A view of a region; symbols in the view's strides and offset get their values."""
    buffer, source = match.buffer, match.source.buffer
    name = run.define(buffer)
    region = match.source.region
    own, whole = buffer.ty.shape, source.ty.shape
    skip = len(whole) - len(own)
    parts = []
    for dim, item in enumerate(region):
        low = run.expr(item.min)
        extent = run.expr(item.extent)
        parts.append(low.src if dim < skip else f"({low.src}):({low.src}) + ({extent.src})")
    array = run.name(source)
    run.emit(f"{name} = {array}[{', '.join(parts)}]" if parts else f"{name} = {array}")
    for k, stride in enumerate(buffer.ty.strides):
        if isinstance(stride, Var) and id(stride) not in run.names:
            run.emit(f"{run.define(stride)} = {name}.strides[{k}] // {name}.itemsize")
    offset = buffer.ty.elem_offset
    if isinstance(offset, Var) and id(offset) not in run.names:
        lows = [run.expr(item.min).src for item in region]
        terms = [f"({x}) * {array}.strides[{k}]" for k, x in enumerate(lows)]
        base = run.offsets.get(id(source), "0")
        run.emit(f"{run.define(offset)} = {base} + ({' + '.join(terms) or '0'}) // {name}.itemsize")
    run.declare(buffer, run.pointers[id(source)], run.roots.get(id(source)))
