"""Type matching, folding and intrinsics: what the functions of `tirx.op` build."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import tirx
from workbench.core import structural_equal
from workbench.ir.expr import Call, FloatImm, IntImm, Op
from workbench.runtime.dtype import DataType
from workbench.tirx import Var, const, op

TYPES = (
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "bool",
)
x = {name: Var(name, name) for name in TYPES}


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ("int8", "int32", "int32"),
        ("int32", "int64", "int64"),
        ("uint8", "int8", "uint8"),
        ("int8", "uint8", "uint8"),
        ("uint8", "int32", "int32"),
        ("uint32", "int32", "uint32"),
        ("uint32", "int64", "int64"),
        ("uint64", "int64", "uint64"),
        ("int64", "float16", "float16"),
        ("float16", "float32", "float32"),
        ("float16", "bfloat16", "float16"),
        ("bfloat16", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("bool", "int32", "int32"),
        ("bool", "float32", "float32"),
        ("bool", "bool", "bool"),
    ],
)
def test_operands_are_matched(a, b, result):
    out = x[a] + x[b]
    assert out.dtype == result
    assert out.a.dtype == out.b.dtype == result


@pytest.mark.parametrize(
    ("expr", "dtype"),
    [
        (x["int32"] + 1, "int32"),
        (x["int8"] + 1, "int32"),
        (x["int64"] + 1, "int64"),
        (x["float16"] + 1, "float16"),
        (x["float16"] + 1.5, "float32"),
        (x["float64"] + 1.5, "float64"),
        (x["int32"] + 1.5, "float32"),
        (x["int32"] + (1 << 31), "int64"),
        (x["uint8"] & 1, "uint8"),
        (x["int8"] << 1, "int8"),
    ],
)
def test_python_numbers(expr, dtype):
    assert expr.dtype == dtype


def test_vectors_broadcast():
    ramp = tirx.Ramp(x["int32"], 1, 4)
    assert isinstance((ramp * 2).b, tirx.Broadcast)
    assert (ramp < 3).dtype == "boolx4"
    with pytest.raises(TypeError, match="different lengths, int32x4 and int32x8"):
        ramp + tirx.Broadcast(x["int32"], 8)


def test_neutral_and_absorbing_elements_are_folded():
    i, f = x["int32"], x["float32"]
    for expr in (i + 0, 0 + i, i * 1, i - 0, i // 1, tirx.min(i, i), tirx.shift_left(i, 0)):
        assert expr is i
    for expr in (f + 0, f * 1.0):
        assert expr is f
    assert int(i * 0) == 0
    assert int(i % 1) == 0
    assert int(0 // i) == 0


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (const(2147483647, "int32") + const(1, "int32"), -2147483648),
        (const(200, "uint8") + const(100, "uint8"), 44),
        (const(-7, "int32") // const(2, "int32"), -4),
        (const(-7, "int32") % const(2, "int32"), 1),
        (tirx.truncdiv(const(-7, "int32"), const(3, "int32")), -2),
        (tirx.truncmod(const(-7, "int32"), const(3, "int32")), -1),
        (const(5, "int32") >> const(1, "int32"), 2),
        (const(4, "int32") | const(1, "int32"), 5),
        (tirx.ceildiv(10, 4), 3),
        (tirx.abs(const(-3, "int32")), 3),
        (const(3.7, "float32").astype("int32"), 3),
        (const(300, "int32").astype("uint8"), 44),
    ],
)
def test_integer_constants_are_folded(expr, value):
    assert isinstance(expr, IntImm)
    assert expr.value == value


def test_float_constants_are_rounded_to_their_type():
    third = const(1.0, "float32") / const(3.0, "float32")
    assert isinstance(third, FloatImm)
    assert third.value == float(np.float32(1) / np.float32(3))
    assert tirx.round(2.5).value == 2.0
    assert tirx.floor(-1.5).value == -2.0


def test_python_equality_is_deferred_and_has_a_truth_value():
    i = x["int32"]
    assert isinstance(i == 1, tirx.EQ)
    assert bool(i + 1 == i + 1)
    assert not bool(i + 1 == i + 2)
    assert bool(i + 1 != i + 2)
    with pytest.raises(ValueError, match="truth value"):
        bool(i < 1)


def test_mistakes_are_told():
    i, f = x["int32"], x["float32"]
    with pytest.raises(TypeError, match="truncdiv, floordiv"):
        i / 2
    with pytest.raises(TypeError, match="floordiv is for integers, got float32"):
        f // 2.0
    with pytest.raises(ZeroDivisionError, match="division of"):
        i % 0
    with pytest.raises(TypeError, match="must be floating point, got int32"):
        tirx.exp(i)
    with pytest.raises(TypeError, match="expected integers, got float32"):
        f & f
    with pytest.raises(TypeError, match="condition must be bool"):
        tirx.if_then_else(i, i, i)
    with pytest.raises(ValueError, match=r"must be in \[0, 32\)"):
        tirx.shift_left(i, 32)
    with pytest.raises(TypeError, match="32 bits, int64 has 64"):
        tirx.reinterpret("int64", f)
    with pytest.raises(ValueError, match="outside the range of uint8"):
        const(300, "uint8")
    with pytest.raises(TypeError, match="no infinity"):
        tirx.infinity("int32")


def test_limits():
    assert tirx.max_value("uint8").value == 255
    assert tirx.min_value("int64").value == -(1 << 63)
    assert tirx.max_value("float16").value == 65504.0
    assert tirx.max_value("bfloat16").value == 3.3895313892515355e38
    assert tirx.infinity("float32").value == np.inf


def test_conditions_are_joined_and_folded():
    b = x["bool"]
    assert tirx.all(b) is b
    assert tirx.all(True, b) is b
    assert tirx.any(b, True).value == 1
    assert tirx.all(True, False).value == 0
    assert isinstance(tirx.all(b, x["int32"] < 3), tirx.And)
    assert tirx.if_then_else(True, x["int32"], x["int64"]).dtype == "int64"


def test_reducers():
    k = tirx.IterVar((0, 10), "k", tirx.IterVar.CommReduce)
    A = tirx.decl_buffer((10,), "float32", "A")
    total = tirx.sum(A[k.var], axis=k)
    assert isinstance(total, tirx.Reduce)
    assert total.dtype == "float32"
    assert tirx.min(x["int32"], 3).dtype == "int32"
    largest = tirx.comm_reducer(
        lambda a, b: (tirx.Select(a[1] >= b[1], a[0], b[0]), tirx.max(a[1], b[1])),
        lambda i, v: (const(-1, i), tirx.min_value(v)),
        "argmax",
    )
    index, value = largest((k.var, A[k.var]), axis=k)
    assert (index.dtype, value.dtype) == ("int32", "float32")
    assert (index.value_index, value.value_index) == (0, 1)
    with pytest.raises(TypeError, match="expected reduction axes"):
        tirx.sum(A[0], axis=[3])


def test_addresses_and_accesses():
    A = tirx.decl_buffer((4, 4), "float32", "A")
    assert structural_equal(tirx.address_of(A), tirx.address_of(A[0, 0]))
    access = A.access_ptr("rw", offset=3)
    assert int(access.args[2]) == 3
    assert int(access.args[3]) == 13
    assert int(access.args[4]) == 3
    with pytest.raises(ValueError, match="'r', 'w' or 'rw'"):
        A.access_ptr("x")


INTRINSICS = [
    name
    for name in Op.list_op_names()
    if name.startswith("tirx.") and Op.get(name).attr("numpy") is not None
]


@pytest.mark.parametrize("name", [n for n in INTRINSICS if Op.get(n).attr("args") is None])
def test_every_meaning_keeps_the_type(name):
    """The NumPy meaning of an intrinsic returns values of the declared type."""
    operator = Op.get(name)
    builder = operator.attr("builder")
    assert operator.attr("effect") is not None
    if builder is None or name in (
        "tirx.assume",
        "tirx.likely",
        "tirx.ignore_loop_partition",
        "tirx.tvm_thread_invariant",
    ):
        return
    import inspect

    names = [p for p in inspect.signature(builder).parameters if p != "span"]
    if names[0] == "dtype" or name == "tirx.q_multiply_shift":
        return
    for dtype in ("float32", "float64", "float16", "int32", "uint8"):
        try:
            call = builder(*[Var(n, dtype) for n in names])
        except TypeError:
            continue  # not for this kind of number
        if not isinstance(call, Call) or call.op is not operator:
            continue
        kind = DataType(dtype).numpy()
        vectors = [np.array([1, 2, 3]).astype(kind) for _ in names]
        if name == "tirx.acosh":
            vectors = [v + kind.type(1) for v in vectors]
        want = call.dtype.numpy()
        with np.errstate(all="ignore"):
            assert np.asarray(operator.attr("numpy")(*vectors)).dtype == want, dtype
            assert np.asarray(operator.attr("numpy")(*[v[0] for v in vectors])).dtype == want


def test_an_intrinsic_is_one_declaration():
    operator = Op.get("tirx.exp")
    assert operator.attr("lower")["llvm"] == "wb.exp"
    assert operator.attr("vectorizable")
    assert op.effect_of(tirx.exp(x["float32"])) == op.CallEffectKind.Pure
    assert op.effect_of(tirx.call_extern("int32", "f")) == op.CallEffectKind.UpdateState
