"""Small panels for the widget tests."""

from workbench.views.graph import Edge, Graph, Group, Node
from workbench.views.graph_panel import GraphPanel
from workbench.views.stepper_panel import Rewrite, Step, StepperPanel

BEFORE = """\
@T.prim_func
def main(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32")):
    for i, j in T.grid(128, 128):
        with T.sblock("B"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            T.reads(A[v_i, v_j])
            T.writes(B[v_i, v_j])
            B[v_i, v_j] = A[v_i, v_j] + T.float32(1.0)
"""
AFTER = BEFORE.replace(
    "    for i, j in T.grid(128, 128):\n",
    "    for i_0 in T.parallel(8):\n        for i_1, j in T.grid(16, 128):\n",
).replace('v_i, v_j = T.axis.remap("SS", [i, j])', "v_i = T.axis.spatial(128, i_0 * 16 + i_1)")


def graph(ops=("conv2d", "add", "relu"), fold=False):
    nodes = [
        Node("x", "x", "(1, 1, 8, 8) f32", "param"),
        Node("w", "w", "(16, 1, 3, 3) f32", "const"),
    ]
    edges = []
    last = "x"
    for i, op in enumerate(ops):
        name = f"lv{i}"
        nodes.append(Node(name, op, "(1, 16, 8, 8) f32", "op", "fused"))
        edges.append(Edge(last, name))
        last = name
    edges.append(Edge("w", "lv0"))
    nodes += [Node("k", "dense", "(1, 10) f32", "call"), Node("out", "output", "", "output")]
    edges += [Edge(last, "k"), Edge("k", "out")]
    return Graph(tuple(nodes), tuple(edges), (Group("fused", "fused_conv2d", None, fold),))


def graph_panel():
    return GraphPanel(graph(), "Graph of main")


def stepper_panel():
    same, left, right = (lambda: BEFORE), (lambda: BEFORE), (lambda: AFTER)
    flat = Graph(tuple(Node(n.id, n.label, n.sub, n.kind) for n in graph().nodes), graph().edges)
    rewrite = Rewrite("x + 0 → x", "rules/add.py:12", "x + 0", "x", 2e-6)
    return StepperPanel(
        [
            Step("Normalize", "same", 0.0004, same, same, lambda: flat),
            Step("FuseOps", "changed", 0.012, left, right, lambda: flat, rewrites=(rewrite,)),
            Step("Simplify", "same", 2e-5, right, right, lambda: flat, depth=1),
            Step("Lower", "failed", 0.003, right, right, error="cannot lower T.foo\nat line 3"),
        ],
        "Passes of main",
    )
