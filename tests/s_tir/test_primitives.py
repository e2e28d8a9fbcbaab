"""Every primitive: before and after as TVMScript, and what it refuses with which reason."""

import pytest

from workbench.core import assert_structural_equal, iter_nodes
from workbench.s_tir import Schedule, ScheduleError
from workbench.script import tirx as T
from workbench.tirx import SBlockRealize


@T.prim_func(s_tir=True)
def matmul(
    A: T.Buffer((32, 16), "float32"),
    B: T.Buffer((16, 24), "float32"),
    D: T.Buffer((32, 24), "float32"),
):
    C = T.sblock_alloc_buffer((32, 24))
    for i, j, k in T.grid(32, 24, 16):
        with T.sblock("C"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[v_i, v_j] = T.float32(0.0)
            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
    for i, j in T.grid(32, 24):
        with T.sblock("D"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            D[v_i, v_j] = T.max(C[v_i, v_j], T.float32(0.0))


@T.prim_func(s_tir=True)
def chain(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((16,))
    C = T.sblock_alloc_buffer((16,))
    for i in range(16):
        with T.sblock("B"):
            v = T.axis.spatial(16, i)
            B[v] = A[v] * T.float32(2.0)
    for i in range(16):
        with T.sblock("C"):
            v = T.axis.spatial(16, i)
            C[v] = B[v] + T.float32(1.0)
    for i in range(16):
        with T.sblock("D"):
            v = T.axis.spatial(16, i)
            D[v] = B[v] * C[v]


def check(sch, expected):
    assert_structural_equal(
        sch.mod["main"].without_attr("global_symbol"), expected.without_attr("global_symbol")
    )


def schedule(func):
    return Schedule(func.without_attr("global_symbol"), debug_mask="all")


def loops(sch, name="C"):
    block = sch.get_sblock(name)
    return (block, *sch.get_loops(block))


def test_split_with_remainder():
    sch = schedule(chain)
    b, i = loops(sch, "B")
    sch.split(i, [None, 5])

    @T.prim_func(s_tir=True)
    def expected(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
        B = T.sblock_alloc_buffer((16,))
        C = T.sblock_alloc_buffer((16,))
        for i_0, i_1 in T.grid(4, 5):
            with T.sblock("B"):
                v = T.axis.spatial(16, i_0 * 5 + i_1)
                T.where(i_0 * 5 + i_1 < 16)
                B[v] = A[v] * T.float32(2.0)
        for i in range(16):
            with T.sblock("C"):
                v = T.axis.spatial(16, i)
                C[v] = B[v] + T.float32(1.0)
        for i in range(16):
            with T.sblock("D"):
                v = T.axis.spatial(16, i)
                D[v] = B[v] * C[v]

    check(sch, expected)


def test_fuse_reorder_kinds():
    sch = schedule(matmul)
    b, i, j, k = loops(sch)
    i0, i1 = sch.split(i, [None, 8])
    sch.reorder(i0, k, i1, j)
    x = sch.fuse(i1, j)
    sch.parallel(i0)
    sch.vectorize(x)
    sch.unroll(k)

    @T.prim_func(s_tir=True)
    def expected(
        A: T.Buffer((32, 16), "float32"),
        B: T.Buffer((16, 24), "float32"),
        D: T.Buffer((32, 24), "float32"),
    ):
        C = T.sblock_alloc_buffer((32, 24))
        for i_0 in T.parallel(4):
            for k in T.unroll(16):
                for f in T.vectorized(192):
                    with T.sblock("C"):
                        v_i = T.axis.spatial(32, i_0 * 8 + f // 24)
                        v_j = T.axis.spatial(24, f % 24)
                        v_k = T.axis.reduce(16, k)
                        with T.init():
                            C[v_i, v_j] = T.float32(0.0)
                        C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
        for i, j in T.grid(32, 24):
            with T.sblock("D"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                D[v_i, v_j] = T.max(C[v_i, v_j], T.float32(0.0))

    check(sch, expected)


def test_cache_and_compute_at():
    sch = schedule(chain)
    d, i = loops(sch, "D")
    copy = sch.cache_read("D", "B", "local", ["D"])
    i0, i1 = sch.split(i, [None, 4])
    sch.compute_at(copy, i0)
    sch.compute_at("C", i0)

    @T.prim_func(s_tir=True)
    def expected(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
        B = T.sblock_alloc_buffer((16,))
        C = T.sblock_alloc_buffer((16,))
        B_local = T.sblock_alloc_buffer((16,), scope="local")
        for i in range(16):
            with T.sblock("B"):
                v = T.axis.spatial(16, i)
                B[v] = A[v] * T.float32(2.0)
        for i_0 in range(4):
            for ax0 in range(4):
                with T.sblock("B_local"):
                    v0 = T.axis.spatial(16, i_0 * 4 + ax0)
                    B_local[v0] = B[v0]
            for ax0 in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(16, i_0 * 4 + ax0)
                    C[v] = B[v] + T.float32(1.0)
            for i_1 in range(4):
                with T.sblock("D"):
                    v = T.axis.spatial(16, i_0 * 4 + i_1)
                    D[v] = B_local[v] * C[v]

    check(sch, expected)


def test_inline():
    sch = schedule(chain)
    sch.compute_inline("B")
    sch.compute_inline("C")

    @T.prim_func(s_tir=True)
    def expected(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.sblock("D"):
                v = T.axis.spatial(16, i)
                D[v] = A[v] * T.float32(2.0) * (A[v] * T.float32(2.0) + T.float32(1.0))

    check(sch, expected)


def test_decompose_reduction():
    sch = schedule(matmul)
    b, i, j, k = loops(sch)
    sch.reorder(i, k, j)
    sch.reverse_compute_at("D", i)
    sch.decompose_reduction(b, k)

    @T.prim_func(s_tir=True)
    def expected(
        A: T.Buffer((32, 16), "float32"),
        B: T.Buffer((16, 24), "float32"),
        D: T.Buffer((32, 24), "float32"),
    ):
        C = T.sblock_alloc_buffer((32, 24))
        for i in range(32):
            for j_init in range(24):
                with T.sblock("C_init"):
                    v_i, v_j = T.axis.remap("SS", [i, j_init])
                    C[v_i, v_j] = T.float32(0.0)
            for k, j in T.grid(16, 24):
                with T.sblock("C_update"):
                    v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
                    T.reads(C[v_i, v_j], A[v_i, v_k], B[v_k, v_j])
                    T.writes(C[v_i, v_j])
                    C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
            for ax0 in range(24):
                with T.sblock("D"):
                    v_i, v_j = T.axis.remap("SS", [i, ax0])
                    D[v_i, v_j] = T.max(C[v_i, v_j], T.float32(0.0))

    check(sch, expected)


def test_annotate_scope_align():
    sch = schedule(matmul)
    b, i, j, k = loops(sch)
    sch.annotate(b, "note", [1, "two", 3.5])
    sch.annotate(i, "pragma_x", 1)
    sch.annotate(i, "gone", 1)
    sch.unannotate(i, "gone")
    sch.set_scope(b, 0, "shared")
    sch.storage_align(b, 0, 0, 32, 8)
    block = sch.get(b)
    assert dict(sch.get(i).annotations) == {"pragma_x": 1}
    assert block.annotations["note"] == (1, "two", 3.5)
    assert block.annotations["buffer_dim_align"] == ((0, 0, 32, 8),)
    assert block.writes[0].buffer.scope() == "shared"
    assert block.writes[0].buffer.name == "C_shared"


def test_lookups():
    sch = schedule(matmul)
    b = sch.get_sblock("C")
    names = lambda blocks: [sch.get(x).name_hint for x in blocks]
    assert names(sch.get_child_blocks(sch.get_sblock("root"))) == ["C", "D"]
    assert names(sch.get_consumers(b)) == ["D"]
    assert names(sch.get_producers("D")) == ["C"]
    assert names(sch.get_output_blocks("root")) == ["D"]
    assert [sch.get(x).loop_var.name for x in sch.get_loops(b)] == ["i", "j", "k"]
    sref = sch.get_sref(b)
    assert sref.stmt is sch.get(b)
    assert sref.parent.stmt is sch.get(sch.get_loops(b)[-1])
    assert sch.get_sref(sch.get(b)) == sref


def test_sampling_is_reproducible():
    def run(seed):
        sch = Schedule(matmul, seed=seed)
        b, i, j, k = loops(sch)
        tile = sch.sample_perfect_tile(i, 3, 8)
        c = sch.sample_categorical([1, 2, 4, 8], [0.25] * 4)
        return [sch.get(t) for t in tile], sch.get(c), sch

    a, b, c = run(7), run(7), run(8)
    assert a[:2] == b[:2]
    product = 1
    for factor in a[0]:
        product *= factor
    assert product == 32 and a[0][-1] <= 8
    assert any(run(s)[:2] != c[:2] for s in range(20, 30))


REFUSALS = {
    "vectorize_reduction": (
        lambda s: s.vectorize(loops(s)[3]),
        ["loop 'k'", "reduction variable 'v_k'", "block 'C'"],
    ),
    "parallel_reduction": (lambda s: s.parallel(loops(s)[3]), ["loop 'k' cannot be parallel"]),
    "bind_unknown": (lambda s: s.bind(loops(s)[1], "foo"), ["'foo'"]),
    "split_small": (lambda s: s.split(loops(s)[1], [2, 4]), ["is 8", "32 iterations"]),
    "split_unknown_twice": (lambda s: s.split(loops(s)[1], [None, None]), ["at most one"]),
    "split_zero": (lambda s: s.split(loops(s)[1], [0, 4]), ["found 0"]),
    "fuse_apart": (
        lambda s: s.fuse(loops(s)[1], loops(s)[3]),
        ["loop 'k' is not directly inside loop 'i'"],
    ),
    "reorder_across": (
        lambda s: s.reorder(loops(s)[3], loops(s, "D")[1]),
        ["not nested"],
    ),
    "reorder_twice": (lambda s: s.reorder(loops(s)[1], loops(s)[1]), ["given twice"]),
    "compute_at_output": (
        lambda s: s.compute_at("D", loops(s)[1]),
        ["block 'D' writes an output"],
    ),
    "compute_at_own": (lambda s: s.compute_at("C", loops(s)[2]), ["around block 'C' already"]),
    "inline_reduction": (lambda s: s.compute_inline("C"), ["init statement"]),
    "inline_output": (lambda s: s.compute_inline("D"), ["the output D"]),
    "reverse_inline": (lambda s: s.reverse_compute_inline("D"), ["its producer block 'C'"]),
    "decompose_twice": (
        lambda s: (
            [s.decompose_reduction(loops(s)[0], loops(s)[3])]
            and s.decompose_reduction(s.get_sblock("C_update"), loops(s, "C_update")[1])
        ),
        ["no init statement"],
    ),
    "decompose_not_around": (
        lambda s: s.decompose_reduction("C", loops(s, "D")[1]),
        ["not around"],
    ),
    "cache_number": (lambda s: s.cache_read("C", 4, "local"), ["0: A, 1: B", "number 4"]),
    "cache_name": (lambda s: s.cache_read("C", "Q", "local"), ["no buffer 'Q'"]),
    "scope": (lambda s: s.set_scope("C", 0, "nowhere"), ["'nowhere'"]),
    "scope_of_argument": (lambda s: s.set_scope("D", 0, "shared"), ["not allocated by a block"]),
    "block_name": (lambda s: s.get_sblock("CC"), ["'CC'", "did you mean 'C'"]),
    "function_name": (lambda s: s.get_sblock("C", "other"), ["'other'"]),
    "unannotate": (lambda s: s.unannotate(s.get_sblock("C"), "x"), ["no annotation 'x'"]),
    "order": (lambda s: s.reorder_block_iter_var(s.get_sblock("C"), [0, 0, 1]), ["permutation"]),
    "rfactor": (lambda s: s.rfactor(loops(s)[1], 0), ["loop 'i' does not drive only"]),
    "rfactor_axis": (lambda s: s.rfactor(loops(s)[3], 5), ["found 5"]),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_name_the_reason(name):
    action, words = REFUSALS[name]
    sch = schedule(matmul)
    before = sch.mod
    with pytest.raises(ScheduleError) as caught:
        action(sch)
    for word in words:
        assert word in caught.value.reason, caught.value.reason
    if name != "decompose_twice":
        assert sch.mod is before


def test_wrong_arguments_are_type_errors():
    sch = schedule(matmul)
    b, i, j, k = loops(sch)
    with pytest.raises(TypeError, match="argument 'loop': expected a loop .LoopRV."):
        sch.split(b, [2, 4])
    with pytest.raises(TypeError, match="argument 'factors': expected a list"):
        sch.split(i, "4")
    with pytest.raises(TypeError, match="missing"):
        sch.split(i)
    with pytest.raises(TypeError, match="argument 'storage_scope': expected a string"):
        sch.cache_read(b, 0, 3)


def test_errors_show_the_program_with_the_loops_underlined():
    sch = schedule(matmul)
    b, i, j, k = loops(sch)
    with pytest.raises(ScheduleError) as caught:
        sch.fuse(i, k)
    text = str(caught.value)
    assert text.startswith("fuse: loop 'k' is not directly inside loop 'i'")
    assert "^^^^" in text and "T.grid(32, 24, 16)" in text


def test_loops_that_are_gone():
    sch = schedule(matmul)
    b, i, j, k = loops(sch)
    sch.split(i, [4, 8])
    with pytest.raises(ScheduleError, match="no longer in the program"):
        sch.parallel(i)


def test_reduction_order_is_kept_for_mixed_loops():
    sch = schedule(matmul)
    b, i, j, k = loops(sch)
    x, y = sch.split(sch.fuse(j, k), [None, 5])
    with pytest.raises(ScheduleError, match="would not start with its init"):
        sch.reorder(y, x)


def test_repeated_accumulation_does_not_run_at_the_same_time() -> None:
    """Turns that compute the same sums again are harmless in order only."""

    @T.prim_func
    def sums(a: T.Buffer((8, 8), "float32"), b: T.Buffer((8,), "float32")):
        for _t in range(4):
            for i, k in T.grid(8, 8):
                with T.sblock("sum"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        b[vi] = T.float32(0)
                    b[vi] = b[vi] + a[vi, vk]

    for primitive in ("parallel", "vectorize"):
        sch = Schedule(sums)
        loop = sch.get_loops(sch.get_sblock("sum"))[0]
        with pytest.raises(ScheduleError, match="every iteration would accumulate b"):
            getattr(sch, primitive)(loop)


def test_loops_of_two_types_are_fused_in_the_wider_one() -> None:
    @T.prim_func
    def rows(a: T.Buffer(("n", 10), "float32"), b: T.Buffer(("n", 10), "float32")):
        n = T.int64()
        for i in range(n):
            for j in range(10):
                with T.sblock("B"):
                    vi = T.axis.spatial(n, i)
                    vj = T.axis.spatial(10, j)
                    b[vi, vj] = a[vi, vj] + T.float32(1)

    sch = Schedule(rows)
    fused = sch.fuse(*sch.get_loops(sch.get_sblock("B")))
    assert sch.get(fused).loop_var.dtype == "int64"
    (realize,) = [r for r in iter_nodes(sch.mod, SBlockRealize) if r.block.name_hint == "B"]
    for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        assert value.dtype == axis.var.dtype


def test_init_stays_inside_a_loop_that_repeats_the_reduction() -> None:
    @T.prim_func
    def sums(a: T.Buffer((8, 8), "float32"), b: T.Buffer((8,), "float32")):
        for i, _again, k in T.grid(8, 4, 8):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    b[vi] = T.float32(0)
                b[vi] = b[vi] + a[vi, vk]

    sch = Schedule(sums)
    block = sch.get_sblock("sum")
    i, again, k = sch.get_loops(block)
    for loop in (i, again):
        with pytest.raises(ScheduleError, match="repeats block 'sum' as a whole"):
            sch.decompose_reduction(block, loop)
    with pytest.raises(ScheduleError, match="repeats block 'sum' as a whole"):
        sch.reorder(k, again)
    sch.reorder(again, i)
    sch.decompose_reduction(block, k)
