from itertools import pairwise

import numpy as np

from workbench.ir.expr import Var
from workbench.ir.module import IRModule
from workbench.relax.block_builder import BlockBuilder
from workbench.relax.expr import Function, If, Tuple, TupleGetItem, const
from workbench.relax.op.binary import add, multiply
from workbench.relax.op.nn.activation import relu
from workbench.relax.type import TensorType
from workbench.views.align import align
from workbench.views.graph import Edge, Graph, Node
from workbench.views.layout import layout
from workbench.views.part import GraphPart
from workbench.views.relax_graph import graph_part, main_function, relax_graph
from workbench.views.type_text import short_dtype, type_text

TENSOR = TensorType((4, 8), "float32")


def build(body, name="main", params=("x",), mod=None):
    bb = BlockBuilder(mod) if mod is not None else BlockBuilder()
    args = [Var(p, TENSOR) for p in params]
    with bb.function(name, args):
        with bb.dataflow():
            out = bb.emit_output(body(bb, *args))
        bb.emit_func_output(out)
    return bb.get()


def edges(graph):
    return {(e.src, e.dst) for e in graph.edges}


def labels(graph):
    return {n.id: n.label for n in graph.nodes}


def test_operators_shapes_and_dataflow():
    mod = build(lambda bb, x: multiply(bb.emit(add(x, x)), x))
    graph = relax_graph(mod["main"])
    assert labels(graph) == {"x": "x", "lv": "add", "gv": "multiply", "output": "output"}
    assert edges(graph) == {("x", "lv"), ("lv", "gv"), ("x", "gv"), ("gv", "output")}
    assert {n.kind for n in graph.nodes} == {"param", "op", "output"}
    assert graph.index["lv"].sub == "(4, 8) f32"
    assert ("operator", "relax.add") in graph.index["lv"].detail


def test_constants_are_details_unless_asked_for():
    mod = build(lambda bb, x: add(x, const(np.ones((8,), "float32"))))
    plain = relax_graph(mod["main"])
    assert ("argument 1", "const (8,) f32") in plain.index["gv"].detail
    shown = relax_graph(mod["main"], constants=True)
    assert [n.kind for n in shown.nodes if n.label == "const"] == ["const"]


def test_tuples_are_edges():
    def body(bb, x, y):
        pair = bb.emit(Tuple((x, y)))
        return add(bb.emit(TupleGetItem(pair, 1)), x)

    graph = relax_graph(build(body, params=("x", "y"))["main"])
    assert edges(graph) == {("x", "gv"), ("y", "gv"), ("gv", "output")}


def test_names_may_repeat():
    x = Var("x", TENSOR)
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(add(x, x))
            b = bb.emit_output(add(a, a))
        bb.emit_func_output(b)
    func = bb.get()["main"]
    block = func.body.blocks[0]
    same = Function([x], func.body, attrs=func.attrs)
    assert len(relax_graph(same).nodes) == 2 + len(block.bindings)
    other = relax_graph(same)
    assert len({n.id for n in other.nodes}) == len(other.nodes)


def test_called_functions_are_groups():
    inner = build(lambda bb, x: relu(bb.emit(add(x, x))), "fused_add_relu")
    gvar = inner.get_global_var("fused_add_relu")

    def body(bb, x):
        return multiply(bb.emit(_call(gvar, x)), x)

    mod = build(body)
    both = IRModule({**mod.functions, **inner.functions})
    graph = relax_graph(both["main"], both)
    (group,) = graph.groups
    assert group.label == "fused_add_relu"
    inside = [n for n in graph.nodes if n.group == group.id]
    assert [n.label for n in inside] == ["add", "relu"]
    assert ("x", inside[0].id) in edges(graph)
    # Without the module, the call is a node.
    alone = relax_graph(both["main"])
    assert "fused_add_relu" in labels(alone).values()
    assert isinstance(graph_part(both["main"], both), GraphPart)


def _call(gvar, x):
    from workbench.ir.expr import Call

    return Call(gvar, (x,), ret_ty=TENSOR)


def test_branches_are_groups():
    x = Var("x", TENSOR)
    cond = Var("c", TensorType((), "bool"))
    func = Function([x, cond], If(cond, add(x, x), multiply(x, x)), TENSOR)
    graph = relax_graph(func)
    assert {g.label.split()[0] for g in graph.groups} == {"then", "else"}
    (branch,) = [n for n in graph.nodes if n.label == "if"]
    assert {e.label for e in graph.edges if e.dst == branch.id} == {"cond", "then", "else"}


def test_the_main_function_is_found():
    mod = build(lambda bb, x: add(x, x), "other")
    assert main_function(mod)[0] == "other"
    assert main_function(IRModule({})) is None


def test_short_types():
    assert type_text(TensorType((1, Var("n", "int64")), "int8")) == "(1, n) i8"
    assert type_text(TensorType(None, "float16", ndim=2)) == "(?, ?) f16"
    assert type_text(None) == "?"
    assert [short_dtype(d) for d in ("bfloat16", "uint8", "bool")] == ["bf16", "u8", "bool"]


def chain(*pairs):
    nodes = tuple(Node(i, label, "t") for i, label in pairs)
    names = [i for i, _ in pairs]
    return Graph(nodes, tuple(Edge(a, b) for a, b in pairwise(names)))


def test_renamed_nodes_are_recognised():
    old = chain(("x", "x"), ("lv", "conv"), ("lv1", "add"), ("lv2", "relu"))
    new = chain(("x", "x"), ("lv", "conv"), ("lv1", "relu"))
    assert align(old, new) == {"x": "x", "lv": "lv", "lv1": "lv2"}


def test_places_survive_renaming_in_a_stepper():
    from workbench.views.stepper_panel import Step, StepperPanel

    old = chain(("x", "x"), ("lv", "conv"), ("lv1", "add"), ("lv2", "relu"))
    new = chain(("x", "x"), ("lv", "conv"), ("lv1", "relu"))
    text = lambda: ""
    panel = StepperPanel(
        [
            Step("a", "changed", 0, text, text, lambda: old),
            Step("b", "changed", 0, text, text, lambda: new),
        ]
    )
    after = panel.view(1, "graph").layout
    assert after.nodes["lv1"] == layout(old).nodes["lv2"]
