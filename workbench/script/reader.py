"""Reads definitions: decorators such as `T.prim_func`, and `parse` for text.

Read `evaluate` first.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.script.error import ScriptError
from workbench.script.evaluate import Reader
from workbench.script.source import Source, source_of

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
    try:
        return _read(reader, definition, handler, options)
    except ScriptError as error:
        failed = _shortened(error)
    raise failed


def _read(reader: Reader, definition: ast.AST, handler: Handler, options: dict[str, Any]) -> Any:
    with reader.at(definition):
        return handler(reader, definition, **options)


#: Exceptions that wrong scripts cause; others are faults of the reader and keep their traceback.
_EXPECTED = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, WorkbenchError)


def _shortened(error: ScriptError) -> ScriptError:
    """The error without the frames of the reader, which say nothing about the script."""
    cause = error.__cause__
    error.__cause__ = None if isinstance(cause, _EXPECTED) else cause
    error.__suppress_context__ = True
    return error.with_traceback(None)


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
    try:
        return _parse(text, extra_vars, filename)
    except ScriptError as error:
        failed = _shortened(error)
    raise failed


def _parse(text: str, extra_vars: Mapping[str, Any] | None, filename: str) -> Any:
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
