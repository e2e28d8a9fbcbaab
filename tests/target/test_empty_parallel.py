"""A parallel loop without turns does nothing; its size may only be known when it runs."""

import numpy as np
import pytest

import workbench as wb
from workbench import runtime
from workbench.script import tirx as T


@T.prim_func(s_tir=True)
def tiles(a: T.handle, b: T.Buffer((64,), "float32")):
    n = T.int64()
    _ = T.match_buffer(a, (n,), "float32")
    for i in T.parallel(n // T.int64(5)):
        b[i] = T.float32(1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [0, 4, 5, 9, 10, 320])
def test_as_many_turns_as_whole_tiles(size, threads):
    call = wb.build(tiles, target="llvm")["tiles"]
    before = runtime.num_threads()
    runtime.set_num_threads(threads)
    try:
        b = np.zeros(64, np.float32)
        call(np.zeros(size, np.float32), b)
    finally:
        runtime.set_num_threads(before)
    np.testing.assert_array_equal(b, np.arange(64) < size // 5)
