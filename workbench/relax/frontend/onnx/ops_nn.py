"""ONNX operators: convolutions, pooling, normalisation, activations, resize."""

from __future__ import annotations

from typing import Any

from workbench.ir.expr import Expr, IntImm
from workbench.relax import op
from workbench.relax.expr import TupleGetItem
from workbench.relax.frontend.onnx.ops_math import scalar_like
from workbench.relax.frontend.onnx.registry import NodeContext, onnx_op
from workbench.relax.op.infer import simplify
from workbench.relax.op.manipulate import product


def _constant_dims(node: NodeContext, dims: Any, what: str) -> list[int]:
    out = []
    for dim in dims:
        if not isinstance(dim, IntImm):
            raise node.fail(f"{what} must be constant, got {dim}")
        out.append(dim.value)
    return out


def _pads(
    node: NodeContext, x: Expr, kernel: list[int], strides: list[int], dilation: list[int]
) -> list[int]:
    """Explicit pads, or those that `auto_pad` asks for."""
    mode = node.attr("auto_pad", "NOTSET")
    spatial = len(kernel)
    if mode in ("NOTSET", ""):
        return list(node.attr("pads", [0] * (2 * spatial)))
    if mode == "VALID":
        return [0] * (2 * spatial)
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise node.fail(f"unknown auto_pad {mode!r}")
    before, after = [], []
    for i, size in enumerate(_constant_dims(node, node.dims(x)[2:], "with auto_pad, the size")):
        reach = (kernel[i] - 1) * dilation[i] + 1
        windows = -(-size // strides[i])
        total = max(0, (windows - 1) * strides[i] + reach - size)
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
    return before + after


def _bias(node: NodeContext, out: Expr, index: int, spatial: int) -> Expr:
    if not node.has(index):
        return out
    return op.add(out, op.reshape(node.tensor(index), [1, -1] + [1] * spatial))


@onnx_op("Conv")
def conv(node: NodeContext) -> Expr:
    x, weight = node.tensor(0), node.tensor(1)
    kernel = node.attr("kernel_shape") or _constant_dims(
        node, node.dims(weight)[2:], "the kernel shape"
    )
    spatial = len(kernel)
    function = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}.get(spatial)
    if function is None:
        raise node.fail(f"convolution over {spatial} dimensions (1 to 3 are supported)")
    strides = list(node.attr("strides", [1] * spatial))
    dilation = list(node.attr("dilations", [1] * spatial))
    pads = _pads(node, x, list(kernel), strides, dilation)
    out = function(x, weight, strides, pads, dilation, groups=node.attr("group", 1))
    return _bias(node, out, 2, spatial)


@onnx_op("ConvTranspose")
def conv_transpose(node: NodeContext) -> Expr:
    x, weight = node.tensor(0), node.tensor(1)
    kernel = list(
        node.attr("kernel_shape") or _constant_dims(node, node.dims(weight)[2:], "the kernel shape")
    )
    spatial = len(kernel)
    function = {
        1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose,
    }.get(spatial)  # fmt: skip
    if function is None:
        raise node.fail(f"transposed convolution over {spatial} dimensions")
    strides = list(node.attr("strides", [1] * spatial))
    dilation = list(node.attr("dilations", [1] * spatial))
    extra = list(node.attr("output_padding", [0] * spatial))
    mode = node.attr("auto_pad", "NOTSET")
    shape = node.attr("output_shape")
    if shape is not None or mode in ("SAME_UPPER", "SAME_LOWER"):
        sizes = _constant_dims(node, node.dims(x)[2:], "with output_shape, the size")
        shape = (
            list(shape)
            if shape is not None
            else [s * t for s, t in zip(sizes, strides, strict=True)]
        )
        before, after = [], []
        for i in range(spatial):
            full = strides[i] * (sizes[i] - 1) + extra[i] + (kernel[i] - 1) * dilation[i] + 1
            wanted = shape[-spatial:][i]
            extra[i] += max(0, wanted - full)
            total = max(0, full - wanted)
            small, large = total // 2, total - total // 2
            before.append(small if mode == "SAME_UPPER" else large)
            after.append(large if mode == "SAME_UPPER" else small)
        pads = before + after
    else:
        pads = list(node.attr("pads", [0] * (2 * spatial)))
    out = function(x, weight, strides, pads, extra, dilation, groups=node.attr("group", 1))
    return _bias(node, out, 2, spatial)


def _pool(node: NodeContext, kind: str) -> Expr:
    x = node.tensor(0)
    kernel = list(node.attr("kernel_shape"))
    spatial = len(kernel)
    function = getattr(op.nn, f"{kind}_pool{spatial}d", None)
    if function is None:
        raise node.fail(f"pooling over {spatial} dimensions (1 to 3 are supported)")
    strides = list(node.attr("strides", [1] * spatial))
    dilation = list(node.attr("dilations", [1] * spatial))
    pads = _pads(node, x, kernel, strides, dilation)
    return function(
        x, kernel, strides, pads, dilation, bool(node.attr("ceil_mode", 0)),
        bool(node.attr("count_include_pad", 0)),
    )  # fmt: skip


@onnx_op("MaxPool")
def max_pool(node: NodeContext) -> Expr:
    if node.outputs > 1:
        raise node.fail("the second output (Indices) is not supported")
    return _pool(node, "max")


@onnx_op("AveragePool")
def average_pool(node: NodeContext) -> Expr:
    return _pool(node, "avg")


def _spatial_axes(node: NodeContext, x: Expr) -> tuple[int, ...]:
    return tuple(range(2, node.rank(x)))


@onnx_op("GlobalAveragePool")
def global_average_pool(node: NodeContext) -> Expr:
    x = node.tensor(0)
    return op.mean(x, _spatial_axes(node, x), True)


@onnx_op("GlobalMaxPool")
def global_max_pool(node: NodeContext) -> Expr:
    x = node.tensor(0)
    return op.max(x, _spatial_axes(node, x), True)


@onnx_op("BatchNormalization")
def batch_norm(node: NodeContext) -> Any:
    if node.attr("training_mode", 0):
        raise node.fail("training_mode=1 is not supported: export the model for inference")
    result = node.bb.emit(
        op.nn.batch_norm(
            *(node.tensor(i) for i in range(5)),
            axis=1,
            epsilon=node.attr("epsilon", 1e-5),
            training=False,
        )
    )
    return TupleGetItem(result, 0)


@onnx_op("InstanceNormalization")
def instance_norm(node: NodeContext) -> Expr:
    x = node.tensor(0)
    return op.nn.instance_norm(
        x, node.tensor(1), node.tensor(2), 1, _spatial_axes(node, x), node.attr("epsilon", 1e-5)
    )


@onnx_op("LayerNormalization")
def layer_norm(node: NodeContext) -> Expr:
    x = node.tensor(0)
    rank = node.rank(x)
    axis = node.attr("axis", -1) % rank
    axes = list(range(axis, rank))
    gamma = node.tensor(1)
    beta = node.tensor(2) if node.has(2) else op.zeros_like(gamma)
    if node.outputs > 1:
        raise node.fail("the outputs Mean and InvStdDev are not supported")
    return op.nn.layer_norm(x, gamma, beta, axes, node.attr("epsilon", 1e-5))


@onnx_op("GroupNormalization")
def group_norm(node: NodeContext) -> Expr:
    x = node.tensor(0)
    if node.opset < 21:
        raise node.fail("the per-group form of opset 18 is not supported")
    return op.nn.group_norm(
        x, node.tensor(1), node.tensor(2), node.attr("num_groups"), 1, _spatial_axes(node, x),
        node.attr("epsilon", 1e-5),
    )  # fmt: skip


@onnx_op("Relu")
def relu(node: NodeContext) -> Expr:
    return op.nn.relu(node.tensor(0))


@onnx_op("Softsign")
def softsign(node: NodeContext) -> Expr:
    x = node.tensor(0)
    return op.divide(x, op.add(scalar_like(1.0, x), op.abs(x)))


@onnx_op("Mish")
def mish(node: NodeContext) -> Expr:
    x = node.tensor(0)
    return op.multiply(x, op.tanh(op.nn.softplus(x)))


@onnx_op("Softplus")
def softplus(node: NodeContext) -> Expr:
    return op.nn.softplus(node.tensor(0))


@onnx_op("LeakyRelu")
def leaky_relu(node: NodeContext) -> Expr:
    return op.nn.leakyrelu(node.tensor(0), node.attr("alpha", 0.01))


@onnx_op("PRelu")
def prelu(node: NodeContext) -> Expr:
    x, slope = node.tensor(0), node.tensor(1)
    negative = op.multiply(slope, x)
    return op.where(op.greater(x, scalar_like(0.0, x)), x, negative)


@onnx_op("ThresholdedRelu")
def thresholded_relu(node: NodeContext) -> Expr:
    x = node.tensor(0)
    bound = scalar_like(node.attr("alpha", 1.0), x)
    return op.where(op.greater(x, bound), x, scalar_like(0.0, x))


@onnx_op("Elu")
def elu(node: NodeContext) -> Expr:
    x = node.tensor(0)
    zero = scalar_like(0.0, x)
    below = op.multiply(
        scalar_like(node.attr("alpha", 1.0), x),
        op.subtract(op.exp(op.minimum(x, zero)), scalar_like(1.0, x)),
    )
    return op.where(op.greater(x, zero), x, below)


@onnx_op("Selu")
def selu(node: NodeContext) -> Expr:
    x = node.tensor(0)
    alpha = node.attr("alpha", 1.6732632423543772)
    gamma = node.attr("gamma", 1.0507009873554805)
    zero = scalar_like(0.0, x)
    below = op.multiply(
        scalar_like(alpha, x), op.subtract(op.exp(op.minimum(x, zero)), scalar_like(1.0, x))
    )
    return op.multiply(scalar_like(gamma, x), op.where(op.greater(x, zero), x, below))


@onnx_op("Gelu")
def gelu(node: NodeContext) -> Expr:
    function = op.nn.gelu_tanh if node.attr("approximate", "none") == "tanh" else op.nn.gelu
    return function(node.tensor(0))


def _hard_sigmoid(x: Expr, alpha: float, beta: float) -> Expr:
    return op.clip(op.add(op.multiply(x, scalar_like(alpha, x)), scalar_like(beta, x)), 0.0, 1.0)


@onnx_op("HardSigmoid")
def hard_sigmoid(node: NodeContext) -> Expr:
    return _hard_sigmoid(node.tensor(0), node.attr("alpha", 0.2), node.attr("beta", 0.5))


@onnx_op("HardSwish")
def hard_swish(node: NodeContext) -> Expr:
    x = node.tensor(0)
    return op.multiply(x, _hard_sigmoid(x, 1.0 / 6.0, 0.5))


def _softmax(node: NodeContext, function: Any) -> Expr:
    """Before opset 13 the dimensions from `axis` on count as one."""
    x = node.tensor(0)
    if node.opset >= 13:
        return function(x, node.attr("axis", -1))
    rank = node.rank(x)
    axis = node.attr("axis", 1) % max(rank, 1)
    if axis == rank - 1:
        return function(x, -1)
    dims = node.dims(x)
    flat = op.reshape(x, [product(dims[:axis]), product(dims[axis:])])
    return op.reshape(function(flat, -1), list(dims))


@onnx_op("Softmax")
def softmax(node: NodeContext) -> Expr:
    return _softmax(node, op.nn.softmax)


@onnx_op("LogSoftmax")
def log_softmax(node: NodeContext) -> Expr:
    return _softmax(node, op.nn.log_softmax)


@onnx_op("Dropout")
def dropout(node: NodeContext) -> Any:
    if node.opset >= 12 and node.has(2) and bool(node.array(2, "training_mode").reshape(-1)[0]):
        raise node.fail("training_mode=1 is not supported: export the model for inference")
    x = node.tensor(0)
    if node.outputs == 1:
        return x
    return [x, op.ones_like(x, "bool")]


@onnx_op("Pad")
def pad(node: NodeContext) -> Expr:
    x = node.tensor(0)
    rank = node.rank(x)
    pads = node.attr("pads") if node.opset < 11 else node.ints(1, "pads")
    value = node.attr("value", 0.0)
    if node.opset >= 11 and node.has(2):
        value = float(node.array(2, "constant_value").reshape(-1)[0])
    axes = list(range(rank))
    if node.has(3):
        axes = [a % rank for a in node.ints(3, "axes")]
    if len(pads) != 2 * len(axes):
        raise node.fail(f"{len(pads)} pads for {len(axes)} axes: expected {2 * len(axes)}")
    width = [[0, 0] for _ in range(rank)]
    for i, axis in enumerate(axes):
        width[axis] = [int(pads[i]), int(pads[len(axes) + i])]
    mode = node.attr("mode", "constant")
    names = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    if mode not in names:
        raise node.fail(f"unknown mode {mode!r}")
    if any(w < 0 for pair in width for w in pair):
        x = _crop(x, width)
        width = [[max(0, w) for w in pair] for pair in width]
        if not any(w for pair in width for w in pair):
            return x
    return op.nn.pad(x, width, names[mode], value)


def _crop(x: Expr, width: list[list[int]]) -> Expr:
    """Negative pads remove elements."""
    axes = [i for i, pair in enumerate(width) if min(pair) < 0]
    begin = [max(0, -width[a][0]) for a in axes]
    end = [width[a][1] if width[a][1] < 0 else (1 << 31) for a in axes]
    return op.strided_slice(x, axes, begin, end)


@onnx_op("Resize", "Upsample")
def resize(node: NodeContext) -> Expr:
    """Images (rank 4), scaled in height and width."""
    x = node.tensor(0)
    dims = node.dims(x)
    if len(dims) != 4:
        raise node.fail(f"only images with 4 dimensions are supported, got {len(dims)}")
    if node.attr("axes") is not None or node.attr("antialias", 0):
        raise node.fail("axes and antialias are not supported")
    scale_input = 1 if node.op_type == "Upsample" or node.opset < 11 else 2
    sizes: list[Any] | None = None
    if node.op_type == "Resize" and node.opset >= 11 and node.has(3):
        given = node.host(3, "sizes").items
        sizes = list(given[2:]) if given else None
    if sizes is None:
        scales = (
            node.attr("scales")
            if node.op_type == "Upsample" and not node.has(1)
            else node.array(scale_input, "scales").reshape(-1).tolist()
        )
        if len(scales) != 4 or scales[0] != 1 or scales[1] != 1:
            raise node.fail(f"batch and channels cannot be scaled: scales {list(scales)}")
        sizes = [_scaled(node, d, s) for d, s in zip(dims[2:], scales[2:], strict=True)]
    mode = node.attr("mode", "nearest")
    method = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}.get(mode)
    if method is None:
        raise node.fail(f"unknown mode {mode!r}")
    default = "half_pixel" if node.op_type == "Resize" and node.opset >= 11 else "asymmetric"
    return op.image.resize2d(
        x,
        sizes,
        method=method,
        coordinate_transformation_mode=node.attr("coordinate_transformation_mode", default),
        rounding_method=node.attr(
            "nearest_mode", "round_prefer_floor" if default == "half_pixel" else "floor"
        ),
        cubic_alpha=node.attr("cubic_coeff_a", -0.75),
        cubic_exclude=node.attr("exclude_outside", 0),
        extrapolation_value=node.attr("extrapolation_value", 0.0),
    )


def _scaled(node: NodeContext, dim: Expr, scale: float) -> Any:
    """The size after scaling; the operator scales by the ratio of the sizes, so it must be exact.

    (ONNX rounds the size down and still scales by the given factor.)
    """
    if isinstance(dim, IntImm):
        exact = dim.value * float(scale)
        size = round(exact)
        if abs(exact - size) > 1e-4 * max(size, 1):
            raise node.fail(f"the scale {scale} of {dim.value} elements gives no whole number")
        return size
    if float(scale).is_integer():
        return simplify(dim * int(scale))
    raise node.fail(
        f"the symbolic size {dim} can be scaled by whole numbers only, got {scale}",
        hint="give the input shapes: from_onnx(model, shape_dict={...})",
    )
