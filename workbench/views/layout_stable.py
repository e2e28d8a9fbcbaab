"""Keep the surviving nodes of an earlier layout in place, and fit the new ones in between.

Readers keep a mental map of a picture; a pass that fuses three nodes must not shuffle the other
hundred.  Surviving nodes keep their x always, and their y up to insertion of vertical space: where
a new node does not fit between the nodes before and after it, everything below moves down by the
missing height.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from .boxes import GAP_X, GAP_Y, Box, Layout, Route, port_x
from .graph import Graph, neighbours

#: With a smaller share of survivors, or more newcomers, a fresh layout is clearer.
MIN_SHARE = 0.4
MAX_NEW = 400


def keep_places(graph: Graph, previous: Layout) -> Layout | None:
    """A layout in which survivors keep their place, or None where that is not possible.

    Not possible: too few survivors, an edge between survivors that would run upwards, a cycle, or
    expanded groups (their frames need a fresh layout).
    """
    if graph.groups or previous.groups:
        return None
    boxes: dict[str, Box] = {}
    for node in graph.nodes:
        old = previous.nodes.get(node.id)
        if old is not None:
            x = round(old.centre_x - node.width / 2, 1)
            boxes[node.id] = Box(x, old.y, node.width, node.height)
    _drop_overlaps(boxes, previous)
    new = [node.id for node in graph.nodes if node.id not in boxes]
    if len(boxes) < MIN_SHARE * len(graph.nodes) or len(new) > MAX_NEW:
        return None
    for edge in graph.edges:
        a, b = boxes.get(edge.src), boxes.get(edge.dst)
        if edge.src == edge.dst or (a and b and a.bottom > b.y):
            return None
    order = _topological(graph)
    if order is None:
        return None
    after, before = neighbours(graph)
    fresh = set(new)
    for name in order:
        if name in fresh:
            _insert(graph, name, boxes, after, before, previous.width / 2)
    return _finish(graph, boxes)


def _drop_overlaps(boxes: dict[str, Box], previous: Layout) -> None:
    """Forget survivors that grew into a neighbour: they are placed again like newcomers."""
    grown = [k for k, b in boxes.items() if b.width > previous.nodes[k].width]
    for name in grown:
        box = boxes[name]
        for other, there in boxes.items():
            apart = box.right + 4 <= there.x or there.right + 4 <= box.x
            if other != name and not apart and box.y < there.bottom and there.y < box.bottom:
                del boxes[name]
                break


def _topological(graph: Graph) -> list[str] | None:
    """Node ids with every edge forward, in the graph's order where free; None for a cycle."""
    after, before = neighbours(graph)
    waiting = {name: len(set(b)) for name, b in before.items()}
    ready = [name for name, count in waiting.items() if not count]
    for name in ready:  # grows while it is walked
        for child in dict.fromkeys(after[name]):
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return ready if len(ready) == len(graph.nodes) else None


def _insert(
    graph: Graph,
    name: str,
    boxes: dict[str, Box],
    after: dict[str, list[str]],
    before: dict[str, list[str]],
    middle: float,
) -> None:
    """Place one new node between what it reads and what reads it."""
    node = graph.index[name]
    above = [boxes[p] for p in before[name] if p in boxes]
    below = _first_placed(name, after, boxes)
    top = max((box.bottom for box in above), default=None)
    limit = min((box.y for box in below), default=None)
    if top is not None:
        y = top + GAP_Y
    elif limit is not None:
        y = limit - GAP_Y - node.height
    else:
        y = max((box.bottom for box in boxes.values()), default=0.0) + GAP_Y
    if limit is not None and y + node.height + GAP_Y > limit and top is not None:
        # Space is made in steps of the missing height, for all that lies at or below the limit.
        missing = round(y + node.height + GAP_Y - limit, 1)
        for key, box in list(boxes.items()):
            if box.y >= limit:
                boxes[key] = box.moved(0, missing)
    centres = [box.centre_x for box in above + below]
    want = sum(centres) / len(centres) if centres else middle
    x = free_x(boxes.values(), y, y + node.height, want, node.width / 2 + GAP_X / 2)
    boxes[name] = Box(round(x - node.width / 2, 1), round(y, 1), node.width, node.height)


def _first_placed(name: str, after: dict[str, list[str]], boxes: dict[str, Box]) -> list[Box]:
    """The nearest placed nodes below `name`, looking through nodes without a place."""
    found: list[Box] = []
    stack, seen = list(after[name]), {name}
    while stack:
        child = stack.pop()
        if child in seen:
            continue
        seen.add(child)
        if child in boxes:
            found.append(boxes[child])
        else:
            stack.extend(after[child])
    return found


def free_x(boxes: Iterable[Box], y0: float, y1: float, want: float, half: float) -> float:
    """The centre nearest to `want` such that [x - half, x + half] × [y0, y1] meets no box."""
    spans = sorted((b.x - half, b.right + half) for b in boxes if b.y < y1 and y0 < b.bottom)
    left = right = want
    for low, high in spans:
        if low < right < high:
            right = high
    for low, high in sorted(spans, key=lambda s: -s[1]):
        if low < left < high:
            left = low
    return right if right - want <= want - left else left


def _finish(graph: Graph, boxes: dict[str, Box]) -> Layout:
    """Route the edges around the boxes and measure the whole."""
    by_top = sorted(boxes.values(), key=lambda b: b.y)
    tops = [box.y for box in by_top]
    tallest = max((box.height for box in by_top), default=0.0)
    routes: list[Route] = []
    for edge in dict.fromkeys((e.src, e.dst) for e in graph.edges):
        a, b = boxes[edge[0]], boxes[edge[1]]
        first = bisect_left(tops, a.bottom - tallest)
        last = bisect_left(tops, b.y)
        near = [c for c in by_top[first:last] if c.bottom > a.bottom + 1 and c.y < b.y - 1]
        routes.append(_around(edge, a, b, near))
    left = min((box.x for box in boxes.values()), default=0.0)
    left = min([left, *(x for route in routes for x, _ in route.points)])
    top = min((box.y for box in boxes.values()), default=0.0)
    if left < 0 or top < 0:
        dx, dy = -min(left, 0.0), -min(top, 0.0)
        boxes = {key: box.moved(dx, dy) for key, box in boxes.items()}
        routes = [route.moved(dx, dy) for route in routes]
    width = max((box.right for box in boxes.values()), default=0.0)
    width = max([width, *(x for route in routes for x, _ in route.points)])
    height = max((box.bottom for box in boxes.values()), default=0.0)
    ordered = {node.id: boxes[node.id] for node in graph.nodes}
    return Layout(graph, ordered, {}, tuple(routes), round(width, 1), round(height, 1))


def _around(edge: tuple[str, str], a: Box, b: Box, near: list[Box]) -> Route:
    """A polyline from `a` to `b` that passes the boxes between them in one free corridor."""
    start, end = (port_x(a, b.centre_x), a.bottom), (port_x(b, a.centre_x), b.y)

    def x_at(y: float) -> float:
        """Where the straight line is at height `y`."""
        return start[0] + (end[0] - start[0]) * (y - start[1]) / (end[1] - start[1])

    hit = [
        c
        for c in near
        if any(c.x - 3 < x_at(min(max(y, start[1]), end[1])) < c.right + 3 for y in (c.y, c.bottom))
    ]
    if not hit or end[1] - start[1] < 1:
        return Route(*edge, (start, end))
    y0 = max(start[1], min(c.y for c in near))
    y1 = min(end[1], max(c.bottom for c in near))
    x = round(free_x(near, y0, y1, (start[0] + end[0]) / 2, 6.0), 1)
    start, end = (port_x(a, x), a.bottom), (port_x(b, x), b.y)
    return Route(*edge, (start, (x, round(y0, 1)), (x, round(y1, 1)), end))
