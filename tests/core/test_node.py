"""The declaration of a node and what is derived from it."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from workbench.core import FrozenNodeError, structural_equal
from workbench.core.node import FrozenMap, Node, field, fields_of, iter_node_types
from workbench.ir import IntImm, Var
from workbench.tirx import Add, For, ForKind, SeqStmt, decl_buffer
from workbench.tirx.stmt import BufferStore, Evaluate


def _loop() -> For:
    i = Var("i", "int32")
    a = decl_buffer((8,), name="A")
    return For(i, 0, 8, ForKind.SERIAL, BufferStore(a, 1.0, [i]), annotations={"pragma": 1})


def test_a_field_cannot_be_assigned_and_the_error_says_what_to_do() -> None:
    loop = _loop()
    with pytest.raises(FrozenNodeError, match="replace"):
        loop.kind = ForKind.PARALLEL
    with pytest.raises(FrozenNodeError):
        loop.annotations["x"] = 1  # type: ignore[index]


def test_replace_shares_what_does_not_change() -> None:
    loop = _loop()
    assert loop.replace(kind=loop.kind) is loop
    other = loop.replace(kind=ForKind.PARALLEL)
    assert other.kind is ForKind.PARALLEL
    assert other.body is loop.body
    with pytest.raises(TypeError, match="no field 'kin'.*fields: loop_var"):
        loop.replace(kin=ForKind.PARALLEL)


def test_wrong_field_types_are_named() -> None:
    with pytest.raises(TypeError, match=r"For\.body: expected Stmt, got NoneType"):
        For(Var("i", "int32"), 0, 8, ForKind.SERIAL, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected an expression or a number, got list"):
        Add([1], 2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"SeqStmt\.seq: expected Stmt, got IntImm"):
        SeqStmt([IntImm("int32", 1)])  # type: ignore[list-item]


def test_signature_and_match_follow_the_declaration() -> None:
    assert list(inspect.signature(For).parameters) == [
        "loop_var",
        "min",
        "extent",
        "kind",
        "body",
        "thread_binding",
        "annotations",
        "step",
        "span",
    ]
    match _loop():
        case For(var, IntImm(_, 0), _, ForKind.SERIAL, BufferStore()):
            assert var.name == "i"
        case other:
            pytest.fail(f"did not match {other!r}")


def test_copies_are_the_node_itself_and_pickles_are_equal() -> None:
    loop = _loop()
    assert copy.copy(loop) is loop
    assert copy.deepcopy(loop) is loop
    assert structural_equal(pickle.loads(pickle.dumps(loop)), loop, map_free_vars=True)


def test_frozen_map_keeps_order_and_refuses_changes() -> None:
    items = FrozenMap({"b": 1, "a": 2})
    assert list(items) == ["b", "a"]
    for change in (items.clear, items.popitem, lambda: items.update(x=1)):
        with pytest.raises(FrozenNodeError):
            change()


def test_children_and_with_children_are_inverse_for_every_example() -> None:
    loop = _loop()
    for node in (loop, loop.body, *loop.children()):
        kids = node.children()
        again = node.with_children(kids)
        assert all(a is b for a, b in zip(again.children(), kids, strict=True))


def test_derived_fields_are_recomputed() -> None:
    a = Add(Var("x", "int32"), 1)
    assert a.dtype == "int32"
    b = a.replace(a=Var("y", "int64"), b=IntImm("int64", 1))
    assert b.dtype == "int64"


def test_every_registered_class_declares_a_docstring_and_distinct_fields() -> None:
    for key, cls in iter_node_types():
        names = [f.name for f in fields_of(cls)]
        assert len(names) == len(set(names)), key
        assert inspect.getdoc(cls), f"{key} has no docstring"


def test_a_node_class_has_one_base() -> None:
    with pytest.raises((AssertionError, TypeError)):

        class Two(For, Evaluate):  # type: ignore[misc]
            """Two bases."""


def test_field_options_must_agree() -> None:
    with pytest.raises(AssertionError):
        field(init=False)
    assert isinstance(_loop(), Node)


def test_what_is_inside_a_mapping_is_frozen_too() -> None:
    i = Var("i", "int32")
    nested = {"outer": {"inner": [1, {"x": 2}]}}
    loops = [For(i, 0, 8, ForKind.SERIAL, Evaluate(0), annotations=nested) for _ in range(2)]
    assert structural_equal(*loops)
    assert loops[0].annotations["outer"]["inner"] == (1, {"x": 2})
    with pytest.raises(FrozenNodeError):
        loops[0].annotations["outer"]["more"] = 1
