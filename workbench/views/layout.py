"""Layered graph layout, computed once in Python; every renderer and widget draws the result.

The method is that of Sugiyama, Tagawa and Toda (1981): break cycles, assign ranks, order each rank
by barycentres, then place.  Placement solves, rank by rank, the least-squares problem "be near your
neighbours, do not overlap" exactly by isotonic regression (pool adjacent violators).  The result
depends on the graph alone: no randomness, no hash order.

`layout(graph, previous=...)` keeps the surviving nodes of an earlier layout where they were; see
`layout_stable`.  Groups are laid out from the inside out; an expanded group is one wide node of the
graph around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .boxes import GAP_X, GAP_Y, Box, Layout, Point, Route, port_x
from .graph import Graph, Node, collapse
from .layout_rank import break_cycles, order_ranks, place_ranks, rank_nodes
from .layout_stable import keep_places

#: Above this many visible nodes, groups are collapsed before layout.
MAX_NODES = 2000
#: Room inside a group's frame, and for its title.
FRAME, TITLE = 12.0, 16.0
DUMMY_WIDTH = 6.0


@dataclass(slots=True)
class _Item:
    """What one level of the hierarchy places: a node, an expanded group, or a port."""

    id: str
    width: float
    height: float


@dataclass(slots=True)
class Level:
    """Items of one level of the hierarchy with positions, before they are moved into place."""

    boxes: dict[str, Box]
    routes: list[Route]
    width: float
    height: float


def layout(graph: Graph, previous: Layout | None = None) -> Layout:
    """Positions for every node, edge and expanded group of `graph`.

    Groups flagged `collapsed` are drawn as one node; if more than `MAX_NODES` nodes would be
    visible, every outermost group is collapsed as well.  With `previous`, nodes that survive keep
    their place wherever the new edges allow it.
    """
    drawn = collapse(graph)
    if len(drawn.nodes) > MAX_NODES and drawn.groups:
        tops = frozenset(g.id for g in graph.groups if g.parent is None)
        drawn = collapse(graph, tops | {g.id for g in graph.groups if g.collapsed})
    if not drawn.nodes:
        return Layout(drawn, {}, {}, (), 0.0, 0.0)
    found = None
    if previous is not None:
        found = keep_places(drawn, previous)
    if found is None:
        found = _full(drawn, previous)
    return found


def _full(graph: Graph, previous: Layout | None) -> Layout:
    """Layout from scratch; `previous` only suggests the order inside ranks."""
    hints: dict[str, float] = {}
    if previous is not None:
        hints = {key: box.centre_x for key, box in previous.nodes.items()}
        hints.update((key, box.centre_x) for key, box in previous.groups.items())
    if not graph.groups:
        items = [_Item(node.id, node.width, node.height) for node in graph.nodes]
        edges = [(edge.src, edge.dst) for edge in graph.edges]
        level = place_level(items, edges, hints)
        boxes, routes, groups = level.boxes, level.routes, {}
        width, height = level.width, level.height
    else:
        boxes, groups, routes, width, height = _nested(graph, hints)
    return Layout(graph, boxes, groups, tuple(routes), width, height)


_Piece = tuple["str | None", str, str]


class _Nested:
    """Layout of a graph with expanded groups, from the inside out.

    Every group is a level of its own: its nodes, its inner groups as boxes, and ports where edges
    cross its frame. An edge is cut at the frames it crosses.
    """

    def __init__(self, graph: Graph, hints: dict[str, float]) -> None:
        self.graph = graph
        self.hints = hints
        self.parent = {group.id: group.parent for group in graph.groups}
        self.chain: dict[str | None, tuple[str, ...]] = {None: ()}
        self.members: dict[str | None, list[Node]] = {}
        for node in graph.nodes:
            self.members.setdefault(node.group, []).append(node)
        occupied = {step for node in graph.nodes for step in self.path(node.group)}
        self.children: dict[str | None, list[str]] = {}
        for group in graph.groups:
            if group.id in occupied:
                self.children.setdefault(group.parent, []).append(group.id)
        self.ports: dict[str, dict[str, None]] = {}
        self.pieces: dict[str | None, list[tuple[str, str]]] = {}
        self.pieces_of = [self.cut(edge.src, edge.dst) for edge in graph.edges]
        self.levels: dict[str | None, Level] = {}
        self.boxes: dict[str, Box] = {}
        self.frames: dict[str, Box] = {}
        self.origin: dict[str | None, Point] = {}

    def path(self, group: str | None) -> tuple[str, ...]:
        """Groups around a node, outermost first."""
        if group not in self.chain:
            assert group is not None
            self.chain[group] = (*self.path(self.parent[group]), group)
        return self.chain[group]

    def cut(self, src: str, dst: str) -> list[_Piece]:
        """The pieces of an edge: (level, from item, to item), from its source to its target."""
        index = self.graph.index
        up, down = self.path(index[src].group), self.path(index[dst].group)
        shared = 0
        while shared < min(len(up), len(down)) and up[shared] == down[shared]:
            shared += 1
        made: list[_Piece] = []
        tail = src
        for group in reversed(up[shared:]):
            made.append((group, tail, self.port("out", src, group)))
            tail = group
        head_pieces: list[_Piece] = []
        head = dst
        for group in reversed(down[shared:]):
            head_pieces.append((group, self.port("in", src, group), head))
            head = group
        made.append((up[shared - 1] if shared else None, tail, head))
        made.extend(reversed(head_pieces))
        for level, a, b in made:
            self.pieces.setdefault(level, []).append((a, b))
        return made

    def port(self, way: str, src: str, group: str) -> str:
        """The place on the frame of `group` where edges from `src` cross it."""
        name = f"\0{way}:{src}:{group}"
        self.ports.setdefault(group, {})[name] = None
        return name

    def place(self, group: str | None) -> Level:
        """Lay out one level after the levels inside it."""
        items = [_Item(node.id, node.width, node.height) for node in self.members.get(group, [])]
        for child in self.children.get(group, []):
            inner = self.place(child)
            label = next(g.label for g in self.graph.groups if g.id == child)
            title = len(label) * 6.7 + 2 * FRAME
            if title > inner.width:
                inner = self.levels[child] = widened(inner, title)
            items.append(_Item(child, inner.width + 2 * FRAME, inner.height + 2 * FRAME + TITLE))
        if group is not None:
            items.extend(_Item(port, DUMMY_WIDTH, 1.0) for port in self.ports.get(group, {}))
        edges = list(dict.fromkeys(self.pieces.get(group, [])))
        self.levels[group] = place_level(items, edges, self.hints)
        return self.levels[group]

    def settle(self, group: str | None, dx: float, dy: float) -> None:
        """Move a level, and those inside it, to their absolute place."""
        self.origin[group] = (dx, dy)
        inside = set(self.children.get(group, []))
        for key, box in self.levels[group].boxes.items():
            if key in inside:
                self.frames[key] = box.moved(dx, dy)
                self.settle(key, dx + box.x + FRAME, dy + box.y + FRAME + TITLE)
            elif not key.startswith("\0"):
                self.boxes[key] = box.moved(dx, dy)

    def routes(self) -> list[Route]:
        """The edges, their pieces joined."""
        by_level = {
            level: {(r.src, r.dst): r for r in found.routes} for level, found in self.levels.items()
        }
        out: list[Route] = []
        for edge, made in zip(self.graph.edges, self.pieces_of, strict=True):
            points: list[Point] = []
            for level, a, b in made:
                points.extend(by_level[level][a, b].moved(*self.origin[level]).points)
            out.append(Route(edge.src, edge.dst, _thin(points)))
        return out


def _nested(
    graph: Graph, hints: dict[str, float]
) -> tuple[dict[str, Box], dict[str, Box], list[Route], float, float]:
    """Boxes of nodes, frames of groups, routes of edges, width and height."""
    run = _Nested(graph, hints)
    top = run.place(None)
    run.settle(None, 0.0, 0.0)
    return run.boxes, run.frames, run.routes(), top.width, top.height


def widened(level: Level, width: float) -> Level:
    """`level` centred in a larger width."""
    dx = (width - level.width) / 2
    boxes = {key: box.moved(dx, 0.0) for key, box in level.boxes.items()}
    routes = [route.moved(dx, 0.0) for route in level.routes]
    return Level(boxes, routes, width, level.height)


def _thin(points: Sequence[Point]) -> tuple[Point, ...]:
    """`points` without repetitions."""
    kept: list[Point] = []
    for point in points:
        if not kept or kept[-1] != point:
            kept.append(point)
    return tuple(kept)


def place_level(
    items: Sequence[_Item], edges: Sequence[tuple[str, str]], hints: dict[str, float]
) -> Level:
    """Place `items` in ranks so that edges run downwards (cycles: all but one edge)."""
    number = {item.id: i for i, item in enumerate(items)}
    pairs = list(dict.fromkeys((number[a], number[b]) for a, b in edges if a != b))
    forward = break_cycles(len(items), pairs)
    kept = set(forward)
    ranks = rank_nodes(len(items), forward)
    widths = [item.width for item in items]
    # A long edge passes each rank between its ends through a dummy; edges of one source share it.
    chain: dict[tuple[int, int], int] = {}
    links: dict[tuple[int, int], None] = {}
    stops: dict[tuple[int, int], list[int]] = {}
    for a, b in forward:
        last, through = a, []
        for rank in range(ranks[a] + 1, ranks[b]):
            dummy = chain.get((a, rank))
            if dummy is None:
                dummy = chain[a, rank] = len(ranks)
                ranks.append(rank)
                widths.append(DUMMY_WIDTH)
            links[last, dummy] = None
            through.append(dummy)
            last = dummy
        links[last, b] = None
        stops[a, b] = through
    hint = [hints.get(item.id) for item in items] + [None] * (len(ranks) - len(items))
    rows = order_ranks(ranks, list(links), hint)
    xs = place_ranks(rows, ranks, list(links), widths, GAP_X, len(items))
    heights = [max((items[i].height for i in r if i < len(items)), default=0.0) for r in rows]
    tops, y = [], 0.0
    for height in heights:
        tops.append(y)
        y += height + GAP_Y
    left = min(x - w / 2 for x, w in zip(xs, widths, strict=True))
    right = max(x + w / 2 for x, w in zip(xs, widths, strict=True))
    boxes: dict[str, Box] = {}
    for i, item in enumerate(items):
        top = tops[ranks[i]] + (heights[ranks[i]] - item.height) / 2
        boxes[item.id] = Box(
            round(xs[i] - item.width / 2 - left, 1), round(top, 1), item.width, item.height
        )
    bends = {
        pair: [
            point
            for stop in through
            for point in (
                (round(xs[stop] - left, 1), round(tops[ranks[stop]], 1)),
                (round(xs[stop] - left, 1), round(tops[ranks[stop]] + heights[ranks[stop]], 1)),
            )
        ]
        for pair, through in stops.items()
    }
    routes: list[Route] = []
    for a, b in pairs:
        points = bends[a, b] if (a, b) in kept else [*reversed(bends[b, a])]
        routes.append(_route(items[a].id, items[b].id, boxes, points))
    loops = dict.fromkeys(a for a, b in edges if a == b)
    routes.extend(_loop(name, boxes[name]) for name in loops)
    height = y - GAP_Y
    return Level(boxes, routes, round(right - left, 1), round(height, 1))


def _route(src: str, dst: str, boxes: dict[str, Box], bends: Sequence[Point]) -> Route:
    """The polyline from one box to another through `bends`, leaving towards the first bend."""
    a, b = boxes[src], boxes[dst]
    down = a.bottom <= b.y
    start_y, end_y = (a.bottom, b.y) if down else (a.y, b.bottom)
    first = bends[0][0] if bends else b.centre_x
    last = bends[-1][0] if bends else a.centre_x
    start = (port_x(a, first), round(start_y, 1))
    end = (port_x(b, last), round(end_y, 1))
    return Route(src, dst, _thin((start, *bends, end)))


def _loop(name: str, box: Box) -> Route:
    """A self edge, drawn at the right side of its node."""
    x, y, out = box.right, box.y + box.height / 2, 14.0
    points = ((x, y - 6), (x + out, y - 6), (x + out, y + 6), (x, y + 6))
    return Route(name, name, tuple((round(a, 1), round(b, 1)) for a, b in points))
