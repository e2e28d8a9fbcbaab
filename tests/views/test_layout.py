import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.views.graph import Edge, Graph, Group, Node, collapse
from workbench.views.layout import MAX_NODES, layout
from workbench.views.layout_rank import break_cycles, crossings, isotonic, order_ranks, rank_nodes


def chain(*names, extra=()):
    nodes = tuple(Node(n, n) for n in names)
    edges = [Edge(a, b) for a, b in itertools.pairwise(names)]
    return Graph(nodes, (*edges, *(Edge(a, b) for a, b in extra)))


@st.composite
def graphs(draw, cyclic=False):
    count = draw(st.integers(1, 14))
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))))
    if not cyclic:
        pairs = [(min(p), max(p)) for p in pairs if p[0] != p[1]]
    groups = draw(st.lists(st.sampled_from([None, "g", "h", "i"]), min_size=count, max_size=count))
    nodes = tuple(
        Node(f"n{i}", "x" * draw(st.integers(1, 12)), group=g) for i, g in enumerate(groups)
    )
    edges = tuple(Edge(f"n{a}", f"n{b}") for a, b in dict.fromkeys(pairs))
    return Graph(nodes, edges, (Group("g", "G"), Group("h", "H", "g"), Group("i", "I")))


def overlaps(boxes):
    items = list(boxes.items())
    for i, (name, a) in enumerate(items):
        for other, b in items[i + 1 :]:
            if a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom:
                yield name, other


@given(graphs())
@settings(max_examples=40, deadline=None)
def test_no_overlap_and_edges_run_down(graph):
    found = layout(graph)
    assert not list(overlaps(found.nodes))
    assert len(found.routes) == len(graph.edges)
    flat = all(node.group is None for node in graph.nodes)
    for route in found.routes:
        a, b = found.nodes[route.src], found.nodes[route.dst]
        start, end = route.points[0], route.points[-1]
        assert a.x <= start[0] <= a.right
        assert b.x <= end[0] <= b.right
        if flat:
            assert a.bottom <= b.y


@given(graphs())
@settings(max_examples=30, deadline=None)
def test_groups_frame_exactly_their_nodes(graph):
    found = layout(graph)
    inside = {"g": {"g", "h"}, "h": {"h"}, "i": {"i"}}
    for name, frame in found.groups.items():
        for node in graph.nodes:
            box = found.nodes[node.id]
            within = frame.x <= box.x and box.right <= frame.right
            within = within and frame.y <= box.y and box.bottom <= frame.bottom
            assert within == (node.group in inside[name]), (name, node)


@given(graphs(cyclic=True))
@settings(max_examples=30, deadline=None)
def test_cycles_are_drawn_too(graph):
    found = layout(graph)
    assert not list(overlaps(found.nodes))
    assert {(r.src, r.dst) for r in found.routes} == {(e.src, e.dst) for e in graph.edges}


@given(graphs(), st.integers(0, 13), st.integers(0, 13))
@settings(max_examples=40, deadline=None)
def test_survivors_keep_their_place(graph, gone, at):
    nodes = tuple(Node(n.id, n.label) for n in graph.nodes)
    before = layout(Graph(nodes, graph.edges))
    kept = [n for n in nodes if n.id != f"n{gone}"]
    edges = [e for e in graph.edges if f"n{gone}" not in (e.src, e.dst)]
    if kept and any(n.id == f"n{at}" for n in kept):
        kept.append(Node("new", "new"))
        edges.append(Edge(f"n{at}", "new"))
    if not kept:
        return
    after = layout(Graph(tuple(kept), tuple(edges)), before)
    assert not list(overlaps(after.nodes))
    old = [n.id for n in kept if n.id != "new"]
    shifts = {round(after.nodes[n].x - before.nodes[n].x, 1) for n in old}
    if len(old) >= 0.5 * len(kept):
        assert len(shifts) <= 1, "survivors move together, if at all"
        assert all(after.nodes[n].y >= before.nodes[n].y - 0.05 for n in old)


def test_a_fused_pair_takes_the_place_of_its_parts():
    before = layout(chain("a", "b", "c", "d", "e"))
    after = layout(chain("a", "bc", "d", "e"), before)
    for name in "ade":
        assert after.nodes[name] == before.nodes[name]
    assert before.nodes["a"].bottom < after.nodes["bc"].y
    assert after.nodes["bc"].bottom < before.nodes["d"].y


def test_an_inserted_node_makes_room():
    before = layout(chain("a", "b"))
    after = layout(chain("a", "new", "b"), before)
    assert after.nodes["a"] == before.nodes["a"]
    assert after.nodes["b"].x == before.nodes["b"].x
    assert after.nodes["b"].y > after.nodes["new"].bottom


def test_a_stable_layout_is_the_same_layout():
    graph = chain("a", "b", "c", extra=[("a", "c")])
    first = layout(graph)
    assert layout(graph, first).nodes == first.nodes


def test_the_result_does_not_depend_on_hashing():
    graph = chain(*"abcdefgh", extra=[("a", "d"), ("b", "g"), ("c", "h")])
    assert layout(graph) == layout(graph)


def test_skip_edges_go_around_nodes():
    graph = chain(*"abcdef", extra=[("a", "f")])
    found = layout(graph)
    long = next(r for r in found.routes if (r.src, r.dst) == ("a", "f"))
    for name in "bcde":
        box = found.nodes[name]
        for x, y in long.points[1:-1]:
            assert not (box.x < x < box.right and box.y < y < box.bottom)


def test_a_chain_is_straight():
    found = layout(chain(*"abcd"))
    assert len({box.centre_x for box in found.nodes.values()}) == 1


def test_too_many_nodes_collapse_the_groups():
    nodes = tuple(Node(f"n{i}", "x", group=f"g{i % 7}") for i in range(MAX_NODES + 1))
    found = layout(Graph(nodes, (), tuple(Group(f"g{i}", f"g{i}") for i in range(7))))
    assert set(found.nodes) == {f"g{i}" for i in range(7)}


def test_collapse_merges_edges_and_nested_groups():
    nodes = (Node("a", "a"), Node("b", "b", group="h"), Node("c", "c", group="g"))
    edges = (Edge("a", "b"), Edge("a", "c"), Edge("b", "c"))
    graph = Graph(nodes, edges, (Group("g", "G"), Group("h", "H", "g")))
    found = collapse(graph, frozenset({"g"}))
    assert [n.id for n in found.nodes] == ["a", "g"]
    assert found.nodes[1].sub == "2 nodes"
    assert [(e.src, e.dst) for e in found.edges] == [("a", "g")]
    assert found.groups == ()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Graph((Node("a", "a"), Node("a", "b"))), "two nodes"),
        (lambda: Graph((Node("a", "a"),), (Edge("a", "z"),)), "unknown 'z'"),
        (lambda: Graph((Node("a", "a", group="g"),)), "unknown group 'g'"),
        (lambda: Graph((), (), (Group("g", "g", "h"),)), "unknown group 'h'"),
        (lambda: Graph((Node("g", "a"),), (), (Group("g", "g"),)), "both"),
    ],
)
def test_bad_graphs_are_told(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_empty_graph():
    assert layout(Graph(())).nodes == {}


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 10)), min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_isotonic_is_monotone_and_keeps_the_weighted_mean(pairs):
    values, weights = [v for v, _ in pairs], [w for _, w in pairs]
    found = isotonic(values, weights)
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(found))
    mean = sum(v * w for v, w in pairs) / sum(weights)
    got = sum(v * w for v, w in zip(found, weights, strict=True)) / sum(weights)
    assert got == pytest.approx(mean, abs=1e-6)


def test_crossings_agree_with_counting_pairs():
    r = random.Random(1)
    for _ in range(20):
        rows = [list(range(5)), list(range(5, 11))]
        after = [[r.randrange(5, 11) for _ in range(2)] for _ in range(5)] + [[] for _ in range(6)]
        ends = [(rows[0].index(a), b) for a in rows[0] for b in after[a]]
        slow = sum(
            (a[0] - b[0]) * (a[1] - b[1]) < 0 for i, a in enumerate(ends) for b in ends[i + 1 :]
        )
        assert crossings(rows, after) == slow


def test_ordering_untangles_a_crossed_ladder():
    # 0, 1, 2 above 5, 4, 3: drawn in number order every pair crosses.
    pairs = [(0, 5), (1, 4), (2, 3)]
    ranks = rank_nodes(6, break_cycles(6, pairs))
    rows = order_ranks(ranks, pairs, [None] * 6)
    after = [[5], [4], [3], [], [], []]
    assert crossings(rows, after) == 0
