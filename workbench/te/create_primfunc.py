"""From tensor expressions to loops: `create_prim_func([A, B, C])`.

Every operation becomes a loop nest around one block (a nest per group of outputs); tensors that are
no arguments become buffers of the root block.

    C = te.compute((128,), lambda i: A[i] + 1.0, name="C")
    →
    for i in range(128):
        with T.sblock("C"):
            v_i = T.axis.spatial(128, i)
            C[v_i] = A[v_i] + T.float32(1.0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.names import NameSupply, identifier
from workbench.core.traverse import rewrite, substitute
from workbench.ir.expr import Expr, IntImm, Var
from workbench.ir.span import Span
from workbench.te.access import reads_of, regions_of, whole_buffers
from workbench.te.index_dtype import with_index_dtype
from workbench.te.tensor import ComputeOp, ExternOp, Operation, PlaceholderOp, Tensor
from workbench.tirx.buffer import decl_buffer
from workbench.tirx.expr import BufferLoad, IterVar, ProducerLoad, Reduce, Select
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import (
    Bind,
    BufferStore,
    For,
    ForKind,
    SBlock,
    SBlockRealize,
    SeqStmt,
    Stmt,
)

#: Attributes of an operation that describe the function, not its block.
_FUNCTION_ATTRS = ("layout_free_placeholders",)


class _Builder:
    """The function under construction: buffers of tensors, names, statements."""

    def __init__(self, span: Span | None) -> None:
        self.buffers: dict[int, Var] = {}  # by id of the tensor
        self.kept: list[Tensor] = []  # keeps the ids valid
        self.names = NameSupply()
        self.span = span
        self.free: set[int] = set()  # tensors whose layout is free

    def bind(self, tensor: Tensor, buffer: Var) -> None:
        self.buffers[id(tensor)] = buffer
        self.kept.append(tensor)

    def declare(self, tensor: Tensor) -> Var:
        buffer = decl_buffer(tensor.shape, tensor.dtype, identifier(tensor.name))
        self.bind(tensor, buffer)
        return buffer

    def load(self, node: ProducerLoad) -> BufferLoad:
        return BufferLoad(self.buffers[id(node.producer)], node.indices)

    def lower(self, value: Any, variables: Mapping[Var, Expr]) -> Any:
        """Loads of tensors become loads of buffers, axes become block variables."""
        images = {id(v): e for v, e in variables.items()}
        return rewrite(value, {ProducerLoad: self.load, Var: lambda v: images.get(id(v))})


def _block_axes(axes: Sequence[IterVar]) -> tuple[list[IterVar], dict[Var, Expr]]:
    """Block variables `v_i` of the axes, and what to replace the axes by."""
    out: list[IterVar] = []
    replacement: dict[Var, Expr] = {}
    for axis in axes:
        variable = Var(f"v_{axis.var.name}", axis.var.ty)
        out.append(IterVar(axis.dom, variable, axis.iter_type))
        replacement[axis.var] = variable
    return out, replacement


def _annotations(op: Operation) -> dict[str, Any]:
    return {k: v for k, v in op.attrs.items() if k not in _FUNCTION_ATTRS}


def _nest(axes: Sequence[IterVar], make_body: Callable[[list[Expr]], Stmt]) -> Stmt:
    """Loops over `axes` around the statement that `make_body` makes of the loop variables."""
    loops = [Var(a.var.name, a.var.ty) for a in axes]
    body = make_body(list(loops))
    for axis, variable in zip(reversed(axes), reversed(loops), strict=True):
        assert axis.dom is not None
        body = For(variable, axis.dom.min, axis.dom.extent, ForKind.SERIAL, body)
    return body


def _element_block(b: _Builder, op: ComputeOp, index: int, name: str) -> Callable[..., Stmt]:
    """The block of one output of an elementwise operation."""
    axes, replacement = _block_axes(op.axis)
    buffer = b.buffers[id(op.output(index))]
    at = [a.var for a in axes]
    value = b.lower(op.body[index], replacement)
    block = SBlock(
        tuple(axes),
        tuple(reads_of([value])),
        tuple(regions_of([(buffer, tuple(at))])),
        b.names.fresh(name),
        BufferStore(buffer, value, at, span=b.span),
        annotations=_annotations(op),
        span=b.span,
    )
    return lambda loops: SBlockRealize(loops, True, block, span=b.span)


def _stores(targets: Sequence[Var], at: Sequence[Expr], values: Sequence[Expr]) -> Stmt:
    """Stores of several values; all are computed before the first is stored."""
    if len(targets) == 1:
        return BufferStore(targets[0], values[0], at)
    temps = [Var(f"v_{t.name}", v.ty) for t, v in zip(targets, values, strict=True)]
    binds = [Bind(t, v) for t, v in zip(temps, values, strict=True)]
    stores = [BufferStore(t, v, at) for t, v in zip(targets, temps, strict=True)]
    return SeqStmt([*binds, *stores])


def _reduction(b: _Builder, op: ComputeOp) -> Stmt:
    """The nest of a reduction: initial values in `init`, one combination per iteration."""
    first = op.body[0]
    assert isinstance(first, Reduce)
    all_axes = [*op.axis, *first.axis]
    axes, replacement = _block_axes(all_axes)
    at = [a.var for a in axes[: len(op.axis)]]
    order = [e.value_index for e in op.body if isinstance(e, Reduce)]
    # Output v of the operation is value order[v] of the combiner.
    targets: list[Var] = [b.buffers[id(op.output(order.index(i)))] for i in range(len(order))]
    if len(order) != len(first.source):
        raise WorkbenchError(
            f"compute {op.name}: the reduction has {len(first.source)} values, "
            f"but {len(order)} of them are outputs"
        )
    source = list(b.lower(tuple(first.source), replacement))
    condition = b.lower(first.condition, replacement)
    combiner = first.combiner
    identity = list(combiner.identity_element)
    if not (isinstance(condition, IntImm) and condition.value):
        source = [
            Select(condition, value, neutral) if neutral.ty == value.ty else value
            for value, neutral in zip(source, identity, strict=True)
        ]
    start = list(b.lower(tuple(first.init), replacement)) if first.init else identity
    current = [BufferLoad(t, at) for t in targets]
    pairs: dict[Var, Expr] = dict(zip(combiner.lhs, current, strict=True))
    pairs.update(zip(combiner.rhs, source, strict=True))
    values = substitute(tuple(combiner.result), pairs)
    block = SBlock(
        tuple(axes),
        tuple(reads_of([*source, *start])),
        tuple(regions_of((t, tuple(at)) for t in targets)),
        b.names.fresh(identifier(op.name)),
        _stores(targets, at, values),
        init=SeqStmt.flatten([BufferStore(t, s, at) for t, s in zip(targets, start, strict=True)]),
        annotations=_annotations(op),
        span=b.span,
    )
    return _nest(all_axes, lambda loops: SBlockRealize(loops, True, block, span=b.span))


def _compute(b: _Builder, op: ComputeOp) -> Stmt:
    if isinstance(op.body[0], Reduce):
        return _reduction(b, op)
    makers = [_element_block(b, op, i, identifier(op.output(i).name)) for i in range(len(op.body))]
    return _nest(op.axis, lambda loops: SeqStmt.flatten([make(loops) for make in makers]))


def _extern(b: _Builder, op: ExternOp) -> Stmt:
    places = [*op.input_placeholders, *op.output_placeholders]
    actual = [b.buffers[id(t)] for t in (*op.inputs, *op.outputs)]
    body = substitute(op.body, dict(zip(places, actual, strict=True)))
    reads, writes = whole_buffers(body, actual)
    block = SBlock(
        (),
        tuple(reads),
        tuple(writes),
        b.names.fresh(identifier(op.name)),
        body,
        annotations=_annotations(op),
        span=b.span,
    )
    return SBlockRealize((), True, block, span=b.span)


def _sorted_operations(outputs: Sequence[Tensor]) -> list[Operation]:
    """The operations below the outputs, inputs before users."""
    order: list[Operation] = []
    seen: set[int] = set()
    stack: list[tuple[Operation, bool]] = [(t.op, False) for t in reversed(outputs)]
    while stack:
        op, done = stack.pop()
        if done:
            order.append(op)
        elif id(op) not in seen:
            seen.add(id(op))
            stack.append((op, True))
            stack.extend((t.op, False) for t in reversed(op.input_tensors))
    return order


def _root(statements: Sequence[Stmt], allocated: Sequence[Var], span: Span | None) -> Stmt:
    """The statements in the root block; a single block without axes is the root itself."""
    body = SeqStmt.flatten(list(statements))
    if isinstance(body, SBlockRealize) and not body.iter_values and not allocated:
        return body
    block = SBlock((), (), (), "root", body, alloc_buffers=allocated, span=span)
    return SBlockRealize((), True, block, span=span)


def create_prim_func(
    ops: Sequence[Tensor | Var],
    index_dtype_override: str | None = None,
    *,
    span: Span | None = None,
) -> PrimFunc:
    """The function that computes tensors.

    Parameters
    ----------
    ops : the parameters in order: inputs (placeholders), outputs, and scalar variables.
    index_dtype_override : gives all loops, shapes and indices one data type ("int64").
    span : where the function comes from; its blocks remember it too.

    Raises WorkbenchError if a placeholder that is read is not among the parameters.
    """
    if isinstance(ops, (Tensor, Var)):
        ops = [ops]
    b = _Builder(span)
    params: list[Var] = []
    tensors: list[Tensor] = []
    for item in ops:
        if any(item is other for other in (*tensors, *params)):
            raise WorkbenchError(
                f"create_prim_func: {item} is among the parameters twice",
                hint="make a copy of it: te.compute(A.shape, lambda *i: A(*i))",
            )
        if isinstance(item, Tensor):
            params.append(b.declare(item))
            tensors.append(item)
        elif isinstance(item, Var):
            params.append(item)
        else:
            raise WorkbenchError(
                f"create_prim_func: expected tensors and variables, got {type(item).__name__}"
            )
    statements: list[Stmt] = []
    allocated: list[Var] = []
    free_layout: list[Any] = []
    for op in _sorted_operations(tensors):
        if isinstance(op, PlaceholderOp):
            if id(op.output(0)) not in b.buffers:
                raise WorkbenchError(
                    f"create_prim_func: the input {op.output(0)} is read but is no parameter",
                    hint="add it to the list of tensors",
                )
            continue
        for tensor in op.outputs:
            if id(tensor) not in b.buffers:
                allocated.append(b.declare(tensor))
        if isinstance(op, ComputeOp):
            statements.append(_compute(b, op))
        elif isinstance(op, ExternOp):
            statements.append(_extern(b, op))
        free_layout.extend(op.attrs.get("layout_free_placeholders", ()))
    attrs: dict[str, Any] = {"global_symbol": "main", "s_tir": True, "tirx.noalias": True}
    if free_layout:
        free = {id(b.buffers[id(t)]) for t in free_layout}
        attrs["layout_free_buffers"] = [i for i, p in enumerate(params) if id(p) in free]
    function = PrimFunc(params, _root(statements, allocated, span), None, attrs, span)
    if index_dtype_override is not None:
        function = with_index_dtype(function, index_dtype_override)
    return function
