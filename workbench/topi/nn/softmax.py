"""Softmax and its logarithm along one axis."""

from __future__ import annotations

from typing import Any

from workbench import te
from workbench.ir.expr import Expr, IntImm
from workbench.te.tensor import Tensor
from workbench.tirx import op as tir
from workbench.topi.dims import normalize_axis
from workbench.topi.reduction import max_reducer


class _Line:
    """The dimensions of a softmax: the axis and the others."""

    def __init__(self, x: Tensor, axis: int) -> None:
        self.x = x
        self.axis = normalize_axis(axis, x.ndim, "softmax")
        self.rest = [d for k, d in enumerate(x.shape) if k != self.axis]
        self.extent = x.shape[self.axis]

    def others(self, indices: Any) -> list[Any]:
        return [v for k, v in enumerate(indices) if k != self.axis]

    def along(self, indices: Any, k: Any) -> list[Any]:
        return [*indices[: self.axis], k, *indices[self.axis :]]

    def reduce(self, name: str, value: Any, reducer: Any) -> Tensor:
        k = te.reduce_axis((IntImm(self.extent.dtype, 0), self.extent), "k")
        return te.compute(
            self.rest,
            lambda *i: reducer(value(self.along(i, k.var), i), axis=k),
            name=name,
            varargs_names=[f"i{n}" for n in range(len(self.rest))],
        )


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x - max) / sum(exp(x - max)) along `axis`."""
    line = _Line(x, axis)
    names = [f"i{n}" for n in range(x.ndim)]
    top = line.reduce("T_softmax_maxelem", lambda at, i: x(*at), max_reducer)
    grown = te.compute(
        x.shape,
        lambda *i: tir.exp(x(*i) - top(*line.others(i))),
        name="T_softmax_exp",
        varargs_names=names,
    )
    total = line.reduce("T_softmax_expsum", lambda at, i: grown(*at), te.sum)
    return te.compute(
        x.shape,
        lambda *i: grown(*i) / total(*line.others(i)),
        name="T_softmax_norm",
        tag="softmax_output",
        attrs={"axis": line.axis},
        varargs_names=names,
    )


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """x - max - log(sum(exp(x - max))) along `axis`."""
    line = _Line(x, axis)
    top = line.reduce("T_softmax_maxelem", lambda at, i: x(*at), max_reducer)

    def grown(at: Any, i: Any) -> Expr:
        return tir.exp(x(*at) - top(*i))

    total = line.reduce("T_softmax_expsum", grown, te.sum)

    def element(*i: Any) -> Expr:
        rest = line.others(i)
        return x(*i) - top(*rest) - tir.log(total(*rest))

    return te.compute(
        x.shape,
        element,
        name="T_log_softmax",
        tag="log_softmax_output",
        varargs_names=[f"i{n}" for n in range(x.ndim)],
    )
