"""The meaning of graph programs: they run in NumPy through the loops that define each operator.

    interpret(mod, x, y)                 # the function "main"
    interpret(mod, "forward", x)

Symbolic dimensions take the values the arguments give them. Operators run by their legalisation,
and kernels by `tirx.interpret`; nothing is compiled to machine code, so this is an oracle for
passes, code generators and the virtual machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.traverse import substitute
from workbench.ir.expr import Call, Expr, FloatImm, GlobalVar, IntImm, Op, StringImm, Var
from workbench.ir.module import IRModule
from workbench.ir.type import PrimType, TupleType, Type
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import (
    BindingBlock,
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from workbench.relax.op.infer import simplify
from workbench.relax.op.registry import op_info
from workbench.relax.type import ShapeType, TensorType
from workbench.runtime.dtype import DataType
from workbench.runtime.function import get_global_func
from workbench.runtime.tensor import Tensor
from workbench.tirx.function import PrimFunc
from workbench.tirx.interpreter import interpret as run_kernel


class RelaxInterpretError(WorkbenchError, RuntimeError):
    """The program cannot run, or its arguments do not fit."""


def interpret(target: IRModule | Function, *args: Any) -> Any:
    """Runs a Relax function on NumPy arrays.

    Parameters
    ----------
    target : a module (followed by a function name, else `main`) or a function.
    args : arrays, tensors, numbers, tuples of them, or tuples of integers for shapes.

    Returns an array, a number, a shape (tuple of int) or a tuple of these. Raises
    RelaxInterpretError for arguments that do not fit and for what has no definition in NumPy.
    """
    if isinstance(target, Function):
        return _Run(IRModule({"main": target})).function(target, args, "main")
    name = "main"
    if args and isinstance(args[0], str):
        name, args = args[0], args[1:]
    found = target[name]
    if not isinstance(found, Function):
        raise RelaxInterpretError(f"{name} is a {type(found).__name__}, no Relax function")
    return _Run(target).function(found, args, name)


class _Run:
    """One run: values of variables and of symbolic dimensions."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.values: dict[Var, Any] = {}
        self.symbols: dict[Var, Expr] = {}

    # -- functions and bindings ---------------------------------------------------------------

    def function(self, func: Function, args: Sequence[Any], name: str) -> Any:
        if len(args) != len(func.params):
            raise RelaxInterpretError(
                f"{name}: expected {len(func.params)} arguments, got {len(args)}"
            )
        outer = self.values, self.symbols
        self.values, self.symbols = {}, {}
        try:
            for position, (param, arg) in enumerate(zip(func.params, args, strict=True)):
                value = _plain(arg)
                self.match(param.ty, value, f"{name}: argument {position} ({param.name})")
                self.values[param] = value
            return self.sequence(func.body)
        finally:
            self.values, self.symbols = outer

    def sequence(self, seq: SeqExpr) -> Any:
        for block in seq.blocks:
            self.block(block)
        return self.eval(seq.body)

    def block(self, block: BindingBlock) -> None:
        for binding in block.bindings:
            if isinstance(binding, MatchCast):
                value = self.eval(binding.value)
                self.match(binding.ty, value, f"match_cast {binding.var.name}")
            else:
                assert isinstance(binding, VarBinding)
                value = self.eval(binding.value)
            self.values[binding.var] = value

    def match(self, ty: Type, value: Any, what: str) -> None:
        """Checks a value against a type and binds the symbolic dimensions in it."""
        if isinstance(ty, TensorType):
            if not isinstance(value, np.ndarray):
                raise RelaxInterpretError(f"{what}: expected a tensor, got {type(value).__name__}")
            if ty.dtype is not None and DataType(value.dtype) != ty.dtype:
                raise RelaxInterpretError(f"{what}: expected {ty.dtype}, got {value.dtype}")
            if ty.ndim not in (-1, value.ndim):
                raise RelaxInterpretError(
                    f"{what}: expected {ty.ndim} dimensions, got shape {value.shape}"
                )
            self.match_dims(ty.dims, value.shape, what)
        elif isinstance(ty, ShapeType):
            if ty.ndim not in (-1, len(value)):
                raise RelaxInterpretError(f"{what}: expected {ty.ndim} dimensions, got {value}")
            self.match_dims(ty.values, value, what)
        elif isinstance(ty, TupleType):
            if not isinstance(value, tuple) or len(value) != len(ty.fields):
                raise RelaxInterpretError(f"{what}: expected a tuple of {len(ty.fields)} values")
            for i, (field, item) in enumerate(zip(ty.fields, value, strict=True)):
                self.match(field, item, f"{what}[{i}]")

    def match_dims(self, dims: Any, shape: Sequence[int], what: str) -> None:
        for i, (dim, size) in enumerate(zip(dims or (), shape, strict=bool(dims))):
            if isinstance(dim, Var) and dim not in self.symbols:
                self.symbols[dim] = IntImm(dim.dtype, int(size))
                continue
            expected = self.integer(dim)
            if expected != size:
                raise RelaxInterpretError(
                    f"{what}: dimension {i} should be {dim} = {expected}, got {size}"
                )

    def integer(self, expr: Expr) -> int:
        """The value of a symbolic expression."""
        value = simplify(substitute(expr, self.symbols))
        if not isinstance(value, IntImm):
            raise RelaxInterpretError(f"the value of {expr} is not known here")
        return value.value

    # -- expressions --------------------------------------------------------------------------

    def eval(self, expr: Expr) -> Any:
        rule = _EVAL.get(type(expr))
        if rule is not None:
            return rule(self, expr)
        if isinstance(expr, Var):
            if expr in self.values:
                return self.values[expr]
            if expr in self.symbols:
                return self.integer(expr)
            raise RelaxInterpretError(f"variable {expr.name} has no value", nodes=[expr])
        if isinstance(expr.ty, PrimType):
            return self.integer(expr)
        raise RelaxInterpretError(f"{type(expr).__name__} has no definition in NumPy")

    def _constant(self, expr: Constant) -> Any:
        return expr.data.numpy()

    def _shape(self, expr: ShapeExpr) -> Any:
        return tuple(self.integer(v) for v in expr.values)

    def _tuple(self, expr: Tuple) -> Any:
        return tuple(self.eval(f) for f in expr.fields)

    def _get(self, expr: TupleGetItem) -> Any:
        return self.eval(expr.tuple_value)[expr.index]

    def _if(self, expr: If) -> Any:
        condition = self.eval(expr.cond)
        return self.sequence(expr.true_branch if bool(condition) else expr.false_branch)

    def _call(self, call: Call) -> Any:
        callee = call.op
        if isinstance(callee, Op):
            rule = _BUILTINS.get(callee.name)
            return rule(self, call) if rule is not None else self.operator(call)
        if isinstance(callee, GlobalVar):
            return self.call_global(callee, [self.eval(a) for a in call.args])
        if isinstance(callee, ExternFunc):
            return _plain(_extern(callee)(*map(self.eval, call.args)))
        value = self.eval(callee)
        if isinstance(value, Function):
            return self.function(value, [self.eval(a) for a in call.args], "closure")
        raise RelaxInterpretError(f"{callee} cannot be called")

    def call_global(self, gvar: GlobalVar, args: list[Any]) -> Any:
        func = self.mod[gvar]
        if isinstance(func, Function):
            return self.function(func, args, gvar.name_hint)
        raise RelaxInterpretError(f"{gvar.name_hint} is called like a Relax function but is none")

    # -- kernels ------------------------------------------------------------------------------

    def allocate(self, ty: Type) -> Any:
        if isinstance(ty, TupleType):
            return tuple(self.allocate(f) for f in ty.fields)
        if not isinstance(ty, TensorType) or ty.shape is None or ty.dtype is None:
            raise RelaxInterpretError(f"an output of type {ty} cannot be allocated")
        shape = self.eval(ty.shape)
        return np.empty(shape, ty.dtype.numpy())

    def kernel(self, call: Call) -> Any:
        gvar, args, *rest = call.args
        assert isinstance(gvar, GlobalVar)
        func = self.mod[gvar]
        if not isinstance(func, PrimFunc):
            raise RelaxInterpretError(f"call_tir of {gvar}, which is a {type(func).__name__}")
        operands = list(self.eval(args))
        indices = call.attr("inplace_indices")
        out = self.allocate(call.ty_args[0])
        outs = list(out) if isinstance(out, tuple) else [out]
        if indices is not None:
            for i, index in enumerate(indices):
                if index >= 0:
                    outs[i] = operands[index]
        fresh = [o for o in outs if not any(o is a for a in operands)]
        scalars = list(self.eval(rest[0])) if rest else []
        inputs = [
            np.asarray(o, order="C") for o in operands
        ]  # (ascontiguousarray adds a dimension)
        run_kernel(self.mod, gvar.name_hint, *inputs, *fresh, *scalars)
        return tuple(outs) if isinstance(out, tuple) else outs[0]

    def operator(self, call: Call) -> Any:
        """Runs an operator through its legalisation, with the dimensions as they are now."""
        info = op_info(call)
        if info is None or info.legalize is None:
            raise RelaxInterpretError(f"{call.op} has no definition in NumPy", nodes=[call])
        args = [self.concrete(a) for a in call.args]
        values = dict(pair for _, pairs in args for pair in pairs)
        concrete = call.replace(args=tuple(a for a, _ in args), ty=None)
        if info.infer is not None:
            concrete = concrete.replace(ty=info.infer(concrete, [a.ty for a in concrete.args]))
        builder = BlockBuilder()
        params = list(values)
        with builder.function("run", params):
            builder.emit_func_output(builder.emit(info.legalize(builder, concrete)))
        mod = builder.get()
        run = _Run(mod)
        return run.function(mod["run"], [values[p] for p in params], str(call.op))  # type: ignore[arg-type]

    def concrete(self, arg: Expr) -> tuple[Expr, list[tuple[Var, Any]]]:
        """An operand with constant dimensions, and the values of the variables in it."""
        if isinstance(arg, Tuple):
            parts = [self.concrete(f) for f in arg.fields]
            return Tuple([p for p, _ in parts]), [pair for _, pairs in parts for pair in pairs]
        if isinstance(arg, (StringImm, DataTypeImm, FloatImm, Op, GlobalVar, ExternFunc)):
            return arg, []
        if isinstance(arg.ty, PrimType):
            return IntImm(arg.ty.dtype, self.integer(arg)), []
        value = self.eval(arg)
        if isinstance(value, tuple) and all(isinstance(v, (int, np.integer)) for v in value):
            return ShapeExpr([int(v) for v in value]), []
        if isinstance(value, tuple):
            variables = [Var(f"a{i}", _type_of(v)) for i, v in enumerate(value)]
            return Tuple(variables), list(zip(variables, value, strict=True))
        var = Var("a", _type_of(value))
        return var, [(var, value)]


def _type_of(value: Any) -> Type:
    array = np.asarray(value)
    return TensorType(array.shape, str(DataType(array.dtype)))


def _plain(value: Any) -> Any:
    """Runtime values as NumPy ones."""
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, (list, tuple)):
        return tuple(map(_plain, value))
    if isinstance(value, (bool, int, float)):
        return value
    return np.asarray(value) if hasattr(value, "__array__") else value


def _extern(function: Expr) -> Callable[..., Any]:
    assert isinstance(function, ExternFunc), function
    found = get_global_func(function.global_symbol)
    assert found is not None
    return found


def _shape_of(run: _Run, call: Call) -> Any:
    return tuple(int(d) for d in run.eval(call.args[0]).shape)


def _dps_packed(run: _Run, call: Call) -> Any:
    function, args = call.args
    out = run.allocate(call.ty_args[0])
    outs = list(out) if isinstance(out, tuple) else [out]
    _extern(function)(*run.eval(args), *outs)
    return out


def _pure_packed(run: _Run, call: Call) -> Any:
    function, *args = call.args
    return _plain(_extern(function)(*map(run.eval, args)))


def _assert(run: _Run, call: Call) -> Any:
    condition, message, *values = call.args
    if not bool(run.eval(condition)):
        text = message.value if isinstance(message, StringImm) else ""
        raise RelaxInterpretError(f"assertion failed: {text.format(*map(run.eval, values))}")
    return ()


def _print(run: _Run, call: Call) -> Any:
    message, *values = call.args
    shown = [run.eval(v) for v in values]
    text = message.value if isinstance(message, StringImm) else ""
    print(text.format(*shown) if text else " ".join(map(str, shown)))
    return ()


_EVAL: Mapping[type, Callable[[_Run, Any], Any]] = {
    Constant: _Run._constant,
    ShapeExpr: _Run._shape,
    Tuple: _Run._tuple,
    TupleGetItem: _Run._get,
    If: _Run._if,
    SeqExpr: _Run.sequence,
    Call: _Run._call,
    Function: lambda run, func: func,
    StringImm: lambda run, text: text.value,
    IntImm: lambda run, imm: imm.value,
    FloatImm: lambda run, imm: imm.value,
    DataTypeImm: lambda run, imm: imm.value,
}

_BUILTINS: Mapping[str, Callable[[_Run, Call], Any]] = {
    "relax.call_tir": _Run.kernel,
    "relax.call_tir_inplace": _Run.kernel,
    "relax.call_dps_packed": _dps_packed,
    "relax.call_pure_packed": _pure_packed,
    "relax.shape_of": _shape_of,
    "relax.shape_to_tensor": lambda run, call: np.array(run.eval(call.args[0]), "int64"),
    "relax.tensor_to_shape": lambda run, call: tuple(int(v) for v in run.eval(call.args[0])),
    "relax.null_value": lambda run, call: None,
    "relax.print": _print,
    "relax.assert_op": _assert,
}

__all__ = ["RelaxInterpretError", "interpret"]
