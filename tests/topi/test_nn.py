"""Neural network functions of topi against onnxruntime and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from tests.topi.test_against_numpy import check, evaluate, fixed
from workbench import te, topi
from workbench.core.errors import WorkbenchError

RNG = np.random.default_rng(7)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def onnx_result(op: str, *inputs: np.ndarray | None, opset: int = 18, **attrs: Any) -> np.ndarray:
    """What onnxruntime computes."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, ["y"], **attrs)
    kinds = {
        n: onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
        for n, x in zip(names, inputs, strict=True)
        if n
    }
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, k, None) for n, k in kinds.items()],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    feed = {n: x for n, x in zip(names, inputs, strict=True) if n}
    session = ort.InferenceSession(model.SerializeToString())
    return session.run(None, feed)[0]


CONVS = [
    # data, weights, strides, pads (all before, all after), dilations, groups
    ((2, 3, 7, 8), (4, 3, 3, 3), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((1, 3, 7, 8), (4, 3, 3, 2), (2, 1), (1, 0, 2, 1), (1, 1), 1),
    ((1, 3, 9, 9), (4, 3, 3, 3), (1, 2), (2, 2, 2, 2), (2, 2), 1),
    ((1, 4, 6, 6), (6, 2, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 2),
    ((2, 4, 6, 6), (4, 1, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 4),
    ((1, 2, 6, 6), (6, 1, 5, 5), (1, 1), (2, 2, 2, 2), (1, 1), 2),
    ((1, 3, 5, 5), (2, 3, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((2, 3, 11), (4, 3, 3), (2,), (1, 2), (2,), 1),
    ((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), (1, 2, 1), (0, 1, 0, 1, 1, 0), (1, 1, 1), 1),
]


@pytest.mark.parametrize(("data", "weight", "strides", "pads", "dilations", "groups"), CONVS)
def test_conv(data: Any, weight: Any, strides: Any, pads: Any, dilations: Any, groups: int) -> None:
    layout = {3: "NCW", 4: "NCHW", 5: "NCDHW"}[len(data)]
    x, w = random(*data), random(*weight)
    got = evaluate(lambda a, b: topi.nn.conv(a, b, strides, pads, dilations, groups, layout), x, w)
    wanted = onnx_result(
        "Conv", x, w, strides=strides, pads=pads, dilations=dilations, group=groups
    )
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_conv_with_a_symbolic_batch_and_size() -> None:
    x, w = random(2, 3, 6, 6), random(4, 3, 3, 3)
    check(
        lambda a, b: topi.nn.conv2d(a, te.compute((4, 3, 3, 3), lambda *i: b(*i)), 2, 1),
        lambda a, b: onnx_result("Conv", a, b, strides=(2, 2), pads=(1, 1, 1, 1)),
        x,
        w,
        tol=1e-4,
    )


def test_conv_channels_last() -> None:
    x, w = random(1, 6, 6, 3), random(3, 3, 3, 4)
    fixed(
        lambda a, b: topi.nn.conv2d_nhwc(a, b, 1, 1, 1),
        lambda a, b: onnx_result(
            "Conv", a.transpose(0, 3, 1, 2), b.transpose(3, 2, 0, 1), pads=(1, 1, 1, 1)
        ).transpose(0, 2, 3, 1),
        x,
        w,
        tol=1e-4,
    )


def test_conv_prints_like_the_reference() -> None:
    x = te.placeholder((2, 4, 8, 8), name="data")
    w = te.placeholder((6, 4, 3, 3), name="w")
    text = te.create_prim_func([x, w, topi.nn.conv2d_nchw(x, w, 1, 1, 1)]).script()
    assert (
        "pad_temp[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(1 <= v_i2 and v_i2 < 9 and 1 <= v_i3 "
        "and v_i3 < 9, data[v_i0, v_i1, v_i2 - 1, v_i3 - 1], T.float32(0.0))"
    ) in text
    assert "for nn, ff, yy, xx, rc, ry, rx in T.grid(2, 6, 8, 8, 4, 3, 3):" in text
    assert (
        "T.reads(pad_temp[v_nn, v_rc, v_yy + v_ry, v_xx + v_rx], w[v_ff, v_rc, v_ry, v_rx])" in text
    )


def test_conv_errors() -> None:
    x, w = te.placeholder((1, 3, 8, 8)), te.placeholder((4, 2, 3, 3))
    with pytest.raises(WorkbenchError, match="3 channels"):
        topi.nn.conv2d(x, w)
    with pytest.raises(WorkbenchError, match="does not fit"):
        topi.nn.conv2d(te.placeholder((1, 2, 2, 2)), w)
    with pytest.raises(WorkbenchError, match="amounts of padding"):
        topi.nn.conv2d(x, te.placeholder((4, 3, 3, 3)), 1, (1, 1, 1))


TRANSPOSED = [
    ((1, 3, 4, 4), (3, 2, 2, 2), (2, 2), (0, 0, 0, 0), (0, 0), (1, 1), 1),
    ((2, 3, 4, 5), (3, 2, 3, 3), (2, 1), (1, 1, 1, 1), (1, 0), (1, 1), 1),
    ((1, 4, 3, 3), (4, 2, 3, 3), (1, 1), (0, 1, 2, 0), (0, 0), (1, 1), 2),
    ((1, 2, 4, 4), (2, 3, 2, 2), (1, 1), (0, 0, 0, 0), (0, 0), (2, 2), 1),
    ((1, 2, 5), (2, 3, 3), (3,), (1, 0), (2,), (1,), 1),
]


@pytest.mark.parametrize(
    ("data", "weight", "strides", "pads", "extra", "dilations", "groups"), TRANSPOSED
)
def test_conv_transpose(
    data: Any, weight: Any, strides: Any, pads: Any, extra: Any, dilations: Any, groups: int
) -> None:
    x, w = random(*data), random(*weight)
    got = evaluate(
        lambda a, b: topi.nn.conv_transpose(a, b, strides, pads, extra, dilations, groups), x, w
    )
    wanted = onnx_result(
        "ConvTranspose", x, w, strides=strides, pads=pads, output_padding=extra,
        dilations=dilations, group=groups,
    )  # fmt: skip
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


POOLS = [
    ((2, 2), (2, 2), (0, 0, 0, 0), 0, 1),
    ((3, 3), (2, 2), (1, 1, 1, 1), 0, 0),
    ((3, 3), (2, 2), (1, 1, 1, 1), 0, 1),
    ((3, 2), (1, 2), (0, 1, 0, 0), 0, 0),
    ((3, 3), (2, 2), (0, 0, 0, 0), 1, 0),
    ((2, 3), (3, 2), (1, 0, 0, 1), 1, 0),
]


@pytest.mark.parametrize(("kernel", "strides", "pads", "ceil_mode", "include"), POOLS)
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pool(
    kernel: Any, strides: Any, pads: Any, ceil_mode: int, include: int, kind: str
) -> None:
    x = random(1, 2, 7, 8)
    got = evaluate(
        lambda a: topi.nn.pool2d(
            a, kernel, strides, 1, pads, kind, bool(ceil_mode), "NCHW", bool(include)
        ),
        x,
    )
    attrs = {"kernel_shape": kernel, "strides": strides, "pads": pads, "ceil_mode": ceil_mode}
    if kind == "avg":
        attrs["count_include_pad"] = include
    wanted = _pool_by_hand(x, kernel, strides, pads, bool(ceil_mode), bool(include), kind)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def _pool_by_hand(
    x: np.ndarray, kernel: Any, strides: Any, pads: Any, ceil_mode: bool, include: bool, kind: str
) -> np.ndarray:
    """Windows one by one; a window that starts in the padding at the end does not count."""
    counts = []
    for d in range(2):
        span = x.shape[2 + d] + pads[d] + pads[2 + d] - kernel[d]
        n = (-(-span // strides[d]) if ceil_mode else span // strides[d]) + 1
        if ceil_mode and (n - 1) * strides[d] >= x.shape[2 + d] + pads[d]:
            n -= 1
        counts.append(n)
    out = np.zeros((*x.shape[:2], *counts), x.dtype)
    for i in range(counts[0]):
        for j in range(counts[1]):
            low = [p * s - b for p, s, b in zip((i, j), strides, pads[:2], strict=True)]
            high = [a + k for a, k in zip(low, kernel, strict=True)]
            sizes = x.shape[2:]
            inside = x[:, :, max(low[0], 0) : high[0], max(low[1], 0) : high[1]]
            if kind == "max":
                out[:, :, i, j] = inside.max((2, 3))
                continue
            count = inside.shape[2] * inside.shape[3]
            if include:
                ends = [min(h, s + p) for h, s, p in zip(high, sizes, pads[2:], strict=True)]
                count = (ends[0] - low[0]) * (ends[1] - low[1])
            out[:, :, i, j] = inside.sum((2, 3)) / count
    return out


def test_pool_with_dilation_1d_and_3d() -> None:
    x = random(1, 2, 9, 9)
    got = evaluate(lambda a: topi.nn.pool2d(a, 2, 1, 3, 0, "max"), x)
    np.testing.assert_array_equal(
        got,
        np.maximum.reduce([x[:, :, :6, :6], x[:, :, 3:, :6], x[:, :, :6, 3:], x[:, :, 3:, 3:]]),
    )
    y = random(1, 2, 8)
    fixed(
        lambda a: topi.nn.pool1d(a, 2, 2, 1, 0, "avg"), lambda a: a.reshape(1, 2, 4, 2).mean(3), y
    )
    z = random(1, 1, 4, 4, 4)
    fixed(
        lambda a: topi.nn.pool3d(a, 2, 2, 1, 0, "max"),
        lambda a: a.reshape(1, 1, 2, 2, 2, 2, 2, 2).max((3, 5, 7)),
        z,
    )


def test_global_and_adaptive_pool() -> None:
    x = random(2, 3, 6, 5)
    check(lambda a: topi.nn.global_pool(a, "avg"), lambda a: a.mean((2, 3), keepdims=True), x)
    check(lambda a: topi.nn.global_pool(a, "max"), lambda a: a.max((2, 3), keepdims=True), x)

    def uneven(a: np.ndarray, f: Any) -> np.ndarray:
        rows = [a[:, :, i * 6 // 4 : -(-(i + 1) * 6 // 4)] for i in range(4)]
        return np.stack(
            [
                np.stack(
                    [f(r[..., j * 5 // 2 : -(-(j + 1) * 5 // 2)], (2, 3)) for j in range(2)], -1
                )
                for r in rows
            ],
            2,
        )

    fixed(lambda a: topi.nn.adaptive_pool(a, (4, 2), "avg"), lambda a: uneven(a, np.mean), x)
    fixed(lambda a: topi.nn.adaptive_pool(a, (4, 2), "max"), lambda a: uneven(a, np.max), x)
    fixed(
        lambda a: topi.nn.adaptive_pool(a, (3, 5), "avg"),
        lambda a: a.reshape(2, 3, 3, 2, 5).mean(3),
        x,
    )


@pytest.mark.parametrize(
    ("name", "mode"),
    [("reflect_pad", "reflect"), ("replicate_pad", "edge"), ("circular_pad", "wrap"),
     ("mirror_pad", "symmetric"), ("pad", "constant")],
)  # fmt: skip
def test_pad(name: str, mode: str) -> None:
    x = random(4, 5)
    check(
        lambda a: getattr(topi.nn, name)(a, (2, 1), (1, 3)),
        lambda a: np.pad(a, ((2, 1), (1, 3)), mode=mode),
        x,
    )


def test_pad_value_negative_amounts_and_errors() -> None:
    x = random(4, 5)
    fixed(
        lambda a: topi.nn.pad(a, (1, -1), (0, 2), 7.0),
        lambda a: np.pad(a[:, 1:], ((1, 0), (0, 2)), constant_values=7),
        x,
    )
    with pytest.raises(WorkbenchError, match="cannot be reflected"):
        topi.nn.reflect_pad(te.placeholder((3,)), (3,), (0,))
    with pytest.raises(WorkbenchError, match="1 amounts"):
        topi.nn.pad(te.placeholder((3, 3)), (1,))


MATMULS = [
    ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((6, 1, 3, 4), (2, 4, 5)),
    ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4,)), ((4,), (4,)),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), MATMULS)
def test_matmul(a: Any, b: Any) -> None:
    fixed(topi.matmul, np.matmul, random(*a), random(*b))


def test_matmul_transposed_bias_and_dense() -> None:
    a, b, c = random(4, 3), random(5, 4), random(5)
    fixed(
        lambda x, y, z: topi.nn.matmul(x, y, z, None, True, True),
        lambda x, y, z: x.T @ y.T + z,
        a,
        b,
        c,
    )
    fixed(topi.nn.dense, lambda x, y, z: x @ y.T + z, random(2, 4), b, c)
    fixed(
        topi.nn.batch_matmul,
        lambda x, y: x @ y.transpose(0, 2, 1),
        random(2, 3, 4),
        random(2, 5, 4),
    )
    ints = RNG.integers(-100, 100, (3, 4)).astype("int8")
    fixed(
        lambda x: topi.nn.matmul(x, x, None, "int32", False, True),
        lambda x: x.astype("int32") @ x.astype("int32").T,
        ints,
    )
    with pytest.raises(WorkbenchError, match="inner dimensions differ"):
        topi.matmul(te.placeholder((2, 3)), te.placeholder((4, 5)))


def test_symbolic_matmul() -> None:
    check(lambda x, y: topi.matmul(x, y), np.matmul, random(3, 4), random(4, 5))


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(axis: int) -> None:
    def soft(x: np.ndarray) -> np.ndarray:
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    x = random(3, 4, 5) * 20
    check(lambda a: topi.nn.softmax(a, axis), soft, x)
    y = random(3, 4, 5)
    check(lambda a: topi.nn.log_softmax(a, axis), lambda a: np.log(soft(a)), y)


ACTIVATIONS = [
    ("relu", "Relu", {}), ("leaky_relu", "LeakyRelu", {"alpha": 0.2}),
    ("elu", "Elu", {"alpha": 0.7}),
    ("selu", "Selu", {}), ("hardsigmoid", "HardSigmoid", {"alpha": 0.2, "beta": 0.4}),
    ("hardswish", "HardSwish", {}), ("softplus", "Softplus", {}), ("softsign", "Softsign", {}),
    ("sigmoid", "Sigmoid", {}), ("tanh", "Tanh", {}), ("mish", "Mish", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "op", "attrs"), ACTIVATIONS)
def test_activation(name: str, op: str, attrs: dict[str, float]) -> None:
    x = random(5, 6) * 5
    function = getattr(topi.nn, name)
    check(lambda a: function(a, **attrs), lambda a: onnx_result(op, a, **attrs), x, tol=1e-4)


def test_more_activations() -> None:
    erf = np.vectorize(__import__("math").erf)
    x = random(5, 6) * 3
    check(topi.nn.gelu, lambda a: 0.5 * a * (1 + erf(a / 2**0.5)), x)
    check(
        topi.nn.gelu_tanh,
        lambda a: 0.5 * a * (1 + np.tanh((2 / np.pi) ** 0.5 * (a + 0.044715 * a**3))),
        x,
    )
    check(topi.nn.silu, lambda a: a / (1 + np.exp(-a)), x)
    check(topi.nn.relu6, lambda a: np.clip(a, 0, 6), x * 3)
    s = random(6)
    fixed(lambda a, b: topi.nn.prelu(a, b, 1), lambda a, b: np.where(a > 0, a, a * b), x, s)


def test_batch_norm() -> None:
    x, g, b, m, v = random(2, 3, 4), random(3), random(3), random(3), np.abs(random(3)) + 0.1

    def expected(x: Any, g: Any, b: Any, m: Any, v: Any) -> list[np.ndarray]:
        c = lambda t: t[None, :, None]
        return [(x - c(m)) / np.sqrt(c(v) + 1e-3) * c(g) + c(b), m, v]

    fixed(lambda *t: topi.nn.batch_norm(*t, 1, 1e-3), expected, x, g, b, m, v)
    fixed(
        lambda *t: topi.nn.batch_norm_inference(*t, 1, 1e-3),
        lambda *t: expected(*t)[0],
        x, g, b, m, v,
    )  # fmt: skip

    def training(x: Any, g: Any, b: Any, m: Any, v: Any) -> list[np.ndarray]:
        mean, var = x.mean((0, 2)), x.var((0, 2))
        return [expected(x, g, b, mean, var)[0], m * 0.9 + mean * 0.1, v * 0.9 + var * 0.1]

    fixed(
        lambda *t: topi.nn.batch_norm(*t, 1, 1e-3, training=True), training, x, g, b, m, v, tol=1e-4
    )


def test_layer_norm_stays_accurate_far_from_zero() -> None:
    x, g, b = random(3, 8) + 300, random(8), random(8)

    def expected(x: Any, g: Any, b: Any) -> np.ndarray:
        x = x.astype("float64")
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g + b

    fixed(lambda a, g, b: topi.nn.layer_norm(a, g, b, [1]), expected, x, g, b, tol=2e-4)


def test_other_normalisations() -> None:
    x = random(2, 4, 3, 3)
    g, b = random(4), random(4)
    fixed(
        lambda a, g, b: topi.nn.instance_norm(a, g, b, 1, [2, 3]),
        lambda a, g, b: onnx_result("InstanceNormalization", a, g, b, epsilon=1e-5),
        x, g, b, tol=1e-4,
    )  # fmt: skip

    def grouped(a: Any, g: Any, b: Any) -> np.ndarray:
        y = a.reshape(2, 2, 2, 3, 3)
        y = (y - y.mean((2, 3, 4), keepdims=True)) / np.sqrt(y.var((2, 3, 4), keepdims=True) + 1e-5)
        return y.reshape(a.shape) * g[None, :, None, None] + b[None, :, None, None]

    fixed(lambda a, g, b: topi.nn.group_norm(a, g, b, 2, 1, [2, 3]), grouped, x, g, b, tol=1e-4)
    w = random(3)
    fixed(
        lambda a, w: topi.nn.rms_norm(a, w, [3], 1e-6),
        lambda a, w: a / np.sqrt((a**2).mean(3, keepdims=True) + 1e-6) * w,
        x, w, tol=1e-4,
    )  # fmt: skip
    fixed(
        lambda a: topi.nn.lrn(a, 3, 1, 0.1, 0.75, 1.0),
        lambda a: onnx_result("LRN", a, size=3, alpha=0.1, beta=0.75, bias=1.0),
        x, tol=1e-4,
    )  # fmt: skip


RESIZES = [
    ("nearest_neighbor", "asymmetric", "floor", (8, 10)),
    ("nearest_neighbor", "half_pixel", "round_prefer_floor", (7, 3)),
    ("nearest_neighbor", "half_pixel", "round_prefer_ceil", (6, 9)),
    ("nearest_neighbor", "align_corners", "ceil", (5, 5)),
    ("linear", "half_pixel", "", (7, 9)),
    ("linear", "align_corners", "", (8, 3)),
    ("linear", "asymmetric", "", (2, 10)),
    ("linear", "pytorch_half_pixel", "", (7, 1)),
    ("cubic", "half_pixel", "", (7, 9)),
    ("cubic", "align_corners", "", (9, 8)),
]


@pytest.mark.parametrize(("method", "mode", "rounding", "size"), RESIZES)
def test_resize(method: str, mode: str, rounding: str, size: tuple[int, int]) -> None:
    x = random(1, 2, 4, 5)
    got = evaluate(
        lambda a: topi.image.resize2d(
            a, None, size, "NCHW", method, mode, rounding, bicubic_alpha=-0.75
        ),
        x,
    )
    attrs: dict[str, Any] = {"mode": method.split("_")[0], "coordinate_transformation_mode": mode}
    if rounding:
        attrs["nearest_mode"] = rounding
    wanted = onnx_result("Resize", x, None, None, np.array([1, 2, *size], "int64"), **attrs)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_cubic_without_outside_neighbours() -> None:
    x = random(1, 1, 4, 4)
    got = evaluate(
        lambda a: topi.image.resize2d(a, None, (7, 6), "NCHW", "cubic", "half_pixel", "", -0.75, 1),
        x,
    )
    wanted = onnx_result(
        "Resize", x, None, None, np.array([1, 1, 7, 6], "int64"), mode="cubic",
        coordinate_transformation_mode="half_pixel", exclude_outside=1,
    )  # fmt: skip
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_upsampling() -> None:
    x = random(1, 2, 3, 4)
    check(lambda a: topi.image.upsampling(a, 2, 3), lambda a: a.repeat(2, 2).repeat(3, 3), x)
