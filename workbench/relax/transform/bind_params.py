"""BindParams and BindSymbolicVars: parameters and dimensions become constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import substitute
from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.binding import bind_params, dimension_values
from workbench.relax.expr import Function


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
            values = dimension_values(func, binding_map)
            names = {v.name for v in values}
            found.update(k for k in binding_map if k in names or any(k is v for v in values))
            mod = mod.with_func(gvar, substitute(func, values))
    for key in binding_map:
        if key not in found:
            raise WorkbenchError(f"BindSymbolicVars: no parameter has a dimension {key}")
    return mod
