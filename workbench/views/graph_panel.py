"""The model of a live graph: layout per set of folded groups, computed here, drawn there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .boxes import Layout
from .graph import Graph
from .highlight import code_lines
from .layout import layout
from .panel import Data, Progress, Request, unknown
from .part import Code, GraphPart, Part
from .render_html import code_html, node_list
from .render_svg import graph_svg

#: An exported page keeps every combination of folded groups up to this many groups.
EXPORT_GROUPS = 4


#: Longer scripts are cut: the first message stays well under a megabyte.
MAX_SCRIPT_LINES = 1500
_BINDING = re.compile(r"^\s*(\w+)(?:: .*?)? = ")


def bound_name(text: str) -> str:
    """The variable that a line binds, or ""."""
    found = _BINDING.match(text)
    return found[1] if found else ""


def picture(part: GraphPart) -> Data:
    """What the page draws: the SVG, the list twin, the number of nodes."""
    return {"svg": graph_svg(part), "list": node_list(part), "count": len(part.layout.nodes)}


class GraphPanel:
    """A graph whose groups can be folded; survivors keep their place while folding."""

    module = "graph_view"
    pure = frozenset({"layout"})
    slow: frozenset[str] = frozenset()

    def __init__(self, graph: Graph, title: str = "Graph", script: str = "") -> None:
        """`script` is shown beside the graph; a line that binds a node's name is linked to it."""
        self.graph = graph
        self.title = title
        self.script = script
        self.groups = [(g.id, g.label) for g in graph.groups]
        self._layouts: dict[tuple[str, ...], Layout] = {}

    @property
    def folded(self) -> list[str]:
        """The groups that are folded at first."""
        return sorted(group.id for group in self.graph.groups if group.collapsed)

    def laid_out(self, folded: Iterable[str]) -> GraphPart:
        """The graph with exactly these groups folded."""
        key = tuple(sorted(folded))
        unknown_ids = [name for name in key if name not in dict(self.groups)]
        if unknown_ids:
            raise ValueError(f"no group is called {unknown_ids[0]!r}")
        if key not in self._layouts:
            shut = frozenset(key)
            groups = tuple(replace(g, collapsed=g.id in shut) for g in self.graph.groups)
            graph = Graph(self.graph.nodes, self.graph.edges, groups)
            previous = next(iter(self._layouts.values()), None)
            self._layouts[key] = layout(graph, previous)
        return GraphPart(self.graph, self._layouts[key], self.title)

    def data(self) -> Data:
        """The first picture and the groups."""
        return {
            **self._answer(self.folded),
            "groups": [list(pair) for pair in self.groups],
            "script": self._script(),
        }

    def _script(self) -> str:
        """The script as HTML, its lines linked to nodes; "" where there is none to show."""
        if not self.script:
            return ""
        lines = [
            replace(one, ident=name) if (name := bound_name(one.text)) in self.graph.index else one
            for one in code_lines(self.script)[:MAX_SCRIPT_LINES]
        ]
        return code_html(Code(tuple(lines), f"script of {self.title}"))

    def _answer(self, folded: list[str]) -> Data:
        return {**picture(self.laid_out(folded)), "folded": sorted(folded)}

    def answer(self, op: str, args: Mapping[str, Any], progress: Progress) -> Data:
        """`layout` {folded}: the picture with these groups folded."""
        if op != "layout":
            raise unknown(self, op)
        return self._answer([str(name) for name in args.get("folded", [])])

    def requests(self) -> Iterable[Request]:
        """All open, all folded, and (with few groups) every combination."""
        names = sorted(name for name, _ in self.groups)
        yield "layout", {"folded": names}
        if len(names) > EXPORT_GROUPS:
            yield "layout", {"folded": []}
            for name in names:
                yield "layout", {"folded": [one for one in names if one != name]}
            return
        for bits in range(2 ** len(names) - 1):
            yield "layout", {"folded": [n for i, n in enumerate(names) if bits >> i & 1]}

    def static(self, folded: Iterable[str] | None = None) -> Part:
        """Picture and list."""
        return self.laid_out(self.folded if folded is None else folded)

    def pinned(self, state: Mapping[str, Any]) -> Part:
        """What "Pin snapshot" keeps."""
        return self.static([str(name) for name in state.get("folded", self.folded)])
