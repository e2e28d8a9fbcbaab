"""Loads of every n-th element, as whole vectors and shuffles."""

import numpy as np
import pytest

from workbench.ir import IntImm, Var
from workbench.s_tir.build import build
from workbench.tirx import decl_buffer
from workbench.tirx.expr import BufferLoad, Ramp
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import BufferStore, For


def program(step, lanes, dtype, rows=3):
    span = (lanes - 1) * step + 1
    a = decl_buffer((rows * span,), dtype, "a")
    b = decl_buffer((rows * lanes,), dtype, "b")
    i = Var("i", "int64")
    one = IntImm("int64", 1)
    load = BufferLoad(a, [Ramp(i * span, IntImm("int64", step), lanes)])
    body = BufferStore(b, load, [Ramp(i * lanes, one, lanes)])
    return PrimFunc([a, b], For(i, 0, rows, 0, body)).with_attr("global_symbol", "main")


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "bfloat16", "bool"])
@pytest.mark.parametrize("lanes", [2, 4, 5, 16])
@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_strided_load(step, lanes, dtype):
    from workbench.runtime import DataType

    func = program(step, lanes, dtype)
    kind = DataType(dtype).numpy()
    span = (lanes - 1) * step + 1
    a = (np.arange(3 * span) % 2 if dtype == "bool" else np.arange(3 * span) % 100).astype(kind)
    b = np.zeros(3 * lanes, kind)
    run = build(func, "llvm")
    if dtype == "bfloat16":
        import workbench as wb

        a_, b_ = wb.runtime.tensor(a), wb.runtime.tensor(b)
        run["main"](a_, b_)
        b = b_.numpy()
    else:
        run["main"](a, b)
    want = np.concatenate([a[r * span : (r + 1) * span : step] for r in range(3)])
    assert np.array_equal(np.asarray(b), want)
