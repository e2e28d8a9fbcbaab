"""Binding of arguments, and the entry `interpret`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.core.errors import did_you_mean
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Expr, GlobalVar, IntImm, Var
from workbench.ir.module import IRModule
from workbench.runtime.dtype import DataType
from workbench.tirx.function import PrimFunc
from workbench.tirx.interpreter.exprs import ExprCompiler
from workbench.tirx.interpreter.program import ProgramCompiler
from workbench.tirx.interpreter.values import InterpretError, Pointer, int_range, strided
from workbench.tirx.transform.init_empty_reductions import init_empty_reductions

Compiled = tuple[Callable[..., Any], str]

#: Compiled programs by function; each by the constants and options it was compiled for.
_compiled: weakref.WeakKeyDictionary[Any, dict[Any, Compiled]] = weakref.WeakKeyDictionary()


def interpret(target: PrimFunc | IRModule, *args: Any) -> Any:
    """Runs a program on NumPy arrays (or tensors), which it changes in place.

    Parameters
    ----------
    target : a PrimFunc, or a module followed by the name of one of its functions (the name may be
        left out if there is one function).
    args : one per parameter: arrays with the parameter's shape and dtype for buffers, numbers for
        scalars.

    Returns what the program returns (None for nothing). Raises InterpretError for arguments that do
    not fit and for accesses outside a buffer.
    """
    if isinstance(target, IRModule):
        func, args = _pick(target, args)
        return _Runner(target).call(func, args)
    if not isinstance(target, PrimFunc):
        raise InterpretError(
            f"interpret: expected a PrimFunc or an IRModule, got {type(target).__name__}"
        )
    return _Runner(None).call(target, args)


def _pick(mod: IRModule, args: tuple[Any, ...]) -> tuple[PrimFunc, tuple[Any, ...]]:
    if args and isinstance(args[0], str):
        func: Any = mod[args[0]]
        args = args[1:]
    else:
        functions = [f for f in mod.functions.values() if isinstance(f, PrimFunc)]
        if len(functions) != 1:
            names = ", ".join(g.name_hint for g in mod.functions)
            raise InterpretError(f"the module has several functions, name one of: {names}")
        func = functions[0]
    if not isinstance(func, PrimFunc):
        raise InterpretError(f"interpret: {type(func).__name__} is no PrimFunc")
    return func, args


class _Runner:
    """One run: compiles functions as they are called."""

    def __init__(self, mod: IRModule | None) -> None:
        self.mod = mod

    def call(self, func: PrimFunc, args: tuple[Any, ...]) -> Any:
        values, consts = bind_arguments(func, args)
        arrays = [a for a in values if isinstance(a, np.ndarray)]
        apart = not any(np.may_share_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
        program, _ = self.compiled(func, consts, apart)
        with np.errstate(all="ignore"):
            return program(*values)

    def compiled(self, func: PrimFunc, consts: dict[int, int], apart: bool) -> Compiled:
        key = (tuple(sorted(consts.items())), apart, id(self.mod))
        table = _compiled.setdefault(func, {}) if self.mod is None else {}
        found = table.get(key)
        if found is None:
            whole = init_empty_reductions(func)
            found = table[key] = ProgramCompiler(whole, consts, self.callee, apart).compile()
        return found

    def callee(self, gvar: GlobalVar) -> Callable[..., Any]:
        if self.mod is None or gvar not in self.mod.functions:
            names = [] if self.mod is None else [g.name_hint for g in self.mod.functions]
            raise InterpretError(
                f"the program calls {gvar.name_hint}, which is not in the module",
                hint=did_you_mean(gvar.name_hint, names) or "interpret the whole module",
            )
        func: Any = self.mod[gvar]
        return lambda *args: self.call(func, args)


def interpreted_source(func: PrimFunc, *args: Any) -> str:
    """The Python source that `interpret` runs for these arguments."""
    _, consts = bind_arguments(func, args)
    return _Runner(None).compiled(func, consts, True)[1]


def bind_arguments(func: PrimFunc, args: tuple[Any, ...]) -> tuple[list[Any], dict[int, int]]:
    """The arguments in the interpreter's form, and the values of the symbols in buffer shapes."""
    if len(args) != len(func.params):
        names = ", ".join(p.name for p in func.params)
        raise InterpretError(
            f"the program takes {len(func.params)} arguments ({names}), got {len(args)}", root=func
        )
    consts: dict[int, int] = {}
    shape_vars = {
        id(v) for p in func.params if p.ty.__family__ == "buffer" for v in iter_nodes(p.ty, Var)
    }
    out: list[Any] = []
    for param, arg in zip(func.params, args, strict=True):
        if param.ty.__family__ != "buffer":
            value = _scalar(param, arg)
            out.append(value)
            if id(param) in shape_vars:
                consts[id(param)] = int(value)
        else:
            out.append(arg)
    for position, param in enumerate(func.params):
        if param.ty.__family__ == "buffer":
            out[position] = _array(param, out[position], consts)
    for param, value in zip(func.params, out, strict=True):
        if param.ty.__family__ == "buffer":
            _check(param, value, consts)
    return out, consts


def _scalar(param: Var, arg: Any) -> Any:
    dtype: DataType = param.dtype
    if dtype.is_handle:
        return arg
    if dtype.is_float:
        return dtype.numpy().type(arg)
    try:
        value = int(arg)
    except (TypeError, ValueError) as error:
        raise InterpretError(f"argument {param.name}: expected {dtype}, got {arg!r}") from error
    low, high = int_range(dtype)
    if not low <= value <= high:
        raise InterpretError(f"argument {param.name}: {value} is outside the range of {dtype}")
    return bool(value) if dtype.is_bool else value


def _array(param: Var, arg: Any, consts: dict[int, int]) -> Any:
    ty = param.ty
    if isinstance(arg, Pointer):
        shape = [_known(param, d, consts) for d in ty.shape]
        return strided(param.name, arg, ty.dtype.numpy(), shape, None, 0)
    if not isinstance(arg, np.ndarray):
        convert = getattr(arg, "numpy", None)
        if convert is None:
            raise InterpretError(
                f"argument {param.name}: expected an array, got {type(arg).__name__}"
            )
        arg = convert()
    want = ty.dtype.numpy()
    if arg.dtype != want:
        raise InterpretError(f"argument {param.name}: expected {ty.dtype}, got {arg.dtype}")
    if arg.ndim != len(ty.shape):
        raise InterpretError(
            f"argument {param.name}: expected {len(ty.shape)} dimensions, got {arg.ndim}"
        )
    for dim, extent in enumerate(ty.shape):
        if isinstance(extent, Var):
            consts.setdefault(id(extent), arg.shape[dim])
    for dim, stride in enumerate(ty.strides):
        if isinstance(stride, Var):
            consts.setdefault(id(stride), arg.strides[dim] // arg.itemsize)
    if isinstance(ty.elem_offset, Var):
        consts.setdefault(id(ty.elem_offset), 0)
    return arg


def _known(param: Var, expr: Any, consts: dict[int, int]) -> int:
    """The value of a shape expression whose variables are known."""
    if isinstance(expr, IntImm):
        return expr.value
    missing = [v.name for v in iter_nodes(expr, Var) if id(v) not in consts]
    if missing:
        raise InterpretError(
            f"argument {param.name}: the value of {', '.join(missing)} in its shape is not known"
        )
    run = ExprCompiler(expr, consts)
    return int(eval(run.expr(expr).src, run.space))


def _check(param: Var, array: np.ndarray[Any, Any], consts: dict[int, int]) -> None:
    shape: tuple[Expr, ...] = param.ty.shape
    want = tuple(_known(param, d, consts) for d in shape)
    if array.shape != want:
        raise InterpretError(f"argument {param.name}: expected the shape {want}, got {array.shape}")
