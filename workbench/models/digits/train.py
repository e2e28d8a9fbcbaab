"""Train the digits networks and write them as ONNX, with the held-out images beside them.

    python -m workbench.models.digits.train [--out FOLDER] [--epochs N]

Needs scikit-learn for the data (UCI Optical Recognition of Handwritten Digits, 1,797 images of
8×8); everything else is NumPy. The split, the initial weights and the augmentation come from one
seed. Another BLAS may round differently, so a rerun gives the same accuracy within an image or
two, not the same bytes. The held-out part is looked at once, after the last epoch.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.models.digits.export import to_onnx
from workbench.models.digits.layers import (
    Adam,
    Array,
    BatchNorm,
    Conv2D,
    Dense,
    Flatten,
    Layer,
    MaxPool2,
    ReLU,
    cross_entropy,
)

SEED = 20
HELD_OUT = 450


class Split(NamedTuple):
    """Raw images, uint8 `(N, 8, 8)` in 0…16, and labels, int64 `(N,)`, of both parts."""

    train_images: NDArray[np.uint8]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.int64]


def load_split(seed: int = SEED, held_out: int = HELD_OUT) -> Split:
    """scikit-learn's digits in an order fixed by `seed`; the first `held_out` are kept back."""
    from sklearn.datasets import load_digits

    digits: Any = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    images = digits.images[order].astype(np.uint8)
    labels = digits.target[order].astype(np.int64)
    return Split(images[held_out:], labels[held_out:], images[:held_out], labels[:held_out])


def scale(images: NDArray[np.uint8]) -> Array:
    """uint8 `(N, 8, 8)` in 0…16 → float32 `(N, 1, 8, 8)` in [0, 1], what the networks take."""
    return images[:, None].astype(np.float32) / np.float32(16)


def build_cnn(rng: np.random.Generator) -> list[Layer]:
    """Three convolutions with batch norm, two poolings, two dense layers: 23,000 parameters."""
    return [
        Conv2D("conv1", (1, 16), 3, rng),
        BatchNorm("norm1", 16),
        ReLU("relu1"),
        Conv2D("conv2", (16, 32), 3, rng),
        BatchNorm("norm2", 32),
        ReLU("relu2"),
        MaxPool2("pool2"),
        Conv2D("conv3", (32, 32), 3, rng),
        BatchNorm("norm3", 32),
        ReLU("relu3"),
        MaxPool2("pool3"),
        Flatten("flatten"),
        Dense("dense1", (128, 64), rng),
        ReLU("relu4"),
        Dense("dense2", (64, 10), rng),
    ]


def build_mlp(rng: np.random.Generator) -> list[Layer]:
    """64 → 64 → 10."""
    return [Dense("dense1", (64, 64), rng), ReLU("relu1"), Dense("dense2", (64, 10), rng)]


def forward(layers: Sequence[Layer], x: Array, training: bool = False) -> Array:
    """The logits of a network, `(N, 10)`."""
    for layer in layers:
        x = layer.forward(x, training)
    return x


def shift(images: Array, rng: np.random.Generator) -> Array:
    """Move each image by -1, 0 or 1 pixel in both directions, filling with black."""
    n, _, h, w = images.shape
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    dy, dx = rng.integers(0, 3, n), rng.integers(0, 3, n)
    rows = dy[:, None, None] + np.arange(h)[None, :, None]
    columns = dx[:, None, None] + np.arange(w)[None, None, :]
    return padded[np.arange(n)[:, None, None], 0, rows, columns][:, None]


def train(
    layers: Sequence[Layer],
    images: Array,
    labels: NDArray[np.int64],
    *,
    epochs: int,
    rng: np.random.Generator,
    augment: bool = True,
    rate: float = 3e-3,
    batch: int = 64,
    report: Callable[[str], None] = lambda _line: None,
) -> list[float]:
    """Fit `layers` in place; returns the mean loss of every epoch.

    `images` are float32 `(N, 1, 8, 8)`, flattened where the network starts with a dense layer. The
    step size follows half a cosine down to zero. `augment` shifts the images; a dense network has
    no use for that, since it treats every pixel on its own.
    """
    flat = isinstance(layers[0], Dense)
    optimiser = Adam(layers)
    steps_per_epoch = -(-len(images) // batch)
    losses: list[float] = []
    for epoch in range(epochs):
        order, total = rng.permutation(len(images)), 0.0
        for step in range(steps_per_epoch):
            chosen = order[step * batch : (step + 1) * batch]
            x = shift(images[chosen], rng) if augment else images[chosen]
            logits = forward(layers, x.reshape(len(x), -1) if flat else x, training=True)
            loss, grad = cross_entropy(logits, labels[chosen])
            for layer in reversed(layers):
                grad = layer.backward(grad)
            done = (epoch * steps_per_epoch + step) / (epochs * steps_per_epoch)
            optimiser.step(rate * 0.5 * (1 + np.cos(np.pi * done)))
            total += loss * len(chosen)
        losses.append(total / len(images))
        report(f"epoch {epoch + 1:3d} of {epochs}: loss {losses[-1]:.4f}")
    return losses


def accuracy(layers: Sequence[Layer], images: Array, labels: NDArray[np.int64]) -> float:
    """The share of `images` whose largest logit is at the label."""
    x = images.reshape(len(images), -1) if isinstance(layers[0], Dense) else images
    return float((forward(layers, x).argmax(axis=1) == labels).mean())


def train_and_write(folder: Path, epochs: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Train both networks; write the ONNX files, `heldout.npz` and `metrics.json` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    split = load_split()
    metrics: dict[str, Any] = {"seed": SEED, "held_out": HELD_OUT, "epochs": epochs}
    for name, build in (("cnn", build_cnn), ("mlp", build_mlp)):
        rng = np.random.default_rng(SEED)
        layers = build(rng)
        start = time.perf_counter()
        report(f"training {name}")
        images = scale(split.train_images)
        train(
            layers,
            images,
            split.train_labels,
            epochs=epochs,
            rng=rng,
            augment=name == "cnn",
            report=report,
        )
        measured = {
            "accuracy": round(accuracy(layers, scale(split.test_images), split.test_labels), 4),
            "parameters": sum(p.size for layer in layers for p in layer.params.values()),
        }
        report(f"{name}: {measured} in {time.perf_counter() - start:.0f} s")
        metrics[name] = measured
        doc = f"Digits {name.upper()}, held-out accuracy {measured['accuracy']:.4f}"
        (folder / f"digits_{name}.onnx").write_bytes(to_onnx(layers, f"digits_{name}", doc))
    np.savez_compressed(
        folder / "heldout.npz", images=split.test_images, labels=split.test_labels.astype(np.uint8)
    )
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    return metrics


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of the script; progress goes to standard error."""
    parser = argparse.ArgumentParser(
        description="train the digits networks and export them to ONNX"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--epochs", type=int, default=60)
    options = parser.parse_args(arguments)
    metrics = train_and_write(
        options.out, options.epochs, lambda line: print(line, file=sys.stderr)
    )
    print(json.dumps(metrics))
    return 0


if __name__ == "__main__":
    sys.exit(main())
