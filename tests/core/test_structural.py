"""Structural equality and hash: variables by position, first mismatch, laws."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.core import (
    StructuralMismatch,
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from workbench.core.leaves import leaf_key, same_leaf
from workbench.ir import GlobalVar, IntImm, IRModule, Var
from workbench.tirx import Add, Bind, For, ForKind, Let, Mul, PrimFunc, SeqStmt, decl_buffer
from workbench.tirx.stmt import AllocBuffer, BufferStore, Evaluate


def _func(name: str = "i", extent: int = 8, offset: int = 1) -> PrimFunc:
    i, n = Var(name, "int32"), Var("n", "int32")
    a = decl_buffer((n, 4), name="A")
    return PrimFunc(
        [a], For(i, 0, extent, ForKind.SERIAL, BufferStore(a, 1.0, [Add(i, offset), 0]))
    )


def test_names_of_bound_variables_do_not_count() -> None:
    assert structural_equal(_func("i"), _func("j"))
    assert structural_hash(_func("i")) == structural_hash(_func("j"))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"extent": 9}, ".body.extent.value"),
        ({"offset": 2}, ".body.body.indices[0].b.value"),
    ],
)
def test_first_mismatch_is_a_path(change: dict[str, Any], path: str) -> None:
    found = get_first_structural_mismatch(_func(), _func(**change))
    assert found is not None
    assert found[0] == path
    with pytest.raises(StructuralMismatch) as error:
        assert_structural_equal(_func(), _func(**change))
    assert error.value.path == path


def test_symbolic_shape_is_bound_by_the_parameter() -> None:
    n, m = Var("n", "int32"), Var("m", "int32")
    a, b = decl_buffer((n, n), name="A"), decl_buffer((n, m), name="A")
    same = PrimFunc([a], Evaluate(n))
    assert not structural_equal(same, PrimFunc([b], Evaluate(n)))


def test_free_variables_equal_themselves_unless_mapped() -> None:
    x, y = Var("x", "int32"), Var("y", "int32")
    assert structural_equal(Add(x, 1), Add(x, 1))
    assert not structural_equal(Add(x, 1), Add(y, 1))
    assert structural_equal(Add(x, 1), Add(y, 1), map_free_vars=True)
    assert not structural_equal(Add(x, x), Add(x, y), map_free_vars=True)
    assert not structural_equal(Add(x, y), Add(x, x), map_free_vars=True)
    assert structural_hash(Add(x, 1), True) == structural_hash(Add(y, 1), True)


def test_a_later_binding_of_the_same_variable_replaces_the_earlier() -> None:
    i = Var("i", "int32")
    j, k = Var("j", "int32"), Var("k", "int32")

    def loops(first: Var, second: Var) -> SeqStmt:
        return SeqStmt([For(v, 0, 4, ForKind.SERIAL, Evaluate(v)) for v in (first, second)])

    assert structural_equal(loops(i, i), loops(j, k))
    assert structural_hash(loops(i, i)) == structural_hash(loops(j, k))


def test_a_shadowed_variable_does_not_leak() -> None:
    x, y, z = (Var(n, "int32") for n in "xyz")
    inner_x = Let(y, IntImm("int32", 1), x)
    assert not structural_equal(
        Let(x, IntImm("int32", 0), inner_x),
        Let(z, IntImm("int32", 0), Let(z, IntImm("int32", 1), z)),
    )


def test_statements_without_body_bind_what_follows() -> None:
    def program(name: str) -> SeqStmt:
        v, b = Var(name, "int32"), decl_buffer((4,), name=name)
        return SeqStmt([Bind(v, 1), AllocBuffer(b), BufferStore(b, 0.0, [v])])

    assert structural_equal(program("a"), program("b"))
    assert structural_hash(program("a")) == structural_hash(program("b"))


def test_modules_do_not_depend_on_the_order_of_functions() -> None:
    f, g = _func(), _func(extent=3)
    one, two = IRModule({"f": f, "g": g}), IRModule({"g": g, "f": f})
    assert structural_equal(one, two)
    assert structural_hash(one) == structural_hash(two)
    assert not structural_equal(one, IRModule({"f": g, "g": f}))
    assert GlobalVar("f") in one.functions


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        (1, True, False),
        (1, 1.0, False),
        ("a", "a", True),
        ((1, 2), (1, 2), True),
        ((1, 2), (1, 3), False),
        (np.zeros(3), np.zeros(3), True),
        (np.zeros(3), np.zeros(3, "float32"), False),
        (np.zeros(3), np.zeros((3, 1)), False),
    ],
)
def test_leaves(a: Any, b: Any, same: bool) -> None:
    assert same_leaf(a, b) is same
    assert (repr(leaf_key(a)) == repr(leaf_key(b))) is same


def test_an_undeclared_leaf_type_is_named() -> None:
    with pytest.raises(TypeError, match="Oddity.*register_leaf"):
        leaf_key(type("Oddity", (), {})())


def test_hash_is_the_same_in_another_process() -> None:
    code = (
        "import sys; sys.path.insert(0, {root!r});"
        "from tests.core.test_structural import _func;"
        "from workbench.core import structural_hash; print(structural_hash(_func()))"
    )
    from pathlib import Path

    root = str(Path(__file__).resolve().parents[2])
    out = subprocess.run(
        [sys.executable, "-c", code.format(root=root)], capture_output=True, text=True, check=True
    )
    assert int(out.stdout) == structural_hash(_func())


def _chain(depth: int) -> Any:
    e: Any = Var("x", "int32")
    for _ in range(depth):
        e = Add(e, 1)
    return e


def test_twenty_thousand_levels() -> None:
    a, b = _chain(20_000), _chain(20_000)
    assert structural_equal(a, b, map_free_vars=True)
    assert structural_hash(a, True) == structural_hash(b, True)
    assert get_first_structural_mismatch(a, _chain(19_999), True) is not None


_X = [Var(n, "int32") for n in "ab"]
_exprs = st.recursive(
    st.sampled_from(_X) | st.integers(0, 3).map(lambda v: IntImm("int32", v)),
    lambda inner: st.builds(lambda op, a, b: op(a, b), st.sampled_from([Add, Mul]), inner, inner),
    max_leaves=8,
)


@given(_exprs, _exprs)
@settings(max_examples=200, deadline=None)
def test_equality_agrees_with_hash_and_with_the_first_mismatch(a: Any, b: Any) -> None:
    equal = structural_equal(a, b)
    assert equal == (get_first_structural_mismatch(a, b) is None)
    assert equal == structural_equal(b, a)
    if equal:
        assert structural_hash(a) == structural_hash(b)
    assert structural_equal(a, a)
