"""Visitor and mutator classes of graph programs, for programs written for TVM.

    @mutator
    class Fuse(PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)       # operands first
            return relax.op.nn.relu(call.args[0]) if wanted(call) else call

    fuse = Fuse(mod)
    fuse.builder_.update_func(gvar, fuse.visit_expr(mod[gvar]))
    new = fuse.builder_.get()

A node is handed to the method named after its class. The mutator normalises what the methods return
(nested calls are bound to variables of `builder_`) and follows changed types into later bindings.
The compiler's own passes use `core.rewrite` and `relax.transform.rewriter`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar, TypeVar

from workbench.core.dispatch import Dispatch
from workbench.core.structural import structural_equal
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, Expr, GlobalVar, Op, StringImm, Var
from workbench.ir.module import IRModule
from workbench.ir.span import Span
from workbench.ir.type import Type
from workbench.relax.analysis.type_relation import is_base_of
from workbench.relax.block_builder import BlockBuilder, same_blocks
from workbench.relax.expr import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)

_METHODS: dict[type, str] = {
    Constant: "visit_constant_",
    Tuple: "visit_tuple_",
    DataflowVar: "visit_dataflow_var_",
    Var: "visit_var_",
    ShapeExpr: "visit_shape_expr_",
    ExternFunc: "visit_extern_func_",
    GlobalVar: "visit_global_var_",
    Function: "visit_function_",
    Call: "visit_call_",
    SeqExpr: "visit_seq_expr_",
    If: "visit_if_",
    Op: "visit_op_",
    TupleGetItem: "visit_tuple_getitem_",
    StringImm: "visit_string_imm_",
    DataTypeImm: "visit_data_type_imm_",
    Expr: "visit_expr_fallback_",
    VarBinding: "visit_var_binding_",
    MatchCast: "visit_match_cast_",
    DataflowBlock: "visit_dataflow_block_",
    BindingBlock: "visit_binding_block_",
}


class _Functor:
    """Finds the method for a node."""

    _methods: ClassVar[Dispatch] = Dispatch("visitor", _METHODS)  # type: ignore[arg-type]

    def _method(self, node: Any) -> Callable[[Any], Any]:
        name: Any = self._methods.find(type(node))
        if name is None:
            raise TypeError(f"{type(self).__name__}: no method for a {type(node).__name__}")
        return getattr(self, name)

    def visit_expr(self, expr: Expr) -> Any:
        """Visits an expression."""
        return self._method(expr)(expr)

    def visit_binding(self, binding: Binding) -> Any:
        """Visits a binding."""
        return self._method(binding)(binding)

    def visit_binding_block(self, block: BindingBlock) -> Any:
        """Visits a block of bindings."""
        return self._method(block)(block)

    def visit_var_def(self, var: Var) -> Any:
        """Visits the variable that a binding or a function defines."""
        if isinstance(var, DataflowVar):
            return self.visit_dataflow_var_def_(var)
        return self.visit_var_def_(var)

    def visit_var_def_(self, var: Var) -> Any:
        """Visits the definition of a variable."""
        raise NotImplementedError(f"{type(self).__name__}: define visit_var_def_")

    def visit_dataflow_var_def_(self, var: DataflowVar) -> Any:
        """Visits the definition of a variable of a dataflow block."""
        raise NotImplementedError(f"{type(self).__name__}: define visit_dataflow_var_def_")


class ExprFunctor(_Functor):
    """A function over expressions: define `visit_<node>_` for the nodes that may occur."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("visit_"):
            raise NotImplementedError(f"{type(self).__name__} does not define {name}")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


def _shapes(ty: Any) -> Iterator[ShapeExpr]:
    """The shapes in a type."""
    if ty is not None:
        yield from iter_nodes(ty, ShapeExpr)


class PyExprVisitor(_Functor):
    """Visits a graph program; what is not overridden goes on into the children.

    The shapes in the types of variables and constants are visited as well.
    """

    def _visit_type(self, node: Any) -> None:
        for shape in _shapes(node.ty):
            self.visit_expr(shape)

    def visit_constant_(self, op: Constant) -> Any:
        """Visits a constant."""
        self._visit_type(op)

    def visit_global_var_(self, op: GlobalVar) -> Any:
        """Visits the name of a function."""

    def visit_extern_func_(self, op: ExternFunc) -> Any:
        """Visits an external function."""

    def visit_op_(self, op: Op) -> Any:
        """Visits an operator."""

    def visit_string_imm_(self, op: StringImm) -> Any:
        """Visits a string."""

    def visit_data_type_imm_(self, op: DataTypeImm) -> Any:
        """Visits a data type."""

    def visit_expr_fallback_(self, op: Expr) -> Any:
        """Visits a scalar expression: its variables."""
        for child in op.children():
            if isinstance(child, Expr):
                self.visit_expr(child)

    def visit_var_(self, op: Var) -> Any:
        """Visits the use of a variable."""
        self._visit_type(op)

    def visit_dataflow_var_(self, op: DataflowVar) -> Any:
        """Visits the use of a variable of a dataflow block."""
        self._visit_type(op)

    def visit_tuple_(self, op: Tuple) -> Any:
        """Visits a tuple."""
        for item in op.fields:
            self.visit_expr(item)

    def visit_tuple_getitem_(self, op: TupleGetItem) -> Any:
        """Visits the access to a field of a tuple."""
        self.visit_expr(op.tuple_value)

    def visit_shape_expr_(self, op: ShapeExpr) -> Any:
        """Visits a shape."""
        for value in op.values:
            self.visit_expr(value)

    def visit_call_(self, op: Call) -> Any:
        """Visits a call: what is called, then the arguments."""
        self.visit_expr(op.op)
        for arg in op.args:
            self.visit_expr(arg)
        for ty in op.ty_args:
            for shape in _shapes(ty):
                self.visit_expr(shape)

    def visit_if_(self, op: If) -> Any:
        """Visits a conditional."""
        self.visit_expr(op.cond)
        self.visit_expr(op.true_branch)
        self.visit_expr(op.false_branch)

    def visit_function_(self, op: Function) -> Any:
        """Visits a function."""
        for param in op.params:
            self.visit_var_def(param)
        self.visit_expr(op.body)

    def visit_seq_expr_(self, op: SeqExpr) -> Any:
        """Visits blocks of bindings and the value after them."""
        for block in op.blocks:
            self.visit_binding_block(block)
        self.visit_expr(op.body)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Visits the value, then the variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """Visits the value, then the variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_binding_block_(self, block: BindingBlock) -> None:
        """Visits the bindings of a block."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        """Visits the bindings of a dataflow block."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_var_def_(self, var: Var) -> None:
        """Visits the definition of a variable."""
        self._visit_type(var)

    def visit_dataflow_var_def_(self, var: DataflowVar) -> None:
        """Visits the definition of a variable of a dataflow block."""
        self._visit_type(var)

    def visit_span(self, span: Span) -> None:
        """Not called: spans are metadata."""


class PyExprMutator(_Functor):
    """Rewrites a graph program; what is not overridden is rebuilt from its rewritten children."""

    builder_: BlockBuilder

    def __init__(self, mod: IRModule | None = None) -> None:
        self.builder_ = BlockBuilder(mod)
        self._images: dict[int, Var] = {}
        self._alive: list[Var] = []  # keeps the ids in `_images` valid

    # -- what programs call -------------------------------------------------------------------

    def visit_expr(self, expr: Expr) -> Any:
        """The rewritten expression, normalised."""
        new = self._method(expr)(expr)
        return new if isinstance(new, SeqExpr) else self.builder_.normalize(new)

    def visit_expr_post_order(self, expr: Expr) -> Any:
        """The expression over rewritten children; its own method is not called again."""
        name: Any = self._methods.find(type(expr))
        return self.builder_.normalize(getattr(PyExprMutator, name)(self, expr))

    def set_var_remap(self, old_var: Var, new_var: Var) -> None:
        """Later uses of `old_var` become `new_var`."""
        self._images[id(old_var)] = new_var
        self._alive.append(old_var)

    def get_var_remap(self, var: Var) -> Var:
        """What takes the place of a variable (itself if nothing does)."""
        return self._images.get(id(var), var)

    def lookup_binding(self, var: Var) -> Expr | None:
        """The value bound to a variable so far."""
        return self.builder_.lookup_binding(var)

    def with_type(self, var: Var, ty: Type) -> Var:
        """The variable, or one of its name if it has another type."""
        if var.ty is ty or (var.ty is not None and structural_equal(var.ty, ty)):
            return var
        return type(var)(var.name, ty, span=var.span)

    def visit_with_new_scope(self, expr: Expr) -> SeqExpr:
        """Rewrites a body whose bindings are its own."""
        with self._scope(expr) as blocks:
            if isinstance(expr, SeqExpr):
                for block in expr.blocks:
                    self.visit_binding_block(block)
                value = expr.body
            else:
                value = expr
            body = self.builder_.as_leaf(self.visit_expr(value))
        if isinstance(expr, SeqExpr) and body is expr.body and same_blocks(blocks, expr.blocks):
            return expr
        return SeqExpr(blocks, body, span=expr.span)

    @contextmanager
    def _scope(self, expr: Expr) -> Iterator[list[BindingBlock]]:
        if self.builder_.is_open():
            with self.builder_.nested() as blocks:
                yield blocks
        else:
            with self.builder_.collect({v.name for v in iter_nodes(expr, Var)}) as blocks:
                yield blocks

    # -- leaves -------------------------------------------------------------------------------

    def visit_constant_(self, op: Constant) -> Any:
        """A constant stays."""
        return op

    def visit_global_var_(self, op: GlobalVar) -> Any:
        """The name of a function stays."""
        return op

    def visit_extern_func_(self, op: ExternFunc) -> Any:
        """An external function stays."""
        return op

    def visit_op_(self, op: Op) -> Any:
        """An operator stays."""
        return op

    def visit_string_imm_(self, op: StringImm) -> Any:
        """A string stays."""
        return op

    def visit_data_type_imm_(self, op: DataTypeImm) -> Any:
        """A data type stays."""
        return op

    def visit_var_(self, op: Var) -> Any:
        """What takes the variable's place."""
        return self.get_var_remap(op)

    def visit_dataflow_var_(self, op: DataflowVar) -> Any:
        """What takes the variable's place."""
        return self.get_var_remap(op)

    def visit_expr_fallback_(self, op: Expr) -> Any:
        """A scalar expression over rewritten variables."""
        old = op.children()
        new = [self.visit_expr(c) if isinstance(c, Expr) else c for c in old]
        return op if all(a is b for a, b in zip(new, old, strict=True)) else op.with_children(new)

    # -- compound expressions -----------------------------------------------------------------

    def visit_tuple_(self, op: Tuple) -> Any:
        """The tuple of the rewritten fields."""
        fields = self._all(op.fields)
        return op if fields is op.fields else Tuple(fields, span=op.span)

    def visit_tuple_getitem_(self, op: TupleGetItem) -> Any:
        """The access to the rewritten tuple."""
        whole = self.visit_expr(op.tuple_value)
        return op if whole is op.tuple_value else TupleGetItem(whole, op.index, span=op.span)

    def visit_shape_expr_(self, op: ShapeExpr) -> Any:
        """The shape of the rewritten dimensions."""
        values = self._all(op.values)
        return op if values is op.values else ShapeExpr(values, span=op.span)

    def visit_call_(self, op: Call) -> Any:
        """The call with rewritten arguments; its type is inferred again if one changed."""
        callee, args = self.visit_expr(op.op), self._all(op.args)
        if callee is op.op and args is op.args:
            return op
        return op.replace(op=callee, args=args, ty=None)

    def visit_if_(self, op: If) -> Any:
        """The conditional of rewritten branches."""
        cond = self.visit_expr(op.cond)
        yes = self.visit_with_new_scope(op.true_branch)
        no = self.visit_with_new_scope(op.false_branch)
        if cond is op.cond and yes is op.true_branch and no is op.false_branch:
            return op
        return If(cond, yes, no, span=op.span)

    def visit_function_(self, op: Function) -> Any:
        """The function of the rewritten body."""
        with self.builder_.collect({v.name for v in iter_nodes(op, Var)}):
            params = tuple(self.visit_var_def(p) for p in op.params)
            for old, new in zip(op.params, params, strict=True):
                if new is not old:
                    self.set_var_remap(old, new)
            body = self.visit_with_new_scope(op.body)
        same = all(a is b for a, b in zip(params, op.params, strict=True))
        if same and body is op.body:
            return op
        ret = op.ret_ty
        if ret is None or body.ty is None or not is_base_of(ret, body.ty):
            ret = body.ty
        return op.replace(params=op.params if same else params, body=body, ret_ty=ret)

    def visit_seq_expr_(self, op: SeqExpr) -> Any:
        """The blocks and the value, rewritten."""
        return self.visit_with_new_scope(op)

    def _all(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        new = tuple(self.visit_expr(i) for i in items)
        return items if all(a is b for a, b in zip(new, items, strict=True)) else new

    # -- bindings -----------------------------------------------------------------------------

    def visit_binding_block_(self, block: BindingBlock) -> Any:
        """Emits the rewritten bindings."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: DataflowBlock) -> Any:
        """Emits the rewritten bindings as a dataflow block."""
        inside = self.builder_.current_block_is_dataflow()
        with nullcontext() if inside else self.builder_.dataflow():
            for binding in block.bindings:
                self.visit_binding(binding)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Emits the binding of the rewritten value; the variable follows a changed type."""
        value = self.visit_expr(binding.value)
        var = self.visit_var_def(binding.var)
        if value is binding.value and var is binding.var:
            self.builder_.emit_normalized(binding)
            return
        if value.ty is not None:
            var = self.with_type(var, value.ty)
        if var is not binding.var:
            self.set_var_remap(binding.var, var)
        self.builder_.emit_normalized(VarBinding(var, value, span=binding.span))

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """Emits the cast of the rewritten value."""
        value = self.builder_.as_leaf(self.visit_expr(binding.value))
        var = self.visit_var_def(binding.var)
        if var is not binding.var:
            self.set_var_remap(binding.var, var)
        elif value is binding.value:
            self.builder_.emit_normalized(binding)
            return
        self.builder_.emit_normalized(MatchCast(var, value, binding.ty, span=binding.span))

    def visit_var_def_(self, var: Var) -> Var:
        """The variable to define."""
        return self.get_var_remap(var)

    def visit_dataflow_var_def_(self, var: DataflowVar) -> Var:
        """The variable of a dataflow block to define."""
        return self.get_var_remap(var)

    def visit_span(self, span: Span) -> Span:
        """Not called: spans are metadata."""
        return span


_C = TypeVar("_C", bound=type)


def visitor(cls: _C) -> _C:
    """TVM's class decorator of visitors; a plain class serves as well."""
    return cls


def mutator(cls: _C) -> _C:
    """TVM's class decorator of mutators; a plain class serves as well."""
    return cls


__all__ = [
    "ExprFunctor",
    "PyExprMutator",
    "PyExprVisitor",
    "mutator",
    "visitor",
]
