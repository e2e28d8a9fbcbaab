"""Importing: symbolic dimensions, options, and errors told clearly and at once."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.relax.frontend.onnx_models import single_node, tensor_info
from workbench import relax
from workbench.core import iter_nodes
from workbench.core.errors import WorkbenchError
from workbench.ir import Call
from workbench.models import digits
from workbench.relax import Constant, Function, TensorType
from workbench.relax.frontend.onnx import OnnxError, UnsupportedOperators, from_onnx
from workbench.relax.op import op_info

X = np.ones((2, 3), "float32")


def _main(model: Any, **options: Any) -> Function:
    function = from_onnx(model, **options)["main"]
    assert isinstance(function, Function)
    return function


def _ops(function: Function) -> list[str]:
    return [c.op.name for c in iter_nodes(function, Call) if op_info(c) is not None]


def test_the_digits_network_keeps_its_symbolic_batch() -> None:
    main = _main(digits.model_path("cnn"))
    (x,) = main.params
    batch = x.ty.dims[0]
    assert batch.name == "N"
    assert isinstance(main.ret_ty, TensorType)
    assert main.ret_ty.dims is not None
    assert main.ret_ty.dims[0] is batch
    assert main.ret_ty.dims[1].value == 10
    assert "relax.nn.batch_norm" in _ops(main)
    assert main.attrs["num_input"] == 1


def test_every_call_knows_its_onnx_node() -> None:
    main = _main(digits.model_path("cnn"))
    calls = [c for c in iter_nodes(main, Call) if op_info(c) is not None]
    assert calls
    for call in calls:
        assert call.span is not None
        assert call.span.origin.split()[0] in ("Conv", "BatchNormalization", "Relu", "MaxPool",
                                              "Flatten", "Gemm", "Softmax")  # fmt: skip


def test_shapes_can_be_given() -> None:
    model = single_node("Relu", {"x": X}, dims={"x": ["N", "?"]})
    n, unknown = _main(model).params[0].ty.dims
    assert n.name == "N"
    assert unknown.name == "d"
    fixed = _main(model, shape_dict={"x": [4, 3]})
    assert [d.value for d in fixed.params[0].ty.dims] == [4, 3]
    named = _main(model, shape_dict={"x": ["batch", "batch"]})
    a, b = named.params[0].ty.dims
    assert a is b
    with pytest.raises(OnnxError, match="shape_dict gives input 'x' 3 dimensions, the model has 2"):
        from_onnx(model, shape_dict={"x": [1, 2, 3]})
    with pytest.raises(OnnxError, match="does not have: \\['z'\\]"):
        from_onnx(model, shape_dict={"z": [1]})


def test_two_unknown_dimensions_of_one_name_are_two() -> None:
    model = single_node("Relu", {"x": X}, dims={"x": ["?", "?"]})
    a, b = _main(model).params[0].ty.dims
    assert a is not b


def test_weights_may_become_parameters() -> None:
    model = single_node("Add", {"x": X}, {"w": X * 2})
    assert len(_main(model).params) == 1
    main = _main(model, keep_params_in_input=True)
    assert [p.name for p in main.params] == ["x", "w"]
    assert main.attrs["num_input"] == 1
    assert np.array_equal(main.attrs["params"][0].numpy(), X * 2)
    assert not list(iter_nodes(main, Constant))


def test_names_become_identifiers() -> None:
    model = single_node("Relu", {"serving:0/x": X})
    assert _main(model).params[0].name == "serving_0_x"
    assert _main(model, sanitize_input_names=False).params[0].name == "serving:0/x"


def _file(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"PK\x03\x04 zip", "not an ONNX model.*ZIP"),
        (b"\x89PNG\r\n", "not an ONNX model.*PNG"),
        (b'{"a": 1}', "not an ONNX model.*JSON"),
        (b"hello, I am text", "not an ONNX model"),
    ],
)
def test_what_is_no_model(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(OnnxError, match=message):
        from_onnx(_file(tmp_path, data))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_model(tmp_path: Path, share: float) -> None:
    data = digits.model_path("cnn").read_bytes()
    path = _file(tmp_path, data[: int(len(data) * share)])
    with pytest.raises(OnnxError) as error:
        from_onnx(path)
    assert str(path) in str(error.value)
    assert "ends too early" in str(error.value)


def test_missing_file_folder_and_wrong_type(tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match="no such file"):
        from_onnx(tmp_path / "none.onnx")
    with pytest.raises(OnnxError, match="is a folder"):
        from_onnx(tmp_path)
    with pytest.raises(OnnxError, match="got int"):
        from_onnx(3)
    with pytest.raises(OnnxError, match="without a graph"):
        from_onnx(onnx.ModelProto())


def test_all_unsupported_operators_are_listed_at_once() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="fine"),
        helper.make_node("Frobnicate", ["a"], ["b"], name="first"),
        helper.make_node("Frobnicate", ["b"], ["c"], name="second"),
        helper.make_node("Attention", ["c"], ["y"], name="third", domain="com.example"),
    ]
    graph = helper.make_graph(
        nodes, "g", [tensor_info("x", X)], [helper.make_empty_tensor_value_info("y")]
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)],
    )
    with pytest.raises(UnsupportedOperators) as error:
        from_onnx(model)
    text = str(error.value)
    for part in ("2 unsupported operators in 3 nodes", "Frobnicate (2): 'first', 'second'",
                 "com.example.Attention (1): 'third'"):  # fmt: skip
        assert part in text
    assert error.value.operators["Frobnicate"] == ["first", "second"]


def test_a_node_that_does_not_fit_is_named() -> None:
    with pytest.raises(OnnxError, match="MatMul node 'the_MatMul': .*inner dimensions differ"):
        model = single_node("MatMul", {"a": X, "b": X.T.copy()})
        from_onnx(model, shape_dict={"b": [7, 2]})
    with pytest.raises(OnnxError, match="Reshape node 'the_Reshape'.*must be known at import time"):
        shape = np.array([3, 2])
        from_onnx(single_node("Reshape", {"x": X, "s": shape}))


def test_a_broken_graph_is_told() -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["nowhere"], ["y"], name="r")],
        "g",
        [tensor_info("x", X)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(X, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    with pytest.raises(OnnxError, match="'r' reads 'nowhere', which no earlier node computes"):
        from_onnx(model)


def _graph(nodes: list[Any], opset: int = 17) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [tensor_info("x", X), tensor_info("w", np.ones((4, 5), "float32"))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


@pytest.mark.parametrize(
    ("nodes", "opset", "message"),
    [
        (
            [helper.make_node("Concat", ["x", "x"], ["y"], "c")],
            17,
            "Concat node 'c': the attribute 'axis' is missing",
        ),
        (
            [helper.make_node("Softmax", ["x"], ["y"], "s", axes=1)],
            17,
            "Softmax node 's': operator set 17 has no attribute 'axes' here",
        ),
        (
            [helper.make_node("Add", ["x"], ["y"], "a")],
            17,
            "Add node 'a': expected 2 inputs, got 1",
        ),
        (
            [helper.make_node("Add", ["x", "x"], ["y"], "a", broadcast=1, axis=1)],
            6,
            "Add node 'a': the attribute axis = 1 is not supported",
        ),
        (
            [helper.make_node("Relu", ["x"], ["y"], n) for n in "ab"],
            17,
            "Relu node 'b': its output 'y' has been computed before",
        ),
        ([helper.make_node("Relu", ["x"], ["y"])], 99, "operator set 99, the installed onnx"),
        (
            [helper.make_node("Add", ["x", "w"], ["y"], "a")],
            17,
            r"shapes \(2, 3\) and \(4, 5\) cannot be broadcast: 3 and 5",
        ),
    ],
)
def test_nodes_are_checked_against_their_schema(nodes: list[Any], opset: int, message: str) -> None:
    with pytest.raises(OnnxError, match=message):
        from_onnx(_graph(nodes, opset))


def test_scales_must_give_whole_sizes() -> None:
    image, scales = np.ones((1, 1, 4, 4), "float32"), np.array([1, 1, 0.6, 0.6], "float32")
    model = single_node("Resize", {"x": image}, {"s": scales}, order=["x", "", "s"], mode="linear")
    with pytest.raises(OnnxError, match="0.6.* of 4 elements gives no whole number"):
        from_onnx(model)


def test_dimensions_of_any_name_are_shared() -> None:
    model = single_node(
        "Add", {"x": X, "z": X}, dims={"x": ["batch size", 3], "z": ["batch size", 3]}
    )
    main = _main(model)
    x, z = main.params
    assert x.ty.dims[0] is z.ty.dims[0]
    assert x.ty.dims[0].name == "batch_size"


def test_an_unknown_broadcast_names_the_node_and_says_to_give_shapes():
    values = [helper.make_tensor_value_info(n, 1, [n]) for n in "ab"]
    out = helper.make_tensor_value_info("c", 1, None)
    node = helper.make_node("Sub", ["a", "b"], ["c"], name="my_sub")
    model = helper.make_model(
        helper.make_graph([node], "g", values, [out]),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    with pytest.raises(
        WorkbenchError, match=r"relax\.subtract \(of the ONNX node Sub my_sub\)"
    ) as e:
        relax.build(from_onnx(model), "llvm")
    assert "from_onnx(model, shape_dict={" in str(e.value)
    exe = relax.build(from_onnx(model, shape_dict={"a": [3], "b": [1]}), "llvm")
    with pytest.raises(TypeError, match=r"VMExecutable .*export_library"):
        pickle.dumps(exe)
    with pytest.raises(TypeError, match=r"Module .*export_library"):
        pickle.dumps(exe.mod)
