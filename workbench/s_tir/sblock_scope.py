"""Blocks, loops and the dependences between the blocks of a scope.

A scope is a block; its children are the blocks directly inside it. A later child that reads what an
earlier one writes depends on it (RAW), and likewise for WAW and WAR.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from workbench.ir.expr import GlobalVar, Var
from workbench.tirx.stmt import SBlock, SBlockRealize, Stmt


class BlockToken:
    """The identity of a block through all its versions."""

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"BlockToken({self.name})"


#: What identifies a block or loop: its token or its loop variable.
Key = BlockToken | Var


class Entry:
    """One block or loop in one version of the program.

    `trail` are the statements between the parent (exclusive) and this one (exclusive), outermost
    first; for a block the last of them is its `SBlockRealize`.
    """

    __slots__ = ("children", "depth", "function", "key", "parent", "stmt", "trail")

    def __init__(
        self, key: Key, stmt: Any, parent: Key | None, trail: tuple[Stmt, ...], function: GlobalVar
    ) -> None:
        self.key = key
        self.stmt = stmt
        self.parent = parent
        self.trail = trail
        self.function = function
        self.children: list[Key] = []
        self.depth = 0

    @property
    def is_block(self) -> bool:
        """Whether this is a block (else a loop)."""
        return type(self.stmt) is SBlock

    @property
    def realize(self) -> SBlockRealize:
        """The realization of a block."""
        realize = self.trail[-1]
        assert isinstance(realize, SBlockRealize)
        return realize

    @property
    def name(self) -> str:
        """Name of the block, or of the loop variable."""
        return self.stmt.name_hint if self.is_block else self.stmt.loop_var.name

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"block {self.name!r}" if self.is_block else f"loop {self.name!r}"


class DepKind(IntEnum):
    """Kinds of dependence; the numbers are TVM's."""

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


class Dependency:
    """`dst` must come after `src`."""

    __slots__ = ("dst", "kind", "src")

    def __init__(self, src: Key, dst: Key, kind: DepKind) -> None:
        self.src = src
        self.dst = dst
        self.kind = kind

    def __repr__(self) -> str:
        return f"Dependency({self.src} → {self.dst}, {self.kind.name})"


class SBlockScope:
    """The children of a scope, who writes and reads each buffer, and the dependences."""

    def __init__(self, children: list[Entry]) -> None:
        self.children = children
        self.writers: dict[Var, list[Entry]] = {}
        self.readers: dict[Var, list[Entry]] = {}
        self.deps: list[Dependency] = []
        for child in children:
            self._add(child)
        self._by_src: dict[Key, list[Dependency]] = {}
        self._by_dst: dict[Key, list[Dependency]] = {}
        for dep in self.deps:
            self._by_src.setdefault(dep.src, []).append(dep)
            self._by_dst.setdefault(dep.dst, []).append(dep)

    def _add(self, child: Entry) -> None:
        reads = list(dict.fromkeys(r.buffer for r in child.stmt.reads))
        writes = list(dict.fromkeys(r.buffer for r in child.stmt.writes))
        for buffer in reads:
            for writer in self.writers.get(buffer, ()):
                self._link(writer, child, DepKind.RAW)
        for buffer in writes:
            for writer in self.writers.get(buffer, ()):
                self._link(writer, child, DepKind.WAW)
            for reader in self.readers.get(buffer, ()):
                self._link(reader, child, DepKind.WAR)
        for buffer in reads:
            self.readers.setdefault(buffer, []).append(child)
        for buffer in writes:
            self.writers.setdefault(buffer, []).append(child)

    def _link(self, src: Entry, dst: Entry, kind: DepKind) -> None:
        if not any(
            d.src is src.key and d.dst is dst.key and d.kind is kind for d in self.deps[-8:]
        ):
            self.deps.append(Dependency(src.key, dst.key, kind))

    def get_deps_by_src(self, block: Key) -> list[Dependency]:
        """What depends on a block."""
        return self._by_src.get(block, [])

    def get_deps_by_dst(self, block: Key) -> list[Dependency]:
        """What a block depends on."""
        return self._by_dst.get(block, [])

    def producers(self, block: Key) -> list[Key]:
        """The blocks that write what a block reads (or, in TVM's order, writes again)."""
        deps = self.get_deps_by_dst(block)
        return list(dict.fromkeys(d.src for d in deps if d.kind in (DepKind.RAW, DepKind.WAW)))

    def consumers(self, block: Key) -> list[Key]:
        """The blocks that read what a block writes."""
        deps = self.get_deps_by_src(block)
        return list(dict.fromkeys(d.dst for d in deps if d.kind in (DepKind.RAW, DepKind.WAW)))
