"""Layer 5: tensor expressions: what to compute, element by element, in no given order."""

from workbench.te.create_primfunc import create_prim_func
from workbench.te.operation import (
    compute,
    extern,
    extern_primfunc,
    placeholder,
    reduce_axis,
    size_var,
    var,
)
from workbench.te.tensor import (
    ComputeOp,
    DataProducer,
    ExternOp,
    Operation,
    PlaceholderOp,
    Tensor,
    TensorSlice,
)
from workbench.tirx.op import comm_reducer, max, min, sum

__all__ = [
    "ComputeOp",
    "DataProducer",
    "ExternOp",
    "Operation",
    "PlaceholderOp",
    "Tensor",
    "TensorSlice",
    "comm_reducer",
    "compute",
    "create_prim_func",
    "extern",
    "extern_primfunc",
    "max",
    "min",
    "placeholder",
    "reduce_axis",
    "size_var",
    "sum",
    "var",
]
