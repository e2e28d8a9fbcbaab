"""Legalisation, fusion kinds, fusion, reshapes: from operators to kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench
from workbench import relax, te, topi
from workbench.core.traverse import iter_nodes
from workbench.ir import IRModule
from workbench.ir.expr import Call
from workbench.ir.span import origin_of
from workbench.ir.transform import PassContext, Sequential
from workbench.relax import op, transform
from workbench.relax.analysis.kernel_pattern import has_reshape_pattern, kernel_pattern
from workbench.relax.op.registry import OpPatternKind as Kind
from workbench.relax.pipeline import kernel_passes
from workbench.runtime.vm import VirtualMachine
from workbench.tirx import PrimFunc, SBlock, Var

RNG = np.random.default_rng(0)


def tensor_var(name: str, shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorType(shape, dtype))


def kernel(function: Any, *shapes: Any) -> PrimFunc:
    inputs = [te.placeholder(s, name=f"p{i}") for i, s in enumerate(shapes)]
    return te.create_prim_func([*inputs, function(*inputs)], "int64")


def build_graph(params: list[relax.Var], body: Any) -> IRModule:
    """A module whose `main` emits what `body(emit, *params)` says and returns its result."""
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(body(bb.emit, *params))
        bb.emit_func_output(out)
    return bb.get()


def kernels_called(mod: IRModule) -> list[str]:
    """The kernels that `main` calls, in order."""
    calls = iter_nodes(mod["main"], Call)
    found = [c.args[0].name_hint for c in calls if c.op.name == "relax.call_tir"]
    order = [b.value for block in mod["main"].body.blocks for b in block.bindings]
    order = [v for v in order if isinstance(v, Call)]
    names = [v.args[0].name_hint for v in order if getattr(v.op, "name", "") == "relax.call_tir"]
    assert sorted(found) == sorted(names)
    return names


def fuse(mod: IRModule) -> IRModule:
    return Sequential(
        [
            transform.LegalizeOps(),
            transform.AnnotateTIROpPattern(),
            transform.FuseOps(),
            transform.FuseTIR(),
        ]
    )(mod)


def test_legalize_makes_kernels_with_origins() -> None:
    n = Var("n", "int64")
    x = tensor_var("x", [n, 8])
    mod = build_graph([x], lambda emit, x: op.nn.relu(emit(op.exp(x))))
    after = transform.LegalizeOps()(mod)
    assert kernels_called(after) == ["tir_exp", "relu"]
    relu = after["relu"]
    assert origin_of(relu).op.name == "relax.nn.relu"
    assert all(origin_of(b).op.name == "relax.nn.relu" for b in iter_nodes(relu, SBlock))
    for block in after["main"].body.blocks:
        for binding in block.bindings:
            assert origin_of(binding.value).op.name in ("relax.exp", "relax.nn.relu")


def test_legalize_shares_equal_kernels() -> None:
    x = tensor_var("x", (4, 8))
    mod = build_graph([x], lambda emit, x: op.exp(emit(op.exp(x))))
    after = transform.LegalizeOps()(mod)
    assert kernels_called(after) == ["tir_exp", "tir_exp"]


def test_scalar_constants_become_immediates() -> None:
    x = tensor_var("x", (4, 8))
    mod = build_graph([x], lambda emit, x: op.multiply(x, relax.const(2.5)))
    after = transform.LegalizeOps()(mod)
    assert "T.float32(2.5)" in after["multiply"].script()
    assert len(after["multiply"].params) == 2


def test_unknown_shapes_stay() -> None:
    x = relax.Var("x", relax.TensorType(dtype="float32", ndim=2))
    mod = build_graph([x], lambda emit, x: op.exp(x))
    assert transform.LegalizeOps()(mod)["main"].body.blocks[0].bindings[0].value.op.name == (
        "relax.exp"
    )


def test_own_rules_come_first() -> None:
    x = tensor_var("x", (4,))
    mod = build_graph([x], lambda emit, x: op.exp(x))

    def rule(builder: Any, call: Call) -> Any:
        return builder.call_te(topi.negative, call.args[0], primfunc_name_hint="mine")

    after = transform.LegalizeOps(customize_legalize_map={"relax.exp": rule})(mod)
    assert kernels_called(after) == ["mine"]


@pytest.mark.parametrize(
    ("function", "shapes", "kind"),
    [
        (topi.exp, [(4, 4)], Kind.ELEMWISE),
        (topi.add, [(4, 4), (4, 4)], Kind.ELEMWISE),
        (topi.add, [(4, 4), (4,)], Kind.ELEMWISE),
        (topi.add, [(4, 1), (1, 4)], Kind.BROADCAST),
        (topi.exp, [()], Kind.ELEMWISE),
        (topi.transpose, [(4, 5)], Kind.INJECTIVE),
        (lambda x: topi.concatenate([x, x]), [(4, 4)], Kind.INJECTIVE),
        (lambda x: topi.sum(x, 1), [(4, 4)], Kind.COMM_REDUCE),
        (lambda x: topi.mean(x, 1), [(4, 4)], Kind.OUT_ELEMWISE_FUSABLE),
        (topi.matmul, [(4, 5), (5, 6)], Kind.OUT_ELEMWISE_FUSABLE),
        (lambda x, w: topi.nn.conv2d(x, w, 1, 1), [(1, 3, 8, 8), (4, 3, 3, 3)],
         Kind.OUT_ELEMWISE_FUSABLE),
        (topi.matmul, [(4, 5), (5,)], Kind.COMM_REDUCE),
        (topi.nn.softmax, [(4, 4)], Kind.OUT_ELEMWISE_FUSABLE),
        (lambda x: topi.variance(x, 1), [(4, 4)], Kind.OUT_ELEMWISE_FUSABLE),
        (lambda x: topi.argmax(x, 1), [(4, 4)], Kind.OUT_ELEMWISE_FUSABLE),
        (lambda x: topi.take(x, topi.cast(topi.sum(x, 1), "int64"), 0), [(4, 4)], Kind.OPAQUE),
        (lambda x: topi.cumsum(x, 1), [(4, 4)], Kind.OPAQUE),
    ],
)  # fmt: skip
def test_kernel_patterns(function: Any, shapes: Any, kind: Kind) -> None:
    assert kernel_pattern(kernel(function, *shapes)) == kind


def test_given_patterns_are_kept() -> None:
    f = kernel(topi.exp, (4,)).with_attr("op_pattern", 8)
    mod = transform.AnnotateTIROpPattern()(IRModule({"f": f}))
    assert mod["f"].attrs["op_pattern"] == 8


@pytest.mark.parametrize(
    ("function", "shapes", "expected"),
    [
        (lambda x: topi.reshape(x, (8, 3)), [(4, 6)], True),
        (lambda x: topi.reshape(x, (24,)), [(2, 3, 4)], True),
        (lambda x: topi.expand_dims(x, 1), [(4, 6)], True),
        (lambda x: topi.squeeze(x, [1]), [(4, 1, 6)], True),
        (lambda x: topi.transpose(x, (1, 0, 2)), [(1, 4, 6)], True),
        (topi.transpose, [(4, 6)], False),
        (lambda x: topi.flip(x, 0), [(4, 6)], False),
        (topi.exp, [(4,)], False),
        (lambda x: topi.strided_slice(x, [0], [2]), [(4, 6)], False),
    ],
)
def test_reshape_patterns(function: Any, shapes: Any, expected: bool) -> None:
    assert has_reshape_pattern(kernel(function, *shapes)) is expected


def test_products_take_in_elementwise_followers() -> None:
    x, w, b = tensor_var("x", (4, 8)), tensor_var("w", (8, 6)), tensor_var("b", (6,))
    mod = build_graph(
        [x, w, b], lambda emit, x, w, b: op.nn.relu(emit(op.add(emit(op.matmul(x, w)), b)))
    )
    after = fuse(mod)
    assert kernels_called(after) == ["fused_matmul_add_relu"]
    assert {g.name_hint for g in after.functions} == {"main", "fused_matmul_add_relu"}
    merged = after["fused_matmul_add_relu"]
    assert [p.name for p in merged.params[:3]] == ["x", "w", "b"]
    assert len(merged.params) == 4


def test_a_residual_sum_joins_one_of_the_products() -> None:
    x, w = tensor_var("x", (8, 8)), tensor_var("w", (8, 8))

    def body(emit: Any, x: Any, w: Any) -> Any:
        a = emit(op.matmul(x, w))
        b = emit(op.matmul(a, w))
        return op.add(a, b)

    names = kernels_called(fuse(build_graph([x, w], body)))
    assert names == ["matmul", "fused_matmul_add"]


def test_diamonds_of_elementwise_kernels_fuse() -> None:
    x = tensor_var("x", (4, 4))

    def body(emit: Any, x: Any) -> Any:
        a = emit(op.exp(x))
        return op.add(emit(op.negative(a)), emit(op.abs(a)))

    names = kernels_called(fuse(build_graph([x], body)))
    assert names == ["fused_tir_exp_tir_negative_tir_abs_add"]


def test_injective_kernels_fuse_but_not_through_opaque_ones() -> None:
    x = tensor_var("x", (4, 4))

    def body(emit: Any, x: Any) -> Any:
        a = emit(op.permute_dims(emit(op.exp(x))))
        s = emit(op.cumsum(a, 1))
        return op.negative(s)

    names = kernels_called(fuse(build_graph([x], body)))
    assert names == ["fused_tir_exp_transpose", "cumsum", "tir_negative"]


def test_reductions_take_in_what_feeds_them() -> None:
    x = tensor_var("x", (4, 8))
    mod = build_graph([x], lambda emit, x: op.sum(emit(op.exp(x)), [1]))
    assert kernels_called(fuse(mod)) == ["fused_tir_exp_sum"]


def test_values_used_outside_are_not_fused_away() -> None:
    x = tensor_var("x", (4, 8))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit_output(op.exp(x))
            b = bb.emit_output(op.negative(a))
        bb.emit_func_output(relax.Tuple([a, b]))
    assert kernels_called(fuse(bb.get())) == ["tir_exp", "tir_negative"]


def test_fusion_can_be_limited_and_switched_off() -> None:
    x = tensor_var("x", (4, 8))

    def body(emit: Any, x: Any) -> Any:
        for _ in range(5):
            x = emit(op.exp(x))
        return op.negative(x)

    mod = build_graph([x], body)
    mod = transform.AnnotateTIROpPattern()(transform.LegalizeOps()(mod))
    assert transform.FuseOps(fuse_opt_level=0)(mod) is mod
    with PassContext(config={"relax.FuseOps.max_depth": 2}):
        limited = transform.FuseTIR()(transform.FuseOps()(mod))
    assert len(kernels_called(limited)) == 3


def test_fused_kernels_remember_all_their_operators() -> None:
    x, w = tensor_var("x", (4, 8)), tensor_var("w", (8, 6))
    mod = build_graph([x, w], lambda emit, x, w: op.nn.relu(emit(op.matmul(x, w))))
    merged = fuse(mod)["fused_matmul_relu"]
    origins = [s.origin.op.name for s in merged.span.spans]
    assert origins == ["relax.matmul", "relax.nn.relu"]
    blocks = {b.name_hint: origin_of(b).op.name for b in iter_nodes(merged, SBlock)}
    assert blocks["matmul"] == "relax.matmul"
    assert blocks["compute"] == "relax.nn.relu"


def test_one_kernel_used_twice_in_a_group_gets_variables_of_its_own() -> None:
    x = tensor_var("x", (4, 8))
    mod = fuse(build_graph([x], lambda emit, x: op.exp(emit(op.exp(x)))))
    (name,) = kernels_called(mod)
    from workbench.tirx import For

    loops = [f.loop_var for f in iter_nodes(mod[name], For)]
    assert len({id(v) for v in loops}) == len(loops) == 4


def test_formulas_of_sizes_are_sizes_of_the_kernel() -> None:
    h = Var("h", "int64")
    x, w = tensor_var("x", [1, 3, h, h]), relax.const(RNG.random((4, 3, 3, 3), "float32"))
    v = relax.const(RNG.random((4, 4, 3, 3), "float32"))

    def body(emit: Any, x: Any) -> Any:
        a = emit(op.nn.conv2d(x, w, 2, 1))
        return op.nn.relu(emit(op.nn.conv2d(a, v, 2, 1)))

    mod = fuse(build_graph([x], body))
    second = mod[kernels_called(mod)[-1]]
    assert all(hasattr(p.ty, "shape") for p in second.params), "no scalar parameters are needed"
    assert "size0" in second.script()


def test_reshapes_become_views() -> None:
    n = Var("n", "int64")
    x = tensor_var("x", [n, 4, 6])
    mod = build_graph([x], lambda emit, x: op.reshape(x, [n, 24]))
    after = transform.RewriteDataflowReshape()(transform.LegalizeOps()(mod))
    (binding,) = after["main"].body.blocks[0].bindings
    assert binding.value.op.name == "relax.reshape"


@pytest.mark.parametrize("batch", [1, 3])
def test_the_kernel_passes_keep_the_meaning(batch: int) -> None:
    n = Var("n", "int64")
    x = tensor_var("x", [n, 3, 8, 8])
    w = relax.const(RNG.standard_normal((4, 3, 3, 3)).astype("float32"))
    d = relax.const(RNG.standard_normal((64, 5)).astype("float32"))

    def body(emit: Any, x: Any) -> Any:
        a = emit(op.nn.relu(emit(op.nn.conv2d(x, w, 1, 1))))
        p = emit(op.nn.max_pool2d(a, 2, 2))
        t = emit(op.permute_dims(emit(op.exp(emit(op.negative(p)))), [0, 2, 3, 1]))
        f = emit(op.reshape(t, [n, 64]))
        return op.nn.softmax(emit(op.add(emit(op.matmul(f, d)), relax.const(0.5))))

    mod = build_graph([x], body)
    data = RNG.standard_normal((batch, 3, 8, 8)).astype("float32")
    plain = relax.build(mod, "llvm", relax_pipeline="plain")
    from workbench.relax.pipeline import lowering_passes

    passes = Sequential([transform.Normalize(), *kernel_passes(), *lowering_passes()])
    fused = relax.build(mod, "llvm", relax_pipeline=passes)
    assert len(fused.program.kernels) < len(plain.program.kernels)
    np.testing.assert_allclose(
        fused["main"](data).numpy(), plain["main"](data).numpy(), rtol=1e-5, atol=1e-6
    )


def test_legalisation_can_be_switched_off() -> None:
    mod = build_graph([tensor_var("x", (4, 8))], lambda emit, x: op.exp(x))
    with PassContext(config={"relax.transform.apply_legalize_ops": False}):
        assert transform.LegalizeOps()(mod) is mod


def test_kernels_with_several_outputs_fuse() -> None:
    n = Var("n", "int64")
    x = tensor_var("x", [n, 8])

    def body(emit: Any, x: Any) -> Any:
        parts = emit(op.split(emit(op.nn.relu(x)), 2, 1))
        left, right = emit(relax.TupleGetItem(parts, 0)), emit(relax.TupleGetItem(parts, 1))
        return op.multiply(emit(op.exp(left)), right)

    after = fuse(build_graph([x], body))
    assert kernels_called(after) == ["fused_relu_split_tir_exp_multiply"]
    run = VirtualMachine(workbench.compile(after, "llvm"), workbench.cpu())["main"]
    data = RNG.standard_normal((3, 8)).astype("float32")
    whole = np.maximum(data, 0)
    np.testing.assert_allclose(run(data).numpy(), np.exp(whole[:, :4]) * whole[:, 4:], rtol=1e-5)


def test_all_outputs_of_a_fused_kernel_may_be_results() -> None:
    x = tensor_var("x", (4, 8))
    after = fuse(build_graph([x], lambda emit, x: op.split(emit(op.nn.relu(x)), 2, 1)))
    assert kernels_called(after) == ["fused_relu_split"]
    run = VirtualMachine(workbench.compile(after, "llvm"), workbench.cpu())["main"]
    data = RNG.standard_normal((4, 8)).astype("float32")
    found = [part.numpy() for part in run(data)]
    np.testing.assert_array_equal(np.concatenate(found, 1), np.maximum(data, 0))


def test_an_output_used_by_a_product_leaves_its_kernel_alone() -> None:
    x = tensor_var("x", (8, 8))

    def body(emit: Any, x: Any) -> Any:
        parts = emit(op.split(x, 2, 1))
        left, right = emit(relax.TupleGetItem(parts, 0)), emit(relax.TupleGetItem(parts, 1))
        return op.matmul(emit(op.permute_dims(left)), right)

    assert kernels_called(fuse(build_graph([x], body))) == ["split", "transpose", "matmul"]
