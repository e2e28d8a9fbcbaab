"""walk, rewrite, substitute, free variables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.core import (
    bound_vars,
    free_vars,
    iter_nodes,
    recording,
    rewrite,
    structural_equal,
    substitute,
    walk,
)
from workbench.ir import IntImm, Var
from workbench.tirx import Add, For, ForKind, Mul, PrimFunc, SeqStmt, Sub, decl_buffer
from workbench.tirx.stmt import BufferStore, Evaluate


def _var(name: str) -> Var:
    return Var(name, "int32")


def test_walk_orders() -> None:
    x = _var("x")
    tree = Add(Mul(x, 2), IntImm("int32", 3))
    names: list[str] = []

    def see(node: Any) -> None:
        names.append(type(node).__name__)

    walk(tree, {Add: see, Mul: see, IntImm: see})
    assert names == ["Add", "Mul", "IntImm", "IntImm"]
    names.clear()
    walk(tree, {Add: see, Mul: see, IntImm: see}, order="post")
    assert names == ["IntImm", "Mul", "IntImm", "Add"]


def test_walk_with_a_generator_surrounds_the_children() -> None:
    seen: list[str] = []
    i, j = _var("i"), _var("j")
    inner = For(j, 0, 2, ForKind.SERIAL, Evaluate(j))
    outer = For(i, 0, 2, ForKind.SERIAL, inner)

    def loop(node: For) -> Any:
        seen.append(f"+{node.loop_var.name}")
        yield
        seen.append(f"-{node.loop_var.name}")

    walk(outer, {For: loop})
    assert seen == ["+i", "+j", "-j", "-i"]


def test_walk_may_skip_children() -> None:
    count = []

    def stop(node: Add) -> Any:
        yield ()

    x = _var("x")
    walk(Add(Mul(x, 2), x), {Add: stop, Mul: count.append})
    assert not count


def test_rewrite_of_nothing_is_the_same_object() -> None:
    f = PrimFunc([decl_buffer((4,), name="A")], Evaluate(0))
    assert rewrite(f, {}) is f
    assert rewrite(f, {IntImm: lambda n: None}) is f


def test_rewrite_keeps_unchanged_parts() -> None:
    x, y = _var("x"), _var("y")
    left, right = Mul(x, 2), Mul(y, 2)
    new = rewrite(Add(left, right), {Var: lambda v: IntImm("int32", 7) if v is x else v})
    assert new.b is right
    assert structural_equal(new.a, Mul(7, 2))


def test_rewrite_with_a_generator_sees_the_original_and_controls_children() -> None:
    x = _var("x")

    def product(node: Mul) -> Any:
        assert node.a is x  # not yet rewritten
        a = yield node.a
        return Sub(a, node.b)  # b is left alone

    table = {Mul: product, Var: lambda v: IntImm("int32", 1), IntImm: lambda n: None}
    new = rewrite(Add(Mul(x, 2), 3), table)
    assert structural_equal(new, Add(Sub(1, 2), 3))


def test_a_generator_may_yield_itself_tuples_and_mappings() -> None:
    x = _var("x")

    def product(node: Mul) -> Any:
        same = yield node
        pair = yield (node.a, node.b)
        table = yield {"a": node.a}
        assert same.a is pair[0] is table["a"]
        return None

    tree = Mul(x, 2)
    assert rewrite(tree, {Mul: product}) is tree
    with pytest.raises(AssertionError):
        rewrite(tree, {Mul: _always_fails})


def _always_fails(node: Mul) -> Any:
    yield node
    raise AssertionError


def test_shared_parts_are_rewritten_once_unless_asked() -> None:
    x = _var("x")
    shared = Mul(x, 2)
    calls: list[Any] = []
    rewrite(Add(shared, shared), {Mul: calls.append})
    assert len(calls) == 1
    calls.clear()
    rewrite(Add(shared, shared), {Mul: calls.append}, memo=False)
    assert len(calls) == 2


def test_substitute_reaches_the_types_of_variables_consistently() -> None:
    n, i = _var("n"), _var("i")
    a = decl_buffer((n,), name="A")
    f = PrimFunc([a, n], For(i, 0, n, ForKind.SERIAL, BufferStore(a, 0.0, [i])))
    g = substitute(f.body, {n: IntImm("int32", 16)})
    store = next(iter_nodes(g, BufferStore))
    assert store.buffer.shape[0].value == 16
    assert store.buffer is not a
    assert len({id(s.buffer) for s in iter_nodes(SeqStmt([g, g]), BufferStore)}) == 1


def test_free_and_bound_variables() -> None:
    n, i, x = _var("n"), _var("i"), _var("x")
    a = decl_buffer((n,), name="A")
    loop = For(i, 0, n, ForKind.SERIAL, BufferStore(a, 0.0, [Add(i, x)]))
    assert [v.name for v in free_vars(loop)] == ["n", "A", "x"]
    assert [v.name for v in free_vars(PrimFunc([a], loop))] == ["x"]
    assert [v.name for v in bound_vars(PrimFunc([a], loop))] == ["A", "i"]


def test_rewrites_are_recorded_with_their_source() -> None:
    def one(node: IntImm) -> IntImm:
        return IntImm("int32", node.value + 1)

    with recording("rewrite") as recorder:
        rewrite(Add(_var("x"), 1), {IntImm: one})
    (event,) = recorder.events
    assert event.changed
    assert "one" in event.name
    assert __file__ in event.source


def test_deep_trees() -> None:
    e: Any = _var("x")
    for _ in range(20_000):
        e = Add(e, 1)
    y = _var("y")
    new = substitute(e, {next(iter_nodes(e, Var)): y})
    assert free_vars(new)[0] is y
    assert sum(1 for _ in iter_nodes(e, once=False)) == 40_001 + 1 * (1 + 0)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_rewriting_by_identity_then_back_is_the_original(values: list[int]) -> None:
    e: Any = _var("x")
    for v in values:
        e = Add(e, v)
    up = rewrite(e, {IntImm: lambda n: IntImm("int32", n.value + 1)})
    down = rewrite(up, {IntImm: lambda n: IntImm("int32", n.value - 1)})
    assert structural_equal(e, down)
