"""The dataflow graph of a Relax function.

A binding is a node; aliases, tuples and tuple fields are edges.  Constants are no nodes of their
own unless asked for: they are told in the details of the node that reads them.  A call of another
Relax function of the module (what FuseOps makes) is a group with that function's graph inside; a
branch of an `If` is a group too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.ir.expr import Call, Expr, GlobalVar, Op, StringImm, Var
from workbench.ir.module import IRModule
from workbench.relax.expr import (
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
)

from .graph import Edge, Graph, Group, Node, NodeKind
from .layout import layout
from .part import Empty, GraphPart, Part
from .type_text import expr_text, safe_text, type_text

#: Groups are folded at first where the open graph would have more nodes than this.
FOLD_ABOVE = 40

#: Operators that call a kernel: the callee is what to show.
_KERNEL_CALLS = frozenset(
    {
        "relax.call_tir",
        "relax.call_tir_inplace",
        "relax.call_dps_packed",
        "relax.call_pure_packed",
        "relax.call_packed",
        "relax.vm.call_tir_dyn",
    }
)

Sources = tuple[tuple[str, str], ...]  # (node id, what is read of it)


@dataclass
class _Builder:
    """Collects nodes and edges; `values` tells where the value of a variable comes from."""

    mod: IRModule | None
    constants: bool
    nodes: list[Node] = field(default_factory=list)
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    values: dict[Var, Sources] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    open_calls: list[str] = field(default_factory=list)

    def name(self, wanted: str, prefix: str) -> str:
        """An id not taken yet."""
        base = f"{prefix}{wanted}"
        found, number = base, 1
        while found in self.taken:
            number += 1
            found = f"{base}#{number}"
        self.taken.add(found)
        return found

    def edge(self, src: str, dst: str, label: str = "") -> None:
        """An edge, once per pair of ends."""
        self.edges.setdefault((src, dst), Edge(src, dst, label))

    def add(
        self,
        name: str,
        label: str,
        sub: str,
        kind: NodeKind,
        group: str | None,
        detail: Iterable[tuple[str, str]] = (),
    ) -> str:
        """A node; returns its id."""
        self.nodes.append(Node(name, label, sub, kind, group, tuple(detail)))
        return name

    def sources(self, expr: Any, prefix: str, group: str | None) -> Sources:
        """The nodes whose values `expr` (an atom, a tuple, a field) stands for."""
        match expr:
            case Var():
                return self.values.get(expr, ())
            case Tuple():
                return tuple(s for item in expr.fields for s in self.sources(item, prefix, group))
            case TupleGetItem():
                inner = self.sources(expr.tuple_value, prefix, group)
                if isinstance(expr.tuple_value, Tuple) or len(inner) > 1:
                    return inner[expr.index : expr.index + 1] or inner
                return tuple((node, f"[{expr.index}]") for node, _ in inner)
            case Constant() if self.constants:
                name = self.name("const", prefix)
                self.add(name, "const", type_text(expr.ty), "const", group)
                return ((name, ""),)
            case SeqExpr() | If() | Call():
                return self.bind(expr, "value", prefix, group)
            case _:
                return ()

    def bind(self, value: Expr, wanted: str, prefix: str, group: str | None) -> Sources:
        """The node of a bound value."""
        match value:
            case Var() | Tuple() | TupleGetItem():
                found = self.sources(value, prefix, group)
                return found or ((self.other(value, wanted, prefix, group), ""),)
            case SeqExpr():
                return self.body(value, prefix, group)
            case If():
                return ((self.branch(value, wanted, prefix, group), ""),)
            case Call():
                return self.call(value, wanted, prefix, group)
            case _:
                return ((self.other(value, wanted, prefix, group), ""),)

    def other(self, value: Expr, wanted: str, prefix: str, group: str | None) -> str:
        """A node for a value that is no call: a constant, a shape, a function."""
        name = self.name(wanted, prefix)
        kind: NodeKind = "const" if isinstance(value, Constant) else "other"
        label = "const" if kind == "const" else atom_text(value)
        return self.add(name, label, type_text(value.ty), kind, group)

    def body(self, seq: SeqExpr, prefix: str, group: str | None) -> Sources:
        """All bindings of a body; returns where its result comes from."""
        for block in seq.blocks:
            for binding in block.bindings:
                value = binding.value  # type: ignore[attr-defined]
                found = self.bind(value, binding.var.name, prefix, group)
                if isinstance(binding, MatchCast):
                    name = self.name(binding.var.name, prefix)
                    self.add(name, "match_cast", type_text(binding.ty), "other", group)
                    for src, label in found:
                        self.edge(src, name, label)
                    found = ((name, ""),)
                self.values[binding.var] = found
        return self.sources(seq.body, prefix, group)

    def call(self, call: Call, wanted: str, prefix: str, group: str | None) -> Sources:
        """A node for a call, or a group for a call of a Relax function of the module."""
        callee = self.callee(call)
        if callee is not None:
            return self.inline(call, callee, wanted, prefix, group)
        name = self.name(wanted, prefix)
        label, kind, args = call_label(call)
        sub = type_text(call.ty)
        detail = [("variable", wanted), *call_details(call, args)]
        if "…" in sub:
            detail.append(("type", " ".join(safe_text(call.ty).split())))
        for arg in args:
            for src, what in self.sources(arg, prefix, group):
                self.edge(src, name, what)
        self.add(name, label, sub, kind, group, detail)
        return ((name, ""),)

    def callee(self, call: Call) -> Function | None:
        """The Relax function that is called, if the module has it and it is not open already."""
        if self.mod is None or not isinstance(call.op, GlobalVar):
            return None
        if call.op not in self.mod or call.op.name_hint in self.open_calls:
            return None
        found = self.mod[call.op]
        return found if isinstance(found, Function) else None

    def inline(
        self, call: Call, callee: Function, wanted: str, prefix: str, group: str | None
    ) -> Sources:
        """The callee's graph inside a group."""
        assert isinstance(call.op, GlobalVar)
        label = call.op.name_hint
        name = self.name(f"{wanted}/{label}", prefix)
        self.groups.append(
            Group(name, label, group, detail=(("variable", wanted), ("type", type_text(call.ty))))
        )
        outer = dict(self.values)
        for param, arg in zip(callee.params, call.args, strict=False):
            self.values[param] = self.sources(arg, prefix, group)
        self.open_calls.append(label)
        found = self.body(callee.body, f"{name}/", name)
        self.open_calls.pop()
        self.values = outer
        return found

    def branch(self, value: If, wanted: str, prefix: str, group: str | None) -> str:
        """A node for an `If`, its branches as groups in front of it."""
        name = self.name(wanted, prefix)
        for src, what in self.sources(value.cond, prefix, group):
            self.edge(src, name, what or "cond")
        for word, seq in (("then", value.true_branch), ("else", value.false_branch)):
            frame = self.name(f"{wanted}/{word}", prefix)
            self.groups.append(Group(frame, f"{word} of {wanted}", group))
            for src, _ in self.body(seq, f"{frame}/", frame):
                self.edge(src, name, word)
        return self.add(name, "if", type_text(value.ty), "other", group)


def atom_text(value: Any) -> str:
    """A value without a node of its own, in one short line."""
    match value:
        case Constant():
            data = value.data
            if all(int(d) == 1 for d in data.shape):
                return str(data.numpy().reshape(-1)[0])
            return f"const {type_text(value.ty)}"
        case ShapeExpr():
            return "(" + ", ".join(expr_text(v) for v in value.values) + ")"
        case StringImm():
            return repr(value.value)
        case DataTypeImm():
            return str(value.value)
        case Var():
            return value.name
        case GlobalVar():
            return value.name_hint
        case Op():
            return value.name
        case Function():
            return "function"
        case Tuple():
            return "(" + ", ".join(atom_text(one) for one in value.fields) + ")"
        case _:
            return expr_text(value, 40)


def call_label(call: Call) -> tuple[str, NodeKind, tuple[Expr, ...]]:
    """(label, kind, arguments that carry data) of a call."""
    op = call.op
    if isinstance(op, Op):
        if op.name in _KERNEL_CALLS and call.args:
            callee, rest = call.args[0], call.args[1:]
            name = getattr(callee, "name_hint", None) or getattr(callee, "global_symbol", None)
            return str(name or atom_text(callee)), "call", rest
        return op.name.removeprefix("relax.").removeprefix("nn."), "op", call.args
    if isinstance(op, GlobalVar):
        return op.name_hint, "call", call.args
    if isinstance(op, ExternFunc):
        return op.global_symbol, "call", call.args
    return atom_text(op), "call", (op, *call.args)


def call_details(call: Call, args: Iterable[Expr]) -> Iterable[tuple[str, str]]:
    """Operator, constant arguments and attributes of a call, as (name, value)."""
    if isinstance(call.op, Op):
        yield "operator", call.op.name
    flat: list[Any] = []
    for arg in args:
        flat.extend(arg.fields if isinstance(arg, Tuple) else (arg,))
    for i, arg in enumerate(flat):
        if not isinstance(arg, Var | TupleGetItem | Call):
            yield f"argument {i}", atom_text(arg)
    attrs = call.attrs
    if isinstance(attrs, Mapping):
        for key, value in attrs.items():
            if value is not None and value != "":
                yield str(key), _attr_text(value)


def _attr_text(value: Any) -> str:
    """An attribute value in one line."""
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_attr_text(one) for one in value) + "]"
    return expr_text(value, 60) if isinstance(value, Expr) else str(value)


def relax_graph(func: Function, mod: IRModule | None = None, constants: bool = False) -> Graph:
    """The graph of `func`; with `mod`, calls of its Relax functions are groups.

    Groups are folded where the open graph would have more than `FOLD_ABOVE` nodes.
    `constants` gives each constant argument a node.
    """
    build = _Builder(mod, constants)
    for param in func.params:
        name = build.name(param.name, "")
        build.add(name, param.name, type_text(param.ty), "param", None)
        build.values[param] = ((name, ""),)
    result = build.body(func.body, "", None)
    out = build.name("output", "")
    for src, what in result:
        build.edge(src, out, what)
    build.add(out, "output", type_text(func.ret_ty), "output", None)
    fold = len(build.nodes) > FOLD_ABOVE
    groups = tuple(Group(g.id, g.label, g.parent, fold, g.detail) for g in build.groups)
    return Graph(tuple(build.nodes), tuple(build.edges.values()), groups)


def main_function(mod: IRModule) -> tuple[str, Function] | None:
    """The graph function to show first: `main`, else the first public one, else the first."""
    found = [(g.name_hint, f) for g, f in mod.functions_items() if isinstance(f, Function)]
    if not found:
        return None
    for name, func in found:
        if name == "main":
            return name, func
    public = [(n, f) for n, f in found if "global_symbol" in f.attrs]
    return (public or found)[0]


def graph_part(func: Function, mod: IRModule | None = None, name: str = "main") -> Part:
    """The laid-out graph of a Relax function."""
    graph = relax_graph(func, mod)
    if len(graph.nodes) <= 1:
        return Empty(f"{name} has no operators and no inputs")
    return GraphPart(graph, layout(graph), f"Graph of {name}")
