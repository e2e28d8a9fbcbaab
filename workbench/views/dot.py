"""`Graph` → DOT text and, through an installed `dot` program, a static picture.

The program is the system's `dot`, or `graphviz-pure` from the pip package of that name.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from .graph import Graph, Node
from .render_svg import FILL

_SHAPE = {
    "op": ("box", "rounded,filled"),
    "call": ("box", "filled"),
    "param": ("parallelogram", "filled"),
    "const": ("octagon", "filled"),
    "output": ("box", "filled"),
    "group": ("box3d", "filled"),
    "other": ("hexagon", "filled"),
}


def to_dot(graph: Graph, name: str = "workbench") -> str:
    """`graph` in the DOT language; groups become clusters, constants stay small."""
    import graphviz

    dot = graphviz.Digraph(name, format="png")
    dot.attr("graph", ranksep="0.35", nodesep="0.18", bgcolor="white", fontname="Helvetica")
    dot.attr("node", fontname="DejaVu Sans Mono", fontsize="10", margin="0.12,0.05", height="0.2")
    dot.attr("edge", arrowsize="0.6", color="#57606a")

    def add(into: graphviz.Digraph, node: Node) -> None:
        """One node with label, shape and fill."""
        shape, style = _SHAPE[node.kind]
        label = graphviz.escape(node.label + ("\n" + node.sub if node.sub else ""))
        more = {"peripheries": "2"} if node.kind == "output" else {}
        if node.changed:
            more["penwidth"], style = "2.2", style + ",bold"
        into.node(
            _name(node.id), label.replace("\n", "\\n"), shape=shape, style=style,
            fillcolor=FILL[node.kind], color="#57606a", **more,
        )  # fmt: skip

    def cluster(into: graphviz.Digraph, parent: str | None) -> None:
        """The nodes of a group, then the groups inside it."""
        for node in graph.nodes:
            if node.group == parent:
                add(into, node)
        for group in graph.groups:
            if group.parent == parent:
                inner = graphviz.Digraph(f"cluster_{_name(group.id)}")
                inner.attr(label=graphviz.escape(group.label), style="dashed", fontsize="10")
                cluster(inner, group.id)
                into.subgraph(inner)

    cluster(dot, None)
    for edge in graph.edges:
        dot.edge(_name(edge.src), _name(edge.dst))
    return dot.source


def _name(ident: str) -> str:
    """A node name without ":", which DOT reads as a port."""
    return ident.replace(":", "\u2236")


def beside(name: str) -> str | None:
    """A program that pip installed next to the running Python."""
    path = Path(sys.executable).parent / name
    return str(path) if path.is_file() else None


@cache
def program() -> str | None:
    """The path of a layout program, or None if there is none."""
    for name in ("dot", "graphviz-pure"):
        if found := shutil.which(name) or beside(name):
            return found
    return None


def run_dot(source: str, kind: str = "png", dpi: int = 96) -> bytes | None:
    """The picture of DOT text, or None where no layout program is installed.

    Raises RuntimeError with the program's own words if it fails.
    """
    binary = program()
    if binary is None:
        return None
    done = subprocess.run(
        [binary, f"-T{kind}", f"-Gdpi={dpi}"],
        input=source.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{binary} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
