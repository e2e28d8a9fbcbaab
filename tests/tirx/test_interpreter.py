"""What programs mean: values exact to the type, control flow, memory, errors."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import tirx
from workbench.ir import Call, GlobalVar, IRModule
from workbench.script import tirx as T
from workbench.tirx import InterpretError, const, decl_buffer
from workbench.tirx.interpreter import interpreted_source

i = tirx.Var("i", "int32")


def elementwise(make, inputs, dtype, lanes=1):
    """out[i] = make(in0[i], …) by the interpreter, also with explicit vectors."""
    n = len(inputs[0])
    buffers = [decl_buffer((n,), str(a.dtype), f"in{k}") for k, a in enumerate(inputs)]
    out = decl_buffer((n,), dtype, "out")
    at = i if lanes == 1 else tirx.Ramp(i * lanes, 1, lanes)
    value = make(*[tirx.BufferLoad(b, [at]) for b in buffers])
    loop = tirx.For(i, 0, n // lanes, 0, tirx.BufferStore(out, value, [at]))
    result = np.zeros(n, out.ty.dtype.numpy())
    tirx.interpret(tirx.PrimFunc([*buffers, out], loop), *inputs, result)
    return result


# Short loops run one by one, long ones as arrays, and vectors as vectors: all must agree.
@pytest.mark.parametrize(("size", "lanes"), [(8, 1), (64, 1), (64, 4)])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64"])
def test_integers_wrap(dtype, size, lanes):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    a = rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    b = rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
    for node, function in ((tirx.Add, np.add), (tirx.Sub, np.subtract), (tirx.Mul, np.multiply)):
        np.testing.assert_array_equal(elementwise(node, [a, b], dtype, lanes), function(a, b))


@pytest.mark.parametrize(("size", "lanes"), [(8, 1), (64, 1), (64, 4)])
def test_division_rounds_and_never_fails(size, lanes):
    a = np.resize(np.array([-7, 7, -7, 7, 5, -128, 0, -1], "int8"), size)
    b = np.resize(np.array([2, 2, -2, -2, 0, -1, 3, 0], "int8"), size)
    wide = [(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    want = {
        tirx.FloorDiv: [p // q if q else 0 for p, q in wide],
        tirx.FloorMod: [p % q if q else 0 for p, q in wide],
        tirx.Div: [int(p / q) if q else 0 for p, q in wide],
        tirx.Mod: [p - q * int(p / q) if q else 0 for p, q in wide],
    }
    for node, values in want.items():
        got = elementwise(node, [a, b], "int8", lanes)
        np.testing.assert_array_equal(got, np.array(values).astype("int8"), node.__name__)


@pytest.mark.parametrize(("size", "lanes"), [(8, 1), (64, 1), (64, 4)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_floats_are_rounded_after_every_operation(dtype, size, lanes):
    kind = tirx.Var("v", dtype).dtype.numpy()
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(size).astype(kind) for _ in range(2))
    got = elementwise(lambda x, y: x * y + x, [a, b], dtype, lanes)
    np.testing.assert_array_equal(got, a * b + a)


@pytest.mark.parametrize(("size", "lanes"), [(8, 1), (64, 1), (64, 4)])
def test_extremes_and_nan(size, lanes):
    a = np.resize(np.array([np.nan, 1, -1, np.inf], "float32"), size)
    b = np.resize(np.array([1, np.nan, 2, -np.inf], "float32"), size)
    np.testing.assert_array_equal(elementwise(tirx.Min, [a, b], "float32", lanes), np.minimum(a, b))
    np.testing.assert_array_equal(elementwise(tirx.Max, [a, b], "float32", lanes), np.maximum(a, b))
    np.testing.assert_array_equal(elementwise(tirx.NE, [a, b], "bool", lanes), a != b)


@pytest.mark.parametrize(("size", "lanes"), [(8, 1), (64, 1), (64, 4)])
def test_casts(size, lanes):
    a = np.resize(np.array([1.9, -1.9, 200.5, 0.0], "float32"), size)
    name = "int32" if lanes == 1 else f"int32x{lanes}"
    got = elementwise(lambda x: tirx.Cast(name, x), [a], "int32", lanes)
    np.testing.assert_array_equal(got, np.trunc(a))
    wide = np.resize(np.array([(1 << 53) + 1, -(1 << 62) - 3, 5, 7]), size)
    name = "float32" if lanes == 1 else f"float32x{lanes}"
    got = elementwise(lambda x: tirx.Cast(name, x), [wide], "float32", lanes)
    np.testing.assert_array_equal(got, wide.astype("float32"))


def test_reductions_add_in_order():
    @T.prim_func(s_tir=True)
    def func(A: T.Buffer((4, 300), "float32"), B: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 300):
            with T.sblock("b"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    a = np.random.default_rng(0).standard_normal((4, 300)).astype("float32")
    b = np.zeros(4, "float32")
    tirx.interpret(func, a, b)
    assert "accumulate" in interpreted_source(func, a, b)
    want = np.zeros(4, "float32")
    for k in range(300):
        want += a[:, k]
    np.testing.assert_array_equal(b, want)


def test_control_flow():
    @T.prim_func
    def func(A: T.Buffer((8,), "int32"), n: T.int32):
        x = T.alloc_buffer((1,), "int32")
        x[0] = 0
        while x[0] < n:
            x[0] = x[0] + 1
            if x[0] == 2:
                continue
            if x[0] == 6:
                break
            A[x[0]] = x[0] * 10

    a = np.zeros(8, "int32")
    tirx.interpret(func, a, 100)
    np.testing.assert_array_equal(a, [0, 10, 0, 30, 40, 50, 0, 0])


def test_return_value_and_calls():
    A = decl_buffer((4,), "int32", "A")
    n = tirx.Var("n", "int32")
    inner = tirx.PrimFunc([n], tirx.Return(n * 3), ret_type="int32")
    gvar = GlobalVar("triple")
    outer = tirx.PrimFunc(
        [A], tirx.BufferStore(A, Call(gvar, (const(7, "int32"),), ret_ty="int32"), [1])
    )
    mod = IRModule({"main": outer, "triple": inner})
    assert tirx.interpret(mod, "triple", 5) == 15
    a = np.zeros(4, "int32")
    tirx.interpret(mod, "main", a)
    assert a[1] == 21
    with pytest.raises(InterpretError, match="several functions"):
        tirx.interpret(mod, a)
    with pytest.raises(InterpretError, match="triple, which is not in the module"):
        tirx.interpret(outer, a)


def test_symbolic_shapes_strides_and_aliases():
    n, s = tirx.Var("n", "int32"), tirx.Var("s", "int32")
    A = decl_buffer((n,), "int32", "A", strides=(s,))
    B = decl_buffer((n * 2,), "int32", "B")
    V = decl_buffer((n,), "int32", "V", strides=(2,), elem_offset=1)
    body = tirx.SeqStmt(
        [
            tirx.DeclBuffer(V, tirx.buffer_data(B)),
            tirx.For(i, 0, n, 0, tirx.BufferStore(V, A[i] + s * 100, [i])),
        ]
    )
    func = tirx.PrimFunc([A, B], body)
    a, b = np.arange(12, dtype="int32")[::3], np.zeros(8, "int32")
    tirx.interpret(func, a, b)
    np.testing.assert_array_equal(b, [0, 300, 0, 303, 0, 306, 0, 309])


def test_arrays_that_share_memory_are_not_vectorised():
    A, B = (decl_buffer((32,), "int32", n) for n in "AB")
    loop = tirx.For(i, 0, 31, 0, tirx.BufferStore(B, A[i] + 1, [i]))
    memory = np.zeros(33, "int32")
    tirx.interpret(tirx.PrimFunc([A, B], loop), memory[:32], memory[1:])
    np.testing.assert_array_equal(memory[:32], np.arange(32))


def test_reading_what_was_never_written_shows():
    @T.prim_func
    def func(A: T.Buffer((2,), "float32")):
        B = T.alloc_buffer((2,), "float32")
        A[0] = B[1]

    a = np.zeros(2, "float32")
    tirx.interpret(func, a)
    assert np.isnan(a[0])


@pytest.mark.parametrize("size", [4, 64])
def test_an_index_outside_names_buffer_and_index(size):
    A, B = (decl_buffer((size,), "float32", n) for n in "AB")
    loop = tirx.For(i, 0, size, 0, tirx.BufferStore(B, A[i - 2], [i]))
    func = tirx.PrimFunc([A, B], loop)
    a = np.zeros(size, "float32")
    message = rf"index -2 of dimension 0 of buffer A is outside \[0, {size}\)"
    with pytest.raises(InterpretError, match=message) as caught:
        tirx.interpret(func, a, a.copy())
    assert "^" in caught.value.render()


@pytest.mark.parametrize("size", [4, 64])
def test_guards_hold(size):
    A, B = (decl_buffer((size,), "float32", n) for n in "AB")
    value = tirx.if_then_else(i >= 2, A[i - 2], const(-1.0, "float32"))
    func = tirx.PrimFunc([A, B], tirx.For(i, 0, size, 0, tirx.BufferStore(B, value, [i])))
    a, b = np.arange(size, dtype="float32"), np.zeros(size, "float32")
    tirx.interpret(func, a, b)
    np.testing.assert_array_equal(b, np.concatenate([[-1, -1], a[:-2]]))


def test_arguments_are_checked():
    A = decl_buffer((4,), "float32", "A")
    n = tirx.Var("n", "uint8")
    func = tirx.PrimFunc([A, n], tirx.Evaluate(0))
    good = np.zeros(4, "float32")
    for args, message in (
        ((good,), "takes 2 arguments"),
        ((good.astype("float64"), 1), "A: expected float32, got float64"),
        ((np.zeros(5, "float32"), 1), r"A: expected the shape \(4,\), got \(5,\)"),
        ((np.zeros((2, 2), "float32"), 1), "A: expected 1 dimensions, got 2"),
        ((good, 300), "n: 300 is outside the range of uint8"),
        (([1, 2], 1), "A: expected an array, got list"),
    ):
        with pytest.raises(InterpretError, match=message):
            tirx.interpret(func, *args)


def test_assertions_raise_their_kind():
    n = tirx.Var("n", "int32")
    check = tirx.AssertStmt("ValueError", n < 3, ["n is ", "too large"])
    func = tirx.PrimFunc([n], check)
    tirx.interpret(func, 2)
    with pytest.raises(ValueError, match="n is too large"):
        tirx.interpret(func, 3)


def test_threads_run_in_turn_but_cannot_wait():
    @T.prim_func
    def func(A: T.Buffer((8,), "int32")):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            A[t] = t

    a = np.zeros(8, "int32")
    tirx.interpret(func, a)
    np.testing.assert_array_equal(a, np.arange(8))
    wait = tirx.PrimFunc([], tirx.Evaluate(tirx.op.tvm_storage_sync("shared")))
    with pytest.raises(InterpretError, match="threads run one after another"):
        tirx.interpret(wait)


def test_deep_expressions():
    A = decl_buffer((1,), "int32", "A")
    value = A[0]
    for k in range(3000):
        value = tirx.Add(value, const(k % 3, "int32"))
    func = tirx.PrimFunc([A], tirx.BufferStore(A, value, [0]))
    a = np.zeros(1, "int32")
    tirx.interpret(func, a)
    assert a[0] == sum(k % 3 for k in range(3000))


def test_a_reduction_that_one_loop_runs_several_times_starts_each_time():
    @T.prim_func
    def sums(a: T.Buffer((8,), "float32"), b: T.Buffer((1,), "float32")):
        for f in range(32):
            with T.sblock("sum"):
                vi = T.axis.spatial(1, 0)
                vk = T.axis.reduce(8, f % 8)
                with T.init():
                    b[vi] = T.float32(0)
                b[vi] = b[vi] + a[vk]

    a, b = np.arange(8, dtype="float32"), np.zeros(1, "float32")
    tirx.interpret(sums, a, b)
    assert b[0] == a.sum()
