"""Attributes of calls, functions and modules: an immutable mapping with attribute access."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.node import FrozenMap, freeze


class Attrs(FrozenMap):
    """`attrs["strides"]` and `attrs.strides` are the same. Lists become tuples."""

    __slots__ = ()

    def __init__(self, content: Any = ()) -> None:
        pairs = content.items() if isinstance(content, Mapping) else content
        super().__init__((k, freeze(v)) for k, v in pairs)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"no attribute {name!r}; there are: {', '.join(map(str, self)) or 'none'}"
            ) from None

    def __reduce__(self) -> Any:
        return (Attrs, (dict(self),))

    def with_attrs(self, **changes: Any) -> Attrs:
        """A copy with attributes added or replaced."""
        return Attrs({**self, **changes})

    def get_str(self, name: str) -> str:
        """A string attribute ("" if absent)."""
        return str(self.get(name, ""))


#: TVM's name for the attributes of functions.
DictAttrs = Attrs


def as_attrs(value: Any) -> Attrs:
    """`Attrs` of any mapping; None gives none."""
    if isinstance(value, Attrs):
        return value
    return Attrs(value or {})
