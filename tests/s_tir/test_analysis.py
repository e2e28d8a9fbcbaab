"""Analyses of blocks, regions and functions."""

import pytest

from workbench.arith import Analyzer
from workbench.core import WorkbenchError
from workbench.ir import IntImm, IRModule, Range, Var
from workbench.s_tir import Schedule, analysis
from workbench.s_tir.analysis.blocks import (
    complete_reason,
    pipeline_reason,
    reduction_reason,
    uncovered_reason,
)
from workbench.s_tir.analysis.linear import linear_form
from workbench.s_tir.sblock_scope import DepKind
from workbench.script import tirx as T
from workbench.testing.schedules import matmul


def entry(sch, name):
    return sch.entry_of(sch.get_sblock(name))


def test_kinds_of_blocks():
    sch = Schedule(matmul())
    state = sch.state
    assert reduction_reason(state, entry(sch, "C")) == ""
    assert "v_k is a reduction variable" in complete_reason(state, entry(sch, "C"))
    assert complete_reason(state, entry(sch, "D")) == ""
    assert "no init" in reduction_reason(state, entry(sch, "D"))
    assert analysis.is_output_block(state, entry(sch, "D"))
    assert not analysis.is_output_block(state, entry(sch, "C"))
    assert analysis.is_trivial_binding(state, entry(sch, "C"))


def test_dependences():
    sch = Schedule(matmul())
    root = sch.get_sref(sch.get_sblock("root"))
    scope = sch.state.get_sblock_scope(root)
    assert [(d.kind, d.dst is entry(sch, "D").key) for d in scope.deps] == [(DepKind.RAW, True)]
    b = sch.get_sblock("C")
    sch.decompose_reduction(b, sch.get_loops(b)[2])
    kinds = {d.kind for d in sch.state.get_sblock_scope(root).deps}
    assert kinds == {DepKind.RAW, DepKind.WAW}


def test_region_cover():
    @T.prim_func(s_tir=True)
    def late(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.sblock_alloc_buffer((8,))
        for i in range(8):
            with T.sblock("B"):
                v = T.axis.spatial(8, i)
                B[v] = A[v]
            with T.sblock("C"):
                v = T.axis.spatial(8, i)
                T.reads(B[7 - v])
                T.writes(C[v])
                C[v] = B[7 - v]

    sch = Schedule(late)
    assert "has not yet written" in uncovered_reason(sch.state, entry(sch, "C"))
    assert pipeline_reason(sch.state, entry(sch, "root").key)
    with pytest.raises(Exception, match="has not yet written"):
        sch.parallel(sch.get_loops("B")[0])


def test_access_regions():
    sch = Schedule(matmul())
    block = sch.get(sch.get_sblock("C"))
    reads, writes = analysis.get_sblock_read_write_region(block)
    assert [r.buffer.name for r in reads] == ["A", "B"]
    assert [w.buffer.name for w in writes] == ["C"]
    assert analysis.get_sblock_access_region(block)[2] == []


def test_relaxed_regions():
    i, j, n = (Var(x, "int32") for x in "ijn")
    zero, three = IntImm("int32", 0), IntImm("int32", 3)
    found = analysis.relax_index(i * 8 - j, IntImm("int32", 1), {j: (zero, three)}, Analyzer())
    assert str(found.min) == "i * 8 - 3" and found.extent.value == 4
    symbolic = analysis.relax_index(j + 1, IntImm("int32", 2), {j: (zero, n - 1)}, Analyzer())
    assert str(symbolic.min) == "1" and str(symbolic.extent) == "n + 1"
    assert analysis.relax_index(n // j, IntImm("int32", 1), {j: (zero, three)}, Analyzer()) is None
    a, b = [Range(0, 4)], [Range(2, 9)]
    assert str(analysis.union_region(a, b, Analyzer(), [IntImm("int32", 20)])[0].extent) == "9"


def test_linear_forms():
    x, y = Var("x", "int32"), Var("y", "int32")
    form = linear_form((x * 3 + y) * 2 - x + 5)
    assert {v.name: c for v, c in form.terms.values()} == {"x": 5, "y": 2}
    assert form.constant == 5 and str(form.expr("int32")) == "x * 5 + y * 2 + 5"
    assert linear_form(x * y) is None and linear_form(x // 2) is None


def test_flops_and_anchor():
    func = matmul(16, 32, 8)
    assert analysis.estimate_tir_flops(IRModule({"main": func})) == 2 * 16 * 32 * 8 + 16 * 32
    assert analysis.find_anchor_sblock(IRModule({"main": func})).name_hint == "C"


def test_access_lca():
    sch = Schedule(matmul())
    i = sch.get_loops("C")[0]
    sch.reverse_compute_at("D", i)
    found = {b.name: s for b, s in analysis.detect_buffer_access_lca(sch.mod["main"]).items()}
    assert found["C"] is sch.get(i)
    assert found["A"] is sch.get(sch.get_sblock("C"))


def test_purity():
    func = matmul(4, 4, 4)
    assert not analysis.is_pure_function(func)
    with pytest.raises(WorkbenchError, match="writes its parameter D"):
        analysis.assert_pure_function(func)
