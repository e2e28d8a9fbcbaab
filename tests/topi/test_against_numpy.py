"""Every topi function computes what NumPy computes, with constant and with symbolic shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from workbench import te, topi
from workbench.core.errors import WorkbenchError
from workbench.ir import IntImm
from workbench.tirx import Var
from workbench.tirx.interpreter import interpret

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4)).astype("float32")
Y = RNG.standard_normal((3, 1)).astype("float32")
POSITIVE = np.abs(X) + 0.5
UNIT = np.tanh(X) * 0.9
INTS = RNG.integers(-7, 8, (3, 4)).astype("int32")
BOOLS = RNG.random((3, 4)) > 0.5


def evaluate(function: Callable[..., Any], *arrays: np.ndarray, symbolic: bool = False) -> Any:
    """Runs `function` of te tensors through create_prim_func and the interpreter."""
    inputs = []
    sizes: dict[int, Var] = {}
    for n, array in enumerate(arrays):
        shape: list[Any] = [IntImm("int64", d) for d in array.shape]
        if symbolic and shape and array.shape[0] != 1:
            d = array.shape[0]
            shape[0] = sizes.setdefault(d, Var(f"n{d}", "int64"))
        inputs.append(te.placeholder(shape, str(array.dtype), name=f"p{n}"))
    result = function(*inputs)
    outputs = result if isinstance(result, list) else [result]
    func = te.create_prim_func([*inputs, *outputs], "int64")
    values = {v: d for d, v in sizes.items()}
    out = []
    for t in outputs:
        dims = [_value(d, values) for d in t.shape]
        out.append(np.zeros(dims, t.dtype.numpy()))
    interpret(func, *[a.copy() for a in arrays], *out)
    return out if isinstance(result, list) else out[0]


def _value(dim: Any, values: dict[Any, int]) -> int:
    from workbench.core import substitute
    from workbench.tirx import PrimFunc
    from workbench.tirx.buffer import decl_buffer
    from workbench.tirx.stmt import BufferStore

    if isinstance(dim, IntImm):
        return dim.value
    fixed = substitute(dim, {v: IntImm("int64", d) for v, d in values.items()})
    box = decl_buffer((1,), str(fixed.dtype), "box")
    got = np.zeros(1, str(fixed.dtype))
    interpret(PrimFunc([box], BufferStore(box, fixed, [0])), got)
    return int(got[0])


def check(function: Any, expected: Any, *arrays: np.ndarray, tol: float = 1e-5) -> None:
    wanted = expected(*arrays)
    for symbolic in (False, True):
        got = evaluate(function, *arrays, symbolic=symbolic)
        pairs = zip(got, wanted, strict=True) if isinstance(got, list) else [(got, wanted)]
        for a, b in pairs:
            b = np.asarray(b)
            assert a.shape == b.shape, (a.shape, b.shape, symbolic)
            np.testing.assert_allclose(a, b, rtol=tol, atol=tol, err_msg=f"symbolic={symbolic}")


def fixed(function: Any, expected: Any, *arrays: np.ndarray, tol: float = 1e-5) -> None:
    """Like `check`, for functions that need constant shapes."""
    got, wanted = evaluate(function, *arrays), expected(*arrays)
    pairs = zip(got, wanted, strict=True) if isinstance(got, list) else [(got, wanted)]
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol)
        assert a.shape == np.asarray(b).shape


erf = np.vectorize(__import__("math").erf)
UNARY = [
    ("abs", np.abs, X), ("ceil", np.ceil, X), ("floor", np.floor, X), ("trunc", np.trunc, X),
    ("round", np.round, np.array([-2.5, -1.5, 0.5, 1.5, 2.4], "float32")),
    ("negative", np.negative, X), ("sign", np.sign, X), ("exp", np.exp, X),
    ("log", np.log, POSITIVE), ("log2", np.log2, POSITIVE), ("log10", np.log10, POSITIVE),
    ("sqrt", np.sqrt, POSITIVE), ("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), X), ("tanh", np.tanh, X), ("sin", np.sin, X),
    ("cos", np.cos, X), ("tan", np.tan, UNIT), ("asin", np.arcsin, UNIT), ("acos", np.arccos, UNIT),
    ("atan", np.arctan, X), ("sinh", np.sinh, X), ("cosh", np.cosh, X), ("asinh", np.arcsinh, X),
    ("acosh", np.arccosh, POSITIVE + 1), ("atanh", np.arctanh, UNIT), ("erf", erf, X),
    ("square", np.square, X), ("reciprocal", lambda x: 1 / x, POSITIVE),
    ("identity", lambda x: x, X),
    ("abs", np.abs, INTS), ("sign", np.sign, INTS), ("negative", np.negative, INTS),
    ("bitwise_not", np.invert, INTS), ("logical_not", np.logical_not, BOOLS),
    ("logical_not", np.logical_not, INTS),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected", "data"), UNARY)
def test_unary(name: str, expected: Any, data: np.ndarray) -> None:
    check(getattr(topi, name), expected, data)


SPECIAL = np.array([0.0, np.inf, -np.inf, np.nan, 1.0], "float32")


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_float_classes(name: str) -> None:
    check(getattr(topi, name), getattr(np, name), SPECIAL)


def test_cast_and_clip() -> None:
    check(lambda x: topi.cast(x, "int32"), lambda x: x.astype("int32"), X * 3)
    check(lambda x: topi.clip(x, -0.5, 0.25), lambda x: np.clip(x, -0.5, 0.25), X)
    check(lambda x: topi.clip(x, -2, 3), lambda x: np.clip(x, -2, 3), INTS)


BINARY = [
    ("add", np.add, X, Y), ("subtract", np.subtract, X, Y), ("multiply", np.multiply, X, Y),
    ("divide", np.divide, X, np.abs(Y) + 1), ("maximum", np.maximum, X, Y),
    ("minimum", np.minimum, X, Y), ("power", np.power, POSITIVE, Y),
    ("floor_divide", np.floor_divide, INTS, np.abs(INTS) + 1),
    ("floor_mod", np.mod, INTS, np.abs(INTS) + 1), ("mod", np.fmod, INTS, np.abs(INTS) + 1),
    ("floor_mod", np.mod, X, np.abs(Y) + 1), ("mod", np.fmod, X, np.abs(Y) + 1),
    ("log_add_exp", np.logaddexp, X, Y), ("atan2", np.arctan2, X, Y),
    ("bitwise_and", np.bitwise_and, INTS, INTS[:1]), ("bitwise_or", np.bitwise_or, INTS, INTS[:1]),
    ("bitwise_xor", np.bitwise_xor, INTS, INTS[:1]),
    ("left_shift", np.left_shift, INTS, np.abs(INTS) % 5),
    ("right_shift", np.right_shift, INTS, np.abs(INTS) % 5),
    ("greater", np.greater, X, Y), ("greater_equal", np.greater_equal, INTS, INTS.T[0]),
    ("less", np.less, X, Y), ("less_equal", np.less_equal, INTS, INTS.T[0]),
    ("equal", np.equal, INTS, INTS[:1]), ("not_equal", np.not_equal, INTS, INTS[:1]),
    ("logical_and", np.logical_and, BOOLS, BOOLS[:1]),
    ("logical_or", np.logical_or, BOOLS, BOOLS[:1]),
    ("logical_xor", np.logical_xor, BOOLS, BOOLS[:1]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected", "a", "b"), BINARY)
def test_binary(name: str, expected: Any, a: np.ndarray, b: np.ndarray) -> None:
    if name in ("greater_equal", "less_equal"):
        b = np.resize(b, (1, 4)).astype(a.dtype)
    check(getattr(topi, name), expected, a, b)


def test_scalars_and_operators_on_tensors() -> None:
    check(lambda x: topi.add(x, 2.0), lambda x: x + 2, X)
    check(lambda x: 1.0 - x * 3.0 / 2.0 + (-x), lambda x: 1 - x * 3 / 2 - x, X)
    check(lambda x: topi.power(x, 2.0), lambda x: x**2, X)


def test_where_and_broadcast() -> None:
    check(topi.where, np.where, BOOLS, INTS[:1], INTS)
    fixed(lambda y: topi.broadcast_to(y, (2, 3, 4)), lambda y: np.broadcast_to(y, (2, 3, 4)), Y)
    with pytest.raises(WorkbenchError, match="3 against 4"):
        topi.add(te.placeholder((3,)), te.placeholder((4,)))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1,)])
@pytest.mark.parametrize(
    ("name", "expected"),
    [("sum", np.sum), ("prod", np.prod), ("max", np.max), ("min", np.min), ("mean", np.mean),
     ("variance", np.var), ("std", np.std)],
)  # fmt: skip
def test_reductions(name: str, expected: Any, axis: Any, keepdims: bool) -> None:
    check(
        lambda x: getattr(topi, name)(x, axis, keepdims),
        lambda x: expected(x, axis=axis, keepdims=keepdims),
        X,
    )


@pytest.mark.parametrize("axis", [None, 0, 2])
def test_arg_reductions_pick_the_first(axis: Any) -> None:
    data = RNG.integers(0, 3, (3, 4, 5)).astype("float32")
    check(lambda x: topi.argmax(x, axis), lambda x: np.argmax(x, axis), data)
    check(lambda x: topi.argmin(x, axis), lambda x: np.argmin(x, axis), data)
    if axis == 2:
        last = lambda x: 4 - np.argmax(x[..., ::-1], 2)
        check(lambda x: topi.argmax(x, 2, False, True), last, data)


def test_reductions_of_infinities() -> None:
    data = np.full((2, 3), -np.inf, "float32")
    check(lambda x: topi.max(x, 1), lambda x: x.max(1), data)
    check(lambda x: topi.min(x, 1), lambda x: x.min(1), -data)
    check(lambda x: topi.argmax(x, 1), lambda x: x.argmax(1), data)


def test_bool_reductions() -> None:
    check(lambda x: topi.all(x, 1), lambda x: x.all(1), BOOLS)
    check(lambda x: topi.any(x, 1), lambda x: x.any(1), BOOLS)


def test_collapse_sum() -> None:
    fixed(lambda x: topi.collapse_sum(x, (3, 1)), lambda x: x.sum((0, 2)).reshape(3, 1), X)


@pytest.mark.parametrize(
    "new",
    [(24,), (6, 4), (2, 12), (4, 6), (2, 2, 6), (1, 2, 3, 1, 4), (3, 8), (2, 3, 2, 2), (8, 3)],
)
def test_reshape(new: tuple[int, ...]) -> None:
    fixed(lambda x: topi.reshape(x, new), lambda x: x.reshape(new), X)


def test_reshape_divides_only_where_groups_differ() -> None:
    n = Var("n", "int64")
    x = te.placeholder((n, 3, 4), name="X")
    text = te.create_prim_func([x, topi.reshape(x, (n, 12))], "int64").script()
    assert "X[v_ax0, v_ax1 // T.int64(4), v_ax1 % T.int64(4)]" in text
    text = te.create_prim_func([x, topi.reshape(x, (n * 3, 4))], "int64").script()
    assert "X[v_ax0 // T.int64(3), v_ax0 % T.int64(3), v_ax1]" in text


def test_reshape_with_symbolic_sizes() -> None:
    check(lambda x: topi.reshape(x, (x.shape[0], 12)), lambda x: x.reshape(2, 12), X)
    check(lambda x: topi.reshape(x, (x.shape[0] * 3, 4)), lambda x: x.reshape(6, 4), X)
    check(lambda x: topi.reshape(x, (12, x.shape[0])), lambda x: x.reshape(12, 2), X)
    check(topi.flatten, np.ravel, X)
    with pytest.raises(WorkbenchError, match="24 elements"):
        topi.reshape(te.placeholder((2, 3, 4)), (5, 5))


MOVES = [
    (lambda x: topi.transpose(x), lambda x: x.T),
    (lambda x: topi.transpose(x, (1, 0, 2)), lambda x: x.transpose(1, 0, 2)),
    (lambda x: topi.expand_dims(x, 1), lambda x: x[:, None]),
    (lambda x: topi.expand_dims(x, -1, 2), lambda x: x[..., None, None]),
    (lambda x: topi.squeeze(topi.expand_dims(x, 1)), lambda x: x),
    (lambda x: topi.squeeze(topi.expand_dims(x, 1), 1), lambda x: x),
    (lambda x: topi.flip(x, 2), lambda x: np.flip(x, 2)),
    (lambda x: topi.concatenate([x, x, x], 1), lambda x: np.concatenate([x, x, x], 1)),
    (lambda x: topi.concatenate([x, x], 0), lambda x: np.concatenate([x, x], 0)),
    (lambda x: topi.concatenate([x, x], None), lambda x: np.concatenate([x, x], None)),
    (lambda x: topi.stack([x, x, x], 1), lambda x: np.stack([x, x, x], 1)),
    (lambda x: topi.stack([x, x], -1), lambda x: np.stack([x, x], -1)),
    (lambda x: topi.split(x, 2, 2), lambda x: np.split(x, 2, 2)),
    (lambda x: topi.split(x, (1, 3), 2), lambda x: np.split(x, (1, 3), 2)),
    (lambda x: topi.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3))),
    (lambda x: topi.tile(x, (2, 2, 1, 1)), lambda x: np.tile(x, (2, 2, 1, 1))),
    (lambda x: topi.tile(x, 2), lambda x: np.tile(x, 2)),
    (lambda x: topi.repeat(x, 3, 1), lambda x: np.repeat(x, 3, 1)),
    (lambda x: topi.repeat(x, 2), lambda x: np.repeat(x, 2)),
    (lambda x: topi.trilu(x, 0, True), np.triu),
    (lambda x: topi.trilu(x, -1, False), lambda x: np.tril(x, -1)),
    (lambda x: topi.strided_slice(x, [0, 1], [2, 3]), lambda x: x[0:2, 1:3]),
    (lambda x: topi.strided_slice(x, [1], [4], [2], [2]), lambda x: x[:, :, 1:4:2]),
    (lambda x: topi.strided_slice(x, [-2], [1 << 40], None, [2]), lambda x: x[:, :, -2:]),
    (lambda x: topi.strided_slice(x, [3], [-9], [-1], [2]), lambda x: x[:, :, ::-1]),
    (lambda x: topi.strided_slice(x, [0, 1], [2, 2], slice_mode="size"), lambda x: x[0:2, 1:3]),
    (lambda x: topi.full_like(x, 3), lambda x: np.full_like(x, 3)),
    (lambda x: topi.elemwise_sum([x, x, x]), lambda x: x * 3),
]  # fmt: skip


@pytest.mark.parametrize(("function", "expected"), MOVES)
def test_moves(function: Any, expected: Any) -> None:
    check(function, expected, X)


def test_slice_of_a_symbolic_dimension() -> None:
    data = RNG.random((6, 2)).astype("float32")
    check(lambda x: topi.strided_slice(x, [1], [-1], None, [0]), lambda x: x[1:-1], data)
    check(lambda x: topi.strided_slice(x, [-3], [1 << 40], None, [0]), lambda x: x[-3:], data)


def test_slices_out_of_range_are_cut() -> None:
    fixed(lambda x: topi.strided_slice(x, [-9], [99], None, [2]), lambda x: x[:, :, -9:99], X)


def test_sliding_window() -> None:
    data = np.arange(20, dtype="float32").reshape(4, 5)
    fixed(
        lambda x: topi.sliding_window(x, 0, [2, 3], [1, 1]),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)),
        data,
    )


def test_creation() -> None:
    fixed(lambda: topi.full((2, 3), "int32", 7), lambda: np.full((2, 3), 7, "int32"))
    fixed(lambda: topi.arange(5, dtype="int64"), lambda: np.arange(5))
    fixed(lambda: topi.arange(2, 11, 3, "float32"), lambda: np.arange(2, 11, 3, "float32"))
    fixed(lambda: topi.arange(5, 0, -2, "int32"), lambda: np.arange(5, 0, -2))
    fixed(lambda: topi.eye(3, 4, 1), lambda: np.eye(3, 4, 1, dtype="float32"))
    check(lambda x: topi.shape(x, "int64"), lambda x: np.array(x.shape), X)


def test_meshgrid() -> None:
    a, b = np.arange(3, dtype="float32"), np.arange(4, dtype="float32")
    for order in ("ij", "xy"):
        fixed(
            lambda x, y: topi.meshgrid([x, y], order),
            lambda x, y: np.meshgrid(x, y, indexing=order),
            a,
            b,
        )


def test_depth_and_space() -> None:
    data = RNG.random((1, 8, 2, 3)).astype("float32")

    def dcr(x: np.ndarray) -> np.ndarray:
        y = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2)
        return y.reshape(1, 2, 4, 6)

    fixed(lambda x: topi.depth_to_space(x, 2), dcr, data)
    fixed(lambda x: topi.space_to_depth(topi.depth_to_space(x, 2), 2), lambda x: x, data)


INDEX = np.array([[2, 0], [1, 2]], "int64")


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take(axis: int) -> None:
    data = RNG.random((3, 4, 5)).astype("float32")
    fixed(lambda x, i: topi.take(x, i, axis), lambda x, i: np.take(x, i, axis), data, INDEX)


def test_take_modes() -> None:
    data, index = np.arange(5, dtype="float32"), np.array([-1, 0, 7], "int64")
    fixed(
        lambda x, i: topi.take(x, i, 0, mode="clip"), lambda x, i: x[np.clip(i, 0, 4)], data, index
    )
    fixed(lambda x, i: topi.take(x, i, 0, mode="wrap"), lambda x, i: x[i % 5], data, index)
    fixed(
        lambda x, i: topi.take(x, i, 0, mode="nan"),
        lambda x, i: np.array([np.nan, 0, np.nan], "float32"),
        data,
        index,
    )
    with pytest.raises(WorkbenchError, match="mode is fast"):
        topi.take(te.placeholder((3,)), te.placeholder((3,), "int64"), 0, mode="other")


def test_take_scalar_and_gather() -> None:
    data = RNG.random((3, 4)).astype("float32")
    index = np.array([[0, 2, -1, 1]], "int64")
    fixed(lambda x: topi.take_scalar(x, IntImm("int64", 2), 1), lambda x: x[:, 2], data)
    fixed(lambda x, i: topi.gather(x, 0, i), lambda x, i: np.take_along_axis(x, i, 0), data, index)
    pairs = np.array([[0, 1], [2, 3]], "int64")
    fixed(topi.gather_nd, lambda x, i: x[i[:, 0], i[:, 1]], data, pairs)


def test_one_hot() -> None:
    index = np.array([1, 0, 3], "int64")
    expected = np.where(np.eye(4)[index] > 0, 5, -1).astype("float32")
    fixed(lambda i: topi.one_hot(i, 5.0, -1.0, 4, -1, "float32"), lambda i: expected, index)
    fixed(lambda i: topi.one_hot(i, 5.0, -1.0, 4, 0, "float32"), lambda i: expected.T, index)


def test_scans() -> None:
    check(lambda x: topi.cumsum(x, 1), lambda x: x.cumsum(1), X)
    check(lambda x: topi.cumprod(x, 0), lambda x: x.cumprod(0), X)
    check(lambda x: topi.cumsum(x), lambda x: x.cumsum(), X)
    check(
        lambda x: topi.cumsum(x, 2, exclusive=True),
        lambda x: np.concatenate([np.zeros((2, 3, 1)), x.cumsum(2)[:, :, :-1]], 2),
        X,
    )


def test_scatter() -> None:
    data, index = np.zeros((3, 3), "float32"), np.array([[1, 0, 2]], "int64")
    new = np.array([[1, 2, 3]], "float32")

    def update(x: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
        y = x.copy()
        np.put_along_axis(y, i, u, 0)
        return y

    fixed(topi.scatter_elements, update, data, index, new)
    where = np.array([[0, 2, 0], [1, 1, 1]], "int64")
    fixed(
        lambda x, i, u: topi.scatter_nd(x, i, u, "add"),
        lambda x, i, u: np.array([[0, 4, 0], [0, 0, 0], [0, 2, 0]], "float32"),
        data,
        where,
        np.array([1, 2, 3], "float32"),
    )


def test_concatenate_refuses_other_sizes() -> None:
    a, b = te.placeholder((2, 3)), te.placeholder((4, 5))
    with pytest.raises(WorkbenchError, match="dimension 1 differs, 3 .* and 5"):
        topi.concatenate([a, b], 0)
