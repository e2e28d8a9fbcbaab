"""Visitor and mutator classes over loop programs."""

import pytest

from workbench import ir, tirx
from workbench.script import tirx as T
from workbench.tirx import stmt_functor
from workbench.tirx.expr_functor import ExprFunctor, ExprMutator


@T.prim_func(s_tir=True)
def program(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in T.serial(16):
        for k in range(n):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + T.exp(A[vi, vk])


class Names(tirx.PyStmtExprVisitor):
    def __init__(self):
        self.seen = []

    def visit_for_(self, op):
        self.seen.append(op.loop_var.name)
        super().visit_for_(op)

    def visit_buffer_load_(self, op):
        self.seen.append(op.buffer.name)
        super().visit_buffer_load_(op)

    def visit_var_(self, op):
        self.seen.append(op.name)


def test_visitor():
    names = Names()
    names.visit_stmt(program.body)
    # loops, extents, block values, domains, regions, the init store, then the body
    assert names.seen == [
        "i", "k", "n", "i", "k", "n", "vi", "vk", "vi", "vi", "B", "vi", "A", "vi", "vk", "vi",
    ]  # fmt: skip


def test_mutator_shares_what_does_not_change():
    class Sevens(tirx.PyStmtExprMutator):
        def visit_float_imm_(self, op):
            return tirx.FloatImm(str(op.dtype), 7.0)

    class Keep(tirx.PyStmtExprMutator):
        pass

    assert Keep().visit_stmt(program.body) is program.body
    new = program.with_body(Sevens().visit_stmt(program.body))
    assert "B[vi] = T.float32(7.0)" in new.script()


def test_older_names():
    class Count(stmt_functor.StmtExprVisitor):
        blocks = 0

        def visit_block_(self, op):
            self.blocks += 1
            super().visit_block_(op)

    count = Count()
    count.visit_stmt(program.body)
    assert count.blocks == 2


def test_expr_functor_without_a_method():
    class Only(ExprFunctor):
        def visit_int_imm_(self, op):
            return op.value

    i = tirx.Var("i", "int32")
    assert Only().visit_expr(tirx.const(3)) == 3
    with pytest.raises(NotImplementedError, match="visit_var_"):
        Only().visit_expr(i)


def test_expr_mutator():
    class Swap(ExprMutator):
        def visit_add_(self, op):
            return tirx.Sub(self.visit_expr(op.a), self.visit_expr(op.b))

    i = tirx.Var("i", "int32")
    assert str(Swap().visit_expr((i + 2) * (i + 3))) == "(i - 2) * (i - 3)"


def test_post_and_pre_order():
    order = []
    stmt_functor.post_order_visit(program.body, order.append)
    assert len({id(n) for n in order}) == len(order)
    assert order[-1] is program.body
    seen = []
    stmt_functor.pre_order_visit(
        program.body, lambda n: seen.append(n) or not isinstance(n, tirx.For)
    )
    assert [type(n).__name__ for n in seen if isinstance(n, tirx.Stmt)] == [
        "SBlockRealize", "SBlock", "For",
    ]  # fmt: skip


def test_ir_transform():
    new = stmt_functor.ir_transform(
        program.body, None, lambda n: tirx.Evaluate(5), ["tirx.BufferStore"]
    )
    text = program.with_body(new).script()
    assert "T.evaluate(5)" in text and "B[vi] =" not in text


def test_substitute():
    i, n = tirx.Var("i", "int64"), tirx.Var("n", "int64")
    assert str(stmt_functor.substitute(i + n, {i: n, n: i})) == "n + i"
    four = stmt_functor.substitute(i + n, {i: 4})
    assert ir.structural_equal(four, tirx.Add(tirx.const(4, "int64"), n))
