"""FuseOps: kernels that can run as one become one function.

A kernel is fused into its immediate post-dominator, the first kernel through which all that depends
on it must go, if everything on the way is simple enough (the fusion kinds of `OpPatternKind`). In
the first phase products and convolutions take in the element-wise kernels after them, and
element-wise and broadcast kernels join what follows; in the second, injective kernels do.
What picks an output of a kernel with several goes where that kernel goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from workbench.core.structural import structural_hash
from workbench.core.traverse import iter_nodes, rewrite, substitute
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Op, Var, is_prim_var
from workbench.ir.module import IRModule
from workbench.ir.span import SequentialSpan, SourceName, Span
from workbench.ir.transform import PassContext, define_pass
from workbench.ir.type import TupleType, Type
from workbench.relax.analysis.type_relation import same_dim
from workbench.relax.analysis.variables import definable_tir_vars_in_type
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from workbench.relax.op.infer import simplify
from workbench.relax.op.registry import OpPatternKind
from workbench.relax.type import ShapeType, TensorType
from workbench.tirx import expr as E
from workbench.tirx.buffer import BufferType

_Kind = OpPatternKind


@dataclass
class _Node:
    """A binding of a dataflow block, or a value from outside it."""

    index: int
    kind: OpPatternKind
    binding: VarBinding | None = None
    kernel: str = ""
    users: list[tuple[_Node, OpPatternKind]] = field(default_factory=list)
    # The node whose output this one picks; it goes where that one goes.
    tuple_node: _Node | None = None
    escapes: bool = False
    # Post-dominator tree.
    parent: _Node | None = None
    parent_kind: OpPatternKind = _Kind.OPAQUE
    depth: int = 1
    # Groups: union-find over nodes.
    group: _Node | None = None
    group_kind: OpPatternKind = _Kind.OPAQUE
    size: int = 1

    def root(self) -> _Node:
        """The node that stands for this one's group."""
        node = self
        while node.group is not None:
            node = node.group
        return node


def _kernel_kind(call: Any, mod: IRModule) -> tuple[OpPatternKind, str]:
    """The fusion kind of a `call_tir`, and its kernel's name."""
    if not isinstance(call, Call) or not isinstance(call.op, Op):
        return _Kind.OPAQUE, ""
    if call.op.name != "relax.call_tir":
        return _Kind.OPAQUE, ""
    callee = call.args[0]
    assert isinstance(callee, GlobalVar)
    func = mod[callee]
    return _Kind(func.attrs.get("op_pattern", _Kind.OPAQUE)), callee.name_hint


def _edge_kind(kind: OpPatternKind, source: Any, target: Any) -> OpPatternKind:
    """A broadcast kernel is element-wise for an operand of the result's own shape."""
    if kind is _Kind.BROADCAST and isinstance(source, TensorType):
        a, b = source.dims, target.dims
        if a is not None and b is not None and len(a) == len(b) and all(map(same_dim, a, b)):
            return _Kind.ELEMWISE
    return kind


class _Graph:
    """The bindings of one dataflow block and who uses whom."""

    def __init__(self, block: DataflowBlock, mod: IRModule) -> None:
        self.nodes: list[_Node] = []
        by_var: dict[int, _Node] = {}
        for binding in block.bindings:
            value: Any = binding.value  # type: ignore[attr-defined]
            kind, name = _kernel_kind(value, mod)
            node = _Node(len(self.nodes), kind, binding, name, group_kind=kind)  # type: ignore[arg-type]
            node.escapes = not isinstance(binding.var, DataflowVar)
            if not isinstance(binding, VarBinding):
                node.kind = node.group_kind = _Kind.OPAQUE
            if isinstance(value, TupleGetItem):
                node.tuple_node = by_var.get(id(value.tuple_value))
                if node.tuple_node is not None and node.tuple_node.kernel:
                    node.kind = node.group_kind = _Kind.ELEMWISE
            for operand in _operands(value):
                source = by_var.get(id(operand))
                if source is not None:
                    source.users.append((node, _edge_kind(node.kind, operand.ty, binding.var.ty)))
            self.nodes.append(node)
            by_var[id(binding.var)] = node
        for node in reversed(self.nodes):
            _set_parent(node)

    def between(self, source: _Node, sink: _Node) -> Iterator[_Node]:
        """The nodes on the ways from `source` to `sink`, `sink` last."""
        seen = {sink.index}
        stack = [user for user, _ in source.users]
        while stack:
            node = stack.pop()
            if node.index not in seen:
                seen.add(node.index)
                yield node
                stack.extend(user for user, _ in node.users)
        yield sink


def _operands(value: Any) -> list[Var]:
    """The variables that a binding's value uses, once each."""
    return [v for v in iter_nodes(value, Var) if not is_prim_var(v)]


def _set_parent(node: _Node) -> None:
    """Finds the immediate post-dominator from those of the users."""
    if node.escapes or not node.users:
        return
    parent, kind = node.users[0]
    for user, edge in node.users[1:]:
        kind = max(kind, edge)
        common, met = _common(parent, user)
        if common is None:
            return
        parent, kind = common, max(kind, met)
    node.parent, node.parent_kind, node.depth = parent, kind, parent.depth + 1


def _common(a: _Node, b: _Node) -> tuple[_Node | None, OpPatternKind]:
    """The lowest common ancestor in the post-dominator tree, and the worst kind on the way."""
    kind = _Kind.ELEMWISE
    x: _Node | None = a
    y: _Node | None = b
    while x is not y:
        if x is None or y is None:
            return None, kind
        if x.depth >= y.depth:
            kind = max(kind, x.parent_kind)
            x = x.parent
        else:
            kind = max(kind, y.parent_kind)
            y = y.parent
    return x, kind


class _Partition:
    """Groups the nodes of a graph."""

    def __init__(self, graph: _Graph, max_depth: int) -> None:
        self.graph = graph
        self.max_depth = max_depth

    def run(self) -> None:
        """Both phases."""
        for phase in (0, 1):
            for node in self.graph.nodes:
                self.try_fuse(node, phase)

    def try_fuse(self, node: _Node, phase: int) -> None:
        """Fuses a node into its post-dominator if the phase and the kinds allow it."""
        sink, kind = node.parent, node.root().group_kind
        if sink is None or kind is _Kind.OPAQUE or node.root() is sink.root():
            return
        if node.tuple_node is not None and node.tuple_node.root() is not node.root():
            return
        if kind is _Kind.OUT_ELEMWISE_FUSABLE:
            if phase == 0 and node.parent_kind is _Kind.ELEMWISE:
                self.fuse_if(node, sink, lambda k, last: k <= _Kind.BROADCAST)
        elif kind <= _Kind.BROADCAST:
            if node.parent_kind <= _Kind.INJECTIVE or node.parent_kind is _Kind.COMM_REDUCE:
                self.fuse_if(node, sink, _broadcast_may_join)
        elif kind is _Kind.INJECTIVE and phase == 1:
            self.fuse_if(node, sink, lambda k, last: k <= _Kind.INJECTIVE)

    def fuse_if(
        self, node: _Node, sink: _Node, allowed: Callable[[OpPatternKind, bool], bool]
    ) -> None:
        """Merges a node, its post-dominator and what is between, if all are allowed."""
        path = list(self.graph.between(node, sink))
        groups = {id(n.root()): n.root() for n in (node, *path)}
        if sum(g.size for g in groups.values()) > self.max_depth:
            return
        if all(allowed(n.root().group_kind, n is sink) for n in path):
            for other in (node, *path[:-1]):
                _merge(other.root(), sink.root())


def _broadcast_may_join(kind: OpPatternKind, last: bool) -> bool:
    if last:
        return kind <= _Kind.OUT_ELEMWISE_FUSABLE
    return kind <= _Kind.INJECTIVE


def _merge(child: _Node, parent: _Node) -> None:
    if child is not parent:
        child.group = parent
        parent.group_kind = max(parent.group_kind, child.group_kind)
        parent.size += child.size


@define_pass("relax.FuseOps")
def FuseOps(mod: IRModule, ctx: PassContext, *, fuse_opt_level: int = 1) -> IRModule:
    """Moves kernel calls that can run as one into functions of their own.

        lv = R.call_tir(cls.conv2d, (x, w), …);  lv1 = R.call_tir(cls.relu, (lv,), …)
        →
        lv1 = cls.fused_conv2d_relu(x, w)       # a function with the attribute Primitive

    Needs the attribute `op_pattern` on kernels (AnnotateTIROpPattern). fuse_opt_level : 0 fuses
    nothing. `PassContext(config={"relax.FuseOps.max_depth": n})` limits the kernels in a function.
    """
    if fuse_opt_level <= 0:
        return mod
    depth = int(ctx.get("relax.FuseOps.max_depth", 256))
    builder = BlockBuilder(mod)
    for gvar, func in mod.functions.items():
        if isinstance(func, Function) and not func.attrs.get("Primitive"):
            new = _fuse_function(func, mod, builder, depth)
            if new is not func:
                builder.update_func(gvar, new)
    return mod.replace(functions=builder.get().functions)


def _fuse_function(func: Function, mod: IRModule, builder: BlockBuilder, depth: int) -> Function:
    blocks: list[BindingBlock] = []
    for block in func.body.blocks:
        blocks.append(
            _fuse_block(block, mod, builder, depth) if isinstance(block, DataflowBlock) else block
        )
    if all(a is b for a, b in zip(blocks, func.body.blocks, strict=True)):
        return func
    return func.replace(body=func.body.replace(blocks=tuple(blocks)))


def _fuse_block(
    block: DataflowBlock, mod: IRModule, builder: BlockBuilder, depth: int
) -> DataflowBlock:
    graph = _Graph(block, mod)
    _Partition(graph, depth).run()
    members: dict[int, list[_Node]] = {}
    for node in graph.nodes:
        members.setdefault(node.root().index, []).append(node)
    if len(members) == len(graph.nodes):
        return block
    out: list[Binding] = []
    for node in graph.nodes:
        group = members[node.root().index]
        assert node.binding is not None
        if len(group) == 1:
            out.append(node.binding)
        elif node is group[-1]:
            out.append(_outline(group, builder))
    return block.replace(bindings=tuple(out))


def _outline(group: list[_Node], builder: BlockBuilder) -> VarBinding:
    """The call of a new function with the bindings of a group, bound to the group's result."""
    bindings = [n.binding for n in group if n.binding is not None]
    outliner = _Outliner(builder)
    func, args = outliner.function(bindings)
    name = "_".join(["fused", *(n.kernel for n in group if n.kernel)])
    gvar = builder.add_func(func, name if len(name) <= 96 else f"{name[:96]}_etc")
    last = bindings[-1]
    call = Call(gvar, args, ret_ty=last.value.ty, span=_spans(bindings))
    return VarBinding(last.var, call, span=last.span)


class _Outliner:
    """Makes a function of bindings: variables and symbolic sizes of its own.

    The size of an argument that is a formula of the caller is a plain variable of the function; the
    sizes inside follow from the kernels, so that the function need not know the formula.
    """

    def __init__(self, builder: BlockBuilder) -> None:
        self.builder = builder
        self.images: dict[int, Expr] = {}
        self.symbols: dict[int, tuple[Var, Var]] = {}  # caller's symbol → ours
        self.formulas: dict[int, Var] = {}

    def function(self, bindings: list[VarBinding]) -> tuple[Function, tuple[Expr, ...]]:
        """The function and the arguments of its call."""
        inside = {id(b.var) for b in bindings}
        arguments: dict[int, Expr] = {}
        for binding in bindings:
            if isinstance(binding.value, TupleGetItem):
                continue
            for operand in _tensor_operands(binding.value):
                if id(operand) not in inside:
                    arguments.setdefault(id(operand), operand)
        params = [self.parameter(a, n) for n, a in enumerate(arguments.values())]
        body = self.body(bindings)
        args = list(arguments.values())
        extra = self.undefined(params, body)
        if extra:
            params.append(Var("tir_vars", ShapeType([own for _, own in extra])))
            args.append(ShapeExpr([old for old, _ in extra]))
        func = Function(params, body, None, True, {"Primitive": True}, span=_spans(bindings))
        return func, tuple(args)

    def parameter(self, operand: Expr, number: int) -> Var:
        name = operand.name if isinstance(operand, Var) else f"param_{number}"
        ty = operand.ty
        if isinstance(ty, TensorType) and ty.dims is not None:
            ty = ty.replace(shape=ShapeExpr([self.size(d) for d in ty.dims]))
        param = Var(name, ty)
        self.images[id(operand)] = param
        return param

    def size(self, dim: Expr) -> Expr:
        """The extent of an argument as the function calls it."""
        if isinstance(dim, (Var, IntImm)):
            return self.local(dim)
        key = structural_hash(dim)
        if key not in self.formulas:
            self.formulas[key] = Var(f"size{len(self.formulas)}", dim.ty)
        return self.formulas[key]

    def local(self, node: Any) -> Any:
        """A node over the function's own variables."""
        return rewrite(node, {Var: self._variable, E.BinaryOp: self._formula})

    def _variable(self, node: Var) -> Any:
        found = self.images.get(id(node))
        if found is not None:
            return found
        if is_prim_var(node):
            own = Var(node.name, node.ty)
            self.symbols[id(node)] = (node, own)
            self.images[id(node)] = own
            return own
        return (yield node)

    def _formula(self, node: E.BinaryOp) -> Any:
        found = self.formulas.get(structural_hash(node))
        if found is not None:
            return found
        return (yield node)

    def body(self, bindings: list[VarBinding]) -> SeqExpr:
        """The bindings over the function's own variables."""
        out: list[Binding] = []
        result: Var | None = None
        for number, binding in enumerate(bindings):
            kind = Var if number == len(bindings) - 1 else DataflowVar
            call: Any = binding.value
            if isinstance(call, TupleGetItem):
                whole = self.images[id(call.tuple_value)]
                ty: Any = whole.ty.fields[call.index]  # type: ignore[union-attr]
                result = kind(binding.var.name, ty)
                item = TupleGetItem(whole, call.index, span=call.span)
                out.append(VarBinding(result, item, span=binding.span))
                self.images[id(binding.var)] = result
                continue
            fields = [self.images.get(id(f), f) for f in _tensor_operands(call)]
            rest = tuple(self.local(a) for a in call.args[2:])
            ty = self.result_type(call, fields) or self.local(call.ty)
            new = Call(
                call.op,
                (call.args[0], Tuple(fields), *rest),
                call.attrs,
                (ty,),
                ret_ty=ty,
                span=call.span,
            )
            result = kind(binding.var.name, ty)
            out.append(VarBinding(result, new, span=binding.span))
            self.images[id(binding.var)] = result
        assert result is not None
        return SeqExpr((DataflowBlock(tuple(out)),), result)

    def result_type(self, call: Any, fields: list[Expr]) -> Type | None:
        """The type of a kernel's results, from its buffers and those of the given operands."""
        kernel: Any = self.builder.functions[call.args[0]]
        buffers = [p for p in kernel.params if isinstance(p.ty, BufferType)]
        types = call.ty.fields if isinstance(call.ty, TupleType) else (call.ty,)
        if len(buffers) != len(fields) + len(types):
            return None
        known: dict[Var, Expr] = {}
        for buffer, operand in zip(buffers, fields, strict=False):
            dims = getattr(operand.ty, "dims", None)
            if dims is None or len(dims) != len(buffer.shape):
                return None
            for size, dim in zip(buffer.shape, dims, strict=True):
                if isinstance(size, Var):
                    known.setdefault(size, dim)
        results: list[Type] = []
        for buffer, ty in zip(buffers[len(fields) :], types, strict=True):
            if any(v not in known for d in buffer.shape for v in iter_nodes(d, Var)):
                return None
            shape = [simplify(substitute(d, known)) for d in buffer.shape]
            results.append(TensorType(shape, getattr(ty, "dtype", None)))
        return TupleType(results) if isinstance(call.ty, TupleType) else results[0]

    def undefined(self, params: list[Var], body: SeqExpr) -> list[tuple[Var, Var]]:
        """Symbols (the caller's and ours) that the body uses and no parameter's type defines."""
        defined = {id(v) for p in params for v in definable_tir_vars_in_type(p.ty)}
        used = {id(v) for v in iter_nodes(body, Var)}
        return [
            pair
            for pair in self.symbols.values()
            if id(pair[1]) in used and id(pair[1]) not in defined
        ]


def _tensor_operands(value: Any) -> list[Expr]:
    """Variables and constants among the operands of a `call_tir`."""
    operands = value.args[1]
    fields = operands.fields if isinstance(operands, Tuple) else (operands,)
    return [f for f in fields if isinstance(f, (Var, Constant))]


def _spans(bindings: list[VarBinding]) -> Span:
    """Where a group comes from: the operators of its members, the first of them as the origin."""
    spans = tuple(b.span for b in bindings if b.span is not None)
    origin = next((s.origin for s in spans if s.origin is not None), None)
    return SequentialSpan(SourceName("<pass>"), origin=origin, spans=spans)
