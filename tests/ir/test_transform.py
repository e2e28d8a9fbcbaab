"""Passes, contexts, instruments."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.core import recording
from workbench.core.errors import RegistryError, WorkbenchError
from workbench.ir import IRModule
from workbench.ir.instrument import PassTimingInstrument, pass_instrument
from workbench.ir.pass_config import config_options, register_config_option
from workbench.ir.transform import (
    PassContext,
    PassError,
    Sequential,
    define_pass,
    function_pass_decorator,
    module_pass,
    pass_registry,
)
from workbench.tirx import PrimFunc
from workbench.tirx.stmt import Evaluate


def _module() -> IRModule:
    return IRModule({"f": PrimFunc([], Evaluate(1)), "g": PrimFunc([], Evaluate(2))})


@define_pass("test.SetValue", level="function", on=PrimFunc, opt_level=1)
def SetValue(func: PrimFunc, ctx: PassContext, *, value: int = 0) -> PrimFunc:
    """Makes every function evaluate `value`."""
    return func.with_body(Evaluate(value))


@define_pass("test.Nothing")
def Nothing(mod: IRModule, ctx: PassContext) -> IRModule:
    """Returns the module."""
    return mod


def _values(mod: IRModule) -> list[int]:
    return [f.body.value.value for _, f in mod.functions_items()]  # type: ignore[attr-defined]


def test_options_come_from_the_call_then_from_the_context() -> None:
    assert _values(SetValue(value=5)(_module())) == [5, 5]
    with PassContext(config={"test.SetValue": {"value": 7}}):
        assert _values(SetValue()(_module())) == [7, 7]
        assert _values(SetValue(value=5)(_module())) == [5, 5]
    with pytest.raises(PassError, match="no option 'valu'.*\n.*'value'"):
        SetValue(valu=5)


def test_a_pass_that_changes_nothing_returns_the_module() -> None:
    mod = _module()
    assert Nothing()(mod) is mod
    assert Sequential([Nothing(), Nothing()])(mod) is mod


def test_sequential_respects_levels_and_the_disabled_list() -> None:
    passes = Sequential([SetValue(value=3)])
    with PassContext(opt_level=0):
        assert _values(passes(_module())) == [1, 2]
    with PassContext(opt_level=0, required_pass=["test.SetValue"]):
        assert _values(passes(_module())) == [3, 3]
    with PassContext(disabled_pass=["test.SetValue"]):
        assert _values(passes(_module())) == [1, 2]


def test_wrong_inputs_and_outputs_are_named() -> None:
    with pytest.raises(PassError, match="expected an IRModule, got PrimFunc"):
        Nothing()(PrimFunc([], Evaluate(0)))  # type: ignore[arg-type]

    @module_pass(name="bad")
    def bad(mod: IRModule, ctx: PassContext) -> Any:
        return 3

    with pytest.raises(PassError, match="bad returned int"):
        bad(_module())
    with pytest.raises(RegistryError, match="test.Nothing"):
        define_pass("test.Nothing")(lambda mod, ctx: mod)
    assert "test.SetValue" in pass_registry


def test_instruments_see_passes_and_may_veto() -> None:
    log: list[str] = []

    @pass_instrument
    class Watch:
        def enter_pass_ctx(self) -> None:
            log.append("enter")

        def exit_pass_ctx(self) -> None:
            log.append("exit")

        def should_run(self, mod: IRModule, info: Any) -> bool:
            return info.name != "test.SetValue"

        def run_before_pass(self, mod: IRModule, info: Any) -> None:
            log.append(f"+{info.name}")

        def run_after_pass(self, mod: IRModule, info: Any) -> None:
            log.append(f"-{info.name}")

    with PassContext(instruments=[Watch()]):
        mod = Sequential([Nothing(), SetValue(value=9)])(_module())
    assert _values(mod) == [1, 2]
    assert log == ["enter", "+sequential", "+test.Nothing", "-test.Nothing", "-sequential", "exit"]


def test_timing_instrument_nests() -> None:
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([Nothing()])(_module())
    lines = timing.render().splitlines()
    assert lines[0].startswith("sequential:")
    assert lines[1].startswith("  test.Nothing:")


def test_recorder_keeps_before_after_and_the_error() -> None:
    mod = _module()
    with recording("pass") as recorder:
        Sequential([Nothing(), SetValue(value=4)])(mod)
    assert [e.name for e in recorder.events] == ["sequential", "test.Nothing", "test.SetValue"]
    assert [e.changed for e in recorder.events] == [True, False, True]
    assert recorder.events[2].depth == 1
    assert recorder.events[2].info["options"] == {"value": 4}

    @module_pass(name="boom")
    def boom(mod: IRModule, ctx: PassContext) -> IRModule:
        raise WorkbenchError("no")

    with recording("pass") as recorder, pytest.raises(WorkbenchError):
        boom(mod)
    assert isinstance(recorder.events[0].info["error"], WorkbenchError)


def test_tvm_style_function_and_class_passes() -> None:
    prim_pass = function_pass_decorator(PrimFunc)

    @prim_pass(opt_level=0)
    def bump(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        return func.with_body(Evaluate(func.body.value.value + 1))  # type: ignore[attr-defined]

    assert _values(bump(_module())) == [2, 3]

    @module_pass(opt_level=0, name="Drop")
    class Drop:
        """Removes a function."""

        def __init__(self, name: str) -> None:
            self.name = name

        def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
            return mod.without_func(self.name)

    assert [g.name_hint for g in Drop("f")(_module()).get_global_vars()] == ["g"]


def test_module_lookup_errors_have_near_names() -> None:
    with pytest.raises(WorkbenchError, match="no function 'mian'"):
        IRModule({"main": PrimFunc([], Evaluate(1))})["mian"]
    try:
        IRModule({"main": PrimFunc([], Evaluate(1))})["mian"]
    except WorkbenchError as error:
        assert "'main'" in str(error)


def test_contexts_check_what_they_are_given() -> None:
    for wrong in (
        {"opt_level": "x"},
        {"disabled_pass": "tirx.UnrollLoop"},
        {"instruments": [3]},
        {"config": ["x"]},
    ):
        with pytest.raises(PassError, match="PassContext: "):
            PassContext(**wrong)  # type: ignore[arg-type]


def test_options_that_nobody_asks_for_are_named() -> None:
    @module_pass(opt_level=0, name="test.asks")
    def asks(mod: IRModule, ctx: PassContext) -> IRModule:
        assert ctx.config["known"] == 1
        return mod

    for name in ("known", "unknown"):
        register_config_option(name, "int", "for this test")
    with pytest.warns(UserWarning, match="asked for the option 'unknown'") as caught:
        with PassContext(config={"known": 1, "unknown": 2}):
            asks(IRModule())
    assert len(caught) == 1
    for name in ("known", "unknown"):
        config_options.remove(name)


def test_a_recorded_pass_that_returns_nothing_is_an_error_of_that_pass() -> None:
    @module_pass(opt_level=0, name="test.nothing")
    def nothing(mod: IRModule, ctx: PassContext) -> None:
        return None

    mod = IRModule()
    with recording("pass") as recorder, pytest.raises(PassError, match="returned NoneType"):
        nothing(mod)
    (event,) = recorder.events
    assert event.after is mod
    assert isinstance(event.info["error"], PassError)
