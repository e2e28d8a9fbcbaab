"""Small lowered functions, written node by node, and how to compile and run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from workbench import runtime
from workbench.ir import IRModule
from workbench.runtime import DataType
from workbench.target import Target
from workbench.target.codegen import build
from workbench.tirx import (
    BufferLoad,
    BufferStore,
    For,
    ForKind,
    PrimFunc,
    Ramp,
    SeqStmt,
    Var,
    decl_buffer,
)

EXACT = Target({"kind": "llvm", "fast-math-contract": False})


def flat(name: str, size: Any, dtype: str = "float32") -> Var:
    """A buffer of one dimension."""
    return decl_buffer((size,), dtype, name)


def compile_func(
    params: Sequence[Var],
    body: Any,
    *,
    target: Target = EXACT,
    ret: str | None = None,
    noalias: bool = True,
    name: str = "main",
    more: dict[str, PrimFunc] | None = None,
) -> runtime.Module:
    """Compiles one function."""
    if isinstance(body, (list, tuple)):
        body = SeqStmt(body)
    func = PrimFunc(
        params, body, ret_type=ret, attrs={"global_symbol": name, "tirx.noalias": noalias}
    )
    return build(IRModule({name: func, **(more or {})}), target)


def elementwise(
    make: Callable[..., Any],
    inputs: Sequence[np.ndarray[Any, Any]],
    result: str,
    *,
    lanes: int = 1,
    target: Target = EXACT,
) -> np.ndarray[Any, Any]:
    """Computes `out[i] = make(in0[i], in1[i], …)` by compiled code, `lanes` elements at a time."""
    size = len(inputs[0])
    buffers = [flat(f"in{n}", size, DataType(array.dtype.name)) for n, array in enumerate(inputs)]
    out = flat("out", size, result)
    i = Var("i", "int32")
    at = i if lanes == 1 else Ramp(i * lanes, 1, lanes)
    value = make(*[BufferLoad(b, [at]) for b in buffers])
    loop = For(i, 0, size // lanes, ForKind.SERIAL, BufferStore(out, value, [at]))
    mod = compile_func([*buffers, out], loop, target=target)
    found = runtime.empty((size,), result)
    mod["main"](*inputs, found)
    return found.numpy()
