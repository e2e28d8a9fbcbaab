"""The shipped digits networks, and the script that made them."""

import numpy as np
import onnx
import onnxruntime
import pytest

from workbench.models import digits
from workbench.models.digits import train as script
from workbench.models.digits.export import to_onnx
from workbench.models.digits.layers import (
    BatchNorm,
    Conv2D,
    Dense,
    Flatten,
    MaxPool2,
    ReLU,
    cross_entropy,
    softmax,
)


def run(model, images):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (wanted,) = session.get_inputs()
    if len(wanted.shape) == 2:
        images = images.reshape(len(images), -1)
    return session.run(None, {wanted.name: images})[0]


@pytest.mark.parametrize(("name", "at_least"), [("cnn", 0.98), ("mlp", 0.96)])
def test_accuracy_on_heldout_images(name, at_least):
    images, labels = digits.load_heldout()
    found = float((run(digits.model_path(name), images).argmax(axis=1) == labels).mean())
    assert found >= at_least
    assert digits.metrics()[name]["accuracy"] == pytest.approx(found, abs=1e-3)


@pytest.mark.parametrize("name", digits.MODEL_NAMES)
def test_batch_is_free_and_rows_are_independent(name):
    images, _ = digits.load_heldout()
    whole = run(digits.model_path(name), images)
    for n in (1, 3, 17):
        np.testing.assert_allclose(run(digits.model_path(name), images[:n]), whole[:n], atol=1e-5)
    model = onnx.load(digits.model_path(name))
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


def test_files_are_small_and_batch_norm_is_visible():
    assert sum(digits.model_path(name).stat().st_size for name in digits.MODEL_NAMES) < 300_000
    model = onnx.load(digits.model_path("cnn"))
    onnx.checker.check_model(model, full_check=True)
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("BatchNormalization") == 3
    assert all(node.name for node in model.graph.node)


def test_heldout_images_are_the_split_of_the_script():
    split = script.load_split()
    images, labels = digits.load_heldout()
    np.testing.assert_array_equal(images, script.scale(split.test_images))
    np.testing.assert_array_equal(labels, split.test_labels)
    assert len(split.train_images) + len(split.test_images) == 1797
    assert images.dtype == np.float32
    assert images.min() == 0
    assert images.max() == 1


def test_unknown_model_is_named():
    with pytest.raises(ValueError, match="'rnn'; there are: cnn, mlp"):
        digits.model_path("rnn")


def smooth_network(rng):
    return [
        Conv2D("conv", (2, 3), 3, rng),
        BatchNorm("norm", 3),
        ReLU("relu"),
        MaxPool2("pool"),
        Flatten("flatten"),
        Dense("dense", (12, 4), rng),
    ]


def test_backward_agrees_with_finite_differences():
    rng = np.random.default_rng(7)
    layers = smooth_network(rng)
    for layer in layers:  # finite differences need more than float32
        layer.params = {key: value.astype(np.float64) for key, value in layer.params.items()}
    x, labels = rng.normal(size=(5, 2, 4, 4)), np.array([0, 1, 2, 3, 1])

    def loss():
        return cross_entropy(script.forward(layers, x, training=True), labels)

    # BatchNorm.forward casts to float32, so the step is chosen well above its rounding.
    _, grad = loss()
    for layer in reversed(layers):
        grad = layer.backward(grad)
    gradients = {(y.name, k): g.copy() for y in layers for k, g in y.grads.items()}
    for layer in layers:
        for key, value in layer.params.items():
            flat = value.reshape(-1)
            for index in rng.choice(flat.size, size=min(4, flat.size), replace=False):
                kept, step = flat[index], 1e-3
                flat[index] = kept + step
                above, _ = loss()
                flat[index] = kept - step
                below, _ = loss()
                flat[index] = kept
                expected = (above - below) / (2 * step)
                found = gradients[layer.name, key].reshape(-1)[index]
                assert found == pytest.approx(expected, abs=2e-3), (layer.name, key)


def test_short_training_learns_and_exports_what_it_learnt():
    split = script.load_split()
    images, labels = script.scale(split.train_images)[:400], split.train_labels[:400]
    rng = np.random.default_rng(1)
    layers = script.build_cnn(rng)
    losses = script.train(layers, images, labels, epochs=3, rng=rng)
    assert losses[-1] < 0.8 * losses[0]
    held_out = script.scale(split.test_images)
    assert script.accuracy(layers, held_out, split.test_labels) > 0.5
    expected = softmax(script.forward(layers, held_out))
    found = run(to_onnx(layers, "short", "three epochs"), held_out)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_same_seed_gives_same_network():
    images, labels = digits.load_heldout()

    def weights():
        rng = np.random.default_rng(3)
        layers = script.build_mlp(rng)
        script.train(layers, images[:128], labels[:128], epochs=1, rng=rng)
        return layers[0].params["weight"]

    np.testing.assert_array_equal(weights(), weights())


def test_shift_moves_by_at_most_one_pixel():
    image = np.zeros((200, 1, 8, 8), np.float32)
    image[:, 0, 4, 4] = 1
    moved = script.shift(image, np.random.default_rng(0))
    rows, columns = np.nonzero(moved.sum(axis=(0, 1)))
    assert set(rows) == set(columns) == {3, 4, 5}
    assert (moved.sum(axis=(1, 2, 3)) == 1).all()
