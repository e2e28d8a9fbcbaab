"""Writes the hot functions of a node class as Python source and compiles them.

`init` (coerce, check, set), `children` / `with_children` (traversal), `compare` (pushes the pairs
of fields that are not equal leaves) and `hash_leaves` (pushes tokens). See `core.node`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.leaves import leaf_key, same_leaf
from workbench.core.node import (
    DEF,
    MISSING,
    Field,
    FrozenMap,
    Node,
    fields_of,
    freeze_map,
    generated_init,
)


def _compile(lines: list[str], scope: dict[str, Any], what: str) -> dict[str, Any]:
    code = compile("\n".join(lines), f"<{what}>", "exec")
    exec(code, scope)
    return scope


def compile_init(cls: type, fields: Sequence[Field]) -> Callable[..., None]:
    """The constructor of `cls`: `__init__(self, a, b=…, *, span=None)`."""
    scope: dict[str, Any] = {"Node": Node, "freeze_map": freeze_map, "FrozenMap": FrozenMap}
    scope["_bad"] = _bad_argument
    params: list[str] = []
    body: list[str] = []
    star = False
    for f in fields:
        scope[f"set_{f.name}"] = getattr(cls, f.name).__set__
        if f.derive is not None:
            continue
        arg = f.alias
        if f.kw_only and not star:
            params.append("*")
            star = True
        if f.default is MISSING:
            params.append(arg)
        else:
            scope[f"default_{f.name}"] = f.default
            params.append(f"{arg}=default_{f.name}")
        body += _coerce(f, arg, scope)
        body.append(f"set_{f.name}(self, {arg})")
    for f in fields:
        if f.derive is not None:
            scope[f"derive_{f.name}"] = f.derive
            body.append(f"set_{f.name}(self, derive_{f.name}(self))")
    check = getattr(cls, "__check__", None)
    if check is not None:
        scope["check"] = check
        body.append("check(self)")
    lines = [f"def __init__(self, {', '.join(params)}):"] + [f"    {b}" for b in body or ["pass"]]
    init = _compile(lines, scope, f"init of {cls.__name__}")["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__generated__ = True
    return init


def _coerce(f: Field, arg: str, scope: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    if f.converter is not None:
        scope[f"conv_{f.name}"] = f.converter
        guard = f"if {arg} is not None: " if f.optional else ""
        lines.append(f"{guard}{arg} = conv_{f.name}({arg})")
    elif f.shape == "seq" or "tuple[" in f.annotation:
        none = f"{arg} is not None and " if f.optional else ""
        lines.append(f"if {none}{arg}.__class__ is not tuple: {arg} = _seq({f.name!r}, {arg}, cls)")
        scope["_seq"] = _as_tuple
        scope["cls"] = f"{f.name}"
    elif "Mapping[" in f.annotation:
        none = f"{arg} is not None and " if f.optional else ""
        lines.append(f"if {none}{arg}.__class__ is not FrozenMap: {arg} = freeze_map({arg})")
    if f.shape == "node" and f.types:
        scope[f"types_{f.name}"] = _one_or_all(f.types)
        none = f"{arg} is not None and " if f.optional else ""
        lines.append(
            f"if {none}not isinstance({arg}, types_{f.name}): "
            f"_bad(self, {f.name!r}, {arg}, types_{f.name})"
        )
    elif f.shape == "seq" and f.types:
        scope[f"types_{f.name}"] = _one_or_all(f.types)
        none = f"if {arg} is not None:\n        " if f.optional else ""
        lines.append(
            f"{none}for item in {arg}:\n"
            f"        {'    ' if f.optional else ''}if not isinstance(item, types_{f.name}): "
            f"_bad(self, {f.name!r}, item, types_{f.name})"
        )
    return lines


def _one_or_all(types: tuple[type, ...]) -> Any:
    return types if len(types) != 1 else types[0]


def _as_tuple(name: str, value: Any, where: str) -> tuple[Any, ...]:
    if isinstance(value, (str, bytes, Node)):
        raise TypeError(f"field {name}: expected a sequence, got {type(value).__name__}")
    try:
        return tuple(value)
    except TypeError:
        raise TypeError(f"field {name}: expected a sequence, got {type(value).__name__}") from None


def _bad_argument(self: Any, name: str, value: Any, want: Any) -> None:
    wanted = want if isinstance(want, tuple) else (want,)
    expected = " or ".join(t.__name__ for t in wanted)
    raise TypeError(
        f"{type(self).__name__}.{name}: expected {expected}, "
        f"got {type(value).__name__} {str(value)[:60]!r}"
    )


def compile_plan(cls: type, fields: Sequence[Field]) -> dict[str, Any]:
    """`children`, `with_children`, `compare` and `hash_leaves` of a class."""
    scope: dict[str, Any] = {"Node": Node, "gather": gather, "replant": replant}
    scope["cls"] = cls
    lines = _children(fields) + _with_children(cls, fields, scope)
    lines += _compare(fields, scope) + _hash(fields, scope)
    return _compile(lines, scope, f"plan of {cls.__name__}")


def _children(fields: Sequence[Field]) -> list[str]:
    inner = [f for f in fields if f.shape != "leaf"]
    if all(f.shape == "node" and not f.optional for f in inner):
        return ["def children(self):", f"    return [{', '.join(f'self.{f.name}' for f in inner)}]"]
    lines = ["def children(self):", "    out = []"]
    for f in inner:
        if f.shape == "node":
            lines.append(f"    v = self.{f.name}")
            lines.append("    if v is not None: out.append(v)")
        elif f.shape == "seq":
            guard = f"if self.{f.name} is not None: " if f.optional else ""
            lines.append(f"    {guard}out.extend(self.{f.name})")
        else:
            lines.append(f"    gather(self.{f.name}, out)")
    return [*lines, "    return out"]


def _with_children(cls: type, fields: Sequence[Field], scope: dict[str, Any]) -> list[str]:
    lines = ["def with_children(self, new):", "    at = 0", "    node = cls.__new__(cls)"]
    inner = {f.name: f for f in fields if f.shape != "leaf"}
    for f in fields:
        if f.name not in inner:
            continue
        if f.shape == "node":
            if f.optional:
                lines += [
                    f"    f_{f.name} = self.{f.name}",
                    f"    if f_{f.name} is not None:",
                    f"        f_{f.name} = new[at]; at += 1",
                ]
            else:
                lines.append(f"    f_{f.name} = new[at]; at += 1")
        elif f.shape == "seq":
            lines += [
                f"    f_{f.name} = self.{f.name}",
                f"    if f_{f.name} is not None:",
                f"        n = len(f_{f.name}); f_{f.name} = tuple(new[at:at + n]); at += n",
            ]
        else:
            lines.append(f"    f_{f.name}, at = replant(self.{f.name}, new, at)")
    args = [
        f"{f.alias}={f'f_{f.name}' if f.name in inner else f'self.{f.name}'}"
        for f in fields_of(cls)  # the full list, metadata included
        if f.derive is None
    ]
    scope["init"] = generated_init(cls)
    return [*lines, f"    init(node, {', '.join(args)})", "    return node"]


def _compare(fields: Sequence[Field], scope: dict[str, Any]) -> list[str]:
    """`compare(a, b, push, mode)`: pushes pairs, last field first; returns a differing leaf."""
    lines = ["def compare(a, b, push, mode):"]
    for f in fields:
        if f.shape == "leaf":
            lines.append(
                f"    if a.{f.name} is not b.{f.name} and not same(a.{f.name}, b.{f.name}):"
            )
            lines.append(f"        return {f.name!r}")
    for f in reversed(fields):
        if f.shape != "leaf":
            mode = "1" if f.role is DEF else "mode"
            lines.append(f"    push((a.{f.name}, b.{f.name}, {mode}))")
    scope["same"] = same_leaf
    return [*lines, "    return ''"]


def _hash(fields: Sequence[Field], scope: dict[str, Any]) -> list[str]:
    """`hash_leaves(a, token, push, mode)`: emits leaf tokens, pushes the other fields."""
    lines = ["def hash_leaves(a, token, push, mode):"]
    for f in fields:
        if f.shape == "leaf":
            lines.append(f"    token(leaf_key(a.{f.name}))")
    for f in reversed(fields):
        if f.shape != "leaf":
            mode = "1" if f.role is DEF else "mode"
            lines.append(f"    push((a.{f.name}, {mode}))")
    scope["leaf_key"] = leaf_key
    return [*lines, "    return None"]


def gather(value: Any, out: list[Any]) -> None:
    """Appends the nodes inside a field of any content."""
    if isinstance(value, Node):
        out.append(value)
    elif value.__class__ is tuple:
        for item in value:
            gather(item, out)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, Node):
                out.append(key)
            gather(item, out)


def replant(value: Any, new: Sequence[Any], at: int) -> tuple[Any, int]:
    """The inverse of `gather`: the same content over other nodes."""
    if isinstance(value, Node):
        return new[at], at + 1
    if value.__class__ is tuple:
        items = []
        for item in value:
            item, at = replant(item, new, at)
            items.append(item)
        return tuple(items), at
    if isinstance(value, dict):
        pairs: dict[Any, Any] = {}
        for key, item in value.items():
            if isinstance(key, Node):
                key, at = new[at], at + 1
            pairs[key], at = replant(item, new, at)
        return type(value)(pairs), at
    return value, at
