"""From Relax arguments to a kernel: te placeholders for tensors, then `create_prim_func`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.core.structural import structural_hash
from workbench.core.traverse import iter_nodes, rewrite, substitute
from workbench.ir.expr import Expr, IntImm, Var, is_prim_var
from workbench.ir.span import Span
from workbench.ir.type import TupleType, Type
from workbench.relax.analysis.variables import free_symbolic_vars
from workbench.relax.expr import Constant, ShapeExpr, Tuple, TupleGetItem
from workbench.relax.op.infer import simplify
from workbench.relax.type import TensorType
from workbench.tirx.expr import BinaryOp
from workbench.tirx.function import PrimFunc
from workbench.tirx.op.constants import const


class _Arguments:
    """Collects the tensors among the arguments and gives the kernel variables of its own."""

    def __init__(self) -> None:
        self.operands: list[Expr] = []
        self.placeholders: list[Any] = []
        self.symbols: dict[Var, Var] = {}
        #: Sizes of arguments that are formulas: by structural hash, the kernel's own variable.
        self.formulas: dict[int, tuple[Var, Expr]] = {}
        self._seen: dict[int, Any] = {}

    def symbolic(self, expr: Expr) -> Expr:
        """The expression over the kernel's own symbolic variables."""
        if self.formulas:
            expr = rewrite(expr, {BinaryOp: self._known_formula})
        for var in free_symbolic_vars(expr):
            if any(var is own for own, _ in self.formulas.values()):
                continue
            if var not in self.symbols:
                self.symbols[var] = Var(var.name, var.ty)
        return substitute(expr, self.symbols)

    def _known_formula(self, node: BinaryOp) -> Any:
        found = self.formulas.get(structural_hash(node))
        if found is not None:
            return found[0]
        return (yield node)

    def size(self, dim: Expr) -> Expr:
        """The extent of an argument: a formula of the caller is just a size for the kernel."""
        if isinstance(dim, (Var, IntImm)):
            return self.symbolic(dim)
        key = structural_hash(dim)
        if key not in self.formulas:
            self.formulas[key] = (Var(f"size{len(self.formulas)}", dim.ty), dim)
        return self.formulas[key][0]

    def convert(self, value: Any) -> Any:
        if isinstance(value, Expr) and isinstance(value.ty, TensorType):
            return self.tensor(value)
        if isinstance(value, ShapeExpr):
            return [self.symbolic(v) for v in value.values]
        if isinstance(value, Tuple):
            return [self.convert(f) for f in value.fields]
        if isinstance(value, Expr) and isinstance(value.ty, TupleType):
            return [self.convert(TupleGetItem(value, i)) for i in range(len(value.ty.fields))]
        if isinstance(value, Expr):
            return self.symbolic(value)
        if isinstance(value, (list, tuple)):
            return type(value)(self.convert(v) for v in value)
        if isinstance(value, dict):
            return {k: self.convert(v) for k, v in value.items()}
        return value

    def tensor(self, value: Expr) -> Any:
        found = self._seen.get(id(value))
        if found is not None:
            return found
        ty = value.ty
        if ty.dims is None or ty.dtype is None:
            raise WorkbenchError(
                f"call_te: {value} has the type {ty}: a kernel needs the shape and dtype",
                nodes=[value],
            )
        name = value.name if isinstance(value, Var) else f"arg{len(self.operands)}"
        shape = [self.size(d) for d in ty.dims]
        placeholder = te.placeholder(shape, str(ty.dtype), name=name)
        self.operands.append(value)
        self.placeholders.append(placeholder)
        self._seen[id(value)] = placeholder
        return placeholder


def _scalars_inlined(args: Sequence[Any]) -> list[Any]:
    """Constants without dimensions become immediates where another operand is a tensor."""
    scalar = [isinstance(a, Constant) and not a.data.shape for a in args]
    tensors = [isinstance(a, Expr) and isinstance(a.ty, TensorType) for a in args]
    if sum(tensors) == sum(scalar):
        return list(args)
    return [_immediate(a) if s else a for a, s in zip(args, scalar, strict=True)]


def _immediate(value: Constant) -> Expr:
    return const(value.data.view()[()].item(), str(value.data.dtype))


def kernel_of_te(
    func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    span: Span | None = None,
) -> tuple[PrimFunc, list[Expr], list[Type], list[Expr]]:
    """Runs `func` on te tensors and makes a kernel of what it returns.

    `span` says what the kernel and its blocks come from.
    Returns the kernel, the Relax operands in the order of its inputs, the types of its outputs and
    the symbolic values it takes as extra scalars (those that no input shape defines).
    """
    arguments = _Arguments()
    te_args = [arguments.convert(a) for a in _scalars_inlined(args)]
    te_kwargs = {k: arguments.convert(v) for k, v in kwargs.items()}
    result = func(*te_args, **te_kwargs)
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    known = {id(d) for p in arguments.placeholders for d in p.shape if isinstance(d, Var)}
    extra = {old: new for old, new in arguments.symbols.items() if id(new) not in known}
    params = [*arguments.placeholders, *outputs, *extra.values()]
    kernel = te.create_prim_func(params, "int64", span=span).without_attr("global_symbol")
    back: dict[Var, Expr] = {new: old for old, new in arguments.symbols.items()}
    back.update(arguments.formulas.values())
    types: list[Type] = [
        TensorType([simplify(substitute(d, back)) for d in t.shape], str(t.dtype)) for t in outputs
    ]
    scalars: list[Expr] = []
    if extra:
        buffers = [p for p in kernel.params if not is_prim_var(p)]
        used = {id(v) for v in iter_nodes((kernel.body, *buffers), Var)}
        scalars = [old for old, new in extra.items() if id(new) in used]
        kept = tuple(p for p in kernel.params if not is_prim_var(p) or id(p) in used)
        kernel = kernel.replace(params=kept)
    return kernel, arguments.operands, types, scalars
