import pytest

from workbench.core.errors import WorkbenchError
from workbench.inspect.pass_trace import trace
from workbench.ir.attrs import Attrs
from workbench.ir.expr import IntImm, Var
from workbench.ir.module import IRModule
from workbench.ir.transform import Sequential, module_pass
from workbench.tirx.function import PrimFunc
from workbench.tirx.stmt import Evaluate
from workbench.views.pass_trace import trace_panel
from workbench.views.render_text import to_text


def func(value, name="main"):
    return PrimFunc(
        [Var("n", "int32")], Evaluate(IntImm("int32", value)), attrs={"global_symbol": name}
    )


def module():
    return IRModule({"main": func(1), "other": func(7, "other")})


@module_pass(name="Keep")
def keep(mod, ctx):
    return mod


@module_pass(name="Rebuild")
def rebuild(mod, ctx):
    return mod.with_func("main", func(mod["main"].body.value.value))


@module_pass(name="demo.Bump")
def bump(mod, ctx):
    return mod.with_func("main", func(mod["main"].body.value.value + 1))


@module_pass(name="Nest")
def nest(mod, ctx):
    return bump(keep(mod))


@module_pass(name="Fail")
def fail(mod, ctx):
    raise WorkbenchError("cannot do it", hint="something else")


@module_pass(name="Mark")
def mark(mod, ctx):
    return mod.with_attr("marked", True)


def test_status_needs_a_true_difference():
    found = trace(module(), Sequential([keep, rebuild, bump]))
    assert [(s.name, s.status) for s in found] == [
        ("Keep", "same"),
        ("Rebuild", "same"),
        ("demo.Bump", "changed"),
    ]
    assert found["Bump"].changed_names == ("main",)
    assert found["demo.Bump"] is found[2]
    assert len(found) == 3
    assert found.changed == (found[2],)


def test_only_changed_functions_are_printed():
    step = trace(module(), bump)[0]
    assert "other" not in step.before_text
    assert step.before_text != step.after_text


def test_attributes_of_the_module_count():
    assert trace(module(), mark)[0].status == "changed"


def test_nesting_shows_and_wrappers_do_not():
    found = trace(module(), Sequential([Sequential([nest])]))
    assert [(s.name, s.depth) for s in found] == [("Nest", 0), ("Keep", 1), ("demo.Bump", 1)]


def test_a_failing_pass_keeps_what_ran_before():
    found = trace(module(), Sequential([bump, fail, bump]))
    assert [(s.name, s.status) for s in found] == [("demo.Bump", "changed"), ("Fail", "failed")]
    assert str(found.error).startswith("cannot do it")
    assert "failed" in repr(found)
    text = to_text(trace_panel(found).static())
    assert "Error: Fail: cannot do it" in text
    assert "Traceback" in found["Fail"].error_text


def test_an_error_outside_any_pass_is_raised():
    def pipeline(mod):
        raise ValueError("no pass ran")

    with pytest.raises(ValueError, match="no pass ran"):
        trace(module(), pipeline)


def test_empty_pipeline_says_so():
    found = trace(module(), lambda mod: mod)
    assert len(found) == 0
    assert "no pass ran" in to_text(trace_panel(found).static())


def test_wrong_arguments_are_told():
    with pytest.raises(WorkbenchError, match="expected an IRModule, got int"):
        trace(3, keep)
    with pytest.raises(WorkbenchError, match="expected a pass"):
        trace(module(), 3)
    with pytest.raises(WorkbenchError, match=r"(?s)no pass 'Bumb'.*demo.Bump"):
        trace(module(), bump)["Bumb"]


def test_a_function_becomes_a_module():
    assert trace(func(1), keep)[0].before["main"].attrs == Attrs({"global_symbol": "main"})


def test_mimebundle_is_static():
    bundle = trace(module(), bump)._repr_mimebundle_()
    assert bundle["text/plain"].startswith("PassTrace(1 pass, 1 changed something")
    assert "<script" not in bundle["text/html"]
    assert "demo.Bump" in bundle["text/html"]
