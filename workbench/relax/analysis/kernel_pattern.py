"""What a kernel computes, seen from its loops: its fusion kind, and whether it only reshapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.arith import Analyzer
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Expr, IntImm, Var
from workbench.ir.type import TupleType
from workbench.relax.op.registry import OpPatternKind
from workbench.relax.type import TensorType
from workbench.tirx.expr import Add, BufferLoad, Cast, IterType, IterVar, Mul
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import BufferStore, SBlock, SBlockRealize, Stmt, While

_Kind = OpPatternKind


def kernel_pattern(func: PrimFunc) -> OpPatternKind:
    """How the kernel combines with its neighbours.

    Element-wise, broadcast or injective: every output element is a formula of single input
    elements. Comm_reduce: one plain reduction. Out_elemwise_fusable: one reduction of products
    (convolution, matrix product). Everything else is opaque.
    """
    blocks = leaf_blocks(func)
    if blocks is None or not blocks:
        return _Kind.OPAQUE
    kinds = [_block_kind(block) for block in blocks]
    if len(_written(func)) != 1:
        return _Kind.OPAQUE
    reductions = [k for k in kinds if k >= _Kind.COMM_REDUCE]
    if _Kind.OPAQUE in kinds or len(reductions) > 1:
        return _Kind.OPAQUE
    if not reductions:
        return max(kinds) if len(kinds) == 1 else max(_Kind.INJECTIVE, *kinds)
    place = kinds.index(reductions[0])
    if any(k > _Kind.BROADCAST for k in kinds[place + 1 :]):
        return _Kind.OPAQUE
    return reductions[0]


def leaf_blocks(func: PrimFunc) -> list[SBlock] | None:
    """The blocks below the root, in order; None if there are statements of other kinds."""
    body: Stmt = func.body
    if not isinstance(body, SBlockRealize):
        return None
    if body.block.iter_vars or next(iter_nodes(body, While), None) is not None:
        return None
    found: list[SBlock] = []
    for block in iter_nodes(body.block.body, SBlock):
        if next(iter_nodes((block.body,), SBlock), None) is not None:
            return None
        found.append(block)
    return found or None


def _written(func: PrimFunc) -> set[int]:
    """The parameters that the kernel writes."""
    params = {id(p) for p in func.params}
    return {id(s.buffer) for s in iter_nodes(func.body, BufferStore) if id(s.buffer) in params}


def _block_kind(block: SBlock) -> OpPatternKind:
    store = block.body
    if not isinstance(store, BufferStore):
        return _Kind.OPAQUE
    axes = block.iter_vars
    if any(a.iter_type not in (IterType.DATA_PAR, IterType.COMM_REDUCE) for a in axes):
        return _Kind.OPAQUE
    if any(a.iter_type == IterType.COMM_REDUCE for a in axes):
        return _reduction_kind(block, store)
    place = {id(a.var): n for n, a in enumerate(axes)}
    indices = store.indices
    if not all(isinstance(i, IntImm) or id(i) in place for i in indices):
        return _Kind.OPAQUE
    kind = _Kind.ELEMWISE
    for load in iter_nodes(store.value, BufferLoad):
        if load.buffer is store.buffer:
            return _Kind.OPAQUE
        kind = max(kind, _load_kind(load, indices))
    return kind


def _load_kind(load: BufferLoad, store: tuple[Expr, ...]) -> OpPatternKind:
    """Element-wise if indexed like the store, broadcast if by some of its indices in order."""
    if len(load.indices) == len(store) and all(
        a is b or _same_constant(a, b) for a, b in zip(load.indices, store, strict=True)
    ):
        return _Kind.ELEMWISE
    rest = iter(store)
    for index in load.indices:
        if isinstance(index, IntImm):
            continue
        if not isinstance(index, Var) or not any(index is s for s in rest):
            return _Kind.INJECTIVE
    return _Kind.BROADCAST


def _same_constant(a: Expr, b: Expr) -> bool:
    return isinstance(a, IntImm) and isinstance(b, IntImm) and a.value == b.value


def _reduction_kind(block: SBlock, store: BufferStore) -> OpPatternKind:
    """A sum of products of loads is fusable at its output; other reductions are plain ones."""
    value = store.value
    if isinstance(value, Add):
        terms = [t for t in (value.a, value.b) if not _is_load_of(t, store.buffer)]
        if len(terms) == 1 and _is_product(terms[0]):
            return _Kind.OUT_ELEMWISE_FUSABLE
    return _Kind.COMM_REDUCE


def _is_load_of(e: Expr, buffer: Var) -> bool:
    return isinstance(e, BufferLoad) and e.buffer is buffer


def _is_product(e: Any) -> bool:
    if isinstance(e, Cast):
        return _is_product(e.value)
    if not isinstance(e, Mul):
        return False
    sides = [_uncast(e.a), _uncast(e.b)]
    loads = [s for s in sides if isinstance(s, BufferLoad)]
    return len(loads) == 2 and loads[0].buffer is not loads[1].buffer


def _uncast(e: Any) -> Any:
    return e.value if isinstance(e, Cast) else e


def has_reshape_pattern(func: PrimFunc) -> bool:
    """Whether the kernel's only effect is its input in row-major order under another shape.

    All of the input: a slice at its start keeps the positions too, and is no reshape.
    """
    blocks = leaf_blocks(func)
    if blocks is None or len(blocks) != 1 or len(func.params) != 2:
        return False
    (block,) = blocks
    store = block.body
    if not isinstance(store, BufferStore) or not isinstance(store.value, BufferLoad):
        return False
    load = store.value
    source, target = func.params
    if load.buffer is not source or store.buffer is not target or source.dtype != target.dtype:
        return False
    return _positions_equal(block.iter_vars, load, store)


def _positions_equal(axes: tuple[IterVar, ...], load: BufferLoad, store: BufferStore) -> bool:
    analyzer = Analyzer()
    for axis in axes:
        assert axis.dom is not None
        analyzer.bind(axis.var, axis.dom)
    size = _product_of(store.buffer.shape)
    for other in (load.buffer.shape, [a.dom.extent for a in axes if a.dom is not None]):
        if not analyzer.can_prove_equal(_product_of(other), size):
            return False
    read = _position(load.indices, load.buffer.shape)
    written = _position(store.indices, store.buffer.shape)
    if read is None or written is None:
        return read is written
    return bool(analyzer.can_prove_equal(read, written))


def _product_of(extents: Iterable[Expr]) -> Expr:
    total: Any = IntImm("int64", 1)
    for extent in extents:
        total = total * extent
    return total


def _position(indices: tuple[Expr, ...], shape: Any) -> Any:
    total: Any = None
    for index, size in zip(indices, shape, strict=True):
        total = index if total is None else total * size + index
    return total


def shape_known(ty: Any) -> bool:
    """Whether a type tells everything a kernel needs."""
    if isinstance(ty, TupleType):
        return all(map(shape_known, ty.fields))
    return not isinstance(ty, TensorType) or (ty.dims is not None and ty.dtype is not None)
