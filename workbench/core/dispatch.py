"""Dispatch on the type of a value through a table, resolved by MRO and cached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Handler = Callable[..., Any]


class Dispatch:
    """A table `type → function`: `table[type(x)]` finds the entry of the nearest base class.

    Used both as a registry (`@table.register(For)`) and as a fast per-call resolver.
    """

    def __init__(self, what: str, entries: Mapping[type, Handler] | None = None) -> None:
        self.what = what
        self._entries: dict[type, Handler] = dict(entries or {})
        self._cache: dict[type, Handler | None] = {}

    def register(self, *types: type) -> Callable[[Handler], Handler]:
        """Decorator: registers one function for the given types."""

        def add(function: Handler) -> Handler:
            for cls in types:
                if cls in self._entries:
                    raise ValueError(f"{self.what}: {cls.__name__} has a handler already")
                self._entries[cls] = function
            self._cache.clear()
            return function

        return add

    def find(self, cls: type) -> Handler | None:
        """The handler of `cls` or of its nearest base class, or None."""
        try:
            return self._cache[cls]
        except KeyError:
            found = next((self._entries[c] for c in cls.__mro__ if c in self._entries), None)
            self._cache[cls] = found
            return found

    def __getitem__(self, cls: type) -> Handler:
        found = self.find(cls)
        if found is None:
            raise TypeError(f"{self.what}: no handler for {cls.__name__}")
        return found

    def __call__(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls the handler of the value's type."""
        return self[type(value)](value, *args, **kwargs)

    def __contains__(self, cls: type) -> bool:
        return self.find(cls) is not None

    def types(self) -> list[type]:
        """The types registered directly."""
        return list(self._entries)
