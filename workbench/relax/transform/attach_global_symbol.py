"""AttachGlobalSymbol: every function gets the name under which it is linked."""

from __future__ import annotations

from workbench.ir.module import IRModule
from workbench.ir.transform import PassContext, define_pass
from workbench.relax.expr import Function
from workbench.tirx.function import PrimFunc


@define_pass("relax.AttachGlobalSymbol")
def AttachGlobalSymbol(mod: IRModule, ctx: PassContext) -> IRModule:
    """Gives functions without a `global_symbol` their name in the module.

    cls.add = T.prim_func(private)   →   T.func_attr({"global_symbol": "add"})
    """
    new = {}
    for gvar, func in mod.functions.items():
        known = func.attrs.get("global_symbol") == gvar.name_hint
        if isinstance(func, (Function, PrimFunc)) and not known:
            func = func.with_attr("global_symbol", gvar.name_hint)
        new[gvar] = func
    same = all(f is mod.functions[g] for g, f in new.items())
    return mod if same else mod.replace(functions=new)
