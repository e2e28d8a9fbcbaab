"""Tiles that are no boxes: a consumer must not read what is not computed yet."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import te, topi
from workbench.arith import Analyzer
from workbench.core.traverse import free_vars
from workbench.ir import IRModule
from workbench.ir.expr import Var
from workbench.s_tir import Schedule, ScheduleError, dlight
from workbench.s_tir.analysis.regions import at_most
from workbench.target import Target
from workbench.tirx import PrimFunc, op
from workbench.tirx.interpreter import interpret


def two_steps() -> PrimFunc:
    a = te.placeholder((6, 10), name="A")
    b = te.compute((6, 10), lambda i, j: a[i, j] * 2.0, name="B")
    return te.create_prim_func([a, te.compute((6, 10), lambda i, j: b[i, j] + 1.0, name="C")])


def moved(factor: int) -> Schedule:
    sch = Schedule(two_steps())
    loop = sch.fuse(*sch.get_loops(sch.get_sblock("B")))
    outer, _ = sch.split(loop, [None, factor])
    sch.reverse_compute_at(sch.get_sblock("C"), outer)
    return sch


@pytest.mark.parametrize("factor", [1, 5, 10, 20, 30, 60])
def test_tiles_that_end_with_rows_may_be_stored_at_once(factor: int) -> None:
    x = np.random.default_rng(0).random((6, 10), "float32")
    out = np.zeros_like(x)
    mod = moved(factor).mod
    assert not free_vars(mod["main"])
    interpret(mod, "main", x, out)
    np.testing.assert_array_equal(out, x * 2 + 1)


@pytest.mark.parametrize("factor", [4, 7, 12, 15])
def test_other_tiles_are_refused_with_a_reason(factor: int) -> None:
    with pytest.raises(ScheduleError, match="is no box: block 'C' would read elements"):
        moved(factor)


@pytest.mark.parametrize("size", [(5, 24, 80), (8, 9, 10), (3, 7, 48), (4, 6, 32)])
def test_the_default_schedule_of_a_convolution_computes_it(size: tuple[int, int, int]) -> None:
    channels, height, width = size
    x = te.placeholder((1, channels, height, width), name="x")
    w = te.placeholder((16, channels, 1, 1), name="w")
    conv = topi.nn.conv2d(x, w)
    func = te.create_prim_func([x, w, topi.nn.relu(conv)], "int64")
    rules = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules(), target=Target("llvm"))
    mod = rules(IRModule({"main": func}))
    rng = np.random.default_rng(1)
    a = rng.standard_normal((1, channels, height, width)).astype("float32")
    b = rng.standard_normal((16, channels, 1, 1)).astype("float32")
    want, got = (np.zeros((1, 16, height, width), "float32") for _ in range(2))
    interpret(func, a, b, want)
    interpret(mod, "main", a, b, got)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_bounds_of_quotients_of_unknown_sizes():
    n = Var("n", "int64")
    windows = op.floordiv(n - 1, 2) + 1
    tiles = op.floordiv(n + 31, 32) * 16
    assert at_most(windows, tiles, Analyzer())
    assert not at_most(windows, op.floordiv(n + 29, 32) * 16, Analyzer())  # n = 1: 1 > 0
    assert not at_most(tiles, windows, Analyzer())


def test_sums_do_not_move_under_loops_whose_iterations_run_together():
    a = te.placeholder((6,), name="A")
    b = te.compute((6,), lambda i: a[i] * 2.0, name="B")
    k = te.reduce_axis((0, 6), name="k")
    total = te.compute((1,), lambda i: te.sum(b[k], axis=k), name="C")
    for kind in ("serial", "parallel", "vectorize"):
        sch = Schedule(te.create_prim_func([a, total]))
        loop = sch.get_loops(sch.get_sblock("B"))[0]
        if kind == "serial":
            sch.reverse_compute_at(sch.get_sblock("C"), loop)
            continue
        getattr(sch, kind)(loop)
        with pytest.raises(ScheduleError, match="run together"):
            sch.reverse_compute_at(sch.get_sblock("C"), loop)
