"""The reading engine: evaluates the syntax tree of a script in the names that are in view.

A script is Python syntax but is never run as Python: expressions are evaluated here, operators on
IR values go to the dialect that reads the current function, and statements are read by the
dialect. Read next: `reader`.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.script.error import ScriptError
from workbench.script.source import Source


class Dialect(Protocol):
    """What a dialect does with operators and calls while one of its functions is read."""

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """`name` is that of Python's `operator` module, or "and", "or"."""
        ...

    def unary(self, name: str, a: Any) -> Any:
        """ "neg", "pos", "invert" or "not"."""
        ...

    def choose(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """A conditional expression on an IR value."""
        ...

    def subscript(self, value: Any, index: Any) -> Any:
        """`value[index]`"""
        ...

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A call."""
        ...

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name`"""
        ...


_PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, slice, type(None))
BINARY: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.MatMult: "matmul",
}
_COMPARE: dict[type, str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
_UNARY: dict[type, str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not_"}


class PlainPython:
    """Outside of functions: everything is Python."""

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """Python's operator."""
        return getattr(operator, name)(a, b)

    def unary(self, name: str, a: Any) -> Any:
        """Python's operator."""
        return getattr(operator, name)(a)

    def choose(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """Python's conditional expression."""
        return then if condition else otherwise

    def subscript(self, value: Any, index: Any) -> Any:
        """Python's subscript."""
        return value[index]

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Python's call."""
        return function(*args, **kwargs)

    def attribute(self, value: Any, name: str) -> Any:
        """Python's attribute."""
        return getattr(value, name)


UNSET = object()


@dataclass
class Reader:
    """Reads one source. `scopes` are the names in view, innermost last."""

    source: Source
    scopes: list[dict[str, Any]] = field(default_factory=list)
    dialect: Any = field(default_factory=PlainPython)

    # Names

    def lookup(self, name: str) -> Any:
        """The value of a name, or `UNSET`."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return getattr(builtins, name, UNSET)

    def define(self, name: str, value: Any) -> None:
        """Sets a name in the innermost scope."""
        self.scopes[-1][name] = value

    @contextmanager
    def scope(self, names: dict[str, Any] | None = None) -> Iterator[None]:
        """A new innermost scope."""
        self.scopes.append(dict(names or {}))
        depth = len(self.scopes)
        try:
            yield
        finally:
            del self.scopes[depth - 1 :]

    @contextmanager
    def reading(self, dialect: Dialect) -> Iterator[None]:
        """Operators and calls go to `dialect`."""
        outer, self.dialect = self.dialect, dialect
        try:
            yield
        finally:
            self.dialect = outer

    # Errors

    def error(self, node: ast.AST, message: str, hint: str = "") -> ScriptError:
        """An error at a syntax node."""
        return self.source.error(node, message, hint)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Errors inside get the place of `node`, unless they have one."""
        try:
            yield
        except ScriptError as error:
            if error.lineno:
                raise
            raise self.error(node, error.message, error.hint) from error
        except Exception as error:
            raise self.located(node, error) from error

    def located(self, node: ast.AST, error: Exception) -> ScriptError:
        """Any exception as an error at a syntax node."""
        if isinstance(error, WorkbenchError):
            return self.error(node, error.message, error.hint)
        message = str(error) or type(error).__name__
        if isinstance(error, (KeyError, IndexError, ZeroDivisionError, NameError)):
            message = f"{type(error).__name__}: {message}"
        return self.error(node, message)

    # Expressions

    def eval(self, node: ast.expr) -> Any:
        """The value of an expression."""
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            kind = type(node).__name__
            raise self.error(node, f"{kind} expressions are not part of TVMScript")
        try:
            return handler(self, node)
        except ScriptError as error:
            if error.lineno:
                raise
            raise self.error(node, error.message, error.hint) from error
        except RecursionError:
            raise
        except Exception as error:
            raise self.located(node, error) from error

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """An operator on evaluated operands."""
        if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
            return getattr(operator, name)(a, b)
        return self.dialect.binary(name, a, b)

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """The evaluated arguments of a call."""
        args: list[Any] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args.extend(self.eval(arg.value))
            else:
                args.append(self.eval(arg))
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                kwargs.update(self.eval(keyword.value))
            else:
                kwargs[keyword.arg] = self.eval(keyword.value)
        return args, kwargs

    def expression(self, text: str, symbol: Callable[[str, bool], Any]) -> Any:
        """The value of an expression given as text, such as a dimension "n * 2".

        `symbol(name, alone)` makes a value for a name (`alone`: it is the whole text), or returns
        None where the name has its usual meaning.
        """
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except SyntaxError:
            raise ScriptError(f"{text!r} is no expression") from None
        prefixes = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        prefixes |= {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        names: dict[str, Any] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and id(node) not in prefixes:
                made = symbol(node.id, node is tree.body)
                if made is not None:
                    names[node.id] = made
        try:
            with self.scope(names):
                return self.eval(tree.body)
        except ScriptError as error:  # its place is one in the text
            raise ScriptError(f"{text!r}: {error.message}", hint=error.hint) from error

    def assign(self, target: ast.expr, value: Any) -> None:
        """Binds names to a Python value, taking it apart for a tuple of names."""
        if isinstance(target, ast.Name):
            self.define(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = list(value)
            if len(values) != len(target.elts):
                raise self.error(target, f"expected {len(target.elts)} values, got {len(values)}")
            for part, item in zip(target.elts, values, strict=True):
                self.assign(part, item)
        else:
            raise self.error(target, "expected a name on the left of the assignment")


def _constant(reader: Reader, node: ast.Constant) -> Any:
    return node.value


def _name(reader: Reader, node: ast.Name) -> Any:
    value = reader.lookup(node.id)
    if value is UNSET:
        known = {n for scope in reader.scopes for n in scope if not n.startswith("_")}
        raise reader.error(
            node,
            f"undefined variable {node.id!r}",
            did_you_mean(node.id, known)
            or "define it before this line, or pass it in extra_vars if it comes from outside",
        )
    return value


def _attribute(reader: Reader, node: ast.Attribute) -> Any:
    value = reader.eval(node.value)
    try:
        return reader.dialect.attribute(value, node.attr)
    except AttributeError as error:
        if isinstance(value, ModuleType) or hasattr(value, "__script_namespace__"):
            label = ast.unparse(node.value)
            near = did_you_mean(node.attr, [n for n in dir(value) if not n.startswith("_")])
            raise reader.error(node, f"{label} has no {node.attr!r}", near) from error
        raise


def _subscript(reader: Reader, node: ast.Subscript) -> Any:
    value = reader.eval(node.value)
    index = reader.eval(node.slice)
    if isinstance(value, (tuple, list, dict, str)) and isinstance(index, _PLAIN):
        return operator.getitem(value, index)  # type: ignore[call-overload]
    return reader.dialect.subscript(value, index)


def _slice(reader: Reader, node: ast.Slice) -> Any:
    parts = (node.lower, node.upper, node.step)
    return slice(*[None if part is None else reader.eval(part) for part in parts])


def _call(reader: Reader, node: ast.Call) -> Any:
    function = reader.eval(node.func)
    args, kwargs = reader.arguments(node)
    if not callable(function):
        raise reader.error(node, f"{ast.unparse(node.func)} cannot be called")
    return reader.dialect.call(function, args, kwargs)


def _binary(reader: Reader, node: ast.BinOp) -> Any:
    # A chain of left-associative operators may be long: walk down without recursion.
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    value = reader.eval(chain[-1].left)
    for one in reversed(chain):
        right = reader.eval(one.right)
        try:
            value = reader.binary(BINARY[type(one.op)], value, right)
        except ScriptError:
            raise
        except Exception as error:
            raise reader.located(one, error) from error
    return value


def _compare(reader: Reader, node: ast.Compare) -> Any:
    left = reader.eval(node.left)
    result: Any = UNSET
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = reader.eval(right_node)
        if isinstance(op, (ast.Is, ast.IsNot)):
            one: Any = (left is right) == isinstance(op, ast.Is)
        elif isinstance(op, (ast.In, ast.NotIn)):
            one = (left in right) == isinstance(op, ast.In)
        else:
            one = reader.binary(_COMPARE[type(op)], left, right)
        result = one if result is UNSET else _both(reader, "and", result, one)
        left = right
    return result


def _both(reader: Reader, name: str, a: Any, b: Any) -> Any:
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return (a and b) if name == "and" else (a or b)
    return reader.dialect.binary(name, a, b)


def _logic(reader: Reader, node: ast.BoolOp) -> Any:
    name = "and" if isinstance(node.op, ast.And) else "or"
    result = reader.eval(node.values[0])
    for value in node.values[1:]:
        if isinstance(result, _PLAIN) and bool(result) == (name == "or"):
            return result
        result = _both(reader, name, result, reader.eval(value))
    return result


def _unary(reader: Reader, node: ast.UnaryOp) -> Any:
    value = reader.eval(node.operand)
    name = _UNARY[type(node.op)]
    if isinstance(value, _PLAIN):
        return getattr(operator, name)(value)
    return reader.dialect.unary(name, value)


def _conditional(reader: Reader, node: ast.IfExp) -> Any:
    condition = reader.eval(node.test)
    if isinstance(condition, _PLAIN):
        return reader.eval(node.body if condition else node.orelse)
    return reader.dialect.choose(condition, reader.eval(node.body), reader.eval(node.orelse))


def _sequence(reader: Reader, node: ast.Tuple | ast.List | ast.Set) -> Any:
    out: list[Any] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            out.extend(reader.eval(item.value))
        else:
            out.append(reader.eval(item))
    if isinstance(node, ast.Tuple):
        return tuple(out)
    return set(out) if isinstance(node, ast.Set) else out


def _dict(reader: Reader, node: ast.Dict) -> Any:
    out: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            out.update(reader.eval(value))
        else:
            out[reader.eval(key)] = reader.eval(value)
    return out


def _lambda(reader: Reader, node: ast.Lambda) -> Any:
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    scopes = list(reader.scopes)
    dialect = reader.dialect

    def function(*args: Any) -> Any:
        if len(args) != len(names):
            raise TypeError(f"the lambda takes {len(names)} arguments, got {len(args)}")
        outer, reader.scopes = reader.scopes, list(scopes)
        try:
            with reader.reading(dialect), reader.scope(dict(zip(names, args, strict=True))):
                return reader.eval(node.body)
        finally:
            reader.scopes = outer

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature(
        [  # type: ignore[attr-defined]
            inspect.Parameter(n, kind) for n in names
        ]
    )
    return function


def _comprehension(reader: Reader, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
    out: list[Any] = []

    def run(position: int) -> None:
        if position == len(node.generators):
            out.append(reader.eval(node.elt))
            return
        part = node.generators[position]
        for item in reader.eval(part.iter):
            with reader.scope():
                reader.assign(part.target, item)
                if all(reader.eval(test) for test in part.ifs):
                    run(position + 1)

    run(0)
    return set(out) if isinstance(node, ast.SetComp) else out


def _dict_comprehension(reader: Reader, node: ast.DictComp) -> Any:
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    listing = ast.copy_location(ast.ListComp(pair, node.generators), node)
    return dict(_comprehension(reader, listing))


def _joined(reader: Reader, node: ast.JoinedStr) -> Any:
    return "".join(str(reader.eval(v)) for v in node.values)


def _formatted(reader: Reader, node: ast.FormattedValue) -> Any:
    value = reader.eval(node.value)
    if node.conversion > 0:
        value = {"r": repr, "s": str, "a": ascii}[chr(node.conversion)](value)
    return format(value, reader.eval(node.format_spec) if node.format_spec else "")


_EXPRESSIONS: dict[type, Callable[[Reader, Any], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.UnaryOp: _unary,
    ast.IfExp: _conditional,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted,
}
