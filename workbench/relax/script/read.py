"""Reads the definition of a function under `@R.function`: one function per kind of statement.

Values are bound in A-normal form by a `BlockBuilder`: nested calls get variables of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from workbench.ir.expr import Call, Expr, GlobalVar, StringImm, Var, is_prim_expr
from workbench.ir.script.read import ModuleNames, find_module
from workbench.ir.type import FuncType as KernelType
from workbench.ir.type import TupleType, Type
from workbench.relax import op
from workbench.relax.analysis.type_relation import (
    BaseCheckResult,
    TypeInferenceError,
    is_base_of,
    type_base_check,
)
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import (
    DataflowVar,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    TupleGetItem,
    VarBinding,
    const,
    convert_to_expr,
)
from workbench.relax.script.words import (
    FunctionState,
    LaterType,
    TypeWord,
    _current,
    resolve,
    state,
    type_of,
)
from workbench.relax.type import AnyType, FuncType, TensorType
from workbench.script.evaluate import Reader
from workbench.script.reader import decorator_of
from workbench.tirx.script.read import TirDialect, _declared_dtypes
from workbench.tirx.script.values import MetaVar, NewVar

_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "mod",
    "pow": "power",
    "matmul": "matmul",
    "and_": "bitwise_and",
    "or_": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


def _is_relax(value: Any) -> bool:
    return isinstance(value, Expr) and not is_prim_expr(value)


class RelaxDialect(TirDialect):
    """Operators on tensors are calls; on scalars they are those of the loop IR."""

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """A call of the operator, or a scalar expression."""
        if not (_is_relax(a) or _is_relax(b)):
            return super().binary(name, a, b)
        word = _OPERATORS.get(name)
        if word is None:
            raise TypeError(f"`{name}` has no meaning for tensors; R.logical_and, R.logical_or")
        like = a if _is_relax(a) else b
        return getattr(op, word)(_tensor(a, like), _tensor(b, like))

    def unary(self, name: str, a: Any) -> Any:
        """A call of the operator, or a scalar expression."""
        if not _is_relax(a):
            return super().unary(name, a)
        words = {"neg": "negative", "invert": "bitwise_not", "not_": "logical_not"}
        return a if name == "pos" else getattr(op, words[name])(a)

    def choose(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """A conditional expression is not a graph value."""
        if is_prim_expr(condition):
            return super().choose(condition, then, otherwise)
        raise TypeError("a conditional expression has no meaning for tensors: use an if statement")

    def subscript(self, value: Any, index: Any) -> Any:
        """A field of a tuple, a dimension of a shape, or Python's subscript."""
        if isinstance(value, Expr) and not hasattr(value, "__len__"):
            return TupleGetItem(value, int(index))
        return value[int(index) if hasattr(index, "__index__") else index]

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A call of a builder, or of a function of the graph."""
        if isinstance(function, (GlobalVar, Var, ExternFunc)):
            types = kwargs.pop("ty_args", kwargs.pop("sinfo_args", ()))
            if kwargs:
                raise TypeError(f"a call of a function has no argument {next(iter(kwargs))!r}")
            items = types if isinstance(types, (tuple, list)) else [types]
            exprs = tuple(convert_to_expr(a) for a in args)
            if isinstance(function, GlobalVar) and isinstance(function.ty, KernelType):
                return Call(function, exprs, ret_ty=TupleType(()))  # a kernel writes its arguments
            return Call(function, exprs, None, tuple(type_of(t) for t in items))
        return function(*args, **kwargs)

    def attribute(self, value: Any, name: str) -> Any:
        """Python's attribute."""
        return getattr(value, name)


def _tensor(value: Any, like: Expr) -> Expr:
    """A Python number as a constant of the other operand's type."""
    if isinstance(value, (int, float)):
        dtype = like.ty.dtype if isinstance(like.ty, TensorType) else None
        return const(value, None if dtype is None else str(dtype))
    return value


class MatchCastValue:
    """`R.match_cast(value, type)` before it is bound."""

    def __init__(self, value: Any, ty: Type) -> None:
        self.value = convert_to_expr(value)
        self.ty = ty


def _says_more(annotation: Type, value: Any) -> bool:
    """Whether the type written for a call tells more than what is derived from its operands.

    Runtime functions do not say what they return, and a pass may know more than an operator.
    """
    if not isinstance(value, Call) or value.ty is None or value.ty == annotation:
        return False
    return is_base_of(value.ty, annotation)


def _check_annotation(annotation: Type, found: Type | None, what: str) -> None:
    """Fails where a written type cannot be that of the value."""
    if found is None or isinstance(found, AnyType) or isinstance(annotation, AnyType):
        return
    if type_base_check(annotation, found) <= BaseCheckResult.FAIL_L1:
        raise TypeInferenceError(
            f"{what} {annotation}, but the value has the type {found}",
            hint="leave the type out, or use R.match_cast for what is known at run time only",
        )


class DataflowFrame:
    """`R.dataflow()`"""


class BodyReader:
    """Reads statements into the builder of a `FunctionState`."""

    def __init__(self, reader: Reader, here: FunctionState) -> None:
        self.reader = reader
        self.here = here

    def body(self, stmts: Sequence[ast.stmt]) -> None:
        """Reads statements until one returns."""
        for stmt in stmts:
            if self.here.result is not None:
                raise self.reader.error(
                    stmt, "this statement is never reached: a return is before it"
                )
            handler = _STATEMENTS.get(type(stmt))
            if handler is None:
                raise self.reader.error(
                    stmt, f"{type(stmt).__name__} statements are not part of a graph function"
                )
            with self.reader.at(stmt):
                handler(self, stmt)

    def bind(self, target: ast.expr, value: Any, annotation: Type | None = None) -> None:
        """Binds a value to a name."""
        if isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, value)
            return
        if not isinstance(target, ast.Name):
            raise self.reader.error(target, "expected a name on the left")
        name = target.id
        if isinstance(value, NewVar):
            self.reader.define(name, self.symbol(target, name, value))
            return
        if isinstance(value, MetaVar):
            self.reader.define(name, value.value)
            return
        plain = (ModuleNames, Type, TypeWord, LaterType, GlobalVar, dict)
        if isinstance(value, plain) or (callable(value) and not isinstance(value, Expr)):
            self.reader.define(name, value)
            return
        with self.reader.at(target):
            self.reader.define(name, self.emit(name, value, annotation))

    def symbol(self, target: ast.expr, name: str, value: NewVar) -> Var:
        """`n = T.int64()`: a symbol, which a type may have brought already."""
        known = self.here.symbols.get(name)
        if known is None:
            known = self.here.symbols[name] = Var(name, value.ty)
        elif known.ty != value.ty:
            raise self.reader.error(
                target, f"{name} is {known.dtype} where it was used first, here {value.ty}"
            )
        return known

    def unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        """`a, b = value`"""
        if isinstance(value, (tuple, list)):
            parts: list[Any] = list(value)
        else:
            whole = self.here.builder.as_leaf(convert_to_expr(value))
            fields = getattr(whole.ty, "fields", None)
            if fields is None:
                raise self.reader.error(target, f"a value of type {whole.ty} has no parts")
            parts = [TupleGetItem(whole, i) for i in range(len(fields))]
        if len(parts) != len(target.elts):
            raise self.reader.error(target, f"expected {len(target.elts)} values, got {len(parts)}")
        for part, item in zip(target.elts, parts, strict=True):
            self.bind(part, item)

    def emit(self, name: str, value: Any, annotation: Type | None = None) -> Var:
        """The variable of a value; the binding is added to the builder."""
        builder = self.here.builder
        inside = self.here.outputs is not None
        kind = DataflowVar if inside and name not in (self.here.outputs or ()) else Var
        if isinstance(value, MatchCastValue):
            source = builder.as_leaf(value.value)
            var = kind(name, value.ty if annotation is None else annotation)
            builder.emit_normalized(MatchCast(var, source, value.ty))
            return var
        expr = value if isinstance(value, Function) else builder.normalize(convert_to_expr(value))
        if annotation is not None:
            _check_annotation(annotation, expr.ty, f"{name!r} is declared as")
        if annotation is not None and _says_more(annotation, expr):
            expr = expr.replace(ty=annotation)
        found = AnyType() if isinstance(expr, StringImm) else expr.ty
        var = kind(name, found if annotation is None else annotation)
        builder.emit_normalized(VarBinding(var, expr))
        return var


def _assign(self: BodyReader, node: ast.Assign) -> None:
    value = self.reader.eval(node.value)
    for target in node.targets:
        self.bind(target, value)


def _annotated(self: BodyReader, node: ast.AnnAssign) -> None:
    annotation = _type(self.reader, node.annotation)
    if node.value is None:
        raise self.reader.error(node, "the variable needs a value")
    self.bind(node.target, self.reader.eval(node.value), annotation)


def _type(reader: Reader, node: ast.expr) -> Type:
    _declare_symbols(reader, node)
    with reader.at(node):
        return type_of(reader.eval(node))


def _declare_symbols(reader: Reader, node: ast.expr) -> None:
    """Makes the symbols that the texts of an annotation bring, whatever their order."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Call):
            continue
        places = list(part.args[:1]) + [k.value for k in part.keywords if k.arg == "shape"]
        if not isinstance(part.func, ast.Attribute) or part.func.attr not in ("Tensor", "Shape"):
            continue
        for place in places:
            if not isinstance(place, (ast.Tuple, ast.List)):
                continue
            for item in place.elts:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    with reader.at(item):
                        resolve(item.value)


def _expression(self: BodyReader, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return  # a docstring
    value = self.reader.eval(node.value)
    if value is not None:
        self.emit("_", value)


def _with(self: BodyReader, node: ast.With) -> None:
    (item,) = node.items
    frame = self.reader.eval(item.context_expr)
    if not isinstance(frame, DataflowFrame):
        raise self.reader.error(item.context_expr, "`with` expects R.dataflow()")
    if self.here.outputs is not None:
        raise self.reader.error(node, "dataflow blocks do not nest")
    names: set[str] = set()
    for stmt in node.body:
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
            function = stmt.value.func
            if isinstance(function, ast.Attribute) and function.attr == "output":
                names.update(a.id for a in stmt.value.args if isinstance(a, ast.Name))
    self.here.outputs = names
    kept: dict[str, Any] = {}
    try:
        with self.here.builder.dataflow(), self.reader.scope():
            self.body(node.body)
            inner = self.reader.scopes[-1]
            # What is no output has no meaning after the block; what is no variable of it has.
            kept = {k: v for k, v in inner.items() if not isinstance(v, DataflowVar)}
    finally:
        self.here.outputs = None
    for name, value in kept.items():
        self.reader.define(name, value)


def _if(self: BodyReader, node: ast.If) -> None:
    condition = self.reader.eval(node.test)
    if isinstance(condition, (bool, int)):
        self.body(node.body if condition else node.orelse)  # decided while reading
        return
    if not node.orelse:
        raise self.reader.error(node, "an if in a graph function needs an else branch")
    then, name, annotation = _branch(self, node.body, "then")
    otherwise, other, _ = _branch(self, node.orelse, "else")
    if name != other:
        raise self.reader.error(
            node,
            f"both branches end with the same variable; here they define {name!r} and {other!r}",
        )
    value = If(self.here.builder.as_leaf(convert_to_expr(condition)), then, otherwise)
    self.reader.define(name, self.emit(name, value, annotation))


def _branch(
    self: BodyReader, stmts: Sequence[ast.stmt], suffix: str
) -> tuple[SeqExpr, str, Type | None]:
    """A branch, the name that its last statement defines, and its type if it is written."""
    last = stmts[-1]
    target = last.targets[0] if isinstance(last, ast.Assign) else getattr(last, "target", None)
    if not isinstance(target, ast.Name) or not isinstance(last, (ast.Assign, ast.AnnAssign)):
        raise self.reader.error(last, "a branch ends with the definition of its result")
    builder = self.here.builder
    outer, self.here.outputs = self.here.outputs, None
    with self.reader.scope(), builder.collect() as blocks:
        self.body(stmts[:-1])
        annotation = None
        if isinstance(last, ast.AnnAssign):
            annotation = _type(self.reader, last.annotation)
        if last.value is None:
            raise self.reader.error(last, "the variable needs a value")
        with self.reader.at(last.value):
            result = convert_to_expr(self.reader.eval(last.value))
            leaf = (
                builder.as_leaf(result)
                if not isinstance(result, Call)
                else builder.emit(result, f"{target.id}_{suffix}")
            )
    self.here.outputs = outer
    return SeqExpr(tuple(blocks), leaf), target.id, annotation


def _return(self: BodyReader, node: ast.Return) -> None:
    value = self.reader.eval(node.value) if node.value is not None else ()
    self.here.result = self.here.builder.as_leaf(convert_to_expr(value))


def _function(self: BodyReader, node: ast.FunctionDef) -> None:
    _, options = decorator_of(self.reader, node)
    function = read_function(self.reader, node, nested=True, **options)
    self.reader.define(node.name, self.emit(node.name, function))


_STATEMENTS: dict[type, Callable[[BodyReader, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.Expr: _expression,
    ast.With: _with,
    ast.If: _if,
    ast.Return: _return,
    ast.FunctionDef: _function,
    ast.Pass: lambda self, node: None,
}


def _parameters(reader: Reader, node: ast.FunctionDef) -> list[Var]:
    args = node.args
    if args.vararg or args.kwarg or args.kwonlyargs or args.defaults:
        raise reader.error(node, "parameters are plain names with annotations")
    listed = [*args.posonlyargs, *args.args]
    for arg in listed:
        if arg.annotation is None:
            raise reader.error(
                arg, f"the parameter {arg.arg!r} has no type", f"{arg.arg}: R.Tensor"
            )
        if any(other is not arg and other.arg == arg.arg for other in listed):
            raise reader.error(arg, f"two parameters are named {arg.arg!r}")
        _declare_symbols(reader, arg.annotation)
    params = []
    for arg in listed:
        assert arg.annotation is not None
        var = Var(arg.arg, _type(reader, arg.annotation))
        params.append(var)
        reader.define(arg.arg, var)
    return params


def _names(node: ast.FunctionDef) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        a.arg for a in node.args.args
    }


def _symbols_of(reader: Reader, node: ast.FunctionDef) -> dict[str, str]:
    """The data types of the symbols that the body declares."""
    return _declared_dtypes(reader, node)


def read_function(
    reader: Reader,
    node: ast.FunctionDef,
    *,
    pure: bool = True,
    private: bool = False,
    check_well_formed: bool = True,
    nested: bool = False,
) -> Function:
    """Reads a function of the graph IR.

    `@R.function` may have the options `pure` (whether it has no side effects) and `private` (no
    global symbol).
    """
    builder = BlockBuilder()
    module = find_module()
    if module is not None:
        builder.functions.update(
            {g: f for g, f in module.functions.items() if isinstance(f, (Function, ExternFunc))}
        )
    here = FunctionState(reader, builder, node.name, pure=pure)
    if nested:
        outer = state("a function inside a function")
        here.symbols = outer.symbols
    token = _current.set(here)
    try:
        with reader.reading(RelaxDialect()), reader.scope():
            here.dtypes = _symbols_of(reader, node)
            params = _parameters(reader, node)
            ret_ty = None if node.returns is None else _type(reader, node.returns)
            if not private and not nested:
                here.attrs["global_symbol"] = node.name
            with builder.collect(_names(node)) as blocks:
                BodyReader(reader, here).body(node.body)
            if here.result is None:
                raise reader.error(node, f"the function {node.name!r} returns nothing")
    finally:
        _current.reset(token)
    if ret_ty is not None:
        with reader.at(node.returns or node):
            _check_annotation(ret_ty, here.result.ty, f"the result of {node.name!r} is declared as")
    ret = ret_ty if ret_ty is not None else here.ret_ty
    body = SeqExpr(tuple(blocks), here.result)
    return Function(params, body, ret, here.pure, here.attrs)


def declare_function(
    reader: Reader, node: ast.FunctionDef, *, pure: bool = True, **options: Any
) -> GlobalVar:
    """What callers may know of a function before it is read: its name and type."""
    here = FunctionState(reader, BlockBuilder(), node.name)
    token = _current.set(here)
    try:
        with reader.reading(RelaxDialect()), reader.scope():
            here.dtypes = _symbols_of(reader, node)
            params = _parameters(reader, node)
            ret = None if node.returns is None else _type(reader, node.returns)
    finally:
        _current.reset(token)
    if ret is None:
        return GlobalVar(node.name)
    return GlobalVar(node.name, ty=FuncType(tuple(p.ty for p in params), ret, pure))


read_function.declare = declare_function  # type: ignore[attr-defined]

__all__ = ["DataflowFrame", "MatchCastValue", "StringImm", "TupleType", "read_function"]
