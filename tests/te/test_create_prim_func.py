"""Tensor expressions become the loops that TVM prints, and compute what they say."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import te, tirx
from workbench.core.errors import WorkbenchError
from workbench.ir import IntImm
from workbench.tirx import op as tir
from workbench.tirx.interpreter import interpret


def body_of(func: tirx.PrimFunc) -> str:
    """The script from the function attributes on."""
    return func.script().split("T.func_attr", 1)[1].split("\n", 1)[1]


def run(func: tirx.PrimFunc, *inputs: np.ndarray, out: list[np.ndarray]) -> list[np.ndarray]:
    interpret(func, *inputs, *out)
    return out


def test_matmul_then_maximum_prints_like_the_reference() -> None:
    a, b = te.placeholder((128, 128), name="A"), te.placeholder((128, 128), name="B")
    k = te.reduce_axis((0, 128), name="k")
    c = te.compute((128, 128), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((128, 128), lambda i, j: tir.max(c[i, j], tir.const(0, "float32")), name="D")
    assert body_of(te.create_prim_func([a, b, d])).strip("\n") == (
        """\
    # with T.sblock("root"):
    C = T.sblock_alloc_buffer((128, 128))
    for i, j, k in T.grid(128, 128, 128):
        with T.sblock("C"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            T.reads(A[v_i, v_k], B[v_k, v_j])
            T.writes(C[v_i, v_j])
            with T.init():
                C[v_i, v_j] = T.float32(0.0)
            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
    for i, j in T.grid(128, 128):
        with T.sblock("D"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            T.reads(C[v_i, v_j])
            T.writes(D[v_i, v_j])
            D[v_i, v_j] = T.max(C[v_i, v_j], T.float32(0.0))"""
    )


def test_attributes_are_those_of_tvm() -> None:
    a = te.placeholder((4,), name="A")
    f = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0)])
    assert dict(f.attrs) == {"global_symbol": "main", "s_tir": True, "tirx.noalias": True}


def test_symbolic_dimension_and_scalar_parameter() -> None:
    n = te.var("n")
    a = te.placeholder((n, 4), name="A")
    b = te.compute((n, 4), lambda i, j: a[i, j] + n, name="B")
    f = te.create_prim_func([n, a, b])
    assert f.params[0] is n
    x = np.arange(12, dtype="float32").reshape(3, 4)
    (got,) = run(f, 3, x, out=[np.zeros_like(x)])
    np.testing.assert_array_equal(got, x + 3)


def test_several_outputs_share_a_nest() -> None:
    a = te.placeholder((3, 4), name="A")
    b, c = te.compute((3, 4), lambda i, j: (a[i, j] + 1.0, a[i, j] * 2.0), name="BC")
    assert (b.name, c.name) == ("BC.v0", "BC.v1")
    f = te.create_prim_func([a, b, c])
    assert body_of(f).count("T.grid") == 1
    assert [p.name for p in f.params] == ["A", "BC_v0", "BC_v1"]
    x = np.random.default_rng(0).random((3, 4), "float32")
    got = run(f, x, out=[np.zeros_like(x), np.zeros_like(x)])
    np.testing.assert_array_equal(got[0], x + 1)
    np.testing.assert_array_equal(got[1], x * 2)


def test_reduction_of_pairs_stores_after_both_are_computed() -> None:
    x = te.placeholder((8, 16), name="X")

    def combine(lhs, rhs):
        keep = lhs[1] >= rhs[1]
        return tirx.Select(keep, lhs[0], rhs[0]), tirx.Select(keep, lhs[1], rhs[1])

    best = te.comm_reducer(combine, lambda i, v: (tir.const(-1, i), tir.min_value(v)), "argmax")
    k = te.reduce_axis((0, 16), name="k")
    t0, t1 = te.compute((8,), lambda i: best((k.var, x[i, k]), axis=k), name="T")
    f = te.create_prim_func([x, t0, t1])
    lines = [line.strip() for line in body_of(f).splitlines()]
    assert lines.index("T_v0[v_i] = v_T_v0") == lines.index("T_v1[v_i] = v_T_v1") - 1
    data = np.random.default_rng(1).random((8, 16), "float32")
    got = run(f, data, out=[np.zeros(8, "int32"), np.zeros(8, "float32")])
    np.testing.assert_array_equal(got[0], data.argmax(1))
    np.testing.assert_array_equal(got[1], data.max(1))


def test_scalar_tensor_and_full_reduction() -> None:
    x = te.placeholder((8, 16), name="X")
    k0, k1 = te.reduce_axis((0, 8), name="k0"), te.reduce_axis((0, 16), name="k1")
    r = te.compute((), lambda: te.sum(x[k0, k1], axis=[k0, k1]), name="R")
    q = te.compute((8,), lambda i: x[i, 0] / r(), name="Q")
    data = np.random.default_rng(2).random((8, 16), "float32") + 1
    (got,) = run(te.create_prim_func([x, q]), data, out=[np.zeros(8, "float32")])
    np.testing.assert_allclose(got, data[:, 0] / data.sum(), rtol=1e-5)


def test_reduction_domain_condition_and_start() -> None:
    x, start = te.placeholder((16,), name="X"), te.placeholder((1,), name="start")
    k = te.reduce_axis((3, 10), name="k")
    s = te.compute((1,), lambda i: te.sum(x[k], axis=k, where=k < 8, init=start[i]), name="S")
    data = np.arange(16, dtype="float32")
    f = te.create_prim_func([x, start, s])
    (got,) = run(f, data, np.array([100], "float32"), out=[np.zeros(1, "float32")])
    assert got[0] == 100 + data[3:8].sum()


@pytest.mark.parametrize(
    ("element", "region"),
    [
        (lambda x, i, j: x[i] + x[i + 1], "X[v_i:v_i + 2]"),
        (lambda x, i, j: x[i + 2] + x[i], "X[v_i:v_i + 3]"),
        (lambda x, i, j: x[i * 2 + 1] + x[i * 2], "X[v_i * 2:v_i * 2 + 2]"),
        (lambda x, i, j: x[i] * x[i], "X[v_i]"),
    ],
)
def test_reads_are_boxes_around_the_loads(element, region: str) -> None:
    x = te.placeholder((64,), name="X")
    c = te.compute((8, 8), lambda i, j: element(x, i, j), name="c")
    assert f"T.reads({region})" in te.create_prim_func([x, c]).script()


def test_reads_of_unrelated_indices_use_min_and_max() -> None:
    x = te.placeholder((16,), name="X")
    c = te.compute((16, 16), lambda i, j: x[i] + x[j], name="c")
    assert "T.reads(X[T.min(v_i, v_j):" in te.create_prim_func([x, c]).script()


def test_blocks_with_one_name_are_numbered() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="C")
    c = te.compute((4,), lambda i: b[i] + 1.0, name="C")
    text = te.create_prim_func([a, c]).script()
    assert 'T.sblock("C")' in text
    assert 'T.sblock("C_1")' in text


def test_index_dtype_override_keeps_values() -> None:
    a = te.placeholder((12,), "int32", name="A")
    b = te.compute((12,), lambda i: a[i // 2] + i, name="B")
    f = te.create_prim_func([a, b], index_dtype_override="int64")
    assert all(d.dtype == "int64" for p in f.params for d in p.shape)
    assert 'T.Cast("int32", v_i)' in f.script()
    x = np.arange(12, dtype="int32") * 3
    (got,) = run(f, x, out=[np.zeros_like(x)])
    np.testing.assert_array_equal(got, x[np.arange(12) // 2] + np.arange(12))


def test_mixed_index_types_become_one() -> None:
    n = tirx.Var("n", "int64")
    a = te.placeholder((n, 8), name="A")
    b = te.compute((n, 8), lambda i, j: tir.if_then_else(j < 3, a[i, j + 2], a[i, j]), name="B")
    f = te.create_prim_func([a, b], "int64")
    assert "int32" not in f.script()
    x = np.random.default_rng(3).random((5, 8), "float32")
    (got,) = run(f, x, out=[np.zeros_like(x)])
    np.testing.assert_array_equal(got[:, :3], x[:, 2:5])
    np.testing.assert_array_equal(got[:, 3:], x[:, 3:])


def test_extern_runs_its_statement_and_knows_its_buffers() -> None:
    x = te.placeholder((16,), name="X")

    def body(ins, outs):
        q = tirx.Var("q", "int32")
        store = tirx.BufferStore(outs[0], ins[0][q] + 1.0, [q])
        return tirx.For(q, 0, 16, tirx.ForKind.SERIAL, store)

    e = te.extern((16,), [x], body, name="E", dtype="float32")
    z = te.compute((16,), lambda i: e[i] * 2.0, name="Z")
    f = te.create_prim_func([x, z])
    assert "T.reads(X[0:16])" in f.script()
    assert "T.writes(E[0:16])" in f.script()
    data = np.arange(16, dtype="float32")
    (got,) = run(f, data, out=[np.zeros_like(data)])
    np.testing.assert_array_equal(got, (data + 1) * 2)


def test_extern_primfunc_takes_the_shapes_of_its_inputs() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    kernel = te.create_prim_func([a, te.compute((n,), lambda i: a[i] * 3.0, name="b")])
    x = te.placeholder((6,), name="X")
    y = te.extern_primfunc([x], kernel)
    assert [int(d) for d in y.shape] == [6]
    z = te.compute((6,), lambda i: y[i] + 1.0, name="Z")
    data = np.arange(6, dtype="float32")
    (got,) = run(te.create_prim_func([x, z]), data, out=[np.zeros_like(data)])
    np.testing.assert_array_equal(got, data * 3 + 1)


def test_attributes_become_annotations() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i], name="B", attrs={"axis": 1})
    assert 'T.sblock_attr({"axis": 1})' in te.create_prim_func([a, b]).script()


def test_axes_have_the_type_of_their_extents() -> None:
    a = te.placeholder((IntImm("int64", 4),), name="A")
    b = te.compute(a.shape, lambda i: a[i], name="B")
    assert b.op.axis[0].var.dtype == "int64"


def test_missing_input_is_named() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    with pytest.raises(WorkbenchError, match=r"the input te\.Tensor\(A"):
        te.create_prim_func([b])


def test_wrong_number_of_indices() -> None:
    a = te.placeholder((4, 4), name="A")
    with pytest.raises(WorkbenchError, match="2 dimensions, got 3 indices"):
        a(0, 1, 2)
    with pytest.raises(WorkbenchError, match="takes 1 indices"):
        te.compute((4, 4), lambda i: a[i, 0])


def test_nested_reduction_is_refused() -> None:
    a = te.placeholder((4, 4), name="A")
    k = te.reduce_axis((0, 4), name="k")
    with pytest.raises(WorkbenchError, match="outermost expression"):
        te.compute((4,), lambda i: te.sum(a[i, k], axis=k) + 1.0)


def test_slices_of_tensors_can_be_indexed_further() -> None:
    a = te.placeholder((3, 4), name="A")
    b = te.compute((3, 4), lambda i, j: a[i][j] + 1.0, name="B")
    assert "B[v_i, v_j] = A[v_i, v_j] + T.float32(1.0)" in te.create_prim_func([a, b]).script()


def test_origin_is_kept_in_every_block() -> None:
    from workbench.core.traverse import iter_nodes
    from workbench.ir.span import made_from, origin_of

    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    f = te.create_prim_func([a, b], span=made_from("relu"))
    assert origin_of(f) == "relu"
    assert {origin_of(n) for n in iter_nodes(f, tirx.SBlock)} == {"relu"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a: te.placeholder((-3,)), "no negative sizes"),
        (lambda a: te.compute((3,), lambda i: a[i, 7]), "index 7 is outside of dimension 1"),
        (lambda a: te.compute((3,), lambda i: a[i, -1]), "index -1 is outside of dimension 1"),
        (lambda a: te.compute((3,), lambda i: a[1.5, i]), "an integer as index of dimension 0"),
        (lambda a: te.compute((3,), lambda i: "x"), "expected a number as element"),
        (lambda a: te.reduce_axis(4), r"expected a Range or \(begin, end\), got int 4"),
        (lambda a: te.create_prim_func([a, a]), "among the parameters twice"),
    ],
)
def test_misuse_is_named(make, message: str) -> None:
    a = te.placeholder((3, 4), name="A")
    with pytest.raises(WorkbenchError, match=message):
        make(a)


def test_empty_dimensions_have_no_wrong_index() -> None:
    a = te.placeholder((0, 4), name="A")
    func = te.create_prim_func([a, te.compute((0,), lambda i: a[0, i], name="B")])
    run(func, np.zeros((0, 4), "float32"), out=[np.zeros(0, "float32")])
