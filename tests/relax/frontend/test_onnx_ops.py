"""Every ONNX operator the importer declares, compiled and compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx_models import (
    assert_agree,
    run_onnxruntime,
    run_workbench,
    single_node,
)
from workbench.relax.frontend.onnx import supported_operators

Case = tuple[str, dict[str, Any]]


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _f(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray[Any, Any]:
    return _rng().uniform(low, high, shape).astype("float32")


def _i(*shape: int, low: int = 0, high: int = 5, dtype: str = "int64") -> np.ndarray[Any, Any]:
    return _rng().integers(low, high, shape).astype(dtype)


def _b(*shape: int) -> np.ndarray[Any, Any]:
    return _rng().integers(0, 2, shape).astype(bool)


def _ints(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, "int64")


CASES: list[Case] = []


def case(
    op: str, inputs: dict[str, Any], constants: dict[str, Any] | None = None, **kw: Any
) -> None:
    """Adds a case."""
    CASES.append((op, {"inputs": inputs, "constants": constants or {}, **kw}))


for _op in "Abs Acos Asin Asinh Atan Ceil Cos Erf Exp Floor Neg Relu Round Sigmoid Sign Sin Sinh Tan Tanh Softsign Softplus Cosh".split():  # noqa: E501
    case(_op, {"x": _f(3, 5, low=-0.9, high=0.9)})
case("Atanh", {"x": _f(3, 5, low=-0.9, high=0.9)})
case("Acosh", {"x": _f(3, 5, low=1.1, high=3.0)})
case("Log", {"x": _f(3, 5, low=0.1, high=3.0)})
case("Sqrt", {"x": _f(3, 5, low=0.1, high=3.0)})
case("Reciprocal", {"x": _f(3, 5, low=0.5, high=3.0)})
case("Mish", {"x": _f(3, 5)}, opset=18)
case("IsNaN", {"x": np.array([1.0, np.nan, np.inf], "float32")})
case("IsInf", {"x": np.array([1.0, np.nan, np.inf, -np.inf], "float32")})
case("IsInf", {"x": np.array([1.0, np.inf, -np.inf], "float32")}, detect_negative=0)
case("Not", {"x": _b(3, 4)})
case("BitwiseNot", {"x": _i(4, dtype="int32")}, opset=18)
for _op in ("Add", "Sub", "Mul", "Div", "Pow"):
    case(_op, {"a": _f(2, 3, 4, low=0.5), "b": _f(3, 1, low=0.5)})
for _op in ("Add", "Sub", "Mul"):
    case(_op, {"a": _i(3, 4), "b": _i(4)})
case("Div", {"a": np.array([7, -7, 7, -7], "int32"), "b": np.array([2, 2, -2, -2], "int32")})
case("Div", {"a": _i(3, 4, dtype="uint8"), "b": np.array([1, 2, 3, 4], "uint8")})
case("Mod", {"a": np.array([7, -7, 7, -7]), "b": np.array([3, 3, -3, -3])})
case("Mod", {"a": np.array([7, -7, 7, -7]), "b": np.array([3, 3, -3, -3])}, fmod=1)
case("Mod", {"a": _f(6, low=-9, high=9), "b": _f(6, low=1, high=3)}, fmod=1)
for _exp in (2.0, 0.5, 3.0, 1.0):
    case("Pow", {"a": _f(3, 4, low=0.1)}, {"e": np.array(_exp, "float32")})
case("Pow", {"a": _i(3, 4, dtype="int32")}, {"e": np.array([2.0, 3.0, 1.0, 0.0], "float32")})
for _op in ("And", "Or", "Xor"):
    case(_op, {"a": _b(3, 4), "b": _b(4)})
for _op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    case(_op, {"a": _i(3, 4, dtype="int32"), "b": _i(4, dtype="int32")}, opset=18)
for _op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
    case(_op, {"a": _i(3, 4), "b": _i(4, high=3)})
    case(_op, {"a": _f(3, 4), "b": _f(3, 1)})
for _op in ("Max", "Min", "Sum", "Mean"):
    case(_op, {"a": _f(3, 4), "b": _f(1, 4, low=-1), "c": _f(3, 1, low=0)})
for _dir in ("LEFT", "RIGHT"):
    case(
        "BitShift",
        {"a": _i(4, dtype="uint32"), "b": np.array([0, 1, 2, 3], "uint32")},
        direction=_dir,
    )
case("Clip", {"x": _f(3, 4)}, {"lo": np.float32(-0.5), "hi": np.float32(0.5)})
case("Clip", {"x": _f(3, 4)}, {"hi": np.float32(0.5)}, order=["x", "", "hi"])
case("Clip", {"x": _f(3, 4)}, opset=6, min=-0.3, max=0.4)
case("Clip", {"x": _i(3, 4, dtype="int32")}, {"lo": np.int32(1), "hi": np.int32(3)})
case("Where", {"c": _b(3, 4), "a": _f(3, 4), "b": _f(4)})
case("MatMul", {"a": _f(5, 7), "b": _f(7, 3)})
case("MatMul", {"a": _f(2, 3, 5, 7), "b": _f(3, 7, 4)})
case("MatMul", {"a": _f(7), "b": _f(7, 4)})
case("MatMul", {"a": _f(3, 7), "b": _f(7)})
case("Gemm", {"a": _f(5, 7), "b": _f(7, 3), "c": _f(3)})
case("Gemm", {"a": _f(7, 5), "b": _f(3, 7), "c": _f(5, 1)}, transA=1, transB=1, alpha=0.5, beta=2.0)
case("Gemm", {"a": _f(5, 7)}, {"b": _f(3, 7)}, transB=1)
for _op in (
    "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare".split()
):
    if _op == "ReduceSum":
        case(_op, {"x": _f(3, 4, 5)}, {"axes": _ints(1)}, keepdims=0)
        case(_op, {"x": _f(3, 4, 5)}, {"axes": _ints(0, -1)})
    else:
        case(_op, {"x": _f(3, 4, 5)}, axes=[1], keepdims=0)
        case(_op, {"x": _f(3, 4, 5)}, axes=[0, -1])
    case(_op, {"x": _f(3, 4, 5)})
case("ReduceLogSum", {"x": _f(3, 4, low=0.1)}, axes=[1])
case("ReduceLogSumExp", {"x": _f(3, 4)}, axes=[1])
case("ReduceLogSumExp", {"x": _f(3, 4)}, axes=[0], keepdims=0)
case("ReduceSum", {"x": _f(3, 4)}, {"axes": np.array([], "int64")}, noop_with_empty_axes=1)
case("ReduceSum", {"x": _f(3, 4)}, {"axes": _ints(1)}, noop_with_empty_axes=1, keepdims=0)
for _op in ("ArgMax", "ArgMin"):
    case(_op, {"x": _f(3, 4, 5)}, axis=1)
    case(_op, {"x": _f(3, 4, 5)}, axis=-1, keepdims=0)
case("CumSum", {"x": _f(3, 4)}, {"axis": np.array(1, "int64")})
case("CumSum", {"x": _f(3, 4)}, {"axis": np.array(0, "int64")}, exclusive=1, reverse=1)

case("Conv", {"x": _f(2, 3, 8, 9)}, {"w": _f(4, 3, 3, 3), "b": _f(4)}, pads=[1, 1, 1, 1])
case(
    "Conv", {"x": _f(1, 4, 8, 8)}, {"w": _f(4, 1, 3, 3)}, group=4, strides=[2, 2], pads=[1, 1, 1, 1]
)
case(
    "Conv",
    {"x": _f(1, 4, 9, 8)},
    {"w": _f(6, 2, 3, 2)},
    group=2,
    dilations=[2, 1],
    pads=[0, 1, 2, 0],
)
case("Conv", {"x": _f(1, 3, 7, 7)}, {"w": _f(5, 3, 1, 1)}, strides=[2, 2])
case("Conv", {"x": _f(1, 3, 7, 8)}, {"w": _f(5, 3, 3, 3)}, auto_pad="SAME_UPPER", strides=[2, 2])
case("Conv", {"x": _f(1, 3, 7, 8)}, {"w": _f(5, 3, 2, 2)}, auto_pad="SAME_LOWER")
case("Conv", {"x": _f(1, 3, 10)}, {"w": _f(5, 3, 3)}, strides=[2], pads=[1, 2])
case("Conv", {"x": _f(1, 2, 5, 6, 4)}, {"w": _f(3, 2, 2, 3, 2)}, pads=[1, 0, 0, 0, 1, 1])
case("Conv", {"x": _f(1, 3, 6, 6), "w": _f(4, 3, 3, 3)})
case(
    "ConvTranspose",
    {"x": _f(1, 1, 3, 3)},
    {"w": _f(1, 2, 3, 3)},
    strides=[3, 2],
    output_shape=[10, 8],
)
case("Slice", {"x": _f(6, 4)}, {"b": _ints(0), "e": _ints(2)})
case("ConvTranspose", {"x": _f(1, 3, 5, 5)}, {"w": _f(3, 4, 3, 3), "b": _f(4)}, strides=[2, 2])
case(
    "ConvTranspose",
    {"x": _f(1, 4, 5, 4)},
    {"w": _f(4, 2, 2, 3)},
    group=2,
    strides=[2, 1],
    pads=[0, 1, 1, 0],
    output_padding=[1, 0],
)
case("MaxPool", {"x": _f(1, 3, 8, 9)}, kernel_shape=[2, 3], strides=[2, 2], pads=[0, 1, 1, 1])
case("MaxPool", {"x": _f(1, 3, 7, 7)}, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
case("MaxPool", {"x": _f(1, 3, 9)}, kernel_shape=[2], strides=[2])
case("MaxPool", {"x": _f(1, 2, 4, 5, 6)}, kernel_shape=[2, 2, 2])
case("AveragePool", {"x": _f(1, 3, 8, 8)}, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
case(
    "AveragePool",
    {"x": _f(1, 3, 8, 8)},
    kernel_shape=[3, 3],
    pads=[1, 1, 1, 1],
    count_include_pad=1,
)
case("AveragePool", {"x": _f(1, 3, 8, 8)}, kernel_shape=[2, 2], auto_pad="SAME_UPPER")
case("GlobalAveragePool", {"x": _f(2, 3, 5, 4)})
case("GlobalMaxPool", {"x": _f(2, 3, 5, 4)})
case(
    "BatchNormalization",
    {"x": _f(2, 3, 4, 4)},
    {"s": _f(3), "b": _f(3), "m": _f(3), "v": _f(3, low=0.5)},
)
case("InstanceNormalization", {"x": _f(2, 3, 4, 4)}, {"s": _f(3), "b": _f(3)})
case("LayerNormalization", {"x": _f(2, 3, 8)}, {"s": _f(8), "b": _f(8)})
case("LayerNormalization", {"x": _f(2, 3, 8)}, {"s": _f(3, 8)}, axis=1)
case("GroupNormalization", {"x": _f(2, 4, 3, 3)}, {"s": _f(4), "b": _f(4)}, opset=21, num_groups=2)
case("LeakyRelu", {"x": _f(3, 4)}, alpha=0.2)
case("PRelu", {"x": _f(2, 3, 4)}, {"s": _f(3, 1)})
case("ThresholdedRelu", {"x": _f(3, 4)}, alpha=0.4)
case("Elu", {"x": _f(3, 4)}, alpha=0.7)
case("Selu", {"x": _f(3, 4)})
case("Gelu", {"x": _f(3, 4)}, opset=20)
case("Gelu", {"x": _f(3, 4)}, opset=20, approximate="tanh")
case("HardSigmoid", {"x": _f(3, 4)}, alpha=0.3, beta=0.4)
case("HardSwish", {"x": _f(3, 4, low=-5, high=5)})
for _op in ("Softmax", "LogSoftmax"):
    case(_op, {"x": _f(3, 4, 5)}, axis=1)
    case(_op, {"x": _f(3, 4, 5)}, opset=11, axis=1)
case("Dropout", {"x": _f(3, 4)})
case("Pad", {"x": _f(3, 4)}, {"p": _ints(1, 0, 2, 3), "v": np.float32(1.5)})
case("Pad", {"x": _f(3, 4)}, {"p": _ints(1, 2, 2, 1)}, mode="reflect")
case("Pad", {"x": _f(3, 4)}, {"p": _ints(1, 2, 2, 1)}, mode="edge")
case("Pad", {"x": _f(3, 6)}, {"p": _ints(0, -1, 0, -2)})
case(
    "Resize",
    {"x": _f(1, 2, 4, 5)},
    {"s": np.array([1, 1, 2, 2], "float32")},
    order=["x", "", "s"],
    mode="nearest",
    coordinate_transformation_mode="asymmetric",
    nearest_mode="floor",
)
case(
    "Resize",
    {"x": _f(1, 2, 4, 5)},
    {"n": _ints(1, 2, 7, 9)},
    order=["x", "", "", "n"],
    mode="linear",
)
case("Upsample", {"x": _f(1, 2, 4, 5)}, {"s": np.array([1, 1, 2, 3], "float32")}, opset=9)

case("Identity", {"x": _f(3, 4)})
for _to in (1, 6, 7, 9, 10, 11, 2, 3):
    case("Cast", {"x": _f(3, 4, low=0, high=9)}, to=_to)
case("Cast", {"x": _b(3, 4)}, to=1)
case("Cast", {"x": _i(3, 4)}, to=1)
case("CastLike", {"x": _f(3), "t": _i(2)}, opset=19)
case("Reshape", {"x": _f(2, 3, 4)}, {"s": _ints(0, -1)})
case("Reshape", {"x": _f(2, 3, 4)}, {"s": _ints(4, 6)})
case("Flatten", {"x": _f(2, 3, 4, 5)}, axis=2)
case("Flatten", {"x": _f(2, 3, 4)}, axis=-1)
case("Transpose", {"x": _f(2, 3, 4)}, perm=[2, 0, 1])
case("Transpose", {"x": _f(2, 3, 4)})
case("Squeeze", {"x": _f(1, 3, 1, 4)}, {"a": _ints(0, -2)})
case("Squeeze", {"x": _f(1, 3, 1, 4)})
case("Squeeze", {"x": _f(1, 3, 1, 4)}, opset=11, axes=[2])
case("Unsqueeze", {"x": _f(3, 4)}, {"a": _ints(0, -1)})
case("Concat", {"a": _f(2, 3), "b": _f(4, 3)}, axis=0)
case("Concat", {"a": _f(2, 3), "b": _f(2, 1), "c": _f(2, 2)}, axis=-1)
case("Split", {"x": _f(6, 4)}, {"s": _ints(1, 2, 3)}, outputs=3)
case("Split", {"x": _f(6, 4)}, outputs=2, axis=1)
case(
    "Slice",
    {"x": _f(6, 7)},
    {"b": _ints(1, -5), "e": _ints(5, 1000), "a": _ints(0, 1), "s": _ints(2, 1)},
)
case(
    "Slice", {"x": _f(6, 7)}, {"b": _ints(-1), "e": _ints(-(2**31)), "a": _ints(1), "s": _ints(-2)}
)
case("Slice", {"x": _f(6, 7)}, opset=9, starts=[1], ends=[4], axes=[1])
case("Gather", {"x": _f(5, 4)}, {"i": np.array([[0, 2], [4, 1]])})
case("Gather", {"x": _f(5, 4), "i": _i(3, low=-4, high=4)}, axis=1)
case("Gather", {"x": _f(5, 4)}, {"i": np.array(2)})
case("GatherElements", {"x": _f(3, 4), "i": _i(3, 2, low=-4, high=4)}, axis=1)
case("GatherND", {"x": _f(3, 4, 5), "i": np.array([[0, 1], [2, 3]])})
case("Expand", {"x": _f(3, 1)}, {"s": _ints(2, 1, 4)})
case("Tile", {"x": _f(2, 3)}, {"r": _ints(2, 3)})
case(
    "OneHot", {"i": np.array([0, 2, -1])}, {"d": np.array(4), "v": np.array([0.5, 2.0], "float32")}
)
case("OneHot", {"i": np.array([0, 2, 1])}, {"d": np.array(3), "v": np.array([0, 1])}, axis=0)
case("Trilu", {"x": _f(4, 5)})
case("Trilu", {"x": _f(2, 4, 5)}, {"k": np.array(-1)}, upper=0)
case("DepthToSpace", {"x": _f(1, 8, 2, 3)}, blocksize=2)
case("DepthToSpace", {"x": _f(1, 8, 2, 3)}, blocksize=2, mode="CRD")
case("SpaceToDepth", {"x": _f(1, 2, 4, 6)}, blocksize=2)


@pytest.mark.parametrize(
    ("op", "spec"), CASES, ids=[f"{op}-{i}" for i, (op, _) in enumerate(CASES)]
)
def test_operator(op: str, spec: dict[str, Any]) -> None:
    spec = dict(spec)
    model = single_node(op, **spec)
    want = run_onnxruntime(model, spec["inputs"])
    assert_agree(run_workbench(model, spec["inputs"]), want)


def test_the_table_names_every_operator_that_has_inputs() -> None:
    without_inputs = {"Constant", "ConstantOfShape", "Range", "Shape", "Size"}
    missing = set(supported_operators()) - {op for op, _ in CASES} - without_inputs
    assert not missing


def _chain(make: Callable[[], list[Any]], inputs: dict[str, Any], dims: Any, out: str) -> Any:
    import onnx

    from tests.relax.frontend.onnx_models import tensor_info

    nodes = make()
    graph = helper.make_graph(
        nodes,
        "chain",
        [tensor_info(k, v, dims.get(k)) for k, v in inputs.items()],
        [helper.make_empty_tensor_value_info(out)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def test_shape_arithmetic_disappears_at_import() -> None:
    def nodes() -> list[Any]:
        def const(name: str, values: Any) -> Any:
            return helper.make_node("Constant", [], [name], value_ints=values)

        return [
            helper.make_node("Shape", ["x"], ["shape"]),
            const("zero", [0]),
            helper.make_node("Gather", ["shape", "zero"], ["batch"]),
            const("two", [2]),
            const("minus", [-1]),
            helper.make_node("Concat", ["batch", "two", "minus"], ["target"], axis=0),
            helper.make_node("Reshape", ["x", "target"], ["y"]),
        ]

    x = _f(3, 4, 6)
    model = _chain(nodes, {"x": x}, {"x": ["N", 4, 6]}, "y")
    for batch in (1, 3):
        want = run_onnxruntime(model, {"x": x[:batch]})
        assert_agree(run_workbench(model, {"x": x[:batch]}), want)
