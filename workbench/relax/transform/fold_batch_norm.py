"""FoldBatchNorm: batch normalisation at inference vanishes into the weights before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, Expr, Op, Var
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.expr import Binding, Constant, Function, Tuple, const
from workbench.relax.op.binary import add, multiply
from workbench.relax.transform.rewriter import BindingRewriter, rewrite_bindings

_CONVS = {"relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d"}


@define_pass("relax.FoldBatchNorm", level="function", on=Function)
def FoldBatchNorm(func: Function, ctx: PassContext) -> Function:
    """Folds batch normalisation with constant parameters into the convolution it follows.

        lv = R.nn.conv2d(x, w);  lv1 = R.nn.batch_norm(lv, gamma, beta, mean, var);  gv = lv1[0]
        →
        lv = R.nn.conv2d(x, w * scale);  gv = R.add(lv, shift)

    with scale = gamma / sqrt(var + epsilon), shift = beta - mean * scale. A constant that is added
    between the two is folded too. Where no convolution with constant weights comes before (or its
    result has other users), the normalisation becomes one product and one sum.
    """
    return _Folder(func).run()


class _Folder:
    """Folds within one function."""

    def __init__(self, func: Function) -> None:
        self.func = func
        self.uses: dict[int, int] = {}
        self.values: dict[int, Any] = {}
        for binding in iter_nodes(func, Binding):
            self.values[id(binding.var)] = binding.value  # type: ignore[attr-defined]
            for var in iter_nodes(binding.value, Var):  # type: ignore[attr-defined]
                self.uses[id(var)] = self.uses.get(id(var), 0) + 1
        for var in iter_nodes(func.body.body, Var):
            self.uses[id(var)] = self.uses.get(id(var), 0) + 1
        #: Convolutions to scale: variable → factor per output channel.
        self.scaled: dict[int, np.ndarray[Any, Any]] = {}
        #: Sums between: variable → the sum vanishes (its constant went into the shift).
        self.dropped: set[int] = set()
        self.norms: dict[int, tuple[np.ndarray[Any, Any] | None, np.ndarray[Any, Any]]] = {}

    def run(self) -> Function:
        for binding in iter_nodes(self.func, Binding):
            if _is_norm(binding.value):  # type: ignore[attr-defined]
                self.plan(binding)
        if not self.norms:
            return self.func
        return rewrite_bindings(self.func, self.visit)

    def plan(self, binding: Any) -> None:
        """Decides how a normalisation is done: (factor or None if folded, shift)."""
        call = binding.value
        gamma, beta, mean, var = (np.asarray(a.data.view(), "float64") for a in call.args[1:])
        scale = 1.0 / np.sqrt(var + call.attrs.epsilon)
        if call.attrs.scale:
            scale = scale * gamma
        shift = -mean * scale
        if call.attrs.center:
            shift = shift + beta
        source = added = call.args[0]
        value = self.single_use(source)
        between = None
        if _is_op(value, "relax.add"):
            operand, bias = _constant_side(value)
            per_channel = _per_channel(bias, call, scale.size) if bias is not None else None
            inner = self.single_use(operand) if per_channel is not None else None
            if inner is not None:
                between, value = per_channel, inner
                source = operand
        if _is_conv(value) and call.attrs.axis in (1, 1 - call.args[0].ty.ndim):
            self.scaled[id(source)] = scale
            if between is not None:
                shift = shift + between * scale
                self.dropped.add(id(added))
            self.norms[id(binding.var)] = (None, shift)
        else:
            self.norms[id(binding.var)] = (scale, shift)

    def single_use(self, var: Any) -> Any:
        """The value of a variable that is used once, else None."""
        if not isinstance(var, Var) or self.uses.get(id(var)) != 1:
            return None
        return self.values.get(id(var))

    def visit(self, binding: Any, run: BindingRewriter) -> None:
        key = id(binding.var)
        call = binding.value
        if key in self.scaled:
            weight = call.args[1]
            factor = self.scaled[key].reshape(-1, *[1] * (weight.data.ndim - 1))
            new = const((weight.data.view() * factor).astype(weight.data.view().dtype))
            run.bind(binding, call.replace(args=(call.args[0], new)))
        elif key in self.dropped:
            run.replace(binding.var, _constant_side(call)[0])
        elif key in self.norms:
            self.norm(binding, run)
        else:
            run.keep(binding)

    def norm(self, binding: Any, run: BindingRewriter) -> None:
        """Emits what is left of a normalisation; the tuple stays for its other fields."""
        call = binding.value
        factor, shift = self.norms[id(binding.var)]
        data: Expr = call.args[0]
        shape = [1] * data.ty.ndim
        shape[call.attrs.axis] = -1
        dtype = str(data.ty.dtype)
        if factor is not None:
            data = run.emit(multiply(data, const(factor.reshape(shape).astype(dtype))))
        out = run.emit(add(data, const(shift.reshape(shape).astype(dtype))).replace(span=call.span))
        run.bind(binding, Tuple([out, call.args[3], call.args[4]]), call.span)


def _is_op(value: Any, name: str) -> bool:
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == name


def _is_norm(value: Any) -> bool:
    return (
        _is_op(value, "relax.nn.batch_norm")
        and not value.attrs.training
        and all(isinstance(a, Constant) for a in value.args[1:])
        and value.args[0].ty.ndim > 0
    )


def _is_conv(value: Any) -> bool:
    return (
        isinstance(value, Call)
        and isinstance(value.op, Op)
        and value.op.name in _CONVS
        and isinstance(value.args[1], Constant)
        and value.attrs.kernel_layout.startswith("OI")
        and value.attrs.data_layout.startswith("NC")
    )


def _constant_side(call: Any) -> tuple[Any, Constant | None]:
    """The other operand and the constant of a sum."""
    a, b = call.args
    if isinstance(b, Constant):
        return a, b
    return (b, a) if isinstance(a, Constant) else (a, None)


def _per_channel(bias: Constant, norm: Any, channels: int) -> np.ndarray[Any, Any] | None:
    """A constant as one value per channel, if it varies along the channel axis only."""
    array = bias.data.view()
    rank = norm.args[0].ty.ndim
    shape = (1,) * (rank - array.ndim) + array.shape
    axis = norm.attrs.axis % rank
    if array.ndim > rank or any(d != 1 for k, d in enumerate(shape) if k != axis):
        return None
    values = np.asarray(array, "float64").reshape(-1)
    return np.broadcast_to(values, (channels,)) if values.size in (1, channels) else None
