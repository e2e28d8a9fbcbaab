"""Passes from blocks to loops: before and expected."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx.lowering import apply, check, check_same_results, check_unchanged
from workbench import tirx
from workbench.core import RegistryError, WorkbenchError, iter_nodes
from workbench.ir import IRModule
from workbench.ir.span import origin_of
from workbench.s_tir import transform
from workbench.s_tir.pipeline import default_tir_pipeline, get_tir_pipeline
from workbench.script import tirx as T
from workbench.tirx.transform import RemoveNoOp, StmtSimplify, StorageRewrite


def test_loops_start_at_zero_with_step_one():
    i = tirx.Var("i", "int32")
    A = tirx.decl_buffer((16,), "int32", "A")
    loop = tirx.For(i, 2, 10, 0, tirx.BufferStore(A, i, [i]), step=tirx.const(4, "int32"))
    func = tirx.PrimFunc([A], loop)
    after = apply(transform.CanonicalizeLoop(), func)
    assert int(after.body.min) == 0
    assert int(after.body.extent) == 3
    assert after.body.step is None
    check_same_results(func, after)


def test_canonical_loops_are_left():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = T.float32(0)

    check_unchanged(transform.CanonicalizeLoop(), func)


def test_init_becomes_a_condition():
    @T.prim_func(s_tir=True)
    def before(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
        for i, k in T.grid(8, 4):
            with T.sblock("b"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    @T.prim_func(s_tir=True)
    def expected(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
        for i, k in T.grid(8, 4):
            with T.sblock("b"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi, vk])
                T.writes(B[vi])
                if vk == 0:
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    check(transform.LowerInitBlock(), before, expected)


def test_block_variables_are_replaced():
    @T.prim_func(s_tir=True)
    def before(A: T.Buffer((16,), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("b"):
                v = T.axis.spatial(16, i * 4 + j)
                T.reads(A[v])
                T.writes(A[v])
                A[v] = A[v] + T.float32(1)

    @T.prim_func(s_tir=True)
    def expected(A: T.Buffer((16,), "float32")):
        for i, j in T.grid(4, 4):
            with T.sblock("b"):
                T.reads(A[i * 4 + j])
                T.writes(A[i * 4 + j])
                A[i * 4 + j] = A[i * 4 + j] + T.float32(1)

    check(transform.ConvertBlocksToOpaque(), before, expected)


@T.prim_func(s_tir=True)
def two_stages(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    with T.sblock("root"):
        C = T.sblock_alloc_buffer((16, 16))
        for i in range(16):
            for j in range(16):
                with T.sblock("c"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(A[vi, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = A[vi, vj] * T.float32(2)
            for j in range(16):
                with T.sblock("b"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(C[vi, vj])
                    T.writes(B[vi, vj])
                    B[vi, vj] = C[vi, vj] + T.float32(1)


def test_allocations_move_into_the_loop_that_uses_them():
    after = apply(transform.PlanAndUpdateBufferAllocationLocation(), two_stages)
    root, inner = [b for b in iter_nodes(after.body, tirx.SBlock) if b.name_hint in ("root", "")]
    assert root.alloc_buffers == ()
    assert [b.name for b in inner.alloc_buffers] == ["C"]
    check_same_results(two_stages, after)


def test_allocations_stay_outside_reduction_loops():
    @T.prim_func(s_tir=True)
    def func(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8,), "float32")):
        with T.sblock("root"):
            C = T.sblock_alloc_buffer((8,))
            for k in range(4):
                for i in range(8):
                    with T.sblock("c"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        T.reads(A[vk, vi])
                        T.writes(C[vi])
                        with T.init():
                            C[vi] = T.float32(0)
                        C[vi] = C[vi] + A[vk, vi]
                for i in range(8):
                    with T.sblock("b"):
                        vi = T.axis.spatial(8, i)
                        T.reads(C[vi])
                        T.writes(B[vi])
                        B[vi] = C[vi]

    check_unchanged(transform.PlanAndUpdateBufferAllocationLocation(), func)


def test_buffers_shrink_to_what_is_accessed():
    after = two_stages
    for item in (
        transform.PlanAndUpdateBufferAllocationLocation(),
        transform.ConvertBlocksToOpaque(),
        transform.CompactBufferAllocation(),
    ):
        after = apply(item, after)
    buffer = next(b for k in iter_nodes(after.body, tirx.SBlock) for b in k.alloc_buffers)
    assert [int(d) for d in buffer.shape] == [1, 16]
    check_same_results(two_stages, after)


def test_a_halo_is_kept():
    @T.prim_func(s_tir=True)
    def before(A: T.Buffer((10,), "float32"), B: T.Buffer((8,), "float32")):
        with T.sblock("root"):
            C = T.sblock_alloc_buffer((10,))
            for i in range(4):
                for a in range(4):
                    with T.sblock("c"):
                        v = T.axis.spatial(10, i * 2 + a)
                        C[v] = A[v]
                for j in range(2):
                    with T.sblock("b"):
                        v = T.axis.spatial(8, i * 2 + j)
                        B[v] = C[v] + C[v + 2]

    after = before
    for item in (
        transform.PlanAndUpdateBufferAllocationLocation(),
        transform.ConvertBlocksToOpaque(),
        transform.CompactBufferAllocation(),
    ):
        after = apply(item, after)
    buffer = next(b for k in iter_nodes(after.body, tirx.SBlock) for b in k.alloc_buffers)
    assert [int(d) for d in buffer.shape] == [4]
    check_same_results(before, after)


def test_views_of_regions_are_lowered():
    A = tirx.decl_buffer((4, 8), "int32", "A")
    stride = tirx.Var("s", "int32")
    offset = tirx.Var("o", "int32")
    V = tirx.decl_buffer((4,), "int32", "V", strides=(stride,), elem_offset=offset)
    i, k = tirx.Var("i", "int32"), tirx.Var("k", "int32")
    ranges = [tirx.Range.from_min_extent(i, 1), tirx.Range.from_min_extent(4, 4)]
    match = tirx.MatchBufferRegion(V, tirx.BufferRegion(A, ranges))
    inner = tirx.For(k, 0, 4, 0, tirx.BufferStore(V, k + offset * 10 + stride * 1000, [k]))
    block = tirx.SBlock([], [], [], "b", inner, match_buffers=[match])
    body = tirx.For(i, 0, 4, 0, tirx.SBlockRealize([], True, block))
    func = tirx.PrimFunc([A], body)
    after = apply(transform.LowerMatchBuffer(), func)
    assert not any(b.match_buffers for b in iter_nodes(after.body, tirx.SBlock))
    check_same_results(func, after)
    array = np.zeros((4, 8), "int32")
    tirx.interpret(after, array)
    assert array[2, 5] == 1 + (2 * 8 + 4) * 10 + 1000


def test_opaque_blocks_become_statements():
    @T.prim_func(s_tir=True)
    def before(A: T.Buffer((30,), "float32")):
        for i in range(2):
            for u in range(1):
                for j in range(16):
                    with T.sblock("b"):
                        T.where(i * 16 + j < 30)
                        T.reads()
                        T.writes()
                        C = T.sblock_alloc_buffer((1,))
                        C[u] = T.float32(1)
                        A[i * 16 + j] = C[0]

    @T.prim_func
    def expected(A: T.Buffer((30,), "float32")):
        for i in range(2):
            for j in range(16):
                if T.likely(i * 16 + j < 30):
                    C = T.alloc_buffer((1,))
                    C[0] = T.float32(1)
                    A[i * 16 + j] = C[0]

    after = apply(transform.LowerOpaqueBlock(), before)
    check(StmtSimplify(), after, expected)
    store = next(iter_nodes(after.body, tirx.BufferStore))
    assert isinstance(origin_of(store), tirx.SBlock)


def test_lowering_names_the_block_that_is_not_opaque():
    with pytest.raises(WorkbenchError, match="block 'c' is not opaque"):
        apply(transform.LowerOpaqueBlock(), two_stages)


def test_thread_loops_of_one_tag_share_a_variable():
    @T.prim_func
    def before(A: T.Buffer((64,), "float32")):
        for a in T.thread_binding(2, thread="blockIdx.x"):
            for b in T.thread_binding(32, thread="threadIdx.x"):
                A[a * 32 + b] = T.float32(0)
            for c in T.thread_binding(32, thread="threadIdx.x"):
                A[a * 32 + c] = T.float32(1)

    after = apply(transform.UnifyThreadBinding(), before)
    loops = list(iter_nodes(after.body, tirx.For))
    assert len({id(f.loop_var) for f in loops}) == 2
    check_same_results(before, after)


def test_a_loop_is_cut_where_its_condition_ends():
    @T.prim_func
    def before(A: T.Buffer((100,), "float32")):
        for i in range(7):
            for j in range(16):
                if T.likely(i * 16 + j < 100):
                    A[i * 16 + j] = T.float32(1)

    after = apply(StmtSimplify(), apply(transform.LoopPartition(), before))
    after = apply(RemoveNoOp(), after)
    assert not list(iter_nodes(after.body, tirx.IfThenElse))
    assert [int(f.extent) for f in iter_nodes(after.body, tirx.For)] == [6, 16, 4]
    check_same_results(before, after)


def test_a_loop_of_unknown_length_is_cut_too():
    n = tirx.Var("n", "int32")
    A = tirx.decl_buffer((n,), "int32", "A")
    i, j = tirx.Var("i", "int32"), tirx.Var("j", "int32")
    index = i * 8 + j
    guarded = tirx.IfThenElse(tirx.likely(index < n), tirx.BufferStore(A, index, [index]))
    inner = tirx.For(j, 0, 8, tirx.ForKind.VECTORIZED, guarded)
    func = tirx.PrimFunc([A], tirx.For(i, 0, tirx.ceildiv(n, 8), 0, inner))
    after = apply(transform.LoopPartition(), func)
    main = next(iter_nodes(after.body, tirx.For))
    assert not list(iter_nodes(main.body, tirx.IfThenElse))
    for size in (1, 7, 8, 9, 30):
        array = np.zeros(size, "int32")
        tirx.interpret(after, array)
        np.testing.assert_array_equal(array, np.arange(size))


def test_conditions_that_are_not_likely_stay():
    @T.prim_func
    def func(A: T.Buffer((100,), "float32")):
        for i in range(100):
            if i < 50:
                A[i] = T.float32(1)

    check_unchanged(transform.LoopPartition(), func)


def test_conditions_leave_loops_that_do_not_change_them():
    @T.prim_func
    def before(A: T.Buffer((8, 8), "float32"), n: T.int32):
        for i in range(8):
            for j in range(8):
                if i < n:
                    A[i, j] = T.float32(1)

    @T.prim_func
    def expected(A: T.Buffer((8, 8), "float32"), n: T.int32):
        for i in range(8):
            if i < n:
                for j in range(8):
                    A[i, j] = T.float32(1)

    check(transform.HoistIfThenElse(), before, expected)


def test_split_patterns_are_renormalised():
    @T.prim_func
    def before(A: T.Buffer((8, 16), "float32")):
        for i in range(8):
            for j in range(16):
                A[(i * 16 + j) // 16, (i * 16 + j) % 16] = T.float32(1)

    @T.prim_func
    def expected(A: T.Buffer((8, 16), "float32")):
        for i in range(8):
            for j in range(16):
                A[i, j] = T.float32(1)

    check(transform.RenormalizeSplitPattern(), before, expected)


def test_a_select_that_may_fault_evaluates_one_side():
    @T.prim_func
    def before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = T.Select(i < 4, A[i], T.float32(0))

    @T.prim_func
    def expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = T.if_then_else(i < 4, A[i], T.float32(0))

    check(transform.RewriteUnsafeSelect(), before, expected)


def test_the_pipeline_leaves_no_block_and_flat_buffers():
    mod = default_tir_pipeline("llvm")(IRModule({"main": two_stages}))
    func = mod["main"]
    assert not list(iter_nodes(func.body, tirx.SBlock))
    assert all(len(n.indices) == 1 for n in iter_nodes(func.body, tirx.BufferLoad))
    assert func.attrs["target"].kind.name == "llvm"
    check_same_results(two_stages, func)


def test_pipelines_by_name():
    assert get_tir_pipeline().passes
    assert get_tir_pipeline("s_tir").passes
    with pytest.raises(RegistryError, match="default"):
        get_tir_pipeline("defualt")


def test_storage_rewrite_after_lowering_allocates_once():
    after = default_tir_pipeline()(IRModule({"main": two_stages}))["main"]
    assert sum(1 for _ in iter_nodes(after.body, tirx.AllocBuffer)) == 1
    assert apply(StorageRewrite(), after) is not None


def test_what_later_turns_read_is_not_allocated_inside_the_loop() -> None:
    @T.prim_func
    def sums(b: T.Buffer((4,), "float32"), c: T.Buffer((4,), "float32")):
        t = T.sblock_alloc_buffer((4,))
        for i in range(4):
            with T.sblock("t"):
                v = T.axis.spatial(4, i)
                t[v] = b[v] * T.float32(2)
            for j in range(i + 1):
                with T.sblock("c"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    with T.init():
                        c[vi] = T.float32(0)
                    c[vi] = c[vi] + t[vj]

    moved = apply(transform.PlanAndUpdateBufferAllocationLocation(), sums)
    assert [b.name for b in moved.body.block.alloc_buffers] == ["t"]
