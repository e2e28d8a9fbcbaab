"""`relax.build`: whole programs, pipelines, what the executable keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from workbench import relax
from workbench.core.errors import RegistryError, WorkbenchError
from workbench.ir import IRModule
from workbench.ir.transform import Pass
from workbench.relax import op
from workbench.relax.frontend.onnx import from_onnx
from workbench.relax.pipeline import get_pipeline, graph_passes, kernel_passes, lowering_passes
from workbench.tirx import Var

MODELS = Path(relax.__file__).parents[1] / "models" / "digits"


@pytest.fixture(scope="module", params=["digits_mlp.onnx", "digits_cnn.onnx"])
def model(request: pytest.FixtureRequest) -> tuple[Path, relax.VMExecutable]:
    path = MODELS / request.param
    return path, relax.build(from_onnx(onnx.load(path)), "llvm")


@pytest.mark.parametrize("batch", [1, 3, 8])
def test_digits_at_any_batch_size(model: tuple[Path, relax.VMExecutable], batch: int) -> None:
    path, exe = model
    session = ort.InferenceSession(path)
    info = session.get_inputs()[0]
    shape = [batch, *info.shape[1:]]
    x = np.random.default_rng(batch).random(shape, "float32")
    (want,) = session.run(None, {info.name: x})
    got = relax.VirtualMachine(exe)["main"](x).numpy()
    np.testing.assert_allclose(got, want, atol=1e-4 * abs(want).max())


def test_every_kernel_knows_its_operators(model: tuple[Path, relax.VMExecutable]) -> None:
    _, exe = model
    for info in exe.program.kernels.values():
        assert info.origins, f"{info.name} does not say what it implements"


def small_module() -> IRModule:
    n = Var("n", "int64")
    x = relax.Var("x", relax.TensorType([n, 4], "float32"))
    w = relax.Var("w", relax.TensorType([4, 3], "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        with bb.dataflow():
            out = bb.emit_output(op.nn.relu(bb.emit(op.matmul(x, w))))
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.parametrize("pipeline", ["default", "plain"])
def test_named_pipelines(pipeline: str) -> None:
    exe = relax.build(small_module(), "llvm", relax_pipeline=pipeline)
    x, w = np.random.rand(5, 4).astype("float32"), np.random.rand(4, 3).astype("float32")
    np.testing.assert_allclose(exe["main"](x, w).numpy(), np.maximum(x @ w, 0), rtol=1e-5)


def test_parameters_are_bound() -> None:
    w = np.random.rand(4, 3).astype("float32")
    exe = relax.build(small_module(), "llvm", params={"w": w})
    x = np.random.rand(2, 4).astype("float32")
    np.testing.assert_allclose(exe["main"](x).numpy(), np.maximum(x @ w, 0), rtol=1e-5)


def test_unknown_pipeline_mode_and_target() -> None:
    with pytest.raises(RegistryError, match="unknown Relax pipeline 'defualt'"):
        relax.build(small_module(), "llvm", relax_pipeline="defualt")
    with pytest.raises(WorkbenchError, match="exec_mode is bytecode"):
        relax.build(small_module(), "llvm", exec_mode="compiled")
    with pytest.raises(WorkbenchError):
        relax.build(small_module(), "lvm")


def test_pipelines_are_flat_lists_of_passes() -> None:
    passes = get_pipeline("default").passes
    assert all(isinstance(p, Pass) for p in passes)
    names = [p.name for p in passes]
    parts = [graph_passes(), kernel_passes(), lowering_passes()]
    inner = [p.name for part in parts for p in part]
    assert [n for n in names if n.startswith("relax.")] == inner


def test_a_module_without_kernels() -> None:
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(x)
    x_value = np.arange(4, dtype="float32")
    exe = relax.build(bb.get(), "llvm")
    np.testing.assert_array_equal(exe["main"](x_value).numpy(), x_value)
