"""Passes over plain loops: before and expected."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx.lowering import apply, check, check_same_results, check_unchanged
from workbench import tirx
from workbench.core import WorkbenchError, iter_nodes
from workbench.ir import IRModule
from workbench.ir.span import origin_of
from workbench.script import tirx as T
from workbench.tirx import transform


def test_simplify_uses_loops_and_conditions():
    @T.prim_func
    def before(A: T.Buffer((32,), "float32")):
        for i in range(8):
            if i < 16:
                A[(i * 4 + 3) // 4 * 2] = A[i] + T.float32(0)
            if i >= 8:
                A[0] = T.float32(1)

    @T.prim_func
    def expected(A: T.Buffer((32,), "float32")):
        for i in range(8):
            A[i * 2] = A[i]

    check(transform.StmtSimplify(), before, expected)


def test_simplify_keeps_guards_inside_select():
    """Both branches of a Select are evaluated: its condition guards nothing."""
    A = tirx.decl_buffer((4,), "float32", "A")
    i = tirx.Var("i", "int32")
    guarded = tirx.if_then_else(i >= 1, A[i - 1], tirx.const(0.0, "float32"))
    choice = tirx.Select(i < 1, tirx.const(2.0, "float32"), guarded)
    body = tirx.For(i, 0, 4, 0, tirx.BufferStore(A, choice, [i]))
    func = tirx.PrimFunc([A], body)
    after = apply(transform.StmtSimplify(), func)
    names = [n.op.name for n in iter_nodes(after.body, tirx.Call)]
    assert "tirx.if_then_else" in names
    check_same_results(func, after)


def test_remove_no_op():
    @T.prim_func
    def before(A: T.Buffer((8,), "float32")):
        for i in range(8):
            if i < 4:
                T.evaluate(0)
        for i in range(8):
            A[i] = A[i]
        for i in range(0):
            A[i] = T.float32(1)
        A[0] = T.float32(2)

    @T.prim_func
    def expected(A: T.Buffer((8,), "float32")):
        A[0] = T.float32(2)

    check(transform.RemoveNoOp(), before, expected)


def test_unused_definitions_are_removed():
    x, y = tirx.Var("x", "int32"), tirx.Var("y", "int32")
    A = tirx.decl_buffer((4,), "int32", "A")
    unused = tirx.AllocBuffer(tirx.decl_buffer((4,), "int32", "B"))
    first, second = tirx.Bind(x, tirx.const(1, "int32")), tirx.Bind(y, x + 1)
    store = tirx.BufferStore(A, x, [0])
    func = tirx.PrimFunc([A], tirx.SeqStmt([unused, first, second, store]))
    after = apply(transform.RemoveNoOp(), func)
    assert [type(s) for s in after.body.seq] == [tirx.Bind, tirx.BufferStore]


def test_flatten_two_dimensions():
    @T.prim_func
    def before(A: T.Buffer((4, 8), "float32"), n: T.int32):
        B = T.alloc_buffer((2, 3), "float32")
        for i, j in T.grid(4, 8):
            B[1, 2] = A[i, j]
            A[i, j] = B[1, 2]

    @T.prim_func
    def expected(A: T.Buffer((4, 8), "float32"), n: T.int32):
        A_1 = T.decl_buffer((32,), "float32", data=A.data)
        B = T.alloc_buffer((6,), "float32")
        for i, j in T.grid(4, 8):
            B[5] = A_1[i * 8 + j]
            A_1[i * 8 + j] = B[5]

    check(transform.FlattenBuffer(), before, expected)


def test_flatten_keeps_one_dimension():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = T.float32(0)

    check_unchanged(transform.FlattenBuffer(), func)


def test_flatten_strides_and_offset():
    A = tirx.decl_buffer((3, 4), "int32", "A")
    view = tirx.decl_buffer((2, 2), "int32", "V", strides=(4, 2), elem_offset=5)
    body = tirx.SeqStmt(
        [
            tirx.DeclBuffer(view, tirx.buffer_data(A)),
            tirx.BufferStore(view, tirx.const(7, "int32"), [1, 1]),
        ]
    )
    func = tirx.PrimFunc([A], body)
    after = apply(transform.FlattenBuffer(), func)
    stores = list(iter_nodes(after.body, tirx.BufferStore))
    assert [int(i) for i in stores[0].indices] == [5 + 4 + 2]
    array = np.zeros((3, 4), "int32")
    tirx.interpret(after, array)
    assert array[2, 3] == 7


def test_flatten_asks_for_opaque_blocks_first():
    @T.prim_func(s_tir=True)
    def func(A: T.Buffer((4, 4), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                A[v, v] = T.float32(0)

    with pytest.raises(WorkbenchError, match="LowerOpaqueBlock"):
        apply(transform.FlattenBuffer(), func)


def test_unroll():
    @T.prim_func
    def before(A: T.Buffer((8,), "float32")):
        for i in T.unroll(3):
            A[i * 2] = A[i + 1]

    @T.prim_func
    def expected(A: T.Buffer((8,), "float32")):
        A[0] = A[1]
        A[2] = A[2]
        A[4] = A[3]

    check(transform.UnrollLoop(), before, expected)


def test_unroll_gives_every_turn_its_own_variables():
    @T.prim_func
    def before(A: T.Buffer((8,), "float32")):
        for i in T.unroll(2):
            for j in range(4):
                A[i * 4 + j] = T.float32(1)

    after = apply(transform.UnrollLoop(), before)
    loops = list(iter_nodes(after.body, tirx.For))
    assert len({id(f.loop_var) for f in loops}) == 2
    assert tirx.analysis.verify_ssa(after)


def test_unroll_short_serial_loops_on_demand():
    @T.prim_func
    def before(A: T.Buffer((8,), "float32")):
        for i in range(4):
            A[i] = T.float32(1)

    check_unchanged(transform.UnrollLoop(), before)
    after = apply(transform.UnrollLoop(auto_max_step=16), before)
    assert len(list(iter_nodes(after.body, tirx.BufferStore))) == 4
    kept = apply(transform.UnrollLoop(auto_max_step=16, explicit_unroll=False), before)
    assert kept.body.kind == tirx.ForKind.UNROLLED


def test_unroll_leaves_loops_that_are_left():
    i = tirx.Var("i", "int32")
    A = tirx.decl_buffer((4,), "int32", "A")
    body = tirx.SeqStmt([tirx.IfThenElse(i > 1, tirx.Break()), tirx.BufferStore(A, i, [i])])
    func = tirx.PrimFunc([A], tirx.For(i, 0, 4, tirx.ForKind.UNROLLED, body))
    check_unchanged(transform.UnrollLoop(), func)


def test_convert_ssa():
    i = tirx.Var("i", "int32")
    A = tirx.decl_buffer((8,), "int32", "A")
    loop = tirx.For(i, 0, 4, 0, tirx.BufferStore(A, i, [i]))
    func = tirx.PrimFunc([A], tirx.SeqStmt([loop, loop.replace(extent=tirx.const(8, "int32"))]))
    assert not tirx.analysis.verify_ssa(func)
    after = apply(transform.ConvertSSA(), func)
    assert tirx.analysis.verify_ssa(after)
    check_same_results(func, after)


def test_storage_is_shared_by_buffers_that_never_live_together():
    @T.prim_func
    def before(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,), "float32")
        C = T.alloc_buffer((8,), "float32")
        E = T.alloc_buffer((8,), "float32")
        for i in range(8):
            B[i] = A[i] + T.float32(1)
        for i in range(8):
            C[i] = B[i] * T.float32(2)
        for i in range(8):
            E[i] = C[i] + T.float32(3)
        for i in range(8):
            D[i] = E[i]

    after = apply(transform.StorageRewrite(), before)
    assert len(list(iter_nodes(after.body, tirx.AllocBuffer))) == 2
    check_same_results(before, after)


def test_storage_leaves_serial_loops_but_not_parallel_ones():
    @T.prim_func
    def before(A: T.Buffer((8, 4), "float32")):
        for i in T.parallel(8):
            for _k in range(2):
                B = T.alloc_buffer((4,), "float32")
                for j in range(4):
                    B[j] = A[i, j]
                for j in range(4):
                    A[i, j] = B[3 - j]

    after = apply(transform.StorageRewrite(), before)
    assert isinstance(after.body.body.seq[0], tirx.AllocBuffer)
    check_same_results(before, after)


def test_common_subexpressions_are_bound():
    @T.prim_func
    def before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i, j in T.grid(8, 8):
            A[i * 8 + j] = B[i * 8 + j] + T.float32(1)

    after = apply(transform.CommonSubexprElim(), before)
    binds = list(iter_nodes(after.body, tirx.Bind))
    assert [b.var.name for b in binds] == ["cse_v1"]
    check_same_results(before, after)


def test_narrow_indices():
    i = tirx.Var("i", "int64")
    A = tirx.decl_buffer((64,), "float32", "A")
    store = tirx.BufferStore(A, tirx.const(0.0, "float32"), [i * 4])
    func = tirx.PrimFunc([A], tirx.For(i, tirx.const(0, "int64"), tirx.const(8, "int64"), 0, store))
    after = apply(transform.NarrowDataType(target_bits=32), func)
    assert after.body.loop_var.dtype == "int32"
    assert after.body.body.indices[0].dtype == "int32"
    check_same_results(func, after)


def test_narrowing_stops_where_values_do_not_fit():
    i = tirx.Var("i", "int64")
    A = tirx.decl_buffer((tirx.const(1 << 40, "int64"),), "int8", "A")
    store = tirx.BufferStore(A, tirx.const(0, "int8"), [i])
    limit = tirx.const(1 << 40, "int64")
    func = tirx.PrimFunc([A], tirx.For(i, tirx.const(0, "int64"), limit, 0, store))
    after = apply(transform.NarrowDataType(target_bits=32), func)
    assert after.body.loop_var.dtype == "int64"


def test_bfloat16_is_computed_in_float32():
    A = tirx.decl_buffer((8,), "bfloat16", "A")
    i = tirx.Var("i", "int32")
    body = tirx.For(i, 0, 8, 0, tirx.BufferStore(A, A[i] * A[i] + A[i], [i]))
    func = tirx.PrimFunc([A], body)
    after = apply(transform.BF16ComputeLegalize(), func)
    sums = list(iter_nodes(after.body, tirx.Add, tirx.Mul))
    assert {n.dtype for n in sums} == {"float32"}
    check_same_results(func, after)


def test_lower_intrin():
    @T.prim_func
    def before(A: T.Buffer((64,), "int32")):
        for i in range(64):
            if T.likely(i < 60):
                A[i // 4] = A[i] % 8

    after = apply(transform.LowerIntrin(), before)
    names = {n.op.name for n in iter_nodes(after.body, tirx.Call)}
    assert names == {"tirx.shift_right", "tirx.bitwise_and"}
    check_same_results(before, after)


def test_functions_are_marked_and_chosen():
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(0)

    mod = IRModule({"main": main, "other": main.without_attr("global_symbol")})
    assert list(transform.Filter(fcond=lambda f: "global_symbol" in f.attrs)(mod).functions) == [
        mod.get_global_var("main")
    ]
    bound = transform.BindTarget(target="llvm")(mod)
    assert all(f.attrs["target"].kind.name == "llvm" for f in bound.functions.values())
    assert transform.AnnotateEntryFunc()(mod)["main"].attrs["tirx.is_entry_func"]
    renamed = transform.Apply(ftransform=lambda f: f.with_attr("seen", 1))(mod)
    assert renamed["other"].attrs["seen"] == 1


def test_split_host_device_names_the_function_that_needs_a_device():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            A[i] = T.float32(0)

    from workbench.s_tir.transform import LowerOpaqueBlock

    mod = LowerOpaqueBlock()(IRModule({"main": func}))
    with pytest.raises(WorkbenchError, match="main binds loops to threads"):
        transform.SplitHostDevice()(mod)


# Vectors


def test_vectorize_unit_stride():
    @T.prim_func
    def before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(4):
            for j in T.vectorized(4):
                B[i * 4 + j] = A[i * 4 + j] * A[i]

    @T.prim_func
    def expected(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(4):
            B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)] * T.Broadcast(A[i], 4)

    check(transform.VectorizeLoop(), before, expected)


def vector_loop(make, size=16, lanes=8, dtype="float32", extra=()):
    """`for j in vectorized(lanes): make(A, B, j)` over two buffers."""
    A, B = (tirx.decl_buffer((size,), dtype, n) for n in "AB")
    j = tirx.Var("j", "int32")
    loop = tirx.For(j, 0, lanes, tirx.ForKind.VECTORIZED, make(A, B, j))
    return tirx.PrimFunc([A, B, *extra], loop)


def vectorized(func):
    after = apply(transform.VectorizeLoop(), func)
    tirx.analysis.verify_well_formed(after)
    check_same_results(func, after)
    return after


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        (lambda j: j // 8, tirx.Broadcast),
        (lambda j: j % 8, tirx.Ramp),
        (lambda j: (j * 4 + 8) // 4, tirx.Ramp),
        (lambda j: (j * 4 + 3) % 4, tirx.Broadcast),
        (lambda j: 15 - j * 2, tirx.Ramp),
        (lambda j: j // 3, tirx.FloorDiv),
    ],
)
def test_vector_indices_stay_ramps_where_they_can(index, kind):
    func = vector_loop(lambda A, B, j: tirx.BufferStore(B, A[index(j)], [j]))
    after = vectorized(func)
    load = next(iter_nodes(after.body, tirx.BufferLoad))
    if kind is tirx.Broadcast:
        assert load.dtype.lanes in (1, 8)
    else:
        assert isinstance(load.indices[0], kind), load


def test_a_condition_on_the_lane_becomes_a_mask():
    def make(A, B, j):
        return tirx.IfThenElse(
            j < 5, tirx.BufferStore(B, A[j] * A[0], [j]), tirx.BufferStore(B, A[j + 1], [j])
        )

    after = vectorized(vector_loop(make))
    stores = list(iter_nodes(after.body, tirx.BufferStore))
    assert len(stores) == 2
    assert all(s.predicate is not None for s in stores)
    # The loads stay inside the buffer in every lane, so they need no mask.
    assert all(n.predicate is None for n in iter_nodes(after.body, tirx.BufferLoad))


def test_a_load_that_may_leave_its_buffer_is_masked():
    def make(A, B, j):
        return tirx.IfThenElse(j < 5, tirx.BufferStore(B, A[j + 11], [j]))

    after = vectorized(vector_loop(make))
    assert next(iter_nodes(after.body, tirx.BufferLoad)).predicate is not None


def test_memory_of_one_thread_is_written_whole():
    """A masked store to a buffer that nobody else sees writes back what is there."""
    A = tirx.decl_buffer((8,), "float32", "A")
    local = tirx.decl_buffer((8,), "float32", "local")
    i, j = tirx.Var("i", "int32"), tirx.Var("j", "int32")

    def lanes(body):
        return tirx.For(j, 0, 8, tirx.ForKind.VECTORIZED, body)

    masked = tirx.IfThenElse(j < 5, tirx.BufferStore(local, A[j], [j]))
    clear = tirx.BufferStore(local, tirx.const(1.0, "float32"), [j])
    stmts = [tirx.AllocBuffer(local), lanes(clear), lanes(masked)]
    stmts.append(lanes(tirx.BufferStore(A, local[j] + local[j], [j])))
    func = tirx.PrimFunc([A], tirx.SeqStmt(stmts))
    after = vectorized(func)
    assert all(s.predicate is None for s in iter_nodes(after.body, tirx.BufferStore))
    # Not where other threads see it.
    inner = tirx.For(i, 0, 2, tirx.ForKind.PARALLEL, lanes(masked))
    shared = tirx.PrimFunc([A], tirx.SeqStmt([tirx.AllocBuffer(local), lanes(clear), inner]))
    stores = list(iter_nodes(apply(transform.VectorizeLoop(), shared).body, tirx.BufferStore))
    assert stores[-1].predicate is not None


def test_conditions_that_all_lanes_share_are_tested_once():
    n = tirx.Var("n", "int32")

    def make(A, B, j):
        return tirx.IfThenElse(tirx.all(n > 3, j < 5), tirx.BufferStore(B, A[j], [j]))

    func = vector_loop(make, extra=(n,))
    after = apply(transform.VectorizeLoop(), func)
    assert isinstance(after.body, tirx.IfThenElse)
    assert after.body.condition.dtype == "bool"


def test_a_guarded_load_is_masked():
    def make(A, B, j):
        inside = tirx.all(j >= 1, j < 5)
        value = tirx.if_then_else(inside, A[j - 1], tirx.const(0.5, "float32"))
        return tirx.BufferStore(B, value, [j])

    after = vectorized(vector_loop(make))
    load = next(iter_nodes(after.body, tirx.BufferLoad))
    assert load.predicate is not None


def test_a_reduction_over_the_lanes_runs_lane_by_lane():
    func = vector_loop(lambda A, B, j: tirx.BufferStore(B, B[0] + A[j], [0]))
    after = vectorized(func)
    assert after.body.kind == tirx.ForKind.SERIAL


def test_a_buffer_inside_exists_once_per_lane():
    def make(A, B, j):
        local = tirx.decl_buffer((2,), "float32", "local")
        return tirx.SeqStmt(
            [
                tirx.AllocBuffer(local),
                tirx.BufferStore(local, A[j], [0]),
                tirx.BufferStore(local, A[j + 1], [1]),
                tirx.BufferStore(B, local[0] + local[1], [j]),
            ]
        )

    after = vectorized(vector_loop(make))
    alloc = next(iter_nodes(after.body, tirx.AllocBuffer))
    assert int(alloc.buffer.shape[0]) == 16


def test_a_loop_inside_stays_a_loop():
    def make(A, B, j):
        k = tirx.Var("k", "int32")
        return tirx.For(k, 0, 4, 0, tirx.BufferStore(B, B[j] + A[k * 2 + j // 8], [j]))

    after = vectorized(vector_loop(make))
    assert isinstance(after.body, tirx.For)
    assert next(iter_nodes(after.body, tirx.BufferStore)).value.dtype == "float32x8"


def test_bounds_that_differ_by_lane_run_lane_by_lane():
    def make(A, B, j):
        k = tirx.Var("k", "int32")
        return tirx.For(k, 0, j, 0, tirx.BufferStore(B, B[j] + A[k], [j]))

    after = vectorized(vector_loop(make))
    assert after.body.kind == tirx.ForKind.SERIAL


def test_intrinsics_and_lets_are_vectorised():
    def make(A, B, j):
        x = tirx.Var("x", "float32")
        value = tirx.Let(x, A[j] + tirx.const(1.0, "float32"), tirx.sqrt(tirx.abs(x)) * x)
        return tirx.BufferStore(B, value, [j])

    after = vectorized(vector_loop(make))
    assert next(iter_nodes(after.body, tirx.Let)).var.dtype == "float32x8"


def test_a_vectorised_loop_needs_a_constant_extent():
    n = tirx.Var("n", "int32")
    A = tirx.decl_buffer((n,), "float32", "A")
    i = tirx.Var("i", "int32")
    store = tirx.BufferStore(A, tirx.const(0.0, "float32"), [i])
    func = tirx.PrimFunc([A], tirx.For(i, 0, n, tirx.ForKind.VECTORIZED, store))
    with pytest.raises(WorkbenchError, match="loop i cannot be vectorised") as caught:
        apply(transform.VectorizeLoop(), func)
    assert "split" in caught.value.hint
    assert apply(transform.VectorizeLoop(enable_vectorize=False), func).body.kind == 0


def test_vector_statements_remember_their_loop():
    func = vector_loop(lambda A, B, j: tirx.BufferStore(B, A[j], [j]))
    after = apply(transform.VectorizeLoop(), func)
    assert isinstance(origin_of(after.body), tirx.For)
