"""What a layout consists of: boxes, routes, and the layout that holds them."""

from __future__ import annotations

from dataclasses import dataclass

from .graph import Graph

#: Gap between neighbours in a rank, and between ranks.
GAP_X, GAP_Y = 18.0, 30.0

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-parallel rectangle; (x, y) is its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre_x(self) -> float:
        """Horizontal centre."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """Lower edge (y grows downwards)."""
        return self.y + self.height

    @property
    def right(self) -> float:
        """Right edge."""
        return self.x + self.width

    def moved(self, dx: float, dy: float) -> Box:
        """The box shifted by (dx, dy)."""
        return Box(round(self.x + dx, 1), round(self.y + dy, 1), self.width, self.height)


@dataclass(frozen=True, slots=True)
class Route:
    """An edge as a polyline from `src` to `dst`."""

    src: str
    dst: str
    points: tuple[Point, ...]

    def moved(self, dx: float, dy: float) -> Route:
        """The route shifted by (dx, dy)."""
        points = tuple((round(x + dx, 1), round(y + dy, 1)) for x, y in self.points)
        return Route(self.src, self.dst, points)


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes of nodes and expanded groups, routes of edges, and the size of the whole.

    `graph` is the graph that was drawn: the given one, or one with groups collapsed.
    """

    graph: Graph
    nodes: dict[str, Box]
    groups: dict[str, Box]
    routes: tuple[Route, ...]
    width: float
    height: float


def port_x(box: Box, towards: float) -> float:
    """Where an edge leaves a box: at the centre, moved a little towards the other end."""
    reach = min(box.width * 0.3, 60.0)
    shift = max(-reach, min(reach, (towards - box.centre_x) * 0.25))
    return round(box.centre_x + shift, 1)
