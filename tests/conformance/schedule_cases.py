"""Schedules that run under two systems: programs in te and sequences of primitives.

`python schedule_cases.py MODULE` imports MODULE (`tvm` or `workbench`) and prints, as JSON, what
each case gives: the scheduled script and the trace, or that it was refused.
"""

import importlib
import json
import re
import sys


class Programs:
    """The programs, built with the te of one system."""

    def __init__(self, system):
        self.te = importlib.import_module(f"{system}.te")
        self.T = importlib.import_module(f"{system}.tirx")

    def matmul(self, n=128, m=128, depth=128):
        te, T = self.te, self.T
        A = te.placeholder((n, depth), name="A")
        B = te.placeholder((depth, m), name="B")
        k = te.reduce_axis((0, depth), name="k")
        C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
        D = te.compute((n, m), lambda i, j: T.max(C[i, j], T.const(0, "float32")), name="D")
        return te.create_prim_func([A, B, D])

    def odd(self):
        return self.matmul(100, 60, 30)

    def dynamic(self):
        te, T = self.te, self.T
        n = te.var("n")
        A = te.placeholder((n, 32), name="A")
        B = te.placeholder((32, n), name="B")
        k = te.reduce_axis((0, 32), name="k")
        C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
        D = te.compute((n, n), lambda i, j: T.max(C[i, j], T.const(0, "float32")), name="D")
        return te.create_prim_func([A, B, D])

    def conv(self):
        te, T = self.te, self.T
        X = te.placeholder((1, 8, 16, 16), name="X")
        W = te.placeholder((8, 8, 3, 3), name="W")
        P = te.compute(
            (1, 8, 18, 18),
            lambda n, c, h, w: T.if_then_else(
                T.all(T.LT(T.const(0, "int32"), h), h < 17, T.LT(T.const(0, "int32"), w), w < 17),
                X[n, c, h - 1, w - 1],
                T.const(0.0, "float32"),
            ),
            name="P",
        )
        rc = te.reduce_axis((0, 8), name="rc")
        ry = te.reduce_axis((0, 3), name="ry")
        rx = te.reduce_axis((0, 3), name="rx")
        C = te.compute(
            (1, 8, 16, 16),
            lambda n, o, h, w: te.sum(
                P[n, rc, h + ry, w + rx] * W[o, rc, ry, rx], axis=[rc, ry, rx]
            ),
            name="C",
        )
        D = te.compute(
            (1, 8, 16, 16), lambda n, o, h, w: T.max(C[n, o, h, w], T.const(0, "float32")), name="D"
        )
        return te.create_prim_func([X, W, D])

    def softmax(self):
        te, T = self.te, self.T
        A = te.placeholder((8, 32), name="A")
        k = te.reduce_axis((0, 32), name="k")
        k2 = te.reduce_axis((0, 32), name="k2")
        M = te.compute((8,), lambda i: te.max(A[i, k], axis=k), name="M")
        X = te.compute((8, 32), lambda i, j: T.exp(A[i, j] - M[i]), name="X")
        S = te.compute((8,), lambda i: te.sum(X[i, k2], axis=k2), name="S")
        Y = te.compute((8, 32), lambda i, j: X[i, j] / S[i], name="Y")
        return te.create_prim_func([A, Y])

    def diamond(self):
        te = self.te
        A = te.placeholder((16,), name="A")
        B = te.compute((16,), lambda i: A[i] * 2.0, name="B")
        C = te.compute((16,), lambda i: B[i] + 1.0, name="C")
        D = te.compute((16,), lambda i: B[i] * C[i], name="D")
        return te.create_prim_func([A, D])

    def pool(self):
        te = self.te
        A = te.placeholder((1, 20), name="A")
        k = te.reduce_axis((0, 3), name="k")
        B = te.compute((1, 20), lambda n, i: A[n, i] * 2.0, name="B")
        C = te.compute((1, 8), lambda n, i: te.sum(B[n, i * 2 + k], axis=k), name="C")
        return te.create_prim_func([A, C])

    def twice(self):
        te = self.te
        A = te.placeholder((8, 16, 32), name="A")
        k = te.reduce_axis((0, 32), name="k")
        j = te.reduce_axis((0, 16), name="j")
        C = te.compute((8, 16), lambda i, j: te.sum(A[i, j, k], axis=k), name="C")
        D = te.compute((8,), lambda i: te.sum(C[i, j], axis=j), name="D")
        return te.create_prim_func([A, D])


CASES = {}


def case(program):
    def add(function):
        CASES[function.__name__] = (program, function)
        return function

    return add


def loops(s, name="C"):
    block = s.get_sblock(name)
    return (block, *s.get_loops(block))


# Loops


@case("matmul")
def split_even(s):
    b, i, j, k = loops(s)
    s.split(i, [None, 16])
    s.split(j, [4, None, 8])
    s.split(k, [128])


@case("matmul")
def split_uneven(s):
    b, i, j, k = loops(s)
    s.split(i, [None, 10])
    s.split(j, [3, 5, None])


@case("matmul")
def split_again(s):
    b, i, j, k = loops(s)
    i0, i1 = s.split(i, [4, 32])
    s.split(i1, [4, 8])


@case("matmul")
def split_unit(s):
    b, i, j, k = loops(s)
    s.split(i, [128, 1])
    s.split(j, [1, None])
    s.split(k, [128, 1], preserve_unit_iters=False)


@case("matmul")
def split_unpredicated(s):
    b, i, j, k = loops(s)
    s.split(i, [None, 100], disable_predication=True)


@case("matmul")
def split_small(s):
    s.split(loops(s)[1], [4, 4])


@case("matmul")
def split_two_unknown(s):
    s.split(loops(s)[1], [None, None])


@case("matmul")
def split_zero(s):
    s.split(loops(s)[1], [0, 2])


@case("matmul")
def split_annotated(s):
    i = loops(s)[1]
    s.annotate(i, "note", 1)
    s.split(i, [None, 2])


@case("matmul")
def split_bound(s):
    i = loops(s)[1]
    s.bind(i, "blockIdx.x")
    s.split(i, [None, 2])


@case("dynamic")
def split_dynamic(s):
    b, i, j, k = loops(s)
    i0, i1 = s.split(i, [None, 8])
    j0, j1 = s.split(j, [None, 16])
    s.reorder(i0, j0, i1, j1)
    s.fuse(i1, j1)
    s.fuse(i0, j0)


@case("matmul")
def fuse_two(s):
    b, i, j, k = loops(s)
    x = s.fuse(i, j)
    s.split(x, [None, 64])


@case("matmul")
def fuse_three(s):
    b, i, j, k = loops(s)
    s.fuse(i, j, k)


@case("matmul")
def fuse_split(s):
    b, i, j, k = loops(s)
    i0, i1 = s.split(i, [4, 32])
    s.fuse(i0, i1)


@case("matmul")
def fuse_apart(s):
    b, i, j, k = loops(s)
    s.fuse(i, k)


@case("matmul")
def reorder_all(s):
    b, i, j, k = loops(s)
    s.reorder(k, j, i)


@case("matmul")
def reorder_some(s):
    b, i, j, k = loops(s)
    i0, i1 = s.split(i, [None, 16])
    k0, k1 = s.split(k, [None, 4])
    s.reorder(k0, i1)
    s.reorder(k1, i0)


@case("matmul")
def reorder_twice(s):
    b, i, j, k = loops(s)
    s.reorder(i, i)


@case("matmul")
def reorder_across(s):
    s.reorder(loops(s)[3], loops(s, "D")[1])


@case("matmul")
def reorder_around_copy(s):
    b, i, j, k = loops(s)
    x = s.cache_read(b, "A", "local")
    s.compute_at(x, j)
    s.reorder(k, j)


@case("matmul")
def unit_loops(s):
    s.add_unit_loop(s.get_sblock("C"))
    s.add_unit_loop(loops(s, "D")[1])


# Kinds of loops


@case("matmul")
def kinds(s):
    b, i, j, k = loops(s)
    s.parallel(i)
    s.vectorize(j)
    s.unroll(k)


@case("matmul")
def parallel_reduction(s):
    s.parallel(loops(s)[3])


@case("matmul")
def vectorize_reduction(s):
    s.vectorize(loops(s)[3])


@case("matmul")
def parallel_mixed(s):
    b, i, j, k = loops(s)
    s.parallel(s.fuse(j, k))


@case("matmul")
def bind_loops(s):
    b, i, j, k = loops(s)
    s.bind(i, "blockIdx.x")
    s.bind(j, "threadIdx.y")
    s.bind(k, "threadIdx.x")


@case("matmul")
def bind_reduction_to_block(s):
    s.bind(loops(s)[3], "blockIdx.x")


@case("matmul")
def parallel_after_decompose(s):
    b, i, j, k = loops(s)
    s.decompose_reduction(b, k)
    s.parallel(i)


@case("matmul")
def vectorize_init(s):
    b, i, j, k = loops(s)
    s.reorder(k, i, j)
    x = s.decompose_reduction(b, k)
    s.vectorize(s.get_loops(x)[1])
    s.parallel(s.get_loops(x)[0])


# Caches


@case("matmul")
def cache_both(s):
    b, i, j, k = loops(s)
    i0, i1 = s.split(i, [None, 16])
    x = s.cache_read(b, 0, "local")
    y = s.cache_write(b, 0, "local")
    s.compute_at(x, i0)
    s.reverse_compute_at(y, i0)


@case("matmul")
def cache_of_result(s):
    s.cache_read("D", 0, "shared")


@case("diamond")
def cache_read_all(s):
    s.cache_read("D", "B", "local")


@case("diamond")
def cache_read_some(s):
    s.cache_read("D", "B", "local", ["D"])


@case("diamond")
def cache_write_some(s):
    s.cache_write("B", 0, "local", ["C"])


@case("pool")
def cache_read_nested(s):
    s.compute_at("B", loops(s)[2])
    s.cache_read("C", 0, "local")


@case("pool")
def cache_write_nested(s):
    s.compute_at("B", loops(s)[2])
    s.cache_write("B", 0, "local")


@case("matmul")
def cache_read_number(s):
    s.cache_read("C", 5, "local")


@case("matmul")
def cache_write_twice_written(s):
    b, i, j, k = loops(s)
    s.decompose_reduction(b, k)
    s.cache_write(b, 0, "local")


# Places


@case("matmul")
def compute_at_tile(s):
    d, i, j = loops(s, "D")
    i0, i1 = s.split(i, [None, 16])
    j0, j1 = s.split(j, [None, 16])
    s.reorder(i0, j0, i1, j1)
    s.compute_at("C", j0)


@case("odd")
def compute_at_uneven(s):
    d, i, j = loops(s, "D")
    i0, i1 = s.split(i, [None, 16])
    j0, j1 = s.split(j, [None, 7])
    s.reorder(i0, j0, i1, j1)
    s.compute_at("C", j0)
    s.fuse(i0, j0)


@case("dynamic")
def compute_at_dynamic(s):
    d, i, j = loops(s, "D")
    i0, i1 = s.split(i, [None, 8])
    j0, j1 = s.split(j, [None, 16])
    s.reorder(i0, j0, i1, j1)
    s.compute_at("C", j0)


@case("matmul")
def compute_at_fused(s):
    d, i, j = loops(s, "D")
    x, y = s.split(s.fuse(i, j), [None, 64])
    s.compute_at("C", x)


@case("matmul")
def compute_at_fused_rows(s):
    d, i, j = loops(s, "D")
    x, y = s.split(s.fuse(i, j), [None, 512])
    s.compute_at("C", x)


@case("conv")
def compute_at_window(s):
    b, n, o, h, w, rc, ry, rx = loops(s)
    h0, h1 = s.split(h, [None, 5])
    s.compute_at("P", h0)


@case("conv")
def compute_at_channel(s):
    b, n, o, h, w, rc, ry, rx = loops(s)
    h0, h1 = s.split(h, [None, 5])
    s.reorder(h0, rc, h1)
    s.compute_at("P", rc)
    s.reverse_compute_at("D", h0)


@case("pool")
def compute_at_unit(s):
    s.compute_at("B", loops(s)[1], preserve_unit_loops=True)


@case("softmax")
def compute_at_rows(s):
    y, i, j = loops(s, "Y")
    s.compute_at("S", i)
    s.compute_at("X", i)
    s.compute_at("M", i)
    s.parallel(i)


@case("softmax")
def reverse_compute_at_rows(s):
    m, i, k = loops(s, "M")
    s.reverse_compute_at("X", i)
    s.reverse_compute_at("S", i)
    s.reverse_compute_at("Y", i)


@case("twice")
def reverse_compute_at_reduction(s):
    c, i, j, k = loops(s)
    s.reverse_compute_at("D", j)


@case("matmul")
def reverse_compute_at_point(s):
    s.reverse_compute_at("D", loops(s)[2])


@case("matmul")
def compute_at_output(s):
    s.compute_at("D", loops(s)[1])


@case("matmul")
def compute_at_own_loop(s):
    b, i, j, k = loops(s)
    s.compute_at(b, i)


@case("diamond")
def compute_at_consumer_outside(s):
    s.compute_at("B", loops(s, "D")[1])


@case("diamond")
def reverse_compute_at_producer_outside(s):
    s.reverse_compute_at("D", loops(s, "B")[1])


@case("diamond")
def compute_at_one_place(s):
    d, i = loops(s, "D")
    i0, i1 = s.split(i, [None, 4])
    s.compute_at("C", i0)
    s.compute_at("B", i0)


# Inlining


@case("diamond")
def inline_everywhere(s):
    s.compute_inline("B")


@case("diamond")
def inline_both_ways(s):
    s.compute_inline("C")
    s.reverse_compute_inline("D")


@case("conv")
def inline_padding(s):
    s.compute_inline("P")


@case("pool")
def inline_window(s):
    s.compute_inline("B")


@case("matmul")
def inline_reduction(s):
    s.compute_inline("C")


@case("matmul")
def inline_output(s):
    s.compute_inline("D")


@case("matmul")
def reverse_inline_reduction(s):
    s.reverse_compute_inline("D")


@case("softmax")
def inline_softmax(s):
    s.compute_inline("X")
    y, i, j = loops(s, "Y")
    s.compute_at("S", i)
    s.compute_at("M", i)


# Reductions


@case("matmul")
def decompose_inner(s):
    b, i, j, k = loops(s)
    s.decompose_reduction(b, k)


@case("matmul")
def decompose_outer(s):
    b, i, j, k = loops(s)
    s.decompose_reduction(b, i)


@case("matmul")
def decompose_tiled(s):
    b, i, j, k = loops(s)
    i0, i1 = s.split(i, [None, 32])
    k0, k1 = s.split(k, [None, 8])
    s.reorder(i0, k0, j, i1, k1)
    s.annotate(i1, "note", 1)
    s.vectorize(j)
    s.decompose_reduction(b, k0)


@case("matmul")
def decompose_predicated(s):
    b, i, j, k = loops(s)
    s.split(i, [None, 30])
    s.split(k, [None, 7])
    s.decompose_reduction(b, s.get_loops(b)[3])


@case("matmul")
def decompose_below_reduction(s):
    b, i, j, k = loops(s)
    s.reorder(k, i, j)
    s.decompose_reduction(b, i)


@case("matmul")
def decompose_no_reduction(s):
    d, i, j = loops(s, "D")
    s.decompose_reduction(d, i)


@case("matmul")
def rfactor_inner(s):
    b, i, j, k = loops(s)
    k0, k1 = s.split(k, [None, 16])
    s.rfactor(k1, 0)


@case("matmul")
def rfactor_last(s):
    b, i, j, k = loops(s)
    k0, k1 = s.split(k, [4, None])
    s.rfactor(k0, -1)


@case("conv")
def rfactor_window(s):
    b, n, o, h, w, rc, ry, rx = loops(s)
    s.rfactor(ry, 2)


@case("matmul")
def rfactor_spatial(s):
    s.rfactor(loops(s)[1], 0)


# Annotations, buffers, variables


@case("matmul")
def annotations(s):
    b, i, j, k = loops(s)
    s.annotate(b, "number", 1)
    s.annotate(b, "text", "word")
    s.annotate(b, "real", 1.5)
    s.annotate(b, "list", [1, 2])
    s.annotate(k, "pragma_note", 3)
    s.unannotate(b, "text")


@case("matmul")
def unannotate_unknown(s):
    s.unannotate(s.get_sblock("C"), "note")


@case("matmul")
def align(s):
    b = s.get_sblock("C")
    s.storage_align(b, 0, -2, 32, 8)
    s.storage_align(b, 0, 1, 32, 8)
    s.storage_align(b, 0, 0, 16, 8)


@case("matmul")
def align_axis(s):
    s.storage_align(s.get_sblock("C"), 0, 5, 32, 8)


@case("matmul")
def scope_of_buffer(s):
    s.set_scope("C", 0, "shared")


@case("matmul")
def scope_of_argument(s):
    s.set_scope("D", 0, "shared")


@case("matmul")
def scope_unknown(s):
    s.set_scope("C", 0, "nowhere")


@case("matmul")
def variables_of_block(s):
    s.reorder_block_iter_var(s.get_sblock("C"), [1, 0, 2])


@case("matmul")
def reindexed(s):
    b = s.get_sblock("C")
    s.reorder_block_iter_var(b, [1, 0, 2])
    s.reindex(b, ("read", 0))
    s.reindex(b, ("write", 0))


@case("conv")
def reindexed_window(s):
    b = s.get_sblock("C")
    s.reorder_block_iter_var(b, [0, 2, 3, 4, 5, 6, 1])
    s.reindex(b, ("read", 1))


# Looking things up, sampling


@case("matmul")
def lookups(s):
    b = s.get_sblock("C")
    s.get_producers("D")
    s.get_consumers(b)
    s.get_child_blocks(s.get_sblock("root"))
    s.get_child_blocks(loops(s)[2])


@case("matmul")
def unknown_block(s):
    s.get_sblock("Q")


@case("matmul")
def sampled(s):
    b, i, j, k = loops(s)
    t = s.sample_perfect_tile(i, 3, 64, decision=[2, 4, 16])
    s.split(i, t)
    c = s.sample_categorical([1, 2, 4], [0.5, 0.25, 0.25], decision=2)
    s.annotate(b, "unroll", c)


# Programs as a rule would schedule them


@case("matmul")
def whole_matmul(s):
    b, i, j, k = loops(s)
    i0, i1, i2 = s.split(i, [None, 4, 8])
    j0, j1, j2 = s.split(j, [None, 2, 16])
    k0, k1 = s.split(k, [None, 4])
    s.reorder(i0, j0, i1, j1, k0, k1, i2, j2)
    s.reverse_compute_at("D", j1)
    y = s.cache_write(b, 0, "local")
    s.reverse_compute_at(y, j1)
    s.parallel(s.fuse(i0, j0))
    s.unroll(i2)
    s.vectorize(j2)
    s.decompose_reduction(b, k0)


@case("conv")
def whole_conv(s):
    s.compute_inline("P")
    b, n, o, h, w, rc, ry, rx = loops(s)
    o0, o1 = s.split(o, [None, 4])
    w0, w1 = s.split(w, [None, 8])
    s.reorder(n, o0, h, w0, rc, ry, rx, o1, w1)
    s.reverse_compute_at("D", w0)
    s.parallel(s.fuse(n, o0, h))
    s.vectorize(w1)
    s.decompose_reduction(b, rc)


def script_of(function):
    """The script of a function without its head and comments."""
    lines = [line for line in function.script().splitlines() if not line.startswith("#")]
    text = "\n".join(lines).strip()
    return re.sub(r"T.float32\(([-\d.e+]+)\)", lambda m: f"T.float32({float(m[1])!r})", text)


def run(system):
    programs = Programs(system)
    s_tir = importlib.import_module(f"{system}.s_tir")
    results = {}
    for name, (program, function) in CASES.items():
        schedule = s_tir.Schedule(getattr(programs, program)())
        try:
            function(schedule)
            trace = str(schedule.trace).split("\n", 1)[1]
            results[name] = {
                "ok": True,
                "script": script_of(schedule.mod["main"]),
                "trace": trace,
            }
        except Exception as error:  # both systems' errors count as refusals, whatever their class
            results[name] = {"ok": False, "error": type(error).__name__, "text": str(error)[-400:]}
    return results


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.path.insert(0, sys.argv[2])
    json.dump(run(sys.argv[1]), sys.stdout)
