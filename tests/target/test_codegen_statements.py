"""Statements: loops, branches, scopes, memory, vectors, parallel loops, calls, errors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.target.programs import EXACT, compile_func, flat
from workbench import runtime, tirx
from workbench.ir import Call, GlobalVar, IRModule, StringImm
from workbench.runtime import DataType
from workbench.target.codegen import CodegenError, build
from workbench.tirx import (
    LT,
    Add,
    AllocBuffer,
    AssertStmt,
    AttrStmt,
    Bind,
    Break,
    Broadcast,
    BufferLoad,
    BufferStore,
    Cast,
    Continue,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    Let,
    Mul,
    PrimFunc,
    Ramp,
    Return,
    SeqStmt,
    Shuffle,
    Sub,
    Var,
    While,
    decl_buffer,
)
from workbench.tirx.op import builtin


def load(buffer: Var, at: object) -> BufferLoad:
    return BufferLoad(buffer, [at])


def store(buffer: Var, value: object, at: object) -> BufferStore:
    return BufferStore(buffer, value, [at])


def i32(name: str = "i") -> Var:
    return Var(name, "int32")


def f32(value: float) -> tirx.FloatImm:
    return tirx.FloatImm("float32", value)


A, B = flat("A", 32), flat("B", 32)
DATA = np.arange(32, dtype="float32") - 7.5


def run(body: object, *args: object, params: list[Var] | None = None) -> np.ndarray:
    out = np.full(32, -1, "float32")
    compile_func([A, B, *(params or [])], body)["main"](DATA, out, *args)
    return out


def test_loop_bounds_and_steps() -> None:
    i, n, low = i32(), i32("n"), i32("low")
    out = run(For(i, low, n, ForKind.SERIAL, store(B, load(A, i), i)), 5, 3, params=[n, low])
    assert (out[3:8] == DATA[3:8]).all()
    assert (np.delete(out, range(3, 8)) == -1).all()
    for count in (0, -4):
        loop = For(i, 0, n, ForKind.SERIAL, store(B, load(A, i), i))
        assert (run(loop, count, params=[n]) == -1).all()
    out = run(For(i, 1, 20, ForKind.SERIAL, store(B, load(A, i), i), step=IntImm("int32", 6)))
    assert sorted(np.flatnonzero(out != -1)) == [1, 7, 13, 19]
    assert (run(For(i, 0, 0, ForKind.SERIAL, store(B, load(A, i), i))) == -1).all()


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int16"])
def test_loop_variables_of_all_types(dtype: str) -> None:
    i = Var("i", dtype)
    out = run(For(i, tirx.const(0, dtype), 32, ForKind.SERIAL, store(B, Cast("float32", i), i)))
    assert (out == np.arange(32)).all()


def test_branches_and_let() -> None:
    i, x = i32(), Var("x", "float32")
    body = IfThenElse(
        LT(load(A, i), f32(0)),
        store(B, Sub(f32(0), load(A, i)), i),
        store(B, Let(x, Add(load(A, i), f32(1)), Mul(x, x)), i),
    )
    out = run(For(i, 0, 32, ForKind.SERIAL, body))
    assert (out == np.where(DATA < 0, -DATA, (DATA + 1) ** 2)).all()


def test_while_break_continue() -> None:
    i = i32()
    x = flat("x", 1, "int32")
    zero = IntImm("int32", 0)
    count = load(x, zero)
    body = SeqStmt(
        [
            AllocBuffer(x),
            store(x, zero, zero),
            While(
                LT(count, IntImm("int32", 32)),
                SeqStmt(
                    [
                        store(x, Add(count, IntImm("int32", 1)), zero),
                        IfThenElse(tirx.EQ(count, IntImm("int32", 4)), Continue()),
                        IfThenElse(LT(IntImm("int32", 9), count), Break()),
                        store(B, Cast("float32", count), count),
                    ]
                ),
            ),
            For(
                i,
                20,
                10,
                ForKind.SERIAL,
                SeqStmt([store(B, f32(5), i), Break(), store(B, f32(6), i)]),
            ),
        ]
    )
    out = run(body)
    assert [int(v) for v in out[:12]] == [-1, 1, 2, 3, -1, 5, 6, 7, 8, 9, -1, -1]
    assert out[20] == 5
    assert out[21] == -1


def test_bind_holds_for_the_rest_of_the_list() -> None:
    i, x, y = i32(), i32("x"), Var("y", "float32")
    body = SeqStmt([Bind(x, Sub(IntImm("int32", 31), i)), Bind(y, load(A, x)), store(B, y, i)])
    assert (run(For(i, 0, 32, ForKind.SERIAL, body)) == DATA[::-1]).all()


def test_statements_after_a_jump_are_ignored() -> None:
    body = SeqStmt(
        [
            store(B, f32(2), IntImm("int32", 0)),
            Return(IntImm("int32", 0)),
            store(B, f32(3), IntImm("int32", 1)),
        ]
    )
    out = run(body)
    assert out[0] == 2
    assert out[1] == -1


@pytest.mark.parametrize("size", [8, 4000, 100_000])
def test_allocated_buffers(size: int) -> None:
    """On the stack and on the heap; in a loop, with early ways out."""
    i, j = i32(), i32("j")
    x = flat("x", size)
    body = SeqStmt(
        [
            AllocBuffer(x),
            For(j, 0, 8, ForKind.SERIAL, store(x, Mul(load(A, i), Cast("float32", j)), j)),
            IfThenElse(LT(IntImm("int32", 20), i), Break()),
            IfThenElse(LT(IntImm("int32", 10), i), Continue()),
            store(B, load(x, IntImm("int32", 3)), i),
        ]
    )
    out = run(For(i, 0, 32, ForKind.SERIAL, body))
    assert (out[:11] == DATA[:11] * 3).all()
    assert (out[11:] == -1).all()


def test_buffers_of_symbolic_size_and_views() -> None:
    i, n = i32(), i32("n")
    x, view = flat("x", n), flat("view", 4)
    tail = decl_buffer((4,), "float32", "tail")
    body = SeqStmt(
        [
            AllocBuffer(x),
            For(i, 0, n, ForKind.SERIAL, store(x, load(A, i), i)),
            DeclBuffer(view, builtin.buffer_data(x)),
            DeclBuffer(tail, builtin.address_of(load(x, Sub(n, IntImm("int32", 4))))),
            For(i, 0, 4, ForKind.SERIAL, store(B, Add(load(view, i), load(tail, i)), i)),
        ]
    )
    out = run(body, 20, params=[n])
    assert (out[:4] == DATA[:4] + DATA[16:20]).all()


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "bfloat16", "float64"])
def test_vector_access(dtype: str) -> None:
    kind = DataType(dtype).numpy()
    a = (np.arange(32) % 5).astype(kind)
    x, y = flat("x", 32, dtype), flat("y", 32, dtype)
    index = flat("index", 8, "int32")
    picks = np.array([3, 1, 30, 7, 0, 9, 31, 2], "int32")
    wide = Ramp(IntImm("int32", 0), 1, 8)
    body = SeqStmt(
        [
            store(y, load(x, Ramp(IntImm("int32", 8), 1, 8)), wide),
            store(y, load(x, Ramp(IntImm("int32", 31), -2, 8)), Ramp(IntImm("int32", 8), 1, 8)),
            store(y, load(x, load(index, wide)), Ramp(IntImm("int32", 16), 1, 8)),
            store(y, load(x, wide), Ramp(IntImm("int32", 24), 1, 8)),
            store(y, Broadcast(load(x, IntImm("int32", 4)), 4), Ramp(IntImm("int32", 25), 2, 4)),
        ]
    )
    out = np.zeros(32, kind)
    compile_func([x, index, y], body)["main"](a, picks, out)
    want = np.concatenate([a[8:16], a[31:15:-2], a[picks], a[:8]])
    want[25:33:2] = a[4]
    assert (out == want).all()


def test_predicated_access() -> None:
    mask = flat("mask", 8, "bool")
    wide, later = Ramp(IntImm("int32", 0), 1, 8), Ramp(IntImm("int32", 0), 3, 8)
    test = load(mask, wide)
    body = SeqStmt(
        [
            BufferStore(B, BufferLoad(A, [wide], test), [wide]),
            BufferStore(B, BufferLoad(A, [wide]), [Ramp(IntImm("int32", 8), 1, 8)], test),
            BufferStore(B, BufferLoad(A, [later], test), [Ramp(IntImm("int32", 16), 1, 8)]),
        ]
    )
    which = np.array([1, 0, 0, 1, 1, 0, 1, 0], bool)
    out = np.full(32, -1, "float32")
    compile_func([A, mask, B], body)["main"](DATA, which, out)
    assert (out[:8] == np.where(which, DATA[:8], 0)).all()
    assert (out[8:16] == np.where(which, DATA[:8], -1)).all()
    assert (out[16:24] == np.where(which, DATA[0:24:3], 0)).all()


def test_vector_parts() -> None:
    wide = Ramp(IntImm("int32", 0), 1, 8)
    value = load(A, wide)
    low, high = builtin.vectorlow("float32x4", value), builtin.vectorhigh("float32x4", value)
    body = SeqStmt(
        [
            store(B, builtin.vectorcombine("float32x8", high, low), wide),
            store(B, Shuffle([low, high], [7, 0, 2]), Ramp(IntImm("int32", 8), 1, 3)),
            store(B, Shuffle([value], [5]), IntImm("int32", 12)),
            store(
                B,
                Cast("float32x4", Ramp(IntImm("int32", 3), -1, 4)),
                Ramp(IntImm("int32", 16), 1, 4),
            ),
        ]
    )
    out = run(body)
    assert (out[:8] == np.roll(DATA[:8], 4)).all()
    assert (out[8:11] == DATA[[7, 0, 2]]).all()
    assert out[12] == DATA[5]
    assert (out[16:20] == [3, 2, 1, 0]).all()


def test_if_then_else_guards_its_load() -> None:
    i = i32()
    inside = LT(i, IntImm("int32", 4))
    # Far outside the buffer: a load on the side that is not chosen would fault.
    far = load(A, Mul(i, IntImm("int32", 1 << 22)))
    near = load(A, i)
    body = store(
        B,
        builtin.if_then_else(
            inside, near, builtin.if_then_else(LT(i, IntImm("int32", 99)), f32(0), far)
        ),
        i,
    )
    out = run(For(i, 0, 32, ForKind.SERIAL, body))
    assert (out == np.where(np.arange(32) < 4, DATA, 0)).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_parallel_loops(threads: int) -> None:
    i, j, n = i32(), i32("j"), i32("n")
    s, x = Var("s", "float32"), flat("x", 4)
    k = i32("k")
    body = For(
        i,
        2,
        n,
        ForKind.PARALLEL,
        SeqStmt(
            [
                AllocBuffer(x),
                Bind(k, Add(i, IntImm("int32", 1))),
                For(j, 0, 4, ForKind.PARALLEL, store(x, Mul(load(A, k), s), j)),
                store(B, load(x, IntImm("int32", 3)), i),
            ]
        ),
        step=IntImm("int32", 3),
    )
    before = runtime.num_threads()
    runtime.set_num_threads(threads)
    try:
        out = run(body, 29, 2.0, params=[n, s])
    finally:
        runtime.set_num_threads(before)
    want = np.full(32, -1, "float32")
    want[2:31:3] = DATA[3:32:3] * 2
    assert (out == want).all()


def test_an_error_in_a_parallel_loop_reaches_the_caller() -> None:
    i = i32()
    check = AssertStmt("ValueError", LT(i, IntImm("int32", 17)), ["turn ", "too large"])
    body = For(i, 0, 32, ForKind.PARALLEL, SeqStmt([check, store(B, f32(1), i)]))
    before = runtime.num_threads()
    runtime.set_num_threads(3)
    try:
        for _ in range(20):
            with pytest.raises(ValueError, match="turn too large"):
                run(body)
    finally:
        runtime.set_num_threads(before)


def test_assert_and_attributes() -> None:
    n = i32("n")
    body = AttrStmt(
        StringImm("x"),
        "pragma_something",
        IntImm("int32", 1),
        SeqStmt(
            [
                AssertStmt("TypeError", LT(n, IntImm("int32", 3)), "n is too large"),
                store(B, f32(1), IntImm("int32", 0)),
            ]
        ),
    )
    assert run(body, 2, params=[n])[0] == 1
    with pytest.raises(TypeError, match="n is too large"):
        run(body, 3, params=[n])


def test_return_values() -> None:
    for dtype, give, want in (
        ("int32", -7, -7),
        ("int64", 1 << 40, 1 << 40),
        ("float32", 2.5, 2.5),
        ("float16", 0.5, 0.5),
        ("bool", True, True),
        ("uint8", 200, 200),
    ):
        x = Var("x", dtype)
        assert compile_func([x], Return(x), ret=dtype)["main"](give) == want


def test_scalar_arguments() -> None:
    n = Var("n", "int8")
    f = compile_func([n], Return(Cast("int64", n)), ret="int64")["main"]
    assert f(-128) == -128
    with pytest.raises(ValueError, match=r"argument 0 \(n\): expected int8, got 128"):
        f(128)
    with pytest.raises(TypeError, match=r"argument 0 \(n\): expected int8, got the float 1.5"):
        f(1.5)
    with pytest.raises(TypeError, match=r"expected 1 arguments \(n: int8\), got 2"):
        f(1, 2)
    u = Var("u", "uint16")
    g = compile_func([u], Return(Cast("int64", u)), ret="int64")["main"]
    assert g(65535) == 65535
    with pytest.raises(ValueError, match="expected uint16, got -1"):
        g(-1)


def test_calls_of_c_functions() -> None:
    x = Var("x", "float64")
    f = compile_func([x], Return(builtin.call_pure_extern("float64", "cbrt", x)), ret="float64")
    assert f["main"](27.0) == pytest.approx(3)
    missing = Return(builtin.call_extern("float64", "no_such_function_here", x))
    with pytest.raises(CodegenError, match="no_such_function_here"):
        compile_func([x], missing, ret="float64")
    twice = SeqStmt(
        [
            Evaluate(builtin.call_extern("float64", "cbrt", x)),
            Evaluate(builtin.call_extern("float32", "cbrt", x)),
        ]
    )
    with pytest.raises(CodegenError, match="'cbrt' is called with different types"):
        compile_func([x], twice)


def test_calls_of_llvm_intrinsics() -> None:
    x = Var("x", "float32")
    fused = builtin.call_llvm_pure_intrin("float32", "llvm.fmuladd", x, x, x)
    assert compile_func([x], Return(fused), ret="float32")["main"](3.0) == 12
    whole = builtin.call_llvm_pure_intrin("float32", "llvm.floor.f32", x)
    assert compile_func([x], Return(whole), ret="float32")["main"](2.5) == 2


def test_calls_of_packed_functions() -> None:
    name = "workbench.tests.codegen.seen"
    seen: list[object] = []

    @runtime.register_global_func(name, override=True)
    def keep(*args: object) -> int:
        seen.append(args)
        if isinstance(args[0], runtime.Tensor):
            seen.append(args[0].numpy().copy())
        return 11

    n, s = i32("n"), Var("s", "float32")
    body = SeqStmt(
        [
            Evaluate(builtin.call_packed(name, A, n, s, "text", tirx.const(True, "bool"))),
            Return(builtin.call_packed(name, n)),
        ]
    )
    mod = compile_func([A, n, s], body, ret="int32")
    try:
        assert mod["main"](DATA, 4, 1.5) == 11
        assert mod["main"](DATA, 5, 1.5) == 11
    finally:
        runtime.remove_global_func(name)
    first: tuple[object, ...] = seen[0]  # type: ignore[assignment]
    assert first[1:] == (4, 1.5, "text", True)
    assert (seen[1] == DATA).all()

    absent = compile_func([], Evaluate(builtin.call_packed("workbench.tests.absent", 1)))
    with pytest.raises(RuntimeError, match=r"no packed function 'workbench\.tests\.absent'"):
        absent["main"]()


def test_an_error_in_a_packed_function_passes_through() -> None:
    name = "workbench.tests.codegen.fails"

    @runtime.register_global_func(name, override=True)
    def fail() -> None:
        raise KeyError("inside")

    x = flat("x", 100_000)
    body = SeqStmt(
        [AllocBuffer(x), store(x, f32(1), IntImm("int32", 0)), Evaluate(builtin.call_packed(name))]
    )
    try:
        with pytest.raises(KeyError, match="inside"):
            compile_func([], body)["main"]()
    finally:
        runtime.remove_global_func(name)


def test_calls_inside_the_module() -> None:
    x = Var("x", "int32")
    square = PrimFunc([x], Return(Mul(x, x)), ret_type="int32")
    buffer, i = flat("P", 32), i32()
    fill = PrimFunc(
        [buffer, x], For(i, 0, 32, ForKind.SERIAL, store(buffer, Cast("float32", x), i))
    )
    n = i32("n")
    body = SeqStmt(
        [
            Evaluate(Call(GlobalVar("fill"), [builtin.buffer_data(B), n], ret_ty="int32")),
            store(
                B,
                Cast("float32", Call(GlobalVar("square"), [n], ret_ty="int32")),
                IntImm("int32", 0),
            ),
        ]
    )
    out = np.zeros(32, "float32")
    compile_func([B, n], body, more={"square": square, "fill": fill})["main"](out, 5)
    assert out[0] == 25
    assert (out[1:] == 5).all()
    with pytest.raises(CodegenError, match="'nowhere'"):
        compile_func([n], Evaluate(Call(GlobalVar("nowhere"), [n], ret_ty="int32")))


def test_what_is_not_lowered_is_named() -> None:
    i = i32()
    wide = decl_buffer((4, 8), "float32", "W")
    cases = [
        (For(i, 0, 8, ForKind.VECTORIZED, store(B, f32(1), i)), "VectorizeLoop"),
        (For(i, 0, 8, ForKind.THREAD_BINDING, store(B, f32(1), i)), "GPU"),
        (For(i, 0, 4, ForKind.SERIAL, BufferStore(wide, f32(1), [i, i])), "FlattenBuffer"),
        (store(B, f32(1), i), "'i' has no value here"),
        (store(flat("lost", 8), f32(1), IntImm("int32", 0)), "'lost' has no memory here"),
        (Break(), "break outside a loop"),
        (For(i, 0, 8, ForKind.PARALLEL, Return(IntImm("int32", 0))), "return inside a parallel"),
    ]
    for body, words in cases:
        with pytest.raises(CodegenError, match=words):
            compile_func([A, B, wide], body)
    with pytest.raises(CodegenError, match="global_symbol"):
        build(IRModule({"f": PrimFunc([], Evaluate(0))}), EXACT)


def test_aliasing_arguments_without_the_promise() -> None:
    """Without `tirx.noalias` the same array may be passed twice."""
    i = i32()
    body = For(
        i, 0, 31, ForKind.SERIAL, store(B, Add(load(A, i), f32(1)), Add(i, IntImm("int32", 1)))
    )
    both = np.zeros(32, "float32")
    compile_func([A, B], body, noalias=False)["main"](both, both)
    assert (both == np.arange(32)).all()


def test_deep_expressions() -> None:
    value: object = load(A, IntImm("int32", 0))
    for _ in range(20_000):
        value = Add(value, f32(1))
    out = np.zeros(32, "float32")
    fast = tirx_target_without_passes()
    compile_func([A, B], store(B, value, IntImm("int32", 0)), target=fast)["main"](DATA, out)
    assert out[0] == 20_000 + DATA[0]


def tirx_target_without_passes() -> object:
    from workbench.target import Target

    return Target({"kind": "llvm", "opt-level": 0, "debug-info": False})
