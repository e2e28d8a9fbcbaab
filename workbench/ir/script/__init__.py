"""TVMScript of modules: the namespace `I`, printers, and the reader of `@I.ir_module`."""

from __future__ import annotations

import ast
from typing import Any

from workbench.core.serial import SerialError, from_json
from workbench.ir.env_func import EnvFunc
from workbench.ir.expr import GlobalVar, Op, Range
from workbench.ir.script import printers
from workbench.ir.script.read import (
    dummy_global_info,
    lookup_vdevice,
    module_attrs,
    module_get_attr,
    module_global_infos,
    module_set_attr,
    read_module,
    vdevice,
)
from workbench.ir.span import SequentialSpan, SourceName, Span
from workbench.ir.type import FuncType
from workbench.script.reader import definition_reader, metadata_decoders

ir_module = definition_reader(read_module, "I.ir_module", ast.ClassDef)


def meta_var(value: Any) -> Any:
    """A Python value as it is."""
    return value


def _decode_metadata(text: str) -> Any:
    try:
        return from_json(text)
    except SerialError:
        return None


metadata_decoders.append(_decode_metadata)

__all__ = [
    "FuncType",
    "GlobalVar",
    "EnvFunc",
    "Op",
    "Range",
    "SequentialSpan",
    "SourceName",
    "Span",
    "dummy_global_info",
    "ir_module",
    "lookup_vdevice",
    "meta_var",
    "module_attrs",
    "module_get_attr",
    "module_global_infos",
    "module_set_attr",
    "printers",
    "vdevice",
]
