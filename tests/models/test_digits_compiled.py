"""The digits networks through the whole compiler: right at batch sizes that it never heard of."""

import numpy as np
import onnx
import onnxruntime
import pytest

import workbench as wb
from workbench import relax
from workbench.models import digits
from workbench.relax.frontend.onnx import from_onnx


@pytest.fixture(scope="module", params=digits.MODEL_NAMES)
def network(request):
    """(name, compiled function, reference function, held-out inputs, labels)."""
    path = digits.model_path(request.param)
    vm = relax.VirtualMachine(wb.compile(from_onnx(onnx.load(path)), target="llvm"), wb.cpu())
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (wanted,) = session.get_inputs()
    images, labels = digits.load_heldout()
    inputs = images if len(wanted.shape) == 4 else images.reshape(len(images), -1)
    reference = lambda x: session.run(None, {wanted.name: x})[0]
    return request.param, vm["main"], reference, inputs, labels


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 8, 33, 450])
def test_agrees_with_onnxruntime(network, batch):
    _, compiled, reference, inputs, _ = network
    expected = reference(inputs[:batch])
    found = compiled(inputs[:batch]).numpy()
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max()


def test_accuracy_is_that_of_the_training_script(network):
    name, compiled, _, inputs, labels = network
    found = float((compiled(inputs).numpy().argmax(axis=1) == labels).mean())
    assert found == pytest.approx(digits.metrics()[name]["accuracy"], abs=1.5 / len(labels))
