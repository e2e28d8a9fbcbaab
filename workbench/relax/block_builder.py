"""BlockBuilder: builds Relax functions binding by binding, in A-normal form and typed.

    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(relax.op.add(x, y))
            gv = bb.emit_output(lv)
        bb.emit_func_output(gv)
    mod = bb.get()

Every emitted expression is normalised: nested calls get variables of their own, calls get types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.structural import structural_equal, structural_hash
from workbench.ir.expr import Call, Expr, GlobalVar, Op, StringImm, Var, is_prim_expr
from workbench.ir.function import BaseFunc
from workbench.ir.module import IRModule
from workbench.ir.span import Span, made_from
from workbench.ir.type import Type
from workbench.relax.analysis.type_relation import infer_call_type, type_lca
from workbench.relax.expr import (
    Binding,
    BindingBlock,
    Constant,
    DataflowBlock,
    DataflowVar,
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
    as_seq,
    convert_to_expr,
)
from workbench.relax.op.base import call_tir
from workbench.relax.te_bridge import kernel_of_te


class BuilderError(WorkbenchError, RuntimeError):
    """The builder was used out of order."""


class _Numbered:
    """Names in TVM's style: `lv`, `lv1`, `lv2` …"""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        self._taken.add(name)

    def fresh(self, hint: str) -> str:
        name, number = hint, self._next.get(hint, 0)
        while name in self._taken:
            number += 1
            name = f"{hint}{number}"
        self._next[hint] = number
        self._taken.add(name)
        return name


class _Frame:
    """A function under construction."""

    def __init__(
        self,
        name: str,
        params: list[Var] | None,
        attrs: Mapping[str, Any],
        pure: bool,
        private: bool,
    ) -> None:
        self.name = name
        self.params = params
        self.attrs = dict(attrs)
        self.pure = pure
        self.private = private
        self.blocks: list[BindingBlock] = []
        self.bindings: list[Binding] = []
        self.dataflow = False
        self.names = _Numbered()
        self.output: Expr | None = None
        self.values: dict[Var, Expr] = {}
        for param in params or ():
            self.names.reserve(param.name)


_stack: ContextVar[tuple[BlockBuilder, ...]] = ContextVar("workbench_builders", default=())


class BlockBuilder:
    """See the module's text. `mod` holds functions that calls may refer to."""

    def __init__(self, mod: IRModule | None = None) -> None:
        self.functions: dict[GlobalVar, BaseFunc] = dict(mod.functions) if mod else {}
        self._attrs = mod.attrs if mod else {}
        self._infos = mod.global_infos if mod else {}
        self._names = _Numbered()
        for gvar in self.functions:
            self._names.reserve(gvar.name_hint)
        self._frames: list[_Frame] = []
        self._by_hash: dict[int, list[GlobalVar]] | None = None
        #: What the functions being generated implement; becomes the origin in their spans.
        self.origin: Any = None
        #: Where the expressions being emitted come from; given to those that have no place yet.
        self.span: Span | None = None

    # -- scopes -------------------------------------------------------------------------------

    @staticmethod
    def current() -> BlockBuilder | None:
        """The builder whose `function` scope is open innermost, or None."""
        stack = _stack.get()
        return stack[-1] if stack else None

    @contextmanager
    def function(
        self,
        name: str,
        params: Var | Tuple | Sequence[Var] | None = None,
        attrs: Mapping[str, Any] | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> Iterator[None]:
        """Opens a function. It must end with `emit_func_output`."""
        frame = _Frame(name, _param_list(params), attrs or {}, pure, private)
        self._frames.append(frame)
        token = _stack.set((*_stack.get(), self))
        try:
            yield
            if frame.output is None:
                raise BuilderError(
                    f"function {name!r} ended without an output",
                    hint="call bb.emit_func_output(value) before leaving bb.function(...)",
                )
        finally:
            _stack.reset(token)
            self._frames.remove(frame)

    @contextmanager
    def collect(self, taken: Iterable[str] = ()) -> Iterator[list[BindingBlock]]:
        """Collects what is emitted into the yielded list of blocks, without making a function.

        For passes that rebuild a function; `taken` are names not to give to new variables.
        """
        frame = _Frame("<collect>", [], {}, True, True)
        for name in taken:
            frame.names.reserve(name)
        blocks: list[BindingBlock] = []
        self._frames.append(frame)
        try:
            yield blocks
            self._close_block(frame)
            blocks.extend(frame.blocks)
        finally:
            self._frames.remove(frame)

    def is_open(self) -> bool:
        """Whether a function or another scope is open, so that something can be emitted."""
        return bool(self._frames)

    @contextmanager
    def nested(self, dataflow: bool = False) -> Iterator[list[BindingBlock]]:
        """Collects what is emitted into blocks apart from those of the open function: a branch."""
        frame = self._frame("nested")
        outer = (frame.blocks, frame.bindings, frame.dataflow)
        frame.blocks, frame.bindings, frame.dataflow = [], [], dataflow
        blocks: list[BindingBlock] = []
        try:
            yield blocks
            self._close_block(frame)
            blocks.extend(frame.blocks)
        finally:
            frame.blocks, frame.bindings, frame.dataflow = outer

    @contextmanager
    def testing_scope(self, def_vars: Sequence[Var]) -> Iterator[None]:
        """A scope without a function, for emitting expressions in tests."""
        self._frames.append(_Frame("<test>", [], {}, True, True))
        try:
            yield
        finally:
            self._frames.pop()

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """Opens a dataflow block; what leaves it is emitted by `emit_output`."""
        frame = self._frame("dataflow")
        if frame.dataflow:
            raise BuilderError("dataflow blocks do not nest")
        self._close_block(frame)
        frame.dataflow = True
        try:
            yield
        finally:
            self._close_block(frame)
            frame.dataflow = False

    def current_block_is_dataflow(self) -> bool:
        """Whether a dataflow block is open."""
        return self._frame("current_block_is_dataflow").dataflow

    def _frame(self, what: str) -> _Frame:
        if not self._frames:
            raise BuilderError(f"{what} outside a function", hint="with bb.function(name, params):")
        return self._frames[-1]

    def _close_block(self, frame: _Frame) -> None:
        if frame.bindings:
            kind = DataflowBlock if frame.dataflow else BindingBlock
            frame.blocks.append(kind(frame.bindings))
            frame.bindings = []

    # -- emitting -----------------------------------------------------------------------------

    def emit(self, expr: Any, name_hint: str = "") -> Var:
        """Binds an expression to a new variable and returns the variable."""
        return self._bind(self.normalize(convert_to_expr(expr)), name_hint, output=False)

    def emit_output(self, output: Any, name_hint: str = "") -> Var:
        """Binds a value that leaves the dataflow block."""
        frame = self._frame("emit_output")
        if not frame.dataflow:
            raise BuilderError("emit_output outside a dataflow block", hint="with bb.dataflow():")
        return self._bind(self.normalize(convert_to_expr(output)), name_hint, output=True)

    def _bind(self, value: Expr, hint: str, output: bool) -> Var:
        frame = self._frame("emit")
        if self.span is not None and value.span is None and not isinstance(value, _LEAVES):
            value = value.replace(span=self.span)
        kind = DataflowVar if frame.dataflow and not output else Var
        default = "lv" if kind is DataflowVar else "gv"
        var = kind(frame.names.fresh(hint or default), value.ty)
        frame.bindings.append(VarBinding(var, value, span=value.span))
        frame.values[var] = value
        return var

    def match_cast(self, value: Expr, ty: Type, name_hint: str = "") -> Var:
        """Checks `value` against `ty` at run time and binds the new symbols in it."""
        frame = self._frame("match_cast")
        value = self.as_leaf(value)
        kind = DataflowVar if frame.dataflow else Var
        hint = name_hint or ("lv" if frame.dataflow else "gv")
        var = kind(frame.names.fresh(hint), ty)
        frame.bindings.append(MatchCast(var, value, ty))
        return var

    def emit_normalized(self, binding: Binding) -> Var:
        """Appends a finished binding."""
        frame = self._frame("emit_normalized")
        frame.bindings.append(binding)
        frame.names.reserve(binding.var.name)
        if isinstance(binding, VarBinding):
            frame.values[binding.var] = binding.value
        return binding.var

    def emit_func_output(self, output: Any, params: Any = None) -> GlobalVar:
        """Ends the function; returns its name in the module."""
        frame = self._frame("emit_func_output")
        if frame.dataflow:
            raise BuilderError("emit_func_output inside a dataflow block")
        if params is not None:
            if frame.params is not None:
                raise BuilderError(f"the parameters of {frame.name!r} were given already")
            frame.params = _param_list(params)
        if frame.params is None:
            raise BuilderError(f"function {frame.name!r} has no parameters given")
        value = self.as_leaf(convert_to_expr(output), keep_tuples=True)
        self._close_block(frame)
        frame.output = value
        attrs = dict(frame.attrs)
        if not frame.private:
            attrs["global_symbol"] = frame.name
        function = Function(frame.params, SeqExpr(frame.blocks, value), None, frame.pure, attrs)
        gvar = GlobalVar(frame.name, ty=function.ty)
        if gvar in self.functions:
            raise BuilderError(f"the module has a function {frame.name!r} already")
        self.functions[gvar] = function
        self._names.reserve(frame.name)
        return gvar

    # -- functions of the module --------------------------------------------------------------

    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """Adds a function under a name made from `func_name`; an equal one is reused."""
        key = structural_hash(func.without_attr("global_symbol"), map_free_vars=True)
        if self._by_hash is None:
            self._by_hash = {}
        for gvar in self._by_hash.get(key, ()):
            known = self.functions.get(gvar)
            if known is not None and structural_equal(
                known.without_attr("global_symbol"), func.without_attr("global_symbol")
            ):
                return gvar
        gvar = GlobalVar(self._names.fresh(func_name), ty=func.ty)
        self.functions[gvar] = func
        self._by_hash.setdefault(key, []).append(gvar)
        return gvar

    def update_func(self, gv: GlobalVar, updated_func: BaseFunc) -> None:
        """Replaces a function."""
        self.functions[gv] = updated_func

    def get(self) -> IRModule:
        """The module so far."""
        return IRModule(self.functions, self._attrs, self._infos)

    finalize = get

    def get_unique_name(self, name_prefix: str) -> str:
        """A function name that is not taken."""
        return self._names.fresh(name_prefix)

    def lookup_binding(self, var: Var) -> Expr | None:
        """The value bound to a variable in the open functions."""
        for frame in reversed(self._frames):
            if var in frame.values:
                return frame.values[var]
        return None

    # -- te -----------------------------------------------------------------------------------

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
        """A `call_tir` of the kernel that `func` describes with te tensors.

        Relax tensors among the arguments become te placeholders; shapes and scalars are passed as
        they are. Keyword `primfunc_name_hint` names the kernel, `primfunc_attrs` are set on it.
        """
        hint = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "kernel")
        attrs = kwargs.pop("primfunc_attrs", None)
        span = made_from(self.origin) if self.origin is not None else None
        kernel, operands, out_types, tir_vars = kernel_of_te(func, args, kwargs, span)
        if attrs:
            kernel = kernel.with_attr(dict(attrs))
        gvar = self.add_func(kernel, hint)
        operands = [self.as_leaf(o) for o in operands]
        return call_tir(
            gvar,
            operands,
            out_types[0] if len(out_types) == 1 else out_types,
            tir_vars=tir_vars or None,
        )

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
        """Emits `call_te`."""
        name = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name)

    # -- normalisation ------------------------------------------------------------------------

    def normalize(self, expr: Expr) -> Expr:
        """The expression with leaf operands and a type; what had to be bound is emitted."""
        rule = _NORMALIZE.get(type(expr))
        return expr if rule is None else rule(self, expr)

    def as_leaf(self, expr: Expr, keep_tuples: bool = True) -> Expr:
        """A variable or constant for an expression, emitting it if it is something else."""
        if isinstance(expr, _LEAVES) or is_prim_expr(expr):
            return expr
        if isinstance(expr, Tuple) and keep_tuples:
            fields = [self.as_leaf(f) for f in expr.fields]
            same = all(a is b for a, b in zip(fields, expr.fields, strict=True))
            return expr if same else Tuple(fields, span=expr.span)
        return self.emit(expr)

    def infer_type(self, call: Call) -> Type:
        """The type of a call whose operands are normalised."""
        return infer_call_type(call, lambda gvar: self.functions.get(gvar))

    def _call(self, call: Call) -> Call:
        args = [self.as_leaf(a) for a in call.args]
        if not all(a is b for a, b in zip(args, call.args, strict=True)):
            call = call.replace(args=tuple(args), ty=None)
        if call.ty is None:
            call = call.replace(ty=self.infer_type(call))
        return call

    def _tuple(self, value: Tuple) -> Expr:
        return self.as_leaf(value)

    def _get_item(self, value: TupleGetItem) -> Expr:
        whole = self.as_leaf(value.tuple_value)
        return value if whole is value.tuple_value else TupleGetItem(whole, value.index)

    def _seq(self, value: SeqExpr) -> Expr:
        for block in value.blocks:
            for binding in block.bindings:
                if isinstance(binding, VarBinding):
                    new = self.normalize(binding.value)
                    if new is not binding.value:
                        binding = binding.replace(value=new)
                self.emit_normalized(binding)
        return self.normalize(value.body)

    def _branch(self, value: SeqExpr) -> SeqExpr:
        """Normalises a branch in a block list of its own."""
        with self.nested() as blocks:
            frame = self._frame("normalize")
            for block in value.blocks:
                frame.dataflow = isinstance(block, DataflowBlock)
                for binding in block.bindings:
                    if isinstance(binding, VarBinding):
                        binding = binding.replace(value=self.normalize(binding.value))
                    self.emit_normalized(binding)
                self._close_block(frame)
            frame.dataflow = False
            body = self.as_leaf(value.body)
        if body is value.body and same_blocks(blocks, value.blocks):
            return value
        return SeqExpr(blocks, body)

    def _if(self, value: If) -> If:
        cond = self.as_leaf(value.cond)
        yes, no = self._branch(as_seq(value.true_branch)), self._branch(as_seq(value.false_branch))
        ty = value.ty
        if ty is None and yes.ty is not None and no.ty is not None:
            ty = type_lca(yes.ty, no.ty)
        same = cond is value.cond and yes is value.true_branch and no is value.false_branch
        if same and ty is value.ty:
            return value
        return If(cond, yes, no, ty=ty, span=value.span)


def same_blocks(new: list[BindingBlock], old: tuple[BindingBlock, ...]) -> bool:
    """Whether the blocks hold the very same bindings."""
    return len(new) == len(old) and all(
        type(a) is type(b)
        and len(a.bindings) == len(b.bindings)
        and all(x is y for x, y in zip(a.bindings, b.bindings, strict=True))
        for a, b in zip(new, old, strict=True)
    )


_LEAVES = (Var, Constant, GlobalVar, ExternFunc, Op, ShapeExpr, StringImm, DataTypeImm)
_NORMALIZE: dict[type, Callable[[BlockBuilder, Any], Expr]] = {
    Call: BlockBuilder._call,
    Tuple: BlockBuilder._tuple,
    TupleGetItem: BlockBuilder._get_item,
    SeqExpr: BlockBuilder._seq,
    If: BlockBuilder._if,
}


def _param_list(params: Any) -> list[Var] | None:
    if params is None:
        return None
    items = [params] if isinstance(params, Var) else list(getattr(params, "fields", params))
    for item in items:
        if not isinstance(item, Var):
            raise TypeError(f"parameters are variables, got {type(item).__name__} {item}")
        if item.ty is None:
            raise TypeError(f"parameter {item.name} has no type")
    return items


__all__ = ["BlockBuilder", "BuilderError"]
