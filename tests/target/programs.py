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


def elementwise_all(
    makes: Sequence[Callable[..., Any]],
    inputs: Sequence[np.ndarray[Any, Any]],
    results: Sequence[str],
    *,
    lanes: int = 1,
    target: Target = EXACT,
) -> list[np.ndarray[Any, Any]]:
    """Computes `out_k[i] = make_k(in0[i], in1[i], …)` for all k in one compiled function, `lanes`
    elements at a time; `results` are the data types of the outputs."""
    size = len(inputs[0])
    buffers = [flat(f"in{n}", size, DataType(array.dtype.name)) for n, array in enumerate(inputs)]
    outs = [flat(f"out{n}", size, dtype) for n, dtype in enumerate(results)]
    i = Var("i", "int32")
    at = i if lanes == 1 else Ramp(i * lanes, 1, lanes)
    loads = [BufferLoad(b, [at]) for b in buffers]
    stores = [BufferStore(o, make(*loads), [at]) for o, make in zip(outs, makes, strict=True)]
    loop = For(i, 0, size // lanes, ForKind.SERIAL, SeqStmt(stores))
    mod = compile_func([*buffers, *outs], loop, target=target)
    found = [runtime.empty((size,), dtype) for dtype in results]
    mod["main"](*inputs, *found)
    return [t.numpy() for t in found]


def elementwise(
    make: Callable[..., Any],
    inputs: Sequence[np.ndarray[Any, Any]],
    result: str,
    *,
    lanes: int = 1,
    target: Target = EXACT,
) -> np.ndarray[Any, Any]:
    """One output of `elementwise_all`."""
    return elementwise_all([make], inputs, [result], lanes=lanes, target=target)[0]
