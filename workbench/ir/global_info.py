"""Information a module shares between its functions."""

from __future__ import annotations

from typing import Any

from workbench.core.node import Node, field


class GlobalInfo(Node):
    """Base of global information."""


class DummyGlobalInfo(GlobalInfo):
    """An empty entry, for tests."""


class VDevice(GlobalInfo):
    """A virtual device: where a tensor lives when the program runs.

    `target` stays what was given, a `Target`, its name or its options: targets belong to a layer
    above this one. `workbench.target.Target(device.target)` makes a target of all of them.
    """

    target: Any = field(default=None)
    vdevice_id: int = 0
    memory_scope: str = "global"
