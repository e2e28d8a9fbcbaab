"""Handwritten digits: a small CNN and an MLP as ONNX files, and images neither was trained on.

Both networks are trained by `workbench.models.digits.train` from scikit-learn's copy of the UCI
data (nothing is downloaded). Importing this module reads no file; the functions do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["MODEL_NAMES", "load_heldout", "metrics", "model_path"]

ModelName = Literal["cnn", "mlp"]
MODEL_NAMES: tuple[ModelName, ...] = ("cnn", "mlp")

_FOLDER = Path(__file__).parent


def model_path(name: ModelName = "cnn") -> Path:
    """The ONNX file of one of the two networks.

    `cnn` takes `image`, float32 `(N, 1, 8, 8)`; `mlp` takes `pixels`, float32 `(N, 64)`. Both give
    `probabilities`, float32 `(N, 10)`, and `N` is free. Raises `ValueError` for another name.
    """
    if name not in MODEL_NAMES:
        raise ValueError(f"no digits model named {name!r}; there are: {', '.join(MODEL_NAMES)}")
    return _FOLDER / f"digits_{name}.onnx"


def load_heldout() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The held-out images, float32 `(450, 1, 8, 8)` in [0, 1], and their labels, int64 `(450,)`."""
    with np.load(_FOLDER / "heldout.npz") as archive:
        images = archive["images"].astype(np.float32)[:, None] / np.float32(16)
        return images, archive["labels"].astype(np.int64)


def metrics() -> dict[str, Any]:
    """What the training script measured: accuracy and parameter count by model, and settings."""
    return json.loads((_FOLDER / "metrics.json").read_text(encoding="utf-8"))
