"""Fresh names: readable, unique, deterministic."""

from __future__ import annotations

import re

_TAIL = re.compile(r"_(\d+)$")


class NameSupply:
    """Hands out names that were not handed out before: `x`, `x_1`, `x_2` …"""

    def __init__(self, taken: set[str] | None = None) -> None:
        self._taken: set[str] = set(taken or ())
        self._next: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def reserve(self, name: str) -> None:
        """Marks `name` as taken."""
        self._taken.add(name)

    def fresh(self, hint: str) -> str:
        """Returns `hint` if it is free, otherwise `hint_N` with the smallest free N."""
        if hint not in self._taken:
            self._taken.add(hint)
            return hint
        base = _TAIL.sub("", hint) or hint
        number = self._next.get(base, 1)
        while f"{base}_{number}" in self._taken:
            number += 1
        self._next[base] = number + 1
        name = f"{base}_{number}"
        self._taken.add(name)
        return name


def identifier(text: str, default: str = "v") -> str:
    """Turns any text into a Python identifier."""
    name = re.sub(r"\W", "_", text)
    if not name or not (name[0].isalpha() or name[0] == "_"):
        name = f"{default}_{name}" if name else default
    return name
