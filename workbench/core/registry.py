"""Named registries. A name is declared once; a second declaration is an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from workbench.core.errors import RegistryError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """A mapping from names to objects of one kind (`what` names the kind in errors)."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._items: dict[str, T] = {}

    def add(self, name: str, item: T) -> T:
        """Registers `item`. Raises `RegistryError` if `name` is taken by another object."""
        old = self._items.get(name)
        if old is not None and old is not item:
            raise RegistryError(f"{self.what} {name!r} is already registered")
        self._items[name] = item
        return item

    def remove(self, name: str) -> None:
        """Removes a registration (for tests and for explicit overrides)."""
        self._items.pop(name, None)

    def get(self, name: str) -> T | None:
        """The item, or None."""
        return self._items.get(name)

    def __getitem__(self, name: str) -> T:
        item = self._items.get(name)
        if item is None:
            hint = did_you_mean(name, self._items) or f"known: {', '.join(sorted(self._items))}"
            raise RegistryError(f"unknown {self.what} {name!r}", hint=hint)
        return item

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._items)

    def items(self) -> list[tuple[str, T]]:
        """All pairs in the order of registration."""
        return list(self._items.items())
