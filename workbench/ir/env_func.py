"""EnvFunc: a function of the process, by name, as a value in programs."""

from __future__ import annotations

from typing import Any

from workbench.core.node import Node
from workbench.runtime.function import get_global_func


class EnvFunc(Node):
    """The global function of a name; equal by name, looked up when it is called."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """The global function of that name. Raises if none is registered."""
        get_global_func(name)
        return EnvFunc(name)

    @property
    def func(self) -> Any:
        """The function itself."""
        return get_global_func(self.name)

    def __call__(self, *args: Any) -> Any:
        """Calls the function."""
        return self.func(*args)
