import numpy as np
import pytest

from workbench import te
from workbench.core.errors import WorkbenchError
from workbench.inspect.kernels import random_arguments, runner, time_history
from workbench.ir.expr import Var
from workbench.ir.module import IRModule
from workbench.s_tir.schedule.schedule import Schedule
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Evaluate


def func(shape=(32, 16)):
    a = te.placeholder(shape, name="A")
    b = te.compute(shape, lambda i, j: a[i, j] * 2.0, name="B")
    return te.create_prim_func([a, b])


def test_arguments_fit_the_parameters():
    first, second = random_arguments(func())
    assert first.shape == (32, 16)
    assert str(second.dtype) == "float32"
    again = random_arguments(func())
    assert np.array_equal(first.numpy(), again[0].numpy()), "the same inputs each time"


def test_what_cannot_be_made_up_is_told():
    symbolic = func((te.var("n"), 4))
    with pytest.raises(WorkbenchError, match="symbolic"):
        random_arguments(symbolic)
    with pytest.raises(WorkbenchError, match="scalar parameter n"):
        random_arguments(PrimFunc([Var("n", "int32")], Evaluate(0)))


def test_the_runner_runs_the_program():
    call = runner(IRModule({"main": func()}), "main")
    call()


def test_the_waterfall_has_a_bar_per_step_that_changed_something():
    sch = Schedule(func())
    loops = sch.get_loops(sch.get_sblock("B"))
    sch.split(loops[0], [None, 4])
    sch.vectorize(loops[1])
    kept = {}
    said = []
    timing = time_history(sch, repeats=3, tell=lambda share, text: said.append(share), kept=kept)
    assert [part.name.split(". ")[0] for part in timing.parts] == ["0", "1", "2"]
    assert timing.parts[0].name.endswith("as written")
    assert "sch.vectorize" in timing.parts[2].name
    assert all("than before" in p.note or "distinguishable" in p.note for p in timing.parts[1:])
    assert len(kept) == 3
    assert said == sorted(said)
    sch.undo()
    assert len(time_history(sch, repeats=3, kept=kept).parts) == 2
    assert len(kept) == 3, "a compiled state is kept"


def test_several_functions_need_a_choice():
    sch = Schedule(IRModule({"a": func(), "b": func()}))
    with pytest.raises(WorkbenchError, match="2 loop functions: a, b"):
        time_history(sch)
    sch.work_on("b")
    assert time_history(sch, repeats=3).title == "Schedule of b"


def test_a_history_of_something_else_is_refused():
    with pytest.raises(TypeError, match="time_history: expected a Schedule, got NoneType"):
        time_history(None)
