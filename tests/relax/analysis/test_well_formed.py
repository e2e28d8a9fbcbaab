"""check_well_formed and well_formed: one small program per rule."""

import pytest

from workbench import ir, relax, tirx
from workbench.core.errors import WorkbenchError
from workbench.relax import analysis
from workbench.relax.expr import BindingBlock, DataflowBlock, SeqExpr, VarBinding
from workbench.script import ir as I
from workbench.script import relax as R
from workbench.script import tirx as T

TYPE = relax.TensorType((2, 3), "float32")


def var(name, ty=TYPE):
    return relax.Var(name, ty)


def function(bindings, body, params, block=BindingBlock, ret=TYPE, **options):
    return relax.Function(params, SeqExpr([block(bindings)], body), ret, **options)


x, y, z = var("x"), var("y"), var("z")
twice = relax.op.add(x, x)
shown = relax.op.print_(x, format="{}")
unit = var("u", ir.TupleType([]))
n = tirx.Var("n", "int64")
rows = var("rows", relax.TensorType((n, 3), "float32"))
other = var("other", relax.TensorType((n, 3), "float32"))
flag = var("flag", relax.TensorType((), "bool"))
inner = relax.DataflowVar("inner", TYPE)
branch = relax.If(flag, SeqExpr([], x), SeqExpr([], x), ty=TYPE)

GOOD = {
    "plain": function([VarBinding(y, twice)], y, [x]),
    "symbolic": function(
        [VarBinding(other, relax.op.add(rows, rows))], other, [rows], ret=other.ty
    ),
    "dataflow": function([VarBinding(inner, twice), VarBinding(y, inner)], y, [x], DataflowBlock),
    "tuple operands": function([VarBinding(y, relax.TupleGetItem(relax.Tuple([x, x]), 0))], y, [x]),
    "branches": function([VarBinding(y, branch)], y, [x, flag]),
    "effects": function([VarBinding(unit, shown)], x, [x], is_pure=False),
    "force_pure": function([VarBinding(unit, shown)], x, [x], attrs={"relax.force_pure": True}),
}

BAD = {
    "not defined": (function([VarBinding(y, twice)], z, [x]), "z is used where it is not"),
    "defined twice": (
        function([VarBinding(y, twice), VarBinding(y, twice)], y, [x]),
        "y is defined more than once",
    ),
    "parameter twice": (function([VarBinding(y, twice)], y, [x, x]), "x is defined more than once"),
    "dataflow variable outside": (
        function([VarBinding(inner, twice)], inner, [x]),
        "inner is defined outside",
    ),
    "dataflow variable leaves": (
        function([VarBinding(inner, twice)], inner, [x], DataflowBlock),
        "inner is used outside its dataflow block",
    ),
    "nested call": (
        function([VarBinding(y, relax.op.add(twice, x))], y, [x]),
        "argument 0 is not in normal form",
    ),
    "result type": (
        function([VarBinding(y, twice)], y, [x], ret=relax.TensorType((2, 4), "float32")),
        "the result is declared as",
    ),
    "variable type": (
        function([VarBinding(var("q", relax.TensorType((9,), "float32")), twice)], x, [x]),
        "variable q is declared as",
    ),
    "symbol": (
        function([VarBinding(other, relax.op.zeros((n, 3), "float32"))], x, [x]),
        "symbolic dimension n",
    ),
    "symbol in a sum only": (
        function([VarBinding(y, twice)], y, [x, var("s", relax.TensorType((n + 1,), "float32"))]),
        "symbolic dimension n",
    ),
    "effects": (function([VarBinding(unit, shown)], x, [x]), "a pure function has a call with"),
    "effects in dataflow": (
        function([VarBinding(unit, shown)], x, [x], DataflowBlock, is_pure=False),
        "a dataflow block has a call with effects",
    ),
    "branch in dataflow": (
        function([VarBinding(y, branch)], y, [x, flag], DataflowBlock),
        "a dataflow block has a branch",
    ),
    "no type": (
        function([VarBinding(relax.Var("u"), twice)], x, [x]),
        "variable u has no type",
    ),
    "body": (relax.Function([x], SeqExpr([], twice), TYPE), "the value of a body is not in normal"),
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name):
    analysis.well_formed(GOOD[name])
    assert analysis.check_well_formed(GOOD[name])


@pytest.mark.parametrize("name", BAD)
def test_bad(name):
    func, reason = BAD[name]
    assert not analysis.check_well_formed(func)
    with pytest.raises(ValueError, match=reason) as caught:
        analysis.well_formed(func)
    assert caught.value.nodes
    assert len(caught.value.render().splitlines()) > 2


def test_module():
    func = GOOD["plain"]
    call = relax.Call(ir.GlobalVar("absent"), [x], ret_ty=TYPE)
    assert analysis.check_well_formed(ir.IRModule({"main": func}))
    assert not analysis.check_well_formed(
        ir.IRModule({"main": function([VarBinding(y, call)], y, [x], is_pure=False)})
    )
    renamed = func.with_attr("global_symbol", "other")
    assert not analysis.check_well_formed(ir.IRModule({"main": renamed}))


def test_types_may_be_left_out():
    call = twice.replace(ty=None)
    func = function([VarBinding(y, call)], y, [x])
    assert not analysis.check_well_formed(func)
    assert analysis.check_well_formed(func, check_ty=False)


@I.ir_module
class Circle:
    @R.function
    def a(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        q: R.Tensor((2,), "float32") = Circle.b(p)
        return q

    @R.function
    def b(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        q: R.Tensor((2,), "float32") = Circle.a(p)
        return q

    @R.function
    def c(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        q: R.Tensor((2,), "float32") = Circle.a(p)
        return q

    @R.function
    def d(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        q: R.Tensor((2,), "float32") = Circle.d(p)
        return q


def test_detect_recursion():
    groups = analysis.detect_recursion(Circle)
    assert [sorted(g.name_hint for g in group) for group in groups] == [["a", "b"], ["d"]]


@R.function
def weights(
    p: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32"), v: R.Tensor((2,), "float32")
):
    R.func_attr({"num_input": 1})
    with R.dataflow():
        a = R.add(w, w)
        b = R.multiply(a, p)
        unused = R.add(b, b)
        d = R.add(v, a)
        R.output(b, d)
    e = R.exp(b)
    return b


def test_used_and_unused():
    assert [v.name for v in analysis.used_vars(weights.body)] == ["w", "a", "p", "b", "v"]
    small = analysis.remove_all_unused(weights)
    assert [b.var.name for b in small.body.blocks[0].bindings] == ["a", "b"]
    assert len(small.body.blocks) == 1
    assert analysis.remove_all_unused(small) is small


def test_computable_at_compile_time():
    assert [v.name for v in analysis.computable_at_compile_time(weights)] == ["w", "v", "a", "d"]


def test_static_types():
    assert analysis.get_static_type(rows.ty) == relax.TensorType(dtype="float32", ndim=2)
    assert analysis.get_static_type(relax.ShapeType([n])) == relax.ShapeType(ndim=1)
    found = analysis.collect_non_negative_expressions(relax.ShapeType([n, n * 2, 3]))
    assert list(map(str, found)) == ["n", "n * T.int64(2)"]


def test_impure_calls():
    assert analysis.contains_impure_call(GOOD["effects"])
    assert not analysis.contains_impure_call(GOOD["plain"])


def test_memory_estimate():
    mod = ir.IRModule({"main": GOOD["plain"].with_attr("global_symbol", "main")})
    lowered = relax.transform.CallTIRRewrite()(
        relax.transform.ToNonDataflow()(relax.transform.LegalizeOps()(mod))
    )
    assert "1 tensors" in analysis.estimate_memory_usage(lowered)
    assert "24 bytes" in analysis.estimate_memory_usage(lowered)
    planned = relax.transform.StaticPlanBlockMemory()(lowered)
    assert "main" in analysis.estimate_memory_usage(planned)


def test_inline_functions():
    @I.ir_module
    class Inlined:
        @R.function
        def main(p: R.Tensor((2, 3), "float32")):
            q = R.exp(p)
            r = Inlined.sub(q)
            return Inlined.sub(r)

        @R.function(private=True)
        def sub(a: R.Tensor(("m", 3), "float32")) -> R.Tensor(("m", 3), "float32"):
            m = T.int64()
            with R.dataflow():
                b = R.add(a, a)
                c = R.add(b, R.zeros(R.shape([m, 3]), "float32"))
                R.output(c)
            return c

    func = Inlined["main"].inline_functions({"sub": Inlined["sub"]})
    analysis.well_formed(func)
    calls = [c.op.name for c in _calls(func)]
    assert calls.count("relax.add") == 4
    assert func.ret_ty == TYPE


def _calls(func):
    found = []
    analysis.post_order_visit(func, found.append)
    return [e for e in found if isinstance(e, relax.Call)]


def test_bind_symbolic_vars():
    func = GOOD["symbolic"].bind_symbolic_vars({"n": 5})
    assert func.params[0].ty == relax.TensorType((5, 3), "float32")
    with pytest.raises(WorkbenchError, match="no parameter has a dimension k"):
        GOOD["symbolic"].bind_symbolic_vars({"k": 5})
