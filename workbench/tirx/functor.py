"""Visitor and mutator classes, for programs written for TVM.

    class Count(PyStmtExprVisitor):
        def visit_for_(self, op):
            self.loops += 1
            super().visit_for_(op)          # goes on into the loop

    Count().visit_stmt(func.body)

A node is handed to the method named after its class; what is not overridden goes on into the
children, and mutators rebuild the node if a child changed. The compiler itself uses `core.walk` and
`core.rewrite`: tables of functions without recursion. Definitions (loop variables, allocated
buffers) and the buffers of loads and stores are not visited; the shapes of defined buffers are.

Read next: `stmt_functor` and `expr_functor`, the same with the older method names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from workbench.core.dispatch import Dispatch
from workbench.core.node import Node
from workbench.ir.expr import Call, Expr, FloatImm, IntImm, Range, StringImm, Var
from workbench.tirx import expr as E
from workbench.tirx import stmt as S
from workbench.tirx.buffer import is_buffer_var

#: The fields with expressions and statements, in TVM's order of visiting.
FIELDS: Mapping[type, tuple[str, ...]] = {
    E.BinaryOp: ("a", "b"),
    E.Not: ("a",),
    E.Select: ("condition", "true_value", "false_value"),
    E.Cast: ("value",),
    E.Let: ("value", "body"),
    E.Ramp: ("base", "stride", "lanes"),
    E.Broadcast: ("value", "lanes"),
    E.Shuffle: ("indices", "vectors"),
    E.BufferLoad: ("indices", "predicate"),
    E.ProducerLoad: ("indices",),
    E.Reduce: ("axis", "source", "init", "condition"),
    E.IterVar: ("dom",),
    Call: ("args",),
    Range: ("min", "extent"),
    S.Bind: ("value",),
    S.AssertStmt: ("condition", "error_kind", "message_parts"),
    S.For: ("min", "extent", "step", "body"),
    S.While: ("condition", "body"),
    S.Return: ("value",),
    S.BufferStore: ("value", "indices", "predicate"),
    S.AllocBuffer: ("buffer",),
    S.DeclBuffer: ("buffer", "data"),
    S.AttrStmt: ("node", "value", "body"),
    S.Evaluate: ("value",),
    S.SeqStmt: ("seq",),
    S.IfThenElse: ("condition", "then_case", "else_case"),
    S.BufferRegion: ("region",),
    S.MatchBufferRegion: ("source", "buffer"),
    S.SBlock: ("iter_vars", "alloc_buffers", "reads", "writes", "match_buffers", "init", "body"),
    S.SBlockRealize: ("iter_values", "predicate", "block"),
}
_BUFFER_FIELDS = ("shape", "strides", "elem_offset")
_DEFINED = frozenset({"buffer", "alloc_buffers"})

#: Node class → method of the classes here.
METHODS: Mapping[type, str] = {
    Var: "visit_var_",
    E.BufferLoad: "visit_buffer_load_",
    E.ProducerLoad: "visit_producer_load_",
    E.Let: "visit_let_",
    Call: "visit_call_",
    E.Add: "visit_add_",
    E.Sub: "visit_sub_",
    E.Mul: "visit_mul_",
    E.Div: "visit_div_",
    E.Mod: "visit_mod_",
    E.FloorDiv: "visit_floor_div_",
    E.FloorMod: "visit_floor_mod_",
    E.Min: "visit_min_",
    E.Max: "visit_max_",
    E.EQ: "visit_eq_",
    E.NE: "visit_ne_",
    E.LT: "visit_lt_",
    E.LE: "visit_le_",
    E.GT: "visit_gt_",
    E.GE: "visit_ge_",
    E.And: "visit_and_",
    E.Or: "visit_or_",
    E.Reduce: "visit_reduce_",
    E.Cast: "visit_cast_",
    E.Not: "visit_not_",
    E.Select: "visit_select_",
    E.Ramp: "visit_ramp_",
    E.Broadcast: "visit_broadcast_",
    E.Shuffle: "visit_shuffle_",
    IntImm: "visit_int_imm_",
    FloatImm: "visit_float_imm_",
    StringImm: "visit_string_imm_",
    S.Bind: "visit_bind_",
    S.AttrStmt: "visit_attr_stmt_",
    S.IfThenElse: "visit_if_then_else_",
    S.For: "visit_for_",
    S.While: "visit_while_",
    S.Break: "visit_break_",
    S.Continue: "visit_continue_",
    S.Return: "visit_return_",
    S.AllocBuffer: "visit_alloc_buffer_",
    S.DeclBuffer: "visit_decl_buffer_",
    S.BufferStore: "visit_buffer_store_",
    S.AssertStmt: "visit_assert_stmt_",
    S.SeqStmt: "visit_seq_stmt_",
    S.Evaluate: "visit_evaluate_",
    S.SBlock: "visit_sblock_",
    S.SBlockRealize: "visit_sblock_realize_",
}

#: The method names of `stmt_functor` and `expr_functor` where they differ.
OLDER_NAMES: Mapping[str, str] = {
    "visit_floor_div_": "visit_floordiv_",
    "visit_floor_mod_": "visit_floormod_",
    "visit_attr_stmt_": "visit_attr_",
    "visit_assert_stmt_": "visit_assert_",
    "visit_seq_stmt_": "visit_seqstmt_",
    "visit_sblock_": "visit_block_",
    "visit_sblock_realize_": "visit_block_realize_",
}

_fields = Dispatch("fields of a visited node", FIELDS)  # type: ignore[arg-type]


def _below(value: Any, defined: bool) -> Iterator[Any]:
    """The expressions and statements in the value of a field."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _below(item, defined)
    elif defined and is_buffer_var(value):
        for name in _BUFFER_FIELDS:
            yield from _below(getattr(value.ty, name), False)
    elif isinstance(value, (Expr, S.Stmt)):
        yield value
    elif isinstance(value, Node) and type(value) in _fields:
        yield from parts(value)


def parts(node: Node) -> Iterator[Any]:
    """The expressions and statements directly below a node, in TVM's order of visiting."""
    names: Any = _fields.find(type(node))
    for name in names or ():
        yield from _below(getattr(node, name), name in _DEFINED)


def map_parts(node: Any, visit: Callable[[Any], Any]) -> Any:
    """The node with `visit` applied to each of its `parts`; itself if nothing changes."""
    names: Any = _fields.find(type(node))
    changes = {n: _mapped(getattr(node, n), n in _DEFINED, visit) for n in names or ()}
    changes = {n: v for n, v in changes.items() if v is not getattr(node, n)}
    return node.replace(**changes) if changes else node


def _mapped(value: Any, defined: bool, visit: Callable[[Any], Any]) -> Any:
    if isinstance(value, (tuple, list)):
        new = [_mapped(v, defined, visit) for v in value]
        return value if all(a is b for a, b in zip(new, value, strict=True)) else tuple(new)
    if defined and is_buffer_var(value):
        # A definition stays the same variable: its uses elsewhere refer to it.
        for part in _below(value, True):
            visit(part)
        return value
    if isinstance(value, (Expr, S.Stmt)):
        return visit(value)
    if isinstance(value, Node) and type(value) in _fields:
        return map_parts(value, visit)
    return value


class Functor:
    """Finds the method for a node; the base of the visitor and mutator classes."""

    _methods: ClassVar[Dispatch] = Dispatch("visitor", METHODS)  # type: ignore[arg-type]

    def _apply(self, node: Any) -> Any:
        name: Any = self._methods.find(type(node))
        return self._default(node) if name is None else getattr(self, name)(node)

    def _default(self, node: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} has no method for {type(node).__name__}: "
            f"define {self._methods.find(type(node))}"
        )

    def visit_expr(self, expr: Expr) -> Any:
        """Visits an expression."""
        return self._apply(expr)

    def _any(self, node: Any) -> Any:
        return self.visit_stmt(node) if isinstance(node, S.Stmt) else self.visit_expr(node)

    def visit_stmt(self, stmt: S.Stmt) -> Any:
        """Visits a statement."""
        return self._apply(stmt)


class VisitorBase(Functor):
    """Goes into the children of whatever has no method of its own."""

    def _default(self, node: Any) -> None:
        for part in parts(node):
            self._any(part)


class MutatorBase(Functor):
    """Rebuilds whatever has no method of its own from its visited children."""

    def _default(self, node: Any) -> Any:
        return map_parts(node, self._any)


_C = TypeVar("_C", bound=type)


def add_methods(names: Mapping[type, str], *kinds: type) -> Callable[[_C], _C]:
    """Class decorator: a method per node class (of the given kinds), all doing `_default`."""

    def add(cls: _C) -> _C:
        chosen = {c: n for c, n in names.items() if not kinds or issubclass(c, kinds)}
        for node_class, name in chosen.items():
            if name not in vars(cls):
                method = _default_method(name, node_class)
                setattr(cls, name, method)
        cls._methods = Dispatch(cls.__name__, chosen)  # type: ignore[attr-defined, arg-type]
        return cls

    return add


def _default_method(name: str, node_class: type) -> Callable[[Any, Any], Any]:
    def method(self: Any, op: Any) -> Any:
        return self._default(op)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Visits a {node_class.__name__}."
    return method


@add_methods(METHODS)
class PyStmtExprVisitor(VisitorBase):
    """Visits statements and expressions; override `visit_<node>_`."""


@add_methods(METHODS)
class PyStmtExprMutator(MutatorBase):
    """Rewrites statements and expressions; override `visit_<node>_`, return the new node."""


def visitor(cls: _C) -> _C:
    """TVM's class decorator of visitors; a plain class serves as well."""
    return cls


def mutator(cls: _C) -> _C:
    """TVM's class decorator of mutators; a plain class serves as well."""
    return cls


__all__ = [
    "FIELDS",
    "METHODS",
    "OLDER_NAMES",
    "PyStmtExprMutator",
    "PyStmtExprVisitor",
    "map_parts",
    "mutator",
    "parts",
    "visitor",
]
