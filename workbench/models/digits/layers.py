"""Layers with a hand-written forward and backward pass, in NumPy, and the Adam optimiser.

Enough to train the digits networks and no more. Activations are float32 `(N, C, H, W)` or `(N, F)`;
`backward` takes the gradient of the loss by the layer's output and returns the one by its input,
leaving the gradients by the parameters in `grads`. Read next: `train.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Layer:
    """A function of one array; without parameters unless a subclass says otherwise."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.params: dict[str, Array] = {}
        self.grads: dict[str, Array] = {}

    def forward(self, x: Array, training: bool) -> Array:
        """The value at `x`; `training` uses batch statistics and keeps what `backward` needs."""
        raise NotImplementedError

    def backward(self, grad: Array) -> Array:
        """The gradient by the input of the last `forward(..., training=True)`."""
        raise NotImplementedError


class Conv2D(Layer):
    """3×3-like convolution, stride 1, zero padding that keeps height and width (odd kernels)."""

    def __init__(
        self, name: str, channels: tuple[int, int], kernel: int, rng: np.random.Generator
    ) -> None:
        super().__init__(name)
        c_in, c_out = channels
        scale = np.sqrt(2.0 / (c_in * kernel * kernel))  # He et al. 2015, for ReLU networks
        weight = rng.normal(0.0, scale, (c_out, c_in, kernel, kernel))
        self.pad = kernel // 2
        self.params = {"weight": weight.astype(np.float32), "bias": np.zeros(c_out, np.float32)}

    def _windows(self, x: Array) -> Array:
        p, k = self.pad, self.params["weight"].shape[2]
        padded = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
        return sliding_window_view(padded, (k, k), axis=(2, 3))  # (N, C, H, W, k, k)

    def forward(self, x: Array, training: bool) -> Array:
        """`(N, C_in, H, W)` → `(N, C_out, H, W)`."""
        windows = self._windows(x)
        if training:
            self._seen = windows
        out = np.tensordot(windows, self.params["weight"], axes=((1, 4, 5), (1, 2, 3)))
        return np.ascontiguousarray(out.transpose(0, 3, 1, 2)) + self.params["bias"][:, None, None]

    def backward(self, grad: Array) -> Array:
        """Correlate with the input for the weights, with the turned kernel for the input."""
        weight = self.params["weight"]
        self.grads = {
            "weight": np.tensordot(grad, self._seen, axes=((0, 2, 3), (0, 2, 3))),
            "bias": grad.sum(axis=(0, 2, 3)),
        }
        turned = weight[:, :, ::-1, ::-1]
        back = np.tensordot(self._windows(grad), turned, axes=((1, 4, 5), (0, 2, 3)))
        return np.ascontiguousarray(back.transpose(0, 3, 1, 2))


class BatchNorm(Layer):
    """Normalise each channel by its batch, later by running statistics (Ioffe & Szegedy 2015)."""

    def __init__(
        self, name: str, channels: int, momentum: float = 0.9, epsilon: float = 1e-5
    ) -> None:
        super().__init__(name)
        self.momentum, self.epsilon = momentum, epsilon
        self.params = {
            "scale": np.ones(channels, np.float32),
            "shift": np.zeros(channels, np.float32),
        }
        self.mean = np.zeros(channels, np.float32)
        self.variance = np.ones(channels, np.float32)

    def forward(self, x: Array, training: bool) -> Array:
        """`(N, C, H, W)` → same shape."""
        if training:
            mean, variance = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
            self.mean = self.momentum * self.mean + (1 - self.momentum) * mean
            self.variance = self.momentum * self.variance + (1 - self.momentum) * variance
        else:
            mean, variance = self.mean, self.variance
        inverse = 1.0 / np.sqrt(variance + self.epsilon)
        normal = (x - mean[:, None, None]) * inverse[:, None, None]
        if training:
            self._normal, self._inverse = normal, inverse
        scale, shift = self.params["scale"], self.params["shift"]
        return (normal * scale[:, None, None] + shift[:, None, None]).astype(np.float32)

    def backward(self, grad: Array) -> Array:
        """Through the batch's own mean and variance as well."""
        normal = self._normal
        d_scale, d_shift = (grad * normal).sum(axis=(0, 2, 3)), grad.sum(axis=(0, 2, 3))
        self.grads = {"scale": d_scale, "shift": d_shift}
        count = grad.shape[0] * grad.shape[2] * grad.shape[3]
        centred = grad - (d_shift[:, None, None] + normal * d_scale[:, None, None]) / count
        factor = self.params["scale"] * self._inverse
        return (centred * factor[:, None, None]).astype(np.float32)


class ReLU(Layer):
    """max(x, 0)."""

    def forward(self, x: Array, training: bool) -> Array:
        """Any shape."""
        if training:
            self._positive = x > 0
        return np.maximum(x, 0)

    def backward(self, grad: Array) -> Array:
        """Zero where the input was not positive."""
        return grad * self._positive


class MaxPool2(Layer):
    """The largest value of each 2×2 window, stride 2; height and width must be even."""

    def forward(self, x: Array, training: bool) -> Array:
        """`(N, C, H, W)` → `(N, C, H/2, W/2)`."""
        n, c, h, w = x.shape
        windows = x.reshape(n, c, h // 2, 2, w // 2, 2)
        out = windows.max(axis=(3, 5))
        if training:
            ties = windows == out[:, :, :, None, :, None]
            self._share = ties / ties.sum(axis=(3, 5), keepdims=True, dtype=np.float32)
        return out

    def backward(self, grad: Array) -> Array:
        """To the largest value; equally to several that tie."""
        spread = grad[:, :, :, None, :, None] * self._share
        n, c, h, _, w, _ = spread.shape
        return spread.reshape(n, c, 2 * h, 2 * w).astype(np.float32)


class Flatten(Layer):
    """All but the first dimension become one."""

    def forward(self, x: Array, training: bool) -> Array:
        """`(N, ...)` → `(N, F)`."""
        self._shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, grad: Array) -> Array:
        """The shape it came with."""
        return grad.reshape(self._shape)


class Dense(Layer):
    """x · weightᵀ + bias."""

    def __init__(self, name: str, features: tuple[int, int], rng: np.random.Generator) -> None:
        super().__init__(name)
        f_in, f_out = features
        weight = rng.normal(0.0, np.sqrt(2.0 / f_in), (f_out, f_in))
        self.params = {"weight": weight.astype(np.float32), "bias": np.zeros(f_out, np.float32)}

    def forward(self, x: Array, training: bool) -> Array:
        """`(N, F_in)` → `(N, F_out)`."""
        if training:
            self._seen = x
        return x @ self.params["weight"].T + self.params["bias"]

    def backward(self, grad: Array) -> Array:
        """Two matrix products."""
        self.grads = {"weight": grad.T @ self._seen, "bias": grad.sum(axis=0)}
        return grad @ self.params["weight"]


def softmax(logits: Array) -> Array:
    """Row-wise probabilities of `(N, classes)` logits."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def cross_entropy(logits: Array, labels: NDArray[np.int64]) -> tuple[float, Array]:
    """Mean negative log-likelihood of `labels`, and its gradient by the logits."""
    rows = np.arange(len(labels))
    probabilities = softmax(logits)
    loss = float(-np.log(probabilities[rows, labels] + 1e-12).mean())
    grad = probabilities
    grad[rows, labels] -= 1.0
    return loss, grad / np.float32(len(labels))


class Adam:
    """Kingma & Ba 2015, with decoupled weight decay on weights (Loshchilov & Hutter 2019)."""

    def __init__(self, layers: Sequence[Layer], decay: float = 1e-4) -> None:
        self.layers, self.decay, self.count = layers, decay, 0
        self._moments = {
            (layer.name, key): (np.zeros_like(value), np.zeros_like(value))
            for layer in layers
            for key, value in layer.params.items()
        }

    def step(self, rate: float) -> None:
        """Move every parameter once, from the gradients that the layers hold."""
        self.count += 1
        correct1, correct2 = 1 - 0.9**self.count, 1 - 0.999**self.count
        for layer in self.layers:
            for key, grad in layer.grads.items():
                first, second = self._moments[layer.name, key]
                first += np.float32(0.1) * (grad - first)
                second += np.float32(0.001) * (grad * grad - second)
                step = (first / correct1) / (np.sqrt(second / correct2) + 1e-8)
                if key == "weight":
                    step = step + self.decay * layer.params[key]
                layer.params[key] -= (rate * step).astype(np.float32)
