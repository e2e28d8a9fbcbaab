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
from workbench.tirx.stmt import Bind, BufferStore, SBlock, SBlockRealize, SeqStmt, Stmt, While

_Kind = OpPatternKind


def kernel_pattern(func: PrimFunc) -> OpPatternKind:
    """How the kernel combines with its neighbours: the most demanding kind among its blocks.

    Element-wise, broadcast or injective: every output element is a formula of single input
    elements, at positions that do not depend on data. Comm_reduce: plain reductions, the last
    block being one. Out_elemwise_fusable: products, windows, and reductions followed by more
    work (softmax, normalisation). Everything else is opaque.
    """
    blocks = leaf_blocks(func)
    if not blocks:
        return _Kind.OPAQUE
    kinds = [_block_kind(block) for block in blocks]
    worst = max(kinds)
    if worst is _Kind.COMM_REDUCE and kinds[-1] is not _Kind.COMM_REDUCE:
        return _Kind.OUT_ELEMWISE_FUSABLE
    return worst


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
    if not found and isinstance(body.block.body, BufferStore):
        return [body.block]  # a single element: no loops, and no root around the block
    return found or None


def _block_kind(block: SBlock) -> OpPatternKind:
    stores = _stores(block.body)
    axes = block.iter_vars
    if any(a.iter_type not in (IterType.DATA_PAR, IterType.COMM_REDUCE) for a in axes):
        return _Kind.OPAQUE
    place = {id(a.var) for a in axes}
    if not stores or not all(
        isinstance(i, IntImm) or id(i) in place for store in stores for i in store.indices
    ):
        return _Kind.OPAQUE
    reduced = {id(a.var) for a in axes if a.iter_type == IterType.COMM_REDUCE}
    kind = _Kind.OPAQUE if len(stores) > 1 else _spatial_kind(stores[0], reduced)
    if kind is not _Kind.OPAQUE or not reduced:
        return kind
    return _reduction_kind(block, stores, reduced)


def _stores(body: Stmt) -> list[BufferStore]:
    """The stores of a block that only binds values and stores them; empty for others."""
    parts = body.seq if isinstance(body, SeqStmt) else (body,)
    if not all(isinstance(part, (Bind, BufferStore)) for part in parts):
        return []
    return [part for part in parts if isinstance(part, BufferStore)]


def _spatial_kind(store: BufferStore, reduced: set[int]) -> OpPatternKind:
    """The kind of a formula of single elements; opaque if one is at a computed position.

    Operands that are broadcast do not matter where another one is element-wise.
    """
    kinds: set[OpPatternKind] = set()
    for load in iter_nodes(store.value, BufferLoad):
        for node in iter_nodes(load.indices, Var, BufferLoad):
            if id(node) in reduced or isinstance(node, BufferLoad):
                return _Kind.OPAQUE
        kinds.add(_load_kind(load, store.indices))
    worst = max(kinds, default=_Kind.ELEMWISE)
    if worst is _Kind.BROADCAST and _Kind.ELEMWISE in kinds:
        return _Kind.ELEMWISE
    return worst


def _load_kind(load: BufferLoad, store: tuple[Expr, ...]) -> OpPatternKind:
    """Element-wise if indexed like the store, broadcast if by some of its indices in order."""
    if len(load.indices) == len(store) and all(
        a is b or _same_constant(a, b) for a, b in zip(load.indices, store, strict=True)
    ):
        return _Kind.ELEMWISE
    at = 0
    for index, extent in zip(load.indices, load.buffer.shape, strict=True):
        if isinstance(index, IntImm) and isinstance(extent, IntImm) and extent.value == 1:
            continue
        # The same index may come again: a diagonal.
        at = next((n for n in range(at, len(store)) if index is store[n]), len(store))
        if at == len(store):
            return _Kind.INJECTIVE
    return _Kind.BROADCAST


def _same_constant(a: Expr, b: Expr) -> bool:
    return isinstance(a, IntImm) and isinstance(b, IntImm) and a.value == b.value


def _reduction_kind(block: SBlock, stores: list[BufferStore], reduced: set[int]) -> OpPatternKind:
    """Plain if reduced axes index operands directly, and it is no product of a matrix kind.

    A product of two operands one of which has an element for every term is a weighted sum.
    """
    loads = list(iter_nodes(block.body, BufferLoad))
    for load in loads:
        for index in load.indices:
            if not isinstance(index, Var) and any(id(v) in reduced for v in iter_nodes(index, Var)):
                return _Kind.OUT_ELEMWISE_FUSABLE
    if len(stores) > 1 or not _is_sum_of_products(stores[0]):
        return _Kind.COMM_REDUCE
    spatial = {id(i) for i in stores[0].indices if isinstance(i, Var)}
    operands = [load for load in loads if load.buffer is not stores[0].buffer]
    if any(spatial <= {id(i) for i in load.indices} for load in operands):
        return _Kind.COMM_REDUCE
    return _Kind.OUT_ELEMWISE_FUSABLE


def _is_sum_of_products(store: BufferStore) -> bool:
    value = store.value
    if not isinstance(value, Add):
        return False
    terms = [t for t in (value.a, value.b) if not _is_load_of(t, store.buffer)]
    return len(terms) == 1 and _is_product(terms[0])


def _is_load_of(e: Expr, buffer: Var) -> bool:
    return isinstance(e, BufferLoad) and e.buffer is buffer


def _is_product(e: Any) -> bool:
    if isinstance(e, Cast):
        return _is_product(e.value)
    if not isinstance(e, Mul):
        return False
    sides = [_uncast(e.a), _uncast(e.b)]
    return all(isinstance(side, BufferLoad) for side in sides)


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
