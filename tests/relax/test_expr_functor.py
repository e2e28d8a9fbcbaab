"""Visitor and mutator classes over graph programs."""

import numpy as np

from workbench import ir, relax
from workbench.relax.analysis import check_well_formed
from workbench.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
from workbench.relax.interpret import interpret
from workbench.script import ir as I
from workbench.script import relax as R
from workbench.script import tirx as T


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


def test_visitor():
    seen = []

    @visitor
    class Look(PyExprVisitor):
        def visit_call_(self, op):
            seen.append(op.op.name.removeprefix("relax."))
            super().visit_call_(op)

        def visit_dataflow_var_(self, op):
            seen.append(op.name)

        def visit_if_(self, op):
            seen.append("if")
            super().visit_if_(op)

    Look().visit_expr(Graph["main"])
    assert seen == ["add", "nn.relu", "multiply", "add", "d", "d", "if", "exp", "tanh"]


def test_mutator_shares_what_does_not_change():
    @mutator
    class Keep(PyExprMutator):
        pass

    assert Keep().visit_expr(Graph["main"]) is Graph["main"]


def test_mutator_binds_nested_calls():
    @mutator
    class Change(PyExprMutator):
        def visit_call_(self, op):
            call = self.visit_expr_post_order(op)
            if call.op is ir.Op.get("relax.add"):
                return relax.op.multiply(relax.op.exp(call.args[0]), call.args[1])
            return call

    change = Change(Graph)
    new = change.visit_expr(Graph["main"])
    change.builder_.update_func(Graph.get_global_var("main"), new)
    mod = change.builder_.get()
    assert check_well_formed(mod)
    x = np.array([[0.1, -0.2, 0.3, 0.4]], "float32")
    z = np.maximum(np.exp(x), 0)
    expected = np.exp(np.exp(z * z) * (z * z))
    got = interpret(mod, x, np.array(True))
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_changed_types_are_followed():
    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            z = R.exp(y)
            R.output(z)
        return z

    @mutator
    class Halve(PyExprMutator):
        def visit_call_(self, op):
            call = self.visit_expr_post_order(op)
            if call.op is ir.Op.get("relax.nn.relu"):
                return relax.op.astype(call.args[0], "float16")
            return call

    new = Halve().visit_expr(main)
    assert new.ret_ty == relax.TensorType((2, 4), "float16")
    assert check_well_formed(new)


def test_var_remap_and_lookup():
    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        y = R.exp(x)
        z = R.add(y, y)
        return z

    values = []

    @mutator
    class Replace(PyExprMutator):
        def visit_var_binding_(self, binding):
            if binding.value.op is ir.Op.get("relax.exp"):
                inner = self.builder_.emit(relax.op.negative(binding.value.args[0]))
                self.set_var_remap(binding.var, inner)
                values.append(self.lookup_binding(inner))
                return
            super().visit_var_binding_(binding)

    new = Replace().visit_expr(main)
    assert check_well_formed(new)
    assert values[0].op is ir.Op.get("relax.negative")
    calls = [b.value.op.name for block in new.body.blocks for b in block.bindings]
    assert calls == ["relax.negative", "relax.add"]
