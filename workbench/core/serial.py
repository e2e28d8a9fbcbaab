"""JSON with sharing: every node once, references by index; reading gives an equal program.

Format (version 1): `{"workbench": 1, "root": VALUE, "nodes": [{"t": type key, field: VALUE …}]}`.
A VALUE is a JSON scalar, `{"n": index}` (node), `{"l": [VALUE]}` (tuple), `{"m": [[VALUE, VALUE]]}`
(mapping), `{"e": [enum, name]}`, `{"f": "nan"}` (non-finite float) or `{"x": [leaf type, …]}`.
Nodes come after the nodes they refer to. Metadata fields are kept.
"""

from __future__ import annotations

import enum
import json
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.leaves import encode_float, find_leaf, leaf_by_name
from workbench.core.node import Node, construct, fields_of, node_types, plan_of
from workbench.core.registry import Registry

VERSION = 1

#: Enum classes that node fields use, by name.
enum_types: Registry[type[enum.Enum]] = Registry("enum type")


class SerialError(WorkbenchError, ValueError):
    """Text is not a serialised program, or a value cannot be serialised."""


def _below(node: Node) -> list[Node]:
    """All nodes in the fields, metadata included."""
    from workbench.core._generate import gather

    out: list[Any] = []
    for f in fields_of(type(node)):
        if f.derive is None:
            gather(getattr(node, f.name), out)
    return out


def to_json(root: Any, indent: int | None = None) -> str:
    """Serialises a node (or a tuple or mapping of nodes and leaves)."""
    index: dict[int, int] = {}
    nodes: list[dict[str, Any]] = []
    stack: list[tuple[Any, bool]] = []
    from workbench.core._generate import gather

    first: list[Any] = []
    gather(root, first)
    stack.extend((n, False) for n in reversed(first))
    while stack:
        node, ready = stack.pop()
        if id(node) in index:
            continue
        if not ready:
            stack.append((node, True))
            stack.extend((c, False) for c in reversed(_below(node)) if id(c) not in index)
            continue
        record: dict[str, Any] = {"t": type(node).__type_key__}
        for f in fields_of(type(node)):
            if f.derive is None:
                value = getattr(node, f.name)
                if value is not None:
                    record[f.name] = _encode(value, index)
        index[id(node)] = len(nodes)
        nodes.append(record)
    whole = {"workbench": VERSION, "root": _encode(root, index), "nodes": nodes}
    return json.dumps(whole, indent=indent, separators=None if indent else (",", ":"))


def _encode(value: Any, index: dict[int, int]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Node):
        return {"n": index[id(value)]}
    if isinstance(value, enum.Enum):
        name = type(value).__name__
        if name not in enum_types:
            enum_types.add(name, type(value))
        return {"e": [name, value.name]}
    leaf = find_leaf(type(value))
    if leaf is not None:
        return {"x": [leaf.name, leaf.encode(value)]}
    if isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return encode_float(value)
    if isinstance(value, (tuple, list)):
        return {"l": [_encode(v, index) for v in value]}
    if isinstance(value, dict):
        return {"m": [[_encode(k, index), _encode(v, index)] for k, v in value.items()]}
    raise SerialError(f"a {type(value).__name__} cannot be written as JSON: {value!r}")


def from_json(text: str) -> Any:
    """Reads what `to_json` wrote. Raises `SerialError` on anything else."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        raise SerialError(f"not JSON: {error}") from error
    if not isinstance(whole, dict) or "workbench" not in whole:
        raise SerialError("not a serialised program: the key 'workbench' is missing")
    if whole["workbench"] != VERSION:
        raise SerialError(
            f"written in format {whole['workbench']}, this version reads format {VERSION}"
        )
    built: list[Any] = []
    try:
        for record in whole["nodes"]:
            cls = node_types[record["t"]]
            _know_enums(cls)
            args: dict[str, Any] = {}
            for f in fields_of(cls):
                if f.name in record:
                    args[f.alias] = _decode(record[f.name], built)
                elif f.derive is None and (f.optional or f.annotation.endswith("None")):
                    args[f.alias] = None
            if cls.__node_kind__ == "singleton":
                built.append(cls.lookup(**args))  # type: ignore[attr-defined]
            else:
                built.append(construct(cls, args))
        return _decode(whole["root"], built)
    except (KeyError, IndexError, TypeError) as error:
        raise SerialError(f"damaged program: {error}") from error


def _know_enums(cls: type[Node]) -> None:
    """Registers the enumerations that the fields of a class hold (reading comes before writing)."""
    for f in plan_of(cls).fields:
        for kind in f.types:
            if issubclass(kind, enum.Enum) and kind.__name__ not in enum_types:
                enum_types.add(kind.__name__, kind)


def _decode(value: Any, built: list[Any]) -> Any:
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == "n":
        return built[content]
    if tag == "l":
        return tuple(_decode(v, built) for v in content)
    if tag == "m":
        from workbench.core.node import FrozenMap

        return FrozenMap((_decode(k, built), _decode(v, built)) for k, v in content)
    if tag == "e":
        return enum_types[content[0]][content[1]]
    if tag == "f":
        return float(content)
    if tag == "x":
        return leaf_by_name(content[0]).decode(content[1])
    raise SerialError(f"unknown value tag {tag!r}")


def save_json(node: Any) -> str:
    """`to_json`, under TVM's name."""
    return to_json(node)


def load_json(json_str: str) -> Any:
    """`from_json`, under TVM's name."""
    return from_json(json_str)
