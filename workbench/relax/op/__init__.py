"""Relax operators. One decorated function each (see `registry`); in scripts they are `R.<name>`."""

from workbench.ir.expr import Call, operators
from workbench.relax.expr import TupleGetItem, convert_to_expr
from workbench.relax.op import image, nn
from workbench.relax.op.base import (
    assert_op,
    call_dps_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    null_value,
    print_,
    shape_of,
    shape_to_tensor,
    tensor_to_shape,
)
from workbench.relax.op.binary import (
    add,
    atan2,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    divide,
    equal,
    floor_divide,
    floor_mod,
    greater,
    greater_equal,
    left_shift,
    less,
    less_equal,
    log_add_exp,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mod,
    multiply,
    not_equal,
    power,
    right_shift,
    subtract,
)
from workbench.relax.op.create import (
    arange,
    astype,
    full,
    full_like,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from workbench.relax.op.index import strided_slice, take, where
from workbench.relax.op.linear import linear, matmul, outer
from workbench.relax.op.manipulate import (
    broadcast_to,
    concat,
    expand_dims,
    flatten,
    flip,
    gather_elements,
    gather_nd,
    one_hot,
    permute_dims,
    repeat,
    reshape,
    split,
    squeeze,
    stack,
    tile,
)
from workbench.relax.op.registry import (
    OpInfo,
    OpPatternKind,
    op_info,
    relax_op,
    relax_ops,
    with_inferred_type,
)
from workbench.relax.op.statistical import (
    argmax,
    argmin,
    cumprod,
    cumsum,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    variance,
)
from workbench.relax.op.unary import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    bitwise_not,
    ceil,
    clip,
    cos,
    cosh,
    erf,
    exp,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    logical_not,
    negative,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    trunc,
)


def _getitem(value: object, index: object) -> object:
    """`x[i]` of a tuple."""
    if isinstance(index, int):
        return TupleGetItem(value, index)  # type: ignore[arg-type]
    raise TypeError("a Relax value is indexed by an integer (a tuple); use relax.op.strided_slice")


def _call(value: object, *args: object, **attrs: object) -> object:
    """`f(x)` of a function value."""
    return Call(value, [convert_to_expr(a) for a in args], attrs or None)  # type: ignore[arg-type]


operators["relax"].update(
    add=add,
    subtract=subtract,
    multiply=multiply,
    divide=divide,
    floor_divide=floor_divide,
    mod=mod,
    power=power,
    matmul=matmul,
    negative=negative,
    bitwise_and=bitwise_and,
    bitwise_or=bitwise_or,
    bitwise_xor=bitwise_xor,
    bitwise_not=bitwise_not,
    left_shift=left_shift,
    right_shift=right_shift,
    less=less,
    less_equal=less_equal,
    greater=greater,
    greater_equal=greater_equal,
    astype=astype,
    getitem=_getitem,
    call=_call,
)


