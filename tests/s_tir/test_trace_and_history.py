"""Traces: Python and JSON forms, replay. History: undo, redo, branches, copies, the recorder."""

import json

import pytest

from workbench.core import WorkbenchError, structural_equal
from workbench.core.recorder import recording
from workbench.s_tir import Schedule, ScheduleError, Trace
from workbench.testing.schedules import matmul


def loops(sch, name="C"):
    block = sch.get_sblock(name)
    return (block, *sch.get_loops(block))


def tiled():
    sch = Schedule(matmul())
    b, i, j, k = loops(sch)
    io, ii = sch.split(i, [None, 16])
    sch.parallel(io)
    sch.vectorize(sch.split(j, [None, 8])[1])
    return sch


def test_python_form():
    assert tiled().trace.as_python() == [
        'b0 = sch.get_sblock(name="C", func_name="main")',
        "l1, l2, l3 = sch.get_loops(block=b0)",
        "l4, l5 = sch.split(loop=l1, factors=[None, 16], preserve_unit_iters=True, "
        "disable_predication=False)",
        "sch.parallel(loop=l4)",
        "l6, l7 = sch.split(loop=l2, factors=[None, 8], preserve_unit_iters=True, "
        "disable_predication=False)",
        "sch.vectorize(loop=l7)",
    ]


def test_json_form_is_tvms():
    rows, decisions = tiled().trace.as_json()
    assert rows[0] == ["GetSBlock", [], ["C", "main"], ["b0"]]
    assert rows[2] == ["Split", ["l1", "None", 16], [True, False], ["l4", "l5"]]
    assert rows[3] == ["Parallel", ["l4"], [], []]
    assert decisions == []
    json.dumps(rows)


def test_json_from_tvm_is_read():
    text = json.dumps(
        [
            [
                ["GetSBlock", [], ["C", "main"], ["b0"]],
                ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
                ["SamplePerfectTile", ["l1"], [3, 16], ["v4", "v5", "v6"]],
                ["Split", ["l1", "v4", "v5", "v6"], [1, 0], ["l7", "l8", "l9"]],
                ["SampleCategorical", [], [[1, 2, 4], [0.5, 0.25, 0.25]], ["v10"]],
                ["Annotate", ["b0", "v10"], ["x"], []],
                ["Annotate", ["b0", '"text"'], ["y"], []],
            ],
            [[2, [4, 16, 2]], [4, 1]],
        ]
    )
    sch = Schedule(matmul())
    Trace.apply_json_to_schedule(text, sch)
    block = sch.get(sch.get_sblock("C"))
    assert dict(block.annotations) == {"x": 2, "y": "text"}
    extents = [sch.get(x).extent.value for x in sch.get_loops("C")]
    assert extents[:3] == [4, 16, 2]


@pytest.mark.parametrize(
    "bad, words",
    [
        ("{", "no trace in JSON form"),
        ("[]", "no trace in JSON form"),
        ('[[["Nope", [], [], []]], []]', "Nope"),
        ('[[["Split", [], [1, 0], []]], []]', "no value for 'loop'"),
        ('[[["GetSBlock", [], ["C"], ["b0"]]], []]', "expected the attributes"),
    ],
)
def test_bad_json(bad, words):
    with pytest.raises(WorkbenchError, match=words):
        Trace.apply_json_to_schedule(bad, Schedule(matmul()))


def test_replay_with_other_decisions():
    sch = Schedule(matmul(), seed=3)
    i = loops(sch)[1]
    sch.split(i, sch.sample_perfect_tile(i, 2, 64))
    inst = next(i for i in sch.trace.insts if i.kind.name == "SamplePerfectTile")
    other = sch.trace.with_decision(inst, [2, 64], remove_postproc=False)
    again = Schedule(matmul())
    other.apply_to_schedule(again)
    assert [again.get(x).extent.value for x in again.get_loops("C")[:2]] == [2, 64]
    assert "decision=[2, 64]" in str(again.trace)


def test_arithmetic_on_random_variables():
    sch = Schedule(matmul())
    b, i, j, k = loops(sch)
    c = sch.sample_categorical([4, 8], [0.5, 0.5], decision=1)
    sch.split(i, [None, c * 2])
    assert sch.get(sch.get_loops(b)[1]).extent.value == 16
    line = sch.trace.as_python()[-1] if sch.trace.insts[-1].kind.name == "Split" else ""
    again = Schedule(matmul())
    Trace.apply_json_to_schedule(json.dumps(sch.trace.as_json()), again)
    assert structural_equal(again.mod, sch.mod), line


def test_simplified_trace():
    sch = Schedule(matmul())
    sch.get_sblock("D")
    b, i, j, k = loops(sch)
    sch.get_consumers(b)
    sch.unroll(k)
    names = [x.kind.name for x in sch.trace.simplified(remove_postproc=True).insts]
    assert names == ["GetSBlock", "GetLoops", "Unroll"]


def test_undo_and_redo():
    sch = Schedule(matmul())
    b, i, j, k = loops(sch)
    start = sch.mod
    sch.unroll(k)
    one = sch.mod
    x, y = sch.split(i, [None, 4])
    two = sch.mod
    sch.undo()
    assert sch.mod is one
    with pytest.raises(ScheduleError, match="means nothing"):
        sch.unroll(x)
    sch.redo()
    assert sch.mod is two
    sch.unroll(x)
    sch.undo(3)
    assert sch.mod is start
    with pytest.raises(ScheduleError, match="nothing to undo"):
        sch.undo()


def test_history_branches():
    sch = Schedule(matmul())
    b, i, j, k = loops(sch)
    sch.unroll(k)
    sch.undo()
    sch.parallel(i)
    sch.undo()
    here = sch.history.current
    assert [v.instruction.kind.name for v in here.children] == ["Unroll", "Parallel"]
    sch.redo(branch=0)
    assert sch.history.current.instruction.kind.name == "Unroll"
    sch.goto(here.children[1])
    assert [v.line for v in sch.history.steps] == ["sch.parallel(loop=l1)"]
    assert "unroll" in repr(sch.history) and "→" in repr(sch.history)
    assert len(sch.history) == 5


def test_copies_are_independent():
    sch = Schedule(matmul())
    b, i, j, k = loops(sch)
    other = sch.copy()
    other.unroll(k)
    sch.parallel(i)
    assert sch.get(k).kind == 0 and other.get(k).kind == 3
    assert [x.kind.name for x in other.trace.insts] == ["GetSBlock", "GetLoops", "Unroll"]
    assert [x.kind.name for x in sch.trace.insts] == ["GetSBlock", "GetLoops", "Parallel"]


def test_refused_primitive_leaves_no_trace():
    sch = Schedule(matmul())
    b, i, j, k = loops(sch)
    before, mod = len(sch.trace.insts), sch.mod
    with pytest.raises(ScheduleError):
        sch.vectorize(k)
    assert len(sch.trace.insts) == before and sch.mod is mod


def test_recorder_gets_every_primitive():
    sch = Schedule(matmul())
    with recording("primitive") as log:
        b, i, j, k = loops(sch)
        sch.parallel(i)
        with pytest.raises(ScheduleError):
            sch.parallel(k)
    names = [e.name for e in log.events]
    assert names == ["get_sblock", "get_loops", "parallel", "parallel"]
    assert log.events[2].changed and log.events[2].info["line"] == "sch.parallel(loop=l1)"
    assert not log.events[3].changed and "error" in log.events[3].info


def test_several_functions():
    from workbench.ir import IRModule

    mod = IRModule({"one": matmul(8, 8, 8), "two": matmul(16, 16, 16)})
    sch = Schedule(mod)
    with pytest.raises(ScheduleError, match="work_on"):
        sch.get_sblock("C")
    sch.work_on("two")
    assert sch.get(sch.get_loops("C")[0]).extent.value == 16
    assert sch.get(sch.get_loops(sch.get_sblock("C", "one"))[0]).extent.value == 8


def test_same_block_twice_is_told():
    from workbench.s_tir import renew_defs
    from workbench.tirx.stmt import SeqStmt

    func = matmul(8, 8, 8)
    root = func.body.block
    twice = root.replace(body=SeqStmt([*root.body.seq, root.body.seq[-1]]))
    bad = func.replace(body=func.body.replace(block=twice))
    with pytest.raises(ScheduleError, match="occurs twice"):
        Schedule(bad).get_sblock("C")
    sch = Schedule(renew_defs(bad))
    assert len(sch.get_child_blocks(sch.get_sblock("root"))) == 3
