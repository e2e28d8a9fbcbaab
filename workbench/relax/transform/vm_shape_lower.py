"""VMShapeLower: symbolic dimensions become slots of a heap that is filled at run time.

On entry the arguments are checked and the slots of the dimensions they define are set; a shape is
made from slots and constants; a dimension that is a formula is computed into a slot of its own, by
its text (`"s0 * 16"`), which the machine turns into a function once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.structural import structural_hash
from workbench.core.traverse import iter_nodes
from workbench.ir.expr import Call, Expr, IntImm, StringImm, Var, is_prim_expr, is_prim_var
from workbench.ir.transform import PassContext, define_pass
from workbench.ir.type import TupleType, Type
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import (
    BindingBlock,
    DataTypeImm,
    ExternFunc,
    Function,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Tuple,
    VarBinding,
)
from workbench.relax.transform.rewriter import BindingRewriter
from workbench.relax.type import ShapeType, TensorType
from workbench.tirx import expr as E

_UNIT = TupleType(())
#: Codes of a dimension in `match_shape` and `make_shape`.
CONSTANT, STORE, SLOT, ANY = 0, 1, 2, 3

_INFIX: dict[type, str] = {
    E.Add: "+",
    E.Sub: "-",
    E.Mul: "*",
    E.FloorDiv: "//",
    E.FloorMod: "%",
}
_FUNCTIONS: dict[type, str] = {E.Min: "min", E.Max: "max"}


def dim_text(e: Any, slot_of: Callable[[Var], int]) -> str:
    """A dimension as a formula over slots s0, s1 …

    Raises WorkbenchError for expressions that have no such form.
    """
    kind = type(e)
    if isinstance(e, IntImm):
        return str(e.value)
    if isinstance(e, Var):
        return f"s{slot_of(e)}"
    if kind in _INFIX:
        return f"({dim_text(e.a, slot_of)} {_INFIX[kind]} {dim_text(e.b, slot_of)})"
    if kind in _FUNCTIONS:
        return f"{_FUNCTIONS[kind]}({dim_text(e.a, slot_of)}, {dim_text(e.b, slot_of)})"
    if isinstance(e, E.Cast) and e.dtype.is_int:
        return dim_text(e.value, slot_of)
    raise WorkbenchError(
        f"a dimension may use + - * // % min max, found {kind.__name__} in {e}", nodes=(e,)
    )


def _builtin(name: str, *args: Any, ty: Type = _UNIT) -> Call:
    operands = [IntImm("int64", a) if isinstance(a, int) else a for a in args]
    return Call(ExternFunc(f"vm.builtin.{name}"), tuple(operands), ret_ty=ty)


def type_text(ty: Any) -> str:
    """A type as messages name it: float32[n, 8]."""
    if isinstance(ty, TensorType):
        dtype = ty.dtype or "tensor"
        if ty.dims is not None:
            dims = ", ".join(v.name if isinstance(v, Var) else str(v) for v in map(_plain, ty.dims))
            return f"{dtype}[{dims}]"
        return f"{dtype} of any shape" if ty.ndim < 0 else f"{dtype} with {ty.ndim} dimensions"
    return str(ty)


def _plain(dim: Expr) -> Any:
    return dim.value if isinstance(dim, IntImm) else dim


@define_pass("relax.VMShapeLower", level="function", on=Function)
def VMShapeLower(func: Function, ctx: PassContext, *, emit_err_ctx: bool = True) -> Function:
    """Checks arguments on entry and replaces symbolic shapes by values computed at run time.

        def main(x: R.Tensor(("n", 8))):  lv = R.vm.alloc_tensor(storage, 0, R.shape([n, 8]), …)
        →
        shape_heap = R.call_packed("vm.builtin.alloc_shape_heap", 1)
        R.call_packed("vm.builtin.check_tensor_info", x, 2, "float32", "argument 0 (x): expected …")
        R.call_packed("vm.builtin.match_shape", x, shape_heap, 2, 1, 0, 0, 8, "…")
        gv = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 2, 0, 0, 8)
        lv = R.vm.alloc_tensor(storage, 0, gv, …)

    Codes before a dimension: 0 a constant, 1 store into a slot, 2 compare with (or take) a slot,
    3 anything. Raises WorkbenchError for a dimension that nothing defines.
    """
    return _ShapeLower(func).run()


class _ShapeLower(BindingRewriter):
    """Rewrites one function."""

    def __init__(self, func: Function) -> None:
        super().__init__(self._visit, BlockBuilder())
        self.func = func
        self.slots: dict[int, int] = {}
        self.kept: list[Any] = []
        self.formulas: dict[int, int] = {}  # structural hash of a formula → slot
        self.count = 0
        self.heap = Var("shape_heap", TensorType(dtype="int64", ndim=1))

    def run(self) -> Function:
        name = self.func.attrs.get("global_symbol", "main")
        with self.builder.collect() as entry:
            self._entry(name)
        body = self.seq(self.func.body)
        start = VarBinding(self.heap, _builtin("alloc_shape_heap", self.count, ty=self.heap.ty))
        blocks = [BindingBlock((start, *_bindings(entry))), *body.blocks]
        return self.func.replace(body=SeqExpr(tuple(blocks), body.body))

    # -- slots --------------------------------------------------------------------------------

    def _new_slot(self) -> int:
        self.count += 1
        return self.count - 1

    def _slot(self, var: Var) -> int:
        found = self.slots.get(id(var))
        if found is None:
            raise WorkbenchError(
                f"the symbolic dimension {var.name} is used, but no argument defines it",
                nodes=(var,),
                root=self.func,
                hint="R.match_cast(value, R.Tensor((n, …))) defines dimensions from a value",
            )
        return found

    def _define(self, var: Var) -> int:
        slot = self.slots[id(var)] = self._new_slot()
        self.kept.append(var)
        return slot

    def _formula(self, dim: Expr) -> int:
        """The slot of a computed dimension; computes it where it is first needed."""
        key = structural_hash(dim)
        found = self.formulas.get(key)
        if found is None:
            text = dim_text(dim, self._slot)
            found = self.formulas[key] = self._new_slot()
            self.builder.emit(_builtin("compute_dim", self.heap, found, StringImm(text)), "_")
        return found

    def _code(self, dim: Expr) -> tuple[int, int]:
        if isinstance(dim, IntImm):
            return CONSTANT, dim.value
        return SLOT, self._slot(dim) if isinstance(dim, Var) else self._formula(dim)

    # -- checks -------------------------------------------------------------------------------

    def _entry(self, name: str) -> None:
        late: list[tuple[Var, Any, StringImm]] = []
        for number, param in enumerate(self.func.params):
            text = f"{name}: argument {number} ({param.name}): expected {type_text(param.ty)}"
            self._check(param, param.ty, StringImm(text), late)
        for param, ty, context in late:
            self._match(param, _dims(ty), context)

    def _check(self, value: Expr, ty: Type, context: StringImm, late: list[Any]) -> None:
        """Checks of a value against a type. Formulas are compared when all slots are set."""
        if isinstance(ty, TensorType):
            dtype = DataTypeImm(ty.dtype or "void")
            self.builder.emit(_builtin("check_tensor_info", value, ty.ndim, dtype, context), "_")
        elif isinstance(ty, ShapeType):
            self.builder.emit(_builtin("check_shape_info", value, ty.ndim, context), "_")
        elif isinstance(ty, TupleType):
            self.builder.emit(_builtin("check_tuple_info", value, len(ty.fields), context), "_")
            for number, part in enumerate(ty.fields):
                if not isinstance(part, (TensorType, ShapeType, TupleType)):
                    continue
                item = self.builder.emit(_builtin("tuple_getitem", value, number, ty=part), "field")
                self._check(item, part, context, late)
            return
        elif isinstance(value, Var) and is_prim_var(value):
            slot = self._define(value)
            self.builder.emit(_builtin("match_prim_value", value, self.heap, slot, context), "_")
            return
        dims = _dims(ty)
        if dims is None:
            return
        codes: list[int] = []
        formulas = False
        for dim in dims:
            if isinstance(dim, IntImm):
                codes += [CONSTANT, dim.value]
            elif isinstance(dim, Var) and id(dim) not in self.slots:
                codes += [STORE, self._define(dim)]
            elif isinstance(dim, Var):
                codes += [SLOT, self._slot(dim)]
            else:
                codes += [ANY, 0]
                formulas = True
        call = _builtin("match_shape", value, self.heap, len(dims), *codes, context)
        self.builder.emit(call, "_")
        if formulas:
            late.append((value, ty, context))

    def _match(self, value: Expr, dims: Any, context: StringImm) -> None:
        codes = [part for dim in dims for part in self._code(dim)]
        call = _builtin("match_shape", value, self.heap, len(dims), *codes, context)
        self.builder.emit(call, "_")

    # -- bindings -----------------------------------------------------------------------------

    def seq(self, seq: SeqExpr) -> SeqExpr:
        """A body; formulas computed in a branch are not known after it."""
        outer = self.formulas
        self.formulas = dict(outer)
        try:
            return super().seq(seq)
        finally:
            self.formulas = outer

    def _visit(self, binding: Any, run: BindingRewriter) -> None:
        value = binding.value
        if isinstance(binding, MatchCast):
            text = f"match_cast of {binding.var.name}: expected {type_text(binding.ty)}"
            late: list[Any] = []
            self._check(value, binding.ty, StringImm(text), late)
            for item, ty, context in late:
                self._match(item, _dims(ty), context)
            self.bind(binding, value)
            return
        new = self._lowered(value)
        if new is value:
            self.keep(binding)
        else:
            self.bind(binding, new)

    def _lowered(self, value: Any) -> Any:
        if isinstance(value, ShapeExpr):
            return value if _constant(value) else self._make_shape(value)
        if isinstance(value, Call):
            return self._with_args(value, [self._operand(a) for a in value.args])
        if isinstance(value, Tuple):
            fields = [self._operand(f) for f in value.fields]
            same = all(a is b for a, b in zip(fields, value.fields, strict=True))
            return value if same else Tuple(fields, span=value.span)
        if is_prim_expr(value) and any(is_prim_var(v) for v in iter_nodes(value, Var)):
            return self._prim_value(value)
        return value

    def _with_args(self, call: Call, args: list[Any]) -> Call:
        if all(a is b for a, b in zip(args, call.args, strict=True)):
            return call
        return call.replace(args=tuple(args))

    def _operand(self, operand: Any) -> Any:
        if isinstance(operand, ShapeExpr) and not _constant(operand):
            return self.builder.emit(self._make_shape(operand))
        if isinstance(operand, Tuple):
            return self._lowered(operand)
        if is_prim_expr(operand) and not isinstance(operand, StringImm):
            if any(is_prim_var(v) for v in iter_nodes(operand, Var)):
                return self.builder.emit(self._prim_value(operand))
        return operand

    def _make_shape(self, shape: ShapeExpr) -> Call:
        codes = [part for dim in shape.values for part in self._code(dim)]
        ty = ShapeType(ndim=len(shape.values))
        return _builtin("make_shape", self.heap, len(shape.values), *codes, ty=ty)

    def _prim_value(self, value: Expr) -> Call:
        code, number = self._code(value)
        return _builtin("make_prim_value", self.heap, code, number, ty=value.ty)


def _dims(ty: Any) -> Sequence[Expr] | None:
    if isinstance(ty, TensorType):
        return ty.dims
    return ty.values if isinstance(ty, ShapeType) else None


def _constant(shape: ShapeExpr) -> bool:
    return all(isinstance(d, IntImm) for d in shape.values)


def _bindings(blocks: list[BindingBlock]) -> list[Any]:
    return [b for block in blocks for b in block.bindings]
