"""Plain graph values: nodes with a size, directed edges, nested groups.

Nothing here knows what a node stands for.  `kind` selects a shape (so that kinds differ without
colour); `detail` is a list of (name, value) pairs that the list twin and the tooltips print.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

NodeKind: TypeAlias = Literal["op", "call", "param", "const", "output", "group", "other"]

#: Width of a character and height of a line of node text, in layout units (pixels at zoom 1).
CHAR_WIDTH = 6.7
LINE_HEIGHT = 15.0
PAD_X = 12.0
PAD_Y = 8.0

#: The word for each kind, printed where a picture uses a shape.
KIND_WORD: Mapping[str, str] = {
    "op": "operator",
    "call": "kernel call",
    "param": "input",
    "const": "constant",
    "output": "output",
    "group": "group",
    "other": "expression",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A node: `id` is stable across passes, `label` is the first line, `sub` the second."""

    id: str
    label: str
    sub: str = ""
    kind: NodeKind = "op"
    group: str | None = None
    detail: tuple[tuple[str, str], ...] = ()
    changed: bool = False

    @property
    def width(self) -> float:
        """Width that the text needs, in layout units."""
        chars = max(len(self.label), len(self.sub), 3)
        return round(chars * CHAR_WIDTH + 2 * PAD_X, 1)

    @property
    def height(self) -> float:
        """Height that the text needs, in layout units."""
        return (2 if self.sub else 1) * LINE_HEIGHT + 2 * PAD_Y


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed edge; `label` tells the value that flows."""

    src: str
    dst: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A set of nodes drawn in a frame, or as one node when collapsed."""

    id: str
    label: str
    parent: str | None = None
    collapsed: bool = False
    detail: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, edges and groups.  Edge ends and group references must exist."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    groups: tuple[Group, ...] = ()
    index: Mapping[str, Node] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index = {node.id: node for node in self.nodes}
        groups = {group.id for group in self.groups}
        if len(index) != len(self.nodes):
            seen: set[str] = set()
            twice = next(n.id for n in self.nodes if n.id in seen or seen.add(n.id))
            raise ValueError(f"graph has two nodes with the id {twice!r}")
        for edge in self.edges:
            for end in (edge.src, edge.dst):
                if end not in index:
                    raise ValueError(f"edge {edge.src!r} → {edge.dst!r} ends at unknown {end!r}")
        for group in self.groups:
            if group.id in index:
                raise ValueError(f"{group.id!r} names both a node and a group")
            if group.parent is not None and group.parent not in groups:
                raise ValueError(f"group {group.id!r} lies in unknown group {group.parent!r}")
        for node in self.nodes:
            if node.group is not None and node.group not in groups:
                raise ValueError(f"node {node.id!r} lies in unknown group {node.group!r}")
        object.__setattr__(self, "index", index)


def collapse(graph: Graph, collapsed: frozenset[str] | None = None) -> Graph:
    """`graph` with each collapsed group replaced by one node of kind "group".

    `collapsed` overrides the groups' own flag.  Edges between hidden nodes vanish, edges that
    cross the border are attached to the group's node, once per pair of ends.
    """
    groups = {group.id: group for group in graph.groups}
    hidden = (
        {group.id for group in graph.groups if group.collapsed}
        if collapsed is None
        else set(collapsed)
    )
    if not hidden & groups.keys():
        return graph

    def outermost(group: str | None) -> str | None:
        """The outermost collapsed group around `group`, or None."""
        found = None
        while group is not None:
            if group in hidden:
                found = group
            group = groups[group].parent
        return found

    place = {node.id: outermost(node.group) or node.id for node in graph.nodes}
    nodes: list[Node] = []
    done: set[str] = set()
    counts: dict[str, int] = {}
    changed: set[str] = set()
    for node in graph.nodes:
        target = place[node.id]
        if target != node.id:
            counts[target] = counts.get(target, 0) + 1
            if node.changed:
                changed.add(target)
    for node in graph.nodes:
        target = place[node.id]
        if target == node.id:
            nodes.append(node)
        elif target not in done:
            done.add(target)
            group = groups[target]
            nodes.append(
                Node(
                    target,
                    group.label,
                    f"{counts[target]} nodes",
                    "group",
                    group.parent,
                    group.detail,
                    target in changed,
                )
            )
    edges: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        src, dst = place[edge.src], place[edge.dst]
        if src != dst:
            edges.setdefault((src, dst), Edge(src, dst, edge.label))
    kept = tuple(
        group for group in graph.groups if outermost(group.id) is None and group.id not in done
    )
    return Graph(tuple(nodes), tuple(edges.values()), kept)


def neighbours(graph: Graph) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """(successors, predecessors) of every node, in edge order."""
    after: dict[str, list[str]] = {node.id: [] for node in graph.nodes}
    before: dict[str, list[str]] = {node.id: [] for node in graph.nodes}
    for edge in graph.edges:
        after[edge.src].append(edge.dst)
        before[edge.dst].append(edge.src)
    return after, before
