"""How a Relax operator is declared: one decorated function.

    @relax_op("nn.relu", infer=same_as_input, legalize=te_call(topi.nn.relu), pattern=ELEMWISE)
    def relu(data: Expr) -> OpCall:
        \"\"\"max(x, 0), element by element.\"\"\"
        return (data,), {}

The function checks and normalises its arguments and returns `(operands, attributes)`. From the
declaration come the public builder (`relax.op.nn.relu(x)`, which returns a typed `Call` where the
operands' types are known), the script form `R.nn.relu(x)` with attributes as keyword arguments,
type inference, legalisation to loops, the fusion pattern, the gradient and the layout rule.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from workbench.core.registry import Registry
from workbench.ir.expr import Call, Expr, Op, register_op
from workbench.ir.type import Type

#: What a declaration returns: operands and attributes.
OpCall = tuple[tuple[Expr, ...], Mapping[str, Any]]


class OpPatternKind(IntEnum):
    """How a kernel combines with its neighbours (TVM's fusion kinds)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


@dataclass(frozen=True)
class OpInfo:
    """Everything declared about a Relax operator.

    infer : `(call, types) → Type`; `types` are those of the operands.
    legalize : `(builder, call) → Expr` built with `builder.call_te` or other operators; None for
        operators that lowering handles by itself.
    pattern : fusion kind, or None to derive it from the loops.
    gradient : `(orig_var, orig_call, output_grad, ctx) → operand gradients`.
    pure : whether it has no side effects.
    """

    op: Op
    builder: Callable[..., Call]
    signature: inspect.Signature
    infer: Callable[[Call, list[Any]], Type] | None
    legalize: Callable[[Any, Call], Expr] | None
    pattern: OpPatternKind | None
    gradient: Callable[..., Any] | None
    layout: Callable[..., Any] | None
    pure: bool


#: All Relax operators: "relax.nn.relu" → OpInfo.
relax_ops: Registry[OpInfo] = Registry("Relax operator")


def relax_op(
    name: str,
    *,
    infer: Callable[[Call, list[Any]], Type] | None = None,
    legalize: Callable[[Any, Call], Expr] | None = None,
    pattern: OpPatternKind | None = None,
    gradient: Callable[..., Any] | None = None,
    layout: Callable[..., Any] | None = None,
    pure: bool = True,
) -> Callable[[Callable[..., OpCall]], Callable[..., Call]]:
    """Declares the operator `relax.<name>`; see the module's text."""
    full = f"relax.{name}"

    def declare(function: Callable[..., OpCall]) -> Callable[..., Call]:
        op = register_op(full, pure=pure)
        signature = inspect.signature(function)

        @functools.wraps(function)
        def build(*args: Any, **kwargs: Any) -> Call:
            try:
                operands, attrs = function(*args, **kwargs)
            except TypeError:
                wrong = _bad_call(full, signature, args, kwargs)
                if wrong is None:
                    raise
                raise wrong from None
            for position, operand in enumerate(operands):
                if not isinstance(operand, Expr):
                    raise TypeError(
                        f"{full}: operand {position} is a {type(operand).__name__}, "
                        f"expected a Relax expression: {operand!r}"
                    )
            call = Call(op, operands, attrs or None)
            return with_inferred_type(call)

        info = OpInfo(
            op,
            build,
            signature,
            infer,
            legalize,
            pattern,
            gradient,
            layout,
            pure,
        )
        relax_ops.add(full, info)
        op.set_attr("info", info)
        return build

    return declare


def _bad_call(
    name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> TypeError | None:
    """The error of a call whose arguments do not fit the signature; None if they do."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        plain = [
            p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()
        ]
        shown = signature.replace(parameters=plain, return_annotation=inspect.Signature.empty)
        return TypeError(f"{name}: {error}; the signature is {name}{shown}")
    return None


def op_info(expr: Any) -> OpInfo | None:
    """The declaration behind a call's operator (or an `Op`), or None."""
    op = expr.op if isinstance(expr, Call) else expr
    return op.attr("info") if isinstance(op, Op) else None


def with_inferred_type(call: Call) -> Call:
    """The call with its type, if its operator infers one and all operands have theirs."""
    info = op_info(call)
    if info is None or info.infer is None or call.ty is not None:
        return call
    types = [a.ty for a in call.args]
    if any(t is None for t in types):
        return call
    return call.replace(ty=info.infer(call, types))
