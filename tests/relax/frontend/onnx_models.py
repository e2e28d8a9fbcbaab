"""Small ONNX models for tests, and the two ways to run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import workbench as wb
from workbench import relax
from workbench.relax.frontend.onnx import from_onnx

Arrays = Mapping[str, np.ndarray[Any, Any]]


def tensor_info(name: str, array: np.ndarray[Any, Any], dims: Sequence[Any] | None = None) -> Any:
    """The declaration of a graph input with the dtype of `array`."""
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, list(dims or array.shape))


def single_node(
    op: str,
    inputs: Arrays,
    constants: Arrays | None = None,
    *,
    opset: int = 17,
    outputs: int = 1,
    order: Sequence[str] | None = None,
    dims: Mapping[str, Sequence[Any]] | None = None,
    **attrs: Any,
) -> onnx.ModelProto:
    """A model of one node; `order` lists its input names ("" for one left out)."""
    constants = constants or {}
    names = list(order) if order is not None else [*inputs, *constants]
    outs = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, outs, name=f"the_{op}", **attrs)
    graph = helper.make_graph(
        [node],
        "single",
        [tensor_info(k, v, (dims or {}).get(k)) for k, v in inputs.items()],
        [helper.make_empty_tensor_value_info(o) for o in outs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    inferred = onnx.shape_inference.infer_shapes(model)
    for out in inferred.graph.output:
        if not out.type.tensor_type.elem_type:
            out.type.tensor_type.elem_type = TensorProto.FLOAT
    return inferred


def run_onnxruntime(model: onnx.ModelProto, inputs: Arrays) -> list[np.ndarray[Any, Any]]:
    """What onnxruntime computes."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, dict(inputs)))


def run_workbench(
    model: onnx.ModelProto, inputs: Arrays, **options: Any
) -> list[np.ndarray[Any, Any]]:
    """What the compiled model computes."""
    module = from_onnx(model, **options)
    executable = wb.compile(module, target="llvm")
    vm = relax.VirtualMachine(executable, wb.cpu())
    result = vm["main"](*inputs.values())
    items = (
        result if isinstance(result, (list, tuple)) or not hasattr(result, "numpy") else [result]
    )
    return [np.asarray(i.numpy()) for i in items]


def assert_agree(
    got: Sequence[np.ndarray[Any, Any]],
    want: Sequence[np.ndarray[Any, Any]],
    tolerance: float = 1e-4,
) -> None:
    """Same number, shapes and dtypes; values to `tolerance` of the largest one."""
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        if b.dtype.kind == "f":
            finite = np.isfinite(b)
            assert np.array_equal(np.isfinite(a), finite)
            assert np.array_equal(a[~finite], b[~finite], equal_nan=True)
            scale = np.abs(b[finite]).max(initial=1e-6)
            assert np.abs(a[finite] - b[finite]).max(initial=0.0) <= tolerance * scale
        else:
            assert np.array_equal(a, b)
