"""Which node of one graph is which node of the next.

Passes rename variables; pictures must not jump.

Nodes of the same name, label and type are the same.  The rest is matched like lines of a text, by
label and type in program order.
"""

from __future__ import annotations

from difflib import SequenceMatcher

from .boxes import Layout
from .graph import Graph, Node


def _key(node: Node) -> tuple[str, str, str]:
    """What a node looks like."""
    return node.kind, node.label, node.sub


def align(old: Graph, new: Graph) -> dict[str, str]:
    """new node id → old node id, one to one."""
    found: dict[str, str] = {}
    for node in new.nodes:
        twin = old.index.get(node.id)
        if twin is not None and _key(twin) == _key(node):
            found[node.id] = node.id
    taken = set(found.values())
    left = [node for node in old.nodes if node.id not in taken]
    right = [node for node in new.nodes if node.id not in found]
    matcher = SequenceMatcher(None, [_key(n) for n in left], [_key(n) for n in right], False)
    for a, b, size in matcher.get_matching_blocks():
        for k in range(size):
            found[right[b + k].id] = left[a + k].id
    return found


def renamed(layout: Layout, names: dict[str, str]) -> Layout:
    """`layout` with its nodes under the names of the next graph; the others are forgotten."""
    nodes = {new: layout.nodes[old] for new, old in names.items() if old in layout.nodes}
    return Layout(layout.graph, nodes, layout.groups, (), layout.width, layout.height)
