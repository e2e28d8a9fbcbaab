"""From lowered Relax functions to the bytecode of the virtual machine."""

from __future__ import annotations

from typing import Any

from workbench.core.dispatch import Dispatch
from workbench.core.errors import WorkbenchError
from workbench.ir.expr import Call, Expr, FloatImm, GlobalVar, IntImm, Op, StringImm, Var
from workbench.ir.module import IRModule
from workbench.ir.span import origin_of
from workbench.relax.analysis.kernel_pattern import shape_known
from workbench.relax.expr import (
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
)
from workbench.relax.op.registry import op_info
from workbench.relax.type import ShapeType
from workbench.runtime.vm import Arg, ExecBuilder
from workbench.tirx.function import PrimFunc

_BUILTINS = {
    "relax.vm.alloc_storage": "vm.builtin.alloc_storage",
    "relax.vm.alloc_tensor": "vm.builtin.alloc_tensor",
}


def generate_bytecode(mod: IRModule) -> ExecBuilder:
    """The bytecode of all Relax functions of a lowered module.

    Raises WorkbenchError for an operator that no pass has lowered.
    """
    builder = ExecBuilder()
    for gvar, func in mod.functions.items():
        if isinstance(func, Function):
            _FunctionCodegen(mod, func, builder).run(gvar.name_hint)
    return builder


class _FunctionCodegen:
    """Writes one function: a register per variable."""

    def __init__(self, mod: IRModule, func: Function, builder: ExecBuilder) -> None:
        self.mod = mod
        self.func = func
        self.b = builder
        self.values: dict[int, Arg] = {}
        self.next = len(func.params)

    def run(self, name: str) -> None:
        params = [p.name for p in self.func.params]
        with self.b.function(name, len(params), params):
            for number, param in enumerate(self.func.params):
                self.values[id(param)] = self.b.r(number)
            result = self.seq(self.func.body)
            self.b.emit_ret(self.in_register(result))

    def register(self) -> Arg:
        self.next += 1
        return self.b.r(self.next - 1)

    def in_register(self, value: Arg) -> Arg:
        """A value as a register (constants are copied into one)."""
        if value.kind == "r":
            return value
        target = self.register()
        self.b.emit_call("vm.builtin.copy", [value], target)
        return target

    def seq(self, seq: SeqExpr) -> Arg:
        for block in seq.blocks:
            for binding in block.bindings:
                value = self.expr(binding.value)  # type: ignore[attr-defined]
                if value is not None:
                    self.values[id(binding.var)] = value
        body = self.expr(seq.body)
        assert body is not None
        return body

    def expr(self, e: Any) -> Arg | None:
        """The operand that holds a value; None for a call without a result."""
        return _EXPRESSIONS[type(e)](self, e)

    def operand(self, e: Any) -> Arg:
        found = self.expr(e)
        assert found is not None
        return found

    # -- expressions --------------------------------------------------------------------------

    def variable(self, e: Var) -> Arg:
        found = self.values.get(id(e))
        if found is None:
            raise WorkbenchError(
                f"{e.name} is used but not defined here", nodes=(e,), root=self.func
            )
        return found

    def constant(self, e: Constant) -> Arg:
        return self.b.convert_constant(e.data)

    def shape(self, e: ShapeExpr) -> Arg:
        if not all(isinstance(v, IntImm) for v in e.values):
            raise WorkbenchError(
                f"the shape {e} still has symbolic dimensions",
                nodes=(e,),
                root=self.func,
                hint="run VMShapeLower",
            )
        return self.b.convert_constant(tuple(v.value for v in e.values))  # type: ignore[attr-defined]

    def call_builtin(self, name: str, args: list[Arg]) -> Arg:
        target = self.register()
        self.b.emit_call(name, args, target)
        return target

    def tuple(self, e: Tuple) -> Arg:
        return self.call_builtin("vm.builtin.make_tuple", [self.operand(f) for f in e.fields])

    def field(self, e: TupleGetItem) -> Arg:
        args = [self.operand(e.tuple_value), self.b.imm(e.index)]
        return self.call_builtin("vm.builtin.tuple_getitem", args)

    def condition(self, e: If) -> Arg:
        """Both branches put their value into one register."""
        cond, result = self.in_register(self.operand(e.cond)), self.register()
        branch = self.b.emit_if(cond, 1)
        self.b.emit_call("vm.builtin.copy", [self.seq(e.true_branch)], result)
        leave = self.b.emit_goto(1)
        self.b.set_offset(branch, self.b.position())
        self.b.emit_call("vm.builtin.copy", [self.seq(e.false_branch)], result)
        self.b.set_offset(leave, self.b.position())
        return result

    def call(self, e: Call) -> Arg | None:
        callee = e.op
        if isinstance(callee, Op) and callee.name == "relax.vm.kill_object":
            victim = self.operand(e.args[0])
            if victim.kind == "r":
                self.b.emit_call("vm.builtin.null_value", [], victim)
            return None
        name, arguments = self.callee(e)
        args = [self.operand(a) for a in arguments]
        if getattr(e.ty, "fields", None) == ():
            self.b.emit_call(name, args)
            return None
        return self.call_builtin(name, args)

    def callee(self, e: Call) -> tuple[str, list[Expr]]:
        """The name under which the machine finds the callee, and the arguments."""
        callee = e.op
        if isinstance(callee, GlobalVar):
            arguments = self.kernel_arguments(e)
            if arguments and self.is_kernel(callee) and isinstance(arguments[-1].ty, ShapeType):
                return "vm.builtin.call_tir_dyn", [callee, *arguments]
            return callee.name_hint, arguments
        if isinstance(callee, ExternFunc):
            return callee.global_symbol, list(e.args)
        if isinstance(callee, Op):
            known = _BUILTINS.get(callee.name)
            if known is not None:
                return known, list(e.args)
            raise WorkbenchError(
                f"the operator {callee.name}{_made_from(e)} was not lowered: {_why_not(e)}",
                nodes=(e,),
                root=self.func,
                hint=_NEEDS_SHAPES if _from_onnx(e) and not _shapes_known(e) else "",
            )
        raise WorkbenchError(
            f"a call of {callee} (a {type(callee).__name__}) cannot be compiled: "
            "only functions of the module and packed functions are called",
            nodes=(e,),
            root=self.func,
        )

    def kernel_arguments(self, e: Call) -> list[Expr]:
        """The arguments of a kernel; constant scalars are passed one by one."""
        args = list(e.args)
        if args and isinstance(args[-1], ShapeExpr) and self.is_kernel(e.op):
            args[-1:] = list(args[-1].values)
        return args

    def is_kernel(self, callee: Any) -> bool:
        return callee in self.mod and isinstance(self.mod[callee], PrimFunc)


_NEEDS_SHAPES = "give the shapes of the inputs: from_onnx(model, shape_dict={name: shape, ...})"


def _from_onnx(call: Call) -> bool:
    span = call.span
    return span is not None and span.source_name.name == "onnx" and span.origin is not None


def _made_from(call: Call) -> str:
    return f" (of the ONNX node {origin_of(call)})" if _from_onnx(call) else ""


def _shapes_known(call: Call) -> bool:
    return all(shape_known(ty) for ty in (call.ty, *(a.ty for a in call.args)))


def _why_not(call: Call) -> str:
    info = op_info(call)
    if info is None or info.legalize is None:
        return "it has no kernel"
    unknown = [a for a in call.args if not shape_known(a.ty)]
    if unknown:
        return f"the type of its operand is {unknown[0].ty}, a kernel needs the shape"
    return f"the type of its result is {call.ty}" if not shape_known(call.ty) else "run LegalizeOps"


_C = _FunctionCodegen
_EXPRESSIONS = Dispatch(
    "bytecode",
    {
        Var: _C.variable,
        Constant: _C.constant,
        ShapeExpr: _C.shape,
        Tuple: _C.tuple,
        TupleGetItem: _C.field,
        If: _C.condition,
        Call: _C.call,
        IntImm: lambda self, e: self.b.imm(e.value),
        FloatImm: lambda self, e: self.b.convert_constant(e.value),
        StringImm: lambda self, e: self.b.convert_constant(e.value),
        DataTypeImm: lambda self, e: self.b.convert_constant(str(e.value)),
        GlobalVar: lambda self, e: self.b.f(e.name_hint),
        ExternFunc: lambda self, e: self.b.f(e.global_symbol),
    },
)
