"""Default schedules: which rule takes what, that they keep the meaning, and that they replay."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from workbench import te
from workbench.core import structural_equal
from workbench.core.recorder import recording
from workbench.core.traverse import iter_nodes
from workbench.ir import IRModule
from workbench.s_tir import Schedule, dlight
from workbench.s_tir.dlight import cpu
from workbench.target import Target
from workbench.testing.schedules import arguments, matmul, outputs_of, te_programs
from workbench.tirx import op as T
from workbench.tirx.interpreter import interpret
from workbench.tirx.stmt import For, ForKind

TARGET = Target({"kind": "llvm", "vector-width": 512, "num-cores": 4})
NARROW = Target({"kind": "llvm", "vector-width": 128, "num-cores": 4})


def relu_chain(n, m):
    A = te.placeholder((n, m), name="A")
    b = te.placeholder((m,), name="b")
    B = te.compute((n, m), lambda i, j: A[i, j] + b[j], name="B")
    C = te.compute((n, m), lambda i, j: T.maximum(B[i, j], T.const(0, "float32")), name="C")
    return te.create_prim_func([A, b, C])


def dense_transposed(n, m, depth):
    A = te.placeholder((n, depth), name="A")
    W = te.placeholder((m, depth), name="W")
    b = te.placeholder((m,), name="b")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * W[j, k], axis=k), name="C")
    D = te.compute((n, m), lambda i, j: C[i, j] + b[j], name="D")
    return te.create_prim_func([A, W, b, D])


def batch_matmul(batch, n, m, depth):
    A = te.placeholder((batch, n, depth), name="A")
    B = te.placeholder((batch, depth, m), name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((batch, n, m), lambda b, i, j: te.sum(A[b, i, k] * B[b, k, j], axis=k), name="C")
    return te.create_prim_func([A, B, C])


def conv(channels, out, size, kernel, stride=1, pad=1, depthwise=False):
    X = te.placeholder((1, channels, size, size), name="X")
    W = te.placeholder((out, 1 if depthwise else channels, kernel, kernel), name="W")
    whole = size + 2 * pad
    P = te.compute(
        (1, channels, whole, whole),
        lambda n, c, h, w: T.if_then_else(
            T.all(h >= pad, h < size + pad, w >= pad, w < size + pad),
            X[n, c, h - pad, w - pad],
            T.const(0.0, "float32"),
        ),
        name="P",
    )
    extent = (whole - kernel) // stride + 1
    rc = te.reduce_axis((0, channels), name="rc")
    ry = te.reduce_axis((0, kernel), name="ry")
    rx = te.reduce_axis((0, kernel), name="rx")
    if depthwise:
        C = te.compute(
            (1, out, extent, extent),
            lambda n, o, h, w: te.sum(
                P[n, o, h * stride + ry, w * stride + rx] * W[o, 0, ry, rx], axis=[ry, rx]
            ),
            name="C",
        )
    else:
        C = te.compute(
            (1, out, extent, extent),
            lambda n, o, h, w: te.sum(
                P[n, rc, h * stride + ry, w * stride + rx] * W[o, rc, ry, rx], axis=[rc, ry, rx]
            ),
            name="C",
        )
    D = te.compute(C.shape, lambda *i: T.maximum(C(*i), T.const(0, "float32")), name="D")
    return te.create_prim_func([X, W, D])


def softmax(n, m):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    k2 = te.reduce_axis((0, m), name="k2")
    M = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="M")
    X = te.compute((n, m), lambda i, j: T.exp(A[i, j] - M[i]), name="X")
    S = te.compute((n,), lambda i: te.sum(X[i, k2], axis=k2), name="S")
    Y = te.compute((n, m), lambda i, j: X[i, j] / S[i], name="Y")
    return te.create_prim_func([A, Y])


def mean_pool(channels, size):
    A = te.placeholder((1, channels, size, size), name="A")
    h = te.reduce_axis((0, size), name="h")
    w = te.reduce_axis((0, size), name="w")
    S = te.compute((1, channels), lambda n, c: te.sum(A[n, c, h, w], axis=[h, w]), name="S")
    M = te.compute((1, channels), lambda n, c: S[n, c] * (1.0 / (size * size)), name="M")
    return te.create_prim_func([A, M])


def max_pool(channels, size):
    A = te.placeholder((1, channels, size, size), name="A")
    y = te.reduce_axis((0, 2), name="y")
    x = te.reduce_axis((0, 2), name="x")
    half = size // 2
    M = te.compute(
        (1, channels, half, half),
        lambda n, c, i, j: te.max(A[n, c, i * 2 + y, j * 2 + x], axis=[y, x]),
        name="M",
    )
    return te.create_prim_func([A, M])


def column_sum(n, m):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, n), name="k")
    S = te.compute((m,), lambda j: te.sum(A[k, j], axis=k), name="S")
    return te.create_prim_func([A, S])


PROGRAMS = {
    "elementwise": (lambda: relu_chain(6, 40), "Elementwise"),
    "elementwise_odd": (lambda: relu_chain(5, 7), "Elementwise"),
    "matmul": (lambda: matmul(24, 96, 20), "Matmul"),
    "matmul_odd": (lambda: matmul(13, 35, 9), "Matmul"),
    "matmul_small": (lambda: matmul(3, 5, 4), "Matmul"),
    "matmul_alone": (lambda: matmul(16, 32, 8, relu=False), "Matmul"),
    "dense_transposed": (lambda: dense_transposed(9, 33, 12), "Matmul"),
    "vector_matrix": (lambda: matmul(1, 70, 11), "Matmul"),
    "batch_matmul": (lambda: batch_matmul(3, 7, 18, 5), "Matmul"),
    "conv3x3": (lambda: conv(4, 20, 9, 3), "Conv2d"),
    "conv_strided": (lambda: conv(3, 8, 12, 3, stride=2), "Conv2d"),
    "conv_depthwise": (lambda: conv(6, 6, 17, 3, depthwise=True), "Conv2d"),
    "softmax": (lambda: softmax(5, 70), "Reduction"),
    "mean_pool": (lambda: mean_pool(6, 7), "Reduction"),
    "max_pool": (lambda: max_pool(5, 34), "Conv2d"),
    "column_sum": (lambda: column_sum(9, 50), "Contraction"),
}


def random_arguments(func):
    rng = np.random.default_rng(0)
    return [
        rng.integers(-4, 5, [int(d) for d in p.shape]).astype(str(p.dtype)) / 2 for p in func.params
    ]


def rule_of(func, target):
    for rule in cpu.default_rules():
        found = dlight.schedule_function(func, target, [rule])
        if found is not None:
            return type(rule).__name__, found
    raise AssertionError("the fallback fits everything")


@pytest.mark.parametrize("target", [TARGET, NARROW], ids=["512", "128"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_rules_keep_the_meaning(name, target):
    make, wanted = PROGRAMS[name]
    func = make()
    rule, sch = rule_of(func, target)
    assert rule == wanted
    given_arrays = [a.astype("float32") for a in random_arguments(func)]
    want = [a.copy() for a in given_arrays]
    interpret(func, *want)
    got = [a.copy() for a in given_arrays]
    interpret(sch.mod["main"], *got)
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_traces_of_rules_replay(name):
    func = PROGRAMS[name][0]()
    _, sch = rule_of(func, TARGET)
    for trace in (sch.trace, sch.trace.simplified(remove_postproc=True)):
        again = Schedule(func)
        trace.apply_to_schedule(again)
        assert structural_equal(again.mod, sch.mod)


def kinds(func):
    return {loop.kind for loop in iter_nodes(func, For)}


def test_large_matmul_is_parallel_packed_and_vectorised():
    sch = dlight.schedule_function(matmul(256, 512, 256), TARGET, cpu.default_rules())
    func = sch.mod["main"]
    assert {ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.UNROLLED} <= kinds(func)
    names = [e.name for e in sch.state.index(next(iter(sch.mod.functions))).entries.values()]
    assert "B_global" in names and "C_init" in names and "D" not in names


def test_small_kernels_stay_serial():
    for make in (lambda: relu_chain(4, 16), lambda: matmul(4, 16, 4), lambda: softmax(2, 32)):
        sch = dlight.schedule_function(make(), TARGET, cpu.default_rules())
        assert ForKind.PARALLEL not in kinds(sch.mod["main"])


def test_symbolic_extents():
    n = te.var("n")
    A = te.placeholder((n, 32), name="A")
    B = te.placeholder((32, 48), name="B")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((n, 48), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    func = te.create_prim_func([A, B, C])
    rule, sch = rule_of(func, TARGET)
    assert rule == "Matmul"
    for size in (1, 5, 6, 13):
        a = np.arange(size * 32, dtype="float32").reshape(size, 32) % 7
        b = np.arange(32 * 48, dtype="float32").reshape(32, 48) % 5
        c = np.zeros((size, 48), "float32")
        interpret(sch.mod["main"], a, b, c)
        np.testing.assert_allclose(c, a @ b)


def test_the_pass():
    mod = IRModule({"f": matmul(16, 32, 8), "g": relu_chain(4, 16)})
    with recording("primitive") as log, TARGET:
        out = dlight.ApplyDefaultSchedule(*cpu.default_rules())(mod)
    assert all(f.attrs[dlight.IS_SCHEDULED] for f in out.functions.values())
    traces = [e.info["trace"] for e in log.events if e.name == "dlight"]
    assert len(traces) == 2 and "sch.vectorize" in traces[0]
    again = dlight.ApplyDefaultSchedule(*cpu.default_rules(), target=TARGET)(out)
    assert again is out or structural_equal(again, out)
    assert all(again.functions[g] is f for g, f in out.functions.items())


def test_rules_can_be_written():
    class Unroll(dlight.ScheduleRule):
        def apply(self, func, target, tunable):
            sch = Schedule(func)
            sch.unroll(sch.get_loops("C")[-1])
            return sch

    out = dlight.ApplyDefaultSchedule(Unroll(), target=TARGET)(IRModule({"f": matmul(4, 4, 4)}))
    assert ForKind.UNROLLED in kinds(out["f"])


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(te_programs())
def test_random_programs(func):
    given_arrays = arguments(func)
    want = outputs_of(func, given_arrays)
    sch = dlight.schedule_function(func, NARROW, cpu.default_rules())
    assert sch is not None
    got = outputs_of(sch.mod["main"], given_arrays)
    for a, b in zip(want, got, strict=True):
        assert np.array_equal(a, b), f"{sch.trace}\n{sch.mod}"
