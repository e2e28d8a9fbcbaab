"""The frame of passes that go through a function binding by binding.

    def visit(binding, run):
        if wanted(binding.value):
            run.bind(binding, other_value)     # the variable gets another value
        else:
            run.keep(binding)

    new = rewrite_bindings(func, visit)

A binding arrives with the replacements made so far already in its value. What `visit` neither keeps
nor binds is dropped. A function in which nothing changes is returned as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from workbench.core.traverse import iter_nodes, rewrite
from workbench.ir.expr import Expr, Var
from workbench.ir.span import Span
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    SeqExpr,
    VarBinding,
)

Visit = Callable[[Any, "BindingRewriter"], None]


class BindingRewriter:
    """One run over a function. `builder` emits additional bindings before the current one."""

    def __init__(self, visit: Visit, builder: BlockBuilder) -> None:
        self.visit = visit
        self.builder = builder
        self.images: dict[int, Expr] = {}
        self._alive: list[Var] = []  # keeps the ids in `images` valid
        self.in_dataflow = False
        self.function_name = ""

    def replace(self, var: Var, value: Expr) -> None:
        """Later uses of `var` become `value`."""
        self.images[id(var)] = value
        self._alive.append(var)

    def resolve(self, node: Any) -> Any:
        """A node with all replacements made."""
        if not self.images:
            return node
        images = self.images

        def image(var: Var) -> Any:
            found = images.get(id(var))
            while found is not None and id(found) in images:
                found = images[id(found)]
            return found

        return rewrite(node, {Var: image})

    def keep(self, binding: Binding) -> None:
        """Takes the binding over."""
        self.builder.emit_normalized(binding)

    def bind(self, binding: Binding, value: Expr, span: Span | None = None) -> None:
        """Gives the binding's variable another value."""
        new = VarBinding(binding.var, value, span=span or binding.span)
        self.builder.emit_normalized(new)

    def emit(self, value: Expr, hint: str = "") -> Var:
        """Binds a value to a new variable."""
        return self.builder.emit(value, hint)

    def function(self, func: Function) -> Function:
        """The rewritten function."""
        body = self.seq(func.body)
        return func if body is func.body else func.replace(body=body)

    def seq(self, seq: SeqExpr) -> SeqExpr:
        """A rewritten body."""
        names = {b.var.name for b in iter_nodes(seq, Binding)}
        with self.builder.collect(names) as blocks:
            for block in seq.blocks:
                dataflow = isinstance(block, DataflowBlock)
                outer, self.in_dataflow = self.in_dataflow, dataflow
                with self.builder.dataflow() if dataflow else nullcontext():
                    for binding in block.bindings:
                        self.binding(binding)
                self.in_dataflow = outer
            body = self.resolve(seq.body)
        return seq if body is seq.body and _same(blocks, seq.blocks) else SeqExpr(blocks, body)

    def binding(self, binding: Any) -> None:
        """Rewrites what a binding contains and shows it to `visit`."""
        value = binding.value
        if isinstance(value, If):
            cond = self.resolve(value.cond)
            yes, no = self.seq(value.true_branch), self.seq(value.false_branch)
            new = value.replace(cond=cond, true_branch=yes, false_branch=no)
        elif isinstance(value, Function):
            new = self.function(value)
        else:
            new = self.resolve(value)
        self.visit(binding.replace(value=new), self)


def _same(new: list[BindingBlock], old: tuple[BindingBlock, ...]) -> bool:
    """Whether the blocks hold the very same bindings."""
    if len(new) != len(old):
        return False
    return all(
        type(a) is type(b)
        and len(a.bindings) == len(b.bindings)
        and all(x is y for x, y in zip(a.bindings, b.bindings, strict=True))
        for a, b in zip(new, old, strict=True)
    )


def rewrite_bindings(func: Function, visit: Visit, builder: BlockBuilder | None = None) -> Function:
    """The function rebuilt by `visit`; see the module's text."""
    return BindingRewriter(visit, builder or BlockBuilder()).function(func)


def local_var(var: Var, dataflow: bool) -> Var:
    """A variable of the same name and type, visible outside its block or not."""
    if isinstance(var, DataflowVar) == dataflow:
        return var
    return (DataflowVar if dataflow else Var)(var.name, var.ty)
