"""The reading engine: evaluates the syntax tree of a script in the names that are in view.

A script is Python syntax but is never run as Python: expressions are evaluated here, operators on
IR values go to the dialect that reads the current function, and statements are read by the
dialect. `definition_reader` makes a decorator such as `T.prim_func`; `parse` reads text.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import inspect
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any, Protocol

from workbench.core.errors import WorkbenchError, did_you_mean
from workbench.script.error import ScriptError
from workbench.script.source import Source, source_of


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
_BINARY: dict[type, str] = {
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


_UNSET = object()


@dataclass
class Reader:
    """Reads one source. `scopes` are the names in view, innermost last."""

    source: Source
    scopes: list[dict[str, Any]] = field(default_factory=list)
    dialect: Any = field(default_factory=PlainPython)

    # Names

    def lookup(self, name: str) -> Any:
        """The value of a name, or `_UNSET`."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return getattr(builtins, name, _UNSET)

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
    if value is _UNSET:
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
        return value[index]
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
            value = reader.binary(_BINARY[type(one.op)], value, right)
        except ScriptError:
            raise
        except Exception as error:
            raise reader.located(one, error) from error
    return value


def _compare(reader: Reader, node: ast.Compare) -> Any:
    left = reader.eval(node.left)
    result: Any = _UNSET
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = reader.eval(right_node)
        if isinstance(op, (ast.Is, ast.IsNot)):
            one: Any = (left is right) == isinstance(op, ast.Is)
        elif isinstance(op, (ast.In, ast.NotIn)):
            one = (left in right) == isinstance(op, ast.In)
        else:
            one = reader.binary(_COMPARE[type(op)], left, right)
        result = one if result is _UNSET else _both(reader, "and", result, one)
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


# Definitions

#: What reads a definition: function(reader, definition, decorator options) → IR value.
Handler = Callable[..., Any]


def names_in(frame: FrameType, target: Any = None) -> dict[str, Any]:
    """The names a definition in `frame` sees: globals, locals around it, its closure."""
    names = dict(frame.f_globals)
    around = [frame]
    while around[-1].f_code.co_flags & inspect.CO_OPTIMIZED == 0 and around[-1].f_back is not None:
        if around[-1].f_code.co_name == "<module>":
            break
        around.append(around[-1].f_back)  # a class body sees the function it is in
    for one in reversed(around):
        names.update(one.f_locals)
    code = getattr(target, "__code__", None)
    if code is not None:
        for name, cell in zip(code.co_freevars, target.__closure__ or (), strict=True):
            try:
                names[name] = cell.cell_contents
            except ValueError:
                continue  # not assigned yet
    return names


def read_object(target: Any, handler: Handler, options: dict[str, Any], frame: FrameType) -> Any:
    """Reads a decorated function or class."""
    source, definition = source_of(target, frame)
    reader = Reader(source, [names_in(frame, target)])
    return _read(reader, definition, handler, options)


def _read(reader: Reader, definition: ast.AST, handler: Handler, options: dict[str, Any]) -> Any:
    with reader.at(definition):
        return handler(reader, definition, **options)


def definition_reader(handler: Handler, name: str, kind: type = ast.FunctionDef) -> Any:
    """A decorator that reads the definition it stands before.

    Inside a class the decorated function is left as it is: the decorator of the class reads it.
    """

    def decorate(target: Any = None, **options: Any) -> Any:
        frame = sys._getframe(1)
        if target is None:
            return lambda inner: _decorated(inner, options, sys._getframe(1))
        return _decorated(target, options, frame)

    def _decorated(target: Any, options: dict[str, Any], frame: FrameType) -> Any:
        is_class = isinstance(target, type)
        if is_class != (kind is ast.ClassDef) or not hasattr(target, "__name__"):
            wanted = "a class" if kind is ast.ClassDef else "a function"
            raise ScriptError(
                f"{name} decorates {wanted}, got {type(target).__name__}",
                hint=f"write @{name} on the line before the definition",
            )
        if not is_class and _in_class(target):
            return target
        return read_object(target, handler, options, frame)

    decorate.__name__ = name.rpartition(".")[2]
    decorate.__qualname__ = name
    decorate.__doc__ = handler.__doc__
    decorate.__script_handler__ = handler  # type: ignore[attr-defined]
    return decorate


def _in_class(function: Any) -> bool:
    parts = function.__qualname__.split(".")
    return len(parts) > 1 and parts[-2] != "<locals>"


def decorator_of(
    reader: Reader, definition: ast.FunctionDef | ast.ClassDef
) -> tuple[Handler, dict]:
    """The handler and the options of the script decorator of a definition."""
    for node in reversed(definition.decorator_list):
        called = isinstance(node, ast.Call)
        function = reader.eval(node.func if isinstance(node, ast.Call) else node)
        handler = getattr(function, "__script_handler__", None)
        if handler is None:
            continue
        options: dict[str, Any] = {}
        if called:
            assert isinstance(node, ast.Call)
            args, options = reader.arguments(node)
            if args:
                raise reader.error(node, "the options of a decorator are given by name")
        return handler, options
    raise reader.error(
        definition,
        f"{definition.name!r} has no script decorator",
        "put @T.prim_func, @R.function or @I.ir_module before it",
    )


def read_definition(reader: Reader, definition: Any, **extra: Any) -> Any:
    """Reads a definition by its decorator."""
    handler, options = decorator_of(reader, definition)
    return _read(reader, definition, handler, {**options, **extra})


def _default_names() -> dict[str, Any]:
    script = importlib.import_module("workbench.script")
    package = importlib.import_module("workbench")
    names = {"I": "ir", "T": "tirx", "R": "relax"}
    found: dict[str, Any] = {"workbench": package, "tvm": package}
    for short, long in names.items():
        if importlib.util.find_spec(f"workbench.{long}.script") is not None:
            found[short] = getattr(script, long)
    return found


def parse(
    text: str,
    extra_vars: Mapping[str, Any] | None = None,
    *,
    filename: str = "<script>",
    check_well_formed: bool = True,
) -> Any:
    """Reads one function or module from text.

    Parameters
    ----------
    text : TVMScript. Import lines are allowed; names of `tvm` and of `workbench` are the same.
    extra_vars : further names in view (`metadata` among them).
    filename : the name of the source in errors.

    Raises `ScriptError` with the place and the underlined line.
    """
    if not isinstance(text, str):
        raise TypeError(f"parse: expected the text of a script, got {type(text).__name__}")
    source = Source(filename, text)
    reader = Reader(source, [{**_default_names(), **(extra_vars or {})}])
    tree = source.parse()
    definitions: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            definitions.append(statement)
        elif isinstance(statement, ast.Assign):
            with reader.at(statement):
                value = _top_level_value(reader, statement.value)
                for target in statement.targets:
                    reader.assign(target, value)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
            raise reader.error(statement, "expected a decorated function or class")
        else:
            _import(reader, statement)
    if not definitions:
        raise ScriptError(
            "the text defines no function and no class",
            filename=filename,
            hint="it should contain one @T.prim_func, @R.function or @I.ir_module",
        )
    if len(definitions) > 1:
        raise reader.error(
            definitions[1],
            f"expected one definition, found {len(definitions)}",
            "put the functions into one class with @I.ir_module",
        )
    return read_definition(reader, definitions[0])


#: How `metadata = ….load_json("…")` is read: text → mapping from type to entries.
metadata_decoders: list[Callable[[str], Any]] = []


def _top_level_value(reader: Reader, node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "load_json" and len(node.args) == 1:
            text = reader.eval(node.args[0])
            for decode in metadata_decoders:
                found = decode(text)
                if found is not None:
                    return found
            raise reader.error(node, "this metadata cannot be read")
    return reader.eval(node)


def _import(reader: Reader, statement: ast.Import | ast.ImportFrom) -> None:
    """Imports what a script may import: modules of `tvm` (or `workbench`), numpy, math."""
    if isinstance(statement, ast.ImportFrom):
        base = _module_name(statement.module or "")
        for alias in statement.names:
            name = alias.asname or alias.name
            try:
                module = importlib.import_module(base)
                value = getattr(module, alias.name)
            except (ImportError, AttributeError):
                continue  # reported where the name is used
            reader.define(name, value)
        return
    for alias in statement.names:
        target = _module_name(alias.name)
        try:
            module = importlib.import_module(target)
        except ImportError:
            continue
        top = target.partition(".")[0]
        value = module if alias.asname else sys.modules[top]
        reader.define(alias.asname or alias.name.partition(".")[0], value)


def _module_name(name: str) -> str:
    head, dot, rest = name.partition(".")
    return f"workbench{dot}{rest}" if head == "tvm" else name


#: TVM's name.
from_source = parse
