"""Visitor and mutator classes of loop and graph programs."""

from tvm import ir, relax, tirx
from tvm.relax.expr_functor import mutator, visitor
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T
from tvm.tirx import stmt_functor


@T.prim_func(s_tir=True)
def program(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for i in T.serial(16):
        for k in range(n):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(B[vi])
                C = T.alloc_buffer((4,))
                with T.init():
                    B[vi] = T.float32(0)
                if vi < 3:
                    x: T.let = T.exp(A[vi, vk])
                    B[vi] = B[vi] + T.Select(vk < 2, x, T.float32(2))
                else:
                    T.evaluate(T.call_extern("int32", "foo", A.data))
                while C[0] < T.float32(1):
                    C[0] = C[0] + T.float32(1)
                with T.attr(0, "pragma", 1):
                    T.evaluate(vk)


def logged(base, names):
    log = []

    def method(name):
        def visit(self, op):
            log.append(name)
            getattr(base, name)(self, op)

        return visit

    made = type("Logged", (base,), {name: method(name) for name in names})
    return made, log


def case_py_stmt_expr_visitor():
    names = [
        n
        for n in dir(tirx.PyStmtExprVisitor)
        if n.startswith("visit_")
        and n.endswith("_")
        and n not in ("visit_break_", "visit_continue_", "visit_return_")
    ]
    made, log = logged(tirx.PyStmtExprVisitor, names)
    tirx.functor.visitor(made)().visit_stmt(program.body)
    return [n for n in log if n != "visit_int_imm_"]


def case_stmt_expr_visitor():
    names = [
        n
        for n in dir(stmt_functor.StmtExprVisitor)
        if n.startswith("visit_")
        and n.endswith("_")
        and n
        in (
            "visit_for_",
            "visit_block_",
            "visit_buffer_store_",
            "visit_seqstmt_",
            "visit_add_",
            "visit_if_then_else_",
            "visit_attr_",
            "visit_evaluate_",
        )
    ]
    made, log = logged(stmt_functor.StmtExprVisitor, names)
    made().visit_stmt(program.body)
    return log


def case_py_stmt_expr_mutator():
    @tirx.functor.mutator
    class Change(tirx.PyStmtExprMutator):
        def visit_add_(self, op):
            return tirx.Sub(self.visit_expr(op.a), self.visit_expr(op.b))

        def visit_float_imm_(self, op):
            return tirx.FloatImm(op.ty, 7.0)

    return str(program.with_body(Change().visit_stmt(program.body)))


def case_stmt_mutator_keeps():
    @tirx.functor.mutator
    class Keep(tirx.PyStmtExprMutator):
        pass

    new = Keep().visit_stmt(program.body)
    return [new.same_as(program.body)]


def case_post_order_visit():
    order = []
    stmt_functor.post_order_visit(program.body, lambda n: order.append(type(n).__name__))
    return [n for n in order if n not in ("IntImm", "FloatImm", "Op")]


def case_pre_order_visit():
    order = []

    def visit(node):
        order.append(type(node).__name__)
        return not isinstance(node, tirx.IfThenElse)

    stmt_functor.pre_order_visit(program.body, visit)
    return [n for n in order if n not in ("IntImm", "FloatImm", "Op")]


def case_ir_transform():
    seen = []

    def pre(node):
        seen.append(type(node).__name__)
        return tirx.Evaluate(5) if isinstance(node, tirx.IfThenElse) else None

    def post(node):
        return tirx.Evaluate(6) if isinstance(node, tirx.AttrStmt) else None

    new = stmt_functor.ir_transform(
        program.body, pre, post, ["tirx.IfThenElse", "tirx.AttrStmt", "tirx.Evaluate"]
    )
    return [seen, str(program.with_body(new))]


def case_substitute():
    i, n = tirx.Var("i", "int32"), tirx.Var("n", "int32")
    body = tirx.Evaluate(i * 2 + n)
    return [
        str(stmt_functor.substitute(i + 1, {i: n})),
        str(stmt_functor.substitute(body, {i: n, n: i})),
    ]


@I.ir_module
class Graph:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        y = R.add(x, R.const(1.0))
        t = (x, y)
        z = R.nn.relu(t[1])
        with R.dataflow():
            d = R.multiply(z, z)
            w = R.add(d, d)
            R.output(w)
        if c:
            q = R.exp(w)
        else:
            q = R.tanh(w)
        return q


def case_relax_visitor():
    seen = []

    @visitor
    class Look(relax.PyExprVisitor):
        def visit_call_(self, op):
            seen.append("call " + op.op.name)
            super().visit_call_(op)

        def visit_var_(self, op):
            seen.append("var " + (op.name_hint if hasattr(op, "name_hint") else op.name))

        def visit_dataflow_var_(self, op):
            seen.append("dataflow var")

        def visit_if_(self, op):
            seen.append("if")
            super().visit_if_(op)

        def visit_constant_(self, op):
            seen.append("constant")

        def visit_op_(self, op):
            seen.append(op.name)

        def visit_tuple_getitem_(self, op):
            seen.append(f"item {op.index}")
            super().visit_tuple_getitem_(op)

    Look().visit_expr(Graph["main"])
    return [s for s in seen if s != "var n"]


def case_relax_mutator_call():
    @mutator
    class Change(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if call.op.same_as(ir.Op.get("relax.add")):
                return relax.op.multiply(relax.op.exp(call.args[0]), call.args[1])
            return call

    change = Change(Graph)
    new = change.visit_expr(Graph["main"])
    change.builder_.update_func(Graph.get_global_var("main"), new)
    return str(change.builder_.get())


def case_relax_mutator_type_changes():
    @mutator
    class Halve(relax.PyExprMutator):
        def visit_call_(self, call):
            call = self.visit_expr_post_order(call)
            if call.op.same_as(ir.Op.get("relax.nn.relu")):
                return relax.op.astype(call.args[0], "float16")
            return relax.Call(call.op, call.args, call.attrs, call.ty_args)

    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            z = R.exp(y)
            w = R.sum(z, axis=[1])
            R.output(w)
        return w

    return str(Halve().visit_expr(main))


def case_relax_mutator_binding():
    @mutator
    class Twice(relax.PyExprMutator):
        def visit_var_binding_(self, binding):
            value = binding.value
            if isinstance(value, relax.Call) and value.op.same_as(ir.Op.get("relax.exp")):
                inner = self.builder_.emit(relax.op.negative(self.visit_expr(value.args[0])))
                self.set_var_remap(binding.var, inner)
                return
            super().visit_var_binding_(binding)

    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        y = R.exp(x)
        z = R.add(y, y)
        return z

    return str(Twice().visit_expr(main))


def case_relax_post_order_visit():
    order = []
    relax.analysis.post_order_visit(Graph["main"], lambda e: order.append(type(e).__name__))
    return [
        n
        for n in order
        if n in ("Call", "If", "Function", "SeqExpr", "Tuple", "TupleGetItem", "Constant")
    ]
