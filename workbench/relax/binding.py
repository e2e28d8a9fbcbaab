"""Functions with parameters or symbolic dimensions replaced by values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.core.traverse import bound_vars, substitute
from workbench.ir.expr import Call, Expr, GlobalVar, IntImm, Var
from workbench.relax.analysis.type_relation import match_types
from workbench.relax.analysis.variables import defined_symbolic_vars
from workbench.relax.expr import Constant, Function, SeqExpr, const
from workbench.relax.expr_functor import PyExprMutator


def bind_params(func: Function, params: Mapping[Any, Any]) -> Function:
    """Replaces parameters by constants and removes them from the signature.

    Parameters
    ----------
    params : by name or variable; arrays, tensors or `relax.Constant`s. Dimensions that the
        constants determine are filled in.

    Raises WorkbenchError for an unknown name or a value that does not fit.
    """
    by_name = {p.name: p for p in func.params}
    images: dict[Var, Expr] = {}
    for key, value in params.items():
        param = by_name.get(key) if isinstance(key, str) else key
        if param is None or not any(param is p for p in func.params):
            raise WorkbenchError(
                f"BindParams: the function has no parameter {key!r}",
                hint=did_you_mean(str(key), by_name) or f"its parameters: {', '.join(by_name)}",
            )
        constant = value if isinstance(value, Constant) else const(value)
        _check(param, constant)
        images[param] = constant
    dims: dict[Var, Expr] = {}
    for param, constant in images.items():
        match_types(param.ty, constant.ty, dims)  # type: ignore[arg-type]
    kept = tuple(p for p in func.params if not any(p is k for k in images))
    return substitute(func.replace(params=kept), {**dims, **images})


def _check(param: Var, constant: Constant) -> None:
    want, got = param.ty, constant.ty
    shape = getattr(want, "dims", None)
    fits = getattr(want, "dtype", None) in (None, got.dtype)  # type: ignore[union-attr]
    if fits and shape is not None:
        have = constant.data.shape
        fits = len(shape) == len(have) and all(
            not isinstance(d, IntImm) or d.value == n for d, n in zip(shape, have, strict=True)
        )
    if not fits:
        raise WorkbenchError(
            f"BindParams: parameter {param.name} is {want}, got {constant.data.dtype} of shape "
            f"{tuple(constant.data.shape)}"
        )


def dimension_values(func: Function, binding_map: Mapping[Any, Any]) -> dict[Var, Expr]:
    """The symbolic dimensions of a function that a mapping (by name or variable) names."""
    values: dict[Var, Expr] = {}
    for var in defined_symbolic_vars(func):
        for key, value in binding_map.items():
            if key is var or (isinstance(key, str) and key == var.name):
                values[var] = value if isinstance(value, Expr) else IntImm("int64", value)
    return values


def bind_symbolic_vars(func: Function, binding_map: Mapping[Any, Any]) -> Function:
    """Replaces symbolic dimensions, by name or variable.

    Raises WorkbenchError if no parameter has a dimension of that name.
    """
    values = dimension_values(func, binding_map)
    for key in binding_map:
        if not any(key is v or (isinstance(key, str) and key == v.name) for v in values):
            names = [v.name for v in defined_symbolic_vars(func)]
            raise WorkbenchError(
                f"bind_symbolic_vars: no parameter has a dimension {key}",
                hint=did_you_mean(str(key), names) or f"there are: {', '.join(names) or 'none'}",
            )
    return substitute(func, values)


def inline_functions(func: Function, function_map: Mapping[Any, Function]) -> Function:
    """Replaces calls of functions by their bodies.

    Parameters
    ----------
    function_map : the functions by name or GlobalVar; calls inside them are replaced as well.

    Raises WorkbenchError if one of the functions calls itself.
    """
    by_name = {
        k.name_hint if isinstance(k, GlobalVar) else str(k): f for k, f in function_map.items()
    }
    return _Inliner(by_name).visit_expr(func)


class _Inliner(PyExprMutator):
    """Emits the bindings of a called function in place of the call."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        super().__init__()
        self.functions = functions
        self.running: list[str] = []

    def visit_call_(self, op: Call) -> Any:
        call: Any = self.visit_expr_post_order(op)
        callee = call.op
        name = callee.name_hint if isinstance(callee, GlobalVar) else ""
        if name not in self.functions:
            return call
        if name in self.running:
            raise WorkbenchError(f"inline_functions: {name} calls itself", nodes=(op,))
        self.running.append(name)
        body = _instance(self.functions[name], call.args)
        for block in body.blocks:
            self.visit_binding_block(block)
        result = self.visit_expr(body.body)
        self.running.pop()
        return result


def _instance(func: Function, args: Any) -> SeqExpr:
    """The body of a function over arguments, with variables of its own."""
    images: dict[Var, Expr] = {}
    for param, arg in zip(func.params, args, strict=True):
        match_types(param.ty, arg.ty, images)
        images[param] = arg
    for var in bound_vars(func.body):
        images[var] = type(var)(var.name, substitute(var.ty, images))
    return substitute(func.body, images)


__all__ = ["bind_params", "bind_symbolic_vars", "dimension_values", "inline_functions"]
