"""Random legal primitives keep the meaning of random programs.

WORKBENCH_EXAMPLES sets the number of examples (a run with 2,000 and more is made before releases).
"""

import os

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from workbench.core import assert_structural_equal, structural_equal
from workbench.s_tir import Schedule, Trace
from workbench.s_tir.build import build
from workbench.s_tir.pipeline import default_tir_pipeline
from workbench.testing.schedules import (
    apply_random_primitives,
    arguments,
    outputs_of,
    reversed_parallel,
    te_programs,
)

EXAMPLES = int(os.environ.get("WORKBENCH_EXAMPLES", "100"))
common = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="WORKBENCH_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate]
    if os.environ.get("WORKBENCH_EXAMPLES")
    else tuple(Phase),
)


@common
@given(te_programs(), st.data())
def test_random_primitives_keep_the_meaning(func, data):
    given_arrays = arguments(func)
    want = outputs_of(func, given_arrays)
    sch = Schedule(func, debug_mask="all", error_render_level="none")
    run = apply_random_primitives(sch, data.draw, 8)
    scheduled = sch.mod["main"]
    for version in (scheduled, reversed_parallel(scheduled)):
        got = outputs_of(version, given_arrays)
        for a, b in zip(want, got, strict=True):
            assert np.array_equal(a, b), f"{run.applied}\n{sch.trace}\n{sch.mod}"


@settings(common, max_examples=max(10, EXAMPLES // 2))
@given(te_programs(), st.data())
def test_scheduled_programs_keep_the_meaning_when_lowered(func, data):
    given_arrays = arguments(func)
    want = outputs_of(func, given_arrays)
    sch = Schedule(func, error_render_level="none")
    apply_random_primitives(sch, data.draw, 8)
    lowered = default_tir_pipeline()(sch.mod)
    got = outputs_of(lowered, given_arrays)
    for a, b in zip(want, got, strict=True):
        assert np.array_equal(a, b), f"{sch.trace}\n{sch.mod}\n{lowered}"


@settings(common, max_examples=max(5, EXAMPLES // 8))
@given(te_programs(), st.data())
def test_scheduled_programs_compute_the_same_as_machine_code(func, data):
    given_arrays = arguments(func)
    want = outputs_of(func, given_arrays)
    sch = Schedule(func, error_render_level="none")
    apply_random_primitives(sch, data.draw, 8)
    got = [a.copy() for a in given_arrays]
    build(sch.mod, {"kind": "llvm", "opt-level": 0, "cache": False})["main"](*got)
    for a, b in zip(want, got, strict=True):
        assert np.array_equal(a, b), f"{sch.trace}\n{sch.mod}"


@settings(common, max_examples=max(10, EXAMPLES // 4))
@given(te_programs(), st.data())
def test_traces_replay(func, data):
    sch = Schedule(func, error_render_level="none")
    apply_random_primitives(sch, data.draw, 8)
    again = Schedule(func)
    sch.trace.apply_to_schedule(again)
    assert_structural_equal(sch.mod, again.mod)

    from_json = Schedule(func)
    Trace.apply_json_to_schedule(sch.trace.as_json(), from_json)
    assert structural_equal(sch.mod, from_json.mod)

    space = {}
    exec(str(sch.trace), {"s_tir": __import__("workbench.s_tir", fromlist=["x"])}, space)
    from_python = Schedule(func)
    space["apply_trace"](from_python)
    assert structural_equal(sch.mod, from_python.mod)


@settings(common, max_examples=max(10, EXAMPLES // 4))
@given(te_programs(), st.data())
def test_undo_goes_back(func, data):
    sch = Schedule(func, error_render_level="none")
    seen = [sch.mod]
    for _ in range(6):
        before = sch.mod
        apply_random_primitives(sch, data.draw, 1)
        if sch.mod is not before:
            seen.append(sch.mod)
    while len(seen) > 1:
        if sch.history.steps and sch.history.current.mod is seen[-1]:
            sch.undo()
        if sch.mod is seen[-2]:
            seen.pop()
    assert sch.mod is seen[0]
