"""BindParams and BindSymbolicVars: parameters and dimensions become constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.core.traverse import substitute
from workbench.ir.expr import Expr, IntImm, Var
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.analysis.type_relation import match_types
from workbench.relax.analysis.variables import defined_symbolic_vars
from workbench.relax.expr import Constant, Function, const


@define_pass("relax.BindParams")
def BindParams(
    mod: IRModule, ctx: PassContext, *, func_name: str, params: Mapping[Any, Any]
) -> IRModule:
    """Replaces parameters of `func_name` by constants and removes them from its signature.

        def main(x, w):  gv = R.matmul(x, w)
        →
        def main(x):  gv = R.matmul(x, <constant>)

    params : by name or variable; arrays, tensors or `relax.Constant`s. Dimensions that
    the constants determine are filled in. Raises WorkbenchError for an unknown name or a value that
    does not fit.
    """
    func: Any = mod[func_name]
    return mod.with_func(func_name, bind_params(func, params))


def bind_params(func: Function, params: Mapping[Any, Any]) -> Function:
    """One function with parameters bound; see `BindParams`."""
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


@define_pass("relax.BindSymbolicVars")
def BindSymbolicVars(
    mod: IRModule,
    ctx: PassContext,
    *,
    binding_map: Mapping[Any, Any],
    func_name: str | None = None,
) -> IRModule:
    """Gives symbolic dimensions constant values.

        def main(x: R.Tensor(("n", 8)))   with {"n": 4}
        →
        def main(x: R.Tensor((4, 8)))

    binding_map : by name or variable. func_name : one function only; all Relax functions if None.
    Raises WorkbenchError if no function has such a dimension.
    """
    found: set[Any] = set()
    for gvar, func in mod.functions.items():
        if isinstance(func, Function) and func_name in (None, gvar.name_hint):
            values: dict[Var, Expr] = {}
            for var in defined_symbolic_vars(func):
                for key, value in binding_map.items():
                    if key is var or (isinstance(key, str) and key == var.name):
                        values[var] = value if isinstance(value, Expr) else IntImm("int64", value)
                        found.add(id(key) if isinstance(key, Var) else key)
            mod = mod.with_func(gvar, substitute(func, values))
    for key in binding_map:
        if (id(key) if isinstance(key, Var) else key) not in found:
            raise WorkbenchError(f"BindSymbolicVars: no parameter has a dimension {key}")
    return mod
