"""Well-formedness, effects, memory."""

from __future__ import annotations

import pytest

from workbench import tirx
from workbench.script import tirx as T
from workbench.tirx import analysis, decl_buffer

i = tirx.Var("i", "int32")
A = decl_buffer((8,), "float32", "A")
STORE = tirx.BufferStore(A, tirx.const(0.0, "float32"), [i])


def test_well_formed():
    good = tirx.PrimFunc([A], tirx.For(i, 0, 8, 0, STORE))
    assert analysis.verify_well_formed(good)
    unbound = tirx.PrimFunc([A], STORE)
    with pytest.raises(analysis.IllFormedError, match="variable i is used where it is not defined"):
        analysis.verify_well_formed(unbound)
    assert not analysis.verify_well_formed(unbound, assert_mode=False)
    with pytest.raises(analysis.IllFormedError, match="buffer A is used"):
        analysis.verify_well_formed(tirx.PrimFunc([], tirx.For(i, 0, 8, 0, STORE)))


def test_a_binding_holds_to_the_end_of_its_sequence():
    x = tirx.Var("x", "int32")
    bind = tirx.Bind(x, tirx.const(1, "int32"))
    use = tirx.Evaluate(x + 1)
    assert analysis.verify_well_formed(tirx.PrimFunc([], tirx.SeqStmt([bind, use])))
    inner = tirx.IfThenElse(tirx.const(True), tirx.SeqStmt([bind, use]))
    with pytest.raises(analysis.IllFormedError, match="x is used where"):
        analysis.verify_well_formed(tirx.PrimFunc([], tirx.SeqStmt([inner, use])))


def test_a_scope_defines_a_variable_once():
    nested = tirx.For(i, 0, 8, 0, tirx.For(i, 0, 8, 0, STORE))
    with pytest.raises(analysis.IllFormedError, match="variable i is defined twice"):
        analysis.verify_well_formed(tirx.PrimFunc([A], nested))
    twice = tirx.PrimFunc([A], tirx.SeqStmt([tirx.For(i, 0, 8, 0, STORE)] * 2))
    assert analysis.verify_well_formed(twice)
    assert not analysis.verify_ssa(twice)


def test_undefined_variables():
    assert {v.name for v in analysis.undefined_vars(STORE)} == {"i", "A"}
    assert analysis.undefined_vars(STORE, [A, i]) == []


def test_effects():
    kind = tirx.op.CallEffectKind
    assert analysis.side_effect(i + 1) == kind.Pure
    assert analysis.side_effect(A[i] + 1.0) == kind.ReadState
    assert analysis.side_effect(tirx.call_packed("f")) == kind.UpdateState
    assert analysis.is_pure(tirx.exp(tirx.Var("x", "float32")))


def test_expressions_are_compared_as_trees():
    assert analysis.expr_deep_equal(i + 1, i + 1)
    assert not analysis.expr_deep_equal(i + 1, 1 + i)
    assert not analysis.expr_deep_equal(i + 1, tirx.Var("i", "int32") + 1)


def test_allocated_bytes():
    @T.prim_func
    def func(D: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((16,), "float32")
        for k in range(2):
            C = T.alloc_buffer((4,), "float16", scope="local")
            C[0] = T.float16(0)
            B[k] = T.float32(0)

    assert analysis.calculate_allocated_bytes(func) == {"main": {"global": 64, "local": 8}}


def test_a_saved_program_loads_in_a_fresh_process(tmp_path):
    import subprocess
    import sys

    from workbench.core import structural_equal, to_json

    func = tirx.PrimFunc([A], tirx.For(i, 0, 8, tirx.ForKind.PARALLEL, STORE))
    path = tmp_path / "func.json"
    path.write_text(to_json(func))
    code = (
        "import sys, workbench.tirx\n"
        "from workbench.core import from_json, to_json\n"
        "sys.stdout.write(to_json(from_json(open(sys.argv[1]).read())))"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    from workbench.core import from_json

    assert structural_equal(from_json(out.stdout), func)
