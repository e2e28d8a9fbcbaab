"""Reductions over nothing: initial values, however the reduction is scheduled."""

import numpy as np
import pytest

import workbench as wb
from workbench import relax, te, tirx, topi
from workbench.ir import IRModule
from workbench.relax import op
from workbench.s_tir import Schedule
from workbench.tirx.interpreter import interpret
from workbench.tirx.transform import InitEmptyReductions

LOWEST = -np.inf


def total(rows="n", columns=3):
    n = te.var("n", "int64") if rows == "n" else rows
    a = te.placeholder((n, columns), "float32", "A")
    return te.create_prim_func([a, topi.sum(a, 0)])


def matmul():
    n, m = te.var("n", "int64"), te.var("m", "int64")
    a = te.placeholder((m, n), "float32", "A")
    b = te.placeholder((n, 7), "float32", "B")
    return te.create_prim_func([a, b, topi.nn.relu(topi.matmul(a, b))])


def split(sch, block):
    sch.split(sch.get_loops(block)[-1], [None, 4])


def split_reordered(sch, block):
    *outer, j, k = sch.get_loops(block)
    k0, k1 = sch.split(k, [None, 4])
    j0, j1 = sch.split(j, [None, 2])
    sch.reorder(k0, j0, k1, j1)
    sch.vectorize(j1)


def reduction_outside(sch, block):
    *_, j, k = sch.get_loops(block)
    sch.reorder(k, j)


def decomposed(sch, block):
    sch.decompose_reduction(block, sch.get_loops(block)[-1])


def fused(sch, block):
    sch.fuse(*sch.get_loops(block)[-2:])


def parallel(sch, block):
    sch.parallel(sch.get_loops(block)[0])


SCHEDULES = [None, split, split_reordered, reduction_outside, decomposed, fused, parallel]


def both(func, *arrays):
    """The last array as the compiled program and the interpreter leave it."""
    library = wb.compile(func, "llvm")
    tensors = [wb.runtime.tensor(a.copy()) for a in arrays]
    library["main"](*tensors)
    copies = [a.copy() for a in arrays]
    interpret(func, *copies)
    return tensors[-1].numpy(), copies[-1]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("n", [0, 5])
def test_sum_of_columns(schedule, n):
    sch = Schedule(total())
    if schedule is not None:
        schedule(sch, "A_red")
    a = np.arange(3 * n, dtype="float32").reshape(n, 3)
    for got in both(sch.mod["main"], a, np.full(3, 99, "float32")):
        np.testing.assert_array_equal(got, a.sum(0))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("m", "n"), [(5, 0), (0, 0), (5, 3)])
def test_matmul_and_its_consumer(schedule, m, n):
    sch = Schedule(matmul())
    if schedule is not None:
        schedule(sch, sch.get_producers(consumer(sch))[0])
    a = np.arange(m * n, dtype="float32").reshape(m, n)
    b = np.ones((n, 7), "float32")
    for got in both(sch.mod["main"], a, b, np.full((m, 7), 99, "float32")):
        np.testing.assert_array_equal(got, a @ b)


def consumer(sch):
    return sch.get_output_blocks("root")[0]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_extremes_and_constant_sizes(n):
    a = te.placeholder((n, 3), "float32", "A")
    x = np.arange(3 * n, dtype="float32").reshape(n, 3)
    for reduce, want in ((topi.max, x.max(0, initial=LOWEST)), (topi.sum, x.sum(0))):
        func = te.create_prim_func([a, reduce(a, 0)])
        for got in both(func, x, np.full(3, 99, "float32")):
            np.testing.assert_array_equal(got, want)


def test_known_sizes_change_nothing():
    for func in (total(4), Schedule(total(4)).mod["main"]):
        mod = IRModule({"main": func})
        assert InitEmptyReductions()(mod)["main"] is func
    n = te.var("n", "int64")
    a = te.placeholder((tirx.max(n, 1), 3), "float32", "A")
    mod = IRModule({"main": te.create_prim_func([a, topi.sum(a, 0)])})
    assert InitEmptyReductions()(mod)["main"] is mod["main"]


OPERATORS = {
    "sum of columns": (lambda x: op.sum(x, [0]), lambda x: x.sum(0)),
    "sum of rows": (lambda x: op.sum(x, [1]), lambda x: x.sum(1)),
    "sum": (lambda x: op.sum(x), lambda x: x.sum()),
    "product": (lambda x: op.prod(x, [0]), lambda x: x.prod(0)),
    "max": (lambda x: op.max(x, [0]), lambda x: x.max(0, initial=LOWEST)),
    "matmul": (lambda x: op.matmul(op.permute_dims(x), x), lambda x: x.T @ x),
    "sum of squares + 1": (
        lambda x: op.add(op.sum(op.multiply(x, x), [0]), relax.const(1.0, "float32")),
        lambda x: (x * x).sum(0) + 1,
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_graphs(name):
    build, want = OPERATORS[name]
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType([n, 3], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(builder.emit(build(x)))
        builder.emit_func_output(out)
    vm = relax.VirtualMachine(wb.compile(builder.get(), "llvm"), wb.cpu())
    for rows in (5, 0, 40):
        a = (np.arange(rows * 3) % 4 / 4).astype("float32").reshape(rows, 3)
        np.testing.assert_allclose(vm["main"](a).numpy(), want(a), rtol=1e-5)
