"""One declaration of an intrinsic; everything else follows from it.

    @intrin("tirx.exp", lower={"llvm": "wb.exp", "c": "exp"}, numpy=np.exp, args="float")
    def exp(x: Any) -> Expr:
        \"\"\"e to the power x.\"\"\"

registers the operator with its facts and makes the Python function build the call. The facts:

* `numpy`: the meaning, a function of NumPy arrays or scalars (interpreter, constant folding);
* `lower`: what each code generator emits, by family ("llvm", "c");
* `effect`: a `CallEffectKind`; `vectorizable`: whether a vector of arguments gives a vector.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from workbench.ir.expr import Call, Expr, Op, as_expr, register_op
from workbench.ir.type import Type, as_type, prim_type


class CallEffectKind(IntEnum):
    """What a call does besides returning a value, from harmless to most restricted."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6


PURE, READ, UPDATE = CallEffectKind.Pure, CallEffectKind.ReadState, CallEffectKind.UpdateState


def declare_intrin(
    name: str,
    *,
    lower: Mapping[str, str] | None = None,
    numpy: Callable[..., Any] | None = None,
    effect: CallEffectKind = PURE,
    vectorizable: bool | None = None,
    **facts: Any,
) -> Op:
    """Registers an intrinsic without a builder of its own."""
    if vectorizable is None:
        vectorizable = numpy is not None and effect is PURE
    return register_op(
        name,
        lower=dict(lower or {}),
        numpy=numpy,
        effect=effect,
        vectorizable=vectorizable,
        **facts,
    )


def intrin(
    name: str,
    *,
    lower: Mapping[str, str] | None = None,
    numpy: Callable[..., Any] | None = None,
    effect: CallEffectKind = PURE,
    vectorizable: bool | None = None,
    args: str = "any",
    result: str = "first",
    **facts: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Expr]]:
    """Declares an intrinsic by the function that builds its call.

    Parameters
    ----------
    name : "tirx.NAME".
    args : what the arguments must be: "any", "float" or "int".
    result : the type of the call: "first" (that of the first argument), "bool" (with the lanes of
        the first argument) or a data type.

    A function that consists of its docstring builds the plain call of its arguments; one that
    returns an expression builds that (constant folding, type matching).
    """
    op = declare_intrin(
        name, lower=lower, numpy=numpy, effect=effect, vectorizable=vectorizable, **facts
    )

    def decorate(function: Callable[..., Any]) -> Callable[..., Expr]:
        count = len(inspect.signature(function).parameters)
        label = function.__name__

        @functools.wraps(function)
        def build(*given: Any, **named: Any) -> Expr:
            built = function(*given, **named)
            if built is not None:
                return built
            exprs = [as_expr(a) for a in given]
            exprs += [as_expr(v) for k, v in named.items() if k != "span"]
            if len(exprs) != count - ("span" in named):
                exprs = exprs[:count]
            check_arguments(label, args, exprs)
            return Call(op, exprs, ret_ty=_result(result, exprs), span=named.get("span"))

        op.set_attr("builder", build)
        return build

    return decorate


def check_arguments(label: str, kind: str, exprs: list[Expr]) -> None:
    """Raises TypeError unless all arguments are of the wanted kind."""
    for position, expr in enumerate(exprs):
        if kind == "float" and not expr.dtype.is_float:
            raise TypeError(
                f"{label}: argument {position} must be floating point, got {expr.dtype} ({expr}); "
                f"cast it with .astype('float32')"
            )
        if kind == "int" and expr.dtype.is_float:
            raise TypeError(
                f"{label}: argument {position} must be an integer, got {expr.dtype} ({expr})"
            )


def _result(kind: str, exprs: list[Expr]) -> Type:
    if kind == "first":
        return exprs[0].ty
    if kind == "bool":
        lanes = exprs[0].dtype.lanes
        return prim_type("bool" if lanes == 1 else f"boolx{lanes}")
    return as_type(kind)


def effect_of(call: Call) -> CallEffectKind:
    """The effect of a call; a callee that declares none may do anything."""
    if isinstance(call.op, Op):
        return call.op.attr("effect", UPDATE)
    return UPDATE
