"""Write a trained list of layers as an ONNX model with a free batch dimension `N`.

One ONNX node per layer, named after it, so that batch normalisation stays visible for a compiler to
fold. Read next: `layers.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench.models.digits.layers import (
    BatchNorm,
    Conv2D,
    Dense,
    Flatten,
    Layer,
    MaxPool2,
    ReLU,
)

# (op type, parameter arrays in ONNX input order, attributes)
_Node = tuple[str, dict[str, Any], dict[str, Any]]


def _conv(layer: Conv2D) -> _Node:
    kernel = layer.params["weight"].shape[2]
    return "Conv", layer.params, {"kernel_shape": [kernel] * 2, "pads": [layer.pad] * 4}


def _norm(layer: BatchNorm) -> _Node:
    arrays = {**layer.params, "mean": layer.mean, "variance": layer.variance}
    return "BatchNormalization", arrays, {"epsilon": layer.epsilon}


_NODES: dict[type[Layer], Callable[[Any], _Node]] = {
    Conv2D: _conv,
    BatchNorm: _norm,
    ReLU: lambda _layer: ("Relu", {}, {}),
    MaxPool2: lambda _layer: ("MaxPool", {}, {"kernel_shape": [2, 2], "strides": [2, 2]}),
    Flatten: lambda _layer: ("Flatten", {}, {"axis": 1}),
    Dense: lambda layer: ("Gemm", layer.params, {"transB": 1}),
}


def to_onnx(layers: Sequence[Layer], name: str, doc: str) -> bytes:
    """The serialised model: one node per layer, then a softmax giving `probabilities` `(N, 10)`."""
    from onnx import TensorProto, checker, helper, numpy_helper

    flat = isinstance(layers[0], Dense)
    value, shape = ("pixels", ["N", 64]) if flat else ("image", ["N", 1, 8, 8])
    inputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)]
    nodes: list[Any] = []
    initializers: list[Any] = []
    for layer in layers:
        op_type, arrays, attributes = _NODES[type(layer)](layer)
        names = [f"{layer.name}.{key}" for key in arrays]
        initializers += [
            numpy_helper.from_array(np.ascontiguousarray(array, np.float32), key)
            for key, array in zip(names, arrays.values(), strict=True)
        ]
        output = f"{layer.name}_out"
        nodes.append(helper.make_node(op_type, [value, *names], [output], layer.name, **attributes))
        value = output
    nodes.append(helper.make_node("Softmax", [value], ["probabilities"], "softmax", axis=1))
    outputs = [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])]
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers, doc_string=doc)
    model = helper.make_model(
        graph,
        producer_name="workbench.models.digits",
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)
