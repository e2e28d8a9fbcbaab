"""ONNX frontend: `from_onnx(model)`.

Converters register themselves when their module is imported (`ops_math`, `ops_nn`, `ops_tensor`;
`ops_host` for shape arithmetic at import time). Read `importer` first.
"""

from workbench.relax.frontend.onnx import ops_host, ops_math, ops_nn, ops_tensor
from workbench.relax.frontend.onnx.importer import (
    UnsupportedOperators,
    from_onnx,
    load_model,
    supported_operators,
)
from workbench.relax.frontend.onnx.registry import OnnxError

__all__ = [
    "OnnxError",
    "UnsupportedOperators",
    "from_onnx",
    "load_model",
    "ops_host",
    "ops_math",
    "ops_nn",
    "ops_tensor",
    "supported_operators",
]
