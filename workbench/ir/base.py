"""Nodes, places in sources, serialisation and comparison, under TVM's names."""

from __future__ import annotations

from typing import Any

from workbench.core.node import FrozenMap, Node, construct, fields_of, node_types
from workbench.core.serial import load_json, save_json
from workbench.core.structural import (
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from workbench.ir.env_func import EnvFunc
from workbench.ir.span import SequentialSpan, SourceName, Span

#: Sequences in nodes are tuples, mappings are immutable dictionaries.
Array = tuple
Map = FrozenMap


def make_node(type_key: str, **kwargs: Any) -> Node:
    """A node of the class with a type key ("tirx.For") from its fields by name.

    Raises RegistryError for an unknown key and TypeError for an unknown field.
    """
    cls = node_types[type_key]
    names = {f.name: f.alias for f in fields_of(cls) if f.derive is None}
    for key in kwargs:
        if key not in names and key not in names.values():
            raise TypeError(f"{type_key} has no field {key!r}; its fields: {', '.join(names)}")
    return construct(cls, {names.get(k, k): v for k, v in kwargs.items()})


__all__ = [
    "Array",
    "EnvFunc",
    "Map",
    "Node",
    "SequentialSpan",
    "SourceName",
    "Span",
    "assert_structural_equal",
    "get_first_structural_mismatch",
    "load_json",
    "make_node",
    "save_json",
    "structural_equal",
    "structural_hash",
]
