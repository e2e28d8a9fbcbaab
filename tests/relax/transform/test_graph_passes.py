"""Passes over the graph: what goes in, what must come out."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import relax
from workbench.core.errors import WorkbenchError
from workbench.core.traverse import iter_nodes
from workbench.ir import IRModule, assert_structural_equal
from workbench.ir.expr import Call
from workbench.relax import op, transform
from workbench.script import ir as I
from workbench.script import relax as R


def test_canonicalize_bindings_removes_aliases_and_known_fields() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 8), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                lv1 = lv
                t = (lv1, x)
                lv2 = t[0]
                gv = lv2
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("n", 8), "float32")):
            with R.dataflow():
                gv = R.exp(x)
                t = (gv, x)
                R.output(gv)
            return gv

    assert_structural_equal(transform.CanonicalizeBindings()(Before), Expected)


def test_canonicalize_bindings_keeps_what_is_canonical() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = R.log(lv)
                R.output(gv)
            return gv

    assert transform.CanonicalizeBindings()(Before) is Before


def test_dead_code_goes_effects_stay() -> None:
    @I.ir_module
    class Before:
        @R.function
        def unused(x: R.Tensor((4,), "float32")):
            R.func_attr({"private": 1})
            return x

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            lv = R.exp(x)
            dead = R.log(x)
            dead1 = R.negative(dead)
            _ = R.print(x, format="{}")
            gv = R.negative(lv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            lv = R.exp(x)
            _ = R.print(x, format="{}")
            gv = R.negative(lv)
            return gv

    after = transform.DeadCodeElimination(entry_functions=["main"])(Before)
    assert_structural_equal(after, Expected)


def test_dead_code_in_branches() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:
                dead = R.exp(x)
                r = R.log(x)
            else:
                r = R.negative(x)
            return r

    after = transform.DeadCodeElimination()(Before)
    names = [c.op.name for c in iter_nodes(after, Call)]
    assert names == ["relax.log", "relax.negative"]


def test_common_subexpressions_are_computed_once() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                lv1 = R.exp(x)
                lv2 = R.log(x)
                lv3 = R.add(lv, lv1)
                gv = R.multiply(lv3, lv2)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                lv2 = R.log(x)
                lv3 = R.add(lv, lv)
                gv = R.multiply(lv3, lv2)
                R.output(gv)
            return gv

    assert_structural_equal(transform.EliminateCommonSubexpr()(Before), Expected)


def test_common_subexpressions_do_not_leave_branches() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:
                r = R.exp(x)
            else:
                r = R.negative(x)
            y = R.exp(x)
            z = R.add(r, y)
            return z

    assert transform.EliminateCommonSubexpr()(Before) is Before


def test_attributes_distinguish_expressions() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            lv = R.sum(x, axis=[0])
            lv1 = R.sum(x, axis=[1])
            gv = R.add(lv, lv1)
            return gv

    assert transform.EliminateCommonSubexpr()(Before) is Before


def test_dataflow_blocks_are_made_and_removed() -> None:
    @I.ir_module
    class Plain:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            lv = R.exp(x)
            gv = R.log(lv)
            return gv

    @I.ir_module
    class Dataflow:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = R.log(lv)
                R.output(gv)
            return gv

    assert_structural_equal(transform.ConvertToDataflow()(Plain), Dataflow)
    assert_structural_equal(transform.ToNonDataflow()(Dataflow), Plain)
    assert transform.ConvertToDataflow(min_size=3)(Plain) is Plain


def test_effects_split_dataflow_blocks() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.log(a)
            _ = R.print(b, format="{}")
            c = R.exp(b)
            d = R.log(c)
            return d

    func = transform.ConvertToDataflow()(Before)["main"]
    kinds = [type(b).__name__ for b in func.body.blocks]
    assert kinds == ["DataflowBlock", "BindingBlock", "DataflowBlock"]


def test_normalize_binds_nested_calls() -> None:
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    func = relax.Function([x], relax.SeqExpr((), op.log(op.exp(x))))
    after = transform.Normalize()(IRModule({"main": func}))["main"]
    values = [b.value.op.name for block in after.body.blocks for b in block.bindings]
    assert values == ["relax.exp", "relax.log"]
    assert isinstance(after.body.body, relax.Var)


def test_bind_params_fills_in_dimensions() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", "k"), "float32"), w: R.Tensor(("k", "m"), "float32")):
            gv = R.matmul(x, w)
            return gv

    w = np.ones((3, 5), "float32")
    func = transform.BindParams(func_name="main", params={"w": w})(Before)["main"]
    assert [p.name for p in func.params] == ["x"]
    assert [str(d) for d in func.params[0].ty.dims[1:]] == ["T.int64(3)"]
    with pytest.raises(WorkbenchError, match="no parameter 'v'"):
        transform.BindParams(func_name="main", params={"v": w})(Before)
    with pytest.raises(WorkbenchError, match="parameter w is"):
        transform.BindParams(func_name="main", params={"w": w.astype("float64")})(Before)


def test_bind_symbolic_vars() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 8), "float32")):
            gv = R.exp(x)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4, 8), "float32")):
            gv = R.exp(x)
            return gv

    after = transform.BindSymbolicVars(binding_map={"n": 4})(Before)
    assert_structural_equal(after, Expected)
    with pytest.raises(WorkbenchError, match="no parameter has a dimension m"):
        transform.BindSymbolicVars(binding_map={"m": 4})(Before)


def _norm_after_conv(with_bias: bool, second_user: bool) -> IRModule:
    rng = np.random.default_rng(0)
    w = relax.const(rng.standard_normal((4, 3, 3, 3)).astype("float32"))
    bias = relax.const(rng.standard_normal((1, 4, 1, 1)).astype("float32"))
    params = [relax.const(rng.random(4).astype("float32") + 0.5) for _ in range(4)]
    x = relax.Var("x", relax.TensorType((2, 3, 6, 6), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.nn.conv2d(x, w))
            z = bb.emit(op.add(y, bias)) if with_bias else y
            t = bb.emit(op.nn.batch_norm(z, *params, 1, 1e-3, training=False))
            r = bb.emit(relax.TupleGetItem(t, 0))
            out = bb.emit_output(op.add(r, y) if second_user else r)
        bb.emit_func_output(out)
    return bb.get()


def _run(mod: IRModule, *args: np.ndarray) -> np.ndarray:
    exe = relax.build(mod, "llvm", relax_pipeline="plain")
    return relax.VirtualMachine(exe)["main"](*args).numpy()


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("second_user", [False, True])
def test_batch_norm_is_folded(with_bias: bool, second_user: bool) -> None:
    before = _norm_after_conv(with_bias, second_user)
    after = transform.DeadCodeElimination()(
        transform.CanonicalizeBindings()(transform.FoldBatchNorm()(before))
    )
    names = [c.op.name for c in iter_nodes(after, Call)]
    assert "relax.nn.batch_norm" not in names
    folded = not second_user
    assert names.count("relax.multiply") == (0 if folded else 1)
    x = np.random.default_rng(1).standard_normal((2, 3, 6, 6)).astype("float32")
    np.testing.assert_allclose(_run(after, x), _run(before, x), rtol=1e-4, atol=1e-4)


def test_constants_are_folded() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    c = relax.const(np.arange(6, dtype="float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            d = bb.emit(op.reshape(c, (2, 3)))
            e = bb.emit(op.multiply(d, d))
            out = bb.emit_output(op.add(x, e))
        bb.emit_func_output(out)
    mod = transform.FoldConstant()(transform.LegalizeOps()(bb.get()))
    mod = transform.DeadCodeElimination()(mod)
    (binding,) = [b for block in mod["main"].body.blocks for b in block.bindings]
    (operand,) = [a for a in binding.value.args[1].fields if isinstance(a, relax.Constant)]
    np.testing.assert_array_equal(
        operand.data.numpy(), np.arange(6, dtype="float32").reshape(2, 3) ** 2
    )


def test_a_folded_output_stays_bound() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(op.exp(relax.const(np.zeros(2, "float32"))))
        bb.emit_func_output(out)
    mod = transform.FoldConstant()(transform.LegalizeOps()(bb.get()))
    np.testing.assert_array_equal(_run_lowered(mod, np.zeros(2, "float32")), [1, 1])


def _run_lowered(mod: IRModule, *args: np.ndarray) -> np.ndarray:
    from workbench.ir.transform import Sequential
    from workbench.relax.pipeline import lowering_passes

    exe = relax.build(mod, "llvm", relax_pipeline=Sequential(lowering_passes()))
    return relax.VirtualMachine(exe)["main"](*args).numpy()
