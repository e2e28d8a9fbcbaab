"""The general matrix product under the name and arguments that Relax uses."""

from __future__ import annotations

from workbench.te.tensor import Tensor
from workbench.topi.nn.matmul import matmul as nn_matmul


def matmul(
    a: Tensor,
    b: Tensor,
    out_dtype: str | None = None,
    transp_a: bool = False,
    transp_b: bool = False,
) -> Tensor:
    """`nn.matmul`: NumPy's matmul, added up in `out_dtype`."""
    return nn_matmul(a, b, None, out_dtype, transp_a, transp_b)
