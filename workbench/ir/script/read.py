"""Reads `@I.ir_module` classes, and the functions of the namespace `I`."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from workbench.core.errors import did_you_mean
from workbench.ir.expr import GlobalVar
from workbench.ir.function import BaseFunc
from workbench.ir.global_info import DummyGlobalInfo, VDevice
from workbench.ir.module import IRModule
from workbench.script.error import ScriptError
from workbench.script.evaluate import Reader
from workbench.script.reader import decorator_of, read_definition


@dataclass
class ModuleState:
    """A module being read."""

    attrs: dict[str, Any] = field(default_factory=dict)
    global_infos: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    functions: dict[GlobalVar, BaseFunc] = field(default_factory=dict)
    names: dict[str, GlobalVar] = field(default_factory=dict)


_current: ContextVar[ModuleState | None] = ContextVar("workbench_script_module", default=None)


def find_module() -> ModuleState | None:
    """The module being read, or None."""
    return _current.get()


def _module(what: str) -> ModuleState:
    found = _current.get()
    if found is None:
        raise ScriptError(f"{what} has a meaning only inside of an @I.ir_module class")
    return found


class ModuleNames:
    """`cls` and the name of the class: the functions of the module as attributes."""

    __script_namespace__ = True

    def __init__(self, here: ModuleState) -> None:
        self._here = here

    def __getattr__(self, name: str) -> GlobalVar:
        names: Mapping[str, GlobalVar] = self.__dict__["_here"].names
        if name in names:
            return names[name]
        near = did_you_mean(name, names)
        raise AttributeError(f"the module has no function {name!r}" + (f"; {near}" if near else ""))

    def __dir__(self) -> list[str]:
        return list(self.__dict__["_here"].names)


def read_module(reader: Reader, node: ast.ClassDef, check_well_formed: bool = True) -> IRModule:
    """Reads a module: a class whose functions have script decorators."""
    here = ModuleState()
    token = _current.set(here)
    try:
        view = ModuleNames(here)
        with reader.scope({node.name: view, "cls": view}):
            definitions = [s for s in node.body if isinstance(s, ast.FunctionDef)]
            others = [s for s in node.body if not isinstance(s, ast.FunctionDef)]
            for stmt in others:
                with reader.at(stmt):
                    _other(reader, stmt)
            for definition in definitions:
                if definition.name in here.names:
                    raise reader.error(definition, f"two functions are named {definition.name!r}")
                with reader.at(definition):
                    here.names[definition.name] = _declare(reader, definition)
            for definition in definitions:
                function = read_definition(reader, definition)
                if not isinstance(function, BaseFunc):
                    raise reader.error(definition, "expected a function of a module")
                here.functions[here.names[definition.name]] = function
    finally:
        _current.reset(token)
    return IRModule(here.functions, here.attrs, here.global_infos)


def _declare(reader: Reader, definition: ast.FunctionDef) -> GlobalVar:
    handler, options = decorator_of(reader, definition)
    declare = getattr(handler, "declare", None)
    return GlobalVar(definition.name) if declare is None else declare(reader, definition, **options)


def _other(reader: Reader, stmt: ast.stmt) -> None:
    """A statement of a module that is no function."""
    if isinstance(stmt, ast.Expr):
        if not isinstance(stmt.value, ast.Constant):
            reader.eval(stmt.value)
    elif isinstance(stmt, ast.Assign):
        value = reader.eval(stmt.value)
        for target in stmt.targets:
            if isinstance(target, ast.Name) and isinstance(value, BaseFunc):
                here = _module("a function")
                here.names[target.id] = GlobalVar(target.id)
                here.functions[here.names[target.id]] = value
            else:
                reader.assign(target, value)
    elif not isinstance(stmt, ast.Pass):
        raise reader.error(stmt, f"{type(stmt).__name__} statements have no meaning in a module")


def module_attrs(attrs: Mapping[str, Any], overwrite: bool = False) -> None:
    """Attributes of the module."""
    here = find_module()
    if here is not None:  # Python runs the body of the class too
        here.attrs.update(attrs)


def module_get_attr(name: str) -> Any:
    """An attribute of the module being read."""
    return _module("I.module_get_attr").attrs.get(name)


def module_set_attr(name: str, value: Any, allow_override: bool = False) -> None:
    """Sets an attribute of the module being read."""
    here = find_module()
    if here is not None:
        here.attrs[name] = value


def module_global_infos(global_infos: Mapping[str, Any]) -> None:
    """Information that the functions of the module share, such as virtual devices."""
    here = find_module()
    if here is not None:
        here.global_infos.update({k: tuple(v) for k, v in global_infos.items()})


def vdevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """A virtual device: a target, its number and its memory."""
    if target is not None and isinstance(target, (str, dict)):
        # seam: targets belong to a higher layer and are made on demand
        target = importlib.import_module("workbench.target").Target(target)
    return VDevice(target, vdevice_id, memory_scope)


def lookup_vdevice(target_kind: str | None = None, device_index: int = -1) -> VDevice:
    """A virtual device of the module, by the kind of its target and its number there."""
    devices = _module("a virtual device").global_infos.get("vdevice", ())
    matching = [
        d for d in devices if not target_kind or str(getattr(d.target, "kind", "")) == target_kind
    ]
    position = max(device_index, 0)
    if position >= len(matching):
        known = ", ".join(str(getattr(d.target, "kind", "?")) for d in devices) or "none"
        raise ScriptError(
            f"the module has no virtual device {target_kind or ''}:{position}; its devices: {known}"
        )
    return matching[position]


def dummy_global_info() -> DummyGlobalInfo:
    """An empty entry of the global information."""
    return DummyGlobalInfo()
