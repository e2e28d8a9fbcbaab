import pytest

from workbench import s_tir, te
from workbench.core.errors import WorkbenchError
from workbench.core.structural import structural_equal
from workbench.inspect.kernels import time_history
from workbench.ir.module import IRModule
from workbench.s_tir.schedule.instruction import instruction_kinds
from workbench.s_tir.schedule.schedule import Schedule
from workbench.views.display import mimebundle
from workbench.views.panel import quiet
from workbench.views.render_text import to_text
from workbench.views.schedule_moves import Places, applicable, menu, subject
from workbench.views.schedule_panel import SchedulePanel, code_of
from workbench.views.timing import timing_plot


def func():
    a = te.placeholder((16, 8), name="A")
    b = te.compute((16, 8), lambda i, j: a[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((16,), lambda i: te.sum(b[i, k], axis=k), name="C")
    return te.create_prim_func([a, c])


@pytest.fixture
def panel():
    return SchedulePanel(Schedule(func()), None)


def ask(panel, op, **args):
    return panel.answer(op, args, quiet())


def apply(panel, ident, name, **args):
    return ask(panel, "apply", id=ident, name=name, args=args)


def moves(panel, ident):
    return {m["name"]: m for m in ask(panel, "menu", id=ident)["moves"]}


def test_every_primitive_about_loops_or_blocks_is_in_a_menu(panel):
    places = panel.places()
    shown = {kind.name for ident in ("loop:i", "block:C") for kind in applicable(places[ident])}
    expected = {
        name
        for name in instruction_kinds.names()
        if subject(instruction_kinds[name])
        and not instruction_kinds[name].is_pure
        and not name.startswith("Sample")
    }
    assert shown == expected
    assert {"Split", "Fuse", "Reorder", "ComputeAt", "CacheRead", "DecomposeReduction"} <= shown


def test_the_menu_agrees_with_the_schedule(panel):
    for ident, place in panel.places().by_id.items():
        for move in menu(panel.sch, panel.places(), ident):
            if not move.legal:
                assert move.why
                continue
            fresh = SchedulePanel(Schedule(func()), None)
            fields = {field.name: field.value for field in move.fields}
            fresh.answer("apply", {"id": place.ident, "name": move.name, "args": fields}, quiet())
            assert len(fresh.sch.history.steps) == 1, (ident, move.name)


def test_asking_for_the_menu_changes_nothing(panel):
    before = panel.sch.mod
    for ident in panel.places().by_id:
        moves(panel, ident)
    assert panel.sch.mod is before
    assert panel.sch.trace.insts == []
    assert len(panel.sch.history) == 1


def test_only_legal_choices_are_offered(panel):
    found = moves(panel, "block:B")["compute_at"]
    loops = dict(next(a for a in found["args"] if a["name"] == "loop")["choices"])
    assert set(loops) == {"loop:i#2", "loop:k"}


def test_reasons_name_the_obstacle(panel):
    found = moves(panel, "loop:k")
    assert "reduction variable" in found["parallel"]["why"]
    assert found["unannotate"]["why"] == "loop k has no annotation"
    assert "single inner loop" in found["fuse"]["why"]


def test_exported_code_rebuilds_the_module(panel):
    apply(panel, "loop:i", "split", factors="[None, 4]")
    apply(panel, "loop:i_0", "parallel")
    apply(panel, "block:B", "compute_at", loop="loop:i")
    code = code_of(panel.sch.history.current)
    scope = {"mod": func(), "s_tir": s_tir}
    exec(code, scope)
    assert structural_equal(scope["sch"].mod, panel.sch.mod)


def test_clicks_and_code_share_one_schedule(panel):
    apply(panel, "loop:i", "split", factors="[None, 4]")
    block = panel.sch.get_sblock("C")
    panel.sch.parallel(panel.sch.get_loops(block)[0])
    state = ask(panel, "undo")
    assert "sch.parallel" in state["said"]
    assert next(h["text"] for h in state["history"]) == "as written"


def test_a_random_variable_is_looked_up_once(panel):
    apply(panel, "loop:i", "split", factors="[None, 4]")
    apply(panel, "loop:i_0", "parallel")
    apply(panel, "loop:i_1", "unroll")
    code = panel.sch.trace.as_python()
    assert sum("get_sblock" in one for one in code) == 1
    assert sum("get_loops" in one for one in code) == 1


@pytest.mark.parametrize(
    ("ident", "name", "args", "words"),
    [
        ("loop:i", "split", {"factors": "[None, nonsense]"}, "factors: expected a Python value"),
        ("loop:i", "split", {"factors": "7"}, "expected a list"),
        ("loop:k", "parallel", {}, "reduction variable"),
        ("loop:nowhere", "parallel", {}, "no loop or block 'loop:nowhere'"),
        ("loop:i", "frobnicate", {}, "no primitive 'frobnicate'"),
    ],
)
def test_refusals_leave_everything_as_it_was(panel, ident, name, args, words):
    before = panel.sch.mod
    with pytest.raises(WorkbenchError, match=words.replace("[", r"\[")):
        apply(panel, ident, name, **args)
    assert panel.sch.mod is before
    assert panel.sch.trace.insts == []


def test_several_functions_keep_their_loops_apart():
    sch = Schedule(IRModule({"f": func(), "g": func()}))
    places = Places(sch)
    assert "f/loop:i" in places.by_id
    assert "g/loop:i" in places.by_id
    panel = SchedulePanel(sch, None)
    apply(panel, "g/loop:i", "parallel")
    assert 'func_name="g"' in "\n".join(sch.trace.as_python())


def test_static_view_and_display():
    sch = Schedule(func())
    assert "no primitive was applied yet" in to_text(SchedulePanel(sch).static())
    sch.parallel(sch.get_loops(sch.get_sblock("B"))[0])
    bundle = mimebundle(sch)
    assert "sch.parallel(loop=l1)" in bundle["text/html"]
    assert "✓ parallel" in bundle["text/html"]


def test_unknown_requests_are_refused(panel):
    with pytest.raises(ValueError, match="knows no request"):
        ask(panel, "nonsense")
    with pytest.raises(WorkbenchError, match="without a way to measure"):
        ask(panel, "measure")


def test_steps_are_told_without_the_arguments_that_have_their_default():
    sch = Schedule(func())
    i, _ = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, [None, 4])
    last = SchedulePanel(sch).data()["history"][-1]["text"]
    assert "sch.split(loop=" in last and "factors=[None, 4])" in last
    assert "preserve_unit_iters" in code_of(sch.history.current)
    other, _ = sch.get_loops(sch.get_sblock("C"))
    sch.split(other, [None, 4], preserve_unit_iters=False)
    assert "preserve_unit_iters=False)" in SchedulePanel(sch).data()["history"][-1]["text"]


def test_the_times_of_a_history_come_in_its_order():
    sch = Schedule(func())
    i, _ = sch.get_loops(sch.get_sblock("B"))
    sch.parallel(i)
    timing = time_history(sch, repeats=3)
    assert timing.order == "program"
    names = [bar.label for bar in timing_plot(timing).bars]
    assert [name.partition(".")[0] for name in names] == sorted(
        (name.partition(".")[0] for name in names), key=int
    )
    assert not any("the bar above" in bar.note for bar in timing_plot(timing).bars)
