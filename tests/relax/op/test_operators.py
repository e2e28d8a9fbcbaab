"""Relax operators: the inferred type is the type of the result, and the result is NumPy's.

Each case runs twice: with constant shapes and with symbolic ones.
"""

# ruff: noqa: E501  (a table: one case a line)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from workbench.ir import IRModule, Var
from workbench.relax import BlockBuilder, TensorType, TupleType, const, op
from workbench.relax.interpret import interpret
from workbench.relax.op.registry import relax_ops

Array = np.ndarray[Any, Any]
Build = Callable[..., Any]


def _f(*shape: int, low: float = 0.2, high: float = 0.9) -> Array:
    return np.random.default_rng(1).uniform(low, high, shape).astype("float32")


def _i(*shape: int, low: int = 0, high: int = 4) -> Array:
    return np.random.default_rng(2).integers(low, high, shape).astype("int64")


def _b(*shape: int) -> Array:
    return _i(*shape, high=2).astype(bool)


def _erf(x: Array) -> Array:
    from math import erf

    return np.vectorize(erf)(x.astype("float64")).astype("float32")


def _softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _norm(x: Array, axes: tuple[int, ...]) -> Array:
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)


CASES: list[tuple[str, Build, list[Array], Callable[..., Any]]] = []


def case(name: str, build: Build, inputs: list[Array], expected: Callable[..., Any]) -> None:
    """Adds a case: `name` is the operator declared as relax.<name>."""
    CASES.append((name, build, inputs, expected))


for _name, _np in {
    "abs": np.abs, "acos": np.arccos, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "erf": _erf,
    "exp": np.exp, "floor": np.floor, "log": np.log, "negative": np.negative, "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "square": np.square,
    "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc, "isfinite": np.isfinite,
    "isinf": np.isinf, "isnan": np.isnan,
}.items():  # fmt: skip
    case(_name, getattr(op, _name), [_f(2, 3)], _np)
case("acosh", op.acosh, [_f(2, 3, low=1.1, high=2.0)], np.arccosh)
case("bitwise_not", op.bitwise_not, [_i(2, 3)], np.invert)
case("logical_not", op.logical_not, [_b(2, 3)], np.logical_not)
case("clip", lambda x: op.clip(x, 0.3, 0.6), [_f(2, 3)], lambda x: np.clip(x, 0.3, 0.6))
for _name, _np in {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "power": np.power, "maximum": np.maximum, "minimum": np.minimum, "atan2": np.arctan2,
    "log_add_exp": np.logaddexp, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
}.items():  # fmt: skip
    case(_name, getattr(op, _name), [_f(2, 3, 4), _f(3, 1, low=0.3)], _np)
for _name, _np in {
    "floor_divide": np.floor_divide, "mod": np.mod, "floor_mod": np.mod,
}.items():  # fmt: skip
    case(_name, getattr(op, _name), [_i(3, 4, low=-9, high=9), _i(4, low=1)], _np)
for _name, _np in {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift, "right_shift": np.right_shift,
}.items():  # fmt: skip
    case(_name, getattr(op, _name), [_i(3, 4), _i(4)], _np)
for _name, _np in {
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}.items():  # fmt: skip
    case(_name, getattr(op, _name), [_b(3, 4), _b(4)], _np)
for _name, _np in {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean,
    "variance": np.var, "std": np.std,
}.items():  # fmt: skip
    _op = getattr(op, _name)
    case(_name, _op, [_f(2, 3, 4)], lambda x, f=_np: np.asarray(f(x)))
    case(_name, lambda x, o=_op: o(x, [0, -1]), [_f(2, 3, 4)], lambda x, f=_np: f(x, axis=(0, 2)))
    case(
        _name,
        lambda x, o=_op: o(x, 1, True),
        [_f(2, 3)],
        lambda x, f=_np: f(x, axis=1, keepdims=True),
    )
case("argmax", lambda x: op.argmax(x, 1), [_f(3, 4)], lambda x: x.argmax(1))
case("argmin", lambda x: op.argmin(x, 0, True), [_f(3, 4)], lambda x: x.argmin(0, keepdims=True))
case("cumsum", lambda x: op.cumsum(x, 1), [_f(3, 4)], lambda x: x.cumsum(1))
case("cumsum", op.cumsum, [_f(3, 4)], lambda x: x.cumsum())
case("cumprod", lambda x: op.cumprod(x, 0), [_f(3, 4)], lambda x: x.cumprod(0))
case("matmul", op.matmul, [_f(2, 5, 3), _f(3, 4)], np.matmul)
case("matmul", op.matmul, [_f(3), _f(3, 4)], np.matmul)
case("outer", op.outer, [_f(3), _f(4)], np.outer)
case("reshape", lambda x: op.reshape(x, [3, -1]), [_f(2, 3, 4)], lambda x: x.reshape(3, -1))
case("reshape", lambda x: op.reshape(x, [0, 12]), [_f(2, 3, 4)], lambda x: x.reshape(2, 12))
case("flatten", op.flatten, [_f(2, 3)], np.ravel)
case("permute_dims", op.permute_dims, [_f(2, 3, 4)], np.transpose)
case(
    "permute_dims",
    lambda x: op.permute_dims(x, [1, -1, 0]),
    [_f(2, 3, 4)],
    lambda x: x.transpose(1, 2, 0),
)
case("expand_dims", lambda x: op.expand_dims(x, [0, -1]), [_f(2, 3)], lambda x: x[None, ..., None])
case("squeeze", lambda x: op.squeeze(x, [0]), [_f(1, 3)], lambda x: x[0])
case(
    "concat",
    lambda a, b: op.concat([a, b], 1),
    [_f(2, 3), _f(2, 5)],
    lambda a, b: np.concatenate([a, b], 1),
)
case(
    "stack",
    lambda a, b: op.stack([a, b], 1),
    [_f(2, 3), _f(2, 3)],
    lambda a, b: np.stack([a, b], 1),
)
case("split", lambda x: op.split(x, 2, 1), [_f(3, 4)], lambda x: tuple(np.split(x, 2, 1)))
case("split", lambda x: op.split(x, [1, 3], 0), [_f(5, 2)], lambda x: tuple(np.split(x, [1, 3], 0)))
case(
    "broadcast_to",
    lambda x: op.broadcast_to(x, [2, 3, 4]),
    [_f(3, 1)],
    lambda x: np.broadcast_to(x, (2, 3, 4)),
)
case("repeat", lambda x: op.repeat(x, 2, 1), [_f(2, 3)], lambda x: x.repeat(2, 1))
case("repeat", lambda x: op.repeat(x, 2), [_f(2, 3)], lambda x: x.repeat(2))
case("tile", lambda x: op.tile(x, [2, 3]), [_f(2, 3)], lambda x: np.tile(x, (2, 3)))
case("flip", lambda x: op.flip(x, 1), [_f(2, 3)], lambda x: x[:, ::-1])
case(
    "gather_elements",
    lambda x, i: op.gather_elements(x, i, 1),
    [_f(3, 4), _i(3, 2)],
    lambda x, i: np.take_along_axis(x, i, 1),
)
case("gather_nd", op.gather_nd, [_f(4, 4, 2), _i(3, 2)], lambda x, i: x[i[:, 0], i[:, 1]])
case(
    "one_hot",
    lambda i: op.one_hot(i, const(1.0), const(0.0), 4),
    [_i(3)],
    lambda i: np.eye(4, dtype="float32")[i],
)
case("take", lambda x, i: op.take(x, i, 1), [_f(2, 4), _i(3)], lambda x, i: x.take(i, 1))
case("take", lambda x, i: op.take(x, i), [_f(2, 4), _i(3)], lambda x, i: x.take(i))
case(
    "strided_slice",
    lambda x: op.strided_slice(x, [0, 1], [1, -3], [5, -1], [2, 1]),
    [_f(6, 5)],
    lambda x: x[1:5:2, -3:-1],
)
case("where", op.where, [_b(2, 3), _f(2, 3), _f(3)], np.where)
case("astype", lambda x: op.astype(x, "int32"), [_f(2, 3, high=5.0)], lambda x: x.astype("int32"))
case("full", lambda: op.full([2, 3], 1.5), [], lambda: np.full((2, 3), 1.5, "float32"))
case("zeros", lambda: op.zeros([2, 3], "int32"), [], lambda: np.zeros((2, 3), "int32"))
case("ones", lambda: op.ones([2], "float32"), [], lambda: np.ones(2, "float32"))
case("zeros_like", op.zeros_like, [_f(2, 3)], np.zeros_like)
case(
    "ones_like", lambda x: op.ones_like(x, "int32"), [_f(2, 3)], lambda x: np.ones_like(x, "int32")
)
case("full_like", lambda x: op.full_like(x, 2.0), [_f(2, 3)], lambda x: np.full_like(x, 2.0))
case("arange", lambda: op.arange(1, 10, 3), [], lambda: np.arange(1, 10, 3))
case("tril", lambda x: op.tril(x, 1), [_f(3, 4)], lambda x: np.tril(x, 1))
case("triu", op.triu, [_f(2, 3, 4)], np.triu)
for _name, _np in {
    "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6),
    "silu": lambda x: x / (1 + np.exp(-x)), "softmax": _softmax,
    "log_softmax": lambda x: np.log(_softmax(x)),
    "gelu": lambda x: x * (1 + _erf(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "leakyrelu": lambda x: np.where(x > 0, x, 0.01 * x),
}.items():  # fmt: skip
    case(f"nn.{_name}", getattr(op.nn, _name), [_f(2, 5, low=-2.0, high=7.0)], _np)
case(
    "nn.prelu",
    op.nn.prelu,
    [_f(2, 3, 4, low=-1.0), _f(3)],
    lambda x, a: np.where(x > 0, x, x * a[:, None]),
)
case("nn.softmax", lambda x: op.nn.softmax(x, 0), [_f(2, 5)], lambda x: _softmax(x, 0))
case(
    "nn.layer_norm",
    lambda x, g, b: op.nn.layer_norm(x, g, b, [-1]),
    [_f(2, 3, 4), _f(4), _f(4)],
    lambda x, g, b: _norm(x, (2,)) * g + b,
)
case(
    "nn.rms_norm",
    lambda x, g: op.nn.rms_norm(x, g, [-1]),
    [_f(2, 4), _f(4)],
    lambda x, g: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * g,
)
case(
    "nn.instance_norm",
    lambda x, g, b: op.nn.instance_norm(x, g, b, 1, [2, 3]),
    [_f(2, 3, 4, 4), _f(3), _f(3)],
    lambda x, g, b: _norm(x, (2, 3)) * g[:, None, None] + b[:, None, None],
)
case("nn.group_norm", lambda x, g, b: op.nn.group_norm(x, g, b, 2, 1, [2, 3]), [_f(2, 4, 3, 3), _f(4), _f(4)],
     lambda x, g, b: _norm(x.reshape(2, 2, 2, 3, 3), (2, 3, 4)).reshape(x.shape) * g[:, None, None] + b[:, None, None])  # fmt: skip
case("nn.batch_norm", lambda *a: op.nn.batch_norm(*a, axis=1, training=False), [_f(2, 3, 4), _f(3), _f(3), _f(3), _f(3)],
     lambda x, g, b, m, v: ((x - m[:, None]) / np.sqrt(v[:, None] + 1e-5) * g[:, None] + b[:, None], m, v))  # fmt: skip
case(
    "nn.pad",
    lambda x: op.nn.pad(x, [1, 2, 0, 1], pad_value=0.5),
    [_f(3, 4)],
    lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=0.5),
)
for _mode, _np in {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}.items():
    case(
        "nn.pad",
        lambda x, m=_mode: op.nn.pad(x, [1, 2, 0, 1], m),
        [_f(4, 4)],
        lambda x, m=_np: np.pad(x, ((1, 2), (0, 1)), mode=m),
    )
case("nn.dropout", op.nn.dropout, [_f(2, 3)], lambda x: (x, np.ones_like(x)))


def _loop_conv(x: Array, w: Array, stride: int = 1) -> Array:
    n, _, h, width = x.shape
    o, _, kh, kw = w.shape
    out = np.zeros((n, o, (h - kh) // stride + 1, (width - kw) // stride + 1), "float32")
    for i in range(out.shape[2]):
        for j in range(out.shape[3]):
            patch = x[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw]
            out[:, :, i, j] = np.einsum("nchw,ochw->no", patch, w)
    return out


case(
    "nn.conv2d",
    lambda x, w: op.nn.conv2d(x, w, 2),
    [_f(2, 3, 7, 6), _f(4, 3, 3, 2)],
    lambda x, w: _loop_conv(x, w, 2),
)
case(
    "nn.conv1d",
    op.nn.conv1d,
    [_f(2, 3, 7), _f(4, 3, 3)],
    lambda x, w: _loop_conv(x[:, :, None], w[:, :, None])[:, :, 0],
)
case(
    "nn.max_pool2d",
    lambda x: op.nn.max_pool2d(x, 2, 2),
    [_f(1, 2, 4, 6)],
    lambda x: x.reshape(1, 2, 2, 2, 3, 2).max((3, 5)),
)
case(
    "nn.avg_pool2d",
    lambda x: op.nn.avg_pool2d(x, 2, 2),
    [_f(1, 2, 4, 6)],
    lambda x: x.reshape(1, 2, 2, 2, 3, 2).mean((3, 5)),
)
case(
    "nn.max_pool1d",
    lambda x: op.nn.max_pool1d(x, 2, 2),
    [_f(1, 2, 6)],
    lambda x: x.reshape(1, 2, 3, 2).max(3),
)
case(
    "nn.adaptive_avg_pool2d",
    lambda x: op.nn.adaptive_avg_pool2d(x, 1),
    [_f(1, 2, 4, 6)],
    lambda x: x.mean((2, 3), keepdims=True),
)
case(
    "image.resize2d",
    lambda x: op.image.resize2d(
        x,
        [4, 6],
        method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric",
        rounding_method="floor",
    ),
    [_f(1, 2, 2, 3)],
    lambda x: x.repeat(2, 2).repeat(2, 3),
)


def _softmax_attention(q: Array, k: Array, v: Array, mask: Any = None, bias: Any = 0.0) -> Array:
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * np.float32(q.shape[-1] ** -0.5) + bias
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return np.einsum("bhqk,bkhd->bqhd", _softmax(scores), v).astype("float32")


def _added(x: Array, where: Any, new: Array) -> Array:
    out = x.copy()
    np.add.at(out, where, new)
    return out


def _put(x: Array, where: Any, new: Array) -> Array:
    out = x.copy()
    out[where] = new
    return out


_BINS = np.array([0.3, 0.5, 0.5, 0.7], "float32")
_SCALE, _ZERO = np.array([0.1, 0.2, 0.3], "float32"), np.array([1, 0, 2], "int8")
case("sort", lambda x: op.sort(x, axis=0), [_f(4, 3)], lambda x: np.sort(x, 0))
case(
    "sort",
    lambda x: op.sort(x, descending=True),
    [np.array([[1, np.nan, 3, 2, np.nan]], "float32")],
    lambda x: np.array([[np.nan, np.nan, 3, 2, 1]], "float32"),
)
case(
    "argsort",
    lambda x: op.argsort(x, axis=-1, dtype="int64"),
    [_i(3, 9)],
    lambda x: np.argsort(x, -1, kind="stable"),
)
case(
    "topk",
    lambda x: op.topk(x, 2, axis=1, dtype="int64"),
    [_f(3, 5)],
    lambda x: (-np.sort(-x, 1)[:, :2], np.argsort(-x, 1, kind="stable")[:, :2]),
)
case(
    "topk",
    lambda x: op.topk(x, 3, axis=1, ret_type="values", largest=False),
    [_f(3, 5)],
    lambda x: np.sort(x, 1)[:, :3],
)
case("bucketize", op.bucketize, [_f(4, 3), _BINS], lambda x, b: np.searchsorted(b, x))
case(
    "bucketize",
    lambda x, b: op.bucketize(x, b, out_int32=True, right=True),
    [np.array([0.5, 0.1, 0.9], "float32"), _BINS],
    lambda x, b: np.searchsorted(b, x, "right").astype("int32"),
)
case(
    "einsum",
    lambda x, y: op.einsum((x, y), "bij,bkj->bik"),
    [_f(2, 3, 4), _f(2, 5, 4)],
    lambda x, y: np.einsum("bij,bkj->bik", x, y),
)
case("einsum", lambda x: op.einsum((x,), "iji->j"), [_f(3, 2, 3)], lambda x: np.einsum("iji->j", x))
case("ewise_fma", op.ewise_fma, [_f(2, 3), _f(2, 3), _f(2, 3)], lambda x, y, z: x * y + z)
case("collapse_sum_to", lambda x: op.collapse_sum_to(x, (3, 1)), [_f(2, 3, 4)],
     lambda x: x.sum((0, 2), keepdims=True)[0])  # fmt: skip
case("collapse_sum_like", op.collapse_sum_like, [_f(2, 3, 4), _f(1, 4)],
     lambda x, y: x.sum((0, 1), keepdims=True)[0])  # fmt: skip
case("meshgrid", lambda a, b: op.meshgrid((a, b)), [_f(2), _f(3)],
     lambda a, b: tuple(np.meshgrid(a, b, indexing="ij")))  # fmt: skip
case("where", lambda x, m: op.masked_fill(x, m, 9.0), [_f(2, 3), _b(2, 3)],
     lambda x, m: np.where(m, np.float32(9), x))  # fmt: skip
case("eye", lambda: op.eye(3, 4, 1, "int32"), [], lambda: np.eye(3, 4, 1, "int32"))
case(
    "eye_like", lambda x: op.eye_like(x, -1), [_f(3, 3)], lambda x: np.eye(3, k=-1, dtype="float32")
)
case("hamming_window", lambda: op.hamming_window(6, False, 0.54, 0.46, "float32"), [],
     lambda: np.hamming(6).astype("float32"))  # fmt: skip
case("quantize", lambda x, s, z: op.quantize(x * const(100.0), s, z, axis=1),
     [_f(2, 3, low=-1), _SCALE, _ZERO],
     lambda x, s, z: np.clip(np.round(x * np.float32(100) / s) + z, -128, 127).astype("int8"))  # fmt: skip
case("dequantize", lambda x, s, z: op.dequantize(x, s, z, axis=1),
     [_i(2, 3, low=-100, high=100).astype("int8"), _SCALE, _ZERO],
     lambda x, s, z: (x.astype("float32") - z) * s)  # fmt: skip
case("size", op.size, [_f(2, 3)], lambda x: np.array(x.size, "int64"))
case("scatter_elements", lambda x, i, u: op.scatter_elements(x, i, u, axis=1, reduction="add"),
     [_f(2, 5), _i(2, 3, high=5), _f(2, 3)],
     lambda x, i, u: _added(x, (np.arange(2)[:, None], i), u))  # fmt: skip
case("scatter_nd", op.scatter_nd,
     [_f(3, 4), np.array([[0, 1], [2, 3]], "int64"), _f(2)],
     lambda x, i, u: _put(x, tuple(i.T), u))  # fmt: skip
case("index_tensor", lambda x, i, j: op.index_tensor(x, (i, j)),
     [_f(4, 4, 2), _i(3, 1), _i(1, 2)], lambda x, i, j: x[i, j])  # fmt: skip
case("index_put", lambda x, i, v: op.index_put(x, (i,), v, accumulate=True),
     [_f(4, 2), _i(3), _f(3, 2)], lambda x, i, v: _added(x, (i,), v))  # fmt: skip
case("slice_scatter", lambda x, y: op.slice_scatter(x, y, 1, -1, 2, axis=1),
     [_f(2, 6), _f(2, 2)], lambda x, y: _put(x, np.s_[:, 1:-1:2], y))  # fmt: skip
case("reverse_sequence", op.reverse_sequence, [_f(2, 4), np.array([3, 1], "int64")],
     lambda x, n: np.stack([np.r_[x[0, 2::-1], x[0, 3:]], x[1]]))  # fmt: skip
case("nn.attention", op.nn.attention, [_f(2, 3, 2, 4), _f(2, 5, 2, 4), _f(2, 5, 2, 4)],
     _softmax_attention)  # fmt: skip
case("nn.attention", lambda q, k, v: op.nn.attention(q, k, v, causal_mask="BottomRight"),
     [_f(1, 3, 2, 4), _f(1, 5, 2, 4), _f(1, 5, 2, 4)],
     lambda q, k, v: _softmax_attention(q, k, v, np.tril(np.ones((3, 5)), 2) > 0))  # fmt: skip
case("nn.attention_bias", op.nn.attention,
     [_f(1, 3, 2, 4), _f(1, 5, 2, 4), _f(1, 5, 2, 4), _f(1, 2, 3, 5)],
     lambda q, k, v, b: _softmax_attention(q, k, v, None, b))  # fmt: skip
case("nn.cross_entropy_with_logits", op.nn.cross_entropy_with_logits, [_f(2, 3), _f(2, 3)],
     lambda x, y: np.array(-(x * y).sum() / 2, "float32"))  # fmt: skip
case("nn.nll_loss", lambda p, t, w: op.nn.nll_loss(p, t, w, "mean"),
     [_f(4, 3), np.array([0, 2, 1, 2], "int64"), _f(3)],
     lambda p, t, w: np.array(-(p[np.arange(4), t] * w[t]).sum() / w[t].sum(), "float32"))  # fmt: skip
case("nn.nll_loss", lambda p, t: op.nn.nll_loss(p, t, None, "none", 1),
     [_f(3, 3), np.array([0, 2, 1], "int64")],
     lambda p, t: np.where(t == 1, np.float32(0), -p[np.arange(3), t]))  # fmt: skip
case("nn.pixel_shuffle", lambda x: op.nn.pixel_shuffle(x, 2), [_f(1, 8, 2, 3)],
     lambda x: x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6))  # fmt: skip


def _module(build: Build, types: list[TensorType]) -> IRModule:
    params = [Var(f"x{i}", t) for i, t in enumerate(types)]
    bb = BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(build(*params))
        bb.emit_func_output(out)
    return bb.get()


def _check(ty: Any, got: Any, want: Any) -> None:
    if isinstance(want, tuple):
        assert isinstance(ty, TupleType)
        for t, g, w in zip(ty.fields, got, want, strict=True):
            _check(t, g, w)
        return
    assert isinstance(ty, TensorType)
    assert ty.ndim == want.ndim
    assert got.shape == want.shape
    assert str(ty.dtype) == str(got.dtype)
    if want.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)
    else:
        assert np.array_equal(got, want)


_IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(CASES)]


@pytest.mark.parametrize(("name", "build", "inputs", "expected"), CASES, ids=_IDS)
def test_with_constant_shapes(
    name: str, build: Build, inputs: list[Array], expected: Build
) -> None:
    mod = _module(build, [TensorType(x.shape, str(x.dtype)) for x in inputs])
    ty, want = mod["main"].ret_ty, expected(*inputs)  # type: ignore[attr-defined]
    _check(ty, interpret(mod, *inputs), want)
    flat = zip(
        ty.fields if isinstance(want, tuple) else [ty],
        want if isinstance(want, tuple) else [want],
        strict=True,
    )
    for t, w in flat:
        assert [d.value for d in t.dims] == list(w.shape)


@pytest.mark.parametrize(
    ("name", "build", "inputs", "expected"),
    [c for c in CASES if c[2] and c[0] not in ("split", "squeeze", "reshape", "broadcast_to")],
)
def test_with_a_symbolic_first_dimension(
    name: str, build: Build, inputs: list[Array], expected: Build
) -> None:
    """All inputs with the extent of the first one share its symbol."""
    n = Var("n", "int64")
    extent = inputs[0].shape[0]
    types = [
        TensorType(
            [
                n if i == 0 and d == extent and x.ndim == inputs[0].ndim else d
                for i, d in enumerate(x.shape)
            ],
            str(x.dtype),
        )
        for x in inputs
    ]
    mod = _module(build, types)
    _check(mod["main"].ret_ty, interpret(mod, *inputs), expected(*inputs))  # type: ignore[attr-defined]


#: Operators without a case here, and where they are tested instead.
ELSEWHERE = {
    "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose",
    "nn.max_pool3d", "nn.avg_pool1d", "nn.avg_pool3d", "nn.adaptive_avg_pool1d",
    "nn.adaptive_avg_pool3d",  # against onnxruntime in tests/relax/frontend and tests/topi
    "call_tir", "call_tir_inplace", "call_dps_packed", "call_pure_packed", "shape_of",
    "tensor_to_shape", "shape_to_tensor", "null_value", "print", "assert_op",  # test_calls
}  # fmt: skip


def test_every_operator_with_loops_has_a_case() -> None:
    named = {name for name, *_ in CASES} | ELSEWHERE
    missing = {n.removeprefix("relax.") for n in relax_ops.names()} - named
    missing = {n for n in missing if not n.startswith(("memory.", "builtin.", "vm."))}
    assert not missing


def test_a_call_that_does_not_fit_names_the_operator_and_its_signature():
    with pytest.raises(TypeError, match=r"relax\.add: too many .* is relax\.add\(x1, x2\)"):
        op.add(1, 2, 3)
    with pytest.raises(TypeError, match=r"relax\.nn\.relu: missing .* 'data'.*relu\(data\)"):
        op.nn.relu()
